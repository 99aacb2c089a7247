"""Memory for columns, without numpy: its import alone would cost more than decoding a small recording.

A column is a memoryview of native C numbers. Kernels take it as a typed buffer; callers may wrap it with
``numpy.asarray`` without a copy.
"""

import mmap
from typing import Any, Literal

Typecode = Literal["B", "b", "H", "h", "I", "i", "Q", "q"]

HUGE_PAGE = 2 << 20
HUGE = 1 << 20
"""From this many bytes on, memory asks for huge pages: first touches are most of what a column costs."""

SIZES: dict[Typecode, int] = {"B": 1, "b": 1, "H": 2, "h": 2, "I": 4, "i": 4, "Q": 8, "q": 8}


def zeros(typecode: Typecode, count: int) -> "memoryview[int]":
    """A writable column of ``count`` zeros; ``typecode`` as in :mod:`array` (B H I Q and b h i q)."""
    size = max(count, 1) * SIZES[typecode]
    if size < HUGE:
        return memoryview(bytearray(size)).cast(typecode)[:count]
    # Private: the default, shared memory, is not given huge pages, and each 4 KiB would be a fault of its own.
    # Whole huge pages: only such a mapping starts at the boundary of one.
    size = (size + HUGE_PAGE - 1) // HUGE_PAGE * HUGE_PAGE
    mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        mapped.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(mapped).cast("B").cast(typecode)[:count]


def longer(column: Any, used: int, size: int) -> "memoryview[int]":
    """The first ``used`` entries of a column (or of a kernel's typed memory) in one with room for ``size``."""
    old = memoryview(column)
    code: Any = old.format
    new = zeros(code, size)
    new[:used] = old[:used]
    return new
