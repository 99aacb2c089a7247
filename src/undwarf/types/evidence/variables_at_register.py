# cython: language_level=3, annotation_typing=False
"""Members of objects that variables place at, or near, the address in an operand's base register."""

from undwarf.disasm import NONE, Memory
from undwarf.types.dataflow.abstract_values import FRAME, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.byte_accesses import byte_run_access
from undwarf.types.layouts.resolve_offset import locate
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.sources.type_source import PlaceKind

__all__ = [
    "element_of_variable_array",
    "member_of_following_variable",
    "member_of_frame_pointee",
    "member_of_opaque_buffer",
    "member_of_variable",
]

_VALUE, _REGISTER, _CFA_VALUE, _MEMORY = PlaceKind.VALUE, PlaceKind.REGISTER, PlaceKind.CFA_VALUE, PlaceKind.MEMORY

_GENERAL = 16
"""Number of general registers."""


def member_of_variable(tracker: Tracker, k: int, operand: Memory, size: int) -> ResolvedMember | None:
    """The member in the largest object that variables place around the base register's address; None if none contains
    the operand."""
    if operand.index != NONE or operand.base == NONE or operand.segment:
        return None
    graph = tracker.graph
    best: ResolvedMember | None = None
    pc = tracker.flow.instructions.address_of(k)
    said = tracker.oracle.declared_values(operand.base, pc)
    held = tracker.register(operand.base)
    exact = held if held is not None and held[0] == OBJECT and not held[2] else None
    if not said and exact and (exact[4] < 0 or exact[4] + operand.displacement >= graph.size(exact[1]) > 0):
        # Outside of the object, also variables of other registers with the same pointer.
        copies = [one for one in range(_GENERAL) if one != operand.base and tracker.register(one) == held]
        said = [value for one in copies for value in tracker.oracle.declared_values(one, pc)]
    for value in said:
        offset = operand.displacement + value[4]
        inside = graph.member_at(value[1], offset, size) if 0 <= offset <= graph.size(value[1]) - size else None
        if inside is not None and (best is None or graph.size(value[1]) > graph.size(best.type)):
            best = ResolvedMember(value[1], offset, inside)
    return best


def member_of_following_variable(
    tracker: Tracker, k: int, operand: Memory, base: Value | None, where: Value, size: int
) -> ResolvedMember | None:
    """The member at an index in an object that a variable places right after the base's object; else None."""
    graph = tracker.graph
    if base is None or base[0] != OBJECT or base[2] or operand.index == NONE:
        return None
    whole = graph.size(base[1])
    inside = 0 <= base[4] < whole <= base[4] + operand.displacement
    pc = tracker.flow.instructions.address_of(k)
    for value in tracker.oracle.declared_values(operand.base, pc) if inside else ():
        if base[4] - value[4] >= whole and not value[2] and graph.is_aggregate(value[1]):
            located = locate(graph, value[1], where[2], value[4] + operand.displacement, size)
            if not isinstance(located, str):
                return located
    return None


def member_of_opaque_buffer(
    tracker: Tracker, k: int, number: int, where: Value, size: int
) -> ResolvedMember | str | None:
    """The member, or reason, past an object in a byte buffer that a variable places at the base register: these bytes,
    not another such object. None if there is no such variable."""
    graph, operand = tracker.graph, tracker.flow.instructions[k].memory[number]
    if graph.size(where[1]) <= 1 or operand.index != NONE or operand.base == NONE:
        return None
    for value in tracker.oracle.declared_values(operand.base, tracker.flow.instructions.address_of(k)):
        if graph.is_scalar(value[1]) and graph.size(value[1]) == 1:
            row = byte_run_access(tracker, k, number, value, size)
            return row or locate(graph, value[1], 0, value[4] + operand.displacement, size)
    return None


def member_of_frame_pointee(tracker: Tracker, k: int, offset: int, size: int) -> ResolvedMember | None:
    """The largest object at a frame offset that a variable points to: inlined methods have `this` with a frame address.
    None if there is none."""
    graph = tracker.graph
    best: ResolvedMember | None = None
    for place in tracker.oracle.places_at(tracker.flow.instructions.address_of(k)):
        if place.piece_size or not graph.is_pointer(place.type):
            continue
        at = place.offset
        if place.kind in (_VALUE, _REGISTER):
            base = tracker.register(place.register)
            if base is None or base[0] != FRAME or base[2]:
                continue
            at = base[4] + (place.offset if place.kind == _VALUE else 0)
        elif place.kind != _CFA_VALUE:
            continue
        t = graph.unwrapped(graph.target(place.type))
        whole = graph.size(t)
        if not graph.is_aggregate(t) or not 0 <= offset - at <= whole - size:
            continue
        inside = graph.member_at(t, offset - at, size)
        if inside is not None and (best is None or whole > graph.size(best.type)):
            best = ResolvedMember(t, offset - at, inside)
    return best


def element_of_variable_array(tracker: Tracker, k: int, operand: Memory, size: int) -> ResolvedMember | None:
    """The element of an array that a variable places at an operand's base register and displacement, as for arrays
    without bounds; else None."""
    if operand.base == NONE:
        return None
    pc = tracker.flow.instructions.address_of(k)
    for place in reversed(tracker.oracle.frame_places_at(pc)):
        at_base = place.kind == _MEMORY and place.register == operand.base
        if at_base and tracker.graph.is_array(place.type) and place.offset == operand.displacement:
            found = locate(tracker.graph, place.type, tracker.graph.stride(place.type), 0, size)
            return None if isinstance(found, str) else found
    return None
