# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The lines of addr2line, made from columns and from names that are already bytes."""

from typing import Any

import cython
from cython.cimports.libc.string import memcpy

from undwarf.buffers import zeros

NONE = cython.declare(cython.uint, 0xFFFFFFFF)

FUNCTIONS = cython.declare(cython.uint, 1)
INLINES = cython.declare(cython.uint, 2)
ADDRESSES = cython.declare(cython.uint, 4)
PRETTY = cython.declare(cython.uint, 8)

ROOM = cython.declare(cython.Py_ssize_t, 96)
"""Bytes that a line takes at most beside its two names."""


PIECE = cython.declare(cython.Py_ssize_t, 1 << 18)
"""Text is handed over when there is this much of it."""


@cython.cclass
class Addr2lineText:
    """Appends lines to a buffer. ``mode`` is a sum of the constants above; the names are (bytes, offsets I) pairs."""

    out = cython.declare("unsigned char[::1]")
    used: cython.Py_ssize_t
    mode: cython.uint
    digits: cython.int
    next: cython.Py_ssize_t
    reversed = cython.declare("unsigned char[24]")
    names = cython.declare("const unsigned char[::1]")
    name_ends = cython.declare("const unsigned int[::1]")
    files = cython.declare("const unsigned char[::1]")
    file_ends = cython.declare("const unsigned int[::1]")
    symbols = cython.declare("const unsigned char[::1]")
    symbol_ends = cython.declare("const unsigned int[::1]")

    def __init__(self, mode: int, digits: int, names: Any, files: Any, symbols: Any) -> None:
        self.out = zeros("B", 1 << 16)
        self.used = 0
        self.next = 0
        self.mode = mode
        self.digits = digits
        self.names, self.name_ends = names[0] + b"\0", names[1]
        self.files, self.file_ends = files[0] + b"\0", files[1]
        self.symbols, self.symbol_ends = symbols[0] + b"\0", symbols[1]

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(new="unsigned char[::1]", old="unsigned char[::1]", size="Py_ssize_t")
    def room(self, count: cython.Py_ssize_t) -> cython.int:
        """Have room for ``count`` more bytes."""
        size = self.out.shape[0]
        if self.used + count > size:
            while size < self.used + count:
                size *= 2
            old = self.out
            new = zeros("B", size)
            new[: self.used] = old[: self.used]
            self.out = new
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def put(self, text: bytes) -> cython.int:
        """Append a few bytes."""
        byte: cython.uchar
        self.room(len(text))
        for byte in text:
            self.out[self.used] = byte
            self.used += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        text="const unsigned char[::1]", ends="const unsigned int[::1]", start="Py_ssize_t", size="Py_ssize_t"
    )
    def name(self, packed: Any, offsets: Any, number: cython.Py_ssize_t) -> cython.int:
        """Append a name, ?? if it is empty."""
        text, ends = packed, offsets
        start = ends[number]
        size = cython.cast("Py_ssize_t", ends[number + 1]) - start
        if size <= 0 or start + size > text.shape[0]:
            return self.put(b"??")
        self.room(size + ROOM)
        # Both ends were checked just above; neither buffer is empty.
        memcpy(
            cython.cast("char *", cython.address(self.out[0])) + self.used,
            cython.cast("const char *", cython.address(text[0])) + start,
            size,
        )
        self.used += size
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def number(self, value: cython.uint) -> cython.int:
        """Append a decimal number."""
        count: cython.int = 0
        while True:
            self.reversed[count] = cython.cast(cython.uchar, 48 + value % 10)
            value //= 10
            count += 1
            if value == 0:
                break
        self.room(count)
        while count > 0:
            count -= 1
            self.out[self.used] = self.reversed[count]
            self.used += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def address(self, value: cython.ulonglong) -> cython.int:
        """Append an address as 0x and all its digits."""
        k: cython.int = self.digits
        digit: cython.int
        self.put(b"0x")
        self.room(k)
        while k > 0:
            k -= 1
            digit = cython.cast(cython.int, value >> (4 * k) & 15)
            self.out[self.used] = cython.cast(cython.uchar, 48 + digit if digit < 10 else 87 + digit)
            self.used += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def place(self, file: cython.uint, line: cython.uint) -> cython.int:
        """Append file and line."""
        if file == NONE:
            return self.put(b"??:0")
        self.name(self.files, self.file_ends, file)
        self.put(b":")
        if line:
            return self.number(line)
        return self.put(b"?")

    @cython.locals(
        wanted="const unsigned long long[::1]",
        symbol="const unsigned int[::1]",
        first="const unsigned int[::1]",
        name="const unsigned int[::1]",
        file="const unsigned int[::1]",
        line="const unsigned int[::1]",
        i="Py_ssize_t",
        k="Py_ssize_t",
        begin="Py_ssize_t",
        end="Py_ssize_t",
        last="Py_ssize_t",
        has="bint",
    )
    def render(self, addresses: Any, symbol_of: Any, chains: Any) -> Any:
        """Lines of a column of addresses (Q), with the symbol of each (I) and their chains: some, none at the end."""
        wanted, symbol = addresses, symbol_of
        first, name, file, line = chains.first, chains.name, chains.file, chains.line
        self.used = 0
        i = self.next
        while i < wanted.shape[0] and self.used < PIECE:
            begin, end = first[i], first[i + 1]
            if self.mode & ADDRESSES:
                self.address(wanted[i])
                self.put(b": " if self.mode & PRETTY else b"\n")
            last = end - 1
            if not self.mode & INLINES and end > begin:
                end = begin + 1
            k = begin
            while True:
                has = k < end
                if self.mode & PRETTY and k > begin:
                    self.put(b" (inlined by) ")
                if self.mode & FUNCTIONS:
                    # The symbol is what code is called; debugging information may name what it was made of.
                    if (not has or k == last) and self.symbol_ends[symbol[i] + 1] > self.symbol_ends[symbol[i]]:
                        self.name(self.symbols, self.symbol_ends, symbol[i])
                    elif has and name[k] != NONE:
                        self.name(self.names, self.name_ends, name[k])
                    else:
                        self.put(b"??")
                    self.put(b" at " if self.mode & PRETTY else b"\n")
                self.place(file[k] if has else NONE, line[k] if has else 0)
                self.put(b"\n")
                k += 1
                if k >= end:
                    break
            i += 1
        self.next = i
        return memoryview(self.out)[: self.used]
