# cython: language_level=3, annotation_typing=False
"""Pointees of values and types of memory operands, as known from the data flow."""

from collections.abc import Iterable

from undwarf.types.dataflow.abstract_values import ADDRESS, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import VOID, Field, Kind, TypeGraph

__all__ = [
    "begins_with",
    "common_whole",
    "exact_pointee",
    "is_pointer_or_integer",
    "known_pointees",
    "merged",
    "scalar_at",
]


def known_pointees(tracker: Tracker, value: Value | None) -> tuple[int, ...]:
    """Types of the objects that start where a pointer points to, largest first; empty if unknown."""
    if value is None or value[0] not in (OBJECT, ADDRESS):
        return ()
    graph = tracker.graph
    t, offset = value[1], value[4]
    if value[0] == ADDRESS:
        found = tracker.oracle.variable_of(value)
        if found is None:
            return ()
        t, offset = found[0], found[1]
    if graph.choices(t):
        return ()
    if value[0] == OBJECT and value[2] == 1 and graph.size(t) > 1:
        # A pointer plus any integer: no pointer in fact, as in a union.
        return ()
    if value[0] == OBJECT and not value[2] and graph.is_aggregate(t) and offset == graph.size(t):
        # Past an object there may be another one, or its trailing data.
        return ()
    located = tracker.oracle.locate(value, 0) if value[2] or offset else None
    if isinstance(located, str):
        return ()
    if located is not None and located.how == "container":
        return (located.type,) if not located.offset else ()
    if located is not None and located.how == "array" and not value[2] and offset > graph.size(t) > graph.pointer_size:
        # Far past an object may be anything.
        return ()
    row = located is not None and not located.offset and (located.how == "array" or graph.is_scalar(located.type))
    if located is None or row:
        begin = graph.target(t) if graph.is_array(t) else t
        inner = graph.member_at(begin, 0)
        wholes = [begin, *(one for one, left in inner.containers[1:] if not left)] if inner is not None else [begin]
    else:
        inside = located.field.containers
        # A pointer that steps through an array points to elements, not to the array's container.
        rows = [n for n, (one, _left) in enumerate(inside) if _is_row(graph, one, value[2])] if value[2] > 1 else []
        inside = _before_choice(graph, located.field)[max(rows[0], 1) if rows else 1 :]
        wholes = [one for one, left in inside if not left or (graph.is_array(one) and _is_row(graph, one, left))]
    # An object's address is also that of its first part.
    return tuple(dict.fromkeys(_element(tracker.graph, one) for one in wholes))


def _before_choice(graph: TypeGraph, found: Field) -> tuple[tuple[int, int], ...]:
    """The objects around an offset, down to an ambiguous union."""
    inside = found.containers
    unions = [n for n, (one, _left) in enumerate(inside) if graph.kind(graph.strip(one)) == Kind.UNION]
    return inside[: unions[0] + 1] if unions and len(found.candidates) > 1 else inside


def exact_pointee(tracker: Tracker, value: Value | None) -> tuple[int, ...]:
    """The only pointee of a pointer to an object's start; empty for others."""
    exact = value is not None and value[0] == OBJECT and not value[2] and not value[4]
    exact = exact and value is not None and not tracker.graph.choices(value[1])
    return (_element(tracker.graph, value[1]),) if exact and value is not None else ()


def _is_row(graph: TypeGraph, t: int, step: int) -> bool:
    """Whether a stride leads to other elements of an array."""
    stride = graph.stride(t) if graph.is_array(t) else 0
    return stride > 0 and not step % stride


def _element(graph: TypeGraph, t: int) -> int:
    for _depth in range(8):
        if not graph.is_array(t):
            break
        t = graph.target(t)
    return t


def scalar_at(tracker: Tracker, k: int, number: int, size: int) -> int:
    """The scalar type at an operand outside of the frame; void if it may be pointer or integer."""
    where = tracker.address_of(k, number)
    if where is None or where[0] not in (OBJECT, ADDRESS) or size not in (1, 2, 4, 8):
        return VOID
    located = tracker.oracle.locate(where, size)
    if isinstance(located, str):
        return VOID
    return VOID if _is_mixed(tracker, located, size) else tracker.graph.value_at(located.type, located.offset, size)


def is_pointer_or_integer(tracker: Tracker, k: int) -> bool:
    """Whether the first operand is a union member that may be pointer or integer."""
    where = tracker.address_of(k, 0)
    if where is None or where[0] not in (OBJECT, ADDRESS):
        return False
    size = tracker.graph.pointer_size
    located = tracker.oracle.locate(where, size)
    return not isinstance(located, str) and _is_mixed(tracker, located, size)


def _is_mixed(tracker: Tracker, located: ResolvedMember, size: int) -> bool:
    graph = tracker.graph
    return len(located.field.candidates) > 1 and graph.is_mixed(located.type, located.offset, size)


def merged(graph: TypeGraph, types: Iterable[int]) -> int:
    """The type that includes all others as first part, or their common first part; void if there is none."""
    kept: dict[int, int] = {}
    for t in types:
        kept.setdefault(graph.canonical(t), t)
    if len(kept) > 1:
        for canonical, t in list(kept.items()):
            # Bytes are compatible with all.
            if graph.size(t) <= 1 and len(kept) > 1:
                del kept[canonical]
    if len(kept) == 1:
        return next(iter(kept.values()))
    for whole in kept.values():
        if all(whole == t or begins_with(graph, whole, t) for t in kept.values()):
            return whole
    for part in kept.values():
        if all(part == t or graph.object_at(t, 0, part) for t in kept.values()):
            return part
    return VOID


def begins_with(graph: TypeGraph, whole: int, t: int) -> bool:
    """Whether an aggregate starts with an object, or scalar, of a type."""
    if graph.object_at(whole, 0, t):
        return True
    first = graph.value_at(whole, 0, graph.size(t)) if graph.is_aggregate(whole) and graph.is_scalar(t) else VOID
    return bool(first) and graph.canonical(first) == graph.canonical(t)


def common_whole(graph: TypeGraph, known: list[tuple[int, ...]]) -> int:
    """The largest type that all pointers have in common."""
    common = set.intersection(*({graph.canonical(t) for t in each} for each in known))
    return next((t for t in known[0] if graph.canonical(t) in common), VOID)
