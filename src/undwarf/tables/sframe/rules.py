# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""The distinct rules of an SFrame section, each converted once.

SFrame describes the call frame address, the return address and the frame pointer; these make a *key*, whose words have
the kind, the register (8 bits from the 8th on), the first byte of a lazy linkage stub at which it has pushed (8 from
the 16th) and the offset (32 from the 32nd). Other callee-saved registers are undefined in its rules: they may be saved,
but SFrame does not describe where.
"""

import os
from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, LOW_HALF
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.rule_format import NO_RULE

from undwarf.column import longer, zeros
from undwarf.dwarf.operations import BREG0
from undwarf.tables.cfi.pointers import leb
from undwarf.tables.registers import ARCHITECTURES, X86_64_COUNT
from undwarf.tables.sframe.header import AMD64, MACHINES, S390X, S390X_BIAS

KEY = cython.declare(cython.Py_ssize_t, 4)
"""Words of a key: call frame address, return address, frame pointer, and flags."""


@cython.final
@cython.cclass
class SectionRules:
    """The numbers in the rule set of one section's keys; ``stack_pointer`` and the like are registers of its
    machine."""

    callee_saved: Any
    _keys: Any
    _of_key: Any
    _slots: Any
    _factors: Any

    def __init__(self, abi: int, rules: Any, source: int) -> None:
        self.abi = abi
        self.rules = rules
        self.source = source
        machine = ARCHITECTURES[MACHINES[abi]]
        self.stack_pointer = machine.stack_pointer
        self.frame_pointer = machine.frame_pointer
        self.column = machine.return_address
        self.callee_saved = machine.callee_saved
        self.known = X86_64_COUNT if abi == AMD64 else 32
        self._keys = zeros("Q", KEY * 64)
        self._of_key = zeros("I", 64)
        self._slots = zeros("I", 256)
        self._count = 0
        seeds = os.urandom(8 * KEY)
        i: cython.Py_ssize_t
        for i in range(KEY):
            self._factors[i] = int.from_bytes(seeds[8 * i : 8 * i + 8], "little") | 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.locals(key="const unsigned long long *", other="const unsigned long long *")
    def _slot(self, key: Any) -> cython.Py_ssize_t:
        """The slot of a key, or the free one for it."""
        value: cython.ulonglong = 0
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        mask: cython.Py_ssize_t = self._slots.shape[0] - 1
        for i in range(KEY):
            value += key[i] * self._factors[i]
        value ^= value >> 32
        value *= GOLDEN_RATIO
        value ^= value >> 29
        at = cython.cast(cython.Py_ssize_t, value & LOW_HALF) & mask
        while self._slots[at]:
            other = cython.address(self._keys[KEY * cython.cast(cython.Py_ssize_t, self._slots[at] - 1)])
            if key[0] == other[0] and key[1] == other[1] and key[2] == other[2] and key[3] == other[3]:
                break
            at = (at + 1) & mask
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    @cython.locals(key="const unsigned long long *")
    def find(self, key: Any) -> cython.longlong:
        """The number of a key's rule, -1 if the key is new."""
        number: cython.longlong = -1
        found: cython.uint = self._slots[self._slot(key)]
        if found:
            number = self._of_key[cython.cast(cython.Py_ssize_t, found - 1)]
        return number

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    @cython.locals(key="const unsigned long long *")
    def intern(self, key: Any) -> cython.longlong:
        """The number of a key's rule, which is added if the key is new; NO_RULE if the set is full."""
        number: cython.longlong = self.find(key)
        if number < 0:
            with cython.gil:
                number = self._add(key)
        return number

    @cython.cfunc
    @cython.exceptval(-2)
    @cython.locals(key="const unsigned long long *")
    def _add(self, key: Any) -> cython.longlong:
        """Add a new key."""
        k: cython.Py_ssize_t
        rule: cython.uint
        if 4 * (self._count + 1) > 3 * self._of_key.shape[0]:
            self._widen()
        rule = self._rule([key[k] for k in range(KEY)])
        for k in range(KEY):
            self._keys[KEY * self._count + k] = key[k]
        self._of_key[self._count] = rule
        self._count += 1
        self._slots[self._slot(key)] = cython.cast(cython.uint, self._count)
        return rule

    @cython.cfunc
    @cython.exceptval(-1)
    def _widen(self) -> cython.int:
        """Double the capacity."""
        i: cython.Py_ssize_t
        capacity: cython.Py_ssize_t = self._of_key.shape[0]
        self._keys = longer(self._keys, KEY * self._count, 2 * KEY * capacity)
        self._of_key = longer(self._of_key, self._count, 2 * capacity)
        self._slots = zeros("I", 2 * self._slots.shape[0])
        for i in range(self._count):
            self._slots[self._slot(cython.address(self._keys[KEY * i]))] = cython.cast(cython.uint, i + 1)
        return 0

    def _rule(self, key: list[int]) -> int:
        """A key as a rule of the set."""
        cfa, return_address, frame_pointer, flags = key
        column = int(self.column)
        registers = {
            int(number): (kinds.UNDEFINED, 0, 0) for number in self.callee_saved if number != int(self.frame_pointer)
        }
        if flags & kinds.FLAG_OUTERMOST:
            registers = {column: (kinds.UNDEFINED, 0, 0)}
        else:
            for number, how in ((column, return_address), (int(self.frame_pointer), frame_pointer)):
                kind, base, value = how & 0xFF, how >> 8 & 0xFF, _as_signed(how >> 32)
                if kind == kinds.REGISTER_PLUS:
                    expression = self.rules.expressions.add(bytes((BREG0 + base, *leb(value, signed=True))))
                    if expression < 0:
                        return NO_RULE
                    kind, base, value = kinds.IS_EXPRESSION, 0, expression
                elif kind == kinds.REGISTER:
                    base, value = 0, base
                if kind:
                    registers[number] = (kind, value, base)
            if self.abi == S390X:
                registers[int(self.stack_pointer)] = (kinds.IS_CFA, -S390X_BIAS, 0)
        kind, base, offset = cfa & 0xFF, cfa >> 8 & 0xFF, _as_signed(cfa >> 32)
        try:
            return int(
                self.rules.add(
                    (kind, base, offset, (cfa >> 16) & 0xFF),
                    registers,
                    column=column,
                    source=int(self.source),
                    signal=bool(flags & kinds.FLAG_SIGNAL),
                    signed=bool(flags & kinds.FLAG_SIGNED),
                )
            )
        except OverflowError:
            return NO_RULE


def _as_signed(value: int) -> int:
    """32 bits as a signed number."""
    return value - (1 << 32) if value >> 31 & 1 else value
