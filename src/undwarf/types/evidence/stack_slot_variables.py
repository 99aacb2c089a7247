# cython: language_level=3, annotation_typing=False
"""Chooses between variables whose stack slots overlap: at different times, or an aggregate and its scalars.

Variable locations describe the state before an instruction. A store may end one variable, and a variable whose location
starts after the store is the one stored.
"""

from undwarf.disasm import NONE, Action, Instruction, Memory
from undwarf.types.dataflow.abstract_values import FRAME, NUMBER, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.layouts.type_graph import Kind, TypeGraph
from undwarf.types.sources.type_source import Place, PlaceKind

__all__ = [
    "array_after",
    "array_at_zero_index",
    "array_ending_at",
    "is_extended",
    "same_size_variable",
    "split_aggregate",
]

_STORE = Action.STORE
_REGISTER = PlaceKind.REGISTER

_UNROLL = 4
"""Largest unroll factor of a loop."""

_NUMBERS = (Kind.INT, Kind.CHAR, Kind.BOOL, Kind.ENUM)


def same_size_variable(
    tracker: Tracker, k: int, operand: Memory, at: int, size: int, found: tuple[Place, int] | None
) -> tuple[Place, int] | None:
    """(variable of ``size`` bytes, offset in it) at a frame offset, if ``found`` is none or of another size: the one
    whose location starts after this store, else another one valid here; otherwise ``found``."""
    graph = tracker.graph
    if found is not None and not (graph.is_scalar(found[0].type) and (found[1] or graph.size(found[0].type) != size)):
        return found
    made: Instruction = tracker.flow.instructions[k]
    if operand.access == "w":
        after = tracker.stack_variable(k + 1, at) if k + 1 < len(tracker.flow.instructions) else None
        begins = after is not None and after[0].low == made.next_address and not after[1]
        if after is not None and begins and _is_of(graph, after[0].type, size):
            return after
        return found or _variable_in_stored_register(tracker, k, made, at, size)
    if found is None or found[1]:
        return found
    for place in reversed(tracker.oracle.places_at(made.address)):
        if place[2:5] == found[0][2:5] and not place.piece_offset and _is_of(graph, place.type, size):
            return place, 0
    return found


def _variable_in_stored_register(
    tracker: Tracker, k: int, made: Instruction, at: int, size: int
) -> tuple[Place, int] | None:
    """The variable in the stored register, if this slot is its location elsewhere in the function: while it is in the
    register, DWARF does not mention the slot. The cursor is at instruction ``k``."""
    if made.action != _STORE or made.left < 0:
        return None
    oracle, graph = tracker.oracle, tracker.graph
    held = {
        (place.name, place.type)
        for place in oracle.places_at(made.address)
        if place.kind == _REGISTER and place.register == made.left and not place.piece_size
    }
    if not any(_is_of(graph, t, size) for _name, t in held):
        return None
    for home in oracle.locations_starting_at(at, tracker.register(tracker.program.machine.stack_pointer)):
        if (home.name, home.type) in held and not home.piece_size and _is_of(graph, home.type, size):
            return home, 0
    return None


def _is_of(graph: TypeGraph, t: int, size: int) -> bool:
    return graph.is_scalar(t) and graph.size(t) == size


def is_extended(tracker: Tracker, k: int, at: int, place: Place) -> bool:
    """Whether an integer in the frame may be stored with a larger size: no other variable follows it."""
    graph = tracker.graph
    if graph.kind(graph.strip(place.type)) not in _NUMBERS:
        return False
    return tracker.stack_variable(k, at + graph.size(place.type)) is None


def array_after(tracker: Tracker, k: int, where: Value) -> tuple[Place, int] | None:
    """The array in the frame whose first element is a few strides further: a biased index."""
    step = abs(where[2])
    for offset in range(where[4] + step, where[4] + _UNROLL * step + 1, step):
        found = tracker.stack_variable(k, offset)
        if found is not None:
            first = tracker.graph.is_array(found[0].type) and tracker.graph.stride(found[0].type) == step > found[1]
            return found if first else None
    return None


def array_ending_at(tracker: Tracker, k: int, where: Value) -> tuple[Place, int] | None:
    """The array in the frame that ends where an index starts, and its last element: a loop counts down from its end."""
    step = abs(where[2])
    found = tracker.stack_variable(k, where[4] - step)
    if found is None or not tracker.graph.is_array(found[0].type) or tracker.graph.stride(found[0].type) != step:
        return None
    return found if found[1] + step == tracker.graph.size(found[0].type) else None


def array_at_zero_index(tracker: Tracker, k: int, operand: Memory, where: Value, size: int) -> tuple[Place, int] | None:
    """The array in the frame at an operand without its index, if that starts below zero by at most a step (more is
    subtracted than added)."""
    graph = tracker.graph
    index = tracker.register(operand.index) if operand.index != NONE else None
    base = tracker.register(operand.base) if operand.base != NONE else None
    if index is None or index[0] != NUMBER or not -abs(index[2]) <= index[4] < 0:
        return None
    if base is None or base[0] != FRAME or base[2]:
        return None
    begin, step = base[4] + operand.displacement, abs(where[2])
    found = tracker.stack_variable(k, begin)
    stride = graph.stride(found[0].type) if found is not None and graph.is_array(found[0].type) else 0
    if found is None or not stride or step % stride or size > stride or found[1] % stride:
        return None
    return found[0], found[1] + (where[4] - begin) % step


def split_aggregate(tracker: Tracker, pc: int, found: Place, offset: int) -> tuple[Place, int]:
    """The aggregate variable that a scalar one is part of, if both are at one stack location: scalar replacement gives
    parts their own variables in inlined functions."""
    graph = tracker.graph
    at = found.offset + offset - found.piece_offset
    for place in reversed(tracker.oracle.frame_places_at(pc)):
        if place[2:4] != found[2:4] or graph.is_scalar(place.type):
            continue
        inside = at - place.offset
        if 0 <= inside < (place.piece_size or graph.size(place.type)):
            part = graph.member_at(place.type, place.piece_offset + inside, graph.size(found.type))
            if part is not None and not part.offset and _alike(graph, part.type, found.type):
                return place, place.piece_offset + inside
    return found, offset


def _alike(graph: TypeGraph, one: int, other: int) -> bool:
    """Whether two scalar types are equal, or pointers or references to the same type or its first part."""
    if graph.is_pointer(one) and graph.is_pointer(other):
        one, other = graph.target(one), graph.target(other)
        if graph.is_aggregate(one) and graph.object_at(one, 0, other):
            return True
    return graph.canonical(one) == graph.canonical(other)
