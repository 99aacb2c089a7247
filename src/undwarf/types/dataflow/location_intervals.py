# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Variable locations valid at an instruction."""

from typing import Any

import cython
from cython.cimports.undwarf.types.sources.row_words import PLACE_HIGH, PLACE_LOW, PLACE_WORDS

from undwarf.column import longer, zeros

MOST_AT_ONCE = cython.declare(cython.Py_ssize_t, 1024)
"""Limit of variables valid at one instruction; the innermost ones count."""
NEAR = cython.declare(cython.Py_ssize_t, 32)
"""Number of segments that are searched together."""


@cython.cclass
class LocationIntervals:
    """Locations by segment: a range of instructions at which the same locations are valid.

    ``places`` are location rows, outermost scope first, with validity as offsets in the function; ``offsets`` are those
    of the instructions, ``size`` is the function's.
    """

    @cython.locals(
        k=cython.Py_ssize_t,
        low=cython.Py_ssize_t,
        high=cython.Py_ssize_t,
        total=cython.Py_ssize_t,
        known=cython.int,
        row=cython.Py_ssize_t,
        end=cython.longlong,
        starts="const unsigned int[::1]",
        data="int[::1]",
    )
    def __init__(self, places: Any, offsets: Any, size: Any) -> None:
        self.places = places
        self.count = len(self.places) // PLACE_WORDS
        self.used = 0
        self.begin = self.end = 0
        starts = offsets
        total = len(starts) + 1
        end = size
        self.lows = total
        self.firsts = total + 2 * self.count
        self.groups = self.firsts + 2 * (total + 1)
        data = self.data = zeros("i", self.groups + 2 * ((total + 1) // NEAR + 1))
        self.items = zeros("i", 64 + 4 * self.count)
        for k in range(self.count):
            row = k * PLACE_WORDS
            low = _first_from(starts, end, self.places[row + PLACE_LOW])
            high = _first_from(starts, end, self.places[row + PLACE_HIGH])
            data[self.lows + 2 * k] = low
            data[self.lows + 2 * k + 1] = high
            if low < total:
                data[low] = 1
            if high < total:
                data[high] = 1
        known = 0
        for k in range(total):
            known += data[k]
            data[k] = known
        known += 1
        for k in range(self.lows, self.firsts):
            data[k] = data[data[k]] if data[k] < total else known

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def find(self, k: cython.Py_ssize_t) -> cython.int:
        """Set ``begin`` and ``end`` to the range of ``items`` with the locations valid at an instruction."""
        at: cython.Py_ssize_t = self.firsts + 2 * cython.cast(cython.Py_ssize_t, self.data[k])
        if not self.data[at]:
            self.fill(self.data[k], at)
        self.begin = self.data[at] - 1
        self.end = self.data[at + 1]
        return 0

    # Items are location numbers, with two words each from `lows` on; `_room` grows the buffer.
    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(-1)
    def fill(self, segment: cython.int, at: cython.Py_ssize_t) -> cython.int:
        """Find the locations of a segment among those of its group."""
        group: cython.Py_ssize_t = segment // NEAR
        near: cython.Py_ssize_t = self.groups + 2 * group
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        if not self.data[near]:
            self._room(self.count)
            self.data[near] = self.used + 1
            for i in range(self.count):
                place = self.lows + 2 * i
                if self.data[place] < (group + 1) * NEAR and self.data[place + 1] > group * NEAR:
                    self.items[self.used] = i
                    self.used += 1
            self.data[near + 1] = self.used
        self._room(self.data[near + 1] - self.data[near] + 1)
        self.data[at] = self.used + 1
        for i in range(self.data[near] - 1, self.data[near + 1]):
            place = self.lows + 2 * cython.cast(cython.Py_ssize_t, self.items[i])
            if self.data[place] <= segment < self.data[place + 1]:
                self.items[self.used] = self.items[i]
                self.used += 1
        if self.used + 1 - self.data[at] > MOST_AT_ONCE:
            self.data[at] = self.used + 1 - MOST_AT_ONCE
        self.data[at + 1] = self.used
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _room(self, more: cython.Py_ssize_t) -> cython.int:
        if self.used + more > len(self.items):
            self.items = longer(self.items, self.used, 2 * len(self.items) + more)
        return 0


@cython.cfunc
@cython.boundscheck(False)
@cython.exceptval(-1)
@cython.locals(starts="const unsigned int[::1]")
def _first_from(starts: Any, end: cython.longlong, offset: cython.longlong) -> cython.Py_ssize_t:
    """The first instruction at or after an offset; the number of instructions for the function's end, one
    more past it."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = len(starts)
    middle: cython.Py_ssize_t
    if offset > end:
        return high + 1
    while low < high:
        middle = (low + high) // 2
        # Below how many there are.
        if starts[middle] < offset:
            low = middle + 1
        else:
            high = middle
    return low
