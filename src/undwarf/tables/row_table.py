# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The rows of each function of one section, computed when the function is first looked up."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import doubled, zeros


@cython.cclass
class RowTable:
    """Rows by entry of a section; whoever makes rows holds the lock of the rules.

    ``total`` rows were made; ``damaged`` counts entries whose rest could not be understood, so that a hole stands
    there.
    """

    _addresses: Any
    _count: Any

    def __init__(self, lock: Any, entries: int) -> None:
        self.lock = lock
        self.total = 0
        self.first = 0
        self.damaged = 0
        self.location = 0
        self._address_view = zeros("Q", 256)
        self._addresses = self._address_view
        self._rule_view = zeros("I", 256)
        self._rules = self._rule_view
        self._first = zeros("I", entries)
        self._count = zeros("I", entries)

    def rows(
        self, entry: cython.Py_ssize_t, start: cython.ulonglong, end: cython.ulonglong
    ) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of an entry's rows from ``start`` to ``end``; the first address is ``start``, and
        rule 0xffffffff marks a hole."""
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        if self._count[entry] == 0:
            with self.lock:
                if self._count[entry] == 0:
                    self.compile(entry)
        first = self._first[entry]
        last = first + self._count[entry]
        if start == self._addresses[first] and end > self._addresses[last - 1]:
            return self._address_view[first:last], self._rule_view[first:last]
        while last - first > 1 and self._addresses[first + 1] <= start:
            first += 1
        while last - first > 1 and self._addresses[last - 1] >= end:
            last -= 1
        if self._addresses[first] >= start:
            return self._address_view[first:last], self._rule_view[first:last]
        # Another function covers the beginning.
        addresses = zeros("Q", last - first)
        addresses[:] = self._address_view[first:last]
        addresses[0] = start
        return addresses, self._rule_view[first:last]

    def compile_all(self) -> int:
        """Compile what has not been compiled; how many rows there are in all."""
        entry: cython.Py_ssize_t
        with self.lock, cython.nogil:
            for entry in range(self._count.shape[0]):
                if self._count[entry] == 0:
                    self.compile(entry)
        return int(self.total)

    @cython.locals(
        starts="const unsigned long long[::1]",
        ends="const unsigned long long[::1]",
        entry="const unsigned int[::1]",
        addresses="unsigned long long[::1]",
        rules="unsigned int[::1]",
    )
    def flatten(self, ranges_start: Any, ranges_end: Any, ranges_entry: Any) -> Any:
        """All rows of sorted, disjoint ranges as two columns (:mod:`undwarf.tables.flat_rows`), compiled where they are
        not; 0xffffffff stands where there is no rule or no range. ``ranges_entry`` is None if ranges are entries.
        """
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t
        one: cython.Py_ssize_t
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        at: cython.Py_ssize_t = 0
        rule: cython.uint
        before: cython.uint = NOTHING
        here: cython.ulonglong
        end: cython.ulonglong = 0
        given: cython.bint = ranges_entry is not None
        self.compile_all()
        starts = ranges_start
        ends = ranges_end
        if given:
            entry = ranges_entry
        n = starts.shape[0]
        room: cython.Py_ssize_t = n + 2
        for i in range(n):
            one = entry[i] if given else i
            room += self._count[one]
        made = zeros("Q", room)
        made_rules = zeros("I", room)
        addresses = made
        rules = made_rules
        with cython.nogil:
            if n == 0 or starts[0]:
                addresses[0] = 0
                rules[0] = NOTHING
                at = 1
            for i in range(n):
                one = entry[i] if given else i
                if end < starts[i] and before != NOTHING:
                    addresses[at] = end
                    rules[at] = before = NOTHING
                    at += 1
                end = ends[i]
                first = self._first[one]
                last = first + self._count[one]
                while last - first > 1 and self._addresses[first + 1] <= starts[i]:
                    first += 1
                while last - first > 1 and self._addresses[last - 1] >= end:
                    last -= 1
                for k in range(first, last):
                    rule = self._rules[k]
                    here = starts[i] if k == first else self._addresses[k]
                    if rule != before or at == 0:
                        addresses[at] = here
                        rules[at] = before = rule
                        at += 1
            if before != NOTHING:
                addresses[at] = end
                rules[at] = NOTHING
                at += 1
        return memoryview(made)[:at], memoryview(made_rules)[:at]

    def _grow(self) -> None:
        """Double the room for rows; what was handed out keeps the old memory alive."""
        self._address_view = doubled(self._addresses, self.total)
        self._addresses = self._address_view
        self._rule_view = doubled(self._rules, self.total)
        self._rules = self._rule_view

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def put(self, rule: cython.uint) -> cython.int:
        """Add a row at the current location, unless it says what the last one says."""
        at: cython.Py_ssize_t = self.total
        if at > self.first:
            if self._rules[at - 1] == rule:
                return 0
            if self._addresses[at - 1] == self.location:
                self._rules[at - 1] = rule
                return 0
        if at >= self._addresses.shape[0]:
            with cython.gil:
                self._grow()
        self._addresses[at] = self.location
        self._rules[at] = rule
        self.total = at + 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def compile(self, entry: cython.Py_ssize_t) -> cython.int:
        """Make an entry's rows."""
        self.first = self.total
        self.make(entry)
        self._first[entry] = cython.cast(cython.uint, self.first)
        self._count[entry] = cython.cast(cython.uint, self.total - self.first)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def make(self, entry: cython.Py_ssize_t) -> cython.int:
        """Put an entry's rows, one at least: what sections have in common ends here."""
        return 0
