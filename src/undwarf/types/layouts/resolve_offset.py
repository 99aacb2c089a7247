# cython: language_level=3, annotation_typing=False
"""Resolves an access to a member: type, offset, stride and size give a :class:`ResolvedMember`, or the reason why not.

An exact offset must be inside the type. A stride must be explained by an array: of the type itself if it is a multiple
of its size, or by an inner array that contains the offset and whose element size divides it. Anything else is unknown:
a negative offset is most often a pointer to a member of an unknown container.
"""

from undwarf.limits import Limits
from undwarf.types.layouts.array_offsets import (
    array_at,
    at_border,
    before_element,
    ends_open,
    in_flexible_array_of_one,
    in_following_array,
    in_following_larger_array,
    in_rows,
    in_rust_slice,
    is_explained_by_array,
    is_flexible_array_of_one,
    leaves_array,
    leaves_element,
)
from undwarf.types.layouts.container_of import covered, in_array_around, member_outside
from undwarf.types.layouts.containers import Containers
from undwarf.types.layouts.resolved_member import INCOMPLETE, WIDER, ResolvedMember
from undwarf.types.layouts.type_graph import VOID, Kind, Member, TypeGraph

__all__ = ["in_words", "locate", "members_selected_by_condition"]

_APART = 64
"""Largest distance of two members between which a condition selects."""
_MANY = 16
"""Minimum length of an array that counts as a table."""
_WORDS, _CHARACTERS = 8, 64
"""Largest number of words of text (a power of two), and of characters, that a loop processes per iteration."""


class _Variants:
    """Results for members of unions within one query, by (type, offset): nested unions reach few types by many paths.
    ``steps`` and ``depth`` are the remaining budget."""

    def __init__(self, limits: Limits) -> None:
        self.known: dict[tuple[int, int], ResolvedMember | str] = {}
        self.steps = limits.type_steps
        self.depth = limits.type_depth


def locate(
    graph: TypeGraph,
    t: int,
    step: int,
    offset: int,
    size: int,
    containers: Containers | None = None,
    variants: _Variants | None = None,
) -> ResolvedMember | str:
    """The member accessed by ``size`` bytes at ``offset``, plus or minus multiples of ``step``, of a type; else the
    reason.

    ``variants`` belongs to the query that this one is part of (a member of a union, same step and size).
    """
    if graph.kind(graph.strip(t)) in (Kind.FUNCTION, Kind.VOID):
        return "pointer to code or void"
    if graph.choices(t):
        t = VOID if step else graph.chosen(t, offset, size)
        if not t:
            return "ambiguous type"
    whole = graph.size(t)
    how, walks = "", 0
    if step and whole and step % whole == 0 and not ends_open(graph, t):
        if not 0 <= offset < whole:
            offset %= whole
        step, how, walks = 0, "array", step
    if graph.is_scalar(t):
        return _in_scalars(graph, t, step, offset, size, whole, walks)
    if not step:
        found = graph.member_at(t, offset, size) if offset >= 0 else None
        if found is not None:
            return ResolvedMember(t, offset, found, how)
        if not whole and not graph.members(t):
            return INCOMPLETE
        found = in_flexible_array_of_one(graph, t, offset, size) if 0 < whole <= offset else None
        # Unless a container has other members there.
        if found is not None and not (containers is not None and covered(graph, t, offset, containers)):
            return ResolvedMember(t, offset, found, "behind")
        return member_outside(graph, t, offset, size, whole, containers)
    if not 0 <= offset < whole:
        place = in_rows(graph, t, step, offset)
        place = in_rust_slice(graph, t, step, offset) if place is None else place
        found = graph.member_at(t, place, size) if place is not None else None
        if found is not None and place is not None:
            return ResolvedMember(t, place, found, "array")
    found = graph.member_at(t, offset, size) if offset >= 0 else None
    if found is not None:
        # All elements of an array without bounds are equal; hash computations give huge offsets.
        offset -= before_element(graph, found, step)
        found = graph.member_at(t, offset, size)
    if found is not None and (is_explained_by_array(graph, found, step) or in_rows(graph, t, step, offset) is not None):
        if at_border(graph, t, step, offset):
            return in_following_larger_array(graph, t, step, offset, size) or "unresolved array index"
        # An access across two elements is of neither: the index is biased, into the following array.
        leaves = leaves_element(graph, found, step, size) or leaves_array(graph, t, step, offset)
        other = in_following_array(graph, t, step, offset, size) if leaves else None
        return other or ResolvedMember(t, offset, found)
    other = in_following_array(graph, t, step, offset, size)
    if other is not None:
        return other
    if containers is not None and not containers.whole and _is_behind_part(graph, t, offset, containers):
        return in_array_around(graph, t, step, offset, size, containers) or "unresolved array index"
    # With a biased index, elements are read one at a time, so wider accesses are none. Indices are hardly biased by a
    # member after the array.
    arrays = [
        (at, stride)
        for at, stride, total in graph.arrays(t)
        if size <= stride and not step % stride
        if (step == stride < total and not at + total < offset < whole)
        or (at <= offset and is_flexible_array_of_one(graph, t, at, total))
    ]
    if len(arrays) == 1:
        at, stride = arrays[0]
        place = at + (offset - at) % stride
        found = graph.member_at(t, place, size)
        if found is not None:
            return ResolvedMember(t, place, found, "array")
    part = _in_parts(graph, t, step, offset, size)
    if part is not None:
        return part
    variant = _in_variant(graph, t, step, offset, size, variants or _Variants(graph.limits))
    if variant is not None:
        return variant
    aside = abs(step) - whole
    if whole and 0 < size <= aside and array_at(graph, t, aside, offset) is not None:
        # The diagonal: the next object and in it the next element of an array.
        found = graph.member_at(t, offset, size)
        if found is not None:
            return ResolvedMember(t, offset, found, "array")
    if containers is not None and containers.whole and abs(step) > graph.pointer_size and offset >= 0 < whole:
        return in_array_around(graph, t, step, offset, size, containers) or "unresolved array index"
    return "unresolved array index"


def _is_behind_part(graph: TypeGraph, t: int, offset: int, containers: Containers) -> bool:
    """Whether an offset is past an aggregate, where a container that starts with it may have something else."""
    return offset >= graph.size(t) > 0 and covered(graph, t, offset, containers, mentioned_only=False)


def _in_parts(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> ResolvedMember | None:
    """A narrow part of an element of a long array, traversed with the narrow size: tables of small integers in storage
    for large ones."""
    if size != abs(step) or not 1 < size < graph.pointer_size or not graph.is_aggregate(t):
        return None
    for at, stride, total in graph.arrays(t):
        if at != offset or stride % size or stride <= size or total < _MANY * stride:
            continue
        element, found = graph.member_at(t, at, stride), graph.member_at(t, at, size)
        whole = element is not None and graph.is_scalar(element.type) and graph.size(element.type) == stride
        if whole and found is not None and not graph.is_pointer(found.type):
            return ResolvedMember(t, at, found, "array")
    return None


def _in_variant(
    graph: TypeGraph, t: int, step: int, offset: int, size: int, variants: _Variants
) -> ResolvedMember | None:
    """The member of the only member of a union that explains the stride, as where structures end in arrays of their
    own."""
    if graph.kind(graph.strip(t)) != Kind.UNION:
        return None
    found = []
    for one in graph.members(graph.strip(t)):
        array = graph.is_array(one.type)
        inner = _in_member(graph, one, step, offset, size, variants) if array or graph.is_aggregate(one.type) else ""
        if isinstance(inner, ResolvedMember):
            path = f"{one.name}{inner.field.path}"
            found.append(ResolvedMember(t, offset, inner.field._replace(path=path)) if array else inner)
    return found[0] if len(found) == 1 else None


def _in_member(
    graph: TypeGraph, member: Member, step: int, offset: int, size: int, variants: _Variants
) -> ResolvedMember | str:
    """:func:`locate` in a member of a union, evaluated once for each type and offset."""
    key = (member.type, offset - member.offset)
    found = variants.known.get(key)
    if found is None:
        # Ends the recursion for a union that contains itself.
        variants.known[key] = "unresolved array index"
        variants.steps -= 1
        if variants.steps < 0 or variants.depth <= 0:
            graph.defects.add("types nested too deeply", graph.subject)
            return "unresolved array index"
        variants.depth -= 1
        found = variants.known[key] = locate(graph, member.type, step, key[1], size, variants=variants)
        variants.depth += 1
    return found


def in_words(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> ResolvedMember | None:
    """The first of several words of different types that word-sized steps from an aggregate's start traverse: a copy,
    or swap, by words. None if the aggregate has arrays."""
    found = graph.member_at(t, offset, size) if offset >= 0 and step == size == graph.pointer_size else None
    if found is None or found.offset or graph.size(found.type) != size or graph.arrays(t):
        return None
    begins = any(not left and graph.is_aggregate(one) and graph.size(one) > size for one, left in found.containers)
    behind = graph.member_at(t, offset + size, 1)
    differs = behind is not None and graph.canonical(behind.type) != graph.canonical(found.type)
    return ResolvedMember(t, offset, found, "array") if begins and differs else None


def members_selected_by_condition(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> list[tuple[int, int]]:
    """(aggregate, offset) of two members of one type between which a condition selects, such as a tree's left and
    right; empty if there are none."""
    first = graph.member_at(t, offset, size) if offset >= 0 and 2 <= abs(step) <= _APART else None
    if first is None or first.offset or graph.size(first.type) != size:
        return []
    for place in (offset + abs(step), offset - abs(step)):
        other = graph.member_at(t, place, size) if place >= 0 else None
        if other is None or other.offset or graph.size(other.type) != size:
            continue
        if graph.canonical(other.type) == graph.canonical(first.type):
            return [(t, min(place, offset)), (t, max(place, offset))]
    return []


def _in_scalars(
    graph: TypeGraph, t: int, step: int, offset: int, size: int, whole: int, walks: int
) -> ResolvedMember | str:
    """A scalar, or an element of an array of scalars: a pointer to a scalar may point to either. ``walks``: the stride,
    if it is a multiple of the scalar's size."""
    if not whole:
        return INCOMPLETE
    within = offset % whole
    if size > whole:
        # Several scalars at once: vectors, but hardly eight characters. Backwards from the start of a byte array there
        # are other elements, such as those before the control bytes of a hash table.
        by = abs(walks)
        if whole == 1 and (
            (size < 16 and not by) or by > _WORDS * size or (by & (by - 1) and not by & 1) or walks < -size
        ):
            return WIDER
        if size % whole or within:
            return WIDER
    elif whole == 1 and abs(walks) > _CHARACTERS:
        # Text is not traversed in such large steps: the bytes are storage for something else.
        return "unresolved array index"
    elif within + size > whole or (step and (step % whole) and size != whole):
        return "unresolved array index"
    if step % whole:
        within = 0
    found = graph.member_at(t, within, size)
    return (
        ResolvedMember(t, within, found, "" if not step and 0 <= offset < whole else "array")
        if found
        else "offset outside the type"
    )
