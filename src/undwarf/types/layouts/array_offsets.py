# cython: language_level=3, annotation_typing=False
"""Explains strided offsets by the arrays inside a type.

Input is a type and an offset that is known only modulo a stride (``step``: an unknown index times the element size);
output is the array element or member that it reaches. A stride equal to an array's element size is evidence for that
array; the functions here decide between neighbouring arrays, biased indices, flexible arrays and unrolled loops.
"""

from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import VOID, Field, Kind, TypeGraph

__all__ = [
    "array_at",
    "at_border",
    "before_element",
    "element_at",
    "ends_open",
    "holds_array",
    "in_flexible_array_of_one",
    "in_following_array",
    "in_following_larger_array",
    "in_next",
    "in_rows",
    "in_rust_slice",
    "is_before_similar_array",
    "is_explained_by_array",
    "is_flexible_array_of_one",
    "is_of_smaller",
    "leaves_array",
    "leaves_element",
    "row_at",
    "same_array",
    "stands_alone",
]

_TURNS = 4
"""Largest unroll factor of a loop."""


def ends_open(graph: TypeGraph, t: int) -> bool:
    """Whether an aggregate ends in an array without bounds, or in a Rust slice (described as its first element): it
    cannot be an array element itself."""
    members = graph.members(t) if graph.is_aggregate(t) else ()
    if not members:
        return False
    last = members[-1]
    return (not last.size and graph.is_open(last.type)) or (last.offset >= graph.size(t) > 0 and last.size > 0)


def in_rust_slice(graph: TypeGraph, t: int, step: int, offset: int) -> int | None:
    """The offset in an aggregate with a trailing Rust slice of an element reached by steps; None if they do not fit it.

    rustc describes a slice as one element past the aggregate's size.
    """
    members = graph.members(t) if graph.is_aggregate(t) else ()
    last = members[-1] if members else None
    if last is None or not last.offset >= graph.size(t) > 0 < last.size or step % last.size or offset < last.offset:
        return None
    return last.offset + (offset - last.offset) % last.size


def stands_alone(graph: TypeGraph, t: int) -> bool:
    """Whether an aggregate ends in an array of unknown length, so that there is no array of it."""
    members = graph.members(t) if graph.is_aggregate(t) else ()
    return bool(members) and (
        ends_open(graph, t) or is_flexible_array_of_one(graph, t, members[-1].offset, members[-1].size)
    )


def is_flexible_array_of_one(graph: TypeGraph, t: int, at: int, total: int) -> bool:
    """Whether an aggregate ends in an array of one element, the pre-C99 form of a flexible array."""
    members = graph.members(t)
    last = members[-1].type if members and members[-1].offset == at else VOID
    return graph.is_array(last) and graph.stride(last) == total == graph.size(last)


def in_flexible_array_of_one(graph: TypeGraph, t: int, offset: int, size: int) -> Field | None:
    """The element of a trailing array of one that stands for an element further on (pre-C99 flexible array); None if
    none."""
    begin = 0
    inner = t
    for _depth in range(graph.limits.type_depth):
        members = graph.members(inner)
        if not members or graph.kind(graph.strip(inner)) == Kind.UNION:
            return None
        last = members[-1]
        begin += last.offset
        if is_flexible_array_of_one(graph, inner, last.offset, last.size):
            stride = graph.stride(last.type)
            place = (offset - begin) % stride if stride > 0 else 0
            alone = not begin or offset < begin + stride or place + size > stride
            return None if alone else graph.member_at(t, begin + place, size)
        inner = last.type
    return None


def in_rows(graph: TypeGraph, t: int, step: int, offset: int) -> int | None:
    """The offset in an array of arrays of the element reached by steps; None if no dimension has that stride."""
    for row in graph.dimensions(t):
        stride = graph.stride(row)
        if stride and not step % stride:
            return offset % stride
    return None


def at_border(graph: TypeGraph, t: int, step: int, offset: int) -> bool:
    """Whether an offset is in the last element of an array that another array with the same stride follows: a loop that
    goes backwards through the second one starts there, so the array is ambiguous."""
    if abs(step) <= 8:
        # Scalars: either array has the right type.
        return False
    arrays = [
        (at, at + total)
        for at, by, total in graph.arrays(t)
        if not (step % by and by % step) and (by >= abs(step) or total > abs(step))
    ]
    return any(end - abs(step) <= offset < end and any(at == end for at, _end in arrays) for _at, end in arrays)


def in_following_larger_array(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> ResolvedMember | None:
    """An element of the following array, if the elements of the array at the offset are too small for the steps even in
    an unrolled loop; else None."""
    stride = abs(step)
    held = [by for at, by, total in graph.arrays(t) if at <= offset < at + total]
    if not held or max(held) * _TURNS >= stride or not stride & (stride - 1):
        return None
    return in_following_array(graph, t, step, offset, size)


def leaves_element(graph: TypeGraph, found: Field, step: int, size: int) -> bool:
    """Whether an access starts in one element of an array with the stride and ends in the next."""
    for t, offset in found.containers:
        if graph.is_array(t) and graph.stride(t) == abs(step):
            return size <= abs(step) < offset % abs(step) + size
    return False


def leaves_array(graph: TypeGraph, t: int, step: int, offset: int) -> bool:
    """Whether an offset is near the end of an array with smaller elements than the stride: only its first index would
    be valid."""
    stride = abs(step)
    held = [(by, at + total) for at, by, total in graph.arrays(t) if at <= offset < at + total]
    return bool(held) and all(by < stride and end <= offset + stride for by, end in held)


def in_following_array(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> ResolvedMember | None:
    """The first element of an array that starts a few strides further on, if a whole scalar or element is accessed: the
    index is biased by one, or by the unroll factor."""
    stride = abs(step)
    if not graph.is_aggregate(t) or not 0 < size <= stride:
        return None
    begins = {at for at, by, total in graph.arrays(t) if by == stride <= total}
    for place in range(offset + stride, offset + _TURNS * stride + 1, stride) if begins else ():
        if not any(at <= place < at + stride for at in begins):
            continue
        found = graph.member_at(t, place, size)
        if found is not None and not found.offset and size in (graph.size(found.type), stride):
            return ResolvedMember(t, place, found, "array")
        break
    return None


def in_next(graph: TypeGraph, t: int, step: int, offset: int, size: int) -> ResolvedMember | None:
    """A whole member of the next object, for byte steps through types with a trailing byte array (length-prefixed
    records in a buffer): the bytes before the array are accessed as members only."""
    members = graph.members(t) if abs(step) == 1 < size and stands_alone(graph, t) else ()
    if not members or graph.stride(members[-1].type) != 1 or not 0 <= offset < members[-1].offset:
        return None
    found = graph.member_at(t, offset, size)
    whole = found is not None and not found.offset and graph.size(found.type) == size
    return ResolvedMember(t, offset, found, "array") if found is not None and whole else None


def array_at(graph: TypeGraph, t: int, step: int, offset: int) -> tuple[int, int] | None:
    """(start, end) of the smallest array with the stride at an offset; None if there is none."""
    found = [(at, at + total) for at, by, total in graph.arrays(t) if by == step and at <= offset < at + total]
    return min(found, key=lambda one: one[1] - one[0]) if found else None


def is_before_similar_array(graph: TypeGraph, t: int, step: int, offset: int) -> bool:
    """Whether an offset is in the last elements of a long array that another array with the same stride follows: a
    biased index may be of the second one."""
    stride = abs(step)
    arrays = [(at, at + total) for at, by, total in graph.arrays(t) if by == stride]
    ends = [
        end
        for at, end in arrays
        if at <= offset < end and offset + _TURNS * stride > end and end - at > 2 * _TURNS * stride
    ]
    return any(at == end for end in ends for at, _end in arrays)


def before_element(graph: TypeGraph, found: Field, step: int) -> int:
    """Bytes before the element that a field is in, in an array without bounds with that stride; 0 for other fields."""
    for t, left in found.containers:
        if graph.is_array(t) and not graph.size(t):
            stride = graph.stride(t)
            if stride and not step % stride:
                return left // stride * stride
    return 0


def is_explained_by_array(graph: TypeGraph, found: Field, step: int) -> bool:
    """Whether an array that contains a field explains the steps."""
    for t, _offset in found.containers:
        if graph.is_array(t):
            stride = graph.stride(t)
            total = graph.size(t)
            if stride and not step % stride and (not total or abs(step) <= total or step == stride):
                return True
    return False


def row_at(graph: TypeGraph, t: int, step: int, offset: int) -> tuple[int, int] | None:
    """(element type, offset in it) of the inner array that the steps traverse; None if there is none."""
    found = graph.member_at(t, offset) if offset >= 0 else None
    for container, left in found.containers if found is not None else ():
        if graph.is_array(container) and graph.stride(container) == abs(step):
            return graph.target(container), left % abs(step)
    return None


def element_at(graph: TypeGraph, t: int, offset: int, size: int) -> int:
    """The type of ``size`` bytes that is an array element at an offset of a type, or the type itself; void if none or
    ambiguous."""
    if size <= 0 or offset < 0:
        return VOID
    choices = graph.choices(t)
    if choices:
        alike = [one for one in choices if graph.size(one) == size and not offset]
        return alike[0] if len(alike) == 1 else VOID
    if not offset and graph.size(t) == size and not graph.is_array(t):
        return t
    field = graph.member_at(t, offset, 1)
    around = [(t, offset), *(field.containers if field is not None else ())]
    found = {
        graph.canonical(graph.target(one)): graph.target(one)
        for one, at in around
        if graph.is_array(one) and graph.stride(one) == size and not at % size
    }
    return next(iter(found.values())) if len(found) == 1 else VOID


def holds_array(graph: TypeGraph, t: int, step: int, offset: int, element: int) -> bool:
    """Whether an aggregate has an array of ``element`` with elements at the offset, plus or minus steps."""
    size = graph.size(element)
    if not size or step % size or not graph.is_aggregate(t):
        return False
    canonical = graph.canonical(element)
    for at, stride, _total in graph.arrays(t):
        if stride == size and not (offset - at) % stride:
            found = graph.member_at(t, at)
            inside = found.containers if found is not None else ()
            elements = (graph.unwrapped(graph.target(one)) for one, _left in inside if graph.is_array(one))
            if any(graph.canonical(each) == canonical for each in elements):
                return True
    return False


def same_array(graph: TypeGraph, t: int, step: int, first: int, second: int) -> bool:
    """Whether two offsets of an aggregate, plus or minus steps, may be in one inner array; also if
    neither is in any."""
    if not graph.is_aggregate(t):
        return True
    within = [
        {
            at
            for at, by, total in graph.arrays(t)
            if not (step % by and by % step) and total >= abs(step) and at <= place < at + total
        }
        for place in (first, second)
    ]
    return not within[0] or not within[1] or not within[0].isdisjoint(within[1])


def is_of_smaller(graph: TypeGraph, t: int, size: int) -> bool:
    """Whether a type is an array of scalars smaller than ``size``: indices of wider elements are not into it."""
    t = graph.unwrapped(t)
    return graph.is_array(t) and graph.is_scalar(graph.target(t)) and 0 < graph.stride(t) < size
