# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Replays a recording's side-band records and gives every sample its address space.

An address space changes by a mapping (which unmaps what it covers), an exec (whose first mapping empties it), and a
fork (which copies the parent's). perf itself does not empty the space at exec; since the COMM record of an exec
precedes the new image's mappings, doing so is right. But until the new program runs, samples inside execve still have
the registers of the old one: their space is the new mappings, and the old ones where nothing new is mapped. The last
mapping the kernel creates is the vdso (``load_elf_binary`` in ``fs/binfmt_elf.c``).

A program may move its own code to huge pages: it maps anonymous memory over its code, copies the code there and makes
it executable (node's ``--use-largepages``, BOLT's ``-hugify``, HHVM). A mapping of that kind that is within the code of
one file becomes a mapping of that file, flagged ``OVER_FILE`` and with an image index of its own. But a just-in-time
compiler may also get the addresses of an unloaded library, and no record reports the unloading: the caller must look
for evidence in the stacks and :meth:`Replay.reject` images without any.
"""

from typing import Any

import cython
from cython.cimports.posix.mman import PROT_EXEC, PROT_WRITE
from cython.cimports.undwarf.integer_constants import ALL_ONES, NOTHING
from cython.cimports.undwarf.perfdata.abi import CPUMODE_MASK, MISC_COMM_EXEC, MISC_FORK_EXEC, CpuMode
from cython.cimports.undwarf.perfdata.sideband_kinds import SidebandKind
from cython.cimports.undwarf.spaces.mapping_flags import CHUNK, EXECUTABLE, OVER_FILE

from undwarf.column import doubled, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.spaces.mappings import Mappings

KERNEL_PID = cython.declare(cython.longlong, -1)
BEFORE = cython.declare(cython.longlong, 1 << 40)
"""Bit set in the key of a process's mappings from before its exec; pids have 32 bits."""

# State of an exec: no mapping yet; the kernel maps; it has mapped the vdso.
EXEC_ANNOUNCED = cython.declare(cython.uint, 1)
EXEC_MAPPING = cython.declare(cython.uint, 2)
EXEC_MAPPED = cython.declare(cython.uint, 3)

PRIVATE_NAME = cython.declare(cython.uchar, 1)
VDSO_NAME = cython.declare(cython.uchar, 2)
KERNEL_NAME = cython.declare(cython.uchar, 4)
FILE_NAME = cython.declare(cython.uchar, 8)
"""Bits of a name: memory without a file, the vdso, anything in brackets, a file."""


@cython.final
@cython.cclass
class Replay:
    """The state of processes while side-band records are applied; ``mappings`` has the snapshots."""

    mappings = cython.declare(Mappings, visibility="readonly")
    _by_pid: IntMap
    # By process: the state of an exec, and whether the new program's mappings so far are over those from before it.
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
        self.mappings = Mappings()
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
        """The index of the process with this pid, which is added without mappings if it is new."""
        found: cython.longlong = self._by_pid.get(cython.cast(cython.ulonglong, pid))
        if found >= 0:
            return found
        found = self.mappings.new_process()
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
        """Remove a process's mappings, and end its exec."""
        self.mappings.clear(process)
        self._exec[process] = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def starting(self, process: cython.Py_ssize_t, before: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The snapshot of a process between exec and its new program: its mappings over those of ``before``."""
        if not self._merged[before]:
            self._merged[before] = 1
            self.mappings.overlay(before, process)
        snapshot: cython.Py_ssize_t = self.mappings.freeze(before)
        return snapshot

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def image(self, name: cython.uint, identity: cython.uint, pid: cython.longlong) -> cython.Py_ssize_t:
        """The index of the image with this name and identity; memory without a file is a separate image per process."""
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
        """Add an image and return its index; ``pid`` is NOTHING unless it is private memory."""
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
        """The index of the image of anonymous memory (image ``memory``) over the code of a file (image ``file``)."""
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
        """The entry that contains ``start``, if all of [start, end) is code of one file at one load address, mapped or
        covered by anonymous memory; else -1."""
        first: cython.Py_ssize_t = self.mappings.entry_at(process, start)
        at: cython.Py_ssize_t = first
        file: cython.uint
        if first < 0:
            return -1
        file = self.file_of(first)
        while file != NOTHING:
            if self.mappings.ends[at] >= end:
                return first
            at = self.mappings.entry_at(process, self.mappings.ends[at])
            if at < 0 or self.file_of(at) != file:
                return -1
            if self.load_bias(at) != self.load_bias(first):
                return -1
        return -1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def load_bias(self, entry: cython.Py_ssize_t) -> cython.ulonglong:
        """Address minus file offset of an entry."""
        bias: cython.ulonglong = self.mappings.starts[entry] - self.mappings.offsets[entry]
        return bias

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def file_of(self, entry: cython.Py_ssize_t) -> cython.uint:
        """The image of the file whose code an entry maps or covers; NOTHING if there is none."""
        image: cython.uint = self.mappings.images[entry]
        if self.mappings.flags[entry] & OVER_FILE:
            image = self._key_files[image]
        elif not self.mappings.flags[entry] & EXECUTABLE or not self.name_has(self._key_names[image], FILE_NAME):
            image = NOTHING
        return image

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def name_has(self, name: cython.uint, bit: cython.uchar) -> cython.bint:
        """Whether a name has a bit; unknown names have none."""
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
        """Apply all records in time order; returns the columns (space_of, kernel_of, comm_of) by sample index.

        ``space_of`` and ``kernel_of`` are snapshot indices (user and kernel address space), ``comm_of`` an index in
        the recording's names, or 0xffffffff if no record names the thread. ``names`` (B, by name index) has bits:
        1 memory without a file, private to each process, 2 the vdso, 4 any mapping that the kernel creates by itself,
        8 a file.
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
        last: cython.Py_ssize_t = -1  # the previous sample, if no record was applied since
        kernel: cython.Py_ssize_t
        process: cython.Py_ssize_t
        with cython.nogil:
            kernel = self.process(KERNEL_PID)
            for i in range(total + 1):
                # After the last sample, all remaining records.
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
                if self._exec[process] > EXEC_ANNOUNCED:
                    space_of[s] = cython.cast(
                        cython.uint, self.starting(process, self.process(BEFORE | sample_pids[s]))
                    )
                else:
                    space_of[s] = cython.cast(cython.uint, self.mappings.freeze(process))
                kernel_of[s] = cython.cast(cython.uint, self.mappings.freeze(kernel))
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
        """Apply one side-band record."""
        process: cython.Py_ssize_t
        found: cython.longlong
        end: cython.ulonglong
        flag: cython.uchar
        image: cython.Py_ssize_t
        below: cython.Py_ssize_t = -1
        if kind == SidebandKind.MMAP:
            if (misc & CPUMODE_MASK) == CpuMode.KERNEL:
                pid = KERNEL_PID
            elif (misc & CPUMODE_MASK) > CpuMode.USER:
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
                    self.mappings.cut(self.process(BEFORE | pid), first, end)
            if fourth & (PROT_EXEC | PROT_WRITE) and self.name_has(name, PRIVATE_NAME):
                below = self.code_below(process, first, end)
            if below >= 0:
                third = first - self.load_bias(below)
                image = self.over_file(self.file_of(below), cython.cast(cython.uint, self.image(name, identity, pid)))
                flag = OVER_FILE | EXECUTABLE if fourth & PROT_EXEC else OVER_FILE
                self.mappings.cut(process, first, end)
                self.mappings.insert(process, first, end, third, cython.cast(cython.uint, image), flag)
                return 0
            self.mappings.cut(process, first, end)
            # Only code and read-only file data are ever looked up; a writable mapping only unmaps what it covers.
            if pid == KERNEL_PID or fourth & PROT_EXEC or not fourth & PROT_WRITE:
                flag = EXECUTABLE if pid == KERNEL_PID or fourth & PROT_EXEC else 0
                self.mappings.insert(
                    process, first, end, third, cython.cast(cython.uint, self.image(name, identity, pid)), flag
                )
        elif kind == SidebandKind.COMM:
            self._comms.put(cython.cast(cython.ulonglong, tid), name)
            self.revive(tid)
            if misc & MISC_COMM_EXEC and pid != KERNEL_PID:
                # Samples that the kernel takes inside execve still carry the registers of the old program, so that
                # its mappings stay until the first one of the new program comes.
                self._exec[self.process(pid)] = EXEC_ANNOUNCED
        elif kind == SidebandKind.FORK:
            found = self._comms.get(second)
            self.revive(tid)
            if found >= 0:
                self._comms.put(cython.cast(cython.ulonglong, tid), cython.cast(cython.uint, found))
            if cython.cast(cython.ulonglong, pid) != first and pid != KERNEL_PID:
                process = self.process(pid)
                self.empty(process)
                if not misc & MISC_FORK_EXEC:
                    self.mappings.clone(process, self.process(cython.cast(cython.longlong, first)))
        elif kind == SidebandKind.EXIT:
            self._exited.put(cython.cast(cython.ulonglong, tid), 1)
        elif kind == SidebandKind.KSYMBOL:
            end = first + second
            if second == 0 or end < first:
                return 0
            process = self.process(KERNEL_PID)
            self.mappings.cut(process, first, end)
            if not fourth & 1:
                self.mappings.insert(
                    process, first, end, 0, cython.cast(cython.uint, self.image(name, 0, pid)), EXECUTABLE
                )
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def comm(self, tid: cython.longlong, sample: cython.Py_ssize_t) -> cython.longlong:
        """The name of a sample's thread, or -1; a sample after the thread's exit is recorded as late."""
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
    def revive(self, tid: cython.longlong) -> cython.int:
        """Note that a thread with this tid exists (again)."""
        if self._exited.get(cython.cast(cython.ulonglong, tid)) == 1:
            self._exited.put(cython.cast(cython.ulonglong, tid), 0)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def mapped_by_exec(self, process: cython.Py_ssize_t, pid: cython.longlong, name: cython.uint) -> cython.int:
        """Called before a mapping after an exec: empties the address space, or finds that the new program runs."""
        bits: cython.uchar = self._name_bits[name] if name < self._name_bits.shape[0] else 0
        before: cython.Py_ssize_t = self.process(BEFORE | pid) if pid >= 0 else process
        if self._exec[process] == EXEC_ANNOUNCED:
            self.empty(before)
            self.mappings.clone(before, process)
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

    @cython.locals(
        old_exec="unsigned int[::1]",
        old_merged="unsigned char[::1]",
        kept="unsigned int[::1]",
        key=cython.ulonglong,
        i=cython.Py_ssize_t,
        count=cython.Py_ssize_t,
    )
    def compact(self, gone: set[int]) -> None:
        """Drop all snapshots and the state of the processes and threads ``gone``; image indices stay valid.

        For a live replay, which never ends, at a time when no sample refers to a snapshot.
        """
        before: IntMap = self._by_pid
        old_exec = self._exec
        old_merged = self._merged
        kept = zeros("I", before.count)
        self._by_pid = IntMap()
        self._exec = zeros("I", 64 + before.count)
        self._merged = zeros("B", 64 + before.count)
        count = 0
        for i in range(before.keys.shape[0]):
            key = before.keys[i]
            # Without the bit of mappings from before an exec; -1 is the kernel.
            if not before.used[i] or (key >> 63 == 0 and (key & (BEFORE - 1)) in gone):
                continue
            kept[count] = before.values[i]
            self._exec[count] = old_exec[before.values[i]]
            self._merged[count] = old_merged[before.values[i]]
            self._by_pid.put(key, cython.cast(cython.uint, count))
            count += 1
        self.mappings.compact(kept[:count])
        self._comms = self._comms.without(gone)
        self._exited = self._exited.without(gone)

    # -- results ------------------------------------------------------------------------------------------------

    def keys(self) -> list[tuple[int, int]]:
        """(name index, identity index) of every image, by image number."""
        return [(self._key_names[i], self._key_identities[i]) for i in range(self.keyed)]

    def image_total(self) -> int:
        """Number of images."""
        return self.keyed

    @cython.locals(i=cython.Py_ssize_t)
    def pids(self) -> list[int]:
        """The pids of processes with mappings (-1: the kernel)."""
        return [
            cython.cast(cython.longlong, self._by_pid.keys[i])
            for i in range(self._by_pid.keys.shape[0])
            if self._by_pid.used[i]
            and self.mappings.process_count[self._by_pid.values[i]]
            and (self._by_pid.keys[i] < BEFORE or self._by_pid.keys[i] >> 63)
        ]

    def tasks(self) -> set[int]:
        """The pids and tids that have any state, without those of the kernel (-1) and the idle task (0)."""
        keys = self._by_pid.all_keys() + self._comms.all_keys() + self._exited.all_keys()
        return {key & (BEFORE - 1) for key in keys if not key >> 63} - {0}

    def task_entries(self) -> int:
        """Map entries of processes and threads; a process has about four."""
        return self._by_pid.count + self._comms.count + self._exited.count

    def exited(self, tid: int) -> bool:
        """Whether the thread has exited, and had no sample since."""
        return self._exited.get(cython.cast(cython.ulonglong, tid)) == 1

    def comm_of(self, tid: int) -> int:
        """The index of the thread's name; -1 if it has none."""
        return self._comms.get(cython.cast(cython.ulonglong, tid))

    def mappings_of(self, pid: int) -> list[tuple[int, int, int, int, int]]:
        """(start, end, file offset of the start, image, flags) of a process's current mappings, by address."""
        process: cython.longlong = self._by_pid.get(cython.cast(cython.ulonglong, pid))
        return self.mappings.entries(process) if process >= 0 else []

    def images_over_files(self) -> dict[int, int]:
        """Image of anonymous memory over a file's code -> image of the same memory without the file."""
        return {i: self._key_memories[i] for i in range(self.keyed) if self._key_files[i] != NOTHING}

    @cython.locals(at=cython.Py_ssize_t, chunk=cython.Py_ssize_t)
    def reject(self, images: set[int]) -> None:
        """In all snapshots, make executable memory over a file's code with one of these images plain memory."""
        mappings: Mappings = self.mappings
        for chunk in range(mappings.chunks):
            for at in range(chunk * CHUNK, chunk * CHUNK + mappings.chunk_count[chunk]):
                if mappings.flags[at] == OVER_FILE | EXECUTABLE and mappings.images[at] in images:
                    mappings.images[at] = self._key_memories[mappings.images[at]]
                    mappings.offsets[at] = mappings.starts[at]
                    mappings.flags[at] = EXECUTABLE

    def key_pids(self) -> list[int | None]:
        """The pid of each image that is private memory, None for the others."""
        return [self._key_pids[i] if self._key_pids[i] != NOTHING else None for i in range(self.keyed)]

    def late(self) -> memoryview:
        """I, indices of samples in the last run after their thread's EXIT record, each thread's first."""
        return memoryview(self._late)[: self.lates]
