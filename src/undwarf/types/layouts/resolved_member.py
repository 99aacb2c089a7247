# cython: language_level=3, annotation_typing=False
"""The result of a resolved access (:class:`ResolvedMember`), and predicates on the member at an offset."""

from typing import NamedTuple

from undwarf.types.layouts.type_graph import Field, TypeGraph

__all__ = [
    "INCOMPLETE",
    "WIDER",
    "ResolvedMember",
    "begins",
    "is_exact",
    "is_inside_pointer_member",
    "is_member",
    "is_whole",
    "value_of",
]

INCOMPLETE = "incomplete type"
"""Reason: the pointee is only declared."""
WIDER = "access wider than its type"
"""Reason: the access covers several scalars."""


_VECTOR = 16
"""Smallest vector access, which may cover several members."""


class ResolvedMember(NamedTuple):
    """A resolved access: the type, the offset of its first byte in it, and the field there.

    `how` is "" for an offset inside the type, "array" for a neighbouring element, "behind" for an element of a trailing
    array of one (pre-C99 flexible array), "container" for a member of a containing object.
    """

    type: int
    offset: int
    field: Field
    how: str = ""


def is_member(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether an access is of a whole member; accesses of one or two bytes may be narrower than it."""
    found = graph.member_at(t, offset, size) if offset >= 0 else None
    if found is None or found.offset:
        return False
    whole = graph.size(found.type)
    return whole == size or size <= min(whole, 2) or is_whole(graph, found, size)


def is_exact(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether an access is of a whole member and not narrower, or of an overlapping or unaligned one."""
    found = graph.member_at(t, offset, size) if is_member(graph, t, offset, size) else None
    if found is None:
        return False
    whole = graph.size(found.type)
    return whole <= size or bool(found.candidates) or found.begin % whole != 0


def is_whole(graph: TypeGraph, found: Field, size: int) -> bool:
    """Whether a structure of ``size`` bytes starts at the field: structures are copied at once, with
    trailing padding."""
    return any(not at and graph.size(one) == size and graph.is_aggregate(one) for one, at in found.containers)


def begins(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether an access is of a whole member, or of several members by a vector register."""
    if is_member(graph, t, offset, size):
        return True
    found = graph.member_at(t, offset, size) if 0 <= offset <= graph.size(t) - size and size >= _VECTOR else None
    return found is not None and not found.offset


def is_inside_pointer_member(graph: TypeGraph, t: int, offset: int) -> bool:
    """Whether an offset is inside a pointer member, where no access starts."""
    found = graph.member_at(t, offset, 1) if 0 < offset < graph.size(t) else None
    return found is not None and found.offset > 0 and graph.is_pointer(found.type)


def value_of(graph: TypeGraph, found: ResolvedMember, size: int) -> int:
    """The type of the value read there; void if it is not one whole scalar."""
    return graph.value_at(found.type, found.offset, size)
