"""What `undwarf fleet serve` offers: the page of `undwarf view` over a store, and what its bar chooses from.

Spans come from addresses as texts, and become conditions of SQL through :mod:`undwarf.fleet.span` alone, as those of
``--span``. Each request sees what the store has now.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any

from undwarf.column import zeros
from undwarf.errors import NothingUsable, UndwarfError, UsageError
from undwarf.fleet.computations import Computations
from undwarf.fleet.database import Database
from undwarf.fleet.label_counts import label_counts
from undwarf.fleet.span import Span, parse, text_of, within
from undwarf.fleet.span_parts import compared_parts, name_of, span_parts
from undwarf.fleet.store import Commit, Contents, Store
from undwarf.fleet.weight_over_time import Bars, Times, extent, weight_over_time
from undwarf.outputs.page.bundle import FLEET_START, bundle
from undwarf.outputs.page.html import document, policy
from undwarf.outputs.page.parts import encode
from undwarf.serve.server import Answer
from undwarf.views.page.part import Part

VERSION = 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LASTS = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7)}
"""Spans of time that end with the minute of the store's last sample."""
_MINUTE = 60_000_000
_WAIT = 1.0
"""Seconds that the answer to whether something is ready may take."""
_LOOK_AGAIN = 1.0
"""Seconds for which the list of commits is good: a page that is loaded asks four times at once."""
_CONTEXT = 2
"""The histogram shows this many lengths of the chosen time before and after it, if that is much less than all."""
_MUCH_LESS = 60


@dataclass(slots=True)
class _Choice:
    """What an address asks for: the span, and that before it if two are compared; None: one is shown."""

    span: Span
    before: Span | None

    @property
    def spans(self) -> list[Span]:
        return [one for one in (self.before, self.span) if one is not None]


class _Moment:
    """A store as it is at one moment. ``base``: what all that is asked for is within."""

    def __init__(self, store: Store, base: Span, contents: Contents, key: str) -> None:
        self.store, self.base, self.contents, self.key = store, base, contents, key
        self._lock = threading.Lock()
        self._database: Database | None = None

    def ask(self, question: Callable[[Database], Any]) -> Any:
        """What a question finds in the database, one question at a time."""
        with self._lock:
            if self._database is None:
                self._database = Database(self.store, self.base, self.contents, tables=("samples",))
            return question(self._database)

    @cached_property
    def extent(self) -> Times:
        """From the first to the last sample."""
        found: Times = self.ask(extent)
        return found


class StoreSite:
    """The page of a store, restricted to the span ``base``. Raises UndwarfError if nothing of it can be shown."""

    def __init__(self, store: Store, base: Span | None = None) -> None:
        self._store, self._base = store, base if base is not None else Span()
        page = bundle(start=FLEET_START)
        html = document(page, {}, served=True).encode()
        self._page = Answer(html, "text/html; charset=utf-8", policy(page, served=True))
        self._computations = Computations()
        self._lock = threading.Lock()
        self._commits: dict[str, Commit] = {}
        self._last: _Moment | None = None
        self._looked = 0.0
        self._parts: dict[str, Callable[[Mapping[str, str]], Part]] = {
            "fleet": self._about,
            "labels": self._labels,
            "times": self._times,
            "ready": self._ready,
        }
        self._now().ask(extent)

    def answer(self, path: str, query: Mapping[str, str]) -> Answer | None:
        """The page, or a part of it: of a result, what the bar shows, or whether a result is ready."""
        if not path:
            return self._page
        name = path.removeprefix("part/")
        if name == path:
            return None
        try:
            if name in self._parts:
                return Answer(encode(self._parts[name](query)))
            return self._part(name, query.get("result", ""))
        except UndwarfError as error:
            return _refused(HTTPStatus.BAD_REQUEST, error)

    def _now(self) -> _Moment:
        """The store as it is now."""
        with self._lock:
            if self._last is not None and time.monotonic() - self._looked < _LOOK_AGAIN:
                return self._last
            contents = self._store.contents(self._commits)
            names = "\n".join(commit.name for commit in contents.commits)
            key = hashlib.blake2b(names.encode(), digest_size=8).hexdigest()
            if self._last is None or self._last.key != key:
                self._last = _Moment(self._store, self._base, contents, key)
            self._looked = time.monotonic()
            return self._last

    def _choice(self, now: _Moment, query: Mapping[str, str]) -> _Choice:
        """What a query asks for. Raises UsageError."""
        span = parse(query.get("span", ""))
        last = query.get("last", "")
        if last:
            if last not in _LASTS or span.start is not None or span.end is not None:
                raise UsageError(
                    f"last={last[:20]} cannot be used", "", f"last is one of {', '.join(_LASTS)}, and alone"
                )
            end = _EPOCH + timedelta(minutes=-(-now.extent.end // _MINUTE))
            span = span._replace(start=end - _LASTS[last], end=end)
        return _Choice(span, parse(query["before"]) if "before" in query else None)

    def _about(self, query: Mapping[str, str]) -> Part:
        """The store, and what the query asks for."""
        now = self._now()
        choice = self._choice(now, query)
        values = {
            "version": VERSION,
            "store": self._store.address,
            "within": text_of(self._base) if self._base != Span() else None,
            "contents": now.key,
            "first": now.extent.start,
            "end": now.extent.end,
            "span": _span(choice.span),
            "before": _span(choice.before) if choice.before is not None else None,
        }
        return Part("fleet", values, {})

    def _labels(self, query: Mapping[str, str]) -> Part:
        """The labels of the span."""
        now = self._now()
        span = self._choice(now, query).span
        found = now.ask(lambda database: label_counts(database, span))
        return Part("labels", {"labels": [one._asdict() for one in found]}, {})

    def _times(self, query: Mapping[str, str]) -> Part:
        """The weight over time, of both sides if two spans are compared."""
        now = self._now()
        choice = self._choice(now, query)
        times = _shown(query["shown"]) if "shown" in query else _window(now.extent, choice)
        label = query.get("split", "") if choice.before is None else ""
        bars: list[Bars] = [
            now.ask(partial(weight_over_time, span=span, times=times, label=label)) for span in choice.spans
        ]
        sides = choice.before is not None
        events = list(dict.fromkeys(event for one in bars for event in one.events))
        count = sum(len(one.bar) for one in bars)
        columns = {
            "bar_time": zeros("I", count),
            "bar_event": zeros("I", count),
            "bar_series": zeros("I", count),
            "bar_weight": zeros("Q", count),
            "bar_samples": zeros("Q", count),
        }
        at = 0
        for number, one in enumerate(bars):
            numbers = [events.index(event) for event in one.events]
            for bar, event, series, weight, samples in zip(
                one.bar, one.event, one.of_series, one.weight, one.samples, strict=True
            ):
                columns["bar_time"][at], columns["bar_event"][at] = bar, numbers[event]
                columns["bar_series"][at] = number if sides else series if series >= 0 else len(one.series)
                columns["bar_weight"][at], columns["bar_samples"][at] = max(weight, 0), samples
                at += 1
        values = {
            "start": bars[0].start,
            "step": bars[0].step,
            "count": bars[0].count,
            "events": events,
            "series": ["before", "after"] if sides else [*bars[0].series, None],
        }
        return Part("times", values, columns)

    def _ready(self, query: Mapping[str, str]) -> Part:
        """Whether the result of a query is ready; it is computed if not."""
        now = self._now()
        choice = self._choice(now, query)
        names = [name_of(span) for span in choice.spans]
        key = hashlib.blake2b(json.dumps([now.key, choice.before is not None, *names]).encode(), digest_size=16)
        spans = [within(self._base, span) for span in choice.spans]
        if choice.before is None:
            work = partial(span_parts, self._store, now.contents, spans[0], names[0])
        else:
            work = partial(compared_parts, self._store, now.contents, (spans[0], spans[1]), (names[0], names[1]))
        one = self._computations.get(key.hexdigest(), work)
        one.wait(_WAIT)
        problem = _problem(one.problem) if one.problem is not None else None
        state = {"ready": one.parts is not None, "result": one.key, "stage": one.stage, "problem": problem}
        return Part("ready", state, {})

    def _part(self, name: str, result: str) -> Answer | None:
        one = self._computations.known(result)
        if one is None or not one.is_done:
            why = "the server keeps the last results only, or was started anew"
            return _refused(HTTPStatus.GONE, UndwarfError("this result is not kept any more", why, "reload the page"))
        part = one.parts.get(name) if one.parts is not None else None
        return Answer(part) if part is not None else None


def _span(span: Span) -> dict[str, Any]:
    """A span as the page has it; values with the backslashes of its text."""
    start, end = ((one - _EPOCH) // timedelta(microseconds=1) if one is not None else None for one in span[:2])
    return {
        "text": text_of(span),
        "start": start,
        "end": end,
        "labels": [[name, list(values)] for name, values in span.labels],
    }


def _problem(error: UndwarfError) -> dict[str, Any]:
    return {"text": str(error), "hint": error.hint, "empty": isinstance(error, NothingUsable)}


def _refused(status: HTTPStatus, error: UndwarfError) -> Answer:
    text = "; ".join(filter(None, (str(error), error.hint)))
    return Answer(f"{text}\n".encode("utf-8", "backslashreplace"), "text/plain; charset=utf-8", status=status)


def _shown(text: str) -> Times:
    """A range of time of us since 1970 with two dots between. Raises UsageError."""
    first, _dots, last = text.partition("..")
    if all(one.isascii() and one.isdecimal() and len(one) <= 18 for one in (first, last)) and int(first) < int(last):
        return Times(int(first), int(last))
    raise UsageError(f"{text[:80]!r} is no range of time")


def _window(whole: Times, choice: _Choice) -> Times:
    """The range of time of the histogram: all, or if what is chosen is much less, that with what is around it."""
    starts = [one.start for one in choice.spans]
    ends = [one.end for one in choice.spans]
    if None in starts or None in ends:
        return whole
    first = min((one - _EPOCH) // timedelta(microseconds=1) for one in starts if one is not None)
    last = max((one - _EPOCH) // timedelta(microseconds=1) for one in ends if one is not None)
    length = last - first
    if length * _MUCH_LESS > whole.end - whole.start:
        return whole
    start, end = max(whole.start, first - _CONTEXT * length), min(whole.end, last + _CONTEXT * length)
    return Times(start, end) if start < end else whole
