"""Skid: which load a late sample is about.

An event that is not precise stops at the next instruction that has not retired. If that one uses the value of a load a
few instructions before, it most likely waited for that load.
"""

from collections.abc import Iterator

from undwarf.disasm import Flow, Instruction
from undwarf.types.dataflow.control_flow import FunctionFlow

__all__ = ["late"]

_CALL, _INDIRECT_CALL, _RETURN = Flow.CALL, Flow.INDIRECT_CALL, Flow.RETURN

_LOOK_BACK = 8


def late(flow: FunctionFlow, k: int, *, trap_after: bool = False) -> "tuple[int, bool, frozenset[int]] | None":
    """(index of the load, whether the instruction uses its value, registers written since); None if there is none near.

    With ``trap_after`` it is the access of the instruction before, on whichever path.
    """
    before = _before(flow, k)
    if trap_after:
        first = next(before, None)
        if first is None or not _touches(flow.instructions[first]):
            return None
        return first, True, frozenset(flow.instructions[first].writes)
    wanted = set(flow.instructions[k].reads)
    written: set[int] = set()
    nearest = None
    for at in before:
        made = flow.instructions[at]
        if made.flow in (_CALL, _INDIRECT_CALL, _RETURN):
            break
        written.update(made.writes)
        loads = any("r" in operand.access and not operand.implicit for operand in made.memory)
        if wanted.intersection(made.writes):
            if loads:
                return at, True, frozenset(written)
            wanted.difference_update(made.writes)
            wanted.update(made.reads)
        if loads and nearest is None:
            nearest = at, False, frozenset(written)
    return nearest


def _touches(made: Instruction) -> bool:
    return any(operand.access and not operand.implicit for operand in made.memory)


def _before(flow: FunctionFlow, k: int) -> Iterator[int]:
    """Instructions before one, backwards along single predecessors."""
    number = flow.block_of(k)
    at = k
    for _step in range(_LOOK_BACK):
        if at == flow.blocks.first(number):
            ways = flow.blocks.predecessors(number)
            if len(ways) != 1:
                return
            number = ways[0]
            at = flow.blocks.end(number)
        at -= 1
        yield at
