# cython: language_level=3, annotation_typing=False
"""Where the values of a function come from and what they are used as, where nothing names its variables.

A node stands for the values of one origin: what a register holds when the function or a stretch of code begins, what an
instruction makes, what is in a place of an unoptimised function's frame. Nodes that flow into others are their
sources. What is told of a node: objects it leads to, because it goes where such a pointer is expected (an argument, a
member, what is returned, the other side of a comparison); types of the numbers it was copied from or to; whether it is
used as a number with sign. What follows from all that together is decided in `pointer_types.py`.

Modules go on from one another: what registers hold (`held_values.py`), what is calculated (`number_uses.py`), loaded
and stored (`memory_uses.py`), passed and returned (`call_uses.py`), all blocks of a function (here).
"""

from collections.abc import Callable
from functools import partial

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
from undwarf.disasm.x86_properties import calculates, compares, immediate_of, makes_int, moves_vector, signedness
from undwarf.types.dataflow.tracking import Tracker
from undwarf.types.dataflow.values import FRAME, NUMBER, OBJECT, Value
from undwarf.types.inference.call_uses import CallUses
from undwarf.types.inference.copies import Copies
from undwarf.types.inference.held_values import GENERAL, REACH
from undwarf.types.inference.nodes import Held, Node, added
from undwarf.types.inference.number_uses import OPERANDS
from undwarf.types.layouts.model import Kind
from undwarf.types.sources.places import Prototype
from undwarf.types.sources.program_types import integer
from undwarf.types.uses.pointed import scalar_at

__all__ = ["Webs"]

_WHOLE = (Action.ADD, Action.SUBTRACT, Action.MULTIPLY, Action.SHIFT_LEFT)
_ELEMENTS = 64
"""Elements of an array in the frame that are looked for one by one."""
_MOST_NODES = 200_000
"""Nodes of a function beyond which what flows into blocks is not looked for."""


def _others(bases: "dict[tuple[int, int], tuple[Node, int]]", k: int, number: int) -> tuple[tuple[int, int], ...]:
    found = bases.get((k, number))
    return tuple((offset - found[1], size) for offset, size in found[0].touched) if found is not None else ()


class Webs(CallUses):
    """The nodes of one function of x86-64, gathered from where its data flow stands."""

    def __init__(self, tracker: Tracker, prototype: Prototype | None) -> None:
        super().__init__(tracker, prototype)
        self._outs: dict[int, dict[int, Held | None]] = {}
        self._known: dict[int, dict[int, Value | None]] = {}
        flow = tracker.flow
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
        return self.graph.is_void_pointer(prototype.returns)

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
        for k in tracker.states(number):
            made = instructions[k]
            self.frame.at = k
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
        self._known[number] = {register: tracker.register(register) for register in GENERAL}

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
                    if operand.access == "rw":
                        slot.origins = added(slot.origins, None)
            elif operand.base != NONE:
                base = self.read(held, operand.base)
                if operand.index != NONE:
                    self.read(held, operand.index)
                    if operand.scale == 1:
                        self._strays(held, operand.base, operand.index)
                    base = self._row_at(held, operand)
                if base is not None:
                    self._bases[k, number] = base[0], base[1] + operand.displacement
                    self._note_beyond(k, number)
                    number = action == Action.UPDATE or bool(calculates(made))
                    floating = bool(operand.floating)
                    base[0].follow(base[1] + operand.displacement, operand.size, floating=floating, number=number)
                    if action == Action.UPDATE and made.left == made.right == NONE:
                        base[0].grows(base[1] + operand.displacement, operand.size, made.immediate)
        if made.width == 8 and action in _WHOLE:
            for register in (made.left, made.right):
                each = held.get(register)
                self._whole(each)
                if each is not None and not each[1] and action in (Action.MULTIPLY, Action.SHIFT_LEFT):
                    each[0].numeric = True
        sign, width = signedness(made, after, plain=self.unoptimised)
        if sign and slot is not None and width == 8 and compares(made) and immediate_of(made):
            # No address is compared with such.
            slot.numeric = True
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
            self._summed(held, operand, made.width)
            place = self.tracker.address_of(k, 0)
            if place is not None and place[0] == FRAME and not place[2]:
                self.frame.taken.add(place[4])
            if base is not None and operand.index == NONE and made.width == 8:
                result = (base[0], base[1] + operand.displacement, base[2])
            elif operand.base != NONE and operand.index != NONE and made.width == 8:
                if operand.scale == 1:
                    self._strays(held, operand.base, operand.index)
                    self._strays(held, operand.index, operand.base)
                row = self._row_at(held, operand)
                result = (row[0], row[1] + operand.displacement, row[2]) if row is not None else None
                if result is None and operand.scale == 1:
                    result = self._somewhere(k, destination, operand.base, operand.index)
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
            self._strays(held, made.left, made.right)
            self._strays(held, made.right, made.left)
            made_of = self._calculated(made, held, slot, width)
            result = self._row(held, made.left, made.right, 1) or self._row(held, made.right, made.left, 1)
            result = result or self._further(k, made, held) or self._somewhere(k, destination, made.left, made.right)
        elif action == Action.ADD_MEMORY:
            self._strays_by_memory(k, made, held)
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
        if not made_of and makes_int(made):
            t = integer(self.graph, 4, signed=True)
            made_of = (t,) if t else ()
        if action == Action.UPDATE and slot is not None and made.left != NONE:
            slot.beside = added(slot.beside, *self._parts(made.left, held, made.memory[0].size))
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
        number = bool(t) and self.graph.kind(self.graph.strip(t)) == Kind.INT
        for register in (made.left, made.right) if number else ():
            source, leads = held.get(register), self.tracker.register(register)
            if source is None or source[1] or source[0].key[0] != "slot":
                continue
            if leads is not None and leads[0] == OBJECT and self.graph.size(leads[1]) > 1:
                source[0].strayed = True

    def _somewhere(self, k: int, destination: int, *registers: int) -> Held | None:
        """The address of something at any place in an object: what it is, who it is given to knows."""
        for one, other in (registers, registers[::-1]):
            leads, count = self.tracker.register(one), self.tracker.register(other)
            any_number = count is None or (count[0] == NUMBER and count[2] == 1)
            if leads is not None and leads[0] == OBJECT and not leads[2] and any_number:
                return self.node("made", k, destination), 0, 8
        return None

    def _note_beyond(self, k: int, number: int) -> None:
        where, graph = self.tracker.address_of(k, number), self.graph
        if where is None or where[0] != OBJECT or where[2] > 1:
            return
        if where[2] or (graph.is_aggregate(where[1]) and not 0 <= where[4] < graph.size(where[1])):
            self.beyond.append((k, number))

    def copies(self, k: int, number: int, further: dict[Node, list[tuple[Node, int]]]) -> tuple[Copies, int]:
        """Who has the value of an operand's base, and how far behind that the operand is."""
        node, apart = self._bases[k, number]
        return Copies(node, further), apart

    def with_members(self) -> list[tuple[int, dict[int, int]]]:
        """Calls of what a member leads to, by the type of the function: by register, how far behind that member lies
        what is given, as a member of the same object."""
        found = []
        for t, through, given in self._through_members:
            member = self._member(through) if isinstance(through, Node) else through
            root = self._root(member[0]) if member is not None else None
            apart: dict[int, int] = {}
            for register, node in given.items():
                other = self._member(node)
                if member is not None and other is not None and root is not None and self._root(other[0]) is root:
                    apart[register] = other[1] - member[1]
            if apart:
                found.append((t, apart))
        return found

    def _member(self, node: Node) -> tuple[Node, int] | None:
        """Behind which node a pointer to a function or to anything was loaded, and how far."""
        root = self._root(node)
        return self.members.get(root) if root is not None else None

    def _root(self, node: Node) -> Node | None:
        """The only value that one is on all ways; None where there are several."""
        queue, seen, found = [node], {node}, set()
        while queue:
            one = queue.pop()
            if one.key[0] != "in":
                found.add(one)
                continue
            for source in one.origins or (None,):
                if source is None:
                    return None
                if source not in seen:
                    seen.add(source)
                    queue.append(source)
        return found.pop() if len(found) == 1 else None

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

    def _summed(self, held: dict[int, Held | None], operand: Memory, width: int) -> None:
        """An address is calculated that may be a sum: of two registers, or of a small number."""
        if width == 8 and (operand.index == NONE or operand.scale != 1):
            return
        for register in (operand.base, operand.index):
            each = held.get(register)
            if each is not None and not each[1] and each[2] == width:
                each[0].reckoned = True

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
                entry.flows = True
                node.sources = added(node.sources, (entry, 0))
                node.origins = added(node.origins, entry)
            elif self.tracker.flow.open or not blocks.entered(number):
                node.begun = False
            for before in blocks.predecessors(number):
                held = reached.get(before)
                if held is None:
                    continue
                if register not in held:
                    # Goes through; the list grows while it is walked.
                    self._passes(before, held, register)
                if register in GENERAL:
                    self._flows(node, held[register], self._known[before].get(register))
                elif register > REACH:
                    self._flows(node, held[register], None)
