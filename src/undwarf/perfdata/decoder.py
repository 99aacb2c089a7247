# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Splits the record stream into records and decodes them into columns, in one pass.

The caller passes windows of the stream (native byte order, decompressed).
"""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata.abi import LARGEST_AUXTRACE
from cython.cimports.undwarf.perfdata.column_store import ColumnStore
from cython.cimports.undwarf.perfdata.event_ids import EventIds
from cython.cimports.undwarf.perfdata.event_layouts import EventLayouts
from cython.cimports.undwarf.perfdata.finished_rounds import Rounds
from cython.cimports.undwarf.perfdata.native_integers import u16, u32, u64
from cython.cimports.undwarf.perfdata.record_types import RecordType
from cython.cimports.undwarf.perfdata.sample_decoder import SampleDecoder
from cython.cimports.undwarf.perfdata.scan_status import ScanStatus
from cython.cimports.undwarf.perfdata.sideband_decoder import SidebandDecoder

from undwarf.column import zeros
from undwarf.perfdata.sample_layout import SampleLayout

KNOWN_TYPES = cython.declare(cython.uint, 128)
OTHER_TYPES = cython.declare(cython.Py_ssize_t, 64)
"""How many different types from KNOWN_TYPES on are counted separately."""


@cython.final
@cython.cclass
class Decoder:
    """Decodes the record stream window by window.

    ``columns`` has the result. ``samples``, ``sideband`` and ``rounds`` count records that were skipped or wrong.
    """

    columns = cython.declare(ColumnStore, visibility="readonly")
    rounds = cython.declare(Rounds, visibility="readonly")
    samples = cython.declare(SampleDecoder, visibility="readonly")
    sideband = cython.declare(SidebandDecoder, visibility="readonly")
    _layouts: EventLayouts
    _ids: EventIds
    _rows: cython.Py_ssize_t
    """Rows of samples that the current record may need."""
    _counts = cython.declare("unsigned long long[::1]")
    _others = cython.declare("unsigned long long[::1]")
    at = cython.declare(cython.Py_ssize_t, visibility="public")
    bad_samples = cython.declare(cython.Py_ssize_t, visibility="readonly")
    bad_records = cython.declare(cython.Py_ssize_t, visibility="readonly")
    first_bad = cython.declare(cython.longlong, visibility="readonly")

    def __init__(self, layout: SampleLayout, max_rows: int, *, keep_switches: bool) -> None:
        self.columns = ColumnStore(max_rows)
        self.rounds = Rounds()
        self._layouts = EventLayouts(layout)
        self._ids = EventIds(self._layouts, layout)
        self.samples = SampleDecoder(self.columns, self._layouts, self._ids, self.rounds)
        self.sideband = SidebandDecoder(self.columns, self._layouts, self._ids, self.rounds, keep_switches)
        self.columns.will_write(layout.written_words, layout.written_shorts)
        self._rows = 1
        self._counts = zeros("Q", KNOWN_TYPES)
        self._others = zeros("Q", 2 * OTHER_TYPES + 1)
        self.at = 0
        self.bad_samples = self.bad_records = 0
        self.first_bad = -1

    def change_layout(self, layout: SampleLayout) -> None:
        """Use a new layout from here on, after further events were described."""
        self._layouts.update(layout)
        self._ids.update(layout)
        self.columns.will_write(layout.written_words, layout.written_shorts)

    @cython.locals(view="const unsigned char[::1]")
    def scan(self, view: Any, position: int) -> int:
        """Decode the records of ``view`` from byte ``self.at`` on, ``position`` being the stream offset of byte 0.

        Afterwards ``self.at`` is the offset of the record that stopped the scan, and the result (a ``ScanStatus``) is
        the reason. It may be past the window if bytes outside of records were skipped.
        """
        size: cython.Py_ssize_t = view.shape[0]
        base: cython.longlong = position
        status: cython.int = ScanStatus.GROW
        if size == 0:
            return ScanStatus.MORE
        while True:
            with cython.nogil:
                status = self._scan(cython.address(view[0]), size, base)
            if status != ScanStatus.GROW:
                return status
            if not self.columns.grow(self._rows):
                return ScanStatus.FULL

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
        while True:
            self.at = at
            if at > size - 8:
                return ScanStatus.MORE
            kind = u32(data, size, at)
            misc = u16(data, size, at + 4)
            length = u16(data, size, at + 6)
            if length < 8:
                return ScanStatus.BROKEN
            if length > size - at:
                return ScanStatus.MORE
            # Each counter that was read with a sample may become a sample: an id and a value are 16 bytes.
            self._rows = (length >> 4) + 1 if self._layouts.splits and kind == RecordType.SAMPLE else 1
            if self.columns.is_full(self._rows, kind != RecordType.SAMPLE):
                return ScanStatus.GROW
            end = at + length
            if kind == RecordType.SAMPLE:
                self._counts[kind] += 1
                if self.samples.decode(data, at, end, misc, base, self._rows):
                    self.bad_samples += 1
                    if self.first_bad < 0:
                        self.first_bad = base + at
            elif 0 < kind <= RecordType.CALLCHAIN_DEFERRED:
                self._count(kind)
                if self.sideband.decode(data, at, end, kind, misc, base):
                    self.bad_records += 1
                    if self.first_bad < 0:
                        self.first_bad = base + at
            elif kind == RecordType.FINISHED_ROUND:
                self._counts[kind] += 1
                self.rounds.finish()
            elif kind == RecordType.AUXTRACE:
                # The trace bytes follow the record and are not part of its size.
                self._counts[kind] += 1
                extra = u64(data, size, at + 8) if length >= 16 else 0
                if extra > LARGEST_AUXTRACE:
                    return ScanStatus.BROKEN
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
                return ScanStatus.RARE
            else:
                self._count(kind)
            at = end

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _count(self, kind: cython.uint) -> cython.int:
        i: cython.Py_ssize_t
        if kind < KNOWN_TYPES:
            self._counts[kind] += 1
            return 0
        for i in range(OTHER_TYPES):
            if self._others[2 * i + 1] == 0:
                self._others[2 * i] = kind
            if self._others[2 * i] == kind:
                self._others[2 * i + 1] += 1
                return 0
        self._others[2 * OTHER_TYPES] += 1
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
