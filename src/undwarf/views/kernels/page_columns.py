# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Columns of a page: narrow numbers, times in coarser units, and the tree of stacks without what is left out.

Columns are of typecode I, where not said otherwise; NOTHING stands for none.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import absent, zeros


@cython.locals(
    values="const unsigned int[::1]",
    bytes_="unsigned char[::1]",
    shorts="unsigned short[::1]",
    index="Py_ssize_t",
    narrow="bint",
)
def narrowed(column: Any, typecode: str) -> memoryview:
    """The column with this narrower typecode (B or H); none, and what does not fit, is its largest number."""
    values = column
    narrow = typecode == "B"
    result = zeros("B", len(column)) if narrow else zeros("H", len(column))
    if narrow:
        bytes_ = result
        for index in range(values.shape[0]):
            bytes_[index] = cython.cast("unsigned char", min(values[index], 0xFF))
    else:
        shorts = result
        for index in range(values.shape[0]):
            shorts[index] = cython.cast("unsigned short", min(values[index], 0xFFFF))
    return result


@cython.locals(
    values="const unsigned long long[::1]",
    out="unsigned int[::1]",
    first="unsigned long long",
    length="unsigned long long",
    value="unsigned long long",
    index="Py_ssize_t",
)
def in_units(times: Any, start: int, unit: int) -> memoryview:
    """Times (Q) in units of ``unit`` from ``start`` on; earlier ones are 0, later ones than fit the largest number."""
    values = times
    first, length = start, unit
    result = zeros("I", len(times))
    out = result
    for index in range(values.shape[0]):
        value = (values[index] - first) // length if values[index] > first else 0
        out[index] = cython.cast("unsigned int", min(value, 0xFFFFFFFE))
    return result


@cython.locals(
    values="const unsigned long long[::1]",
    out="unsigned long long[::1]",
    first="unsigned long long",
    index="Py_ssize_t",
)
def since(times: Any, start: int) -> memoryview:
    """Times (Q) as if ``start`` were 1; 0, for none, stays 0, and earlier ones are 1."""
    values = times
    first = start
    result = zeros("Q", len(times))
    out = result
    for index in range(values.shape[0]):
        if values[index] != 0:
            out[index] = values[index] - first + 1 if values[index] > first else 1
    return result


@cython.locals(values="const unsigned int[::1]", out="unsigned int[::1]", length="unsigned int", index="Py_ssize_t")
def multiples(column: Any, span: int, times: bool = False) -> memoryview:
    """How often ``span`` fits into each entry; with ``times``, each entry times ``span``."""
    values = column
    length = span
    result = zeros("I", len(column))
    out = result
    for index in range(values.shape[0]):
        out[index] = values[index] * length if times else values[index] // length
    return result


@cython.locals(
    values="const unsigned long long[::1]",
    out="unsigned long long[::1]",
    all_="double",
    value="double",
    index="Py_ssize_t",
)
def raise_to_shares(shares: Any, weights: Any, whole: int) -> None:
    """Raise each entry of ``shares`` (Q) to ``weights[i] / whole`` in parts of 2^32, if it is smaller."""
    values = weights
    out = shares
    all_ = max(whole, 1)
    for index in range(values.shape[0]):
        value = values[index] / all_ * 4294967296.0
        if value > out[index]:
            out[index] = cython.cast("unsigned long long", value)
        if values[index] > 0 and out[index] == 0:
            out[index] = 1


@cython.locals(
    parents="const unsigned int[::1]",
    frames="const unsigned int[::1]",
    values="const unsigned long long[::1]",
    parent="unsigned int[::1]",
    frame="unsigned int[::1]",
    node_of="unsigned int[::1]",
    rest="unsigned int[::1]",
    limit="unsigned long long",
    up="unsigned int",
    stand_in="unsigned int",
    index="Py_ssize_t",
    at="Py_ssize_t",
    n="Py_ssize_t",
)
def kept_tree(parent_of: Any, frame_of: Any, shares: Any, least: int, cut_frame: int) -> tuple[Any, Any, Any]:
    """(parent, frame, new node of each old one) of the nodes whose share (Q) is at least ``least``, which no parent's
    is below. Others with a share become one node of frame ``cut_frame`` below their caller's new node; nodes without
    a share are left out, and have the new node NOTHING."""
    parents, frames, values = parent_of, frame_of, shares
    n = parents.shape[0]
    limit = max(least, 1)
    stand_in = cut_frame
    new_parent, new_frame, new_of, below = zeros("I", 2 * n), zeros("I", 2 * n), absent("I", n), absent("I", n + 1)
    parent, frame, node_of, rest = new_parent, new_frame, new_of, below
    at = 0
    for index in range(n):
        if values[index] == 0:
            continue
        up = parents[index]
        if up != NOTHING and values[up] < limit:
            # Its caller is cut already.
            node_of[index] = node_of[up]
            continue
        if values[index] < limit:
            # The last entry is for roots.
            if rest[n if up == NOTHING else up] == NOTHING:
                rest[n if up == NOTHING else up] = cython.cast("unsigned int", at)
                parent[at] = NOTHING if up == NOTHING else node_of[up]
                frame[at] = stand_in
                at += 1
            node_of[index] = rest[n if up == NOTHING else up]
            continue
        parent[at] = NOTHING if up == NOTHING else node_of[up]
        frame[at] = frames[index]
        node_of[index] = cython.cast("unsigned int", at)
        at += 1
    return new_parent[:at], new_frame[:at], new_of


@cython.locals(addresses="const unsigned long long[::1]", out="unsigned long long[::1]", index="Py_ssize_t")
def low_bits(column: Any) -> memoryview:
    """The lower 52 bits of each address (Q): doubles hold them exactly, and bit 51 has all higher ones."""
    addresses = column
    result = zeros("Q", len(column))
    out = result
    for index in range(addresses.shape[0]):
        out[index] = addresses[index] & 0xFFFFFFFFFFFFF
    return result


@cython.locals(
    provenances="const unsigned char[::1]",
    returns="const unsigned char[::1]",
    weak="const unsigned char[::1]",
    out="unsigned char[::1]",
    index="Py_ssize_t",
    known="bint",
)
def frame_flags(provenance: Any, is_return: Any, weaker: Any) -> memoryview:
    """By frame (B): 1 if its provenance is among the ``weaker`` ones (B, 256 flags), plus 2 for a return address."""
    provenances, weak = provenance, weaker
    known = is_return is not None
    returns = is_return if known else zeros("B", 0)
    result = zeros("B", len(provenance))
    out = result
    for index in range(provenances.shape[0]):
        out[index] = (1 if weak[provenances[index]] else 0) | (2 if known and returns[index] else 0)
    return result


@cython.locals(numbers="const unsigned int[::1]", out="unsigned int[::1]", index="Py_ssize_t")
def inverse(permutation: Any) -> memoryview:
    """The index at which each of the numbers 0..n-1 is in a permutation of them."""
    numbers = permutation
    result = zeros("I", len(permutation))
    out = result
    for index in range(numbers.shape[0]):
        out[numbers[index]] = cython.cast("unsigned int", index)
    return result


@cython.locals(values="const unsigned long long[::1]", out="unsigned long long[::1]", index="Py_ssize_t")
def falling(column: Any) -> memoryview:
    """Keys (Q) that sort a column of typecode Q by falling values."""
    values = column
    result = zeros("Q", len(column))
    out = result
    for index in range(values.shape[0]):
        out[index] = 0xFFFFFFFFFFFFFFFF - values[index]
    return result


@cython.locals(groups="const unsigned int[::1]", out="unsigned int[::1]", index="Py_ssize_t")
def first_of(column: Any, count: int) -> memoryview:
    """The first index at which each of the numbers 0..count-1 is in the column; NOTHING if nowhere."""
    groups = column
    result = absent("I", count)
    out = result
    for index in range(groups.shape[0] - 1, -1, -1):
        out[groups[index]] = cython.cast("unsigned int", index)
    return result


@cython.locals(values="const unsigned long long[::1]", out="unsigned int[::1]", index="Py_ssize_t")
def lower_halves(column: Any) -> memoryview:
    """A column of typecode Q as typecode I; larger numbers are the largest one."""
    values = column
    result = zeros("I", len(column))
    out = result
    for index in range(values.shape[0]):
        out[index] = cython.cast("unsigned int", min(values[index], 0xFFFFFFFF))
    return result
