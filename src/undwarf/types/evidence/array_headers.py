# cython: language_level=3, annotation_typing=False
"""What lies before the elements of a row that has its header with it.

Strings that know how long they are, and arrays that grow, are handed around as pointers to their first element; behind
the members of an aggregate, whose last one is a row of so many elements as there is room for, these begin. What is done
before the first one is done with the header: numbers that no element is, or those beside them.
"""

from undwarf.types.dataflow.abstract_values import Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.layouts.resolved_member import Located
from undwarf.types.layouts.type_graph import TypeGraph

__all__ = ["in_header"]

_FAR = 64
"""Bytes before elements that a header has at most."""


def in_header(tracker: Tracker, k: int, number: int, where: Value, size: int) -> Located | None:
    """The member of the only header that has one just there, before the element that ``where`` leads to the begin of.

    What is as large as an element may be one, unless the function accesses other members of a header by the same
    register. The tracker stands before instruction ``k``.
    """
    graph, t = tracker.graph, where[1]
    if where[2] or not -_FAR <= where[4] < 0 or not graph.is_scalar(t) or not tracker.has_variables:
        return None
    known = tracker.questions.embedders.headers(t)
    if not known:
        return None
    if size == graph.size(t) and not _is_used(tracker, known, t, k, number):
        return None
    return _member(graph, known, where[4], size)


def _member(graph: TypeGraph, known: list[tuple[int, int]], offset: int, size: int) -> Located | None:
    """What lies at an offset before the elements, by one header only: a whole number, else the begin of one."""
    whole: list[Located] = []
    begun: list[Located] = []
    for header, length in known:
        at = length + offset
        field = graph.member_at(header, at, size) if at >= 0 else None
        if field is None or field.offset or not graph.is_scalar(field.type):
            continue
        larger = graph.size(field.type)
        if larger >= size:
            (whole if larger == size else begun).append(Located(header, at, field, "container"))
    found = whole or begun
    return found[0] if len(found) == 1 else None


def _is_used(tracker: Tracker, known: list[tuple[int, int]], t: int, k: int, number: int) -> bool:
    """Whether another member of a header, which no element is, is accessed through the register of an operand."""
    flow, graph = tracker.flow, tracker.graph
    base, whole = flow.instructions[k].memory[number].base, graph.size(t)
    return any(
        size > whole and offset >= -_FAR and _member(graph, known, offset, size) is not None
        for offset, size in flow.accessed_before.get(base, ())
    )
