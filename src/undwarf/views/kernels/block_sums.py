# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Weights by block of time and group, as matrices with a row a block (Q).

Columns are of typecode I, where not said otherwise; 0xffffffff stands for "none".
"""

from typing import Any

import cython

from undwarf.column import zeros


@cython.locals(time="const unsigned long long[::1]", out="unsigned int[::1]", place="double")
def blocks_of(time: Any, first: int, span: int, blocks: int) -> Any:
    """The block of each time (Q) when ``span`` from ``first`` on is cut into equal ``blocks``."""
    n: cython.Py_ssize_t = time.shape[0]
    start: cython.ulonglong = first
    length: cython.double = max(span, 1)
    count: cython.double = blocks
    last: cython.double = blocks - 1
    result = zeros("I", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        if time[index] > start:
            place = (time[index] - start) / length * count
            out[index] = cython.cast("unsigned int", place if place < last else last)
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
