# cython: language_level=3, annotation_typing=False
"""Lexical blocks and inlined functions of one function: depth, address ranges, and which contain an address."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.value_classes import ADDRESS, ADDRX
from cython.cimports.undwarf.types.sources.row_words import SCOPE_WORDS

from undwarf.column import longer, zeros
from undwarf.dwarf.die import Entry
from undwarf.types.sources.dwarf_types import DwarfTypes
from undwarf.types.sources.location_expressions import Expressions


@cython.cclass
class CodeScopes:
    """The scopes of the function with the concrete entry ``entry``, as rows of integers."""

    entry: Entry
    _space: Any
    _scopes: Any
    _ranges: Any

    def __init__(self, types: DwarfTypes, entry: Entry, expressions: Expressions) -> None:
        self.entry = entry
        self._types = types
        self._space = entry.space
        self._unit = entry.unit
        self._scopes = zeros("Q", SCOPE_WORDS * 32)
        self._ranges = zeros("Q", 2 * 64)
        self._scope_total = self._range_total = 0
        self._expressions = expressions

    @cython.cfunc
    @cython.returns(cython.Py_ssize_t)
    @cython.exceptval(-1)
    @cython.locals(
        outer=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        low_kind=cython.int,
        high_kind=cython.int,
        list_kind=cython.int,
        depth=cython.Py_ssize_t,
        first=cython.ulonglong,
        last=cython.ulonglong,
    )
    def _scope(
        self, depth: int, outer: int, low_kind: int, low: int, high_kind: int, high: int, list_kind: int, ranges: int
    ) -> int:
        """Add a scope from the attributes of its entry (classes and values), and return its index. Without ranges of
        its own it gets those of the scope ``outer``."""
        at = SCOPE_WORDS * self._scope_total
        if at == self._scopes.shape[0]:
            self._scopes = longer(self._scopes, at, 2 * at)
        self._scopes[at] = depth
        self._scopes[at + 1] = self._range_total
        if list_kind:
            for start, end in self._space.info.ranges.ranges_of(self._unit, list_kind, ranges):
                self._range(start, end)
        else:
            begin = self._address(low_kind, low)
            if begin is not None:
                first = begin
                stop = self._address(high_kind, high) if high_kind else first + 1
                last = stop if stop is not None else first + cython.cast(cython.ulonglong, high)
                if first < last:
                    self._range(first, last)
            elif outer >= 0:
                self._scopes[at + 1] = self._scopes[SCOPE_WORDS * outer + 1]
                self._scopes[at + 2] = self._scopes[SCOPE_WORDS * outer + 2]
                self._scope_total += 1
                return self._scope_total - 1
        self._scopes[at + 2] = self._range_total
        self._scope_total += 1
        return self._scope_total - 1

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(-1)
    @cython.locals(low=cython.ulonglong, high=cython.ulonglong)
    def _range(self, low: int, high: int) -> int:
        if 2 * self._range_total == self._ranges.shape[0]:
            self._ranges = longer(self._ranges, 2 * self._range_total, 4 * self._range_total)
        self._ranges[2 * self._range_total] = low
        self._ranges[2 * self._range_total + 1] = high
        self._range_total += 1
        return 0

    @cython.cfunc
    @cython.locals(kind=cython.int)
    def _address(self, kind: int, value: int) -> int | None:
        if kind == ADDRESS:
            return value
        return self._expressions.indexed(value) if kind == ADDRX else None

    @cython.cfunc
    @cython.returns(cython.bint)
    @cython.exceptval(check=False)
    @cython.locals(scope=cython.Py_ssize_t, low=cython.ulonglong, high=cython.ulonglong, k=cython.Py_ssize_t)
    def _within(self, scope: int, low: int, high: int) -> bool:
        """Whether one range of a scope contains [low, high)."""
        for k in range(self._scopes[SCOPE_WORDS * scope + 1], self._scopes[SCOPE_WORDS * scope + 2]):
            if self._ranges[2 * k] <= low and high <= self._ranges[2 * k + 1]:
                return True
        return False

    def _depth_below(self, scope: int) -> int:
        depth: int = self._scopes[SCOPE_WORDS * scope]
        return -depth

    @cython.locals(at=cython.ulonglong, k=cython.Py_ssize_t)
    def returned_at(self, pc: int) -> list[int]:
        """Return types of the functions inlined at an address, innermost first, then of the function itself; void for
        none."""
        at = pc
        held = [
            k for k in range(self._scope_total) if self._scopes[SCOPE_WORDS * k + 4] and self._within(k, at, at + 1)
        ]
        offsets = [self._scopes[SCOPE_WORDS * k + 4] for k in sorted(held, key=self._depth_below)]
        entries = (*(self._space.entry_in(self._unit, offset) for offset in offsets), self.entry)
        return [self._types.of(entry) for entry in entries if entry is not None]
