# cython: language_level=3, annotation_typing=False
"""An access that was explained: which field of which type it touches."""

from typing import NamedTuple

from undwarf.types.layouts.type_graph import Field, TypeGraph

__all__ = [
    "INCOMPLETE",
    "WIDER",
    "Located",
    "begins",
    "begins_inside_pointer",
    "is_exact",
    "is_member",
    "is_whole",
    "value_of",
]

INCOMPLETE = "incomplete type"
"""Why it is not known what is touched behind a pointer to what is only declared."""
WIDER = "access wider than its type"
"""Why it is not known what several numbers at once are."""


_VECTOR = 16
"""Bytes of several members at once."""


class Located(NamedTuple):
    """An access that was explained: the type, the offset of its first byte, and what lies there.

    `how` is "" for an offset inside the type, "array" for one of its neighbours, "behind" for what is further on in the
    array of one element that it ends in, "container" for what it is a part of.
    """

    type: int
    offset: int
    field: Field
    how: str = ""


def is_member(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether a whole member of a size begins there; of small numbers often less is read than there is."""
    found = graph.member_at(t, offset, size) if offset >= 0 else None
    if found is None or found.offset:
        return False
    whole = graph.size(found.type)
    return whole == size or size <= min(whole, 2) or is_whole(graph, found, size)


def is_exact(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether a member of a size begins there of which no less is read than there is, or some bits of one."""
    found = graph.member_at(t, offset, size) if is_member(graph, t, offset, size) else None
    if found is None:
        return False
    whole = graph.size(found.type)
    return whole <= size or bool(found.candidates) or found.begin % whole != 0


def is_whole(graph: TypeGraph, found: Field, size: int) -> bool:
    """Whether a structure that begins where a member does is of a size, as where it is copied at once, with the room
    behind its last member."""
    return any(not at and graph.size(one) == size and graph.is_aggregate(one) for one, at in found.containers)


def begins(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether a whole member of a size begins there, or several that are accessed at once."""
    if is_member(graph, t, offset, size):
        return True
    found = graph.member_at(t, offset, size) if 0 <= offset <= graph.size(t) - size and size >= _VECTOR else None
    return found is not None and not found.offset


def begins_inside_pointer(graph: TypeGraph, t: int, offset: int) -> bool:
    """Whether what is at an offset of a type is in the middle of an address: nobody accesses that."""
    found = graph.member_at(t, offset, 1) if 0 < offset < graph.size(t) else None
    return found is not None and found.offset > 0 and graph.is_pointer(found.type)


def value_of(graph: TypeGraph, found: Located, size: int) -> int:
    """The type of the value that is read there; void where it is not one whole scalar."""
    return graph.value_at(found.type, found.offset, size)
