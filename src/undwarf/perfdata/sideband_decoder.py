# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Decodes the kernel's records other than samples: mappings, threads, names, lost records.

Sources: ``enum perf_event_type`` in ``include/uapi/linux/perf_event.h``; for the trailer of `sample_id_all`
``perf_event__output_id_sample`` in ``kernel/events/core.c``.
"""

from typing import Any

import cython
from cython.cimports.libc.string import memchr, memcpy
from cython.cimports.posix.mman import PROT_EXEC, PROT_READ, PROT_WRITE
from cython.cimports.undwarf.perfdata.abi import MISC_LOST_SAMPLES_BPF, MISC_MMAP_BUILD_ID, MISC_MMAP_DATA
from cython.cimports.undwarf.perfdata.column_store import ColumnStore
from cython.cimports.undwarf.perfdata.event_ids import EventIds
from cython.cimports.undwarf.perfdata.event_layouts import EventLayouts
from cython.cimports.undwarf.perfdata.finished_rounds import Rounds
from cython.cimports.undwarf.perfdata.native_integers import u16, u32, u64
from cython.cimports.undwarf.perfdata.record_types import RecordType
from cython.cimports.undwarf.perfdata.sample_fields import SampleField
from cython.cimports.undwarf.perfdata.sideband_kinds import SidebandKind, SideInt, SideNumber, SideWord

from undwarf.column import zeros

_LEAST = bytearray(b"\x08" * 23)
"""Bytes of the fixed part of a record, by type."""
for _size, _kinds in {
    16: (
        RecordType.COMM,
        RecordType.ITRACE_START,
        RecordType.LOST_SAMPLES,
        RecordType.SWITCH_CPU_WIDE,
        RecordType.CGROUP,
        RecordType.AUX_OUTPUT_HW_ID,
    ),
    24: (
        RecordType.LOST,
        RecordType.NAMESPACES,
        RecordType.KSYMBOL,
        RecordType.BPF_EVENT,
        RecordType.TEXT_POKE,
        RecordType.CALLCHAIN_DEFERRED,
    ),
    32: (RecordType.EXIT, RecordType.THROTTLE, RecordType.UNTHROTTLE, RecordType.FORK, RecordType.AUX),
    40: (RecordType.MMAP,),
    72: (RecordType.MMAP2,),
}.items():
    for _kind in _kinds:
        _LEAST[_kind] = _size


@cython.final
@cython.cclass
class SidebandDecoder:
    """Decodes a record into an entry of the side band.

    ``lost`` sums the records and samples that the kernel lost, ``unknown_ids`` counts records whose id is of no known
    event.
    """

    _entry: Any
    """The entry that is decoded, a ``SidebandEntry``."""

    def __init__(
        self, columns: ColumnStore, layouts: EventLayouts, ids: EventIds, rounds: Rounds, keep_switches: bool
    ) -> None:
        self._columns = columns
        self._layouts = layouts
        self._ids = ids
        self._rounds = rounds
        self._keep_switches = keep_switches
        self._least = memoryview(bytes(_LEAST))
        self._scratch = zeros("B", 32)
        self.lost = 0
        self.unknown_ids = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *", found="const unsigned char *")
    def decode(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        kind: cython.uint,
        misc: cython.uint,
        base: cython.longlong,
    ) -> cython.int:
        """Decode the record at ``at``, of a type below 23; 1 when it is damaged."""
        tail: cython.Py_ssize_t = end
        name: cython.Py_ssize_t = 0
        n: cython.Py_ssize_t = self._columns.sideband
        cap: cython.Py_ssize_t = self._columns.side_capacity
        trailers: cython.bint = self._layouts.count > 0 and self._layouts.layout(0).id_all != 0
        self._entry.kind = 0
        self._entry.time = 0
        self._entry.pid = self._entry.tid = -1
        self._entry.first = self._entry.second = self._entry.third = 0
        self._entry.fourth = 0
        self._entry.name_at = 0
        self._entry.identity = 0
        if trailers:
            tail = self._trailer(data, at, end, self._least[kind])
        if tail - at < self._least[kind]:
            return 1
        if kind == RecordType.MMAP or kind == RecordType.MMAP2:
            self._mapping(data, at, end, kind, misc)
        elif self._body(data, at, tail, end, kind, misc):
            return 1
        if not trailers and self._entry.time == 0:
            # Without times the position in the file is all there is: right after the newest sample before.
            self._entry.time = self._rounds.newest
        if self._entry.kind == 0:
            self._rounds.delivery(self._entry.time)
            return 0
        if self._entry.name_at != 0:
            if self._entry.name_at >= tail:
                return 1
            found = cython.cast(
                "const unsigned char *", memchr(data + self._entry.name_at, 0, tail - self._entry.name_at)
            )
            if not found:
                return 1
            name = self._columns.names.add(data + self._entry.name_at, found - data - self._entry.name_at)
        self._columns.side_kinds[n] = cython.cast(cython.uchar, self._entry.kind)
        self._columns.side_miscs[n] = cython.cast(cython.ushort, misc)
        self._columns.side_words[SideWord.TIME * cap + n] = self._rounds.delivery(self._entry.time)
        self._columns.side_words[SideWord.POSITION * cap + n] = base + at
        self._columns.side_words[SideWord.FIRST * cap + n] = self._entry.first
        self._columns.side_words[SideWord.SECOND * cap + n] = self._entry.second
        self._columns.side_words[SideWord.THIRD * cap + n] = self._entry.third
        self._columns.side_ints[SideInt.PID * cap + n] = self._entry.pid
        self._columns.side_ints[SideInt.TID * cap + n] = self._entry.tid
        self._columns.side_numbers[SideNumber.FOURTH * cap + n] = self._entry.fourth
        self._columns.side_numbers[SideNumber.NAME * cap + n] = cython.cast(cython.uint, name)
        self._columns.side_numbers[SideNumber.IDENTITY * cap + n] = cython.cast(cython.uint, self._entry.identity)
        self._columns.sideband = n + 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *", layout="const EventLayout *")
    def _trailer(
        self, data: Any, at: cython.Py_ssize_t, end: cython.Py_ssize_t, least: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Read the trailer of a record that has ``least`` bytes before it; returns where the trailer begins."""
        event: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t
        tail: cython.Py_ssize_t
        layout = self._layouts.layout(0)
        # All events agree on the distance of the id from the end.
        if self._layouts.count != 1 and layout.trailer_id_distance:
            place = end - cython.cast(cython.Py_ssize_t, layout.trailer_id_distance)
            if place >= at + 8:
                event = self._ids.event(u64(data, end, place))
                if event < 0:
                    self.unknown_ids += 1
                    event = 0
        layout = self._layouts.layout(event)
        place = tail = end - cython.cast(cython.Py_ssize_t, layout.trailer_bytes)
        if tail - at < least or tail == end:
            return tail
        if layout.sample_type & SampleField.TID:
            self._entry.pid = cython.cast(cython.int, u32(data, end, place))
            self._entry.tid = cython.cast(cython.int, u32(data, end, place + 4))
            place += 8
        if layout.sample_type & SampleField.TIME:
            self._entry.time = u64(data, end, place)
        return tail

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _mapping(
        self, data: Any, at: cython.Py_ssize_t, end: cython.Py_ssize_t, kind: cython.uint, misc: cython.uint
    ) -> cython.int:
        """MMAP and MMAP2; the latter has a build-id, or device and inode, of the file."""
        i: cython.Py_ssize_t
        size: cython.Py_ssize_t
        any_byte: cython.bint
        self._entry.kind = SidebandKind.MMAP
        self._entry.pid = cython.cast(cython.int, u32(data, end, at + 8))
        self._entry.tid = cython.cast(cython.int, u32(data, end, at + 12))
        self._entry.first = u64(data, end, at + 16)
        self._entry.second = u64(data, end, at + 24)
        self._entry.third = u64(data, end, at + 32)
        if kind == RecordType.MMAP:
            self._entry.name_at = at + 40
            self._entry.fourth = PROT_READ | PROT_WRITE if misc & MISC_MMAP_DATA else PROT_EXEC
            return 0
        self._entry.name_at = at + 72
        self._entry.fourth = u32(data, end, at + 64)
        memcpy(cython.address(self._scratch[1]), data + at + 40, 24)
        size = data[at + 40]
        # While another recording asks for build-ids, the kernel may set the bit in records without one: it fills the
        # header for one event after the other (perf_event_mmap_output). No build-id is longer than 20 bytes.
        if misc & MISC_MMAP_BUILD_ID and size <= 20:
            self._scratch[0] = 1
            for i in range(2, 5):
                self._scratch[i] = 0
            for i in range(size, 20):
                self._scratch[i + 5] = 0
            any_byte = size != 0
        else:
            self._scratch[0] = 2
            any_byte = (u64(data, end, at + 40) | u64(data, end, at + 48) | u64(data, end, at + 56)) != 0
        if any_byte:
            self._entry.identity = self._columns.identities.add(cython.address(self._scratch[0]), 25)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _body(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        tail: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        kind: cython.uint,
        misc: cython.uint,
    ) -> cython.int:
        """The other types, whose fields end at ``tail``; 1 when they do not fit."""
        if kind == RecordType.COMM:
            self._entry.kind = SidebandKind.COMM
            self._entry.pid = cython.cast(cython.int, u32(data, end, at + 8))
            self._entry.tid = cython.cast(cython.int, u32(data, end, at + 12))
            self._entry.name_at = at + 16
        elif kind == RecordType.FORK or kind == RecordType.EXIT:
            self._entry.kind = SidebandKind.FORK if kind == RecordType.FORK else SidebandKind.EXIT
            self._entry.pid = cython.cast(cython.int, u32(data, end, at + 8))
            self._entry.first = u32(data, end, at + 12)
            self._entry.tid = cython.cast(cython.int, u32(data, end, at + 16))
            self._entry.second = u32(data, end, at + 20)
            # Beside samples without times only the position in the file orders records.
            if self._entry.time == 0 and self._layouts.timed:
                self._entry.time = u64(data, end, at + 24)
        elif kind == RecordType.LOST or kind == RecordType.LOST_SAMPLES:
            self._entry.kind = SidebandKind.LOST
            if kind == RecordType.LOST:
                self._entry.second = u64(data, end, at + 8)
                self._entry.first = u64(data, end, at + 16)
            else:
                self._entry.first = u64(data, end, at + 8)
                self._entry.third = 1
                self._entry.fourth = 1 if misc & MISC_LOST_SAMPLES_BPF else 0
            if self._entry.fourth == 0:
                self.lost += min(self._entry.first, ~self.lost)
        elif kind == RecordType.KSYMBOL:
            self._entry.kind = SidebandKind.KSYMBOL
            self._entry.first = u64(data, end, at + 8)
            self._entry.second = u32(data, end, at + 16)
            self._entry.third = u16(data, end, at + 20)
            self._entry.fourth = u16(data, end, at + 22)
            self._entry.name_at = at + 24
        elif kind == RecordType.TEXT_POKE:
            self._entry.kind = SidebandKind.TEXT_POKE
            self._entry.first = u64(data, end, at + 8)
            self._entry.second = u16(data, end, at + 16)
            self._entry.third = u16(data, end, at + 18)
            if self._entry.second + self._entry.third > cython.cast(cython.ulonglong, tail - at - 20):
                return 1
        elif kind == RecordType.BPF_EVENT:
            self._entry.kind = SidebandKind.BPF
            self._entry.third = u16(data, end, at + 8)
            self._entry.fourth = u16(data, end, at + 10)
            self._entry.first = u32(data, end, at + 12)
            self._entry.second = u64(data, end, at + 16)
        elif kind == RecordType.CGROUP:
            self._entry.kind = SidebandKind.CGROUP
            self._entry.first = u64(data, end, at + 8)
            self._entry.name_at = at + 16
        elif kind == RecordType.NAMESPACES:
            self._entry.kind = SidebandKind.NAMESPACES
            self._entry.pid = cython.cast(cython.int, u32(data, end, at + 8))
            self._entry.tid = cython.cast(cython.int, u32(data, end, at + 12))
            self._entry.first = u64(data, end, at + 16)
            if self._entry.first > cython.cast(cython.ulonglong, tail - at - 24) >> 4:
                return 1
        elif kind == RecordType.CALLCHAIN_DEFERRED:
            self._entry.kind = SidebandKind.DEFERRED
            self._entry.first = u64(data, end, at + 8)
            self._entry.second = u64(data, end, at + 16)
            if self._entry.second > cython.cast(cython.ulonglong, tail - at - 24) >> 3:
                return 1
        elif kind == RecordType.AUX:
            self._entry.kind = SidebandKind.AUX
            self._entry.first = u64(data, end, at + 8)
            self._entry.second = u64(data, end, at + 16)
            self._entry.fourth = u32(data, end, at + 24)
        elif kind == RecordType.ITRACE_START:
            self._entry.kind = SidebandKind.ITRACE_START
            self._entry.pid = cython.cast(cython.int, u32(data, end, at + 8))
            self._entry.tid = cython.cast(cython.int, u32(data, end, at + 12))
        elif kind == RecordType.AUX_OUTPUT_HW_ID:
            self._entry.kind = SidebandKind.AUX_OUTPUT_HW_ID
            self._entry.first = u64(data, end, at + 8)
        elif kind == RecordType.THROTTLE or kind == RecordType.UNTHROTTLE:
            self._entry.kind = SidebandKind.THROTTLE if kind == RecordType.THROTTLE else SidebandKind.UNTHROTTLE
            if self._entry.time == 0 and self._layouts.timed:
                self._entry.time = u64(data, end, at + 8)
            self._entry.first = u64(data, end, at + 16)
            self._entry.second = u64(data, end, at + 24)
        elif (kind == RecordType.SWITCH or kind == RecordType.SWITCH_CPU_WIDE) and self._keep_switches:
            self._entry.kind = SidebandKind.SWITCH
            if kind == RecordType.SWITCH_CPU_WIDE:
                self._entry.first = u32(data, end, at + 8)
                self._entry.second = u32(data, end, at + 12)
                self._entry.third = 1
        return 0
