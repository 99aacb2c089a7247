# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""A hash map of integers."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO

from undwarf.column import zeros


@cython.final
@cython.cclass
class IntMap:
    """A hash map from 64-bit keys to 32-bit values, for ids from the input."""

    keys: Any
    values: Any
    used: Any

    def __cinit__(self) -> None:
        self._allocate(64)

    def _allocate(self, size: cython.Py_ssize_t) -> None:
        self.keys = zeros("Q", size)
        self.values = zeros("I", size)
        self.used = zeros("B", size)
        self.mask = size - 1
        self.count = 0

    @cython.locals(
        keys="unsigned long long[::1]",
        values="unsigned int[::1]",
        used="unsigned char[::1]",
        i=cython.Py_ssize_t,
    )
    def _double(self) -> None:
        keys = self.keys
        values = self.values
        used = self.used
        self._allocate(2 * len(keys))
        for i in range(len(keys)):
            if used[i]:
                self.put(keys[i], values[i])

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def slot(self, key: cython.ulonglong) -> cython.Py_ssize_t:
        """The slot of ``key``, or the free one for it."""
        at: cython.ulonglong = ((key ^ (key >> 29)) * GOLDEN_RATIO) >> 17 & self.mask
        while self.used[at] and self.keys[at] != key:
            at = (at + 1) & self.mask
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def get(self, key: cython.ulonglong) -> cython.longlong:
        """The value of ``key``, or -1."""
        at: cython.Py_ssize_t = self.slot(key)
        value: cython.longlong = -1
        if self.used[at]:
            value = self.values[at]
        return value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def put(self, key: cython.ulonglong, value: cython.uint) -> cython.int:
        at: cython.Py_ssize_t
        if 2 * (self.count + 1) > self.keys.shape[0]:
            with cython.gil:
                self._double()
        at = self.slot(key)
        if not self.used[at]:
            self.used[at] = 1
            self.keys[at] = key
            self.count += 1
        self.values[at] = value
        return 0

    @cython.locals(i=cython.Py_ssize_t)
    def all_keys(self) -> list[int]:
        """The keys, in no order."""
        return [self.keys[i] for i in range(self.keys.shape[0]) if self.used[i]]

    @cython.locals(i=cython.Py_ssize_t)
    def without(self, removed: set[int]) -> Any:
        """A map with all entries but those of the keys ``removed``."""
        found: IntMap = IntMap()
        for i in range(self.keys.shape[0]):
            if self.used[i] and self.keys[i] not in removed:
                found.put(self.keys[i], self.values[i])
        return found
