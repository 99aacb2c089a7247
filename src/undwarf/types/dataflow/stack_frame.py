# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""The frame of a function: the variables in it, and what others may change there who know addresses of it."""

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
from undwarf.types.dataflow.location_intervals import Segments
from undwarf.types.dataflow.register_locations import RegisterVariables
from undwarf.types.dataflow.value_interner import Values

EVERYTHING = cython.declare(cython.longlong, 1 << 20)
"""How far a store through an address in the frame reaches where no variable says."""
STAYED = cython.declare(cython.Py_ssize_t, 5)
"""Words about a call, before those about what stayed there."""
MOST_NOTED = cython.declare(cython.Py_ssize_t, 1 << 18)
"""Words about what stayed in the frame at calls; where more would be noted, the flow is followed once more."""
RUN_WORDS = cython.declare(cython.Py_ssize_t, 3)
"""Words about an escaped address: in which segments, from the first to before the last, what it leads to ends where."""
FARTHEST = cython.declare(cython.longlong, 1 << 50)
"""From the call frame address, where nothing is."""


@cython.cclass
class StackFrame(RegisterVariables):
    """A state, the variables in the frame, and the addresses of it that escape: others may know them.

    ``questions``: ``in_frame`` are rows of words that say where variables are.
    """

    def __init__(self, listing: Any, values: Values, questions: Any, machine: Any, limits: Any) -> None:
        super().__init__(listing, values, questions, machine, limits)
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
        self.frames = Segments(questions.in_frame, listing.offsets, questions.size)
        self.frame = questions.in_frame
        self.by_top, self.by_bottom = self._counted_from(self.stack_pointer), self._counted_from(self.frame_pointer)
        self.placing = questions.placing

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(place=cython.Py_ssize_t, row=cython.Py_ssize_t)
    def _counted_from(self, register: cython.longlong) -> cython.bint:
        """Whether the place of any variable is counted from a register."""
        for place in range(len(self.frame) // PLACE_WORDS):
            row = place * PLACE_WORDS
            if self.frame[row + PLACE_KIND] == PlaceKind.MEMORY and self.frame[row + PLACE_REGISTER] == register:
                return True
        return False

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
        """See to it that it is known which variables hold the addresses that escaped, wherever these are valid."""
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
                # No object lies in this frame and in that of the caller.
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
        """Where the object that an escaped address leads to ends in a segment, after :meth:`_find_holders`: the one
        that is valid there; else where what others take to be there does, or at most, as its scope has ended or not
        begun."""
        run = RUN_WORDS * e
        if self.runs[run] <= segment < self.runs[run + 1]:
            return self.runs[run + 2]
        # In the segments from `low` up to `high` it is the same.
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
    def escape_at(self, k: cython.Py_ssize_t, value: cython.int) -> cython.int:
        """The same where an instruction makes the address: what is there and has no name ends before the next variable
        that is in the frame then, or that variable is meant, by an index that counts from more than none."""
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
        """Where the next variable behind an offset ends, of those that are valid at an instruction."""
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
        """The same where it is known how large what others take to be there is; 0 for any size."""
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
    def in_frame_or_not(self, known: cython.int, value: cython.int) -> cython.int:
        """What a pointer to a variable in the frame, or to an element of one, and a pointer to another object of its
        type have in common, as where room for few elements is in the frame and more are allocated; or to a place that
        no variable names, and to a number or pointer: one variable holds either, and leads to such."""
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
            found: cython.int = self.questions.shared(t, within, step, self.values.of(other))
            if found:
                # From now on it is not seen that it may lead to the frame.
                self._escape_as_one(frame, found)
                return found
        if not named and not step and self.questions.has_variables:
            found = self.questions.scalar(self.values.of(other))
            self._escape_as_one(frame, found)
            return found
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _escape_as_one(self, frame: cython.int, found: cython.int) -> cython.int:
        """The address of a part of the frame becomes one of several: who stores something there stores what it is known
        to be a pointer to."""
        self.escape(frame)
        leads: cython.bint = self.base_of(found) == OBJECT and self.questions.graph.is_pointer(self.type_of(found))
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
        """Somebody may have changed what lies behind addresses of the frame."""
        count: cython.Py_ssize_t = len(self.escaped)
        segment: cython.Py_ssize_t = self.frames.data[k]
        for i in range(self.slots):
            if self.state[REGISTERS + i]:
                break
        else:
            # Nothing is there to be changed.
            return 0
        # Where no variable is counted from a pointer, it does not matter where that leads.
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
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _extent_about(
        self,
        k: cython.Py_ssize_t,
        offset: cython.longlong,
        size: cython.longlong,
        top: cython.longlong,
        bottom: cython.longlong,
    ) -> cython.longlong:
        """The same of what so many bytes at an offset are in: where they begin before a variable and end in it, nothing
        is there by itself, but an index leads into that."""
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
        """A store of so many bytes somewhere into an array of the frame, through the register ``base``: what that leads
        to tells which array it is, where the offset does not."""
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
    )  # fmt: skip  # rows of C types
    def stayed_too_long(self) -> cython.bint:
        """Whether an address that escaped later than a call was come to led to what stayed in the frame there."""
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
