# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Call frame programs compiled to rows.

Sources: DWARF 5, 6.4.2 and 7.24; LSB Core generic, 10.6; AArch64 ABI (return address signing).
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.integers import LOW_HALF, NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.cfi import instructions as cfa
from cython.cimports.undwarf.tables.registers import RSP, X86_64_COUNT
from cython.cimports.undwarf.tables.rule_format import CIE_WORDS, SIGNED, STATE

from undwarf.column import zeros
from undwarf.limits import Limits
from undwarf.tables.cfi.expressions import plain_address, plain_cfa
from undwarf.tables.cfi.instructions import OPERANDS
from undwarf.tables.cfi.pointers import Malformed, read_pointer
from undwarf.tables.row_table import RowTable
from undwarf.tables.rule_set import RuleSet

# What running a program ended with.
DONE = cython.declare(cython.int, 0)
PAST_END = cython.declare(cython.int, 1)
DAMAGED = cython.declare(cython.int, 2)

NO_INSTRUCTION = cython.declare(cython.int, 0xFF)
"""In the place of operands."""


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
class Programs(RowTable):
    """The programs of one section's entries (:class:`undwarf.tables.cfi.entries.Entries`), compiled at first use.

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
    max_steps: cython.Py_ssize_t
    max_rows: cython.Py_ssize_t
    max_depth: cython.Py_ssize_t
    budget: cython.Py_ssize_t
    _origins = cython.declare("const unsigned long long[::1]")
    _limits = cython.declare("const unsigned long long[::1]")
    _begins = cython.declare("const unsigned int[::1]")
    _stops = cython.declare("const unsigned int[::1]")
    _cies = cython.declare("const unsigned int[::1]")
    _cie_words = cython.declare("const unsigned long long[::1]")
    # the program at hand
    state = cython.declare("unsigned long long[40]")
    initial = cython.declare("unsigned long long[40]")
    initial_cie: cython.Py_ssize_t
    initial_status: cython.int
    saved = cython.declare("unsigned long long[::1]")
    changed: cython.bint
    steps: cython.Py_ssize_t
    depth: cython.Py_ssize_t
    last: cython.ulonglong
    code_align: cython.ulonglong
    data_align: cython.ulonglong
    target: cython.ulonglong
    operands = cython.declare("unsigned char[64]")
    # the instruction at hand: its operands, and how far it moves the location
    number: cython.ulonglong
    value: cython.ulonglong
    delta: cython.ulonglong

    def __init__(
        self, entries: Any, rules: RuleSet, *, source: int, registers: int, signing: bool, limits: Limits
    ) -> None:
        super().__init__(rules.lock, entries.total)
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
        self.initial_cie = -1
        i: cython.Py_ssize_t
        for i in range(64):
            self.operands[i] = OPERANDS.get(i, NO_INSTRUCTION)

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
    def make(self, entry: cython.Py_ssize_t) -> cython.int:
        """Run an entry's program and append its rows."""
        cie: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        stop: cython.Py_ssize_t
        limit: cython.ulonglong
        status: cython.int
        self.steps = 0
        if self.indexed:
            with cython.gil:
                if not self._locate(entry):
                    self.damaged += 1
                    self.location = self._origins[entry]
                    return self.put(NOTHING)
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
        status = self.start(cie)
        self.location = self._origins[entry]
        self.changed = True
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
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def start(self, cie: cython.Py_ssize_t) -> cython.int:
        """Let the state be what a CIE's instructions leave, and say how these ended."""
        i: cython.Py_ssize_t
        if cie == self.initial_cie:
            for i in range(STATE):
                self.state[i] = self.initial[i]
            return self.initial_status
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
        return self.initial_status

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
        at: cython.Py_ssize_t = begin
        steps: cython.Py_ssize_t = 0
        most: cython.Py_ssize_t = min(self.max_steps, self.budget)
        op: cython.int
        good: cython.bint
        ended: cython.int = DONE
        self.code_align = self._cie_words[CIE_WORDS * cie + 1]
        self.data_align = self._cie_words[CIE_WORDS * cie + 2]
        self.last = last
        self.depth = 0
        # The entries lie inside the section, so that at < end is all that reading a byte needs.
        if end > self.data.shape[0]:
            end = self.data.shape[0]
        while at < end:
            steps += 1
            if steps > most or self.total - self.first >= self.max_rows:
                ended = DAMAGED
                break
            op = self.base[at]
            at += 1
            self.delta = 0
            if op < cfa.ADVANCE_LOC:
                at = self.read_operands(op, at, end)
            else:
                # These have their number inside.
                self.number = cython.cast(cython.ulonglong, op & 0x3F)
                if op >= cfa.RESTORE:
                    op = cfa.RESTORE_EXTENDED
                elif op >= cfa.OFFSET:
                    self.value = leb128(self.data, cython.address(at), end, False)
                    op = cfa.OFFSET_EXTENDED
                else:
                    self.delta = self.number * self.code_align
                    op = cfa.NOP
            good = at <= end
            if good and op != cfa.NOP:
                if cfa.SET_LOC <= op <= cfa.ADVANCE_LOC4:
                    at = self.advance(op, at, end, cie)
                    good = at >= 0
                elif op in (cfa.DEF_CFA_EXPRESSION, cfa.EXPRESSION, cfa.VAL_EXPRESSION):
                    at += cython.cast(cython.Py_ssize_t, self.value)
                    with cython.gil:
                        good = self._expression(op, at)
                else:
                    good = self.change(op)
            if not good:
                ended = DAMAGED
                break
            if self.delta and last:
                if self.changed:
                    self.flush()
                self.location += self.delta
                if self.location >= last or self.location < self.delta:
                    ended = PAST_END
                    break
        self.steps += steps
        return ended

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def read_operands(self, op: cython.int, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the LEB128 operands of an instruction below 0x40 into ``number`` and ``value``; where they end, past
        ``end`` if they are cut short or there is no such instruction. Of a block it reads only how long it is."""
        kind: cython.int = self.operands[op]
        self.number = self.value = 0
        if kind == NO_INSTRUCTION:
            return end + 1
        if kind & cfa.REGISTER_OPERAND:
            self.number = leb128(self.data, cython.address(at), end, False)
        kind &= cfa.BLOCK_OPERAND
        if kind:
            self.value = leb128(self.data, cython.address(at), end, kind == cfa.SIGNED_OPERAND)
            if kind == cfa.BLOCK_OPERAND and at <= end and self.value > cython.cast(cython.ulonglong, end - at):
                return end + 1
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def advance(
        self, op: cython.int, at: cython.Py_ssize_t, end: cython.Py_ssize_t, cie: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Read how far the location moves into ``delta``; where that ends, or -1 if it cannot be."""
        size: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if op == cfa.SET_LOC:
            with cython.gil:
                at = self._set_location(at, end, cie)
            if at < 0 or (self.last and self.target < self.location):
                return -1
            if self.last:
                self.delta = self.target - self.location
            return at
        size = 1 << (op - cfa.ADVANCE_LOC1)
        if size > end - at:
            return -1
        i = size
        while i > 0:
            i -= 1
            self.delta = self.delta << 8 | self.base[at + i]
        self.delta *= self.code_align
        return at + size

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def change(self, op: cython.int) -> cython.bint:
        """Do what an instruction does to the state; False if it cannot be done."""
        number: cython.ulonglong = self.number
        value: cython.ulonglong = self.value
        scaled: cython.longlong = cython.cast(cython.longlong, value * self.data_align)
        if op in (cfa.OFFSET_EXTENDED, cfa.OFFSET_EXTENDED_SF):
            return self.set_register(number, kinds.AT_CFA, scaled, 0)
        if op == cfa.DEF_CFA_OFFSET:
            return self.set_half(self.state[0] >> 8 & 0xFF, cython.cast(cython.longlong, value))
        if op == cfa.DEF_CFA_OFFSET_SF:
            return self.set_half(self.state[0] >> 8 & 0xFF, scaled)
        if op == cfa.DEF_CFA_REGISTER:
            value = self.state[0] >> 32
            return self.set_half(number, cython.cast(cython.int, value))
        if op == cfa.DEF_CFA:
            return self.set_cfa(kinds.CFA_REGISTER, number, cython.cast(cython.longlong, value), 0)
        if op == cfa.DEF_CFA_SF:
            return self.set_cfa(kinds.CFA_REGISTER, number, scaled, 0)
        if op == cfa.REMEMBER_STATE:
            return self.remember()
        if op == cfa.RESTORE_STATE:
            return self.restore()
        if op == cfa.RESTORE_EXTENDED:
            # Back to what the CIE's instructions left.
            if number < cython.cast(cython.ulonglong, self.registers):
                self.state[2 + number] = self.initial[2 + number] if self.last else 0
                self.changed = True
        elif op == cfa.UNDEFINED:
            return self.set_register(number, kinds.UNDEFINED, 0, 0)
        elif op == cfa.SAME_VALUE:
            if number == RSP and self.registers == X86_64_COUNT:
                # Not the call frame address, which callers' stack pointers are unless something is said of them: GHC.
                return self.set_register(number, kinds.REGISTER, RSP, 0)
            return self.set_register(number, 0, 0, 0)
        elif op == cfa.REGISTER:
            # What is in a register that is not followed is lost.
            if value >= cython.cast(cython.ulonglong, self.registers):
                return self.set_register(number, kinds.UNDEFINED, 0, 0)
            return self.set_register(number, kinds.REGISTER, cython.cast(cython.longlong, value), 0)
        elif op in (cfa.VAL_OFFSET, cfa.VAL_OFFSET_SF):
            return self.set_register(number, kinds.IS_CFA, scaled, 0)
        elif op == cfa.GNU_NEGATIVE_OFFSET_EXTENDED:
            return self.set_register(number, kinds.AT_CFA, cython.cast(cython.longlong, 0 - value * self.data_align), 0)
        elif op in (cfa.AARCH64_NEGATE_RA_STATE, cfa.AARCH64_NEGATE_RA_STATE_WITH_PC):
            # It toggles whether the return address is signed; SPARC's window save means nothing here.
            if self.signing:
                self.state[0] ^= SIGNED
                self.changed = True
        elif op == cfa.MIPS_ADVANCE_LOC8:
            return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def set_half(self, number: cython.ulonglong, offset: cython.longlong) -> cython.bint:
        """Set the call frame address of which only half changes, which must then be a register and an offset."""
        return self.state[0] & 0xFF == kinds.CFA_REGISTER and self.set_cfa(kinds.CFA_REGISTER, number, offset, 0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def remember(self) -> cython.bint:
        """Save the state; False if it is nested too deeply."""
        i: cython.Py_ssize_t
        if self.depth >= self.max_depth:
            return False
        if self.saved is None or (self.depth + 1) * STATE > self.saved.shape[0]:
            with cython.gil:
                self._save_more(self.depth)
        for i in range(self.registers + 2):
            self.saved[self.depth * STATE + i] = self.state[i]
        self.depth += 1
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def restore(self) -> cython.bint:
        """Take back the state saved last; False if there is none."""
        i: cython.Py_ssize_t
        if self.depth == 0:
            return False
        self.depth -= 1
        for i in range(self.registers + 2):
            self.state[i] = self.saved[self.depth * STATE + i]
        self.changed = True
        return True

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

    def _expression(self, op: cython.int, end: cython.Py_ssize_t) -> bool:
        """Set what an instruction gives an expression, which ends at ``end``: the usual shapes become plain rules.
        False if it cannot be set."""
        code = bytes(self.section[end - cython.cast(cython.Py_ssize_t, self.value) : end])
        if op == cfa.DEF_CFA_EXPRESSION:
            return self._cfa_expression(code)
        return self._register_expression(self.number, code, op == cfa.VAL_EXPRESSION)

    def _cfa_expression(self, code: bytes) -> bool:
        plain = plain_cfa(code, self.registers, lazy_plt=not self.signing)
        if plain is None:
            number = self.rules.expressions.add(code)
            return number >= 0 and self.set_cfa(kinds.CFA_EXPRESSION, 0, 0, number)
        kind, register, offset, extra = plain
        return self.set_cfa(kind, register, offset, extra)

    def _register_expression(self, register: cython.ulonglong, code: bytes, is_value: bool) -> bool:
        """A register's rule by expression: its address, or with ``is_value`` its value."""
        if register >= cython.cast(cython.ulonglong, self.registers):
            return True
        plain = None if is_value else plain_address(code, self.registers)
        if plain is None:
            number = self.rules.expressions.add(code)
            kind = kinds.IS_EXPRESSION if is_value else kinds.EXPRESSION
            return number >= 0 and self.set_register(register, kind, number, 0)
        base, offset = plain
        return self.set_register(register, kinds.AT_REGISTER, offset, base)
