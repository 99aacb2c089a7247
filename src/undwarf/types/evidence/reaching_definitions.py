# cython: language_level=3, annotation_typing=False
"""Which instructions may have put into a register what it holds, as calls in between change it."""

from collections.abc import Container, Mapping

from undwarf.disasm import Flow
from undwarf.disasm.template_layout import TARGETED
from undwarf.types.dataflow.function_dataflow import Tracker

__all__ = ["makers"]

_MOST = 2048
"""Instructions in which it is looked for, at most."""


def makers(tracker: Tracker, k: int, register: int) -> frozenset[int]:
    """The instructions that may have put into a register what it holds before another one, -1 for who enters; empty
    where these are too far away to be found."""
    blocks, lost = tracker.flow.blocks, _lost(tracker) if register in tracker.questions.calls.lost else None
    last = blocks.maker_within(k, register, lost)
    if last >= 0:
        return frozenset((last,))
    # Of a block's many instructions all ask for the same.
    number = blocks.of(k)
    found = tracker.makers.get((number, register))
    if found is None:
        first = blocks.first(number)
        found = tracker.makers[number, register] = frozenset(blocks.makers(first, register, _MOST, lost))
    return found


def _lost(tracker: Tracker) -> Mapping[int, Container[int]]:
    """By call, the registers that do not hold behind it what they held before."""
    if tracker.lost is None:
        tracker.lost = _Lost(tracker)
    return tracker.lost


class _Lost(dict[int, Container[int]]):
    """The same, each looked for when it is asked for."""

    def __init__(self, tracker: Tracker) -> None:
        self._instructions, self._calls = tracker.flow.instructions, tracker.questions.calls

    def __missing__(self, call: int) -> Container[int]:
        instructions, calls = self._instructions, self._calls
        found = self[call] = (
            calls.changed(instructions.targets[call] & 0xFFFFFFFFFFFFFFFF)
            if instructions.flows[call] == Flow.CALL | TARGETED
            else calls.lost
        )
        return found
