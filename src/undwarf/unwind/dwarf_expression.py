# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Registers of a frame, and DWARF expressions over them (DWARF 5, 2.5)."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf import operations
from cython.cimports.undwarf.dwarf.leb128 import leb128
from cython.cimports.undwarf.integers import ALL_ONES
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.unwind.stop_reason import StopReason

from undwarf.unwind.arch import AARCH64
from undwarf.unwind.image_table import Places
from undwarf.unwind.process_memory import Memory

EVALUATION = cython.declare(cython.int, 64)
"""Depth of the expression evaluator's stack."""


@cython.cclass
class Expressions(Memory):
    """The registers of the frame at hand, and what expressions make of them and of memory."""

    regs: Any
    place_of: Any
    evaluation: Any

    def __init__(
        self,
        source: Places,
        spaces: dict[str, memoryview],
        image_count: int,
        limits: Any,
        runtime: bool,
        kernel_image: int,
    ) -> None:
        super().__init__(source, spaces, image_count, limits, runtime, kernel_image)
        self.known = 0
        self.max_steps = limits.expression_steps
        self.address_bits = ALL_ONES
        self.link = -1
        for i in range(64):
            self.place_of[i] = i
        if source.machine is AARCH64:
            from undwarf.unwind.aarch64.registers import LINK, PLACE_OF_DWARF

            self.address_bits = (cython.cast(cython.ulonglong, 1) << 48) - 1
            self.link = LINK
            for i in range(64):
                self.place_of[i] = PLACE_OF_DWARF[i]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def register(self, number: cython.int) -> cython.ulonglong:
        """A register's value; sets ``fault`` if it is not known."""
        if number < 0 or number >= REGISTERS:
            self.fault = StopReason.BAD_RULE
            return 0
        if not self.known >> number & 1:
            self.fault = StopReason.UNKNOWN_REGISTER
            return 0
        return cython.cast(cython.ulonglong, self.regs[number])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def evaluate(self, expression: cython.int, cfa: cython.ulonglong, with_cfa: cython.bint) -> cython.ulonglong:
        """The value of an expression, within limits; sets ``fault`` if it has none."""
        first: cython.Py_ssize_t
        at: cython.Py_ssize_t
        end: cython.Py_ssize_t
        depth: cython.int = 0
        steps: cython.Py_ssize_t = 0
        op: cython.int
        jumps: cython.bint
        if expression < 0 or expression + 1 >= self.rules.expression_offsets.shape[0]:
            self.fault = StopReason.BAD_RULE
            return 0
        first = at = self.rules.expression_offsets[expression]
        end = self.rules.expression_offsets[expression + 1]
        if with_cfa:
            self.evaluation[0] = cfa
            depth = 1
        while at < end:
            steps += 1
            if steps > self.max_steps or depth >= EVALUATION - 2:
                self.fault = StopReason.BAD_RULE
                return 0
            op = self.rules.expression_bytes[at]
            at = self.operands(op, at + 1, end)
            if at < 0:
                self.fault = StopReason.BAD_RULE
                return 0
            jumps = op == operations.SKIP
            if op == operations.BRA and depth > 0:
                depth -= 1
                jumps = self.evaluation[depth] != 0
            elif not jumps:
                depth = self.operate(op, depth, cfa)
            if jumps:
                at += cython.cast(cython.longlong, self.operand)
                if at < first or at > end:
                    self.fault = StopReason.BAD_RULE
            if self.fault:
                return 0
        if depth < 1:
            self.fault = StopReason.BAD_RULE
            return 0
        return cython.cast(cython.ulonglong, self.evaluation[depth - 1])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def operands(self, op: cython.int, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Read an operation's operand, of two the second, and of DW_OP_bregx the register; where they end, or -1."""
        if op == operations.ADDR or op == operations.CONST8U or op == operations.CONST8S:
            return self.fixed(at, end, 8, False)
        if op == operations.CONST1U or op == operations.CONST1S or op == operations.PICK or op == operations.DEREF_SIZE:
            return self.fixed(at, end, 1, op == operations.CONST1S)
        if op == operations.CONST2U or op == operations.CONST2S or op == operations.BRA or op == operations.SKIP:
            return self.fixed(at, end, 2, op != operations.CONST2U)
        if op == operations.CONST4U or op == operations.CONST4S:
            return self.fixed(at, end, 4, op == operations.CONST4S)
        if op == operations.CONSTU or op == operations.PLUS_UCONST:
            return self.leb(at, end, False)
        if operations.BREG0 <= op <= operations.BREG31:
            self.number_of_register = op - operations.BREG0
            return self.leb(at, end, True)
        if op == operations.CONSTS:
            return self.leb(at, end, True)
        if op == operations.BREGX:
            at = self.leb(at, end, False)
            self.number_of_register = cython.cast(cython.int, min(self.operand, 0xFFFF))
            if at >= 0:
                at = self.leb(at, end, True)
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def operate(self, op: cython.int, depth: cython.int, cfa: cython.ulonglong) -> cython.int:
        """Do an operation on the evaluator's stack, in which two places are free; returns its new depth. ``fault`` is
        set where it cannot be done."""
        value: cython.ulonglong
        number: cython.int
        # Those that push.
        if op == operations.ADDR or operations.CONST1U <= op <= operations.CONSTS:
            self.evaluation[depth] = self.operand
            return depth + 1
        if operations.LIT0 <= op <= operations.LIT31:
            self.evaluation[depth] = cython.cast(cython.ulonglong, op - operations.LIT0)
            return depth + 1
        if operations.BREG0 <= op <= operations.BREG31 or op == operations.BREGX:
            number = self.number_of_register
            self.evaluation[depth] = self.register(self.place_of[number] if 0 <= number < 64 else -1) + self.operand
            return depth + 1
        if op == operations.CALL_FRAME_CFA:
            self.evaluation[depth] = cfa
            return depth + 1
        if op == operations.NOP:
            return depth
        if depth < 1:
            self.fault = StopReason.BAD_RULE
            return depth
        # Those of the topmost entry.
        value = self.evaluation[depth - 1]
        if op == operations.DEREF:
            self.evaluation[depth - 1] = self.load(value)
        elif op == operations.DEREF_SIZE:
            if self.operand < 1 or self.operand > 8:
                self.fault = StopReason.BAD_RULE
                return depth
            value = self.load(value)
            if self.operand < 8:
                value &= (cython.cast(cython.ulonglong, 1) << (8 * self.operand)) - 1
            self.evaluation[depth - 1] = value
        elif op == operations.DUP:
            self.evaluation[depth] = value
            return depth + 1
        elif op == operations.DROP:
            return depth - 1
        elif op == operations.PICK:
            if self.operand >= cython.cast(cython.ulonglong, depth):
                self.fault = StopReason.BAD_RULE
                return depth
            self.evaluation[depth] = self.evaluation[depth - 1 - cython.cast(cython.int, self.operand)]
            return depth + 1
        elif op == operations.ABS:
            if cython.cast(cython.longlong, value) < 0:
                self.evaluation[depth - 1] = 0 - value
        elif op == operations.NEG:
            self.evaluation[depth - 1] = 0 - value
        elif op == operations.NOT:
            self.evaluation[depth - 1] = ~value
        elif op == operations.PLUS_UCONST:
            self.evaluation[depth - 1] = value + self.operand
        elif depth < 2:
            self.fault = StopReason.BAD_RULE
        # Those of more.
        elif op == operations.OVER:
            self.evaluation[depth] = self.evaluation[depth - 2]
            return depth + 1
        elif op == operations.SWAP:
            self.evaluation[depth - 1] = self.evaluation[depth - 2]
            self.evaluation[depth - 2] = value
        elif op == operations.ROT:
            if depth < 3:
                self.fault = StopReason.BAD_RULE
                return depth
            self.evaluation[depth - 1] = self.evaluation[depth - 2]
            self.evaluation[depth - 2] = self.evaluation[depth - 3]
            self.evaluation[depth - 3] = value
        else:
            self.evaluation[depth - 2] = self.combined(op, self.evaluation[depth - 2], value)
            return depth - 1
        return depth

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def combined(self, op: cython.int, a: cython.ulonglong, b: cython.ulonglong) -> cython.ulonglong:
        """What an operation makes of two numbers; sets ``fault`` if there is none of that number."""
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
        self.fault = StopReason.BAD_RULE
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def fixed(
        self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, size: cython.Py_ssize_t, signed: cython.bint
    ) -> cython.Py_ssize_t:
        """Read a fixed-size operand; returns where it ends, or -1."""
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
    def leb(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t, signed: cython.bint) -> cython.Py_ssize_t:
        """Read a LEB128 operand; returns where it ends, or -1."""
        self.operand = leb128(self.rules.expression_bytes, cython.address(at), end, signed)
        return at if at <= end else -1
