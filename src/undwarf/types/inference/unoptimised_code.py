# cython: language_level=3, annotation_typing=False
"""Detects unoptimised code, in which every variable has a stack slot of its own.

Evidence: the frame pointer is set up, no callee-saved registers hold variables, values are reloaded right after they
were stored.
"""

from undwarf.disasm import NONE, Action, Flow
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_64 import MACHINE
from undwarf.disasm.x86_operands import RBX

__all__ = ["is_unoptimised"]

_NEXT = Flow.NEXT
_PUSH, _COPY, _LOAD, _STORE, _UPDATE = Action.PUSH, Action.COPY, Action.LOAD, Action.STORE, Action.UPDATE

_FORGETFUL = 1024
"""Number of instructions searched for redundant reloads."""
_PROLOGUE = 32
"""Number of instructions in which parameters are spilled."""


def is_unoptimised(instructions: Listing) -> bool:
    """Whether a function is unoptimised code."""
    copied = kept = False
    for k in range(min(8, len(instructions))):
        made = instructions[k]
        kept = kept or (made.action == _PUSH and made.left not in (MACHINE.frame_pointer, RBX, NONE))
        copied = copied or (
            made.action == _COPY and made.destination == MACHINE.frame_pointer and made.left == MACHINE.stack_pointer
        )
    if not copied or not kept or _loads_again(instructions):
        return copied
    forgotten = _forgotten(instructions)
    return forgotten > 1 or (forgotten == 1 and _puts_first_parameter(instructions))


def _loads_again(instructions: Listing) -> bool:
    """Whether a parameter is reloaded from the frame while its register still has it."""
    stored: dict[tuple[int, int], int] = {}
    for k in range(min(_PROLOGUE, len(instructions))):
        made = instructions[k]
        operand = made.memory[0] if made.memory and made.memory[0].base == MACHINE.frame_pointer else None
        place = (operand.displacement, operand.size) if operand is not None else None
        if made.action == _LOAD and place in stored:
            return True
        if made.flow != _NEXT:
            break
        stored = {at: register for at, register in stored.items() if register not in made.writes}
        if place is not None and made.action == _STORE and made.left in MACHINE.parameters:
            stored[place] = made.left
    return False


def _puts_first_parameter(instructions: Listing) -> bool:
    """Whether the first store to the frame is that of the first parameter."""
    for k in range(min(_PROLOGUE, len(instructions))):
        made = instructions[k]
        if made.memory and made.action != _PUSH:
            operand = made.memory[0]
            return (
                made.action == _STORE and operand.base == MACHINE.frame_pointer and made.left == MACHINE.parameters[0]
            )
        if made.flow != _NEXT:
            break
    return False


def _forgotten(instructions: Listing) -> int:
    """How often a value just stored to the frame is read by the next instruction."""
    found = 0
    before: tuple[int, int] | None = None
    for k in range(min(_FORGETFUL, len(instructions))):
        made = instructions[k]
        operand = made.memory[0] if made.memory and made.memory[0].base == MACHINE.frame_pointer else None
        place = (operand.displacement, operand.size) if operand is not None and operand.index == NONE else None
        if place is not None and place == before and operand is not None and operand.access != "w":
            found += 1
        kept = made.action == _UPDATE or (made.action == _STORE and made.left != NONE)
        before = place if kept and made.flow == _NEXT else None
    return found
