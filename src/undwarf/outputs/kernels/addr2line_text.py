# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Formats the lines of addr2line from columns and encoded names."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.outputs.text_sizes import CHUNK

from undwarf.column import zeros
from undwarf.outputs.kernels.text_buffer import Names, Text

FUNCTIONS = cython.declare(cython.uint, 1)
INLINES = cython.declare(cython.uint, 2)
ADDRESSES = cython.declare(cython.uint, 4)
PRETTY = cython.declare(cython.uint, 8)

MOST_BYTES = cython.declare(cython.Py_ssize_t, 96)
"""Bytes of a line without its two names."""


INLINED_BY = b" (inlined by) "


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
    """The hexadecimal numbers in a text, with or without 0x, as a column (Q); if a word is no number, that word."""
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


@cython.final
@cython.cclass
class Addr2lineText:
    """Formats lines. ``mode`` is a sum of the constants above; names are (bytes, offsets (I)) pairs."""

    text: Text
    mode: cython.uint
    digits: cython.int
    mask: cython.ulonglong
    next: cython.Py_ssize_t
    names: Names
    files: Names
    symbols: Names

    def __init__(self, mode: int, digits: int, names: Any, files: Any, symbols: Any) -> None:
        self.text = Text(1 << 16)
        self.next = 0
        self.mode = mode
        self.digits = digits
        # 32-bit files have addresses of 8 digits, even for larger arguments.
        self.mask = (1 << 4 * digits) - 1
        self.names = Names(*names)
        self.files = Names(*files)
        self.symbols = Names(*symbols)

    @cython.cfunc
    @cython.exceptval(-1)
    def unknown(self) -> cython.int:
        """Append ??, and reserve a line."""
        self.text.reserve(MOST_BYTES)
        self.text.put(63)
        self.text.put(63)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def name(self, names: Names, number: cython.Py_ssize_t) -> cython.int:
        """Append a name, ?? if it is empty, and reserve a line."""
        if names.ends[number + 1] <= names.ends[number]:
            return self.unknown()
        return self.text.name(names, number, 0)

    @cython.cfunc
    @cython.exceptval(-1)
    def place(self, file: cython.uint, line: cython.uint) -> cython.int:
        """Append file and line."""
        if file == NOTHING:
            self.unknown()
            self.text.put(58)
            self.text.put(48)
            return 0
        self.name(self.files, file)
        self.text.put(58)
        if line:
            return self.text.number(line, 0, 32)
        return self.text.put(63)

    @cython.cfunc
    @cython.exceptval(-1)
    def separate(self, first: cython.uchar, second: cython.uchar) -> cython.int:
        """Append a newline, or in pretty lines one or two other characters (0 for none)."""
        if not self.mode & PRETTY:
            return self.text.put(10)
        self.text.put(first)
        return self.text.put(second) if second else 0

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
        text=Text,
    )
    def render(self, addresses: Any, symbol_of: Any, chains: Any) -> Any:
        """The next lines of a column of addresses (Q) with their symbols (I) and inline chains; empty at the end."""
        wanted, symbol = addresses, symbol_of
        first, name, file, line = chains.first, chains.name, chains.file, chains.line
        text = self.text
        text.used = 0
        i = self.next
        while i < wanted.shape[0] and text.used < CHUNK:
            begin, end = first[i], first[i + 1]
            text.reserve(MOST_BYTES)
            if self.mode & ADDRESSES:
                text.put(48)
                text.put(120)
                text.hexadecimal(wanted[i] & self.mask, self.digits, 48)
                self.separate(58, 32)
            last = end - 1
            if not self.mode & INLINES and end > begin:
                end = begin + 1
            k = begin
            while True:
                has = k < end
                if self.mode & PRETTY and k > begin:
                    for byte in INLINED_BY:
                        text.put(byte)
                if self.mode & FUNCTIONS:
                    # The symbol names the code; debugging information may name the function that it was cloned from.
                    if (not has or k == last) and self.symbols.ends[symbol[i] + 1] > self.symbols.ends[symbol[i]]:
                        self.name(self.symbols, symbol[i])
                    elif has and name[k] != NOTHING:
                        self.name(self.names, name[k])
                    else:
                        self.unknown()
                    if self.mode & PRETTY:
                        text.put(32)
                        text.put(97)
                        text.put(116)
                    self.separate(32, 0)
                self.place(file[k] if has else NOTHING, line[k] if has else 0)
                text.put(10)
                text.reserve(MOST_BYTES)
                k += 1
                if k >= end:
                    break
            i += 1
        self.next = i
        return memoryview(text.out)[: text.used]
