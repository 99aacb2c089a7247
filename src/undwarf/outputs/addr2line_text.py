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


INLINED_BY = b" (inlined by) "

PIECE = cython.declare(cython.Py_ssize_t, 1 << 18)
"""Text is handed over when there is this much of it."""


@cython.locals(
    data="const unsigned char[::1]",
    out="unsigned long long[::1]",
    value="unsigned long long",
    byte="unsigned char",
    digit="unsigned int",
    count="Py_ssize_t",
    at="Py_ssize_t",
    start="Py_ssize_t",
)
def parse_addresses(text: bytes) -> "memoryview | bytes":
    """A column (Q) of the hexadecimal numbers in a text, 0x before them or not; the first word that is none, if any."""
    data = text
    size: cython.Py_ssize_t = len(text)
    result = zeros("Q", size // 2 + 1)
    out = result
    count = at = 0
    while True:
        while at < size and (data[at] == 32 or 9 <= data[at] <= 13):
            at += 1
        if at >= size:
            break
        start = at
        if size - at > 2 and data[at] == 48 and data[at + 1] | 32 == 120 and data[at + 2] > 32:
            at += 2
        value = 0
        while at < size and not (data[at] == 32 or 9 <= data[at] <= 13):
            byte = data[at]
            digit = byte - 48 if byte <= 57 else (byte | 32) - 87
            if not (48 <= byte <= 57 or 97 <= byte | 32 <= 102) or value >> 60:
                while at < size and not (data[at] == 32 or 9 <= data[at] <= 13):
                    at += 1
                return text[start:at]
            value = value << 4 | digit
            at += 1
        out[count] = value
        count += 1
    return result[:count]


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
    @cython.inline
    @cython.exceptval(-1)
    def put(self, byte: cython.uchar) -> cython.int:
        """Append a byte; there must be room."""
        self.out[self.used] = byte
        self.used += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def unknown(self) -> cython.int:
        """Append ??; afterwards there is room for a line without names."""
        self.room(ROOM)
        self.put(63)
        self.put(63)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def copy(self, kind: cython.int, number: cython.Py_ssize_t) -> cython.int:
        """Append a name (kind 0), file (1) or symbol (2), ?? if it is empty; then there is room for a line."""
        start: cython.Py_ssize_t
        size: cython.Py_ssize_t
        limit: cython.Py_ssize_t
        source: cython.p_char
        if kind == 0:
            start = self.name_ends[number]
            size = cython.cast("Py_ssize_t", self.name_ends[number + 1]) - start
            limit = self.names.shape[0]
            source = cython.cast(cython.p_char, cython.address(self.names[0]))
        elif kind == 1:
            start = self.file_ends[number]
            size = cython.cast("Py_ssize_t", self.file_ends[number + 1]) - start
            limit = self.files.shape[0]
            source = cython.cast(cython.p_char, cython.address(self.files[0]))
        else:
            start = self.symbol_ends[number]
            size = cython.cast("Py_ssize_t", self.symbol_ends[number + 1]) - start
            limit = self.symbols.shape[0]
            source = cython.cast(cython.p_char, cython.address(self.symbols[0]))
        if size <= 0 or start + size > limit:
            return self.unknown()
        self.room(size + ROOM)
        # Both ends were checked just above; no buffer is empty.
        memcpy(cython.cast(cython.p_char, cython.address(self.out[0])) + self.used, source + start, size)
        self.used += size
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def number(self, value: cython.uint) -> cython.int:
        """Append a decimal number; there must be room."""
        count: cython.int = 0
        while True:
            self.reversed[count] = cython.cast(cython.uchar, 48 + value % 10)
            value //= 10
            count += 1
            if value == 0:
                break
        while count > 0:
            count -= 1
            self.put(self.reversed[count])
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def address(self, value: cython.ulonglong) -> cython.int:
        """Append an address as 0x and all its digits; there must be room."""
        k: cython.int = self.digits
        digit: cython.int
        self.put(48)
        self.put(120)
        while k > 0:
            k -= 1
            digit = cython.cast(cython.int, value >> (4 * k) & 15)
            self.put(cython.cast(cython.uchar, 48 + digit if digit < 10 else 87 + digit))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def place(self, file: cython.uint, line: cython.uint) -> cython.int:
        """Append file and line."""
        if file == NONE:
            self.unknown()
            self.put(58)
            self.put(48)
            return 0
        self.copy(1, file)
        self.put(58)
        if line:
            return self.number(line)
        return self.put(63)

    @cython.cfunc
    @cython.exceptval(-1)
    def separate(self, first: cython.uchar, second: cython.uchar) -> cython.int:
        """Append a newline, or in pretty lines one or two other characters (0 for none)."""
        if not self.mode & PRETTY:
            return self.put(10)
        self.put(first)
        return self.put(second) if second else 0

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
        byte="unsigned char",
    )
    def render(self, addresses: Any, symbol_of: Any, chains: Any) -> Any:
        """Lines of a column of addresses (Q), with the symbol of each (I) and their chains: some, none at the end."""
        wanted, symbol = addresses, symbol_of
        first, name, file, line = chains.first, chains.name, chains.file, chains.line
        self.used = 0
        i = self.next
        while i < wanted.shape[0] and self.used < PIECE:
            begin, end = first[i], first[i + 1]
            self.room(ROOM)
            if self.mode & ADDRESSES:
                self.address(wanted[i])
                self.separate(58, 32)
            last = end - 1
            if not self.mode & INLINES and end > begin:
                end = begin + 1
            k = begin
            while True:
                has = k < end
                if self.mode & PRETTY and k > begin:
                    for byte in INLINED_BY:
                        self.put(byte)
                if self.mode & FUNCTIONS:
                    # The symbol is what code is called; debugging information may name what it was made of.
                    if (not has or k == last) and self.symbol_ends[symbol[i] + 1] > self.symbol_ends[symbol[i]]:
                        self.copy(2, symbol[i])
                    elif has and name[k] != NONE:
                        self.copy(0, name[k])
                    else:
                        self.unknown()
                    if self.mode & PRETTY:
                        self.put(32)
                        self.put(97)
                        self.put(116)
                    self.separate(32, 0)
                self.place(file[k] if has else NONE, line[k] if has else 0)
                self.put(10)
                self.room(ROOM)
                k += 1
                if k >= end:
                    break
            i += 1
        self.next = i
        return memoryview(self.out)[: self.used]
