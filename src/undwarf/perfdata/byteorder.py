# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Converts records of the other byte order to native order, field by field.

Opaque bytes are not changed: stack dumps, RAW and AUX bytes, names, build-ids, and the bodies of perf's own records (64
and up), which are read in the file's byte order.
"""

from collections.abc import Sequence

import cython
from cython.cimports.undwarf.perfdata.abi import MISC_MMAP_BUILD_ID
from cython.cimports.undwarf.perfdata.record_types import RecordType
from cython.cimports.undwarf.perfdata.sample_fields import SampleField
from cython.cimports.undwarf.perfdata.sample_layout import FieldShape

from undwarf.perfdata.events import EventAttr
from undwarf.perfdata.sample_layout import EventLayout, FieldStep, event_layout, field_steps

LARGEST_COUNT = cython.declare(cython.ulonglong, 8192)
"""More words do not fit in a record."""

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
    """Swaps whole records in place. Fields that do not fit in their record are left for the decoder to count."""

    _layouts: list[EventLayout]
    _steps: list[list[FieldStep]]
    _id_offsets: list[int]
    _owners: dict[int, int]
    _view = cython.declare("unsigned char[::1]")

    def __init__(self, events: Sequence[EventAttr]) -> None:
        self._layouts = [event_layout(event) for event in events]
        self._steps = [field_steps(event) for event in events]
        self._id_offsets = list(dict.fromkeys(one.id_offset for one in self._layouts if one.id_offset))
        self._owners = {}
        for number, event in enumerate(events):
            for identifier in event.ids:
                self._owners.setdefault(identifier, number)

    def swap(self, records: bytearray) -> None:
        """Swap all of ``records``, which are whole."""
        self._view = records
        size: cython.Py_ssize_t = self._view.shape[0]
        at: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        kind: cython.ulonglong
        try:
            while at + 8 <= size:
                self._swap(at, 4)
                self._swap(at + 4, 2)
                self._swap(at + 6, 2)
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
    def _swap(self, at: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.int:
        i: cython.Py_ssize_t
        kept: cython.uchar
        for i in range(width // 2):
            kept = self._view[at + i]
            self._view[at + i] = self._view[at + width - 1 - i]
            self._view[at + width - 1 - i] = kept
        return 0

    @cython.cfunc
    def _native(self, at: cython.Py_ssize_t, width: cython.Py_ssize_t) -> cython.ulonglong:
        """The number at ``at``, already swapped."""
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
        """The number at ``at``, not swapped yet."""
        found: cython.ulonglong
        self._swap(at, width)
        found = self._native(at, width)
        self._swap(at, width)
        return found

    @cython.cfunc
    def _words(self, at: cython.Py_ssize_t, count: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Swap ``count`` u64, those that end before ``end``; the offset after all of them."""
        i: cython.Py_ssize_t
        for i in range(min(count, max(0, end - at) // 8)):
            self._swap(at + 8 * i, 8)
        return at + 8 * count

    @cython.cfunc
    def _pair(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Swap two u32; the offset after them."""
        if at + 8 <= end:
            self._swap(at, 4)
            self._swap(at + 4, 4)
        return at + 8

    @cython.cfunc
    def _event(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The event number of a sample; -1 when unknown."""
        if len(self._layouts) == 1 or not self._id_offsets:
            return 0
        for offset in self._id_offsets:
            if at + offset + 8 <= end:
                identifier = self._foreign(at + offset, 8)
                owner = 0 if identifier == 0 else self._owners.get(identifier, -1)
                if owner >= 0:
                    return owner
        return -1

    @cython.cfunc
    def _sample(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        event: cython.Py_ssize_t = self._event(at, end)
        if event < 0:
            # The decoder reads the id, too, to count it as unknown.
            for offset in self._id_offsets:
                self._words(at + offset, 1, end)
            return 0
        self._fields(at + 8, end, self._steps[event], 0, True)
        return 0

    @cython.cfunc
    def _fields(
        self,
        p: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        steps: list[FieldStep],
        first: cython.Py_ssize_t,
        swap: cython.bint,
    ) -> cython.Py_ssize_t:
        """Swap the fields from number ``first`` on, or without ``swap`` only measure them; the offset after the last
        one, -1 when they do not fit."""
        i: cython.Py_ssize_t
        shape: cython.int
        words: cython.Py_ssize_t
        extra: cython.Py_ssize_t
        count: cython.ulonglong
        for i in range(first, len(steps)):
            shape, _column, words, extra = steps[i]
            if shape == FieldShape.WORD:
                p = self._words(p, 1, end) if swap else p + 8
                continue
            if shape == FieldShape.THREAD or shape == FieldShape.CPU_NUMBER:
                p = self._pair(p, end) if swap else p + 8
                continue
            if shape == FieldShape.READ_VALUE:
                p = self._words(p, words, end) if swap else p + 8 * words
                continue
            if shape == FieldShape.RAW:
                if p + 4 > end:
                    return -1
                count = self._foreign(p, 4)
                if swap:
                    self._swap(p, 4)
                p += 4 + cython.cast(cython.Py_ssize_t, count)
                continue
            if p + 8 > end:
                return -1
            count = self._foreign(p, 8)
            if swap:
                self._swap(p, 8)
            p += 8
            if shape == FieldShape.STACK or shape == FieldShape.AUX:
                if count == 0:
                    continue
                if count > cython.cast(cython.ulonglong, end - p):
                    return -1
                p += cython.cast(cython.Py_ssize_t, count)
                words = 1 if shape == FieldShape.STACK else 0
            elif shape == FieldShape.REGISTERS:
                words = words if count else 0
            elif count > LARGEST_COUNT:
                return -1
            elif shape == FieldShape.CALLCHAIN:
                words = cython.cast(cython.Py_ssize_t, count)
            elif shape == FieldShape.READ_GROUP:
                words = extra + words * cython.cast(cython.Py_ssize_t, count)
            elif shape == FieldShape.BRANCHES:
                # Without branches the hw_idx word may be missing: it is there if the rest then fills the record.
                if extra and (count > 0 or self._fields(p + 8, end, steps, i + 1, False) == end):
                    p = self._words(p, 1, end)
                p = self._branches(p, end, cython.cast(cython.Py_ssize_t, count))
                # The counters of all branches follow.
                words = (words - 3) * cython.cast(cython.Py_ssize_t, count) if p >= 0 else 0
            if p < 0 or p + 8 * words > end:
                return -1
            p = self._words(p, words, end) if swap else p + 8 * words
        return p

    @cython.cfunc
    def _branches(self, p: cython.Py_ssize_t, end: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Swap so many branches; the offset after them, -1 when they do not fit."""
        _i: cython.Py_ssize_t
        flags: cython.ulonglong
        for _i in range(count):
            p = self._words(p, 3, end)
            if p > end:
                return -1
            flags = mirrored_branch_flags(self._native(p - 8, 8))
            cython.cast("unsigned long long *", cython.address(self._view[p - 8]))[0] = flags
        return p

    @cython.cfunc
    def _trailer(self, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Swap the sample_id at the end of a record; where it begins."""
        event: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t
        if not self._layouts or not self._layouts[0].id_all:
            return end
        if len(self._layouts) != 1 and self._layouts[0].trailer_id_distance:
            place = end - self._layouts[0].trailer_id_distance
            if place >= at + 8:
                event = self._owners.get(self._foreign(place, 8), 0)
        place = end - self._layouts[event].trailer_bytes
        if place < at + 8:
            return end
        start: cython.Py_ssize_t = place
        kind: cython.ulonglong = self._layouts[event].sample_type
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
            # Words only; in a CGROUP the name follows the first.
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
                if not misc & MISC_MMAP_BUILD_ID:
                    self._words(self._pair(p, tail), 2, tail)
                self._pair(at + 64, tail)
        elif kind == RecordType.EXIT or kind == RecordType.FORK:
            p = self._pair(self._pair(p, tail), tail)
            self._words(p, 1, tail)
        elif kind in (RecordType.KSYMBOL, RecordType.BPF_EVENT, RecordType.TEXT_POKE) and tail - at >= 24:
            if kind == RecordType.BPF_EVENT:
                self._swap(p, 2)
                self._swap(p + 2, 2)
                self._swap(p + 4, 4)
            else:
                p = self._words(p, 1, tail)
                if kind == RecordType.KSYMBOL:
                    self._swap(p, 4)
                    self._swap(p + 4, 2)
                    self._swap(p + 6, 2)
                else:
                    self._swap(p, 2)
                    self._swap(p + 2, 2)
        return 0
