# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""A growing byte buffer to which numbers and names are appended."""

from __future__ import annotations

from typing import Any

import cython
from cython.cimports.libc.string import memcpy
from cython.cimports.undwarf.outputs.text_sizes import LINE_BYTES

from undwarf.column import with_room, zeros


@cython.final
@cython.cclass
class Names:
    """Printable names in one buffer ``text``: name i is ``text[ends[i]:ends[i + 1]]`` (``ends``: I)."""

    text: Any
    ends: Any

    def __init__(self, text: bytes, ends: Any) -> None:
        self.text = text + b"\0"
        self.ends = ends


@cython.final
@cython.cclass
class Text:
    """A growing byte buffer."""

    out: Any
    digits: Any

    def __init__(self, size: int) -> None:
        self.out = zeros("B", size)
        self.digits = zeros("B", 24)
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
    def put(self, byte: cython.uchar) -> cython.int:
        """Append a byte, which must be reserved."""
        self.out[self.used] = byte
        self.used += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def blanks(self, count: cython.Py_ssize_t) -> cython.int:
        """Append blanks, which must be reserved."""
        while count > 0:
            self.put(32)
            count -= 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def name(self, names: Names, number: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.int:
        """Append a name, right-aligned to a width, and reserve a line."""
        start: cython.Py_ssize_t = names.ends[number]
        size: cython.Py_ssize_t = cython.cast("Py_ssize_t", names.ends[number + 1]) - start
        if start < 0 or size < 0 or start + size > names.text.shape[0]:
            raise IndexError("name offsets")
        self.reserve(size + width + LINE_BYTES)
        self.blanks(width - size)
        # Both ends were checked just above; the text is never empty.
        memcpy(
            cython.cast("char *", cython.address(self.out[0])) + self.used,
            cython.cast("const char *", cython.address(names.text[0])) + start,
            size,
        )
        self.used += size
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def copy(self, other: Text, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Append a part of another text, and reserve a line."""
        if start < 0 or end < start or end > other.used:
            raise IndexError("text")
        self.reserve(end - start + LINE_BYTES)
        # Both ends were checked just above; neither buffer is empty.
        memcpy(
            cython.cast("char *", cython.address(self.out[0])) + self.used,
            cython.cast("const char *", cython.address(other.out[0])) + start,
            end - start,
        )
        self.used += end - start
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def number(self, value: cython.ulonglong, width: cython.int, fill: cython.uchar) -> cython.int:
        """Append a decimal number, padded on the left to a width."""
        count: cython.int = 0
        while True:
            self.digits[count] = cython.cast(cython.uchar, 48 + value % 10)
            value = value // 10
            count += 1
            if value == 0:
                break
        while width > count:
            self.put(fill)
            width -= 1
        while count > 0:
            count -= 1
            self.put(self.digits[count])
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def signed(self, value: cython.longlong, width: cython.int, left: cython.bint) -> cython.int:
        """Append a signed decimal number (above -10), padded with blanks; ``left``: left-aligned."""
        start: cython.Py_ssize_t = self.used
        if value >= 0:
            self.number(cython.cast(cython.ulonglong, value), 0 if left else width, 32)
        else:
            # Only -1 occurs: a process outside the recorder's pid namespace.
            if not left:
                self.blanks(width - 2)
            self.put(45)
            self.number(cython.cast(cython.ulonglong, -value), 0, 32)
        if left:
            self.blanks(width - (self.used - start))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def hexadecimal(self, value: cython.ulonglong, width: cython.int, fill: cython.uchar) -> cython.int:
        """Append a hexadecimal number, padded on the left to a width."""
        count: cython.int = 1
        digit: cython.int
        while count < 16 and value >> (4 * count) != 0:
            count += 1
        while width > count:
            self.put(fill)
            width -= 1
        while count > 0:
            count -= 1
            digit = cython.cast(cython.int, (value >> (4 * count)) & 15)
            self.put(cython.cast(cython.uchar, 48 + digit if digit < 10 else 87 + digit))
        return 0
