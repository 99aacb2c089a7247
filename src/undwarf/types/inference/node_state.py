# cython: language_level=3, annotation_typing=False
"""Nodes held by registers and stack slots during the walk over a function's blocks, and flows between nodes."""

import cython
from cython.cimports.undwarf.types.inference.value_node import Node

from undwarf.disasm import Memory
from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, NUMBER, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.pointees import known_pointees
from undwarf.types.inference.stack_slot_uses import StackSlotUses
from undwarf.types.inference.unoptimised_code import is_unoptimised
from undwarf.types.inference.value_node import Held, Key, added
from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph
from undwarf.types.sources.type_source import Prototype

__all__ = ["GENERAL", "PLACES", "REACH", "NodeState"]

_INT, _VOID = Kind.INT, Kind.VOID

GENERAL = range(16)
PLACES = 1 << 20
"""Zero of the keys of stack slots, which hold values like registers."""
REACH = 1 << 19
_REGISTERS = 33
"""Registers whose values are tracked."""
_FRAME_POINTER = -16
"""Offset of the frame pointer from the call frame address in unoptimised code."""
_ALL = 1 << 21
"""Stands for all slots: their values are no longer known."""


class NodeState:
    """The nodes of one function, and those that registers hold in the current block."""

    def __init__(self, tracker: Tracker, prototype: Prototype | None) -> None:
        self.tracker = tracker
        self.graph: TypeGraph = tracker.graph
        self.prototype = prototype
        self.nodes: dict[Key, Node] = {}
        self.cells: dict[int, tuple[int, Node]] = {}
        """{frame offset of an array: (stride, node of its elements)}."""
        self.addresses: list[tuple[int, int]] = []
        """(address in the program, type as which it is stored or passed)."""
        self._bases: dict[tuple[int, int], tuple[Node, int]] = {}
        """{(instruction, operand): (node of the base, displacement)}."""
        self.beyond: list[tuple[int, int]] = []
        """(instruction, operand) of accesses past the pointee's end, or at an unknown offset of it."""
        self._ins: list[tuple[int, int, Node]] = []
        """(block, register, node) at the start of blocks."""
        self._block = 0
        self._moved_from: dict[int, tuple[Node, int]] = {}
        """{vector register: (node, offset) it was loaded from} in the current block."""
        self.somewhere: set[Node] = set()
        """Addresses at an unknown offset in an object."""
        self._sums: dict[frozenset[tuple[Node, int]], tuple[Node, int]] = {}
        """{summands: (node of the sum, constant added)}."""
        self._known_leads: dict[Value, tuple[int, ...]] = {}
        flow = tracker.flow
        self.unoptimised = bool(flow.blocks) and is_unoptimised(flow.instructions)
        self.frame = StackSlotUses(tracker, unoptimised=self.unoptimised)

    @cython.locals(found=Node)
    def node(self, kind: str, at: int, more: int) -> Node:
        """The node of a key, created on demand."""
        key = (kind, at, more)
        found = self.nodes.get(key)
        if found is None:
            found = self.nodes[key] = Node(key)
        return found

    def read(self, held: dict[int, "Held | None"], register: int) -> Held | None:
        """The value of a register; None if unknown."""
        if register in held:
            return held[register]
        if not 0 <= register < _REGISTERS and (register < REACH or _ALL in held):
            return None
        return self._in(self._block, held, register)

    def _in(self, number: int, held: dict[int, Held | None], register: int) -> Held:
        node = self.node("in", number, register)
        found = held[register] = node, 0, 8
        self._ins.append((number, register, node))
        return found

    def _passes(self, number: int, held: dict[int, Held | None], register: int) -> None:
        """A value passes through a block that does not write it."""
        if register > REACH and _ALL in held:
            held[register] = None
        else:
            self._in(number, held, register)

    def _overwritten(self, where: Value, size: int, held: dict[int, Held | None]) -> None:
        """A store to the frame drops the values of overlapping slots."""
        if where[2] or size > 64 or abs(where[4]) >= REACH:
            for at in [at for at in held if at > REACH]:
                del held[at]
            held[_ALL] = None
            return
        for offset in range(where[4] - 7, where[4] + size):
            held[PLACES + offset] = None

    def _slot(self, where: Value, operand: Memory, *, single: bool = True) -> Node | None:
        """The node of a variable's stack slot; ``single``: the access is of one scalar."""
        size = operand.size
        if not self.unoptimised:
            self.frame.note_access(self.frame.at, where, operand)
        if where[2]:
            if where[2] != size or size > 8:
                return None
            begin = where[4]
            if operand.base == MACHINE.frame_pointer and self.unoptimised:
                # As in the source: the index may have a constant subtracted.
                begin = operand.displacement + _FRAME_POINTER
            found = self.node("cells", begin, size)
            known = self.cells.setdefault(begin, (size, found))
            return found if known[0] == size else None
        if size <= 8:
            self.frame.exact.add(where[4])
        self.frame.stands.add((where[4], size))
        if operand.access != "w" and size <= 8 and single:
            self.frame.loaded.add((where[4], size))
        if operand.access != "r":
            written = self.frame.written
            written[where[4]] = min(size, written.get(where[4], size))
        if not self.unoptimised or operand.base != MACHINE.frame_pointer:
            return None
        return self.node("slot", where[4], operand.size)

    def _row_at(self, held: dict[int, Held | None], operand: Memory) -> Held | None:
        found = self._row(held, operand.base, operand.index, operand.scale)
        if found is None and operand.scale == 1:
            found = self._row(held, operand.index, operand.base, 1)
        return found

    def _row(self, held: dict[int, Held | None], base: int, index: int, scale: int) -> Held | None:
        """The value of an array element through a base and an index register."""
        value, leads = self.tracker.register(index), self.tracker.register(base)
        source = held.get(base)
        if value is None and scale > 1:
            # A scaled register is an index.
            value = (NUMBER, 0, 1, 0, 0)
        if value is None or value[0] != NUMBER or source is None or source[2] != 8:
            return None
        size = value[2] * scale
        if not 1 < size < REACH or (leads is not None and leads[0] == NUMBER and leads[2] != 1):
            return None
        node = source[0]
        row = node.elements.get(size)
        if row is None:
            row = Node(("row", len(self.nodes), size))
            node.row(size, row)
            self.nodes["row", len(self.nodes), size] = row
        return row, source[1] + value[4] * scale, 8

    def _strays(self, held: dict[int, Held | None], base: int, index: int) -> None:
        """An integer is added to a pointer: it counts bytes if it was loaded as an integer."""
        source, other = held.get(base), held.get(index)
        if source is None or other is None or source[1] or other[1] or source[0].key[0] != "slot":
            return
        leads, graph = self.tracker.register(base), self.graph
        loaded = other[0].copied if other[0].key[0] == "made" and other[2] == 8 else ()
        numbers = bool(loaded) and all(graph.kind(graph.strip(t)) == _INT for t in loaded)
        if numbers and leads is not None and leads[0] == OBJECT and graph.size(leads[1]) > 1:
            source[0].strayed = True

    def _leads(self, value: Value | None) -> tuple[int, ...]:
        """Pointees of a value, cached."""
        if value is None or value[0] not in (OBJECT, ADDRESS):
            return ()
        known = self._known_leads.get(value)
        if known is None:
            known = self._known_leads[value] = known_pointees(self.tracker, value)
        return known

    @cython.locals(node=Node, origin=Node)
    def _flows(self, node: Node, source: Held | None, value: Value | None) -> None:
        """A value flows into a node."""
        known = self._leads(value)
        if source is None:
            node.origins = added(node.origins, None)
        else:
            origin = source[0]
            node.origins = added(node.origins, origin if not source[1] else None)
        if known:
            node.known = added(node.known, known)
            node.indexed = node.indexed or (value is not None and value[2] > 1)
            node.use_confirmed = node.use_confirmed or (source is not None and not source[1] and origin.use_confirmed)
        elif value is not None and value[0] == OBJECT and not value[2] and value[4] < 0:
            node.apart = added(node.apart, (value[1], value[4]))
        elif source is None:
            node.begun = node.begun and value is not None and value[0] == NUMBER and value[2] == 0
        elif origin is not node:
            origin.flows = True
            node.sources = added(node.sources, (origin, source[1]))

    def _member_in_frame(self, k: int, where: Value, size: int) -> int:
        """The type of a scalar member of a known aggregate in the frame; void for others."""
        found = self.tracker.stack_variable(k, where[4]) if not where[2] else None
        if found is None or not self.graph.is_aggregate(found[0].type):
            return VOID
        return self.graph.value_at(found[0].type, found[1], size)

    def _used_as(self, register: int, source: Held | None, t: int) -> None:
        """A register is used where a value of type ``t`` is expected."""
        value = self.tracker.register(register)
        if value is not None and value[0] == ADDRESS and not value[2]:
            self.addresses.append((value[4], t))
        graph = self.graph
        if value is not None and value[0] == FRAME and not value[2] and graph.is_pointer(t):
            target = graph.target(t)
            if graph.is_aggregate(target) and graph.size(target):
                self.frame.note(value[4], target)
        if source is None:
            return
        if graph.is_pointer(t):
            target = graph.target(t)
            if graph.kind(graph.strip(target)) == _VOID:
                return
            if (source[0].key[0] == "slot" or self.somewhere) and graph.is_aggregate(target):
                source[0].note_use_as(source[1], target)
            known = known_pointees(self.tracker, self.tracker.register(register))
            whole = not source[1] or graph.size(target) == 1
            if whole and any(graph.canonical(one) == graph.canonical(target) for one in known):
                # Text may be used from any offset.
                source[0].use_confirmed = True
            if not any(graph.object_at(one, 0, target) or graph.object_at(target, 0, one) for one in known):
                source[0].add_pointee(source[1], target)
                source[0].passed = True
            elif known and not source[1] and graph.size(target) > graph.size(known[0]):
                source[0].wholes = added(source[0].wholes, target)
            elif known and not source[1] and graph.is_aggregate(target) and graph.size(target) < graph.size(known[0]):
                source[0].firsts = added(source[0].firsts, target)
        elif not source[1] and graph.size(t) == source[2]:
            source[0].copied = added(source[0].copied, t)
