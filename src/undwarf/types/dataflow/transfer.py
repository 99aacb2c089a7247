# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Transfer functions: what each instruction does to the abstract state of registers and stack slots.

Instructions come as templates and columns (`undwarf.disasm.listing`), values as ids (`value_interner.py`). The classes
extend each other: arithmetic (`value_arithmetic.py`), registers and slots (`machine_state.py`), variables in registers
(`register_locations.py`) and in the frame (`stack_frame.py`), operands, loads and stores (`memory_accesses.py`),
results of instructions (`instruction_results.py`), all effects (here), the worklist (`solver.py`).

Any register that an instruction writes in a way not modelled becomes unknown (the decoder lists written registers), so
that no stale value survives. To model an instruction: let the decoder give it an :class:`undwarf.disasm.Action`
(`disasm/x86_semantics.py`), and compute its destination in :meth:`InstructionResults.result`, or other effects in
:meth:`Transfer.apply`.
"""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import CALL, INDIRECT_CALL
from cython.cimports.undwarf.disasm.instruction_semantics import (
    COPY,
    COPY_PAIR,
    EXCHANGE,
    LEAVE,
    LOAD_PAIR,
    OR,
    OTHER,
    POP,
    PUSH,
    REPEAT,
    SET_IF_NOT_ZERO,
    SET_IF_ZERO,
    SET_UPPER,
    UPDATE,
)
from cython.cimports.undwarf.disasm.template_layout import (
    OPERAND_BASE,
    OPERAND_ELEMENT,
    OPERAND_IMPLICIT,
    OPERAND_SIZE,
    OPERAND_WORDS,
    OPERAND_WRITEBACK,
    ROW_ACTION,
    ROW_DESTINATION,
    ROW_LEFT,
    ROW_OPERAND,
    ROW_OPERANDS,
    ROW_READ,
    ROW_RIGHT,
    ROW_WORDS,
    ROW_WRITES,
)
from cython.cimports.undwarf.types.dataflow.constants import (
    ADDRESS,
    ALIGNED,
    ANYWHERE,
    COUNTED,
    FRAME,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    REGISTERS,
    UNKNOWN,
    UNTOUCHED,
)

from undwarf.column import zeros
from undwarf.types.dataflow.instruction_results import InstructionResults
from undwarf.types.dataflow.value_interner import ValueInterner

# Of room that calls are given, as in undwarf.types.dataflow.call_effects.

ROOM = cython.declare(cython.longlong, 1 << 26)
"""The same for a stack pointer that was moved by an unknown size (alloca)."""


@cython.cclass
class Transfer(InstructionResults):
    """The state and the effects of instructions on it."""

    def __init__(self, listing: Any, values: ValueInterner, oracle: Any, machine: Any, limits: Any) -> None:
        super().__init__(listing, values, oracle, machine, limits)
        self.taught_begin: dict[int, list[tuple[int, int]]] = {}
        self.teaching = False
        self.lost_low, self.lost_high = oracle.calls.lost_bits
        self.vectors = self.lost_low & ~oracle.calls.general_bits if self.upper else 0
        self.living = zeros("Q", 0)

    def teach(self, k: cython.Py_ssize_t, register: cython.Py_ssize_t, value: cython.int) -> None:
        """Set the value that an instruction writes to a register, unless the data flow knows better."""
        if not 0 <= k < self.count or not 0 <= register < REGISTERS:
            return
        if not self.teaching:
            self.taught, self.taught_register = zeros("i", self.count), zeros("i", self.count)
        self.teaching = True
        self.taught[k] = value
        self.taught_register[k] = register

    def teach_begin(self, block: cython.Py_ssize_t, register: cython.Py_ssize_t, value: cython.int) -> None:
        """The same for a register at a block's start."""
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
    def apply(self, k: cython.Py_ssize_t) -> cython.int:
        """Apply an instruction: the state becomes that after it."""
        self._apply(k)
        if self.teaching and self.taught[k]:
            self.put_taught(self.taught_register[k], self.taught[k])
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        row=cython.Py_ssize_t, m=cython.Py_ssize_t, action=cython.longlong, flow=cython.int, value=cython.int,
        other=cython.int, destination=cython.longlong, back=cython.longlong, half=cython.longlong, top=cython.longlong,
    )  # fmt: skip  # rows of C types
    def _apply(self, k: cython.Py_ssize_t) -> cython.int:
        row = self.templates[k] * ROW_WORDS
        action = self.rows[row + ROW_ACTION]
        flow = self.flows[k] & 15
        if flow in (CALL, INDIRECT_CALL):
            self.call(k, row, flow)
            return 0
        destination = self.rows[row + ROW_DESTINATION]
        if action in (OTHER, UPDATE) or (action == OR and destination < 0):
            self.stores(k, row)
            self._write(row, -1)
            return 0
        if action >= REPEAT:
            if action == REPEAT:
                self._repeat(k, row)
            elif COPY_PAIR <= action <= SET_UPPER:
                self._move_words(k, row, action)
            elif action in (SET_IF_ZERO, SET_IF_NOT_ZERO):
                self._write(row, -1)
            return 0
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
            if value and self.symbol_of(value) == k + 1:
                # Both words would have this instruction's symbol: the second one gets it.
                value = self.values.intern(
                    self.base_of(value), self.type_of(value), self.step_of(value), 0, self.offset_of(value)
                )
            self._write(row, -1)
            self.set(destination, value)
            self.set(self.second(destination, self.rows[row + ROW_RIGHT]), other)
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
    @cython.locals(
        destination=cython.longlong, left=cython.longlong, m=cython.Py_ssize_t, value=cython.int, other=cython.int,
    )  # fmt: skip  # rows of C types
    def _move_words(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, action: cython.longlong) -> cython.int:
        """Copy words of vector registers, or load the upper one."""
        destination, left = self.rows[row + ROW_DESTINATION], self.rows[row + ROW_LEFT]
        if action == SET_UPPER:
            m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
            self.set(destination + self.upper, self.get(left) if left >= 0 else self.load(k, m, 8, 0))
            return 0
        value = self.get(left) if action == COPY_PAIR else self.get(left + self.upper)
        other = self.get(left + self.upper) if action == COPY_PAIR else NOTHING
        self._write(row, -1)
        self.set(destination, value)
        self.set(destination + self.upper, other)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _below(
        self, row: cython.Py_ssize_t, action: cython.longlong, destination: cython.longlong, value: cython.int
    ) -> cython.int:
        """The stack pointer, or a pointer into the new array, after alloca: the frame ends above, and stores there do
        not change it."""
        if destination == self.stack_pointer:
            if not self.step_of(value) or self.offset_of(value) <= -ROOM:
                return value
            if action == COPY:
                self.set(self.rows[row + ROW_LEFT], NOTHING)
            return self.values.intern(FRAME, 0, 0, 0, self.offset_of(value) - ROOM)
        # Variables are not located in alloca memory, they point to it.
        return NOTHING if self.offset_of(value) < -2 * ALIGNED else value

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        m=cython.Py_ssize_t, end=cython.Py_ssize_t, left=cython.longlong, count=cython.int, where=cython.int,
        more=cython.int, base=cython.longlong,
    )  # fmt: skip  # rows of C types
    def _repeat(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.int:
        """A repeated string instruction: elements are written and read, and the pointers advance past them."""
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
        """The registers that an instruction writes become unknown."""
        low: cython.ulonglong = self._whole(cython.cast(cython.ulonglong, self.rows[row + ROW_WRITES]))
        if 0 <= but < 64:
            low &= ~(cython.cast(cython.ulonglong, 1) << but)
        self._lose(low, 0)
        if self.top > 64:
            self._lose(cython.cast(cython.ulonglong, self.rows[row + ROW_WRITES + 1]), 64)
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _whole(self, bits: cython.ulonglong) -> cython.ulonglong:
        """A bit set of registers, extended by the upper words of vector registers."""
        return cython.cast(cython.ulonglong, bits | (bits & self.vectors) << self.upper)

    @cython.cfunc
    @cython.exceptval(-1)
    def _lose(self, bits: cython.ulonglong, register: cython.Py_ssize_t) -> cython.int:
        """Registers of a bit set, starting at ``register``, become unknown."""
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
    def _on_stack(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, action: cython.longlong) -> cython.int:
        """Apply a push, pop or leave; returns the popped value."""
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
    @cython.locals(value=cython.int, register=cython.longlong, room=cython.longlong)
    def call(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, flow: cython.int) -> cython.int:
        """Apply a call: clobbered registers, escaped stack slots, returned values."""
        target: Any = self.targets[k] if self.flows[k] & 16 else None
        returned: Any
        lost: Any
        low: cython.ulonglong = self.lost_low
        high: cython.ulonglong = self.lost_high
        if flow != CALL:
            value = self._called(k, row)
            if self.base_of(value) == ADDRESS and not self.step_of(value):
                # A function's address was loaded from the GOT earlier.
                target, flow = self.offset_of(value), CALL
        if flow == CALL:
            known: Any = self.values.called.get(target)
            if known is None:
                known = self.values.called[target] = self.oracle.calls.of(target)
            transparent, passed, returned, through, same, behind = known
            if transparent:
                return 0
            if self.living[k]:
                lost = self.values.changed.get(target)
                if lost is None:
                    lost = self.values.changed[target] = self.oracle.calls.changed_bits(target)
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
                        if register == self.result_register and self.base_of(said) == OBJECT:
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
                room = self._room_of(target, register) if flow == CALL else 0
                if room != UNTOUCHED:
                    self.escape_as(value, room)
                if flow == CALL and not self.step_of(value):
                    self._given(target, register, self.offset_of(value))
        if flow == CALL and self.escaped:
            self._given_on_stack(target)
        self.lose_escaped(k)
        self._lose(self._whole(low), 0)
        if self.top > 64:
            self._lose(high, 64)
        for register, said in returned:
            self.state[register] = said
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(m=cython.Py_ssize_t, register=cython.longlong, value=cython.int)
    def _called(self, k: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.int:
        """The target of an indirect call, from its memory operand or register."""
        m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        for _operand in range(self.rows[row + ROW_OPERANDS]):
            if not self.operands[m + OPERAND_IMPLICIT]:
                value = self.load(k, m, self.operands[m + OPERAND_SIZE], 0)
                if not value or value == ANYWHERE or self.is_several(value):
                    # Of a union's pointers only those to functions are called.
                    return cython.cast(cython.int, self.oracle.function_at(self.values.of(self.address_of(k, m, 0))))
                return value
            m += OPERAND_WORDS
        register = self.rows[row + ROW_LEFT]
        return self.get(register if register >= 0 else self.rows[row + ROW_READ])

    @cython.cfunc
    @cython.exceptval(-1)
    def _given(self, target: Any, register: Any, offset: cython.longlong) -> cython.int:
        """A stack slot's address is passed: if the callee takes a pointer to a pointer, it may store another pointer of
        that type."""
        at: cython.Py_ssize_t = self.slot(offset, 8, False)
        if at < 0 or self.base_of(self.state[at]) != OBJECT:
            return 0
        pointers: Any = self.values.pointers.get(target)
        if pointers is None:
            pointers = self.values.pointers[target] = self.oracle.calls.pointers(target)
        self.escaped_as[offset] = pointers.get(register, NOTHING)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _given_on_stack(self, target: Any) -> cython.int:
        """Stack addresses are passed on the stack."""
        at: cython.Py_ssize_t
        top: cython.int = self.state[self.stack_pointer]
        given: Any = self.values.stack_rooms.get(target)
        if given is None:
            given = self.values.stack_rooms[target] = self.oracle.calls.stack_rooms(target)
        if not given or self.base_of(top) != FRAME or self.step_of(top):
            return 0
        for offset, room in given:
            at = self.slot(self.offset_of(top) + offset, 8, False)
            if at >= 0:
                self.escape_as(self.state[at], room)
        return 0

    @cython.cfunc
    @cython.exceptval(-0x7FFFFFFFFFFFFFFF, check=True)
    def _room_of(self, target: Any, register: Any) -> cython.longlong:
        """Bytes that a callee accesses through an argument register, or UNTOUCHED; 0 if unknown."""
        rooms: Any = self.values.rooms.get(target)
        if rooms is None:
            rooms = self.values.rooms[target] = self.oracle.calls.rooms(target)
        room: cython.longlong = rooms.get(register, 0)
        if room == COUNTED:
            count: cython.int = self.state[self.parameters[2]]
            known: cython.bint = count > 0 and self.base_of(count) == NUMBER and not self.step_of(count)
            return self.offset_of(count) if known and self.offset_of(count) > 0 else 0
        return room

    @cython.cfunc
    def _returned_through(self, value: cython.int) -> Any:
        return self.oracle.calls.returned_through(self.type_of(value))
