# cython: language_level=3, annotation_typing=False
"""Types of spilled registers: values in stack slots that are no variable's."""

from undwarf.disasm import Action, Instruction, Memory
from undwarf.types.dataflow.abstract_values import OBJECT
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.sources.type_source import PlaceKind

__all__ = ["spilled_type"]


def spilled_type(tracker: Tracker, k: int, made: Instruction, operand: Memory, size: int) -> str:
    """The type of the register that an instruction spills or reloads, as text; "" if unknown. The cursor is at
    instruction ``k``, and for a reload the register's value is that after it."""
    if made.action == Action.STORE and operand.access == "w":
        return _held(tracker, made.left, made.address, size)
    if made.action != Action.LOAD or operand.access != "r":
        return ""
    block = tracker.flow.block_of(k)
    if k + 1 >= tracker.flow.blocks.end(block):
        return _variable(tracker, made.destination, made.next_address, size)
    tracker.before(k + 1)
    found = _held(tracker, made.destination, made.next_address, size)
    tracker.before(k)
    return found


def _held(tracker: Tracker, register: int, pc: int, size: int) -> str:
    """The type of a register's value: of the variable there, else a pointer to its pointee."""
    if register < 0:
        return ""
    found = _variable(tracker, register, pc, size)
    value = tracker.register(register)
    graph = tracker.oracle.graph
    if found or value is None or value[0] != OBJECT or size != graph.pointer_size:
        return found
    located = locate(graph, value[1], value[2], value[4], 0)
    if value[2] or value[4] or isinstance(located, str):
        return ""
    return f"{graph.canonical_name(value[1])}*"


def _variable(tracker: Tracker, register: int, pc: int, size: int) -> str:
    """The type of the innermost variable of ``size`` bytes in a register; "" if there is none."""
    graph = tracker.oracle.graph
    for place in reversed(tracker.oracle.places_at(pc)):
        whole = place.register == register and place.kind == PlaceKind.REGISTER and not place.piece_size
        if whole and graph.size(place.type) == size:
            return graph.canonical_name(place.type)
    return ""
