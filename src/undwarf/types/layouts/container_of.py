# cython: language_level=3, annotation_typing=False
"""Accesses outside of a pointee's type: the containing object (container_of) or a neighbouring array element.

Input is a type, an exact offset outside of it, and the :class:`Containers` relation of the function; output is the
member of the only container that has one of that size there. If several containers fit, the one that contains no other,
or the one that the function's variables name, is taken; otherwise the access stays unknown.
"""

from collections.abc import Iterable

from undwarf.types.layouts.array_offsets import array_at, ends_open, in_following_array
from undwarf.types.layouts.containers import Containers
from undwarf.types.layouts.resolved_member import INCOMPLETE, ResolvedMember, is_member
from undwarf.types.layouts.type_graph import TypeGraph
from undwarf.types.layouts.virtual_bases import has_method_table

# tuple.__new__ is faster than the named tuple's constructor; there are tens of thousands of results.
_as_it_is = tuple.__new__

__all__ = ["candidates", "container_of_accesses", "covered", "in_array_around", "is_last_before", "member_outside"]

_CANDIDATES = 16


def member_outside(
    graph: TypeGraph, t: int, offset: int, size: int, whole: int, containers: Containers | None
) -> ResolvedMember | str:
    """The member at an exact offset outside of a type, in its container or in a neighbouring array element; else the
    reason."""
    if graph.is_array(t) and containers is not None and whole and offset >= 0:
        # A pointer to an array of arrays.
        found = graph.member_at(t, offset % whole, size)
        return ResolvedMember(t, offset % whole, found, "array") if found is not None else "offset outside the type"
    if containers is None or not containers.complete or graph.is_array(t):
        return "offset outside the type"
    key = (t, offset, size)
    known = containers.located.get(key)
    if known is None:
        known = containers.located[key] = _in_wholes(graph, t, offset, size, whole, containers)
    return known


def container_of_accesses(
    graph: TypeGraph,
    t: int,
    accesses: "list[tuple[int, int]]",
    containers: Containers,
    rows: "Iterable[tuple[int, int]]" = (),
) -> tuple[int, int] | None:
    """(container, offset of the part in it) of the only, or innermost, container with whole members for all
    ``accesses``, (offset from the part, size), and array elements for ``rows``; None if there is none."""
    if not containers.complete:
        return None
    # A small integer may be read wider than it is written.
    sizes: dict[int, int] = {}
    for offset, size in accesses:
        sizes[offset] = min(size, sizes.get(offset, size))
    of_rows = [
        (graph.size(container), container, at)
        for container, at in containers.around(t)
        if all(array_at(graph, container, size, at + offset) for offset, size in rows)
    ]
    for fits in (is_member, _may_be):
        fitting = [
            one for one in of_rows if all(fits(graph, one[1], one[2] + offset, size) for offset, size in sizes.items())
        ]
        if fitting:
            break
    else:
        return None
    fitting.sort()
    _size, container, at = fitting[0]
    for _other_size, other, place in fitting[1:]:
        if not graph.object_at(other, place - at, container):
            return None
    return container, at


def _in_wholes(
    graph: TypeGraph, t: int, offset: int, size: int, whole: int, containers: Containers
) -> ResolvedMember | str:
    outer = containers.around(t)
    if not outer and not containers.wholes(t):
        if not whole:
            return INCOMPLETE
        if containers.isolated or (offset < 0 and not containers.whole):
            # A member of an unknown container.
            return "offset outside the type"
        if not containers.whole and covered(graph, t, offset, containers, mentioned_only=False):
            return "offset outside the type"
        return _beside(graph, t, offset, size, whole)
    if whole and containers.whole and not containers.isolated and not covered(graph, t, offset, containers):
        return _beside(graph, t, offset, size, whole)
    # Could be the next array element as well: require a container that the function has a variable of.
    next_of_several = containers.knows_mentioned and bool(whole) and offset >= whole
    if next_of_several and size > 1 and _at_several(graph, t, offset, size, outer, containers.wanted()):
        return "offset outside the type"
    fitting: list[ResolvedMember] = []
    for container, at in outer:
        place = offset + at
        found = graph.member_at(container, place, size) if place >= 0 else None
        if found is not None and found.offset == 0 and size <= graph.size(found.type):
            fitting.append(_as_it_is(ResolvedMember, (container, place, found, "container")))
    if size == 1 and all(_is_character(graph, one) for one in fitting):
        # Bytes are not specific: text is everywhere, and flags are tested by a byte of an integer.
        places = [(container, offset + at) for container, at in outer]
        bytes_in = [(t, at, graph.member_at(t, at, 1)) for t, at in places if _may_be(graph, t, at, 1)]
        fitting = [ResolvedMember(t, at, found, "container") for t, at, found in bytes_in if found is not None]
    if fitting and whole and all(_beside_there(graph, t, one, offset) for one in fitting):
        # All containers have another object of the type there.
        return _beside(graph, t, offset, size, whole)
    if size > 2:
        # Small integers are often read narrower than they are.
        whole_members = [one for one in fitting if graph.size(one.field.type) == size]
        if whole_members or (whole and offset >= whole and not containers.knows_mentioned):
            # Could be the next array element: then the container's member is not what is read.
            fitting = whole_members
    if next_of_several:
        wanted = containers.wanted()
        fitting = [one for one in fitting if graph.canonical(one.type) in wanted]
    # Of nested containers the innermost that fits is enough.
    fitting.sort(key=lambda one: graph.size(one.type))
    names = {graph.canonical(one.type) for one in fitting}
    if len(names) > 1:
        wanted = containers.wanted()
        chosen = [one for one in fitting if graph.canonical(one.type) in wanted]
        if chosen:
            fitting = chosen
            names = {graph.canonical(one.type) for one in fitting}
    if len(names) == 1 and len({one.offset for one in fitting}) == 1:
        return fitting[0]
    if len(names) > 1 and all(_within(graph, one, fitting[0]) for one in fitting[1:]):
        return fitting[0]
    return "offset outside the type"


def _at_several(
    graph: TypeGraph, t: int, offset: int, size: int, outer: "list[tuple[int, int]]", wanted: "frozenset[int]"
) -> bool:
    """Whether an access past a part fits two unrelated positions of it in wanted containers, and some position has
    anything else than another object of the type there.

    Then the containers are ambiguous without looking at the rest: a common first member is in hundreds of types.
    """
    first: ResolvedMember | None = None
    differ = other_there = False
    for container, at in sorted(outer, key=lambda one: graph.size(one[0])):
        found = graph.member_at(container, offset + at, size)
        if found is None or found.offset or size > graph.size(found.type):
            continue
        one = _as_it_is(ResolvedMember, (container, offset + at, found, "container"))
        other_there = other_there or not _beside_there(graph, t, one, offset)
        if (size == 2 or graph.size(found.type) == size) and graph.canonical(container) in wanted:
            if first is None:
                first = one
            else:
                differ = differ or not _within(graph, one, first)
        if differ and other_there:
            return True
    return False


def _may_be(graph: TypeGraph, t: int, offset: int, size: int) -> bool:
    """Whether a member, or a byte of an integer, starts at an offset."""
    if is_member(graph, t, offset, size):
        return True
    found = graph.member_at(t, offset, size) if size == 1 and offset >= 0 else None
    return found is not None and graph.is_scalar(found.type) and not graph.is_pointer(found.type)


def _is_character(graph: TypeGraph, one: ResolvedMember) -> bool:
    """Whether the field is an element of a byte array."""
    return one.field.path.endswith("[]") and graph.size(one.field.type) == 1


def _beside_there(graph: TypeGraph, t: int, found: ResolvedMember, offset: int) -> bool:
    """Whether a container has another object of the type where an array would have the neighbour."""
    place = found.offset - offset % graph.size(t)
    return place >= 0 and graph.object_at(found.type, place, t)


def _beside(graph: TypeGraph, t: int, offset: int, size: int, whole: int) -> ResolvedMember | str:
    """The field in a neighbouring array element."""
    place = offset % whole
    found = graph.member_at(t, place, size) if place + size <= whole else None
    return ResolvedMember(t, place, found, "array") if found is not None else "offset outside the type"


def covered(graph: TypeGraph, t: int, offset: int, containers: Containers, *, mentioned_only: bool = True) -> bool:
    """Whether some container of the type extends to an offset and has anything else there than another object of the
    type, as an array would. ``mentioned_only``: of many containers only those that the function mentions."""
    whole = graph.size(t)
    wholes = containers.wholes(t) if mentioned_only else containers.all_wholes(t)
    for container, places in wholes.items():
        end = graph.size(container)
        reaches = not end or ends_open(graph, container)
        for at in places:
            if reaches or 0 <= offset + at < end:
                beside = at + offset - offset % whole if whole else -1
                if beside < 0 or not graph.object_at(container, beside, t):
                    return True
    return False


def is_last_before(graph: TypeGraph, t: int, offset: int, size: int, containers: Containers) -> bool:
    """Whether an offset is in the object before, as the last element before an iterator's end; not if a container has
    something else there."""
    before = -graph.size(t) <= offset < 0 and size <= graph.size(t) and graph.is_aggregate(t)
    if not before or not containers.bases_only or has_method_table(graph, t) or any(at for _t, at in containers.of(t)):
        return False
    return not covered(graph, t, offset, containers, mentioned_only=False)


def _within(graph: TypeGraph, outer: ResolvedMember, inner: ResolvedMember) -> bool:
    """Whether the outer field is inside an object of the inner one's type, at the same offset of it."""
    canonical = graph.canonical(inner.type)
    return any(graph.canonical(t) == canonical and at == inner.offset for t, at in outer.field.containers)


def candidates(
    graph: TypeGraph, t: int, offset: int, size: int, containers: Containers | None
) -> list[tuple[int, int]]:
    """(container, offset in it) of all containers that have a member for an access outside of a type; at most
    ``_CANDIDATES``."""
    found: list[tuple[int, int]] = []
    outer = containers.around(t) if containers is not None else []
    for container, at in outer:
        place = offset + at
        inside = graph.member_at(container, place, size) if place >= 0 else None
        if inside is not None and (not size or graph.size(inside.type) == size):
            found.append((container, place))
    return found[:_CANDIDATES]


def in_array_around(
    graph: TypeGraph, t: int, step: int, offset: int, size: int, containers: Containers
) -> ResolvedMember | None:
    """An element of an array with the stride in the only, or innermost, container of an aggregate that has one; else
    None."""
    fitting: list[tuple[int, int, int, ResolvedMember]] = []
    for container, at in containers.around(t) if graph.is_aggregate(t) and containers.complete else ():
        place = offset + at
        if is_member(graph, container, place, size) and array_at(graph, container, abs(step), place):
            found = graph.member_at(container, place, size)
            located = ResolvedMember(container, place, found) if found is not None else None
        else:
            located = in_following_array(graph, container, step, place, size)
        if located is not None:
            fitting.append((graph.size(container), container, at, located))
    if not fitting:
        return None
    _size, container, at, first = min(fitting)
    if any(not graph.object_at(other, place - at, container) for _bytes, other, place, _located in fitting):
        return None
    return ResolvedMember(container, first.offset, first.field, "container")
