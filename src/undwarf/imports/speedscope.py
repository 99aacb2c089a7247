"""speedscope's files: stacks as lists of frames (sampled), or functions that open and close (evented).

A file may hold several profiles, mostly one for each thread: their names are those of threads here. What they measure
is not said but for its unit, after which the event is named. Source:
https://www.speedscope.app/file-format-schema.json, ``src/lib/file-format-spec.ts`` (jlfwong/speedscope).
"""

import json
import math
from typing import Any, NoReturn

from undwarf.errors import UnreadableInput
from undwarf.imports.contents import too_large
from undwarf.imports.profile_builder import LARGEST, UNITS, Built, ProfileBuilder
from undwarf.profile.model import NONE, Origin

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_KNOWN = frozenset((*UNITS, "bytes", "none"))
EVENT = "weight"
"""The event of weights without a unit."""


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def parse(data: bytes, path: str) -> Any:
    """The JSON of a file. Raises UnreadableInput if it is none."""
    try:
        return json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        why = "its JSON is nested too deeply" if isinstance(error, RecursionError) else f"it is no JSON: {error}"
        raise UnreadableInput(f"cannot read {path}", why, "get a complete copy") from error


def read(data: bytes, builder: ProfileBuilder, kind: type[Built]) -> Built:
    """The profile in the JSON of a file."""
    if len(data) > builder.limits.profile_json_bytes:
        raise too_large(builder.path, builder.limits.profile_json_bytes)
    whole = parse(data, builder.path)
    if not isinstance(whole, dict) or not isinstance(whole.get("profiles"), list):
        _refuse(builder, "it is no speedscope file: it has no list of profiles")
    shared = whole.get("shared")
    if not isinstance(shared, dict) or not isinstance(shared.get("frames"), list):
        _refuse(builder, "it is no speedscope file: it has no shared frames")
    frames = [_frame(one, builder) for one in shared["frames"]]
    fields, sums = {"line"} if builder.files else set(), False
    for one in whole["profiles"]:
        if not isinstance(one, dict) or one.get("type") not in ("sampled", "evented"):
            builder.damage("profile that is neither sampled nor evented")
            continue
        part = Part(one, frames, builder)
        if one["type"] == "sampled":
            part.sampled()
        else:
            part.evented()
            sums = True
        fields.add("comm")
        if part.is_time:
            fields.add("time")
    return builder.profile(Origin("a speedscope profile", frozenset(fields), sums), kind)


def _refuse(builder: ProfileBuilder, why: str) -> NoReturn:
    raise UnreadableInput(f"cannot read {builder.path}", why, f"files of speedscope have the $schema {SCHEMA}")


def _frame(one: Any, builder: ProfileBuilder) -> int:
    """The frame of an entry of the shared frames."""
    if not isinstance(one, dict):
        builder.damage("damaged frame")
        one = {}
    name, file, line = one.get("name"), one.get("file"), one.get("line")
    return builder.frame(
        builder.function(name if isinstance(name, str) else ""),
        file=file if isinstance(file, str) else "",
        line=line if isinstance(line, int) else 0,
    )


class Part:
    """One profile of a file."""

    def __init__(self, data: dict[str, Any], frames: list[int], builder: ProfileBuilder) -> None:
        self._data = data
        self._frames = frames
        self._builder = builder
        name, unit = data.get("name"), data.get("unit")
        self._comm = builder.comm(name if isinstance(name, str) else "")
        if not isinstance(unit, str) or unit not in _KNOWN:
            builder.damage("unit that is not known")
            unit = "none"
        self.is_time = unit in UNITS
        """Whether weights are times, and thus positions in time as well."""
        self._scale = UNITS.get(unit, 1)
        name = "time" if self.is_time else unit if unit != "none" else EVENT
        self._event = builder.event(name, unit if unit != "none" else "")
        self._rounded = 0

    def _weight(self, value: Any) -> int | None:
        """A number in ns, or in its own unit, as a whole number; None if it cannot be one."""
        if isinstance(value, bool) or not isinstance(value, int | float) or (value != value or math.isinf(value)):
            return None
        scaled = value * self._scale
        if not -LARGEST <= scaled <= LARGEST:
            return None
        if not self.is_time and isinstance(scaled, float) and not scaled.is_integer():
            self._rounded += 1
        return round(scaled)

    def _list(self, name: str) -> list[Any]:
        found = self._data.get(name)
        if isinstance(found, list):
            return found
        self._builder.damage(f"profile without a list of {name}")
        return []

    def _sample(self, stack: int, weight: int, time: int) -> None:
        self._builder.sample(stack, weight, self._event, comm=self._comm, time=max(0, time) if self.is_time else 0)

    def sampled(self) -> None:
        """Add a sample for each stack, a list of frames from the root on, with its weight. The first begins at
        ``startValue``, each other one where the one before ends."""
        samples, weights = self._list("samples"), self._list("weights")
        if len(samples) != len(weights):
            self._builder.damage("profile with another number of weights than samples")
        stacks: dict[tuple[Any, ...], int | None] = {}
        at = self._weight(self._data.get("startValue")) or 0
        wrong = negative = 0
        for frames, value in zip(samples, weights, strict=False):
            try:
                key = tuple(frames)
                stack = stacks[key] if key in stacks else stacks.setdefault(key, self._stack(key))
            except TypeError:
                stack = None
            weight = self._weight(value)
            if stack is None or weight is None:
                wrong += 1
            elif weight < 0:
                negative += 1
            else:
                self._sample(stack, weight, at)
                at += weight
        self._builder.damage("damaged sample", wrong)
        self._builder.damage("weight below 0, left out", negative)
        self._builder.damage("weight with a fraction, rounded", self._rounded)

    def _stack(self, numbers: tuple[Any, ...]) -> int | None:
        """The stack of these entries of the shared frames; None if one is not there."""
        known = len(self._frames)
        if not all(type(number) is int and 0 <= number < known for number in numbers):
            return None
        return self._builder.stack([self._frames[number] for number in numbers])

    def evented(self) -> None:
        """Add an entry for each time between two events in which a function was open.

        What closes must be the function that was opened last. One that closes another, or goes back in time, is damage.
        """
        builder, known = self._builder, len(self._frames)
        stack: list[tuple[int, int]] = []
        node, before = NONE, self._weight(self._data.get("startValue")) or 0
        wrong = 0
        for event in self._list("events"):
            kind, number, value = (
                (event.get("type"), event.get("frame"), event.get("at"))
                if isinstance(event, dict)
                else (None, None, None)
            )
            at = self._weight(value)
            if (
                type(number) is not int
                or not 0 <= number < known
                or at is None
                or at < before
                or kind not in ("O", "C")
            ):
                wrong += 1
                continue
            if kind == "C" and (not stack or stack[-1][0] != number):
                wrong += 1
                continue
            if at > before:
                if stack:
                    self._sample(node, at - before, before)
                before = at
            if kind == "O":
                stack.append((number, node))
                node = builder.node(node, self._frames[number])
            else:
                _number, node = stack.pop()
        if stack:
            end = self._weight(self._data.get("endValue"))
            if end is not None and end > before:
                self._sample(node, end - before, before)
            builder.damage("function that is never closed", len(stack))
        builder.damage("event that does not fit the ones before", wrong)
        builder.damage("weight with a fraction, rounded", self._rounded)
