# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Rules of AArch64 binaries as the walk reads them: with registers by the walk's places.

On this machine the return address is in a register like others (x30): if a rule does not mention it, it is in the link
register. Each rule gets an entry for the program counter first, and keeps that of x30, which code interrupted by a
signal needs.
"""

from typing import Any

import cython
from cython.cimports.undwarf.tables.registers import X30
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.tables.rule import NewRule, RulePointer, SavedRegister
from cython.cimports.undwarf.tables.rule_format import ENTRIES, STRIDE
from cython.cimports.undwarf.tables.rule_kinds import AT_REGISTER, CFA_EXPRESSION, CFA_UNDEFINED, REGISTER, UNDEFINED
from cython.cimports.undwarf.unwind.aarch64.registers import ABSENT, LINK, PC_PLACE

from undwarf.column import zeros
from undwarf.unwind.aarch64.registers import PLACE_OF_DWARF


@cython.cclass
class PlacedRules:
    """The converted rules of a rule set that grows."""

    words = cython.declare("int[::1]")
    places = cython.declare("const unsigned char[::1]")
    count: cython.Py_ssize_t

    def __init__(self) -> None:
        self.words = zeros("i", STRIDE * 64)
        self.places = PLACE_OF_DWARF
        self.count = 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def place(self, register: cython.int) -> cython.int:
        """The walk's place of a DWARF register; 255 for one that it does not keep."""
        return self.places[register] if 0 <= register < self.places.shape[0] else ABSENT

    @cython.locals(given="const int[::1]", larger="int[::1]", at=cython.Py_ssize_t, rule=cython.Py_ssize_t)
    def follow(self, rules: Any, count: cython.Py_ssize_t) -> memoryview:
        """The words of the first ``count`` rules, converted; ``rules`` is a memoryview of typecode i."""
        size: cython.Py_ssize_t = self.words.shape[0]
        if STRIDE * count > size:
            while size < STRIDE * count:
                size *= 2
            larger = zeros("i", size)
            larger[: STRIDE * self.count] = self.words[: STRIDE * self.count]
            self.words = larger
        given = rules
        for rule in range(self.count, count):
            at = STRIDE * rule
            self.convert(
                cython.cast(RulePointer, cython.address(given[at])),
                cython.cast(NewRule, cython.address(self.words[at])),
            )
        if count > self.count:
            self.count = count
        return memoryview(self.words)

    @cython.cfunc
    @cython.exceptval(-1)
    def convert(self, rule: RulePointer, placed: NewRule) -> cython.int:
        """Write ``rule`` to ``placed``, which is zero."""
        saved: SavedRegister
        i: cython.int
        number: cython.int
        placed.cfa_kind = rule.cfa_kind
        placed.cfa_register = rule.cfa_register
        placed.cfa_offset = rule.cfa_offset
        placed.cfa_extra = rule.cfa_extra
        placed.flags = rule.flags
        placed.source = rule.source
        placed.return_column = PC_PLACE
        if rule.cfa_kind != CFA_EXPRESSION:
            placed.cfa_register = self.place(rule.cfa_register)
            if placed.cfa_register == ABSENT:
                placed.cfa_kind = CFA_UNDEFINED
        # By default the return address is where the call put it.
        placed.saved[0].number = PC_PLACE
        placed.saved[0].kind = REGISTER
        placed.saved[0].value = LINK
        placed.saved_count = 1
        for i in range(min(rule.saved_count, ENTRIES)):
            saved = rule.saved[i]
            if saved.kind == REGISTER:
                saved.value = self.place(saved.value)
                if saved.value == ABSENT:
                    saved.kind = UNDEFINED
            elif saved.kind == AT_REGISTER:
                saved.base = self.place(saved.base)
                if saved.base == ABSENT:
                    saved.kind = UNDEFINED
            number = saved.number
            if number == X30:
                saved.number = PC_PLACE
                placed.saved[0] = saved
            saved.number = self.place(number)
            if saved.number != ABSENT and placed.saved_count < REGISTERS:
                placed.saved[placed.saved_count] = saved
                placed.saved_count += 1
        return 0
