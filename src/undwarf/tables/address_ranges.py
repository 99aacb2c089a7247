# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Address ranges: sorted, made disjoint, gaps filled from another source.

Ranges are two columns (Q) of starts and ends; every range has at least one address.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES

from undwarf.column import zeros


def disjoint(starts: Any, ends: Any) -> tuple[memoryview, memoryview, memoryview]:
    """Sorted, disjoint ranges that cover the same addresses, and for each the index of the range it is a part of.

    Where ranges overlap, the one that starts last wins; of those that start together the longest; of equals the first.
    """
    order = ascending(starts)
    gathered = _gather(starts, ends, order)
    return gathered if gathered is not None else _flatten(starts, ends, order)


@cython.locals(
    a="unsigned int[::1]",
    b="unsigned int[::1]",
    swap="unsigned int[::1]",
    keys="const unsigned long long[::1]",
    counts="unsigned int[::1]",
    i=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    digit=cython.Py_ssize_t,
    total=cython.uint,
    count=cython.uint,
    low=cython.ulonglong,
    high=cython.ulonglong,
    shift=cython.int,
    ordered=cython.bint,
)
def ascending(keys: Any) -> Any:
    """The indices of ranges by ascending start, or of other numbers (radix sort, stable)."""
    n = keys.shape[0]
    a = zeros("I", n)
    ordered = True
    low = ALL_ONES
    high = 0
    for i in range(n):
        a[i] = cython.cast(cython.uint, i)
        if keys[i] < high:
            ordered = False
        high = max(high, keys[i])
        low = min(low, keys[i])
    if ordered:
        return a
    b = zeros("I", n)
    counts = zeros("I", 2048)
    shift = 0
    while shift < 64 and (high - low) >> shift:
        for i in range(2048):
            counts[i] = 0
        for i in range(n):
            counts[cython.cast(cython.Py_ssize_t, ((keys[i] - low) >> shift) & 2047)] += 1
        total = 0
        for i in range(2048):
            count = counts[i]
            counts[i] = total
            total += count
        for i in range(n):
            digit = cython.cast(cython.Py_ssize_t, ((keys[a[i]] - low) >> shift) & 2047)
            b[counts[digit]] = a[i]
            counts[digit] += 1
        swap = a
        a = b
        b = swap
        shift += 11
    return a


@cython.locals(
    order="unsigned int[::1]",
    starts="const unsigned long long[::1]",
    ends="const unsigned long long[::1]",
    new_starts="unsigned long long[::1]",
    new_ends="unsigned long long[::1]",
    i=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    one=cython.Py_ssize_t,
    before=cython.ulonglong,
)
def _gather(starts: Any, ends: Any, order: Any) -> tuple[memoryview, memoryview, memoryview] | None:
    """The ranges in order; None if some overlap."""
    n = starts.shape[0]
    new_starts = zeros("Q", n)
    new_ends = zeros("Q", n)
    before = 0
    for i in range(n):
        one = order[i]
        if starts[one] < before:
            return None
        before = ends[one]
        new_starts[i] = starts[one]
        new_ends[i] = before
    return memoryview(new_starts), memoryview(new_ends), memoryview(order)


@cython.locals(
    order="unsigned int[::1]",
    starts="const unsigned long long[::1]",
    ends="const unsigned long long[::1]",
    new_starts="unsigned long long[::1]",
    new_ends="unsigned long long[::1]",
    entry="unsigned int[::1]",
    stack="unsigned int[::1]",
    i=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    count=cython.Py_ssize_t,
    depth=cython.Py_ssize_t,
    one=cython.Py_ssize_t,
    top=cython.Py_ssize_t,
    at=cython.ulonglong,
    start=cython.ulonglong,
    upto=cython.ulonglong,
)
def _flatten(starts: Any, ends: Any, order: Any) -> tuple[memoryview, memoryview, memoryview]:
    """Overlapping ranges cut into pieces, at most two for each; ``stack`` holds the open ones, the innermost on top."""
    n = starts.shape[0]
    new_starts = zeros("Q", 2 * n)
    new_ends = zeros("Q", 2 * n)
    entry = zeros("I", 2 * n)
    stack = zeros("I", n)
    count = 0
    depth = 0
    at = 0
    i = 0
    while i < n or depth > 0:
        # The next start, or the end of all addresses.
        start = ALL_ONES
        one = -1
        if i < n:
            one = order[i]
            start = starts[one]
            i += 1
            while i < n and starts[order[i]] == start:
                if ends[order[i]] > ends[one]:
                    one = order[i]
                i += 1
        while depth > 0 and at < start:
            top = stack[depth - 1]
            if ends[top] <= at:
                depth -= 1
                continue
            upto = min(ends[top], start)
            new_starts[count] = at
            new_ends[count] = upto
            entry[count] = cython.cast(cython.uint, top)
            count += 1
            at = upto
        if one < 0:
            break
        at = start
        stack[depth] = cython.cast(cython.uint, one)
        depth += 1
    return memoryview(new_starts)[:count], memoryview(new_ends)[:count], memoryview(entry)[:count]


@cython.locals(
    starts="const unsigned long long[::1]",
    ends="const unsigned long long[::1]",
    where="const unsigned long long[::1]",
    more_starts="const unsigned long long[::1]",
    more_ends="const unsigned long long[::1]",
    new_starts="unsigned long long[::1]",
    new_ends="unsigned long long[::1]",
    new_where="unsigned long long[::1]",
    i=cython.Py_ssize_t,
    j=cython.Py_ssize_t,
    n=cython.Py_ssize_t,
    m=cython.Py_ssize_t,
    count=cython.Py_ssize_t,
    at=cython.ulonglong,
    limit=cython.ulonglong,
    mark=cython.ulonglong,
)
def fill_holes(
    starts: Any, ends: Any, where: Any, more_starts: Any, more_ends: Any, source: int
) -> tuple[memoryview, memoryview, memoryview, int]:
    """Sorted disjoint ranges, and the parts of further ones that they do not cover.

    ``where`` has for each range (index of its source) << 32 | its index there; ``source`` is the index of the further
    ones' source. Gives (starts, ends, where, how many pieces were added).
    """
    n = starts.shape[0]
    m = more_starts.shape[0]
    mark = cython.cast(cython.ulonglong, source) << 32
    new_starts = zeros("Q", 2 * n + m)
    new_ends = zeros("Q", 2 * n + m)
    new_where = zeros("Q", 2 * n + m)
    i = 0
    count = 0
    at = 0
    for j in range(m):
        # The known range passed last may reach into this one.
        at = max(at, more_starts[j])
        while i < n and ends[i] <= at:
            new_starts[count] = starts[i]
            new_ends[count] = ends[i]
            new_where[count] = where[i]
            count += 1
            i += 1
        while at < more_ends[j]:
            if i < n and starts[i] <= at:
                at = ends[i]
                new_starts[count] = starts[i]
                new_ends[count] = ends[i]
                new_where[count] = where[i]
                count += 1
                i += 1
                continue
            limit = more_ends[j]
            if i < n and starts[i] < limit:
                limit = starts[i]
            new_starts[count] = at
            new_ends[count] = limit
            new_where[count] = mark | cython.cast(cython.ulonglong, j)
            count += 1
            at = limit
    while i < n:
        new_starts[count] = starts[i]
        new_ends[count] = ends[i]
        new_where[count] = where[i]
        count += 1
        i += 1
    return (
        memoryview(new_starts)[:count],
        memoryview(new_ends)[:count],
        memoryview(new_where)[:count],
        count - n,
    )
