# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Rewrites records of the other byte order into native order, field by field.

Payloads nobody but their owner understands stay as they are: stack dumps, RAW and AUX bytes, names, build-ids,
and the bodies of perf's own records (64 and up), which are read in the file's byte order.
"""

from collections.abc import Sequence

import cython
from cython.cimports.undwarf.perfdata import sample_layout as columns
from cython.cimports.undwarf.perfdata.record_types import RecordType
from cython.cimports.undwarf.perfdata.sample_fields import SampleField

from undwarf.perfdata.events import EventAttr, decoder_table

# As in sample_records.
READ_GROUP = cython.declare(cython.ulonglong, 8)
BRANCH_HW_INDEX = cython.declare(cython.ulonglong, 1 << 17)
BRANCH_COUNTERS = cython.declare(cython.ulonglong, 1 << 19)

# Fields of a word each, between others; what may follow the branches.
_FIRST_WORDS = (SampleField.TIME, SampleField.ADDR, SampleField.ID, SampleField.STREAM_ID)
_LAST_FIELDS = (
    SampleField.REGS_USER,
    SampleField.STACK_USER,
    SampleField.WEIGHT | SampleField.WEIGHT_STRUCT,
    SampleField.DATA_SRC,
    SampleField.TRANSACTION,
    SampleField.REGS_INTR,
    SampleField.PHYS_ADDR,
    SampleField.CGROUP,
    SampleField.DATA_PAGE_SIZE,
    SampleField.CODE_PAGE_SIZE,
)
_TRAILING_WORDS = (SampleField.TIME, SampleField.ID, SampleField.STREAM_ID)

_BRANCH_FIELDS = (1, 1, 1, 1, 16, 4, 2, 4, 3)
"""Widths of the bit fields of a branch's flags, lowest first on a little-endian machine."""


def mirrored_branch_flags(value: int) -> int:
    """The flags word of a branch, whose bit fields a big-endian compiler lays out from the top."""
    at = 0
    found = 0
    for width in _BRANCH_FIELDS:
        found |= (value >> (64 - at - width) & ((1 << width) - 1)) << at
        at += width
    return found


@cython.final
@cython.cclass
class Swapper:
    """Turns whole records around in place. What does not fit in its record is left for the decoder to find."""

    _table = cython.declare("unsigned long long[::1]")
    _single: cython.bint
    _places: list[int]
    _owners: dict[int, int]
    _view = cython.declare("unsigned char[::1]")

    def __init__(self, events: Sequence[EventAttr]) -> None:
        table, places, _ids, _numbers, _words, _shorts = decoder_table(events)
        self._table = table
        self._single = len(events) == 1
        self._places = list(places)
        self._owners = {}
        for number, event in enumerate(events):
            for identifier in event.ids:
                self._owners.setdefault(identifier, number)

    def swap(self, records: bytearray) -> None:
        """Turn all of ``records``, which are whole, and native afterwards."""
        self._view = records
        size: cython.Py_ssize_t = self._view.shape[0]
        at: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        kind: cython.ulonglong
        try:
            while at + 8 <= size:
                self._turn(at, 4)
                self._turn(at + 4, 2)
                self._turn(at + 6, 2)
                kind = self._native(at, 4)
                end = at + cython.cast(cython.Py_ssize_t, self._native(at + 6, 2))
                if end < at + 8 or end > size:
                    break
                if kind == RecordType.SAMPLE:
                    self._sample(at, end)
                elif kind < 64:
                    self._side_record(kind, cython.cast(cython.uint, self._native(at + 4, 2)), at, end)
                at = end
        finally:
            self._view = bytearray()

    @cython.cfunc
    def _turn(self, at: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.int:
        i: cython.Py_ssize_t
        kept: cython.uchar
        for i in range(width // 2):
            kept = self._view[at + i]
            self._view[at + i] = self._view[at + width - 1 - i]
            self._view[at + width - 1 - i] = kept
        return 0

    @cython.cfunc
    def _native(self, at: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.ulonglong:
        """The number at ``at``, already turned."""
        found: cython.ulonglong
        if width == 8:
            found = cython.cast("unsigned long long *", cython.address(self._view[at]))[0]
            return found
        if width == 4:
            found = cython.cast("unsigned int *", cython.address(self._view[at]))[0]
            return found
        found = cython.cast("unsigned short *", cython.address(self._view[at]))[0]
        return found

    @cython.cfunc
    def _foreign(self, at: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.ulonglong:
        """The number at ``at``, not yet turned."""
        found: cython.ulonglong
        self._turn(at, width)
        found = self._native(at, width)
        self._turn(at, width)
        return found

    @cython.cfunc
    def _words(self, at: cython.Py_ssize_t, count: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Turn up to ``count`` u64 before ``end``; the offset behind them, had there been all."""
        i: cython.Py_ssize_t
        for i in range(min(count, max(0, end - at) // 8)):
            self._turn(at + 8 * i, 8)
        return at + 8 * count

    @cython.cfunc
    def _pair(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Turn two u32."""
        if at + 8 <= end:
            self._turn(at, 4)
            self._turn(at + 4, 4)
        return at + 8

    @cython.cfunc
    def _event(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The event number of a sample; -1 when unknown."""
        if self._single or not self._places:
            return 0
        for place in self._places:
            if at + place + 8 <= end:
                identifier = self._foreign(at + place, 8)
                owner = 0 if identifier == 0 else self._owners.get(identifier, -1)
                if owner >= 0:
                    return owner
        return -1

    @cython.cfunc
    def _sample(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        event: cython.Py_ssize_t = self._event(at, end)
        if event < 0:
            # The decoder looks for its id, too, to count it as unknown.
            for place in self._places:
                self._words(at + place, 1, end)
            return 0
        row: cython.Py_ssize_t = event * columns.EVENT_WORDS
        kind: cython.ulonglong = self._table[row + columns.EVENT_FIELDS]
        p: cython.Py_ssize_t = at + 8
        count: cython.ulonglong
        if kind & SampleField.IDENTIFIER:
            p = self._words(p, 1, end)
        if kind & SampleField.IP:
            p = self._words(p, 1, end)
        if kind & SampleField.TID:
            p = self._pair(p, end)
        for bit in _FIRST_WORDS:
            if kind & bit:
                p = self._words(p, 1, end)
        if kind & SampleField.CPU:
            p = self._pair(p, end)
        if kind & SampleField.PERIOD:
            p = self._words(p, 1, end)
        if kind & SampleField.READ:
            if self._table[row + columns.EVENT_READ_FORMAT] & READ_GROUP:
                if p + 8 > end:
                    return 0
                count = self._foreign(p, 8)
                if count > 8192:
                    return 0
                p = self._words(
                    p,
                    1
                    + self._table[row + columns.EVENT_READ_TIMES]
                    + count * self._table[row + columns.EVENT_VALUE_WORDS],
                    end,
                )
            else:
                p = self._words(
                    p, self._table[row + columns.EVENT_READ_TIMES] + self._table[row + columns.EVENT_VALUE_WORDS], end
                )
        if kind & SampleField.CALLCHAIN:
            if p + 8 > end:
                return 0
            count = self._foreign(p, 8)
            if count > 8192:
                return 0
            p = self._words(p, 1 + count, end)
        if kind & SampleField.RAW:
            if p + 4 > end:
                return 0
            count = self._foreign(p, 4)
            self._turn(p, 4)
            p += 4 + cython.cast(cython.Py_ssize_t, count)
        if kind & SampleField.BRANCH_STACK:
            p = self._branches(p, end, row, kind)
            if p < 0:
                return 0
        self._rest(p, end, row, kind, True)
        return 0

    @cython.cfunc
    def _branches(
        self, p: cython.Py_ssize_t, end: cython.Py_ssize_t, row: cython.Py_ssize_t, kind: cython.ulonglong
    ) -> cython.Py_ssize_t:
        count: cython.ulonglong
        _i: cython.Py_ssize_t
        flags: cython.ulonglong
        form: cython.ulonglong = self._table[row + columns.EVENT_BRANCHES]
        if p + 8 > end:
            return -1
        count = self._foreign(p, 8)
        if count > 8192:
            return -1
        p = self._words(p, 1, end)
        # Without branches the hw_idx word may be missing: see which way the rest fills the record.
        if form & BRANCH_HW_INDEX and (count > 0 or self._rest(p + 8, end, row, kind, False) == end):
            p = self._words(p, 1, end)
        for _i in range(cython.cast(cython.Py_ssize_t, count)):
            p = self._words(p, 3, end)
            if p > end:
                return -1
            flags = mirrored_branch_flags(self._native(p - 8, 8))
            cython.cast("unsigned long long *", cython.address(self._view[p - 8]))[0] = flags
        if form & BRANCH_COUNTERS:
            p = self._words(p, count, end)
        return p

    @cython.cfunc
    def _rest(
        self,
        p: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
        kind: cython.ulonglong,
        turn: cython.bint,
    ) -> cython.Py_ssize_t:
        """What follows the branches: turned, or only measured; the offset behind it, -1 when it does not fit."""
        count: cython.ulonglong
        regs: cython.Py_ssize_t
        column: cython.Py_ssize_t
        for bit in _LAST_FIELDS:
            if not kind & bit:
                continue
            if p + 8 > end:
                return -1
            count = self._foreign(p, 8)
            regs = p
            p += 8
            if bit == SampleField.REGS_USER or bit == SampleField.REGS_INTR:
                column = columns.EVENT_REGS_USER if bit == SampleField.REGS_USER else columns.EVENT_REGS_INTR
                if count:
                    p += 8 * cython.cast(cython.Py_ssize_t, self._table[row + column])
                if p > end:
                    return -1
            elif bit == SampleField.STACK_USER and count:
                if p + 8 > end or count > cython.cast(cython.ulonglong, end - p - 8):
                    return -1
                p += cython.cast(cython.Py_ssize_t, count)
                if turn:
                    self._turn(regs, 8)
                    self._turn(p, 8)
                p += 8
                continue
            if turn:
                self._words(regs, (p - regs) // 8, end)
        if kind & SampleField.AUX:
            if p + 8 > end:
                return -1
            count = self._foreign(p, 8)
            if turn:
                self._turn(p, 8)
            if count > cython.cast(cython.ulonglong, end - p - 8):
                return -1
            p += 8 + cython.cast(cython.Py_ssize_t, count)
        return p

    @cython.cfunc
    def _trailer(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Turn the sample_id at the end of a record; where it starts."""
        row: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t
        if self._table.shape[0] == 0 or not self._table[columns.EVENT_ID_ALL]:
            return end
        if not self._single and self._table[columns.EVENT_ID_DISTANCE]:
            place = end - cython.cast(cython.Py_ssize_t, self._table[columns.EVENT_ID_DISTANCE])
            if place >= at + 8:
                row = self._owners.get(self._foreign(place, 8), 0) * columns.EVENT_WORDS
        place = end - cython.cast(cython.Py_ssize_t, self._table[row + columns.EVENT_TRAILER])
        if place < at + 8:
            return end
        start: cython.Py_ssize_t = place
        kind: cython.ulonglong = self._table[row + columns.EVENT_FIELDS]
        if kind & SampleField.TID:
            place = self._pair(place, end)
        for bit in _TRAILING_WORDS:
            if kind & bit:
                place = self._words(place, 1, end)
        if kind & SampleField.CPU:
            place = self._pair(place, end)
        if kind & SampleField.IDENTIFIER:
            self._words(place, 1, end)
        return start

    @cython.cfunc
    def _side_record(
        self, kind: cython.ulonglong, misc: cython.uint, at: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.int:
        tail: cython.Py_ssize_t = self._trailer(at, end)
        p: cython.Py_ssize_t = at + 8
        everything: cython.Py_ssize_t = (tail - p) // 8
        if kind in (
            RecordType.LOST,
            RecordType.THROTTLE,
            RecordType.UNTHROTTLE,
            RecordType.AUX,
            RecordType.LOST_SAMPLES,
            RecordType.CGROUP,
            RecordType.AUX_OUTPUT_HW_ID,
        ):
            # Words only; the name of a CGROUP starts behind the first.
            self._words(p, 1 if kind == RecordType.CGROUP else everything, tail)
        elif kind == RecordType.CALLCHAIN_DEFERRED:
            self._words(p, everything, tail)
        elif kind in (
            RecordType.MMAP,
            RecordType.COMM,
            RecordType.READ,
            RecordType.MMAP2,
            RecordType.ITRACE_START,
            RecordType.SWITCH_CPU_WIDE,
            RecordType.NAMESPACES,
        ):
            p = self._pair(p, tail)
            if kind == RecordType.MMAP or kind == RecordType.MMAP2:
                p = self._words(p, 3, tail)
            elif kind == RecordType.READ or kind == RecordType.NAMESPACES:
                self._words(p, everything - 1, tail)
            if kind == RecordType.MMAP2:
                if not misc & 0x4000:
                    self._words(self._pair(p, tail), 2, tail)
                self._pair(at + 64, tail)
        elif kind == RecordType.EXIT or kind == RecordType.FORK:
            p = self._pair(self._pair(p, tail), tail)
            self._words(p, 1, tail)
        elif kind in (RecordType.KSYMBOL, RecordType.BPF_EVENT, RecordType.TEXT_POKE) and tail - at >= 24:
            if kind == RecordType.BPF_EVENT:
                self._turn(p, 2)
                self._turn(p + 2, 2)
                self._turn(p + 4, 4)
            else:
                p = self._words(p, 1, tail)
                if kind == RecordType.KSYMBOL:
                    self._turn(p, 4)
                    self._turn(p + 4, 2)
                    self._turn(p + 6, 2)
                else:
                    self._turn(p, 2)
                    self._turn(p + 2, 2)
        return 0
