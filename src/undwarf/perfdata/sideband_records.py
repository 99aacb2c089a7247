# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Records of the kernel that are no samples: mappings, threads, names, what was lost.

Sources: ``enum perf_event_type`` in ``include/uapi/linux/perf_event.h``; for what stands at their ends
``perf_event__output_id_sample`` in ``kernel/events/core.c``.
"""

from typing import Any

import cython
from cython.cimports.libc.string import memchr, memcpy
from cython.cimports.undwarf.perfdata import sample_layout as columns
from cython.cimports.undwarf.perfdata.native import u16, u32, u64
from cython.cimports.undwarf.perfdata.record_types import RecordType
from cython.cimports.undwarf.perfdata.sample_fields import SampleField
from cython.cimports.undwarf.perfdata.sideband_kinds import SidebandKind

from undwarf.column import zeros
from undwarf.perfdata.sample_records import SampleRecords

# By kind, bytes of a record without what stands at its end.
_LEAST = bytearray(b"\x08" * 23)
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


@cython.cclass
class SideRecords(SampleRecords):
    """Decodes one record at a time into a row of the side band, whose kinds are those of records.SidebandKind."""

    def __init__(self, max_samples: int, keep_switches: bool) -> None:
        super().__init__(max_samples)
        self._keep_switches = keep_switches
        self._least = memoryview(bytes(_LEAST))
        self._scratch = zeros("B", 32)
        self.lost = 0
        self.no_event = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *", found="const unsigned char *")
    def _side_record(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        kind: cython.uint,
        misc: cython.uint,
        base: cython.longlong,
    ) -> cython.int:
        """Decode the record at ``at``, of a kind below 23; 1 when it is damaged."""
        tail: cython.Py_ssize_t = end
        name: cython.Py_ssize_t = 0
        n: cython.Py_ssize_t = self.sideband
        cap: cython.Py_ssize_t = self._side_capacity
        trailers: cython.bint = self._event_count > 0 and self._events[columns.EVENT_ID_ALL] != 0
        self._entry = 0
        self._time = 0
        self._pid = self._tid = -1
        self._a = self._b = self._c = 0
        self._d = 0
        self._name_at = 0
        self._identity = 0
        if trailers:
            tail = self._trailer(data, at, end, self._least[kind])
        if tail - at < self._least[kind]:
            return 1
        if kind == RecordType.MMAP or kind == RecordType.MMAP2:
            self._mapping(data, at, end, kind, misc)
        elif self._body(data, at, tail, end, kind, misc):
            return 1
        if not trailers and self._time == 0:
            # Without trailers the place in the file is all there is: after the newest sample before it.
            self._time = self._newest
        if self._entry == 0:
            self._effective(self._time)
            return 0
        if self._name_at != 0:
            if self._name_at >= tail:
                return 1
            found = cython.cast("const unsigned char *", memchr(data + self._name_at, 0, tail - self._name_at))
            if not found:
                return 1
            name = self._names.add(data + self._name_at, found - data - self._name_at)
        self._sb[n] = cython.cast(cython.uchar, self._entry)
        self._sh[n] = cython.cast(cython.ushort, misc)
        self._sq[n] = self._effective(self._time)
        self._sq[cap + n] = base + at
        self._sq[2 * cap + n] = self._a
        self._sq[3 * cap + n] = self._b
        self._sq[4 * cap + n] = self._c
        self._si[n] = self._pid
        self._si[cap + n] = self._tid
        self._su[n] = self._d
        self._su[cap + n] = cython.cast(cython.uint, name)
        self._su[2 * cap + n] = cython.cast(cython.uint, self._identity)
        self.sideband = n + 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _trailer(
        self, data: Any, at: cython.Py_ssize_t, end: cython.Py_ssize_t, least: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Read what stands at the end of a record of ``least`` bytes before it; returns where that begins."""
        owner: cython.int = 1
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        tail: cython.Py_ssize_t
        # All events agree on the distance of the id from the end.
        if not self._single and self._events[columns.EVENT_ID_DISTANCE]:
            place = end - cython.cast(cython.Py_ssize_t, self._events[columns.EVENT_ID_DISTANCE])
            if place >= at + 8:
                owner = self._owner(u64(data, end, place))
                if owner == 0:
                    self.no_event += 1
                    owner = 1
        row = (owner - 1) * columns.EVENT_WORDS
        place = tail = end - cython.cast(cython.Py_ssize_t, self._events[row + columns.EVENT_TRAILER])
        if tail - at < least or tail == end:
            return tail
        if self._events[row + columns.EVENT_FIELDS] & SampleField.TID:
            self._pid = cython.cast(cython.int, u32(data, end, place))
            self._tid = cython.cast(cython.int, u32(data, end, place + 4))
            place += 8
        if self._events[row + columns.EVENT_FIELDS] & SampleField.TIME:
            self._time = u64(data, end, place)
        return tail

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _mapping(
        self, data: Any, at: cython.Py_ssize_t, end: cython.Py_ssize_t, kind: cython.uint, misc: cython.uint
    ) -> cython.int:
        """MMAP and MMAP2, with the build-id, or device and inode, that the latter has."""
        i: cython.Py_ssize_t
        size: cython.Py_ssize_t
        any_byte: cython.bint
        self._entry = SidebandKind.MMAP
        self._pid = cython.cast(cython.int, u32(data, end, at + 8))
        self._tid = cython.cast(cython.int, u32(data, end, at + 12))
        self._a = u64(data, end, at + 16)
        self._b = u64(data, end, at + 24)
        self._c = u64(data, end, at + 32)
        if kind == RecordType.MMAP:
            self._name_at = at + 40
            self._d = 3 if misc & 0x2000 else 4
            return 0
        self._name_at = at + 72
        self._d = u32(data, end, at + 64)
        memcpy(cython.address(self._scratch[1]), data + at + 40, 24)
        size = data[at + 40]
        # While somebody else records with build-ids the kernel may set the bit in records that have none: it
        # fills the header for one event after the other (perf_event_mmap_output). No build-id is that long.
        if misc & 0x4000 and size <= 20:
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
            self._identity = self._identities.add(cython.address(self._scratch[0]), 25)
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
        """What records of the other kinds hold, up to ``tail``; 1 when it does not fit."""
        if kind == RecordType.COMM:
            self._entry = SidebandKind.COMM
            self._pid = cython.cast(cython.int, u32(data, end, at + 8))
            self._tid = cython.cast(cython.int, u32(data, end, at + 12))
            self._name_at = at + 16
        elif kind == RecordType.FORK or kind == RecordType.EXIT:
            self._entry = SidebandKind.FORK if kind == RecordType.FORK else SidebandKind.EXIT
            self._pid = cython.cast(cython.int, u32(data, end, at + 8))
            self._a = u32(data, end, at + 12)
            self._tid = cython.cast(cython.int, u32(data, end, at + 16))
            self._b = u32(data, end, at + 20)
            # Beside samples without times, only the place in the file says what came first.
            if self._time == 0 and self._timed:
                self._time = u64(data, end, at + 24)
        elif kind == RecordType.LOST or kind == RecordType.LOST_SAMPLES:
            self._entry = SidebandKind.LOST
            if kind == RecordType.LOST:
                self._b = u64(data, end, at + 8)
                self._a = u64(data, end, at + 16)
            else:
                self._a = u64(data, end, at + 8)
                self._c = 1
                self._d = 1 if misc & 0x8000 else 0
            if self._d == 0:
                self.lost = self.lost + self._a if self.lost + self._a >= self._a else ~cython.cast(cython.ulonglong, 0)
        elif kind == RecordType.KSYMBOL:
            self._entry = SidebandKind.KSYMBOL
            self._a = u64(data, end, at + 8)
            self._b = u32(data, end, at + 16)
            self._c = u16(data, end, at + 20)
            self._d = u16(data, end, at + 22)
            self._name_at = at + 24
        elif kind == RecordType.TEXT_POKE:
            self._entry = SidebandKind.TEXT_POKE
            self._a = u64(data, end, at + 8)
            self._b = u16(data, end, at + 16)
            self._c = u16(data, end, at + 18)
            if self._b + self._c > cython.cast(cython.ulonglong, tail - at - 20):
                return 1
        elif kind == RecordType.BPF_EVENT:
            self._entry = SidebandKind.BPF
            self._c = u16(data, end, at + 8)
            self._d = u16(data, end, at + 10)
            self._a = u32(data, end, at + 12)
            self._b = u64(data, end, at + 16)
        elif kind == RecordType.CGROUP:
            self._entry = SidebandKind.CGROUP
            self._a = u64(data, end, at + 8)
            self._name_at = at + 16
        elif kind == RecordType.NAMESPACES:
            self._entry = SidebandKind.NAMESPACES
            self._pid = cython.cast(cython.int, u32(data, end, at + 8))
            self._tid = cython.cast(cython.int, u32(data, end, at + 12))
            self._a = u64(data, end, at + 16)
            if self._a > cython.cast(cython.ulonglong, tail - at - 24) >> 4:
                return 1
        elif kind == RecordType.CALLCHAIN_DEFERRED:
            self._entry = SidebandKind.DEFERRED
            self._a = u64(data, end, at + 8)
            self._b = u64(data, end, at + 16)
            if self._b > cython.cast(cython.ulonglong, tail - at - 24) >> 3:
                return 1
        elif kind == RecordType.AUX:
            self._entry = SidebandKind.AUX
            self._a = u64(data, end, at + 8)
            self._b = u64(data, end, at + 16)
            self._d = u32(data, end, at + 24)
        elif kind == RecordType.ITRACE_START:
            self._entry = SidebandKind.ITRACE_START
            self._pid = cython.cast(cython.int, u32(data, end, at + 8))
            self._tid = cython.cast(cython.int, u32(data, end, at + 12))
        elif kind == RecordType.AUX_OUTPUT_HW_ID:
            self._entry = SidebandKind.AUX_OUTPUT_HW_ID
            self._a = u64(data, end, at + 8)
        elif kind == RecordType.THROTTLE or kind == RecordType.UNTHROTTLE:
            self._entry = SidebandKind.THROTTLE if kind == RecordType.THROTTLE else SidebandKind.UNTHROTTLE
            if self._time == 0 and self._timed:
                self._time = u64(data, end, at + 8)
            self._a = u64(data, end, at + 16)
            self._b = u64(data, end, at + 24)
        elif (kind == RecordType.SWITCH or kind == RecordType.SWITCH_CPU_WIDE) and self._keep_switches:
            self._entry = SidebandKind.SWITCH
            if kind == RecordType.SWITCH_CPU_WIDE:
                self._a = u32(data, end, at + 8)
                self._b = u32(data, end, at + 12)
                self._c = 1
        return 0
