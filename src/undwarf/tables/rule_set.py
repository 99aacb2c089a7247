# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The set of distinct rules that the rows of all tables share."""

import os
import threading
from collections.abc import Mapping
from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, HIGH_HALF, LOW_HALF
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.rule import NewRule, NewSaved
from cython.cimports.undwarf.tables.rule_format import ENTRIES, NO_RULE, REGISTERS, SIGNED, STATE, STRIDE

from undwarf.column import doubled, zeros
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.cfi.expressions import Expressions


@cython.final
@cython.cclass
class RuleSet:
    """The distinct rules of all tables of a run, and the expressions of a few of them.

    ``rules`` has the words of ``count`` rules. Buffers are replaced as the set grows; an old one stays valid. ``lock``
    is held while rows are computed, so that tables can be used from several threads.
    """

    factors: Any
    _slots: Any
    _words: Any

    def __init__(self, limits: Limits = DEFAULT) -> None:
        i: cython.Py_ssize_t
        self.count = 0
        self.refused = 0
        self.limit = limits.rules
        self.lock = threading.RLock()
        self._words = zeros("i", STRIDE * 64)
        self._states = zeros("Q", STATE * 64)
        self._slots = zeros("Q", 256)
        self.expressions = Expressions()
        self.rules = memoryview(self._words)
        # Random, so that no file can be crafted whose rules all share a slot.
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
        """The states of the rules, 40 words (Q) each, as :mod:`undwarf.tables.disk.packed_rules` reads and writes
        them."""
        return memoryview(self._states)

    @cython.locals(given="const unsigned long long[::1]", numbers="unsigned int[::1]", rule=cython.longlong)
    def take(self, states: memoryview) -> memoryview:
        """The numbers (I) of rules given as states; NO_RULE if the set is full."""
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = len(states) // STATE
        given = states
        taken = zeros("I", n)
        numbers = taken
        with self.lock:
            for i in range(n):
                registers: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, given[STATE * i + STATE - 1] >> 32)
                rule = self.intern(cython.address(given[STATE * i]), min(registers, REGISTERS))
                numbers[i] = NO_RULE if rule < 0 else cython.cast(cython.uint, rule)
        return taken

    @property
    def expression_bytes(self) -> memoryview:
        """The bytes of all expressions."""
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
        """The number of a rule: ``cfa`` as (kind, register, offset, extra), ``registers`` as {DWARF register below
        REGISTERS: (kind, value, base)}, ``column`` the return address's register, whose kind UNDEFINED marks the
        outermost frame; ``flags`` are further flags. Raises OverflowError if the set is full."""
        state = cython.declare("unsigned long long[40]")
        i: cython.Py_ssize_t
        for i in range(STATE):
            state[i] = 0
        kind, register, offset, extra = cfa
        state[0] = kind | register << 8 | (offset & 0xFFFFFFFF) << 32 | (SIGNED if signed else 0)
        state[1] = extra & 0xFFFFFFFF
        for number, (how, value, base) in registers.items():
            if not 0 <= number < REGISTERS:
                raise ValueError(f"register {number}")
            i = 2 + number
            state[i] = how | base << 8 | (value & 0xFFFFFFFF) << 32
        flags = (kinds.FLAG_SIGNAL if signal else 0) | (flags & 0xF8)
        state[STATE - 1] = flags | source << 8 | column << 16 | cython.cast(cython.ulonglong, REGISTERS) << 32
        rule: cython.longlong = -1
        with self.lock:
            rule = self.intern(cython.address(state[0]), REGISTERS)
        if rule < 0:
            raise OverflowError("too many distinct rules")
        return rule

    @cython.locals(
        slots="unsigned long long[::1]",
        i=cython.Py_ssize_t,
        slot=cython.Py_ssize_t,
        mask=cython.Py_ssize_t,
        hashed=cython.ulonglong,
    )
    def _grow(self) -> None:
        """Double the capacity. Twice as many slots need one more bit of each rule's hash, which is computed again."""
        self.rules = doubled(self._words, STRIDE * self.count)
        self._words = self.rules
        self._states = doubled(self._states, STATE * self.count)
        slots = zeros("Q", 2 * self._slots.shape[0])
        mask = len(slots) - 1
        for i in range(self.count):
            hashed = self.hash(cython.address(self._states[STATE * i]), STATE - 3)  # all words of the state
            slot = cython.cast(cython.Py_ssize_t, hashed) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = hashed & HIGH_HALF | cython.cast(cython.ulonglong, i + 1)
        self._slots = slots

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    @cython.locals(state="const unsigned long long *")
    def hash(self, state: Any, registers: cython.Py_ssize_t) -> cython.ulonglong:
        """The hash of a state: products that do not depend on one another; a register without a rule adds nothing."""
        value: cython.ulonglong = state[STATE - 1] * self.factors[STATE - 1]
        i: cython.Py_ssize_t
        for i in range(registers + 2):
            value += state[i] * self.factors[i]
        value ^= value >> 32
        value *= GOLDEN_RATIO
        return value ^ value >> 29

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(state="const unsigned long long *", other="const unsigned long long *")
    def intern(self, state: Any, registers: cython.Py_ssize_t) -> cython.longlong:
        """The number of a state's rule, -2 if the set is full. Words after the registers are ignored, except for the
        last one: flags, source << 8, return address column << 16, ``registers`` << 32."""
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
                # The last word has the number of registers, so that this compares everything.
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
        """Write the next rule."""
        rule: NewRule = cython.cast(NewRule, cython.address(self._words[STRIDE * self.count]))
        about: cython.ulonglong = state[STATE - 1]
        column: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, about >> 16 & 0xFFFF)
        flags: cython.int = cython.cast(cython.int, about & 0xFF)
        saved: NewSaved
        n: cython.int = 0
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        surplus: cython.Py_ssize_t = -ENTRIES
        kind: cython.ulonglong = state[0] & 0xFF
        rule.cfa_kind = cython.cast(cython.int, kind)
        rule.cfa_register = cython.cast(cython.int, state[0] >> 8 & 0xFF)
        rule.cfa_offset = cython.cast(cython.int, state[0] >> 32)
        rule.cfa_extra = cython.cast(cython.int, state[1])
        if state[0] & SIGNED:
            flags |= kinds.FLAG_SIGNED
        if kind == kinds.CFA_EXPRESSION:
            flags |= kinds.FLAG_EXPRESSION
        for i in range(registers):
            if state[2 + i]:
                surplus += 1
        for k in range(-1, registers):
            # The return address goes first.
            i = column if k < 0 else k
            if i >= registers or (k >= 0 and i == column) or state[2 + i] == 0:
                continue
            kind = state[2 + i] & 0xFF
            if k < 0 and kind == kinds.UNDEFINED:
                flags |= kinds.FLAG_OUTERMOST
                surplus -= 1
                continue
            if k >= 0 and surplus > 0:
                # Too many, on AArch64 only: the lowest are caller-saved.
                surplus -= 1
                continue
            if kind >= kinds.EXPRESSION:
                flags |= kinds.FLAG_EXPRESSION
            saved = cython.address(rule.saved[n])
            saved.number = cython.cast(cython.int, i)
            saved.kind = cython.cast(cython.int, kind)
            saved.value = cython.cast(cython.int, state[2 + i] >> 32)
            saved.base = cython.cast(cython.int, state[2 + i] >> 8 & 0xFF)
            n += 1
        rule.flags = flags
        rule.source = cython.cast(cython.int, about >> 8 & 0xFF)
        rule.saved_count = n
        rule.return_column = cython.cast(cython.int, column)
        return 0
