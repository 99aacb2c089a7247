# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Stable sort by time, and columns put in that order."""

from typing import Any

import cython

from undwarf.column import zeros

DIGIT = cython.declare(cython.int, 11)
BUCKETS = cython.declare(cython.Py_ssize_t, 2048)


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
@cython.locals(
    times="const unsigned long long[::1]",
    order="unsigned int[::1]",
    other="unsigned int[::1]",
    counts="unsigned int[::1]",
)
def _radix(times: Any, order: Any, other: Any, counts: Any) -> cython.int:
    """Sort ``order`` (the numbers 0..n-1) by ``times``, least digit first; 1 when the result is in ``other``."""
    n: cython.Py_ssize_t = times.shape[0]
    i: cython.Py_ssize_t
    low: cython.ulonglong = times[0]
    high: cython.ulonglong = times[0]
    sorted_already: cython.bint = True
    for i in range(n):
        if times[i] < low:
            low = times[i]
        if times[i] > high:
            high = times[i]
        if i > 0 and times[i] < times[i - 1]:
            sorted_already = False
        order[i] = cython.cast(cython.uint, i)
    if sorted_already:
        return 0
    span: cython.ulonglong = high - low
    shift: cython.int = 0
    flipped: cython.int = 0
    bucket: cython.Py_ssize_t
    total: cython.uint
    count: cython.uint
    number: cython.uint
    while shift < 64 and (span >> shift) > 0:
        for bucket in range(BUCKETS):
            counts[bucket] = 0
        for i in range(n):
            counts[cython.cast(cython.Py_ssize_t, ((times[i] - low) >> shift) & 2047)] += 1
        total = 0
        for bucket in range(BUCKETS):
            count = counts[bucket]
            counts[bucket] = total
            total += count
        for i in range(n):
            number = other[i] if flipped else order[i]
            bucket = cython.cast(cython.Py_ssize_t, ((times[number] - low) >> shift) & 2047)
            if flipped:
                order[counts[bucket]] = number
            else:
                other[counts[bucket]] = number
            counts[bucket] += 1
        flipped = 1 - flipped
        shift += DIGIT
    return flipped


@cython.locals(times="const unsigned long long[::1]")
def time_order(times: Any) -> memoryview:
    """The numbers of the entries of ``times`` ('Q') by ascending time, equal times in their order ('I').

    At most 2**32 - 1 entries.
    """
    n: cython.Py_ssize_t = times.shape[0]
    order = zeros("I", n)
    if n == 0:
        return order
    other = zeros("I", n)
    flipped: cython.int = _radix(times, order, other, zeros("I", BUCKETS))
    return other if flipped else order


@cython.locals(
    order="const unsigned int[::1]", source="const unsigned long long[::1]", target="unsigned long long[::1]"
)
def take_q(source: Any, order: Any) -> memoryview:
    """``source`` ('Q') in the given order."""
    n: cython.Py_ssize_t = order.shape[0]
    taken = zeros("Q", n)
    target = taken
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(n):
            target[i] = source[order[i]]
    return taken


@cython.locals(order="const unsigned int[::1]", source="const unsigned int[::1]", target="unsigned int[::1]")
def take_i(source: Any, order: Any) -> memoryview:
    """``source`` ('I') in the given order."""
    n: cython.Py_ssize_t = order.shape[0]
    taken = zeros("I", n)
    target = taken
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(n):
            target[i] = source[order[i]]
    return taken


@cython.locals(order="const unsigned int[::1]", source="const unsigned short[::1]", target="unsigned short[::1]")
def take_h(source: Any, order: Any) -> memoryview:
    """``source`` ('H') in the given order."""
    n: cython.Py_ssize_t = order.shape[0]
    taken = zeros("H", n)
    target = taken
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(n):
            target[i] = source[order[i]]
    return taken


@cython.locals(order="const unsigned int[::1]", source="const unsigned char[::1]", target="unsigned char[::1]")
def take_b(source: Any, order: Any) -> memoryview:
    """``source`` ('B') in the given order."""
    n: cython.Py_ssize_t = order.shape[0]
    taken = zeros("B", n)
    target = taken
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(n):
            target[i] = source[order[i]]
    return taken


def _signed(column: Any) -> Any:
    return column.cast("B").cast("i")


def take(source: Any, order: Any) -> Any:
    """A column (B, H, I, i or Q) in the given order ('I' entry numbers, each below its length)."""
    code = source.format
    if code == "Q":
        return take_q(source, order)
    if code == "I":
        return take_i(source, order)
    if code == "i":
        taken: Any = take_i(source.cast("B").cast("I"), order)
        return taken.cast("B").cast("i")
    if code == "H":
        return take_h(source, order)
    if code == "B":
        return take_b(source, order)
    raise ValueError(f"no column of type {code}")
