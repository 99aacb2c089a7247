# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Where the frames of walked stacks are, as distances of their stack pointers.

Frames that a stack shares with the one before it are logged once, and a frame takes two bytes: dumps have 64 KiB at
most.
"""

from typing import Any

import cython
from cython.cimports.undwarf.unwind.walk_constants import END

from undwarf.column import with_room, zeros


@cython.final
@cython.cclass
class FrameLog:
    """The stacks of one walker, in the order they were walked."""

    sizes: Any
    starts: Any
    stack_pointers: Any
    kernel_counts: Any
    frames: Any
    frames_at: Any

    def __init__(self, max_per_window: int, expected_stacks: int) -> None:
        """``max_per_window``: entries that a window may have."""
        # Pages that are never written cost nothing; growing copies those that are.
        self.sizes = zeros("H", 32 * expected_stacks + 64)
        self.starts = zeros("Q", expected_stacks + 64)
        self.stack_pointers = zeros("Q", expected_stacks + 64)
        self.kernel_counts = zeros("H", expected_stacks + 64)
        self.frames = zeros("I", 8 * expected_stacks + 64)
        self.frames_at = zeros("Q", expected_stacks + 64)
        self.count = self.window_start = self.stack_count = 0
        self.frame_count = 1
        self.max_per_window = max_per_window
        self.last = 0

    def begin_window(self) -> None:
        """Stacks of another window follow, which share nothing with those before."""
        self.window_start = self.count
        self.last = 0

    def _grow_sizes(self, size: int) -> None:
        """Make the column of sizes at least ``size`` long."""
        self.sizes = with_room(self.sizes, self.count, size)

    def _grow_stacks(self, size: int) -> None:
        """Make the columns of stacks at least ``size`` long."""
        self.starts = with_room(self.starts, self.stack_count, size)
        self.stack_pointers = with_room(self.stack_pointers, self.stack_count, size)
        self.kernel_counts = with_room(self.kernel_counts, self.stack_count, size)
        self.frames_at = with_room(self.frames_at, self.stack_count, size)

    def _grow_frames(self, size: int) -> None:
        """Make the column of frames at least ``size`` long."""
        self.frames = with_room(self.frames, self.frame_count, size)

    def add(self, frames: cython.Py_ssize_t, pointer: cython.ulonglong, kernel: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Add a stack with so many frames that it does not share, its innermost stack pointer, and its kernel frames.
        Returns where its sizes go, -1 if the window has too many entries already."""
        at: cython.Py_ssize_t = self.count
        size: cython.Py_ssize_t = at + frames + 3
        if size - self.window_start > self.max_per_window or kernel > 0xFFFF:
            return -1
        if size > self.sizes.shape[0]:
            with cython.gil:
                self._grow_sizes(size)
        if self.stack_count == self.starts.shape[0]:
            with cython.gil:
                self._grow_stacks(self.stack_count + 1)
        self.count = size
        self.starts[self.stack_count] = at
        self.stack_pointers[self.stack_count] = pointer
        self.kernel_counts[self.stack_count] = cython.cast(cython.ushort, kernel)
        self.frames_at[self.stack_count] = 0
        self.stack_count += 1
        self.last = cython.cast(cython.uint, self.stack_count)
        return at

    @cython.locals(chain="unsigned int[::1]")
    def postpone(self, chain: Any, count: cython.Py_ssize_t) -> cython.int:
        """Keep the frames of the stack that was added last: the callers of its outermost one may be inferred later."""
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t = self.frame_count
        if at + count + 1 > self.frames.shape[0]:
            with cython.gil:
                self._grow_frames(at + count + 1)
        self.frames_at[self.stack_count - 1] = at
        self.frames[at] = cython.cast(cython.uint, count)
        for i in range(count):
            self.frames[at + 1 + i] = chain[i]
        self.frame_count += count + 1
        return 0

    def remove_last(self, at: cython.Py_ssize_t) -> cython.int:
        """Remove the stack that was added last, at ``at``."""
        self.count = at
        self.stack_count -= 1
        self.last = 0
        return 0

    def end(self, at: cython.Py_ssize_t, back: cython.Py_ssize_t) -> cython.int:
        """End a stack at entry ``at``; with ``back`` it continues so many entries earlier."""
        self.sizes[at] = END
        self.sizes[at + 1] = cython.cast(cython.ushort, back & 0xFFFF)
        self.sizes[at + 2] = cython.cast(cython.ushort, back >> 16)
        return 0

    def continues_at(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where the stack with an END at ``at`` continues; -1: nowhere."""
        back: cython.Py_ssize_t = self.sizes[at + 1] | cython.cast(cython.Py_ssize_t, self.sizes[at + 2]) << 16
        return at - back if back else -1

    @cython.locals(new="const unsigned int[::1]", i=cython.Py_ssize_t, k=cython.Py_ssize_t, moved=cython.Py_ssize_t)
    def adopt(self, other: FrameLog, mapping: Any) -> int:  # noqa: F821 - the class itself, which Cython knows here
        """Add another thread's stacks, whose frames are ``mapping[frame]`` here; returns how many stacks there were
        before."""
        before: cython.Py_ssize_t = self.stack_count
        new = mapping
        moved = self.count
        if moved + other.count > self.sizes.shape[0]:
            self._grow_sizes(moved + other.count)
        if before + other.stack_count > self.starts.shape[0]:
            self._grow_stacks(before + other.stack_count)
        if self.frame_count + other.frame_count > self.frames.shape[0]:
            self._grow_frames(self.frame_count + other.frame_count)
        with cython.nogil:
            for i in range(other.count):
                self.sizes[moved + i] = other.sizes[i]
            moved = self.frame_count - 1
            i = 1
            while i < other.frame_count:
                self.frames[moved + i] = other.frames[i]
                for k in range(i + 1, i + 1 + other.frames[i]):
                    self.frames[moved + k] = new[other.frames[k]]
                i += 1 + other.frames[i]
            for i in range(other.stack_count):
                self.starts[before + i] = self.count + other.starts[i]
                self.stack_pointers[before + i] = other.stack_pointers[i]
                self.kernel_counts[before + i] = other.kernel_counts[i]
                self.frames_at[before + i] = moved + other.frames_at[i] if other.frames_at[i] else 0
        self.count += other.count
        self.stack_count += other.stack_count
        self.frame_count += other.frame_count - 1
        return before
