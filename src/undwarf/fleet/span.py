"""Spans: which part of a store is meant, by time, host, service, release or any other label.

A span is terms between commas, all of which must hold: ``release=1.2,host=web-*,2026-11-28T10:00..2026-11-28T11:00``.
A day alone is all of it; times are UTC; a value may have ``*`` and ``?``, and several are put between bars.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from undwarf.errors import UsageError

COLUMNS = ("host", "release", "container", "pod", "comm", "event")
"""Labels that are columns of samples; others are those of their recordings."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")
_EXAMPLE = (
    "give terms as 2026-11-28, 2026-11-28T10:00..2026-11-28T11:00, release=1.2 or host=web-*, with commas between"
)


class Span(NamedTuple):
    """``start`` and ``end`` (exclusive), UTC; ``labels``: name and the values of which one must fit."""

    start: datetime | None = None
    end: datetime | None = None
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def days(self) -> tuple[str, str] | None:
        """The first and the last day that it touches; None for all."""
        if self.start is None and self.end is None:
            return None
        last = (self.end - timedelta(microseconds=1)).date().isoformat() if self.end is not None else "9999-12-31"
        return (self.start.date().isoformat() if self.start is not None else "0001-01-01", last)

    @property
    def services(self) -> tuple[str, ...]:
        """The services, if they are named without wildcards; else none."""
        for name, values in self.labels:
            if name == "service" and not any(set("*?") & set(value) for value in values):
                return values
        return ()

    def conditions(self) -> list[str]:
        """What a sample fulfils, as conditions of SQL."""
        found = []
        if self.start is not None and self.start.time() != datetime.min.time():
            found.append(f"time >= TIMESTAMP '{self.start.replace(tzinfo=None).isoformat()}'")
        if self.end is not None and self.end.time() != datetime.min.time():
            found.append(f"time < TIMESTAMP '{self.end.replace(tzinfo=None).isoformat()}'")
        for name, values in self.labels:
            if name in COLUMNS or name == "service":
                tests = [_fits(f'"{name}"', value) for value in values]
                found.append(f"({' OR '.join(tests)})")
            else:
                tests = [_fits(f"labels[{_text(name)}]", value) for value in values]
                found.append(f"recording IN (SELECT id FROM recordings WHERE {' OR '.join(tests)})")
        return found


def parse(text: str) -> Span:
    """The span of a text. Raises UsageError."""
    start = end = None
    labels = []
    for term in filter(None, (one.strip() for one in text.split(","))):
        name, equals, value = term.partition("=")
        if equals:
            values = tuple(filter(None, value.split("|")))
            if not _NAME.fullmatch(name) or not values:
                raise UsageError(f"{term[:80]!r} is no term of a span", "", _EXAMPLE)
            labels.append((name, values))
            continue
        if start is not None or end is not None:
            raise UsageError("a span has one time", f"{term[:80]!r} is the second", _EXAMPLE)
        first, dots, last = term.partition("..")
        start = _moment(first, term) if first else None
        end = _moment(last, term, last=True) if dots and last else _moment(first, term, last=True) if not dots else None
        if start is not None and end is not None and start >= end:
            raise UsageError(f"the span {term[:80]!r} is empty", "it ends before it starts", _EXAMPLE)
    return Span(start, end, tuple(labels))


def joined(texts: "tuple[str, ...]") -> Span:
    """The span in which those of all texts hold."""
    return parse(",".join(texts))


def _moment(text: str, term: str, *, last: bool = False) -> datetime:
    """A time; of a day its begin or, if it is the ``last`` one, that of the next day."""
    try:
        if len(text) == len("2026-11-28"):
            day = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
            return day + timedelta(days=1) if last else day
        when = datetime.fromisoformat(text)
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{term[:80]!r} is no term of a span", "", _EXAMPLE) from None


def _fits(column: str, value: str) -> str:
    if set("*?") & set(value):
        # GLOB has classes in brackets, which a span has not.
        pattern = value.replace("[", "[[]")
        return f"coalesce({column} GLOB {_text(pattern)}, false)"
    return f"coalesce({column} = {_text(value)}, false)"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
