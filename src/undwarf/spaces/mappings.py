# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Mappings of processes, and immutable snapshots of them.

An address space is a list of chunks of up to 32 mappings. Once it is a snapshot, the next change makes a new one and
copies only the chunk it touches, so a process with thousands of mappings that changes one of them between any two
samples does not cost thousands of copies.
"""

from typing import Any

import cython
from cython.cimports.libc.string import memmove
from cython.cimports.undwarf.integers import NOTHING
from cython.cimports.undwarf.spaces.mapping_flags import CHUNK

from undwarf.column import doubled, zeros


@cython.cclass
class Mappings:
    """Processes, by numbers from 0 on, and the snapshots that were made of them."""

    _chunk_count: Any
    _starts: Any
    _ends: Any
    _offsets: Any
    _images: Any
    _flags: Any
    _lists: Any
    _snapshot_at: Any
    _snapshot_count: Any
    _work: Any
    _process_at: Any

    def __cinit__(self) -> None:
        self.processes = 0
        self._process_at = zeros("I", 64)
        self._process_count = zeros("I", 64)
        self._process_room = zeros("I", 64)
        self._process_frozen = zeros("I", 64)
        self._allocate(256)

    def _allocate(self, room: cython.Py_ssize_t) -> None:
        """Room for so many chunks; nothing is in them."""
        self._chunk_count = zeros("I", room)
        self._chunk_owner = zeros("I", room)
        self._starts = zeros("Q", room * CHUNK)
        self._ends = zeros("Q", room * CHUNK)
        self._offsets = zeros("Q", room * CHUNK)
        self._images = zeros("I", room * CHUNK)
        self._flags = zeros("B", room * CHUNK)
        self._work = zeros("I", 4 * room)
        self._lists = zeros("I", 1024)
        self._snapshot_at = zeros("I", 256)
        self._snapshot_count = zeros("I", 256)
        self.chunks = 0
        self.worked = 0
        self.listed = 0
        self.snapshots = 0

    # -- growth -------------------------------------------------------------------------------------------------

    def _grow_chunks(self) -> None:
        self._chunk_count = doubled(self._chunk_count, self.chunks)
        self._chunk_owner = doubled(self._chunk_owner, self.chunks)
        used: cython.Py_ssize_t = self.chunks * CHUNK
        self._starts = doubled(self._starts, used)
        self._ends = doubled(self._ends, used)
        self._offsets = doubled(self._offsets, used)
        self._images = doubled(self._images, used)
        self._flags = doubled(self._flags, used)

    def _grow_processes(self) -> None:
        self._process_at = doubled(self._process_at, self.processes)
        self._process_count = doubled(self._process_count, self.processes)
        self._process_room = doubled(self._process_room, self.processes)
        self._process_frozen = doubled(self._process_frozen, self.processes)

    def _grow_snapshots(self) -> None:
        self._snapshot_at = doubled(self._snapshot_at, self.snapshots)
        self._snapshot_count = doubled(self._snapshot_count, self.snapshots)

    def _grow_lists(self) -> None:
        self._lists = doubled(self._lists, self.listed)

    def _grow_work(self) -> None:
        self._work = doubled(self._work, self.worked)

    # -- processes ----------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def new_process(self) -> cython.Py_ssize_t:
        """The number of one process more, which has no mappings."""
        if self.processes >= self._process_at.shape[0]:
            with cython.gil:
                self._grow_processes()
        self._process_at[self.processes] = 0
        self._process_count[self.processes] = 0
        self._process_room[self.processes] = 0
        self._process_frozen[self.processes] = NOTHING
        self.processes += 1
        return self.processes - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def make_room(self, process: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.int:
        """Let the process's list of chunks hold ``count`` entries, moving it to the end of ``work`` if need be."""
        room: cython.Py_ssize_t = self._process_room[process]
        at: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if count <= room:
            return 0
        room = max(count, 2 * room, 8)
        while self.worked + room > self._work.shape[0]:
            with cython.gil:
                self._grow_work()
        at = self._process_at[process]
        for i in range(self._process_count[process]):
            self._work[self.worked + i] = self._work[at + i]
        self._process_at[process] = self.worked
        self._process_room[process] = room
        self.worked += room
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def clear(self, process: cython.Py_ssize_t) -> cython.int:
        self._process_count[process] = 0
        self._process_frozen[process] = NOTHING
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def clone(self, child: cython.Py_ssize_t, parent: cython.Py_ssize_t) -> cython.int:
        """Start the child from the parent's address space; the snapshot is shared until either changes it."""
        i: cython.Py_ssize_t
        if child == parent:
            return 0
        self.freeze(parent)
        self._process_count[child] = 0
        self.make_room(child, self._process_count[parent])
        for i in range(self._process_count[parent]):
            self._work[self._process_at[child] + i] = self._work[self._process_at[parent] + i]
        self._process_count[child] = self._process_count[parent]
        self._process_frozen[child] = self._process_frozen[parent]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def freeze(self, process: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The snapshot of the process's address space as it is now."""
        frozen: cython.uint = self._process_frozen[process]
        count: cython.Py_ssize_t = self._process_count[process]
        at: cython.Py_ssize_t = self._process_at[process]
        i: cython.Py_ssize_t
        if frozen != NOTHING:
            return frozen
        if self.snapshots >= self._snapshot_at.shape[0]:
            with cython.gil:
                self._grow_snapshots()
        while self.listed + count > self._lists.shape[0]:
            with cython.gil:
                self._grow_lists()
        for i in range(count):
            self._lists[self.listed + i] = self._work[at + i]
            self._chunk_owner[self._work[at + i]] = NOTHING
        frozen = cython.cast(cython.uint, self.snapshots)
        self._snapshot_at[frozen] = cython.cast(cython.uint, self.listed)
        self._snapshot_count[frozen] = cython.cast(cython.uint, count)
        self.listed += count
        self.snapshots += 1
        self._process_frozen[process] = frozen
        return frozen

    # -- chunks -------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def new_chunk(self, process: cython.Py_ssize_t) -> cython.Py_ssize_t:
        if self.chunks >= self._chunk_count.shape[0]:
            with cython.gil:
                self._grow_chunks()
        self._chunk_count[self.chunks] = 0
        self._chunk_owner[self.chunks] = cython.cast(cython.uint, process)
        self.chunks += 1
        return self.chunks - 1

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def move(self, to: cython.Py_ssize_t, source: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.int:
        """Let ``count`` entries from ``to`` on be those that stand from ``source`` on."""
        if count <= 0:
            return 0
        # All columns have whole chunks, and neither stretch leaves the chunk that its first entry is in.
        memmove(cython.address(self._starts[to]), cython.address(self._starts[source]), 8 * count)
        memmove(cython.address(self._ends[to]), cython.address(self._ends[source]), 8 * count)
        memmove(cython.address(self._offsets[to]), cython.address(self._offsets[source]), 8 * count)
        memmove(cython.address(self._images[to]), cython.address(self._images[source]), 4 * count)
        memmove(cython.address(self._flags[to]), cython.address(self._flags[source]), count)
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def own(self, process: cython.Py_ssize_t, index: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The chunk at ``index`` of the process's list, copied first if a snapshot or another process holds it."""
        at: cython.Py_ssize_t = self._process_at[process] + index
        chunk: cython.Py_ssize_t = self._work[at]
        copy: cython.Py_ssize_t
        if self._chunk_owner[chunk] == process:
            return chunk
        copy = self.new_chunk(process)
        self.move(copy * CHUNK, chunk * CHUNK, self._chunk_count[chunk])
        self._chunk_count[copy] = self._chunk_count[chunk]
        self._work[at] = cython.cast(cython.uint, copy)
        return copy

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def remove_chunk(self, process: cython.Py_ssize_t, index: cython.Py_ssize_t) -> cython.int:
        at: cython.Py_ssize_t = self._process_at[process]
        i: cython.Py_ssize_t
        for i in range(index, cython.cast(cython.Py_ssize_t, self._process_count[process]) - 1):
            self._work[at + i] = self._work[at + i + 1]
        self._process_count[process] -= 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def insert_chunk(
        self, process: cython.Py_ssize_t, index: cython.Py_ssize_t, chunk: cython.Py_ssize_t
    ) -> cython.int:
        at: cython.Py_ssize_t
        i: cython.Py_ssize_t
        count: cython.Py_ssize_t = self._process_count[process]
        self.make_room(process, count + 1)
        at = self._process_at[process]
        i = count
        while i > index:
            self._work[at + i] = self._work[at + i - 1]
            i -= 1
        self._work[at + index] = cython.cast(cython.uint, chunk)
        self._process_count[process] = cython.cast(cython.uint, count + 1)
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def chunk_for(self, process: cython.Py_ssize_t, address: cython.ulonglong) -> cython.Py_ssize_t:
        """Index of the last chunk that starts at or below ``address`` (the first one if none does)."""
        at: cython.Py_ssize_t = self._process_at[process]
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self._process_count[process]
        middle: cython.Py_ssize_t
        while low < high:
            middle = (low + high) >> 1
            if self._starts[cython.cast(cython.Py_ssize_t, self._work[at + middle]) * CHUNK] <= address:
                low = middle + 1
            else:
                high = middle
        return low - 1 if low > 0 else 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def insert(
        self,
        process: cython.Py_ssize_t,
        start: cython.ulonglong,
        end: cython.ulonglong,
        offset: cython.ulonglong,
        image: cython.uint,
        flags: cython.uchar,
    ) -> cython.int:
        """Add a mapping where nothing is mapped."""
        index: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        half: cython.Py_ssize_t
        at: cython.Py_ssize_t
        end_of_chunk: cython.Py_ssize_t
        self._process_frozen[process] = NOTHING
        if self._process_count[process] == 0:
            self.insert_chunk(process, 0, self.new_chunk(process))
        index = self.chunk_for(process, start)
        chunk = self.own(process, index)
        if self._chunk_count[chunk] == CHUNK:
            half = self.new_chunk(process)
            self.move(half * CHUNK, chunk * CHUNK + CHUNK // 2, CHUNK // 2)
            self._chunk_count[half] = cython.cast(cython.uint, CHUNK // 2)
            self._chunk_count[chunk] = cython.cast(cython.uint, CHUNK // 2)
            self.insert_chunk(process, index + 1, half)
            if self._starts[half * CHUNK] <= start:
                chunk = half
        end_of_chunk = at = chunk * CHUNK + self._chunk_count[chunk]
        while at > chunk * CHUNK and self._starts[at - 1] > start:
            at -= 1
        self.move(at + 1, at, end_of_chunk - at)
        self._starts[at] = start
        self._ends[at] = end
        self._offsets[at] = offset
        self._images[at] = image
        self._flags[at] = flags
        self._chunk_count[chunk] += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def cut(self, process: cython.Py_ssize_t, start: cython.ulonglong, end: cython.ulonglong) -> cython.int:
        """Unmap [start, end): what lies inside goes, what sticks out is shortened or split."""
        index: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        at: cython.Py_ssize_t
        k: cython.Py_ssize_t = 0
        last: cython.ulonglong
        if self._process_count[process] == 0:
            return 0
        index = self.chunk_for(process, start)
        while index < self._process_count[process]:
            chunk = self._work[self._process_at[process] + index]
            if k >= self._chunk_count[chunk]:
                index += 1
                k = 0
                continue
            at = chunk * CHUNK + k
            if self._starts[at] >= end:
                return 0
            if self._ends[at] <= start:
                k += 1
                continue
            self._process_frozen[process] = NOTHING
            chunk = self.own(process, index)
            at = chunk * CHUNK + k
            last = self._ends[at]
            if self._starts[at] < start:
                self._ends[at] = start
                if last > end:
                    self.insert(
                        process,
                        end,
                        last,
                        self._offsets[at] + (end - self._starts[at]),
                        self._images[at],
                        self._flags[at],
                    )
                    return 0
                k += 1
            elif last > end:
                self._offsets[at] += end - self._starts[at]
                self._starts[at] = end
                return 0
            else:
                self.move(at, at + 1, cython.cast(cython.Py_ssize_t, self._chunk_count[chunk]) - k - 1)
                self._chunk_count[chunk] -= 1
                if self._chunk_count[chunk] == 0:
                    self.remove_chunk(process, index)
                    k = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def entry_at(self, process: cython.Py_ssize_t, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The entry of the mapping that holds ``address`` now, or -1."""
        chunk: cython.Py_ssize_t
        at: cython.Py_ssize_t
        if self._process_count[process] == 0:
            return -1
        chunk = self._work[self._process_at[process] + self.chunk_for(process, address)]
        for at in range(chunk * CHUNK, chunk * CHUNK + self._chunk_count[chunk]):
            if self._starts[at] <= address < self._ends[at]:
                return at
        return -1

    # -- what came of it ----------------------------------------------------------------------------------------

    @cython.locals(
        old_count="unsigned int[::1]",
        old_starts="unsigned long long[::1]",
        old_ends="unsigned long long[::1]",
        old_offsets="unsigned long long[::1]",
        old_images="unsigned int[::1]",
        old_flags="unsigned char[::1]",
        old_work="unsigned int[::1]",
    )
    def _compact(self) -> None:
        """Forget all snapshots, and the room of mappings that are no more."""
        old_count = self._chunk_count
        old_starts = self._starts
        old_ends = self._ends
        old_offsets = self._offsets
        old_images = self._images
        old_flags = self._flags
        old_work = self._work
        process: cython.Py_ssize_t
        at: cython.Py_ssize_t
        count: cython.Py_ssize_t
        source: cython.Py_ssize_t
        target: cython.Py_ssize_t
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        needed: cython.Py_ssize_t = 256
        for process in range(self.processes):
            needed += self._process_count[process]
        room: cython.Py_ssize_t = 256
        while room < needed:
            room *= 2
        self._allocate(room)
        for process in range(self.processes):
            at = self._process_at[process]
            count = self._process_count[process]
            self._process_at[process] = 0
            self._process_count[process] = 0
            self._process_room[process] = 0
            self._process_frozen[process] = NOTHING
            if not count:
                continue
            self.make_room(process, count)
            for i in range(count):
                source = cython.cast(cython.Py_ssize_t, old_work[at + i]) * CHUNK
                target = self.new_chunk(process)
                self._chunk_count[target] = old_count[source // CHUNK]
                self._work[self._process_at[process] + i] = cython.cast(cython.uint, target)
                target *= CHUNK
                for k in range(CHUNK):
                    self._starts[target + k] = old_starts[source + k]
                    self._ends[target + k] = old_ends[source + k]
                    self._offsets[target + k] = old_offsets[source + k]
                    self._images[target + k] = old_images[source + k]
                    self._flags[target + k] = old_flags[source + k]
            self._process_count[process] = cython.cast(cython.uint, count)

    def columns(self) -> dict[str, memoryview]:
        """The snapshot columns of :class:`undwarf.spaces.replay.Replay`, as memoryviews."""
        return {
            "chunk_count": self._chunk_count.base,
            "starts": self._starts.base,
            "ends": self._ends.base,
            "offsets": self._offsets.base,
            "images": self._images.base,
            "flags": self._flags.base,
            "lists": self._lists.base,
            "snapshot_at": self._snapshot_at.base,
            "snapshot_count": self._snapshot_count.base,
        }

    def mapping_room(self) -> int:
        """Mappings that the snapshots so far have room for, each of which costs 30 bytes."""
        return self.chunks * CHUNK
