# cython: language_level=3, annotation_typing=False
"""Pointees at a phi: the types that the reaching definitions of a base register bring along.

After tail merging, one instruction is reached by paths with pointers of different types, such as those of a union. If
only one of these types has a member at the offset with the size of the access, it is that one.
"""

from undwarf.disasm import NONE, Action, Memory
from undwarf.types.dataflow.abstract_values import NULL, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.reaching_definitions import reaching_definitions
from undwarf.types.layouts.resolved_member import ResolvedMember, begins

__all__ = ["member_of_phi_pointee"]

_POINTER = 8
_DEEP = 3
"""Limit of nested loads that are followed."""
_WAYS = 8
"""Limit of reaching definitions."""


def member_of_phi_pointee(tracker: Tracker, k: int, operand: Memory, size: int) -> ResolvedMember | None:
    """The member of the only pointee, among those of the reaching definitions, that has one there; else None. Restores
    the cursor, at instruction ``k``."""
    if operand.base == NONE or operand.index != NONE or operand.segment:
        return None
    graph = tracker.graph
    found = _phi_pointees(tracker, k, operand.base, _DEEP)
    tracker.before(k)
    fitting = [t for t in found if begins(graph, t, operand.displacement, size)]
    field = graph.member_at(fitting[0], operand.displacement, size) if len(fitting) == 1 else None
    return ResolvedMember(fitting[0], operand.displacement, field) if field is not None else None


def _phi_pointees(tracker: Tracker, k: int, register: int, deep: int) -> list[int]:
    """The pointees that a register may have at an instruction; empty if any may be unknown."""
    ways = reaching_definitions(tracker, k, register)
    found: dict[int, int] = {}
    for at in ways if deep and len(ways) <= _WAYS and -1 not in ways else ():
        several = _defined_pointees(tracker, at, deep - 1)
        if several is None:
            return []
        found.update((tracker.graph.canonical(t), t) for t in several)
    return list(found.values())


def _defined_pointees(tracker: Tracker, at: int, deep: int) -> list[int] | None:
    """The pointees of the value that an instruction defines; None if unknown."""
    graph, made = tracker.graph, tracker.flow.instructions[at]
    if made.action == Action.CONSTANT:
        # A null pointer is never dereferenced.
        return [] if not made.immediate else None
    if made.width != _POINTER:
        return None
    tracker.before(at)
    if made.action == Action.COPY:
        value = tracker.register(made.left)
        return _types(tracker, value) or _phi_pointees(tracker, at, made.left, deep) or None
    operand = made.memory[0] if made.action == Action.LOAD else None
    if operand is None or operand.size != _POINTER:
        return None
    where = tracker.address_of(at, 0)
    if where is not None and where[0] == OBJECT:
        value, _own = tracker.oracle.load(where, _POINTER)
        return _types(tracker, value)
    if operand.index != NONE or operand.segment:
        return None
    found: list[int] = []
    for t in _phi_pointees(tracker, at, operand.base, deep):
        # Types without a pointer there are not on this path.
        there = graph.value_at(t, operand.displacement, _POINTER) if operand.displacement >= 0 else 0
        one = graph.target(there) if there and graph.is_pointer(there) else 0
        one = one or graph.pointers_at(t, operand.displacement, _POINTER)
        several = _types(tracker, (OBJECT, one, 0, 0, 0)) if one else []
        if several is None:
            return None
        found += several
    return found or None


def _types(tracker: Tracker, value: Value | None) -> list[int] | None:
    """The possible pointees of a pointer to an object's start; None if unknown."""
    if value == NULL:
        return []
    if value is None or value[0] != OBJECT or value[2] or value[4]:
        return None
    several = tracker.graph.choices(value[1]) or (value[1],)
    # A choice of one means that type or anything.
    return list(several) if len(several) > 1 or several[0] == value[1] else None
