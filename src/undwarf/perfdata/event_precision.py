"""Where the samples of events stop, by what their attributes and the samples themselves say."""

from collections.abc import Sequence
from typing import NamedTuple

from undwarf.perfdata.events import EventAttr

__all__ = ["EventStops", "event_stops"]

_SOFTWARE, _BREAKPOINT = 1, 5
"""PERF_TYPE_SOFTWARE and PERF_TYPE_BREAKPOINT."""
_IMPRECISE = (_SOFTWARE, 2, _BREAKPOINT)
"""Software events and tracepoints: perf asks for precision of them too, and the kernel does not mind."""
_FAULTS = (2, 5, 6, 7)
"""PERF_COUNT_SW_*: page faults, minor and major ones, alignment faults; the kernel counts them at what has faulted."""
_EXECUTION = 4
"""HW_BREAKPOINT_X."""
_EXACT_IP = 1 << 14
"""PERF_RECORD_MISC_EXACT_IP."""
_LOOKED_AT = 4096
"""Samples that are asked whether they are exact."""


class EventStops(NamedTuple):
    """Numbers of the events whose samples stop ``behind`` the access, and ``at`` it; all others are late. ``done``: of
    those at it, the ones whose registers are of after the instruction."""

    behind: frozenset[int]
    at: frozenset[int]
    done: frozenset[int]


def event_stops(
    events: Sequence[EventAttr], event_of: Sequence[int], misc: Sequence[int], *, aarch64: bool
) -> EventStops:
    """Breakpoints on data stop behind what they watch, those of AArch64 before it is carried out (ARM DDI 0487, D2.10);
    faults at it. Precise are events whose samples say so, or that were asked to be of hardware that can be.

    ``event_of`` and ``misc`` are of the samples.
    """
    watching = {k for k, event in enumerate(events) if event.type == _BREAKPOINT and event.bp_type != _EXECUTION}
    faults = {k for k, event in enumerate(events) if event.type == _SOFTWARE and event.config in _FAULTS}
    exact = {k for k, event in enumerate(events) if event.precise_ip > 1 and event.type not in _IMPRECISE}
    said: dict[int, int] = {}
    for event, bits in zip(event_of[:_LOOKED_AT], misc[:_LOOKED_AT], strict=True):
        said[event] = said.get(event, 0) + (1 if bits & _EXACT_IP else -1)
    exact.update(k for k, balance in said.items() if balance > 0)
    exact -= watching
    behind = set() if aarch64 else watching
    return EventStops(frozenset(behind), frozenset((exact | faults | watching) - behind), frozenset(exact))
