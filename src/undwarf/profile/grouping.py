# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Operations on whole columns for grouping and counting samples: look up, number pairs, sum by group.

Unless stated otherwise a *column* is a memoryview of typecode I; ``0xffffffff`` (NOTHING) means "none".
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, NOTHING

from undwarf.column import zeros


@cython.cclass
class Pairs:
    """Numbers distinct pairs of 32-bit numbers from 0, in order of first occurrence.

    Pair number ``i`` is ``(high()[i], low()[i])``; ``count`` is the number of pairs.
    """

    def __init__(self, expected: int = 1024) -> None:
        bits: cython.int = 8
        while bits < 30 and (1 << bits) < 2 * expected:
            bits += 1
        self.keys = zeros("Q", 1 << bits)
        self.numbers = zeros("I", 1 << bits)
        self.pairs = zeros("Q", 1 << (bits - 1))
        self.mask = (1 << bits) - 1
        self.shift = 64 - bits
        self.count = 0

    def __len__(self) -> int:
        return self.count

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        keys="unsigned long long[::1]",
        numbers="unsigned int[::1]",
        old="unsigned long long[::1]",
        pairs="unsigned long long[::1]",
        key="unsigned long long",
        slot="Py_ssize_t",
    )
    def grow(self) -> cython.int:
        """Double the table; ``numbers`` holds number + 1, 0 is free."""
        size: cython.Py_ssize_t = (self.mask + 1) * 2
        keys = zeros("Q", size)
        numbers = zeros("I", size)
        pairs = zeros("Q", size // 2)
        old = self.pairs
        self.shift -= 1
        self.mask = size - 1
        index: cython.Py_ssize_t
        for index in range(self.count):
            key = old[index]
            pairs[index] = key
            slot = cython.cast("Py_ssize_t", (key * GOLDEN_RATIO) >> self.shift)
            while numbers[slot] != 0:
                slot = (slot + 1) & self.mask
            numbers[slot] = cython.cast("unsigned int", index + 1)
            keys[slot] = key
        self.keys = keys
        self.numbers = numbers
        self.pairs = pairs
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    @cython.locals(found="unsigned int")
    def number(self, key: cython.ulonglong) -> cython.Py_ssize_t:
        """The number of one pair (high in the upper half)."""
        slot: cython.Py_ssize_t = cython.cast("Py_ssize_t", (key * GOLDEN_RATIO) >> self.shift)
        while True:
            found = self.numbers[slot]
            if found == 0:
                break
            if self.keys[slot] == key:
                slot = cython.cast("Py_ssize_t", found)
                return slot - 1
            slot = (slot + 1) & self.mask
        if 2 * (self.count + 1) > self.mask:
            self.grow()
            slot = cython.cast("Py_ssize_t", (key * GOLDEN_RATIO) >> self.shift)
            while self.numbers[slot] != 0:
                slot = (slot + 1) & self.mask
        self.keys[slot] = key
        self.pairs[self.count] = key
        self.count += 1
        self.numbers[slot] = cython.cast("unsigned int", self.count)
        return self.count - 1

    @cython.locals(
        high="const unsigned int[::1]", low="const unsigned int[::1]", out="unsigned int[::1]", n="Py_ssize_t"
    )
    def column(self, high: Any, low: Any) -> Any:
        """The number of (high[i], low[i]) for each i."""
        n = high.shape[0]
        result = zeros("I", n)
        out = result
        index: cython.Py_ssize_t
        for index in range(n):
            out[index] = cython.cast(
                "unsigned int", self.number((cython.cast("unsigned long long", high[index]) << 32) | low[index])
            )
        return result

    @cython.locals(out="unsigned int[::1]")
    def high(self) -> Any:
        """The first element of each pair, by number."""
        result = zeros("I", self.count)
        out = result
        index: cython.Py_ssize_t
        for index in range(self.count):
            out[index] = cython.cast("unsigned int", self.pairs[index] >> 32)
        return result

    @cython.locals(out="unsigned int[::1]")
    def low(self) -> Any:
        """The second element of each pair, by number."""
        result = zeros("I", self.count)
        out = result
        index: cython.Py_ssize_t
        for index in range(self.count):
            out[index] = cython.cast("unsigned int", self.pairs[index] & NOTHING)
        return result


@cython.locals(
    column="const unsigned int[::1]", table="const unsigned int[::1]", out="unsigned int[::1]", at="unsigned int"
)
def look_up(column: Any, table: Any) -> Any:
    """``table[column[i]]`` for each i; NOTHING stays NOTHING."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("I", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        at = column[index]
        out[index] = NOTHING if at == NOTHING else table[at]
    return result


@cython.locals(
    ints="const int[::1]",
    shorts="const unsigned short[::1]",
    bytes_="const unsigned char[::1]",
    out="unsigned int[::1]",
)
def widen(column: Any) -> Any:
    """A column of typecode i, H, B or I as typecode I (negative numbers keep their bits)."""
    if column.format == "I":
        return column
    n: cython.Py_ssize_t = len(column)
    result = zeros("I", n)
    out = result
    index: cython.Py_ssize_t
    if column.format == "i":
        ints = column
        for index in range(n):
            out[index] = cython.cast("unsigned int", ints[index])
    elif column.format == "H":
        shorts = column
        for index in range(n):
            out[index] = shorts[index]
    else:
        bytes_ = column
        for index in range(n):
            out[index] = bytes_[index]
    return result


@cython.locals(groups="const unsigned int[::1]", weights="const unsigned long long[::1]", out="unsigned long long[::1]")
def sums(groups: Any, weights: Any, count: int) -> Any:
    """The sum of ``weights`` (typecode Q; None: 1 each) of every group 0..count-1; group NOTHING is left out."""
    result = zeros("Q", count)
    out = result
    groups_n: cython.Py_ssize_t = groups.shape[0]
    index: cython.Py_ssize_t
    if weights is None:
        for index in range(groups_n):
            if groups[index] != NOTHING:
                out[groups[index]] += 1
        return result
    for index in range(groups_n):
        if groups[index] != NOTHING:
            out[groups[index]] += weights[index]
    return result


@cython.locals(out="unsigned long long[::1]", parents="const unsigned int[::1]", index=cython.Py_ssize_t)
def subtree_sums(parents: Any, own: Any) -> Any:
    """By node of a tree, the sum of ``own`` (typecode Q) over itself and all nodes below; parents come before their
    children in ``parents`` (typecode I, NOTHING for roots)."""
    result = zeros("Q", len(own))
    result[:] = own
    out = result
    for index in range(parents.shape[0] - 1, -1, -1):
        if parents[index] != NOTHING:
            out[parents[index]] += out[index]
    return result


@cython.locals(column="const unsigned short[::1]", flags="const unsigned char[::1]", out="unsigned int[::1]")
def rows_among(column: Any, flags: Any) -> Any:
    """The indexes, ascending, of a column of typecode H whose value has its flag (typecode B) set."""
    index: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    result = zeros("I", len(column))
    out = result
    for index in range(column.shape[0]):
        if flags[column[index]] != 0:
            out[count] = cython.cast("unsigned int", index)
            count += 1
    return result[:count]


@cython.locals(
    first="const unsigned int[::1]",
    second="const unsigned int[::1]",
    starts="unsigned int[::1]",
    by_second="unsigned int[::1]",
    out="unsigned int[::1]",
    node="unsigned int",
)
def order(first: Any, firsts: int, second: Any, seconds: int) -> Any:
    """The indexes sorted by (first[i], second[i]), stable; values are below ``firsts`` and ``seconds``."""
    n: cython.Py_ssize_t = first.shape[0]
    index: cython.Py_ssize_t
    starts = zeros("I", seconds + 1)
    by_second = zeros("I", n)
    for index in range(n):
        starts[second[index] + 1] += 1
    for index in range(1, len(starts)):
        starts[index] += starts[index - 1]
    for index in range(n):
        by_second[starts[second[index]]] = cython.cast("unsigned int", index)
        starts[second[index]] += 1
    result = zeros("I", n)
    out = result
    starts = zeros("I", firsts + 1)
    for index in range(n):
        starts[first[index] + 1] += 1
    for index in range(1, len(starts)):
        starts[index] += starts[index - 1]
    for index in range(n):
        node = by_second[index]
        out[starts[first[node]]] = node
        starts[first[node]] += 1
    return result


@cython.locals(column="const unsigned long long[::1]", least="unsigned long long", out="unsigned int[::1]")
def rows_from(column: Any, least: int) -> Any:
    """The indexes, ascending, at which a column of typecode Q is at least ``least``."""
    index: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    result = zeros("I", len(column))
    out = result
    for index in range(column.shape[0]):
        if column[index] >= least:
            out[count] = cython.cast("unsigned int", index)
            count += 1
    return result[:count]


@cython.locals(column="const unsigned int[::1]", out="unsigned int[::1]")
def rows_set(column: Any) -> Any:
    """The indexes, ascending, at which a column is not 0."""
    index: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    result = zeros("I", len(column))
    out = result
    for index in range(column.shape[0]):
        if column[index] != 0:
            out[count] = cython.cast("unsigned int", index)
            count += 1
    return result[:count]


@cython.locals(column="const unsigned int[::1]", out="unsigned int[::1]", instead="unsigned int")
def without_none(column: Any, instead: int) -> Any:
    """A copy of the column with ``instead`` for NOTHING; the column itself if it has no NOTHING."""
    n: cython.Py_ssize_t = column.shape[0]
    index: cython.Py_ssize_t
    for index in range(n):
        if column[index] == NOTHING:
            break
    else:
        return memoryview(column)
    result = zeros("I", n)
    out = result
    for index in range(n):
        out[index] = instead if column[index] == NOTHING else column[index]
    return result


@cython.locals(column="const unsigned long long[::1]", first="unsigned int[::1]", second="unsigned int[::1]")
def halves(column: Any, shift: int = 0) -> tuple[memoryview, memoryview]:
    """(upper, lower) 32 bits of each entry of a column of typecode Q, shifted right by ``shift`` bits."""
    n: cython.Py_ssize_t = column.shape[0]
    low: cython.int = shift
    high = zeros("I", n)
    rest = zeros("I", n)
    first = high
    second = rest
    index: cython.Py_ssize_t
    for index in range(n):
        first[index] = cython.cast("unsigned int", (column[index] >> low) >> 32)
        second[index] = cython.cast("unsigned int", (column[index] >> low) & NOTHING)
    return high, rest


@cython.locals(column="const unsigned int[::1]", out="unsigned int[::1]", offset="unsigned int")
def shifted(column: Any, by: int) -> Any:
    """The column with ``by`` added to each entry; NOTHING stays NOTHING. Sums must be below NOTHING."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("I", n)
    out = result
    offset = by
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = NOTHING if column[index] == NOTHING else column[index] + offset
    return result
