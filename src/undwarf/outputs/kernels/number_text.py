# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Columns as decimal numbers with commas between them, as arrays of JSON have them."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import zeros

WIDEST = cython.declare(cython.Py_ssize_t, 24)
"""Bytes of the longest number, with its decimal point and the separator after it."""


@cython.cfunc
@cython.exceptval(-1)
@cython.locals(out="unsigned char[::1]", start="Py_ssize_t", end="Py_ssize_t", byte="unsigned char")
def _put(out: Any, at: cython.Py_ssize_t, value: cython.ulonglong, decimals: cython.int) -> cython.Py_ssize_t:
    """Put a number with that many decimal places at ``at``, without zeros at its end; the end of its text."""
    count: cython.int = 0
    start = at
    while decimals > 0 and value % 10 == 0:
        value //= 10
        decimals -= 1
    while value > 0 or count <= decimals:
        if count == decimals and decimals > 0:
            out[at] = 46
            at += 1
        out[at] = cython.cast("unsigned char", 48 + value % 10)
        at += 1
        value //= 10
        count += 1
    end = at
    while start < at - 1:
        at -= 1
        byte = out[start]
        out[start] = out[at]
        out[at] = byte
        start += 1
    return end


@cython.locals(
    column="const unsigned int[::1]",
    wide="const unsigned long long[::1]",
    out="unsigned char[::1]",
    at="Py_ssize_t",
    index="Py_ssize_t",
    n="Py_ssize_t",
    narrow="bint",
)
def numbers(values: Any, decimals: int = 0) -> memoryview:
    """The text of a column of typecode I, in which NOTHING is ``null``, or Q. ``decimals``: numbers of typecode Q count
    units of that many decimal places, as in nanoseconds written as milliseconds."""
    n = len(values)
    narrow = values.format == "I"
    if narrow:
        column = values
        wide = zeros("Q", 0)
    else:
        column = zeros("I", 0)
        wide = values
    result = zeros("B", n * WIDEST + 1)
    out = result
    at = 0
    for index in range(n):
        if not narrow:
            at = _put(out, at, wide[index], decimals)
        elif column[index] == NOTHING:
            out[at], out[at + 1], out[at + 2], out[at + 3] = 110, 117, 108, 108
            at += 4
        else:
            at = _put(out, at, column[index], 0)
        out[at] = 44
        at += 1
    return memoryview(result)[: max(at - 1, 0)]


@cython.locals(times="const unsigned long long[::1]", out="unsigned long long[::1]", before="unsigned long long")
def differences(values: Any, start: int) -> memoryview:
    """The difference of each entry of a column (Q) from the one before, of the first one from ``start``; 0 where it
    would be negative."""
    times = values
    result = zeros("Q", len(values))
    out = result
    before = start
    index: cython.Py_ssize_t
    for index in range(times.shape[0]):
        if times[index] > before:
            out[index] = times[index] - before
            before = times[index]
    return memoryview(result)
