# cython: language_level=3, annotation_typing=False
"""Conditionally selected addresses: the members between which a condition selects, as in ``*(c ? &p->a : &p->b) = 1``.

After the join only the distance of the addresses is known; the reaching definitions give the exact offsets.
"""

from math import gcd

from undwarf.disasm import NONE, Action, Memory
from undwarf.types.dataflow.abstract_values import FRAME, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.layouts.resolved_member import begins

__all__ = ["select_members", "select_offsets"]

_MOST = 12
"""Limit of instructions searched."""


def select_members(tracker: Tracker, k: int, operand: Memory, where: Value, size: int) -> tuple[str, ...]:
    """Paths of the members that an operand may access, that of the first predecessor first; empty if it may be anything
    else. Restores the cursor, at instruction ``k``."""
    graph = tracker.graph
    offsets = select_offsets(tracker, k, operand, where) if graph.is_aggregate(where[1]) else ()
    if not offsets or not all(begins(graph, where[1], at, size) for at in offsets):
        return ()
    fields = [graph.member_at(where[1], at, size) for at in offsets]
    return tuple(one.path for one in fields if one is not None)


def select_offsets(tracker: Tracker, k: int, operand: Memory, where: Value) -> tuple[int, ...]:
    """Offsets that an operand without an index may be at, that of the first predecessor first; empty if it may be
    elsewhere. Restores the cursor, at instruction ``k``."""
    if operand.base == NONE or operand.index != NONE or where[0] not in (OBJECT, FRAME) or not where[2]:
        return ()
    made: list[Value] = []
    whole = _made(tracker, k, operand.base, made, set())
    tracker.before(k)
    if not whole or any(not tracker.graph.same(one[1], where[1]) for one in made if where[0] == OBJECT):
        return ()
    offsets = dict.fromkeys((where[4], *(one[4] + operand.displacement for one in made)))
    there = where[4] in {one[4] + operand.displacement for one in made} and all(one[0] == where[0] for one in made)
    # No other definition reaches: no argument, no result of a call.
    return tuple(offsets) if there and gcd(*(at - where[4] for at in offsets)) == abs(where[2]) else ()


def _made(tracker: Tracker, k: int, register: int, made: list[Value], seen: set[tuple[int, int]]) -> bool:
    """Add the definitions of a register that reach an instruction to ``made``; True if all are known."""
    for at in tracker.flow.instructions.writers(k, register):
        one = tracker.flow.instructions[at]
        if one.width != 8 or len(seen) >= _MOST:
            return False
        tracker.before(at)
        if one.action == Action.ADDRESS:
            value = tracker.address_of(at, 0)
            if value is None or value[2]:
                return False
            made.append(value)
            continue
        sources = {Action.COPY: (one.left,), Action.SELECT: (one.left, one.right)}.get(one.action, (NONE,))
        if NONE in sources:
            return False
        for source in sources:
            tracker.before(at)
            value = tracker.register(source)
            if value is not None and not value[2]:
                made.append(value)
            elif (at, source) not in seen:
                seen.add((at, source))
                if not _made(tracker, at, source, made, seen):
                    return False
    return True
