# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Counters that are read with a sample: what each has counted since it was last read is a sample of its event."""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata import sample_layout as columns
from cython.cimports.undwarf.perfdata.native import u64

from undwarf.column import zeros
from undwarf.perfdata.sample_events import SampleEvents

READ_GROUP = cython.declare(cython.ulonglong, 8)
"""A bit of `read_format` (include/uapi/linux/perf_event.h)."""


@cython.cclass
class ReadCounters(SampleEvents):
    """What the counters of groups had when they were last read, and the samples that are made of them."""

    _read_ids: Any

    def __init__(self, max_samples: int) -> None:
        super().__init__(max_samples)
        self._room = 1
        self._read_ids = zeros("Q", 64)
        self._read_threads = zeros("I", 64)
        self._read_values = zeros("Q", 64)
        self._read_count = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _split(
        self, data: Any, end: cython.Py_ssize_t, read: cython.Py_ssize_t, row: cython.Py_ssize_t, n: cython.Py_ssize_t
    ) -> cython.int:
        """Make of sample ``n``, the last one, a sample for each counter that was read with it and has counted since it
        was last read, with what it counted as the period: what perf makes of it (tools/perf/util/session.c,
        deliver_sample_group). ``read`` is where the counters begin.
        """
        form: cython.ulonglong = self._events[row + columns.EVENT_READ_FORMAT]
        values: cython.Py_ssize_t = 1
        step: cython.Py_ssize_t = 8 * cython.cast(cython.Py_ssize_t, self._events[row + columns.EVENT_VALUE_WORDS])
        p: cython.Py_ssize_t = read
        cap: cython.Py_ssize_t = self._capacity
        tid: cython.int = self._i[columns.INT_TID * cap + n]
        thread: cython.uint = cython.cast(cython.uint, tid) if self._events[row + columns.EVENT_BY_THREAD] else 0
        identifier: cython.ulonglong
        period: cython.ulonglong
        made: cython.Py_ssize_t = n
        owner: cython.int
        _k: cython.Py_ssize_t
        if form & READ_GROUP:
            values = cython.cast(cython.Py_ssize_t, u64(data, end, p))
            p += 8 + 8 * cython.cast(cython.Py_ssize_t, self._events[row + columns.EVENT_READ_TIMES])
            # A group has each event once.
            if values > self._event_count:
                values = self._event_count
            if values > (self._room - 1):
                values = self._room - 1
        else:
            # The times stand between the value and its id.
            step = 8 * cython.cast(cython.Py_ssize_t, self._events[row + columns.EVENT_READ_TIMES])
        for _k in range(values):
            identifier = u64(data, end, p + 8 if form & READ_GROUP else p + 8 + step)
            owner = self._owner(identifier) if identifier != 0 else 0
            if owner > 0:
                period = self._counted(identifier, thread, u64(data, end, p))
                if period != 0:
                    if made != n:
                        self.copy_row(n, made)
                    self._q[columns.WORD_PERIOD * cap + made] = period
                    self._h[columns.SHORT_EVENT * cap + made] = cython.cast(cython.ushort, owner - 1)
                    self._q[columns.WORD_ID * cap + made] = identifier
                    if (
                        self._events[(owner - 1) * columns.EVENT_WORDS + columns.EVENT_REGS_USER]
                        != self._events[row + columns.EVENT_REGS_USER]
                    ):
                        # Its event does not say the registers of this sample.
                        self._h[columns.SHORT_REGS_AT * cap + made] = 0
                    made += 1
            else:
                self.unknown_ids += 1
            p += step
        if made == n:
            self.clear_row(n)
        self.samples = made
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _read_slot(self, identifier: cython.ulonglong, thread: cython.uint) -> cython.Py_ssize_t:
        """Where a counter's last value is, or belongs: the slot is free if its id is 0."""
        mask: cython.ulonglong = self._read_ids.shape[0] - 1
        at: cython.ulonglong = ((identifier + thread * self._id_factor) * self._id_factor) >> 20 & mask
        while self._read_ids[at] != 0 and not (self._read_ids[at] == identifier and self._read_threads[at] == thread):
            at = (at + 1) & mask
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _counted(self, identifier: cython.ulonglong, thread: cython.uint, value: cython.ulonglong) -> cython.ulonglong:
        """What a counter has counted since it was last read."""
        at: cython.Py_ssize_t
        before: cython.ulonglong
        if 2 * (self._read_count + 1) > self._read_ids.shape[0]:
            with cython.gil:
                self._grow_reads()
        at = self._read_slot(identifier, thread)
        if self._read_ids[at] == 0:
            self._read_ids[at] = identifier
            self._read_threads[at] = thread
            self._read_count += 1
        before = self._read_values[at]
        self._read_values[at] = value
        return value - before

    @cython.cfunc
    @cython.locals(
        ids="unsigned long long[::1]", threads="unsigned int[::1]", values="unsigned long long[::1]", at="Py_ssize_t"
    )
    def _grow_reads(self) -> cython.int:
        """Double the table of counters."""
        ids = self._read_ids
        threads = self._read_threads
        values = self._read_values
        size: cython.Py_ssize_t = ids.shape[0]
        self._read_ids = zeros("Q", 2 * size)
        self._read_threads = zeros("I", 2 * size)
        self._read_values = zeros("Q", 2 * size)
        i: cython.Py_ssize_t
        for i in range(size):
            if ids[i] != 0:
                at = self._read_slot(ids[i], threads[i])
                self._read_ids[at] = ids[i]
                self._read_threads[at] = threads[i]
                self._read_values[at] = values[i]
        return 0
