# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The walk: from sampled registers and stack bytes to interned stacks, with a reason where each one ends.

One :class:`Walker` belongs to one thread; it takes the GIL only to load an image, the rows of a function or code that
it needs for the first time. Each of its parts knows only those that it uses:

- rules and frames of addresses (`rule_cache.py`, `stacks.py`);
- the current frame: memory (`process_memory.py`), registers, and the states of the frames so far (`register_file.py`);
- one step to the caller, by a rule (`frame_step.py`, with `dwarf_expression.py`) or without (`ruleless_step.py`), and
  what is special at system calls (`system_calls.py`);
- all steps of one dump (`dump_walk.py`), and what it shares with the last one (`stack_memo.py`);
- frames whose addresses were recorded (`kernel_chains.py`, `branch_stacks.py`).
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, GOLDEN_RATIO, NOTHING
from cython.cimports.undwarf.perfdata.abi import REGS_ABI_64
from cython.cimports.undwarf.perfdata.native_integers import u64
from cython.cimports.undwarf.tables.registers import RBX, RIP, RSP
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.register_file import state_at
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import IN_PAGE, LiveState

from undwarf.column import zeros
from undwarf.unwind.arch import X86_64
from undwarf.unwind.branch_stacks import BranchStacks
from undwarf.unwind.dump_walk import DumpWalk
from undwarf.unwind.exact_state import ExactState
from undwarf.unwind.kernel_chains import KernelChains
from undwarf.unwind.late_branches import LateBranches
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import FrameStates, RegisterFile
from undwarf.unwind.rule_cache import RuleCache

KERNEL_MODE = cython.declare(cython.uint, 1)
EXACT_IP = cython.declare(cython.uint, 0x4000)
"""PERF_RECORD_MISC_EXACT_IP."""
USER_MODE = cython.declare(cython.uint, 2)
CPU_MODE = cython.declare(cython.uint, 7)
"""`PERF_RECORD_MISC_KERNEL`, `_USER` and `_CPUMODE_MASK` (include/uapi/linux/perf_event.h)."""
ABSENT = cython.declare(cython.uint, 255)
"""In the table of register words: the register is not sampled."""
FLAG_BITS = cython.declare(cython.ulonglong, 0xFFFF)
NMI_UNKNOWN = cython.declare(cython.uint, 1 << 3 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15)
"""rbx and r12 to r15: not saved when a non-maskable interrupt takes a sample inside the kernel, then all ones."""
BARE_STACKS = cython.declare(cython.Py_ssize_t, 1 << 12)
"""Stacks of one address that are cached."""


@cython.final
@cython.cclass
class Walker:
    """Walks samples of one recording in one thread."""

    stop: cython.int

    def __init__(
        self, rules: RuleCache, register_words: memoryview, limits: Any, *, innermost_only: bool = False
    ) -> None:
        """``register_words``: by event the 18 bytes of ``slots`` (:mod:`undwarf.unwind.x86_64.registers`). With
        ``innermost_only`` each dump gives its innermost frame, for which no rule is needed."""
        machine = rules.source.machine
        chain = zeros("I", limits.max_frames + limits.max_chain + 8)
        self.rules = rules
        self.registers = RegisterFile(machine)
        self.states = FrameStates(self.registers, limits.max_frames)
        self.memory = ProcessMemory(rules, self.states, limits.max_frames)
        self.live = self.memory.live
        self.dump_walk = DumpWalk(rules, self.memory, self.registers, self.states, chain, limits, innermost_only)
        self.memo = self.dump_walk.memo
        self.ruleless = self.dump_walk.ruleless
        self.corrects_exact = machine is X86_64 and not innermost_only and rules.source.has_code_evidence
        self.kernel_chains = KernelChains(rules, self.memory, chain, limits.max_chain)
        self.branch_stacks = BranchStacks(rules, self.memory, chain, limits.max_chain, limits.branches)
        self.late_branches = LateBranches(rules, self.branch_stacks)
        self.exact_state = ExactState(
            rules, self.registers, self.states, self.dump_walk.steps, chain, self.late_branches
        )
        self.chain = chain
        self.register_words = register_words
        self.is_walked = machine.is_walked
        self.completed = self.inferred = self.unproven = self.missing_chains = self.damaged_samples = 0

    def set_samples(self, samples: Any, space_of: memoryview, kernel_of: memoryview, selected: memoryview) -> None:
        """Set the samples that are walked from now on."""
        self.positions = samples.position
        self.miscs = samples.misc
        self.ips = samples.ip
        self.events = samples.event
        self.chain_at = samples.callchain_at
        self.regs_at = samples.regs_at
        self.stack_at = samples.stack_at
        self.space_of = space_of
        self.kernel_of = kernel_of
        self.selected = selected
        # Address spaces may have other numbers now.
        self.bare = zeros("Q", 3 * BARE_STACKS)

    def take_over(self, other: Walker) -> None:  # noqa: F821 - the class itself, which Cython knows here
        """Continue with the stacks, the process memory and the counts of a walker for fewer images."""
        self.rules.stacks = other.rules.stacks
        self.live.take_over(other.live)
        self.exact_state.take_over(other.exact_state)
        self.completed = other.completed
        self.inferred = other.inferred
        self.unproven = other.unproven
        self.missing_chains = other.missing_chains
        self.damaged_samples = other.damaged_samples
        self.kernel_chains.damaged = other.kernel_chains.damaged
        self.branch_stacks.damaged = other.branch_stacks.damaged

    def forget_frames(self) -> None:
        """Forget what is known by the numbers of frames and address spaces, which are others now."""
        self.dump_walk.steps.forget()
        self.dump_walk.probed_returns.forget()

    @property
    def damaged(self) -> int:
        """Samples, chains and branch stacks that do not fit in their record."""
        return self.damaged_samples + self.kernel_chains.damaged + self.branch_stacks.damaged

    @property
    def missing_scheduler(self) -> int:
        """The stack pointer of the scheduler of the Haskell code that the last walk ended in; 0 where it did not."""
        return self.dump_walk.stepper.missing_scheduler

    @cython.locals(
        results="unsigned int[::1]",
        stops="unsigned char[::1]",
        stop_images="unsigned int[::1]",
        logged="unsigned int[::1]",
    )
    def walk(
        self,
        window: memoryview,
        base: int,
        first: int,
        last: int,
        results: memoryview,
        stops: memoryview,
        stop_images: memoryview,
        logged: Any = None,
    ) -> None:
        """Walk samples ``first`` to ``last - 1``, whose records are in ``window`` (stream position ``base``).

        Writes each sample's stack node, stop reason and the image where it stopped (0xffffffff: none), and if frames
        are logged the number of its stack there, plus one (0: none).
        """
        i: cython.Py_ssize_t
        begin: cython.Py_ssize_t = first
        end: cython.Py_ssize_t = last
        self._open_window(window, base)
        if self.memo.is_logged:
            self.memo.log.begin_window()
        with cython.nogil:
            for i in range(begin, end):
                if not self.selected[i]:
                    continue
                self._walk_sample(i)
                if self.memo.is_logged:
                    logged[i] = self.memo.log.last
                stops[i] = cython.cast(cython.uchar, self.stop)
                results[i] = self.node
                stop_images[i] = self.stop_image
        self.memory.window = None

    def trace(self, window: memoryview, base: int, number: int) -> tuple[list[int], list[int], list[int]] | None:
        """Walk a sample, whose record is in ``window`` (stream position ``base``), and keep its chain for
        :meth:`continued`. By user frame, from the innermost on: stack pointers, addresses and frame numbers; None where
        they are not those of one dump on one stack.
        """
        i: cython.Py_ssize_t
        count: cython.Py_ssize_t
        self.states.count = 0
        self.walked_from = self.walked_to = 0
        self._open_window(window, base)
        self._walk_sample(number)
        self.memory.window = None
        count = self.states.count
        if not count or self.walked_to - self.walked_from != count:
            return None
        pointers: list[int] = [state_at(self.states.words, i).stack_pointer for i in range(count)]
        addresses: list[int] = [state_at(self.states.words, i).address for i in range(count)]
        frames: list[int] = [self.chain[self.walked_from + i] for i in range(count)]
        for i in range(1, count):
            # A leaf function may have no frame of its own where calls put their return addresses in a register.
            if pointers[i] < pointers[i - 1] or (i > 1 and pointers[i] == pointers[i - 1]):
                return None
        return pointers, addresses, frames

    def continued(self, node: int) -> int:
        """The stack of the sample that was traced last, with ``node`` as the caller of its outermost frame."""
        leaf: cython.uint = node
        i: cython.Py_ssize_t = self.walked_to
        while i > 0:
            i -= 1
            leaf = self.rules.stacks.node(leaf, self.chain[i])
        return leaf

    def entry_of(self, window: memoryview, base: int, number: int, reach: int) -> tuple[int, int, int] | None:
        """Walk a sample that ends in code without rules, whose record is in ``window`` (stream position ``base``),
        and find the nearest return address above the stack pointer that follows a call in a function with rules, at
        most ``reach`` bytes away. Its frame, the distance in bytes, and the address where the walk stopped; None
        without.
        """
        at: cython.ulonglong
        end: cython.ulonglong
        sp: cython.ulonglong
        found: tuple[int, int, int] | None = None
        self._open_window(window, base)
        self._walk_sample(number)
        sp = self.registers.values[RSP]
        if self.stop == StopReason.NO_RULE and self.memory.low <= sp:
            end = min(self.memory.high, sp + cython.cast(cython.ulonglong, reach))
            at = self.ruleless.next_entry(sp, end)
            if at < end:
                found = self.rules.found_frame, at - sp, self.registers.values[RIP]
        self.memory.window = None
        return found

    def _open_window(self, window: object, base: cython.ulonglong) -> cython.int:
        """Walk samples whose records lie in this window."""
        self.memory.window = window
        self.base = base
        return self.memo.forget()

    def _walk_sample(self, s: cython.Py_ssize_t) -> cython.int:
        """Make one sample's stack; sets ``node``, ``stop`` and ``stop_image``."""
        record: cython.Py_ssize_t
        count: cython.Py_ssize_t = 0
        kernel_count: cython.Py_ssize_t
        mode: cython.uint = self.miscs[s] & CPU_MODE
        stored_stop: cython.int = self.miscs[s] >> 8 & 31
        is_walked: cython.bint
        bare: cython.Py_ssize_t = -1
        self.stop = StopReason.NONE
        self.stop_image = NOTHING
        self.node = NOTHING
        self.rules.space = self.space_of[s]
        self.live.begin(s)
        if self.positions[s] < self.base or self.positions[s] - self.base > cython.cast(
            cython.ulonglong, self.memory.window.shape[0]
        ):
            self.damaged_samples += 1
            return 0
        if (
            mode == USER_MODE
            and self.ips[s]
            and not (self.chain_at[s] or self.regs_at[s] or self.kernel_chains.is_unwound)
        ):
            bare = 3 * cython.cast(
                cython.Py_ssize_t, ((self.ips[s] ^ self.rules.space) * GOLDEN_RATIO) >> 52 & (BARE_STACKS - 1)
            )
            if self.bare[bare] == self.ips[s] and self.bare[bare + 1] == self.rules.space:
                self.node = cython.cast(cython.uint, self.bare[bare + 2])
                self.stop = StopReason.NO_DUMP
                return 0
        record = cython.cast(cython.Py_ssize_t, self.positions[s] - self.base)
        self.kernel_chains.begin_sample()
        if self.chain_at[s]:
            count = self.kernel_chains.add_kernel_frames(record + self.chain_at[s], self.kernel_of[s])
        elif mode == KERNEL_MODE and self.ips[s]:
            self.chain[0] = self.rules.kernel_frame(self.kernel_of[s], self.ips[s], self.ips[s])
            count = 1
        kernel_count = count
        if self.memo.is_logged:
            self.memo.log.last = 0
        is_walked = self._open_dump(s, record, mode)
        if is_walked:
            self.dump_walk.stop_image = NOTHING
            count = self._walk_dump(s, record, mode, count)
            self.stop_image = self.dump_walk.stop_image
            self.stop = self.dump_walk.stop
            if not self.dump_walk.is_whole() and self.kernel_chains.deferred_count(s) > count - kernel_count:
                # The kernel walked the stack itself, farther than the dump reaches.
                is_walked = False
                count = self.kernel_chains.add_deferred_frames(s, kernel_count)
                self.stop = self.kernel_chains.stop
        elif self.kernel_chains.user_at >= 0 and self.branch_stacks.has_call_stack(s, record, self.events[s]):
            self.stop = StopReason.NO_DUMP
            count = self.branch_stacks.add_call_stack(
                s, record, self.events[s], self.kernel_chains.sampled_address(), count
            )
        elif self.kernel_chains.user_at >= 0:
            count = self.kernel_chains.add_user_frames(count, stored_stop)
            self.stop = self.kernel_chains.stop
            self.stop_image = self.kernel_chains.stop_image
        elif self.is_unsupported:
            self.stop = StopReason.UNSUPPORTED
        elif self.kernel_chains.is_deferred:
            if self.kernel_chains.deferred_count(s) >= 0:
                count = self.kernel_chains.add_deferred_frames(s, count)
                self.stop = self.kernel_chains.stop
            else:
                self.stop = StopReason.DEFERRED
                self.missing_chains += 1
        elif self.kernel_chains.is_unwound:
            self.stop = stored_stop
        if count == kernel_count and mode == USER_MODE and self.ips[s] and self.stop != StopReason.DEFERRED:
            # Neither registers nor a chain: the sampled address is all there is.
            self.rules.resolve(self.ips[s], self.ips[s], Provenance.USER_CHAIN)
            self.chain[count] = self.rules.found_frame
            count += 1
            if self.stop == StopReason.NONE:
                self.stop = StopReason.NO_DUMP
        if is_walked:
            self.walked_from = kernel_count
            self.walked_to = count
            self.node = self.memo.intern(kernel_count, count, self.stop)
            # A stack whose node is postponed is in the log, with the kernel's frames.
            count = kernel_count if self.node != NOTHING else 0
        while count > 0:
            count -= 1
            self.node = self.rules.stacks.node(self.node, self.chain[count])
        self.node = self.branch_stacks.with_history(s, record, self.events[s], self.kernel_of[s], self.node)
        if bare >= 0:
            self.bare[bare] = self.ips[s]
            self.bare[bare + 1] = self.rules.space
            self.bare[bare + 2] = self.node
        return 0

    def _walk_dump(
        self, s: cython.Py_ssize_t, record: cython.Py_ssize_t, mode: cython.uint, first: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Walk the dump, which is open, from entry ``first`` of the chain on; where that does not reach the root, again
        with other assumptions. Returns the chain's length."""
        count: cython.Py_ssize_t
        if self.miscs[s] & EXACT_IP and self.corrects_exact and mode == USER_MODE:
            count = self.exact_state.correct(
                first, self.late_branches.follow(s, record, self.events[s], self.registers.values[RIP])
            )
            if self.exact_state.is_unproven:
                self.memo.begin_stack()
                self.memory.unshareable = True
                self.dump_walk.stop = StopReason.UNPROVEN_STATE
                return first + count
            if count > 0:
                count = self.dump_walk.walk(first + count, count, False, False)
                if self.exact_state.is_provisional:
                    self.dump_walk.stop = StopReason.UNPROVEN_STATE
                return count
        count = self.dump_walk.walk(first, 0, False, False)
        if (
            mode == KERNEL_MODE
            and (self.dump_walk.ended_at_zero or self.dump_walk.stop in (StopReason.UNMAPPED, StopReason.BAD_CFA))
            and 0 < count - first <= 3
            and self._open_dump(s, record, mode)
            and self.dump_walk.step_back_to_probe()
        ):
            count = self.dump_walk.walk(first, 0, False, False)
        if (
            (self.dump_walk.ended_at_zero or self.dump_walk.stop in (StopReason.UNMAPPED, StopReason.BAD_CFA))
            and 0 < count - first <= 3
            and self._open_dump(s, record, mode)
        ):
            count = self.dump_walk.walk(first, 0, True, False)
            if not self.dump_walk.is_whole() or self.dump_walk.ended_at_zero:
                count = self._walk_again(s, record, mode, first)
        if (
            self.dump_walk.stop in (StopReason.UNMAPPED, StopReason.BAD_CFA)
            and 0 < count - first <= 2
            and self._open_dump(s, record, mode)
        ):
            count = self.dump_walk.walk(first, 0, False, True)
            if not self.dump_walk.is_whole():
                count = self._walk_again(s, record, mode, first)
        if self.dump_walk.ended_at_zero or self.dump_walk.stop in (
            StopReason.UNMAPPED,
            StopReason.BAD_CFA,
            StopReason.UNREADABLE_MEMORY,
        ):
            count = self.dump_walk.walk_from_handler(first, count)
            if count < 0:
                count = self._walk_again(s, record, mode, first)
        if self.live.state == LiveState.READABLE and not self.live.unproven:
            self.completed += self.dump_walk.is_whole()
        elif self.live.state != LiveState.NOT_REQUESTED:
            if self.live.unproven:
                # Nothing proves yet that these are the sample's own callers; they may be those of later samples.
                with cython.gil:
                    self.memory.end_unproven(self.dump_walk.is_whole())
                if self.live.agrees_with_dump and self.dump_walk.is_whole() and self._infer_callers(first, count):
                    self.dump_walk.stop = StopReason.INFERRED_ROOT
                    self.inferred += 1
                    return count
                self.live.state = LiveState.REFUSED
                count = self._walk_again(s, record, mode, first)
            self.unproven += self.dump_walk.stop == StopReason.TRUNCATED
        if self.dump_walk.ended_at_zero or not self.dump_walk.is_whole():
            count = self.dump_walk.cut_at_fiber_root(first, count)
        if self.dump_walk.stop == StopReason.TRUNCATED and self.ends_at_page:
            self.dump_walk.stop = StopReason.ABSENT_PAGE
        return count

    def _walk_again(
        self, s: cython.Py_ssize_t, record: cython.Py_ssize_t, mode: cython.uint, first: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Walk the dump as at first; returns the chain's length."""
        self._open_dump(s, record, mode)
        return self.dump_walk.walk(first, 0, False, False)

    def _infer_callers(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.bint:
        """Mark the frames of the chain whose return addresses are not in the dump; False where one follows no call."""
        i: cython.Py_ssize_t
        frame: cython.uint
        if self.states.count != count - first:
            return False
        for i in range(1, self.states.count):
            if state_at(self.states.words, i).stack_pointer > self.memory.high:
                frame = self.rules.inferred_frame(self.chain[first + i])
                if frame == NOTHING:
                    return False
                self.chain[first + i] = frame
        return True

    @cython.locals(data="const unsigned char *")
    def _open_dump(self, s: cython.Py_ssize_t, record: cython.Py_ssize_t, mode: cython.uint) -> cython.bint:
        """Set registers and dump bounds from the sample; False if it has none that can be walked."""
        data = cython.address(self.memory.window[0])
        window_size: cython.Py_ssize_t = self.memory.window.shape[0]
        at: cython.Py_ssize_t
        abi: cython.ulonglong
        size: cython.ulonglong
        valid: cython.ulonglong
        word: cython.uint
        known: cython.uint = 0
        place: cython.int
        first_word: cython.Py_ssize_t
        self.is_unsupported = False
        if not self.regs_at[s]:
            return False
        at = record + self.regs_at[s]
        abi = u64(data, window_size, at)
        if abi != REGS_ABI_64 or not self.is_walked:
            self.is_unsupported = abi != 0
            return False
        if not self.stack_at[s]:
            return False
        size = u64(data, window_size, record + self.stack_at[s])
        if size == 0:
            return False
        self.memory.dump = record + self.stack_at[s] + 8
        if size > cython.cast(cython.ulonglong, window_size - self.memory.dump):
            self.damaged_samples += 1
            return False
        valid = min(size, u64(data, window_size, self.memory.dump + cython.cast(cython.Py_ssize_t, size)))
        first_word = cython.cast(cython.Py_ssize_t, self.events[s]) * (REGISTERS + 1)
        for place in range(REGISTERS):
            word = self.register_words[first_word + place]
            if word != ABSENT:
                self.registers.values[place] = u64(data, window_size, at + 8 + 8 * word)
                known |= cython.cast(cython.uint, 1) << place
            else:
                self.registers.values[place] = 0
        word = self.register_words[first_word + REGISTERS]
        self.registers.flags = -1
        if word != ABSENT:
            self.registers.flags = u64(data, window_size, at + 8 + 8 * word) & FLAG_BITS
        if mode == KERNEL_MODE and self.registers.link < 0:
            for place in range(RBX, 16):
                if NMI_UNKNOWN >> place & 1 and self.registers.values[place] == ALL_ONES:
                    known &= ~(cython.cast(cython.uint, 1) << place)
        self.registers.known = known
        if not known >> RIP & 1 or not known >> RSP & 1:
            return False
        self.dump_walk.system_calls.in_kernel = mode == KERNEL_MODE
        self.memory.low = self.registers.values[RSP]
        self.memory.high = self.memory.low + valid
        if self.memory.high < self.memory.low:
            self.memory.high = self.memory.low
        self.ends_at_page = valid < size and self.memory.high & IN_PAGE == 0
        return True
