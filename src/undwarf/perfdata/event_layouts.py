# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The layouts of events, for the decoders."""

from typing import Any

import cython
from cython.cimports.undwarf.perfdata.event_layouts import EventLayout, FieldStep
from cython.cimports.undwarf.perfdata.sample_fields import SampleField

from undwarf.perfdata.sample_layout import SampleLayout

WORDS = cython.declare(cython.Py_ssize_t, cython.sizeof(EventLayout) // 8)
NUMBERS = cython.declare(cython.Py_ssize_t, cython.sizeof(FieldStep) // 4)


@cython.final
@cython.cclass
class EventLayouts:
    """The layout of each of ``count`` events. ``timed``: some have times; ``splits``: some have samples that are split
    into several."""

    _events: Any

    def __init__(self, layout: SampleLayout) -> None:
        self.update(layout)

    def update(self, layout: SampleLayout) -> None:
        """Take over the layouts of all events."""
        self._events = layout.events
        self._steps = layout.steps
        self.count = self._events.shape[0] // WORDS
        self.timed = self.splits = False
        number: cython.Py_ssize_t
        for number in range(self.count):
            self.timed |= self.layout(number).sample_type & SampleField.TIME != 0
            self.splits |= self.layout(number).splits != 0

    @cython.cfunc
    @cython.nogil
    @cython.returns("const EventLayout *")
    @cython.exceptval(check=False)
    def layout(self, event: cython.Py_ssize_t) -> Any:
        """The layout of event number ``event``."""
        return cython.cast("const EventLayout *", cython.address(self._events[event * WORDS]))

    @cython.cfunc
    @cython.nogil
    @cython.returns("const FieldStep *")
    @cython.exceptval(check=False)
    @cython.locals(layout="const EventLayout *")
    def fields(self, layout: Any) -> Any:
        """The fields of an event's samples, up to one of shape END."""
        return cython.cast("const FieldStep *", cython.address(self._steps[layout.program * NUMBERS]))
