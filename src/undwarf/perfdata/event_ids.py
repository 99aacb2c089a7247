# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The events that records belong to, by the ids in them."""

import os
from typing import Any

import cython
from cython.cimports.undwarf.perfdata.event_layouts import EventLayouts
from cython.cimports.undwarf.perfdata.native_integers import u64

from undwarf.column import zeros
from undwarf.perfdata.sample_layout import SampleLayout

UNKNOWN = cython.declare(cython.Py_ssize_t, -1)


@cython.final
@cython.cclass
class EventIds:
    """A hash table from ids to event numbers."""

    _offsets: Any
    _ids: Any

    def __init__(self, layouts: EventLayouts, layout: SampleLayout) -> None:
        self._layouts = layouts
        self.update(layout)

    @cython.locals(ids="const unsigned long long[::1]", owners="const unsigned int[::1]")
    def update(self, layout: SampleLayout) -> None:
        """Take over the ids of all events."""
        ids = layout.ids
        owners = layout.owners
        n: cython.Py_ssize_t = len(layout.ids)
        bits: cython.int = 4
        while (cython.cast(cython.Py_ssize_t, 1) << bits) < 2 * n + 2:
            bits += 1
        self._offsets = layout.id_offsets
        self._ids = zeros("Q", 1 << bits)
        self._owners = zeros("I", 1 << bits)
        # A random odd factor, so that no file can be written whose ids all collide.
        self._factor = int.from_bytes(os.urandom(8), "little") | 1
        self._shift = 64 - bits
        self._last_id = 0
        self._last_owner = UNKNOWN
        mask: cython.ulonglong = (1 << bits) - 1
        slot: cython.ulonglong
        i: cython.Py_ssize_t
        for i in range(n):
            slot = (ids[i] * self._factor) >> self._shift
            while self._owners[slot] != 0 and self._ids[slot] != ids[i]:
                slot = (slot + 1) & mask
            if self._owners[slot] == 0:
                self._ids[slot] = ids[i]
                self._owners[slot] = owners[i] + 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    def event(self, identifier: cython.ulonglong) -> cython.Py_ssize_t:
        """The event number of an id, -1 for an unknown one. Id 0 is the first event's."""
        if identifier == 0:
            return 0
        if identifier == self._last_id:
            return self._last_owner
        mask: cython.ulonglong = self._ids.shape[0] - 1
        slot: cython.ulonglong = (identifier * self._factor) >> self._shift
        while self._owners[slot] != 0:
            if self._ids[slot] == identifier:
                self._last_id = identifier
                self._last_owner = cython.cast(cython.Py_ssize_t, self._owners[slot]) - 1
                return self._last_owner
            slot = (slot + 1) & mask
        return UNKNOWN

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-2)
    @cython.locals(data="const unsigned char *")
    def event_of_sample(self, data: Any, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The event number of the sample at ``at``, -1 when its id is unknown."""
        i: cython.Py_ssize_t
        offset: cython.Py_ssize_t
        event: cython.Py_ssize_t
        if self._layouts.count <= 1 or self._offsets.shape[0] == 0:
            return 0 if self._layouts.count > 0 else UNKNOWN
        # Events of one recording agree on the offset; otherwise an id only counts at the offset of its event.
        for i in range(self._offsets.shape[0]):
            offset = cython.cast(cython.Py_ssize_t, self._offsets[i])
            if at + offset + 8 > end:
                continue
            event = self.event(u64(data, end, at + offset))
            if event >= 0 and cython.cast(cython.Py_ssize_t, self._layouts.layout(event).id_offset) == offset:
                return event
        return UNKNOWN
