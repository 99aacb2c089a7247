"""Values that JSON documents share: null for what is not known, addresses, how many stacks are whole."""

from typing import TYPE_CHECKING

from undwarf.profile.labels import UNKNOWN

if TYPE_CHECKING:
    from undwarf.outputs.schemas.vocabulary import Wholeness
    from undwarf.views.unwind_quality import UnwindQuality

WEIGHTED_UNITS = {"samples": "samples", "latency": "cycles"}
"""Units of weights that are no periods."""


def known(text: str | None) -> str | None:
    """A name, advice or the like; None if it is empty or ``[unknown]``."""
    return None if not text or text == UNKNOWN else text


def address(number: int) -> str:
    """An address as documents have it."""
    return f"{number:#x}"


def wholeness(quality: "UnwindQuality") -> "Wholeness":
    """How many stacks are whole."""
    return {
        "samples": quality.samples,
        "unwound": quality.unwound,
        "whole": quality.whole,
        "share": quality.share if quality.unwound else None,
        "inferred": quality.inferred,
        "without_user": quality.without_user,
        "as_recorded": quality.as_recorded,
        "without_chain": quality.without_chain,
        "unstated": quality.unstated,
        "copied_code": quality.copied_code,
        "reasons": quality.reasons,
        "gaps": [
            {
                "reason": gap.reason,
                "description": gap.description,
                "dso": known(gap.image),
                "build_id": known(gap.build_id),
                "samples": gap.samples,
                "advice": known(gap.advice),
            }
            for gap in quality.gaps
        ],
    }
