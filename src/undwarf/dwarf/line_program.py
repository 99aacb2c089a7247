# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Runs line number programs: addresses to source lines.

Source: DWARF 5, section 6.2; DWARF 2 to 4 for the older headers.
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import forms
from cython.cimports.undwarf.dwarf import line_instructions as instructions
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.dwarf.reader_constants import DWARF64_LENGTH, RESERVED_LENGTH
from cython.cimports.undwarf.dwarf.value_classes import LINE_STRP, STRING, STRP, STRP_ALT, STRX
from cython.cimports.undwarf.elf.integers import integer_at
from cython.cimports.undwarf.integer_constants import LOW_HALF, NOTHING

from undwarf.column import doubled, zeros

MAX_ENTRIES = cython.declare(cython.Py_ssize_t, 1 << 20)
"""Maximum directories or files of a table."""


@cython.final
@cython.cclass
class LineProgram:
    """One line number program of `.debug_line`, run by the constructor.

    :meth:`rows` are its line table; a row holds up to the address of the next one, and file 0xffffffff ends a sequence.
    :meth:`strings` are its directories and files: numbers of files begin at 0 in version 5, before that at 1.
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
    # From the header: sizes of an address and of the shortest instruction, operations per instruction, parameters of
    # special opcodes, number of operands of standard ones.
    address_size: cython.int
    least: cython.ulonglong
    operations: cython.ulonglong
    line_base: cython.int
    line_range: cython.int
    opcode_base: cython.int
    operands = cython.declare("unsigned char[::1]")
    # The registers of the state machine, and the first row of the current sequence.
    address: cython.ulonglong
    index: cython.ulonglong
    file: cython.uint
    line: cython.uint
    column: cython.uint
    first: cython.Py_ssize_t

    def __init__(
        self, data: Any, offset: int, address_size: int, *, big: bool = False, code: Any = None, max_rows: int = 1 << 26
    ) -> None:
        """Read the program at ``offset``. ``code`` (Q) has start and end of each segment of code: the linker discarded
        the sequences outside of them. Without it all are kept."""
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
        """The integer of ``size`` bytes at ``at``, which moves past the end if there are fewer."""
        value: cython.ulonglong
        if size > self.end - self.at or self.at < 0:
            self.at = self.end + 1
            return 0
        value = integer_at(self.data, self.at, size, self.big)
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
            self.string_class = doubled(self.string_class, n)
            self.string_value = doubled(self.string_value, n)
            self.string_directory = doubled(self.string_directory, n)
        self.string_class[n] = kind
        self.string_value[n] = value
        self.string_directory[n] = cython.cast("unsigned int", directory if directory < NOTHING else NOTHING)
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
        """Step over a value of a version 5 entry, keeping a string's class and place, or a number. An unknown form
        moves ``at`` past the end."""
        size: cython.ulonglong = 0
        self.entry_class = 0
        self.entry_value = 0
        if form == forms.STRING:
            self.entry_class = STRING
            self.entry_value = self.at
            while self.at < self.end and self.data[self.at] != 0:
                self.at += 1
            self.at += 1
        elif form == forms.STRP or form == forms.LINE_STRP or form == forms.STRP_SUP:
            self.entry_class = STRP if form == forms.STRP else LINE_STRP if form == forms.LINE_STRP else STRP_ALT
            self.entry_value = self.fixed(self.width)
        elif form == forms.STRX:
            self.entry_class = STRX
            self.entry_value = self.leb(False)
        elif forms.STRX1 <= form <= forms.STRX4:
            self.entry_class = STRX
            self.entry_value = self.fixed(cython.cast(cython.int, form) - forms.STRX1 + 1)
        elif form == forms.UDATA:
            self.entry_value = self.leb(False)
        elif form == forms.DATA1:
            self.entry_value = self.fixed(1)
        elif form == forms.DATA2:
            self.entry_value = self.fixed(2)
        elif form == forms.DATA4:
            self.entry_value = self.fixed(4)
        elif form == forms.DATA8:
            self.entry_value = self.fixed(8)
        else:
            if form == forms.DATA16:
                size = 16
            elif form == forms.BLOCK:
                size = self.leb(False)
            elif form == forms.BLOCK1:
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
        formats: cython.Py_ssize_t = cython.cast("Py_ssize_t", self.fixed(1))
        kinds = zeros("Q", 2 * formats + 2)
        for k in range(2 * formats):
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
            for k in range(formats):
                self._value(kinds[2 * k + 1])
                if kinds[2 * k] == instructions.PATH:
                    kind = self.entry_class
                    value = self.entry_value
                elif kinds[2 * k] == instructions.DIRECTORY_INDEX:
                    directory = self.entry_value
            if self.at > self.end or formats == 0:
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
            self.row_address = doubled(self.row_address, n)
            self.row_file = doubled(self.row_file, n)
            self.row_line = doubled(self.row_line, n)
            self.row_column = doubled(self.row_column, n)
        self.row_address[n] = address
        self.row_file[n] = file
        self.row_line[n] = line
        self.row_column[n] = column
        self.row_total += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def end_sequence(self, first: cython.Py_ssize_t) -> cython.int:
        """End the sequence of the rows from ``first`` on; drop it if the linker discarded its code."""
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
            self.sequence_start = doubled(self.sequence_start, n)
            self.sequence_first = doubled(self.sequence_first, n)
            self.sequence_end = doubled(self.sequence_end, n)
        self.sequence_start[n] = start
        self.sequence_first[n] = first
        self.sequence_end[n] = self.row_total
        self.sequence_total += 1
        return 0

    # -- the header ---------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-1)
    def _read(self, offset: cython.Py_ssize_t, address_size: cython.int) -> cython.int:
        """Read header and program, up to the first damage."""
        if self._find_end(offset) and self._read_header(address_size):
            self._run()
        else:
            self.damaged += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _find_end(self, offset: cython.Py_ssize_t) -> cython.int:
        """Read the unit length, which gives the end of the table; 0 if there is no table."""
        length: cython.ulonglong
        n: cython.Py_ssize_t = self.data.shape[0]
        self.end = n
        self.at = offset
        if offset < 0 or offset >= n:
            return 0
        length = self.fixed(4)
        if length == DWARF64_LENGTH:
            length = self.fixed(8)
            self.width = 8
        elif length >= RESERVED_LENGTH:
            return 0
        if self.at > n or length > cython.cast(cython.ulonglong, n - self.at):
            self.damaged += 1
            length = n - self.at if self.at < n else 0
        self.end = self.at + cython.cast("Py_ssize_t", length)
        return 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _read_header(self, address_size: cython.int) -> cython.int:
        """Read the header, up to the first instruction; 0 if it is invalid."""
        length: cython.ulonglong
        start: cython.Py_ssize_t
        end: cython.Py_ssize_t = self.end
        k: cython.int
        self.version = cython.cast(cython.int, self.fixed(2))
        if self.version < 2 or self.version > 5:
            return 0
        self.address_size = address_size
        if self.version == 5:
            self.address_size = cython.cast(cython.int, self.fixed(1))
            self.fixed(1)
        length = self.fixed(self.width)
        start = self.at
        self.least = self.fixed(1)
        self.operations = self.fixed(1) if self.version >= 4 else 1
        if self.operations == 0:
            self.operations = 1
        self.fixed(1)
        self.line_base = cython.cast(cython.int, self.fixed(1))
        if self.line_base > 127:
            self.line_base -= 256
        self.line_range = cython.cast(cython.int, self.fixed(1))
        self.opcode_base = cython.cast(cython.int, self.fixed(1))
        self.operands = zeros("B", 256)
        for k in range(1, self.opcode_base):
            self.operands[k] = cython.cast("unsigned char", self.fixed(1))
        if self.at > end or length > cython.cast(cython.ulonglong, end - start):
            return 0
        self.end = start + cython.cast("Py_ssize_t", length)
        if self.version >= 5:
            self._new_strings()
            self.directory_count = self.string_total
            self._new_strings()
        else:
            self._old_strings(False)
            self.directory_count = self.string_total
            self._old_strings(True)
        self.at = self.end
        self.end = end
        # Only programs without special opcodes could do without a range; nothing writes them.
        return self.line_range != 0

    # -- the program --------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.cdivision(True)
    def _run(self) -> cython.int:
        """Run the program. Divisors, here and in the methods it calls, are above zero: the header was checked."""
        op: cython.int
        # A row takes two bytes or more in most programs.
        n: cython.Py_ssize_t = min((self.end - self.at) // 2 + 16, self.row_limit)
        self.row_address, self.row_file = zeros("Q", n), zeros("I", n)
        self.row_line, self.row_column = zeros("I", n), zeros("I", n)
        self._start_sequence()
        while self.at < self.end:
            op = self.data[self.at]
            self.at += 1
            if op >= self.opcode_base:
                op -= self.opcode_base
                self._advance(op // self.line_range)
                self.line += cython.cast(cython.uint, self.line_base + op % self.line_range)
                self.add_row(self.address, self.file, self.line, self.column)
            elif op != instructions.EXTENDED:
                self._step(op)
            elif not self._extended_step():
                self.damaged += 1
                break
            if self.row_total >= self.row_limit:
                self.damaged += 1
                break
        # Without an end_sequence the end of the last row is unknown.
        self.row_total = self.first
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _start_sequence(self) -> cython.int:
        """Set the registers to their values at the start of a sequence."""
        self.first = self.row_total
        self.address = self.index = 0
        self.file = self.line = 1
        self.column = 0
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def _advance(self, advance: cython.ulonglong) -> cython.int:
        """Advance by operations; a VLIW instruction holds several."""
        if self.operations == 1:
            self.address += self.least * advance
        else:
            self.address += self.least * ((self.index + advance) // self.operations)
            self.index = (self.index + advance) % self.operations
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    @cython.cdivision(True)
    def _step(self, op: cython.int) -> cython.int:
        """Run a standard instruction."""
        _k: cython.int
        if op == instructions.COPY:
            self.add_row(self.address, self.file, self.line, self.column)
        elif op == instructions.ADVANCE_PC:
            self._advance(self.leb(False))
        elif op == instructions.ADVANCE_LINE:
            self.line += cython.cast(cython.uint, self.leb(True) & LOW_HALF)
        elif op == instructions.SET_FILE:
            self.file = cython.cast(cython.uint, self.leb(False) & LOW_HALF)
        elif op == instructions.SET_COLUMN:
            self.column = cython.cast(cython.uint, self.leb(False) & LOW_HALF)
        elif op == instructions.CONST_ADD_PC:
            self._advance((255 - self.opcode_base) // self.line_range)
        elif op == instructions.FIXED_ADVANCE_PC:
            self.address += self.fixed(2)
            self.index = 0
        elif not (
            op == instructions.NEGATE_STMT
            or op == instructions.SET_BASIC_BLOCK
            or op == instructions.SET_PROLOGUE_END
            or op == instructions.SET_EPILOGUE_BEGIN
        ):
            # DW_LNS_set_isa, and instructions of the future: the header says how many numbers follow.
            for _k in range(self.operands[op]):
                self.leb(False)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _extended_step(self) -> cython.int:
        """Run an extended instruction; 0 if its length is invalid."""
        op: cython.int
        stop: cython.Py_ssize_t
        start: cython.Py_ssize_t
        size: cython.ulonglong = self.leb(False)
        if self.at >= self.end or size == 0 or size > cython.cast(cython.ulonglong, self.end - self.at):
            return 0
        stop = self.at + cython.cast("Py_ssize_t", size)
        op = self.data[self.at]
        self.at += 1
        if op == instructions.END_SEQUENCE:
            self.add_row(self.address, NOTHING, 0, 0)
            self.end_sequence(self.first)
            self._start_sequence()
        elif op == instructions.SET_ADDRESS:
            # The operand's own size counts: assemblers disagree with headers about addresses.
            self.address = self.fixed(cython.cast(cython.int, size - 1) if size <= 9 else self.address_size)
            self.index = 0
        elif op == instructions.DEFINE_FILE and self.version < 5:
            start = self.at
            while self.at < stop and self.data[self.at] != 0:
                self.at += 1
            self.at += 1
            if self.string_total < MAX_ENTRIES:
                self.add_string(STRING, start, self.leb(False))
        self.at = stop
        return 1

    # -- rows ---------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        addresses="unsigned long long[::1]",
        files="unsigned int[::1]",
        lines="unsigned int[::1]",
        columns="unsigned int[::1]",
    )
    def _sort(self) -> cython.int:
        """Sort sequences by address; one that overlaps an earlier one begins where that ends."""
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
                    # Addresses decrease within a sequence: damage, or a compiler that does not end sequences.
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
        """The columns ``address`` (Q, ascending), ``file``, ``line`` and ``column`` (I)."""
        return {
            "address": memoryview(self.row_address),
            "file": memoryview(self.row_file),
            "line": memoryview(self.row_line),
            "column": memoryview(self.row_column),
        }

    def strings(self) -> Any:
        """(classes B, values Q, directories I) of strings: first ``directory_count`` directories, then files."""
        return (
            memoryview(self.string_class)[: self.string_total],
            memoryview(self.string_value)[: self.string_total],
            memoryview(self.string_directory)[: self.string_total],
        )
