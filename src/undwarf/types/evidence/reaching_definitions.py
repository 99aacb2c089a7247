# cython: language_level=3, annotation_typing=False
"""Reaching definitions of a register, taking the registers that calls clobber into account."""

from collections.abc import Container, Mapping

from undwarf.disasm import Flow
from undwarf.disasm.template_layout import TARGETED
from undwarf.types.dataflow.function_dataflow import Tracker

__all__ = ["reaching_definitions"]

_MOST = 2048
"""Limit of instructions searched."""


def reaching_definitions(tracker: Tracker, k: int, register: int) -> frozenset[int]:
    """The definitions of a register that reach an instruction, -1 for the function's entry; empty if the limit is
    exceeded."""
    blocks, lost = tracker.flow.blocks, _lost(tracker) if register in tracker.oracle.calls.lost else None
    last = blocks.definition_within(k, register, lost)
    if last >= 0:
        return frozenset((last,))
    # All instructions of a block share the result.
    number = blocks.of(k)
    found = tracker.reaching_definitions.get((number, register))
    if found is None:
        first = blocks.first(number)
        found = tracker.reaching_definitions[number, register] = frozenset(
            blocks.reaching_definitions(first, register, _MOST, lost)
        )
    return found


def _lost(tracker: Tracker) -> Mapping[int, Container[int]]:
    """{call: registers it clobbers}."""
    if tracker.lost is None:
        tracker.lost = _Lost(tracker)
    return tracker.lost


class _Lost(dict[int, Container[int]]):
    """The same, computed on demand."""

    def __init__(self, tracker: Tracker) -> None:
        self._instructions, self._calls = tracker.flow.instructions, tracker.oracle.calls

    def __missing__(self, call: int) -> Container[int]:
        instructions, calls = self._instructions, self._calls
        found = self[call] = (
            calls.changed(instructions.targets[call] & 0xFFFFFFFFFFFFFFFF)
            if instructions.flows[call] == Flow.CALL | TARGETED
            else calls.lost
        )
        return found
