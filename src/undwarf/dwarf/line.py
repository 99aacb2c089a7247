# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Line number programs: which source line each address comes from.

Source: DWARF 5, section 6.2; DWARF 2 to 4 for the older headers.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.leb128 import leb128

from undwarf.buffers import longer, zeros

NONE = cython.declare(cython.uint, 0xFFFFFFFF)
ESCAPE = cython.declare(cython.ulonglong, 0xFFFFFFFF)
HIGH = cython.declare(cython.ulonglong, 0xFFFFFFF0)

# How a string is given, as undwarf.dwarf.constants.ValueClass has it.
STRING = cython.declare(cython.uchar, 6)
STRP = cython.declare(cython.uchar, 7)
LINE_STRP = cython.declare(cython.uchar, 8)
STRX = cython.declare(cython.uchar, 9)
STRP_ALT = cython.declare(cython.uchar, 10)

MAX_ENTRIES = cython.declare(cython.Py_ssize_t, 1 << 20)
"""Directories or files of one table."""


@cython.cclass
class LineProgram:
    """One line number program of `.debug_line`, read to the end when it is made.

    ``rows`` are what it says: ``address`` (Q, ascending), ``file`` and ``line`` and ``column`` (I); a row counts up to
    the next one, and file 0xffffffff ends a sequence. ``directories`` and ``files`` are strings as (class B, value Q),
    files with the number of their directory (I). In version 5 numbers begin at 0, before that at 1.
    """

    data = cython.declare("const unsigned char[::1]")
    big: cython.bint
    at: cython.Py_ssize_t
    end: cython.Py_ssize_t
    version = cython.declare(cython.int, visibility="readonly")
    width = cython.declare(cython.int, visibility="readonly")
    damaged = cython.declare(cython.Py_ssize_t, visibility="readonly")
    string_class = cython.declare("unsigned char[::1]")
    string_value = cython.declare("unsigned long long[::1]")
    string_directory = cython.declare("unsigned int[::1]")
    string_total: cython.Py_ssize_t
    directory_count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    row_address = cython.declare("unsigned long long[::1]")
    row_file = cython.declare("unsigned int[::1]")
    row_line = cython.declare("unsigned int[::1]")
    row_column = cython.declare("unsigned int[::1]")
    row_total: cython.Py_ssize_t
    row_limit: cython.Py_ssize_t
    sequence_start = cython.declare("unsigned long long[::1]")
    sequence_first = cython.declare("unsigned long long[::1]")
    sequence_end = cython.declare("unsigned long long[::1]")
    sequence_total: cython.Py_ssize_t
    code = cython.declare("const unsigned long long[::1]")
    entry_class: cython.uchar
    entry_value: cython.ulonglong

    def __init__(
        self, data: Any, offset: int, address_size: int, *, big: bool = False, code: Any = None, max_rows: int = 1 << 26
    ) -> None:
        """Of the table at ``offset``; ``code``, where given, are start and end of all code: what lies outside of it was
        discarded by the linker."""
        self.data = data
        self.big = big
        self.code = code if code is not None else zeros("Q", 0)
        self.damaged = 0
        self.version = 0
        self.width = 4
        self.string_class = zeros("B", 64)
        self.string_value = zeros("Q", 64)
        self.string_directory = zeros("I", 64)
        self.string_total = 0
        self.directory_count = 0
        self.row_address = zeros("Q", 256)
        self.row_file = zeros("I", 256)
        self.row_line = zeros("I", 256)
        self.row_column = zeros("I", 256)
        self.row_total = 0
        self.row_limit = max_rows
        self.sequence_start = zeros("Q", 16)
        self.sequence_first = zeros("Q", 16)
        self.sequence_end = zeros("Q", 16)
        self.sequence_total = 0
        self._read(offset, address_size)
        self._sort()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def fixed(self, size: cython.int) -> cython.ulonglong:
        """The number of ``size`` bytes at ``at``; past the end ``at`` becomes past it."""
        value: cython.ulonglong = 0
        k: cython.int
        if size > self.end - self.at or self.at < 0:
            self.at = self.end + 1
            return 0
        if self.big:
            for k in range(size):
                value = value << 8 | self.data[self.at + k]
        else:
            k = size
            while k > 0:
                k -= 1
                value = value << 8 | self.data[self.at + k]
        self.at += size
        return value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def leb(self, sign: cython.bint) -> cython.ulonglong:
        """The LEB128 number at ``at``, signed ones as their two's complement."""
        return leb128(self.data, cython.address(self.at), self.end, sign)

    @cython.cfunc
    @cython.exceptval(-1)
    def add_string(self, kind: cython.uchar, value: cython.ulonglong, directory: cython.ulonglong) -> cython.int:
        n: cython.Py_ssize_t = self.string_total
        if n == self.string_class.shape[0]:
            self.string_class = _grown(self.string_class, n)
            self.string_value = _grown(self.string_value, n)
            self.string_directory = _grown(self.string_directory, n)
        self.string_class[n] = kind
        self.string_value[n] = value
        self.string_directory[n] = cython.cast("unsigned int", directory if directory < NONE else NONE)
        self.string_total += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _old_strings(self, files: cython.bint) -> cython.int:
        """The list of directories or files of a header before version 5: strings up to an empty one."""
        start: cython.Py_ssize_t
        directory: cython.ulonglong
        while self.at < self.end:
            if self.data[self.at] == 0:
                self.at += 1
                return 0
            start = self.at
            while self.at < self.end and self.data[self.at] != 0:
                self.at += 1
            self.at += 1
            directory = 0
            if files:
                directory = self.leb(False)
                self.leb(False)
                self.leb(False)
            if self.at > self.end or self.string_total > MAX_ENTRIES:
                break
            self.add_string(STRING, start, directory)
        self.damaged += 1
        self.at = self.end + 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _value(self, form: cython.ulonglong) -> cython.int:
        """Step over a value of a version 5 entry, keeping a string's place or a number; past the end if not known."""
        size: cython.ulonglong = 0
        self.entry_class = 0
        self.entry_value = 0
        if form == 0x08:
            self.entry_class = STRING
            self.entry_value = self.at
            while self.at < self.end and self.data[self.at] != 0:
                self.at += 1
            self.at += 1
        elif form == 0x0E or form == 0x1F or form == 0x1D:
            self.entry_class = STRP if form == 0x0E else LINE_STRP if form == 0x1F else STRP_ALT
            self.entry_value = self.fixed(self.width)
        elif form == 0x1A or form == 0x0F:
            self.entry_class = STRX if form == 0x1A else 0
            self.entry_value = self.leb(False)
        elif 0x25 <= form <= 0x28:
            self.entry_class = STRX
            self.entry_value = self.fixed(cython.cast(cython.int, form) - 0x24)
        elif form == 0x0B:
            self.entry_value = self.fixed(1)
        elif form == 0x05:
            self.entry_value = self.fixed(2)
        elif form == 0x06:
            self.entry_value = self.fixed(4)
        elif form == 0x07:
            self.entry_value = self.fixed(8)
        else:
            if form == 0x1E:
                size = 16
            elif form == 0x09:
                size = self.leb(False)
            elif form == 0x0A:
                size = self.fixed(1)
            else:
                self.at = self.end + 1
                return 0
            if self.at > self.end or size > cython.cast(cython.ulonglong, self.end - self.at):
                self.at = self.end + 1
            else:
                self.at += cython.cast("Py_ssize_t", size)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(kinds="unsigned long long[::1]")
    def _new_strings(self) -> cython.int:
        """The list of directories or files of a version 5 header, which describes itself."""
        k: cython.Py_ssize_t
        count: cython.ulonglong
        _i: cython.ulonglong
        directory: cython.ulonglong
        kind: cython.uchar
        value: cython.ulonglong
        forms: cython.Py_ssize_t = cython.cast("Py_ssize_t", self.fixed(1))
        kinds = zeros("Q", 2 * forms + 2)
        for k in range(2 * forms):
            kinds[k] = self.leb(False)
        count = self.leb(False)
        if self.at > self.end or count > cython.cast(cython.ulonglong, MAX_ENTRIES):
            self.damaged += 1
            self.at = self.end + 1
            return 0
        for _i in range(count):
            directory = 0
            kind = 0
            value = 0
            for k in range(forms):
                self._value(kinds[2 * k + 1])
                if kinds[2 * k] == 1:
                    kind = self.entry_class
                    value = self.entry_value
                elif kinds[2 * k] == 2:
                    directory = self.entry_value
            if self.at > self.end or forms == 0:
                self.damaged += 1
                break
            self.add_string(kind, value, directory)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add_row(
        self, address: cython.ulonglong, file: cython.uint, line: cython.uint, column: cython.uint
    ) -> cython.int:
        n: cython.Py_ssize_t = self.row_total
        if n == self.row_address.shape[0]:
            self.row_address = _grown(self.row_address, n)
            self.row_file = _grown(self.row_file, n)
            self.row_line = _grown(self.row_line, n)
            self.row_column = _grown(self.row_column, n)
        self.row_address[n] = address
        self.row_file[n] = file
        self.row_line[n] = line
        self.row_column[n] = column
        self.row_total += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def end_sequence(self, first: cython.Py_ssize_t) -> cython.int:
        """The rows from ``first`` on are a sequence; drop it if the linker dropped its code."""
        n: cython.Py_ssize_t = self.sequence_total
        k: cython.Py_ssize_t
        start: cython.ulonglong
        inside: cython.bint = self.code.shape[0] == 0
        if self.row_total - first < 2:
            self.row_total = first
            return 0
        start = self.row_address[first]
        for k in range(0, self.code.shape[0] - 1, 2):
            if self.code[k] <= start < self.code[k + 1]:
                inside = True
                break
        if not inside:
            self.row_total = first
            return 0
        if n == self.sequence_start.shape[0]:
            self.sequence_start = _grown(self.sequence_start, n)
            self.sequence_first = _grown(self.sequence_first, n)
            self.sequence_end = _grown(self.sequence_end, n)
        self.sequence_start[n] = start
        self.sequence_first[n] = first
        self.sequence_end[n] = self.row_total
        self.sequence_total += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(lengths="unsigned char[::1]")
    def _read(self, offset: cython.Py_ssize_t, address_size: cython.int) -> cython.int:
        length: cython.ulonglong
        header: cython.ulonglong
        start: cython.Py_ssize_t
        least: cython.ulonglong
        operations: cython.ulonglong = 1
        line_base: cython.int
        line_range: cython.int
        opcode_base: cython.int
        op: cython.int
        k: cython.int
        size: cython.ulonglong
        stop: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.data.shape[0]
        # registers of the machine
        address: cython.ulonglong = 0
        index: cython.ulonglong = 0
        advance: cython.ulonglong
        file: cython.uint = 1
        line: cython.uint = 1
        column: cython.uint = 0
        first: cython.Py_ssize_t = 0
        self.end = n
        self.at = offset
        if offset < 0 or offset >= n:
            self.damaged += 1
            return 0
        length = self.fixed(4)
        if length == ESCAPE:
            length = self.fixed(8)
            self.width = 8
        elif length >= HIGH:
            self.damaged += 1
            return 0
        if self.at > n or length > cython.cast(cython.ulonglong, n - self.at):
            self.damaged += 1
            length = n - self.at if self.at < n else 0
        self.end = self.at + cython.cast("Py_ssize_t", length)
        self.version = cython.cast(cython.int, self.fixed(2))
        if self.version < 2 or self.version > 5:
            self.damaged += 1
            return 0
        if self.version == 5:
            address_size = cython.cast(cython.int, self.fixed(1))
            self.fixed(1)
        header = self.fixed(self.width)
        start = self.at
        least = self.fixed(1)
        if self.version >= 4:
            operations = self.fixed(1)
            if operations == 0:
                operations = 1
        self.fixed(1)
        line_base = cython.cast(cython.int, self.fixed(1))
        if line_base > 127:
            line_base -= 256
        line_range = cython.cast(cython.int, self.fixed(1))
        opcode_base = cython.cast(cython.int, self.fixed(1))
        lengths = zeros("B", 256)
        for k in range(1, opcode_base):
            lengths[k] = cython.cast("unsigned char", self.fixed(1))
        if self.at > self.end or header > cython.cast(cython.ulonglong, self.end - start):
            self.damaged += 1
            return 0
        stop = self.end
        self.end = start + cython.cast("Py_ssize_t", header)
        if self.version >= 5:
            self._new_strings()
            self.directory_count = self.string_total
            self._new_strings()
        else:
            self._old_strings(False)
            self.directory_count = self.string_total
            self._old_strings(True)
        self.at = self.end
        self.end = stop
        if line_range == 0:
            # Only programs without special opcodes could do with this; nothing writes them.
            self.damaged += 1
            return 0
        # A row takes two bytes or more in most programs.
        n = min((self.end - self.at) // 2 + 16, self.row_limit)
        self.row_address, self.row_file = zeros("Q", n), zeros("I", n)
        self.row_line, self.row_column = zeros("I", n), zeros("I", n)
        while self.at < self.end:
            op = self.data[self.at]
            self.at += 1
            if op >= opcode_base:
                op -= opcode_base
                advance = op // line_range
                if operations == 1:
                    address += least * advance
                else:
                    address += least * ((index + advance) // operations)
                    index = (index + advance) % operations
                line += cython.cast(cython.uint, line_base + op % line_range)
                self.add_row(address, file, line, column)
            elif op == 0:
                size = self.leb(False)
                if self.at >= self.end or size == 0 or size > cython.cast(cython.ulonglong, self.end - self.at):
                    self.damaged += 1
                    break
                stop = self.at + cython.cast("Py_ssize_t", size)
                op = self.data[self.at]
                self.at += 1
                if op == 1:
                    self.add_row(address, NONE, 0, 0)
                    self.end_sequence(first)
                    first = self.row_total
                    address = 0
                    index = 0
                    file = 1
                    line = 1
                    column = 0
                elif op == 2:
                    # The operand's own size counts: assemblers disagree with headers about addresses.
                    address = self.fixed(cython.cast(cython.int, size - 1) if size <= 9 else address_size)
                    index = 0
                elif op == 3 and self.version < 5:
                    start = self.at
                    while self.at < stop and self.data[self.at] != 0:
                        self.at += 1
                    self.at += 1
                    if self.string_total < MAX_ENTRIES:
                        self.add_string(STRING, start, self.leb(False))
                self.at = stop
            elif op == 1:
                self.add_row(address, file, line, column)
            elif op == 2:
                advance = self.leb(False)
                if operations == 1:
                    address += least * advance
                else:
                    address += least * ((index + advance) // operations)
                    index = (index + advance) % operations
            elif op == 3:
                line += cython.cast(cython.uint, self.leb(True) & ESCAPE)
            elif op == 4:
                file = cython.cast(cython.uint, self.leb(False) & ESCAPE)
            elif op == 5:
                column = cython.cast(cython.uint, self.leb(False) & ESCAPE)
            elif op == 8:
                advance = (255 - opcode_base) // line_range
                if operations == 1:
                    address += least * advance
                else:
                    address += least * ((index + advance) // operations)
                    index = (index + advance) % operations
            elif op == 9:
                address += self.fixed(2)
                index = 0
            elif op == 6 or op == 7 or op == 10 or op == 11:
                pass
            else:
                # DW_LNS_set_isa, and opcodes of the future: the header says how many numbers follow.
                k = lengths[op]
                while k > 0:
                    self.leb(False)
                    k -= 1
            if self.row_total >= self.row_limit:
                self.damaged += 1
                break
        # Rows that no end_sequence closes say nothing about where their last line ends.
        self.row_total = first
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        addresses="unsigned long long[::1]", files="unsigned int[::1]", lines="unsigned int[::1]",
        columns="unsigned int[::1]",
    )  # fmt: skip
    def _sort(self) -> cython.int:
        """Put sequences in the order of their addresses; what overlaps an earlier one begins behind it."""
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        total: cython.Py_ssize_t = 0
        reached: cython.ulonglong = 0
        before: cython.ulonglong
        order = sorted(range(self.sequence_total), key=memoryview(self.sequence_start).__getitem__)
        addresses = zeros("Q", self.row_total)
        files = zeros("I", self.row_total)
        lines = zeros("I", self.row_total)
        columns = zeros("I", self.row_total)
        for number in order:
            k = number
            first = cython.cast("Py_ssize_t", self.sequence_first[k])
            last = cython.cast("Py_ssize_t", self.sequence_end[k])
            before = self.row_address[first]
            for i in range(first, last):
                if self.row_address[i] < before:
                    # Addresses go backwards within a sequence: damage, or what compilers call one sequence.
                    continue
                before = self.row_address[i]
                if before < reached:
                    continue
                if total and addresses[total - 1] == before and total > 0:
                    # Of rows for one address the last counts.
                    total -= 1
                addresses[total] = before
                files[total] = self.row_file[i]
                lines[total] = self.row_line[i]
                columns[total] = self.row_column[i]
                total += 1
            reached = max(reached, before)
        self.row_address = addresses[:total]
        self.row_file = files[:total]
        self.row_line = lines[:total]
        self.row_column = columns[:total]
        self.row_total = total
        return 0

    def rows(self) -> dict[str, memoryview]:
        """The columns ``address``, ``file``, ``line`` and ``column``."""
        return {
            "address": memoryview(self.row_address),
            "file": memoryview(self.row_file),
            "line": memoryview(self.row_line),
            "column": memoryview(self.row_column),
        }

    def strings(self) -> Any:
        """(classes, values, directories) of all strings: first ``directory_count`` directories, then files."""
        return (
            memoryview(self.string_class)[: self.string_total],
            memoryview(self.string_value)[: self.string_total],
            memoryview(self.string_directory)[: self.string_total],
        )


def _grown(column: Any, used: int) -> Any:
    """The column with twice the room."""
    return longer(column, used, 2 * len(column))
