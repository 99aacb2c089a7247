"""Types of values loaded through void pointers, by the variable that they are assigned to.

A comparison function for `qsort` has parameters of type `const void *`; the value of ``*(struct node *const *)a`` goes
into a variable with its type.
"""

from undwarf.disasm import NONE, Action, Flow, Memory
from undwarf.types.dataflow.abstract_values import FRAME
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.type_source import PlaceKind

__all__ = ["type_of_void_pointer_load"]

_CALL, _INDIRECT_CALL = Flow.CALL, Flow.INDIRECT_CALL
_LOAD, _STORE = Action.LOAD, Action.STORE
_REGISTER = PlaceKind.REGISTER

_BEFORE, _BEHIND = 6, 3
"""How many instructions back a load of the pointer from the frame is searched; how many ahead the value's store is."""


def type_of_void_pointer_load(tracker: Tracker, k: int, operand: Memory, size: int) -> int:
    """The type of the value that instruction ``k`` loads through a void pointer; void if no variable types it. Restores
    the cursor."""
    made = tracker.flow.instructions[k]
    plain = operand.index == NONE and operand.base != NONE and not operand.displacement and not operand.segment
    if not plain or operand.access != "r" or made.action != _LOAD or made.width != size:
        return VOID
    found = VOID
    if _is_void(tracker, k, operand.base):
        found = _goes_to(tracker, k, made.destination, size)
    tracker.before(k)
    return found


def _is_void(tracker: Tracker, k: int, register: int) -> bool:
    """Whether a void pointer variable is in a register, or was just loaded into it."""
    instructions = tracker.flow.instructions
    if tracker.graph.is_void_pointer(_in_register(tracker, k, register)):
        return True
    first = tracker.flow.blocks.first(tracker.flow.blocks.of(k))
    for at in range(k - 1, max(first, k - _BEFORE) - 1, -1):
        made = instructions[at]
        if register in made.writes or made.flow in (_CALL, _INDIRECT_CALL):
            loaded = made.action == _LOAD and made.width == 8
            return loaded and tracker.graph.is_void_pointer(_in_frame(tracker, at, 8))
    return False


def _goes_to(tracker: Tracker, k: int, register: int, size: int) -> int:
    """The type of the variable that a register becomes, or is stored to, after an instruction."""
    instructions = tracker.flow.instructions
    end = tracker.flow.blocks.end(tracker.flow.blocks.of(k))
    for at in range(k + 1, min(k + 1 + _BEHIND, end)):
        made = instructions[at]
        t = _in_register(tracker, at, register)
        if not t and made.action == _STORE and made.left == register and made.memory[0].size == size:
            t = _in_frame(tracker, at, size)
        if t:
            same = tracker.graph.is_scalar(t) and tracker.graph.size(t) == size
            return t if same and not tracker.graph.is_void_pointer(t) else VOID
        if register in made.writes or made.flow in (_CALL, _INDIRECT_CALL):
            break
    return VOID


def _in_register(tracker: Tracker, k: int, register: int) -> int:
    """The type of the only variable entirely in a register; void if there is none."""
    places = tracker.oracle.places_at(tracker.flow.instructions.address_of(k))
    found = {
        tracker.graph.canonical(place.type): place.type
        for place in places
        if place.kind == _REGISTER and place.register == register and not place.piece_size
    }
    return next(iter(found.values())) if len(found) == 1 else VOID


def _in_frame(tracker: Tracker, k: int, size: int) -> int:
    """The type of the stack variable that an instruction loads or stores whole; void if there is none."""
    tracker.before(k)
    where = tracker.address_of(k, 0)
    found = tracker.stack_variable(k, where[4]) if where is not None and where[0] == FRAME and not where[2] else None
    if found is None or found[1] or tracker.graph.size(found[0].type) != size:
        return VOID
    return found[0].type
