"""Reads the memory of running processes (``/proc/PID/mem``)."""

import os
from contextlib import suppress


def memory_of(pid: int, start: int, end: int) -> bytes:
    """Memory of a running process from ``start`` to ``end``: up to the first unreadable page, empty if it is gone."""
    with suppress(OSError, OverflowError):
        file = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(file, end - start, start)
        finally:
            os.close(file)
    return b""
