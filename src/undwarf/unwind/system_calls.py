# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Frames at system calls, and frames of signals, from which a system call returns."""

import cython
from cython.cimports.undwarf.integers import NOTHING
from cython.cimports.undwarf.perfdata.abi import LARGEST_DUMP
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers_x86_64 import RCX, RIP, RSP
from cython.cimports.undwarf.tables.rule import rule_at
from cython.cimports.undwarf.unwind.aarch64.registers import NUMBER_PLACE, RESULT_PLACE
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT, RULE_NO, RULE_UNMAPPED

from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache

CLONE = cython.declare(cython.int, 56)
EXECVE = cython.declare(cython.int, 59)
EXECVEAT = cython.declare(cython.int, 322)
CLONE3 = cython.declare(cython.int, 435)
"""System calls of x86-64 by number (arch/x86/entry/syscalls/syscall_64.tbl)."""
CLONE_AARCH64 = cython.declare(cython.ulonglong, 220)
EXECVE_AARCH64 = cython.declare(cython.ulonglong, 221)
EXECVEAT_AARCH64 = cython.declare(cython.ulonglong, 281)
SIGRETURN_AARCH64 = cython.declare(cython.ulonglong, 139)
"""System calls of AArch64 by number (include/uapi/asm-generic/unistd.h); clone3 has the same number everywhere."""
SYSCALL_LENGTH = cython.declare(cython.ulonglong, 2)
SVC_LENGTH = cython.declare(cython.ulonglong, 4)
"""Bytes of the instructions, on x86-64 and AArch64."""
RESULT_CHECK_REACH = cython.declare(cython.ulonglong, 8)
"""Bytes of code after a system call that check its result, at most: `test` and two short jumps."""
UCONTEXT_AARCH64 = cython.declare(cython.ulonglong, 128)
"""Offset of `struct ucontext` in a signal's frame, after `siginfo` (arch/arm64/kernel/signal.c). On x86-64 the stack
pointer points to it when a handler has returned."""
UC_STACK = cython.declare(cython.ulonglong, 16)
"""Offset of its `uc_stack`: the alternate stack's address, flags and size, 8 bytes each."""
UC_SEGMENTS = cython.declare(cython.ulonglong, 184)
"""On x86-64, the offset of the interrupted code's cs, gs, fs and ss in it, 2 bytes each (asm/sigcontext.h)."""
USER_CS = cython.declare(cython.ulonglong, 0x33)
USER_SS = cython.declare(cython.ulonglong, 0x2B)
"""Segments of 64-bit user mode on Linux (asm/segment.h)."""


@cython.final
@cython.cclass
class SystemCalls:
    """Which rule holds after a system call, and why stacks end at one."""

    def __init__(self, rules: RuleCache, memory: ProcessMemory, registers: RegisterFile) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.in_kernel = False
        self.left_signal_stack = False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def take_rule(self, pc: cython.ulonglong) -> cython.bint:
        """Take the rule of the system call instruction for the innermost address, which was looked up last, if this
        follows the instruction and has no rule, or follows a signal's return, where another function begins. Returns
        whether the address follows a system call, as far as registers show.

        A system call leaves its return address in rcx, and changes neither the stack nor callee-saved registers: the
        instruction's rule still holds after it (Intel SDM volume 2, SYSCALL).
        """
        returns_to: cython.ulonglong = self.registers.values[RCX]
        follows: cython.bint = self.registers.known >> RCX & 1 != 0 and pc - returns_to <= RESULT_CHECK_REACH
        rule: cython.uint = self.rules.found_rule
        frame: cython.uint = self.rules.found_frame
        image: cython.uint = self.rules.found_image
        only_checks_result: cython.bint = False
        if rule == RULE_UNMAPPED:
            return False
        if self.registers.link >= 0:
            return self._take_rule_by_number(pc)
        if not (follows or self.in_kernel):
            return False
        # Only then: before the address of a page fault is another function, or padding, whose rules nobody needs.
        if ((follows and pc == returns_to) or self._is_at_signal_frame()) and self._take_signal_return(
            pc, SYSCALL_LENGTH
        ):
            return False
        if follows and rule == RULE_NO:
            self.rules.find(returns_to - 1, returns_to)
            if self.rules.found_rule == RULE_NO:
                # glibc's rules of `clone` end before the instruction, after that which loads the call's number.
                self.rules.find(returns_to - 3, returns_to - 2)
            if self.rules.found_rule < RULE_LIMIT and self.rules.found_image == image:
                with cython.gil:
                    only_checks_result = self.rules.source.after_system_call(
                        image, self.rules.stacks.frame_address[frame] - (pc - returns_to), pc - returns_to
                    )
        if only_checks_result:
            rule = self.rules.found_rule
        self.rules.found_rule = rule
        self.rules.found_frame = frame
        self.rules.found_image = image
        return follows

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _take_rule_by_number(self, pc: cython.ulonglong) -> cython.bint:
        """As :meth:`take_rule` on AArch64, where x8 has the system call's number, and no register the address that it
        returns to."""
        number: cython.ulonglong = (
            self.registers.values[NUMBER_PLACE] if self.registers.known >> NUMBER_PLACE & 1 else 0
        )
        if number == SIGRETURN_AARCH64 and self.in_kernel and self._take_signal_return(pc, SVC_LENGTH):
            return False
        return number in (CLONE_AARCH64, CLONE3, EXECVE_AARCH64, EXECVEAT_AARCH64)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _take_signal_return(self, pc: cython.ulonglong, length: cython.ulonglong) -> cython.bint:
        """Take the rule, and the frame, of the system call instruction before ``pc`` if it returns from a signal; else
        keep those of the address that was looked up last."""
        rule: cython.uint = self.rules.found_rule
        frame: cython.uint = self.rules.found_frame
        image: cython.uint = self.rules.found_image
        signal_rule: cython.uint
        self.rules.find(pc - 1, pc)
        signal_rule = self.rules.found_rule
        if (
            signal_rule < RULE_LIMIT
            and rule_at(self.rules.words, signal_rule).flags & kinds.FLAG_SIGNAL
            and signal_rule != rule
        ):
            self.rules.find(pc - length, pc - length)
            self.rules.found_rule = signal_rule
            return True
        self.rules.found_rule = rule
        self.rules.found_frame = frame
        self.rules.found_image = image
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def stop_reason(
        self, frame: cython.uint, skipped: cython.ulonglong, result: cython.ulonglong, reason: cython.int
    ) -> cython.int:
        """Why a stack ends whose innermost frame is ``skipped`` bytes after a system call and whose next step gave
        ``reason`` (0: none); ``result`` is in rax."""
        number: cython.int
        if self.registers.link >= 0:
            return self._stop_reason_by_number(frame, reason)
        if reason == StopReason.ROOT or (
            not reason and (result != 0 or self.rules.follows_call(self.registers.values[RIP]))
        ):
            return reason
        if self.rules.stacks.frame_image[frame] == NOTHING:
            return reason
        with cython.gil:
            number = self.rules.source.system_call_number(
                self.rules.stacks.frame_image[frame], self.rules.stacks.frame_address[frame] - skipped
            )
        if result == 0 and number in (CLONE, CLONE3):
            # A new thread or process, which gets 0, at the start of its own stack.
            return StopReason.ROOT
        if self.in_kernel and reason and number in (EXECVE, EXECVEAT):
            # The stack of the old program is gone.
            return StopReason.REPLACED
        return reason

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _stop_reason_by_number(self, frame: cython.uint, reason: cython.int) -> cython.int:
        """As :meth:`stop_reason` on AArch64. Registers are those of the next frame, except for x0 and x8."""
        number: cython.ulonglong = self.registers.values[NUMBER_PLACE]
        child: cython.bint = number in (CLONE_AARCH64, CLONE3)
        follows: cython.int
        if self.rules.stacks.frame_image[frame] == NOTHING or (
            self.registers.values[RESULT_PLACE] != 0 if child else not reason
        ):
            return reason
        with cython.gil:
            follows = self.rules.source.behind_system_call(
                self.rules.stacks.frame_image[frame], self.rules.stacks.frame_address[frame]
            )
        if child:
            # A new thread or process, at the start of its own stack.
            return StopReason.ROOT if follows == 2 else reason
        return StopReason.REPLACED if self.in_kernel and follows else reason

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _is_at_signal_frame(self) -> cython.bint:
        """Whether the stack pointer points to a `struct ucontext` of x86-64, whose saved segments are those of user
        mode: while the kernel restores registers for `rt_sigreturn`, rcx is not the system call's any more."""
        segments: cython.ulonglong
        self.memory.fault = 0
        segments = self.memory.load(self.registers.values[RSP] + UC_SEGMENTS)
        if self.memory.fault:
            self.memory.fault = 0
            return False
        return segments & 0xFFFF == USER_CS and segments >> 48 in (0, USER_SS)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def note_signal_frame(self, sp: cython.ulonglong) -> cython.int:
        """Set ``left_signal_stack`` if the signal's frame at ``sp`` is on the alternate stack that it names, and the
        restored stack pointer, which is in the registers, is not (Linux, `__save_altstack`)."""
        at: cython.ulonglong = sp + UC_STACK + (UCONTEXT_AARCH64 if self.registers.link >= 0 else 0)
        start: cython.ulonglong
        size: cython.ulonglong
        self.memory.fault = 0
        start = self.memory.load(at)
        size = self.memory.load(at + 16)
        if not self.memory.fault and sp - start < size and self.registers.values[RSP] - start > size:
            # A stack that begins closer is one that a larger dump would have.
            self.left_signal_stack = self.registers.values[RSP] - self.memory.low >= LARGEST_DUMP
        self.memory.fault = 0
        return 0
