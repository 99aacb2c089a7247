# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Frames of a group that have no function yet: finds them, or assigns one function to all."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING


@cython.locals(
    functions="unsigned int[::1]",
    order="const unsigned int[::1]",
    i=cython.Py_ssize_t,
    filled=cython.Py_ssize_t,
)
def fill_unnamed(
    column: Any, frames: Any, begin: cython.Py_ssize_t, end: cython.Py_ssize_t, function: cython.uint
) -> int:
    """Assign a function to all frames of a group that have none; returns how many."""
    functions = column
    order = frames
    filled = 0
    for i in range(begin, end):
        if functions[order[i]] == NOTHING:
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
    """The frames of a group without a function whose address is in one of the ranges."""
    functions = column
    addresses = places
    order = frames
    lows = range_starts
    highs = range_ends
    found = []
    for i in range(begin, end):
        if functions[order[i]] == NOTHING:
            address = addresses[order[i]]
            for k in range(lows.shape[0]):
                if lows[k] <= address < highs[k]:
                    found.append(order[i])
                    break
    return found
