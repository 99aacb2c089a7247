# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""One pass over record bytes: splits them, decodes samples and side-band records into columns.

The caller hands in windows of the record stream (native byte order, nothing compressed). Of what a :class:`Decoder` is
made is in modules of their own, each of which goes on from the one before: columns (`columns.py`), samples
(`sample_events.py`, `read_counters.py`, `sample_records.py`), other records (`sideband_records.py`).
"""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata.native import u16, u32, u64
from cython.cimports.undwarf.perfdata.record_types import RecordType

from undwarf.column import zeros
from undwarf.perfdata.sideband_records import SideRecords

# What scan() stopped for.
MORE = 0  # the record at ``at`` is not wholly inside the window (or the window is used up)
RARE = 1  # the record at ``at`` is for Python; skip it with ``at += size``
GROW = 2  # columns are full; never leaves scan()
BROKEN = 3  # the record at ``at`` claims a size below 8: nothing after it can be found
FULL = 4  # the limit on entries is reached

KNOWN_TYPES = 128
OTHER_TYPES = 64


@cython.final
@cython.cclass
class Decoder(SideRecords):
    """Columns that grow while windows of the record stream are scanned."""

    _counts = cython.declare("unsigned long long[::1]")
    _others = cython.declare("unsigned long long[::1]")
    at = cython.declare(cython.Py_ssize_t, visibility="public")
    bad_samples = cython.declare(cython.Py_ssize_t, visibility="readonly")
    bad_records = cython.declare(cython.Py_ssize_t, visibility="readonly")
    first_bad = cython.declare(cython.longlong, visibility="readonly")

    def __init__(self, max_samples: int, keep_switches: bool) -> None:
        super().__init__(max_samples, keep_switches)
        self._counts = zeros("Q", KNOWN_TYPES)
        self._others = zeros("Q", 2 * OTHER_TYPES + 1)
        self.at = 0
        self.bad_samples = self.bad_records = 0
        self.first_bad = -1

    @cython.locals(view="const unsigned char[::1]")
    def scan(self, view: Any, position: int) -> int:
        """Decode the records of ``view`` from byte ``self.at`` on, ``position`` being the stream offset of byte 0.

        Afterwards ``self.at`` is the record that stopped the scan, for which the answer says why (MORE, RARE,
        BROKEN, FULL). It may lie behind the window when bytes outside of records were skipped.
        """
        size: cython.Py_ssize_t = view.shape[0]
        base: cython.longlong = position
        status: cython.int = GROW
        if size == 0:
            return MORE
        while True:
            with cython.nogil:
                status = self._scan(cython.address(view[0]), size, base)
            if status != GROW:
                return status
            if not self.grow(self._room):
                return FULL

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _scan(self, data: Any, size: cython.Py_ssize_t, base: cython.longlong) -> cython.int:
        at: cython.Py_ssize_t = self.at
        end: cython.Py_ssize_t
        kind: cython.uint
        misc: cython.uint
        length: cython.Py_ssize_t
        extra: cython.ulonglong
        done: cython.int
        while True:
            self.at = at
            if at > size - 8:
                return 0
            kind = u32(data, size, at)
            misc = u16(data, size, at + 4)
            length = u16(data, size, at + 6)
            if length < 8:
                return 3
            if length > size - at:
                return 0
            # Each counter that is read with a sample may become one: an id and a value are 16 bytes.
            self._room = 1 if not self._splits or kind != RecordType.SAMPLE else (length >> 4) + 1
            if (
                self.samples + self._room > self._capacity
                or self.sideband >= self._side_capacity
                or (kind != RecordType.SAMPLE and (self._names.tight() or self._identities.tight()))
            ):
                return 2
            end = at + length
            if kind == RecordType.SAMPLE:
                self._counts[kind] += 1
                done = self._sample(data, at, end, misc, base)
                if done > 0:
                    self.bad_samples += 1
                    if self.first_bad < 0:
                        self.first_bad = base + at
            elif 0 < kind <= RecordType.CALLCHAIN_DEFERRED:
                self._count(kind)
                done = self._side_record(data, at, end, kind, misc, base)
                if done > 0:
                    self.bad_records += 1
                    if self.first_bad < 0:
                        self.first_bad = base + at
            elif kind == RecordType.FINISHED_ROUND:
                self._counts[kind] += 1
                self._flushed = self._next_flush
                self._next_flush = self._newest
            elif kind == RecordType.AUXTRACE:
                # The trace bytes follow the record and are not part of its size.
                self._counts[kind] += 1
                extra = u64(data, size, at + 8) if length >= 16 else 0
                if extra > cython.cast(cython.ulonglong, 1) << 62:
                    return 3
                end += cython.cast(cython.Py_ssize_t, extra)
            elif kind in (
                RecordType.HEADER_ATTR,
                RecordType.HEADER_TRACING_DATA,
                RecordType.HEADER_BUILD_ID,
                RecordType.EVENT_UPDATE,
                RecordType.HEADER_FEATURE,
                RecordType.COMPRESSED,
                RecordType.COMPRESSED2,
            ):
                self._count(kind)
                return 1
            else:
                self._count(kind)
            at = end

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _count(self, kind: cython.uint) -> cython.int:
        i: cython.Py_ssize_t
        if kind < 128:
            self._counts[kind] += 1
            return 0
        for i in range(64):
            if self._others[2 * i + 1] == 0:
                self._others[2 * i] = kind
            if self._others[2 * i] == kind:
                self._others[2 * i + 1] += 1
                return 0
        self._others[128] += 1
        return 0

    def counts(self) -> dict[int, int]:
        """Records by type number; 2**32 for types beyond the first OTHER_TYPES unknown ones."""
        found = {kind: self._counts[kind] for kind in range(KNOWN_TYPES) if self._counts[kind]}
        for i in range(OTHER_TYPES):
            if self._others[2 * i + 1]:
                found[self._others[2 * i]] = self._others[2 * i + 1]
        if self._others[2 * OTHER_TYPES]:
            found[1 << 32] = self._others[2 * OTHER_TYPES]
        return found
