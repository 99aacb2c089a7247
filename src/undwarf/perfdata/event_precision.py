"""How precise the samples of events are, by their attributes and by the samples themselves."""

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
"""Samples that are checked for the mark of an exact ip."""


class EventStops(NamedTuple):
    """Numbers of the events whose samples are of the instruction ``behind`` the access, or ``at`` it; those of all
    others have skid. ``done``: events ``at`` it whose registers are those after the instruction."""

    behind: frozenset[int]
    at: frozenset[int]
    done: frozenset[int]


def event_stops(
    events: Sequence[EventAttr], event_of: Sequence[int], misc: Sequence[int], *, aarch64: bool
) -> EventStops:
    """Which events are precise, from their attributes and the columns ``event`` and ``misc`` of the samples.

    Data breakpoints stop after the access, those of AArch64 before it (ARM DDI 0487, D2.10), faults at it. Other events
    are precise if most samples are marked as exact, or if that was requested and the hardware can do it.
    """
    watching = {k for k, event in enumerate(events) if event.type == _BREAKPOINT and event.bp_type != _EXECUTION}
    faults = {k for k, event in enumerate(events) if event.type == _SOFTWARE and event.config in _FAULTS}
    exact = {k for k, event in enumerate(events) if event.precise_ip > 1 and event.type not in _IMPRECISE}
    balances: dict[int, int] = {}
    for event, bits in zip(event_of[:_LOOKED_AT], misc[:_LOOKED_AT], strict=True):
        balances[event] = balances.get(event, 0) + (1 if bits & _EXACT_IP else -1)
    exact.update(k for k, balance in balances.items() if balance > 0)
    exact -= watching
    behind = set() if aarch64 else watching
    return EventStops(frozenset(behind), frozenset((exact | faults | watching) - behind), frozenset(exact))
