# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Values of the counters that samples read."""

import os
from typing import Any

import cython

from undwarf.column import zeros


@cython.final
@cython.cclass
class ReadCounters:
    """The last value of each counter; counters of inherited events are per thread."""

    _ids: Any

    def __init__(self) -> None:
        self._ids = zeros("Q", 64)
        self._threads = zeros("I", 64)
        self._values = zeros("Q", 64)
        self._used = 0
        # A random odd factor, so that no file can be written whose ids all collide.
        self._factor = int.from_bytes(os.urandom(8), "little") | 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def increase(self, identifier: cython.ulonglong, thread: cython.uint, value: cython.ulonglong) -> cython.ulonglong:
        """The increase of a counter since it was last read."""
        slot: cython.Py_ssize_t
        before: cython.ulonglong
        if 2 * (self._used + 1) > self._ids.shape[0]:
            with cython.gil:
                self._grow()
        slot = self._slot(identifier, thread)
        if self._ids[slot] == 0:
            self._ids[slot] = identifier
            self._threads[slot] = thread
            self._used += 1
        before = self._values[slot]
        self._values[slot] = value
        return value - before

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _slot(self, identifier: cython.ulonglong, thread: cython.uint) -> cython.Py_ssize_t:
        """The slot of a counter, or a free one (id 0)."""
        mask: cython.ulonglong = self._ids.shape[0] - 1
        slot: cython.ulonglong = ((identifier + thread * self._factor) * self._factor) >> 20 & mask
        while self._ids[slot] != 0 and not (self._ids[slot] == identifier and self._threads[slot] == thread):
            slot = (slot + 1) & mask
        return slot

    @cython.cfunc
    @cython.locals(
        ids="unsigned long long[::1]", threads="unsigned int[::1]", values="unsigned long long[::1]", slot="Py_ssize_t"
    )
    def _grow(self) -> cython.int:
        """Double the table."""
        ids = self._ids
        threads = self._threads
        values = self._values
        size: cython.Py_ssize_t = ids.shape[0]
        self._ids = zeros("Q", 2 * size)
        self._threads = zeros("I", 2 * size)
        self._values = zeros("Q", 2 * size)
        i: cython.Py_ssize_t
        for i in range(size):
            if ids[i] != 0:
                slot = self._slot(ids[i], threads[i])
                self._ids[slot] = ids[i]
                self._threads[slot] = threads[i]
                self._values[slot] = values[i]
        return 0
