# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""InstructionResults of instructions: the abstract value of the destination register."""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import CALL, NEXT
from cython.cimports.undwarf.disasm.instruction_semantics import (
    ADD,
    ADD_MEMORY,
    AND,
    CARRY,
    CONSTANT,
    COPY,
    EXTEND,
    LOAD,
    MULTIPLY,
    OR,
    SELECT,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    STORE,
    STORE_PAIR,
    SUBTRACT,
)
from cython.cimports.undwarf.disasm.instruction_semantics import ADDRESS as LEA
from cython.cimports.undwarf.disasm.template_layout import (
    OPERAND_BASE,
    OPERAND_INDEX,
    OPERAND_SCALE,
    OPERAND_SEGMENT,
    OPERAND_SIZE,
    OPERAND_WORDS,
    ROW_ACTION,
    ROW_DESTINATION,
    ROW_FLAGS,
    ROW_FLOW,
    ROW_LEFT,
    ROW_OPERAND,
    ROW_OPERANDS,
    ROW_READS,
    ROW_RIGHT,
    ROW_WIDTH,
    ROW_WORDS,
    ROW_WRITES,
)
from cython.cimports.undwarf.types.dataflow.constants import (
    ADDRESS,
    ALIGNED,
    FRAME,
    LARGEST,
    LOW_WORD,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    SYMBOLS,
    UNKNOWN,
)

from undwarf.column import zeros
from undwarf.types.dataflow.memory_accesses import MemoryAccesses
from undwarf.types.dataflow.non_escaping_addresses import NonEscapingAddresses
from undwarf.types.dataflow.value_interner import ValueInterner

NEAR = cython.declare(cython.Py_ssize_t, 4)
"""How many instructions back the definition of an operand is searched."""
SOON = cython.declare(cython.Py_ssize_t, 6)
"""Instructions behind one that are looked at for what is done with an address it makes."""
KEEPS_SIGN = cython.declare(cython.longlong, 4)
"""Of instructions that make a number wider with its sign, as in templates.py."""


@cython.cfunc
@cython.exceptval(check=False)
def _exponent(power: cython.longlong) -> cython.longlong:
    found: cython.longlong = 0
    while power > 1:
        power >>= 1
        found += 1
    return found


@cython.cclass
class InstructionResults(MemoryAccesses):
    """The state, and the results of instructions on it."""

    def __init__(self, listing: Any, values: ValueInterner, oracle: Any, machine: Any, limits: Any) -> None:
        super().__init__(listing, values, oracle, machine, limits)
        self.result_register = machine.result
        self.parameters = machine.parameters
        self.local = NonEscapingAddresses(listing, zeros("i", 1), 0, oracle.calls, self.values.rooms)

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        left=cython.int, right=cython.int, width=cython.longlong, m=cython.Py_ssize_t, register=cython.longlong,
        bits=cython.longlong, immediate=cython.longlong, size=cython.longlong,
    )  # fmt: skip  # rows of C types
    def result(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, action: cython.longlong) -> cython.int:
        """The destination's new value; other effects are applied to the state."""
        width = self.rows[row + ROW_WIDTH]
        m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        if action == COPY:
            return self._copied(k, row, width)
        if action == CONSTANT:
            return self.number(k, row, True)
        if action == LOAD:
            size = self.operands[m + OPERAND_SIZE]
            return self._as_signed(row, size, self.load(k, m, size, 0))
        if action in (STORE, STORE_PAIR):
            self.stores(k, row)
            return NOTHING
        left = self.get(self.rows[row + ROW_LEFT])
        if action == LEA:
            self._name_index(k, row, m)
            left = self.address_of(k, m, 0)
            if not left or self.base_of(left) == NUMBER:
                self._note_derived(k, row, m)
            if left and width < 8 and self.base_of(left) != NUMBER and self.base_of(left) != ADDRESS:
                return NOTHING
            self._note_escape(k, row, left)
            return left
        register = self.rows[row + ROW_RIGHT]
        if action == ADD_MEMORY:
            return self.moved_by(k, left, self.load(k, m, self.operands[m + OPERAND_SIZE], 0))
        if action == SELECT:
            right = self.get(register) if register >= 0 else self.load(k, m, self.operands[m + OPERAND_SIZE], 0)
            return self._selected(k, row, left, right)
        if action in (ADD, SUBTRACT, MULTIPLY):
            right = self.get(register) if register >= 0 else self.constant(self.immediate(k, row))
            if action == MULTIPLY:
                if right and self.base_of(right) == NUMBER and not self.step_of(right):
                    return self._only_number(self.scaled(left, self.offset_of(right)))
                if left and self.base_of(left) == NUMBER and not self.step_of(left):
                    return self._only_number(self.scaled(right, self.offset_of(left)))
                return NOTHING
            if action == SUBTRACT:
                left = self.difference(left, right)
            elif register == self.rows[row + ROW_LEFT]:
                left = self.scaled(left, 2)
            else:
                left = self.moved_by(k, left, right)
            return left if width == 8 else self._only_number(left)
        immediate = self.immediate(k, row)
        if action == CARRY:
            left = self.moved(left, immediate)
            return self.join(left, self.moved(left, 1))
        if action == SHIFT_LEFT:
            if immediate > 61:
                return UNKNOWN
            return self._only_number(self.scaled(left, cython.cast(cython.longlong, 1) << immediate))
        if action == SHIFT_RIGHT:
            return self._shifted(left, immediate) if width == 8 else NOTHING
        if action == AND:
            return self._masked(k, row, left, register, width, immediate)
        if action == OR:
            bits = 1
            while bits <= immediate and bits < LARGEST:
                bits <<= 1
            if not left or self.base_of(left) != NUMBER or immediate < 0:
                return NOTHING
            if self.step_of(left) % bits or self.offset_of(left) % bits:
                return NOTHING
            # The bits were 0: same as an addition.
            return self.moved(left, immediate)
        if action == EXTEND:
            if not left:
                left = UNKNOWN
            if self.base_of(left) != NUMBER:
                return NOTHING
            if width < 4:
                bits = self._multiple(left)
                return self.values.intern(NUMBER, 0, bits, 0, 0) if bits > 1 else NOTHING
            return self.name(self.rows[row + ROW_LEFT], self._as_signed(row, width, left), k)
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(offset=cython.longlong)
    def _as_signed(self, row: cython.Py_ssize_t, size: cython.longlong, value: cython.int) -> cython.int:
        """Sign-extend a 32-bit integer."""
        if size != 4 or not value or self.base_of(value) != NUMBER or not self.rows[row + ROW_FLAGS] & KEEPS_SIGN:
            return value
        offset = self.offset_of(value)
        return self.moved(value, -LOW_WORD) if LOW_WORD >> 1 <= offset < LOW_WORD else value

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(step=cython.longlong, offset=cython.longlong, found=cython.longlong)
    def _multiple(self, value: cython.int) -> cython.longlong:
        """The largest power of two (up to 128) that divides an integer, however many of its upper bits are removed."""
        step, offset = self.step_of(value), self.offset_of(value)
        found = 1
        while found < 128 and step and not step % (2 * found) and not offset % (2 * found):
            found *= 2
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(value=cython.int)
    def _selected(
        self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, left: cython.int, right: cython.int
    ) -> cython.int:
        """The result of a conditional move. An integer without flags in its low bits is taken for a pointer to the
        other operand's object (struct page's compound head)."""
        value = self.join(left, right) if left else NOTHING
        if value:
            return value
        if self._is_object(left) and self._is_unflagged(k, self.rows[row + ROW_RIGHT], right):
            return left
        if self._is_object(right) and self._is_unflagged(k, self.rows[row + ROW_LEFT], left):
            return right
        return self.join_frame_pointer(left, right) if left and right else NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(at=cython.Py_ssize_t, row=cython.Py_ssize_t, m=cython.Py_ssize_t)
    def _is_unflagged(self, k: cython.Py_ssize_t, register: cython.longlong, value: cython.int) -> cython.bint:
        """Whether a register is known only to be an integer minus a constant below the word size."""
        if register < 0 or (value and (self.base_of(value) != NUMBER or self.step_of(value) != 1)):
            return False
        for at in range(k - 1, max(k - 1 - NEAR, -1), -1):
            row = self.templates[at] * ROW_WORDS
            if self.flows[at] & 15:
                return False
            if self.rows[row + ROW_DESTINATION] == register:
                m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
                if self.rows[row + ROW_ACTION] != LEA or self.operands[m + OPERAND_INDEX] >= 0:
                    return False
                return self.operands[m + OPERAND_BASE] >= 0 and -8 < self.displacement(at, m) < 0
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_object(self, value: cython.int) -> cython.bint:
        """Whether a value points to the start of an aggregate."""
        if not value or self.base_of(value) != OBJECT or self.step_of(value) or self.offset_of(value):
            return False
        return self.oracle.graph.is_aggregate(self.type_of(value)) and not self.is_several(value)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _only_number(self, value: cython.int) -> cython.int:
        return value if value and self.base_of(value) == NUMBER else NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _shifted(self, value: cython.int, by: cython.longlong) -> cython.int:
        """An integer divided by a power of two: the difference of two pointers, if there is no remainder."""
        if not value or self.base_of(value) != NUMBER or not 0 <= by < 62:
            return NOTHING
        unit: cython.longlong = cython.cast(cython.longlong, 1) << by
        if self.step_of(value) % unit or self.offset_of(value) % unit:
            return self._divided(value, by, 1)
        return self.values.intern(NUMBER, 0, self.step_of(value) // unit, 0, self.offset_of(value) // unit)

    @cython.cfunc
    @cython.exceptval(-1)
    def _divided(self, value: cython.int, by: cython.longlong, step: cython.longlong) -> cython.int:
        """A named integer divided by a power of two (and multiplied again if that is the step), so that i + i / 2 can
        be recognised, as with a heap's parent index."""
        symbol: cython.longlong = self.symbol_of(value)
        if by <= 0 or by >= 16 or self.step_of(value) != 1 or self.offset_of(value) or not 0 < symbol < SYMBOLS:
            return NOTHING
        symbol += SYMBOLS * by
        return self.values.intern(NUMBER, 0, step, symbol if step == 1 else -symbol, 0)

    @cython.cfunc
    @cython.exceptval(-1)
    def _copied(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, width: cython.longlong) -> cython.int:
        register: cython.longlong = self.rows[row + ROW_LEFT]
        value: cython.int = self.get(register)
        if not value:
            value = UNKNOWN
        if self.base_of(value) == NUMBER:
            return self.name(register, value, k)
        if width < 8:
            return value if self.base_of(value) == ADDRESS else NOTHING
        if register != self.stack_pointer or not self._makes_room(k, self.rows[row + ROW_DESTINATION]):
            self._note_escape(k, row, value)
        if self.base_of(value) == OBJECT:
            self.derived_before, self.derived_from, self.derived_by = k + 1, register, 0
            self.derived = self.rows[row + ROW_DESTINATION]
        return value

    @cython.cfunc
    @cython.exceptval(-1)
    def _makes_room(self, k: cython.Py_ssize_t, register: cython.longlong) -> cython.bint:
        """Whether a copy of the stack pointer is decremented and copied back."""
        row: cython.Py_ssize_t
        if k + 2 >= self.count:
            return False
        row = self.templates[k + 1] * ROW_WORDS
        if self.rows[row + ROW_ACTION] != SUBTRACT or self.rows[row + ROW_DESTINATION] != register:
            return False
        row = self.templates[k + 2] * ROW_WORDS
        copied: cython.bint = self.rows[row + ROW_ACTION] == COPY and self.rows[row + ROW_LEFT] == register
        return copied and self.rows[row + ROW_DESTINATION] == self.stack_pointer

    @cython.cfunc
    @cython.exceptval(-1)
    def _note_escape(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, value: cython.int) -> cython.int:
        """The address of a stack slot is put into a register from where it may escape."""
        register: cython.longlong = self.rows[row + ROW_DESTINATION]
        if register == self.stack_pointer or register == self.frame_pointer or self.base_of(value) != FRAME:
            return 0
        if not self._only_stores(k, register) and not self.local.stays(k, register):
            self.escape_at(k, self.moved(value, self._added_next(k, register)))
        return 0

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    @cython.locals(row=cython.Py_ssize_t, by=cython.longlong)
    def _added_next(self, k: cython.Py_ssize_t, register: cython.longlong) -> cython.longlong:
        """The constant that the next instruction adds to a register: an address may be computed in two steps."""
        if k + 1 >= self.count:
            return 0
        row = self.templates[k + 1] * ROW_WORDS
        if self.rows[row + ROW_DESTINATION] != register or self.rows[row + ROW_LEFT] != register:
            return 0
        if self.rows[row + ROW_RIGHT] >= 0 or self.rows[row + ROW_OPERANDS] or self.rows[row + ROW_WIDTH] != 8:
            return 0
        by = self.immediate(k + 1, row)
        if self.rows[row + ROW_ACTION] == ADD:
            return by
        return -by if self.rows[row + ROW_ACTION] == SUBTRACT else 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        at=cython.Py_ssize_t, row=cython.Py_ssize_t, m=cython.Py_ssize_t, bit=cython.ulonglong, read=cython.ulonglong,
    )  # fmt: skip  # rows of C types
    def _only_stores(self, k: cython.Py_ssize_t, register: cython.longlong) -> cython.bint:
        """Whether the next instructions only store through a register until it is overwritten: arguments written to the
        stack's end."""
        if not 0 <= register < 64:
            return False
        bit = cython.cast(cython.ulonglong, 1) << register
        for at in range(k + 1, min(k + 1 + SOON, self.count)):
            row = self.templates[at] * ROW_WORDS
            read = cython.cast(cython.ulonglong, self.rows[row + ROW_READS]) & bit
            if self.rows[row + ROW_FLOW] == CALL and not read:
                # The callee does not read the register, and overwrites it with its result.
                return register == self.result_register and register not in self.parameters
            if self.rows[row + ROW_FLOW] != NEXT:
                break
            if read:
                m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
                stores = self.rows[row + ROW_ACTION] in (STORE, STORE_PAIR) and self.rows[row + ROW_OPERANDS] == 1
                if not stores or self.rows[row + ROW_LEFT] == register or self.operands[m + OPERAND_INDEX] == register:
                    break
            if cython.cast(cython.ulonglong, self.rows[row + ROW_WRITES]) & bit:
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def _name_index(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.int:
        """Give an index a symbol: it may be added to the sum again, as in multiples of 3 by two additions."""
        index: cython.longlong = self.operands[m + OPERAND_INDEX]
        if index < 0:
            return 0
        value: cython.int = self.get(index)
        if value and self.base_of(value) == OBJECT and self.operands[m + OPERAND_SCALE] == 1:
            # Either may be the base.
            index = self.operands[m + OPERAND_BASE]
            value = self.get(index) if index >= 0 else NOTHING
        if index < 0 or index == self.rows[row + ROW_DESTINATION]:
            return 0
        if not value:
            value = UNKNOWN
        if self.base_of(value) == NUMBER:
            self.name(index, value, k)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _note_derived(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.int:
        """Note an address computed from an unknown one: a variable's location may start at the next instruction."""
        base: cython.longlong = self.operands[m + OPERAND_BASE]
        if base < 0 or self.operands[m + OPERAND_INDEX] >= 0 or self.operands[m + OPERAND_SEGMENT]:
            return 0
        if base != self.rows[row + ROW_DESTINATION] and self.rows[row + ROW_WIDTH] == 8:
            self.derived_before, self.derived_from = k + 1, base
            self.derived = self.rows[row + ROW_DESTINATION]
            self.derived_by = self.displacement(k, m)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _masked(
        self,
        k: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
        left: cython.int,
        register: cython.longlong,
        width: cython.longlong,
        mask: cython.longlong,
    ) -> cython.int:
        if register >= 0:
            return NOTHING
        if self.base_of(left) == FRAME and width == 8 and -4096 <= mask < 0 and not self.step_of(left):
            if self.rows[row + ROW_DESTINATION] == self.stack_pointer and self.offset_of(left) > -ALIGNED:
                return self.values.intern(FRAME, 0, 0, 0, (self.offset_of(left) & mask) - ALIGNED)
            return NOTHING
        if not left or self.base_of(left) == NUMBER:
            lowest: cython.longlong = mask & -mask
            if left and mask == -lowest and width == 8 and 1 < lowest < 1 << 16 and self.step_of(left) == 1:
                divided: cython.int = self._divided(left, _exponent(lowest), lowest)
                if divided:
                    return divided
            if mask < 0 and width == 8 and (not left or self.step_of(left) == 1):
                # May be an aligned address, which a negative symbol marks.
                self.forget(-k - 1)
                return self.values.intern(NUMBER, 0, lowest, -k - 1, 0)
            if not mask:
                return NULL
            return self.values.intern(NUMBER, 0, max(lowest, self._multiple(left) if left else 1), 0, 0)
        if self.base_of(left) == ADDRESS and width == 8 and -16 <= mask < 0 and not self.step_of(left):
            # Sections keep their alignment when loaded.
            return self.moved(left, (self.offset_of(left) & mask) - self.offset_of(left))
        if self.base_of(left) == OBJECT and -16 <= mask < 0:
            if not self.offset_of(left) and not self.step_of(left):
                # Flags in a pointer's low bits.
                return left
            if not self.step_of(left) % -mask:
                alignment: cython.longlong = self.oracle.graph.alignment(self.type_of(left))
                if not alignment % -mask:
                    return self.moved(left, (self.offset_of(left) & mask) - self.offset_of(left))
        return NOTHING
