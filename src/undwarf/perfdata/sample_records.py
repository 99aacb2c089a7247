# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Samples: the event that each is of, its fields, the counters that are read with it.

Only the header, the sizes and the small fields are touched, never the stack bytes: on a recording of gigabytes the page
faults are the cost. Field order: ``perf_output_sample`` in ``kernel/events/core.c``.
"""

import os
from typing import Any

import cython
from cython.cimports.undwarf.perfdata import sample_columns as columns
from cython.cimports.undwarf.perfdata import sample_fields as fields
from cython.cimports.undwarf.perfdata.native import u32, u64

from undwarf.buffers import zeros
from undwarf.perfdata.columns import Columns

# Bits of `read_format` and `branch_sample_type` (include/uapi/linux/perf_event.h).
READ_ID = cython.declare(cython.ulonglong, 4)
READ_GROUP = cython.declare(cython.ulonglong, 8)
BRANCH_HW_INDEX = cython.declare(cython.ulonglong, 1 << 17)
BRANCH_COUNTERS = cython.declare(cython.ulonglong, 1 << 19)


@cython.cclass
class SampleRecords(Columns):
    """Decodes one sample at a time into a row of its own, or into one for each counter that was read with it."""

    _events: Any
    _places: Any
    _ids: Any
    _read_ids: Any

    def __init__(self, max_samples: int) -> None:
        super().__init__(max_samples)
        self._events = zeros("Q", 0)
        self._event_count = 0
        self._timed = False
        self._single = False
        self._places = zeros("Q", 0)
        self._ids = zeros("Q", 0)
        self._owners = zeros("I", 0)
        self._splits = False
        self._room = 1
        self._read_ids = zeros("Q", 64)
        self._read_threads = zeros("I", 64)
        self._read_values = zeros("Q", 64)
        self._read_count = 0
        self.unordered = self.unknown_ids = self.bad_stacks = 0
        self.new_segment()

    def new_segment(self) -> None:
        """Rounds start anew: another file of a directory is another writer."""
        self._next_flush = 0
        self._newest = 0
        self._flushed = 0

    # -- events -------------------------------------------------------------------------------------------------

    @cython.locals(ids="const unsigned long long[::1]", owners="const unsigned int[::1]")
    def set_events(self, table: Any, places: Any, ids: Any, owners: Any, wanted_words: int, wanted_shorts: int) -> None:
        """Say how samples of each event look, and which event an id means.

        ``table``: EVENT_WORDS words ('Q') an event, see ``events.decoder_table``. ``places``: the distinct
        offsets ('Q') of the id in a sample. ``ids`` ('Q') and their event numbers ``owners`` ('I').
        ``wanted_words`` and ``wanted_shorts``: bit masks of the SAMPLE_WORDS and SAMPLE_SHORTS that get written.
        """
        self._wanted_words |= wanted_words
        self._wanted_shorts |= wanted_shorts
        self._events = table
        self._event_count = self._events.shape[0] // columns.EVENT_WORDS
        self._single = self._event_count == 1
        self._timed = False
        row: cython.Py_ssize_t
        for row in range(0, self._event_count * columns.EVENT_WORDS, columns.EVENT_WORDS):
            if self._events[row + columns.EVENT_FIELDS] & fields.TIME:
                self._timed = True
            if self._is_split(row):
                self._splits = True
        self._places = places
        n: cython.Py_ssize_t = ids.shape[0]
        bits: cython.int = 4
        while (cython.cast(cython.Py_ssize_t, 1) << bits) < 2 * n + 2:
            bits += 1
        self._ids = zeros("Q", 1 << bits)
        self._owners = zeros("I", 1 << bits)
        # A random odd factor: ids cannot be chosen to meet in one slot.
        self._id_factor = int.from_bytes(os.urandom(8), "little") | 1
        self._id_shift = 64 - bits
        self._last_id = 0
        self._last_owner = 0
        mask: cython.ulonglong = (1 << bits) - 1
        at: cython.ulonglong
        i: cython.Py_ssize_t
        for i in range(n):
            at = (ids[i] * self._id_factor) >> self._id_shift
            while self._owners[at] != 0 and self._ids[at] != ids[i]:
                at = (at + 1) & mask
            if self._owners[at] == 0:
                self._ids[at] = ids[i]
                self._owners[at] = owners[i] + 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _owner(self, identifier: cython.ulonglong) -> cython.int:
        """The event number + 1 of an id; 0 for an unknown one. Id 0 is the first event's."""
        if identifier == 0:
            return 1
        if identifier == self._last_id:
            return self._last_owner
        mask: cython.ulonglong = self._ids.shape[0] - 1
        at: cython.ulonglong = (identifier * self._id_factor) >> self._id_shift
        while self._owners[at] != 0:
            if self._ids[at] == identifier:
                self._last_id = identifier
                self._last_owner = cython.cast(cython.int, self._owners[at])
                return self._last_owner
            at = (at + 1) & mask
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *")
    def _sample_event(self, data: Any, end: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.int:
        """The event number + 1 of the sample at ``at``; 0 when its id is unknown."""
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        owner: cython.int
        if self._single:
            return 1
        if self._places.shape[0] == 0:
            return 1 if self._event_count > 0 else 0
        # Events of one recording agree on the place; where they do not, an id only counts at its event's own.
        for i in range(self._places.shape[0]):
            place = cython.cast(cython.Py_ssize_t, self._places[i])
            if at + place + 8 > end:
                continue
            owner = self._owner(u64(data, end, at + place))
            row = (owner - 1) * columns.EVENT_WORDS
            if owner > 0 and cython.cast(cython.Py_ssize_t, self._events[row + columns.EVENT_ID_AT]) == place:
                return owner
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _effective(self, time: cython.ulonglong) -> cython.ulonglong:
        """When a record counts as delivered: its time; without one, what the last round had flushed."""
        if time == 0 or ~time == 0:
            return self._flushed
        if time > self._newest:
            self._newest = time
        if time < self._flushed:
            self.unordered += 1
        return time

    # -- fields -------------------------------------------------------------------------------------------------

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
        if self._is_split(row):
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
        if kind & fields.IDENTIFIER:
            p = self._word(data, p, end, columns.WORD_ID)
        if kind & fields.IP:
            p = self._word(data, p, end, columns.WORD_IP)
        if kind & fields.TID:
            self._i[columns.INT_PID * cap + n] = cython.cast(cython.int, u32(data, end, p))
            self._i[columns.INT_TID * cap + n] = cython.cast(cython.int, u32(data, end, p + 4))
            p += 8
        if kind & fields.TIME:
            p = self._word(data, p, end, columns.WORD_TIME)
        if kind & fields.ADDR:
            p = self._word(data, p, end, columns.WORD_ADDR)
        if kind & fields.ID:
            p = self._word(data, p, end, columns.WORD_ID)
        if kind & fields.STREAM_ID:
            p = self._word(data, p, end, columns.WORD_STREAM_ID)
        if kind & fields.CPU:
            self._i[columns.INT_CPU * cap + n] = cython.cast(cython.int, u32(data, end, p))
            p += 8
        if kind & fields.PERIOD:
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
        if kind & fields.READ:
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
        if kind & fields.CALLCHAIN:
            self._place(at, p, columns.SHORT_CALLCHAIN_AT)
            if p + 8 > end:
                return -1
            count = u64(data, end, p)
            if count > cython.cast(cython.ulonglong, end - p - 8) >> 3:
                return -1
            p += 8 + 8 * cython.cast(cython.Py_ssize_t, count)
        if kind & fields.RAW:
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
        if not kind & fields.BRANCH_STACK:
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
        if kind & fields.REGS_USER:
            self._place(at, p, columns.SHORT_REGS_AT)
            if p + 8 > end:
                return -1
            if u64(data, end, p) != 0:
                p += cython.cast(cython.Py_ssize_t, 8 * self._events[row + columns.EVENT_REGS_USER])
            p += 8
        if kind & fields.STACK_USER:
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
        if kind & (fields.WEIGHT | fields.WEIGHT_STRUCT):
            p = self._word(data, p, end, columns.WORD_WEIGHT)
        if kind & fields.DATA_SRC:
            p = self._word(data, p, end, columns.WORD_DATA_SRC)
        if kind & fields.TRANSACTION:
            p = self._word(data, p, end, columns.WORD_TRANSACTION)
        if kind & fields.REGS_INTR:
            self._place(at, p, columns.SHORT_REGS_INTR_AT)
            if p + 8 > end:
                return -1
            if u64(data, end, p) != 0:
                p += cython.cast(cython.Py_ssize_t, 8 * self._events[row + columns.EVENT_REGS_INTR])
            p += 8
        if kind & fields.PHYS_ADDR:
            p = self._word(data, p, end, columns.WORD_PHYS_ADDR)
        if kind & fields.CGROUP:
            p = self._word(data, p, end, columns.WORD_CGROUP)
        if kind & fields.DATA_PAGE_SIZE:
            p = self._word(data, p, end, columns.WORD_DATA_PAGE_SIZE)
        if kind & fields.CODE_PAGE_SIZE:
            p = self._word(data, p, end, columns.WORD_CODE_PAGE_SIZE)
        if kind & fields.AUX:
            if p + 8 > end:
                return -1
            count = u64(data, end, p)
            if count > cython.cast(cython.ulonglong, end - p - 8):
                return -1
            p += 8 + cython.cast(cython.Py_ssize_t, count)
        return p

    # -- counters -----------------------------------------------------------------------------------------------

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(-1)
    def _is_split(self, row: cython.Py_ssize_t) -> cython.bint:
        """Whether samples of the event at ``row`` have counters with ids."""
        form: cython.ulonglong = self._events[row + columns.EVENT_READ_FORMAT]
        kind: cython.ulonglong = self._events[row + columns.EVENT_FIELDS]
        return (kind & fields.READ) != 0 and (form & READ_ID) != 0

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

    @cython.locals(counts="unsigned long long[::1]")
    def events_used(self) -> list[int]:
        """Samples of each event."""
        n: cython.Py_ssize_t
        used = zeros("Q", self._event_count + 1)
        counts = used
        if self._event_count == 1:
            return [self.samples]
        with cython.nogil:
            for n in range(self.samples):
                counts[self._h[columns.SHORT_EVENT * self._capacity + n]] += 1
        return list(used[: self._event_count])
