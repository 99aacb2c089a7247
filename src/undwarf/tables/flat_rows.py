# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The rows of a whole file as two columns: ascending addresses (Q), and the rule from each address on (I).

Besides numbers of rules there are two marks: NO_RULE where there is none in any source, and UNKNOWN. Neighbours have
different rules. The first row is at address 0.
"""

from collections.abc import Sequence
from typing import Any

import cython
from cython.cimports.undwarf.tables.rule_format import NO_RULE, UNKNOWN

from undwarf.column import zeros

Part = tuple[int, Any, Any]
"""The rows of one function: its end, their addresses and their rules."""


@cython.final
@cython.cclass
class _Columns:
    """Columns that grow at their end."""

    address_column = cython.declare(object, visibility="readonly")
    rule_column = cython.declare(object, visibility="readonly")
    addresses = cython.declare("unsigned long long[::1]")
    rules = cython.declare("unsigned int[::1]")
    count = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self, capacity: int) -> None:
        self.address_column = zeros("Q", capacity)
        self.rule_column = zeros("I", capacity)
        self.addresses = self.address_column
        self.rules = self.rule_column

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def push(self, address: cython.ulonglong, rule: cython.uint) -> cython.int:
        """Let ``rule`` apply from an address on. An address that does not ascend replaces the last one."""
        while self.count and self.addresses[self.count - 1] >= address:
            self.count -= 1
        if self.count == 0 or self.rules[self.count - 1] != rule:
            self.addresses[self.count] = address
            self.rules[self.count] = rule
            self.count += 1
        return 0

    def columns(self) -> tuple[memoryview, memoryview]:
        """The rows so far."""
        count: cython.Py_ssize_t = self.count
        return memoryview(self.address_column)[:count], memoryview(self.rule_column)[:count]


@cython.locals(
    out=_Columns,
    addresses="const unsigned long long[::1]",
    rules="const unsigned int[::1]",
    i=cython.Py_ssize_t,
    end=cython.ulonglong,
    rule=cython.uint,
    hole=cython.uint,
)
def gather(parts: "Sequence[Part]", holes: bool) -> tuple[memoryview, memoryview]:
    """Columns of the rows of ascending functions; UNKNOWN between them, and in their holes unless ``holes``."""
    capacity: cython.Py_ssize_t = 1
    for part in parts:
        capacity += 1 + len(part[2])
    out = _Columns(capacity)
    hole = NO_RULE if holes else UNKNOWN
    out.push(0, UNKNOWN)
    for part in parts:
        end = part[0]
        addresses = part[1]
        rules = part[2]
        for i in range(min(addresses.shape[0], rules.shape[0])):
            rule = rules[i]
            out.push(addresses[i], hole if rule >= UNKNOWN else rule)
        out.push(end, UNKNOWN)
    found: tuple[memoryview, memoryview] = out.columns()
    return found


@cython.locals(
    out=_Columns,
    starts="const unsigned long long[::1]",
    ends="const unsigned long long[::1]",
    i=cython.Py_ssize_t,
)
def outside(all_starts: Any, all_ends: Any) -> tuple[memoryview, memoryview]:
    """Columns with NO_RULE outside of sorted, disjoint ranges, and UNKNOWN inside."""
    starts = all_starts
    ends = all_ends
    out = _Columns(2 + 2 * starts.shape[0])
    with cython.nogil:
        out.push(0, NO_RULE)
        for i in range(starts.shape[0]):
            out.push(starts[i], UNKNOWN)
            out.push(ends[i], NO_RULE)
    found: tuple[memoryview, memoryview] = out.columns()
    return found


@cython.locals(
    out=_Columns,
    addresses="const unsigned long long[::1]",
    rules="const unsigned int[::1]",
    other_addresses="const unsigned long long[::1]",
    other_rules="const unsigned int[::1]",
    i=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    m=cython.Py_ssize_t,
    here=cython.ulonglong,
)
def overlay(upper: "tuple[Any, Any]", lower: "tuple[Any, Any]") -> tuple[memoryview, memoryview]:
    """The upper columns, and the lower ones where those are UNKNOWN. Both begin at address 0."""
    addresses = upper[0]
    rules = upper[1]
    other_addresses = lower[0]
    other_rules = lower[1]
    n = min(addresses.shape[0], rules.shape[0])
    m = min(other_addresses.shape[0], other_rules.shape[0])
    if n == 0 or m == 0 or addresses[0] or other_addresses[0]:
        raise ValueError("columns that do not begin at 0")
    out = _Columns(n + m)
    i = k = 0
    with cython.nogil:
        while i < n or k < m:
            # The next address at which either changes; i and k count the rows that begin there or before.
            here = addresses[i] if i < n else other_addresses[k]
            if k < m and other_addresses[k] < here:
                here = other_addresses[k]
            while i < n and addresses[i] <= here:
                i += 1
            while k < m and other_addresses[k] <= here:
                k += 1
            out.push(here, rules[i - 1] if rules[i - 1] != UNKNOWN else other_rules[k - 1])
    found: tuple[memoryview, memoryview] = out.columns()
    return found
