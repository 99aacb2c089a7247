# cython: language_level=3, annotation_typing=False
"""Operands of iced-x86 instructions: registers as DWARF numbers, sizes, immediates."""

from iced_x86 import Instruction as Native
from iced_x86 import MemorySizeExt, Mnemonic, OpKind, Register, RegisterExt

from undwarf.disasm.instruction import NONE, as_signed
from undwarf.disasm.instruction_semantics import Action

__all__ = [
    "IMMEDIATES", "NUMBER", "RAX", "RBP", "RBX", "RCX", "RDI", "RDX", "RIP", "RSI", "RSP", "SHIFTS", "VECTORS",
    "VECTOR_MOVES", "WIDTH", "XMM0", "element_size", "immediate_at", "register_at", "size_of",
]  # fmt: skip  # a table

RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP = range(8)
RIP = 16
XMM0 = 17
VECTORS = frozenset(range(17, 33)) | frozenset(range(67, 83))
_LEGACY = (
    Register.RAX,
    Register.RDX,
    Register.RCX,
    Register.RBX,
    Register.RSI,
    Register.RDI,
    Register.RBP,
    Register.RSP,
)


def _numbers() -> tuple[list[int], list[int]]:
    """(DWARF numbers, sizes in bytes) by iced-x86 register."""
    number = [NONE] * 300
    width = [0] * 300
    full: dict[int, int] = {register: i for i, register in enumerate(_LEGACY)}
    full.update({Register.R8 + i: 8 + i for i in range(8)})
    full[Register.RIP] = RIP
    for i in range(32):
        full[Register.ZMM0 + i] = XMM0 + i if i < 16 else 67 + i - 16
    for register in range(1, 256):
        try:
            whole = RegisterExt.full_register(register)  # type: ignore[arg-type]  # an int, as at run time
            width[register] = RegisterExt.size(register)  # type: ignore[arg-type]  # an int, as at run time
        except ValueError:
            break
        number[register] = full.get(whole, NONE)
    return number, width


NUMBER, WIDTH = _numbers()
"""DWARF number and size in bytes, by iced-x86 register."""
IMMEDIATES = frozenset(
    kind
    for kind in (
        OpKind.IMMEDIATE8,
        OpKind.IMMEDIATE16,
        OpKind.IMMEDIATE32,
        OpKind.IMMEDIATE64,
        OpKind.IMMEDIATE8TO16,
        OpKind.IMMEDIATE8TO32,
        OpKind.IMMEDIATE8TO64,
        OpKind.IMMEDIATE32TO64,
    )
)
SHIFTS: dict[int, Action] = {
    Mnemonic.SHL: Action.SHIFT_LEFT,
    Mnemonic.SAL: Action.SHIFT_LEFT,
    Mnemonic.SHR: Action.SHIFT_RIGHT,
    Mnemonic.SAR: Action.SHIFT_RIGHT,
}
VECTOR_MOVES = frozenset(
    (
        *(Mnemonic.MOVAPS, Mnemonic.MOVUPS, Mnemonic.MOVAPD, Mnemonic.MOVUPD, Mnemonic.MOVDQA, Mnemonic.MOVDQU),
        *(Mnemonic.VMOVAPS, Mnemonic.VMOVUPS, Mnemonic.VMOVAPD, Mnemonic.VMOVUPD, Mnemonic.VMOVDQA, Mnemonic.VMOVDQU),
    )
)
_SIZES: dict[int, int] = {}
_ELEMENTS: dict[int, int] = {}


def size_of(kind: int) -> int:
    """The size in bytes of an iced-x86 memory size."""
    size = _SIZES.get(kind)
    if size is None:
        size = _SIZES[kind] = MemorySizeExt.size(kind)  # type: ignore[arg-type]  # an int, as at run time
        _ELEMENTS[kind] = MemorySizeExt.element_size(kind) or size  # type: ignore[arg-type]  # an int, as at run time
    return size


def element_size(kind: int) -> int:
    """The size in bytes of an element of a memory size; 0 unless :func:`size_of` was called for it."""
    return _ELEMENTS.get(kind, 0)


def immediate_at(native: Native, operand: int) -> int:
    """The signed immediate of an operand."""
    return as_signed(native.immediate(operand))


def register_at(native: Native, operand: int) -> int:
    """The DWARF number of a register operand; NONE for other operands."""
    return NUMBER[native.op_register(operand)] if native.op_kind(operand) == OpKind.REGISTER else NONE
