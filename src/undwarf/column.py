# cython: language_level=3, annotation_typing=False
"""Allocates columns, without numpy: importing it would take longer than decoding a small recording.

A column is a memoryview of native C numbers. Kernels take it as a typed buffer; callers may wrap it with
``numpy.asarray`` without a copy.
"""

import mmap
from array import array
from typing import Any, Literal

Typecode = Literal["B", "b", "H", "h", "I", "i", "Q", "q"]

LARGE = 1 << 17
"""From this many bytes on a column is an anonymous mapping, whose pages are allocated when they are touched."""

SIZES: dict[Typecode, int] = {"B": 1, "b": 1, "H": 2, "h": 2, "I": 4, "i": 4, "Q": 8, "q": 8}
_ZERO = {typecode: array(typecode, [0]) for typecode in SIZES}
"""A zero of each type: repeating it takes less than half the time of casting a view of bytes."""


def zeros(typecode: Typecode, count: int) -> "memoryview[int]":
    """A writable column of ``count`` zeros; ``typecode`` as in :mod:`array` (B H I Q and b h i q)."""
    size = count * SIZES[typecode]
    if size < LARGE:
        return memoryview(_ZERO[typecode] * count)
    # No huge pages: columns have spare capacity, and clearing memory that is never used took a tenth of a run, more if
    # free memory is fragmented, and a fifth of its memory.
    mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return memoryview(mapped).cast("B").cast(typecode)[:count]


def absent(typecode: Typecode, count: int) -> "memoryview[int]":
    """A writable column with all bits set, which in columns of indices means none."""
    column = zeros(typecode, count)
    if count:
        column.cast("B")[:] = b"\xff" * (count * SIZES[typecode])
    return column


def longer(column: Any, used: int, size: int) -> "memoryview[int]":
    """A copy of the first ``used`` entries of a column (or typed memoryview) in a column of ``size`` entries."""
    old = memoryview(column)
    code: Any = old.format
    new = zeros(code, size)
    new[:used] = old[:used]
    return new


def copied(column: Any, used: int) -> "memoryview[int]":
    """A copy of the first ``used`` entries."""
    return longer(column, used, used)


def doubled(column: Any, used: int) -> Any:
    """A copy of the first ``used`` entries with twice the capacity."""
    return longer(column, used, 2 * len(column))


def with_room(column: Any, used: int, size: int) -> Any:
    """A copy of the first ``used`` entries with capacity for ``size``, by doubling."""
    wanted = len(column)
    while wanted < size:
        wanted *= 2
    return longer(column, used, wanted)
