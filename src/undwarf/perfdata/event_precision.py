"""Which events have samples without skid, from their attributes and from the samples."""

from collections.abc import Sequence
from typing import NamedTuple

from undwarf.perfdata.abi import MISC_EXACT_IP
from undwarf.perfdata.events import BREAKPOINT, SOFTWARE, TRACEPOINT, EventAttr

__all__ = ["EventStops", "event_stops"]

_IMPRECISE = (SOFTWARE, TRACEPOINT, BREAKPOINT)
"""Types for which perf may set ``precise_ip``, too, but the kernel ignores it."""
_FAULTS = (2, 5, 6, 7)
"""PERF_COUNT_SW_*: page faults, minor and major ones, alignment faults; counted at the faulting instruction."""
_EXECUTION = 4
"""HW_BREAKPOINT_X."""
_CHECKED_SAMPLES = 4096
"""Number of samples that are checked for MISC_EXACT_IP."""


class EventStops(NamedTuple):
    """Events without skid, by index: their samples are at the instruction after the access (``after``), or ``at`` it.
    ``executed``: those of ``at`` whose registers are already those after the instruction."""

    after: frozenset[int]
    at: frozenset[int]
    executed: frozenset[int]


def event_stops(
    events: Sequence[EventAttr], event_of: Sequence[int], misc: Sequence[int], *, aarch64: bool
) -> EventStops:
    """Which events are precise, from their attributes and the columns ``event`` and ``misc`` of the samples.

    Data breakpoints trap after the access, those of AArch64 before it (ARM DDI 0487, D2.10); faults are at it. Other
    events are precise if most samples are marked exact, or if that was requested of hardware that can do it.
    """
    watching = {k for k, event in enumerate(events) if event.type == BREAKPOINT and event.bp_type != _EXECUTION}
    faults = {k for k, event in enumerate(events) if event.type == SOFTWARE and event.config in _FAULTS}
    exact = {k for k, event in enumerate(events) if event.precise_ip > 1 and event.type not in _IMPRECISE}
    balances: dict[int, int] = {}
    for event, bits in zip(event_of[:_CHECKED_SAMPLES], misc[:_CHECKED_SAMPLES], strict=True):
        balances[event] = balances.get(event, 0) + (1 if bits & MISC_EXACT_IP else -1)
    exact.update(k for k, balance in balances.items() if balance > 0)
    exact -= watching
    after = set() if aarch64 else watching
    return EventStops(frozenset(after), frozenset((exact | faults | watching) - after), frozenset(exact))
