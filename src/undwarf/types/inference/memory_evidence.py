# cython: language_level=3, annotation_typing=False
"""Evidence from loads and stores: members that values are loaded from and stored to.

A value stored to a declared member, or loaded from one, has the member's type.
"""

from typing import NamedTuple

from undwarf.disasm import NONE, Instruction
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.pointees import exact_pointee, is_pointer_or_integer, known_pointees, scalar_at
from undwarf.types.inference.node_state import PLACES, REACH
from undwarf.types.inference.scalar_evidence import ScalarEvidence
from undwarf.types.inference.stack_slot_uses import Home
from undwarf.types.inference.value_node import Held, Node, added
from undwarf.types.layouts.type_graph import VOID, Kind
from undwarf.types.sources.type_source import Prototype

__all__ = ["MemoryEvidence", "Store"]

_FUNCTION, _VOID = Kind.FUNCTION, Kind.VOID

_WORD = 8
"""Largest size of integers and pointers."""
_INT = 4
"""Size that narrower integers are promoted to."""
_PARAMETER_LIST = "__va_list_tag"
"""The structure of a `va_list`."""


class Store(NamedTuple):
    """A stored word: base node and offset, address, value, and source node."""

    base: Node | None
    offset: int
    where: Value | None
    value: Value | None
    source: "Held | None"


class MemoryEvidence(ScalarEvidence):
    """The part of :class:`undwarf.types.inference.value_graph.ValueGraph` on loads and stores."""

    def __init__(self, tracker: Tracker, prototype: Prototype | None) -> None:
        super().__init__(tracker, prototype)
        self.unions: list[tuple[Node, int]] = []
        """(node, choice type) of pointers loaded from unions."""
        self.stores: list[Store] = []
        """Words stored outside of the frame."""
        self.placed: dict[int, list[tuple[tuple[int, ...], Node | None]]] = {}
        """{frame offset: [(pointees, node)]} of pointers stored in the frame of optimised code."""
        self.moved: dict[tuple[Node, tuple[int, int, int, int], int], set[tuple[int, int]]] = {}
        """{(node, source base, distance of the offsets): {(offset, size)}} of members copied through a node."""
        self.members: dict[Node, tuple[Node, int]] = {}
        """{node of a loaded function or void pointer: (base node, offset)}."""
        variadic = prototype is not None and prototype.variadic
        self._list_of_parameters = tracker.program.source.type_named(_PARAMETER_LIST) if variadic else VOID

    def _further(self, k: int, made: Instruction, held: dict[int, Held | None]) -> Held | None:
        """A scaled index is added to a void pointer: uses with a known element size give an element's type."""
        t = scalar_at(self.tracker, k, 0, 8) if made.memory else VOID
        for register in (made.left, made.right) if not t else ():
            source = self.read(held, register) if register != NONE else None
            if source is not None and source[0].copied and not source[1]:
                t = t or next(iter(source[0].copied))
        if not t or not self.graph.is_void_pointer(t):
            return None
        node = self.node("made", k, made.destination)
        node.copied = added(node.copied, t)
        return node, 0, 8

    def _loaded(
        self, k: int, made: Instruction, held: dict[int, Held | None], slot: Node | None, frame: Value | None
    ) -> Held | None:
        size = made.memory[0].size
        if slot is not None:
            if made.signed:
                slot.sign(1)
                return None
            return (slot, 0, size)
        if frame is not None:
            exact = size == 8 and not frame[2] and abs(frame[4]) < REACH
            return self.read(held, PLACES + frame[4]) if exact else None
        node = self.node("made", k, made.destination)
        base = self._bases.get((k, 0))
        if base is not None and made.signed:
            base[0].number(base[1], size)
        elif base is not None:
            base[0].loads = added(base[0].loads, (base[1], size, node))
        t = scalar_at(self.tracker, k, 0, size)
        if t and not made.signed:
            node.copied = added(node.copied, t)
            if base is not None and size == _WORD and self._is_any(t):
                self.members[node] = base
        node.either = size == _WORD and not t and is_pointer_or_integer(self.tracker, k)
        several = self._one_of(k) if size == 8 and not t else VOID
        if several:
            self.unions.append((node, several))
        return None if made.signed else (node, 0, size)

    def _made_there(self, k: int, register: int, size: int) -> Held:
        """The value loaded into the lowest one or two bytes of a register; may be several bit fields."""
        node = self.node("made", k, register)
        t = scalar_at(self.tracker, k, 0, size)
        if t:
            node.copied = added(node.copied, t)
        return node, 0, size

    def _is_any(self, t: int) -> bool:
        """Whether a type is a pointer to a function or to void."""
        graph = self.graph
        return graph.is_pointer(t) and graph.kind(graph.strip(graph.target(t))) in (_FUNCTION, _VOID)

    def _moves(self, k: int, register: int, size: int) -> None:
        """A value loaded from elsewhere is stored outside of the frame unchanged."""
        base, came = self._bases.get((k, 0)), self.frame.elsewhere.get(register)
        if base is not None and came is not None and came[1] == size:
            where = came[0]
            self.moved.setdefault((base[0], where[:4], where[4] - base[1]), set()).add((base[1], size))

    def _one_of(self, k: int) -> int:
        """The choice type of a pointer loaded from a union; void for others."""
        where = self.tracker.address_of(k, 0)
        located = self.tracker.oracle.locate(where, 8) if where is not None and where[0] in (OBJECT, ADDRESS) else ""
        return VOID if isinstance(located, str) else self.graph.pointers_at(located.type, located.offset, 8)

    def _stored(
        self, k: int, made: Instruction, held: dict[int, Held | None], slot: Node | None, frame: Value | None
    ) -> None:
        operand = made.memory[0]
        register = made.left
        size = operand.size
        if register == NONE:
            if slot is not None and self.tracker.flow.instructions[k].immediate != 0:
                slot.begun = slot.begun and size < 8
            return
        source = self.read(held, register)
        if size >= _INT and source is not None and source[2] < _INT:
            self._whole(source)
        if frame is not None and not frame[2] and not self.unoptimised:
            leads = exact_pointee(self.tracker, self.tracker.register(register)) if size == _WORD else ()
            node = source[0] if source is not None and not source[1] else None
            self.frame.homes.setdefault((frame[4], size), []).append(Home(k, node, leads[0] if leads else VOID))
        if size == _WORD and self.unoptimised:
            self.frame.pair(k, register, frame)
        if self.frame.copy(k, register, size, frame):
            return
        if frame is not None and size == _WORD and self._list_of_parameters:
            self.frame.note_variadic(frame, self.tracker.register(register), self._list_of_parameters)
        if frame is not None and size == _WORD and not frame[2]:
            stored = self.tracker.register(register)
            if stored is not None and stored[0] == FRAME and not stored[2]:
                self.frame.stored.add(stored[4])
            if stored is not None and (stored[0] in (FRAME, OBJECT) or (stored[0] == ADDRESS and stored[4])):
                self.frame.addressed.add(frame[4])
        if frame is not None:
            t = self._member_in_frame(k, frame, size)
            if t:
                self._used_as(register, source, t)
            if slot is None:
                if size == 8 and not frame[2] and abs(frame[4]) < REACH:
                    held[PLACES + frame[4]] = source
                    known = known_pointees(self.tracker, self.tracker.register(register))
                    node = source[0] if source is not None and not source[1] else None
                    self.placed.setdefault(frame[4], []).append((known, node))
                return
            if source is not None and not source[1] and source[2] == size:
                slot.copied = added(slot.copied, *source[0].copied)
                if source[0].key[0] == "entry":
                    slot.declared = added(slot.declared, *source[0].declared)
                else:
                    slot.copied = added(slot.copied, *source[0].declared)
            if size == 8:
                if source is not None and source[0] is slot and source[1]:
                    slot.step(source[1])
                self._flows(slot, source, self.tracker.register(register))
            elif source is not None and not source[1] and source[2] == size:
                slot.sources = added(slot.sources, (source[0], 0))
            slot.beside = added(slot.beside, *self._parts(register, held, size))
            return
        stored = self.tracker.register(register)
        if stored is not None and stored[0] == FRAME:
            self.frame.kept.add(stored[4])
            self.frame.stored.add(stored[4])
        self._moves(k, register, size)
        if size == 8:
            value = self.tracker.register(register)
            base = self._bases.get((k, 0))
            node, further = base if base is not None else (None, 0)
            self.stores.append(Store(node, further, self.tracker.address_of(k, 0), value, source))
            known = known_pointees(self.tracker, value)
            if base is not None and known:
                base[0].puts(base[1], known)
        t = scalar_at(self.tracker, k, 0, size)
        if t:
            self._used_as(register, source, t)
