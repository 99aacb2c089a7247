# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Call frame programs compiled to rows.

Sources: DWARF 5, 6.4.2 and 7.24; LSB Core generic, 10.6; AArch64 ABI (return address signing).
"""

import cython
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.integer_constants import LOW_HALF
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.cfi import instructions as cfa
from cython.cimports.undwarf.tables.cfi.entry_kinds import CieFlag
from cython.cimports.undwarf.tables.cfi.fde import CiePointer, cie_at
from cython.cimports.undwarf.tables.registers import RSP, X86_64_COUNT
from cython.cimports.undwarf.tables.rule_format import NO_RULE, REGISTERS, SIGNED, STATE

from undwarf.column import doubled, zeros
from undwarf.limits import Limits
from undwarf.tables.cfi.entries import Entries
from undwarf.tables.cfi.expressions import plain_address, plain_cfa
from undwarf.tables.cfi.instructions import OPERANDS
from undwarf.tables.cfi.pointers import Malformed, read_pointer
from undwarf.tables.row_table import RowProducer, RowTable
from undwarf.tables.rule_set import RuleSet

# How a program ended.
DONE = cython.declare(cython.int, 0)
PAST_END = cython.declare(cython.int, 1)
DAMAGED = cython.declare(cython.int, 2)

NO_INSTRUCTION = cython.declare(cython.int, 0xFF)
"""Instead of operands."""


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
class Programs(RowProducer):
    """The programs of one section's :class:`undwarf.tables.cfi.entries.Entries`.

    ``source`` is the source of the rules; ``registers`` is how many DWARF registers rules name, instructions for others
    are ignored; ``signing``: instruction 0x2d toggles whether the return address is signed (AArch64).
    """

    entries: Entries
    section = cython.declare(object)
    data = cython.declare("const unsigned char[::1]")
    base = cython.declare("const unsigned char *")
    rules: RuleSet
    source: cython.int
    registers: cython.Py_ssize_t
    signing: cython.bint
    max_steps: cython.Py_ssize_t
    max_rows: cython.Py_ssize_t
    max_depth: cython.Py_ssize_t
    budget: cython.Py_ssize_t
    # The program that runs: its state, what its CIE left of it and how that ended, and states that it has saved.
    state = cython.declare("unsigned long long[40]")
    initial = cython.declare("unsigned long long[40]")
    initial_cie: cython.Py_ssize_t
    initial_status: cython.int
    saved = cython.declare("unsigned long long[::1]")
    changed: cython.bint
    steps: cython.Py_ssize_t
    depth: cython.Py_ssize_t
    location: cython.ulonglong
    last: cython.ulonglong
    code_align: cython.ulonglong
    data_align: cython.ulonglong
    target: cython.ulonglong
    operands = cython.declare("unsigned char[64]")
    # The instruction that runs: its operands, and how far it moves the location.
    number: cython.ulonglong
    value: cython.ulonglong
    delta: cython.ulonglong

    def __init__(
        self, entries: Entries, rules: RuleSet, *, source: int, registers: int, signing: bool, limits: Limits
    ) -> None:
        self.entries = entries
        self.section = entries.reader.section
        self.data = self.section
        self.base = cython.address(self.data[0])
        self.rules = rules
        self.source = source
        self.registers = min(registers, REGISTERS)
        self.signing = signing
        self.max_steps = limits.cfi_steps
        self.max_rows = limits.cfi_rows
        self.max_depth = limits.remember_depth
        # Every byte is an instruction at most once, and a CIE's are run again when functions alternate.
        self.budget = 1_000_000 + 16 * self.data.shape[0]
        self.initial_cie = -1
        i: cython.Py_ssize_t
        for i in range(64):
            self.operands[i] = OPERANDS.get(i, NO_INSTRUCTION)

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def flush(self, table: RowTable) -> cython.int:
        """Put a row of the state. Whatever has been touched counts as changed: an instruction that repeats what holds
        already must not hide a change before it."""
        rule: cython.longlong = -2
        if self.state[0] & 0xFF:
            rule = self.rules.intern(cython.address(self.state[0]), self.registers)
        self.changed = False
        return table.put(self.location, NO_RULE if rule < 0 else cython.cast(cython.uint, rule))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def produce(self, table: RowTable, function: cython.Py_ssize_t) -> cython.int:
        """Run the program of an entry, whose number ``function`` is."""
        cie: cython.Py_ssize_t
        end: cython.ulonglong
        status: cython.int
        self.steps = 0
        self.location = self.entries.fde_starts[function]
        if not self.entries.load(function):
            table.damaged += 1
            return table.put(self.location, NO_RULE)
        end = self.entries.reader.fde.end
        cie = self.entries.reader.fde.cie
        status = self.start(table, cie)
        self.location = self.entries.fde_starts[function]
        self.changed = True
        if status == DONE:
            status = self.run(table, cie, self.entries.reader.fde.program, self.entries.reader.fde.program_end, end)
        if status == DONE:
            if self.changed:
                self.flush(table)
        elif status == DAMAGED:
            # What follows is unknown.
            table.damaged += 1
            table.put(self.location, NO_RULE)
        if table.total == table.first:
            table.put(self.location, NO_RULE)
        if end < self.entries.fde_ends[function]:
            # Ranges of a search table extend to the next function; this one ends before.
            table.put(end, NO_RULE)
        self.budget -= self.steps
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def start(self, table: RowTable, number: cython.Py_ssize_t) -> cython.int:
        """Let the state be what a CIE's instructions leave; how these ended."""
        i: cython.Py_ssize_t
        cie: CiePointer
        if number == self.initial_cie:
            for i in range(STATE):
                self.state[i] = self.initial[i]
            return self.initial_status
        for i in range(STATE):
            self.state[i] = 0
        self.location = 0
        cie = cie_at(self.entries.reader.cies, number)
        self.initial_status = self.run(
            table,
            number,
            cython.cast(cython.Py_ssize_t, cie.program),
            cython.cast(cython.Py_ssize_t, cie.program_end),
            0,
        )
        self.state[STATE - 1] = (
            (1 if cie.flags & CieFlag.SIGNAL_FRAMES else 0)
            | cython.cast(cython.ulonglong, self.source) << 8
            | cie.column << 16
            | cython.cast(cython.ulonglong, self.registers) << 32
        )
        for i in range(STATE):
            self.initial[i] = self.state[i]
        self.initial_cie = number
        return self.initial_status

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def set_register(
        self, number: cython.ulonglong, kind: cython.ulonglong, value: cython.longlong, base: cython.ulonglong
    ) -> cython.bint:
        """Set a register's rule; False if the value does not fit."""
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
        self,
        table: RowTable,
        cie: cython.Py_ssize_t,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        last: cython.ulonglong,
    ) -> cython.int:
        """Run instructions: DONE, PAST_END when ``last`` (the function's end; 0 for a CIE) was reached, or DAMAGED."""
        at: cython.Py_ssize_t = begin
        steps: cython.Py_ssize_t = 0
        most: cython.Py_ssize_t = min(self.max_steps, self.budget)
        op: cython.int
        good: cython.bint
        ended: cython.int = DONE
        factors: CiePointer = cie_at(self.entries.reader.cies, cie)
        self.code_align = factors.code_align
        self.data_align = factors.data_align
        self.last = last
        self.depth = 0
        # Entries are inside of the section, so that at < end is all that reading a byte needs.
        if end > self.data.shape[0]:
            end = self.data.shape[0]
        while at < end:
            steps += 1
            if steps > most or table.total - table.first >= self.max_rows:
                ended = DAMAGED
                break
            op = self.base[at]
            at += 1
            self.delta = 0
            if op < cfa.ADVANCE_LOC:
                at = self.read_operands(op, at, end)
            else:
                # The operand is in the low six bits.
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
                    self.flush(table)
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
        ``end`` if they are cut short or there is no such instruction. Of a block only the length is read."""
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
        """Read into ``delta`` how far the location moves; where the operand ends, -1 if it cannot be read."""
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
        """Apply an instruction to the state; False if it cannot be."""
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
                # The caller's stack pointer is not the call frame address, as it is without a rule: GHC.
                return self.set_register(number, kinds.REGISTER, RSP, 0)
            return self.set_register(number, 0, 0, 0)
        elif op == cfa.REGISTER:
            # The value of a register that is not tracked is lost.
            if value >= cython.cast(cython.ulonglong, self.registers):
                return self.set_register(number, kinds.UNDEFINED, 0, 0)
            return self.set_register(number, kinds.REGISTER, cython.cast(cython.longlong, value), 0)
        elif op in (cfa.VAL_OFFSET, cfa.VAL_OFFSET_SF):
            return self.set_register(number, kinds.IS_CFA, scaled, 0)
        elif op == cfa.GNU_NEGATIVE_OFFSET_EXTENDED:
            return self.set_register(number, kinds.AT_CFA, cython.cast(cython.longlong, 0 - value * self.data_align), 0)
        elif op in (cfa.AARCH64_NEGATE_RA_STATE, cfa.AARCH64_NEGATE_RA_STATE_WITH_PC):
            # It toggles whether the return address is signed; on SPARC the number is that of a window save.
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
        """Change one half of the call frame address, which must be a register and an offset."""
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
        """Restore the state saved last; False if there is none."""
        i: cython.Py_ssize_t
        if self.depth == 0:
            return False
        self.depth -= 1
        for i in range(self.registers + 2):
            self.state[i] = self.saved[self.depth * STATE + i]
        self.changed = True
        return True

    def _save_more(self, depth: cython.Py_ssize_t) -> None:
        self.saved = zeros("Q", 2 * STATE) if depth == 0 else doubled(self.saved, depth * STATE)

    def _set_location(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, cie: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read an address into ``target``; where it ends, or -2."""
        reader = self.entries.reader
        encoding = cie_at(reader.cies, cie).flags & 0x7F
        try:
            self.target, after = read_pointer(self.section, at, end, encoding, address=reader.address, word=reader.word)
        except Malformed:
            return -2
        return after

    # -- expressions ----------------------------------------------------------------------------------------------

    def _expression(self, op: cython.int, end: cython.Py_ssize_t) -> bool:
        """Set the rule by an instruction's expression, which ends at ``end``; usual shapes become plain rules. False if
        it cannot be set."""
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
        """Set a register's rule by expression: its address, or with ``is_value`` its value."""
        if register >= cython.cast(cython.ulonglong, self.registers):
            return True
        plain = None if is_value else plain_address(code, self.registers)
        if plain is None:
            number = self.rules.expressions.add(code)
            kind = kinds.IS_EXPRESSION if is_value else kinds.EXPRESSION
            return number >= 0 and self.set_register(register, kind, number, 0)
        base, offset = plain
        return self.set_register(register, kinds.AT_REGISTER, offset, base)
