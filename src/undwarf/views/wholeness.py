"""How whole the stacks are, why the rest is not, and what would mend it."""

from collections import Counter
from dataclasses import dataclass

from undwarf.profile.model import NONE, Profile
from undwarf.unwind.stop import DESCRIPTIONS, StopReason

NOT_UNWOUND = (StopReason.NONE,)
"""Samples that have no user part to unwind: kernel threads, the idle task."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Samples whose stacks end early for one reason in one file."""

    reason: str
    description: str
    image: str
    build_id: str
    samples: int
    advice: str


@dataclass(frozen=True, slots=True)
class Wholeness:
    """``whole`` of ``unwound`` samples reach the root; ``without_user`` have no user part; ``gaps`` say the rest."""

    samples: int
    unwound: int
    whole: int
    without_user: int
    reasons: dict[str, int]
    gaps: list[Gap]

    @property
    def share(self) -> float:
        """Whole stacks among those that could be, 0 to 1; 1 where there are none."""
        return self.whole / self.unwound if self.unwound else 1.0


def advice(reason: StopReason, problem: str, build_id: str, dump: int) -> str:
    """What to do about a gap; empty where nothing would help."""
    if reason is StopReason.TRUNCATED:
        larger = min(65528, max(16384, 2 * dump))
        if dump >= 65000:
            return "the stack is deeper than the largest dump (65528 bytes); nothing recorded can show the rest"
        return f"record with a larger dump: --call-graph dwarf,{larger}"
    if reason is StopReason.NO_FILE:
        if build_id:
            return f"provide the file with build-id {build_id} under --symfs or in ~/.debug ({problem or 'missing'})"
        return f"provide the file under --symfs ({problem or 'missing'})"
    if reason is StopReason.NO_RULE:
        return "the code has no unwind information there: install its debug file, or build with -fasynchronous-unwind-tables"
    if reason is StopReason.NO_DUMP:
        return "frame pointers only: record with --call-graph dwarf"
    if reason is StopReason.DEPTH:
        return "raise --max-stack"
    if reason is StopReason.UNSUPPORTED:
        return "only x86-64 processes are unwound so far"
    return ""


def wholeness(profile: Profile, dump: int = 8192) -> Wholeness:
    """Count the stop reasons; ``dump`` is the largest dump the recording asked for, in bytes."""
    samples = profile.samples
    reasons = Counter(samples.stop)
    places = Counter(
        (stop, image)
        for stop, image in zip(samples.stop, samples.stop_image, strict=True)
        if stop not in (StopReason.ROOT, StopReason.NONE)
    )
    gaps = []
    for (stop, number), count in sorted(places.items(), key=lambda one: (-one[1], one[0])):
        reason = StopReason(stop)
        image = profile.images[number] if number != NONE else None
        gaps.append(
            Gap(
                reason.name.lower(),
                DESCRIPTIONS[reason],
                image.path if image else "[unknown]",
                image.build_id if image else "",
                count,
                advice(reason, image.problem if image else "", image.build_id if image else "", dump),
            )
        )
    without = sum(reasons.get(reason, 0) for reason in NOT_UNWOUND)
    return Wholeness(
        len(samples),
        len(samples) - without,
        reasons.get(StopReason.ROOT, 0),
        without,
        {StopReason(stop).name.lower(): count for stop, count in sorted(reasons.items())},
        gaps,
    )
