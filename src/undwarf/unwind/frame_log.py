# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Where the frames of walked stacks were: how far apart their stack pointers are.

What a stack has in common with the one before it is kept once, and a frame takes two bytes: dumps have 64 KiB at most.
"""

from typing import Any

import cython
from cython.cimports.undwarf.unwind.walk_constants import END

from undwarf.column import with_room, zeros


@cython.final
@cython.cclass
class FrameLog:
    """The stacks of one walker, as they are met."""

    steps: Any
    at: Any
    pointer: Any
    kernel: Any
    frames: Any
    frames_at: Any

    def __init__(self, most: int, stacks: int) -> None:
        """``most``: entries that are kept of one window; ``stacks``: how many there will be, about."""
        # Pages that nothing is written to cost nothing; to copy what is there would.
        self.steps = zeros("H", 32 * stacks + 64)
        self.at = zeros("Q", stacks + 64)
        self.pointer = zeros("Q", stacks + 64)
        self.kernel = zeros("H", stacks + 64)
        self.frames = zeros("I", 8 * stacks + 64)
        self.frames_at = zeros("Q", stacks + 64)
        self.count = self.start = self.stacks = 0
        self.frame_count = 1
        self.most = most
        self.last = 0

    def begin_window(self) -> None:
        """Stacks of another window follow, which have nothing in common with those before."""
        self.start = self.count
        self.last = 0

    def grow_steps(self, size: int) -> None:
        """Have room for ``size`` steps."""
        self.steps = with_room(self.steps, self.count, size)

    def grow_stacks(self, size: int) -> None:
        """Have room for ``size`` stacks."""
        self.at = with_room(self.at, self.stacks, size)
        self.pointer = with_room(self.pointer, self.stacks, size)
        self.kernel = with_room(self.kernel, self.stacks, size)
        self.frames_at = with_room(self.frames_at, self.stacks, size)

    def grow_frames(self, size: int) -> None:
        """Have room for ``size`` frames."""
        self.frames = with_room(self.frames, self.frame_count, size)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def keep(
        self, frames: cython.Py_ssize_t, pointer: cython.ulonglong, kernel: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Make place for a stack of which so many frames are new; where their steps go, -1 if a window may not have as
        many."""
        at: cython.Py_ssize_t = self.count
        size: cython.Py_ssize_t = at + frames + 3
        if size - self.start > self.most or kernel > 0xFFFF:
            return -1
        if size > self.steps.shape[0]:
            with cython.gil:
                self.grow_steps(size)
        if self.stacks == self.at.shape[0]:
            with cython.gil:
                self.grow_stacks(self.stacks + 1)
        self.count = size
        self.at[self.stacks] = at
        self.pointer[self.stacks] = pointer
        self.kernel[self.stacks] = cython.cast(cython.ushort, kernel)
        self.frames_at[self.stacks] = 0
        self.stacks += 1
        self.last = cython.cast(cython.uint, self.stacks)
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(chain="unsigned int[::1]")
    def put_off(self, chain: Any, count: cython.Py_ssize_t) -> cython.int:
        """Keep the frames of the stack that was kept last: what calls its outermost one may yet be found."""
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t = self.frame_count
        if at + count + 1 > self.frames.shape[0]:
            with cython.gil:
                self.grow_frames(at + count + 1)
        self.frames_at[self.stacks - 1] = at
        self.frames[at] = cython.cast(cython.uint, count)
        for i in range(count):
            self.frames[at + 1 + i] = chain[i]
        self.frame_count += count + 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def forget(self, at: cython.Py_ssize_t) -> cython.int:
        """Take back the stack that was to be kept last, at ``at``."""
        self.count = at
        self.stacks -= 1
        self.last = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def end(self, at: cython.Py_ssize_t, back: cython.Py_ssize_t) -> cython.int:
        """Let a stack end, or go on so many entries back."""
        self.steps[at] = END
        self.steps[at + 1] = cython.cast(cython.ushort, back & 0xFFFF)
        self.steps[at + 2] = cython.cast(cython.ushort, back >> 16)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def goes_on(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where the stack with an END at ``at`` goes on; -1: nowhere."""
        back: cython.Py_ssize_t = self.steps[at + 1] | cython.cast(cython.Py_ssize_t, self.steps[at + 2]) << 16
        return at - back if back else -1

    @cython.locals(new="const unsigned int[::1]", i=cython.Py_ssize_t, k=cython.Py_ssize_t, moved=cython.Py_ssize_t)
    def adopt(self, other: FrameLog, mapping: Any) -> int:  # noqa: F821 - the class itself, which Cython knows here
        """Take over another thread's stacks, whose frames are ``mapping[frame]`` here; returns how many stacks were
        here before."""
        before: cython.Py_ssize_t = self.stacks
        new = mapping
        moved = self.count
        if moved + other.count > self.steps.shape[0]:
            self.grow_steps(moved + other.count)
        if before + other.stacks > self.at.shape[0]:
            self.grow_stacks(before + other.stacks)
        if self.frame_count + other.frame_count > self.frames.shape[0]:
            self.grow_frames(self.frame_count + other.frame_count)
        with cython.nogil:
            for i in range(other.count):
                self.steps[moved + i] = other.steps[i]
            moved = self.frame_count - 1
            i = 1
            while i < other.frame_count:
                self.frames[moved + i] = other.frames[i]
                for k in range(i + 1, i + 1 + other.frames[i]):
                    self.frames[moved + k] = new[other.frames[k]]
                i += 1 + other.frames[i]
            for i in range(other.stacks):
                self.at[before + i] = self.count + other.at[i]
                self.pointer[before + i] = other.pointer[i]
                self.kernel[before + i] = other.kernel[i]
                self.frames_at[before + i] = moved + other.frames_at[i] if other.frames_at[i] else 0
        self.count += other.count
        self.stacks += other.stacks
        self.frame_count += other.frame_count - 1
        return before
