"""The container of a pointed-to part, by variables at other offsets from the same register.

A pointer to a tree's node header fits every tree. If DWARF places other variables (references to the node's value, or
the variable itself) at offsets from the same register, the container must have members of these types there; if only
one has, it is that one.
"""

from undwarf.disasm import NONE, Memory
from undwarf.types.dataflow.abstract_values import OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.reaching_definitions import reaching_definitions
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.sources.type_source import PlaceKind

__all__ = ["container_by_variables"]

_MEMORY, _VALUE = PlaceKind.MEMORY, PlaceKind.VALUE

Parts = set[tuple[int, int]]
"""(type, offset from the register) of objects."""


def container_by_variables(tracker: Tracker, k: int, operand: Memory, where: Value, size: int) -> ResolvedMember | None:
    """The member at an operand, in the only container of the pointee that has all objects that variables place there;
    else None. The cursor is at instruction ``k``."""
    if where[0] != OBJECT or where[2] or operand.base == NONE or operand.index != NONE or operand.segment:
        return None
    graph, register = tracker.graph, operand.base
    begin = where[4] - operand.displacement
    around = tracker.oracle.containers.around(where[1])
    if begin < 0 or not around:
        return None
    for parts in (_parts_at(tracker, k, register), _parts_of_same(tracker, k, register)):
        if not parts:
            continue
        fitting = {
            graph.canonical(t): (t, at)
            for t, at in around
            if all(_has(tracker, t, at + begin + offset, part) for part, offset in parts)
        }
        if len(fitting) == 1:
            t, at = next(iter(fitting.values()))
            field = graph.member_at(t, at + where[4], size)
            inside = field is not None and not field.offset and size <= graph.size(field.type)
            return ResolvedMember(t, at + where[4], field, "container") if inside and field is not None else None
    return None


def _has(tracker: Tracker, t: int, offset: int, part: int) -> bool:
    """Whether an object of a type starts at an offset."""
    graph = tracker.graph
    if graph.is_aggregate(part):
        return graph.object_at(t, offset, part)
    found = graph.member_at(t, offset, graph.size(part)) if offset >= 0 else None
    return found is not None and not found.offset and graph.canonical(found.type) == graph.canonical(part)


def _parts_at(tracker: Tracker, k: int, register: int) -> Parts:
    """The objects that variables place around a register's address at an instruction."""
    graph, found = tracker.graph, Parts()
    for place in tracker.oracle.places_at(tracker.flow.instructions.address_of(k)):
        if place.register != register or place.piece_size or place.piece_offset:
            continue
        t, offset = place.type, place.offset
        if place.kind == _VALUE and graph.is_pointer(t):
            t = graph.target(t)
        elif place.kind != _MEMORY:
            continue
        if offset and graph.size(t) and not graph.is_array(t):
            found.add((graph.strip(t), offset))
    return found


def _parts_of_same(tracker: Tracker, k: int, register: int) -> Parts:
    """The same at all instructions of the function where the register holds this value."""
    made = reaching_definitions(tracker, k, register)
    found = Parts()
    if not made:
        return found
    flow = tracker.flow
    for low in tracker.oracle.counted_from(register):
        at = flow.index_of(low)
        if (
            at is not None
            and at != k
            and _parts_at(tracker, at, register)
            and made <= reaching_definitions(tracker, at, register)
        ):
            found |= _parts_at(tracker, at, register)
    return found
