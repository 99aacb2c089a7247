# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Samples: their fields.

Only the header, the sizes and the small fields are touched, never the stack bytes: on a recording of gigabytes the page
faults are the cost. Field order: ``perf_output_sample`` in ``kernel/events/core.c``.
"""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata import sample_layout as columns
from cython.cimports.undwarf.perfdata.native import u32, u64
from cython.cimports.undwarf.perfdata.sample_fields import SampleField

from undwarf.perfdata.read_counters import ReadCounters

# Bits of `read_format` and `branch_sample_type` (include/uapi/linux/perf_event.h).
READ_GROUP = cython.declare(cython.ulonglong, 8)
BRANCH_HW_INDEX = cython.declare(cython.ulonglong, 1 << 17)
BRANCH_COUNTERS = cython.declare(cython.ulonglong, 1 << 19)
FIRST = cython.declare(
    cython.ulonglong,
    SampleField.IDENTIFIER
    | SampleField.IP
    | SampleField.TID
    | SampleField.TIME
    | SampleField.ADDR
    | SampleField.ID
    | SampleField.STREAM_ID
    | SampleField.CPU
    | SampleField.PERIOD,
)
"""The words that a sample begins with."""


@cython.cclass
class SampleRecords(ReadCounters):
    """Decodes one sample at a time into a row of its own, or into one for each counter that was read with it."""

    def __init__(self, max_samples: int) -> None:
        super().__init__(max_samples)
        self.bad_stacks = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _sample(
        self, data: Any, at: cython.Py_ssize_t, end: cython.Py_ssize_t, misc: cython.uint, base: cython.longlong
    ) -> cython.int:
        """Decode one sample; 1 when its fields do not fit in the record."""
        owner: cython.int = 0
        done: cython.int
        row: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.samples
        time_at: cython.Py_ssize_t
        if self._event_count > 0:
            owner = self._sample_event(data, end, at)
        if owner == 0:
            self.unknown_ids += 1
            return 0
        row = (owner - 1) * columns.EVENT_WORDS
        # A branch stack without branches may or may not carry its hw_idx word: whichever fills the record.
        done = self._fields(data, at, end, row, False)
        if done == 2:
            done = self._fields(data, at, end, row, True)
        if done:
            self.clear_row(n)
            return 1
        self._q[columns.WORD_POSITION * self._capacity + n] = base + at
        time_at = columns.WORD_TIME * self._capacity + n
        self._q[time_at] = self._effective(self._q[time_at])
        # Columns are zero from the start: those the event has no field for are not even touched.
        if owner != 1:
            self._h[columns.SHORT_EVENT * self._capacity + n] = cython.cast(cython.ushort, owner - 1)
        self._h[columns.SHORT_MISC * self._capacity + n] = cython.cast(cython.ushort, misc)
        self.samples = n + 1
        if self._splits and self._is_split(row):
            self._split(data, end, at + self._h[columns.SHORT_READ_AT * self._capacity + n], row, n)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _fields(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
        bare_branches: cython.bint,
    ) -> cython.int:
        """Put the fields of the sample at ``at``, of the event at ``row`` of the table, into the columns; 1: they do
        not fit in the record, 2: try again with ``bare_branches``."""
        # Reads past ``end`` give 0, so words of fixed size are checked once, when all are read; only what is used as a
        # count must be known to lie inside first.
        p: cython.Py_ssize_t
        self._unsure = self._bad_stack = False
        p = self._first_words(data, at + 8, end, row)
        if not self._events[row + columns.EVENT_FIELDS] & ~FIRST:
            # What samples of timers have without callers: nothing of variable size.
            return 1 if p > end else 0
        p = self._counters_and_chain(data, at, p, end, row)
        if p >= 0:
            p = self._branches(data, at, p, end, row, bare_branches)
        if p >= 0:
            p = self._registers_and_stack(data, at, p, end, row)
        if p >= 0:
            p = self._last_words(data, at, p, end, row)
        if p < 0 or p > end or (self._unsure and p != end):
            return 2 if self._unsure else 1
        self.bad_stacks += self._bad_stack
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _word(
        self, data: Any, p: cython.Py_ssize_t, end: cython.Py_ssize_t, column: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Put the word at ``p`` into a column; where it ends."""
        self._q[column * self._capacity + self.samples] = u64(data, end, p)
        return p + 8

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def _place(self, at: cython.Py_ssize_t, p: cython.Py_ssize_t, column: cython.Py_ssize_t) -> cython.int:
        """Keep where in the record at ``at`` a field is."""
        self._h[column * self._capacity + self.samples] = cython.cast(cython.ushort, p - at)
        return 0

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _first_words(
        self, data: Any, p: cython.Py_ssize_t, end: cython.Py_ssize_t, row: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """The fields of fixed size that a sample begins with; where they end."""
        kind: cython.ulonglong = self._events[row + columns.EVENT_FIELDS]
        n: cython.Py_ssize_t = self.samples
        cap: cython.Py_ssize_t = self._capacity
        self._i[columns.INT_PID * cap + n] = self._i[columns.INT_TID * cap + n] = self._i[
            columns.INT_CPU * cap + n
        ] = -1
        self._q[columns.WORD_PERIOD * cap + n] = self._events[row + columns.EVENT_PERIOD]
        if kind & SampleField.IDENTIFIER:
            p = self._word(data, p, end, columns.WORD_ID)
        if kind & SampleField.IP:
            p = self._word(data, p, end, columns.WORD_IP)
        if kind & SampleField.TID:
            self._i[columns.INT_PID * cap + n] = cython.cast(cython.int, u32(data, end, p))
            self._i[columns.INT_TID * cap + n] = cython.cast(cython.int, u32(data, end, p + 4))
            p += 8
        if kind & SampleField.TIME:
            p = self._word(data, p, end, columns.WORD_TIME)
        if kind & SampleField.ADDR:
            p = self._word(data, p, end, columns.WORD_ADDR)
        if kind & SampleField.ID:
            p = self._word(data, p, end, columns.WORD_ID)
        if kind & SampleField.STREAM_ID:
            p = self._word(data, p, end, columns.WORD_STREAM_ID)
        if kind & SampleField.CPU:
            self._i[columns.INT_CPU * cap + n] = cython.cast(cython.int, u32(data, end, p))
            p += 8
        if kind & SampleField.PERIOD:
            p = self._word(data, p, end, columns.WORD_PERIOD)
        return p

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    @cython.locals(data="const unsigned char *")
    def _counters_and_chain(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        p: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Counters that were read, the chain and raw data; where they end, -1 where they do not fit."""
        kind: cython.ulonglong = self._events[row + columns.EVENT_FIELDS]
        count: cython.ulonglong
        times: cython.ulonglong = self._events[row + columns.EVENT_READ_TIMES]
        words: cython.ulonglong = self._events[row + columns.EVENT_VALUE_WORDS]
        if kind & SampleField.READ:
            self._place(at, p, columns.SHORT_READ_AT)
            if self._events[row + columns.EVENT_READ_FORMAT] & READ_GROUP:
                if p + 8 > end:
                    return -1
                count = u64(data, end, p)
                if count > cython.cast(cython.ulonglong, end - p) >> 3:
                    return -1
                p += cython.cast(cython.Py_ssize_t, 8 + 8 * times + 8 * words * count)
            else:
                p += cython.cast(cython.Py_ssize_t, 8 * (times + words))
        if kind & SampleField.CALLCHAIN:
            self._place(at, p, columns.SHORT_CALLCHAIN_AT)
            if p + 8 > end:
                return -1
            count = u64(data, end, p)
            if count > cython.cast(cython.ulonglong, end - p - 8) >> 3:
                return -1
            p += 8 + 8 * cython.cast(cython.Py_ssize_t, count)
        if kind & SampleField.RAW:
            self._place(at, p, columns.SHORT_RAW_AT)
            if p + 4 > end:
                return -1
            p += 4 + cython.cast(cython.Py_ssize_t, u32(data, end, p))
        return p

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    @cython.locals(data="const unsigned char *")
    def _branches(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        p: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
        bare: cython.bint,
    ) -> cython.Py_ssize_t:
        """The branch stack; where it ends, -1 where it does not fit. One without branches may or may not have its
        hw_idx word: it has none with ``bare``, and else ``_unsure`` is set."""
        kind: cython.ulonglong = self._events[row + columns.EVENT_FIELDS]
        branches: cython.ulonglong = self._events[row + columns.EVENT_BRANCHES]
        count: cython.ulonglong
        words: cython.ulonglong
        if not kind & SampleField.BRANCH_STACK:
            return p
        self._place(at, p, columns.SHORT_BRANCH_AT)
        if p + 8 > end:
            return -1
        count = u64(data, end, p)
        words = 4 if branches & BRANCH_COUNTERS else 3
        if count > cython.cast(cython.ulonglong, end - p - 8) >> 3:
            return -1
        p += cython.cast(cython.Py_ssize_t, 8 + 8 * words * count)
        if branches & BRANCH_HW_INDEX and (count != 0 or not bare):
            p += 8
            self._unsure = count == 0
        return p

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    @cython.locals(data="const unsigned char *")
    def _registers_and_stack(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        p: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """The registers of the program, and its stack; where they end, -1 where they do not fit."""
        kind: cython.ulonglong = self._events[row + columns.EVENT_FIELDS]
        count: cython.ulonglong
        if kind & SampleField.REGS_USER:
            self._place(at, p, columns.SHORT_REGS_AT)
            if p + 8 > end:
                return -1
            if u64(data, end, p) != 0:
                p += cython.cast(cython.Py_ssize_t, 8 * self._events[row + columns.EVENT_REGS_USER])
            p += 8
        if kind & SampleField.STACK_USER:
            self._place(at, p, columns.SHORT_STACK_AT)
            if p + 8 > end:
                return -1
            count = u64(data, end, p)
            p += 8
            if count != 0:
                if p + 8 > end or count > cython.cast(cython.ulonglong, end - p - 8):
                    return -1
                p += cython.cast(cython.Py_ssize_t, count)
                self._bad_stack = u64(data, end, p) > count
                p += 8
        return p

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    @cython.locals(data="const unsigned char *")
    def _last_words(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        p: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """The fields behind the stack; where they end, -1 where they do not fit."""
        kind: cython.ulonglong = self._events[row + columns.EVENT_FIELDS]
        count: cython.ulonglong
        if kind & (SampleField.WEIGHT | SampleField.WEIGHT_STRUCT):
            p = self._word(data, p, end, columns.WORD_WEIGHT)
        if kind & SampleField.DATA_SRC:
            p = self._word(data, p, end, columns.WORD_DATA_SRC)
        if kind & SampleField.TRANSACTION:
            p = self._word(data, p, end, columns.WORD_TRANSACTION)
        if kind & SampleField.REGS_INTR:
            self._place(at, p, columns.SHORT_REGS_INTR_AT)
            if p + 8 > end:
                return -1
            if u64(data, end, p) != 0:
                p += cython.cast(cython.Py_ssize_t, 8 * self._events[row + columns.EVENT_REGS_INTR])
            p += 8
        if kind & SampleField.PHYS_ADDR:
            p = self._word(data, p, end, columns.WORD_PHYS_ADDR)
        if kind & SampleField.CGROUP:
            p = self._word(data, p, end, columns.WORD_CGROUP)
        if kind & SampleField.DATA_PAGE_SIZE:
            p = self._word(data, p, end, columns.WORD_DATA_PAGE_SIZE)
        if kind & SampleField.CODE_PAGE_SIZE:
            p = self._word(data, p, end, columns.WORD_CODE_PAGE_SIZE)
        if kind & SampleField.AUX:
            if p + 8 > end:
                return -1
            count = u64(data, end, p)
            if count > cython.cast(cython.ulonglong, end - p - 8):
                return -1
            p += 8 + cython.cast(cython.Py_ssize_t, count)
        return p
