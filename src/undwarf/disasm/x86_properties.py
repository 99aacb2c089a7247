# cython: language_level=3, annotation_typing=False
"""What else can be told of an x86-64 instruction: the sign and the width of numbers, what is done with them."""

from iced_x86 import ConditionCode, Mnemonic, OpKind, Register
from iced_x86 import Instruction as Native

from undwarf.disasm.flows import Flow
from undwarf.disasm.model import NONE, Instruction
from undwarf.disasm.x86_operands import IMMEDIATES, NUMBER, SHIFTS, VECTOR_MOVES, WIDTH, immediate_at, size_of

__all__ = [
    "bytes_read",
    "calculates",
    "calculates_points",
    "compares",
    "condition_in",
    "copies_vector",
    "differs",
    "fused",
    "immediate_of",
    "keeps_bit",
    "leaves_alone",
    "leaves_flags",
    "makes_int",
    "moves_part",
    "moves_vector",
    "multiplies",
    "shifts_by",
    "signedness",
    "turned_around",
]

_BRANCH = Flow.BRANCH


_SIGNED_CONDITIONS = frozenset((ConditionCode.L, ConditionCode.GE, ConditionCode.LE, ConditionCode.G))
_UNSIGNED_CONDITIONS = frozenset((ConditionCode.B, ConditionCode.AE, ConditionCode.BE, ConditionCode.A))
_SIGN = frozenset((ConditionCode.S, ConditionCode.NS))
_INT = 4
"""Bytes of numbers whose highest bit is hardly a flag."""
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
_WITH_POINT = {
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
"""Bytes of the numbers with a point that are calculated with."""
_NUMBER_MOVES = frozenset(
    (
        *(Mnemonic.MOVSS, Mnemonic.MOVSD, Mnemonic.MOVLPS, Mnemonic.MOVLPD),
        *(Mnemonic.VMOVSS, Mnemonic.VMOVSD, Mnemonic.VMOVLPS, Mnemonic.VMOVLPD),
    )
)
_HALVES = frozenset((Mnemonic.MOVLPS, Mnemonic.MOVLPD, Mnemonic.VMOVLPS, Mnemonic.VMOVLPD))
"""They leave the upper half of the register alone, where they load."""
_SECOND_BYTES = frozenset((Register.AH, Register.BH, Register.CH, Register.DH))
_MULTIPLYING = frozenset((Mnemonic.IMUL, Mnemonic.NEG, Mnemonic.NOT))
_MASKING = frozenset((Mnemonic.AND, Mnemonic.OR, Mnemonic.XOR, Mnemonic.TEST))
_BIT_TESTS = frozenset((Mnemonic.BT, Mnemonic.BTS, Mnemonic.BTR, Mnemonic.BTC))
_FUSING = frozenset((Mnemonic.CMP, Mnemonic.TEST, Mnemonic.ADD, Mnemonic.SUB, Mnemonic.AND, Mnemonic.INC, Mnemonic.DEC))


def fused(before: Instruction, branch: Instruction) -> bool:
    """These two may be carried out as one, so that a sample of the branch is one of what stands before it.

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
    """(1 for numbers with sign, -1 for those without, 0 where nothing says; bytes of the operands).

    What an instruction takes its operands for, or a comparison by what depends on it. A comparison without sign against
    an immediate says nothing: compilers test two bounds at once that way. ``plain``: they do not with eight bytes, and
    ask for the sign of what has one.
    """
    native = made.native
    if not isinstance(native, Native) or not native.op_count:
        return 0, 0
    mnemonic = native.mnemonic
    width = _operand_width(native, 0)
    if mnemonic in _SIGNED:
        return 1, width
    if mnemonic in _UNSIGNED:
        # The sign is shifted out to divide numbers that have one.
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


def calculates_points(made: Instruction) -> int:
    """The bytes of the numbers with a point that an instruction calculates with, or compares; 0 for all else."""
    native = made.native
    return _WITH_POINT.get(native.mnemonic, 0) if isinstance(native, Native) else 0


def makes_int(made: Instruction) -> bool:
    """Whether a number with sign of four bytes is made of one with a point; larger ones stand for numbers without sign
    as well."""
    native = made.native
    to_integer = isinstance(native, Native) and native.mnemonic in _TO_INTEGERS
    return to_integer and isinstance(native, Native) and _operand_width(native, 0) == 4


def shifts_by(made: Instruction) -> int:
    """The register that says by how many bits an instruction shifts; -1 where none does."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic not in SHIFTS or native.op_count != 2:
        return NONE
    return NUMBER[native.op_register(1)] if native.op_kind(1) == OpKind.REGISTER else NONE


def _operand_width(native: Native, operand: int) -> int:
    if native.op_kind(operand) == OpKind.REGISTER:
        return WIDTH[native.op_register(operand)]
    return size_of(native.memory_size) if native.op_kind(operand) == OpKind.MEMORY else 0


def moves_vector(made: Instruction) -> int:
    """The vector register that is loaded as it is in memory, or stored, its lowest number alone or all of it; -1 for
    all else."""
    native = made.native
    if not isinstance(native, Native) or native.op_count != 2:
        return NONE
    if native.mnemonic not in VECTOR_MOVES and native.mnemonic not in _NUMBER_MOVES:
        return NONE
    if native.mnemonic in _HALVES and native.op_kind(0) == OpKind.REGISTER:
        return NONE
    for operand in range(2):
        if native.op_kind(operand) == OpKind.REGISTER and native.op_kind(1 - operand) == OpKind.MEMORY:
            return NUMBER[native.op_register(operand)]
    return NONE


def copies_vector(made: Instruction) -> tuple[int, int]:
    """(the vector register that becomes a copy of another one, that other one); NONE for all else."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic not in VECTOR_MOVES or native.op_count != 2:
        return NONE, NONE
    if native.op_kind(0) != OpKind.REGISTER or native.op_kind(1) != OpKind.REGISTER:
        return NONE, NONE
    return NUMBER[native.op_register(0)], NUMBER[native.op_register(1)]


def moves_part(made: Instruction) -> tuple[int, int, int]:
    """(the register whose lowest byte or two are set to what is elsewhere, the register where that is, how many bytes);
    NONE for the first where nothing of the kind is done, for the second where it is in memory."""
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


def keeps_bit(made: Instruction) -> int:
    """The register of whose lowest byte only the lowest bit is kept; NONE for all else."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic != Mnemonic.AND or native.op_kind(0) != OpKind.REGISTER:
        return NONE
    register = native.op_register(0)
    one = WIDTH[register] == 1 and native.op_kind(1) in IMMEDIATES and native.immediate(1) == 1
    return NUMBER[register] if one and register not in _SECOND_BYTES else NONE


def leaves_flags(made: Instruction) -> bool:
    """Whether an instruction is a move, so that what was compared before it is known behind it."""
    native = made.native
    return isinstance(native, Native) and native.mnemonic == Mnemonic.MOV


def leaves_alone(made: Instruction) -> bool:
    """Whether what an instruction reads from memory is what it writes back there."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic not in (Mnemonic.OR, Mnemonic.ADD) or native.op_count != 2:
        return False
    return native.op_kind(0) == OpKind.MEMORY and native.op_kind(1) in IMMEDIATES and not native.immediate(1)


def condition_in(made: Instruction) -> int:
    """The register of which the lowest byte becomes 1 if a condition is true, else 0; NONE for all else."""
    native = made.native
    if not isinstance(native, Native) or native.op_count != 1 or native.op_kind(0) != OpKind.REGISTER:
        return NONE
    return NUMBER[native.op_register(0)] if native.condition_code != ConditionCode.NONE else NONE


def turned_around(made: Instruction) -> tuple[int, int]:
    """(the register in which the bytes of a number change their order, how many there are); NONE for all else."""
    native = made.native
    if not isinstance(native, Native) or not native.op_count or native.op_kind(0) != OpKind.REGISTER:
        return NONE, 0
    into = native.op_register(0)
    half = native.mnemonic in (Mnemonic.ROL, Mnemonic.ROR) and WIDTH[into] == 2 and native.op_kind(1) in IMMEDIATES
    if native.mnemonic == Mnemonic.BSWAP or (half and native.immediate(1) == 8):
        return NUMBER[into], WIDTH[into]
    return NONE, 0


def bytes_read(made: Instruction, register: int) -> int:
    """How many bytes of a register an instruction reads as an operand; 0 where it is none."""
    native = made.native
    if not isinstance(native, Native):
        return 0
    named = [native.op_register(k) for k in range(native.op_count) if native.op_kind(k) == OpKind.REGISTER]
    return max((WIDTH[one] for one in named if NUMBER[one] == register), default=0)


def immediate_of(made: Instruction) -> int | None:
    """The number an instruction ends with."""
    native = made.native
    last = native.op_count - 1 if isinstance(native, Native) else -1
    if not isinstance(native, Native) or last < 0 or native.op_kind(last) not in IMMEDIATES:
        return None
    return immediate_at(native, last)


def bits_of(made: Instruction) -> int:
    """The bits of its memory operand that an instruction with an immediate asks for or changes; 0 where that is not
    known of single ones."""
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


def multiplies(made: Instruction) -> int:
    """How many bytes of a product an instruction keeps that is as wide as its factors; 0 for others."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic != Mnemonic.IMUL or native.op_count < 2:
        return 0
    return WIDTH[native.op_register(0)]


def compares(made: Instruction) -> bool:
    """Two numbers are compared."""
    return isinstance(made.native, Native) and made.native.mnemonic == Mnemonic.CMP


def differs(made: Instruction) -> bool:
    """The bits in which two numbers differ are kept, as where several comparisons are made one."""
    return isinstance(made.native, Native) and made.native.mnemonic == Mnemonic.XOR


def calculates(made: Instruction) -> int:
    """1 where two numbers of one size become a third as addresses may too, a sum or a difference or by a mask; 2 where
    they are no addresses; 0 for all else."""
    native = made.native
    if not isinstance(native, Native):
        return 0
    mnemonic = native.mnemonic
    return 1 if mnemonic in _CALCULATING else 2 if mnemonic in _MULTIPLYING else 0
