"""Parses time spans of a recording (--time): seconds, seconds from its start, parts of it in percent."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

SECOND = 10**9
_SECONDS = re.compile(r"(\+?)([0-9]*)(?:\.([0-9]*))?\Z")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%(?:-([0-9]+(?:\.[0-9]+)?)%|/([1-9][0-9]*))?\Z")


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in ns; ``from_start``: relative to the recording's first sample, else to its clock."""

    time: int
    from_start: bool = False

    def at(self, first: int) -> int:
        """The time on the recording's clock, whose first sample is at ``first``. Earlier times are relative to it."""
        return self.time + first if self.from_start or self.time < first else self.time


@dataclass(frozen=True, slots=True)
class Span:
    """From one moment to another, both inclusive; None: from the first sample, or to the last."""

    start: Moment | None
    end: Moment | None


@dataclass(frozen=True, slots=True)
class Part:
    """From one fraction (0 to 1) of the recording's time to another; the end is exclusive, as parts may adjoin."""

    start: float
    end: float


def _moment(text: str) -> Moment | None:
    if not text:
        return None
    found = _SECONDS.match(text)
    if found is None or text in ("+", ".", "+."):
        raise ValueError(text)
    plus, whole, fraction = found.groups()
    return Moment(int(whole or "0") * SECOND + int(((fraction or "") + "000000000")[:9]), bool(plus))


def _part(text: str) -> Part:
    found = _PERCENT.match(text)
    if found is None:
        raise ValueError(text)
    first, last, number = found.groups()
    size = float(first) / 100
    if number is not None:
        start, end = size * (int(number) - 1), size * int(number)
    else:
        start, end = (0.0, size) if last is None else (size, float(last) / 100)
    # As in perf, 10%/11 is an error; 33.4%/3 ends with the recording.
    if not 0 <= start < end or start >= 1:
        raise ValueError(text)
    return Part(start, min(end, 1.0))


def parse_spans(text: str) -> tuple[Span | Part, ...]:
    """``START,END`` in seconds (either may be empty; ``+`` is relative to the start), ``10%-20%`` or ``10%/2`` (the
    second tenth); several separated by blanks, parts also by commas. Raises ValueError for anything else."""
    found: list[Span | Part] = []
    for word in text.split():
        if "%" in word:
            found += [_part(part) for part in word.split(",")]
        else:
            start, comma, end = word.partition(",")
            if not comma:
                raise ValueError(word)
            found.append(Span(_moment(start), _moment(end)))
    return tuple(found)


def resolve(spans: Sequence[Span | Part], first: int, last: int) -> list[tuple[int, int]]:
    """The first and last time of each span, in ns of the clock; samples are from ``first`` to ``last``."""
    found = []
    for span in spans:
        if isinstance(span, Part):
            end = last if span.end == 1 else first + int((last - first) * span.end) - 1
            found.append((first + int((last - first) * span.start), end))
        else:
            start = span.start.at(first) if span.start is not None else first
            found.append((start, span.end.at(first) if span.end is not None else max(start, last)))
    return found
