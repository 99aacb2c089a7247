# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Encodes sample records with unwound call chains: from columns, or from the samples of a recording.

Stacks are nodes of undwarf.unwind.stacks.Stacks: ``parent`` and ``frame`` by node, ``runtime`` (the address as printed)
and ``provenance`` by frame. A chain is written innermost first with the kernel's context markers. Source for
the order of a sample's fields: ``perf_output_sample`` in ``kernel/events/core.c``.
"""

from array import array
from typing import Any

import cython
from cython.cimports.libc.string import memcpy
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.perfdata.abi import (
    CONTEXT_KERNEL,
    CONTEXT_USER,
    LARGEST_AUXTRACE,
    LARGEST_RECORD,
    MISC_MMAP_DATA,
    MISC_STOP_MASK,
    MISC_STOP_SHIFT,
)
from cython.cimports.undwarf.perfdata.record_types import RecordType
from cython.cimports.undwarf.perfdata.sample_fields import SampleField
from cython.cimports.undwarf.unwind.provenance import Provenance
from cython.cimports.undwarf.unwind.stop_reason import StopReason

from undwarf.column import zeros

RESERVE = cython.declare(cython.Py_ssize_t, 1 << 17)
"""Bytes that must be free in the buffer before a record is encoded; no record is larger."""
FIXED_FIELDS = cython.declare(cython.Py_ssize_t, 160)
"""Bytes that the fields of a new sample other than its chain need at most."""

SAMPLE_COLUMNS = (
    "identifier", "ip", "pid", "tid", "time", "addr", "stream_id", "cpu", "period", "weight", "data_src", "phys_addr",
)  # fmt: skip  # a table


@cython.final
@cython.cclass
class Emitter:
    """A growing buffer of encoded records, and the stacks that chains are taken from.

    ``shortened`` counts chains cut to fit in a record, ``dropped`` samples that could not be rewritten.
    """

    parents = cython.declare("const unsigned int[::1]")
    frames = cython.declare("const unsigned int[::1]")
    addresses = cython.declare("const unsigned long long[::1]")
    provenances = cython.declare("const unsigned char[::1]")
    out = cython.declare("unsigned char[::1]")
    used: cython.Py_ssize_t
    shortened = cython.declare(cython.Py_ssize_t, visibility="readonly")
    dropped = cython.declare(cython.Py_ssize_t, visibility="readonly")
    inserted_before = cython.declare("const unsigned int[::1]")
    inserted_ends = cython.declare("const unsigned long long[::1]")
    inserted = cython.declare("const unsigned char[::1]")
    inserted_next: cython.Py_ssize_t
    at = cython.declare(cython.Py_ssize_t, visibility="readonly")
    next = cython.declare(cython.Py_ssize_t, visibility="readonly")
    processes = cython.declare("const unsigned char[::1]")

    def __init__(self, stacks: dict[str, memoryview]) -> None:
        self.out = zeros("B", 4 << 20)
        self.used = 0
        self.shortened = 0
        self.dropped = 0
        self.at = 0
        self.next = 0
        self.processes = zeros("B", 0)
        self.precede({})
        self.see(stacks)

    def see(self, stacks: dict[str, memoryview]) -> None:
        """Take chains from these stacks from here on."""
        self.parents = stacks["parent"]
        self.frames = stacks["frame"]
        self.addresses = stacks["runtime"]
        self.provenances = stacks["provenance"]

    def precede(self, records: dict[int, bytes]) -> None:
        """Insert records before samples, by sample index, whether the samples are selected or not."""
        numbers = sorted(records)
        ends = zeros("Q", len(numbers))
        end = 0
        for i, number in enumerate(numbers):
            end += len(records[number])
            ends[i] = end
        self.inserted_before = array("I", numbers)
        self.inserted_ends = ends
        self.inserted = b"".join(records[number] for number in numbers)
        self.inserted_next = 0

    def restart(self) -> None:
        """Start again at sample 0."""
        self.next = 0

    def take(self) -> Any:
        """The records encoded since the last call; the view is valid until the next record is encoded."""
        used = self.used
        self.used = 0
        return memoryview(self.out)[:used]

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(old="unsigned char[::1]", new="unsigned char[::1]")
    def grow(self) -> cython.int:
        """Double the buffer."""
        old = self.out
        new = zeros("B", 2 * len(old))
        new[: self.used] = old[: self.used]
        self.out = new
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def put(self, value: cython.ulonglong) -> cython.int:
        """Append a word; ``RESERVE`` bytes were free when the record was started."""
        # The bounds check of the last byte covers all of them.
        self.out[self.used + 7] = 0
        memcpy(cython.address(self.out[self.used]), cython.address(value), 8)
        self.used += 8
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def chain(self, node: cython.uint, most: cython.Py_ssize_t) -> cython.int:
        """Append a count and a chain with its context markers, ``most`` entries at most."""
        count_at: cython.Py_ssize_t = self.used
        count: cython.ulonglong = 0
        left: cython.Py_ssize_t = most
        frame: cython.uint
        context: cython.int = -1
        kind: cython.int
        markers: cython.int
        _i: cython.int
        self.put(0)
        while node != NOTHING:
            if left < 2:
                self.shortened += 1
                break
            frame = self.frames[node]
            # Inferred frames have markers of their own, further ones of user frames: two before a caller that was
            # inferred by code, three before frames of another dump that come after it (kernel_chains.py).
            kind = self.provenances[frame]
            if kind not in (Provenance.KERNEL_CHAIN, Provenance.OTHER_DUMP, Provenance.INFERRED_CALLER):
                kind = 0
            if kind != context:
                markers = 1
                if kind == Provenance.INFERRED_CALLER:
                    markers = 2
                elif kind == Provenance.OTHER_DUMP and context == Provenance.INFERRED_CALLER:
                    markers = 3
                if left < markers + 1:
                    self.shortened += 1
                    break
                for _i in range(markers):
                    self.put(CONTEXT_KERNEL if kind == Provenance.KERNEL_CHAIN else CONTEXT_USER)
                context = kind
                count += cython.cast(cython.ulonglong, markers)
                left -= markers
            self.put(self.addresses[frame])
            count += 1
            left -= 1
            node = self.parents[node]
        memcpy(cython.address(self.out[count_at]), cython.address(count), 8)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def head(self, at: cython.Py_ssize_t, kind: cython.uint, misc: cython.uint) -> cython.int:
        """Write the header of the record from ``at`` to the end of the buffer."""
        size: cython.ulonglong = cython.cast(cython.ulonglong, self.used - at)
        word: cython.ulonglong = kind | cython.cast(cython.ulonglong, misc & 0xFFFF) << 32 | size << 48
        memcpy(cython.address(self.out[at]), cython.address(word), 8)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def end_sample(self, at: cython.Py_ssize_t, misc: cython.uint, stop: cython.uint) -> cython.int:
        """Write the header of the sample from ``at`` on, with its stop reason unless the chain is the kernel's own."""
        misc &= ~MISC_STOP_MASK
        if stop != StopReason.NO_DUMP and stop != StopReason.DEFERRED:
            misc |= stop << MISC_STOP_SHIFT & MISC_STOP_MASK
        return self.head(at, RecordType.SAMPLE, misc)

    # -- records of a recording ---------------------------------------------------------------------------------

    @cython.locals(
        view="const unsigned char[::1]",
        positions="const unsigned long long[::1]",
        chain_at="const unsigned short[::1]",
        regs_at="const unsigned short[::1]",
        stack_at="const unsigned short[::1]",
        raw_at="const unsigned short[::1]",
        branch_at="const unsigned short[::1]",
        events="const unsigned short[::1]",
        register_words="const unsigned int[::1]",
        stacks="const unsigned int[::1]",
        stops="const unsigned char[::1]",
        selected="const unsigned char[::1]",
        skipped="const unsigned char[::1]",
    )
    def rewrite(
        self, view: Any, position: int, samples: Any, register_words: Any, stacks: Any, stops: Any, selected: Any,
        skipped: Any, code_only: bool,
    ) -> bool:  # fmt: skip  # rows of parameters
        """Copy the records in ``view`` (stream position ``position``) from ``at`` on, samples with their new chains
        and without user registers and stack; False if a record claims an impossible size.

        ``register_words``: number of user registers in each event's samples ('I'). ``stacks`` and ``stops``: node and
        stop reason by sample. Left out are record types marked in ``skipped`` ('B', by type below 256), samples not
        marked in ``selected`` ('B'), and with ``code_only`` mappings of data. Afterwards ``at`` is the offset of the
        first record that is not entirely in the view, maybe past its end, and ``next`` the first sample not met.
        """
        only_code: cython.bint = code_only
        positions = samples.position
        chain_at = samples.callchain_at
        regs_at = samples.regs_at
        stack_at = samples.stack_at
        raw_at = samples.raw_at
        branch_at = samples.branch_at
        events = samples.event
        size: cython.Py_ssize_t = view.shape[0]
        total: cython.Py_ssize_t = positions.shape[0]
        base: cython.ulonglong = position
        word: cython.ulonglong = 0
        length: cython.Py_ssize_t
        kind: cython.uint
        misc: cython.uint
        n: cython.Py_ssize_t
        fine: cython.bint = True
        extra: cython.ulonglong = 0
        self.at = 0
        with cython.nogil:
            while self.at <= size - 8:
                memcpy(cython.address(word), cython.address(view[self.at]), 8)
                kind = cython.cast(cython.uint, word & NOTHING)
                misc = cython.cast(cython.uint, word >> 32 & 0xFFFF)
                length = cython.cast(cython.Py_ssize_t, word >> 48)
                if length < 8:
                    fine = False
                    break
                if length > size - self.at:
                    break
                while self.used + RESERVE > self.out.shape[0]:
                    with cython.gil:
                        self.grow()
                if kind == RecordType.SAMPLE:
                    while self.next < total and positions[self.next] < base + self.at:
                        self.next += 1
                    if self.next < total and positions[self.next] == base + self.at:
                        n = self.next
                        self.next = n + 1
                        if self.inserted_next < self.inserted_before.shape[0]:
                            self.put_inserted(n)
                        # Each counter of a group is a sample of its own, decoded from the same record.
                        while not selected[n] and self.next < total and positions[self.next] == base + self.at:
                            n = self.next
                            self.next = n + 1
                            if self.inserted_next < self.inserted_before.shape[0]:
                                self.put_inserted(n)
                        if selected[n]:
                            self.sample(
                                cython.address(view[self.at]),
                                length,
                                misc,
                                chain_at[n],
                                raw_at[n],
                                branch_at[n],
                                regs_at[n],
                                stack_at[n],
                                register_words[events[n]],
                                stacks[n],
                                stops[n],
                            )
                    else:
                        # The decoder could not decode it, and with its event's new fields nobody could.
                        self.dropped += 1
                elif kind >= 256 or not (
                    skipped[kind]
                    or (self.processes.shape[0] and self.is_of_others(cython.address(view[self.at]), kind, length))
                    or (only_code and misc & MISC_MMAP_DATA and (kind == RecordType.MMAP or kind == RecordType.MMAP2))
                ):
                    self.out[self.used + length - 1] = 0
                    memcpy(cython.address(self.out[self.used]), cython.address(view[self.at]), length)
                    self.used += length
                if kind == RecordType.HEADER_TRACING_DATA and length >= 12:
                    # The bytes after these two types are not part of their size.
                    memcpy(cython.address(extra), cython.address(view[self.at + 8]), 8)
                    length += cython.cast(cython.Py_ssize_t, ((extra & NOTHING) + 7) & ~7)
                elif kind == RecordType.AUXTRACE and length >= 16:
                    memcpy(cython.address(extra), cython.address(view[self.at + 8]), 8)
                    if extra > LARGEST_AUXTRACE:
                        fine = False
                        break
                    length += cython.cast(cython.Py_ssize_t, extra)
                self.at += length
        return fine

    def only_of(self, processes: Any) -> None:
        """From now on leave out mappings, names, forks and exits of processes that have no bit in ``processes`` (B, by
        pid)."""
        self.processes = processes

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.locals(record="const unsigned char *")
    def is_of_others(self, record: Any, kind: cython.uint, length: cython.Py_ssize_t) -> cython.bint:
        """Whether a record is of a process that is left out."""
        pid: cython.int = -1
        if (
            kind == RecordType.MMAP2
            or kind == RecordType.MMAP
            or kind == RecordType.COMM
            or kind == RecordType.FORK
            or kind == RecordType.EXIT
        ) and length >= 12:
            memcpy(cython.address(pid), record + 8, 4)
        if pid < 0:
            return False
        if pid >> 3 >= self.processes.shape[0]:
            return True
        return not self.processes[pid >> 3] >> (pid & 7) & 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def put_inserted(self, number: cython.Py_ssize_t) -> cython.int:
        """Append the record that is to be inserted before this sample, if any."""
        start: cython.ulonglong
        length: cython.Py_ssize_t
        i: cython.Py_ssize_t
        while self.inserted_next < self.inserted_before.shape[0] and self.inserted_before[self.inserted_next] <= number:
            i = self.inserted_next
            self.inserted_next = i + 1
            if self.inserted_before[i] == number:
                start = self.inserted_ends[i - 1] if i else 0
                length = cython.cast(cython.Py_ssize_t, self.inserted_ends[i] - start)
                # The bounds check of its last byte covers all of it.
                self.out[self.used + length - 1] = self.inserted[start + length - 1]
                memcpy(cython.address(self.out[self.used]), cython.address(self.inserted[start]), length)
                self.used += length
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def sample(
        self,
        data: Any,
        length: cython.Py_ssize_t,
        misc: cython.uint,
        chain_at: cython.Py_ssize_t,
        raw_at: cython.Py_ssize_t,
        branch_at: cython.Py_ssize_t,
        regs_at: cython.Py_ssize_t,
        stack_at: cython.Py_ssize_t,
        register_words: cython.Py_ssize_t,
        node: cython.uint,
        stop: cython.uint,
    ) -> cython.int:
        """Append a sample of ``length`` bytes at ``data``, whose fields the decoder has checked."""
        start: cython.Py_ssize_t = self.used
        word: cython.ulonglong = 0
        # [8, before) comes before the chain, [after, regs) and [rest, length) after it.
        before: cython.Py_ssize_t = length
        after: cython.Py_ssize_t
        regs: cython.Py_ssize_t = length
        rest: cython.Py_ssize_t = length
        if regs_at:
            memcpy(cython.address(word), data + regs_at, 8)
            regs = regs_at
            rest = regs_at + 8 + (8 * register_words if word else 0)
        if stack_at:
            memcpy(cython.address(word), data + stack_at, 8)
            if not regs_at:
                regs = stack_at
            rest = stack_at + 8 + (cython.cast(cython.Py_ssize_t, word) + 8 if word else 0)
        if chain_at:
            memcpy(cython.address(word), data + chain_at, 8)
            before = chain_at
            after = chain_at + 8 + 8 * cython.cast(cython.Py_ssize_t, word)
        elif not regs_at and not stack_at:
            # Neither a chain nor a stack to unwind: it is copied.
            after = length
        else:
            before = raw_at if raw_at else branch_at if branch_at else regs
            after = before
        if before > length or after > regs or regs > rest or rest > length:
            self.dropped += 1
            return 0
        self.out[self.used + length + 8] = 0
        memcpy(cython.address(self.out[self.used]), data, before)
        self.used += before
        if chain_at or regs_at or stack_at:
            self.chain(node, (LARGEST_RECORD - (before + 8 + regs - after + length - rest)) >> 3)
            memcpy(cython.address(self.out[self.used]), data + after, regs - after)
            self.used += regs - after
            memcpy(cython.address(self.out[self.used]), data + rest, length - rest)
            self.used += length - rest
        self.end_sample(start, misc, stop)
        return 0

    # -- new records --------------------------------------------------------------------------------------------

    @cython.locals(
        ids="const unsigned long long[::1]",
        ips="const unsigned long long[::1]",
        pids="const int[::1]",
        tids="const int[::1]",
        times="const unsigned long long[::1]",
        addrs="const unsigned long long[::1]",
        streams="const unsigned long long[::1]",
        cpus="const int[::1]",
        periods="const unsigned long long[::1]",
        weights="const unsigned long long[::1]",
        sources="const unsigned long long[::1]",
        physicals="const unsigned long long[::1]",
        stacks="const unsigned int[::1]",
        stops="const unsigned char[::1]",
        miscs="const unsigned short[::1]",
    )
    def samples(self, kind: int, columns: dict[str, Any], first: int, last: int) -> None:
        """Append samples ``first`` to ``last - 1`` of an event with ``sample_type`` ``kind``.

        ``columns``: those of SAMPLE_COLUMNS that the event has ('i' for pid, tid and cpu, else 'Q'), and ``stack``
        ('I', nodes), ``stop`` ('B') and ``misc`` ('H'). Other fields are not supported.
        """
        nothing = zeros("Q", 0)
        none = zeros("i", 0)
        ids = columns.get("identifier", nothing)
        ips = columns.get("ip", nothing)
        pids = columns.get("pid", none)
        tids = columns.get("tid", none)
        times = columns.get("time", nothing)
        addrs = columns.get("addr", nothing)
        streams = columns.get("stream_id", nothing)
        cpus = columns.get("cpu", none)
        periods = columns.get("period", nothing)
        weights = columns.get("weight", nothing)
        sources = columns.get("data_src", nothing)
        physicals = columns.get("phys_addr", nothing)
        stacks = columns["stack"]
        stops = columns["stop"]
        miscs = columns["misc"]
        bits: cython.ulonglong = kind
        i: cython.Py_ssize_t
        start: cython.Py_ssize_t
        begin: cython.Py_ssize_t = first
        end: cython.Py_ssize_t = last
        with cython.nogil:
            for i in range(begin, end):
                while self.used + RESERVE > self.out.shape[0]:
                    with cython.gil:
                        self.grow()
                start = self.used
                self.put(0)
                if bits & SampleField.IDENTIFIER:
                    self.put(ids[i])
                if bits & SampleField.IP:
                    self.put(ips[i])
                if bits & SampleField.TID:
                    self.put(
                        cython.cast(cython.ulonglong, cython.cast(cython.uint, pids[i]))
                        | cython.cast(cython.ulonglong, cython.cast(cython.uint, tids[i])) << 32
                    )
                if bits & SampleField.TIME:
                    self.put(times[i])
                if bits & SampleField.ADDR:
                    self.put(addrs[i])
                if bits & SampleField.ID:
                    self.put(ids[i])
                if bits & SampleField.STREAM_ID:
                    self.put(streams[i])
                if bits & SampleField.CPU:
                    self.put(cython.cast(cython.uint, cpus[i]))
                if bits & SampleField.PERIOD:
                    self.put(periods[i])
                if bits & SampleField.CALLCHAIN:
                    self.chain(stacks[i], (LARGEST_RECORD - FIXED_FIELDS) >> 3)
                if bits & (SampleField.WEIGHT | SampleField.WEIGHT_STRUCT):
                    self.put(weights[i])
                if bits & SampleField.DATA_SRC:
                    self.put(sources[i])
                if bits & SampleField.PHYS_ADDR:
                    self.put(physicals[i])
                self.end_sample(start, miscs[i], stops[i])
