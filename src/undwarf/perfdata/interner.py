# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Interns byte strings: maps each to a number."""

import os
from typing import Any

import cython
from cython.cimports.libc.string import memcmp, memcpy
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO

from undwarf.column import doubled, zeros


@cython.final
@cython.cclass
class Interner:
    """Byte strings numbered in order of first appearance; number 0 is the empty one."""

    _slots: Any
    _hashes: Any
    _arena: Any

    def __init__(self) -> None:
        # Seeded, so that no file can be crafted whose names all collide.
        self._seed = int.from_bytes(os.urandom(8), "little") | 1
        self._slots = zeros("I", 1024)
        self._hashes = zeros("Q", 512)
        self._ends = zeros("Q", 512)
        self._arena = zeros("B", 1 << 17)
        self.count = 1
        self._used = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_full(self) -> cython.bint:
        """Whether one more record's strings might not fit."""
        full: cython.bint = self.count + 2 > self._hashes.shape[0]
        return full or self._used + 65536 > self._arena.shape[0]

    @cython.cfunc
    @cython.locals(slots="unsigned int[::1]")
    def grow(self) -> cython.int:
        """Reserve space for the strings of one more record."""
        if self._used + 65536 > self._arena.shape[0]:
            self._arena = doubled(self._arena, self._used)
        if self.count + 2 > self._hashes.shape[0]:
            size: cython.Py_ssize_t = 2 * self._hashes.shape[0]
            self._hashes = doubled(self._hashes, self.count)
            self._ends = doubled(self._ends, self.count)
            slots = zeros("I", 2 * size)
            mask: cython.ulonglong = 2 * size - 1
            at: cython.ulonglong
            i: cython.Py_ssize_t
            for i in range(1, self.count):
                at = self._hashes[i] & mask
                while slots[at] != 0:
                    at = (at + 1) & mask
                slots[at] = cython.cast(cython.uint, i)
            self._slots = slots
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(text="const unsigned char *")
    def add(self, text: Any, length: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The number of ``length`` bytes at ``text``. There must be space, see ``is_full``."""
        i: cython.Py_ssize_t = 0
        start: cython.Py_ssize_t
        number: cython.Py_ssize_t
        mixed: cython.ulonglong = self._seed ^ cython.cast(cython.ulonglong, length)
        factor: cython.ulonglong = self._seed | 1
        word: cython.ulonglong
        if length == 0:
            return 0
        while i < length:
            word = 0
            if length - i >= 8:
                word = cython.cast("unsigned long long *", text + i)[0]
            else:
                memcpy(cython.address(word), text + i, length - i)
            mixed = (mixed ^ word) * factor
            mixed ^= mixed >> 29
            i += 8
        mixed *= GOLDEN_RATIO
        mixed ^= mixed >> 32
        mask: cython.ulonglong = self._slots.shape[0] - 1
        at: cython.ulonglong = mixed & mask
        while self._slots[at] != 0:
            number = self._slots[at]
            if self._hashes[number] == mixed:
                start = cython.cast(cython.Py_ssize_t, self._ends[number - 1])
                if (
                    cython.cast(cython.Py_ssize_t, self._ends[number]) - start == length
                    and memcmp(cython.address(self._arena[start]), text, length) == 0
                ):
                    return number
            at = (at + 1) & mask
        number = self.count
        # The bounds check of the last byte covers all of them.
        self._arena[self._used + length - 1] = 0
        memcpy(cython.address(self._arena[self._used]), text, length)
        self._used += length
        self._hashes[number] = mixed
        self._ends[number] = self._used
        self._slots[at] = cython.cast(cython.uint, number)
        self.count += 1
        return number

    def entries(self, first: int = 0) -> list[bytes]:
        """The strings by number, from ``first`` on."""
        begin: cython.Py_ssize_t = max(first - 1, 0)
        if first >= self.count:
            return []
        base = int(self._ends[begin])
        data = bytes(self._arena[base : self._used])
        ends = [int(self._ends[i]) - base for i in range(begin, self.count)]
        found = [data[ends[i - 1] : ends[i]] for i in range(1, len(ends))]
        return found if first > 0 else [b"", *found]
