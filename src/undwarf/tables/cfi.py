# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Call frame programs compiled to rows.

Sources: DWARF 5, 6.4.2 and 7.24; LSB Core generic, 10.6; AArch64 ABI (return address signing).
"""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.leb128 import leb128

from undwarf.buffers import zeros
from undwarf.limits import Limits
from undwarf.tables.expressions import plain_address, plain_cfa
from undwarf.tables.pointers import Malformed, read_pointer
from undwarf.tables.row_table import RowTable
from undwarf.tables.rule_set import RuleSet

STATE = cython.declare(cython.Py_ssize_t, 40)
"""Words kept of each rule's state to compare with: CFA, its extra, registers, and in the last word what else counts."""
CIE_WORDS = cython.declare(cython.Py_ssize_t, 8)
NOTHING = cython.declare(cython.uint, 0xFFFFFFFF)
LOW_HALF = cython.declare(cython.ulonglong, 0xFFFFFFFF)
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
def _fits(value: cython.longlong) -> cython.bint:
    """Whether a number fits in a rule's 32-bit word."""
    fits: cython.bint = value == cython.cast(cython.int, value)
    return fits


@cython.final
@cython.cclass
class Programs(RowTable):
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
    target: cython.ulonglong
    operands = cython.declare("unsigned char[64]")

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
            self.operands[i] = _OPERANDS[i]

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
                value = leb128(self.data, cython.address(at), end, False)
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
                    number = leb128(self.data, cython.address(at), end, False)
                if kind & 6:
                    value = leb128(self.data, cython.address(at), end, kind & 6 == 4)
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
