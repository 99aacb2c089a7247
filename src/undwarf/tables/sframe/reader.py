# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""The functions of an SFrame section, and their rows as rules.

Source: the SFrame specification, versions 1 to 3 (binutils, libsframe/doc), and for s390x include/sframe.h.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import HIGH_HALF, LOW_HALF
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.rule_format import NO_RULE
from cython.cimports.undwarf.tables.sframe.header import (
    AARCH64_LITTLE,
    AMD64,
    ATTRIBUTE_SIZE,
    FLEXIBLE,
    FUNC_START_PCREL,
    MASK,
    S390X,
    S390X_BIAS,
    SIGNAL,
)

from undwarf.column import zeros
from undwarf.limits import Limits
from undwarf.tables.row_table import RowProducer, RowTable
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.sframe.header import FDE_SIZES
from undwarf.tables.sframe.rules import SectionRules

EIGHT = cython.declare(cython.ulonglong, 8 << 32)
"""Eight bytes, as the offset in a word of a key."""
PLT_BLOCK = cython.declare(cython.uint, 16)
"""Bytes of a stub in a lazy procedure linkage table."""


@cython.final
@cython.cclass
class SFrameFunctions(RowProducer):
    """The functions of one section.

    ``header`` is its :class:`undwarf.tables.sframe.header.Header`, ``address`` where it is loaded, ``code`` are (start,
    end) of executable memory. ``starts`` and ``ends`` (Q), ``infos``, ``attributes`` and ``blocks`` (B: the function's
    info bytes, and the size of the block in which its rows repeat) are by function in the section's order; ``lowered``
    (B) marks functions whose call frame address is to be 8 bytes lower. ``dropped`` counts impossible functions.
    """

    data = cython.declare("const unsigned char[::1]")
    base = cython.declare("const unsigned char *")
    version: cython.int
    abi: cython.int
    big: cython.bint
    fixed_fp: cython.longlong
    fixed_ra: cython.longlong
    row_at: cython.Py_ssize_t
    row_end: cython.Py_ssize_t
    stack_pointer: cython.ulonglong
    frame_pointer: cython.ulonglong
    known: cython.ulonglong
    rules: SectionRules
    max_rows: cython.Py_ssize_t
    budget: cython.Py_ssize_t
    dropped = cython.declare(cython.Py_ssize_t, visibility="readonly")
    starts = cython.declare(object, visibility="readonly")
    ends = cython.declare(object, visibility="readonly")
    infos = cython.declare(object, visibility="readonly")
    attributes = cython.declare(object, visibility="readonly")
    blocks = cython.declare(object, visibility="readonly")
    lowered = cython.declare(object, visibility="readonly")
    _starts = cython.declare("unsigned long long[::1]")
    _ends = cython.declare("unsigned long long[::1]")
    _infos = cython.declare("unsigned char[::1]")
    _attributes = cython.declare("unsigned char[::1]")
    _blocks = cython.declare("unsigned char[::1]")
    _lowered = cython.declare("unsigned char[::1]")
    _begins = cython.declare("unsigned long long[::1]")
    _numbers = cython.declare("unsigned int[::1]")
    # The row that is read.
    key = cython.declare("unsigned long long[4]")
    words = cython.declare("long long[16]")
    block_starts = cython.declare("unsigned int[256]")
    block_rules = cython.declare("unsigned int[256]")

    def __init__(
        self,
        data: memoryview,
        address: int,
        header: Any,
        rules: RuleSet,
        *,
        source: int,
        code: list[tuple[int, int]],
        limits: Limits,
    ) -> None:
        self.data = data
        self.base = cython.address(self.data[0])
        self.version = header.version
        self.abi = header.abi
        self.big = header.big
        self.fixed_fp = header.fixed_fp
        self.fixed_ra = header.fixed_ra
        self.row_at = header.row_at
        self.row_end = header.row_at + header.row_bytes
        self.rules = SectionRules(header.abi, rules, source)
        self.stack_pointer = self.rules.stack_pointer
        self.frame_pointer = self.rules.frame_pointer
        self.known = self.rules.known
        self.max_rows = limits.cfi_rows
        # Each row is read once, but several functions may claim the same ones.
        self.budget = 1_000_000 + 16 * self.data.shape[0]
        count = min(header.functions, limits.fdes)
        self.dropped = header.functions - count
        self._scan(address, header.fde_at, count, self._by_field(address, header, count, code))

    # -- reading ------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def get(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.ulonglong:
        """An unsigned number of ``size`` bytes; the caller has checked that they are inside of the data."""
        value: cython.ulonglong = 0
        i: cython.Py_ssize_t
        if self.big:
            for i in range(size):
                value = value << 8 | self.base[at + i]
        else:
            for i in range(size):
                value |= cython.cast(cython.ulonglong, self.base[at + i]) << (8 * i)
        return value

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def signed(self, at: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.longlong:
        """The same as a signed number."""
        value: cython.ulonglong = self.get(at, size) << (64 - 8 * size)
        return cython.cast(cython.longlong, value) >> (64 - 8 * size)

    def _by_field(self, address: int, header: Any, count: int, code: list[tuple[int, int]]) -> bool:
        """Whether starts are relative to the field that holds them, not to the section. The flag for it is not set in
        all sections of versions 1 and 2: there, the reading that puts more functions into ``code``."""
        if header.flags & FUNC_START_PCREL:
            return True
        if header.version == 3 or not code:
            return False
        inside = [0, 0]
        for number in range(min(count, 4096)):
            at = header.fde_at + FDE_SIZES[header.version] * number
            start = address + self.signed(at, 4)
            for by_field in range(2):
                inside[by_field] += any(low <= start + by_field * at < high for low, high in code)
        return inside[1] > inside[0]

    def _scan(self, address: cython.ulonglong, at: cython.Py_ssize_t, count: cython.Py_ssize_t, by_field: bool) -> None:
        """Read the functions' entries."""
        wide: cython.bint = self.version == 3
        stride: cython.Py_ssize_t = FDE_SIZES[self.version]
        n: cython.Py_ssize_t = 0
        origin: cython.ulonglong
        start: cython.ulonglong
        size: cython.ulonglong
        rows: cython.Py_ssize_t
        field: cython.bint = by_field
        columns = [zeros("Q", count), zeros("Q", count), zeros("B", count), zeros("B", count), zeros("B", count)]
        self._starts, self._ends, self._infos, self._attributes, self._blocks = columns
        self._begins = zeros("Q", count)
        self._numbers = zeros("I", count)
        self.lowered = zeros("B", count)
        self._lowered = self.lowered
        for _number in range(count):
            origin = address + cython.cast(cython.ulonglong, at) if field else address
            start = origin + cython.cast(cython.ulonglong, self.signed(at, 8 if wide else 4))
            size = self.get(at + (8 if wide else 4), 4)
            rows = cython.cast(cython.Py_ssize_t, self.get(at + (12 if wide else 8), 4)) + self.row_at
            if size == 0 or start + size < start or (wide and rows + ATTRIBUTE_SIZE > self.row_end):
                self.dropped += 1
            else:
                self._starts[n] = start
                self._ends[n] = start + size
                if wide:
                    self._numbers[n] = cython.cast(cython.uint, self.get(rows, 2))
                    self._infos[n] = self.base[rows + 2]
                    self._attributes[n] = self.base[rows + 3] & 0x1F
                    self._blocks[n] = self.base[rows + 4]
                    rows += ATTRIBUTE_SIZE
                else:
                    self._numbers[n] = cython.cast(cython.uint, self.get(at + 12, 4))
                    # Signal frames are not known before version 3; blocks have no size in version 1.
                    self._infos[n] = self.base[at + 16] & 0x7F
                    self._blocks[n] = self.base[at + 17] if self.version == 2 else 16
                self._begins[n] = cython.cast(cython.ulonglong, rows)
                n += 1
            at += stride
        self.starts, self.ends, self.infos, self.attributes, self.blocks = (column[:n] for column in columns)

    def states_pushed(self, entry: cython.Py_ssize_t) -> bool:
        """Whether by the first row a word has been pushed after the return address (amd64)."""
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self._begins[entry])
        at += cython.cast(cython.Py_ssize_t, 1) << (self._infos[entry] & 3)
        if at + 1 > self.row_end or self.read_row(entry, at) < 0:
            return False
        return bool(self.key[0] == self.pack(kinds.CFA_REGISTER, self.stack_pointer, 16))

    # -- rows ---------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def produce(self, table: RowTable, function: cython.Py_ssize_t) -> cython.int:
        """Put a function's rows; one hole if they are damaged."""
        if not self.read_rows(table, function):
            table.damaged += 1
            table.total = table.first
            table.put(self._starts[function], NO_RULE)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def read_rows(self, table: RowTable, entry: cython.Py_ssize_t) -> cython.int:
        """Decode and put a function's rows; 0 if they are damaged."""
        info: cython.uint = self._infos[entry]
        width: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, 1) << (info & 15)
        count: cython.Py_ssize_t = self._numbers[entry]
        at: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, self._begins[entry])
        start: cython.ulonglong = self._starts[entry]
        size: cython.ulonglong = self._ends[entry] - start
        masked: cython.bint = (info & MASK) != 0
        before: cython.longlong = -1
        offset: cython.ulonglong
        bound: cython.ulonglong = self._blocks[entry] if masked else size
        rule: cython.longlong
        i: cython.Py_ssize_t
        used: cython.Py_ssize_t
        if (info & 15) > 2 or bound == 0 or count > self.budget or self._attributes[entry] > FLEXIBLE:
            return 0
        if masked and count > 256:
            return 0
        self.budget -= count
        if count == 0:
            if self.version == 3 and self._attributes[entry] == 0 and not info & SIGNAL:
                # A function without rows is an outermost one; earlier versions had none.
                self.set_outermost(info)
                rule = self.rules.intern(cython.address(self.key[0]))
                return table.put(start, cython.cast(cython.uint, rule)) + 1
            return table.put(start, NO_RULE) + 1
        for i in range(count):
            if at + width + 1 > self.row_end:
                return 0
            offset = self.get(at, width)
            if offset >= bound or cython.cast(cython.longlong, offset) <= before:
                return 0
            before = cython.cast(cython.longlong, offset)
            used = self.read_row(entry, at + width)
            if used < 0:
                return 0
            at += width + used
            rule = self.rules.intern(cython.address(self.key[0]))
            if masked:
                self.block_starts[i] = cython.cast(cython.uint, offset)
                self.block_rules[i] = cython.cast(cython.uint, rule)
            else:
                if i == 0 and offset:
                    table.put(start, NO_RULE)
                table.put(start + offset, cython.cast(cython.uint, rule))
        return self.repeat(table, entry, count) if masked else 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def repeat(self, table: RowTable, entry: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.int:
        """Put the rows of a function whose rows repeat in each block; 0 if there are too many."""
        start: cython.ulonglong = self._starts[entry]
        size: cython.ulonglong = self._ends[entry] - start
        block: cython.ulonglong = self._blocks[entry]
        late: cython.ulonglong = self.block_starts[1] if count == 2 else 0
        at: cython.ulonglong = 0
        rule: cython.longlong
        i: cython.Py_ssize_t
        if count == 1 and self.block_starts[0] == 0:
            return table.put(start, self.block_rules[0]) + 1
        if self.abi == AMD64 and late and block == PLT_BLOCK and start % PLT_BLOCK == 0 and self.is_plt():
            # A lazy procedure linkage table, for which `.eh_frame` has one expression.
            self.key[0] = kinds.CFA_PLT | self.stack_pointer << 8 | late << 16 | ((self.key[0] - EIGHT) & HIGH_HALF)
            rule = self.rules.intern(cython.address(self.key[0]))
            return table.put(start, cython.cast(cython.uint, rule)) + 1
        if (size / block + 1) * cython.cast(cython.ulonglong, count + 1) > cython.cast(
            cython.ulonglong, min(self.max_rows, self.budget)
        ):
            return 0
        while at < size:
            if self.block_starts[0]:
                table.put(start + at, NO_RULE)
            for i in range(count):
                if at + self.block_starts[i] < size:
                    table.put(start + at + self.block_starts[i], self.block_rules[i])
            at += block
            self.budget -= count
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_plt(self) -> cython.bint:
        """Whether the key, of a block's second row, is that of the first with eight bytes more on the stack."""
        found: cython.longlong
        self.key[0] -= EIGHT
        found = self.rules.find(cython.address(self.key[0]))
        self.key[0] += EIGHT
        if found != self.block_rules[0] or self.block_starts[0]:
            return False
        same: cython.bint = (self.key[0] & 0xFFFF) == (kinds.CFA_REGISTER | self.stack_pointer << 8)
        return same

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def set_outermost(self, info: cython.uint) -> cython.int:
        """Set the key to that of a frame without caller."""
        self.key[0] = 0
        self.key[1] = 0
        self.key[2] = 0
        self.key[3] = kinds.FLAG_OUTERMOST | (kinds.FLAG_SIGNAL if info & SIGNAL else 0)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_row(self, entry: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Set the key to that of the row whose info byte is at ``at``; the row's bytes from there on, -1 if damaged."""
        info: cython.uint = self.base[at]
        count: cython.Py_ssize_t = info >> 1 & 15
        width: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, 1) << (info >> 5 & 3)
        flexible: cython.bint = self._attributes[entry] == FLEXIBLE
        i: cython.Py_ssize_t
        if width > 4 or at + 1 + count * width > self.row_end:
            return -1
        if count == 0:
            self.set_outermost(self._infos[entry])
            return 1
        for i in range(count):
            self.words[i] = self.signed(at + 1 + i * width, width)
        self.key[3] = kinds.FLAG_SIGNAL if self._infos[entry] & SIGNAL else 0
        if info & 0x80 and self.abi <= AARCH64_LITTLE:
            self.key[3] |= kinds.FLAG_SIGNED
        if not (self.flexible(count, width) if flexible else self.plain(count, info)):
            return -1
        if self._lowered[entry]:
            self.key[0] -= EIGHT
        return 1 + count * width

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pack(self, kind: cython.ulonglong, register: cython.ulonglong, value: cython.longlong) -> cython.ulonglong:
        """One word of a key."""
        return kind | register << 8 | (cython.cast(cython.ulonglong, value) & LOW_HALF) << 32

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def saved(self, value: cython.longlong) -> cython.ulonglong:
        """The word of a register that is saved at an offset from the call frame address; in version 2 on s390x an odd
        offset names a register instead. 0 for a register that rules cannot name."""
        if self.abi == S390X and self.version == 2 and value & 1:
            if value < 0 or cython.cast(cython.ulonglong, value >> 1) >= self.known:
                return 0
            return self.pack(kinds.REGISTER, cython.cast(cython.ulonglong, value >> 1), 0)
        return self.pack(kinds.AT_CFA, 0, value)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def plain(self, count: cython.Py_ssize_t, info: cython.uint) -> cython.bint:
        """Set the key to that of a default row; False if it is damaged."""
        offset: cython.longlong = self.words[0]
        place: cython.Py_ssize_t = 1
        if count > 3:
            return False
        if self.abi == S390X:
            offset = offset * 8 + S390X_BIAS
        if offset != cython.cast(cython.int, offset):
            return False
        self.key[0] = self.pack(kinds.CFA_REGISTER, self.stack_pointer if info & 1 else self.frame_pointer, offset)
        self.key[1] = 0
        self.key[2] = 0
        if self.fixed_ra:
            self.key[1] = self.pack(kinds.AT_CFA, 0, self.fixed_ra)
        else:
            place = 2
            if count > 1 and self.words[1]:
                self.key[1] = self.saved(self.words[1])
                if self.key[1] == 0:
                    return False
        if count > place:
            self.key[2] = self.saved(self.words[place])
            if self.key[2] == 0:
                return False
        elif self.fixed_fp:
            self.key[2] = self.pack(kinds.AT_CFA, 0, self.fixed_fp)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def flexible(self, count: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.bint:
        """Set the key to that of a flexible row; False if it is damaged."""
        mask: cython.ulonglong = ((cython.cast(cython.ulonglong, 1) << (8 * width - 1)) << 1) - 1
        control: cython.ulonglong
        register: cython.ulonglong
        offset: cython.longlong
        kind: cython.ulonglong
        place: cython.Py_ssize_t = 0
        entity: cython.Py_ssize_t
        self.key[1] = self.pack(kinds.AT_CFA, 0, self.fixed_ra) if self.fixed_ra else 0
        self.key[2] = self.pack(kinds.AT_CFA, 0, self.fixed_fp) if self.fixed_fp else 0
        for entity in range(3):
            if place >= count:
                break
            control = cython.cast(cython.ulonglong, self.words[place]) & mask
            place += 1
            if control == 0 and entity:
                continue
            if place >= count:
                return False
            offset = self.words[place]
            place += 1
            register = control >> 3
            if register >= self.known or (not control & 1 and register):
                return False
            if entity == 0:
                if not control & 1:
                    return False
                if self.abi == S390X:
                    offset = offset * 8 + S390X_BIAS
                if offset != cython.cast(cython.int, offset):
                    return False
                self.key[0] = self.pack(kinds.CFA_DEREF if control & 2 else kinds.CFA_REGISTER, register, offset)
                continue
            if not control & 1:
                kind = kinds.AT_CFA if control & 2 else kinds.IS_CFA
            elif control & 2:
                kind = kinds.AT_REGISTER
            else:
                kind = kinds.REGISTER_PLUS if offset else kinds.REGISTER
            self.key[entity] = self.pack(kind, register, offset)
        return place == count and count > 1
