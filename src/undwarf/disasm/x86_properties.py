# cython: language_level=3, annotation_typing=False
"""Properties of x86-64 instructions beyond their action: signedness and width of integers, kinds of arithmetic."""

from iced_x86 import ConditionCode, Mnemonic, OpKind, Register
from iced_x86 import Instruction as Native

from undwarf.disasm.flow_control import Flow
from undwarf.disasm.instruction import NONE, Instruction
from undwarf.disasm.x86_operands import IMMEDIATES, NUMBER, SHIFTS, VECTOR_MOVES, WIDTH, immediate_at, size_of

__all__ = [
    "arithmetic_kind",
    "byte_swap",
    "bytes_read",
    "compares",
    "converts_to_int",
    "copies_vector",
    "float_operand_size",
    "fused",
    "immediate_of",
    "is_xor",
    "leaves_memory_unchanged",
    "masks_low_bit",
    "moves_vector",
    "preserves_flags",
    "product_size",
    "sets_condition",
    "shifts_by",
    "signedness",
    "writes_low_bytes",
]

_BRANCH = Flow.BRANCH


_SIGNED_CONDITIONS = frozenset((ConditionCode.L, ConditionCode.GE, ConditionCode.LE, ConditionCode.G))
_UNSIGNED_CONDITIONS = frozenset((ConditionCode.B, ConditionCode.AE, ConditionCode.BE, ConditionCode.A))
_SIGN = frozenset((ConditionCode.S, ConditionCode.NS))
_INT = 4
"""Size of int: in narrower operands a test of the sign bit may be a test of a flag."""
_SIGNED = frozenset((Mnemonic.SAR, Mnemonic.IDIV))
_UNSIGNED = frozenset((Mnemonic.SHR, Mnemonic.DIV, Mnemonic.MUL))
_FROM_INTEGERS = frozenset((Mnemonic.CVTSI2SD, Mnemonic.CVTSI2SS, Mnemonic.VCVTSI2SD, Mnemonic.VCVTSI2SS))
_TO_INTEGERS = frozenset(
    (
        *(Mnemonic.CVTTSD2SI, Mnemonic.CVTTSS2SI, Mnemonic.CVTSD2SI, Mnemonic.CVTSS2SI),
        *(Mnemonic.VCVTTSD2SI, Mnemonic.VCVTTSS2SI, Mnemonic.VCVTSD2SI, Mnemonic.VCVTSS2SI),
    )
)
_CALCULATING = frozenset((Mnemonic.ADD, Mnemonic.SUB, Mnemonic.AND, Mnemonic.OR, Mnemonic.XOR))
_FLOAT_SIZES = {
    **{
        getattr(Mnemonic, prefix + name + suffix): size
        for prefix in ("", "V")
        for name in ("ADD", "SUB", "MUL", "DIV", "SQRT", "MAX", "MIN")
        for suffix, size in (("SS", 4), ("PS", 4), ("SD", 8), ("PD", 8))
    },
    **{
        getattr(Mnemonic, prefix + name): size
        for prefix in ("", "V")
        for name, size in (
            *(("UCOMISS", 4), ("COMISS", 4), ("CVTSS2SD", 4), ("CVTTSS2SI", 4)),
            *(("UCOMISD", 8), ("COMISD", 8), ("CVTSD2SS", 8), ("CVTTSD2SI", 8)),
        )
    },
}
"""Size in bytes of the floating-point operands."""
_SCALAR_MOVES = frozenset(
    (
        *(Mnemonic.MOVSS, Mnemonic.MOVSD, Mnemonic.MOVLPS, Mnemonic.MOVLPD),
        *(Mnemonic.VMOVSS, Mnemonic.VMOVSD, Mnemonic.VMOVLPS, Mnemonic.VMOVLPD),
    )
)
_HALVES = frozenset((Mnemonic.MOVLPS, Mnemonic.MOVLPD, Mnemonic.VMOVLPS, Mnemonic.VMOVLPD))
"""As loads they keep the upper half of the register."""
_SECOND_BYTES = frozenset((Register.AH, Register.BH, Register.CH, Register.DH))
_MULTIPLYING = frozenset((Mnemonic.IMUL, Mnemonic.NEG, Mnemonic.NOT))
_MASKING = frozenset((Mnemonic.AND, Mnemonic.OR, Mnemonic.XOR, Mnemonic.TEST))
_BIT_TESTS = frozenset((Mnemonic.BT, Mnemonic.BTS, Mnemonic.BTR, Mnemonic.BTC))
_FUSING = frozenset((Mnemonic.CMP, Mnemonic.TEST, Mnemonic.ADD, Mnemonic.SUB, Mnemonic.AND, Mnemonic.INC, Mnemonic.DEC))


def fused(before: Instruction, branch: Instruction) -> bool:
    """Whether these two may be macro-fused, so that a sample of the branch may be one of the instruction before it.

    Intel's and AMD's optimization manuals: a compare or simple arithmetic followed by a conditional jump; not with an
    immediate and an address relative to the instruction pointer.
    """
    if branch.flow != _BRANCH or before.next_address != branch.address:
        return False
    native = before.native
    if not isinstance(native, Native) or native.mnemonic not in _FUSING:
        return False
    immediate = any(native.op_kind(k) in IMMEDIATES for k in range(native.op_count))
    if immediate and any(native.op_kind(k) == OpKind.MEMORY for k in range(native.op_count)):
        return not native.is_ip_rel_memory_operand
    return True


def signedness(made: Instruction, after: Instruction | None, *, plain: bool = False) -> tuple[int, int]:
    """(1 signed, -1 unsigned, 0 unknown; size of the operands in bytes).

    Known from the instruction itself, or for a comparison from the condition that uses it (``after``). An unsigned
    comparison with an immediate is no evidence: compilers test two bounds of a signed integer at once that way.
    ``plain`` (code that is not optimised): they do not for eight bytes, and test the sign only of signed integers.
    """
    native = made.native
    if not isinstance(native, Native) or not native.op_count:
        return 0, 0
    mnemonic = native.mnemonic
    width = _operand_width(native, 0)
    if mnemonic in _SIGNED:
        return 1, width
    if mnemonic in _UNSIGNED:
        # Compilers shift the sign bit down to divide signed integers.
        sign = mnemonic == Mnemonic.SHR and native.op_kind(1) in IMMEDIATES and native.immediate(1) == 8 * width - 1
        return 0 if sign else -1, width
    if mnemonic in _FROM_INTEGERS:
        return 1, _operand_width(native, native.op_count - 1)
    if mnemonic not in (Mnemonic.CMP, Mnemonic.TEST) or after is None:
        return 0, width
    condition = after.native.condition_code if isinstance(after.native, Native) else ConditionCode.NONE
    if condition in _SIGNED_CONDITIONS:
        return 1, width
    if plain and condition in _SIGN and width >= _INT:
        return 1, width
    exact = native.op_kind(1) not in IMMEDIATES or (plain and width == 8)
    if mnemonic == Mnemonic.CMP and condition in _UNSIGNED_CONDITIONS and exact:
        return -1, width
    return 0, width


def float_operand_size(made: Instruction) -> int:
    """Size in bytes of the floating-point operands of an arithmetic instruction or comparison; 0 for all others."""
    native = made.native
    return _FLOAT_SIZES.get(native.mnemonic, 0) if isinstance(native, Native) else 0


def converts_to_int(made: Instruction) -> bool:
    """Whether an instruction converts floating-point to a 4-byte signed integer. (With 8 bytes the source may be an
    unsigned type: compilers convert those to a larger signed one.)"""
    native = made.native
    to_integer = isinstance(native, Native) and native.mnemonic in _TO_INTEGERS
    return to_integer and isinstance(native, Native) and _operand_width(native, 0) == 4


def shifts_by(made: Instruction) -> int:
    """The register of a shift count; NONE if there is none."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic not in SHIFTS or native.op_count != 2:
        return NONE
    return NUMBER[native.op_register(1)] if native.op_kind(1) == OpKind.REGISTER else NONE


def _operand_width(native: Native, operand: int) -> int:
    if native.op_kind(operand) == OpKind.REGISTER:
        return WIDTH[native.op_register(operand)]
    return size_of(native.memory_size) if native.op_kind(operand) == OpKind.MEMORY else 0


def moves_vector(made: Instruction) -> int:
    """The vector register that is loaded or stored, as a scalar or as a whole; NONE for all other instructions."""
    native = made.native
    if not isinstance(native, Native) or native.op_count != 2:
        return NONE
    if native.mnemonic not in VECTOR_MOVES and native.mnemonic not in _SCALAR_MOVES:
        return NONE
    if native.mnemonic in _HALVES and native.op_kind(0) == OpKind.REGISTER:
        return NONE
    for operand in range(2):
        if native.op_kind(operand) == OpKind.REGISTER and native.op_kind(1 - operand) == OpKind.MEMORY:
            return NUMBER[native.op_register(operand)]
    return NONE


def copies_vector(made: Instruction) -> tuple[int, int]:
    """(destination, source) of a copy between vector registers; NONE for all other instructions."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic not in VECTOR_MOVES or native.op_count != 2:
        return NONE, NONE
    if native.op_kind(0) != OpKind.REGISTER or native.op_kind(1) != OpKind.REGISTER:
        return NONE, NONE
    return NUMBER[native.op_register(0)], NUMBER[native.op_register(1)]


def writes_low_bytes(made: Instruction) -> tuple[int, int, int]:
    """(destination, source, size) of a move to the lowest byte or two of a register; the source is NONE if it is in
    memory, the destination is NONE for all other instructions."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic != Mnemonic.MOV or native.op_kind(0) != OpKind.REGISTER:
        return NONE, NONE, 0
    register = native.op_register(0)
    if WIDTH[register] >= _INT or register in _SECOND_BYTES:
        return NONE, NONE, 0
    if native.op_kind(1) == OpKind.MEMORY:
        return NUMBER[register], NONE, WIDTH[register]
    source = native.op_register(1) if native.op_kind(1) == OpKind.REGISTER else Register.NONE
    if source == Register.NONE or source in _SECOND_BYTES:
        return NONE, NONE, 0
    return NUMBER[register], NUMBER[source], WIDTH[register]


def masks_low_bit(made: Instruction) -> int:
    """The register whose lowest byte is masked with 1; NONE for all other instructions."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic != Mnemonic.AND or native.op_kind(0) != OpKind.REGISTER:
        return NONE
    register = native.op_register(0)
    one = WIDTH[register] == 1 and native.op_kind(1) in IMMEDIATES and native.immediate(1) == 1
    return NUMBER[register] if one and register not in _SECOND_BYTES else NONE


def preserves_flags(made: Instruction) -> bool:
    """Whether an instruction is a move, which does not change the flags of an earlier comparison."""
    native = made.native
    return isinstance(native, Native) and native.mnemonic == Mnemonic.MOV


def leaves_memory_unchanged(made: Instruction) -> bool:
    """Whether an instruction writes back to memory what it reads there, as `orl $0, (%rsp)` does to probe the stack."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic not in (Mnemonic.OR, Mnemonic.ADD) or native.op_count != 2:
        return False
    return native.op_kind(0) == OpKind.MEMORY and native.op_kind(1) in IMMEDIATES and not native.immediate(1)


def sets_condition(made: Instruction) -> int:
    """The register whose lowest byte is set to a condition (setcc); NONE for all other instructions."""
    native = made.native
    if not isinstance(native, Native) or native.op_count != 1 or native.op_kind(0) != OpKind.REGISTER:
        return NONE
    return NUMBER[native.op_register(0)] if native.condition_code != ConditionCode.NONE else NONE


def byte_swap(made: Instruction) -> tuple[int, int]:
    """(register, size) of a byte swap; NONE for all other instructions."""
    native = made.native
    if not isinstance(native, Native) or not native.op_count or native.op_kind(0) != OpKind.REGISTER:
        return NONE, 0
    into = native.op_register(0)
    half = native.mnemonic in (Mnemonic.ROL, Mnemonic.ROR) and WIDTH[into] == 2 and native.op_kind(1) in IMMEDIATES
    if native.mnemonic == Mnemonic.BSWAP or (half and native.immediate(1) == 8):
        return NUMBER[into], WIDTH[into]
    return NONE, 0


def bytes_read(made: Instruction, register: int) -> int:
    """Size in bytes of a register as an operand of an instruction; 0 if it is none."""
    native = made.native
    if not isinstance(native, Native):
        return 0
    named = [native.op_register(k) for k in range(native.op_count) if native.op_kind(k) == OpKind.REGISTER]
    return max((WIDTH[one] for one in named if NUMBER[one] == register), default=0)


def immediate_of(made: Instruction) -> int | None:
    """The immediate that is the last operand, if it is one."""
    native = made.native
    last = native.op_count - 1 if isinstance(native, Native) else -1
    if not isinstance(native, Native) or last < 0 or native.op_kind(last) not in IMMEDIATES:
        return None
    return immediate_at(native, last)


def tested_bits(made: Instruction) -> int:
    """Mask of the bits of the memory operand that an instruction with an immediate tests or changes; 0 if unknown."""
    native = made.native
    if not isinstance(native, Native) or native.op_count != 2 or native.op_kind(0) != OpKind.MEMORY:
        return 0
    width = 8 * size_of(native.memory_size)
    if native.op_kind(1) not in IMMEDIATES or not width:
        return 0
    immediate, mnemonic = immediate_at(native, 1), native.mnemonic
    if mnemonic in _BIT_TESTS:
        return 1 << immediate % width
    if mnemonic not in _MASKING:
        return 0
    return (~immediate if mnemonic == Mnemonic.AND else immediate) & ((1 << width) - 1)


def product_size(made: Instruction) -> int:
    """Size in bytes of the result of a multiplication that is as wide as its factors; 0 for all other instructions."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic != Mnemonic.IMUL or native.op_count < 2:
        return 0
    return WIDTH[native.op_register(0)]


def compares(made: Instruction) -> bool:
    """Whether an instruction is CMP."""
    return isinstance(made.native, Native) and made.native.mnemonic == Mnemonic.CMP


def is_xor(made: Instruction) -> bool:
    """Whether an instruction is XOR, by which compilers also merge several comparisons for equality."""
    return isinstance(made.native, Native) and made.native.mnemonic == Mnemonic.XOR


def arithmetic_kind(made: Instruction) -> int:
    """1 for integer arithmetic whose operands may be addresses (sums, differences, masks), 2 for arithmetic on integers
    only, 0 for all other instructions."""
    native = made.native
    if not isinstance(native, Native):
        return 0
    mnemonic = native.mnemonic
    return 1 if mnemonic in _CALCULATING else 2 if mnemonic in _MULTIPLYING else 0
