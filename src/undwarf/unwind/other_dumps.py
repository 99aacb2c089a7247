# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Stacks larger than their dump, continued from other dumps of the same thread.

A function that calls others for a while is on the stack of one sample and not of the next, while its own callers stay
where they are. So the frames above a sample's dump are taken from the nearest sample of its thread, before it or after
it, in which the outermost frame of the dump is at the same stack address with the same return address, unless a sample
in between has anything else there. That is evidence, not proof: a program may return and call again through others. If
only the sample before or only the one after has the frame, some of the frames further in must be equal too, which shows
that it is the same call.

How often callers change is measured in the recording itself: the outer half of each dump is compared with what its
inner half alone would have been continued with. Threads where that fails too often are not continued; nor are stacks
that would not reach a root, those for which the samples before and after disagree, and callers whose address follows
no call.
"""

import os
from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, NOTHING
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import END

from undwarf.column import absent, zeros
from undwarf.unwind.frame_log import FrameLog
from undwarf.unwind.rule_cache import RuleCache
from undwarf.unwind.stacks import Stacks

RIGHT_PER_WRONG = cython.declare(cython.Py_ssize_t, 20)
"""Comparisons that must be right for each one that is wrong, for a thread to be continued. Compilers have 60 and more,
programs that call at random at most 5."""
FEWEST_RIGHT = cython.declare(cython.Py_ssize_t, 20)
"""Comparisons that must be right for a thread to be continued at all. Of 6, none was wrong for some programs that call
at random."""
SHARED_FRAMES = cython.declare(cython.Py_ssize_t, 6)
"""Frames at the dump's end that a sample must share with it if only that one, before or after, has its outermost frame.
Compared with whole stacks, 9 of some 600 with fewer were wrong, none of 1,300 with as many, and none of 20,000 for
which both samples agree."""
NEAR = cython.declare(cython.Py_ssize_t, 8)
"""Dumps of a thread before and after one that is too small that show how often callers change."""
COMPARED = cython.declare(cython.Py_ssize_t, 100)
"""Comparisons of a thread that show it well enough, spread over its whole time and in each direction."""


@cython.final
@cython.cclass
class Cursor:
    """Goes through a logged stack, from its innermost frame outwards."""

    def __init__(self, log: FrameLog, stacks: Stacks) -> None:
        self.log = log
        self.stacks = stacks

    def begin(self, number: cython.Py_ssize_t, node: cython.uint) -> cython.int:
        """Go to the innermost user frame of the stack with this number in the log; ``node`` is that of its innermost
        frame, kernel frames included, unless it is postponed."""
        i: cython.int
        self.at = self.log.starts[number]
        self.pointer = self.log.stack_pointers[number]
        self.is_postponed = self.log.frames_at[number] != 0
        if self.is_postponed:
            self.frame_at = self.log.frames_at[number] + 1 + self.log.kernel_counts[number]
            return 0
        self.frame_at = node
        for i in range(self.log.kernel_counts[number]):  # noqa: B007 - a C loop
            self.frame_at = self.stacks.node_key[self.frame_at] >> 32
        return 0

    def to_caller(self) -> cython.bint:
        """Go to the caller; False, without a move, if there is none."""
        at: cython.Py_ssize_t = self.at + 1
        if self.log.sizes[at] == END:
            at = self.log.continues_at(at)
            if at < 0:
                return False
        self.pointer += self.log.sizes[self.at]
        self.at = at
        if self.is_postponed:
            self.frame_at += 1
        else:
            self.frame_at = self.stacks.node_key[self.frame_at] >> 32
        return True

    def frame(self) -> cython.uint:
        """The frame's number in `stacks`."""
        if self.is_postponed:
            return cython.cast(cython.uint, self.log.frames[self.frame_at])
        return cython.cast(cython.uint, self.stacks.node_key[self.frame_at] & NOTHING)


@cython.final
@cython.cclass
class Dumps:
    """The samples of threads with stacks larger than their dump, thread by thread in order of time."""

    nodes_on_path: Any

    def __init__(self, rules: RuleCache, log: FrameLog, stack: memoryview, stop: memoryview, limits: Any) -> None:
        self.rules = rules
        self.stacks = rules.stacks
        self.log = log
        self.cursor = Cursor(log, self.stacks)
        self.other_cursor = Cursor(log, self.stacks)
        self.stack = stack
        self.stop = stop
        self.max_frames = limits.max_frames
        self.nodes_on_path = zeros("I", limits.max_frames + 8)
        self.inferred_nodes = zeros("Q", self.stacks.nodes)
        self.inferred_frames = zeros("I", self.stacks.frames)
        self.pending_count = 0

    @cython.locals(
        logged="const unsigned int[::1]",
        numbers="const unsigned int[::1]",
        threads="const unsigned int[::1]",
        starts="unsigned long long[::1]",
        i=cython.Py_ssize_t,
        n=cython.Py_ssize_t,
        total=cython.Py_ssize_t,
        s=cython.uint,
    )
    def sort(self, order: Any, thread_of: Any, thread_count: int, places: Any) -> memoryview:
        """Sort the samples that are in the log (``places``: their number there, plus one) by thread (``thread_of``, by
        sample; 0xffffffff none), in ``order`` of time; returns where each thread begins, and the end."""
        logged = places
        numbers = order
        threads = thread_of
        begins = zeros("Q", thread_count + 2)
        starts = begins
        for i in range(numbers.shape[0]):
            s = numbers[i]
            if threads[s] != NOTHING and logged[s]:
                starts[threads[s] + 2] += 1
        for i in range(thread_count):
            starts[i + 2] += starts[i + 1]
        total = starts[thread_count + 1]
        self.sample, self.number, self.edge_frame = zeros("I", total), zeros("I", total), zeros("I", total)
        self.edge, self.near, self.is_settled = zeros("Q", total), zeros("B", total), zeros("B", total)
        self.earlier, self.later, self.caller = absent("I", total), absent("I", total), absent("I", total)
        self.earlier_frame_at, self.later_frame_at = zeros("Q", total), zeros("Q", total)
        self.earlier_at, self.later_at = zeros("Q", total), zeros("Q", total)
        self.depth, self.pending = zeros("I", total), zeros("I", total)
        with cython.nogil:
            for i in range(numbers.shape[0]):
                s = numbers[i]
                if threads[s] == NOTHING or not logged[s]:
                    continue
                n = starts[threads[s] + 1]
                starts[threads[s] + 1] += 1
                self.sample[n] = s
                self.number[n] = logged[s] - 1
                self._find_edge(n)
        return begins[: thread_count + 1]

    def _begin(self, cursor: Cursor, n: cython.Py_ssize_t) -> cython.int:
        """Go to the innermost frame of a dump."""
        return cursor.begin(self.number[n], self.stack[self.sample[n]])

    def _find_edge(self, n: cython.Py_ssize_t) -> cython.int:
        """Find the outermost frame of a dump that has not all of its stack."""
        at: cython.Py_ssize_t = self.log.frames_at[self.number[n]]
        self.edge[n] = ALL_ONES
        if at:
            self.edge[n] = self._outermost_sp(n)
            self.edge_frame[n] = self.log.frames[at + self.log.frames[at]]
        return 0

    def _outermost_sp(self, n: cython.Py_ssize_t) -> cython.ulonglong:
        """The stack pointer of a stack's outermost frame."""
        at: cython.Py_ssize_t = self.log.starts[self.number[n]]
        found: cython.ulonglong = self.log.stack_pointers[self.number[n]]
        step: cython.ulonglong = 0
        while at >= 0:
            if self.log.sizes[at] == END:
                at = self.log.continues_at(at)
            else:
                # The size of the outermost frame is not known.
                found += step
                step = self.log.sizes[at]
                at += 1
        return found

    def _has_frame(self, n: cython.Py_ssize_t, pointer: cython.ulonglong, frame: cython.uint) -> cython.bint:
        """Whether a dump has this frame at this stack pointer, where ``other_cursor`` is then."""
        self._begin(self.other_cursor, n)
        while self.other_cursor.pointer < pointer:
            if not self.other_cursor.to_caller():
                return False
        return self.other_cursor.pointer == pointer and self.other_cursor.frame() == frame

    def _shared_frames(self, n: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """How many frames two dumps share, from the outermost one of the first inwards."""
        count: cython.Py_ssize_t = 0
        self._begin(self.cursor, n)
        self._begin(self.other_cursor, other)
        while True:
            while self.other_cursor.pointer < self.cursor.pointer and self.other_cursor.to_caller():
                pass
            if self.cursor.pointer == self.other_cursor.pointer and self.cursor.frame() == self.other_cursor.frame():
                count += 1
            else:
                count = 0
            if not self.cursor.to_caller():
                return count

    def _link_dump(self, n: cython.Py_ssize_t, backwards: cython.bint) -> cython.int:
        """Link a dump with the nearest one that has the caller of its outermost frame; it is pending then itself."""
        outer: cython.uint
        while self.pending_count and self.edge[self.pending[self.pending_count - 1]] <= self.edge[n]:
            self.pending_count -= 1
        # With a single frame only its stack pointer is known.
        if self.pending_count and self.edge[n] != self.log.stack_pointers[self.number[n]]:
            outer = self.pending[self.pending_count - 1]
            if self._has_frame(outer, self.edge[n], self.edge_frame[n]):
                if backwards:
                    self.later[n] = outer
                    self.later_frame_at[n] = self.other_cursor.frame_at
                    self.later_at[n] = self.other_cursor.at
                else:
                    self.earlier[n] = outer
                    self.earlier_frame_at[n] = self.other_cursor.frame_at
                    self.earlier_at[n] = self.other_cursor.at
        self.pending[self.pending_count] = cython.cast(cython.uint, n)
        self.pending_count += 1
        return 0

    def _check(self, n: cython.Py_ssize_t, backwards: cython.bint) -> cython.int:
        """Compare the outer half of a dump with what its inner half would be continued with: 1 equal, 2 different, 0
        without anything to compare."""
        k: cython.Py_ssize_t = self.pending_count - 1
        other: cython.uint
        link: cython.uint
        first: cython.Py_ssize_t
        middle: cython.ulonglong
        self._begin(self.cursor, n)
        middle = self.cursor.pointer
        middle += ((self.edge[n] if self.edge[n] != ALL_ONES else self._outermost_sp(n)) - middle) // 2
        first = self.cursor.at
        while self.cursor.pointer < middle and self.cursor.to_caller():
            pass
        while k >= 0 and self.edge[self.pending[k]] <= self.cursor.pointer:
            k -= 1
        if (
            self.cursor.at == first
            or k < 0
            or not self._has_frame(self.pending[k], self.cursor.pointer, self.cursor.frame())
        ):
            return 0
        other = self.pending[k]
        while self.cursor.at != self.other_cursor.at and self.cursor.to_caller():
            while not self.other_cursor.to_caller():
                # The other dump ends here: at the root, or where yet another one continues.
                if self.edge[other] == ALL_ONES:
                    return 2
                link = self.later[other] if backwards else self.earlier[other]
                if link == NOTHING:
                    return 0
                self.other_cursor.at = self.later_at[other] if backwards else self.earlier_at[other]
                self.other_cursor.frame_at = self.later_frame_at[other] if backwards else self.earlier_frame_at[other]
                self.other_cursor.is_postponed = self.log.frames_at[self.number[link]] != 0
                other = link
            if self.cursor.pointer != self.other_cursor.pointer or self.cursor.frame() != self.other_cursor.frame():
                return 2
        if self.cursor.at != self.other_cursor.at and self.edge[n] == ALL_ONES and self.other_cursor.to_caller():
            return 2
        return 1

    def _inferred_frame(self, frame: cython.uint) -> cython.uint:
        """The frame that stands for this one where it is taken from another dump; 0xffffffff if there is none."""
        found: cython.uint = self.inferred_frames[frame]
        if not found:
            found = self.rules.inferred_frame(frame)
            # No frame has the number NOTHING - 1.
            self.inferred_frames[frame] = found + 1 if found != NOTHING else NOTHING
        else:
            found = found - 1 if found != NOTHING else NOTHING
        return found

    def _inferred_stack(self, node: cython.uint) -> cython.ulonglong:
        """The stack of inferred frames that stands for a whole one, and its depth above 32 bits; all ones if there is
        none."""
        count: cython.Py_ssize_t = 0
        frame: cython.uint
        found: cython.ulonglong = NOTHING
        while node != NOTHING and not self.inferred_nodes[node]:
            if count >= self.nodes_on_path.shape[0]:
                return ALL_ONES
            self.nodes_on_path[count] = node
            count += 1
            node = cython.cast(cython.uint, self.stacks.node_key[node] >> 32)
        if node != NOTHING:
            found = self.inferred_nodes[node]
        while count > 0:
            count -= 1
            node = self.nodes_on_path[count]
            if found != ALL_ONES:
                frame = self._inferred_frame(cython.cast(cython.uint, self.stacks.node_key[node] & NOTHING))
                if frame == NOTHING:
                    found = ALL_ONES
                else:
                    found = (found >> 32) + 1 << 32 | cython.cast(
                        cython.ulonglong, self.stacks.node(cython.cast(cython.uint, found & NOTHING), frame)
                    )
            self.inferred_nodes[node] = found
        return found

    def _caller_in(self, other: cython.uint, frame_at: cython.Py_ssize_t) -> cython.ulonglong:
        """The inferred caller of the frame at ``frame_at`` (as Cursor.frame_at) of a dump, and its depth above 32 bits;
        all ones if there is none. The callers of that dump are settled."""
        at: cython.Py_ssize_t = self.log.frames_at[self.number[other]]
        frame: cython.uint
        node: cython.uint
        found: cython.ulonglong
        if not at:
            node = cython.cast(cython.uint, self.stacks.node_key[frame_at] >> 32)
            return self._inferred_stack(node) if node != NOTHING else ALL_ONES
        if self.caller[other] == NOTHING:
            return ALL_ONES
        found = cython.cast(cython.ulonglong, self.depth[other]) << 32 | self.caller[other]
        at += self.log.frames[at]
        while at > frame_at:
            frame = self._inferred_frame(self.log.frames[at])
            if frame == NOTHING:
                return ALL_ONES
            found = (found >> 32) + 1 << 32 | cython.cast(
                cython.ulonglong, self.stacks.node(cython.cast(cython.uint, found & NOTHING), frame)
            )
            at -= 1
        return found

    def _settle(self, n: cython.Py_ssize_t, trusted: cython.bint) -> cython.int:
        """Infer the caller of a dump's outermost frame from the dumps before and after it, if the thread is
        ``trusted``, and make the sample's stack; 1 if it is continued."""
        by_earlier: cython.ulonglong = ALL_ONES
        by_later: cython.ulonglong = ALL_ONES
        s: cython.uint = self.sample[n]
        at: cython.Py_ssize_t = self.log.frames_at[self.number[n]]
        count: cython.Py_ssize_t = self.log.frames[at]
        node: cython.uint
        if trusted and self.earlier[n] != NOTHING:
            by_earlier = self._caller_in(self.earlier[n], self.earlier_frame_at[n])
        if trusted and self.later[n] != NOTHING:
            by_later = self._caller_in(self.later[n], self.later_frame_at[n])
        inferred: cython.ulonglong = by_earlier
        if by_earlier == ALL_ONES:
            if by_later != ALL_ONES and self._shared_frames(n, self.later[n]) >= SHARED_FRAMES:
                inferred = by_later
        elif by_later == ALL_ONES:
            if self._shared_frames(n, self.earlier[n]) < SHARED_FRAMES:
                inferred = ALL_ONES
        elif by_later != by_earlier:
            inferred = ALL_ONES
        if (
            inferred != ALL_ONES
            and (inferred >> 32) + count - self.log.kernel_counts[self.number[n]] <= self.max_frames
        ):
            self.caller[n] = cython.cast(cython.uint, inferred & NOTHING)
            self.depth[n] = cython.cast(cython.uint, inferred >> 32)
            self.stop[s] = cython.cast(cython.uchar, StopReason.INFERRED_ROOT)
        self.is_settled[n] = True
        node = self.caller[n]
        while count > 0:
            node = self.stacks.node(node, self.log.frames[at + count])
            count -= 1
        self.stack[s] = node
        return cython.cast(cython.Py_ssize_t, self.caller[n] != NOTHING)

    def _mark_near(self, first: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Mark the dumps near those that are too small; returns of how many one is to be compared."""
        i: cython.Py_ssize_t = first
        k: cython.Py_ssize_t
        marked: cython.Py_ssize_t = first
        count: cython.Py_ssize_t = 0
        for i in range(first, end):
            if self.edge[i] == ALL_ONES:
                continue
            for k in range(max(marked, i - NEAR), min(end, i + NEAR + 1)):
                self.near[k] = True
                count += 1
            marked = max(marked, min(end, i + NEAR + 1))
        return 1 + count // COMPARED

    def _link(self, first: cython.Py_ssize_t, end: cython.Py_ssize_t, backwards: cython.bint) -> cython.int:
        """Link a thread's dumps with those before (``backwards``: after) them, and count how often that is right."""
        every: cython.Py_ssize_t = self._mark_near(first, end)
        due: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t
        found: cython.int
        self.pending_count = 0
        for i in range(end - first):
            n = end - 1 - i if backwards else first + i
            if self.near[n]:
                due += 1
                if due >= every:
                    found = self._check(n, backwards)
                    self.right += found == 1
                    self.wrong += found == 2
                    if found:
                        due = 0
            self._link_dump(n, backwards)
        return 0

    def _is_unsettled(self, n: cython.uint) -> cython.bint:
        """Whether the callers of a dump still have to be inferred."""
        return n != NOTHING and self.edge[n] != ALL_ONES and not self.is_settled[n]

    def _continue_thread(self, first: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Continue the stacks of the thread that has the dumps from ``first`` to ``end - 1``; returns how many were."""
        trusted: cython.bint
        done: cython.Py_ssize_t = 0
        waiting: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n: cython.uint
        self.right = self.wrong = 0
        self._link(first, end, False)
        self._link(first, end, True)
        trusted = self.right >= FEWEST_RIGHT and self.right >= RIGHT_PER_WRONG * self.wrong
        for i in range(first, end):
            # A dump waits for one that ends further out, so none waits for itself.
            self.pending[0] = cython.cast(cython.uint, i)
            waiting = cython.cast(cython.Py_ssize_t, self._is_unsettled(cython.cast(cython.uint, i)))
            while waiting:
                n = self.pending[waiting - 1]
                if trusted and self._is_unsettled(self.earlier[n]):
                    self.pending[waiting] = self.earlier[n]
                    waiting += 1
                elif trusted and self._is_unsettled(self.later[n]):
                    self.pending[waiting] = self.later[n]
                    waiting += 1
                else:
                    done += self._settle(n, trusted)
                    waiting -= 1
        return done

    @cython.locals(begins="const unsigned long long[::1]", i=cython.Py_ssize_t, done=cython.Py_ssize_t)
    def continue_threads(self, starts: Any) -> int:
        """Continue the stacks of all threads; returns how many were."""
        begins = starts
        done = 0
        with cython.nogil:
            for i in range(begins.shape[0] - 1):
                done += self._continue_thread(begins[i], begins[i + 1])
        return done


@cython.locals(
    pids="const int[::1]",
    tids="const int[::1]",
    stops="const unsigned char[::1]",
    found="unsigned int[::1]",
    slots="unsigned int[::1]",
    key=cython.ulonglong,
    factor=cython.ulonglong,
    at=cython.ulonglong,
    mask=cython.ulonglong,
    i=cython.Py_ssize_t,
    s=cython.Py_ssize_t,
    step=cython.int,
    bits=cython.int,
    count=cython.uint,
    truncated=cython.Py_ssize_t,
)
def threads_with_truncated(samples: Any, stop: Any) -> tuple[memoryview, int]:
    """The number of each sample's thread ('I'), and how many threads there are. 0xffffffff for threads without a stack
    that ends with its dump, and for samples whose stack ends neither there nor at its root."""
    pids = samples.pid
    tids = samples.tid
    stops = stop
    truncated = count = 0
    for i in range(stops.shape[0]):
        truncated += stops[i] in (StopReason.TRUNCATED, StopReason.ABSENT_PAGE)
    bits = 4
    while 1 << bits < 2 * truncated:
        bits += 1
    # Random and odd, so that no choice of thread numbers has all of them in one slot.
    factor = int.from_bytes(os.urandom(8), "little") | 1
    mask = (1 << bits) - 1
    # By slot a sample of the thread, plus one.
    slots = zeros("I", 1 << bits)
    numbers = absent("I", stops.shape[0])
    found = numbers
    with cython.nogil:
        for step in range(2):
            for s in range(stops.shape[0]):
                if stops[s] not in (StopReason.TRUNCATED, StopReason.ABSENT_PAGE) and (
                    step == 0 or stops[s] != StopReason.ROOT
                ):
                    continue
                key = cython.cast(cython.ulonglong, cython.cast(cython.uint, pids[s])) << 32 | cython.cast(
                    cython.uint, tids[s]
                )
                at = ((key ^ key >> 31) * factor) >> (64 - bits)
                while slots[at]:
                    i = cython.cast(cython.Py_ssize_t, slots[at]) - 1
                    if pids[i] == pids[s] and tids[i] == tids[s]:
                        break
                    at = (at + 1) & mask
                if slots[at]:
                    found[s] = found[cython.cast(cython.Py_ssize_t, slots[at]) - 1]
                elif step == 0:
                    slots[at] = cython.cast(cython.uint, s + 1)
                    found[s] = count
                    count += 1
    return numbers, count


def continue_truncated(
    records: Any, rules: RuleCache, log: FrameLog, places: memoryview, stack: memoryview, stop: memoryview, limits: Any
) -> int:
    """Continue stacks that end with their dump; returns how many were. ``stack``, ``stop`` and ``places`` (the number
    in the log, plus one) are by sample. Continued stacks have stop reason INFERRED_ROOT, and frames of provenance
    OTHER_DUMP above the outermost one of their own dump."""
    thread_of, count = threads_with_truncated(records.samples, stop)
    if not count:
        return 0
    dumps = Dumps(rules, log, stack, stop, limits)
    starts = dumps.sort(records.sample_order, thread_of, count, places)
    return dumps.continue_threads(starts)
