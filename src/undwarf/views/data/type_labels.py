"""Data types as sort keys of reports, and as root frames of stacks."""

from array import array
from dataclasses import replace

from undwarf.column import zeros
from undwarf.profile.access_resolution import ResolvedAccesses
from undwarf.profile.grouping import Pairs, look_up
from undwarf.profile.model import NONE, FrameColumns, FunctionTable, Profile, StackColumns
from undwarf.types.resolver import Access
from undwarf.views.data.access_labels import SampleLabels
from undwarf.views.data.types import OUTSIDE

_CERTAIN = ("stack", "canary", "constant", "table", "spill", "none")


def _without(access: Access) -> str:
    """The label of an access without a type."""
    return f"({OUTSIDE[access.how]})" if access.how in _CERTAIN else "(unknown)"


def _texts(access: Access, line_size: int) -> tuple[str, str, str]:
    """The keys type, typeoff and typecln of an access."""
    if access.type is None or not access.countable:
        label = _without(access)
        return label, label, label
    offset = access.offset or 0
    return (
        access.type,
        f"{access.type} +{offset} ({access.field or 'no field'})",
        f"{access.type}: cache-line {offset // line_size}",
    )


def _mark(touched: ResolvedAccesses, frame: int) -> str:
    """The suffix of an inferred type, so that it has a row of its own."""
    if not touched.inferred[frame]:
        return ""
    return " [inferred]" if touched.consumed[frame] else " [inferred, confidence low]"


def type_labels(touched: ResolvedAccesses) -> SampleLabels:
    """Labels for the keys ``type``, ``typeoff`` (with offset and member) and ``typecln`` (with the cache line)."""
    profile = touched.profile
    columns = [zeros("I", len(profile.frames)) for _key in range(3)]
    numbers: list[dict[str, int]] = [{}, {}, {}]
    for frame, which in enumerate(touched.access):
        if which != NONE:
            mark = _mark(touched, frame)
            texts = _texts(touched.accesses[which], profile.line_size)
            for column, indices, text in zip(columns, numbers, texts, strict=True):
                column[frame] = indices.setdefault(text + mark, len(indices))
    leaves = look_up(profile.samples.stack, profile.stacks.frame)
    return {
        key: (look_up(leaves, column), list(indices) or [""])
        for key, column, indices in zip(("type", "typeoff", "typecln"), columns, numbers, strict=True)
    }


def by_type(touched: ResolvedAccesses) -> Profile:
    """The profile with the type and the member that its innermost frame accesses at the root of every stack."""
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
        path_down: list[int] = []
        while node != NONE and (node, which) not in copies:
            path_down.append(node)
            node = stacks.parent[node]
        copy = copies[node, which] if node != NONE else tops[which]
        for inner in reversed(path_down):
            parents.append(copy)
            of_node.append(stacks.frame[inner])
            copy = copies[inner, which] = len(parents) - 1
        node_of[number] = copy
    return profile.derived(
        samples=replace(profile.samples.columns, stack=look_up(column, node_of)),
        stacks=StackColumns(memoryview(array("I", parents)), memoryview(array("I", of_node))),
        frames=_with_roots(frames, len(names), len(profile.functions)),
        functions=FunctionTable(
            profile.functions.name + names,
            _extended(profile.functions.image, NONE, len(names)),
            _extended(profile.functions.address, 0, len(names)),
            _extended(profile.functions.unnamed, 0, len(names)),
        ),
    )


def _extended(column: memoryview, value: int, count: int) -> memoryview:
    """A column with ``count`` more entries of one value."""
    extended = array(column.format, column)
    extended.extend([value] * count)
    return memoryview(extended)


def _with_roots(frames: FrameColumns, count: int, function: int) -> FrameColumns:
    """The frames with ``count`` more, of the functions from ``function`` on."""
    functions = _extended(frames.function, 0, count)
    for k in range(count):
        functions[len(frames) + k] = function + k
    return FrameColumns(
        _extended(frames.image, NONE, count),
        _extended(frames.address, 0, count),
        _extended(frames.provenance, 0, count),
        functions,
        None,
        _extended(frames.inline_depth, 0, count),
        _extended(frames.file, NONE, count) if frames.file is not None else None,
        _extended(frames.line, 0, count) if frames.line is not None else None,
        _extended(frames.is_return, 0, count) if frames.is_return is not None else None,
    )
