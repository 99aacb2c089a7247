# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Mappings of processes, and immutable snapshots of them.

An address space is a list of chunks of up to 32 mappings. A snapshot shares the chunks; the next change copies only the
chunk it modifies. So a process with thousands of mappings that changes one of them between any two samples does not
cost thousands of copies.
"""

from typing import Any

import cython
from cython.cimports.libc.string import memmove
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.spaces.mapping_flags import CHUNK

from undwarf.column import doubled, zeros


@cython.final
@cython.cclass
class Mappings:
    """Processes, by index from 0, and the snapshots taken of them."""

    chunk_count: Any
    starts: Any
    ends: Any
    offsets: Any
    images: Any
    flags: Any
    lists: Any
    snapshot_at: Any
    snapshot_count: Any
    work: Any
    process_at: Any

    def __cinit__(self) -> None:
        self._allocate_processes(64)
        self._allocate(256)

    def _allocate_processes(self, capacity: cython.Py_ssize_t) -> None:
        self.process_at = zeros("I", capacity)
        self.process_count = zeros("I", capacity)
        self.process_capacity = zeros("I", capacity)
        self.process_frozen = zeros("I", capacity)
        self.processes = 0

    def _allocate(self, capacity: cython.Py_ssize_t) -> None:
        """Allocate columns for ``capacity`` chunks, all empty."""
        self.chunk_count = zeros("I", capacity)
        self.chunk_owner = zeros("I", capacity)
        self.starts = zeros("Q", capacity * CHUNK)
        self.ends = zeros("Q", capacity * CHUNK)
        self.offsets = zeros("Q", capacity * CHUNK)
        self.images = zeros("I", capacity * CHUNK)
        self.flags = zeros("B", capacity * CHUNK)
        self.work = zeros("I", 4 * capacity)
        self.lists = zeros("I", 1024)
        self.snapshot_at = zeros("I", 256)
        self.snapshot_count = zeros("I", 256)
        self.chunks = 0
        self.worked = 0
        self.listed = 0
        self.snapshots = 0

    # -- growth -------------------------------------------------------------------------------------------------

    def _grow_chunks(self) -> None:
        self.chunk_count = doubled(self.chunk_count, self.chunks)
        self.chunk_owner = doubled(self.chunk_owner, self.chunks)
        used: cython.Py_ssize_t = self.chunks * CHUNK
        self.starts = doubled(self.starts, used)
        self.ends = doubled(self.ends, used)
        self.offsets = doubled(self.offsets, used)
        self.images = doubled(self.images, used)
        self.flags = doubled(self.flags, used)

    def _grow_processes(self) -> None:
        self.process_at = doubled(self.process_at, self.processes)
        self.process_count = doubled(self.process_count, self.processes)
        self.process_capacity = doubled(self.process_capacity, self.processes)
        self.process_frozen = doubled(self.process_frozen, self.processes)

    def _grow_snapshots(self) -> None:
        self.snapshot_at = doubled(self.snapshot_at, self.snapshots)
        self.snapshot_count = doubled(self.snapshot_count, self.snapshots)

    def _grow_lists(self) -> None:
        self.lists = doubled(self.lists, self.listed)

    def _grow_work(self) -> None:
        self.work = doubled(self.work, self.worked)

    # -- processes ----------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def new_process(self) -> cython.Py_ssize_t:
        """Add a process without mappings and return its index."""
        if self.processes >= self.process_at.shape[0]:
            with cython.gil:
                self._grow_processes()
        self.process_at[self.processes] = 0
        self.process_count[self.processes] = 0
        self.process_capacity[self.processes] = 0
        self.process_frozen[self.processes] = NOTHING
        self.processes += 1
        return self.processes - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def reserve(self, process: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.int:
        """Reserve ``count`` entries in the process's list of chunks, moving it to the end of ``work`` if need be."""
        capacity: cython.Py_ssize_t = self.process_capacity[process]
        at: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if count <= capacity:
            return 0
        capacity = max(count, 2 * capacity, 8)
        while self.worked + capacity > self.work.shape[0]:
            with cython.gil:
                self._grow_work()
        at = self.process_at[process]
        for i in range(self.process_count[process]):
            self.work[self.worked + i] = self.work[at + i]
        self.process_at[process] = self.worked
        self.process_capacity[process] = capacity
        self.worked += capacity
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def clear(self, process: cython.Py_ssize_t) -> cython.int:
        self.process_count[process] = 0
        self.process_frozen[process] = NOTHING
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def clone(self, child: cython.Py_ssize_t, parent: cython.Py_ssize_t) -> cython.int:
        """Copy the parent's address space to the child; they share a snapshot until either changes."""
        i: cython.Py_ssize_t
        if child == parent:
            return 0
        self.freeze(parent)
        self.process_count[child] = 0
        self.reserve(child, self.process_count[parent])
        for i in range(self.process_count[parent]):
            self.work[self.process_at[child] + i] = self.work[self.process_at[parent] + i]
        self.process_count[child] = self.process_count[parent]
        self.process_frozen[child] = self.process_frozen[parent]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def freeze(self, process: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The index of a snapshot of the process's current address space."""
        frozen: cython.uint = self.process_frozen[process]
        count: cython.Py_ssize_t = self.process_count[process]
        at: cython.Py_ssize_t = self.process_at[process]
        i: cython.Py_ssize_t
        if frozen != NOTHING:
            return frozen
        if self.snapshots >= self.snapshot_at.shape[0]:
            with cython.gil:
                self._grow_snapshots()
        while self.listed + count > self.lists.shape[0]:
            with cython.gil:
                self._grow_lists()
        for i in range(count):
            self.lists[self.listed + i] = self.work[at + i]
            self.chunk_owner[self.work[at + i]] = NOTHING
        frozen = cython.cast(cython.uint, self.snapshots)
        self.snapshot_at[frozen] = cython.cast(cython.uint, self.listed)
        self.snapshot_count[frozen] = cython.cast(cython.uint, count)
        self.listed += count
        self.snapshots += 1
        self.process_frozen[process] = frozen
        return frozen

    # -- chunks -------------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def new_chunk(self, process: cython.Py_ssize_t) -> cython.Py_ssize_t:
        if self.chunks >= self.chunk_count.shape[0]:
            with cython.gil:
                self._grow_chunks()
        self.chunk_count[self.chunks] = 0
        self.chunk_owner[self.chunks] = cython.cast(cython.uint, process)
        self.chunks += 1
        return self.chunks - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def move(self, to: cython.Py_ssize_t, source: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.int:
        """Copy ``count`` entries from ``source`` to ``to``; they may overlap."""
        if count <= 0:
            return 0
        # All columns have whole chunks, and neither range crosses the end of its chunk: no bounds check is needed.
        memmove(cython.address(self.starts[to]), cython.address(self.starts[source]), 8 * count)
        memmove(cython.address(self.ends[to]), cython.address(self.ends[source]), 8 * count)
        memmove(cython.address(self.offsets[to]), cython.address(self.offsets[source]), 8 * count)
        memmove(cython.address(self.images[to]), cython.address(self.images[source]), 4 * count)
        memmove(cython.address(self.flags[to]), cython.address(self.flags[source]), count)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def own(self, process: cython.Py_ssize_t, index: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The chunk at ``index`` of the process's list, copied first if a snapshot or another process shares it."""
        at: cython.Py_ssize_t = self.process_at[process] + index
        chunk: cython.Py_ssize_t = self.work[at]
        copy: cython.Py_ssize_t
        if self.chunk_owner[chunk] == process:
            return chunk
        copy = self.new_chunk(process)
        self.move(copy * CHUNK, chunk * CHUNK, self.chunk_count[chunk])
        self.chunk_count[copy] = self.chunk_count[chunk]
        self.work[at] = cython.cast(cython.uint, copy)
        return copy

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def remove_chunk(self, process: cython.Py_ssize_t, index: cython.Py_ssize_t) -> cython.int:
        at: cython.Py_ssize_t = self.process_at[process]
        i: cython.Py_ssize_t
        for i in range(index, cython.cast(cython.Py_ssize_t, self.process_count[process]) - 1):
            self.work[at + i] = self.work[at + i + 1]
        self.process_count[process] -= 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def insert_chunk(
        self, process: cython.Py_ssize_t, index: cython.Py_ssize_t, chunk: cython.Py_ssize_t
    ) -> cython.int:
        at: cython.Py_ssize_t
        i: cython.Py_ssize_t
        count: cython.Py_ssize_t = self.process_count[process]
        self.reserve(process, count + 1)
        at = self.process_at[process]
        i = count
        while i > index:
            self.work[at + i] = self.work[at + i - 1]
            i -= 1
        self.work[at + index] = cython.cast(cython.uint, chunk)
        self.process_count[process] = cython.cast(cython.uint, count + 1)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def chunk_for(self, process: cython.Py_ssize_t, address: cython.ulonglong) -> cython.Py_ssize_t:
        """Index of the last chunk that starts at or below ``address`` (the first one if none does)."""
        at: cython.Py_ssize_t = self.process_at[process]
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.process_count[process]
        middle: cython.Py_ssize_t
        while low < high:
            middle = (low + high) >> 1
            if self.starts[cython.cast(cython.Py_ssize_t, self.work[at + middle]) * CHUNK] <= address:
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
        self.process_frozen[process] = NOTHING
        if self.process_count[process] == 0:
            self.insert_chunk(process, 0, self.new_chunk(process))
        index = self.chunk_for(process, start)
        chunk = self.own(process, index)
        if self.chunk_count[chunk] == CHUNK:
            half = self.new_chunk(process)
            self.move(half * CHUNK, chunk * CHUNK + CHUNK // 2, CHUNK // 2)
            self.chunk_count[half] = cython.cast(cython.uint, CHUNK // 2)
            self.chunk_count[chunk] = cython.cast(cython.uint, CHUNK // 2)
            self.insert_chunk(process, index + 1, half)
            if self.starts[half * CHUNK] <= start:
                chunk = half
        end_of_chunk = at = chunk * CHUNK + self.chunk_count[chunk]
        while at > chunk * CHUNK and self.starts[at - 1] > start:
            at -= 1
        self.move(at + 1, at, end_of_chunk - at)
        self.starts[at] = start
        self.ends[at] = end
        self.offsets[at] = offset
        self.images[at] = image
        self.flags[at] = flags
        self.chunk_count[chunk] += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def cut(self, process: cython.Py_ssize_t, start: cython.ulonglong, end: cython.ulonglong) -> cython.int:
        """Unmap [start, end): mappings inside are removed, those that overlap it are shortened or split."""
        index: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        at: cython.Py_ssize_t
        k: cython.Py_ssize_t = 0
        last: cython.ulonglong
        if self.process_count[process] == 0:
            return 0
        index = self.chunk_for(process, start)
        while index < self.process_count[process]:
            chunk = self.work[self.process_at[process] + index]
            if k >= self.chunk_count[chunk]:
                index += 1
                k = 0
                continue
            at = chunk * CHUNK + k
            if self.starts[at] >= end:
                return 0
            if self.ends[at] <= start:
                k += 1
                continue
            self.process_frozen[process] = NOTHING
            chunk = self.own(process, index)
            at = chunk * CHUNK + k
            last = self.ends[at]
            if self.starts[at] < start:
                self.ends[at] = start
                if last > end:
                    self.insert(
                        process,
                        end,
                        last,
                        self.offsets[at] + (end - self.starts[at]),
                        self.images[at],
                        self.flags[at],
                    )
                    return 0
                k += 1
            elif last > end:
                self.offsets[at] += end - self.starts[at]
                self.starts[at] = end
                return 0
            else:
                self.move(at, at + 1, cython.cast(cython.Py_ssize_t, self.chunk_count[chunk]) - k - 1)
                self.chunk_count[chunk] -= 1
                if self.chunk_count[chunk] == 0:
                    self.remove_chunk(process, index)
                    k = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def overlay(self, target: cython.Py_ssize_t, source: cython.Py_ssize_t) -> cython.int:
        """Map everything that process ``source`` maps in process ``target``, too."""
        index: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        at: cython.Py_ssize_t
        for index in range(self.process_count[source]):
            chunk = self.work[self.process_at[source] + index]
            for at in range(chunk * CHUNK, chunk * CHUNK + self.chunk_count[chunk]):
                self.cut(target, self.starts[at], self.ends[at])
                self.insert(target, self.starts[at], self.ends[at], self.offsets[at], self.images[at], self.flags[at])
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def entry_at(self, process: cython.Py_ssize_t, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The entry of the current mapping that contains ``address``, or -1."""
        chunk: cython.Py_ssize_t
        at: cython.Py_ssize_t
        if self.process_count[process] == 0:
            return -1
        chunk = self.work[self.process_at[process] + self.chunk_for(process, address)]
        for at in range(chunk * CHUNK, chunk * CHUNK + self.chunk_count[chunk]):
            if self.starts[at] <= address < self.ends[at]:
                return at
        return -1

    # -- results ------------------------------------------------------------------------------------------------

    @cython.locals(
        old_count="unsigned int[::1]",
        old_starts="unsigned long long[::1]",
        old_ends="unsigned long long[::1]",
        old_offsets="unsigned long long[::1]",
        old_images="unsigned int[::1]",
        old_flags="unsigned char[::1]",
        old_work="unsigned int[::1]",
        old_at="unsigned int[::1]",
        old_process_count="unsigned int[::1]",
        kept="const unsigned int[::1]",
    )
    def compact(self, kept: Any) -> None:
        """Remove all snapshots, the memory of mappings that are gone, and all processes but ``kept`` (I): their indices
        become 0, 1, ... in that order."""
        old_count = self.chunk_count
        old_starts = self.starts
        old_ends = self.ends
        old_offsets = self.offsets
        old_images = self.images
        old_flags = self.flags
        old_work = self.work
        old_at = self.process_at
        old_process_count = self.process_count
        process: cython.Py_ssize_t
        at: cython.Py_ssize_t
        count: cython.Py_ssize_t
        source: cython.Py_ssize_t
        target: cython.Py_ssize_t
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        needed: cython.Py_ssize_t = 256
        for i in range(len(kept)):
            needed += old_process_count[kept[i]]
        self._allocate(needed)
        self._allocate_processes(64 + len(kept))
        for process in range(len(kept)):
            self.new_process()
            at = old_at[kept[process]]
            count = old_process_count[kept[process]]
            if not count:
                continue
            self.reserve(process, count)
            for i in range(count):
                source = cython.cast(cython.Py_ssize_t, old_work[at + i]) * CHUNK
                target = self.new_chunk(process)
                self.chunk_count[target] = old_count[source // CHUNK]
                self.work[self.process_at[process] + i] = cython.cast(cython.uint, target)
                target *= CHUNK
                for k in range(CHUNK):
                    self.starts[target + k] = old_starts[source + k]
                    self.ends[target + k] = old_ends[source + k]
                    self.offsets[target + k] = old_offsets[source + k]
                    self.images[target + k] = old_images[source + k]
                    self.flags[target + k] = old_flags[source + k]
            self.process_count[process] = cython.cast(cython.uint, count)

    @cython.locals(index=cython.Py_ssize_t, chunk=cython.Py_ssize_t)
    def entries(self, process: cython.Py_ssize_t) -> list[tuple[int, int, int, int, int]]:
        """(start, end, file offset of the start, image, flags) of a process's current mappings, by address."""
        found = []
        for index in range(self.process_count[process]):
            chunk = self.work[self.process_at[process] + index]
            found += [
                (self.starts[at], self.ends[at], self.offsets[at], self.images[at], self.flags[at])
                for at in range(chunk * CHUNK, chunk * CHUNK + self.chunk_count[chunk])
            ]
        return found

    def columns(self) -> dict[str, memoryview]:
        """``chunk_count`` (mappings in each chunk), ``starts``, ``ends``, ``offsets`` (file offset of the start),
        ``images`` (index in ``Replay.keys``) and ``flags`` with 32 entries a chunk; ``lists`` (chunk indices),
        ``snapshot_at`` and ``snapshot_count`` (a snapshot's slice of ``lists``)."""
        return {
            "chunk_count": self.chunk_count.base,
            "starts": self.starts.base,
            "ends": self.ends.base,
            "offsets": self.offsets.base,
            "images": self.images.base,
            "flags": self.flags.base,
            "lists": self.lists.base,
            "snapshot_at": self.snapshot_at.base,
            "snapshot_count": self.snapshot_count.base,
        }

    def capacity(self) -> int:
        """Number of mappings in all chunks, 30 bytes each; unused entries of a chunk count."""
        return self.chunks * CHUNK
