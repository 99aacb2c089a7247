# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The walk: from sampled registers and stack bytes to interned stacks, with a reason where each one ends.

One :class:`Walker` belongs to one thread; it holds the GIL only to load an image or compile a function it meets for
the first time. What it is made of is in modules of their own, each of which goes on from the one before: addresses
(`lookup.py`, with frames and stacks in `stacks.py`), memory (`process_memory.py`), registers and expressions over them
(`dwarf_expression.py`), steps from a frame to its caller (`frame_step.py`), the frames of one dump (`dump_walk.py`),
and chains that the kernel made (`kernel_chains.py`).
"""

from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES, GOLDEN_RATIO, NOTHING
from cython.cimports.undwarf.perfdata.abi import BRANCH_CALL_STACK, BRANCH_HW_INDEX
from cython.cimports.undwarf.tables.registers import RBX, RIP, RSP
from cython.cimports.undwarf.tables.registers import X86_64_COUNT as REGISTERS
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_state import STATE, LiveMemory

from undwarf.column import zeros
from undwarf.unwind.image_table import Places
from undwarf.unwind.kernel_chains import SampledChains

IN_PAGE = cython.declare(cython.ulonglong, 4095)

LONGEST_CALL = cython.declare(cython.ulonglong, 8)
"""Bytes from a call to where it returns, at most."""


NMI_UNKNOWN = cython.declare(cython.uint, 1 << 3 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15)
"""rbx and r12 to r15: not saved when a non-maskable interrupt takes a sample inside the kernel, then all ones."""

BARE = cython.declare(cython.Py_ssize_t, 1 << 12)
"""Stacks of one address that are remembered."""


@cython.final
@cython.cclass
class Walker(SampledChains):
    """Walks samples of one recording in one thread."""

    # Samples.
    positions = cython.declare("const unsigned long long[::1]")
    miscs = cython.declare("const unsigned short[::1]")
    ips = cython.declare("const unsigned long long[::1]")
    events = cython.declare("const unsigned short[::1]")
    chain_at = cython.declare("const unsigned short[::1]")
    regs_at = cython.declare("const unsigned short[::1]")
    stack_at = cython.declare("const unsigned short[::1]")
    space_of = cython.declare("const unsigned int[::1]")
    kernel_of = cython.declare("const unsigned int[::1]")
    slots = cython.declare("const unsigned char[::1]")
    selected = cython.declare("const unsigned char[::1]")
    # Where in the stream the window begins.
    base: cython.ulonglong
    # The sample at hand: its stack, and whether its registers are of a machine that is not walked.
    result: cython.uint
    unsupported: cython.bint
    foreign: cython.bint
    # Where in the chain the user frames of the dump that was walked last begin and end.
    traced_first: cython.Py_ssize_t
    traced_end: cython.Py_ssize_t
    # Of samples that have an address only: where it was, its snapshot and the stack it is (3 a place).
    bare = cython.declare("unsigned long long[::1]")
    completed = cython.declare(cython.Py_ssize_t, visibility="readonly")
    guessed = cython.declare(cython.Py_ssize_t, visibility="readonly")
    unproven = cython.declare(cython.Py_ssize_t, visibility="readonly")
    deferred = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(
        self,
        source: Places,
        spaces: dict[str, memoryview],
        samples: Any,
        space_of: memoryview,
        kernel_of: memoryview,
        slots: memoryview,
        selected: memoryview,
        image_count: int,
        limits: Any,
        runtime: bool = False,
        kernel_image: int = 0xFFFFFFFF,
    ) -> None:
        super().__init__(source, spaces, image_count, limits, runtime, kernel_image)
        self.see(samples, space_of, kernel_of, selected)
        self.slots = slots

    def see(self, samples: Any, space_of: memoryview, kernel_of: memoryview, selected: memoryview) -> None:
        """Walk these samples from now on."""
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
        # Snapshots may be others now.
        self.bare = zeros("Q", 3 * BARE)

    def show_returns(self) -> None:
        """Keep return addresses as the absolute addresses of callers, not what they are looked up by."""
        self.rules.returns = True

    def stop_at_innermost(self) -> None:
        """Give of each dump the innermost frame only, for which no rule is asked."""
        self.innermost_only = True

    def refuse_dumps(self) -> None:
        """Look into no dump: its registers are those of a machine that is not known."""
        self.foreign = True

    def take_over(self, other: Walker) -> None:  # noqa: F821 - the class itself, which Cython knows here
        """Go on with the stacks and the counts of a walker that had room for fewer images."""
        self.rules.stacks = other.rules.stacks
        self.live = other.live
        self.live_whole = other.live_whole
        if other.deep is not None:
            self.see_deep(other.deep)
        self.completed = other.completed
        self.guessed = other.guessed
        self.unproven = other.unproven
        self.deferred = other.deferred
        self.damaged = other.damaged

    def keep_frames(self, log: Any) -> None:
        """Log where frames are."""
        self.log = log
        self.logs = True

    def forget_frames(self) -> None:
        """Log no frames from here on: every stack becomes one of nodes."""
        self.logs = False

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
        """Walk samples ``first`` to ``last - 1``, whose records lie in ``window`` (stream position ``base``).

        Writes each sample's stack node, stop reason and the image where it stopped (0xffffffff: none), and if frames
        are logged the number of its stack there, as one more (0: none).
        """
        i: cython.Py_ssize_t
        begin: cython.Py_ssize_t = first
        end: cython.Py_ssize_t = last
        self.window = window
        self.base = base
        self.memo_count = 0
        if self.logs:
            self.log.begin_window()
        with cython.nogil:
            for i in range(begin, end):
                if not self.selected[i]:
                    continue
                self.sample(i)
                if self.logs:
                    logged[i] = self.log.last
                stops[i] = cython.cast(cython.uchar, self.stop)
                results[i] = self.result
                stop_images[i] = self.stop_image
        self.window = None

    def trace(self, window: memoryview, base: int, number: int) -> tuple[list[int], list[int], list[int]] | None:
        """Walk a sample, whose record lies in ``window`` (stream position ``base``), and keep its chain at hand for
        :meth:`continued`. By user frame, from the innermost on: stack pointers, addresses and frame numbers; None where
        they are not those of one dump on one stack.
        """
        i: cython.Py_ssize_t
        count: cython.Py_ssize_t
        self.window = window
        self.base = base
        self.memo_count = 0
        self.fresh_count = 0
        self.traced_first = self.traced_end = 0
        self.sample(number)
        self.window = None
        count = self.fresh_count
        if not count or self.traced_end - self.traced_first != count:
            return None
        pointers: list[int] = [self.fresh[STATE * i + 1] for i in range(count)]
        addresses: list[int] = [self.fresh[STATE * i] for i in range(count)]
        frames: list[int] = [self.chain[self.traced_first + i] for i in range(count)]
        for i in range(1, count):
            # A leaf function may have no frame of its own where calls put their return addresses in a register.
            if pointers[i] < pointers[i - 1] or (i > 1 and pointers[i] == pointers[i - 1]):
                return None
        return pointers, addresses, frames

    def entry_of(self, window: memoryview, base: int, number: int, reach: int) -> tuple[int, int, int] | None:
        """Walk a sample that ends in code without rules, whose record lies in ``window`` (stream position ``base``):
        where the nearest return address above the stack pointer is that lies in a function with rules behind a call,
        ``reach`` bytes away at most. Its frame, the distance in bytes, and the address that the walk stopped at; None
        without.
        """
        at: cython.ulonglong
        end: cython.ulonglong
        found: tuple[int, int, int] | None = None
        self.window = window
        self.base = base
        self.memo_count = 0
        self.sample(number)
        if self.stop == StopReason.NO_RULE and self.low <= self.regs[RSP]:
            end = min(self.high, self.regs[RSP] + cython.cast(cython.ulonglong, reach))
            at = self.next_entry(self.regs[RSP], end)
            if at < end:
                found = self.rules.found_frame, at - self.regs[RSP], self.regs[RIP]
        self.window = None
        return found

    def inferred(self, parent: int, frame: int) -> int:
        """The node of a caller that is taken from another dump, below that of its own caller; 0xffffffff where no call
        stands before its address."""
        here: cython.uint = frame
        if self.rules.stacks.frame_provenance[here] != Provenance.OTHER_DUMP:
            here = self.rules.inferred_frame(here)
        return 0xFFFFFFFF if here == NOTHING else self.rules.stacks.node(parent, here)

    def place(self, frame: int) -> tuple[int, int]:
        """A frame's image and its address there; 0xffffffff as the image for none."""
        number: cython.Py_ssize_t = frame
        return self.rules.stacks.frame_image[number], self.rules.stacks.frame_address[number]

    def frame_at(self, frame: int, address: int) -> int:
        """The number of a frame at another address of the same image in the same process, taken from another dump."""
        number: cython.Py_ssize_t = frame
        there: cython.ulonglong = address
        runtime: cython.ulonglong = self.rules.stacks.frame_runtime[number]
        if runtime:
            runtime += there - self.rules.stacks.frame_address[number]
        return self.rules.stacks.frame(self.rules.stacks.frame_image[number], there, runtime, Provenance.OTHER_DUMP)

    @property
    def missing_scheduler(self) -> int:
        """The stack pointer of the scheduler of the Haskell code that the last walk ended in; 0 where it did not."""
        return self.scheduler_at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def infer_callers(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.bint:
        """Mark the frames of the chain whose return addresses are not in the dump; False where one follows no call."""
        k: cython.Py_ssize_t
        frame: cython.uint
        if self.fresh_count != count - first:
            return False
        for k in range(1, self.fresh_count):
            if self.fresh[STATE * k + 1] > self.high:
                frame = self.chain[first + k]
                if self.rules.stacks.frame_provenance[frame] != Provenance.OTHER_DUMP:
                    frame = self.rules.inferred_frame(frame)
                if frame == NOTHING:
                    return False
                self.chain[first + k] = frame
        return True

    def continued(self, node: int) -> int:
        """The stack of the sample that was traced last, with ``node`` as the caller of its outermost frame."""
        found: cython.uint = node
        i: cython.Py_ssize_t = self.traced_end
        while i > 0:
            i -= 1
            found = cython.cast(cython.uint, self.rules.stacks.node(found, self.chain[i]))
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def sample(self, s: cython.Py_ssize_t) -> cython.int:
        """Make one sample's stack; sets ``result``, ``stop`` and ``stop_image``."""
        record: cython.Py_ssize_t
        count: cython.Py_ssize_t = 0
        kernel_count: cython.Py_ssize_t
        node: cython.uint
        mode: cython.uint = self.miscs[s] & 7
        walked: cython.bint
        known: cython.Py_ssize_t = -1
        self.stop = StopReason.NONE
        self.stop_image = NOTHING
        self.result = NOTHING
        self.number = s
        self.live_state = LiveMemory.UNUSED
        self.trial = False
        self.tried_scheduler = 0
        self.live_low = 0
        self.live_high = 0
        self.rules.space = self.space_of[s]
        if self.positions[s] < self.base or self.positions[s] - self.base > cython.cast(
            cython.ulonglong, self.window.shape[0]
        ):
            self.damaged += 1
            return 0
        if mode == 2 and self.ips[s] and not (self.chain_at[s] or self.regs_at[s] or self.stitched):
            known = 3 * cython.cast(
                cython.Py_ssize_t, ((self.ips[s] ^ self.rules.space) * GOLDEN_RATIO) >> 52 & (BARE - 1)
            )
            if self.bare[known] == self.ips[s] and self.bare[known + 1] == self.rules.space:
                self.result = cython.cast(cython.uint, self.bare[known + 2])
                self.stop = StopReason.NO_DUMP
                return 0
        record = cython.cast(cython.Py_ssize_t, self.positions[s] - self.base)
        if self.chain_at[s]:
            count = self.kernel_part(record + self.chain_at[s], self.kernel_of[s])
        elif mode == 1 and self.ips[s]:
            self.chain[0] = cython.cast(
                cython.uint, self.rules.kernel_frame(self.kernel_of[s], self.ips[s], self.ips[s])
            )
            count = 1
        kernel_count = count
        self.tail_node = NOTHING
        if self.logs:
            self.log.last = 0
        walked = self.open_dump(s, record, mode)
        if walked:
            count = self.dumped_part(s, record, mode, count)
            if not self.is_whole() and self.came_later(s) > count - kernel_count:
                # The kernel walked the real stack: further than the dump reaches.
                walked = False
                count = self.later_user_chain(s, kernel_count)
        elif self.chain_at[s] and self.user_chain_at >= 0 and self.has_call_stack(s, record):
            count = self.branch_chain(record + self.branch_at[s], self.branch_kinds[self.events[s]], count)
        elif self.chain_at[s] and self.user_chain_at >= 0:
            count = self.sampled_user_chain(count, cython.cast(cython.int, self.miscs[s] >> 8 & 31))
        elif self.unsupported:
            self.stop = StopReason.UNSUPPORTED
        elif self.deferred_here:
            if self.came_later(s) >= 0:
                count = self.later_user_chain(s, count)
            else:
                self.stop = StopReason.DEFERRED
                self.deferred += 1
        elif self.stitched:
            self.stop = self.miscs[s] >> 8 & 31
        if count == kernel_count and mode == 2 and self.ips[s] and self.stop != StopReason.DEFERRED:
            # Neither registers nor a chain: the sampled address is all there is.
            self.rules.resolve(self.ips[s], self.ips[s], Provenance.USER_CHAIN)
            self.chain[count] = self.rules.found_frame
            count += 1
            if self.stop == StopReason.NONE:
                self.stop = StopReason.NO_DUMP
        node = NOTHING
        if walked:
            self.traced_first = kernel_count
            self.traced_end = count
            node = cython.cast(cython.uint, self.remember(kernel_count, count))
            count = kernel_count if node != NOTHING else 0
        while count > 0:
            count -= 1
            node = cython.cast(cython.uint, self.rules.stacks.node(node, self.chain[count]))
        if self.branch_history and self.branch_kinds.shape[0] and self.branch_at[s]:
            node = self.with_branches(s, record, node)
        self.result = node
        if known >= 0:
            self.bare[known] = self.ips[s]
            self.bare[known + 1] = self.rules.space
            self.bare[known + 2] = node
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def has_call_stack(self, s: cython.Py_ssize_t, record: cython.Py_ssize_t) -> cython.bint:
        """Whether a sample's branch stack is one of calls, and not empty."""
        if not self.branch_kinds.shape[0] or not self.branch_at[s]:
            return False
        if not self.branch_kinds[self.events[s]] & BRANCH_CALL_STACK:
            return False
        return self.branch_count(record + self.branch_at[s], self.branch_kinds[self.events[s]]) > 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFF, check=True)
    def with_branches(self, s: cython.Py_ssize_t, record: cython.Py_ssize_t, leaf: cython.uint) -> cython.uint:
        """A stack below which the branches before the sample are: the sampled address, the newest branch's target and
        source, those of the one before, and so on; then the callers that no branch was a call of."""
        kind: cython.ulonglong = self.branch_kinds[self.events[s]]
        at: cython.Py_ssize_t = record + self.branch_at[s]
        total: cython.Py_ssize_t
        i: cython.Py_ssize_t
        source: cython.uint
        sampled: cython.uint
        caller: cython.uint
        node: cython.uint
        address: cython.ulonglong
        if leaf == NOTHING or kind & BRANCH_CALL_STACK:
            return leaf
        total = self.branch_count(at, kind)
        at += 16 if kind & BRANCH_HW_INDEX else 8
        sampled = cython.cast(cython.uint, self.rules.stacks.node_key[leaf] & NOTHING)
        node = cython.cast(cython.uint, self.rules.stacks.node_key[leaf] >> 32)
        for i in range(total):
            if node == NOTHING:
                break
            source = self.branch_frame(at + 24 * i, self.kernel_of[s])
            caller = cython.cast(cython.uint, self.rules.stacks.node_key[node] & NOTHING)
            address = self.rules.stacks.frame_address[source]
            if (
                self.rules.stacks.frame_image[source] == self.rules.stacks.frame_image[caller]
                and 0 <= self.rules.stacks.frame_address[caller] - address < LONGEST_CALL
            ):
                node = cython.cast(cython.uint, self.rules.stacks.node_key[node] >> 32)
        i = total
        while i > 0:
            i -= 1
            source = self.branch_frame(at + 24 * i, self.kernel_of[s])
            node = cython.cast(cython.uint, self.rules.stacks.node(node, source))
            source = self.branch_frame(at + 24 * i + 8, self.kernel_of[s])
            node = cython.cast(cython.uint, self.rules.stacks.node(node, source))
        return cython.cast(cython.uint, self.rules.stacks.node(node, sampled))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def is_whole(self) -> cython.bint:
        """Whether the walk has reached the root of its stack (undwarf.unwind.stop.WHOLE)."""
        return self.stop in (StopReason.ROOT, StopReason.FIBER_ROOT, StopReason.SIGNAL_STACK, StopReason.ENTERED_STACK)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def dumped_part(
        self, s: cython.Py_ssize_t, record: cython.Py_ssize_t, mode: cython.uint, first: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Walk the dump, which is open, from entry ``first`` of the chain on; again, in other ways, where that does not
        lead to the root. Returns the chain's length."""
        count: cython.Py_ssize_t = self.user_part(first, 0, False)
        if (
            (self.ended_at_zero or self.stop == StopReason.UNMAPPED or self.stop == StopReason.BAD_CFA)
            and 0 < count - first <= 3
            and self.open_dump(s, record, mode)
        ):
            count = self.user_part(first, 0, True)
            if not self.is_whole() or self.ended_at_zero:
                self.open_dump(s, record, mode)
                count = self.user_part(first, 0, False)
        if (
            self.stop in (StopReason.UNMAPPED, StopReason.BAD_CFA)
            and 0 < count - first <= 2
            and self.open_dump(s, record, mode)
        ):
            self.past_frame = True
            count = self.user_part(first, 0, False)
            self.past_frame = False
            if not self.is_whole():
                self.open_dump(s, record, mode)
                count = self.user_part(first, 0, False)
        if self.ended_at_zero or self.stop in (StopReason.UNMAPPED, StopReason.BAD_CFA, StopReason.UNREADABLE_MEMORY):
            count = self.to_handler(first, count)
            if count < 0:
                self.open_dump(s, record, mode)
                count = self.user_part(first, 0, False)
        if self.live_state == LiveMemory.OPEN and not self.trial:
            self.completed += self.is_whole()
        elif self.live_state != LiveMemory.UNUSED:
            if self.trial:
                # Nothing proves yet that these are the sample's own callers; those of later ones they may be.
                with cython.gil:
                    self._end_trial(self.is_whole())
                self.trial = False
                if self.alike and self.is_whole() and self.infer_callers(first, count):
                    self.stop = StopReason.INFERRED_ROOT
                    self.guessed += 1
                    return count
                self.live_state = LiveMemory.REFUSED
                self.open_dump(s, record, mode)
                count = self.user_part(first, 0, False)
            self.unproven += self.stop == StopReason.TRUNCATED
        if self.ended_at_zero or not self.is_whole():
            count = self.cut_at_fiber_root(first, count)
        if self.stop == StopReason.TRUNCATED and self.ended_early:
            self.stop = StopReason.ABSENT_PAGE
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def open_dump(self, s: cython.Py_ssize_t, record: cython.Py_ssize_t, mode: cython.uint) -> cython.bint:
        """Set registers and dump bounds from the sample; False if it has none that can be walked."""
        at: cython.Py_ssize_t
        abi: cython.ulonglong
        size: cython.ulonglong
        valid: cython.ulonglong
        slot: cython.uint
        i: cython.int
        first: cython.Py_ssize_t
        self.unsupported = False
        if not self.chain_at[s]:
            self.user_chain_at = -1
            self.deferred_here = False
        if not self.regs_at[s]:
            return False
        at = record + self.regs_at[s]
        abi = self.word(at)
        if abi != 2 or self.foreign:
            self.unsupported = abi != 0
            return False
        if not self.stack_at[s]:
            return False
        size = self.word(record + self.stack_at[s])
        if size == 0:
            return False
        self.dump = record + self.stack_at[s] + 8
        if size > cython.cast(cython.ulonglong, self.window.shape[0] - self.dump):
            self.damaged += 1
            return False
        valid = self.word(self.dump + cython.cast(cython.Py_ssize_t, size))
        if valid > size:
            valid = size
        self.known = 0
        first = cython.cast(cython.Py_ssize_t, self.events[s]) * 17
        for i in range(REGISTERS):
            slot = self.slots[first + i]
            if slot != 255:
                self.regs[i] = self.word(at + 8 + 8 * slot)
                self.known |= cython.cast(cython.uint, 1) << i
            else:
                self.regs[i] = 0
        if mode == 1 and self.link < 0:
            for i in range(RBX, 16):
                if NMI_UNKNOWN >> i & 1 and self.regs[i] == ALL_ONES:
                    self.known &= ~(cython.cast(cython.uint, 1) << i)
        if not self.known >> RIP & 1 or not self.known >> RSP & 1:
            return False
        self.in_kernel = mode == 1
        self.low = self.regs[RSP]
        self.high = self.low + valid
        if self.high < self.low:
            self.high = self.low
        self.ended_early = valid < size and self.high & IN_PAGE == 0
        return True
