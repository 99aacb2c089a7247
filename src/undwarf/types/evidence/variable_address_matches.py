# cython: language_level=3, annotation_typing=False
"""Types memory by variables with the same address, even if the operand does not use the variable's register.

Memory from a pool, or a packet, is bytes until some variable's declared type points to it. Compilers drop that variable
and address its members relative to the value its address was computed from. Two addresses with equal origins (reaching
definitions plus constants, or the same sum of registers) are equal.
"""

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter

from undwarf.disasm import NONE, Action, Memory
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, OBJECT, Value
from undwarf.types.dataflow.constants import REGISTERS
from undwarf.types.dataflow.function_dataflow import Named, Tracker
from undwarf.types.evidence.pointer_use_scan import callee_parameters
from undwarf.types.evidence.reaching_definitions import reaching_definitions
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import VOID, TypeGraph

__all__ = ["member_by_variable_address"]

_ADD, _ADDRESS, _COPY = Action.ADD, Action.ADDRESS, Action.COPY

_MOST, _WHOLE, _NEAR = 1 << 13, 1024, 256
"""Limit of instructions of a function; up to which all are searched; else the distance searched."""
_at = attrgetter("at")
_VECTOR = 16
"""Size of a vector register."""
_STEPS = 8
"""Limit of additions followed back to an origin."""

Origin = tuple[int, frozenset[int]]
"""(register, reaching definitions)."""
Sum = frozenset[Origin]
"""The origins of a sum's two registers."""


def member_by_variable_address(
    tracker: Tracker, k: int, operand: Memory, where: Value, size: int
) -> ResolvedMember | None:
    """The member at an operand, in the object that a variable points to at the same address, if no other variable
    contradicts; else None. Restores the cursor, at instruction ``k``."""
    if where[0] not in (OBJECT, ADDRESS) or operand.base == NONE or operand.segment:
        return None
    if where[2] and where[3]:
        said = ((one, _said(tracker, one)) for one in _near(tracker, k) if one.whole)
        named = [(one.at, one.type, where[4] - v[4]) for one, v in said if v is not None and v[:4] == where[:4]]
        named += _counted_by_sum(tracker, k, operand)
        named = named or [(k, t, where[4] - value[4]) for t, value in _given(tracker) if value[:4] == where[:4]]
    elif operand.index != NONE:
        named = list(_counted_by_sum(tracker, k, operand))
    elif where[2]:
        return None
    else:
        named = list(_counted(tracker, k, operand))
    graph = tracker.graph
    # The allocation may be larger, and be cleared as a whole.
    found = [one for one in named if 0 <= one[2] <= graph.size(one[1]) - (1 if size >= _VECTOR else size)]
    first = [one for one in found if _leads_over(tracker, one[0], k) or _leads_to(tracker, k, one[0])]
    tracker.before(k)
    found = first if first or not where[2] else found
    return _member(tracker, {(graph.canonical(t), offset): t for _at, t, offset in found}, size)


def _counted(tracker: Tracker, k: int, operand: Memory) -> Iterator[tuple[int, int, int]]:
    """(instruction, pointee, offset of the operand in it) of variables whose address has the same origin as the
    operand's base."""
    mine = dict(_origins(tracker, k, operand.base))
    for one in _near(tracker, k) if mine else ():
        for origin, offset in _origins_of(tracker, one):
            if origin in mine:
                yield one.at, one.type, operand.displacement + mine[origin] - offset - one.offset
                break


def _counted_by_sum(tracker: Tracker, k: int, operand: Memory) -> Iterator[tuple[int, int, int]]:
    """The same for addresses computed from one sum of two registers."""
    mine = _sum(tracker, k, operand)
    for one in _near(tracker, k) if mine is not None else ():
        made = _sum_of(tracker, one)
        if made is not None and made[0] == mine:
            yield one.at, one.type, operand.displacement - made[1] - one.offset


def _sum_of(tracker: Tracker, named: Named) -> "tuple[Sum, int] | None":
    """(the sum that a variable's address was computed from, offset added)."""
    origins = _origins_of(tracker, named)
    if not origins:
        return None
    (last, made_by), offset = origins[-1]
    at = min(made_by)
    if len(made_by) != 1 or at < 0:
        return None
    one = tracker.flow.instructions[at]
    if one.action != _ADDRESS or one.destination != last or one.width != 8:
        return None
    made = _sum(tracker, at, one.memory[0])
    return (made, offset + one.memory[0].displacement) if made is not None else None


def _sum(tracker: Tracker, k: int, operand: Memory) -> "Sum | None":
    """The sum of an operand's base and index; None if it has no index."""
    if operand.base == NONE or operand.index == NONE or operand.segment or operand.scale != 1:
        return None
    parts = [(register, reaching_definitions(tracker, k, register)) for register in (operand.base, operand.index)]
    return frozenset(parts) if all(made for _register, made in parts) else None


def _member(tracker: Tracker, found: dict[tuple[int, int], int], size: int) -> ResolvedMember | None:
    """The member of the only object, or of the one that contains the others."""
    graph = tracker.graph
    for (_canonical, offset), t in found.items():
        others = ((o, offset - one) for (_c, one), o in found.items())
        if all((not at and graph.same(t, o)) or graph.object_at(t, at, o) for o, at in others):
            field = graph.member_at(t, offset, size)
            return ResolvedMember(t, offset, field) if field is not None else None
    return None


def _near(tracker: Tracker, k: int) -> list[Named]:
    """Pointer variables that start to be in registers; in a large function those near an instruction."""
    count = len(tracker.flow.instructions)
    if tracker.named is None:
        tracker.named = sorted(_all_named(tracker)) if count <= _MOST else []
    if count <= _WHOLE:
        return tracker.named
    low, high = (bisect_left(tracker.named, at, key=_at) for at in (k - _NEAR, k + _NEAR))
    return tracker.named[low:high]


def _said(tracker: Tracker, one: Named) -> Value | None:
    """The tracked value of a variable's register before its location starts."""
    if one not in tracker.said:
        tracker.said[one] = _before_it_is_said(tracker, one.at, one.register)
    return tracker.said[one]


def _origins_of(tracker: Tracker, one: Named) -> "list[tuple[Origin, int]]":
    """The origins of a variable's register."""
    if one not in tracker.origins:
        tracker.origins[one] = list(_origins(tracker, one.at, one.register))
    return tracker.origins[one]


def _all_named(tracker: Tracker) -> Iterator[Named]:
    led: dict[int, int] = {}
    for address, register, offset, whole, pointer in tracker.oracle.in_single_registers():
        t = led.get(pointer)
        if t is None:
            t = led[pointer] = _object(tracker.graph, pointer)
        at = tracker.flow.index_of(address) if t != VOID and 0 <= register < REGISTERS else None
        if at is not None:
            yield Named(at, register, 0 if whole else offset, t, whole)


def _object(graph: TypeGraph, pointer: int) -> int:
    """The aggregate that a pointer type points to; void for none."""
    t = graph.strip(graph.target(pointer)) if graph.is_pointer(pointer) else VOID
    return t if graph.is_aggregate(t) and graph.size(t) else VOID


def _given(tracker: Tracker) -> list[tuple[int, Value]]:
    """(type, address) of indexed addresses that are passed to functions, or stored to pointers."""
    if tracker.given is None:
        tracker.given = list(_all_given(tracker)) if len(tracker.flow.instructions) <= _WHOLE else []
    return tracker.given


def _all_given(tracker: Tracker) -> Iterator[tuple[int, Value]]:
    instructions = tracker.flow.instructions
    taken: dict[int, dict[int, int]] = {}
    # Few of them have an indexed address, so a stored pointer's type is looked up last.
    for k in instructions.calls_and_stores(tracker.graph.pointer_size):
        made = instructions[k]
        target = made.target
        led = taken.get(target) if target is not None else {made.left: VOID}
        if target is not None and led is None:
            led = taken[target] = _taken(tracker, target)
        if not led:
            continue
        tracker.before(k)
        for register, said in led.items():
            value = tracker.register(register)
            if value is not None and value[0] in (OBJECT, ADDRESS) and value[2] and value[3]:
                t = said or _stored(tracker, k, made.width)
                if t != VOID:
                    yield t, value


def _taken(tracker: Tracker, target: int) -> dict[int, int]:
    """{register: aggregate} of a function's pointer parameters."""
    graph = tracker.graph
    taken = {
        register: t for register, t, part in callee_parameters(tracker, target) if not part and graph.is_pointer(t)
    }
    objects = {register: _object(graph, t) for register, t in taken.items()}
    return {register: t for register, t in objects.items() if t != VOID}


def _stored(tracker: Tracker, k: int, size: int) -> int:
    """The aggregate pointee of a pointer member that an instruction stores to; void for none."""
    where = tracker.address_of(k, 0)
    found = tracker.oracle.locate(where, size) if where is not None else ""
    return _object(tracker.graph, found.field.type) if not isinstance(found, str) and not found.field.offset else VOID


def _before_it_is_said(tracker: Tracker, at: int, register: int) -> Value | None:
    """The tracked value of a register before a variable's location starts; None if there are several predecessors."""
    flow = tracker.flow
    number = flow.blocks.of(at)
    if at == flow.blocks.first(number):
        ways = flow.blocks.predecessors(number)
        if len(ways) != 1 or flow.blocks.roots[number]:
            return None
        at = flow.blocks.end(ways[0])
    tracker.before(at - 1)
    made = flow.instructions[at - 1]
    if register not in made.writes:
        return tracker.register(register)
    if made.destination != register or made.width != 8:
        return None
    if made.action == _ADDRESS:
        parts = (made.memory[0].base, made.memory[0].index)
        if flow.blocks.of(at - 1) == number and register not in parts:
            # After it, the operands' values are those of later uses.
            tracker.before(at)
        return tracker.address_of(at - 1, 0)
    if made.action == _COPY:
        return tracker.register(made.left)
    if made.action == _ADD and made.right == NONE:
        value = tracker.register(made.left)
        return (*value[:4], value[4] + made.immediate) if value is not None and value[0] != FRAME else None
    return None


def _origins(tracker: Tracker, k: int, register: int) -> Iterator[tuple[Origin, int]]:
    """(origin, offset added) of a register's value, followed back over additions of constants: equal definitions give
    equal values."""
    instructions, offset = tracker.flow.instructions, 0
    for _step in range(_STEPS):
        made = reaching_definitions(tracker, k, register)
        if not made:
            return
        yield (register, made), offset
        if len(made) != 1 or min(made) < 0:
            return
        k = min(made)
        one = instructions[k]
        if one.destination != register or one.width != 8:
            return
        if one.action == _COPY:
            register = one.left
        elif one.action == _ADD and one.right == NONE:
            register, offset = one.left, offset + one.immediate
        elif one.action == _ADDRESS and one.memory and one.memory[0].index == NONE and not one.memory[0].segment:
            register, offset = one.memory[0].base, offset + one.memory[0].displacement
        else:
            return
        if register == NONE:
            return


def _leads_over(tracker: Tracker, at: int, k: int) -> bool:
    """Whether an instruction dominates another one, or both are in one block."""
    blocks = tracker.flow.blocks
    over, number = blocks.of(at), blocks.of(k)
    if over == number:
        return True
    queue = [one for one in range(len(blocks)) if blocks.roots[one] and one != over]
    seen = set(queue)
    while queue:
        ways = [one for one in blocks.successors(queue.pop()) if one != over and one not in seen]
        seen.update(ways)
        queue += ways
    return number not in seen


def _leads_to(tracker: Tracker, k: int, at: int) -> bool:
    """Whether a chain of single successors leads to the block of another instruction, as from clearing memory to the
    loop that fills it."""
    blocks = tracker.flow.blocks
    number, to = blocks.of(k), blocks.of(at)
    for _step in range(_STEPS):
        ways = blocks.successors(number)
        if len(ways) != 1:
            return False
        (number,) = ways
        if number == to:
            return True
    return False
