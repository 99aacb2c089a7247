# cython: language_level=3, annotation_typing=False
"""Members of a header in front of an array's elements: accesses at negative offsets from a pointer to the elements.

Length-prefixed strings and growable arrays are passed as pointers to their first element (`struct { size_t len; char
data[]; }`). An access before the elements is of the header if only one structure with a flexible array of that element
type has a member there, and its size differs from the element's, or other members of the header are accessed, too.
"""

from undwarf.types.dataflow.abstract_values import Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import TypeGraph

__all__ = ["header_member"]

_FAR = 64
"""Largest header in bytes."""


def header_member(tracker: Tracker, k: int, number: int, where: Value, size: int) -> ResolvedMember | None:
    """The member of the only header that has one at the negative offset of ``where``, a pointer to an element; else
    None.

    An access with the element's size counts only if other header members are accessed through the same register. The
    cursor of ``tracker`` is at instruction ``k``.
    """
    graph, t = tracker.graph, where[1]
    if where[2] or not -_FAR <= where[4] < 0 or not graph.is_scalar(t) or not tracker.has_variables:
        return None
    known = tracker.oracle.containers.headers(t)
    if not known:
        return None
    if size == graph.size(t) and not _is_used(tracker, known, t, k, number):
        return None
    return _member(graph, known, where[4], size)


def _member(graph: TypeGraph, known: list[tuple[int, int]], offset: int, size: int) -> ResolvedMember | None:
    """The member at an offset before the elements in the only header that has one: a whole scalar, else a
    part of one."""
    whole: list[ResolvedMember] = []
    begun: list[ResolvedMember] = []
    for header, length in known:
        at = length + offset
        field = graph.member_at(header, at, size) if at >= 0 else None
        if field is None or field.offset or not graph.is_scalar(field.type):
            continue
        larger = graph.size(field.type)
        if larger >= size:
            (whole if larger == size else begun).append(ResolvedMember(header, at, field, "container"))
    found = whole or begun
    return found[0] if len(found) == 1 else None


def _is_used(tracker: Tracker, known: list[tuple[int, int]], t: int, k: int, number: int) -> bool:
    """Whether a header member, which is no element, is accessed through an operand's base register."""
    flow, graph = tracker.flow, tracker.graph
    base, whole = flow.instructions[k].memory[number].base, graph.size(t)
    return any(
        size > whole and offset >= -_FAR and _member(graph, known, offset, size) is not None
        for offset, size in flow.accessed_before.get(base, ())
    )
