# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Call frame programs compiled to rows, and the set of distinct rules that the rows of all tables share.

Sources: DWARF 5, 6.4.2 and 7.24; LSB Core generic, 10.6; AArch64 ABI (return address signing). The words of a rule are
described in :mod:`undwarf.tables.model`.
"""

import os
import threading
from collections.abc import Mapping
from typing import Any

import cython

from undwarf.buffers import zeros
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.expressions import Expressions, plain_address, plain_cfa
from undwarf.tables.pointers import Malformed, read_pointer

STRIDE = cython.declare(cython.Py_ssize_t, 80)
ENTRIES = cython.declare(cython.Py_ssize_t, 18)
"""Register entries that fit in a rule."""
STATE = cython.declare(cython.Py_ssize_t, 40)
"""Words kept of each rule's state to compare with: CFA, its extra, registers, and in the last word what else counts."""
CIE_WORDS = cython.declare(cython.Py_ssize_t, 8)
NOTHING = cython.declare(cython.uint, 0xFFFFFFFF)
HIGH_HALF = cython.declare(cython.ulonglong, 0xFFFFFFFF00000000)
LOW_HALF = cython.declare(cython.ulonglong, 0xFFFFFFFF)
MULTIPLIER = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
SIGNED = cython.declare(cython.ulonglong, 1 << 16)
"""In a state's first word: the return address is signed (AArch64)."""

CFA_REGISTER = cython.declare(cython.ulonglong, 1)
CFA_DEREF = cython.declare(cython.ulonglong, 2)
CFA_PLT = cython.declare(cython.ulonglong, 3)
CFA_EXPRESSION = cython.declare(cython.ulonglong, 4)
UNDEFINED = cython.declare(cython.ulonglong, 1)
AT_CFA = cython.declare(cython.ulonglong, 2)
IS_CFA = cython.declare(cython.ulonglong, 3)
REGISTER = cython.declare(cython.ulonglong, 4)
AT_REGISTER = cython.declare(cython.ulonglong, 5)
EXPRESSION = cython.declare(cython.ulonglong, 6)
IS_EXPRESSION = cython.declare(cython.ulonglong, 7)

# What running a program ended with.
DONE = cython.declare(cython.int, 0)
PAST_END = cython.declare(cython.int, 1)
DAMAGED = cython.declare(cython.int, 2)

# Operands of the instructions 0x00 to 0x3f: the first is a LEB128 register (1) or nothing (0); the second an unsigned
# (2) or signed (4) LEB128 number, a block (6) or nothing (0). 0xff: not an instruction.
_OPERANDS = bytearray(b"\xff" * 64)
for _op, _kind in {
    0x00: 0, 0x01: 0, 0x02: 0, 0x03: 0, 0x04: 0, 0x05: 3, 0x06: 1, 0x07: 1, 0x08: 1, 0x09: 3, 0x0A: 0, 0x0B: 0, 0x0C: 3,
    0x0D: 1, 0x0E: 2, 0x0F: 6, 0x10: 7, 0x11: 5, 0x12: 5, 0x13: 4, 0x14: 3, 0x15: 5, 0x16: 7, 0x1D: 0, 0x2C: 0, 0x2D: 0,
    0x2E: 2, 0x2F: 3,
}.items():  # fmt: skip
    _OPERANDS[_op] = _kind


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
@cython.locals(base="const unsigned char *", at="Py_ssize_t *")
def _leb(base: Any, at: Any, end: cython.Py_ssize_t, signed: cython.bint) -> cython.ulonglong:
    """A LEB128 number; reads below ``end`` only, and leaves ``at`` behind ``end`` when the number does not stop there.
    Bits past the 64th are dropped."""
    value: cython.ulonglong = 0
    byte: cython.ulonglong
    shift: cython.int = 0
    i: cython.Py_ssize_t = at[0]
    while i < end:
        byte = base[i]
        i += 1
        if shift < 64:
            value |= (byte & 0x7F) << shift
            shift += 7
        if byte < 0x80:
            if signed and byte & 0x40 and shift < 64:
                value |= (0 - cython.cast(cython.ulonglong, 1)) << shift
            at[0] = i
            return value
    at[0] = end + 1
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _fits(value: cython.longlong) -> cython.bint:
    """Whether a number fits in a rule's 32-bit word."""
    fits: cython.bint = value == cython.cast(cython.int, value)
    return fits


@cython.final
@cython.cclass
class RuleSet:
    """The distinct rules of all tables of a run, and the expressions that a few of them need.

    ``rules`` has 80 words a rule and ``count`` rules. Buffers are replaced as the set grows; what an old one holds
    stays true. Whoever makes rows holds ``lock``, so that tables can be used from several threads.
    """

    count = cython.declare(cython.Py_ssize_t, visibility="readonly")
    refused = cython.declare(cython.Py_ssize_t, visibility="readonly")
    lock = cython.declare(object, visibility="readonly")
    rules = cython.declare(object, visibility="readonly")
    limit: cython.Py_ssize_t
    _words = cython.declare("int[::1]")
    _states = cython.declare("unsigned long long[::1]")
    _slots = cython.declare("unsigned long long[::1]")
    expressions = cython.declare(object, visibility="readonly")
    factors = cython.declare("unsigned long long[40]")

    def __init__(self, limits: Limits = DEFAULT) -> None:
        i: cython.Py_ssize_t
        self.limit = limits.rules
        self.lock = threading.RLock()
        self._words = zeros("i", STRIDE * 64)
        self._states = zeros("Q", STATE * 64)
        self._slots = zeros("Q", 256)
        self.expressions = Expressions()
        self.rules = memoryview(self._words)
        # Random, so that no file can be made whose rules all fall into one slot.
        seeds = os.urandom(8 * STATE)
        for i in range(STATE):
            self.factors[i] = int.from_bytes(seeds[8 * i : 8 * i + 8], "little") | 1

    def __len__(self) -> int:
        return int(self.count)

    def words(self, rule: int) -> list[int]:
        """The 80 words of one rule."""
        if not 0 <= rule < self.count:
            raise IndexError(rule)
        return list(self.rules[STRIDE * rule : STRIDE * rule + STRIDE])

    @property
    def states(self) -> memoryview:
        """What the rules are made of, 40 words (Q) each; :mod:`undwarf.tables.pack` writes and reads them."""
        return memoryview(self._states)

    @cython.locals(given="const unsigned long long[::1]", numbers="unsigned int[::1]", rule=cython.longlong)
    def take(self, states: memoryview) -> memoryview:
        """The numbers (I) of rules given as states; 0xffffffff where the set is full."""
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = len(states) // STATE
        given = states
        made = zeros("I", n)
        numbers = made
        with self.lock:
            for i in range(n):
                registers: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, given[STATE * i + STATE - 1] >> 32)
                rule = self.intern(cython.address(given[STATE * i]), min(registers, STATE - 4))
                numbers[i] = NOTHING if rule < 0 else cython.cast(cython.uint, rule)
        return made

    @property
    def expression_bytes(self) -> memoryview:
        """The bytes of all expressions, one behind the other."""
        found: memoryview = self.expressions.data
        return found

    @property
    def expression_offsets(self) -> memoryview:
        """Where each expression starts, and where the last one ends."""
        found: memoryview = self.expressions.offsets
        return found

    def add(
        self,
        cfa: tuple[int, int, int, int],
        registers: Mapping[int, tuple[int, int, int]],
        *,
        column: int,
        source: int,
        signal: bool = False,
        signed: bool = False,
        flags: int = 0,
    ) -> int:
        """The number of a rule: ``cfa`` as (kind, register, offset, extra), ``registers`` as {DWARF register below 36:
        (kind, value, base)}, ``column`` the return address's register, whose kind 1 (undefined) marks the outermost
        frame; ``flags`` are further ones of those that a rule has. OverflowError when the set is full."""
        state = cython.declare("unsigned long long[40]")
        i: cython.Py_ssize_t
        for i in range(STATE):
            state[i] = 0
        kind, register, offset, extra = cfa
        state[0] = kind | register << 8 | (offset & 0xFFFFFFFF) << 32 | (1 << 16 if signed else 0)
        state[1] = extra & 0xFFFFFFFF
        for number, (how, value, base) in registers.items():
            if not 0 <= number < 36:
                raise ValueError(f"register {number}")
            i = 2 + number
            state[i] = how | base << 8 | (value & 0xFFFFFFFF) << 32
        state[STATE - 1] = (1 if signal else 0) | (flags & 0xF8) | source << 8 | column << 16 | 36 << 32
        rule: cython.longlong = -1
        with self.lock:
            rule = self.intern(cython.address(state[0]), 36)
        if rule < 0:
            raise OverflowError("too many distinct rules")
        return rule

    @cython.locals(
        old="int[::1]",
        new="int[::1]",
        old_q="unsigned long long[::1]",
        new_q="unsigned long long[::1]",
        size=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
        slot=cython.Py_ssize_t,
        mask=cython.Py_ssize_t,
        hashed=cython.ulonglong,
    )
    def _grow(self) -> None:
        """Double the room. Twice as many slots need one more bit of each rule's hash, which is made again."""
        size = self._words.shape[0]
        old = self._words
        new = zeros("i", 2 * size)
        new[:size] = old
        self._words = new
        self.rules = memoryview(new)
        size = self._states.shape[0]
        old_q = self._states
        new_q = zeros("Q", 2 * size)
        new_q[:size] = old_q
        self._states = new_q
        new_q = zeros("Q", 2 * self._slots.shape[0])
        mask = len(new_q) - 1
        for i in range(self.count):
            hashed = self.hash(cython.address(self._states[STATE * i]), STATE - 3)  # all words of the state
            slot = cython.cast(cython.Py_ssize_t, hashed) & mask
            while new_q[slot]:
                slot = (slot + 1) & mask
            new_q[slot] = hashed & HIGH_HALF | cython.cast(cython.ulonglong, i + 1)
        self._slots = new_q

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    @cython.locals(state="const unsigned long long *")
    def hash(self, state: Any, registers: cython.Py_ssize_t) -> cython.ulonglong:
        """Of a state: products that do not wait for one another; a register without a rule adds nothing."""
        value: cython.ulonglong = state[STATE - 1] * self.factors[STATE - 1]
        i: cython.Py_ssize_t
        for i in range(registers + 2):
            value += state[i] * self.factors[i]
        value ^= value >> 32
        value *= MULTIPLIER
        return value ^ value >> 29

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(state="const unsigned long long *", other="const unsigned long long *")
    def intern(self, state: Any, registers: cython.Py_ssize_t) -> cython.longlong:
        """The number of the rule that a state stands for, -2 when the set is full. The words behind the
        registers are not looked at, but for the last one: flags, source << 8, return address column << 16,
        ``registers`` << 32."""
        hashed: cython.ulonglong = self.hash(state, registers)
        mask: cython.Py_ssize_t = self._slots.shape[0] - 1
        slot: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, hashed) & mask
        known: cython.ulonglong
        number: cython.longlong
        differ: cython.ulonglong
        at: cython.Py_ssize_t
        i: cython.Py_ssize_t
        while True:
            known = self._slots[slot]
            if known == 0:
                break
            if (known ^ hashed) & HIGH_HALF == 0:
                at = STATE * (cython.cast(cython.Py_ssize_t, known & LOW_HALF) - 1)
                # The last word holds how many registers there are, so that this compares all that there is.
                other = cython.address(self._states[at])
                differ = state[STATE - 1] ^ other[STATE - 1]
                for i in range(registers + 2):
                    differ |= state[i] ^ other[i]
                if differ == 0:
                    number = cython.cast(cython.longlong, known & LOW_HALF) - 1
                    return number
            slot = (slot + 1) & mask
        if self.count >= self.limit:
            self.refused += 1
            return -2
        if STRIDE * (self.count + 1) > self._words.shape[0]:
            with cython.gil:
                self._grow()
            return self.intern(state, registers)
        self._slots[slot] = hashed & HIGH_HALF | cython.cast(cython.ulonglong, self.count + 1)
        at = STATE * self.count
        for i in range(registers + 2):
            self._states[at + i] = state[i]
        self._states[at + STATE - 1] = state[STATE - 1]
        self.write(state, registers)
        number = self.count
        self.count += 1
        return number

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(state="const unsigned long long *")
    def write(self, state: Any, registers: cython.Py_ssize_t) -> cython.int:
        """Write the next rule's words."""
        at: cython.Py_ssize_t = STRIDE * self.count
        about: cython.ulonglong = state[STATE - 1]
        column: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, about >> 16 & 0xFFFF)
        flags: cython.int = cython.cast(cython.int, about & 0xFF)
        n: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        surplus: cython.Py_ssize_t = -ENTRIES
        kind: cython.ulonglong = state[0] & 0xFF
        self._words[at] = cython.cast(cython.int, kind)
        self._words[at + 1] = cython.cast(cython.int, state[0] >> 8 & 0xFF)
        self._words[at + 2] = cython.cast(cython.int, state[0] >> 32)
        self._words[at + 3] = cython.cast(cython.int, state[1])
        if state[0] & SIGNED:
            flags |= 4
        if kind == CFA_EXPRESSION:
            flags |= 8
        for i in range(registers):
            if state[2 + i]:
                surplus += 1
        for k in range(-1, registers):
            # The return address goes first.
            i = column if k < 0 else k
            if i >= registers or (k >= 0 and i == column) or state[2 + i] == 0:
                continue
            kind = state[2 + i] & 0xFF
            if k < 0 and kind == UNDEFINED:
                flags |= 2
                surplus -= 1
                continue
            if k >= 0 and surplus > 0:
                # More than fit, on AArch64 only: the lowest are those that a call does not keep.
                surplus -= 1
                continue
            if kind >= EXPRESSION:
                flags |= 8
            self._words[at + 8 + 4 * n] = cython.cast(cython.int, i)
            self._words[at + 9 + 4 * n] = cython.cast(cython.int, kind)
            self._words[at + 10 + 4 * n] = cython.cast(cython.int, state[2 + i] >> 32)
            self._words[at + 11 + 4 * n] = cython.cast(cython.int, state[2 + i] >> 8 & 0xFF)
            n += 1
        self._words[at + 4] = flags
        self._words[at + 5] = cython.cast(cython.int, about >> 8 & 0xFF)
        self._words[at + 6] = cython.cast(cython.int, n)
        self._words[at + 7] = cython.cast(cython.int, column)
        return 0


@cython.final
@cython.cclass
class Programs:
    """The programs of one section's entries (:class:`undwarf.tables.entries.Entries`), compiled at first use.

    ``source`` is the number rules carry, ``registers`` how many DWARF registers rules speak of (the others are
    dropped), ``signing`` whether instruction 0x2d says that the return address is signed (AArch64). ``damaged`` counts
    programs whose rest could not be understood, so that a hole stands there.
    """

    data = cython.declare("const unsigned char[::1]")
    base = cython.declare("const unsigned char *")
    section = cython.declare(object)
    entries = cython.declare(object)
    indexed: cython.bint
    _locate = cython.declare(object)
    _found = cython.declare("const unsigned long long[::1]")
    cies: cython.ulonglong
    address: cython.ulonglong
    word: cython.int
    rules: RuleSet
    source: cython.int
    registers: cython.Py_ssize_t
    signing: cython.bint
    lock = cython.declare(object)
    max_steps: cython.Py_ssize_t
    max_rows: cython.Py_ssize_t
    max_depth: cython.Py_ssize_t
    budget: cython.Py_ssize_t
    damaged = cython.declare(cython.Py_ssize_t, visibility="readonly")
    _origins = cython.declare("const unsigned long long[::1]")
    _limits = cython.declare("const unsigned long long[::1]")
    _begins = cython.declare("const unsigned int[::1]")
    _stops = cython.declare("const unsigned int[::1]")
    _cies = cython.declare("const unsigned int[::1]")
    _cie_words = cython.declare("const unsigned long long[::1]")
    # rows of all entries compiled so far, and where each entry's are
    _addresses = cython.declare("unsigned long long[::1]")
    _rules = cython.declare("unsigned int[::1]")
    _address_view = cython.declare(object)
    _rule_view = cython.declare(object)
    _first = cython.declare("unsigned int[::1]")
    _count = cython.declare("unsigned int[::1]")
    total = cython.declare(cython.Py_ssize_t, visibility="readonly")
    # the program at hand
    state = cython.declare("unsigned long long[40]")
    initial = cython.declare("unsigned long long[40]")
    initial_cie: cython.Py_ssize_t
    initial_status: cython.int
    saved = cython.declare("unsigned long long[::1]")
    first: cython.Py_ssize_t
    changed: cython.bint
    location: cython.ulonglong
    steps: cython.Py_ssize_t
    target: cython.ulonglong
    operands = cython.declare("unsigned char[64]")

    def __init__(
        self, entries: Any, rules: RuleSet, *, source: int, registers: int, signing: bool, limits: Limits
    ) -> None:
        self.entries = entries
        self.indexed = entries.indexed
        self._locate = entries.locate
        self._found = entries.found
        self.section = entries.section
        self.data = entries.section
        self.base = cython.address(self.data[0])
        self.address = entries.address
        self.word = entries.word
        self.rules = rules
        self.lock = rules.lock
        self.source = source
        self.registers = min(registers, STATE - 4)
        self.signing = signing
        self.max_steps = limits.cfi_steps
        self.max_rows = limits.cfi_rows
        self.max_depth = limits.remember_depth
        # Every byte is an instruction at most once, and a CIE's are run again when functions alternate.
        self.budget = 1_000_000 + 16 * self.data.shape[0]
        self._origins = entries.origins
        self._limits = entries.limits
        self._begins = entries.begins
        self._stops = entries.stops
        self._cies = entries.cies
        self._cie_words = entries.cie_words
        self._address_view = zeros("Q", 256)
        self._addresses = self._address_view
        self._rule_view = zeros("I", 256)
        self._rules = self._rule_view
        self._first = zeros("I", entries.total)
        self._count = zeros("I", entries.total)
        self.initial_cie = -1
        i: cython.Py_ssize_t
        for i in range(64):
            self.operands[i] = _OPERANDS[i]

    def rows(
        self, entry: cython.Py_ssize_t, start: cython.ulonglong, end: cython.ulonglong
    ) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of an entry's rows from ``start`` to ``end``; the first address is ``start``, and
        rule 0xffffffff marks a hole."""
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        if self._count[entry] == 0:
            with self.lock:
                if self._count[entry] == 0:
                    self.compile(entry)
        first = self._first[entry]
        last = first + self._count[entry]
        if start == self._addresses[first] and end > self._addresses[last - 1]:
            return self._address_view[first:last], self._rule_view[first:last]
        while last - first > 1 and self._addresses[first + 1] <= start:
            first += 1
        while last - first > 1 and self._addresses[last - 1] >= end:
            last -= 1
        if self._addresses[first] >= start:
            return self._address_view[first:last], self._rule_view[first:last]
        # Another function covers the beginning.
        addresses = zeros("Q", last - first)
        addresses[:] = self._address_view[first:last]
        addresses[0] = start
        return addresses, self._rule_view[first:last]

    def compile_all(self) -> int:
        """Compile what has not been compiled; how many rows there are in all."""
        entry: cython.Py_ssize_t
        with self.lock, cython.nogil:
            for entry in range(self._count.shape[0]):
                if self._count[entry] == 0:
                    self.compile(entry)
        return int(self.total)

    @cython.locals(
        starts="const unsigned long long[::1]",
        ends="const unsigned long long[::1]",
        entry="const unsigned int[::1]",
        addresses="unsigned long long[::1]",
        rules="unsigned int[::1]",
    )
    def flatten(self, ranges_start: Any, ranges_end: Any, ranges_entry: Any) -> Any:
        """All rows of sorted, disjoint ranges as two columns (:mod:`undwarf.tables.columns`), compiled where they are
        not; 0xffffffff stands where there is no rule or no range. ``ranges_entry`` is None if ranges are entries.
        """
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t
        one: cython.Py_ssize_t
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        at: cython.Py_ssize_t = 0
        rule: cython.uint
        before: cython.uint = NOTHING
        here: cython.ulonglong
        end: cython.ulonglong = 0
        given: cython.bint = ranges_entry is not None
        self.compile_all()
        starts = ranges_start
        ends = ranges_end
        if given:
            entry = ranges_entry
        n = starts.shape[0]
        room: cython.Py_ssize_t = n + 2
        for i in range(n):
            one = entry[i] if given else i
            room += self._count[one]
        made = zeros("Q", room)
        made_rules = zeros("I", room)
        addresses = made
        rules = made_rules
        with cython.nogil:
            if n == 0 or starts[0]:
                addresses[0] = 0
                rules[0] = NOTHING
                at = 1
            for i in range(n):
                one = entry[i] if given else i
                if end < starts[i] and before != NOTHING:
                    addresses[at] = end
                    rules[at] = before = NOTHING
                    at += 1
                end = ends[i]
                first = self._first[one]
                last = first + self._count[one]
                while last - first > 1 and self._addresses[first + 1] <= starts[i]:
                    first += 1
                while last - first > 1 and self._addresses[last - 1] >= end:
                    last -= 1
                for k in range(first, last):
                    rule = self._rules[k]
                    here = starts[i] if k == first else self._addresses[k]
                    if rule != before or at == 0:
                        addresses[at] = here
                        rules[at] = before = rule
                        at += 1
            if before != NOTHING:
                addresses[at] = end
                rules[at] = NOTHING
                at += 1
        return memoryview(made)[:at], memoryview(made_rules)[:at]

    @cython.locals(
        old="unsigned long long[::1]",
        new="unsigned long long[::1]",
        old_i="unsigned int[::1]",
        new_i="unsigned int[::1]",
    )
    def _grow(self) -> None:
        """Double the room for rows; what was handed out keeps the old memory alive."""
        size: cython.Py_ssize_t = self._addresses.shape[0]
        old = self._addresses
        self._address_view = zeros("Q", 2 * size)
        new = self._address_view
        new[:size] = old
        self._addresses = new
        old_i = self._rules
        self._rule_view = zeros("I", 2 * size)
        new_i = self._rule_view
        new_i[:size] = old_i
        self._rules = new_i

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def put(self, rule: cython.uint) -> cython.int:
        """Add a row at the current location, unless it says what the last one says."""
        at: cython.Py_ssize_t = self.total
        if at > self.first:
            if self._rules[at - 1] == rule:
                return 0
            if self._addresses[at - 1] == self.location:
                self._rules[at - 1] = rule
                return 0
        if at >= self._addresses.shape[0]:
            with cython.gil:
                self._grow()
        self._addresses[at] = self.location
        self._rules[at] = rule
        self.total = at + 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def flush(self) -> cython.int:
        """Make a row of the state. Whatever has been touched counts as changed: an instruction that repeats what holds
        already must not hide a change before it."""
        rule: cython.longlong = -2
        if self.state[0] & 0xFF:
            rule = self.rules.intern(cython.address(self.state[0]), self.registers)
        self.changed = False
        return self.put(NOTHING if rule < 0 else cython.cast(cython.uint, rule))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def compile(self, entry: cython.Py_ssize_t) -> cython.int:
        """Run an entry's program and append its rows."""
        cie: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        limit: cython.ulonglong
        i: cython.Py_ssize_t
        status: cython.int
        self.first = self.total
        self.steps = 0
        if self.indexed:
            with cython.gil:
                if not self._locate(entry):
                    self.damaged += 1
                    self.location = self._origins[entry]
                    self.put(NOTHING)
                    self._first[entry] = cython.cast(cython.uint, self.first)
                    self._count[entry] = 1
                    return 0
                if self.cies != self._found[4]:
                    self._cie_words = self.entries.cie_words
                    self.cies = self._found[4]
            begin = cython.cast(cython.Py_ssize_t, self._found[0])
            stop = cython.cast(cython.Py_ssize_t, self._found[1])
            cie = cython.cast(cython.Py_ssize_t, self._found[2])
            limit = self._found[3]
        else:
            cie = self._cies[entry]
            begin = self._begins[entry]
            stop = self._stops[entry]
            limit = self._limits[entry]
        if cie != self.initial_cie:
            for i in range(STATE):
                self.state[i] = 0
            self.location = 0
            self.initial_status = self.run(
                cie,
                cython.cast(cython.Py_ssize_t, self._cie_words[CIE_WORDS * cie + 5]),
                cython.cast(cython.Py_ssize_t, self._cie_words[CIE_WORDS * cie + 6]),
                0,
            )
            self.state[STATE - 1] = (
                (1 if self._cie_words[CIE_WORDS * cie + 4] & 0x200 else 0)
                | cython.cast(cython.ulonglong, self.source) << 8
                | self._cie_words[CIE_WORDS * cie + 3] << 16
                | cython.cast(cython.ulonglong, self.registers) << 32
            )
            for i in range(STATE):
                self.initial[i] = self.state[i]
            self.initial_cie = cie
        else:
            for i in range(STATE):
                self.state[i] = self.initial[i]
        self.location = self._origins[entry]
        self.changed = True
        status = self.initial_status
        if status == DONE:
            status = self.run(cie, begin, stop, limit)
        if status == DONE:
            if self.changed:
                self.flush()
        elif status == DAMAGED:
            # What follows is unknown.
            self.damaged += 1
            self.put(NOTHING)
        if self.total == self.first:
            self.put(NOTHING)
        if self.indexed and limit < self._limits[entry]:
            # The range goes on to the next function; this one ends before.
            self.location = limit
            self.put(NOTHING)
        self.budget -= self.steps
        self._first[entry] = cython.cast(cython.uint, self.first)
        self._count[entry] = cython.cast(cython.uint, self.total - self.first)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def set_register(
        self, number: cython.ulonglong, kind: cython.ulonglong, value: cython.longlong, base: cython.ulonglong
    ) -> cython.bint:
        """Give a register a rule; False if the value does not fit."""
        if number < cython.cast(cython.ulonglong, self.registers):
            self.state[2 + number] = kind | base << 8 | cython.cast(cython.ulonglong, value) << 32
            self.changed = True
        return _fits(value)

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def set_cfa(
        self, kind: cython.ulonglong, number: cython.ulonglong, offset: cython.longlong, extra: cython.longlong
    ) -> cython.bint:
        """Set the call frame address; False if that cannot be written as a rule."""
        self.state[0] = self.state[0] & SIGNED | kind | number << 8 | cython.cast(cython.ulonglong, offset) << 32
        self.state[1] = cython.cast(cython.ulonglong, extra) & LOW_HALF
        self.changed = True
        return number < cython.cast(cython.ulonglong, self.registers) and _fits(offset) and _fits(extra)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def run(
        self, cie: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t, last: cython.ulonglong
    ) -> cython.int:
        """Run instructions: DONE, PAST_END when ``last`` (the function's end; 0 for a CIE) was reached, or DAMAGED."""
        base = cython.declare("const unsigned char *", self.base)
        at: cython.Py_ssize_t = begin
        depth: cython.Py_ssize_t = 0
        words: cython.Py_ssize_t = self.registers + 2
        steps: cython.Py_ssize_t = 0
        most: cython.Py_ssize_t = min(self.max_steps, self.budget)
        op: cython.int
        kind: cython.int
        number: cython.ulonglong
        value: cython.ulonglong
        delta: cython.ulonglong
        code_align: cython.ulonglong = self._cie_words[CIE_WORDS * cie + 1]
        data_align: cython.ulonglong = self._cie_words[CIE_WORDS * cie + 2]
        i: cython.Py_ssize_t
        good: cython.bint
        ended: cython.int = DONE
        # The entries lie inside the section, so that at < end is all that reading a byte needs.
        if end > self.data.shape[0]:
            end = self.data.shape[0]
        while at < end:
            steps += 1
            if steps > most or self.total - self.first >= self.max_rows:
                ended = DAMAGED
                break
            op = base[at]
            at += 1
            good = True
            delta = 0
            if op >= 0xC0:
                op, number = 0x06, cython.cast(cython.ulonglong, op & 0x3F)
                value = 0
            elif op >= 0x80:
                number = cython.cast(cython.ulonglong, op & 0x3F)
                value = _leb(base, cython.address(at), end, False)
                op = 0x05
            elif op >= 0x40:
                delta = cython.cast(cython.ulonglong, op & 0x3F) * code_align
                number = value = 0
                op = 0x00
            else:
                number = value = 0
                kind = self.operands[op]
                if kind == 0xFF:
                    good = False
                    kind = 0
                if kind & 1:
                    number = _leb(base, cython.address(at), end, False)
                if kind & 6:
                    value = _leb(base, cython.address(at), end, kind & 6 == 4)
                    if kind & 6 == 6 and (at > end or value > cython.cast(cython.ulonglong, end - at)):
                        good = False
            if at > end or not good:
                ended = DAMAGED
                break
            if op == 0x00:
                pass
            elif op == 0x05 or op == 0x11:
                good = self.set_register(number, AT_CFA, cython.cast(cython.longlong, value * data_align), 0)
            elif op == 0x0E or op == 0x13 or op == 0x0D:
                # Only half of the call frame address changes, which must then be a register and an offset.
                if self.state[0] & 0xFF != CFA_REGISTER:
                    good = False
                elif op == 0x0D:
                    value = self.state[0] >> 32
                    good = self.set_cfa(CFA_REGISTER, number, cython.cast(cython.int, value), 0)
                else:
                    if op == 0x13:
                        value *= data_align
                    good = self.set_cfa(CFA_REGISTER, self.state[0] >> 8 & 0xFF, cython.cast(cython.longlong, value), 0)
            elif op == 0x0C or op == 0x12:
                if op == 0x12:
                    value *= data_align
                good = self.set_cfa(CFA_REGISTER, number, cython.cast(cython.longlong, value), 0)
            elif op <= 0x04:
                if op == 0x01:
                    with cython.gil:
                        at = self._set_location(at, end, cie)
                    good = at >= 0 and (last == 0 or self.target >= self.location)
                    if good and last:
                        delta = self.target - self.location
                else:
                    i = 1 << (op - 2)
                    if i > end - at:
                        good = False
                    else:
                        while i > 0:
                            i -= 1
                            delta = delta << 8 | base[at + i]
                        at += 1 << (op - 2)
                        delta *= code_align
            elif op == 0x0A:
                good = depth < self.max_depth
                if good:
                    if self.saved is None or (depth + 1) * STATE > self.saved.shape[0]:
                        with cython.gil:
                            self._save_more(depth)
                    for i in range(words):
                        self.saved[depth * STATE + i] = self.state[i]
                    depth += 1
            elif op == 0x0B:
                good = depth > 0
                if good:
                    depth -= 1
                    for i in range(words):
                        self.state[i] = self.saved[depth * STATE + i]
                    self.changed = True
            elif op == 0x06:
                # Back to what the CIE's instructions left.
                if number < cython.cast(cython.ulonglong, self.registers):
                    self.state[2 + number] = self.initial[2 + number] if last else 0
                    self.changed = True
            elif op == 0x07:
                good = self.set_register(number, UNDEFINED, 0, 0)
            elif op == 0x08:
                good = self.set_register(number, 0, 0, 0)
            elif op == 0x09:
                # What is in a register that is not followed is lost.
                if value >= cython.cast(cython.ulonglong, self.registers):
                    good = self.set_register(number, UNDEFINED, 0, 0)
                else:
                    good = self.set_register(number, REGISTER, cython.cast(cython.longlong, value), 0)
            elif op == 0x0F or op == 0x10 or op == 0x16:
                i = at + cython.cast(cython.Py_ssize_t, value)
                with cython.gil:
                    if op == 0x0F:
                        good = self._cfa_expression(at, i)
                    else:
                        good = self._register_expression(number, at, i, op == 0x16)
                at = i
            elif op == 0x14 or op == 0x15:
                good = self.set_register(number, IS_CFA, cython.cast(cython.longlong, value * data_align), 0)
            elif op == 0x2D or op == 0x2C:
                # On AArch64 it toggles whether the return address is signed; SPARC's window save means nothing here.
                if self.signing:
                    self.state[0] ^= SIGNED
                    self.changed = True
            elif op == 0x2F:
                good = self.set_register(number, AT_CFA, cython.cast(cython.longlong, 0 - value * data_align), 0)
            elif op == 0x1D:
                good = False
            if not good:
                ended = DAMAGED
                break
            if delta and last:
                if self.changed:
                    self.flush()
                self.location += delta
                if self.location >= last or self.location < delta:
                    ended = PAST_END
                    break
        self.steps += steps
        return ended

    def _save_more(self, depth: cython.Py_ssize_t) -> None:
        saved = zeros("Q", 2 * STATE * (depth + 1))
        i: cython.Py_ssize_t
        for i in range(depth * STATE):
            saved[i] = self.saved[i]
        self.saved = saved

    def _set_location(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, cie: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read an address into ``target``; where it ends, or -2."""
        encoding = self._cie_words[CIE_WORDS * cie + 4] & 0x7F
        try:
            self.target, after = read_pointer(self.section, at, end, encoding, address=self.address, word=self.word)
        except Malformed:
            return -2
        return after

    # -- expressions ----------------------------------------------------------------------------------------------

    def _cfa_expression(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bool:
        """A call frame address by expression: the usual shapes become plain rules. False if it cannot be set."""
        code = bytes(self.section[begin:end])
        plain = plain_cfa(code, self.registers, lazy_plt=not self.signing)
        if plain is None:
            number = self.rules.expressions.add(code)
            return number >= 0 and self.set_cfa(CFA_EXPRESSION, 0, 0, number)
        kind, register, offset, extra = plain
        return self.set_cfa(kind, register, offset, extra)

    def _register_expression(
        self, register: cython.ulonglong, begin: cython.Py_ssize_t, end: cython.Py_ssize_t, is_value: bool
    ) -> bool:
        """A register's rule by expression: its address, or with ``is_value`` its value. False if it cannot be set."""
        if register >= cython.cast(cython.ulonglong, self.registers):
            return True
        code = bytes(self.section[begin:end])
        plain = None if is_value else plain_address(code, self.registers)
        if plain is None:
            number = self.rules.expressions.add(code)
            kind = IS_EXPRESSION if is_value else EXPRESSION
            return number >= 0 and self.set_register(register, kind, number, 0)
        base, offset = plain
        return self.set_register(register, AT_REGISTER, offset, base)
