# cython: language_level=3, annotation_typing=False
"""What a register or stack slot may hold, as far as types need it: an address in something, or a number.

A value is a tuple (base, type, step, symbol, offset). The base says what the rest is counted from:

======== ==================================================================================================
NUMBER   zero: an integer; of `type` 1 one that is a pointer to void, of which no more is known
FRAME    the call frame address
OBJECT   the begin of an object of `type`
ADDRESS  zero, and the sum is an address of the program (a global); `type` is the address it was first
PERCPU   the begin of a cpu's per-cpu area
THREAD   the thread pointer
POISON   nothing: a difference of two pointers to different things, which added to a third leads nowhere
VIRTUAL  nothing: what a class's table of virtual functions says at `offset`, how far away a virtual base is
======== ==================================================================================================

The value is base + offset + step * n for some integer n: step 0 is exact, step 1 says nothing but the base. Equal
symbols (not 0) mean the same n, so that sums of parts of one index stay precise; of pointers to one of several types,
which are loaded from unions, that they are the same pointer. The offset is that of the first way on
which the value was reached: in a loop, that of its first turn.

None stands for what is not known at all. Sums and products of values are in `value_arithmetic.py`, where they are
numbers.
"""

from math import gcd

from undwarf.types.dataflow.constants import ADDRESS, FRAME, NUMBER, OBJECT, PERCPU, POISON, THREAD, VIRTUAL
from undwarf.types.layouts.array_offsets import holds_array
from undwarf.types.layouts.resolve_offset import locate, one_of_two
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
    "alone",
    "join",
    "value_of_type",
    "with_link",
    "with_variable",
]

_VOID, _UNION = Kind.VOID, Kind.UNION

ANY = 1 << 40
"""The symbol of what any load from a union gives, to which the data flow gives one of its own."""

Value = tuple[int, int, int, int, int]

_MOST_PARTS = 16
"""Parts of what two pointers may share whose own parts are looked at."""
NULL: Value = (NUMBER, 0, 0, 0, 0)
NOWHERE: Value = (POISON, 0, 1, 0, 0)
ANYWHERE: Value = (NUMBER, 1, 1, 0, 0)
"""A pointer to void."""


def value_of_type(graph: TypeGraph, t: int, offset: int, size: int) -> Value | None:
    """What a register holds when it holds ``size`` bytes of a value of a type; None unless that is an address."""
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
    """What holds on both of two ways; `left` is the one known longer, whose offset stays."""
    if left == right:
        return left
    if left is None or right is None:
        return None
    if left[0] == right[0]:
        if left[0] == OBJECT and not graph.same(left[1], right[1]):
            return (
                _unflagged(left, right, graph)
                or _around(left, right, graph)
                or _beginning(left, right, graph)
                or _or_bytes(left, right, graph)
                or _nested(left, right, graph)
                or _shared(left, right, graph)
            )
        if left[0] == POISON:
            return NOWHERE
        apart = left[4] - right[4]
        if left[2] == right[2] and left[3] == right[3] and not apart:
            return left
        return (left[0], left[1], step_of_both(left, right, graph), 0, left[4])
    # A null pointer is never what is accessed.
    if left == NULL and right[0] == OBJECT:
        return right
    if right == NULL and left[0] == OBJECT:
        return left
    return None


def step_of_both(left: Value, right: Value, graph: TypeGraph) -> int:
    """By which steps two values of one base are apart.

    Steps of whole elements of an array do not matter where there are smaller ones: they only say which element it is.
    """
    whole = graph.size(left[1]) if left[0] == OBJECT else 0
    first, second, apart = left[2], right[2], left[4] - right[4]
    if whole and (first or second) and (apart % whole or first % whole or second % whole):
        first, second, apart = (0 if not one % whole else one for one in (first, second, apart))
        # Towards the begin of an element, or further on in the one before.
        apart = min(apart % whole, -apart % whole)
    return gcd(gcd(first, second), apart)


def _begun_alike(left: Value, right: Value, graph: TypeGraph) -> int:
    """Of two structures that are led to the one whose members the other begins with; void where that is not so."""
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


def _shared(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """Pointers to parts of two things, or of two places of one, as one to what both parts are."""
    parts = _parts(left, graph)
    others = _parts(right, graph)
    # An element of an array that one of them goes through counts before what lies where it is counted from.
    of_array = [t for t in parts if _goes_through(right, t, graph)]
    of_array = of_array or [t for t in others if _goes_through(left, t, graph)]
    shared = next((t for t in parts if any(graph.same(t, other) for other in others)), VOID)
    if of_array and graph.size(of_array[0]) > graph.size(shared):
        shared = of_array[0]
    if shared and not graph.is_aggregate(shared):
        shared = _begun_alike(left, right, graph) or shared
    return (OBJECT, shared, 0, 0, 0) if shared else None


def _goes_through(value: Value, t: int, graph: TypeGraph) -> bool:
    """Whether a pointer goes through an array of a structure inside of an object, by its steps."""
    size = graph.size(t)
    through = graph.is_aggregate(t) and size > 0 and abs(value[2]) == size != graph.size(value[1])
    return through and holds_array(graph, value[1], value[2], value[4], t)


def with_variable(t: int, offset: int, step: int, value: Value, graph: TypeGraph) -> Value | None:
    """A pointer to an offset of a variable of type ``t``, or steps further, and another one as a pointer to what both
    lead to, as where few elements have their room in the frame and more are allocated."""
    whole = graph.size(value[1])
    if value[0] != OBJECT or whole <= 0 or value[2] % whole:
        return None
    # Whichever element of an array it leads to.
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


def alone(value: Value, graph: TypeGraph) -> Value | None:
    """A pointer to a number or pointer, or to one inside of an object behind its begin, as one to that alone.

    A pointer to the begin of an object may be meant for the whole of it.
    """
    if value[0] != OBJECT or value[2] or value[3]:
        return None
    if graph.is_scalar(value[1]):
        return value if not value[4] else None
    parts = _parts(value, graph) if value[4] > 0 else []
    return (OBJECT, parts[0], 0, 0, 0) if parts and graph.is_scalar(parts[0]) else None


def _unflagged(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """An object, and what a number in a union leads to without the flags in its low bits, as a part of a page leads to
    its head: none of the pointers in the union leads there, and it is used as the object is."""
    for one, other in ((left, right), (right, left)):
        flags = graph.choices(other[1]) and not other[2] and -graph.pointer_size < other[4] < 0
        if flags and not graph.choices(one[1]) and graph.is_aggregate(one[1]) and not one[2] and not one[4]:
            return (OBJECT, one[1], 0, 0, 0)
    return None


def _around(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """An object, and what lies before a part of one, by as much as the part lies behind the object's begin: a list's
    element that was taken from its link or, where the list has none, made."""
    for part, whole in ((left, right), (right, left)):
        if part[2] or whole[2] or part[4] >= 0 or graph.choices(whole[1]) or not graph.is_aggregate(part[1]):
            continue
        place = whole[4] - part[4]
        if 0 < place < graph.size(whole[1]) and graph.object_at(whole[1], place, part[1]):
            return (OBJECT, whole[1], 0, 0, whole[4])
    return None


def with_link(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """An object, and a link that it begins with: a list's element that was taken from the list, or made where that is
    empty."""
    for part, whole in ((left, right), (right, left)):
        begins = part[0] == whole[0] == OBJECT and part[2:] == whole[2:] == (0, 0, 0) and graph.is_link(part[1])
        if not begins or graph.choices(whole[1]) or graph.same(part[1], whole[1]):
            continue
        if graph.object_at(whole[1], 0, part[1]):
            return whole
    return None


def _beginning(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """A pointer to one of several types and one to an object: as the only one of them that the object begins with, as
    text that is kept in a union itself or elsewhere, if it is long."""
    for one, whole in ((left, right), (right, left)):
        size = graph.size(whole[1])
        exact = size > 0 and not whole[2] % size and not one[2] and not one[4] and not graph.choices(whole[1])
        several = graph.choices(one[1]) if exact else ()
        found = [t for t in several if graph.object_at(whole[1], whole[4] % size, t)]
        if len(found) == 1 and not graph.same(found[0], whole[1]):
            return (OBJECT, found[0], 0, 0, 0)
    return None


def _or_bytes(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """Pointers to bytes of two types; one to an object, and one that was calculated from a pointer to bytes, where the
    object may be as well: what is done with it tells."""
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
    """Types of the objects that begin where a pointer leads, the outermost first."""
    located = locate(graph, value[1], value[2], value[4], 0)
    if isinstance(located, str):
        both = one_of_two(graph, value[1], value[2], value[4], graph.pointer_size)
        member = graph.member_at(*both[0], graph.pointer_size) if both else None
        inside = member.containers[1:] if member is not None else ()
        whole = [t for t, left in inside if not left and not graph.is_array(t)]
        return [*whole, member.type] if member is not None else []
    found = located.field
    return [t for t, left in found.containers if not left and not graph.is_array(t)] + (
        [found.type] if not found.offset else []
    )


def _nested(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """A pointer to a whole and one to its part, or to a further one of such, if the part is what both lead to."""
    for part, whole in ((left, right), (right, left)):
        size = graph.size(part[1])
        if not size or whole[2] % size or part[4] % size:
            continue
        begins = graph.object_at(whole[1], whole[4], part[1])
        further = whole[2] or (part[4] and begins)
        if (begins and not part[4]) or (further and holds_array(graph, whole[1], size, whole[4], part[1])):
            return (OBJECT, part[1], gcd(gcd(part[2], whole[2]), part[4]), 0, 0)
    return None
