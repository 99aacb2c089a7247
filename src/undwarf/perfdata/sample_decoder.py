# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Decodes samples: one loop over the field steps of their event.

Only the header, the sizes and the small fields are touched, never the stack bytes: on a recording of gigabytes the page
faults are the cost.
"""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata.abi import READ_GROUP
from cython.cimports.undwarf.perfdata.column_store import ColumnStore
from cython.cimports.undwarf.perfdata.event_ids import EventIds
from cython.cimports.undwarf.perfdata.event_layouts import EventLayouts
from cython.cimports.undwarf.perfdata.finished_rounds import Rounds
from cython.cimports.undwarf.perfdata.native_integers import u32, u64
from cython.cimports.undwarf.perfdata.sample_layout import FieldShape, SampleInt, SampleShort, SampleWord

from undwarf.perfdata.read_counters import ReadCounters

# Results of decoding a sample's fields.
DECODED = cython.declare(cython.int, 0)
DAMAGED = cython.declare(cython.int, 1)
"""They do not fit in the record."""
AMBIGUOUS = cython.declare(cython.int, 2)
"""They do not fit with a hw_idx word in the branch stack, which may be missing where there are no branches."""


@cython.final
@cython.cclass
class SampleDecoder:
    """Decodes a sample into a row of the column store, or into one for each counter that was read with it."""

    def __init__(self, columns: ColumnStore, layouts: EventLayouts, ids: EventIds, rounds: Rounds) -> None:
        self._columns = columns
        self._layouts = layouts
        self._ids = ids
        self._rounds = rounds
        self._counters = ReadCounters()
        self.unknown_ids = 0
        self.bad_stacks = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *", layout="const EventLayout *")
    def decode(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        misc: cython.uint,
        base: cython.longlong,
        rows: cython.Py_ssize_t,
    ) -> cython.int:
        """Decode the sample at ``at``, into at most ``rows`` - 1 rows if it is split; 1 when it is damaged."""
        event: cython.Py_ssize_t = self._ids.event_of_sample(data, at, end)
        done: cython.int
        n: cython.Py_ssize_t = self._columns.samples
        cap: cython.Py_ssize_t = self._columns.capacity
        if event < 0:
            self.unknown_ids += 1
            return 0
        layout = self._layouts.layout(event)
        done = self._fields(data, at, end, layout, False)
        if done == AMBIGUOUS:
            done = self._fields(data, at, end, layout, True)
        if done != DECODED:
            self._columns.clear_sample(n)
            return 1
        self._columns.words[SampleWord.POSITION * cap + n] = base + at
        self._columns.words[SampleWord.TIME * cap + n] = self._rounds.delivery(
            self._columns.words[SampleWord.TIME * cap + n]
        )
        # Columns start as zeros: pages that are never written stay untouched.
        if event != 0:
            self._columns.shorts[SampleShort.EVENT * cap + n] = cython.cast(cython.ushort, event)
        self._columns.shorts[SampleShort.MISC * cap + n] = cython.cast(cython.ushort, misc)
        self._columns.samples = n + 1
        if layout.splits:
            self._split(data, at, end, layout, rows)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *", layout="const EventLayout *", step="const FieldStep *")
    def _fields(
        self,
        data: Any,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        layout: Any,
        without_hw_idx: cython.bint,
    ) -> cython.int:
        """Copy the fields of the sample at ``at`` to the next row: DECODED, DAMAGED or AMBIGUOUS."""
        # Reads past ``end`` give 0, so that fields of fixed size are checked once, at the end of all; only a count is
        # known to be inside before it is used.
        p: cython.Py_ssize_t = at + 8
        n: cython.Py_ssize_t = self._columns.samples
        cap: cython.Py_ssize_t = self._columns.capacity
        count: cython.ulonglong
        bad_stack: cython.bint = False
        failure: cython.int = DAMAGED
        self._columns.ints[SampleInt.PID * cap + n] = -1
        self._columns.ints[SampleInt.TID * cap + n] = -1
        self._columns.ints[SampleInt.CPU * cap + n] = -1
        self._columns.words[SampleWord.PERIOD * cap + n] = layout.default_period
        step = self._layouts.fields(layout)
        while step.shape != FieldShape.END:
            if step.shape == FieldShape.WORD:
                self._columns.words[step.column * cap + n] = u64(data, end, p)
                p += 8
                step += 1
                continue
            if step.shape == FieldShape.THREAD:
                self._columns.ints[SampleInt.PID * cap + n] = cython.cast(cython.int, u32(data, end, p))
                self._columns.ints[SampleInt.TID * cap + n] = cython.cast(cython.int, u32(data, end, p + 4))
                p += 8
                step += 1
                continue
            if step.shape == FieldShape.CPU_NUMBER:
                self._columns.ints[SampleInt.CPU * cap + n] = cython.cast(cython.int, u32(data, end, p))
                p += 8
                step += 1
                continue
            if step.shape != FieldShape.AUX:
                self._columns.shorts[step.column * cap + n] = cython.cast(cython.ushort, p - at)
            if step.shape == FieldShape.READ_VALUE:
                p += 8 * step.words
            elif step.shape == FieldShape.RAW:
                if p + 4 > end:
                    return failure
                p += 4 + cython.cast(cython.Py_ssize_t, u32(data, end, p))
            else:
                # All others begin with a count, a size or an abi.
                if p + 8 > end:
                    return failure
                count = u64(data, end, p)
                p += 8
                if step.shape == FieldShape.CALLCHAIN:
                    if count > cython.cast(cython.ulonglong, end - p) >> 3:
                        return failure
                    p += 8 * cython.cast(cython.Py_ssize_t, count)
                elif step.shape == FieldShape.REGISTERS:
                    if count != 0:
                        p += 8 * step.words
                elif step.shape == FieldShape.STACK:
                    if count != 0:
                        if p + 8 > end or count > cython.cast(cython.ulonglong, end - p - 8):
                            return failure
                        p += cython.cast(cython.Py_ssize_t, count)
                        bad_stack = u64(data, end, p) > count
                        p += 8
                elif step.shape == FieldShape.READ_GROUP:
                    if count > cython.cast(cython.ulonglong, end - p + 8) >> 3:
                        return failure
                    p += 8 * (step.extra + step.words * cython.cast(cython.Py_ssize_t, count))
                elif step.shape == FieldShape.BRANCHES:
                    if count > cython.cast(cython.ulonglong, end - p) >> 3:
                        return failure
                    p += 8 * step.words * cython.cast(cython.Py_ssize_t, count)
                    if step.extra and (count != 0 or not without_hw_idx):
                        p += 8
                        if count == 0:
                            failure = AMBIGUOUS
                else:
                    if count > cython.cast(cython.ulonglong, end - p):
                        return failure
                    p += cython.cast(cython.Py_ssize_t, count)
            step += 1
        # With or without hw_idx: the variant that fills the record exactly is right.
        if p > end or (failure == AMBIGUOUS and p != end):
            return failure
        self.bad_stacks += bad_stack
        return DECODED

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char *", layout="const EventLayout *")
    def _split(
        self, data: Any, at: cython.Py_ssize_t, end: cython.Py_ssize_t, layout: Any, rows: cython.Py_ssize_t
    ) -> cython.int:
        """Replace the last sample by one for each counter that was read with it and has counted since it was last read,
        whose period is that increase, as perf does (``deliver_sample_group`` in ``tools/perf/util/session.c``).
        """
        n: cython.Py_ssize_t = self._columns.samples - 1
        cap: cython.Py_ssize_t = self._columns.capacity
        grouped: cython.bint = (layout.read_format & READ_GROUP) != 0
        times: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, layout.read_times)
        step: cython.Py_ssize_t = 8 * cython.cast(cython.Py_ssize_t, layout.value_words)
        values: cython.Py_ssize_t = 1
        p: cython.Py_ssize_t = at + self._columns.shorts[SampleShort.READ_AT * cap + n]
        tid: cython.int = self._columns.ints[SampleInt.TID * cap + n]
        thread: cython.uint = cython.cast(cython.uint, tid) if layout.per_thread else 0
        identifier: cython.ulonglong
        increase: cython.ulonglong
        end_row: cython.Py_ssize_t = n
        event: cython.Py_ssize_t
        _k: cython.Py_ssize_t
        if grouped:
            values = cython.cast(cython.Py_ssize_t, u64(data, end, p))
            p += 8 + 8 * times
            # A group has each event once.
            values = min(values, self._layouts.count, rows - 1)
        for _k in range(values):
            # Without a group the times are between the value and its id.
            identifier = u64(data, end, p + 8 if grouped else p + 8 + 8 * times)
            event = self._ids.event(identifier) if identifier != 0 else -1
            if event < 0:
                self.unknown_ids += 1
                p += step
                continue
            increase = self._counters.increase(identifier, thread, u64(data, end, p))
            if increase != 0:
                if end_row != n:
                    self._columns.copy_sample(n, end_row)
                self._columns.words[SampleWord.PERIOD * cap + end_row] = increase
                self._columns.words[SampleWord.ID * cap + end_row] = identifier
                self._columns.shorts[SampleShort.EVENT * cap + end_row] = cython.cast(cython.ushort, event)
                if self._layouts.layout(event).user_registers != layout.user_registers:
                    # The registers of this sample are not those that its new event has.
                    self._columns.shorts[SampleShort.REGS_AT * cap + end_row] = 0
                end_row += 1
            p += step
        if end_row == n:
            self._columns.clear_sample(n)
        self._columns.samples = end_row
        return 0
