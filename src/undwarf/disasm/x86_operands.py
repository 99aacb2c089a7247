# cython: language_level=3, annotation_typing=False
"""Operands of x86-64 instructions as the decoder gives them: registers by their DWARF numbers, sizes, numbers."""

from iced_x86 import Instruction as Native
from iced_x86 import MemorySizeExt, Mnemonic, OpKind, Register, RegisterExt

from undwarf.disasm.actions import Action
from undwarf.disasm.model import NONE

__all__ = [
    "IMMEDIATES", "NUMBER", "RAX", "RBP", "RBX", "RCX", "RDI", "RDX", "RIP", "RSI", "RSP", "SHIFTS", "VECTORS",
    "VECTOR_MOVES", "WIDTH", "XMM0", "as_signed", "element_size", "immediate_at", "register_at", "size_of",
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
    """(DWARF number, bytes) of each of the decoder's registers."""
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
"""The DWARF number and the bytes of each of the decoder's registers."""
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


def as_signed(value: int) -> int:
    """A number of 64 bits, taken for one with sign."""
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


def size_of(kind: int) -> int:
    """The bytes of one of the decoder's kinds of memory operands."""
    size = _SIZES.get(kind)
    if size is None:
        size = _SIZES[kind] = MemorySizeExt.size(kind)  # type: ignore[arg-type]  # an int, as at run time
        _ELEMENTS[kind] = MemorySizeExt.element_size(kind) or size  # type: ignore[arg-type]  # an int, as at run time
    return size


def element_size(kind: int) -> int:
    """The bytes of each element of a memory operand; 0 for kinds that :func:`size_of` was not asked for."""
    return _ELEMENTS.get(kind, 0)


def immediate_at(native: Native, operand: int) -> int:
    """The number that an operand is."""
    return as_signed(native.immediate(operand))


def register_at(native: Native, operand: int) -> int:
    """The DWARF number of the register that an operand is; NONE where it is none."""
    return NUMBER[native.op_register(operand)] if native.op_kind(operand) == OpKind.REGISTER else NONE
