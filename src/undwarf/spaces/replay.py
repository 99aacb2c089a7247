# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Replays a recording's side-band records and gives every sample the address space it saw.

What changes an address space: a mapping (cutting what it covers), an exec (whose first mapping empties it), a
fork (which starts from the parent's). perf itself does not empty the space at exec; since the COMM record of an exec
precedes the new image's mappings, doing so is right. But until the new program runs, samples inside of execve still
carry the registers of the old one: what they see is the new mappings, and the old ones where there is nothing new. The
last thing the kernel maps is the vdso (``load_elf_binary`` in ``fs/binfmt_elf.c``).

A program may copy its own code to large pages: it maps anonymous memory over its code, writes there what was there
before, and makes it executable (node's ``--use-largepages``, BOLT's ``-hugify``, HHVM). Where such a mapping lies
within the code of one file, it becomes a mapping of that file, flagged ``OVER_FILE`` and with an image number of its
own. A just-in-time compiler may be given the addresses of an unloaded library, too, and no record says that it was
unloaded: whoever replays must look for evidence in the stacks and :meth:`Replay.reject` what has none.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integers import ALL_ONES, NOTHING
from cython.cimports.undwarf.perfdata.sideband_kinds import SidebandKind
from cython.cimports.undwarf.spaces.mapping_flags import CHUNK, EXECUTABLE, OVER_FILE

from undwarf.column import doubled, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.spaces.mappings import Mappings

MISC_BIT_13 = cython.declare(cython.uint, 1 << 13)
PROT_WRITE = cython.declare(cython.uint, 2)
PROT_EXEC = cython.declare(cython.uint, 4)
CPUMODE_KERNEL = cython.declare(cython.uint, 1)


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
FILE_NAME = cython.declare(cython.uchar, 8)
"""Bits of what a name is: memory without a file, the vdso, anything in brackets, a file."""


@cython.final
@cython.cclass
class Replay(Mappings):
    """The state while side-band records pass by, and the snapshots made on the way.

    After :meth:`run`, the columns are: ``chunk_count`` (mappings in each chunk), ``starts``, ``ends``, ``offsets``
    (file offset of the start), ``images`` (index in ``keys``) and ``flags`` with 32 entries a chunk;
    ``lists`` (chunk numbers), ``snapshot_at`` and ``snapshot_count`` (a snapshot's slice of ``lists``).
    """

    _by_pid: IntMap
    # By process: what an exec is at, and whether the new program's mappings so far are over those from before it.
    _exec = cython.declare("unsigned int[::1]")
    _merged = cython.declare("unsigned char[::1]")
    _comms: IntMap
    _exited: IntMap
    _late = cython.declare("unsigned int[::1]")
    lates: cython.Py_ssize_t
    _image_of: IntMap
    _private_of: IntMap
    _name_bits = cython.declare("const unsigned char[::1]")
    _key_pids = cython.declare("unsigned int[::1]")
    _key_names = cython.declare("unsigned int[::1]")
    _key_identities = cython.declare("unsigned int[::1]")
    # By image: for anonymous memory over a file's code the image of the file and that of the memory.
    _key_files = cython.declare("unsigned int[::1]")
    _key_memories = cython.declare("unsigned int[::1]")
    _over_of: IntMap
    keyed: cython.Py_ssize_t

    def __cinit__(self) -> None:
        self._by_pid = IntMap()
        self._exec = zeros("I", 64)
        self._merged = zeros("B", 64)
        self._comms = IntMap()
        self._exited = IntMap()
        self._late = zeros("I", 64)
        self._image_of = IntMap()
        self._private_of = IntMap()
        self._name_bits = zeros("B", 0)
        self._key_pids = zeros("I", 64)
        self._key_names = zeros("I", 64)
        self._key_identities = zeros("I", 64)
        self._key_files = zeros("I", 64)
        self._key_memories = zeros("I", 64)
        self._over_of = IntMap()

    # -- processes and images -----------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def process(self, pid: cython.longlong) -> cython.Py_ssize_t:
        """The number of the process with this pid, made empty when it is new."""
        found: cython.longlong = self._by_pid.get(cython.cast(cython.ulonglong, pid))
        if found >= 0:
            return found
        found = self.new_process()
        if found >= self._exec.shape[0]:
            with cython.gil:
                self._exec = doubled(self._exec, found)
                self._merged = doubled(self._merged, found)
        self._exec[found] = 0
        self._by_pid.put(cython.cast(cython.ulonglong, pid), cython.cast(cython.uint, found))
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def empty(self, process: cython.Py_ssize_t) -> cython.int:
        """Let a process have no mappings, and no exec under way."""
        self.clear(process)
        self._exec[process] = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def starting(self, process: cython.Py_ssize_t, before: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The snapshot of a process whose new program does not run yet: its mappings over those of ``before``."""
        index: cython.Py_ssize_t
        chunk: cython.Py_ssize_t
        at: cython.Py_ssize_t
        if not self._merged[before]:
            self._merged[before] = 1
            for index in range(self._process_count[process]):
                chunk = self._work[self._process_at[process] + index]
                for at in range(chunk * CHUNK, chunk * CHUNK + self._chunk_count[chunk]):
                    self.cut(before, self._starts[at], self._ends[at])
                    self.insert(
                        before, self._starts[at], self._ends[at], self._offsets[at], self._images[at], self._flags[at]
                    )
        return self.freeze(before)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def image(self, name: cython.uint, identity: cython.uint, pid: cython.longlong) -> cython.Py_ssize_t:
        """The number of the image with this name and identity; memory without a file is another in each process."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, name) << 32 | identity
        found: cython.longlong
        private: cython.bint = self.name_has(name, PRIVATE_NAME)
        if private:
            key = cython.cast(cython.ulonglong, name) << 32 | cython.cast(cython.uint, pid)
            found = self._private_of.get(key)
        else:
            found = self._image_of.get(key)
        if found >= 0:
            return found
        found = self.new_image(name, identity, cython.cast(cython.uint, pid) if private else NOTHING)
        if private:
            self._private_of.put(key, cython.cast(cython.uint, found))
        else:
            self._image_of.put(key, cython.cast(cython.uint, found))
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def new_image(self, name: cython.uint, identity: cython.uint, pid: cython.uint) -> cython.Py_ssize_t:
        """The number of one image more; ``pid`` is NOTHING where it is no private memory."""
        if self.keyed >= self._key_names.shape[0]:
            with cython.gil:
                self._key_names = doubled(self._key_names, self.keyed)
                self._key_identities = doubled(self._key_identities, self.keyed)
                self._key_pids = doubled(self._key_pids, self.keyed)
                self._key_files = doubled(self._key_files, self.keyed)
                self._key_memories = doubled(self._key_memories, self.keyed)
        self._key_names[self.keyed] = name
        self._key_identities[self.keyed] = identity
        self._key_pids[self.keyed] = pid
        self._key_files[self.keyed] = self._key_memories[self.keyed] = NOTHING
        self.keyed += 1
        return self.keyed - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def over_file(self, file: cython.uint, memory: cython.uint) -> cython.Py_ssize_t:
        """The number of the image of anonymous memory (image ``memory``) over the code of a file (image ``file``)."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, file) << 32 | memory
        found: cython.longlong = self._over_of.get(key)
        if found < 0:
            found = self.new_image(self._key_names[file], self._key_identities[file], NOTHING)
            self._key_files[found] = file
            self._key_memories[found] = memory
            self._over_of.put(key, cython.cast(cython.uint, found))
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def code_below(
        self, process: cython.Py_ssize_t, start: cython.ulonglong, end: cython.ulonglong
    ) -> cython.Py_ssize_t:
        """The first entry of the mappings that hold [start, end) if all of that is code of one file in its order, be it
        still mapped or under anonymous memory; else -1."""
        first: cython.Py_ssize_t = self.entry_at(process, start)
        at: cython.Py_ssize_t = first
        file: cython.uint
        if first < 0:
            return -1
        file = self.file_of(first)
        while file != NOTHING:
            if self._ends[at] >= end:
                return first
            at = self.entry_at(process, self._ends[at])
            if at < 0 or self.file_of(at) != file:
                return -1
            if self._starts[at] - self._offsets[at] != self._starts[first] - self._offsets[first]:
                return -1
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def file_of(self, entry: cython.Py_ssize_t) -> cython.uint:
        """The image of the file whose code an entry maps, or is mapped over; NOTHING where there is none."""
        image: cython.uint = self._images[entry]
        if self._flags[entry] & OVER_FILE:
            image = self._key_files[image]
        elif not self._flags[entry] & EXECUTABLE or not self.name_has(self._key_names[image], FILE_NAME):
            image = NOTHING
        return image

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def name_has(self, name: cython.uint, bit: cython.uchar) -> cython.bint:
        """Whether a name has a bit; one that is not known has none."""
        found: cython.bint = name < self._name_bits.shape[0] and self._name_bits[name] & bit != 0
        return found

    # -- the replay ---------------------------------------------------------------------------------------------

    @cython.locals(
        kinds="const unsigned char[::1]",
        miscs="const unsigned short[::1]",
        times="const unsigned long long[::1]",
        positions="const unsigned long long[::1]",
        pids="const int[::1]",
        tids="const int[::1]",
        firsts="const unsigned long long[::1]",
        seconds="const unsigned long long[::1]",
        thirds="const unsigned long long[::1]",
        fourths="const unsigned int[::1]",
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
        firsts = sideband.first
        seconds = sideband.second
        thirds = sideband.third
        fourths = sideband.fourth
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
        total: cython.Py_ssize_t = len(order)
        i: cython.Py_ssize_t
        s: cython.Py_ssize_t
        last: cython.Py_ssize_t = -1  # the sample before, if nothing has changed since
        kernel: cython.Py_ssize_t
        process: cython.Py_ssize_t
        with cython.nogil:
            kernel = self.process(KERNEL_PID)
            for i in range(total + 1):
                # Behind the last sample, all that is left.
                s = order[i] if i < total else 0
                while event < events and (
                    i == total
                    or times[event] < sample_times[s]
                    or (times[event] == sample_times[s] and positions[event] < sample_positions[s])
                ):
                    self.apply(
                        kinds[event],
                        miscs[event],
                        pids[event],
                        tids[event],
                        firsts[event],
                        seconds[event],
                        thirds[event],
                        fourths[event],
                        names_of[event],
                        identities[event],
                    )
                    event += 1
                    last = -1
                if i == total:
                    break
                if last >= 0 and sample_tids[s] == sample_tids[last] and sample_pids[s] == sample_pids[last]:
                    space_of[s] = space_of[last]
                    kernel_of[s] = kernel_of[last]
                    comm_of[s] = comm_of[last]
                    last = s
                    continue
                last = s
                process = self.process(sample_pids[s])
                if self._exec[process] > EXEC_TOLD:
                    space_of[s] = cython.cast(
                        cython.uint, self.starting(process, self.process(BEFORE | sample_pids[s]))
                    )
                else:
                    space_of[s] = cython.cast(cython.uint, self.freeze(process))
                kernel_of[s] = cython.cast(cython.uint, self.freeze(kernel))
                comm_of[s] = cython.cast(cython.uint, self.comm(sample_tids[s], s))
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
        first: cython.ulonglong,
        second: cython.ulonglong,
        third: cython.ulonglong,
        fourth: cython.uint,
        name: cython.uint,
        identity: cython.uint,
    ) -> cython.int:
        """Let one side-band record change the state."""
        process: cython.Py_ssize_t
        found: cython.longlong
        end: cython.ulonglong
        flag: cython.uchar
        image: cython.Py_ssize_t
        below: cython.Py_ssize_t = -1
        if kind == SidebandKind.MMAP:
            if (misc & 7) == CPUMODE_KERNEL:
                pid = KERNEL_PID
            elif (misc & 7) > 2:
                return 0
            end = first + second
            if end < first:
                end = ALL_ONES
            if second == 0:
                return 0
            process = self.process(pid)
            if self._exec[process]:
                self.mapped_by_exec(process, pid, name)
                if self._exec[process]:
                    self.cut(self.process(BEFORE | pid), first, end)
            if fourth & (PROT_EXEC | PROT_WRITE) and self.name_has(name, PRIVATE_NAME):
                below = self.code_below(process, first, end)
            if below >= 0:
                third = first - self._starts[below] + self._offsets[below]
                image = self.over_file(self.file_of(below), cython.cast(cython.uint, self.image(name, identity, pid)))
                flag = OVER_FILE | EXECUTABLE if fourth & PROT_EXEC else OVER_FILE
                self.cut(process, first, end)
                self.insert(process, first, end, third, cython.cast(cython.uint, image), flag)
                return 0
            self.cut(process, first, end)
            # Only code and read-only file data are ever looked up; a writable mapping just covers what was there.
            if pid == KERNEL_PID or fourth & PROT_EXEC or not fourth & PROT_WRITE:
                flag = EXECUTABLE if pid == KERNEL_PID or fourth & PROT_EXEC else 0
                self.insert(process, first, end, third, cython.cast(cython.uint, self.image(name, identity, pid)), flag)
        elif kind == SidebandKind.COMM:
            self._comms.put(cython.cast(cython.ulonglong, tid), name)
            self.returned(tid)
            if misc & MISC_BIT_13 and pid != KERNEL_PID:
                # Samples that the kernel takes inside execve still carry the registers of the old program, so that
                # its mappings stay until the first one of the new program comes.
                self._exec[self.process(pid)] = EXEC_TOLD
        elif kind == SidebandKind.FORK:
            found = self._comms.get(second)
            self.returned(tid)
            if found >= 0:
                self._comms.put(cython.cast(cython.ulonglong, tid), cython.cast(cython.uint, found))
            if cython.cast(cython.ulonglong, pid) != first and pid != KERNEL_PID:
                process = self.process(pid)
                self.empty(process)
                if not misc & MISC_BIT_13:
                    self.clone(process, self.process(cython.cast(cython.longlong, first)))
        elif kind == SidebandKind.EXIT:
            self._exited.put(cython.cast(cython.ulonglong, tid), 1)
        elif kind == SidebandKind.KSYMBOL:
            end = first + second
            if second == 0 or end < first:
                return 0
            process = self.process(KERNEL_PID)
            self.cut(process, first, end)
            if not fourth & 1:
                self.insert(process, first, end, 0, cython.cast(cython.uint, self.image(name, 0, pid)), EXECUTABLE)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def comm(self, tid: cython.longlong, sample: cython.Py_ssize_t) -> cython.longlong:
        """The name of a sample's thread, or -1; a sample after the thread's exit is kept as late."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, tid)
        found: cython.longlong = self._comms.get(key)
        if found >= 0 and self._exited.get(key) == 1:
            self._exited.put(key, 0)
            if self.lates >= self._late.shape[0]:
                with cython.gil:
                    self._late = doubled(self._late, self.lates)
            self._late[self.lates] = cython.cast(cython.uint, sample)
            self.lates += 1
        return found

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
        told: cython.bint = self._exec[process] == EXEC_TOLD
        if told:
            self.empty(before)
            self.clone(before, process)
            self.empty(process)
            if before == process:
                return 0
            self._exec[process] = EXEC_MAPPING
        elif self._exec[process] == EXEC_MAPPED and not bits & KERNEL_NAME:
            self.empty(before)
            self._exec[process] = 0
        self._merged[before] = 0
        if bits & VDSO_NAME and self._exec[process]:
            self._exec[process] = EXEC_MAPPED
        return 0

    @cython.locals(pid=cython.longlong)
    def compact(self, gone: set[int]) -> None:
        """Forget all snapshots, and the mappings of the processes ``gone``; numbers of images stay.

        For those who replay without end, and have no sample left that refers to a snapshot.
        """
        for pid in gone:
            found: cython.longlong = self._by_pid.get(cython.cast(cython.ulonglong, pid))
            if found >= 0:
                self.empty(found)
            found = self._by_pid.get(cython.cast(cython.ulonglong, BEFORE | pid)) if pid >= 0 else -1
            if found >= 0:
                self.empty(found)
        self._compact()

    # -- what came of it ----------------------------------------------------------------------------------------

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

    def exited(self, tid: int) -> bool:
        """Whether the thread's exit has passed by, and no sample of it since."""
        return self._exited.get(cython.cast(cython.ulonglong, tid)) == 1

    def comm_of(self, tid: int) -> int:
        """The index of the thread's name; -1 if it has none."""
        return self._comms.get(cython.cast(cython.ulonglong, tid))

    @cython.locals(index=cython.Py_ssize_t, chunk=cython.Py_ssize_t)
    def mappings_of(self, pid: int) -> list[tuple[int, int, int, int, int]]:
        """(start, end, file offset of the start, image, flags) of the mappings that a process has now, by address."""
        process: cython.longlong = self._by_pid.get(cython.cast(cython.ulonglong, pid))
        found = []
        if process >= 0:
            for index in range(self._process_count[process]):
                chunk = self._work[self._process_at[process] + index]
                found += [
                    (self._starts[at], self._ends[at], self._offsets[at], self._images[at], self._flags[at])
                    for at in range(chunk * CHUNK, chunk * CHUNK + self._chunk_count[chunk])
                ]
        return found

    def images_over_files(self) -> dict[int, int]:
        """The images of anonymous memory over code of a file, each with the image of the memory alone."""
        return {i: self._key_memories[i] for i in range(self.keyed) if self._key_files[i] != NOTHING}

    @cython.locals(at=cython.Py_ssize_t, chunk=cython.Py_ssize_t)
    def reject(self, images: set[int]) -> None:
        """Let executable memory over files' code that has one of these images be memory alone, in all snapshots."""
        for chunk in range(self.chunks):
            for at in range(chunk * CHUNK, chunk * CHUNK + self._chunk_count[chunk]):
                if self._flags[at] == OVER_FILE | EXECUTABLE and self._images[at] in images:
                    self._images[at] = self._key_memories[self._images[at]]
                    self._offsets[at] = self._starts[at]
                    self._flags[at] = EXECUTABLE

    def key_pids(self) -> list[int | None]:
        """The process of each image that is private memory, None for the others."""
        return [self._key_pids[i] if self._key_pids[i] != NOTHING else None for i in range(self.keyed)]

    def late(self) -> memoryview:
        """I, the samples of the last run that were taken after their thread's exit was told, each thread's first."""
        return memoryview(self._late)[: self.lates]
