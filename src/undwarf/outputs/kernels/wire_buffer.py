# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""A growing buffer of Protocol Buffers fields.

Source: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from typing import Any

import cython
from cython.cimports.libc.string import memcpy

from undwarf.column import with_room, zeros


@cython.final
@cython.cclass
class Wire:
    """A growing buffer."""

    out: Any

    def __init__(self, size: int) -> None:
        self.out = zeros("B", size)
        self.used = 0

    @cython.cfunc
    @cython.exceptval(-1)
    def grow(self, wanted: cython.Py_ssize_t) -> cython.int:
        """Grow to at least ``wanted`` bytes."""
        self.out = with_room(self.out, self.used, wanted)
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def reserve(self, count: cython.Py_ssize_t) -> cython.int:
        """Reserve ``count`` more bytes."""
        if self.used + count > self.out.shape[0]:
            self.grow(self.used + count)
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def varint(self, value: cython.ulonglong) -> cython.int:
        """Append a variable-length number of at most 10 bytes, which must be reserved."""
        while value > 127:
            self.out[self.used] = cython.cast("unsigned char", (value & 127) | 128)
            self.used += 1
            value >>= 7
        self.out[self.used] = cython.cast("unsigned char", value)
        self.used += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def fixed64(self, value: cython.ulonglong) -> cython.int:
        """Append a number of 8 bytes, which must be reserved."""
        _count: cython.int
        for _count in range(8):
            self.out[self.used] = cython.cast("unsigned char", value & 255)
            self.used += 1
            value >>= 8
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char[::1]")
    def copy(self, data: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Append a part of a buffer."""
        if start < 0 or end < start or end > data.shape[0]:
            raise IndexError("wire")
        if end == start:
            return 0
        self.reserve(end - start)
        # Both ends were checked just above.
        memcpy(
            cython.cast("char *", cython.address(self.out[0])) + self.used,
            cython.cast("const char *", cython.address(data[0])) + start,
            end - start,
        )
        self.used += end - start
        return 0
