# cython: language_level=3, annotation_typing=False
"""Where the values of a function come from and what they are used as, where nothing names its variables.

A node stands for the values of one origin: what a register holds when the function or a stretch of code begins, what an
instruction makes, what is in a place of an unoptimised function's frame. Nodes that flow into others are their
sources. What is told of a node: objects it leads to, because it goes where such a pointer is expected (an argument, a
member, what is returned, the other side of a comparison); types of the numbers it was copied from or to; whether it is
used as a number with sign. What follows from all that together is decided in `inference.py`.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
from undwarf.disasm.x86_64 import MACHINE, RDI, RSI, XMM0, calculates, compares, moves_vector, signedness
from undwarf.types.c_library import ELEMENT_ARRAYS, ELEMENT_SIZES, GIVEN_BACK, SIZED, library_function
from undwarf.types.calling import (
    argument_registers,
    returned_in_memory,
    returned_parts,
    stack_arguments,
    vector_registers,
)
from undwarf.types.frame_uses import FrameUses, Piece
from undwarf.types.model import VOID, Kind, TypeGraph
from undwarf.types.nodes import Held, Key, Node
from undwarf.types.number_uses import OPERANDS, NumberUses
from undwarf.types.places import Prototype
from undwarf.types.pointed import pointed, scalar_at
from undwarf.types.tracking import Tracker
from undwarf.types.unoptimised import is_unoptimised
from undwarf.types.values import ADDRESS, FRAME, NUMBER, OBJECT, Value

__all__ = ["Webs"]

_GENERAL = range(16)
_RETURNED = {"integer": (0, 1), "sse": (XMM0, XMM0 + 1)}
"""Registers of the parts of what is returned, by their class."""
_GIVEN_BACK = {**dict.fromkeys(GIVEN_BACK, RDI), "realloc": RDI, "reallocarray": RDI, "bsearch": RSI}
"""Functions of the C library that return a pointer to what one of their parameters leads to (C11 7.22, 7.24)."""
_WITHIN_TEXT = frozenset(("memchr", "memrchr"))
"""Functions of the C library that return a pointer to a byte behind their first parameter, which text consists of."""
_ONLY_BYTES = frozenset(("memset", "memcpy", "memmove", "memcmp", "bzero", "free", "realloc", "__memset_chk"))
_ALLOCATORS = {"malloc": 1, "calloc": 2}
"""By name, how many parameters say how much."""
_WHOLE = (Action.ADD, Action.SUBTRACT, Action.MULTIPLY, Action.SHIFT_LEFT)

_PLACES = 1 << 20
"""Where numbers of places in the frame, which hold values as registers do, have their zero."""
_REACH = 1 << 19
_FRAME_POINTER = -16
"""Where the frame pointer of unoptimised code leads to, counted from the call frame address."""
_ELEMENTS = 64
"""Elements of an array in the frame that are looked for one by one."""
_LONGEST = 64
"""Pointers of an array in the frame that are looked at."""
_SMALL = _WORD = 8
"""Bytes that numbers and pointers take at most."""
_PARAMETER_LIST = "__va_list_tag"
"""The structure that a `va_list` is made of."""
_MOST_NODES = 200_000
"""Nodes of a function beyond which what flows into blocks is not looked for."""
_ALL = 1 << 21
"""Stands for all places: what they held is not known any more."""


class Store(NamedTuple):
    """A word that is stored: by which node, so much further, and in what; what it is."""

    base: Node | None
    offset: int
    where: Value | None
    value: Value | None
    source: "Held | None"


def _others(bases: "dict[tuple[int, int], tuple[Node, int]]", k: int, number: int) -> tuple[tuple[int, int], ...]:
    found = bases.get((k, number))
    return tuple((offset - found[1], size) for offset, size in found[0].touched) if found is not None else ()


class Webs(NumberUses):
    """The nodes of one function of x86-64, gathered from where its data flow stands."""

    def __init__(self, tracker: Tracker, prototype: Prototype | None) -> None:
        self.tracker = tracker
        self.graph: TypeGraph = tracker.graph
        self.prototype = prototype
        self.nodes: dict[Key, Node] = {}
        self.cells: dict[int, tuple[int, Node]] = {}
        """Arrays in the frame: their stride, and the node of their elements."""
        self.calls: list[tuple[int, int, dict[int, Value | None], dict[int, Held]]] = []
        self.addresses: list[tuple[int, int]] = []
        """Addresses of the program, and what they are stored or passed as."""
        self.through: list[tuple[Node, dict[int, Value | None], dict[int, Held]]] = []
        """Calls of what a node is: it, and what registers of parameters hold."""
        self.unions: list[tuple[Node, int]] = []
        """Pointers that are members of unions, and what they lead to one of."""
        self.stores: list[Store] = []
        """Words that are stored elsewhere than in the frame."""
        self.returned: list[tuple[Held | None, Value | None]] = []
        self._outs: dict[int, dict[int, Held | None]] = {}
        self._known: dict[int, dict[int, Value | None]] = {}
        self.placed: dict[int, list[tuple[tuple[int, ...], Node | None]]] = {}
        """By offset, what pointers that are stored in the frame of optimised code lead to: types, and nodes."""
        self._made_of = {}
        self._bases: dict[tuple[int, int], tuple[Node, int]] = {}
        self._ins: list[tuple[int, int]] = []
        self._block = 0
        flow = tracker.flow
        self.unoptimised = bool(flow.blocks) and is_unoptimised(flow.instructions)
        self.frame = FrameUses(tracker, unoptimised=self.unoptimised)
        variadic = prototype is not None and prototype.variadic
        self._list_of_parameters = tracker.program.source.type_named(_PARAMETER_LIST) if variadic else VOID
        if flow.blocks:
            for number in flow.order:
                self._gather(number)
            self._join()
            self._returned_numbers()

    @property
    def others(self) -> Callable[[int, int], tuple[tuple[int, int], ...]]:
        """Tells (distance, size) of all accesses through the pointer that an operand has as its base. It holds on to
        nothing else of this."""
        return partial(_others, self._bases)

    def release(self) -> None:
        """Let go of what nodes say of each other, so that they need not be searched for cycles; they are done with."""
        for node in self.nodes.values():
            node.release()

    def is_open(self, target: int) -> bool:
        """Whether a function's prototype does not say what it returns."""
        prototype = self.tracker.program.callee(target)
        if prototype is None or not prototype.returns:
            return prototype is None or not prototype.parameters
        graph = self.graph
        if not graph.is_pointer(prototype.returns):
            return False
        return graph.kind(graph.strip(graph.target(prototype.returns))) == Kind.VOID

    def node(self, kind: str, at: int, more: int) -> Node:
        """The node of a key."""
        key = (kind, at, more)
        found = self.nodes.get(key)
        if found is None:
            found = self.nodes[key] = Node(key)
        return found

    def filled(self, offset: int, stride: int) -> list[Node]:
        """Elements behind the first of an array in the frame, stored one by one and only read with an index."""
        found: list[Node] = []
        first = self.nodes.get(("slot", offset, stride))
        if first is None or first.read or not self.unoptimised:
            return found
        while (node := self.nodes.get(("slot", offset + stride * (len(found) + 1), stride))) is not None:
            if node.read or len(found) >= _ELEMENTS:
                break
            found.append(node)
        return found

    # One block ---------------------------------------------------------------------------------------------

    def _gather(self, number: int) -> None:
        tracker = self.tracker
        instructions = tracker.flow.instructions
        held: dict[int, Held | None] = {}
        self._outs[number] = held
        self._block = number
        self.frame.lose_all()
        self._made_of = {}
        if not number:
            self._parameters(held)
        k = tracker.flow.blocks.first(number)
        made = instructions[k]
        for k in tracker.states(number):
            made = instructions[k]
            after = instructions[k + 1] if k + 1 < len(instructions) else None
            if made.flow in (Flow.CALL, Flow.INDIRECT_CALL):
                self._call(k, made, held)
                continue
            if made.flow == Flow.RETURN:
                self._return(k, held)
                continue
            if made.flow == Flow.JUMP and made.target is not None and tracker.flow.index_of(made.target) is None:
                self._call(k, made, held)
                continue
            self._step(k, made, after, held)
        self._known[number] = {register: tracker.register(register) for register in _GENERAL}

    def _parameters(self, held: dict[int, Held | None]) -> None:
        prototype = self.prototype
        if prototype is None or not prototype.trusted:
            return
        graph = self.graph
        for n, t, piece in vector_registers(graph, prototype.parameters):
            node = self.node("entry", XMM0 + n, 0)
            held[XMM0 + n] = (node, 0, graph.size(t) if graph.is_scalar(t) else 8)
            if graph.is_scalar(t):
                node.declared.append(t)
            else:
                self.frame.pieces[XMM0 + n] = Piece(t, piece)
        for register, t, piece in prototype.arguments:
            node = self.node("entry", register, 0)
            held[register] = (node, 0, graph.size(t) if graph.is_scalar(t) else 8)
            if graph.is_aggregate(t):
                self.frame.pieces[register] = Piece(t, piece)
            elif not piece and graph.is_scalar(t):
                node.declared.append(t)
        self.frame.places.update(stack_arguments(graph, prototype.parameters, prototype.returns))

    def read(self, held: dict[int, "Held | None"], register: int) -> Held | None:
        """What a register holds."""
        if register in held:
            return held[register]
        if not 0 <= register < 33 and (register < _REACH or _ALL in held):
            return None
        return self._in(self._block, held, register)

    def _in(self, number: int, held: dict[int, Held | None], register: int) -> Held:
        found = (self.node("in", number, register), 0, 8)
        held[register] = found
        self._ins.append((number, register))
        return found

    def _overwritten(self, where: Value, size: int, held: dict[int, Held | None]) -> None:
        """Something is stored in the frame."""
        if where[2] or size > 64 or abs(where[4]) >= _REACH:
            for at in [at for at in held if at > _REACH]:
                del held[at]
            held[_ALL] = None
            return
        for offset in range(where[4] - 7, where[4] + size):
            held[_PLACES + offset] = None

    def _slot(self, where: Value, operand: Memory) -> Node | None:
        """The node of a place of a variable in the frame."""
        size = operand.size
        if where[2]:
            if where[2] != size or size > 8:
                return None
            begin = where[4]
            if operand.base == MACHINE.frame_pointer and self.unoptimised:
                # As it is written: the index may be a number less some.
                begin = operand.displacement + _FRAME_POINTER
            found = self.node("cells", begin, size)
            known = self.cells.setdefault(begin, (size, found))
            return found if known[0] == size else None
        if size <= 8:
            self.frame.exact.add(where[4])
        self.frame.stands.add((where[4], size))
        if operand.access != "w" and size <= 8:
            self.frame.loaded.add((where[4], size))
        if not self.unoptimised or operand.base != MACHINE.frame_pointer:
            return None
        return self.node("slot", where[4], operand.size)

    def _step(self, k: int, made: Instruction, after: Instruction | None, held: dict[int, Held | None]) -> None:
        action = made.action
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
                zero = action == Action.STORE and made.left == NONE and not made.immediate
                if not zero or operand.size != 8:
                    self.frame.note_floating(frame, operand)
                slot = self._slot(frame, operand)
                if zero:
                    # What is set to nothing is so without regard to what it is.
                    self.frame.zeroed.add((frame[4], operand.size))
                elif operand.floating and not frame[2]:
                    self.frame.pointed.add((frame[4], operand.size))
                if operand.access != "r" and not self.unoptimised:
                    self._overwritten(frame, operand.size, held)
                if slot is not None:
                    slot.floats = slot.floats or bool(operand.floating)
                    slot.read = slot.read or operand.access != "w"
            elif operand.base != NONE:
                base = self.read(held, operand.base)
                if operand.index != NONE:
                    self.read(held, operand.index)
                    base = self._row_at(held, operand)
                if base is not None:
                    self._bases[k, number] = base[0], base[1] + operand.displacement
                    number = action == Action.UPDATE or bool(calculates(made))
                    floating = bool(operand.floating)
                    base[0].follow(base[1] + operand.displacement, operand.size, floating=floating, number=number)
        if made.width == 8 and action in _WHOLE:
            for register in (made.left, made.right):
                each = held.get(register)
                self._whole(each)
                if each is not None and not each[1] and action in (Action.MULTIPLY, Action.SHIFT_LEFT):
                    each[0].numeric = True
        sign, width = signedness(made, after)
        if sign:
            self._signs(made, sign, width, held, slot)
        result: Held | None = None
        made_of: tuple[Node | int, ...] = ()
        destination = made.destination
        if action == Action.COPY:
            result = self.read(held, made.left)
            made_of = self._made_of.get(made.left, ())
            if made.width == 8:
                self._whole(result)
            elif result is not None:
                if made.destination == made.left and result[2] == 4 and not result[1]:
                    result[0].sign(-1)
                result = (result[0], result[1], min(result[2], made.width))
        elif action == Action.LOAD:
            result = self._loaded(k, made, held, slot, frame)
        elif action == Action.STORE:
            self._stored(k, made, held, slot, frame)
            return
        elif action == Action.ADDRESS:
            operand = made.memory[0]
            base = self.read(held, operand.base) if operand.base != NONE else None
            if base is not None and operand.index == NONE and made.width == 8:
                result = (base[0], base[1] + operand.displacement, base[2])
            elif operand.base != NONE and operand.index != NONE and made.width == 8:
                row = self._row_at(held, operand)
                result = (row[0], row[1] + operand.displacement, row[2]) if row is not None else None
            elif operand.base != NONE and operand.index != NONE and made.width == 4:
                made_of = (*self._parts(operand.base, held, 4), *self._parts(operand.index, held, 4))
        elif action in (Action.ADD, Action.SUBTRACT) and made.right == NONE:
            base = self.read(held, made.left)
            amount = made.immediate if action == Action.ADD else -made.immediate
            if base is not None:
                made_of = (base[0],)
                base[0].reckoned = base[0].reckoned or not base[1]
                result = (base[0], base[1] + amount, base[2]) if made.width == 8 else None
        elif action == Action.ADD and made.width == 8:
            made_of = self._calculated(made, held, slot, width)
            result = self._row(held, made.left, made.right, 1) or self._row(held, made.right, made.left, 1)
            result = result or self._further(k, made, held)
        elif action == Action.ADD_MEMORY:
            made_of = self._calculated(made, held, slot, width)
            result = self._further(k, made, held)
        elif action == Action.SELECT and made.width == 8:
            node = self.node("made", k, destination)
            one = self.read(held, made.left)
            other = self.read(held, made.right) if made.right != NONE else None
            for register, each in ((made.left, one), (made.right, other)):
                if register != NONE:
                    self._flows(node, each, self.tracker.register(register))
            if made.right == NONE:
                node.begun = False
            result = (node, 0, 8)
        elif action == Action.EXTEND and made.signed:
            extended = held.get(made.left)
            if extended is not None and not extended[1] and extended[2] == made.width:
                extended[0].sign(1)
        elif calculates(made):
            made_of = self._calculated(made, held, slot, width)
        elif compares(made):
            self._compared(k, made, held, slot, width)
        if action == Action.UPDATE and slot is not None and made.left != NONE:
            slot.beside.extend(self._parts(made.left, held, made.memory[0].size))
        moved = self.frame.came.get(made.left) if action == Action.COPY and made.width == 8 else None
        for register in made.writes:
            held[register] = None
            self._made_of.pop(register, None)
            self.frame.lose(register)
        if moved is not None:
            self.frame.came[destination] = moved
        if action == Action.LOAD:
            self.frame.carries(k, destination, made.memory[0].size, frame)
        elif action == Action.OTHER and made.memory and made.memory[0].size > 8:
            vector = moves_vector(made)
            if vector != NONE and made.memory[0].access == "r":
                self.frame.carries(k, vector, made.memory[0].size, frame)
            elif vector != NONE:
                self.frame.copy(k, vector, made.memory[0].size, frame)
        if destination != NONE and destination in made.writes:
            held[destination] = result
            if made_of:
                self._made_of[destination] = made_of[:OPERANDS]
        elif made_of and len(made.writes) == 1:
            self._made_of[made.writes[0]] = made_of[:OPERANDS]

    def _row_at(self, held: dict[int, Held | None], operand: Memory) -> Held | None:
        found = self._row(held, operand.base, operand.index, operand.scale)
        if found is None and operand.scale == 1:
            found = self._row(held, operand.index, operand.base, 1)
        return found

    def _row(self, held: dict[int, Held | None], base: int, index: int, scale: int) -> Held | None:
        """One of several objects, one behind the other, behind what a register holds; another one says which."""
        value, leads = self.tracker.register(index), self.tracker.register(base)
        source = held.get(base)
        if value is None or value[0] != NUMBER or source is None or source[2] != 8:
            return None
        size = value[2] * scale
        if not 1 < size < _REACH or (leads is not None and leads[0] == NUMBER and leads[2] != 1):
            return None
        node = source[0]
        row = node.elements.get(size)
        if row is None:
            row = Node(("row", len(self.nodes), size))
            node.row(size, row)
            self.nodes["row", len(self.nodes), size] = row
        return row, source[1] + value[4] * scale, 8

    def _further(self, k: int, made: Instruction, held: dict[int, Held | None]) -> Held | None:
        """Something is added to a pointer to anything: who knows how large the objects are that it leads to, finds one
        of them so."""
        t = scalar_at(self.tracker, k, 0, 8) if made.memory else VOID
        for register in (made.left, made.right) if not t else ():
            source = self.read(held, register) if register != NONE else None
            if source is not None and source[0].copied and not source[1]:
                t = t or next(iter(source[0].copied))
        if not t or not self._is_anything(t):
            return None
        node = self.node("made", k, made.destination)
        node.copied.append(t)
        return node, 0, 8

    def _is_anything(self, t: int) -> bool:
        graph = self.graph
        return graph.is_pointer(t) and graph.kind(graph.strip(graph.target(t))) == Kind.VOID

    # What goes where ---------------------------------------------------------------------------------------

    def _flows(self, node: Node, source: Held | None, value: Value | None) -> None:
        """A value goes into a node."""
        known = pointed(self.tracker, value)
        node.origins.append(source[0] if source is not None and not source[1] else None)
        if known:
            node.known.append(known)
            node.confirmed = node.confirmed or (source is not None and not source[1] and source[0].confirmed)
        elif value is not None and value[0] == OBJECT and not value[2] and value[4] < 0:
            node.apart.append((value[1], value[4]))
        elif source is None:
            node.begun = node.begun and value is not None and value[0] == NUMBER and value[2] == 0
        elif source[0] is not node:
            source[0].flows = True
            node.sources.append((source[0], source[1]))

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
            exact = size == 8 and not frame[2] and abs(frame[4]) < _REACH
            return self.read(held, _PLACES + frame[4]) if exact else None
        node = self.node("made", k, made.destination)
        base = self._bases.get((k, 0))
        if base is not None and made.signed:
            base[0].number(base[1], size)
        elif base is not None:
            base[0].loads.append((base[1], size, node))
        t = scalar_at(self.tracker, k, 0, size)
        if t and not made.signed:
            node.copied.append(t)
        several = self._one_of(k) if size == 8 and not t else VOID
        if several:
            self.unions.append((node, several))
        return None if made.signed else (node, 0, size)

    def _one_of(self, k: int) -> int:
        """The type that says which ones a pointer leads to one of that is loaded; void where that is not several."""
        where = self.tracker.address_of(k, 0)
        located = self.tracker.questions.locate(where, 8) if where is not None and where[0] in (OBJECT, ADDRESS) else ""
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
        if size == _WORD and self.unoptimised:
            self.frame.pair(k, register, frame)
        if self.frame.copy(k, register, size, frame):
            return
        if frame is not None and size == _WORD and self._list_of_parameters:
            self.frame.note_variadic(frame, self.tracker.register(register), self._list_of_parameters)
        if frame is not None and size == _WORD and not frame[2]:
            stored = self.tracker.register(register)
            if stored is not None and (stored[0] in (FRAME, OBJECT) or (stored[0] == ADDRESS and stored[4])):
                self.frame.addressed.add(frame[4])
        if frame is not None:
            t = self._member_in_frame(k, frame, size)
            if t:
                self._used_as(register, source, t)
            if slot is None:
                if size == 8 and not frame[2] and abs(frame[4]) < _REACH:
                    held[_PLACES + frame[4]] = source
                    known = pointed(self.tracker, self.tracker.register(register))
                    node = source[0] if source is not None and not source[1] else None
                    self.placed.setdefault(frame[4], []).append((known, node))
                return
            if source is not None and not source[1] and source[2] == size:
                slot.copied.extend(source[0].copied)
                if source[0].key[0] == "entry":
                    slot.declared.extend(source[0].declared)
                else:
                    slot.copied.extend(source[0].declared)
            if size == 8:
                self._flows(slot, source, self.tracker.register(register))
            elif source is not None and not source[1] and source[2] == size:
                slot.sources.append((source[0], 0))
            slot.beside.extend(self._parts(register, held, size))
            return
        if size == 8:
            value = self.tracker.register(register)
            base = self._bases.get((k, 0))
            node, further = base if base is not None else (None, 0)
            self.stores.append(Store(node, further, self.tracker.address_of(k, 0), value, source))
            known = pointed(self.tracker, value)
            if base is not None and known:
                base[0].puts(base[1], known)
        t = scalar_at(self.tracker, k, 0, size)
        if t:
            self._used_as(register, source, t)

    def _member_in_frame(self, k: int, where: Value, size: int) -> int:
        """The type of a number or pointer in an aggregate of the frame that is known by now; void for all else."""
        found = self.tracker.stack_variable(k, where[4]) if not where[2] else None
        if found is None or not self.graph.is_aggregate(found[0].type):
            return VOID
        return self.graph.value_at(found[0].type, found[1], size)

    def _used_as(self, register: int, source: Held | None, t: int) -> None:
        """A register goes where something of a type is expected."""
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
            if graph.kind(graph.strip(target)) == Kind.VOID:
                return
            known = pointed(self.tracker, self.tracker.register(register))
            whole = not source[1] or graph.size(target) == 1
            if whole and any(graph.canonical(one) == graph.canonical(target) for one in known):
                # Of text it may be any part.
                source[0].confirmed = True
            if not any(graph.object_at(one, 0, target) or graph.object_at(target, 0, one) for one in known):
                source[0].lead(source[1], target)
                source[0].passed = True
        elif not source[1] and graph.size(t) == source[2]:
            source[0].copied.append(t)

    # Calls -------------------------------------------------------------------------------------------------

    def _call(self, k: int, made: Instruction, held: dict[int, Held | None]) -> None:
        tracker, graph = self.tracker, self.graph
        prototype = tracker.program.callee(made.target) if made.target is not None else None
        arguments: tuple[tuple[int, int, int], ...] = ()
        returns = VOID
        if prototype is not None:
            arguments = prototype.arguments if prototype.trusted else ()
            returns = prototype.returns
        elif made.flow == Flow.INDIRECT_CALL:
            t = self._function_called(k, made)
            if t:
                returns = graph.returns(t)
                arguments = argument_registers(graph, graph.parameters(t), returns)
        name = prototype.name.partition("@") if prototype is not None else ("", "@", "")
        text = VOID
        if prototype is not None and not prototype.arguments and not returns:
            library = library_function(graph, name[0])
            if library is not None:
                for register, t in library[1]:
                    value = tracker.register(register)
                    if value is None or value[0] != FRAME:
                        self._used_as(register, self.read(held, register), t)
                if graph.is_pointer(library[0]):
                    text = graph.target(library[0])
                else:
                    returns = library[0]
        told = {register for register, _t, _piece in arguments}
        # Where only the address counts, or a function of this program takes what others do.
        harmless = name[0] in _ONLY_BYTES or (not name[1] and not self.unoptimised)
        for register in () if harmless else MACHINE.parameters:
            value = tracker.register(register)
            if register not in told and value is not None and value[0] == FRAME:
                self.frame.given.add(value[4])
        self._sized(name[0], arguments)
        for register, t, piece in arguments:
            value = tracker.register(register)
            if graph.is_scalar(t) and not piece:
                self._passed(register, t, value, held)
            elif graph.is_aggregate(t):
                leads = graph.value_at(t, piece, 8)
                if leads:
                    self._used_as(register, self.read(held, register), leads)
        top = tracker.register(MACHINE.stack_pointer)
        if prototype is not None and prototype.trusted and top is not None and top[0] == FRAME and not top[2]:
            for offset, t in stack_arguments(graph, prototype.parameters, returns):
                if graph.is_aggregate(t):
                    self.frame.note(top[4] + offset, t)
        if self.unoptimised and prototype is not None and prototype.trusted:
            vectors = vector_registers(graph, prototype.parameters)
            for register, t, piece in (*arguments, *((XMM0 + n, t, at) for n, t, at in vectors)):
                came = self.frame.came.get(register)
                if came is not None and came[1] == _WORD and graph.is_aggregate(t):
                    # What is passed by value is loaded from where it is.
                    self.frame.note(came[0] - piece, t)
        if returns and returned_in_memory(graph, returns):
            value = tracker.register(RDI)
            if value is not None and value[0] == FRAME and not value[2]:
                self.frame.note(value[4], returns)
        if made.target is not None:
            known = {register: tracker.register(register) for register in (*MACHINE.parameters, 0)}
            sources = {register: each for register in MACHINE.parameters if (each := self.read(held, register))}
            self.calls.append((k, made.target, known, sources))
        elif made.flow == Flow.INDIRECT_CALL:
            callee = self._callee_node(k, made, held)
            if callee is not None:
                known = {register: tracker.register(register) for register in MACHINE.parameters}
                sources = {register: each for register in MACHINE.parameters if (each := self.read(held, register))}
                self.through.append((callee, known, sources))
        element = self._element(name[0])
        if element:
            array = self.read(held, MACHINE.parameters[ELEMENT_ARRAYS.get(name[0], 1)])
            if array is not None and not array[1]:
                array[0].element = element
            self._is_row(name[0], element)
        back = _GIVEN_BACK.get(name[0])
        returning = self.read(held, back) if back is not None else None
        given = tracker.register(back) if back is not None else None
        bytes_of = pointed(tracker, tracker.register(RDI)) if name[0] in _WITHIN_TEXT else ()
        for register in tracker.questions.changed(made.target) if made.target is not None else MACHINE.lost_in_calls:
            held[register] = None
        held[MACHINE.result] = None
        if tracker.has_escaped:
            self._overwritten((FRAME, 0, 1, 0, 0), 0, held)
        self._made_of.clear()
        self.frame.lose_all()
        node = self.node("made", k, MACHINE.result)
        if back is not None:
            if element:
                node.known.append(tuple(t for t in pointed(tracker, given) if graph.size(t) == element))
            else:
                self._flows(node, returning, given)
        if bytes_of and graph.size(bytes_of[0]) == 1:
            # Whether it is kept as text is told by who keeps it.
            node.known.append(bytes_of)
            node.reckoned = True
        if text:
            node.confirmed = True
            node.lead(0, text)
        self._allocated(k, name[0])
        held[MACHINE.result] = (node, 0, graph.size(returns) if returns and graph.is_scalar(returns) else 8)
        if returns and graph.is_scalar(returns) and not graph.is_pointer(returns):
            node.copied.append(returns)
        counts = {"integer": 0, "sse": 0}
        for kind, at in returned_parts(graph, returns) if returns else ():
            register = _RETURNED[kind][counts[kind]]
            counts[kind] += 1
            self.frame.pieces[register] = Piece(returns, at)
            held.setdefault(register, None)

    def _sized(self, name: str, arguments: tuple[tuple[int, int, int], ...]) -> None:
        """Note of how many bytes objects in the frame are that are given away as pointers to anything, where the number
        comes along, right behind the pointer or as functions of the C library have it."""
        graph, known = self.graph, self.tracker.register
        pairs = [(MACHINE.parameters[one], MACHINE.parameters[size]) for one, size in SIZED.get(name, ())]
        for (register, t, piece), (behind, number, _piece) in pairwise(arguments):
            if not piece and self._is_anything(t) and graph.kind(graph.strip(number)) == Kind.INT:
                pairs.append((register, behind))
        for register, behind in pairs:
            where, size = known(register), known(behind)
            if where is None or where[0] != FRAME or where[2] or size is None or size[0] != NUMBER or size[2]:
                continue
            if size[4] > _WORD:
                self.frame.note_sized(where[4], size[4])

    def _element(self, name: str) -> int:
        """Bytes of an element where a call says so; 0 elsewhere."""
        value = self.tracker.register(MACHINE.parameters[ELEMENT_SIZES[name]]) if name in ELEMENT_SIZES else None
        return value[4] if value is not None and value[0] == NUMBER and not value[2] else 0

    def _is_row(self, name: str, element: int) -> None:
        """Note an array of pointers in the frame that is sorted or searched."""
        first = ELEMENT_ARRAYS.get(name, 1)
        array = self.tracker.register(MACHINE.parameters[first])
        count = self.tracker.register(MACHINE.parameters[first + 1])
        if array is None or array[0] != FRAME or array[2] or element != 8 or self.unoptimised:
            return
        if count is not None and count[0] == NUMBER and not count[2] and 0 < count[4] <= _LONGEST:
            self.frame.rows.append((array[4], count[4]))

    def _allocated(self, k: int, name: str) -> None:
        """Note the size of what an allocator of the C library returns (C11 7.22.3), where it is a constant."""
        sizes: list[int] = []
        rowed = 0
        for register in (RDI, RSI)[: _ALLOCATORS.get(name, 0)]:
            value = self.tracker.register(register)
            exact = value is not None and value[0] == NUMBER and not value[2]
            sizes.append(value[4] if exact and value is not None else 0)
            if value is not None and value[0] == NUMBER and value[2] > _SMALL and not value[4] % value[2]:
                rowed = value[2]
        # Of several at once, the size of one is the second number; of one some give it as the first.
        size = sizes[1] if len(sizes) > 1 and sizes[1] > 1 else sizes[0] if sizes else 0
        if size > 1 or rowed:
            node = self.node("made", k, MACHINE.result)
            node.allocated, node.single, node.rowed = max(size, 0), 1 in sizes, rowed
            if len(sizes) > 1 and sizes[1] > _SMALL and sizes[0] != 1:
                node.element = sizes[1]

    def _callee_node(self, k: int, made: Instruction, held: dict[int, Held | None]) -> Node | None:
        """The node of the function that an indirect call calls."""
        for number, operand in enumerate(made.memory):
            if not operand.implicit:
                where = self.frame.place(k, number, operand)
                return self._slot(where, operand) if where is not None else None
        for register in made.reads:
            if register != MACHINE.stack_pointer:
                found = self.read(held, register)
                return found[0] if found is not None and not found[1] else None
        return None

    def entry_of(self, node: Node) -> int:
        """The register of the parameter that a node is; -1 where it is something else too."""
        seen = {node}
        queue = [node]
        found: set[int] = set()
        while queue:
            one = queue.pop()
            if one.key[0] == "entry":
                found.add(one.key[1])
            elif not one.origins:
                return -1
            for source in one.origins:
                if source is None:
                    return -1
                if source not in seen:
                    seen.add(source)
                    queue.append(source)
        return found.pop() if len(found) == 1 else -1

    def _function_called(self, k: int, made: Instruction) -> int:
        """The type of the function that a member or a variable leads to; void where that is not known."""
        for number, operand in enumerate(made.memory):
            if not operand.implicit:
                return scalar_at(self.tracker, k, number, 8)
        for register in made.reads:
            value = self.tracker.register(register)
            exact = value is not None and value[0] == OBJECT and not value[2] and not value[4]
            if exact and value is not None and self.graph.kind(self.graph.strip(value[1])) == Kind.FUNCTION:
                return value[1]
        return VOID

    def _passed(self, register: int, t: int, value: Value | None, held: dict[int, Held | None]) -> None:
        graph = self.graph
        if value is not None and value[0] == FRAME:
            target = graph.target(t) if graph.is_pointer(t) else VOID
            if not value[2] and target and graph.size(target) > 0:
                if graph.is_aggregate(target):
                    self.frame.note(value[4], target)
                    return
                if graph.is_scalar(target) and graph.size(target) > 1 and self.unoptimised:
                    self.node("slot", value[4], graph.size(target)).declared.append(target)
                    return
            self.frame.given.add(value[4])
            return
        self._used_as(register, self.read(held, register), t)

    def _return(self, k: int, held: dict[int, Held | None]) -> None:
        result = self.read(held, MACHINE.result)
        self.returned.append((result, self.tracker.register(MACHINE.result)))
        returns = self.prototype.returns if self.prototype is not None else VOID
        counts = {"integer": 0, "sse": 0}
        for kind, at in returned_parts(self.graph, returns) if returns else ():
            register = _RETURNED[kind][counts[kind]]
            counts[kind] += 1
            part = held.get(register)
            if part is not None and part[0].key[0] == "slot" and part[0].key[2] == 8 and not part[1]:
                self.frame.note(part[0].key[1] - at, returns)
        if not returns:
            return
        parts = self._parts(MACHINE.result, held, self.graph.size(returns))
        for each in parts:
            if isinstance(each, Node):
                each.summed.append(returns)
                each.met.extend(one for one in parts if one is not each)
        if result is not None and self.graph.is_scalar(returns) and not self._is_floating(returns):
            self._used_as(MACHINE.result, result, returns)

    def _is_floating(self, t: int) -> bool:
        return self.graph.kind(self.graph.strip(t)) == Kind.FLOAT

    def _returned_numbers(self) -> None:
        """Note of variables that are returned on one of several ways that they are what the function returns."""
        t = self.prototype.returns if self.prototype is not None else VOID
        if not t or not self.graph.is_scalar(t) or self.graph.is_pointer(t) or self._is_floating(t):
            return
        queue = [result[0] for result, _value in self.returned if result is not None and not result[1]]
        seen = set(queue)
        for node in queue:
            # The list grows while it is walked.
            if node.key[0] == "slot" and node.key[2] == self.graph.size(t):
                node.copied.append(t)
            for source, more in node.sources if node.key[0] == "in" else ():
                if not more and source not in seen:
                    seen.add(source)
                    queue.append(source)

    # Between blocks ----------------------------------------------------------------------------------------

    def _join(self) -> None:
        """What flows into the registers at the begins of blocks."""
        blocks = self.tracker.flow.blocks
        reached = self._outs
        for number, register in self._ins:
            node = self.node("in", number, register)
            if len(self.nodes) > _MOST_NODES:
                node.begun = False
                continue
            if not number:
                entry = self.node("entry", register, 0)
                node.sources.append((entry, 0))
                node.origins.append(entry)
            elif self.tracker.flow.open or not blocks.entered(number):
                node.begun = False
            for before in blocks.predecessors(number):
                held = reached.get(before)
                if held is None:
                    continue
                if register not in held:
                    # Goes through; the list grows while it is walked.
                    if register > _REACH and _ALL in held:
                        held[register] = None
                    else:
                        self._in(before, held, register)
                if register in _GENERAL:
                    self._flows(node, held[register], self._known[before].get(register))
                elif register > _REACH:
                    self._flows(node, held[register], None)
