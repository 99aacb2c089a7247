# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Bitmaps of Arrow: one bit for each entry of a column, the least significant bit first."""

from typing import Any

import cython

from undwarf.column import SIZES, Typecode, zeros

_UNSIGNED: dict[int, Typecode] = {1: "B", 2: "H", 4: "I", 8: "Q"}


@cython.locals(
    ones="const unsigned char[::1]",
    twos="const unsigned short[::1]",
    fours="const unsigned int[::1]",
    eights="const unsigned long long[::1]",
    out="unsigned char[::1]",
    low="unsigned long long",
    span="unsigned long long",
    bit="unsigned char",
)
def between(column: Any, first: int, last: int) -> tuple[Any, int]:
    """(the bitmap (B) of entries from ``first`` to ``last``, how many other entries there are).

    Entries are compared as unsigned integers of the column's size, whatever its typecode.
    """
    n: cython.Py_ssize_t = len(column)
    result = zeros("B", (n + 7) // 8)
    if n == 0:
        return result, 0
    out = result
    low = first
    span = last - first
    size: cython.int = SIZES[column.format]
    view = memoryview(column).cast("B").cast(_UNSIGNED[size])
    inside: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    if size == 1:
        ones = view
        for index in range(n):
            bit = ones[index] - low <= span
            out[index >> 3] |= bit << (index & 7)
            inside += bit
    elif size == 2:
        twos = view
        for index in range(n):
            bit = twos[index] - low <= span
            out[index >> 3] |= bit << (index & 7)
            inside += bit
    elif size == 4:
        fours = view
        for index in range(n):
            bit = fours[index] - low <= span
            out[index >> 3] |= bit << (index & 7)
            inside += bit
    else:
        eights = view
        for index in range(n):
            bit = eights[index] - low <= span
            out[index >> 3] |= bit << (index & 7)
            inside += bit
    return result, n - inside


@cython.locals(
    column="const unsigned char[::1]", flags="const unsigned char[::1]", out="unsigned char[::1]", bit="unsigned char"
)
def where(column: Any, flags: Any) -> Any:
    """The bitmap (B) of entries of a column of typecode B whose value has its flag (typecode B, 256 of them) set."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("B", (n + 7) // 8)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        bit = flags[column[index]] != 0
        out[index >> 3] |= bit << (index & 7)
    return result


@cython.locals(bitmap="const unsigned char[::1]", out="unsigned char[::1]")
def set_entries(bitmap: Any, count: int) -> Any:
    """A column (B) with 1 for each of the first ``count`` bits that is set, else 0."""
    n: cython.Py_ssize_t = count
    result = zeros("B", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = (bitmap[index >> 3] >> (index & 7)) & 1
    return result


@cython.locals(column="const unsigned int[::1]", out="unsigned int[::1]", limit="unsigned int")
def cleared(column: Any, last: int) -> Any:
    """A copy of a column (I) with 0 for entries above ``last``."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("I", n)
    out = result
    limit = last
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = column[index] if column[index] <= limit else 0
    return result
