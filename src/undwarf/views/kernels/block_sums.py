# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Weights by block of time and group, as matrices with a row a block (Q).

Columns are of typecode I, where not said otherwise; 0xffffffff stands for "none".
"""

from typing import Any

import cython

from undwarf.column import zeros


@cython.locals(
    time="const unsigned long long[::1]",
    weight="const unsigned long long[::1]",
    order="const unsigned int[::1]",
    out="unsigned long long[::1]",
)
def borders_of(time: Any, weight: Any, order: Any, blocks: int) -> Any:
    """The times (Q) at which the later blocks begin, if samples in the ``order`` of time are cut into so many blocks of
    the same weight."""
    n: cython.Py_ssize_t = order.shape[0]
    count: cython.Py_ssize_t = blocks
    result = zeros("Q", max(blocks - 1, 0))
    out = result
    index: cython.Py_ssize_t
    block: cython.Py_ssize_t = 0
    total: cython.double = 0
    passed: cython.double = 0
    for index in range(n):
        total += weight[index]
    for index in range(n):
        while block < count - 1 and passed >= total * (block + 1) / count:
            out[block] = time[order[index]]
            block += 1
        passed += weight[order[index]]
    while block < count - 1:
        out[block] = time[order[n - 1]] if n > 0 else 0
        block += 1
    return result


@cython.locals(
    time="const unsigned long long[::1]",
    borders="const unsigned long long[::1]",
    out="unsigned int[::1]",
    low="Py_ssize_t",
    high="Py_ssize_t",
    middle="Py_ssize_t",
)
def blocks_of(time: Any, borders: Any) -> Any:
    """The block of each time (Q): how many of the ``borders`` (Q, ascending) are not after it."""
    n: cython.Py_ssize_t = time.shape[0]
    result = zeros("I", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        low = 0
        high = borders.shape[0]
        while low < high:
            middle = (low + high) // 2
            if borders[middle] <= time[index]:
                low = middle + 1
            else:
                high = middle
        out[index] = cython.cast("unsigned int", low)
    return result


@cython.locals(
    block="const unsigned int[::1]",
    group="const unsigned int[::1]",
    weight="const unsigned long long[::1]",
    out="unsigned long long[::1]",
)
def own_sums(block: Any, group: Any, weight: Any, blocks: int, groups: int) -> Any:
    """The weight (Q) of each block and group."""
    n: cython.Py_ssize_t = block.shape[0]
    width: cython.Py_ssize_t = groups
    result = zeros("Q", blocks * groups)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        if group[index] != 0xFFFFFFFF:
            out[cython.cast("Py_ssize_t", block[index]) * width + group[index]] += weight[index]
    return result


@cython.locals(
    block="const unsigned int[::1]",
    node="const unsigned int[::1]",
    weight="const unsigned long long[::1]",
    parent="const unsigned int[::1]",
    group="const unsigned int[::1]",
    out="unsigned long long[::1]",
    nearest="unsigned int[::1]",
    above="unsigned int[::1]",
    seen="unsigned int[::1]",
    at="unsigned int",
    up="unsigned int",
    what="unsigned int",
)
def passing_sums(block: Any, node: Any, weight: Any, parent: Any, group: Any, blocks: int, groups: int) -> Any:
    """The weight (Q) of each block and group that stacks pass through, counted once a sample.

    ``node`` is the innermost one of each sample, ``parent`` the tree, whose parents come first, ``group`` that of
    each node.
    """
    nodes: cython.Py_ssize_t = parent.shape[0]
    n: cython.Py_ssize_t = node.shape[0]
    width: cython.Py_ssize_t = groups
    nearest = zeros("I", nodes)
    above = zeros("I", nodes)
    seen = zeros("I", max(groups, 1))
    result = zeros("Q", blocks * groups)
    out = result
    index: cython.Py_ssize_t
    # The nearest node with a group, itself or a caller, and the next one above that: walks visit no others.
    for index in range(nodes):
        up = parent[index]
        if up != 0xFFFFFFFF:
            if cython.cast("Py_ssize_t", up) >= index:
                raise ValueError("a stack node comes before its parent")
            up = nearest[up]
        above[index] = up
        nearest[index] = cython.cast("unsigned int", index) if group[index] != 0xFFFFFFFF else up
    for index in range(n):
        at = node[index]
        if at == 0xFFFFFFFF:
            continue
        at = nearest[at]
        while at != 0xFFFFFFFF:
            what = group[at]
            if seen[what] != cython.cast("unsigned int", index + 1):
                seen[what] = cython.cast("unsigned int", index + 1)
                out[cython.cast("Py_ssize_t", block[index]) * width + what] += weight[index]
            at = above[at]
    return result
