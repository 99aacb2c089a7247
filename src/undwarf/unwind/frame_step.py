# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""One step from a frame to its caller by an unwind rule."""

from typing import Any

import cython
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers_x86_64 import CALLEE_SAVED, RBP, REGISTERS, RIP, RSP
from cython.cimports.undwarf.tables.rule import RulePointer, SavedPointer, rule_at
from cython.cimports.undwarf.tables.words import ENTRIES
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import RULE_UNMAPPED

from undwarf.unwind.dwarf_expression import ExpressionEvaluator
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache

STACK_LIMIT = cython.declare(cython.ulonglong, 8 << 20)
"""Bytes above a dump's start from which on memory belongs to another stack: the usual limit of a stack."""
BREG = cython.declare(cython.int, 0x70)
"""DW_OP_breg0, which the operations of the other registers follow."""
SAVED_BY_STG_RUN = cython.declare(cython.ulonglong, 56)
"""Bytes of saved registers, with the return address, at the end of the frame between Haskell code and its scheduler."""


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(-1)
def on_other_stack(reason: cython.int, other_stack: cython.bint) -> cython.int:
    """The stop reason (0: none) where the caller is on another stack, which may not be recorded."""
    return (
        StopReason.OTHER_STACK
        if other_stack and reason in (StopReason.TRUNCATED, StopReason.UNREADABLE_MEMORY, StopReason.UNKNOWN_REGISTER)
        else reason
    )


@cython.final
@cython.cclass
class FrameStepper:
    """Replaces the registers of a frame by those of its caller."""

    caller: Any

    def __init__(
        self, rules: RuleCache, memory: ProcessMemory, registers: RegisterFile, evaluator: ExpressionEvaluator
    ) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.evaluator = evaluator
        self.is_innermost = False
        self.missing_scheduler = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def step(self, number: cython.uint) -> cython.int:
        """Go from a frame to its caller by the rule with this number; 0 or a stop reason."""
        rule: RulePointer = rule_at(self.rules.words, number)
        kind: cython.int = rule.cfa_kind
        flags: cython.int = rule.flags
        cfa: cython.ulonglong
        base: cython.int = rule.cfa_register
        i: cython.int
        from_memory: cython.bint = True
        sp: cython.ulonglong = self.registers.values[RSP]
        other_stack: cython.bint
        reason: cython.int
        self.memory.fault = 0
        if flags & kinds.FLAG_OUTERMOST:
            return StopReason.ROOT
        if kind < kinds.CFA_REGISTER or kind > kinds.CFA_EXPRESSION:
            return StopReason.NO_RULE
        cfa = self._call_frame_address(rule)
        other_stack = kind == kinds.CFA_EXPRESSION and rule.source == Provenance.GOPCLNTAB
        if self.memory.fault:
            if kind == kinds.CFA_EXPRESSION and self.memory.fault in (
                StopReason.TRUNCATED,
                StopReason.UNREADABLE_MEMORY,
            ):
                base = self.rules.expression_bytes[self.rules.expression_offsets[rule.cfa_extra]] - BREG
            # What is read relative to the stack pointer is on this stack (SHA-512 of libcrypto).
            return self._reason_at_stack_switch(
                rule,
                self.registers.values[RBP] if base == RBP else sp,
                on_other_stack(self.memory.fault, other_stack),
            )
        # Only the stack and frame pointer bound the frame; other registers may point to another stack.
        if (
            cfa < sp
            and kind == kinds.CFA_REGISTER
            and not flags & kinds.FLAG_SIGNAL
            and base in (RSP, RBP)
            and not self.preserves_c_stack(rule)
        ):
            return StopReason.BAD_CFA
        if not 1 <= rule.saved_count <= REGISTERS or rule.return_column != RIP or rule.saved[0].number != RIP:
            return StopReason.BAD_RULE
        if flags & kinds.FLAG_INTERRUPTED and self._is_user_mode(cfa + rule.saved[0].value):
            return StopReason.ROOT
        for i in range(rule.saved_count):
            if rule.saved[i].kind >= kinds.REGISTER:
                from_memory = False
        if not from_memory or kind != kinds.CFA_REGISTER or not CALLEE_SAVED >> base & 1 or cfa < sp:
            self.memory.unshareable = True
        if (
            kind == kinds.CFA_REGISTER
            and self.is_innermost
            and self.registers.link < 0
            and base not in (RSP, RBP)
            and not self.memory.low <= cfa < self.memory.high
        ):
            # Code that has just switched stacks has the previous stack pointer in a register; the dump is of the new
            # stack.
            other_stack = True
        if flags & kinds.FLAG_HASKELL:
            return self._step_to_scheduler(rule, cfa)
        reason = self._restore_from_memory(rule, cfa) if from_memory else self._restore_with_copies(rule, cfa)
        return self._reason_at_stack_switch(rule, cfa, on_other_stack(reason, other_stack)) if reason else 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _reason_at_stack_switch(self, rule: RulePointer, frame: cython.ulonglong, reason: cython.int) -> cython.int:
        """Why a rule gives no caller, whose frame would be at ``frame``; ``reason`` is why it cannot be read.

        A function that switches stacks describes by an expression where the previous one is (SBCL's `call_into_lisp_`,
        by the frame pointer): if that is far away, the recorded stack has its root here.
        """
        if (
            reason in (StopReason.TRUNCATED, StopReason.UNREADABLE_MEMORY)
            and rule.cfa_kind in (kinds.CFA_DEREF, kinds.CFA_EXPRESSION)
            and rule.source <= Provenance.DEBUG_FRAME
            and self.registers.link < 0
            and not frame & 15
            and frame - self.memory.low >= STACK_LIMIT
        ):
            return StopReason.ENTERED_STACK
        return reason

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def preserves_c_stack(self, rule: RulePointer) -> cython.bint:
        """Whether the frame of a rule is on another stack than that of C, whose stack pointer it does not change:
        Haskell code with debugging information, whose rules have the caller's stack pointer from this frame's."""
        i: cython.int
        if rule.cfa_register != RBP or rule.cfa_kind != kinds.CFA_REGISTER:
            return False
        for i in range(min(rule.saved_count, ENTRIES)):
            if rule.saved[i].number == RSP:
                return rule.saved[i].kind in (kinds.REGISTER, kinds.IS_EXPRESSION)
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def restore_c_stack(self, rule: RulePointer) -> cython.bint:
        """Take the stack pointer from before what a frame that preserves the C stack has pushed on it; False if that is
        not known."""
        i: cython.int
        sp: cython.ulonglong
        for i in range(min(rule.saved_count, ENTRIES)):
            if rule.saved[i].number == RSP:
                self.memory.fault = 0
                sp = self._saved_value(cython.address(rule.saved[i]), 0)
                if not self.memory.fault:
                    self.registers.values[RSP] = sp
                    return True
        self.memory.fault = 0
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _step_to_scheduler(self, rule: RulePointer, cfa: cython.ulonglong) -> cython.int:
        """Go from Haskell code to the scheduler that runs it, over 16,384 bytes of stack that C code rarely touches:
        dumps end at the first page that is not in memory, whatever their size."""
        if self.memory.live.continuation is not None and not (
            self.memory.low <= cfa - SAVED_BY_STG_RUN < self.memory.high - SAVED_BY_STG_RUN
        ):
            self.memory.live.read_scheduler(cfa - SAVED_BY_STG_RUN, cfa)
        if self._is_scheduler(cfa):
            return self._restore_from_memory(rule, cfa)
        if not self.memory.fault and not self.memory.live.unproven:
            return StopReason.NO_RULE
        self.memory.fault = 0
        self.missing_scheduler = cfa
        return StopReason.HASKELL_STACK

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _is_scheduler(self, cfa: cython.ulonglong) -> cython.bint:
        """Whether the return address below ``cfa`` is where Haskell's scheduler runs Haskell code; sets ``fault`` where
        that cannot be read."""
        return_address: cython.ulonglong
        self.memory.fault = 0
        return_address = self.memory.load(cfa - 8) & self.registers.address_bits
        if self.memory.fault:
            return False
        self.rules.find(return_address - 1, return_address)
        return self.rules.found_rule != RULE_UNMAPPED and self.rules.calls_haskell()

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def _call_frame_address(self, rule: RulePointer) -> cython.ulonglong:
        """The call frame address by a rule; sets ``fault`` if there is none."""
        kind: cython.int = rule.cfa_kind
        cfa: cython.ulonglong
        if kind == kinds.CFA_EXPRESSION:
            return self.evaluator.evaluate(rule.cfa_extra, 0, False)
        cfa = self.evaluator.register(RSP if kind == kinds.CFA_PLT else rule.cfa_register)
        cfa += cython.cast(cython.ulonglong, cython.cast(cython.longlong, rule.cfa_offset))
        if kind == kinds.CFA_DEREF and not self.memory.fault:
            cfa = self.memory.load(cfa) + cython.cast(cython.ulonglong, cython.cast(cython.longlong, rule.cfa_extra))
        elif kind == kinds.CFA_PLT and (self.registers.values[RIP] & 15) >= cython.cast(
            cython.ulonglong, rule.cfa_extra
        ):
            cfa += 8
        return cfa

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _is_user_mode(self, slot: cython.ulonglong) -> cython.bint:
        """Whether the registers that an interruption has saved, the return address at ``slot``, are those of user mode,
        by their code segment: the kernel was entered here."""
        segment: cython.ulonglong = self.memory.load(slot + 8)
        user: cython.bint = not self.memory.fault and segment & 3 != 0
        self.memory.fault = 0
        return user

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def _restore_from_memory(self, rule: RulePointer, cfa: cython.ulonglong) -> cython.int:
        """Restore the caller's registers by a rule that takes none from another register, as most do: they can be
        replaced one by one. 0 or a stop reason."""
        number: cython.int
        kind: cython.int
        address: cython.ulonglong
        i: cython.int
        restores_sp: cython.bint = False
        values: cython.p_ulonglong = self.registers.values
        sp: cython.ulonglong = values[RSP]
        for i in range(rule.saved_count):
            number = rule.saved[i].number
            if number < 0 or number >= REGISTERS:
                continue
            kind = rule.saved[i].kind
            address = cfa + cython.cast(cython.ulonglong, cython.cast(cython.longlong, rule.saved[i].value))
            if number == RSP:
                restores_sp = True
            if kind == kinds.AT_CFA:
                if address < sp:
                    if number != RIP:
                        # Below the stack pointer: an epilogue has restored the register already, which compilers do
                        # not describe.
                        continue
                    self.memory.unshareable = True
                values[number] = self.memory.load(address)
                if self.memory.fault:
                    if number == RIP:
                        return self.memory.fault
                    self.memory.fault = 0
                    self.registers.known &= ~(cython.cast(cython.uint, 1) << number)
                else:
                    self.registers.known |= cython.cast(cython.uint, 1) << number
            elif kind == kinds.IS_CFA:
                values[number] = address
                self.registers.known |= cython.cast(cython.uint, 1) << number
            else:
                self.registers.known &= ~(cython.cast(cython.uint, 1) << number)
                if number == RIP:
                    return StopReason.ROOT
        if not restores_sp:
            values[RSP] = cfa
            self.registers.known |= cython.cast(cython.uint, 1) << RSP
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _restore_with_copies(self, rule: RulePointer, cfa: cython.ulonglong) -> cython.int:
        """Restore the caller's registers by a rule that takes some from registers of this frame, which must all be read
        before any is replaced. 0 or a stop reason."""
        number: cython.int
        i: cython.int
        value: cython.ulonglong
        known: cython.uint = self.registers.known | cython.cast(cython.uint, 1) << RSP
        for i in range(REGISTERS):
            self.caller[i] = self.registers.values[i]
        self.caller[RSP] = cfa
        for i in range(rule.saved_count):
            number = rule.saved[i].number
            if number < 0 or number >= REGISTERS:
                continue
            if (
                number == RIP
                and not self.is_innermost
                and rule.saved[i].kind == kinds.REGISTER
                and rule.saved[i].value == self.registers.link
            ):
                # A frame that has called another has its own return address elsewhere.
                return StopReason.NO_RULE
            value = self._saved_value(cython.address(rule.saved[i]), cfa)
            if not self.memory.fault:
                self.caller[number] = value
                known |= cython.cast(cython.uint, 1) << number
                continue
            if number == RIP:
                return self.memory.fault
            self.memory.fault = 0
            known &= ~(cython.cast(cython.uint, 1) << number)
        for i in range(REGISTERS):
            self.registers.values[i] = self.caller[i]
        self.registers.known = known
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _saved_value(self, saved: SavedPointer, cfa: cython.ulonglong) -> cython.ulonglong:
        """The caller's value of a register; sets ``fault`` if it is not known, to ROOT if the rule states that."""
        kind: cython.int = saved.kind
        offset: cython.ulonglong = cython.cast(cython.ulonglong, cython.cast(cython.longlong, saved.value))
        value: cython.ulonglong
        if kind == kinds.AT_CFA:
            return self.memory.load(cfa + offset)
        if kind == kinds.IS_CFA:
            return cfa + offset
        if kind == kinds.REGISTER:
            return self.evaluator.register(saved.value)
        if kind == kinds.AT_REGISTER:
            value = self.evaluator.register(saved.base) + offset
        elif kind in (kinds.EXPRESSION, kinds.IS_EXPRESSION):
            value = self.evaluator.evaluate(saved.value, cfa, True)
        else:
            self.memory.fault = StopReason.ROOT
            return 0
        if self.memory.fault or kind == kinds.IS_EXPRESSION:
            return value
        return self.memory.load(value)
