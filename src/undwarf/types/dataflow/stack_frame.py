# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""The abstract stack frame: variables in it, escaped addresses, and which slots a call or store may change."""

from typing import Any

import cython
from cython.cimports.undwarf.types.dataflow.constants import FRAME, NOTHING, OBJECT, REGISTERS
from cython.cimports.undwarf.types.sources.row_words import (
    PLACE_KIND,
    PLACE_OFFSET,
    PLACE_PIECE,
    PLACE_PIECE_SIZE,
    PLACE_REGISTER,
    PLACE_SIZE,
    PLACE_TYPE,
    PLACE_WORDS,
)
from cython.cimports.undwarf.types.sources.type_source import PlaceKind

from undwarf.column import longer, zeros
from undwarf.types.dataflow.location_intervals import LocationIntervals
from undwarf.types.dataflow.register_locations import RegisterLocations
from undwarf.types.dataflow.value_interner import ValueInterner

EVERYTHING = cython.declare(cython.longlong, 1 << 20)
"""Bytes that a store through a stack address may reach if no variable bounds it."""
STAYED = cython.declare(cython.Py_ssize_t, 5)
"""Header words of a note about a call."""
MOST_NOTED = cython.declare(cython.Py_ssize_t, 1 << 18)
"""Limit of notes about slots kept across calls; with more, the data flow is repeated once."""
RUN_WORDS = cython.declare(cython.Py_ssize_t, 3)
"""Columns of a cached end of an escaped address's object: first segment, end segment, end offset."""
FARTHEST = cython.declare(cython.longlong, 1 << 50)
"""An offset beyond any frame."""


@cython.cclass
class StackFrame(RegisterLocations):
    """The state with the variables in the frame and the escaped addresses. ``oracle``: ``in_frame`` are location
    rows."""

    def __init__(self, listing: Any, values: ValueInterner, oracle: Any, machine: Any, limits: Any) -> None:
        super().__init__(listing, values, oracle, machine, limits)
        self.escaped: list[int] = []
        self.escaped_as: dict[int, int] = {}
        self.forgotten: set[int] = set()
        self.rooms: dict[int, int] = {}
        self.bounds: dict[int, int] = {}
        self.grown = False
        self.reach = zeros("q", 0)
        self.held_first = zeros("q", 1)
        self.holders = zeros("q", 64)
        self.runs = zeros("q", 0)
        self.held_count = self.holders_used = 0
        self.held_top = self.held_bottom = 0
        self.stayed_used = 0
        self.noting = False
        self.found = 0
        self.within = 0
        self.frames = LocationIntervals(oracle.in_frame, listing.offsets, oracle.size)
        self.frame = oracle.in_frame
        self.by_top, self.by_bottom = self._counted_from(self.stack_pointer), self._counted_from(self.frame_pointer)
        self.placing = oracle.placing

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(place=cython.Py_ssize_t, row=cython.Py_ssize_t)
    def _counted_from(self, register: cython.longlong) -> cython.bint:
        """Whether any variable's location is relative to a register."""
        for place in range(len(self.frame) // PLACE_WORDS):
            row = place * PLACE_WORDS
            if self.frame[row + PLACE_KIND] == PlaceKind.MEMORY and self.frame[row + PLACE_REGISTER] == register:
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def size_of(self, place: cython.Py_ssize_t) -> cython.longlong:
        """Size of a variable's type in bytes."""
        at: cython.Py_ssize_t = place * PLACE_WORDS + PLACE_SIZE
        if self.frame[at] < 0:
            self.frame[at] = self.oracle.frame_size(place)
        return cython.cast(cython.longlong, self.frame[at])

    @cython.cfunc
    @cython.exceptval(-1)
    def stack_variable(self, k: cython.Py_ssize_t, offset: cython.longlong) -> cython.bint:
        """Set `found` and `within` to the innermost variable at an offset, and the offset in it; False if there is
        none."""
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
            if self.frame[row + PLACE_KIND] == PlaceKind.MEMORY:
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
        """Where the object that an escaped address points to ends; ``top`` and ``bottom`` are the stack and frame
        pointers (:meth:`in_frame`)."""
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
        """Where a variable that covers an offset ends; the offset itself if it does not cover it."""
        within: cython.longlong = self.within_place(place, offset, top, bottom)
        return offset if within < 0 else offset - within + self.size_of(place)

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def within_place(
        self, place: cython.Py_ssize_t, offset: cython.longlong, top: cython.longlong, bottom: cython.longlong
    ) -> cython.longlong:
        """The offset in a variable of an offset in the frame, valid here or not; -1 if it is outside."""
        row: cython.Py_ssize_t = place * PLACE_WORDS
        begin: cython.longlong = self.frame[row + PLACE_OFFSET]
        register: cython.longlong
        if self.frame[row + PLACE_KIND] == PlaceKind.MEMORY:
            register = self.frame[row + PLACE_REGISTER]
            if register == self.stack_pointer:
                begin += top
            elif register == self.frame_pointer:
                begin += bottom
            else:
                return -1
        elif self.frame[row + PLACE_KIND] != PlaceKind.CFA:
            return -1
        return offset - begin if begin <= offset < begin + self.size_of(place) else -1

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        count=cython.Py_ssize_t, e=cython.Py_ssize_t, place=cython.Py_ssize_t, offset=cython.longlong,
        within=cython.longlong, latest=cython.longlong,
    )  # fmt: skip  # rows of C types
    def _find_holders(self, top: cython.longlong, bottom: cython.longlong) -> cython.int:
        """Find the variables that cover escaped addresses, wherever they are valid."""
        count = len(self.escaped)
        if self.held_top != top or self.held_bottom != bottom:
            self.held_count = self.holders_used = 0
            self.held_top = top
            self.held_bottom = bottom
        if self.held_count == count:
            return 0
        if len(self.held_first) <= count:
            self.held_first = longer(self.held_first, self.held_count + 1, 2 * count + 2)
            self.reach = longer(self.reach, 2 * self.held_count, 4 * count + 4)
            self.runs = longer(self.runs, RUN_WORDS * self.held_count, RUN_WORDS * (2 * count + 2))
        for e in range(self.held_count, count):
            offset = self.escaped[e]
            self.held_first[e] = self.holders_used
            latest = offset
            for place in range(len(self.frame) // PLACE_WORDS):
                within = self.within_place(place, offset, top, bottom)
                if within < 0:
                    continue
                if self.holders_used + 2 > len(self.holders):
                    self.holders = longer(self.holders, self.holders_used, 2 * self.holders_used)
                self.holders[self.holders_used] = place
                self.holders[self.holders_used + 1] = offset - within + self.size_of(place)
                latest = max(latest, self.holders[self.holders_used + 1])
                self.holders_used += 2
            self.held_first[e + 1] = self.holders_used
            self.reach[2 * e] = offset - 7
            if latest == offset:
                latest = min(offset + EVERYTHING, cython.cast(cython.longlong, self.bounds.get(offset, FARTHEST)))
            self.reach[2 * e + 1] = latest
            if offset < 0:
                # No object spans this frame and the caller's.
                self.reach[2 * e + 1] = min(self.reach[2 * e + 1], 0)
            self.runs[e * RUN_WORDS + 1] = 0
        self.held_count = count
        return 0

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    @cython.locals(
        i=cython.Py_ssize_t, at=cython.Py_ssize_t, end=cython.longlong, low=cython.longlong, high=cython.longlong,
        run=cython.Py_ssize_t,
    )  # fmt: skip  # rows of C types
    def _end_at(self, segment: cython.Py_ssize_t, e: cython.Py_ssize_t) -> cython.longlong:
        """Where the object of an escaped address ends in a segment: that of the variable valid there, else what callees
        take it for, else the largest variable that is ever there."""
        run = RUN_WORDS * e
        if self.runs[run] <= segment < self.runs[run + 1]:
            return self.runs[run + 2]
        # The same for segments [low, high).
        low, high = 0, FARTHEST
        end = self.reach[2 * e + 1]
        room: cython.longlong = self.rooms.get(self.reach[2 * e] + 7, EVERYTHING)
        if room < EVERYTHING:
            end = self.reach[2 * e] + 7 + room
        for i in range(self.held_first[e], self.held_first[e + 1], 2):
            at = self.frames.lows + 2 * cython.cast(cython.Py_ssize_t, self.holders[i])
            if segment < self.frames.data[at]:
                high = min(high, cython.cast(cython.longlong, self.frames.data[at]))
            elif segment >= self.frames.data[at + 1]:
                low = max(low, cython.cast(cython.longlong, self.frames.data[at + 1]))
            else:
                low = max(low, cython.cast(cython.longlong, self.frames.data[at]))
                high = min(high, cython.cast(cython.longlong, self.frames.data[at + 1]))
                end = self.holders[i + 1]
                break
        self.runs[run] = low
        self.runs[run + 1] = high
        self.runs[run + 2] = end
        return end

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def in_frame(self, register: cython.Py_ssize_t) -> cython.longlong:
        """A register's offset from the call frame address; FARTHEST if unknown."""
        value: cython.int = self.state[register]
        return self.offset_of(value) if self.base_of(value) == FRAME and not self.step_of(value) else FARTHEST

    @cython.cfunc
    @cython.exceptval(-1)
    def escape(self, value: cython.int) -> cython.int:
        """Mark a stack address as escaped."""
        offset: Any
        if value and self.base_of(value) == FRAME:
            offset = self.offset_of(value)
            if offset not in self.escaped:
                self.escaped.append(offset)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def escape_at(self, k: cython.Py_ssize_t, value: cython.int) -> cython.int:
        """Mark an address that an instruction computes as escaped. An unnamed object ends before the end of the next
        variable; or that variable is meant, with a biased index."""
        offset: Any = self.offset_of(value)
        end: cython.longlong = self._next_end(k, offset)
        known: cython.longlong = self.bounds.get(offset, 0)
        if not known or end > known:
            self.bounds[offset] = end
        if known and end > known:
            self.grown = True
            self.held_count = self.holders_used = 0
        return self.escape(value)

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    @cython.locals(
        i=cython.Py_ssize_t, place=cython.Py_ssize_t, begin=cython.longlong, best=cython.longlong, end=cython.longlong,
    )  # fmt: skip  # rows of C types
    def _next_end(self, k: cython.Py_ssize_t, offset: cython.longlong) -> cython.longlong:
        """The end of the next variable after an offset, among those valid at an instruction."""
        top: cython.longlong = self.in_frame(self.stack_pointer)
        bottom: cython.longlong = self.in_frame(self.frame_pointer)
        best = end = FARTHEST
        self.frames.find(k)
        for i in range(self.frames.begin, self.frames.end):
            place = self.frames.items[i]
            begin = self.frame[place * PLACE_WORDS + PLACE_OFFSET]
            if self.frame[place * PLACE_WORDS + PLACE_KIND] == PlaceKind.MEMORY:
                if self.frame[place * PLACE_WORDS + PLACE_REGISTER] == self.stack_pointer:
                    begin += top
                elif self.frame[place * PLACE_WORDS + PLACE_REGISTER] == self.frame_pointer:
                    begin += bottom
                else:
                    continue
            if offset < begin < best:
                best = begin
                end = begin + self.size_of(place)
        return end

    @cython.cfunc
    @cython.exceptval(-1)
    def escape_as(self, value: cython.int, room: cython.longlong) -> cython.int:
        """Mark an address as escaped with a known object size; 0 for unknown."""
        if not value or self.base_of(value) != FRAME:
            return 0
        self.escape(value)
        if self.step_of(value) or not 0 < room < EVERYTHING:
            room = EVERYTHING
        offset: Any = self.offset_of(value)
        known: cython.longlong = self.rooms.get(offset, 0)
        if room <= known:
            return 0
        self.rooms[offset] = room
        self.grown = self.grown or known > 0
        e: cython.Py_ssize_t = self.escaped.index(offset)
        if e < self.held_count:
            self.runs[e * RUN_WORDS + 1] = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        frame=cython.int, other=cython.int, step=cython.longlong, offset=cython.longlong,
        within=cython.longlong, top=cython.longlong, bottom=cython.longlong, place=cython.Py_ssize_t,
    )  # fmt: skip  # rows of C types
    def join_frame_pointer(self, known: cython.int, value: cython.int) -> cython.int:
        """Join a pointer to a stack variable (or its element) with a pointer to another object of that type: a small
        buffer in the frame, a large one on the heap. An unnamed slot joins with a pointer to a scalar."""
        frame, other = (known, value) if self.base_of(known) == FRAME else (value, known)
        if self.base_of(frame) != FRAME or self.base_of(other) != OBJECT:
            return NOTHING
        offset = self.offset_of(frame)
        step = self.step_of(frame)
        named: cython.bint = False
        top, bottom = self.in_frame(self.stack_pointer), self.in_frame(self.frame_pointer)
        for place in range(len(self.frame) // PLACE_WORDS):
            within = self.within_place(place, offset, top, bottom)
            if within < 0:
                continue
            named = True
            t: Any = self.frame[place * PLACE_WORDS + PLACE_TYPE]
            found: cython.int = self.oracle.shared(t, within, step, self.values.of(other))
            if found:
                # The joined pointer no longer shows that it may point to the frame.
                self._escape_as_one(frame, found)
                return found
        if not named and not step and self.oracle.has_variables:
            found = self.oracle.scalar(self.values.of(other))
            self._escape_as_one(frame, found)
            return found
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _escape_as_one(self, frame: cython.int, found: cython.int) -> cython.int:
        """A stack slot's address is stored where pointers to other objects are stored too: what is written through
        such a pointer has the declared type."""
        self.escape(frame)
        leads: cython.bint = self.base_of(found) == OBJECT and self.oracle.graph.is_pointer(self.type_of(found))
        pointer: cython.int = self.held(self.type_of(found), 0, 8) if leads else NOTHING
        offset: cython.longlong = self.offset_of(frame)
        at: cython.Py_ssize_t = self.slot(offset, 8, False)
        if self.step_of(frame) or at < 0 or self.base_of(self.state[at]) != OBJECT:
            return 0
        same: cython.bint = self.escaped_as.get(offset, pointer) == pointer
        self.escaped_as[offset] = pointer if same else NOTHING
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.Py_ssize_t, e=cython.Py_ssize_t, at=cython.longlong)
    def lose_escaped(self, k: cython.Py_ssize_t) -> cython.int:
        """A call or store may have changed what escaped addresses point to."""
        count: cython.Py_ssize_t = len(self.escaped)
        segment: cython.Py_ssize_t = self.frames.data[k]
        for i in range(self.slots):
            if self.state[REGISTERS + i]:
                break
        else:
            # No slot has a value.
            return 0
        # Unused unless a variable's location is relative to it.
        top: cython.longlong = self.in_frame(self.stack_pointer) if self.by_top else 0
        bottom: cython.longlong = self.in_frame(self.frame_pointer) if self.by_bottom else 0
        if count:
            self._find_holders(top, bottom)
        for i in range(self.slots if count else 0):
            if not self.state[REGISTERS + i]:
                continue
            at = self.slot_key[i] >> 1
            for e in range(count):
                if self.reach[2 * e] <= at < self.reach[2 * e + 1] and at < self._end_at(segment, e):
                    self.state[REGISTERS + i] = self._still(at, self.state[REGISTERS + i])
                    break
        self._note_stayed(k, top, bottom)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _still(self, offset: cython.longlong, value: cython.int) -> cython.int:
        """The value of a slot after a possible change: a pointer of the same type if only such are stored through the
        escaped address."""
        if self.base_of(value) != OBJECT:
            return NOTHING
        said: Any = self.escaped_as.get(offset)
        if said is None:
            self.forgotten.add(offset)
            return NOTHING
        graph: Any = self.oracle.graph
        if not said or graph.canonical(self.type_of(said)) != graph.canonical(self.type_of(value)):
            return NOTHING
        return cython.cast(cython.int, said)

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _extent_about(
        self,
        k: cython.Py_ssize_t,
        offset: cython.longlong,
        size: cython.longlong,
        top: cython.longlong,
        bottom: cython.longlong,
    ) -> cython.longlong:  # fmt: skip
        """The same for the object that ``size`` bytes at an offset touch: they may start before a variable and end in
        it (biased index)."""
        end: cython.longlong = self._extent(k, offset, top, bottom)
        if end - offset < EVERYTHING or size <= 1:
            return end
        last: cython.longlong = self._extent(k, offset + size - 1, top, bottom)
        return last if last - offset < EVERYTHING else end

    @cython.cfunc
    @cython.exceptval(-1)
    def spoil(
        self, k: cython.Py_ssize_t, offset: cython.longlong, size: cython.longlong, base: cython.longlong
    ) -> cython.int:
        """A store of ``size`` bytes at an unknown index of an array in the frame; the register ``base`` may show which
        array it is."""
        top: cython.longlong = self.in_frame(self.stack_pointer)
        bottom: cython.longlong = self.in_frame(self.frame_pointer)
        end: cython.longlong = self._extent_about(k, offset, size, top, bottom)
        at: cython.longlong
        other: cython.longlong
        i: cython.Py_ssize_t
        named: cython.bint = base != self.stack_pointer and 0 <= base < REGISTERS
        if end - offset >= EVERYTHING and named and self.base_of(self.state[base]) == FRAME:
            at = self.offset_of(self.state[base])
            other = self._extent_about(k, at, size, top, bottom)
            if other - at < EVERYTHING:
                offset, end = min(offset, at), other
        for i in range(self.slots):
            at = self.slot_key[i] >> 1
            if end - offset >= EVERYTHING or offset - 8 < at < end:
                self.state[REGISTERS + i] = NOTHING
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def stop_noting(self) -> cython.int:
        """Stop recording slots kept across calls."""
        self.stayed = zeros("q", 0)
        self.stayed_used = MOST_NOTED + 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.Py_ssize_t, begin=cython.Py_ssize_t)
    def _note_stayed(self, k: cython.Py_ssize_t, top: cython.longlong, bottom: cython.longlong) -> cython.int:
        """Record the slots that keep their values across a call."""
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
    )  # fmt: skip  # rows of C types
    def kept_slots_have_escaped(self) -> cython.bint:
        """Whether an address that escaped after a call was processed points to slots kept there."""
        if self.stayed_used > MOST_NOTED:
            return True
        at = 0
        while at < self.stayed_used:
            k = self.stayed[at]
            self._find_holders(self.stayed[at + 3], self.stayed[at + 4])
            for e in range(self.stayed[at + 1], len(self.escaped)):
                begin = self.escaped[e]
                end = self._end_at(self.frames.data[k], e)
                for i in range(at + STAYED, at + STAYED + self.stayed[at + 2]):
                    offset = self.stayed[i]
                    if begin - 7 <= offset < end:
                        return True
            at += STAYED + self.stayed[at + 2]
        return False
