# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""What is known of registers and of stack slots at one place in a function, and the variables that are there."""

from typing import Any

import cython

from undwarf.buffers import longer, zeros
from undwarf.types.dataflow.interned import Own, Values
from undwarf.types.dataflow.segments import Segments
from undwarf.types.dataflow.sums import Sums

NOTHING = cython.declare(cython.int, 0)
NULL = cython.declare(cython.int, 2)
UNASKED = cython.declare(cython.int, -1)
"""Of a variable, until what it says is asked for."""

# Bases of values, as in undwarf.types.dataflow.values.
NUMBER = cython.declare(cython.int, 0)
FRAME = cython.declare(cython.int, 1)
OBJECT = cython.declare(cython.int, 2)
ADDRESS = cython.declare(cython.int, 3)

# Words of a row that says where a variable is (undwarf.types.dataflow.addresses).
PLACE_WORDS = cython.declare(cython.Py_ssize_t, 9)
PLACE_KIND = cython.declare(cython.Py_ssize_t, 2)
PLACE_REGISTER = cython.declare(cython.Py_ssize_t, 3)
PLACE_OFFSET = cython.declare(cython.Py_ssize_t, 4)
PLACE_PIECE = cython.declare(cython.Py_ssize_t, 5)
PLACE_PIECE_SIZE = cython.declare(cython.Py_ssize_t, 6)
PLACE_TYPE = cython.declare(cython.Py_ssize_t, 7)
PLACE_SIZE = cython.declare(cython.Py_ssize_t, 8)
"""Bytes of the variable's type; -1 until they are asked for."""
PLACE_IN_REGISTER = cython.declare(cython.int, 1)
PLACE_MEMORY = cython.declare(cython.int, 2)
PLACE_CFA = cython.declare(cython.int, 3)

REGISTERS = cython.declare(cython.Py_ssize_t, 96)
"""Registers of a state, by DWARF number; stack slots come behind them."""
EVERYTHING = cython.declare(cython.longlong, 1 << 20)
"""How far a store through an address in the frame reaches where no variable says."""
FEW_SLOTS = cython.declare(cython.Py_ssize_t, 32)
"""Slots of which those that a store writes over are found quicker by looking at all of them."""
STAYED = cython.declare(cython.Py_ssize_t, 5)
"""Words about a call, before those about what stayed there."""
MOST_NOTED = cython.declare(cython.Py_ssize_t, 1 << 18)
"""Words about what stayed in the frame at calls; where more would be noted, the flow is followed once more."""
TOLD = cython.declare(cython.ulonglong, 1 << 31)
IN_SCOPE = cython.declare(cython.ulonglong, 1 << 30)
FARTHEST = cython.declare(cython.longlong, 1 << 50)
"""From the call frame address, where nothing is."""
MULTIPLIER = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)


@cython.cclass
class State(Sums):
    """What registers and stack slots of a function hold, as numbers of values; what lies behind addresses of the frame
    that others may know.

    ``listing`` are the instructions; ``questions`` also say where variables are: ``in_registers`` and ``in_frame`` are
    rows of words; ``machine`` gives numbers of registers.
    """

    def __init__(self, listing: Any, values: Values, questions: Any, machine: Any, limits: Any) -> None:
        super().__init__(values, questions)
        self.most_slots = limits.flow_slots
        self.count = len(listing)
        self.rows = listing.table.rows
        self.operands = listing.table.operands
        self.templates = listing.templates
        self.displacements = listing.displacements
        self.immediates = listing.immediates
        self.targets = listing.targets
        self.flows = listing.flows
        self.state = zeros("i", REGISTERS + 64)
        self.top = REGISTERS
        self.slot_key = zeros("q", 64)
        self.slot_index = zeros("i", 256)
        self.slots = 0
        self.marks = zeros("B", self.count + 1)
        self.escaped: list[int] = []
        self.escaped_as: dict[int, int] = {}
        self.forgotten: set[int] = set()
        self.reach = zeros("q", 0)
        self.reach_of = -1
        self.reach_count = 0
        self.reach_top = self.reach_bottom = 0
        self.ends = zeros("q", 0)
        self.ends_count = 0
        self.ends_top = self.ends_bottom = 0
        self.stayed_used = 0
        self.noting = False
        self.own: Any = None
        self.stack_pointer = machine.stack_pointer
        self.frame_pointer = machine.frame_pointer
        self.found = 0
        self.within = 0

        self.seeds = Segments(questions.in_registers, listing.offsets, questions.size)
        self.seeded = questions.seeds
        self.strays = questions.strays
        self.met = zeros("i", 3 * self.seeds.count)
        self.frames = Segments(questions.in_frame, listing.offsets, questions.size)
        self.frame = questions.in_frame
        self.placing = questions.placing

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        at=cython.Py_ssize_t, i=cython.Py_ssize_t, n=cython.Py_ssize_t, place=cython.Py_ssize_t,
        segment=cython.Py_ssize_t,
    )  # fmt: skip
    def find_seeds(self, k: cython.Py_ssize_t) -> cython.int:
        """Sets where in `seeds` the variables are that are in registers at an instruction and say what these hold."""
        segment = self.seeds.data[k]
        at = self.seeds.firsts + 2 * segment
        if not self.seeds.data[at]:
            self.seeds.fill(self.seeds.data[k], at)
            n = self.seeds.data[at] - 1
            for i in range(n, self.seeds.data[at + 1]):
                place = self.seeds.items[i]
                if self.seeded[2 * place + 1] == UNASKED:
                    self.seeded[2 * place + 1] = self._said(place)
                if self.seeded[2 * place + 1]:
                    self.seeds.items[n] = self.seeds.items[i]
                    n += 1
            self.seeds.data[at + 1] = self.seeds.used = n
        self.seeds.begin = self.seeds.data[at] - 1
        self.seeds.end = self.seeds.data[at + 1]
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _said(self, place: cython.Py_ssize_t) -> cython.int:
        """What a variable says that its register holds."""
        row: cython.Py_ssize_t = place * PLACE_WORDS
        register: cython.longlong = self.seeds.places[row + PLACE_REGISTER]
        if not 0 <= register < REGISTERS:
            return NOTHING
        if self.seeds.places[row + PLACE_KIND] != PLACE_IN_REGISTER:
            return cython.cast(cython.int, self.questions.seed(place))
        return self.held(
            self.seeds.places[row + PLACE_TYPE],
            self.seeds.places[row + PLACE_PIECE],
            self.seeds.places[row + PLACE_PIECE_SIZE] or 8,
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def held(self, t: cython.longlong, offset: cython.longlong, size: cython.longlong) -> cython.int:
        """What a register holds when it holds bytes of a variable of a type."""
        if not 0 <= offset < 1 << 24 or not 0 < size < 1 << 7 or not 0 <= t < 1 << 32:
            return cython.cast(cython.int, self.questions.held(t, offset, size))
        key: cython.ulonglong = cython.cast(cython.ulonglong, t) << 32 | offset << 7 | size
        found: cython.int = self.values.held.find(key)
        if found < 0:
            found = self.questions.held(t, offset, size)
            self.values.held.put(key, found)
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def reconcile(
        self, known: cython.int, said: cython.int, register: cython.Py_ssize_t, astray: cython.bint
    ) -> cython.int:
        """What a register, or a slot (-1), holds, given what was tracked and what a variable says, which may go on
        where its scope has ended."""
        if not known or known == said:
            return said
        base: cython.longlong = self.base_of(known)
        if base == FRAME or known == NULL:
            return known
        if base == NUMBER and self.step_of(known) != 1 and self.symbol_of(known) >= 0:
            # An index, whatever is said of it: optimizers let variables stay with what replaced them.
            return known
        if base != OBJECT and base != ADDRESS:
            return said
        same = base == OBJECT and not self.step_of(known) and self.type_of(known) == self.type_of(said)
        if same and self.offset_of(known) == self.offset_of(said):
            return known
        told: cython.int = 1 if register < 0 else self._told(register, known, astray)
        symbol: cython.longlong = self.symbol_of(known) if base == OBJECT and not self.step_of(known) else 0
        known = self.nameless(known)
        key: cython.ulonglong = cython.cast(cython.ulonglong, known) << 32 | cython.cast(cython.ulonglong, said)
        if told:
            key |= TOLD if told == 1 else IN_SCOPE
        found: cython.int = self.values.reconciled.find(key)
        if found < 0 and self.own is not None:
            found = self.own.reconciled.find(key)
        if found < 0:
            value, own = self.questions.reconciler.of(self.values.of(known), self.values.of(said), told)
            found = self.values.number(value)
            if own and self.own is None:
                self.own = Own()
            (self.own.reconciled if own else self.values.reconciled).put(key, found)
        if symbol and self.is_several(found):
            return self.values.intern(OBJECT, self.type_of(found), 0, symbol, self.offset_of(found))
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def _told(self, register: cython.Py_ssize_t, known: cython.int, astray: cython.bint) -> cython.int:
        """Whether a variable that is valid where `seeds` was asked last says what is known of a register: 2 if one that
        is in its scope does so, and another is asked that is not."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        found: cython.int = 0
        for i in range(self.seeds.begin, self.seeds.end):
            place = 2 * cython.cast(cython.Py_ssize_t, self.seeds.items[i])
            if self.seeded[place] == register and self.seeded[place + 1] == known:
                found = 1
                if not astray:
                    break
                if not self.strays[place // 2]:
                    return 2
        return found

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def get(self, register: cython.longlong) -> cython.int:
        return self.state[register] if register >= 0 else NOTHING

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def set(self, register: cython.longlong, value: cython.int) -> cython.int:
        if register >= 0:
            self.state[register] = value
        return 0

    @cython.cfunc
    @cython.inline
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def replace(self, value: cython.int, by: cython.int) -> cython.int:
        i: cython.Py_ssize_t
        for i in range(self.top):
            if self.state[i] == value:
                self.state[i] = by
        for i in range(REGISTERS, REGISTERS + self.slots):
            if self.state[i] == value:
                self.state[i] = by
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def forget(self, symbol: cython.longlong) -> cython.int:
        """The instruction that names a number comes by again: what it named before is another number."""
        i: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t = symbol if symbol > 0 else -symbol
        bit: cython.uchar = 1 if symbol > 0 else 2
        value: cython.int
        if not self.marks[k] & bit:
            self.marks[k] |= bit
            return 0
        while i < REGISTERS + self.slots:
            value = self.state[i]
            if value and self.symbol_of(value) == symbol:
                self.state[i] = self.values.intern(
                    self.base_of(value), self.type_of(value), self.step_of(value), 0, self.offset_of(value)
                )
            i += 1
            if i == self.top:
                i = REGISTERS
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def name(self, at: cython.longlong, value: cython.int, k: cython.Py_ssize_t) -> cython.int:
        """An unknown number that is now in two places, so that sums of the two can be told."""
        if not self.step_of(value) or self.symbol_of(value):
            return value
        self.forget(k + 1)
        value = self.values.intern(
            self.base_of(value), self.type_of(value), self.step_of(value), k + 1, self.offset_of(value)
        )
        if at >= 0:
            self.state[at] = value
        return value

    @cython.cfunc
    @cython.exceptval(-2)
    def slot(self, offset: cython.longlong, size: cython.longlong, make: cython.bint) -> cython.Py_ssize_t:
        """The place in the state of a stack slot of 4 or 8 bytes; -1 where there is none."""
        key: cython.longlong = 2 * offset + (1 if size == 8 else 0)
        mask: cython.ulonglong = len(self.slot_index) - 1
        at: cython.ulonglong = (cython.cast(cython.ulonglong, key) * MULTIPLIER) >> 40 & mask
        number: cython.Py_ssize_t
        while self.slot_index[at]:
            number = self.slot_index[at] - 1
            if self.slot_key[number] == key:
                return REGISTERS + number
            at = (at + 1) & mask
        if not make or self.slots >= self.most_slots:
            return -1
        if self.slots == len(self.slot_key):
            self.slot_key = longer(self.slot_key, self.slots, 2 * self.slots)
            self.state = longer(self.state, REGISTERS + self.slots, REGISTERS + 2 * self.slots)
        self.slot_key[self.slots] = key
        self.slots += 1
        self.state[REGISTERS + self.slots - 1] = NOTHING
        self.slot_index[at] = self.slots
        number = self.slots
        if 3 * self.slots > len(self.slot_index):
            self._spread()
        return REGISTERS + number - 1

    def _spread(self) -> None:
        size = 4 * len(self.slot_index)
        self.slot_index = zeros("i", size)
        number: cython.Py_ssize_t
        at: cython.ulonglong
        for number in range(self.slots):
            at = (cython.cast(cython.ulonglong, self.slot_key[number]) * MULTIPLIER) >> 40 & (size - 1)
            while self.slot_index[at]:
                at = (at + 1) & (size - 1)
            self.slot_index[at] = number + 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _drop(self, offset: cython.longlong, size: cython.longlong) -> cython.int:
        at: cython.Py_ssize_t = self.slot(offset, size, False)
        if at >= 0:
            self.state[at] = NOTHING
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def put(self, offset: cython.longlong, size: cython.longlong, value: cython.int) -> cython.int:
        """A store to the frame."""
        at: cython.longlong
        i: cython.Py_ssize_t
        if size <= 16 and self.slots > FEW_SLOTS:
            for at in range(offset - 7, offset + size):
                self._drop(at, 8)
                if at > offset - 4:
                    self._drop(at, 4)
        else:
            for i in range(self.slots):
                at = self.slot_key[i] >> 1
                if offset - 8 < at < offset + size and (self.slot_key[i] & 1 or at > offset - 4 or size > 16):
                    self.state[REGISTERS + i] = NOTHING
        if value and (size == 8 or (size == 4 and self.base_of(value) == NUMBER)):
            i = self.slot(offset, size, True)
            if i >= 0:
                self.state[i] = value
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def size_of(self, place: cython.Py_ssize_t) -> cython.longlong:
        """Bytes of the type of a variable in the frame."""
        at: cython.Py_ssize_t = place * PLACE_WORDS + PLACE_SIZE
        if self.frame[at] < 0:
            self.frame[at] = self.questions.frame_size(place)
        return cython.cast(cython.longlong, self.frame[at])

    @cython.cfunc
    @cython.exceptval(-1)
    def stack_variable(self, k: cython.Py_ssize_t, offset: cython.longlong) -> cython.bint:
        """Sets `found` and `within` to the innermost variable that holds an offset, and the offset in it."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        row: cython.Py_ssize_t
        begin: cython.longlong
        size: cython.longlong
        base: cython.int
        register: cython.longlong
        self.frames.find(k)
        for i in range(self.frames.end - 1, self.frames.begin - 1, -1):
            place = self.frames.items[i]
            row = place * PLACE_WORDS
            begin = self.frame[row + PLACE_OFFSET]
            if self.frame[row + PLACE_KIND] == PLACE_MEMORY:
                register = self.frame[row + PLACE_REGISTER]
                if not 0 <= register < REGISTERS:
                    continue
                base = self.state[register]
                if self.base_of(base) != FRAME or self.step_of(base):
                    continue
                begin += self.offset_of(base)
            if begin > offset:
                continue
            size = self.frame[row + PLACE_PIECE_SIZE]
            if not size:
                size = max(self.size_of(place), 1)
            if offset < begin + size:
                self.found = place
                self.within = offset - begin + self.frame[row + PLACE_PIECE]
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _extent(
        self, k: cython.Py_ssize_t, offset: cython.longlong, top: cython.longlong, bottom: cython.longlong
    ) -> cython.longlong:
        """Where the object that an escaped address leads to ends; ``top`` and ``bottom``: where the stack's and the
        frame's pointer lead there, as :meth:`in_frame` says."""
        i: cython.Py_ssize_t
        end: cython.longlong
        self.frames.find(k)
        for i in range(self.frames.begin, self.frames.end):
            end = self._end_of(self.frames.items[i], offset, top, bottom)
            if end > offset:
                return end
        return offset + EVERYTHING

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _end_of(
        self, place: cython.Py_ssize_t, offset: cython.longlong, top: cython.longlong, bottom: cython.longlong
    ) -> cython.longlong:
        """Where a variable ends that holds an offset; the offset where it does not."""
        within: cython.longlong = self.within_place(place, offset, top, bottom)
        return offset if within < 0 else offset - within + self.size_of(place)

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def within_place(
        self, place: cython.Py_ssize_t, offset: cython.longlong, top: cython.longlong, bottom: cython.longlong
    ) -> cython.longlong:
        """How far in a variable an offset is, whether or not that is valid; -1 where it does not hold it. ``top`` and
        ``bottom``: where the stack's and the frame's pointer lead, as :meth:`in_frame` says."""
        row: cython.Py_ssize_t = place * PLACE_WORDS
        begin: cython.longlong = self.frame[row + PLACE_OFFSET]
        register: cython.longlong
        if self.frame[row + PLACE_KIND] == PLACE_MEMORY:
            register = self.frame[row + PLACE_REGISTER]
            if register == self.stack_pointer:
                begin += top
            elif register == self.frame_pointer:
                begin += bottom
            else:
                return -1
        elif self.frame[row + PLACE_KIND] != PLACE_CFA:
            return -1
        return offset - begin if begin <= offset < begin + self.size_of(place) else -1

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _latest_end(self, e: cython.Py_ssize_t, top: cython.longlong, bottom: cython.longlong) -> cython.longlong:
        """Where the object that an escaped address leads to ends at most: its scope has ended, or not begun."""
        count: cython.Py_ssize_t = len(self.escaped)
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        end: cython.longlong
        offset: cython.longlong
        if self.ends_top != top or self.ends_bottom != bottom:
            self.ends_count = 0
            self.ends_top = top
            self.ends_bottom = bottom
        if self.ends_count < count:
            if len(self.ends) < count:
                self.ends = longer(self.ends, self.ends_count, 2 * count)
            for i in range(self.ends_count, count):
                self.ends[i] = FARTHEST
            self.ends_count = count
        if self.ends[e] == FARTHEST:
            offset = end = self.escaped[e]
            for place in range(len(self.frame) // PLACE_WORDS):
                end = max(end, self._end_of(place, offset, top, bottom))
            self.ends[e] = end if end > offset else offset + EVERYTHING
        return self.ends[e]

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def in_frame(self, register: cython.Py_ssize_t) -> cython.longlong:
        """How far from the call frame address a register leads; farther than there is anything where that is not
        known."""
        value: cython.int = self.state[register]
        return self.offset_of(value) if self.base_of(value) == FRAME and not self.step_of(value) else FARTHEST

    @cython.cfunc
    @cython.exceptval(-1)
    def escape(self, value: cython.int) -> cython.int:
        """The address of a part of the frame goes where others may see it."""
        offset: Any
        if value and self.base_of(value) == FRAME:
            offset = self.offset_of(value)
            if offset not in self.escaped:
                self.escaped.append(offset)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.Py_ssize_t, e=cython.Py_ssize_t, at=cython.longlong, begin=cython.longlong)
    def lose_escaped(self, k: cython.Py_ssize_t) -> cython.int:
        """Somebody may have changed what lies behind addresses of the frame."""
        count: cython.Py_ssize_t = len(self.escaped)
        segment: cython.Py_ssize_t = self.frames.data[k]
        top: cython.longlong = self.in_frame(self.stack_pointer)
        bottom: cython.longlong = self.in_frame(self.frame_pointer)
        same: cython.bint = self.reach_of == segment and self.reach_count == count
        if count and not (same and self.reach_top == top and self.reach_bottom == bottom):
            if not self.reach_count or len(self.reach) < 2 * count:
                self.reach = zeros("q", 4 * count)
            for e in range(count):
                begin = self.escaped[e]
                self.reach[2 * e] = begin - 7
                self.reach[2 * e + 1] = self._extent(k, begin, top, bottom)
                if self.reach[2 * e + 1] - begin >= EVERYTHING:
                    self.reach[2 * e + 1] = self._latest_end(e, top, bottom)
            self.reach_of = segment
            self.reach_top = top
            self.reach_bottom = bottom
            self.reach_count = count
        for i in range(self.slots if count else 0):
            if not self.state[REGISTERS + i]:
                continue
            at = self.slot_key[i] >> 1
            for e in range(count):
                if self.reach[2 * e] <= at < self.reach[2 * e + 1]:
                    self.state[REGISTERS + i] = self._still(at, self.state[REGISTERS + i])
                    break
        self._note_stayed(k, top, bottom)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _still(self, offset: cython.longlong, value: cython.int) -> cython.int:
        """What a slot holds that somebody may have changed: another pointer to the same, if it is known to be one."""
        if self.base_of(value) != OBJECT:
            return NOTHING
        said: Any = self.escaped_as.get(offset)
        if said is None:
            self.forgotten.add(offset)
            return NOTHING
        graph: Any = self.questions.graph
        if not said or graph.canonical(self.type_of(said)) != graph.canonical(self.type_of(value)):
            return NOTHING
        return cython.cast(cython.int, said)

    @cython.cfunc
    @cython.exceptval(-1)
    def spoil(self, k: cython.Py_ssize_t, offset: cython.longlong, base: cython.longlong) -> cython.int:
        """A store somewhere into an array of the frame, through the register ``base``: what that leads to tells which
        array it is, where the offset does not."""
        top: cython.longlong = self.in_frame(self.stack_pointer)
        bottom: cython.longlong = self.in_frame(self.frame_pointer)
        end: cython.longlong = self._extent(k, offset, top, bottom)
        other: cython.longlong = self.in_frame(base) if 0 <= base < REGISTERS else FARTHEST
        at: cython.longlong
        i: cython.Py_ssize_t
        if end - offset >= EVERYTHING and base != self.stack_pointer and other != FARTHEST:
            at = self._extent(k, other, top, bottom)
            if at - other < EVERYTHING:
                offset, end = min(offset, other), at
        for i in range(self.slots):
            at = self.slot_key[i] >> 1
            if end - offset >= EVERYTHING or offset - 8 < at < end:
                self.state[REGISTERS + i] = NOTHING
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def stop_noting(self) -> cython.int:
        """What stays in the frame behind calls is not asked any more."""
        self.stayed = zeros("q", 0)
        self.stayed_used = MOST_NOTED + 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.Py_ssize_t, begin=cython.Py_ssize_t)
    def _note_stayed(self, k: cython.Py_ssize_t, top: cython.longlong, bottom: cython.longlong) -> cython.int:
        """Note what is in the frame behind a call."""
        if self.stayed_used > MOST_NOTED or not self.slots:
            return 0
        begin = self.stayed_used
        if begin == 0 and not self.noting:
            self.stayed = zeros("q", 256)
            self.noting = True
        if begin + STAYED + self.slots > len(self.stayed):
            self.stayed = longer(self.stayed, begin, 2 * (begin + STAYED + self.slots))
        at: cython.Py_ssize_t = begin + STAYED
        for i in range(self.slots):
            if self.state[REGISTERS + i]:
                self.stayed[at] = self.slot_key[i] >> 1
                at += 1
        if at > begin + STAYED:
            self.stayed[begin] = k
            self.stayed[begin + 1] = len(self.escaped)
            self.stayed[begin + 2] = at - begin - STAYED
            self.stayed[begin + 3] = top
            self.stayed[begin + 4] = bottom
            self.stayed_used = at
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        at=cython.Py_ssize_t, k=cython.Py_ssize_t, e=cython.Py_ssize_t, i=cython.Py_ssize_t, offset=cython.longlong,
        begin=cython.longlong, end=cython.longlong,
    )  # fmt: skip
    def stayed_too_long(self) -> cython.bint:
        """Whether an address that escaped later than a call was come to led to what stayed in the frame there."""
        if self.stayed_used > MOST_NOTED:
            return True
        at = 0
        while at < self.stayed_used:
            k = self.stayed[at]
            for e in range(self.stayed[at + 1], len(self.escaped)):
                begin = self.escaped[e]
                end = self._extent(k, begin, self.stayed[at + 3], self.stayed[at + 4])
                if end - begin >= EVERYTHING:
                    end = self._latest_end(e, self.stayed[at + 3], self.stayed[at + 4])
                for i in range(at + STAYED, at + STAYED + self.stayed[at + 2]):
                    offset = self.stayed[i]
                    if begin - 7 <= offset < end:
                        return True
            at += STAYED + self.stayed[at + 2]
        return False
