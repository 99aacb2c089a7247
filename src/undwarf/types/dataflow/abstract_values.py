# cython: language_level=3, annotation_typing=False
"""The abstract value domain: what a register or stack slot may hold, and the join of two values.

A value is a tuple (base, type, step, symbol, offset). The base is what the offset is relative to:

======== ==================================================================================================
NUMBER   zero: an integer; with `type` 1 a pointer to void
FRAME    the call frame address
OBJECT   the start of an object of `type`
ADDRESS  zero, and the sum is an address of the program (a global); `type` is the address it started as
PERCPU   the start of a CPU's per-CPU area
THREAD   the thread pointer
POISON   the difference of pointers to different objects: adding it to a pointer gives an unknown one
VIRTUAL  the virtual base offset that a class's vtable has at `offset`
======== ==================================================================================================

A value stands for base + offset + n * step with an unknown integer n: step 0 is exact, with step 1 only the base is
known. Equal symbols (not 0) mean the same n, so that sums of parts of one index stay precise; on pointers loaded from
unions they mean the same pointer. At a join the offset is that of the predecessor reached first, in a loop that of the
first iteration; the result therefore depends on the order of visits. None is the unknown value (top).

Arithmetic on values is in `value_arithmetic.py`, on their interned ids.
"""

from math import gcd

from undwarf.types.dataflow.constants import ADDRESS, FRAME, NUMBER, OBJECT, PERCPU, POISON, THREAD, VIRTUAL
from undwarf.types.layouts.array_offsets import holds_array
from undwarf.types.layouts.resolve_offset import locate, members_selected_by_condition
from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph

__all__ = [
    "ADDRESS",
    "ANY",
    "ANYWHERE",
    "FRAME",
    "NUMBER",
    "OBJECT",
    "PERCPU",
    "POISON",
    "THREAD",
    "VIRTUAL",
    "Value",
    "join",
    "join_list_link",
    "join_variable",
    "scalar_pointee",
    "value_of_type",
]

_VOID, _UNION = Kind.VOID, Kind.UNION

ANY = 1 << 40
"""The symbol of any value loaded from a union; the data flow replaces it by one of its own for each load."""

Value = tuple[int, int, int, int, int]

_MOST_PARTS = 16
"""Limit of parts of a pointee that are searched for a common type."""
NULL: Value = (NUMBER, 0, 0, 0, 0)
NOWHERE: Value = (POISON, 0, 1, 0, 0)
ANYWHERE: Value = (NUMBER, 1, 1, 0, 0)
"""A pointer to void."""


def value_of_type(graph: TypeGraph, t: int, offset: int, size: int) -> Value | None:
    """The value of a register that holds ``size`` bytes of a type at ``offset``; None unless that is a pointer to a
    described type."""
    if not graph.is_scalar(t):
        t = graph.value_at(t, offset, size)
    elif offset:
        return None
    if not t or not graph.is_pointer(t):
        return None
    target = graph.target(t)
    if graph.kind(graph.strip(target)) == _VOID:
        return None
    return (OBJECT, target, 0, 0, 0)


def join(left: Value | None, right: Value | None, graph: TypeGraph) -> Value | None:
    """The join of two values at a merge of paths; None if they have nothing in common.

    Not commutative: `left` is the value already stored, and its offset is kept. The join of null and a pointer is the
    pointer, since a null pointer is never dereferenced.
    """
    if left == right:
        return left
    if left is None or right is None:
        return None
    if left[0] == right[0]:
        if left[0] == OBJECT and not graph.same(left[1], right[1]):
            return (
                _join_untagged(left, right, graph)
                or _join_container(left, right, graph)
                or _join_first_part(left, right, graph)
                or _join_bytes(left, right, graph)
                or _join_part(left, right, graph)
                or _join_common_part(left, right, graph)
            )
        if left[0] == POISON:
            return NOWHERE
        apart = left[4] - right[4]
        if left[2] == right[2] and left[3] == right[3] and not apart:
            return left
        return (left[0], left[1], step_of_both(left, right, graph), 0, left[4])
    # A null pointer is never dereferenced.
    if left == NULL and right[0] == OBJECT:
        return right
    if right == NULL and left[0] == OBJECT:
        return left
    return None


def step_of_both(left: Value, right: Value, graph: TypeGraph) -> int:
    """The step of the join of two values with one base: the greatest common divisor of steps and distance.

    If one of these is no multiple of the element size, multiples are ignored: they only select the element.
    """
    whole = graph.size(left[1]) if left[0] == OBJECT else 0
    first, second, apart = left[2], right[2], left[4] - right[4]
    if whole and (first or second) and (apart % whole or first % whole or second % whole):
        first, second, apart = (0 if not one % whole else one for one in (first, second, apart))
        # Relative to the nearest element boundary.
        apart = min(apart % whole, -apart % whole)
    return gcd(gcd(first, second), apart)


def _common_prefix(left: Value, right: Value, graph: TypeGraph) -> int:
    """Of two structures pointed to, the one whose members the other starts with; void if there is none."""
    if left[2] or right[2] or left[4] or right[4] or not all(graph.is_aggregate(one[1]) for one in (left, right)):
        return VOID
    shorter, longer = sorted((left[1], right[1]), key=lambda t: len(graph.members(t)))
    members, others = graph.members(shorter), graph.members(longer)
    if not 1 < len(members) < len(others) or not members[-1].offset:
        return VOID
    alike = all(
        one.name == other.name and one[1:5] == other[1:5] and graph.same(one.type, other.type)
        for one, other in zip(members, others, strict=False)
    )
    return shorter if alike else VOID


def _join_common_part(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """Join pointers to parts of different objects (or to two offsets of one) as a pointer to the type that both point
    to."""
    parts = _parts(left, graph)
    others = _parts(right, graph)
    # An element of the array that one of them iterates over is preferred to the object at its start.
    of_array = [t for t in parts if _iterates_over(right, t, graph)]
    of_array = of_array or [t for t in others if _iterates_over(left, t, graph)]
    shared = next((t for t in parts if any(graph.same(t, other) for other in others)), VOID)
    if of_array and graph.size(of_array[0]) > graph.size(shared):
        shared = of_array[0]
    if shared and not graph.is_aggregate(shared):
        shared = _common_prefix(left, right, graph) or shared
    return (OBJECT, shared, 0, 0, 0) if shared else None


def _iterates_over(value: Value, t: int, graph: TypeGraph) -> bool:
    """Whether a pointer iterates over an array of ``t`` inside its object, judged by its step."""
    size = graph.size(t)
    through = graph.is_aggregate(t) and size > 0 and abs(value[2]) == size != graph.size(value[1])
    return through and holds_array(graph, value[1], value[2], value[4], t)


def join_variable(t: int, offset: int, step: int, value: Value, graph: TypeGraph) -> Value | None:
    """Join a pointer to an offset of a stack variable of type ``t`` (plus multiples of ``step``) with another pointer,
    as a pointer to the type that both point to: a few elements in the frame, more on the heap. None if there is none.
    """
    whole = graph.size(value[1])
    if value[0] != OBJECT or whole <= 0 or value[2] % whole:
        return None
    # Any element of an array.
    first: Value = (OBJECT, value[1], 0, 0, value[4] % whole)
    inside = [*((value[1],) if not first[4] else ()), *_parts(first, graph)]
    for one in inside[:_MOST_PARTS]:
        if graph.kind(graph.strip(one)) == _UNION:
            inside += [member.type for member in graph.members(graph.strip(one)) if not member.offset]
    for one in inside:
        size = graph.size(one)
        if size > 0 and not step % size and graph.object_at(t, offset, one):
            return (OBJECT, one, size if step or value[2] or value[4] else 0, 0, 0)
    return None


def scalar_pointee(value: Value, graph: TypeGraph) -> Value | None:
    """A pointer to a scalar inside an object, as a pointer to that scalar only; None for other values.

    A pointer to the start of an object may mean the whole object, so it does not count.
    """
    if value[0] != OBJECT or value[2] or value[3]:
        return None
    if graph.is_scalar(value[1]):
        return value if not value[4] else None
    parts = _parts(value, graph) if value[4] > 0 else []
    return (OBJECT, parts[0], 0, 0, 0) if parts and graph.is_scalar(parts[0]) else None


def _join_untagged(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """Join an object pointer with a union of pointers and an integer whose low bits are flags (struct page's compound
    head): the result is the object, since the integer is used as a pointer to it after the flags are removed."""
    for one, other in ((left, right), (right, left)):
        flags = graph.choices(other[1]) and not other[2] and -graph.pointer_size < other[4] < 0
        if flags and not graph.choices(one[1]) and graph.is_aggregate(one[1]) and not one[2] and not one[4]:
            return (OBJECT, one[1], 0, 0, 0)
    return None


def _join_container(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """Join an object pointer with a pointer before a part of it, at the same distance as the part's offset: an element
    obtained from its list link (container_of), or newly allocated."""
    for part, whole in ((left, right), (right, left)):
        if part[2] or whole[2] or part[4] >= 0 or graph.choices(whole[1]) or not graph.is_aggregate(part[1]):
            continue
        place = whole[4] - part[4]
        if 0 < place < graph.size(whole[1]) and graph.object_at(whole[1], place, part[1]):
            return (OBJECT, whole[1], 0, 0, whole[4])
    return None


def join_list_link(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """Join a pointer to an object with a pointer to the list link that it starts with; None for other values."""
    for part, whole in ((left, right), (right, left)):
        begins = part[0] == whole[0] == OBJECT and part[2:] == whole[2:] == (0, 0, 0) and graph.is_link(part[1])
        if not begins or graph.choices(whole[1]) or graph.same(part[1], whole[1]):
            continue
        if graph.object_at(whole[1], 0, part[1]):
            return whole
    return None


def _join_first_part(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """Join a choice of several pointees with an object pointer, as the only alternative that the object starts with
    (short strings stored in a union, long ones elsewhere)."""
    for one, whole in ((left, right), (right, left)):
        size = graph.size(whole[1])
        exact = size > 0 and not whole[2] % size and not one[2] and not one[4] and not graph.choices(whole[1])
        several = graph.choices(one[1]) if exact else ()
        found = [t for t in several if graph.object_at(whole[1], whole[4] % size, t)]
        if len(found) == 1 and not graph.same(found[0], whole[1]):
            return (OBJECT, found[0], 0, 0, 0)
    return None


def _join_bytes(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """Join byte pointers with pointers to objects as a choice type: the accesses decide."""
    several = [graph.choices(one[1]) or (one[1],) for one in (left, right)]
    bytes_in = [[t for t in among if graph.is_scalar(t) and graph.size(t) == 1] for among in several]
    if not bytes_in[0] and not bytes_in[1]:
        return None
    objects = {graph.canonical(t) for among, of in zip(several, bytes_in, strict=True) for t in among if t not in of}
    if len(objects) > 1:
        return None
    one = graph.one_of((*several[0], *several[1]))
    if not objects:
        return (OBJECT, one, gcd(gcd(left[2], right[2]), left[4] - right[4]), 0, left[4]) if one else None
    whole = [each for each, among, of in zip((left, right), several, bytes_in, strict=True) if len(among) > len(of)]
    apart = any(each[2] or each[4] != whole[0][4] for each in whole)
    if apart or not one or any(not each[2] for each in (left, right) if each not in whole):
        return None
    return (OBJECT, one, 0, 0, whole[0][4])


def _parts(value: Value, graph: TypeGraph) -> list[int]:
    """Types of the objects that start where a pointer points to, outermost first."""
    located = locate(graph, value[1], value[2], value[4], 0)
    if isinstance(located, str):
        both = members_selected_by_condition(graph, value[1], value[2], value[4], graph.pointer_size)
        member = graph.member_at(*both[0], graph.pointer_size) if both else None
        inside = member.containers[1:] if member is not None else ()
        whole = [t for t, left in inside if not left and not graph.is_array(t)]
        return [*whole, member.type] if member is not None else []
    found = located.field
    return [t for t, left in found.containers if not left and not graph.is_array(t)] + (
        [found.type] if not found.offset else []
    )


def _join_part(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """Join a pointer to an object with one to its first part, or to another such part, as a pointer to the part."""
    for part, whole in ((left, right), (right, left)):
        size = graph.size(part[1])
        if not size or whole[2] % size or part[4] % size:
            continue
        begins = graph.object_at(whole[1], whole[4], part[1])
        further = whole[2] or (part[4] and begins)
        if (begins and not part[4]) or (further and holds_array(graph, whole[1], size, whole[4], part[1])):
            return (OBJECT, part[1], gcd(gcd(part[2], whole[2]), part[4]), 0, 0)
    return None
