"""Disassembly: machine code as instructions with operands. Decoders are imported when first needed."""

from undwarf.disasm.flow_control import Flow
from undwarf.disasm.instruction import NONE, Instruction, Memory
from undwarf.disasm.instruction_semantics import Action
from undwarf.disasm.machine import Decoder, Machine

__all__ = ["NONE", "Action", "Decoder", "Flow", "Instruction", "Machine", "Memory", "machine_of"]

_X86_64, _AARCH64 = 62, 183


def machine_of(number: int) -> Machine | None:
    """The machine with this ELF ``e_machine``; None if there is no decoder for it."""
    if number == _X86_64:
        from undwarf.disasm import x86_64

        return x86_64.MACHINE
    if number == _AARCH64:
        from undwarf.disasm import aarch64

        return aarch64.MACHINE
    return None
