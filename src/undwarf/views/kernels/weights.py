# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The weight of each sample, as a column (Q)."""

from typing import Any

import cython

from undwarf.column import zeros


@cython.locals(weights="const unsigned long long[::1]", sum_="unsigned long long")
def total(weights: Any) -> int:
    """The sum of a column of typecode Q."""
    n: cython.Py_ssize_t = weights.shape[0]
    index: cython.Py_ssize_t
    sum_ = 0
    for index in range(n):
        sum_ += weights[index]
    return sum_


@cython.locals(out="unsigned long long[::1]")
def ones(count: int) -> Any:
    """A column of typecode Q with 1 in each place."""
    result = zeros("Q", count)
    out = result
    index: cython.Py_ssize_t
    for index in range(count):
        out[index] = 1
    return result


@cython.locals(column="const unsigned long long[::1]", out="unsigned long long[::1]")
def ones_where(column: Any) -> Any:
    """A column of typecode Q with 1 where another is not 0."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("Q", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = 1 if column[index] else 0
    return result


@cython.locals(column="const unsigned long long[::1]", out="unsigned long long[::1]")
def at_least_one(column: Any) -> Any:
    """A column of typecode Q with 1 where it has 0."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("Q", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = column[index] if column[index] else 1
    return result


@cython.locals(
    column="const unsigned long long[::1]", factors="const unsigned long long[::1]", out="unsigned long long[::1]"
)
def times(column: Any, factors: Any) -> Any:
    """The products of two columns of typecode Q, modulo 2^64."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("Q", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = column[index] * factors[index]
    return result


@cython.locals(
    weights="const unsigned long long[::1]",
    events="const unsigned short[::1]",
    unweighed="const unsigned char[::1]",
    out="unsigned long long[::1]",
)
def ones_of_events(weights: Any, events: Any, unweighed: Any) -> Any:
    """The weights (Q), with 1 for the samples of events that are flagged (B by event)."""
    n: cython.Py_ssize_t = weights.shape[0]
    result = zeros("Q", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = 1 if unweighed[events[index]] else weights[index]
    return result


@cython.locals(
    weights="const unsigned long long[::1]",
    events="const unsigned short[::1]",
    packed="const unsigned char[::1]",
    out="unsigned long long[::1]",
)
def part_of_weight(weights: Any, events: Any, packed: Any, part: int) -> Any:
    """Of each weight the latency (``part`` 0), that of the instruction (1) or to its retirement (2), typecode Q.

    ``packed`` says by event number whether weights hold all three; those of other events are latencies.
    """
    n: cython.Py_ssize_t = weights.shape[0]
    which: cython.int = part
    result = zeros("Q", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        if not packed[events[index]]:
            if which == 0:
                out[index] = weights[index]
        elif which == 0:
            out[index] = weights[index] & 0xFFFFFFFF
        else:
            out[index] = (weights[index] >> (32 if which == 1 else 48)) & 0xFFFF
    return result
