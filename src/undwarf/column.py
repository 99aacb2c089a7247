# cython: language_level=3, annotation_typing=False
"""Memory for columns, without numpy: its import alone would cost more than decoding a small recording.

A column is a memoryview of native C numbers. Kernels take it as a typed buffer; callers may wrap it with
``numpy.asarray`` without a copy.
"""

import mmap
from array import array
from typing import Any, Literal

Typecode = Literal["B", "b", "H", "h", "I", "i", "Q", "q"]

LARGE = 1 << 17
"""From this many bytes on a column is a mapping of its own, which has no pages until they are touched."""

SIZES: dict[Typecode, int] = {"B": 1, "b": 1, "H": 2, "h": 2, "I": 4, "i": 4, "Q": 8, "q": 8}
_ZERO = {typecode: array(typecode, [0]) for typecode in SIZES}
"""One zero of each kind: to repeat it is less than half of what a view of bytes as numbers takes."""


def zeros(typecode: Typecode, count: int) -> "memoryview[int]":
    """A writable column of ``count`` zeros; ``typecode`` as in :mod:`array` (B H I Q and b h i q)."""
    size = count * SIZES[typecode]
    if size < LARGE:
        return memoryview(_ZERO[typecode] * count)
    # No huge pages: columns are made with room to grow, and clearing what is never touched took a tenth of a run, more
    # where free memory is in pieces, and a fifth of its memory.
    mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return memoryview(mapped).cast("B").cast(typecode)[:count]


def absent(typecode: Typecode, count: int) -> "memoryview[int]":
    """A writable column whose bits are all set: in columns of numbers of things, that says that there is none."""
    column = zeros(typecode, count)
    if count:
        column.cast("B")[:] = b"\xff" * (count * SIZES[typecode])
    return column


def longer(column: Any, used: int, size: int) -> "memoryview[int]":
    """The first ``used`` entries of a column (or of a kernel's typed memory) in one with room for ``size``."""
    old = memoryview(column)
    code: Any = old.format
    new = zeros(code, size)
    new[:used] = old[:used]
    return new


def copied(column: Any, used: int) -> "memoryview[int]":
    """What is in use of a column, in memory of its own."""
    return longer(column, used, used)


def doubled(column: Any, used: int) -> Any:
    """The column with twice the room."""
    return longer(column, used, 2 * len(column))


def with_room(column: Any, used: int, size: int) -> Any:
    """The column with room for ``size`` entries at least."""
    wanted = len(column)
    while wanted < size:
        wanted *= 2
    return longer(column, used, wanted)
