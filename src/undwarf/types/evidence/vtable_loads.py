"""The vtable pointer of an object whose class is only declared, by calls through it.

GCC and Clang (``-g`` without more) describe a class with virtual functions only where these are defined, elsewhere its
name. The Itanium C++ ABI (2.4) puts the vtable pointer at offset 0; if an entry of what is loaded from there is called,
it is that pointer.
"""

from undwarf.disasm import NONE, Action, Flow
from undwarf.types.dataflow.abstract_values import OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import VOID, Field

__all__ = ["vtable_pointer"]

_COPY, _LOAD, _ADD, _ADDRESS = Action.COPY, Action.LOAD, Action.ADD, Action.ADDRESS
_CALL, _INDIRECT_CALL, _INDIRECT_JUMP, _NEXT = Flow.CALL, Flow.INDIRECT_CALL, Flow.INDIRECT_JUMP, Flow.NEXT
_AHEAD = 16
"""How many instructions after the load the call is searched."""
_LARGEST = 1 << 12
"""Largest offset in a vtable."""


def vtable_pointer(tracker: Tracker, k: int, where: Value, size: int) -> ResolvedMember | None:
    """The vtable pointer, if instruction ``k`` loads it; else None. The cursor is at the instruction."""
    graph = tracker.graph
    if where[0] != OBJECT or where[2] or where[4] or size != graph.pointer_size:
        return None
    if not graph.record(graph.strip(where[1])).dynamic or not _calls(tracker, k):
        return None
    return ResolvedMember(where[1], 0, Field("_vptr", graph.pointer_to(VOID), 0, 0, size))


def _calls(tracker: Tracker, k: int) -> bool:
    """Whether an entry of the loaded table is called in straight-line code."""
    instructions = tracker.flow.instructions
    loaded = instructions[k]
    if loaded.action != _LOAD or loaded.width != tracker.graph.pointer_size:
        return False
    tables, entries = {loaded.destination}, set[int]()
    for at in range(k + 1, min(k + 1 + _AHEAD, len(instructions))):
        made = instructions[at]
        reads = made.memory[0] if made.memory and not made.memory[0].implicit else None
        from_table = reads is not None and reads.base in tables and reads.index == NONE
        from_table = from_table and reads is not None and 0 <= reads.displacement <= _LARGEST
        if made.flow in (_INDIRECT_CALL, _INDIRECT_JUMP):
            called = made.left if made.left != NONE else (made.reads[0] if made.reads and reads is None else NONE)
            return from_table or called in entries
        if made.flow not in (_NEXT, Flow.BRANCH):
            return False
        of_table = made.action in (_COPY, _ADD) and made.left in tables and made.right == NONE
        of_table = of_table or (made.action == _ADDRESS and from_table)
        of_entry = (made.action == _LOAD and from_table) or (made.action == _COPY and made.left in entries)
        tables.difference_update(made.writes)
        entries.difference_update(made.writes)
        if of_table:
            tables.add(made.destination)
        elif of_entry:
            entries.add(made.destination)
        if not tables and not entries:
            return False
    return False
