# cython: language_level=3, annotation_typing=False
"""Evidence from single instructions: what operands show about their base values, and which values results
derive from."""

from undwarf.disasm import NONE, Action, Instruction, Memory
from undwarf.disasm.x86_operands import VECTORS
from undwarf.disasm.x86_properties import (
    arithmetic_kind,
    compares,
    converts_to_int,
    copies_vector,
    float_operand_size,
    immediate_of,
    masks_low_bit,
    moves_vector,
    signedness,
    writes_low_bytes,
)
from undwarf.types.dataflow.abstract_values import FRAME, NUMBER, OBJECT, Value
from undwarf.types.evidence.pointees import scalar_at
from undwarf.types.inference.memory_evidence import MemoryEvidence
from undwarf.types.inference.scalar_evidence import OPERANDS
from undwarf.types.inference.value_node import Held, Node, added
from undwarf.types.layouts.type_graph import Kind
from undwarf.types.sources.named_types import integer

__all__ = ["InstructionEvidence"]

_MULTIPLY, _SHIFT_LEFT, _STORE, _UPDATE = Action.MULTIPLY, Action.SHIFT_LEFT, Action.STORE, Action.UPDATE
_COPY, _LOAD, _ADDRESS, _ADD, _SUBTRACT = Action.COPY, Action.LOAD, Action.ADDRESS, Action.ADD, Action.SUBTRACT
_ADD_MEMORY, _SELECT, _EXTEND = Action.ADD_MEMORY, Action.SELECT, Action.EXTEND
_MOVES = (Action.OTHER, Action.LOAD_PAIR, Action.STORE_PAIR, Action.COPY_PAIR)
"""Moves of vector registers; some are not modelled as actions."""
_INT = Kind.INT

_FEW = 2
"""Values of at most this size may be read in part, but are hardly written in part."""
_TRUTH = ("_Bool", "bool")
_SMALLEST = 4
"""Smallest load of a vector register."""
_WHOLE = (Action.ADD, Action.SUBTRACT, Action.MULTIPLY, Action.SHIFT_LEFT)

MadeOf = tuple[Node | int, ...]
"""Nodes and types of the operands of an integer."""


class InstructionEvidence(MemoryEvidence):
    """The part of :class:`~undwarf.types.inference.value_graph.ValueGraph` on instructions but calls and returns."""

    def _step(self, k: int, made: Instruction, after: Instruction | None, held: dict[int, Held | None]) -> None:
        action = made.action
        if self._moved_from:
            self._calculated_with(made)
        slot, frame = self._operands(k, made, held)
        if made.width == 8 and action in _WHOLE:
            for register in (made.left, made.right):
                each = held.get(register)
                self._whole(each)
                if each is not None and not each[1] and action in (_MULTIPLY, _SHIFT_LEFT):
                    each[0].numeric = True
        sign, width = signedness(made, after, plain=self.unoptimised)
        if sign and slot is not None and width == 8 and compares(made) and immediate_of(made):
            # Pointers are not compared with constants.
            slot.numeric = True
        if sign:
            self._signs(made, sign, width, held, slot)
        if action == _STORE:
            self._stored(k, made, held, slot, frame)
            return
        result, made_of = self._result(k, made, held, slot, frame, width)
        if not made_of and converts_to_int(made):
            t = integer(self.graph, 4, signed=True)
            made_of = (t,) if t else ()
        if action == _UPDATE and slot is not None and made.left != NONE:
            slot.beside = added(slot.beside, *self._parts(made.left, held, made.memory[0].size))
        if action == _UPDATE and slot is not None and made.left == made.right == NONE and made.immediate:
            slot.step(made.immediate)
        destination, part = self._part(k, made, held, slot, frame) if action == Action.OTHER else (NONE, None)
        self._written(k, made, held, frame, result, made_of)
        if part is not None:
            held[destination] = part

    def _operands(self, k: int, made: Instruction, held: dict[int, Held | None]) -> tuple[Node | None, Value | None]:
        """Apply memory operands to their base values; returns the node and frame address of the last access to the
        frame."""
        slot: Node | None = None
        frame: Value | None = None
        for number, operand in enumerate(made.memory):
            if operand.access or made.width == 8:
                for register in (operand.base, operand.index):
                    self._whole(held.get(register))
                scaled = held.get(operand.index)
                if scaled is not None and operand.scale > 1 and not scaled[1]:
                    scaled[0].numeric = True
            if not operand.access:
                continue
            frame = self.frame.place(k, number, operand)
            if frame is not None:
                slot = self._in_frame(made, operand, frame, held)
            elif operand.base != NONE:
                self._behind(k, number, made, operand, held)
        return slot, frame

    def _in_frame(self, made: Instruction, operand: Memory, frame: Value, held: dict[int, Held | None]) -> Node | None:
        """Apply an access to the frame; returns the slot's node."""
        zero = made.action == _STORE and made.left == NONE and not made.immediate
        if not zero or operand.size != 8:
            self.frame.note_floating(frame, operand)
        # A vector load may cover several scalars.
        several = made.destination in VECTORS or (made.action in _MOVES and moves_vector(made) != NONE)
        slot = self._slot(frame, operand, single=not several)
        if zero:
            # Zeroing is no evidence for a type.
            self.frame.zeroed.add((frame[4], operand.size))
        elif operand.floating and not frame[2]:
            self.frame.pointed.add((frame[4], operand.size))
        if operand.access != "r" and not self.unoptimised:
            self._overwritten(frame, operand.size, held)
        if slot is not None:
            slot.floats = slot.floats or bool(operand.floating)
            slot.read = slot.read or operand.access != "w"
            if operand.access == "rw":
                slot.origins = added(slot.origins, None)
        return slot

    def _behind(self, k: int, number: int, made: Instruction, operand: Memory, held: dict[int, Held | None]) -> None:
        """Apply an access through a pointer in a register."""
        base = self.read(held, operand.base)
        if operand.index != NONE:
            self.read(held, operand.index)
            if operand.scale == 1:
                self._strays(held, operand.base, operand.index)
            base = self._row_at(held, operand) or self._sum_at(held, operand)
        if base is None:
            return
        offset = base[1] + operand.displacement
        self._bases[k, number] = base[0], offset
        self._note_beyond(k, number)
        calculated = made.action == _UPDATE or bool(arithmetic_kind(made))
        base[0].follow(offset, operand.size, floating=bool(operand.floating), number=calculated)
        points = float_operand_size(made) if made.action == Action.OTHER else 0
        if points:
            base[0].calculate(offset, points)
        elif operand.access == "r" and operand.size >= _SMALLEST and made.action in _MOVES:
            vector = moves_vector(made)
            if vector != NONE:
                self._moved_from[vector] = base[0], offset
        if made.action == _STORE and operand.size <= _FEW and (made.left != NONE or made.immediate):
            base[0].stores(offset, operand.size)
        if made.action == _UPDATE and made.left == made.right == NONE:
            base[0].grows(offset, operand.size, made.immediate)

    def _calculated_with(self, made: Instruction) -> None:
        """Loaded values are used in floating-point arithmetic, or their registers are overwritten."""
        points = float_operand_size(made) if made.action == Action.OTHER else 0
        for register in made.reads if points else ():
            base = self._moved_from.get(register)
            if base is not None:
                base[0].calculate(base[1], points)
        for register in made.writes:
            self._moved_from.pop(register, None)

    def _result(
        self,
        k: int,
        made: Instruction,
        held: dict[int, Held | None],
        slot: Node | None,
        frame: Value | None,
        width: int,
    ) -> tuple[Held | None, MadeOf]:
        """(value of the destination, nodes it is computed from)."""
        action = made.action
        if action == _COPY:
            return self._copied(made, held), self._made_of.get(made.left, ())
        if action == _LOAD:
            return self._loaded(k, made, held, slot, frame), ()
        if action == _ADDRESS:
            return self._address(k, made, held)
        if action in (_ADD, _SUBTRACT) and made.right == NONE:
            base = self.read(held, made.left)
            if base is None:
                return None, ()
            amount = made.immediate if action == _ADD else -made.immediate
            base[0].reckoned = base[0].reckoned or not base[1]
            return ((base[0], base[1] + amount, base[2]) if made.width == 8 else None), (base[0],)
        if action == _ADD and made.width == 8:
            self._strays(held, made.left, made.right)
            self._strays(held, made.right, made.left)
            made_of = self._calculated(made, held, slot, width)
            row = self._row(held, made.left, made.right, 1) or self._row(held, made.right, made.left, 1)
            further = row or self._further(k, made, held)
            return further or self._somewhere(k, made.destination, held, made.left, made.right, 0), made_of
        if action == _ADD_MEMORY:
            self._strays_by_memory(k, made, held)
            made_of = self._calculated(made, held, slot, width)
            return self._further(k, made, held), made_of
        if action == _SELECT and made.width == 8:
            return self._selected(k, made, held), ()
        if action == _EXTEND and made.signed:
            extended = held.get(made.left)
            if extended is not None and not extended[1] and extended[2] == made.width:
                extended[0].sign(1)
        elif arithmetic_kind(made):
            return None, self._calculated(made, held, slot, width)
        elif compares(made):
            self._compared(k, made, held, slot, width)
        return None, ()

    def _copied(self, made: Instruction, held: dict[int, Held | None]) -> Held | None:
        result = self.read(held, made.left)
        if made.width == 8:
            self._whole(result)
        elif result is not None:
            if made.destination == made.left and result[2] == 4 and not result[1]:
                result[0].sign(-1)
            result = (result[0], result[1], min(result[2], made.width))
        return result

    def _address(self, k: int, made: Instruction, held: dict[int, Held | None]) -> tuple[Held | None, MadeOf]:
        """Apply an address computation or sum (lea)."""
        operand = made.memory[0]
        base = self.read(held, operand.base) if operand.base != NONE else None
        self._summed(held, operand, made.width)
        place = self.tracker.address_of(k, 0)
        if place is not None and place[0] == FRAME and not place[2]:
            self.frame.taken.add(place[4])
        if base is not None and operand.index == NONE and made.width == 8:
            return (base[0], base[1] + operand.displacement, base[2]), ()
        if operand.base == NONE or operand.index == NONE:
            return None, ()
        if made.width == 4:
            return None, (*self._parts(operand.base, held, 4), *self._parts(operand.index, held, 4))
        if made.width != 8:
            return None, ()
        if operand.scale == 1:
            self._strays(held, operand.base, operand.index)
            self._strays(held, operand.index, operand.base)
        row = self._row_at(held, operand)
        if row is not None:
            return (row[0], row[1] + operand.displacement, row[2]), ()
        if operand.scale != 1:
            return None, ()
        return self._somewhere(k, made.destination, held, operand.base, operand.index, operand.displacement), ()

    def _part(
        self, k: int, made: Instruction, held: dict[int, Held | None], slot: Node | None, frame: Value | None
    ) -> tuple[int, Held | None]:
        """(register, value of its lowest one or two bytes)."""
        destination, source, size = writes_low_bytes(made)
        if destination == NONE:
            return self._still(made, held)
        if source != NONE:
            each = self.read(held, source)
            return destination, (each[0], each[1], min(each[2], size)) if each is not None else None
        if slot is not None:
            return destination, (slot, 0, size)
        return destination, self._made_there(k, destination, size) if frame is None else None

    def _still(self, made: Instruction, held: dict[int, Held | None]) -> tuple[int, Held | None]:
        """(register, its truth value) if only the lowest bit of a bool is kept."""
        register = masks_low_bit(made)
        each = held.get(register)
        if each is None or each[1] or each[2] != 1 or not each[0].declared:
            return NONE, None
        return (register, each) if all(self.graph.name(t) in _TRUTH for t in each[0].declared) else (NONE, None)

    def _selected(self, k: int, made: Instruction, held: dict[int, Held | None]) -> Held:
        """Apply a conditional move."""
        node = self.node("made", k, made.destination)
        one = self.read(held, made.left)
        other = self.read(held, made.right) if made.right != NONE else None
        for register, each in ((made.left, one), (made.right, other)):
            if register != NONE:
                self._flows(node, each, self.tracker.register(register))
        if made.right == NONE:
            node.begun = False
        return node, 0, 8

    def _written(
        self,
        k: int,
        made: Instruction,
        held: dict[int, Held | None],
        frame: Value | None,
        result: Held | None,
        made_of: MadeOf,
    ) -> None:
        """Set the destination's value, its origin in the frame, and drop those of other written registers."""
        action, destination = made.action, made.destination
        copied, original = (destination, made.left) if action == _COPY else (NONE, NONE)
        if action in _MOVES and not made.memory and self.frame.holds_parts:
            copied, original = copies_vector(made)
        moved = self.frame.came.get(original) if copied != NONE and (made.width == 8 or action in _MOVES) else None
        part = self.frame.pieces.get(original) if copied != NONE else None
        for register in made.writes:
            held[register] = None
            self._made_of.pop(register, None)
            self.frame.lose(register)
        if moved is not None:
            self.frame.came[copied] = moved
        if part is not None:
            self.frame.pieces[copied] = part if made.width != _SMALLEST else part._replace(size=_SMALLEST)
        if action == _LOAD:
            self.frame.carries(k, destination, made.memory[0].size, frame)
        elif action in _MOVES and made.memory and made.memory[0].size >= _SMALLEST:
            vector = moves_vector(made)
            if vector != NONE and made.memory[0].access == "r":
                self.frame.carries(k, vector, made.memory[0].size, frame)
            elif vector != NONE:
                self.frame.copy(k, vector, made.memory[0].size, frame)
                if frame is None:
                    self._moves(k, vector, made.memory[0].size)
        if destination != NONE and destination in made.writes:
            held[destination] = result
            if made_of:
                self._made_of[destination] = made_of[:OPERANDS]
        elif made_of and len(made.writes) == 1:
            self._made_of[made.writes[0]] = made_of[:OPERANDS]

    def _strays_by_memory(self, k: int, made: Instruction, held: dict[int, Held | None]) -> None:
        t = scalar_at(self.tracker, k, 0, 8)
        number = bool(t) and self.graph.kind(self.graph.strip(t)) == _INT
        for register in (made.left, made.right) if number else ():
            source, leads = held.get(register), self.tracker.register(register)
            if source is None or source[1] or source[0].key[0] != "slot":
                continue
            if leads is not None and leads[0] == OBJECT and self.graph.size(leads[1]) > 1:
                source[0].strayed = True

    def _somewhere(
        self, k: int, destination: int, held: dict[int, Held | None], one: int, other: int, more: int
    ) -> Held | None:
        """The address at an unknown offset in an object: only its uses give a type."""
        if not self._is_somewhere(one, other) and not self._is_somewhere(other, one):
            return None
        node = self.node("made", k, destination)
        self.somewhere.add(node)
        parts = self._summands(held, one, other)
        if parts is not None:
            self._sums.setdefault(parts, (node, more))
        return node, 0, 8

    def _is_somewhere(self, one: int, other: int) -> bool:
        """Whether one register points to an object and the other may hold any integer."""
        leads, count = self.tracker.register(one), self.tracker.register(other)
        any_number = count is None or (count[0] == NUMBER and count[2] == 1)
        return leads is not None and leads[0] == OBJECT and not leads[2] and any_number

    def _sum_at(self, held: dict[int, Held | None], operand: Memory) -> Held | None:
        """The value of base plus index of an operand, if that sum was computed before."""
        parts = self._summands(held, operand.base, operand.index) if operand.scale == 1 else None
        found = self._sums.get(parts) if parts is not None else None
        return (found[0], -found[1], 8) if found is not None else None

    def _summands(self, held: dict[int, Held | None], one: int, other: int) -> frozenset[tuple[Node, int]] | None:
        """The values of two registers, unordered."""
        first, second = self.read(held, one), self.read(held, other)
        if first is None or second is None or first[2] != 8 or second[2] != 8:
            return None
        return frozenset((first[:2], second[:2]))

    def _note_beyond(self, k: int, number: int) -> None:
        where, graph = self.tracker.address_of(k, number), self.graph
        if where is None or where[0] != OBJECT or where[2] > 1:
            return
        if where[2] or (graph.is_aggregate(where[1]) and not 0 <= where[4] < graph.size(where[1])):
            self.beyond.append((k, number))

    def _summed(self, held: dict[int, Held | None], operand: Memory, width: int) -> None:
        """Note the operands of a sum or of an addition of a constant."""
        if width == 8 and (operand.index == NONE or operand.scale != 1):
            return
        for register in (operand.base, operand.index):
            each = held.get(register)
            if each is not None and not each[1] and each[2] == width:
                each[0].reckoned = True
