# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Call frame information compiled to rows: `.eh_frame` and `.debug_frame` to sorted functions and, lazily, rules.

Sources: DWARF 5, 6.4 and 7.24; LSB Core generic, 10.6 (`.eh_frame`); the x86-64 System V ABI for register numbers.
The words of a rule are described in :mod:`undwarf.tables.model`.
"""

from typing import Any

import cython

from undwarf.buffers import zeros

STRIDE = cython.declare(cython.Py_ssize_t, 80)
REGISTERS = cython.declare(cython.int, 17)
"""DWARF registers with rules; those of higher-numbered ones (vector registers and the like) are dropped."""
NOTHING = cython.declare(cython.uint, 0xFFFFFFFF)
MULTIPLIER = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
ALL_ONES = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
RESERVED = cython.declare(cython.ulonglong, 0xFFFFFFF0)
"""Lengths from here on are reserved, but for the one that announces a 64-bit length."""
OMITTED = cython.declare(cython.int, 0xFF)
RSP = cython.declare(cython.int, 7)
PC = cython.declare(cython.int, 16)

CFA_NONE = cython.declare(cython.int, 0)
CFA_REGISTER = cython.declare(cython.int, 1)
CFA_DEREF = cython.declare(cython.int, 2)
CFA_PLT = cython.declare(cython.int, 3)
CFA_EXPRESSION = cython.declare(cython.int, 4)
SAME = cython.declare(cython.int, 0)
UNDEFINED = cython.declare(cython.int, 1)
AT_CFA = cython.declare(cython.int, 2)
IS_CFA = cython.declare(cython.int, 3)
REGISTER = cython.declare(cython.int, 4)
AT_REGISTER = cython.declare(cython.int, 5)
EXPRESSION = cython.declare(cython.int, 6)
IS_EXPRESSION = cython.declare(cython.int, 7)

# A state: CFA kind, register, offset, extra, then kind, value and base of each register.
STATE = cython.declare(cython.Py_ssize_t, 4 + 3 * 17)


@cython.final
@cython.cclass
class RuleSet:
    """The distinct rules of all tables of a run, and the expressions that a few of them need.

    ``rules`` has 80 words a rule. Buffers are replaced as the set grows; what an old one holds stays true.
    """

    _words = cython.declare("int[::1]")
    _slots = cython.declare("unsigned int[::1]")
    count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    _expressions: dict
    _expression_list: list
    _expression_bytes: object
    _expression_offsets: object

    def __cinit__(self) -> None:
        self._words = zeros("i", STRIDE * 256)
        self._slots = zeros("I", 1024)
        self.count = 0
        self._expressions = {}
        self._expression_list = []
        self._expression_bytes = b"\0"
        self._expression_offsets = zeros("I", 1)

    @property
    def rules(self) -> memoryview:
        """All rules, 80 words each."""
        return memoryview(self._words)

    @property
    def expression_bytes(self) -> memoryview:
        """The bytes of all expressions, one after another."""
        return memoryview(self._expression_bytes)

    @property
    def expression_offsets(self) -> memoryview:
        """Where each expression starts, and where the last one ends."""
        return memoryview(self._expression_offsets)

    def words(self, rule: cython.Py_ssize_t) -> list[int]:
        """The 80 words of one rule."""
        return [self._words[STRIDE * rule + i] for i in range(STRIDE)]

    def expression(self, number: cython.Py_ssize_t) -> bytes:
        """The bytes of one expression."""
        found: bytes = self._expression_list[number]
        return found

    def add_expression(self, code: bytes) -> int:
        """The number of an expression."""
        known = self._expressions.get(code)
        if known is not None:
            return int(known)
        number = len(self._expression_list)
        self._expressions[code] = number
        self._expression_list.append(code)
        offsets = zeros("I", number + 2)
        total = 0
        for i, one in enumerate(self._expression_list):
            total += len(one)
            offsets[i + 1] = total
        self._expression_bytes = b"".join(self._expression_list) + b"\0"
        self._expression_offsets = offsets
        return number

    @cython.locals(old="int[::1]", new="int[::1]", slots="unsigned int[::1]", i=cython.Py_ssize_t, at=cython.ulonglong)
    def _grow(self) -> None:
        size: cython.Py_ssize_t = len(self._words)
        old = self._words
        new = zeros("i", 2 * size)
        new[:size] = old
        self._words = new
        slots = zeros("I", 8 * (size // STRIDE))
        for i in range(self.count):
            at = self.hash(i) & (len(slots) - 1)
            while slots[at]:
                at = (at + 1) & (len(slots) - 1)
            slots[at] = i + 1
        self._slots = slots

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0)
    def hash(self, rule: cython.Py_ssize_t) -> cython.ulonglong:
        value: cython.ulonglong = 1
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t = STRIDE * rule
        for i in range(8 + 4 * cython.cast(cython.Py_ssize_t, self._words[at + 6])):
            value = (value ^ cython.cast(cython.uint, self._words[at + i])) * MULTIPLIER
            value ^= value >> 29
        return value | cython.cast(cython.ulonglong, 1) << 63

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def intern(
        self, state: cython.pointer(cython.int), flags: cython.int, source: cython.int, column: cython.int
    ) -> cython.longlong:
        """The number of the rule that a state stands for."""
        at: cython.Py_ssize_t
        i: cython.int
        k: cython.int
        n: cython.int = 0
        probe: cython.ulonglong
        mask: cython.ulonglong
        found: cython.Py_ssize_t
        same: cython.bint
        if STRIDE * (self.count + 1) > self._words.shape[0]:
            with cython.gil:
                self._grow()
        at = STRIDE * self.count
        for i in range(4):
            self._words[at + i] = state[i]
        self._words[at + 5] = source
        self._words[at + 7] = column
        if 0 <= column < REGISTERS:
            k = state[4 + 3 * column]
            if k == UNDEFINED:
                flags |= 2
            elif k != SAME:
                self._words[at + 8] = column
                self._words[at + 9] = k
                self._words[at + 10] = state[5 + 3 * column]
                self._words[at + 11] = state[6 + 3 * column]
                n = 1
        for i in range(REGISTERS):
            k = state[4 + 3 * i]
            if k != SAME and i != column:
                self._words[at + 8 + 4 * n] = i
                self._words[at + 9 + 4 * n] = k
                self._words[at + 10 + 4 * n] = state[5 + 3 * i]
                self._words[at + 11 + 4 * n] = state[6 + 3 * i]
                n += 1
        self._words[at + 4] = flags
        self._words[at + 6] = n
        mask = cython.cast(cython.ulonglong, self._slots.shape[0]) - 1
        probe = self.hash(self.count) & mask
        while self._slots[probe]:
            found = cython.cast(cython.Py_ssize_t, self._slots[probe]) - 1
            same = True
            for i in range(8 + 4 * n):
                if self._words[STRIDE * found + i] != self._words[at + i]:
                    same = False
                    break
            if same:
                return found
            probe = (probe + 1) & mask
        self._slots[probe] = cython.cast(cython.uint, self.count + 1)
        self.count += 1
        return self.count - 1


@cython.final
@cython.cclass
class CfiSection:
    """One section of call frame information.

    ``data`` are its bytes, ``address`` its ELF virtual address, ``debug`` tells `.debug_frame` from `.eh_frame`,
    ``code`` lists the executable ranges as (start, end); entries for other addresses are dropped and counted in
    ``dropped``, damaged ones in ``damaged``. After construction ``starts`` and ``ends`` are sorted and disjoint.
    """

    data = cython.declare("const unsigned char[::1]")
    address: cython.ulonglong
    debug: cython.bint
    size: cython.Py_ssize_t
    word: cython.int
    source: cython.int
    rules: RuleSet
    _starts = cython.declare("unsigned long long[::1]")
    _ends = cython.declare("unsigned long long[::1]")
    _entries = cython.declare("unsigned long long[::1]")
    total = cython.declare(cython.Py_ssize_t, visibility="readonly")
    dropped = cython.declare(cython.Py_ssize_t, visibility="readonly")
    damaged = cython.declare(cython.Py_ssize_t, visibility="readonly")
    code_start = cython.declare("unsigned long long[::1]")
    code_end = cython.declare("unsigned long long[::1]")
    max_entries: cython.Py_ssize_t
    max_steps: cython.Py_ssize_t
    max_rows: cython.Py_ssize_t
    # where the reader is, and what it read
    at: cython.Py_ssize_t
    bad: cython.bint
    # the entry at hand
    entry_end: cython.Py_ssize_t
    entry_id: cython.ulonglong
    entry_body: cython.Py_ssize_t
    entry_id_at: cython.Py_ssize_t
    entry_is_cie: cython.bint
    entry_wide: cython.bint
    # the CIE at hand
    cie: cython.Py_ssize_t
    cie_usable: cython.bint
    cie_code_align: cython.ulonglong
    cie_data_align: cython.longlong
    cie_column: cython.int
    cie_encoding: cython.int
    cie_signal: cython.bint
    cie_augmented: cython.bint
    cie_begin: cython.Py_ssize_t
    cie_end: cython.Py_ssize_t
    # the state of a program
    state: cython.int[55]
    initial: cython.int[55]
    saved = cython.declare("int[::1]")
    depth: cython.Py_ssize_t
    changed: cython.bint
    location: cython.ulonglong
    steps: cython.Py_ssize_t
    _row_addresses = cython.declare("unsigned long long[::1]")
    _row_rules = cython.declare("unsigned int[::1]")
    rows_total: cython.Py_ssize_t
    first_row: cython.Py_ssize_t

    def __init__(
        self,
        data: memoryview,
        address: int,
        debug: bool,
        code: list[tuple[int, int]],
        rules: RuleSet,
        limits: Any,
        word: int = 8,
    ) -> None:
        self.data = data
        self.address = address
        self.debug = debug
        self.size = len(data)
        self.word = word
        self.source = 2 if debug else 1
        self.rules = rules
        self.max_entries = limits.fdes
        self.max_steps = limits.cfi_steps
        self.max_rows = limits.cfi_rows
        self.cie = -1
        self.saved = zeros("i", STATE * limits.remember_depth)
        self._row_addresses = zeros("Q", 256)
        self._row_rules = zeros("I", 256)
        self.code_start = zeros("Q", len(code))
        self.code_end = zeros("Q", len(code))
        for i, (start, end) in enumerate(code):
            self.code_start[i] = start
            self.code_end[i] = end
        room = min(self.size // 12 + 1, 1024)
        self._starts = zeros("Q", room)
        self._ends = zeros("Q", room)
        self._entries = zeros("Q", room)
        with cython.nogil:
            self.scan()
        self._sort()

    @property
    def starts(self) -> memoryview:
        """First address of each function."""
        return memoryview(self._starts)[: self.total]

    @property
    def ends(self) -> memoryview:
        """The address behind each function."""
        return memoryview(self._ends)[: self.total]

    # -- bytes --------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1, check=False)
    def number(self, size: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.ulonglong:
        """A little-endian number; sets ``bad`` at the end of the data."""
        value: cython.ulonglong = 0
        i: cython.Py_ssize_t
        if size > end - self.at:
            self.bad = True
            return 0
        for i in range(size):
            value |= cython.cast(cython.ulonglong, self.data[self.at + i]) << (8 * i)
        self.at += size
        return value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def leb(self, end: cython.Py_ssize_t, signed: cython.bint) -> cython.ulonglong:
        """A LEB128 number; bits past the 64th are dropped, one that does not end sets ``bad``."""
        value: cython.ulonglong = 0
        shift: cython.int = 0
        byte: cython.uint
        while self.at < end:
            byte = self.data[self.at]
            self.at += 1
            if shift < 64:
                value |= cython.cast(cython.ulonglong, byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                if signed and shift < 64 and byte & 0x40:
                    value |= ALL_ONES << shift
                return value
            if shift > 140:
                break
        self.bad = True
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def pointer(self, encoding: cython.int, end: cython.Py_ssize_t, ranged: cython.bint) -> cython.ulonglong:
        """An encoded pointer (LSB Core, 10.5.1); with ``ranged`` only its format counts."""
        form: cython.int = encoding & 15
        field: cython.ulonglong = self.address + cython.cast(cython.ulonglong, self.at)
        value: cython.ulonglong
        size: cython.int
        if encoding == OMITTED:
            return 0
        if encoding & 0x70 == 0x50 and not ranged:
            # aligned: the value stands at the next address that is a multiple of its size
            self.at += cython.cast(cython.Py_ssize_t, (0 - field) & cython.cast(cython.ulonglong, self.word - 1))
            return self.number(self.word, end)
        if form == 1:
            value = self.leb(end, False)
        elif form == 9:
            value = self.leb(end, True)
        else:
            if form == 0 or form == 8:
                size = self.word
            elif form == 2 or form == 10:
                size = 2
            elif form == 3 or form == 11:
                size = 4
            elif form == 4 or form == 12:
                size = 8
            else:
                self.bad = True
                return 0
            value = self.number(size, end)
            if form & 8 and size < 8 and value >> (8 * size - 1) & 1 and not ranged:
                value |= ALL_ONES << (8 * size)
        if ranged or value == 0:
            return value
        if encoding & 0x70 == 0x10:
            value += field
        elif encoding & 0x70:
            # relative to text, data or function: nothing that is linked today uses them for code
            self.bad = True
        if self.word == 4:
            value &= NOTHING
        return value

    # -- entries ------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def entry(self, offset: cython.Py_ssize_t) -> cython.int:
        """Read the head of the entry at an offset: 1 if there is one, 0 for a terminator, 2 when it is damaged."""
        length: cython.ulonglong
        wide: cython.bint = False
        width: cython.int = 4
        self.at = offset
        self.bad = False
        length = self.number(4, self.size)
        if self.bad:
            return 2
        if length == 0:
            self.entry_end = offset + 4
            return 0
        if length == NOTHING:
            length = self.number(8, self.size)
            wide = True
        elif length >= RESERVED:
            return 2
        if self.bad or length > cython.cast(cython.ulonglong, self.size - self.at):
            return 2
        self.entry_end = self.at + cython.cast(cython.Py_ssize_t, length)
        self.entry_wide = wide
        self.entry_id_at = self.at
        if wide and self.debug:
            width = 8
        self.entry_id = self.number(width, self.entry_end)
        if wide and not self.debug and self.entry_id != 0:
            # The LSB has a 4-byte id, binutils reads 8 bytes: take what leads to a CIE.
            if not self.leads_to_cie(offset):
                self.at = self.entry_id_at
                self.entry_id = self.number(8, self.entry_end)
        if self.bad:
            return 2
        self.entry_body = self.at
        if self.debug:
            self.entry_is_cie = self.entry_id == (ALL_ONES if wide else cython.cast(cython.ulonglong, NOTHING))
        else:
            self.entry_is_cie = self.entry_id == 0
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def leads_to_cie(self, offset: cython.Py_ssize_t) -> cython.bint:
        """Whether the 4-byte id of a 64-bit `.eh_frame` entry points at an entry with id 0."""
        target: cython.Py_ssize_t
        if self.entry_id > cython.cast(cython.ulonglong, self.entry_id_at):
            return False
        target = self.entry_id_at - cython.cast(cython.Py_ssize_t, self.entry_id)
        if self.size - target < 16:
            return False
        if self.data[target] == 0xFF and self.data[target + 1] == 0xFF:
            target += 8
        return self.data[target + 4] == 0 and self.data[target + 5] == 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def read_cie(self, offset: cython.Py_ssize_t) -> cython.int:
        """Read a CIE, unless it is the one read last. Leaves ``cie_usable``."""
        version: cython.int
        text: cython.Py_ssize_t
        length: cython.ulonglong
        letter: cython.int
        end: cython.Py_ssize_t
        data_end: cython.Py_ssize_t
        pointer_encoding: cython.int
        if self.cie == offset:
            return 0
        self.cie = offset
        self.cie_usable = False
        if offset < 0 or offset >= self.size or self.entry(offset) != 1 or not self.entry_is_cie:
            return 0
        end = self.entry_end
        self.at = self.entry_body
        version = cython.cast(cython.int, self.number(1, end))
        if self.bad or version not in (1, 3, 4):
            return 0
        text = self.at
        while self.at < end and self.data[self.at]:
            self.at += 1
        if self.at >= end:
            return 0
        letter = self.data[text]
        self.at += 1
        if letter == 0x65 and self.data[text + 1] == 0x68:
            # "eh" of gcc 2: a pointer follows
            self.number(self.word, end)
            text += 2
        if version == 4:
            if self.number(1, end) != cython.cast(cython.ulonglong, self.word) or self.number(1, end) != 0:
                return 0
        self.cie_code_align = self.leb(end, False)
        self.cie_data_align = cython.cast(cython.longlong, self.leb(end, True))
        length = self.number(1, end) if version == 1 else self.leb(end, False)
        if self.bad or length > 1000:
            return 0
        self.cie_column = cython.cast(cython.int, length)
        self.cie_encoding = 0
        self.cie_signal = False
        self.cie_augmented = False
        letter = self.data[text]
        if letter == 0x7A:
            self.cie_augmented = True
            text += 1
            length = self.leb(end, False)
            if self.bad or length > cython.cast(cython.ulonglong, end - self.at):
                return 0
            data_end = self.at + cython.cast(cython.Py_ssize_t, length)
            while self.data[text]:
                letter = self.data[text]
                text += 1
                if letter == 0x52:
                    self.cie_encoding = cython.cast(cython.int, self.number(1, data_end))
                elif letter == 0x4C:
                    self.number(1, data_end)
                elif letter == 0x50:
                    pointer_encoding = cython.cast(cython.int, self.number(1, data_end))
                    self.pointer(pointer_encoding & 0x7F, data_end, True)
                elif letter == 0x53:
                    self.cie_signal = True
                elif letter == 0x42 or letter == 0x47:
                    pass
                else:
                    # Unknown, but the length says where the instructions start.
                    break
            self.at = data_end
        elif letter == 0x53:
            self.cie_signal = True
        elif letter:
            return 0
        if self.bad:
            self.bad = False
            return 0
        self.cie_begin = self.at
        self.cie_end = end
        self.cie_usable = True
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def cie_of_entry(self) -> cython.Py_ssize_t:
        """The offset of the CIE that the FDE at hand names, or -2."""
        if self.debug:
            if self.entry_id >= cython.cast(cython.ulonglong, self.size):
                return -2
            return cython.cast(cython.Py_ssize_t, self.entry_id)
        if self.entry_id > cython.cast(cython.ulonglong, self.entry_id_at):
            return -2
        return self.entry_id_at - cython.cast(cython.Py_ssize_t, self.entry_id)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def read_fde(self, offset: cython.Py_ssize_t) -> cython.int:
        """Read an FDE to where its instructions start (``at``): 1 if it can be used; sets ``location`` and ``stop``."""
        cie: cython.Py_ssize_t
        body: cython.Py_ssize_t
        end: cython.Py_ssize_t
        length: cython.ulonglong
        if self.entry(offset) != 1 or self.entry_is_cie:
            return 0
        body = self.entry_body
        end = self.entry_end
        cie = self.cie_of_entry()
        if cie < 0:
            return 0
        self.read_cie(cie)
        self.entry_end = end
        if not self.cie_usable:
            return 0
        self.at = body
        self.bad = False
        self.location = self.pointer(self.cie_encoding & 0x7F, end, False)
        self.stop = self.location + self.pointer(self.cie_encoding & 0x0F, end, True)
        if self.cie_augmented:
            length = self.leb(end, False)
            if self.bad or length > cython.cast(cython.ulonglong, end - self.at):
                return 0
            self.at += cython.cast(cython.Py_ssize_t, length)
        return 0 if self.bad else 1

    stop: cython.ulonglong

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def is_code(self, start: cython.ulonglong, end: cython.ulonglong) -> cython.bint:
        i: cython.Py_ssize_t
        for i in range(self.code_start.shape[0]):
            if self.code_start[i] <= start and end <= self.code_end[i]:
                return True
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def scan(self) -> cython.int:
        """Find all FDEs, also behind zero words, which old linkers leave in the middle of `.eh_frame`."""
        offset: cython.Py_ssize_t = 0
        kind: cython.int
        end: cython.Py_ssize_t
        while self.size - offset >= 4:
            kind = self.entry(offset)
            if kind == 2:
                self.damaged += 1
                return 0
            end = self.entry_end
            if kind == 1 and not self.entry_is_cie:
                if not self.read_fde(offset):
                    self.damaged += 1
                elif self.stop <= self.location:
                    # An empty range covers nothing; one that wraps is no range.
                    self.dropped += 1
                elif not self.is_code(self.location, self.stop):
                    self.dropped += 1
                elif self.total >= self.max_entries:
                    self.dropped += 1
                    return 0
                else:
                    if self.total >= self._starts.shape[0]:
                        with cython.gil:
                            self._grow()
                    self._starts[self.total] = self.location
                    self._ends[self.total] = self.stop
                    self._entries[self.total] = cython.cast(cython.ulonglong, offset)
                    self.total += 1
            offset = end
        return 0

    @cython.locals(old="unsigned long long[::1]", new="unsigned long long[::1]", size=cython.Py_ssize_t)
    def _grow(self) -> None:
        size = len(self._starts)
        old = self._starts
        new = zeros("Q", 2 * size)
        new[:size] = old
        self._starts = new
        old = self._ends
        new = zeros("Q", 2 * size)
        new[:size] = old
        self._ends = new
        old = self._entries
        new = zeros("Q", 2 * size)
        new[:size] = old
        self._entries = new

    @cython.locals(
        a="unsigned int[::1]",
        b="unsigned int[::1]",
        swap="unsigned int[::1]",
        starts="unsigned long long[::1]",
        ends="unsigned long long[::1]",
        entries="unsigned long long[::1]",
        i=cython.Py_ssize_t,
        j=cython.Py_ssize_t,
        k=cython.Py_ssize_t,
        left=cython.Py_ssize_t,
        middle=cython.Py_ssize_t,
        right=cython.Py_ssize_t,
        width=cython.Py_ssize_t,
        overlap=cython.bint,
        n=cython.Py_ssize_t,
    )
    def _sort(self) -> None:
        """Sort the functions by start (merge sort), then make overlapping ones disjoint."""
        n = self.total
        ordered: cython.bint = True
        overlap = False
        for i in range(1, n):
            if self._starts[i] < self._starts[i - 1]:
                ordered = False
                break
        if not ordered:
            a = zeros("I", n)
            b = zeros("I", n)
            with cython.nogil:
                for i in range(n):
                    a[i] = cython.cast(cython.uint, i)
                width = 1
                while width < n:
                    left = 0
                    while left < n:
                        middle = min(left + width, n)
                        right = min(left + 2 * width, n)
                        i = left
                        j = middle
                        for k in range(left, right):
                            if i < middle and (j >= right or self._starts[a[i]] <= self._starts[a[j]]):
                                b[k] = a[i]
                                i += 1
                            else:
                                b[k] = a[j]
                                j += 1
                        left = right
                    swap = a
                    a = b
                    b = swap
                    width *= 2
            starts = zeros("Q", n)
            ends = zeros("Q", n)
            entries = zeros("Q", n)
            for i in range(n):
                starts[i] = self._starts[a[i]]
                ends[i] = self._ends[a[i]]
                entries[i] = self._entries[a[i]]
            self._starts = starts
            self._ends = ends
            self._entries = entries
        for i in range(1, n):
            if self._starts[i] < self._ends[i - 1]:
                overlap = True
                break
        if overlap:
            self._flatten()

    def _flatten(self) -> None:
        """Where ranges overlap, the one that starts last wins; of those that start together, the longest."""
        stack: list[tuple[int, int]] = []
        pieces: list[tuple[int, int, int]] = []
        ranges = sorted(
            zip(self._starts[: self.total], self._ends[: self.total], self._entries[: self.total], strict=True),
            key=lambda one: (one[0], -one[1]),
        )
        at = 0

        def until(limit: int) -> None:
            """Close what is open up to an address."""
            nonlocal at
            while stack and at < limit:
                end, entry = stack[-1]
                if end <= at:
                    stack.pop()
                    continue
                upto = min(end, limit)
                pieces.append((at, upto, entry))
                at = upto

        last = -1
        for start, end, entry in ranges:
            if start == last:
                # Shorter than the first one that starts here.
                continue
            last = start
            until(start)
            at = max(at, start)
            stack.append((end, entry))
            if len(stack) > 64:
                stack = [one for one in stack if one[0] > start][-64:]
        until(0xFFFFFFFFFFFFFFFF)
        self._starts = zeros("Q", len(pieces))
        self._ends = zeros("Q", len(pieces))
        self._entries = zeros("Q", len(pieces))
        for i, (start, end, entry) in enumerate(pieces):
            self._starts[i] = start
            self._ends[i] = end
            self._entries[i] = entry
        self.total = len(pieces)

    # -- programs -----------------------------------------------------------------------------------------------

    def rows(self, function: cython.Py_ssize_t) -> tuple[memoryview, memoryview]:
        """(addresses, rules) of a function's rows; rule 0xffffffff marks a hole. The first row is at its start."""
        start: cython.ulonglong = self._starts[function]
        end: cython.ulonglong = self._ends[function]
        offset: cython.Py_ssize_t = self._entries[function]
        first: cython.Py_ssize_t
        i: cython.Py_ssize_t
        with cython.nogil:
            self.compile(offset, end)
        first = self.first_row
        # An FDE that is covered in part by another gives only the rows of its own part.
        i = first
        while i + 1 < self.rows_total and self._row_addresses[i + 1] <= start:
            i += 1
        if i < self.rows_total and self._row_addresses[i] < start:
            self._row_addresses[i] = start
        addresses = memoryview(self._row_addresses)[i : self.rows_total]
        rules = memoryview(self._row_rules)[i : self.rows_total]
        return addresses, rules

    @cython.locals(
        old="unsigned long long[::1]",
        new="unsigned long long[::1]",
        old_i="unsigned int[::1]",
        new_i="unsigned int[::1]",
    )
    def _grow_rows(self) -> None:
        """Make room for rows of the next functions; what was handed out keeps the old buffer alive."""
        size: cython.Py_ssize_t = len(self._row_addresses)
        old = self._row_addresses
        new = zeros("Q", 2 * size)
        new[:size] = old
        self._row_addresses = new
        old_i = self._row_rules
        new_i = zeros("I", 2 * size)
        new_i[:size] = old_i
        self._row_rules = new_i

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def put(self, address: cython.ulonglong, rule: cython.uint) -> cython.int:
        """Add a row, unless it says what the last one says."""
        last: cython.Py_ssize_t = self.rows_total - 1
        if self.rows_total > self.first_row:
            if self._row_rules[last] == rule:
                return 0
            if self._row_addresses[last] == address:
                self._row_rules[last] = rule
                return 0
        if self.rows_total >= self._row_addresses.shape[0]:
            with cython.gil:
                self._grow_rows()
        self._row_addresses[self.rows_total] = address
        self._row_rules[self.rows_total] = rule
        self.rows_total += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def compile(self, offset: cython.Py_ssize_t, end: cython.ulonglong) -> cython.int:
        """Run an FDE's program and append its rows up to the address ``end``."""
        i: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        start: cython.ulonglong
        status: cython.int
        self.first_row = self.rows_total
        if not self.read_fde(offset):
            self.put(0, NOTHING)
            return 0
        start = self.location
        begin = self.at
        stop = self.entry_end
        for i in range(STATE):
            self.state[i] = 0
        self.depth = 0
        self.steps = 0
        self.changed = True
        status = self.run(self.cie_begin, self.cie_end, end, True)
        for i in range(STATE):
            self.initial[i] = self.state[i]
        self.location = start
        if status == 0:
            status = self.run(begin, stop, end, False)
        if status == 0:
            self.flush()
        elif status == 2:
            # What follows the damage is unknown.
            self.put(self.location, NOTHING)
        if self.rows_total == self.first_row:
            self.put(start, NOTHING)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def flush(self) -> cython.int:
        """Make a row of the state for the current location."""
        rule: cython.longlong
        if self.changed:
            if self.state[0] == CFA_NONE:
                rule = NOTHING
            else:
                rule = self.rules.intern(
                    cython.address(self.state[0]), 1 if self.cie_signal else 0, self.source, self.cie_column
                )
            self.put(self.location, cython.cast(cython.uint, rule))
            self.changed = False
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def set_register(
        self, number: cython.ulonglong, kind: cython.int, value: cython.longlong, base: cython.int
    ) -> cython.int:
        at: cython.Py_ssize_t
        if number < cython.cast(cython.ulonglong, REGISTERS):
            at = 4 + 3 * cython.cast(cython.Py_ssize_t, number)
            self.state[at] = kind
            self.state[at + 1] = cython.cast(cython.int, value)
            self.state[at + 2] = base
            self.changed = True
            if value != self.state[at + 1]:
                self.bad = True
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def run(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, last: cython.ulonglong, initial: cython.bint
    ) -> cython.int:
        """Run instructions: 0 when they are done, 1 when the function's end was reached, 2 when they are damaged."""
        op: cython.int
        low: cython.int
        number: cython.ulonglong
        value: cython.longlong
        delta: cython.ulonglong
        i: cython.Py_ssize_t
        size: cython.ulonglong
        self.at = at
        self.bad = False
        while self.at < end:
            self.steps += 1
            if self.steps > self.max_steps or self.rows_total - self.first_row > self.max_rows:
                return 2
            op = self.data[self.at]
            self.at += 1
            low = op & 0x3F
            delta = 0
            if op & 0xC0 == 0x40:
                delta = cython.cast(cython.ulonglong, low) * self.cie_code_align
            elif op & 0xC0 == 0x80:
                number = self.leb(end, False)
                self.set_register(
                    cython.cast(cython.ulonglong, low),
                    AT_CFA,
                    cython.cast(cython.longlong, number * cython.cast(cython.ulonglong, self.cie_data_align)),
                    0,
                )
            elif op & 0xC0 == 0xC0:
                self.restore(cython.cast(cython.ulonglong, low))
            elif op == 0x00:
                continue
            elif op == 0x01:
                number = self.pointer(self.cie_encoding & 0x7F, end, False)
                if not self.bad and number > self.location:
                    delta = number - self.location
            elif 0x02 <= op <= 0x04:
                delta = self.number(1 << (op - 2), end) * self.cie_code_align
            elif op == 0x05:
                number = self.leb(end, False)
                value = cython.cast(
                    cython.longlong, self.leb(end, False) * cython.cast(cython.ulonglong, self.cie_data_align)
                )
                self.set_register(number, AT_CFA, value, 0)
            elif op == 0x06:
                self.restore(self.leb(end, False))
            elif op == 0x07:
                self.set_register(self.leb(end, False), UNDEFINED, 0, 0)
            elif op == 0x08:
                self.set_register(self.leb(end, False), SAME, 0, 0)
            elif op == 0x09:
                number = self.leb(end, False)
                value = cython.cast(cython.longlong, self.leb(end, False))
                self.set_register(number, REGISTER, value, 0)
            elif op == 0x0A:
                if (self.depth + 1) * STATE > self.saved.shape[0]:
                    return 2
                for i in range(STATE):
                    self.saved[self.depth * STATE + i] = self.state[i]
                self.depth += 1
            elif op == 0x0B:
                if self.depth == 0:
                    return 2
                self.depth -= 1
                for i in range(STATE):
                    self.state[i] = self.saved[self.depth * STATE + i]
                self.changed = True
            elif op == 0x0C or op == 0x12:
                number = self.leb(end, False)
                if op == 0x0C:
                    value = cython.cast(cython.longlong, self.leb(end, False))
                else:
                    value = cython.cast(
                        cython.longlong, self.leb(end, True) * cython.cast(cython.ulonglong, self.cie_data_align)
                    )
                self.set_cfa(CFA_REGISTER, number, value, 0)
            elif op == 0x0D:
                number = self.leb(end, False)
                if self.state[0] != CFA_REGISTER:
                    return 2
                self.set_cfa(CFA_REGISTER, number, self.state[2], 0)
            elif op == 0x0E or op == 0x13:
                if op == 0x0E:
                    value = cython.cast(cython.longlong, self.leb(end, False))
                else:
                    value = cython.cast(
                        cython.longlong, self.leb(end, True) * cython.cast(cython.ulonglong, self.cie_data_align)
                    )
                if self.state[0] != CFA_REGISTER:
                    return 2
                self.set_cfa(CFA_REGISTER, cython.cast(cython.ulonglong, self.state[1]), value, 0)
            elif op == 0x0F:
                size = self.leb(end, False)
                if self.bad or size > cython.cast(cython.ulonglong, end - self.at):
                    return 2
                self.cfa_expression(self.at, self.at + cython.cast(cython.Py_ssize_t, size))
                self.at = self.after
            elif op == 0x10 or op == 0x16:
                number = self.leb(end, False)
                size = self.leb(end, False)
                if self.bad or size > cython.cast(cython.ulonglong, end - self.at):
                    return 2
                self.register_expression(number, self.at, self.at + cython.cast(cython.Py_ssize_t, size), op == 0x16)
                self.at = self.after
            elif op == 0x11:
                number = self.leb(end, False)
                value = cython.cast(
                    cython.longlong, self.leb(end, True) * cython.cast(cython.ulonglong, self.cie_data_align)
                )
                self.set_register(number, AT_CFA, value, 0)
            elif op == 0x14 or op == 0x15:
                number = self.leb(end, False)
                value = cython.cast(
                    cython.longlong,
                    self.leb(end, op == 0x15) * cython.cast(cython.ulonglong, self.cie_data_align),
                )
                self.set_register(number, IS_CFA, value, 0)
            elif op == 0x2D or op == 0x2C:
                # SPARC's window save, or AArch64's signed return address: no meaning on x86-64.
                continue
            elif op == 0x2E:
                self.leb(end, False)
            elif op == 0x2F:
                number = self.leb(end, False)
                value = cython.cast(
                    cython.longlong, 0 - self.leb(end, False) * cython.cast(cython.ulonglong, self.cie_data_align)
                )
                self.set_register(number, AT_CFA, value, 0)
            else:
                return 2
            if self.bad:
                return 2
            if delta and not initial:
                self.flush()
                self.location += delta
                if self.location >= last or self.location < delta:
                    return 1
        return 0

    after: cython.Py_ssize_t

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def restore(self, number: cython.ulonglong) -> cython.int:
        """Give a register the rule it has after the CIE's instructions."""
        at: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if number < cython.cast(cython.ulonglong, REGISTERS):
            at = 4 + 3 * cython.cast(cython.Py_ssize_t, number)
            for i in range(at, at + 3):
                self.state[i] = self.initial[i]
            self.changed = True
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def set_cfa(
        self, kind: cython.int, number: cython.ulonglong, value: cython.longlong, extra: cython.longlong
    ) -> cython.int:
        if number >= cython.cast(cython.ulonglong, REGISTERS):
            self.bad = True
            return 0
        self.state[0] = kind
        self.state[1] = cython.cast(cython.int, number)
        self.state[2] = cython.cast(cython.int, value)
        self.state[3] = cython.cast(cython.int, extra)
        if self.state[2] != value or self.state[3] != extra:
            self.bad = True
        self.changed = True
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def breg(self, end: cython.Py_ssize_t) -> cython.int:
        """Read ``DW_OP_breg`` and its offset (left in ``offset``); the register, or -2 if something else stands there."""
        op: cython.int
        if self.at >= end:
            return -2
        op = self.data[self.at]
        if op < 0x70 or op >= 0x70 + REGISTERS:
            return -2
        self.at += 1
        self.offset = cython.cast(cython.longlong, self.leb(end, True))
        if self.bad or self.offset != cython.cast(cython.int, self.offset):
            return -2
        return op - 0x70

    offset: cython.longlong

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def cfa_expression(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """A CFA by expression: the shapes compilers and linkers make become plain rules, the rest is kept as it is."""
        number: cython.int
        expression: cython.int
        extra: cython.longlong = 0
        rest: cython.Py_ssize_t
        self.after = end
        self.at = begin
        number = self.breg(end)
        if number >= 0:
            rest = end - self.at
            if rest == 0:
                return self.set_cfa(CFA_REGISTER, cython.cast(cython.ulonglong, number), self.offset, 0)
            if self.data[self.at] == 0x06:
                # DW_OP_deref, then perhaps a constant to add
                self.at += 1
                rest -= 1
                if rest == 2 and 0x30 <= self.data[self.at] <= 0x4F and self.data[self.at + 1] == 0x22:
                    extra = self.data[self.at] - 0x30
                    rest = 0
                elif rest >= 2 and self.data[self.at] == 0x23:
                    self.at += 1
                    extra = cython.cast(cython.longlong, self.leb(end, False))
                    rest = end - self.at
                if rest == 0 and not self.bad:
                    return self.set_cfa(CFA_DEREF, cython.cast(cython.ulonglong, number), self.offset, extra)
            elif (
                rest == 9
                and number == RSP
                and self.data[self.at] == 0x70 + PC
                and self.data[self.at + 1] == 0
                and self.data[self.at + 2] == 0x3F
                and self.data[self.at + 3] == 0x1A
                and 0x30 <= self.data[self.at + 4] <= 0x4F
                and self.data[self.at + 5] == 0x2A
                and self.data[self.at + 6] == 0x33
                and self.data[self.at + 7] == 0x24
                and self.data[self.at + 8] == 0x22
            ):
                # The linker's lazy procedure linkage table: 8 more once the stub has pushed its index.
                extra = self.data[self.at + 4] - 0x30
                return self.set_cfa(CFA_PLT, RSP, self.offset, extra)
        self.bad = False
        with cython.gil:
            expression = self.rules.add_expression(bytes(self.data[begin:end]))
        return self.set_cfa(CFA_EXPRESSION, 0, 0, expression)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def register_expression(
        self, number: cython.ulonglong, begin: cython.Py_ssize_t, end: cython.Py_ssize_t, value: cython.bint
    ) -> cython.int:
        """A register's rule by expression; ``value`` when the expression's value is the register's."""
        base: cython.int
        expression: cython.int
        self.after = end
        if number >= cython.cast(cython.ulonglong, REGISTERS):
            return 0
        self.at = begin
        base = self.breg(end)
        if base >= 0 and self.at == end and not value:
            return self.set_register(number, AT_REGISTER, self.offset, base)
        self.bad = False
        with cython.gil:
            expression = self.rules.add_expression(bytes(self.data[begin:end]))
        return self.set_register(number, IS_EXPRESSION if value else EXPRESSION, expression, 0)
