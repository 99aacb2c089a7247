"""Why stacks of a page end early, by sample."""

from typing import Any

from undwarf.column import zeros
from undwarf.profile.grouping import Pairs, look_up, widen
from undwarf.profile.labels import UNKNOWN, dso
from undwarf.profile.model import NONE, Profile
from undwarf.unwind.stop_reason import DESCRIPTIONS, WHOLE, StopReason
from undwarf.views.page.names import Images
from undwarf.views.unwind_quality import UnwindQuality

_KINDS = {
    StopReason.INFERRED_ROOT: "inferred",
    StopReason.NONE: "without_user",
    StopReason.NO_DUMP: "as_recorded",
    StopReason.UNSTATED: "unstated",
}


def gaps_of(profile: Profile, quality: UnwindQuality, images: Images) -> tuple[memoryview, list[dict[str, Any]]]:
    """(the gap of each sample (I), the gaps): number 0 stands for whole stacks, whatever their root."""
    samples = profile.samples.columns
    pairs = Pairs()
    column = pairs.column(widen(samples.stop), samples.stop_image)
    advice = {(gap.reason, gap.image, gap.build_id): gap.advice for gap in quality.gaps}
    root = {
        "reason": StopReason.ROOT.name.lower(),
        "description": DESCRIPTIONS[StopReason.ROOT],
        "kind": "whole",
        "image": None,
        "advice": None,
    }
    rows: list[dict[str, Any]] = [root]
    numbers: dict[tuple[StopReason, int], int] = {}
    of_pair = zeros("I", len(pairs))
    for pair, (stop, image) in enumerate(zip(pairs.high(), pairs.low(), strict=True)):
        reason = StopReason(stop)
        if reason in WHOLE:
            continue
        kind = _KINDS.get(reason, "early")
        number = images.number(image) if kind == "early" else NONE
        if (reason, number) not in numbers:
            numbers[reason, number] = len(rows)
            info = profile.images[image] if image != NONE else None
            name = reason.name.lower()
            place = (name, dso(info) if info is not None else UNKNOWN, info.build_id if info is not None else "")
            rows.append(
                {
                    "reason": name,
                    "description": DESCRIPTIONS[reason],
                    "kind": kind,
                    "image": number if number != NONE else None,
                    "advice": advice.get(place) or None,
                }
            )
        of_pair[pair] = numbers[reason, number]
    return look_up(column, of_pair), rows
