"""The x86-64 machine: its registers, decoder and calling convention."""

from undwarf.disasm.machine import Machine
from undwarf.disasm.x86_decoding import decode, starts
from undwarf.disasm.x86_listing import Lister
from undwarf.disasm.x86_operands import RAX, RBP, RCX, RDI, RDX, RSI, RSP, VECTORS

__all__ = ["MACHINE"]

_NAMES = ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{i}" for i in range(8, 16)), "rip")
MACHINE = Machine(
    "x86_64",
    decode,
    listing=Lister(),
    starts=starts,
    names=_NAMES,
    general=frozenset(range(16)),
    stack_pointer=RSP,
    frame_pointer=RBP,
    parameters=(RDI, RSI, RDX, RCX, 8, 9),
    result=RAX,
    wide_result=RDX,
    caller_saved=frozenset((RAX, RDX, RCX, RSI, RDI, 8, 9, 10, 11)) | VECTORS,
    entry_offset=-8,
    instruction_unit=1,
    upper=16,
)
