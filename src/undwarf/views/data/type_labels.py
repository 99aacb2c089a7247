"""Data types as sort keys of reports, and as root frames of stacks."""

from dataclasses import replace
from typing import Literal

from undwarf.column import zeros
from undwarf.profile.access_resolution import ResolvedAccesses
from undwarf.profile.grouping import Pairs, look_up
from undwarf.profile.model import NONE, FrameColumns, FunctionTable, Profile, StackColumns
from undwarf.types.resolver import Access
from undwarf.views.data.access_labels import SampleLabels
from undwarf.views.data.types import OUTSIDE

__all__ = ["by_type", "type_labels"]

_Kind = Literal["B", "I", "Q"]

_CERTAIN = ("stack", "canary", "constant", "table", "spill", "none")


def _without(access: Access) -> str:
    """What stands for the type where there is none."""
    return f"({OUTSIDE[access.how]})" if access.how in _CERTAIN else "(unknown)"


def _texts(access: Access, line_size: int) -> tuple[str, str, str]:
    """The keys type, typeoff and typecln of an access."""
    if access.type is None or not access.countable:
        nothing = _without(access)
        return nothing, nothing, nothing
    offset = access.offset or 0
    return (
        access.type,
        f"{access.type} +{offset} ({access.field or 'no field'})",
        f"{access.type}: cache-line {offset // line_size}",
    )


def _mark(touched: ResolvedAccesses, frame: int) -> str:
    """What follows a type that was inferred; so it is never added to what is known exactly."""
    if not touched.inferred[frame]:
        return ""
    return " [inferred]" if touched.consumed[frame] else " [inferred, confidence low]"


def type_labels(touched: ResolvedAccesses) -> SampleLabels:
    """Labels for the keys `type`, `typeoff` (with offset and member) and `typecln` (with the cache line)."""
    profile = touched.profile
    columns = [zeros("I", len(profile.frames)) for _key in range(3)]
    numbers: list[dict[str, int]] = [{}, {}, {}]
    for frame, which in enumerate(touched.access):
        if which != NONE:
            mark = _mark(touched, frame)
            texts = _texts(touched.accesses[which], profile.line_size)
            for column, known, text in zip(columns, numbers, texts, strict=True):
                column[frame] = known.setdefault(text + mark, len(known))
    leaves = look_up(profile.samples.stack, profile.stacks.frame)
    return {
        key: (look_up(leaves, column), list(known) or [""])
        for key, column, known in zip(("type", "typeoff", "typecln"), columns, numbers, strict=True)
    }


def by_type(touched: ResolvedAccesses) -> Profile:
    """The profile with two frames at the root of every stack: the type and the member its innermost frame accesses."""
    profile = touched.profile
    numbers: dict[tuple[str, ...], int] = {}
    stacks, frames = profile.stacks, profile.frames
    of_frame = zeros("I", len(frames))
    for frame, which in enumerate(touched.access):
        if which == NONE:
            of_frame[frame] = NONE
            continue
        access, mark = touched.accesses[which], _mark(touched, frame)
        member = f".{access.field}" if access.field else "(whole)"
        path = (access.type + mark, member) if access.type and access.countable else (_without(access) + mark,)
        of_frame[frame] = numbers.setdefault(path, len(numbers))
    pairs = Pairs(1024)
    group = look_up(look_up(profile.samples.stack, stacks.frame), of_frame)
    column = pairs.column(profile.samples.stack, group)
    names: list[str] = []
    parents: list[int] = []
    of_node: list[int] = []
    roots: dict[tuple[str, ...], int] = {}

    def root(path: tuple[str, ...]) -> int:
        if not path:
            return NONE
        if path not in roots:
            above = root(path[:-1])
            names.append(path[-1])
            parents.append(above)
            of_node.append(len(frames) + len(names) - 1)
            roots[path] = len(parents) - 1
        return roots[path]

    tops = [root(path) for path in numbers]
    copies: dict[tuple[int, int], int] = {}
    node_of = zeros("I", max(len(pairs), 1))
    for number, (node, which) in enumerate(zip(pairs.high(), pairs.low(), strict=True)):
        if node == NONE or which == NONE:
            node_of[number] = NONE
            continue
        way: list[int] = []
        while node != NONE and (node, which) not in copies:
            way.append(node)
            node = stacks.parent[node]
        at = copies[node, which] if node != NONE else tops[which]
        for inner in reversed(way):
            parents.append(at)
            of_node.append(stacks.frame[inner])
            at = copies[inner, which] = len(parents) - 1
        node_of[number] = at
    return profile.derived(
        samples=replace(profile.samples.columns, stack=look_up(column, node_of)),
        stacks=StackColumns(_column("I", parents), _column("I", of_node)),
        frames=_longer(frames, len(names), len(profile.functions)),
        functions=FunctionTable(
            profile.functions.name + names,
            _joined(profile.functions.image, "I", NONE, len(names)),
            _joined(profile.functions.address, "Q", 0, len(names)),
            _joined(profile.functions.unnamed, "B", 0, len(names)),
        ),
    )


def _column(kind: _Kind, values: list[int]) -> memoryview:
    made = zeros(kind, len(values))
    for k, value in enumerate(values):
        made[k] = value
    return made


def _joined(column: memoryview, kind: _Kind, value: int, count: int) -> memoryview:
    made = zeros(kind, len(column) + count)
    made[: len(column)] = column
    for k in range(len(column), len(made)):
        made[k] = value
    return made


def _longer(frames: FrameColumns, count: int, function: int) -> FrameColumns:
    """The frames with `count` more, of functions from a number on."""
    functions = _joined(frames.function, "I", 0, count)
    for k in range(count):
        functions[len(frames) + k] = function + k
    return FrameColumns(
        _joined(frames.image, "I", NONE, count),
        _joined(frames.address, "Q", 0, count),
        _joined(frames.provenance, "B", 0, count),
        functions,
        None,
        _joined(frames.inline_depth, "B", 0, count),
        _joined(frames.file, "I", NONE, count) if frames.file is not None else None,
        _joined(frames.line, "I", 0, count) if frames.line is not None else None,
    )
