# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The user frames of a sample, from its registers and its stack dump outwards.

What the last whole stack has in common with this one is not walked again: where a frame has the state of one of its
frames and both dumps are equal above, the rest is the same.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES, NOTHING
from cython.cimports.undwarf.tables import rule_kinds as kinds
from cython.cimports.undwarf.tables.registers import RAX, RBP, RBX, RCX, RDX, RIP, RSP
from cython.cimports.undwarf.tables.registers import X86_64_CALLEE_SAVED as CALLEE_SAVED
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.tables.rule import RulePointer, rule_at
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.rule_numbers import RULE_LIMIT, RULE_NO, RULE_NO_FILE, RULE_UNMAPPED
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_state import STATE

from undwarf.column import zeros
from undwarf.unwind.frame_step import Steps
from undwarf.unwind.image_table import Places

FALSE_FRAMES = cython.declare(cython.Py_ssize_t, 4)
"""How many of a stack's last frames may be false ones, behind a fiber's root."""


@cython.cclass
class UserFrames(Steps):
    """Walks one dump at a time; its frames go to ``chain``, from the innermost on."""

    log: Any
    memo_stop: cython.int

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
        self.max_chain = limits.max_chain
        self.innermost_only = False
        self.past_frame = False
        self.chain = zeros("I", self.max_frames + self.max_chain + 8)
        self.memo = zeros("Q", STATE * (self.max_frames + 1))
        self.memo_count = 0
        self.memo_stop = StopReason.ROOT
        self.memo_space = NOTHING
        self.memo_top = 0
        self.log = None
        self.logs = False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def user_part(
        self, count: cython.Py_ssize_t, depth: cython.Py_ssize_t, second_look: cython.bint
    ) -> cython.Py_ssize_t:
        """Walk the dump, appending frames to the chain; sets ``stop`` and ``stop_image``. The registers are those of
        frame number ``depth``.

        A second look reads the code too. A return instruction means what it means, whatever its rule says; and behind
        no call lies no return address: execution goes on at just that address, as where an exception lands.
        """
        exact: cython.bint = depth == 0
        nowhere: cython.bint = False
        called: cython.bint = False
        accumulator: cython.ulonglong = self.regs[RAX]
        beyond: cython.ulonglong = self.regs[RCX]
        pc: cython.ulonglong
        reason: cython.int = 0
        rule: cython.uint
        image: cython.uint = NOTHING
        sp: cython.ulonglong
        frame: cython.ulonglong
        other: cython.uint
        turns: cython.int = 0
        left: cython.Py_ssize_t = 0
        self.top = 0
        self.odd = second_look or depth > 0
        self.ended_at_zero = False
        self.left_signal_stack = False
        self.followed = False
        self.scheduler_at = 0
        self.fresh_count = depth
        self.see_last_stack()
        while True:
            pc = self.regs[RIP]
            if self.memo_at >= 0 and self.joins_last_stack(depth, exact):
                reason = self.memo_stop
                break
            if exact:
                self.rules.find(pc, pc)
                nowhere = self.rules.found_rule == RULE_UNMAPPED and self.called_from()
            if pc == 0 and depth and not nowhere:
                self.ended_at_zero = True
                reason = self.end_at_zero(image, self.chain[count - 1])
                break
            self.rules.find(pc if exact else pc - 1, pc)
            called = depth == 0 and self.to_system_call(pc)
            rule = self.rules.found_rule
            if rule == RULE_UNMAPPED and depth and not nowhere:
                if image != NOTHING and self.rules.in_entry_function(
                    image, self.rules.stacks.frame_address[self.chain[count - 1]]
                ):
                    # What it was entered with is no return address.
                    reason = StopReason.ROOT
                    break
                if self.rules.runtime:
                    # Where addresses are shown, so is the one that leads nowhere.
                    self.chain[count] = self.rules.found_frame
                    count += 1
                reason = StopReason.UNMAPPED
                break
            image = self.rules.found_image
            if depth >= self.max_frames:
                reason = StopReason.DEPTH
                break
            self.keep_state(depth, exact)
            self.chain[count] = self.rules.found_frame
            count += 1
            depth += 1
            if self.innermost_only:
                reason = StopReason.DEPTH
                break
            sp = self.regs[RSP]
            frame = self.regs[RBP]
            if nowhere:
                self.regs[RIP] = self.back
                if self.link < 0:
                    self.regs[RSP] = sp + 8
                exact = False
                nowhere = False
            elif (
                depth == 1
                and (second_look or (rule == RULE_NO and self.link < 0))
                and (self.rules.is_return(self.rules.found_frame) or (second_look and self.called_within(pc)))
            ):
                # Whatever its function did, at a return instruction it is done with. So do system calls wait in
                # functions that nothing describes (musl's), and subroutines in functions that are described as if
                # there were none (LuaJIT's).
                self.fault = 0
                self.regs[RIP] = self.load(sp)
                if self.fault:
                    reason = self.fault
                    break
                self.regs[RSP] = sp + 8
                exact = False
                # A frame pointer of zero says nothing about this caller yet.
                left = 1
            elif (
                not exact
                and (
                    rule == RULE_NO or (rule < RULE_LIMIT and rule_at(self.rules.words, rule).source == Provenance.CODE)
                )
                and self.begins_fiber(self.chain[count - 2] if depth > 1 else NOTHING)
            ):
                # No call returns here: it is not the byte before that counts.
                self.rules.find(pc, pc)
                self.chain[count - 1] = self.rules.found_frame
                reason = StopReason.FIBER_ROOT
                break
            elif rule < RULE_LIMIT:
                self.innermost = exact
                self.followed = False
                reason = self.step_to_entry(image, rule) if self.past_frame and depth == 1 else self.step(rule)
                if reason == StopReason.UNREADABLE_MEMORY and self.keeps_stack(rule_at(self.rules.words, rule)):
                    # Haskell's own stack is in the heap, which no dump has.
                    with cython.gil:
                        other = self.rules.source.haskell_rule(image)
                    if other < RULE_LIMIT and self.leave_haskell(rule_at(self.rules.words, rule)):
                        rule = other
                        reason = self.step(rule)
                if called:
                    reason = self.stop_at_system_call(self.chain[count - 1], pc - beyond, accumulator, reason)
                if reason:
                    if self.rules.in_entry_function(image, self.rules.stacks.frame_address[self.chain[count - 1]]):
                        reason = StopReason.ROOT
                    break
                if rule_at(self.rules.words, rule).flags & kinds.FLAG_SIGNAL:
                    self.see_signal_frame(sp)
                self.regs[RIP] &= self.address_bits
                # The address that Haskell code returns to does not belong to the function before it.
                exact = (rule_at(self.rules.words, rule).flags & kinds.FLAG_SIGNAL) != 0 or (
                    self.odd and self.keeps_stack(rule_at(self.rules.words, rule))
                )
                if rule_at(self.rules.words, rule).flags & kinds.FLAG_UNPROVEN and not self.follows_call(
                    self.regs[RIP]
                ):
                    reason = StopReason.NO_RULE
                    break
            else:
                reason = self.step_without_rule(0 if exact else depth - left)
                if called:
                    reason = self.stop_at_system_call(self.chain[count - 1], pc - beyond, accumulator, reason)
                if reason:
                    if rule != RULE_NO and reason == StopReason.NO_RULE:
                        reason = StopReason.NO_FILE if rule == RULE_NO_FILE else StopReason.UNMAPPED
                    break
                if self.entered:
                    self.chain[count - 1] = cython.cast(cython.uint, self.entered_frame(self.chain[count - 1]))
                exact = False
            if second_look and not exact:
                self.rules.find(self.regs[RIP] - 1, self.regs[RIP])
                exact = self.rules.found_rule != RULE_UNMAPPED and self.rules.call_proof() == 2
            if self.regs[RSP] < sp or (self.regs[RSP] == sp and self.regs[RBP] <= frame):
                # Down is where only signal stacks and coroutines go; a stack that keeps doing so is going in circles.
                turns += 1
                if turns > 64:
                    reason = StopReason.LOOP
                    break
        if self.tail_count and self.memo_top > self.top:
            # What lies above was read when that stack was walked.
            self.top = self.memo_top
        if (
            self.left_signal_stack
            and reason in (StopReason.TRUNCATED, StopReason.UNREADABLE_MEMORY, StopReason.NO_RULE)
            and not self.live_whole
            and not self.low <= self.regs[RSP] < self.high
        ):
            reason = StopReason.SIGNAL_STACK
        self.stop = reason
        if reason not in (StopReason.ROOT, StopReason.FIBER_ROOT):
            self.stop_image = image
        return count

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def called_within(self, pc: cython.ulonglong) -> cython.bint:
        """Whether the innermost code, found last, is a subroutine in a function, where the call that the stack pointer
        has the return address of is another part of that function."""
        image: cython.uint = self.rules.found_image
        frame: cython.uint = self.rules.found_frame
        back: cython.ulonglong
        within: cython.bint = False
        if self.link >= 0 or image == NOTHING:
            return False
        self.fault = 0
        back = self.load(self.regs[RSP])
        if not self.fault:
            self.rules.find(back - 1, back)
            if self.rules.found_image == image and self.rules.found_rule < RULE_LIMIT:
                with cython.gil:
                    within = self.rules.source.called_within(
                        image,
                        self.rules.stacks.frame_address[frame],
                        self.rules.stacks.frame_address[self.rules.found_frame] + 1,
                    )
        self.fault = 0
        self.rules.find(pc, pc)
        return within

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def end_at_zero(self, image: cython.uint, frame: cython.uint) -> cython.int:
        """Why a stack ends whose outermost frame, of code in ``image``, has a return address of zero.

        On x86-64 threads begin in code without a rule, or one that says so: with a zero begin the stacks that programs
        make themselves. Elsewhere the link register is zero where threads begin, too.
        """
        if (
            image == NOTHING
            or self.link >= 0
            or self.rules.stacks.frame_provenance[frame] == Provenance.GOPCLNTAB
            or self.rules.in_entry_function(image, self.rules.stacks.frame_address[frame])
        ):
            return StopReason.ROOT
        return StopReason.FIBER_ROOT

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def begins_fiber(self, callee: cython.uint) -> cython.bint:
        """Whether the return address found last, to which frame ``callee`` returns (all ones: none), is the root of a
        fiber: code that is known as one, or the start of a function in a place that unwind information gave. Nothing
        calls just before a function, so the program itself stored the address there."""
        proof: cython.int
        if self.rules.found_rule == RULE_UNMAPPED or (
            self.rules.found_rule < RULE_LIMIT
            and rule_at(self.rules.words, self.rules.found_rule).flags & kinds.FLAG_SIGNAL
        ):
            return False
        proof = self.rules.fiber_proof()
        return proof == 1 or (
            proof == 3 and callee != NOTHING and self.rules.stacks.frame_provenance[callee] <= Provenance.SFRAME
        )

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def cut_at_fiber_root(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """End a stack, which is not whole and begins at entry ``first`` of the chain, where one of its last frames is
        the root of a fiber. Returns the chain's length."""
        i: cython.Py_ssize_t
        back: cython.ulonglong
        for i in range(max(1, self.fresh_count - FALSE_FRAMES), min(self.fresh_count, count - first)):
            back = self.fresh[STATE * i]
            if self.fresh[STATE * i + 8] == ALL_ONES:
                continue
            self.rules.find(back - 1, back)
            if not self.begins_fiber(self.chain[first + i - 1]):
                continue
            self.rules.find(back, back)
            self.chain[first + i] = self.rules.found_frame
            self.fresh_count = i + 1
            self.stop = StopReason.FIBER_ROOT
            self.stop_image = NOTHING
            return first + i + 1
        return count

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def keep_state(self, depth: cython.Py_ssize_t, exact: cython.bint) -> cython.int:
        """Keep the state of frame number ``depth``, which is below the limit."""
        # All words of a state are there if its first one is.
        state: cython.p_ulonglong = cython.cast(cython.p_ulonglong, cython.address(self.fresh[STATE * depth]))
        state[0] = self.regs[RIP]
        state[1] = self.regs[RSP]
        state[2] = self.regs[RBX]
        state[3] = self.regs[RBP]
        state[4] = self.regs[12]
        state[5] = self.regs[13]
        state[6] = self.regs[14]
        state[7] = self.regs[15]
        # An exact address is looked up as it is, a return address is not: they never stand for each other.
        state[8] = ALL_ONES if exact else self.known & CALLEE_SAVED
        self.fresh_count = depth + 1
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def entered_frame(self, number: cython.Py_ssize_t) -> cython.longlong:
        """The frame as one whose caller is the function that entered its code."""
        return self.rules.stacks.frame(
            self.rules.stacks.frame_image[number],
            self.rules.stacks.frame_address[number],
            self.rules.stacks.frame_runtime[number],
            Provenance.ENTRY,
        )

    # -- what stacks have in common -----------------------------------------------------------------------------

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def see_last_stack(self) -> cython.int:
        """Compare with the last whole stack from its innermost frame on, if this one could join it."""
        self.tail_count = 0
        self.tail_place = NOTHING
        self.memo_at = -1
        self.memo_compared = False
        if self.memo_count and self.memo_space == self.rules.space and self.high >= self.memo_top:
            self.memo_at = self.memo_count - 1
            self.memo_equal = self.memo_top
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def joins_last_stack(self, depth: cython.Py_ssize_t, exact: cython.bint) -> cython.bint:
        """Whether all from frame number ``depth`` on is as in the last whole stack, of which ``memo_at`` is the
        innermost frame that can be this one; sets ``tail_count`` and ``tail_node``."""
        sp: cython.ulonglong = self.regs[RSP]
        state: cython.p_ulonglong
        while self.memo[STATE * self.memo_at + 1] < sp:
            self.memo_at -= 1
            if self.memo_at < 0:
                return False
        # All words of a state are there if its first one is.
        state = cython.cast(cython.p_ulonglong, cython.address(self.memo[STATE * self.memo_at]))
        if (
            state[0] != self.regs[RIP]
            or state[1] != sp
            or exact
            or self.odd
            or depth + self.memo_at >= self.max_frames
            or state[2] != self.regs[RBX]
            or state[3] != self.regs[RBP]
            or state[4] != self.regs[12]
            or state[5] != self.regs[13]
            or state[6] != self.regs[14]
            or state[7] != self.regs[15]
            or state[8] != (self.known & CALLEE_SAVED)
        ):
            return False
        if self.memo_equal > sp and not self.memo_compared:
            self.memo_equal = self.same_memory(self.memo_equal, sp)
            self.memo_compared = self.memo_equal > sp + 7
        if self.memo_equal >= sp + 8:
            return False
        self.tail_count = self.memo_at + 1
        self.tail_node = cython.cast(cython.uint, state[STATE - 1] & NOTHING)
        self.tail_place = cython.cast(cython.uint, state[STATE - 1] >> 32)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def remember(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.longlong:
        """Intern the user frames of the chain, and keep their states for the next stack; returns the innermost node,
        0xffffffff where that is put off (`frame_log.py`)."""
        node: cython.uint = self.tail_node
        keep: cython.bint = (
            self.stop in (StopReason.ROOT, StopReason.FIBER_ROOT) and not self.odd and self.fresh_count == count - first
        )
        i: cython.Py_ssize_t = count - 1
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t = self.tail_count
        state: cython.p_ulonglong
        kept: cython.p_ulonglong
        place: cython.Py_ssize_t = self.log_stack(first, count) if self.logs else -1
        if place >= 0 and self.stop in (StopReason.TRUNCATED, StopReason.ABSENT_PAGE):
            self.memo_count = 0
            self.log.put_off(self.chain, count)
            return NOTHING
        while i >= first:
            node = cython.cast(cython.uint, self.rules.stacks.node(node, self.chain[i]))
            if keep:
                # All words of a state are there if its first one is.
                state = cython.cast(cython.p_ulonglong, cython.address(self.fresh[STATE * (i - first)]))
                kept = cython.cast(cython.p_ulonglong, cython.address(self.memo[STATE * at]))
                for k in range(STATE - 1):
                    kept[k] = state[k]
                kept[STATE - 1] = node
                kept[STATE - 1] |= cython.cast(cython.ulonglong, place + i - first if place >= 0 else NOTHING) << 32
                at += 1
            i -= 1
        if not keep:
            self.memo_count = 0
            return node
        if self.tail_count == 0 or self.top > self.memo_top:
            self.memo_top = self.top
        self.memo_count = at
        self.memo_stop = self.stop
        self.memo_space = self.rules.space
        self.memo_dump = self.dump
        self.memo_low = self.low
        return node

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def log_stack(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Log where the frames are; returns where in the window's log they begin. -1 if the stack is not kept there:
        it is not one stack upwards from its innermost frame to the root or the dump's end."""
        n: cython.Py_ssize_t = count - first
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        step: cython.ulonglong = 0
        if (
            self.stop not in (StopReason.ROOT, StopReason.TRUNCATED, StopReason.ABSENT_PAGE)
            or not n
            or self.fresh_count != n
        ):
            return -1
        if self.tail_count and self.tail_place == NOTHING:
            return -1
        place = self.log.keep(n, self.fresh[1], first)
        if place < 0:
            return -1
        for i in range(n):
            if i < n - 1:
                step = self.fresh[STATE * (i + 1) + 1] - self.fresh[STATE * i + 1]
            elif self.tail_count:
                step = self.memo[STATE * (self.tail_count - 1) + 1] - self.fresh[STATE * i + 1]
            # A leaf function may have no frame of its own where calls put their return addresses in a register.
            if step >= 0xFFFF or (step == 0 and i > 0):
                self.log.forget(place)
                return -1
            self.log.steps[place + i] = cython.cast(cython.ushort, step)
        self.log.end(
            place + n,
            place + n - self.log.start - cython.cast(cython.Py_ssize_t, self.tail_place) if self.tail_count else 0,
        )
        place -= self.log.start
        return place

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def same_memory(self, equal: cython.ulonglong, down_to: cython.ulonglong) -> cython.ulonglong:
        """Compare both dumps downwards from ``equal``; the lowest address not below ``down_to`` to which they agree."""
        here: cython.p_ulonglong
        there: cython.p_ulonglong
        words: cython.Py_ssize_t
        if down_to < self.low or down_to < self.memo_low or equal < down_to or equal > self.high:
            return equal
        words = cython.cast(cython.Py_ssize_t, (equal - down_to) >> 3)
        if not words:
            return equal
        # Both dumps hold [down_to, equal): it lies above their lower ends, below this one's upper end, and all of it
        # up to memo_top, which equal never passes, was read in the other one.
        here = cython.cast(
            cython.p_ulonglong,
            cython.address(self.window[self.dump + cython.cast(cython.Py_ssize_t, down_to - self.low)]),
        )
        there = cython.cast(
            cython.p_ulonglong,
            cython.address(self.window[self.memo_dump + cython.cast(cython.Py_ssize_t, down_to - self.memo_low)]),
        )
        while words > 0 and here[words - 1] == there[words - 1]:
            words -= 1
            equal -= 8
        return equal

    # -- exceptions ---------------------------------------------------------------------------------------------

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def returns_to_handler(self, rule: cython.uint) -> cython.bint:
        """Whether a rule is one of a function that leaves for an exception's handler: it saves rax and rdx, which no
        other does, since a handler finds its arguments there (gcc, `__builtin_eh_return`)."""
        words: RulePointer
        found: cython.int = 0
        i: cython.int
        if rule >= RULE_LIMIT or self.link >= 0:
            return False
        words = rule_at(self.rules.words, rule)
        for i in range(min(words.saved_count, REGISTERS)):
            if words.saved[i].kind == kinds.AT_CFA and words.saved[i].number in (RAX, RDX):
                found += 1
        return found == 2

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def to_handler(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Walk on, if that leads to the root, where the unwinder of exceptions is about to leave for a handler.

        It puts the registers of the handler's frame where its own function saved those of its caller, the return
        address last; only the stack pointer is missing then. The frame it leaves for is the first above which the same
        return address still stands. Source: gcc, libgcc/unwind-dw2.c, `uw_install_context_1`. Returns the chain's
        length, -2 if the stack has to be walked again.
        """
        last: cython.Py_ssize_t = self.fresh_count - 1
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        place: cython.ulonglong
        back: cython.ulonglong
        if last > 3:
            last = 3
        for k in range(last):
            at = STATE * k
            back = self.fresh[at]
            self.rules.find(back if self.fresh[at + 8] == ALL_ONES else back - 1, back)
            if not self.returns_to_handler(self.rules.found_rule):
                continue
            at += STATE
            back = self.fresh[at]
            place = self.fresh[at + 1]
            while self.low <= place and place < self.high and self.high - place >= 8 and self.load(place) != back:
                place += 8
            if place < self.low or place >= self.high or self.high - place < 8:
                return count
            self.regs[RIP] = back
            self.regs[RSP] = place + 8
            self.regs[RBX] = self.fresh[at + 2]
            self.regs[RBP] = self.fresh[at + 3]
            for i in range(4):
                self.regs[12 + i] = self.fresh[at + 4 + i]
            self.known = cython.cast(cython.uint, self.fresh[at + 8] & CALLEE_SAVED)
            self.stop_image = NOTHING
            count = self.user_part(first + k + 1, k + 1, False)
            return count if self.stop == StopReason.ROOT and not self.ended_at_zero else -2
        return count
