# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""What a stack shares with the last whole one, which is not walked again.

Where a frame has the state of one of that stack's frames, and both dumps are equal above it as far as they were read,
all further callers are the same.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integers import NOTHING
from cython.cimports.undwarf.tables.registers_x86_64 import CALLEE_SAVED, RBP, RBX, RIP, RSP
from cython.cimports.undwarf.unwind.frame_states import STATE_WORDS, FrameStatePointer, state_at
from cython.cimports.undwarf.unwind.stop_reason import StopReason

from undwarf.column import zeros
from undwarf.unwind.frame_states import FrameStates
from undwarf.unwind.process_memory import ProcessMemory
from undwarf.unwind.register_file import RegisterFile
from undwarf.unwind.rule_cache import RuleCache


@cython.final
@cython.cclass
class StackMemo:
    """The last whole stack, and the nodes of its frames."""

    log: Any
    last_stop: cython.int
    last_states: Any

    def __init__(
        self,
        rules: RuleCache,
        memory: ProcessMemory,
        registers: RegisterFile,
        states: FrameStates,
        chain: memoryview,
        max_frames: int,
    ) -> None:
        self.rules = rules
        self.memory = memory
        self.registers = registers
        self.states = states
        self.chain = chain
        self.max_frames = max_frames
        self.last_states = zeros("Q", STATE_WORDS * (max_frames + 1))
        self.last_count = 0
        self.last_stop = StopReason.ROOT
        self.last_space = NOTHING
        self.last_read_end = 0
        self.log = None
        self.is_logged = False

    def keep_log(self, log: Any) -> None:
        """Log where the frames of all stacks are (:class:`undwarf.unwind.frame_log.FrameLog`)."""
        self.log = log
        self.is_logged = True

    def stop_log(self) -> None:
        """Log no further frames: every stack gets a node."""
        self.is_logged = False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def forget(self) -> cython.int:
        """Forget the last stack: its window is not mapped any more, or its nodes are gone."""
        self.last_count = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def begin_stack(self) -> cython.int:
        """Compare the next frames with the last stack's from its innermost one on, if its dump can be compared."""
        self.shared_count = 0
        self.shared_node = NOTHING
        self.shared_log_index = NOTHING
        self.candidate = -1
        self.differs_below = False
        if self.last_count and self.last_space == self.rules.space and self.memory.high >= self.last_read_end:
            self.candidate = self.last_count - 1
            self.equal_from = self.last_read_end
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def shares(self, depth: cython.Py_ssize_t, exact: cython.bint) -> cython.bint:
        """Whether all frames from number ``depth`` on are those of the last stack, and sets which. To be called while
        ``candidate`` is not negative."""
        values: cython.p_ulonglong = self.registers.values
        sp: cython.ulonglong = values[RSP]
        state: FrameStatePointer = state_at(self.last_states, self.candidate)
        while state.stack_pointer < sp:
            self.candidate -= 1
            if self.candidate < 0:
                return False
            state -= 1
        if (
            state.address != values[RIP]
            or state.stack_pointer != sp
            or exact
            or self.memory.unshareable
            or depth + self.candidate >= self.max_frames
            or state.rbx != values[RBX]
            or state.rbp != values[RBP]
            or state.r12 != values[12]
            or state.r13 != values[13]
            or state.r14 != values[14]
            or state.r15 != values[15]
            or state.known != (self.registers.known & CALLEE_SAVED)
        ):
            return False
        if self.equal_from > sp and not self.differs_below:
            self.equal_from = self._compare_dumps(self.equal_from, sp)
            self.differs_below = self.equal_from > sp + 7
        if self.equal_from >= sp + 8:
            return False
        self.shared_count = self.candidate + 1
        self.shared_node = state.node
        self.shared_log_index = state.log_index
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def intern(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t, stop: cython.int) -> cython.longlong:
        """Intern the user frames of the chain, those from ``first`` to ``count``, and keep their states for the next
        stack. Returns the innermost node, 0xffffffff where that is postponed (`frame_log.py`)."""
        node: cython.uint = self.shared_node
        is_kept: cython.bint = (
            stop in (StopReason.ROOT, StopReason.FIBER_ROOT)
            and not self.memory.unshareable
            and self.states.count == count - first
        )
        i: cython.Py_ssize_t = count - 1
        last: cython.Py_ssize_t = self.shared_count
        kept: FrameStatePointer
        log_index: cython.Py_ssize_t = self._log_stack(first, count, stop) if self.is_logged else -1
        if log_index >= 0 and stop in (StopReason.TRUNCATED, StopReason.ABSENT_PAGE):
            self.last_count = 0
            self.log.put_off(self.chain, count)
            return NOTHING
        while i >= first:
            node = cython.cast(cython.uint, self.rules.stacks.node(node, self.chain[i]))
            if is_kept:
                kept = state_at(self.last_states, last)
                kept[0] = state_at(self.states.words, i - first)[0]
                kept.node = node
                kept.log_index = cython.cast(cython.uint, log_index + i - first if log_index >= 0 else NOTHING)
                last += 1
            i -= 1
        if not is_kept:
            self.last_count = 0
            return node
        if self.shared_count == 0 or self.memory.read_end > self.last_read_end:
            self.last_read_end = self.memory.read_end
        self.last_count = last
        self.last_stop = stop
        self.last_space = self.rules.space
        self.last_dump = self.memory.dump
        self.last_low = self.memory.low
        return node

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def _log_stack(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t, stop: cython.int) -> cython.Py_ssize_t:
        """Log where the frames are; returns the index of the innermost one in the window's log. -1 if the stack is not
        logged: it is not one stack upwards from its innermost frame to the root or the dump's end."""
        n: cython.Py_ssize_t = count - first
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        state: FrameStatePointer
        size: cython.ulonglong = 0
        if (
            stop not in (StopReason.ROOT, StopReason.TRUNCATED, StopReason.ABSENT_PAGE)
            or not n
            or self.states.count != n
        ):
            return -1
        if self.shared_count and self.shared_log_index == NOTHING:
            return -1
        state = state_at(self.states.words, 0)
        at = self.log.keep(n, state.stack_pointer, first)
        if at < 0:
            return -1
        for i in range(n):
            state = state_at(self.states.words, i)
            if i < n - 1:
                size = state_at(self.states.words, i + 1).stack_pointer - state.stack_pointer
            elif self.shared_count:
                size = state_at(self.last_states, self.shared_count - 1).stack_pointer - state.stack_pointer
            # A leaf function may have no frame of its own where calls put their return addresses in a register.
            if size >= 0xFFFF or (size == 0 and i > 0):
                self.log.forget(at)
                return -1
            self.log.steps[at + i] = cython.cast(cython.ushort, size)
        self.log.end(
            at + n,
            at + n - self.log.start - cython.cast(cython.Py_ssize_t, self.shared_log_index) if self.shared_count else 0,
        )
        return cython.cast(cython.Py_ssize_t, at - self.log.start)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _compare_dumps(self, equal_from: cython.ulonglong, down_to: cython.ulonglong) -> cython.ulonglong:
        """Compare both dumps downwards from ``equal_from``, above which they are equal; the lowest address not below
        ``down_to`` from which they are."""
        words: cython.p_ulonglong
        last_words: cython.p_ulonglong
        count: cython.Py_ssize_t
        if (
            down_to < self.memory.low
            or down_to < self.last_low
            or equal_from < down_to
            or equal_from > self.memory.high
        ):
            return equal_from
        count = cython.cast(cython.Py_ssize_t, (equal_from - down_to) >> 3)
        if not count:
            return equal_from
        # Both dumps hold [down_to, equal_from): it lies above their lower ends, below this one's upper end, and all of
        # it up to last_read_end, which equal_from never exceeds, was read in the other one.
        words = cython.cast(
            cython.p_ulonglong,
            cython.address(
                self.memory.window[self.memory.dump + cython.cast(cython.Py_ssize_t, down_to - self.memory.low)]
            ),
        )
        last_words = cython.cast(
            cython.p_ulonglong,
            cython.address(
                self.memory.window[self.last_dump + cython.cast(cython.Py_ssize_t, down_to - self.last_low)]
            ),
        )
        while count > 0 and words[count - 1] == last_words[count - 1]:
            count -= 1
            equal_from -= 8
        return equal_from
