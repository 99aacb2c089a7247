"""Keeps the agent's own memory small: it runs for months, and large tables come and go."""

import ctypes
import gc

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Parameters of mallopt(3)."""
LARGE_BYTES = 128 << 10
"""Allocations from this size on are given back to the system when they are freed."""
_LIBC = ctypes.CDLL(None)


def give_memory_back() -> None:
    """Make memory that is freed the system's again."""
    for parameter, value in ((_M_MMAP_THRESHOLD, LARGE_BYTES), (_M_TRIM_THRESHOLD, LARGE_BYTES), (_M_ARENA_MAX, 1)):
        # Only glibc has it.
        if hasattr(_LIBC, "mallopt"):
            _LIBC.mallopt(parameter, value)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def trim_heap() -> None:
    """Give free pages between used ones back too, which takes a millisecond."""
    if hasattr(_LIBC, "malloc_trim"):
        _LIBC.malloc_trim(0)
