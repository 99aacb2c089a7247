# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Sorts and groups columns, and puts them in a given order."""

from typing import Any

import cython
from cython.cimports.libc.string import memcpy

from undwarf.column import zeros

DIGIT_BITS = cython.declare(cython.int, 11)
BUCKETS = cython.declare(cython.Py_ssize_t, 1 << 11)


@cython.cfunc
@cython.nogil
@cython.exceptval(-1)
@cython.locals(
    keys="const unsigned long long[::1]",
    order="unsigned int[::1]",
    other="unsigned int[::1]",
    counts="unsigned int[::1]",
)
def _radix_sort(keys: Any, order: Any, other: Any, counts: Any) -> cython.int:
    """Sort ``order`` (the numbers 0..n-1) by ``keys``, lowest digit first; 1 if the result is in ``other``."""
    n: cython.Py_ssize_t = keys.shape[0]
    i: cython.Py_ssize_t
    low: cython.ulonglong = keys[0]
    high: cython.ulonglong = keys[0]
    sorted_already: cython.bint = True
    for i in range(n):
        if keys[i] < low:
            low = keys[i]
        if keys[i] > high:
            high = keys[i]
        if i > 0 and keys[i] < keys[i - 1]:
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
            counts[cython.cast(cython.Py_ssize_t, ((keys[i] - low) >> shift) & (BUCKETS - 1))] += 1
        total = 0
        for bucket in range(BUCKETS):
            count = counts[bucket]
            counts[bucket] = total
            total += count
        for i in range(n):
            number = other[i] if flipped else order[i]
            bucket = cython.cast(cython.Py_ssize_t, ((keys[number] - low) >> shift) & (BUCKETS - 1))
            if flipped:
                order[counts[bucket]] = number
            else:
                other[counts[bucket]] = number
            counts[bucket] += 1
        flipped = 1 - flipped
        shift += DIGIT_BITS
    return flipped


@cython.locals(keys="const unsigned long long[::1]")
def sort_order(keys: Any) -> memoryview:
    """The indices ('I') of ``keys`` ('Q', fewer than 2**32) in ascending order; equal keys keep their order."""
    n: cython.Py_ssize_t = keys.shape[0]
    order = zeros("I", n)
    if n == 0:
        return order
    other = zeros("I", n)
    flipped: cython.int = _radix_sort(keys, order, other, zeros("I", BUCKETS))
    return other if flipped else order


@cython.locals(
    keys="const unsigned int[::1]",
    starts="unsigned int[::1]",
    order="unsigned int[::1]",
    i=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    groups=cython.uint,
    key=cython.uint,
    total=cython.uint,
    was=cython.uint,
)
def group(column: Any, count: int) -> tuple[memoryview, memoryview]:
    """(order, starts) (I): entries sorted stably by key 0..count-1, the start of each key's; other keys come last."""
    keys = column
    n = keys.shape[0]
    groups = count
    starts, order = zeros("I", count + 2), zeros("I", n)
    for i in range(n):
        key = keys[i] if keys[i] < groups else groups
        starts[key + 1] += 1
    total = 0
    for i in range(count + 2):
        was = starts[i]
        total += was
        starts[i] = total
    for i in range(n):
        key = keys[i] if keys[i] < groups else groups
        order[starts[key]] = cython.cast(cython.uint, i)
        starts[key] += 1
    # Each start has moved to the next one.
    i = count + 1
    while i > 0:
        starts[i] = starts[i - 1]
        i -= 1
    starts[0] = 0
    return memoryview(order), memoryview(starts)


@cython.locals(order="const unsigned int[::1]", data="const unsigned char[::1]", target="unsigned char[::1]")
def take(source: Any, order: Any) -> Any:
    """The entries of a column at the indices ``order`` ('I'), in this order; raises IndexError for others."""
    n: cython.Py_ssize_t = order.shape[0]
    width: cython.Py_ssize_t = source.itemsize
    taken = zeros(source.format, n)
    data = source.cast("B")
    target = taken.cast("B")
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    with cython.nogil:
        for i in range(n):
            at = width * cython.cast(cython.Py_ssize_t, order[i])
            # Sizes that the compiler knows make a copy one move.
            if width == 8:
                memcpy(cython.address(target[8 * i]), cython.address(data[at]), 8)
            elif width == 4:
                memcpy(cython.address(target[4 * i]), cython.address(data[at]), 4)
            else:
                memcpy(cython.address(target[width * i]), cython.address(data[at]), width)
    return taken


@cython.locals(out="unsigned int[::1]")
def ascending(count: int) -> Any:
    """The numbers (I) from 0 to ``count`` - 1."""
    n: cython.Py_ssize_t = count
    result = zeros("I", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = cython.cast(cython.uint, index)
    return result
