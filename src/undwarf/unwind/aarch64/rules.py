# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Rules of AArch64 binaries in the form in which the walk reads them: registers by the walk's places for them.

Here the return address is a register like others (x30): where a rule says nothing of it, it is in the link register.
A rule gets an entry for the program counter first, and keeps x30's own, so that a handler of signals finds it again.
"""

from typing import Any

import cython
from cython.cimports.undwarf.tables.registers_aarch64 import RETURN_ADDRESS
from cython.cimports.undwarf.tables.rule_kinds import AT_REGISTER, CFA_EXPRESSION, CFA_UNDEFINED, REGISTER, UNDEFINED
from cython.cimports.undwarf.tables.words import STRIDE
from cython.cimports.undwarf.unwind.aarch64.registers import ABSENT, LINK, PC_PLACE

from undwarf.column import zeros
from undwarf.unwind.aarch64.registers import PLACE_OF_DWARF

MOST = cython.declare(cython.int, 17)


@cython.cclass
class PlacedRules:
    """Follows a set of rules as it grows."""

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
        """The walk's place of a DWARF register, 255 for one that it does not keep."""
        return self.places[register] if 0 <= register < self.places.shape[0] else ABSENT

    @cython.locals(given="const int[::1]", larger="int[::1]", at=cython.Py_ssize_t, rule=cython.Py_ssize_t)
    def follow(self, rules: Any, count: cython.Py_ssize_t) -> memoryview:
        """The words of the first ``count`` rules, 80 each as in the model, given as a memoryview of typecode i."""
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
            self.convert(given[at : at + STRIDE], at)
        if count > self.count:
            self.count = count
        return memoryview(self.words)

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(given="const int[::1]")
    def convert(self, given: Any, out: cython.Py_ssize_t) -> cython.int:
        """Convert one rule."""
        i: cython.int
        entries: cython.int = 1
        number: cython.int
        how: cython.int
        value: cython.int
        base: cython.int
        at: cython.Py_ssize_t
        kind: cython.int = given[0]
        for i in range(8):
            self.words[out + i] = given[i]
        for i in range(8, 80):
            self.words[out + i] = 0
        if kind != CFA_EXPRESSION:
            number = self.place(given[1])
            self.words[out + 1] = number
            if number == ABSENT:
                self.words[out] = CFA_UNDEFINED
        # Without an entry of its own the return address is where the call put it.
        self.words[out + 7] = self.words[out + 8] = PC_PLACE
        self.words[out + 9] = REGISTER
        self.words[out + 10] = LINK
        for i in range(min(given[6], 18)):
            number, how, value, base = given[8 + 4 * i], given[9 + 4 * i], given[10 + 4 * i], given[11 + 4 * i]
            if how == REGISTER:
                value = self.place(value)
            elif how == AT_REGISTER:
                base = self.place(base)
            if (how == REGISTER and value == ABSENT) or (how == AT_REGISTER and base == ABSENT):
                how = UNDEFINED
            if number == RETURN_ADDRESS:
                self.put(out + 8, PC_PLACE, how, value, base)
            number = self.place(number)
            if number != ABSENT and entries < MOST:
                at = out + 8 + 4 * entries
                self.put(at, number, how, value, base)
                entries += 1
        self.words[out + 6] = entries
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def put(
        self, at: cython.Py_ssize_t, number: cython.int, how: cython.int, value: cython.int, base: cython.int
    ) -> cython.int:
        """Write one entry."""
        self.words[at] = number
        self.words[at + 1] = how
        self.words[at + 2] = value
        self.words[at + 3] = base
        return 0
