# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Replays a recording's side-band records and gives every sample the address space it saw.

An address space is an immutable snapshot: once a sample has seen it, the next change makes a new one. A snapshot
is a list of chunks of up to 32 mappings, and a change copies only the chunk it touches, so a process with
thousands of mappings that changes one of them between any two samples does not cost thousands of copies.

What changes an address space: a mapping (cutting what it covers), an exec (whose first mapping empties it), a
fork (which starts from the parent's). perf itself does not empty the space at exec; since the COMM record of an exec
precedes the new image's mappings, doing so is right. But until the new program runs, samples inside of execve still
carry the registers of the old one: what they see is the new mappings, and the old ones where there is nothing new. The
last thing the kernel maps is the vdso (``load_elf_binary`` in ``fs/binfmt_elf.c``).
"""

from typing import Any

import cython

from undwarf.buffers import zeros

CHUNK = cython.declare(cython.Py_ssize_t, 32)
"""Mappings in one chunk."""
NOTHING = cython.declare(cython.uint, 0xFFFFFFFF)
HIGHEST = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)
MULTIPLIER = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
"""An odd number whose product spreads a key's bits; the golden ratio as a 64-bit fraction."""

KIND_MMAP = cython.declare(cython.int, 1)
KIND_COMM = cython.declare(cython.int, 2)
KIND_FORK = cython.declare(cython.int, 3)
KIND_EXIT = cython.declare(cython.int, 4)
KIND_KSYMBOL = cython.declare(cython.int, 5)
MISC_BIT_13 = cython.declare(cython.uint, 1 << 13)
PROT_WRITE = cython.declare(cython.uint, 2)
PROT_EXEC = cython.declare(cython.uint, 4)
CPUMODE_KERNEL = cython.declare(cython.uint, 1)

EXECUTABLE = cython.declare(cython.uchar, 1)
"""Bit of a mapping's flags: it may hold code."""

KERNEL_PID = cython.declare(cython.longlong, -1)
BEFORE = cython.declare(cython.longlong, 1 << 40)
"""Bit of the number under which a process's mappings from before its exec are kept; pids have 32 bits."""

# What an exec is at: its first mapping is still to come; the kernel maps; it has mapped the vdso.
EXEC_TOLD = cython.declare(cython.uint, 1)
EXEC_MAPPING = cython.declare(cython.uint, 2)
EXEC_MAPPED = cython.declare(cython.uint, 3)

PRIVATE_NAME = cython.declare(cython.uchar, 1)
VDSO_NAME = cython.declare(cython.uchar, 2)
KERNEL_NAME = cython.declare(cython.uchar, 4)
"""Bits of what a name is: memory without a file, the vdso, anything in brackets."""


@cython.final
@cython.cclass
class IntMap:
    """A hash map from 64-bit keys to 32-bit values, for ids that come from the input."""

    keys = cython.declare("unsigned long long[::1]")
    values = cython.declare("unsigned int[::1]")
    used = cython.declare("unsigned char[::1]")
    mask: cython.ulonglong
    count: cython.Py_ssize_t

    def __cinit__(self) -> None:
        self._allocate(64)

    def _allocate(self, size: cython.Py_ssize_t) -> None:
        self.keys = zeros("Q", size)
        self.values = zeros("I", size)
        self.used = zeros("B", size)
        self.mask = size - 1
        self.count = 0

    @cython.locals(
        keys="unsigned long long[::1]",
        values="unsigned int[::1]",
        used="unsigned char[::1]",
        i=cython.Py_ssize_t,
    )
    def _double(self) -> None:
        keys = self.keys
        values = self.values
        used = self.used
        self._allocate(2 * len(keys))
        for i in range(len(keys)):
            if used[i]:
                self.put(keys[i], values[i])

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def slot(self, key: cython.ulonglong) -> cython.Py_ssize_t:
        """The slot that holds ``key``, or the free one where it belongs."""
        at: cython.ulonglong = ((key ^ (key >> 29)) * MULTIPLIER) >> 17 & self.mask
        while self.used[at] and self.keys[at] != key:
            at = (at + 1) & self.mask
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def get(self, key: cython.ulonglong) -> cython.longlong:
        """The value of ``key``, or -1."""
        at: cython.Py_ssize_t = self.slot(key)
        value: cython.longlong = -1
        if self.used[at]:
            value = self.values[at]
        return value

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def put(self, key: cython.ulonglong, value: cython.uint) -> cython.int:
        at: cython.Py_ssize_t
        if 2 * (self.count + 1) > self.keys.shape[0]:
            with cython.gil:
                self._double()
        at = self.slot(key)
        if not self.used[at]:
            self.used[at] = 1
            self.keys[at] = key
            self.count += 1
        self.values[at] = value
        return 0


@cython.final
@cython.cclass
class Replay:
    """The state while side-band records pass by, and the snapshots made on the way.

    After :meth:`run`, the columns are: ``chunk_count`` (mappings in each chunk), ``starts``, ``ends``, ``offsets``
    (file offset of the start), ``images`` (index in ``keys``) and ``flags`` with 32 entries a chunk;
    ``lists`` (chunk numbers), ``snapshot_at`` and ``snapshot_count`` (a snapshot's slice of ``lists``).
    """

    # Chunks: CHUNK consecutive entries of each column.
    _chunk_count = cython.declare("unsigned int[::1]")
    _starts = cython.declare("unsigned long long[::1]")
    _ends = cython.declare("unsigned long long[::1]")
    _offsets = cython.declare("unsigned long long[::1]")
    _images = cython.declare("unsigned int[::1]")
    _flags = cython.declare("unsigned char[::1]")
    _chunk_owner = cython.declare("unsigned int[::1]")
    chunks: cython.Py_ssize_t
    # Snapshots: slices of lists of chunk numbers.
    _lists = cython.declare("unsigned int[::1]")
    listed: cython.Py_ssize_t
    _snapshot_at = cython.declare("unsigned int[::1]")
    _snapshot_count = cython.declare("unsigned int[::1]")
    snapshots: cython.Py_ssize_t
    # Processes: each owns a slice of `work`, its current list of chunks.
    _work = cython.declare("unsigned int[::1]")
    worked: cython.Py_ssize_t
    _process_at = cython.declare("unsigned int[::1]")
    _process_count = cython.declare("unsigned int[::1]")
    _process_room = cython.declare("unsigned int[::1]")
    _process_frozen = cython.declare("unsigned int[::1]")
    _process_exec = cython.declare("unsigned int[::1]")
    _process_merged = cython.declare("unsigned char[::1]")
    processes: cython.Py_ssize_t
    _by_pid: IntMap
    _comms: IntMap
    _image_of: IntMap
    _private_of: IntMap
    _name_bits = cython.declare("const unsigned char[::1]")
    _exited: IntMap
    _late = cython.declare("unsigned int[::1]")
    lates: cython.Py_ssize_t
    _key_pids = cython.declare("unsigned int[::1]")
    _key_names = cython.declare("unsigned int[::1]")
    _key_identities = cython.declare("unsigned int[::1]")
    keyed: cython.Py_ssize_t

    def __cinit__(self) -> None:
        self._by_pid = IntMap()
        self._comms = IntMap()
        self._image_of = IntMap()
        self._private_of = IntMap()
        self._name_bits = zeros("B", 0)
        self._exited = IntMap()
        self._late = zeros("I", 64)
        self._key_pids = zeros("I", 64)
        self._chunk_count = zeros("I", 256)
        self._chunk_owner = zeros("I", 256)
        self._starts = zeros("Q", 256 * CHUNK)
        self._ends = zeros("Q", 256 * CHUNK)
        self._offsets = zeros("Q", 256 * CHUNK)
        self._images = zeros("I", 256 * CHUNK)
        self._flags = zeros("B", 256 * CHUNK)
        self._lists = zeros("I", 1024)
        self._snapshot_at = zeros("I", 256)
        self._snapshot_count = zeros("I", 256)
        self._work = zeros("I", 1024)
        self._process_at = zeros("I", 64)
        self._process_count = zeros("I", 64)
        self._process_room = zeros("I", 64)
        self._process_frozen = zeros("I", 64)
        self._process_exec = zeros("I", 64)
        self._process_merged = zeros("B", 64)
        self._key_names = zeros("I", 64)
        self._key_identities = zeros("I", 64)

    # -- growth -------------------------------------------------------------------------------------------------

    @cython.locals(old="unsigned int[::1]", new="unsigned int[::1]")
    def _grown_ints(self, old: Any) -> memoryview:
        grown = zeros("I", 2 * len(old))
        new = grown
        new[: len(old)] = old
        return grown

    @cython.locals(
        old="unsigned long long[::1]",
        new="unsigned long long[::1]",
        old_b="unsigned char[::1]",
        new_b="unsigned char[::1]",
    )
    def _grow_chunks(self) -> None:
        size: cython.Py_ssize_t = self._starts.shape[0]
        self._chunk_count = self._grown_ints(self._chunk_count)
        self._chunk_owner = self._grown_ints(self._chunk_owner)
        self._images = self._grown_ints(self._images)
        old = self._starts
        new = zeros("Q", 2 * size)
        new[:size] = old
        self._starts = new
        old = self._ends
        new = zeros("Q", 2 * size)
        new[:size] = old
        self._ends = new
        old = self._offsets
        new = zeros("Q", 2 * size)
        new[:size] = old
        self._offsets = new
        old_b = self._flags
        new_b = zeros("B", 2 * size)
        new_b[:size] = old_b
        self._flags = new_b

    @cython.locals(old="unsigned char[::1]", new="unsigned char[::1]")
    def _grow_processes(self) -> None:
        old = self._process_merged
        new = zeros("B", 2 * len(old))
        new[: len(old)] = old
        self._process_merged = new
        self._process_at = self._grown_ints(self._process_at)
        self._process_count = self._grown_ints(self._process_count)
        self._process_room = self._grown_ints(self._process_room)
        self._process_frozen = self._grown_ints(self._process_frozen)
        self._process_exec = self._grown_ints(self._process_exec)

    def _grow_snapshots(self) -> None:
        self._snapshot_at = self._grown_ints(self._snapshot_at)
        self._snapshot_count = self._grown_ints(self._snapshot_count)

    def _grow_keys(self) -> None:
        self._key_names = self._grown_ints(self._key_names)
        self._key_identities = self._grown_ints(self._key_identities)
        self._key_pids = self._grown_ints(self._key_pids)

    def _grow_lists(self) -> None:
        self._lists = self._grown_ints(self._lists)

    def _grow_late(self) -> None:
        self._late = self._grown_ints(self._late)

    def _grow_work(self) -> None:
        self._work = self._grown_ints(self._work)

    # -- processes ----------------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def process(self, pid: cython.longlong) -> cython.Py_ssize_t:
        """The number of the process with this pid, made empty when it is new."""
        found: cython.longlong = self._by_pid.get(cython.cast(cython.ulonglong, pid))
        if found >= 0:
            return found
        if self.processes >= self._process_at.shape[0]:
            with cython.gil:
                self._grow_processes()
        found = self.processes
        self.processes += 1
        self._process_at[found] = 0
        self._process_count[found] = 0
        self._process_room[found] = 0
        self._process_frozen[found] = NOTHING
        self._process_exec[found] = 0
        self._by_pid.put(cython.cast(cython.ulonglong, pid), cython.cast(cython.uint, found))
        return found

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
        self._process_exec[process] = 0
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def starting(self, process: cython.Py_ssize_t, before: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The snapshot of a process whose new program does not run yet: its mappings over those of ``before``."""
        index: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        at: cython.Py_ssize_t
        if not self._process_merged[before]:
            self._process_merged[before] = 1
            for index in range(self._process_count[process]):
                chunk = self._work[self._process_at[process] + index]
                for at in range(chunk * CHUNK, chunk * CHUNK + self._chunk_count[chunk]):
                    self.cut(before, self._starts[at], self._ends[at])
                    self.insert(
                        before, self._starts[at], self._ends[at], self._offsets[at], self._images[at], self._flags[at]
                    )
        return self.freeze(before)

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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def move(self, to: cython.Py_ssize_t, source: cython.Py_ssize_t) -> cython.int:
        self._starts[to] = self._starts[source]
        self._ends[to] = self._ends[source]
        self._offsets[to] = self._offsets[source]
        self._images[to] = self._images[source]
        self._flags[to] = self._flags[source]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def own(self, process: cython.Py_ssize_t, index: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The chunk at ``index`` of the process's list, copied first if a snapshot or another process holds it."""
        at: cython.Py_ssize_t = self._process_at[process] + index
        chunk: cython.Py_ssize_t = self._work[at]
        copy: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if self._chunk_owner[chunk] == process:
            return chunk
        copy = self.new_chunk(process)
        for i in range(self._chunk_count[chunk]):
            self.move(copy * CHUNK + i, chunk * CHUNK + i)
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
        i: cython.Py_ssize_t
        self._process_frozen[process] = NOTHING
        if self._process_count[process] == 0:
            self.insert_chunk(process, 0, self.new_chunk(process))
        index = self.chunk_for(process, start)
        chunk = self.own(process, index)
        if self._chunk_count[chunk] == CHUNK:
            half = self.new_chunk(process)
            for i in range(CHUNK // 2):
                self.move(half * CHUNK + i, chunk * CHUNK + CHUNK // 2 + i)
            self._chunk_count[half] = cython.cast(cython.uint, CHUNK // 2)
            self._chunk_count[chunk] = cython.cast(cython.uint, CHUNK // 2)
            self.insert_chunk(process, index + 1, half)
            if self._starts[half * CHUNK] <= start:
                chunk = half
        at = chunk * CHUNK + self._chunk_count[chunk]
        while at > chunk * CHUNK and self._starts[at - 1] > start:
            self.move(at, at - 1)
            at -= 1
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
        i: cython.Py_ssize_t
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
                for i in range(at, chunk * CHUNK + self._chunk_count[chunk] - 1):
                    self.move(i, i + 1)
                self._chunk_count[chunk] -= 1
                if self._chunk_count[chunk] == 0:
                    self.remove_chunk(process, index)
                    k = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def image(self, name: cython.uint, identity: cython.uint, pid: cython.longlong) -> cython.Py_ssize_t:
        """The number of the image with this name and identity; memory without a file is another in each process."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, name) << 32 | identity
        found: cython.longlong
        private: cython.bint = name < self._name_bits.shape[0] and self._name_bits[name] & PRIVATE_NAME != 0
        if private:
            key = cython.cast(cython.ulonglong, name) << 32 | cython.cast(cython.uint, pid)
            found = self._private_of.get(key)
        else:
            found = self._image_of.get(key)
        if found >= 0:
            return found
        if self.keyed >= self._key_names.shape[0]:
            with cython.gil:
                self._grow_keys()
        self._key_names[self.keyed] = name
        self._key_identities[self.keyed] = identity
        self._key_pids[self.keyed] = cython.cast(cython.uint, pid) if private else NOTHING
        if private:
            self._private_of.put(key, cython.cast(cython.uint, self.keyed))
        else:
            self._image_of.put(key, cython.cast(cython.uint, self.keyed))
        self.keyed += 1
        return self.keyed - 1

    # -- the replay ---------------------------------------------------------------------------------------------

    @cython.locals(
        kinds="const unsigned char[::1]",
        miscs="const unsigned short[::1]",
        times="const unsigned long long[::1]",
        positions="const unsigned long long[::1]",
        pids="const int[::1]",
        tids="const int[::1]",
        a="const unsigned long long[::1]",
        b="const unsigned long long[::1]",
        c="const unsigned long long[::1]",
        d="const unsigned int[::1]",
        names_of="const unsigned int[::1]",
        identities="const unsigned int[::1]",
        sample_times="const unsigned long long[::1]",
        sample_positions="const unsigned long long[::1]",
        sample_pids="const int[::1]",
        sample_tids="const int[::1]",
        order="const unsigned int[::1]",
        space_of="unsigned int[::1]",
        kernel_of="unsigned int[::1]",
        comm_of="unsigned int[::1]",
    )
    def run(self, sideband: Any, samples: Any, order: Any, names: Any) -> tuple[memoryview, memoryview, memoryview]:
        """Pass all records in time order; returns the columns (space_of, kernel_of, comm_of) by sample number.

        ``space_of`` and ``kernel_of`` are snapshot numbers (user and kernel address space), ``comm_of`` an index in
        the recording's names, or 0xffffffff where the thread's name never came. ``names`` (B, by name index) has what
        a name stands for: 1 memory without a file, whose code is each process's own, 2 the vdso, 4 what the kernel
        maps unasked.
        """
        self._name_bits = names
        self.lates = 0
        kinds = sideband.kind
        miscs = sideband.misc
        times = sideband.time
        positions = sideband.position
        pids = sideband.pid
        tids = sideband.tid
        a = sideband.a
        b = sideband.b
        c = sideband.c
        d = sideband.d
        names_of = sideband.name
        identities = sideband.identity
        sample_times = samples.time
        sample_positions = samples.position
        sample_pids = samples.pid
        sample_tids = samples.tid
        results = (zeros("I", len(order)), zeros("I", len(order)), zeros("I", len(order)))
        space_of = results[0]
        kernel_of = results[1]
        comm_of = results[2]
        event: cython.Py_ssize_t = 0
        events: cython.Py_ssize_t = len(kinds)
        i: cython.Py_ssize_t
        s: cython.Py_ssize_t
        kernel: cython.Py_ssize_t
        found: cython.longlong
        tid: cython.ulonglong
        process: cython.Py_ssize_t
        with cython.nogil:
            kernel = self.process(KERNEL_PID)
            for i in range(len(order)):
                s = order[i]
                while event < events and (
                    times[event] < sample_times[s]
                    or (times[event] == sample_times[s] and positions[event] < sample_positions[s])
                ):
                    self.apply(
                        kinds[event],
                        miscs[event],
                        pids[event],
                        tids[event],
                        a[event],
                        b[event],
                        c[event],
                        d[event],
                        names_of[event],
                        identities[event],
                    )
                    event += 1
                process = self.process(sample_pids[s])
                if self._process_exec[process] > EXEC_TOLD:
                    space_of[s] = cython.cast(
                        cython.uint, self.starting(process, self.process(BEFORE | sample_pids[s]))
                    )
                else:
                    space_of[s] = cython.cast(cython.uint, self.freeze(process))
                kernel_of[s] = cython.cast(cython.uint, self.freeze(kernel))
                tid = cython.cast(cython.ulonglong, cython.cast(cython.longlong, sample_tids[s]))
                found = self._comms.get(tid)
                comm_of[s] = NOTHING if found < 0 else cython.cast(cython.uint, found)
                if found >= 0 and self._exited.get(tid) == 1:
                    self._exited.put(tid, 0)
                    if self.lates >= self._late.shape[0]:
                        with cython.gil:
                            self._grow_late()
                    self._late[self.lates] = cython.cast(cython.uint, s)
                    self.lates += 1
            while event < events:
                self.apply(
                    kinds[event],
                    miscs[event],
                    pids[event],
                    tids[event],
                    a[event],
                    b[event],
                    c[event],
                    d[event],
                    names_of[event],
                    identities[event],
                )
                event += 1
        return results

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def apply(
        self,
        kind: cython.int,
        misc: cython.uint,
        pid: cython.longlong,
        tid: cython.longlong,
        a: cython.ulonglong,
        b: cython.ulonglong,
        c: cython.ulonglong,
        d: cython.uint,
        name: cython.uint,
        identity: cython.uint,
    ) -> cython.int:
        """Let one side-band record change the state."""
        process: cython.Py_ssize_t
        found: cython.longlong
        end: cython.ulonglong
        flag: cython.uchar
        if kind == KIND_MMAP:
            if (misc & 7) == CPUMODE_KERNEL:
                pid = KERNEL_PID
            elif (misc & 7) > 2:
                return 0
            end = a + b
            if end < a:
                end = HIGHEST
            if b == 0:
                return 0
            process = self.process(pid)
            if self._process_exec[process]:
                self.mapped_by_exec(process, pid, name)
                if self._process_exec[process]:
                    self.cut(self.process(BEFORE | pid), a, end)
            self.cut(process, a, end)
            # Only code and read-only file data are ever looked up; a writable mapping just covers what was there.
            if pid == KERNEL_PID or d & PROT_EXEC or not d & PROT_WRITE:
                flag = EXECUTABLE if pid == KERNEL_PID or d & PROT_EXEC else 0
                self.insert(process, a, end, c, cython.cast(cython.uint, self.image(name, identity, pid)), flag)
        elif kind == KIND_COMM:
            self._comms.put(cython.cast(cython.ulonglong, tid), name)
            self.returned(tid)
            if misc & MISC_BIT_13 and pid != KERNEL_PID:
                # Samples that the kernel takes inside execve still carry the registers of the old program, so that
                # its mappings stay until the first one of the new program comes.
                self._process_exec[self.process(pid)] = 1
        elif kind == KIND_FORK:
            found = self._comms.get(b)
            self.returned(tid)
            if found >= 0:
                self._comms.put(cython.cast(cython.ulonglong, tid), cython.cast(cython.uint, found))
            if cython.cast(cython.ulonglong, pid) != a and pid != KERNEL_PID:
                process = self.process(pid)
                self.clear(process)
                if not misc & MISC_BIT_13:
                    self.clone(process, self.process(cython.cast(cython.longlong, a)))
        elif kind == KIND_EXIT:
            self._exited.put(cython.cast(cython.ulonglong, tid), 1)
        elif kind == KIND_KSYMBOL:
            end = a + b
            if b == 0 or end < a:
                return 0
            process = self.process(KERNEL_PID)
            self.cut(process, a, end)
            if not d & 1:
                self.insert(process, a, end, 0, cython.cast(cython.uint, self.image(name, 0, pid)), EXECUTABLE)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def returned(self, tid: cython.longlong) -> cython.int:
        """A thread of this number is there (again)."""
        if self._exited.get(cython.cast(cython.ulonglong, tid)) == 1:
            self._exited.put(cython.cast(cython.ulonglong, tid), 0)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def mapped_by_exec(self, process: cython.Py_ssize_t, pid: cython.longlong, name: cython.uint) -> cython.int:
        """Before a mapping after an exec is made: empty the address space, or see that the new program runs."""
        bits: cython.uchar = self._name_bits[name] if name < self._name_bits.shape[0] else 0
        before: cython.Py_ssize_t = self.process(BEFORE | pid) if pid >= 0 else process
        told: cython.bint = self._process_exec[process] == EXEC_TOLD
        if told:
            self.clear(before)
            self.clone(before, process)
            self.clear(process)
            if before == process:
                return 0
            self._process_exec[process] = EXEC_MAPPING
        elif self._process_exec[process] == EXEC_MAPPED and not bits & KERNEL_NAME:
            self.clear(before)
            self._process_exec[process] = 0
        self._process_merged[before] = 0
        if bits & VDSO_NAME and self._process_exec[process]:
            self._process_exec[process] = EXEC_MAPPED
        return 0

    @cython.locals(
        old_count="unsigned int[::1]",
        old_starts="unsigned long long[::1]",
        old_ends="unsigned long long[::1]",
        old_offsets="unsigned long long[::1]",
        old_images="unsigned int[::1]",
        old_flags="unsigned char[::1]",
        old_work="unsigned int[::1]",
    )
    def compact(self, gone: set[int]) -> None:
        """Forget all snapshots, and the mappings of the processes ``gone``; numbers of images stay.

        For those who replay without end, and have no sample left that refers to a snapshot.
        """
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
        for pid in gone:
            found: cython.longlong = self._by_pid.get(pid)
            if found >= 0:
                self.clear(found)
            found = self._by_pid.get(BEFORE | pid) if pid >= 0 else -1
            if found >= 0:
                self.clear(found)
        needed: cython.Py_ssize_t = 256
        for process in range(self.processes):
            needed += self._process_count[process]
        room: cython.Py_ssize_t = 256
        while room < needed:
            room *= 2
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

    # -- what came of it ----------------------------------------------------------------------------------------

    def columns(self) -> dict[str, memoryview]:
        """The snapshot columns named in the class's description, as memoryviews."""
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

    def keys(self) -> list[tuple[int, int]]:
        """(name index, identity index) of every image, by image number."""
        return [(self._key_names[i], self._key_identities[i]) for i in range(self.keyed)]

    def image_total(self) -> int:
        """How many images were met."""
        return self.keyed

    @cython.locals(i=cython.Py_ssize_t)
    def pids(self) -> list[int]:
        """The processes that have a mapping (-1: the kernel)."""
        return [
            cython.cast(cython.longlong, self._by_pid.keys[i])
            for i in range(self._by_pid.keys.shape[0])
            if self._by_pid.used[i]
            and self._process_count[self._by_pid.values[i]]
            and (self._by_pid.keys[i] < BEFORE or self._by_pid.keys[i] >> 63)
        ]

    def mapping_room(self) -> int:
        """Mappings that the snapshots so far have room for, each of which costs 30 bytes."""
        return self.chunks * CHUNK

    def key_pids(self) -> list[int | None]:
        """The process of each image that is private memory, None for the others."""
        return [self._key_pids[i] if self._key_pids[i] != NOTHING else None for i in range(self.keyed)]

    def late(self) -> memoryview:
        """I, the samples of the last run that were taken after their thread's exit was told, each thread's first."""
        return memoryview(self._late)[: self.lates]

    def snapshot_total(self) -> int:
        """How many snapshots were made."""
        return self.snapshots
