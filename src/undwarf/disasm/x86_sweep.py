"""The references in a piece of x86-64 code: what it calls, where it jumps to, which addresses it takes, where it
returns.

The code is read instruction by instruction from its begin, so data in it makes references that are none. It costs about
a hundredth of describing each instruction.
"""

from functools import cache
from typing import Any

from iced_x86 import Decoder, FlowControl

from undwarf.disasm.templates import Templates
from undwarf.disasm.x86_structure import Structure

__all__ = ["CALLED", "JUMPED", "RETURNED", "TAKEN", "sweep"]

CALLED = 1
JUMPED = 2
"""With or without a condition."""
TAKEN = 3
"""By `lea`, or as a constant."""
RETURNED = 4
"""A near return. A function may start at the address after it."""

_LONGEST = 15


def sweep(
    code: "bytes | memoryview", address: int, low: int = 0, high: int = (1 << 64) - 1
) -> "tuple[memoryview, memoryview, memoryview]":
    """(kind B, from Q, to Q) of each reference to an address from ``low`` to below ``high``, in the code's order."""

    def ask(at: int) -> tuple[int, int, int]:
        one = Decoder(64, bytes(code[at : at + _LONGEST]), ip=address + at).decode()
        return one.len, *_described(one)

    structure = Structure(Templates(), None, ask)
    found: tuple[memoryview, memoryview, memoryview] = structure.sweep(code, address, low, high, _invalid())
    return found


@cache
def _invalid() -> bytes:
    """For each byte how many bytes the decoder takes for an invalid instruction, whatever follows; 0 where that
    depends. Data in code is full of them."""
    found = bytearray(256)
    for byte in range(256):
        ones = [Decoder(64, bytes([byte, *[other] * _LONGEST])).decode() for other in (0, 4, 0x84, 0xC0, 0xFF)]
        # Longer ones have parts behind the second byte, which decide.
        if all(one.is_invalid and one.len == 2 for one in ones):
            found[byte] = 2
    return bytes(found)


def _described(one: Any) -> tuple[int, int]:
    """(kind, target) of an instruction, (0, 0) where it refers to nothing. What takes addresses has no odd form."""
    flow = one.flow_control
    if flow == FlowControl.CALL:
        return CALLED, one.near_branch_target
    if flow in (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH):
        return JUMPED, one.near_branch_target
    return 0, 0
