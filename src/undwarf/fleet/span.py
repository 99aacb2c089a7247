"""Spans: which part of a store is meant, by time, host, service, release or any other label.

A span is terms between commas, all of which must hold: ``release=1.2,host=web-*,2026-11-28T10:00..2026-11-28T11:00``.
A day alone is all of it; times are UTC; a value may have ``*`` and ``?``, and several are put between bars. Where a
backslash is before ``,``, ``|``, ``*``, ``?``, a space or a backslash, these are characters of the value.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from undwarf.errors import UsageError

COLUMNS = ("host", "release", "container", "pod", "comm", "event")
"""Labels that are columns of samples; others are those of their recordings."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")
"""Names of labels."""
_CHARACTER = re.compile(r"\\[,|*?\\ ]|.", re.DOTALL)
"""A character of a span, with the backslash before it if it has one."""
_EXAMPLE = (
    "give terms as 2026-11-28, 2026-11-28T10:00..2026-11-28T11:00, release=1.2 or host=web-*, with commas between"
)


class Span(NamedTuple):
    """``start`` and ``end`` (exclusive), UTC; ``labels``: name and the values of which one must fit, with backslashes
    as they were given."""

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
            texts = tuple(map(literal, values))
            if name == "service" and None not in texts:
                return tuple(text for text in texts if text is not None)
        return ()

    def conditions(self, *, days: bool = False) -> list[str]:
        """What a sample fulfils, as conditions of SQL. ``days``: also of days, for tables that have others."""
        found = []
        if self.start is not None and (days or self.start.time() != datetime.min.time()):
            found.append(f"time >= TIMESTAMP '{self.start.replace(tzinfo=None).isoformat()}'")
        if self.end is not None and (days or self.end.time() != datetime.min.time()):
            found.append(f"time < TIMESTAMP '{self.end.replace(tzinfo=None).isoformat()}'")
        if days and self.days is not None:
            found += [f"day >= DATE '{self.days[0]}'", f"day <= DATE '{self.days[1]}'"]
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
    for term in filter(None, map(_stripped, _split(text, ","))):
        name, equals, value = term.partition("=")
        if equals:
            values = tuple(filter(None, _split(value, "|")))
            if not NAME.fullmatch(name) or not values:
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


def within(outer: Span, inner: Span) -> Span:
    """What is in both spans. Raises UsageError if that is no time."""
    start = max(filter(None, (outer.start, inner.start)), default=None)
    end = min(filter(None, (outer.end, inner.end)), default=None)
    if start is not None and end is not None and start >= end:
        raise UsageError("no time is in both spans", f"{text_of(outer)} and {text_of(inner)}", "choose another time")
    return Span(start, end, tuple(dict.fromkeys((*outer.labels, *inner.labels))))


def text_of(span: Span) -> str:
    """A span as :func:`parse` takes it; ``..`` for all that a store has."""
    times = "..".join(one.replace(tzinfo=None).isoformat() if one is not None else "" for one in span[:2])
    terms = [f"{name}={'|'.join(values)}" for name, values in span.labels]
    return ",".join(([times] if times != ".." else []) + terms) or ".."


def literal(value: str) -> str | None:
    """The text that a value of a label stands for; None for one with ``*`` or ``?``."""
    characters = _CHARACTER.findall(value)
    return None if {"*", "?"}.intersection(characters) else "".join(one[-1] for one in characters)


def _split(text: str, separator: str) -> list[str]:
    pieces: list[list[str]] = [[]]
    for one in _CHARACTER.findall(text):
        if one == separator:
            pieces.append([])
        else:
            pieces[-1].append(one)
    return ["".join(piece) for piece in pieces]


def _stripped(term: str) -> str:
    """The term without spaces around it, but for those that are characters of a value."""
    characters = _CHARACTER.findall(term.lstrip())
    while characters and characters[-1].isspace():
        characters.pop()
    return "".join(characters)


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
    text = literal(value)
    if text is not None:
        return f"coalesce({column} = {_text(text)}, false)"
    # What is a character of the value stands in brackets, where GLOB has no others than itself.
    pattern = "".join(
        one if one in "*?" else f"[{one[-1]}]" if one[-1] in "*?[\\" else one[-1] for one in _CHARACTER.findall(value)
    )
    return f"coalesce({column} GLOB {_text(pattern)}, false)"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
