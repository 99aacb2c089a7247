# cython: language_level=3, annotation_typing=False
"""Uses a variable's location that starts after the instruction.

Compilers drop a location at a join and emit it again on the successors. If nothing redefines the register, or the copy
of it, in between on any path, the variable's type also holds here. Pointers to scalars, such as into text, may have
been advanced by then.
"""

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
from undwarf.types.dataflow.abstract_values import FRAME, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.layouts.resolved_member import ResolvedMember, begins

__all__ = ["member_of_later_variable"]

_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_AHEAD = 64
"""Limit of instructions searched."""


def member_of_later_variable(tracker: Tracker, k: int, operand: Memory, size: int) -> ResolvedMember | None:
    """The member at an operand by the only type that variables declare for its base register later, on all paths; else
    None."""
    if operand.base == NONE or operand.index != NONE or operand.segment:
        return None
    graph = tracker.graph
    found: dict[tuple[int, int], ResolvedMember] = {}
    said = _said(tracker, k, operand.base)
    tracker.before(k)
    for t, offset in said:
        place = offset + operand.displacement
        field = graph.member_at(t, place, size) if 0 <= place <= graph.size(t) - size else None
        if field is None or not begins(graph, t, place, size):
            return None
        found[graph.canonical(t), place] = ResolvedMember(t, place, field)
    return next(iter(found.values())) if len(found) == 1 else None


def _said(tracker: Tracker, k: int, register: int) -> set[tuple[int, int]]:
    """(type, offset) that variables declare for a register's value after an instruction."""
    instructions, blocks = tracker.flow.instructions, tracker.flow.blocks
    found: set[tuple[int, int]] = set()
    left = _AHEAD
    ways = [(blocks.of(k), k, {register: 0})]
    met: dict[int, dict[int, dict[int, int]]] = {}
    while ways and left > 0:
        number, at, held = ways.pop()
        end = blocks.end(number)
        while at < end and held and left > 0:
            kept_in = _kept(tracker, at, held)
            if kept_in is not None:
                found.add(kept_in)
                break
            held = _behind(tracker, instructions[at], held)
            at, left = at + 1, left - 1
            if at < end:
                pc, follow = instructions.address_of(at), instructions[at]
                # A location that starts where a register is written is of the new value.
                kept = held.keys() - (set(follow.writes) - set(follow.reads))
                declared = [(value, held[one]) for one in kept for value in tracker.oracle.declared_values(one, pc)]
                if declared:
                    found.update((value[1], value[4]) for value, apart in declared if _is_said(tracker, value, apart))
                    break
        else:
            for one in blocks.successors(number) if held and at == end else ():
                come = met.setdefault(one, {})
                come[number] = held
                if not blocks.roots[one] and come.keys() == set(blocks.predecessors(one)):
                    # If all predecessors were reached from here, keep what they agree on.
                    same = set.intersection(*(set(each.items()) for each in come.values()))
                    ways.append((one, blocks.first(one), dict(same)))
    return found


def _kept(tracker: Tracker, k: int, held: dict[int, int]) -> tuple[int, int] | None:
    """(type, offset) of a stack variable's pointee, if an instruction stores the pointer there and the location starts
    after it."""
    made = tracker.flow.instructions[k]
    if made.action != Action.STORE or held.get(made.left) != 0 or k + 1 >= len(tracker.flow.instructions):
        return None
    graph = tracker.graph
    tracker.before(k)
    where = tracker.address_of(k, 0)
    if where is None or (where[0], where[2]) != (FRAME, 0) or made.memory[0].size != graph.pointer_size:
        return None
    after = tracker.stack_variable(k + 1, where[4])
    if after is None or after[0].low != made.next_address or after[1] or not graph.is_pointer(after[0].type):
        return None
    return graph.target(after[0].type), 0


def _behind(tracker: Tracker, made: Instruction, held: dict[int, int]) -> dict[int, int]:
    """{register: offset added} of the registers that hold the pointer after an instruction."""
    kept = {one: apart for one, apart in held.items() if one not in made.writes}
    if made.action == Action.COPY and made.width == 8 and made.left in held:
        kept[made.destination] = held[made.left]
    elif made.action == Action.ADDRESS and made.width == 8 and made.memory[0].index == NONE:
        base = made.memory[0].base
        kept.update({made.destination: held[base] + made.memory[0].displacement} if base in held else {})
    elif made.action in (Action.ADD, Action.SUBTRACT) and made.width == 8 and made.left in held and made.right == NONE:
        more = made.immediate if made.action == Action.ADD else -made.immediate
        kept[made.destination] = held[made.left] + more
    lost = tracker.oracle.calls.lost if made.flow in _CALLS else ()
    return {one: apart for one, apart in kept.items() if one not in lost}


def _is_said(tracker: Tracker, value: Value, apart: int) -> bool:
    """Whether a declared pointee also holds ``apart`` bytes before: elements of scalars."""
    graph = tracker.graph
    size = graph.size(value[1]) if apart and graph.is_scalar(value[1]) else 0
    return value[0] == OBJECT and not value[2] and (not apart or (size > 0 and not apart % size))
