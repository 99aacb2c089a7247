# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Sorts frames by their image, so that each image's symbols are looked up in one go."""

from typing import Any

import cython

from undwarf.buffers import zeros

NONE = cython.declare(cython.uint, 0xFFFFFFFF)


@cython.locals(
    keys="const unsigned int[::1]",
    order="unsigned int[::1]",
    starts="unsigned int[::1]",
    i=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    groups=cython.uint,
    key=cython.uint,
    total=cython.uint,
    was=cython.uint,
)
def group(column: Any, count: int) -> tuple[memoryview, memoryview]:
    """(order I, starts I): entry numbers sorted stably by key, and where each key 0..count begins in them.

    Keys from ``count`` on are one group, the last.
    """
    keys = column
    n = len(keys)
    groups = count
    order = zeros("I", n)
    starts = zeros("I", count + 2)
    with cython.nogil:
        for i in range(n):
            key = keys[i] if keys[i] < groups else groups
            starts[key] += 1
        total = 0
        for i in range(groups + 1):
            was = starts[i]
            starts[i] = total
            total += was
        for i in range(n):
            key = keys[i] if keys[i] < groups else groups
            order[starts[key]] = i
            starts[key] += 1
        # Every start has moved to its group's end, which is the next one's start.
        i = groups + 1
        while i > 0:
            starts[i] = starts[i - 1]
            i -= 1
        starts[0] = 0
    return memoryview(order), memoryview(starts)


@cython.locals(
    functions="unsigned int[::1]",
    order="const unsigned int[::1]",
    i=cython.Py_ssize_t,
    filled=cython.Py_ssize_t,
)
def fill_unnamed(
    column: Any, frames: Any, begin: cython.Py_ssize_t, end: cython.Py_ssize_t, function: cython.uint
) -> int:
    """Gives all frames of a group that have no function yet this one; returns how many."""
    functions = column
    order = frames
    filled = 0
    for i in range(begin, end):
        if functions[order[i]] == NONE:
            functions[order[i]] = function
            filled += 1
    return filled


@cython.locals(
    functions="const unsigned int[::1]",
    addresses="const unsigned long long[::1]",
    order="const unsigned int[::1]",
    lows="const unsigned long long[::1]",
    highs="const unsigned long long[::1]",
    i=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    address=cython.ulonglong,
)
def unnamed_within(
    column: Any,
    places: Any,
    frames: Any,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    range_starts: Any,
    range_ends: Any,
) -> list[int]:
    """The frames of a group without a function whose address lies in one of some ranges."""
    functions = column
    addresses = places
    order = frames
    lows = range_starts
    highs = range_ends
    found = []
    for i in range(begin, end):
        if functions[order[i]] == NONE:
            address = addresses[order[i]]
            for k in range(lows.shape[0]):
                if lows[k] <= address < highs[k]:
                    found.append(order[i])
                    break
    return found
