# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""The abstract state at one point of a function: values of registers and stack slots."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO
from cython.cimports.undwarf.types.dataflow.constants import NOTHING, NUMBER, REGISTERS, SYMBOLS

from undwarf.column import longer, zeros
from undwarf.types.dataflow.value_arithmetic import ValueArithmetic
from undwarf.types.dataflow.value_interner import ValueInterner

FEW_SLOTS = cython.declare(cython.Py_ssize_t, 32)
"""Slots of which those that a store writes over are found quicker by looking at all of them."""


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def named_by(symbol: cython.longlong) -> cython.longlong:
    """The symbol of the integer that a quotient was computed from; other symbols unchanged."""
    return (symbol if symbol > 0 else -symbol) & (SYMBOLS - 1) if symbol >= SYMBOLS or symbol <= -SYMBOLS else symbol


@cython.cclass
class MachineState(ValueArithmetic):
    """Values (ids) of a function's registers and stack slots. ``listing`` has the instructions; ``machine`` gives
    register numbers."""

    def __init__(self, listing: Any, values: ValueInterner, oracle: Any, machine: Any, limits: Any) -> None:
        super().__init__(values, oracle)
        self.most_slots = limits.flow_slots
        self.count = len(listing)
        self.rows = listing.table.rows
        self.operands = listing.table.operands
        self.templates = listing.templates
        self.displacements = listing.displacements
        self.immediates = listing.immediates
        self.targets = listing.targets
        self.flows = listing.flows
        self.state = zeros("i", REGISTERS + 64)
        self.top = REGISTERS
        self.slot_key = zeros("q", 64)
        self.slot_index = zeros("i", 256)
        self.slots = 0
        self.marks = zeros("B", self.count + 1)
        self.stack_pointer = machine.stack_pointer
        self.frame_pointer = machine.frame_pointer
        self.upper = machine.upper

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def get(self, register: cython.longlong) -> cython.int:
        return self.state[register] if register >= 0 else NOTHING

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def set(self, register: cython.longlong, value: cython.int) -> cython.int:
        if register >= 0:
            self.state[register] = value
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def second(self, first: cython.longlong, named: cython.longlong) -> cython.longlong:
        """The register of the second of two words: explicit, or implied by the first."""
        return first + self.upper if named < 0 and self.upper else named

    @cython.cfunc
    @cython.inline
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def replace(self, value: cython.int, by: cython.int) -> cython.int:
        i: cython.Py_ssize_t
        for i in range(self.top):
            if self.state[i] == value:
                self.state[i] = by
        for i in range(REGISTERS, REGISTERS + self.slots):
            if self.state[i] == value:
                self.state[i] = by
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def forget(self, symbol: cython.longlong) -> cython.int:
        """Remove a symbol from the state: the instruction that defines it is executed again, so older values have
        another n."""
        i: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t = symbol if symbol > 0 else -symbol
        bit: cython.uchar = 1 if symbol > 0 else 2
        value: cython.int
        if not self.marks[k] & bit:
            self.marks[k] |= bit
            return 0
        while i < REGISTERS + self.slots:
            value = self.state[i]
            if value and named_by(self.symbol_of(value)) == symbol:
                self.state[i] = self.values.intern(
                    self.base_of(value), self.type_of(value), self.step_of(value), 0, self.offset_of(value)
                )
            i += 1
            if i == self.top:
                i = REGISTERS
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def name(self, at: cython.longlong, value: cython.int, k: cython.Py_ssize_t) -> cython.int:
        """Give an unknown integer the symbol of instruction ``k``, so that sums of its copies can be related."""
        if not self.step_of(value) or self.symbol_of(value):
            return value
        self.forget(k + 1)
        value = self.values.intern(
            self.base_of(value), self.type_of(value), self.step_of(value), k + 1, self.offset_of(value)
        )
        if at >= 0:
            self.state[at] = value
        return value

    @cython.cfunc
    @cython.exceptval(-2)
    def slot(self, offset: cython.longlong, size: cython.longlong, make: cython.bint) -> cython.Py_ssize_t:
        """Index in the state of a stack slot of 4 or 8 bytes; -1 if there is none (and ``make`` is false)."""
        key: cython.longlong = 2 * offset + (1 if size == 8 else 0)
        mask: cython.ulonglong = len(self.slot_index) - 1
        at: cython.ulonglong = (cython.cast(cython.ulonglong, key) * GOLDEN_RATIO) >> 40 & mask
        number: cython.Py_ssize_t
        while self.slot_index[at]:
            number = self.slot_index[at] - 1
            if self.slot_key[number] == key:
                return REGISTERS + number
            at = (at + 1) & mask
        if not make or self.slots >= self.most_slots:
            return -1
        if self.slots == len(self.slot_key):
            self.slot_key = longer(self.slot_key, self.slots, 2 * self.slots)
            self.state = longer(self.state, REGISTERS + self.slots, REGISTERS + 2 * self.slots)
        self.slot_key[self.slots] = key
        self.slots += 1
        self.state[REGISTERS + self.slots - 1] = NOTHING
        self.slot_index[at] = self.slots
        number = self.slots
        if 3 * self.slots > len(self.slot_index):
            self._spread()
        return REGISTERS + number - 1

    def _spread(self) -> None:
        size = 4 * len(self.slot_index)
        self.slot_index = zeros("i", size)
        number: cython.Py_ssize_t
        at: cython.ulonglong
        for number in range(self.slots):
            at = (cython.cast(cython.ulonglong, self.slot_key[number]) * GOLDEN_RATIO) >> 40 & (size - 1)
            while self.slot_index[at]:
                at = (at + 1) & (size - 1)
            self.slot_index[at] = number + 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _drop(self, offset: cython.longlong, size: cython.longlong) -> cython.int:
        at: cython.Py_ssize_t = self.slot(offset, size, False)
        if at >= 0:
            self.state[at] = NOTHING
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def put(self, offset: cython.longlong, size: cython.longlong, value: cython.int) -> cython.int:
        """Store to the frame: overlapping slots become unknown."""
        at: cython.longlong
        i: cython.Py_ssize_t
        if size <= 16 and self.slots > FEW_SLOTS:
            for at in range(offset - 7, offset + size):
                self._drop(at, 8)
                if at > offset - 4:
                    self._drop(at, 4)
        else:
            for i in range(self.slots):
                at = self.slot_key[i] >> 1
                if offset - 8 < at < offset + size and (self.slot_key[i] & 1 or at > offset - 4 or size > 16):
                    self.state[REGISTERS + i] = NOTHING
        if value and (size == 8 or (size == 4 and self.base_of(value) == NUMBER)):
            i = self.slot(offset, size, True)
            if i >= 0:
                self.state[i] = value
        return 0
