"""Machine code as instructions with operands, one module a machine; a decoder is loaded when it is first asked for."""

from undwarf.disasm.actions import Action
from undwarf.disasm.flows import Flow
from undwarf.disasm.machine import Decoder, Machine
from undwarf.disasm.model import NONE, Instruction, Memory

__all__ = ["NONE", "Action", "Decoder", "Flow", "Instruction", "Machine", "Memory", "machine_of"]

_X86_64, _AARCH64 = 62, 183


def machine_of(number: int) -> Machine | None:
    """The machine of an ELF header's number; None for one whose code is not decoded here."""
    if number == _X86_64:
        from undwarf.disasm import x86_64

        return x86_64.MACHINE
    if number == _AARCH64:
        from undwarf.disasm import aarch64

        return aarch64.MACHINE
    return None
