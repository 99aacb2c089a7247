# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Stacks larger than their dump, continued from other dumps of the same thread.

A function that calls others for a while has them on the stack of one sample and not of the next, and its own callers
stay where they are. So what lies outside of a sample's dump is taken from the nearest sample of its thread, before it
or after it, in which the outermost frame of the dump is at the same stack address with the same return address, where
no sample in between had anything else there. That is evidence, not proof: a program may return and call again through
others. Where only the sample before or only the one after has it, some of the frames inside have to be the same too,
which shows that it is the same call. How often callers change is measured with the same recording: each dump is
compared with what its inner half alone would have been continued with. A thread where that fails more often than rarely
is left as it is; so are stacks that do not come to a root, those for which the samples before and after disagree, and
callers whose address no call stands before.
"""

import os
from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES, NOTHING
from cython.cimports.undwarf.unwind.stop_reason import StopReason
from cython.cimports.undwarf.unwind.walk_constants import END

from undwarf.column import absent, zeros
from undwarf.unwind.frame_log import FrameLog
from undwarf.unwind.rule_cache import RuleCache
from undwarf.unwind.stacks import Stacks

TRUSTED = cython.declare(cython.Py_ssize_t, 20)
"""Comparisons that hold for each one that does not, from which on a thread is continued. Compilers have 60 and more,
programs that call at random at most 5."""
FEWEST = cython.declare(cython.Py_ssize_t, 20)
"""Comparisons that must hold for a thread to be continued at all. With 6 programs that call at random were met that
had none that failed."""


SHARED = cython.declare(cython.Py_ssize_t, 6)
"""Frames at the dump's end that one of the samples before and after has in common with it, from which on that one alone
is enough. Compared with whole stacks, 9 of some 600 with fewer were others, none of 1,300 with as many, and none of
20,000 for which both samples agree."""
NEAR = cython.declare(cython.Py_ssize_t, 8)
"""Dumps of a thread before and after one that is too small, from which it is seen how often callers change."""
COMPARED = cython.declare(cython.Py_ssize_t, 100)
"""Comparisons of a thread that are enough to see it, from its whole time and in each direction."""


@cython.final
@cython.cclass
class Cursor:
    """A place in a logged stack, from its innermost frame outwards."""

    at: cython.Py_ssize_t
    pointer: cython.ulonglong
    # Which node of `stacks` the frame is, or where in the log's `frames` it is.
    place: cython.Py_ssize_t
    put_off: cython.bint
    log: FrameLog
    stacks: Stacks

    def __init__(self, log: FrameLog, stacks: Stacks) -> None:
        self.log = log
        self.stacks = stacks

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def begin(self, number: cython.Py_ssize_t, node: cython.uint) -> cython.int:
        """Go to the innermost user frame of the stack with this number in the log; ``node`` is that of its innermost
        frame, the kernel's included, if it has one."""
        i: cython.int
        self.at = self.log.at[number]
        self.pointer = self.log.pointer[number]
        self.put_off = self.log.frames_at[number] != 0
        if self.put_off:
            self.place = self.log.frames_at[number] + 1 + self.log.kernel[number]
            return 0
        self.place = node
        for i in range(self.log.kernel[number]):  # noqa: B007 - a C loop
            self.place = self.stacks.node_key[self.place] >> 32
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def outwards(self) -> cython.bint:
        """Go to the caller; False, and stay, where there is none."""
        at: cython.Py_ssize_t = self.at + 1
        if self.log.steps[at] == END:
            at = self.log.goes_on(at)
            if at < 0:
                return False
        self.pointer += self.log.steps[self.at]
        self.at = at
        if self.put_off:
            self.place += 1
        else:
            self.place = self.stacks.node_key[self.place] >> 32
        return True

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(0xFFFFFFFE, check=True)
    def frame(self) -> cython.uint:
        """The frame there."""
        if self.put_off:
            return cython.cast(cython.uint, self.log.frames[self.place])
        return cython.cast(cython.uint, self.stacks.node_key[self.place] & NOTHING)


@cython.final
@cython.cclass
class Dumps:
    """The samples of those threads that have stacks larger than their dump, thread by thread in time order."""

    # By sample.
    stack = cython.declare("unsigned int[::1]")
    stop = cython.declare("unsigned char[::1]")
    # By dump: its sample, its number in the log, and where it ends: stack pointer (all ones: at the root) and frame of
    # its outermost frame.
    sample = cython.declare("unsigned int[::1]")
    number = cython.declare("unsigned int[::1]")
    edge = cython.declare("unsigned long long[::1]")
    edge_frame = cython.declare("unsigned int[::1]")
    # Whether a stack larger than its dump is among the next ones or the last ones.
    near = cython.declare("unsigned char[::1]")
    # The dump before it and the one after it that know the caller of its outermost frame, that frame's place there, and
    # where that is in the log.
    earlier = cython.declare("unsigned int[::1]")
    earlier_place = cython.declare("unsigned long long[::1]")
    earlier_at = cython.declare("unsigned long long[::1]")
    later = cython.declare("unsigned int[::1]")
    later_place = cython.declare("unsigned long long[::1]")
    later_at = cython.declare("unsigned long long[::1]")
    # What is inferred: whether that was tried, the node of that caller, and how many frames it has from the root on.
    settled = cython.declare("unsigned char[::1]")
    caller = cython.declare("unsigned int[::1]")
    depth = cython.declare("unsigned int[::1]")
    # The dumps of which the stack consists as the newest samples show it, from the outermost on.
    seen = cython.declare("unsigned int[::1]")
    seen_count: cython.Py_ssize_t
    # Comparisons of the thread at hand that held, and that did not.
    held: cython.Py_ssize_t
    wrong: cython.Py_ssize_t
    # By node of a stack that was walked: the same with inferred frames, and its depth above 32 bits; 0 where that was
    # not asked, all ones where there is none. By frame: the inferred one, as one more.
    inferred_nodes = cython.declare("unsigned long long[::1]")
    inferred_frames = cython.declare("unsigned int[::1]")
    path = cython.declare("unsigned int[::1]")
    max_frames: cython.Py_ssize_t
    here: Cursor
    there: Cursor
    log: FrameLog
    stacks: Stacks
    rules: RuleCache

    def __init__(self, rules: RuleCache, log: FrameLog, stack: memoryview, stop: memoryview, limits: Any) -> None:
        self.rules = rules
        self.stacks = rules.stacks
        self.log = log
        self.here = Cursor(log, self.stacks)
        self.there = Cursor(log, self.stacks)
        self.stack = stack
        self.stop = stop
        self.max_frames = limits.max_frames
        self.path = zeros("I", limits.max_frames + 8)
        self.inferred_nodes = zeros("Q", self.stacks.nodes)
        self.inferred_frames = zeros("I", self.stacks.frames)
        self.seen_count = 0

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
        """Put the samples in ``order`` (time) that are in the log (``places``) into their threads (``thread_of``, by
        sample; 0xffffffff none); returns where each thread begins, and the end."""
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
        self.edge, self.near, self.settled = zeros("Q", total), zeros("B", total), zeros("B", total)
        self.earlier, self.later, self.caller = absent("I", total), absent("I", total), absent("I", total)
        self.earlier_place, self.later_place = zeros("Q", total), zeros("Q", total)
        self.earlier_at, self.later_at = zeros("Q", total), zeros("Q", total)
        self.depth, self.seen = zeros("I", total), zeros("I", total)
        with cython.nogil:
            for i in range(numbers.shape[0]):
                s = numbers[i]
                if threads[s] == NOTHING or not logged[s]:
                    continue
                n = starts[threads[s] + 1]
                starts[threads[s] + 1] += 1
                self.sample[n] = s
                self.number[n] = logged[s] - 1
                self.see_edge(n)
        return begins[: thread_count + 1]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def go_to(self, cursor: Cursor, n: cython.Py_ssize_t) -> cython.int:
        """Go to the innermost frame of a dump."""
        return cursor.begin(self.number[n], self.stack[self.sample[n]])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def see_edge(self, n: cython.Py_ssize_t) -> cython.int:
        """Find the outermost frame of a dump."""
        at: cython.Py_ssize_t = self.log.frames_at[self.number[n]]
        self.edge[n] = ALL_ONES
        if at:
            self.edge[n] = self.outermost(n)
            self.edge_frame[n] = self.log.frames[at + self.log.frames[at]]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFFFFFFFFFE, check=True)
    def outermost(self, n: cython.Py_ssize_t) -> cython.ulonglong:
        """The stack pointer of a stack's outermost frame."""
        at: cython.Py_ssize_t = self.log.at[self.number[n]]
        found: cython.ulonglong = self.log.pointer[self.number[n]]
        step: cython.ulonglong = 0
        while at >= 0:
            if self.log.steps[at] == END:
                at = self.log.goes_on(at)
            else:
                # The step of the outermost frame has no caller.
                found += step
                step = self.log.steps[at]
                at += 1
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def holds(self, n: cython.Py_ssize_t, pointer: cython.ulonglong, frame: cython.uint) -> cython.bint:
        """Whether a dump has this frame at this stack pointer; goes ``there``."""
        self.go_to(self.there, n)
        while self.there.pointer < pointer:
            if not self.there.outwards():
                return False
        return self.there.pointer == pointer and self.there.frame() == frame

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def shared(self, n: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """How many frames two dumps have in common from the outermost one of the first inwards."""
        count: cython.Py_ssize_t = 0
        self.go_to(self.here, n)
        self.go_to(self.there, other)
        while True:
            while self.there.pointer < self.here.pointer and self.there.outwards():
                pass
            if self.here.pointer == self.there.pointer and self.here.frame() == self.there.frame():
                count += 1
            else:
                count = 0
            if not self.here.outwards():
                return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def see(self, n: cython.Py_ssize_t, backwards: cython.bint) -> cython.int:
        """Take what a dump shows, and link it with the dump that knows its outermost caller."""
        outer: cython.uint
        while self.seen_count and self.edge[self.seen[self.seen_count - 1]] <= self.edge[n]:
            self.seen_count -= 1
        # A dump with one frame only gives the stack pointer.
        if self.seen_count and self.edge[n] != self.log.pointer[self.number[n]]:
            outer = self.seen[self.seen_count - 1]
            if self.holds(outer, self.edge[n], self.edge_frame[n]):
                if backwards:
                    self.later[n] = outer
                    self.later_place[n] = self.there.place
                    self.later_at[n] = self.there.at
                else:
                    self.earlier[n] = outer
                    self.earlier_place[n] = self.there.place
                    self.earlier_at[n] = self.there.at
        self.seen[self.seen_count] = cython.cast(cython.uint, n)
        self.seen_count += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def compare(self, n: cython.Py_ssize_t, backwards: cython.bint) -> cython.int:
        """Compare the outer half of a dump with what the inner half would be continued with: 1 equal, 2 not, 0 where
        there is nothing to compare."""
        k: cython.Py_ssize_t = self.seen_count - 1
        other: cython.uint
        link: cython.uint
        first: cython.Py_ssize_t
        middle: cython.ulonglong
        self.go_to(self.here, n)
        middle = self.here.pointer
        middle += ((self.edge[n] if self.edge[n] != ALL_ONES else self.outermost(n)) - middle) // 2
        first = self.here.at
        while self.here.pointer < middle and self.here.outwards():
            pass
        while k >= 0 and self.edge[self.seen[k]] <= self.here.pointer:
            k -= 1
        if self.here.at == first or k < 0 or not self.holds(self.seen[k], self.here.pointer, self.here.frame()):
            return 0
        other = self.seen[k]
        while self.here.at != self.there.at and self.here.outwards():
            while not self.there.outwards():
                # Its dump ends there: at the root, or where another one goes on.
                if self.edge[other] == ALL_ONES:
                    return 2
                link = self.later[other] if backwards else self.earlier[other]
                if link == NOTHING:
                    return 0
                self.there.at = self.later_at[other] if backwards else self.earlier_at[other]
                self.there.place = self.later_place[other] if backwards else self.earlier_place[other]
                self.there.put_off = self.log.frames_at[self.number[link]] != 0
                other = link
            if self.here.pointer != self.there.pointer or self.here.frame() != self.there.frame():
                return 2
        if self.here.at != self.there.at and self.edge[n] == ALL_ONES and self.there.outwards():
            return 2
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFE, check=True)
    def inferred(self, frame: cython.uint) -> cython.uint:
        """The frame that stands for this one where it was taken from another dump; 0xffffffff if there is none."""
        found: cython.uint = self.inferred_frames[frame]
        if not found:
            found = self.rules.inferred_frame(frame)
            # No frame has the number that stands for none, less one.
            self.inferred_frames[frame] = found + 1 if found != NOTHING else NOTHING
        else:
            found = found - 1 if found != NOTHING else NOTHING
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFFFFFFFFFE, check=True)
    def inferred_stack(self, node: cython.uint) -> cython.ulonglong:
        """The stack of inferred frames that stands for one that was walked to its root, and its depth above 32 bits;
        all ones if there is none."""
        count: cython.Py_ssize_t = 0
        frame: cython.uint
        found: cython.ulonglong = NOTHING
        while node != NOTHING and not self.inferred_nodes[node]:
            if count >= self.path.shape[0]:
                return ALL_ONES
            self.path[count] = node
            count += 1
            node = cython.cast(cython.uint, self.stacks.node_key[node] >> 32)
        if node != NOTHING:
            found = self.inferred_nodes[node]
        while count > 0:
            count -= 1
            node = self.path[count]
            if found != ALL_ONES:
                frame = self.inferred(cython.cast(cython.uint, self.stacks.node_key[node] & NOTHING))
                if frame == NOTHING:
                    found = ALL_ONES
                else:
                    found = (found >> 32) + 1 << 32 | cython.cast(
                        cython.ulonglong, self.stacks.node(cython.cast(cython.uint, found & NOTHING), frame)
                    )
            self.inferred_nodes[node] = found
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0xFFFFFFFFFFFFFFFE, check=True)
    def caller_in(self, other: cython.uint, place: cython.Py_ssize_t) -> cython.ulonglong:
        """The inferred caller of a dump's frame, which is at a place there, and its depth above 32 bits; all ones if
        there is none. What is outside of that dump is known."""
        at: cython.Py_ssize_t = self.log.frames_at[self.number[other]]
        frame: cython.uint
        node: cython.uint
        found: cython.ulonglong
        if not at:
            node = cython.cast(cython.uint, self.stacks.node_key[place] >> 32)
            return self.inferred_stack(node) if node != NOTHING else ALL_ONES
        if self.caller[other] == NOTHING:
            return ALL_ONES
        found = cython.cast(cython.ulonglong, self.depth[other]) << 32 | self.caller[other]
        at += self.log.frames[at]
        while at > place:
            frame = self.inferred(self.log.frames[at])
            if frame == NOTHING:
                return ALL_ONES
            found = (found >> 32) + 1 << 32 | cython.cast(
                cython.ulonglong, self.stacks.node(cython.cast(cython.uint, found & NOTHING), frame)
            )
            at -= 1
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def settle(self, n: cython.Py_ssize_t, trusted: cython.bint) -> cython.int:
        """Infer the caller of a dump's outermost frame from the dumps before and after it, if that is right often
        enough, and make the sample's stack; 1 if it is continued."""
        one: cython.ulonglong = ALL_ONES
        other: cython.ulonglong = ALL_ONES
        s: cython.uint = self.sample[n]
        at: cython.Py_ssize_t = self.log.frames_at[self.number[n]]
        count: cython.Py_ssize_t = self.log.frames[at]
        node: cython.uint
        if trusted and self.earlier[n] != NOTHING:
            one = self.caller_in(self.earlier[n], self.earlier_place[n])
        if trusted and self.later[n] != NOTHING:
            other = self.caller_in(self.later[n], self.later_place[n])
        if one == ALL_ONES and other != ALL_ONES and self.shared(n, self.later[n]) >= SHARED:
            one = other
        elif other == ALL_ONES and one != ALL_ONES and self.shared(n, self.earlier[n]) < SHARED:
            one = ALL_ONES
        if (
            one != ALL_ONES
            and (other == ALL_ONES or one == other)
            and (one >> 32) + count - self.log.kernel[self.number[n]] <= self.max_frames
        ):
            self.caller[n] = cython.cast(cython.uint, one & NOTHING)
            self.depth[n] = cython.cast(cython.uint, one >> 32)
            self.stop[s] = cython.cast(cython.uchar, StopReason.INFERRED_ROOT)
        self.settled[n] = True
        node = self.caller[n]
        while count > 0:
            node = cython.cast(cython.uint, self.stacks.node(node, self.log.frames[at + count]))
            count -= 1
        self.stack[s] = node
        return cython.cast(cython.Py_ssize_t, self.caller[n] != NOTHING)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def see_near(self, first: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Find the dumps near those that are too small; returns of how many one is compared."""
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def link(self, first: cython.Py_ssize_t, end: cython.Py_ssize_t, backwards: cython.bint) -> cython.int:
        """Link a thread's dumps with those before (``backwards``: after) them, and count how often what is inferred
        from these is right."""
        every: cython.Py_ssize_t = self.see_near(first, end)
        due: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t
        found: cython.int
        self.seen_count = 0
        for i in range(end - first):
            n = end - 1 - i if backwards else first + i
            if self.near[n]:
                due += 1
                if due >= every:
                    found = self.compare(n, backwards)
                    self.held += found == 1
                    self.wrong += found == 2
                    if found:
                        due = 0
            self.see(n, backwards)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def unsettled(self, n: cython.uint) -> cython.bint:
        """Whether a dump's outer callers have to be inferred first."""
        return n != NOTHING and self.edge[n] != ALL_ONES and not self.settled[n]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def thread(self, first: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Continue the stacks of one thread, whose dumps those from ``first`` to ``end - 1`` are; how many were."""
        trusted: cython.bint
        done: cython.Py_ssize_t = 0
        waiting: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n: cython.uint
        self.held = self.wrong = 0
        self.link(first, end, False)
        self.link(first, end, True)
        trusted = self.held >= FEWEST and self.held >= TRUSTED * self.wrong
        for i in range(first, end):
            # The dump that one waits for ends farther out: none waits for itself.
            self.seen[0] = cython.cast(cython.uint, i)
            waiting = cython.cast(cython.Py_ssize_t, self.unsettled(cython.cast(cython.uint, i)))
            while waiting:
                n = self.seen[waiting - 1]
                if trusted and self.unsettled(self.earlier[n]):
                    self.seen[waiting] = self.earlier[n]
                    waiting += 1
                elif trusted and self.unsettled(self.later[n]):
                    self.seen[waiting] = self.later[n]
                    waiting += 1
                else:
                    done += self.settle(n, trusted)
                    waiting -= 1
        return done

    @cython.locals(begins="const unsigned long long[::1]", i=cython.Py_ssize_t, done=cython.Py_ssize_t)
    def threads(self, starts: Any) -> int:
        """Continue the stacks of all threads; how many were."""
        begins = starts
        done = 0
        with cython.nogil:
            for i in range(begins.shape[0] - 1):
                done += self.thread(begins[i], begins[i + 1])
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
    """The number of each sample's thread ('I'; 0xffffffff where no stack of it ends with its dump, and where a sample
    ends neither so nor at its root), and how many threads there are."""
    pids = samples.pid
    tids = samples.tid
    stops = stop
    truncated = count = 0
    for i in range(stops.shape[0]):
        truncated += stops[i] in (StopReason.TRUNCATED, StopReason.ABSENT_PAGE)
    bits = 4
    while 1 << bits < 2 * truncated:
        bits += 1
    # Random and odd: threads cannot be numbered so that all meet in one slot.
    factor = int.from_bytes(os.urandom(8), "little") | 1
    mask = (1 << bits) - 1
    # By slot: a sample of the thread, as one more.
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
    """Continue stacks that end with their dump; returns how many were. ``stack``, ``stop`` and ``places`` (the
    number in the log, as one more) are by sample. Those that are continued have stop reason INFERRED_ROOT, and frames
    of provenance OTHER_DUMP above the last one of their own dump."""
    thread_of, count = threads_with_truncated(records.samples, stop)
    if not count:
        return 0
    dumps = Dumps(rules, log, stack, stop, limits)
    starts = dumps.sort(records.sample_order, thread_of, count, places)
    return dumps.threads(starts)
