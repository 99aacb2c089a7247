# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Takes entries of columns in a given order, for filtered and time-ordered profiles."""

from typing import Any

import cython

from undwarf.buffers import zeros


@cython.locals(
    order="const unsigned int[::1]",
    from_b="const unsigned char[::1]",
    to_b="unsigned char[::1]",
    from_h="const unsigned short[::1]",
    to_h="unsigned short[::1]",
    from_i="const unsigned int[::1]",
    to_i="unsigned int[::1]",
    from_q="const unsigned long long[::1]",
    to_q="unsigned long long[::1]",
    i=cython.Py_ssize_t,
)
def take(column: Any, numbers: Any) -> memoryview:
    """``[column[i] for i in numbers]`` as a new column of the same type."""
    taken = zeros(column.format, len(numbers))
    order = numbers
    size = column.itemsize
    # Only the width matters for a copy, not the sign.
    if size == 1:
        from_b = memoryview(column).cast("B")
        to_b = memoryview(taken).cast("B")
        with cython.nogil:
            for i in range(order.shape[0]):
                to_b[i] = from_b[order[i]]
    elif size == 2:
        from_h = memoryview(column).cast("B").cast("H")
        to_h = memoryview(taken).cast("B").cast("H")
        with cython.nogil:
            for i in range(order.shape[0]):
                to_h[i] = from_h[order[i]]
    elif size == 4:
        from_i = memoryview(column).cast("B").cast("I")
        to_i = memoryview(taken).cast("B").cast("I")
        with cython.nogil:
            for i in range(order.shape[0]):
                to_i[i] = from_i[order[i]]
    else:
        from_q = memoryview(column).cast("B").cast("Q")
        to_q = memoryview(taken).cast("B").cast("Q")
        with cython.nogil:
            for i in range(order.shape[0]):
                to_q[i] = from_q[order[i]]
    return taken
