"""What a register or stack slot may hold, as far as types need it: an address in something, or a number.

A value is a tuple (base, type, step, symbol, offset). The base says what the rest is counted from:

======== ==================================================================================================
NUMBER   zero: an integer
FRAME    the call frame address
OBJECT   the begin of an object of `type`
ADDRESS  zero, and the sum is an address of the program (a global)
PERCPU   the begin of a cpu's per-cpu area
THREAD   the thread pointer
POISON   nothing: a difference of two pointers to different things, which added to a third leads nowhere
======== ==================================================================================================

The value is base + offset + step * n for some integer n: step 0 is exact, step 1 says nothing but the base. Equal
symbols (not 0) mean the same n, so that sums of parts of one index stay precise. The offset is that of the first way on
which the value was reached: in a loop, that of its first turn.

None stands for what is not known at all.
"""

from math import gcd

from undwarf.types.model import TypeGraph

__all__ = [
    "ADDRESS",
    "FRAME",
    "NUMBER",
    "OBJECT",
    "PERCPU",
    "POISON",
    "THREAD",
    "Value",
    "add",
    "constant",
    "difference",
    "join",
    "scaled",
    "unknown",
]

NUMBER, FRAME, OBJECT, ADDRESS, PERCPU, THREAD, POISON = range(7)

Value = tuple[int, int, int, int, int]

_LARGEST = 1 << 64
UNKNOWN: Value = (NUMBER, 0, 1, 0, 0)
NULL: Value = (NUMBER, 0, 0, 0, 0)
NOWHERE: Value = (POISON, 0, 1, 0, 0)


def constant(value: int) -> Value:
    """A number."""
    return (NUMBER, 0, 0, 0, value)


def unknown(symbol: int) -> Value:
    """Any number; the same one wherever it has this symbol."""
    return (NUMBER, 0, 1, symbol, 0)


def bounded(value: Value) -> Value:
    """The value, or one that says less where its numbers outgrew an address."""
    base, t, step, _symbol, offset = value
    if -_LARGEST < offset < _LARGEST and -_LARGEST < step < _LARGEST:
        return value
    return (base, t, 1, 0, 0) if base != POISON else NOWHERE


def add(left: Value | None, right: Value | None) -> Value | None:
    """The sum; None if neither part says anything."""
    if left is None and right is None:
        return None
    a, b = left or UNKNOWN, right or UNKNOWN
    if a[0] == POISON or b[0] == POISON:
        return NOWHERE
    if b[0] != NUMBER:
        if a[0] != NUMBER:
            # Per-cpu: the address of a per-cpu variable and the base of a cpu's area.
            if {a[0], b[0]} == {ADDRESS, PERCPU}:
                address = a if a[0] == ADDRESS else b
                return (PERCPU, 0, address[2], address[3], address[4])
            return NOWHERE
        a, b = b, a
    if not a[2]:
        step, symbol = b[2], b[3]
    elif not b[2]:
        step, symbol = a[2], a[3]
    elif a[3] and a[3] == b[3]:
        step, symbol = a[2] + b[2], a[3]
        if not step:
            symbol = 0
    else:
        step, symbol = gcd(a[2], b[2]), 0
    return bounded((a[0], a[1], step, symbol, a[4] + b[4]))


def scaled(value: Value | None, factor: int) -> Value | None:
    """A number times a constant; nothing is known of an address times something."""
    if value is None:
        value = UNKNOWN
    if value[0] != NUMBER:
        return NOWHERE if factor != 1 else value
    step = value[2] * factor
    return bounded((NUMBER, 0, step, value[3] if step else 0, value[4] * factor))


def difference(left: Value | None, right: Value | None, graph: TypeGraph) -> Value | None:
    """left - right."""
    if right is None:
        return None if left is None or left[0] == NUMBER else add(left, None)
    if right[0] == NUMBER:
        return add(left, scaled(right, -1))
    if left is None or left[0] == NUMBER:
        return NOWHERE
    if left[0] == right[0] and left[1] == right[1]:
        step = gcd(left[2], right[2])
        if left[0] == OBJECT:
            # Two pointers to a type: elements of one array, or it would mean nothing.
            step = gcd(step, graph.size(left[1])) or 1
        return bounded((NUMBER, 0, step, 0, left[4] - right[4]))
    return NOWHERE


def join(left: Value | None, right: Value | None, graph: TypeGraph) -> Value | None:
    """What holds on both of two ways; `left` is the one known longer, whose offset stays."""
    if left == right:
        return left
    if left is None or right is None:
        return None
    if left[0] == right[0]:
        if left[0] == OBJECT and left[1] != right[1] and graph.canonical(left[1]) != graph.canonical(right[1]):
            return _nested(left, right, graph)
        if left[0] == POISON:
            return NOWHERE
        apart = left[4] - right[4]
        if left[2] == right[2] and left[3] == right[3] and not apart:
            return left
        return (left[0], left[1], gcd(gcd(left[2], right[2]), apart), 0, left[4])
    # A null pointer is never what is accessed.
    if left == NULL and right[0] == OBJECT:
        return right
    if right == NULL and left[0] == OBJECT:
        return left
    return None


def _nested(left: Value, right: Value, graph: TypeGraph) -> Value | None:
    """A pointer to a whole and one to its part, if the part is what both lead to."""
    for part, whole in ((left, right), (right, left)):
        if not graph.size(part[1]):
            continue
        if whole[2] and (graph.size(part[1]) == 0 or whole[2] % graph.size(part[1])):
            continue
        if part[4] == 0 and graph.object_at(whole[1], whole[4], part[1]):
            return (OBJECT, part[1], gcd(part[2], whole[2]), 0, part[4])
    return None
