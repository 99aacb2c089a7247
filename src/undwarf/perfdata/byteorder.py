# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False, embedsignature=False
"""Rewrites records of the other byte order into native order, field by field."""

from collections.abc import Sequence
from typing import Any

import cython

from undwarf.perfdata.events import EventAttr


class Swapper:
    """Turns whole records around in place."""

    def __init__(self, events: Sequence[EventAttr]) -> None:
        self._events = events

    def swap(self, records: bytearray) -> None:
        raise NotImplementedError
