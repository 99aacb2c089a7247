# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The rows of each function of one section, computed when the function is first looked up."""

from typing import Any

import cython
from cython.cimports.undwarf.tables.rule_format import NO_RULE

from undwarf.column import doubled, zeros


@cython.cclass
class RowProducer:
    """Interface of what computes the rows of a section's functions: :class:`undwarf.tables.cfi.program.Programs` and
    :class:`undwarf.tables.sframe.reader.SFrameFunctions` implement it."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def produce(self, table: "RowTable", function: cython.Py_ssize_t) -> cython.int:
        """Put the rows of a function, at least one, into ``table``; what is damaged is counted there, and is a hole."""
        return 0


@cython.final
@cython.cclass
class RowTable:
    """The rows of ``functions`` functions, numbered from 0, computed when a function is first looked up. ``lock`` is
    that of the rules, which is held meanwhile.

    ``total`` is the number of rows so far, ``damaged`` that of functions with a hole where they are damaged.
    """

    _addresses: Any
    _count: Any

    def __init__(self, producer: RowProducer, lock: Any, functions: int) -> None:
        self.producer = producer
        self.lock = lock
        self.total = 0
        self.first = 0
        self.damaged = 0
        self._address_view = zeros("Q", 256)
        self._addresses = self._address_view
        self._rule_view = zeros("I", 256)
        self._rules = self._rule_view
        self._first = zeros("I", functions)
        self._count = zeros("I", functions)

    def rows(
        self, function: cython.Py_ssize_t, start: cython.ulonglong, end: cython.ulonglong
    ) -> tuple[memoryview, memoryview]:
        """(addresses Q, rule numbers I) of a function's rows from ``start`` to ``end``; the first address is ``start``,
        and NO_RULE marks a hole."""
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        if self._count[function] == 0:
            with self.lock:
                if self._count[function] == 0:
                    self.compile(function)
        first = self._first[function]
        last = first + self._count[function]
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
        """Compute the rows of all functions; the number of rows."""
        function: cython.Py_ssize_t
        with self.lock, cython.nogil:
            for function in range(self._count.shape[0]):
                if self._count[function] == 0:
                    self.compile(function)
        return int(self.total)

    @cython.locals(
        starts="const unsigned long long[::1]",
        ends="const unsigned long long[::1]",
        functions="const unsigned int[::1]",
        addresses="unsigned long long[::1]",
        rules="unsigned int[::1]",
    )
    def flatten(self, ranges_start: Any, ranges_end: Any, range_functions: Any) -> Any:
        """All rows of sorted, disjoint ranges as two columns (:mod:`undwarf.tables.flat_rows`), computed where they are
        not; NO_RULE stands where there is no rule or no range. ``range_functions`` gives the function of each range,
        None if ranges are functions.
        """
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t
        function: cython.Py_ssize_t
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        at: cython.Py_ssize_t = 0
        rule: cython.uint
        before: cython.uint = NO_RULE
        here: cython.ulonglong
        end: cython.ulonglong = 0
        given: cython.bint = range_functions is not None
        self.compile_all()
        starts = ranges_start
        ends = ranges_end
        if given:
            functions = range_functions
        n = starts.shape[0]
        most: cython.Py_ssize_t = n + 2
        for i in range(n):
            function = functions[i] if given else i
            most += self._count[function]
        address_column = zeros("Q", most)
        rule_column = zeros("I", most)
        addresses = address_column
        rules = rule_column
        with cython.nogil:
            if n == 0 or starts[0]:
                addresses[0] = 0
                rules[0] = NO_RULE
                at = 1
            for i in range(n):
                function = functions[i] if given else i
                if end < starts[i] and before != NO_RULE:
                    addresses[at] = end
                    rules[at] = before = NO_RULE
                    at += 1
                end = ends[i]
                first = self._first[function]
                last = first + self._count[function]
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
            if before != NO_RULE:
                addresses[at] = end
                rules[at] = NO_RULE
                at += 1
        return memoryview(address_column)[:at], memoryview(rule_column)[:at]

    def _grow(self) -> None:
        """Double the capacity; rows that were returned keep the old memory alive."""
        self._address_view = doubled(self._addresses, self.total)
        self._addresses = self._address_view
        self._rule_view = doubled(self._rules, self.total)
        self._rules = self._rule_view

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def put(self, address: cython.ulonglong, rule: cython.uint) -> cython.int:
        """Add a row to the function that is being compiled, unless its last row has the same rule; a row at the same
        address is replaced."""
        at: cython.Py_ssize_t = self.total
        if at > self.first:
            if self._rules[at - 1] == rule:
                return 0
            if self._addresses[at - 1] == address:
                self._rules[at - 1] = rule
                return 0
        if at >= self._addresses.shape[0]:
            with cython.gil:
                self._grow()
        self._addresses[at] = address
        self._rules[at] = rule
        self.total = at + 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def compile(self, function: cython.Py_ssize_t) -> cython.int:
        """Compute a function's rows."""
        self.first = self.total
        self.producer.produce(self, function)
        self._first[function] = cython.cast(cython.uint, self.first)
        self._count[function] = cython.cast(cython.uint, self.total - self.first)
        return 0
