# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""What each instruction does to what is known of registers and stack slots.

Instructions come as templates and columns (`undwarf.disasm.listing`), values as numbers (`interned.py`). Modules go on
from one another: calculating with values (`sums.py`), registers, slots and variables (`state.py`), operands, loads and
stores (`memory.py`), instructions (here), all blocks of a function (`fixed_point.py`).

What an instruction writes without our understanding how is not known after it (the decoder's list of written registers
says so); nothing stale survives. To teach a new instruction's effect: let the decoder give it an
:class:`undwarf.disasm.Action` (`disasm/x86_actions.py`), and say in :meth:`Effects.result` what its destination
becomes, or in :meth:`Effects.apply` if it changes more than that.
"""

from typing import Any

import cython

from undwarf.buffers import zeros
from undwarf.types.dataflow.interned import Values
from undwarf.types.dataflow.memory import Memory

NOTHING = cython.declare(cython.int, 0)
UNKNOWN = cython.declare(cython.int, 1)
NULL = cython.declare(cython.int, 2)

# Bases of values, as in undwarf.types.dataflow.values.
NUMBER = cython.declare(cython.int, 0)
FRAME = cython.declare(cython.int, 1)
OBJECT = cython.declare(cython.int, 2)
ADDRESS = cython.declare(cython.int, 3)

# undwarf.disasm.model.Flow
CALL = cython.declare(cython.int, 4)
INDIRECT_CALL = cython.declare(cython.int, 5)

# undwarf.disasm.model.Action
OTHER = cython.declare(cython.int, 0)
COPY = cython.declare(cython.int, 1)
CONSTANT = cython.declare(cython.int, 2)
LOAD = cython.declare(cython.int, 3)
STORE = cython.declare(cython.int, 4)
LEA = cython.declare(cython.int, 5)
ADD = cython.declare(cython.int, 6)
SUBTRACT = cython.declare(cython.int, 7)
MULTIPLY = cython.declare(cython.int, 8)
SHIFT_LEFT = cython.declare(cython.int, 9)
AND = cython.declare(cython.int, 10)
EXTEND = cython.declare(cython.int, 11)
SELECT = cython.declare(cython.int, 12)
EXCHANGE = cython.declare(cython.int, 13)
PUSH = cython.declare(cython.int, 14)
POP = cython.declare(cython.int, 15)
LEAVE = cython.declare(cython.int, 16)
ADD_MEMORY = cython.declare(cython.int, 17)
LOAD_PAIR = cython.declare(cython.int, 18)
STORE_PAIR = cython.declare(cython.int, 19)
OR = cython.declare(cython.int, 20)
UPDATE = cython.declare(cython.int, 21)
SHIFT_RIGHT = cython.declare(cython.int, 22)
CARRY = cython.declare(cython.int, 23)
REPEAT = cython.declare(cython.int, 24)

# Words of templates and of their operands, as in undwarf.disasm.listing.
ROW_WORDS = cython.declare(cython.Py_ssize_t, 16)
ROW_ACTION = cython.declare(cython.Py_ssize_t, 1)
ROW_DESTINATION = cython.declare(cython.Py_ssize_t, 2)
ROW_LEFT = cython.declare(cython.Py_ssize_t, 3)
ROW_RIGHT = cython.declare(cython.Py_ssize_t, 4)
ROW_WIDTH = cython.declare(cython.Py_ssize_t, 5)
ROW_WRITES = cython.declare(cython.Py_ssize_t, 8)
ROW_OPERAND = cython.declare(cython.Py_ssize_t, 10)
ROW_OPERANDS = cython.declare(cython.Py_ssize_t, 11)
ROW_READ = cython.declare(cython.Py_ssize_t, 13)
OPERAND_WORDS = cython.declare(cython.Py_ssize_t, 12)
OPERAND_BASE = cython.declare(cython.Py_ssize_t, 0)
OPERAND_INDEX = cython.declare(cython.Py_ssize_t, 1)
OPERAND_SEGMENT = cython.declare(cython.Py_ssize_t, 5)
OPERAND_SIZE = cython.declare(cython.Py_ssize_t, 6)
OPERAND_IMPLICIT = cython.declare(cython.Py_ssize_t, 8)
OPERAND_WRITEBACK = cython.declare(cython.Py_ssize_t, 9)
OPERAND_ELEMENT = cython.declare(cython.Py_ssize_t, 10)

NEAR = cython.declare(cython.Py_ssize_t, 4)
"""Instructions before one that are looked at for what made its operand."""
REGISTERS = cython.declare(cython.Py_ssize_t, 96)
"""Registers of a state, by DWARF number; stack slots come behind them."""
LARGEST = cython.declare(cython.longlong, 1 << 62)
"""Offsets and steps at least this large say nothing."""
ALIGNED = cython.declare(cython.longlong, 1 << 24)
"""How far below a frame lies, for us, what a stack pointer leads to that was aligned: how far it is nobody knows, and
both are counted from there on."""
ROOM = cython.declare(cython.longlong, 1 << 26)
"""The same of what a stack pointer leads to that was moved by a number that nobody knows, to make room for an array."""


@cython.cclass
class Effects(Memory):
    """A state, and what instructions do to it."""

    def __init__(self, listing: Any, values: Values, questions: Any, machine: Any, limits: Any) -> None:
        super().__init__(listing, values, questions, machine, limits)
        self.result_register = machine.result
        self.parameters = machine.parameters
        self.taught_begin: dict[int, list[tuple[int, int]]] = {}
        self.teaching = False
        self.derived_before = -1
        self.lost_low, self.lost_high = questions.calls.lost_bits
        self.living = zeros("Q", 0)

    def teach(self, k: cython.Py_ssize_t, register: cython.Py_ssize_t, value: cython.int) -> None:
        """What an instruction writes into a register is a value, unless something else is known of it."""
        if not 0 <= k < self.count or not 0 <= register < REGISTERS:
            return
        if not self.teaching:
            self.taught, self.taught_register = zeros("i", self.count), zeros("i", self.count)
        self.teaching = True
        self.taught[k] = value
        self.taught_register[k] = register

    def teach_begin(self, block: cython.Py_ssize_t, register: cython.Py_ssize_t, value: cython.int) -> None:
        """The same of what a register holds at a block's begin."""
        if not 0 <= register < REGISTERS:
            return
        if not self.teaching:
            self.taught, self.taught_register = zeros("i", self.count), zeros("i", self.count)
        self.teaching = True
        self.taught_begin.setdefault(block, []).append((register, value))

    @cython.cfunc
    @cython.exceptval(-1)
    def put_taught(self, register: cython.Py_ssize_t, value: cython.int) -> cython.int:
        known: cython.int = self.state[register]
        several: cython.bint = self.is_several(known)
        nothing: cython.bint = not known or (
            self.base_of(known) == NUMBER and self.step_of(known) == 1 and not self.offset_of(known)
        )
        if not nothing and not several:
            return 0
        if known and self.symbol_of(known):
            self.replace(known, value)
        self.state[register] = value
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def seed(self, k: cython.Py_ssize_t) -> cython.int:
        """Put the variables that are in registers at an instruction into the state."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        register: cython.Py_ssize_t
        value: cython.int
        known: cython.int
        astray: cython.bint
        segment: cython.int = self.seeds.data[k] + 1
        self.find_seeds(k)
        for i in range(self.seeds.begin, self.seeds.end):
            place = cython.cast(cython.Py_ssize_t, self.seeds.items[i])
            register = self.seeded[2 * place]
            value = self.seeded[2 * place + 1]
            known = self.state[register]
            if known == value or register == self.stack_pointer:
                continue
            astray = self.strays[place]
            place *= 3
            if self.met[place] == known and self.met[place + 1] == segment:
                # As at the instruction before: the same variables are there.
                self.state[register] = self.met[place + 2]
                continue
            if (
                self.base_of(known) == NUMBER
                and self.symbol_of(known)
                and (self.step_of(known) == 1 or self.symbol_of(known) < 0)
            ):
                # What was copied from there, or to there, is the same.
                self.replace(known, value)
                self._told_from(k, register, value)
            elif not known:
                self._told_from(k, register, value)
            elif self.base_of(known) == OBJECT and self.symbol_of(known) and not self.step_of(known):
                # One of several, of which a variable says which one it is.
                value = self.reconcile(known, value, register, astray)
                self.replace(known, value)
                continue
            else:
                value = self.reconcile(known, value, register, astray)
                self.state[register] = value
                self.met[place] = known
                self.met[place + 1] = segment
                self.met[place + 2] = value
                continue
            self.state[register] = self.reconcile(known, value, register, astray)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _note_derived(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.int:
        """An address is made of an unknown one: the next instruction may be where a variable says what it is."""
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
    def _told_from(self, k: cython.Py_ssize_t, register: cython.Py_ssize_t, value: cython.int) -> cython.int:
        """A variable says what a register holds whose value was just made of an unknown one: so much apart is that."""
        base: cython.longlong = self.derived_from
        if self.derived_before != k or self.derived != register or self.base_of(value) != OBJECT or self.step_of(value):
            return 0
        known: cython.int = self.state[base]
        if known and (self.base_of(known) != NUMBER or self.step_of(known) != 1 or self.offset_of(known)):
            return 0
        said: cython.int = self.moved(value, -self.derived_by)
        if known and self.symbol_of(known) > 0:
            self.replace(known, said)
        self.state[base] = said
        return 0

    @cython.ccall
    @cython.exceptval(-1)
    def apply(self, k: cython.Py_ssize_t) -> cython.int:
        """Change the state into the one behind an instruction."""
        self._apply(k)
        if self.teaching and self.taught[k]:
            self.put_taught(self.taught_register[k], self.taught[k])
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        row=cython.Py_ssize_t, m=cython.Py_ssize_t, action=cython.longlong, flow=cython.int, value=cython.int,
        other=cython.int, destination=cython.longlong, back=cython.longlong, half=cython.longlong, top=cython.longlong,
    )  # fmt: skip
    def _apply(self, k: cython.Py_ssize_t) -> cython.int:
        row = self.templates[k] * ROW_WORDS
        action = self.rows[row + ROW_ACTION]
        flow = self.flows[k] & 15
        if flow in (CALL, INDIRECT_CALL):
            self.call(k, row, flow)
            return 0
        if action in (OTHER, UPDATE):
            self.stores(k, row)
            self._write(row, -1)
            return 0
        if action >= REPEAT:
            if action == REPEAT:
                self._repeat(k, row)
            return 0
        destination = self.rows[row + ROW_DESTINATION]
        if action in (PUSH, POP, LEAVE):
            value = self._on_stack(k, row, action)
            if action == POP:
                self.set(destination, value)
            return 0
        if action == EXCHANGE:
            value = self.get(self.rows[row + ROW_LEFT])
            self.set(self.rows[row + ROW_LEFT], self.get(self.rows[row + ROW_RIGHT]))
            self.set(self.rows[row + ROW_RIGHT], value)
            return 0
        m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        back = -1
        top = NOTHING
        if self.rows[row + ROW_OPERANDS] and self.operands[m + OPERAND_WRITEBACK]:
            back = self.operands[m + OPERAND_BASE]
            top = self.add(self.get(back), self.constant(self.operands[m + OPERAND_WRITEBACK]))
        if action == LOAD_PAIR:
            half = self.operands[m + OPERAND_SIZE] // 2
            value = self.load(k, m, half, 0) if half == 8 else NOTHING
            other = self.load(k, m, half, half) if half == 8 else NOTHING
            self._write(row, -1)
            self.set(destination, value)
            self.set(self.rows[row + ROW_RIGHT], other)
        else:
            value = self.result(k, row, action)
            if value and self.base_of(value) == FRAME and (self.step_of(value) or self.offset_of(value) < -ALIGNED):
                value = self._below(row, action, destination, value)
            self._write(row, destination)
            self.set(destination, value)
        self.set(back, top)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _below(
        self, row: cython.Py_ssize_t, action: cython.longlong, destination: cython.longlong, value: cython.int
    ) -> cython.int:
        """What the stack pointer becomes where room for an array is made, and what leads into that: the frame ends
        above it, and nothing that is written there changes what is in the frame."""
        if destination == self.stack_pointer:
            if not self.step_of(value) or self.offset_of(value) <= -ROOM:
                return value
            if action == COPY:
                self.set(self.rows[row + ROW_LEFT], NOTHING)
            return self.values.intern(FRAME, 0, 0, 0, self.offset_of(value) - ROOM)
        # Room that is made is not what a variable has its place in, but what one leads to.
        return NOTHING if self.offset_of(value) < -2 * ALIGNED else value

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        m=cython.Py_ssize_t, end=cython.Py_ssize_t, left=cython.longlong, count=cython.int, where=cython.int,
        more=cython.int, base=cython.longlong,
    )  # fmt: skip
    def _repeat(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.int:
        """Elements in a row are written, and read; what led to them leads behind them."""
        left = self.rows[row + ROW_LEFT]
        count = self.constant(1) if left < 0 else self.get(left)
        if not count or self.base_of(count) != NUMBER:
            count = UNKNOWN
        m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        end = m + self.rows[row + ROW_OPERANDS] * OPERAND_WORDS
        where = self.address_of(k, m, 0)
        more = self.scaled(count, self.operands[m + OPERAND_ELEMENT])
        if self.base_of(where) == FRAME and not self.step_of(where) and not self.step_of(more):
            self.put(self.offset_of(where), self.offset_of(more), NOTHING)
        else:
            self.stores(k, row)
        while m < end:
            base = self.operands[m + OPERAND_BASE]
            where = self.get(base)
            self.set(base, self.add(where, more) if where else NOTHING)
            m += OPERAND_WORDS
        self.set(left, NULL)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _write(self, row: cython.Py_ssize_t, but: cython.longlong) -> cython.int:
        """Nothing is known of the registers that an instruction writes."""
        low: cython.ulonglong = cython.cast(cython.ulonglong, self.rows[row + ROW_WRITES])
        if 0 <= but < 64:
            low &= ~(cython.cast(cython.ulonglong, 1) << but)
        self._lose(low, 0)
        if self.top > 64:
            self._lose(cython.cast(cython.ulonglong, self.rows[row + ROW_WRITES + 1]), 64)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _lose(self, bits: cython.ulonglong, register: cython.Py_ssize_t) -> cython.int:
        """Nothing is known of some registers, as bits from one of them on."""
        if self.top - register < 64:
            bits &= (cython.cast(cython.ulonglong, 1) << (self.top - register)) - 1
        while bits:
            if bits & 1:
                self.state[register] = NOTHING
            bits >>= 1
            register += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        left=cython.int, right=cython.int, width=cython.longlong, m=cython.Py_ssize_t, register=cython.longlong,
        bits=cython.longlong, immediate=cython.longlong,
    )  # fmt: skip
    def result(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, action: cython.longlong) -> cython.int:
        """The destination's new value; what else the instruction does is done to the state."""
        width = self.rows[row + ROW_WIDTH]
        m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        if action == COPY:
            return self._copied(k, row, width)
        if action == CONSTANT:
            return self.number(k, row, True)
        if action == LOAD:
            return self.load(k, m, self.operands[m + OPERAND_SIZE], 0)
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
            self._note_escape(row, left)
            return left
        register = self.rows[row + ROW_RIGHT]
        if action == ADD_MEMORY:
            return self.add(left, self.load(k, m, self.operands[m + OPERAND_SIZE], 0))
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
                left = self.add(left, right)
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
            # Bits that were 0: as good as a sum.
            return self.moved(left, immediate)
        if action == EXTEND:
            if not left:
                left = UNKNOWN
            if self.base_of(left) != NUMBER or width < 4:
                return NOTHING
            return self.name(self.rows[row + ROW_LEFT], left, k)
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(value=cython.int)
    def _selected(
        self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, left: cython.int, right: cython.int
    ) -> cython.int:
        """One of two values by a condition. A number without the flags in its low bits leads to an object where the
        other one does, as a part of a page leads to its head."""
        value = self.join(left, right) if left else NOTHING
        if value:
            return value
        if self._is_object(left) and self._is_unflagged(k, self.rows[row + ROW_RIGHT], right):
            return left
        if self._is_object(right) and self._is_unflagged(k, self.rows[row + ROW_LEFT], left):
            return right
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(at=cython.Py_ssize_t, row=cython.Py_ssize_t, m=cython.Py_ssize_t)
    def _is_unflagged(self, k: cython.Py_ssize_t, register: cython.longlong, value: cython.int) -> cython.bint:
        """Whether nothing more is known of a register than that less than a word was just taken from a number."""
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
        """Whether a value leads to the begin of an aggregate."""
        if not value or self.base_of(value) != OBJECT or self.step_of(value) or self.offset_of(value):
            return False
        return self.questions.graph.is_aggregate(self.type_of(value)) and not self.is_several(value)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _only_number(self, value: cython.int) -> cython.int:
        return value if value and self.base_of(value) == NUMBER else NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _shifted(self, value: cython.int, by: cython.longlong) -> cython.int:
        """A number divided by a power of two: the distance of two pointers, where that leaves no rest."""
        if not value or self.base_of(value) != NUMBER or not 0 <= by < 62:
            return NOTHING
        unit: cython.longlong = cython.cast(cython.longlong, 1) << by
        if self.step_of(value) % unit or self.offset_of(value) % unit:
            return NOTHING
        return self.values.intern(NUMBER, 0, self.step_of(value) // unit, 0, self.offset_of(value) // unit)

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
            self._note_escape(row, value)
        return value

    @cython.cfunc
    @cython.exceptval(-1)
    def _makes_room(self, k: cython.Py_ssize_t, register: cython.longlong) -> cython.bint:
        """Whether the copy of the stack pointer that an instruction makes is moved and becomes the stack pointer."""
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
    def _note_escape(self, row: cython.Py_ssize_t, value: cython.int) -> cython.int:
        """The address of a part of the frame goes to a register that others may see."""
        register: cython.longlong = self.rows[row + ROW_DESTINATION]
        if register != self.stack_pointer and register != self.frame_pointer:
            self.escape(value)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _name_index(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.int:
        """An index that goes into a sum may be added to it again, as in multiples by 3 made of two additions."""
        index: cython.longlong = self.operands[m + OPERAND_INDEX]
        if index < 0 or index == self.rows[row + ROW_DESTINATION]:
            return 0
        value: cython.int = self.get(index)
        if not value:
            value = UNKNOWN
        if self.base_of(value) == NUMBER:
            self.name(index, value, k)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _masked(
        self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, left: cython.int, register: cython.longlong,
        width: cython.longlong, mask: cython.longlong,
    ) -> cython.int:  # fmt: skip
        if register >= 0:
            return NOTHING
        if self.base_of(left) == FRAME and width == 8 and -4096 <= mask < 0 and not self.step_of(left):
            if self.rows[row + ROW_DESTINATION] == self.stack_pointer and self.offset_of(left) > -ALIGNED:
                return self.values.intern(FRAME, 0, 0, 0, (self.offset_of(left) & mask) - ALIGNED)
            return NOTHING
        if not left or self.base_of(left) == NUMBER:
            lowest: cython.longlong = mask & -mask
            if mask < 0 and width == 8 and (not left or self.step_of(left) == 1):
                # It may be an address that is aligned: a symbol below zero says so.
                self.forget(-k - 1)
                return self.values.intern(NUMBER, 0, lowest, -k - 1, 0)
            return self.values.intern(NUMBER, 0, max(lowest, 1), 0, 0) if mask else NULL
        if self.base_of(left) == OBJECT and -16 <= mask < 0:
            if not self.offset_of(left) and not self.step_of(left):
                # Flags in a pointer's low bits.
                return left
            if not self.step_of(left) % -mask:
                alignment: cython.longlong = self.questions.graph.alignment(self.type_of(left))
                if not alignment % -mask:
                    return self.moved(left, (self.offset_of(left) & mask) - self.offset_of(left))
        return NOTHING

    @cython.cfunc
    @cython.exceptval(-1)
    def _on_stack(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, action: cython.longlong) -> cython.int:
        """Pushes and pops; what is popped."""
        pointer: cython.int = self.stack_pointer
        top: cython.int = self.state[pointer]
        left: cython.longlong = self.rows[row + ROW_LEFT]
        m: cython.Py_ssize_t = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        offset: cython.longlong
        at: cython.Py_ssize_t
        value: cython.int
        if action == PUSH:
            if self.base_of(top) == FRAME and not self.step_of(top):
                offset = self.offset_of(top) - 8
                value = self.get(left) if left >= 0 else self.constant(self.immediate(k, row))
                if left < 0 and self.rows[row + ROW_OPERANDS] and not self.operands[m + OPERAND_IMPLICIT]:
                    value = NOTHING
                self.put(offset, 8, value)
                self.state[pointer] = self.values.intern(FRAME, 0, 0, 0, offset)
            else:
                self.state[pointer] = NOTHING
            return NOTHING
        if action == LEAVE:
            top = self.state[self.frame_pointer]
        value = NOTHING
        if self.base_of(top) == FRAME and not self.step_of(top):
            at = self.slot(self.offset_of(top), 8, False)
            value = self.state[at] if at >= 0 else NOTHING
            self.state[pointer] = self.values.intern(FRAME, 0, 0, 0, self.offset_of(top) + 8)
        else:
            self.state[pointer] = NOTHING
        if action == LEAVE:
            self.state[self.frame_pointer] = value
            return NOTHING
        return value

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(value=cython.int, register=cython.longlong)
    def call(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, flow: cython.int) -> cython.int:
        """What a call leaves: registers the callee must keep, the stack but what it may have seen, what it returns."""
        target: Any = self.targets[k] if self.flows[k] & 16 else None
        returned: Any
        lost: Any
        low: cython.ulonglong = self.lost_low
        high: cython.ulonglong = self.lost_high
        if flow != CALL:
            value = self._called(k, row)
            if self.base_of(value) == ADDRESS and not self.step_of(value):
                # A function whose address was loaded from the global offset table, and put aside.
                target, flow = self.offset_of(value), CALL
        if flow == CALL:
            known: Any = self.values.called.get(target)
            if known is None:
                known = self.values.called[target] = self.questions.calls.of(target)
            transparent, passed, returned, through, same, behind = known
            if transparent:
                return 0
            if self.living[k]:
                lost = self.values.changed.get(target)
                if lost is None:
                    lost = self.values.changed[target] = self.questions.calls.changed_bits(target)
                low, high = lost
            if through is not None:
                value = self.state[through]
                if self.base_of(value) == OBJECT and not self.offset_of(value):
                    returned = self._returned_through(value)
            if same is not None and self.state[same] and self.base_of(self.state[same]) != NUMBER:
                value = self.state[same]
                if behind is not None:
                    value = self.moved(value, behind)
                    for register, said in returned:
                        if register == self.result_register and said:
                            value = self.reconcile(value, said, register, False)
                returned = ((self.result_register, value),)
            for register, said in passed:
                value = self.state[register]
                if self.base_of(value) != NUMBER or self.step_of(value) != 1:
                    continue
                if self.symbol_of(value) and not self.offset_of(value):
                    self.replace(value, said)
        elif self.base_of(value) == OBJECT and not self.step_of(value) and not self.offset_of(value):
            returned = self._returned_through(value)
        else:
            returned = ()
        for register in self.parameters:
            value = self.state[register]
            if value and self.base_of(value) == FRAME:
                self.escape(value)
                if flow == CALL and not self.step_of(value):
                    self._given(target, register, self.offset_of(value))
        self.lose_escaped(k)
        self._lose(low, 0)
        if self.top > 64:
            self._lose(high, 64)
        for register, said in returned:
            self.state[register] = said
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(m=cython.Py_ssize_t, register=cython.longlong)
    def _called(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.int:
        """What an indirect call goes to: what lies at its operand, or is in its register."""
        m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        for _operand in range(self.rows[row + ROW_OPERANDS]):
            if not self.operands[m + OPERAND_IMPLICIT]:
                return self.load(k, m, self.operands[m + OPERAND_SIZE], 0)
            m += OPERAND_WORDS
        register = self.rows[row + ROW_LEFT]
        return self.get(register if register >= 0 else self.rows[row + ROW_READ])

    @cython.cfunc
    @cython.exceptval(-1)
    def _given(self, target: Any, register: Any, offset: cython.longlong) -> cython.int:
        """The address of a slot is given to what is called: if that takes the address of a pointer to what the slot is
        known to lead to, it may have changed it to another one."""
        at: cython.Py_ssize_t = self.slot(offset, 8, False)
        if at < 0 or self.base_of(self.state[at]) != OBJECT:
            return 0
        pointers: Any = self.values.pointers.get(target)
        if pointers is None:
            pointers = self.values.pointers[target] = self.questions.calls.pointers(target)
        self.escaped_as[offset] = pointers.get(register, NOTHING)
        return 0

    @cython.cfunc
    def _returned_through(self, value: cython.int) -> Any:
        return self.questions.calls.returned_through(self.type_of(value))
