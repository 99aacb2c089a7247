"""Member by a sibling address: an instruction computed the address of a known object from the same registers as the
operand.

Compilers often compute an object's address into one register, but access its members relative to the registers it was
computed from.
"""

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
from undwarf.types.dataflow.abstract_values import OBJECT
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.pointer_use_scan import single_predecessors
from undwarf.types.layouts.resolved_member import ResolvedMember

__all__ = ["computed_from_same_base"]

_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)


def computed_from_same_base(tracker: Tracker, k: int, operand: Memory, size: int) -> ResolvedMember | None:
    """The member at an operand, in an object with a known address computed from the same registers on the only path
    here; else None. The cursor is at instruction ``k``."""
    if operand.base == NONE or operand.segment:
        return None
    graph, instructions = tracker.graph, tracker.flow.instructions
    changed: set[int] = set()
    for at in single_predecessors(tracker, k):
        made = instructions[at]
        apart = _apart(made, operand, changed)
        value = tracker.register(made.destination) if apart is not None else None
        if value is not None and apart is not None and value[0] == OBJECT and not value[2]:
            offset = value[4] + apart
            inside = graph.is_aggregate(value[1]) and 0 <= offset <= graph.size(value[1]) - size
            found = graph.member_at(value[1], offset, size) if inside else None
            if found is not None:
                return ResolvedMember(value[1], offset, found)
        changed.update(made.writes)
        if made.flow in _CALLS:
            changed.update(tracker.oracle.calls.lost)
        if operand.base in changed or operand.index in changed:
            break
    return None


def _apart(made: Instruction, operand: Memory, changed: set[int]) -> int | None:
    """Distance of an operand from the address that an instruction computes of the same registers; None if it does not,
    or if the address is overwritten later."""
    if made.action != Action.ADDRESS or made.width != 8 or made.destination in changed or not made.memory:
        return None
    one = made.memory[0]
    if made.destination in (operand.base, operand.index) or one.segment:
        return None
    same = (one.base, one.index, one.scale) == (operand.base, operand.index, operand.scale)
    if not same and not (one.scale == operand.scale == 1 and (one.index, one.base) == (operand.base, operand.index)):
        return None
    return operand.displacement - one.displacement
