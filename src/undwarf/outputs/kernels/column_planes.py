# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Columns in planes: the lowest byte of each value, then the second byte of each, and so on.

Neighbouring values often have the same upper bytes, so planes compress to a third of what values compress to.
"""

from typing import Any

import cython

from undwarf.column import zeros


@cython.locals(
    values="const unsigned char[::1]",
    out="unsigned char[::1]",
    value="unsigned long long",
    before="unsigned long long",
    coded="unsigned long long",
    mask="unsigned long long",
    top="unsigned long long",
    index=cython.Py_ssize_t,
    plane=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    width=cython.Py_ssize_t,
    delta="bint",
)
def planes(column: Any, deltas: bool = False) -> memoryview:
    """The bytes of a column of typecode B, H, I or Q in planes. ``deltas``: of each value's difference to the one
    before (of the first to 0), modulo 2^width, zigzag encoded: 0, -1, 1, -2 become 0, 1, 2, 3."""
    n = len(column)
    width = column.itemsize
    result = zeros("B", n * width)
    if n == 0:
        return result
    out = result
    values = memoryview(column).cast("B")
    delta = deltas
    mask = 0xFFFFFFFFFFFFFFFF >> (64 - 8 * width)
    top = cython.cast("unsigned long long", 1) << (8 * width - 1)
    before = 0
    for index in range(n):
        value = 0
        # Columns are in the machine's byte order, which is little-endian wherever undwarf runs.
        for plane in range(width):
            value |= cython.cast("unsigned long long", values[index * width + plane]) << (8 * plane)
        coded = value
        if delta:
            coded = (value - before) & mask
            before = value
            coded = ((coded << 1) & mask) ^ (mask if coded & top else 0)
        for plane in range(width):
            out[plane * n + index] = cython.cast("unsigned char", (coded >> (8 * plane)) & 0xFF)
    return result
