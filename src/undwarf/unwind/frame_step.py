# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Steps from a frame to its caller: by a rule, by the frame pointer, and where a call led to no code."""

from typing import Any

import cython
from cython.cimports.undwarf.integers import NOTHING
from cython.cimports.undwarf.perfdata.abi import LARGEST_DUMP
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RBP, RCX, RIP, RSP
from cython.cimports.undwarf.tables.registers import X86_64_CALLEE_SAVED as CALLEE_SAVED
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.tables.rule import RulePointer, SavedPointer, rule_at
from cython.cimports.undwarf.tables.rule_format import ENTRIES
from cython.cimports.undwarf.unwind.aarch64.registers import NUMBER_PLACE, RESULT_PLACE
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.rule_numbers import RULE_LIMIT, RULE_NO, RULE_UNMAPPED
from cython.cimports.undwarf.unwind.stop_reason import StopReason

from undwarf.column import zeros
from undwarf.unwind.dwarf_expression import Expressions
from undwarf.unwind.image_table import Places

UCONTEXT_AARCH64 = cython.declare(cython.ulonglong, 128)
"""Where `struct ucontext` begins in a signal's frame: behind `siginfo` (arch/arm64/kernel/signal.c). On x86-64 the
stack pointer is at it when a handler has returned."""
STACK_REACH = cython.declare(cython.ulonglong, 8 << 20)
"""Bytes from a dump's start from which on memory is another stack's: the usual limit of a stack."""
BREG = cython.declare(cython.int, 0x70)
"""DW_OP_breg0; that of the next register is one more."""
ENTRY_REACH = cython.declare(cython.ulonglong, 1024)
"""Bytes above the stack pointer in which the entry of code made at run time is looked for: LuaJIT's traces keep up to
that many of their own."""
MOST_LEFT_OVER = cython.declare(cython.int, 4)
NEAR_CODE = cython.declare(cython.ulonglong, 1 << 16)
"""Return addresses, and within how many bytes of the code, that make a frame pointer one of an outer frame."""
FIRST_ADDRESS = cython.declare(cython.ulonglong, 4096)
"""Below it nothing is mapped, and most small numbers are."""
UC_STACK = cython.declare(cython.ulonglong, 16)
"""Where its `uc_stack` begins: the alternate stack's address, flags, and bytes, 8 bytes each."""
UC_SEGMENTS = cython.declare(cython.ulonglong, 184)
"""On x86-64, where it has the interrupted code's cs, gs, fs and ss, 2 bytes each (asm/sigcontext.h)."""
USER_CS = cython.declare(cython.ulonglong, 0x33)
USER_SS = cython.declare(cython.ulonglong, 0x2B)
"""Segments of 64-bit user mode on Linux (asm/segment.h)."""
SAVED_BY_STG_RUN = cython.declare(cython.ulonglong, 56)
"""Bytes of registers, the return address among them, at the end of the frame between Haskell code and the scheduler."""
CLONE = cython.declare(cython.int, 56)
EXECVE = cython.declare(cython.int, 59)
EXECVEAT = cython.declare(cython.int, 322)
CLONE3 = cython.declare(cython.int, 435)
"""System calls of x86-64 by number (arch/x86/entry/syscalls/syscall_64.tbl)."""
CLONE_AARCH64 = cython.declare(cython.ulonglong, 220)
EXECVE_AARCH64 = cython.declare(cython.ulonglong, 221)
EXECVEAT_AARCH64 = cython.declare(cython.ulonglong, 281)
SIGRETURN_AARCH64 = cython.declare(cython.ulonglong, 139)
"""System calls of AArch64 by number (include/uapi/asm-generic/unistd.h); that of clone3 is everywhere the same."""
NEAR_SYSTEM_CALL = cython.declare(cython.ulonglong, 8)
"""Bytes of code behind a system call that test its result at most: `test`, two short jumps."""


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(-1)
def beyond(reason: cython.int, elsewhere: cython.bint) -> cython.int:
    """A stop reason (0: none) as it is where the caller is ``elsewhere``, on a stack that may not be recorded."""
    return (
        StopReason.OTHER_STACK
        if elsewhere and reason in (StopReason.TRUNCATED, StopReason.UNREADABLE_MEMORY, StopReason.UNKNOWN_REGISTER)
        else reason
    )


@cython.cclass
class Steps(Expressions):
    """The frame at hand becomes its caller: ``regs`` and ``known`` are then the caller's."""

    caller: Any

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
        self.innermost = False
        self.left_signal_stack = False
        self.in_kernel = False
        self.scheduler_at = 0
        self.frame_pointers = source.frame_pointers
        self.followed = False
        self.entered = False
        self.see_entries([])

    def see_entries(self, entries: list[tuple[int, int]]) -> None:
        """Take the functions that enter code without rules by indirect calls: the frame of the call, and how many bytes
        above the stack pointer its return address always is."""
        self.entry_count = len(entries)
        self.entry_frames, self.entry_distances = zeros("I", len(entries)), zeros("Q", len(entries))
        for i, (frame, distance) in enumerate(entries):
            self.entry_frames[i], self.entry_distances[i] = frame, distance

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def step(self, number: cython.uint) -> cython.int:
        """Go from a frame to its caller by the rule of this number; returns 0 or a stop reason."""
        rule: RulePointer = rule_at(self.rules.words, number)
        kind: cython.int = rule.cfa_kind
        flags: cython.int = rule.flags
        cfa: cython.ulonglong
        base: cython.int = rule.cfa_register
        i: cython.int
        simple: cython.bint = True
        sp: cython.ulonglong = self.regs[RSP]
        elsewhere: cython.bint
        reason: cython.int
        self.fault = 0
        if flags & kinds.FLAG_OUTERMOST:
            return StopReason.ROOT
        if kind < kinds.CFA_REGISTER or kind > kinds.CFA_EXPRESSION:
            return StopReason.NO_RULE
        cfa = self.call_frame_address(rule)
        elsewhere = kind == kinds.CFA_EXPRESSION and rule.source == Provenance.GOPCLNTAB
        if self.fault:
            if kind == kinds.CFA_EXPRESSION and self.fault in (StopReason.TRUNCATED, StopReason.UNREADABLE_MEMORY):
                base = self.rules.expression_bytes[self.rules.expression_offsets[rule.cfa_extra]] - BREG
            # What is read by the stack pointer is on this stack, in front of the dump (SHA-512 of libcrypto).
            return self.at_other_stack(rule, self.regs[RBP] if base == RBP else sp, beyond(self.fault, elsewhere))
        # Only the stack and frame pointer bound the frame; other registers may lead to another stack.
        if (
            cfa < sp
            and kind == kinds.CFA_REGISTER
            and not flags & kinds.FLAG_SIGNAL
            and base in (RSP, RBP)
            and not self.keeps_stack(rule)
        ):
            return StopReason.BAD_CFA
        if not 1 <= rule.saved_count <= REGISTERS or rule.return_column != RIP or rule.saved[0].number != RIP:
            return StopReason.BAD_RULE
        if flags & kinds.FLAG_INTERRUPTED and self.entered_kernel(cfa + rule.saved[0].value):
            return StopReason.ROOT
        for i in range(rule.saved_count):
            if rule.saved[i].kind >= kinds.REGISTER:
                simple = False
        if not simple or kind != kinds.CFA_REGISTER or not CALLEE_SAVED >> base & 1 or cfa < sp:
            self.odd = True
        if (
            kind == kinds.CFA_REGISTER
            and self.innermost
            and self.link < 0
            and base not in (RSP, RBP)
            and not self.low <= cfa < self.high
        ):
            # Code that changes to another stack has the old one in a register still; the dump is of the new one.
            elsewhere = True
        if flags & kinds.FLAG_HASKELL:
            return self.to_scheduler(rule, cfa)
        reason = self.restore_saved(rule, cfa) if simple else self.restore_all(rule, cfa)
        return self.at_other_stack(rule, cfa, beyond(reason, elsewhere)) if reason else 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def at_other_stack(self, rule: RulePointer, place: cython.ulonglong, reason: cython.int) -> cython.int:
        """Why a rule gives no caller, whose frame is at ``place``; ``reason`` (0: none) is what was met.

        Where a program changes stacks it describes by an expression where the one before is (SBCL's `call_into_lisp_`,
        by the frame pointer): the stack that was recorded has its root here.
        """
        if (
            reason in (StopReason.TRUNCATED, StopReason.UNREADABLE_MEMORY)
            and rule.cfa_kind in (kinds.CFA_DEREF, kinds.CFA_EXPRESSION)
            and rule.source <= Provenance.DEBUG_FRAME
            and self.link < 0
            and not place & 15
            and place - self.low >= STACK_REACH
        ):
            return StopReason.ENTERED_STACK
        return reason

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def keeps_stack(self, rule: RulePointer) -> cython.bint:
        """Whether the frame of a rule is on a stack of its own and leaves that of C as it is: Haskell code with
        debugging information, whose rules make the caller's stack pointer of this frame's."""
        i: cython.int
        if rule.cfa_register != RBP or rule.cfa_kind != kinds.CFA_REGISTER:
            return False
        for i in range(min(rule.saved_count, ENTRIES)):
            if rule.saved[i].number == RSP:
                return rule.saved[i].kind in (kinds.REGISTER, kinds.IS_EXPRESSION)
        return False

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def leave_haskell(self, rule: RulePointer) -> cython.bint:
        """Take back what a frame that keeps the stack of C has on it; False if that is not known."""
        i: cython.int
        sp: cython.ulonglong
        for i in range(min(rule.saved_count, ENTRIES)):
            if rule.saved[i].number == RSP:
                self.fault = 0
                sp = self.restored(cython.address(rule.saved[i]), 0)
                if not self.fault:
                    self.regs[RSP] = sp
                    return True
        self.fault = 0
        return False

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def to_scheduler(self, rule: RulePointer, cfa: cython.ulonglong) -> cython.int:
        """Go from Haskell code to the scheduler that runs it, over 16,384 bytes of stack that C rarely touches: dumps
        end at the first page that is not there, however large they are asked to be."""
        if self.deep is not None and not self.low <= cfa - SAVED_BY_STG_RUN < self.high - SAVED_BY_STG_RUN:
            self.read_scheduler(cfa - SAVED_BY_STG_RUN, cfa)
        if self.is_scheduler(cfa):
            return self.restore_saved(rule, cfa)
        if not self.fault and not self.trial:
            return StopReason.NO_RULE
        self.fault = 0
        self.scheduler_at = cfa
        return StopReason.HASKELL_STACK

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def is_scheduler(self, cfa: cython.ulonglong) -> cython.bint:
        """Whether below ``cfa`` lies where the scheduler of Haskell runs Haskell code; sets ``fault`` where that cannot
        be read."""
        back: cython.ulonglong
        self.fault = 0
        back = self.load(cfa - 8) & self.address_bits
        if self.fault:
            return False
        self.rules.find(back - 1, back)
        return self.rules.found_rule != RULE_UNMAPPED and self.rules.calls_haskell()

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def call_frame_address(self, rule: RulePointer) -> cython.ulonglong:
        """The call frame address by a rule; sets ``fault`` if there is none."""
        kind: cython.int = rule.cfa_kind
        cfa: cython.ulonglong
        if kind == kinds.CFA_EXPRESSION:
            return self.evaluate(rule.cfa_extra, 0, False)
        cfa = self.register(RSP if kind == kinds.CFA_PLT else rule.cfa_register)
        cfa += cython.cast(cython.ulonglong, cython.cast(cython.longlong, rule.cfa_offset))
        if kind == kinds.CFA_DEREF and not self.fault:
            cfa = self.load(cfa) + cython.cast(cython.ulonglong, cython.cast(cython.longlong, rule.cfa_extra))
        elif kind == kinds.CFA_PLT and (self.regs[RIP] & 15) >= cython.cast(cython.ulonglong, rule.cfa_extra):
            cfa += 8
        return cfa

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def entered_kernel(self, address: cython.ulonglong) -> cython.bint:
        """Whether the registers of an interruption, whose return address is saved at ``address``, are those of user
        mode, as their code segment says: this is where the kernel was entered."""
        segment: cython.ulonglong = self.load(address + 8)
        user: cython.bint = not self.fault and segment & 3 != 0
        self.fault = 0
        return user

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def restore_saved(self, rule: RulePointer, cfa: cython.ulonglong) -> cython.int:
        """Take the caller's registers where the rule only says where they were saved, as most do: their order does not
        matter. Returns 0 or a stop reason."""
        number: cython.int
        how: cython.int
        address: cython.ulonglong
        i: cython.int
        stack_set: cython.bint = False
        sp: cython.ulonglong = self.regs[RSP]
        for i in range(rule.saved_count):
            number = rule.saved[i].number
            if number < 0 or number >= REGISTERS:
                continue
            how = rule.saved[i].kind
            address = cfa + cython.cast(cython.ulonglong, cython.cast(cython.longlong, rule.saved[i].value))
            if number == RSP:
                stack_set = True
            if how == kinds.AT_CFA:
                if address < sp:
                    if number != RIP:
                        # Below the stack pointer: an epilogue has taken the register back already, and compilers
                        # do not say so again.
                        continue
                    self.odd = True
                self.regs[number] = self.load(address)
                if self.fault:
                    if number == RIP:
                        return self.fault
                    self.fault = 0
                    self.known &= ~(cython.cast(cython.uint, 1) << number)
                else:
                    self.known |= cython.cast(cython.uint, 1) << number
            elif how == kinds.IS_CFA:
                self.regs[number] = address
                self.known |= cython.cast(cython.uint, 1) << number
            else:
                self.known &= ~(cython.cast(cython.uint, 1) << number)
                if number == RIP:
                    return StopReason.ROOT
        if not stack_set:
            self.regs[RSP] = cfa
            self.known |= cython.cast(cython.uint, 1) << RSP
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def restore_all(self, rule: RulePointer, cfa: cython.ulonglong) -> cython.int:
        """Take the caller's registers where the rule makes some of registers of this frame, which are read while those
        of the caller are written. Returns 0 or a stop reason."""
        number: cython.int
        i: cython.int
        value: cython.ulonglong
        known: cython.uint = self.known | cython.cast(cython.uint, 1) << RSP
        for i in range(REGISTERS):
            self.caller[i] = self.regs[i]
        self.caller[RSP] = cfa
        for i in range(rule.saved_count):
            number = rule.saved[i].number
            if number < 0 or number >= REGISTERS:
                continue
            if (
                number == RIP
                and not self.innermost
                and rule.saved[i].kind == kinds.REGISTER
                and rule.saved[i].value == self.link
            ):
                # A frame that called another has its own return address elsewhere.
                return StopReason.NO_RULE
            value = self.restored(cython.address(rule.saved[i]), cfa)
            if not self.fault:
                self.caller[number] = value
                known |= cython.cast(cython.uint, 1) << number
                continue
            if number == RIP:
                return self.fault
            self.fault = 0
            known &= ~(cython.cast(cython.uint, 1) << number)
        for i in range(REGISTERS):
            self.regs[i] = self.caller[i]
        self.known = known
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def restored(self, saved: SavedPointer, cfa: cython.ulonglong) -> cython.ulonglong:
        """The caller's value of a register; sets ``fault`` if it is not known."""
        how: cython.int = saved.kind
        amount: cython.ulonglong = cython.cast(cython.ulonglong, cython.cast(cython.longlong, saved.value))
        value: cython.ulonglong
        if how == kinds.AT_CFA:
            return self.load(cfa + amount)
        if how == kinds.IS_CFA:
            return cfa + amount
        if how == kinds.REGISTER:
            return self.register(saved.value)
        if how == kinds.AT_REGISTER:
            value = self.register(saved.base) + amount
        elif how in (kinds.EXPRESSION, kinds.IS_EXPRESSION):
            value = self.evaluate(saved.value, cfa, True)
        else:
            self.fault = StopReason.ROOT
            return 0
        if self.fault or how == kinds.IS_EXPRESSION:
            return value
        return self.load(value)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def step_without_rule(self, depth: cython.Py_ssize_t) -> cython.int:
        """Go from frame number ``depth``, the one found last, to its caller; returns 0 or a stop reason."""
        image: cython.uint = self.rules.found_image
        frame: cython.uint = self.rules.found_frame
        reason: cython.int
        changes: cython.bint
        self.entered = False
        if image != NOTHING and self.rules.at_entry(image, self.rules.stacks.frame_address[self.rules.found_frame]):
            # A program's or the loader's first instructions have no caller, and often no rule that says so.
            return StopReason.ROOT
        reason = self.step_by_frame_pointer(depth)
        if reason == StopReason.NO_RULE and image != NOTHING and self.link < 0 and self.frame_pointers:
            reason = self.step_to_entry(image, RULE_NO)
            if reason == StopReason.NO_RULE and depth > 1:
                with cython.gil:
                    changes = self.rules.source.changes_stack(image, self.rules.stacks.frame_address[frame] + 1)
                if changes:
                    return StopReason.OTHER_STACK
        return reason

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def step_to_entry(self, image: cython.uint, same: cython.uint) -> cython.int:
        """Go from code that was made at run time, which keeps no frame pointers, to the function with rules that
        entered it; 0 or a stop reason.

        Interpreters have their own stack for what they run, and one frame of the machine's stack for all of it. Where a
        direct call enters, that is the frame of the called function, which jumps there: its first instruction has a
        frame already, and code may have put 16 bytes of its own below, or a multiple (LuaJIT). Where an indirect call
        enters, :mod:`undwarf.unwind.jit_entries` has found how far above the stack pointer its return address always
        is.

        With the number ``same`` of the rule of the code at hand, which is not right there, only a call is taken whose
        function begins with that rule: code that has more on the stack than it states (LuaJIT, where a trace is left).
        """
        sp: cython.ulonglong = self.regs[RSP]
        at: cython.ulonglong = sp
        end: cython.ulonglong = min(self.high, sp + ENTRY_REACH)
        frame: cython.uint
        target: cython.ulonglong
        rule: cython.longlong
        words: RulePointer
        size: cython.ulonglong
        made: cython.bint = same < RULE_LIMIT
        i: cython.Py_ssize_t
        if not made:
            with cython.gil:
                made = self.rules.source.is_made(image)
        if not made or sp < self.low or sp & 7:
            return StopReason.NO_RULE
        while True:
            at = self.next_entry(at, end)
            if at >= end:
                return StopReason.NO_RULE
            frame = self.rules.found_frame
            with cython.gil:
                target = self.rules.source.call_target(
                    self.rules.found_image, self.rules.stacks.frame_address[frame] + 1
                )
            if target == 0 and same == RULE_NO:
                for i in range(self.entry_count):
                    if self.entry_frames[i] == frame and self.entry_distances[i] == at - sp:
                        self.regs[RIP] = self.load(at)
                        self.regs[RSP] = at + 8
                        self.known = 1 << RSP | 1 << RIP
                        self.entered = True
                        return 0
            elif target:
                rule = self.rules.rule(self.rules.found_image, target)
                if rule >= RULE_LIMIT or same not in (RULE_NO, rule):
                    at += 8
                    continue
                words = rule_at(self.rules.words, cython.cast(cython.uint, rule))
                if words.cfa_kind == kinds.CFA_REGISTER and words.cfa_register == RSP:
                    size = cython.cast(cython.ulonglong, words.cfa_offset) - 8
                    if 0 < size <= at - sp and (same == rule or (at - sp - size) & 15 == 0):
                        self.regs[RSP] = at - size
                        self.innermost = False
                        self.entered = True
                        return self.step(cython.cast(cython.uint, rule))
            at += 8

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=True)
    def next_entry(self, at: cython.ulonglong, end: cython.ulonglong) -> cython.ulonglong:
        """Where from ``at`` on the next return address is in the dump that lies behind a call in a function with rules,
        which is found then; ``end`` without one."""
        back: cython.ulonglong
        entry: cython.Py_ssize_t
        while at + 8 <= end:
            back = self.load(at)
            if back >= FIRST_ADDRESS:
                entry = self.rules.mapping(self.rules.space, back - 1)
                if entry >= 0 and self.rules.flags[entry]:
                    self.rules.find(back - 1, back)
                    if self.rules.found_rule < RULE_LIMIT and self.rules.call_proof() == 1:
                        return at
            at += 8
        return end

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def step_by_frame_pointer(self, depth: cython.Py_ssize_t) -> cython.int:
        """Go to the caller by the frame pointer, if all that can be checked speaks for it; 0 or a stop reason.

        The pointer must lie in known memory above the stack pointer, and the return address in executable code behind a
        call instruction; where that code cannot be read, the saved pointer must lie above this one.
        """
        pointer: cython.ulonglong = self.regs[RBP]
        upper: cython.ulonglong
        back: cython.ulonglong
        proof: cython.int
        if not self.frame_pointers or not self.known >> RBP & 1:
            return StopReason.NO_RULE
        if pointer == 0:
            # The System V ABI marks the outermost frame by a frame pointer of zero; where code was interrupted, a
            # zero may be any number.
            return StopReason.ROOT if depth > 1 else StopReason.NO_RULE
        if pointer & 7 or pointer < self.regs[RSP]:
            return StopReason.NO_RULE
        if not self.live_whole and (pointer >= self.high or self.high - pointer < 16):
            # A chain of frame pointers that was right so far goes on where the dump ends.
            return StopReason.TRUNCATED if self.followed and pointer - self.low < STACK_REACH else StopReason.NO_RULE
        self.fault = 0
        upper = self.load(pointer)
        back = self.load(pointer + 8) & self.address_bits
        if self.fault or back == 0:
            self.fault = 0
            return StopReason.NO_RULE
        self.rules.find(back - 1, back)
        if self.rules.found_rule == RULE_UNMAPPED:
            return StopReason.NO_RULE
        proof = self.rules.call_proof()
        if proof == 2 and upper == 0 and self.followed:
            # The outermost frame, by its frame pointer, returns to where no call is: a runtime put that address there,
            # for when the first function of one of its own processes returns (Erlang).
            return StopReason.FIBER_ROOT
        # Where code cannot be read, an unbroken chain of frame pointers has to speak for itself.
        if proof == 2 or (proof == 3 and ((upper and upper <= pointer) or self.passes_frames(pointer))):
            return StopReason.NO_RULE
        self.followed = True
        self.regs[RSP] = pointer + 16
        self.regs[RBP] = upper
        self.regs[RIP] = back
        # Nothing says what the callee did with the other callee-saved registers.
        self.known = 1 << RSP | 1 << RBP | 1 << RIP
        if self.link >= 0:
            # The frame record may lie anywhere in the frame.
            self.known = 1 << RBP | 1 << RIP
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def passes_frames(self, pointer: cython.ulonglong) -> cython.bint:
        """Whether the stack below a frame pointer has frames of others than the code at hand, which was made at run
        time and whose bytes are not known: return addresses into code near it that no saved frame pointer stands
        before. Compilers that keep some frame pointers only (Mono) have 6 to 24 there in recursive code; of code that
        keeps all (Java, V8, Mono on request) what is left over of earlier calls is 2 at most.
        """
        at: cython.ulonglong = self.regs[RSP]
        pc: cython.ulonglong = self.regs[RIP]
        word: cython.ulonglong
        before: cython.ulonglong = 0
        entry: cython.Py_ssize_t
        found: cython.int = 0
        if at < self.low or at & 7 or self.live_whole:
            return False
        while at < pointer and found < MOST_LEFT_OVER:
            word = self.load(at)
            if word - pc + NEAR_CODE < 2 * NEAR_CODE and not at <= before < self.high:
                entry = self.rules.mapping(self.rules.space, word)
                found += entry >= 0 and self.rules.flags[entry] != 0
            before = word
            at += 8
        return found >= MOST_LEFT_OVER

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def follows_call(self, back: cython.ulonglong) -> cython.bint:
        """Whether a return address follows a call instruction in executable code."""
        self.rules.find(back - 1, back)
        return self.rules.found_rule != RULE_UNMAPPED and self.rules.call_proof() == 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def called_from(self) -> cython.bint:
        """Whether a call led to where there is no code, as through a pointer that is NULL; sets ``back``, where it
        would return to.

        Nothing was executed there yet, so the return address is where the call has put it.
        """
        self.fault = 0
        if self.link >= 0:
            self.back = cython.cast(cython.ulonglong, self.regs[self.link]) if self.known >> self.link & 1 else 0
        else:
            self.back = self.load(self.regs[RSP])
        self.back &= self.address_bits
        if self.fault or self.back == 0:
            self.fault = 0
            return False
        self.rules.find(self.back - 1, self.back)
        return self.rules.found_rule != RULE_UNMAPPED and self.rules.call_proof() == 1

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def see_signal_frame(self, sp: cython.ulonglong) -> cython.int:
        """Set ``left_signal_stack`` if the signal's frame at ``sp`` is on the alternate stack that it names itself, and
        the stack pointer it restores, which is in ``regs``, is not (Linux, `__save_altstack`)."""
        at: cython.ulonglong = sp + UC_STACK + (UCONTEXT_AARCH64 if self.link >= 0 else 0)
        start: cython.ulonglong
        size: cython.ulonglong
        self.fault = 0
        start = self.load(at)
        size = self.load(at + 16)
        if not self.fault and sp - start < size and self.regs[RSP] - start > size:
            # One that begins close above is what a larger dump would have.
            self.left_signal_stack = self.regs[RSP] - self.low >= LARGEST_DUMP
        self.fault = 0
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def to_system_call(self, pc: cython.ulonglong) -> cython.bint:
        """Take the system call's rule where the innermost address, the one found last, is behind its instruction and
        has none, or is behind that of a signal's return and so at some other function. Returns whether the address is
        behind a system call, as far as registers say.

        A system call leaves its own return address in rcx, and changes neither the stack nor registers that functions
        give back: what holds at its instruction holds behind it (Intel SDM volume 2, SYSCALL).
        """
        back: cython.ulonglong = self.regs[RCX]
        near: cython.bint = self.known >> RCX & 1 != 0 and pc - back <= NEAR_SYSTEM_CALL
        rule: cython.uint = self.rules.found_rule
        frame: cython.uint = self.rules.found_frame
        image: cython.uint = self.rules.found_image
        known: cython.bint = False
        if rule == RULE_UNMAPPED:
            return False
        if self.link >= 0:
            return self.to_system_call_by_number(pc)
        if not (near or self.in_kernel):
            return False
        if (near and pc == back) or self.at_signal_frame():
            # Only then: what lies in front of a page fault is another function, or padding that nobody needs rules of.
            self.rules.find(pc - 1, pc)
            if (
                self.rules.found_rule < RULE_LIMIT
                and rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL
                and self.rules.found_rule != rule
            ):
                # The instruction itself: the code after it belongs to another function.
                rule = self.rules.found_rule
                self.rules.find(pc - 2, pc - 2)
                self.rules.found_rule = rule
                return False
        if near and rule == RULE_NO:
            self.rules.find(back - 1, back)
            if self.rules.found_rule == RULE_NO:
                # glibc ends what it says of `clone` in front of the instruction, behind that of the call's number.
                self.rules.find(back - 3, back - 2)
            if self.rules.found_rule < RULE_LIMIT and self.rules.found_image == image:
                with cython.gil:
                    known = self.rules.source.after_system_call(
                        image, self.rules.stacks.frame_address[frame] - (pc - back), pc - back
                    )
        if known:
            rule = self.rules.found_rule
        self.rules.found_rule = rule
        self.rules.found_frame = frame
        self.rules.found_image = image
        return near

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def to_system_call_by_number(self, pc: cython.ulonglong) -> cython.bint:
        """As :meth:`to_system_call` on AArch64, where x8 has a system call's number, and nothing the address that it
        returns to."""
        rule: cython.uint = self.rules.found_rule
        frame: cython.uint = self.rules.found_frame
        image: cython.uint = self.rules.found_image
        number: cython.ulonglong = self.regs[NUMBER_PLACE] if self.known >> NUMBER_PLACE & 1 else 0
        if number == SIGRETURN_AARCH64 and self.in_kernel:
            self.rules.find(pc - 1, pc)
            if (
                self.rules.found_rule < RULE_LIMIT
                and rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL
                and self.rules.found_rule != rule
            ):
                rule = self.rules.found_rule
                self.rules.find(pc - 4, pc - 4)
                self.rules.found_rule = rule
                return False
            self.rules.found_rule = rule
            self.rules.found_frame = frame
            self.rules.found_image = image
        return number in (CLONE_AARCH64, CLONE3, EXECVE_AARCH64, EXECVEAT_AARCH64)

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def stop_by_number(self, frame: cython.uint, reason: cython.int) -> cython.int:
        """As :meth:`stop_at_system_call` on AArch64. Registers are those of the next frame, but for x0 and x8."""
        number: cython.ulonglong = self.regs[NUMBER_PLACE]
        child: cython.bint = number in (CLONE_AARCH64, CLONE3)
        behind: cython.int
        if self.rules.stacks.frame_image[frame] == NOTHING or (self.regs[RESULT_PLACE] != 0 if child else not reason):
            return reason
        with cython.gil:
            behind = self.rules.source.behind_system_call(
                self.rules.stacks.frame_image[frame], self.rules.stacks.frame_address[frame]
            )
        if child:
            # A new thread or process, at the start of a stack of its own.
            return StopReason.ROOT if behind == 2 else reason
        return StopReason.REPLACED if self.in_kernel and behind else reason

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def at_signal_frame(self) -> cython.bint:
        """Whether the stack pointer is at a `struct ucontext` of x86-64, as the saved code segment, that of user mode,
        and the one of data say: while the kernel restores registers, rcx is no longer that of the call."""
        segments: cython.ulonglong
        self.fault = 0
        segments = self.load(self.regs[RSP] + UC_SEGMENTS)
        if self.fault:
            self.fault = 0
            return False
        return segments & 0xFFFF == USER_CS and segments >> 48 in (0, USER_SS)

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def stop_at_system_call(
        self, frame: cython.uint, skipped: cython.ulonglong, result: cython.ulonglong, reason: cython.int
    ) -> cython.int:
        """Why a stack ends whose innermost frame is ``skipped`` bytes behind a system call and whose next step gave
        ``reason`` (0: none); ``result`` is in rax."""
        number: cython.int
        if self.link >= 0:
            return self.stop_by_number(frame, reason)
        if reason == StopReason.ROOT or (not reason and (result != 0 or self.follows_call(self.regs[RIP]))):
            return reason
        if self.rules.stacks.frame_image[frame] == NOTHING:
            return reason
        with cython.gil:
            number = self.rules.source.system_call_number(
                self.rules.stacks.frame_image[frame], self.rules.stacks.frame_address[frame] - skipped
            )
        if result == 0 and number in (CLONE, CLONE3):
            # A new thread or process, which gets 0, at the start of a stack of its own.
            return StopReason.ROOT
        if self.in_kernel and reason and number in (EXECVE, EXECVEAT):
            # What the stack pointer led to is gone.
            return StopReason.REPLACED
        return reason
