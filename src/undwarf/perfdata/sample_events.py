# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Which event a sample is of, and when it counts as delivered."""

import os
from typing import Any

import cython
from cython.cimports.undwarf.perfdata import sample_layout as columns
from cython.cimports.undwarf.perfdata.native import u64
from cython.cimports.undwarf.perfdata.sample_fields import SampleField

from undwarf.column import zeros
from undwarf.perfdata.column_store import Columns

READ_ID = cython.declare(cython.ulonglong, 4)
"""A bit of `read_format` (include/uapi/linux/perf_event.h)."""


@cython.cclass
class SampleEvents(Columns):
    """The events of a recording, by the ids that their samples have; the times of rounds."""

    _events: Any
    _places: Any
    _ids: Any

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
        self.unordered = self.unknown_ids = 0
        self.new_segment()

    def new_segment(self) -> None:
        """Rounds start anew: another file of a directory is another writer."""
        self._next_flush = 0
        self._newest = 0
        self._flushed = 0

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
            if self._events[row + columns.EVENT_FIELDS] & SampleField.TIME:
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

    @cython.final
    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _is_split(self, row: cython.Py_ssize_t) -> cython.bint:
        """Whether samples of the event at ``row`` have counters with ids."""
        form: cython.ulonglong = self._events[row + columns.EVENT_READ_FORMAT]
        kind: cython.ulonglong = self._events[row + columns.EVENT_FIELDS]
        return (kind & SampleField.READ) != 0 and (form & READ_ID) != 0

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
