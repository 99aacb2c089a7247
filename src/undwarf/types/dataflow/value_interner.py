# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Interned abstract values (five integers each, see `undwarf.types.dataflow.abstract_values`) and caches keyed by their
ids.

Id 0 is the unknown value.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO
from cython.cimports.undwarf.types.dataflow.constants import LARGEST, NOTHING, NOWHERE, NUMBER, POISON

from undwarf.column import longer, zeros

MOST_VALUES = cython.declare(cython.Py_ssize_t, 4 << 20)
"""Values that are told apart; past them all new ones are unknown."""


@cython.cclass
class IdMap:
    """Hash map from non-zero 64-bit keys to ids."""

    def __init__(self, size: cython.Py_ssize_t) -> None:
        """Initial capacity ``size``, a power of two."""
        self.keys = zeros("Q", size)
        self.numbers = zeros("i", size)
        self.mask = size - 1
        self.used = 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-2)
    def find(self, key: cython.ulonglong) -> cython.int:
        """The id of a key; -1 if there is none."""
        at: cython.ulonglong = (key * GOLDEN_RATIO) >> 32 & self.mask
        while self.keys[at]:
            if self.keys[at] == key:
                return cython.cast(cython.int, self.numbers[at])
            at = (at + 1) & self.mask
        return -1

    @cython.cfunc
    @cython.exceptval(-1)
    def put(self, key: cython.ulonglong, number: cython.int) -> cython.int:
        """Add a key that is not present."""
        at: cython.ulonglong = (key * GOLDEN_RATIO) >> 32 & self.mask
        while self.keys[at]:
            at = (at + 1) & self.mask
        self.keys[at] = key
        self.numbers[at] = number
        self.used += 1
        if 2 * self.used > len(self.keys):
            self._spread()
        return 0

    def _spread(self) -> None:
        keys = cython.declare("unsigned long long[::1]", self.keys)
        numbers = cython.declare("int[::1]", self.numbers)
        k: cython.Py_ssize_t
        self.keys = zeros("Q", 4 * len(keys))
        self.numbers = zeros("i", 4 * len(keys))
        self.mask = 4 * len(keys) - 1
        self.used = 0
        for k in range(len(keys)):
            if keys[k]:
                self.put(keys[k], numbers[k])


@cython.cclass
class ValueInterner:
    """Values by id, each stored once: (base, type, step, symbol, offset)."""

    def __init__(self) -> None:
        self.parts = zeros("q", 5 * 1024)
        self.index = zeros("i", 4096)
        self.mask = 4095
        self.count = 1
        self.joined = IdMap(256)
        self.loaded = IdMap(256)
        self.reconciled = IdMap(256)
        self.indexed = IdMap(64)
        self.data = IdMap(64)
        self.sizes = IdMap(64)
        self.held = IdMap(256)
        self.called: dict[int, Any] = {}
        self.changed: dict[int, Any] = {}
        self.taken: dict[int, Any] = {}
        self.pointers: dict[int, dict[int, int]] = {}
        self.rooms: dict[int, dict[int, int]] = {}
        self.stack_rooms: dict[int, tuple[tuple[int, int], ...]] = {}
        self.pool: Any = None
        self.intern(NUMBER, 0, 1, 0, 0)
        self.intern(NUMBER, 0, 0, 0, 0)
        self.intern(POISON, 0, 1, 0, 0)
        self.intern(NUMBER, 1, 1, 0, 0)

    def lend_pool(self) -> Any:
        """A reusable buffer for the states of a function's blocks."""
        lent = self.pool
        self.pool = None
        return zeros("i", 1 << 16) if lent is None else lent

    def take_pool(self, pool: Any) -> None:
        """Return the buffer, which may have been replaced by a larger one."""
        self.pool = pool

    @cython.cfunc
    @cython.exceptval(-1)
    def intern(
        self,
        base: cython.longlong,
        t: cython.longlong,
        step: cython.longlong,
        symbol: cython.longlong,
        offset: cython.longlong,
    ) -> cython.int:
        """The id of a value; if its offset or step is out of range, of one with only the base."""
        if offset >= LARGEST or offset <= -LARGEST or step >= LARGEST or step <= -LARGEST:
            if base == POISON:
                return NOWHERE
            step, symbol, offset = 1, 0, 0
        mixed: cython.ulonglong = cython.cast(cython.ulonglong, offset) * GOLDEN_RATIO
        mixed = (mixed ^ (mixed >> 31) ^ cython.cast(cython.ulonglong, base)) + cython.cast(cython.ulonglong, t) * 31
        mixed = (mixed + cython.cast(cython.ulonglong, symbol)) * GOLDEN_RATIO + cython.cast(cython.ulonglong, step)
        at: cython.ulonglong = ((mixed ^ (mixed >> 29)) * GOLDEN_RATIO) >> 17 & self.mask
        number: cython.int
        k: cython.Py_ssize_t
        while self.index[at]:
            number = self.index[at]
            k = 5 * number
            if (
                self.parts[k + 4] == offset
                and self.parts[k + 1] == t
                and self.parts[k] == base
                and self.parts[k + 2] == step
                and self.parts[k + 3] == symbol
            ):
                return number
            at = (at + 1) & self.mask
        if self.count >= MOST_VALUES:
            return NOTHING
        number = self.count
        k = 5 * self.count
        if k + 5 > len(self.parts):
            self.parts = longer(self.parts, len(self.parts), 2 * len(self.parts))
        self.parts[k] = base
        self.parts[k + 1] = t
        self.parts[k + 2] = step
        self.parts[k + 3] = symbol
        self.parts[k + 4] = offset
        self.index[at] = number
        self.count += 1
        if 2 * self.count > len(self.index):
            self._spread()
        return number

    def _spread(self) -> None:
        """Enlarge the index."""
        old = memoryview(self.parts)
        count = self.count
        size = 4 * len(self.index)
        self.index = zeros("i", size)
        self.mask = size - 1
        self.parts = zeros("q", len(old))
        self.count = 1
        k: cython.Py_ssize_t
        column = cython.declare("long long[::1]", old)
        for k in range(1, count):
            self.intern(column[5 * k], column[5 * k + 1], column[5 * k + 2], column[5 * k + 3], column[5 * k + 4])

    def number(self, value: Any) -> cython.int:
        """The id of a value given as a tuple; 0 for None."""
        if value is None:
            return NOTHING
        base, t, step, symbol, offset = value
        if not -(1 << 62) < offset < 1 << 62 or not -(1 << 62) < step < 1 << 62:
            step, symbol, offset = 1, 0, 0
        return self.intern(base, t, step, symbol, offset)

    def of(self, number: cython.Py_ssize_t) -> "tuple[int, int, int, int, int] | None":
        """The value of an id as a tuple; None for 0."""
        if number <= 0 or number >= self.count:
            return None
        at: cython.Py_ssize_t = 5 * number
        return self.parts[at], self.parts[at + 1], self.parts[at + 2], self.parts[at + 3], self.parts[at + 4]


@cython.cclass
class FunctionCaches:
    """Caches that are valid for one function only, as in :class:`ValueInterner`."""

    def __init__(self) -> None:
        self.loaded = IdMap(32)
        self.reconciled = IdMap(32)
