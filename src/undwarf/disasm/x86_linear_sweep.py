"""Linear sweep over x86-64 code for references: calls, jumps, addresses taken, returns.

Data among the code yields false references. A sweep costs about a hundredth of decoding each instruction.
"""

from functools import cache
from typing import Any

from iced_x86 import Decoder, FlowControl

from undwarf.disasm.templates import Templates
from undwarf.disasm.x86_encoding import CALLED, JUMPED, MAX_LENGTH
from undwarf.disasm.x86_length_decoder import LengthDecoder

__all__ = ["sweep"]


def sweep(
    code: "bytes | memoryview", address: int, low: int = 0, high: int = (1 << 64) - 1
) -> "tuple[memoryview, memoryview, memoryview]":
    """(kind B, source Q, target Q) of each reference to [``low``, ``high``), by source; kinds: CALLED to RETURNED."""

    def decode(at: int) -> tuple[int, int, int]:
        native = Decoder(64, bytes(code[at : at + MAX_LENGTH]), ip=address + at).decode()
        return native.len, *_reference(native)

    references: tuple[memoryview, memoryview, memoryview] = LengthDecoder(Templates(), None, decode).sweep(
        code, address, low, high, _invalid()
    )
    return references


@cache
def _invalid() -> bytes:
    """By first byte, the length of an invalid instruction, if it is invalid whatever follows; else 0. Data in code is
    full of them."""
    found = bytearray(256)
    for byte in range(256):
        samples = [Decoder(64, bytes([byte, *[other] * MAX_LENGTH])).decode() for other in (0, 4, 0x84, 0xC0, 0xFF)]
        # If it is longer, bytes after the second one decide.
        if all(native.is_invalid and native.len == 2 for native in samples):
            found[byte] = 2
    return bytes(found)


def _reference(native: Any) -> tuple[int, int]:
    """(kind, target) of a call or jump, else (0, 0): the length decoder itself finds addresses that are taken."""
    flow = native.flow_control
    if flow == FlowControl.CALL:
        return CALLED, native.near_branch_target
    if flow in (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH):
        return JUMPED, native.near_branch_target
    return 0, 0
