# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""DWARF expressions over a frame's registers and memory (DWARF 5, 2.5)."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import operations
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.integers import ALL_ONES
from cython.cimports.undwarf.tables.registers_x86_64 import REGISTERS
from cython.cimports.undwarf.unwind.stop_reason import StopReason

from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache

STACK_DEPTH = cython.declare(cython.int, 64)
"""Entries of the expression stack."""


@cython.final
@cython.cclass
class ExpressionEvaluator:
    """Evaluates the expressions of unwind rules; sets the memory's ``fault`` where one has no value."""

    stack: Any

    def __init__(self, rules: RuleCache, memory: ProcessMemory, registers: RegisterFile, max_steps: int) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.max_steps = max_steps

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def register(self, place: cython.int) -> cython.ulonglong:
        """The value of the register in a place; sets ``fault`` if it is not known."""
        if place < 0 or place >= REGISTERS:
            self.memory.fault = StopReason.BAD_RULE
            return 0
        if not self.registers.known >> place & 1:
            self.memory.fault = StopReason.UNKNOWN_REGISTER
            return 0
        return cython.cast(cython.ulonglong, self.registers.values[place])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def evaluate(self, expression: cython.int, cfa: cython.ulonglong, with_cfa: cython.bint) -> cython.ulonglong:
        """The value of the expression with this number; ``with_cfa`` starts it with the CFA on the stack."""
        first: cython.Py_ssize_t
        at: cython.Py_ssize_t
        end: cython.Py_ssize_t
        depth: cython.int = 0
        steps: cython.Py_ssize_t = 0
        op: cython.int
        jumps: cython.bint
        if expression < 0 or expression + 1 >= self.rules.expression_offsets.shape[0]:
            self.memory.fault = StopReason.BAD_RULE
            return 0
        first = at = self.rules.expression_offsets[expression]
        end = self.rules.expression_offsets[expression + 1]
        if with_cfa:
            self.stack[0] = cfa
            depth = 1
        while at < end:
            steps += 1
            if steps > self.max_steps or depth >= STACK_DEPTH - 2:
                self.memory.fault = StopReason.BAD_RULE
                return 0
            op = self.rules.expression_bytes[at]
            at = self._read_operands(op, at + 1, end)
            if at < 0:
                self.memory.fault = StopReason.BAD_RULE
                return 0
            jumps = op == operations.SKIP
            if op == operations.BRA and depth > 0:
                depth -= 1
                jumps = self.stack[depth] != 0
            elif not jumps:
                depth = self._operate(op, depth, cfa)
            if jumps:
                at += cython.cast(cython.longlong, self.operand)
                if at < first or at > end:
                    self.memory.fault = StopReason.BAD_RULE
            if self.memory.fault:
                return 0
        if depth < 1:
            self.memory.fault = StopReason.BAD_RULE
            return 0
        return cython.cast(cython.ulonglong, self.stack[depth - 1])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def _read_operands(self, op: cython.int, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read the operand of an operation (of DW_OP_bregx the register as well); where it ends, -1 past the end."""
        if op == operations.ADDR or op == operations.CONST8U or op == operations.CONST8S:
            return self._read_fixed(at, end, 8, False)
        if op == operations.CONST1U or op == operations.CONST1S or op == operations.PICK or op == operations.DEREF_SIZE:
            return self._read_fixed(at, end, 1, op == operations.CONST1S)
        if op == operations.CONST2U or op == operations.CONST2S or op == operations.BRA or op == operations.SKIP:
            return self._read_fixed(at, end, 2, op != operations.CONST2U)
        if op == operations.CONST4U or op == operations.CONST4S:
            return self._read_fixed(at, end, 4, op == operations.CONST4S)
        if op == operations.CONSTU or op == operations.PLUS_UCONST:
            return self._read_leb128(at, end, False)
        if operations.BREG0 <= op <= operations.BREG31:
            self.operand_register = op - operations.BREG0
            return self._read_leb128(at, end, True)
        if op == operations.CONSTS:
            return self._read_leb128(at, end, True)
        if op == operations.BREGX:
            at = self._read_leb128(at, end, False)
            self.operand_register = cython.cast(cython.int, min(self.operand, 0xFFFF))
            if at >= 0:
                at = self._read_leb128(at, end, True)
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _operate(self, op: cython.int, depth: cython.int, cfa: cython.ulonglong) -> cython.int:
        """Do an operation on the stack, which has space for two more entries; returns its new depth. Sets ``fault``
        where there are too few operands, or the operation is not known."""
        value: cython.ulonglong
        number: cython.int
        # Operations that push a value.
        if op == operations.ADDR or operations.CONST1U <= op <= operations.CONSTS:
            self.stack[depth] = self.operand
            return depth + 1
        if operations.LIT0 <= op <= operations.LIT31:
            self.stack[depth] = cython.cast(cython.ulonglong, op - operations.LIT0)
            return depth + 1
        if operations.BREG0 <= op <= operations.BREG31 or op == operations.BREGX:
            number = self.operand_register
            self.stack[depth] = (
                self.register(self.registers.place_of_dwarf[number] if 0 <= number < 64 else -1) + self.operand
            )
            return depth + 1
        if op == operations.CALL_FRAME_CFA:
            self.stack[depth] = cfa
            return depth + 1
        if op == operations.NOP:
            return depth
        if depth < 1:
            self.memory.fault = StopReason.BAD_RULE
            return depth
        # Operations on the top of the stack.
        value = self.stack[depth - 1]
        if op == operations.DEREF:
            self.stack[depth - 1] = self.memory.load(value)
        elif op == operations.DEREF_SIZE:
            if self.operand < 1 or self.operand > 8:
                self.memory.fault = StopReason.BAD_RULE
                return depth
            value = self.memory.load(value)
            if self.operand < 8:
                value &= (cython.cast(cython.ulonglong, 1) << (8 * self.operand)) - 1
            self.stack[depth - 1] = value
        elif op == operations.DUP:
            self.stack[depth] = value
            return depth + 1
        elif op == operations.DROP:
            return depth - 1
        elif op == operations.PICK:
            if self.operand >= cython.cast(cython.ulonglong, depth):
                self.memory.fault = StopReason.BAD_RULE
                return depth
            self.stack[depth] = self.stack[depth - 1 - cython.cast(cython.int, self.operand)]
            return depth + 1
        elif op == operations.ABS:
            if cython.cast(cython.longlong, value) < 0:
                self.stack[depth - 1] = 0 - value
        elif op == operations.NEG:
            self.stack[depth - 1] = 0 - value
        elif op == operations.NOT:
            self.stack[depth - 1] = ~value
        elif op == operations.PLUS_UCONST:
            self.stack[depth - 1] = value + self.operand
        elif depth < 2:
            self.memory.fault = StopReason.BAD_RULE
        # Operations on two entries or three.
        elif op == operations.OVER:
            self.stack[depth] = self.stack[depth - 2]
            return depth + 1
        elif op == operations.SWAP:
            self.stack[depth - 1] = self.stack[depth - 2]
            self.stack[depth - 2] = value
        elif op == operations.ROT:
            if depth < 3:
                self.memory.fault = StopReason.BAD_RULE
                return depth
            self.stack[depth - 1] = self.stack[depth - 2]
            self.stack[depth - 2] = self.stack[depth - 3]
            self.stack[depth - 3] = value
        else:
            self.stack[depth - 2] = self._binary(op, self.stack[depth - 2], value)
            return depth - 1
        return depth

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _binary(self, op: cython.int, a: cython.ulonglong, b: cython.ulonglong) -> cython.ulonglong:
        """The result of a binary operation; sets ``fault`` for one that is not known."""
        if op == operations.AND:
            return a & b
        if op == operations.MINUS:
            return a - b
        if op == operations.MUL:
            return a * b
        if op == operations.OR:
            return a | b
        if op == operations.PLUS:
            return a + b
        if op == operations.SHL:
            return a << b if b < 64 else 0
        if op == operations.SHR:
            return a >> b if b < 64 else 0
        if op == operations.SHRA:
            return cython.cast(cython.ulonglong, cython.cast(cython.longlong, a) >> (b if b < 63 else 63))
        if op == operations.XOR:
            return a ^ b
        if op == operations.EQ:
            return a == b
        if op == operations.GE:
            return cython.cast(cython.longlong, a) >= cython.cast(cython.longlong, b)
        if op == operations.GT:
            return cython.cast(cython.longlong, a) > cython.cast(cython.longlong, b)
        if op == operations.LE:
            return cython.cast(cython.longlong, a) <= cython.cast(cython.longlong, b)
        if op == operations.LT:
            return cython.cast(cython.longlong, a) < cython.cast(cython.longlong, b)
        if op == operations.NE:
            return a != b
        self.memory.fault = StopReason.BAD_RULE
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def _read_fixed(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, size: cython.Py_ssize_t, signed: cython.bint
    ) -> cython.Py_ssize_t:
        """Read an operand of ``size`` bytes; where it ends, -1 past the end."""
        value: cython.ulonglong = 0
        i: cython.Py_ssize_t
        if size > end - at:
            return -1
        for i in range(size):
            value |= cython.cast(cython.ulonglong, self.rules.expression_bytes[at + i]) << (8 * i)
        if signed and size < 8 and value >> (8 * size - 1) & 1:
            value |= ALL_ONES << (8 * size)
        self.operand = value
        return at + size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def _read_leb128(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, signed: cython.bint) -> cython.Py_ssize_t:
        """Read a LEB128 operand; where it ends, -1 past the end."""
        self.operand = leb128(self.rules.expression_bytes, cython.address(at), end, signed)
        return at if at <= end else -1
