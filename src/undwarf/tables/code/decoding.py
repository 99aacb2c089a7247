"""x86-64 instructions (Intel SDM volume 2) reduced to what they do to the stack, to registers and to the flow.

An operation is a tuple ``(address, kind, a, b, c, next)``; instructions that do none of these give no operation.
Registers have their DWARF numbers, -1 where there is none.
"""

from collections.abc import Iterable
from typing import Any

from iced_x86 import (
    Code,
    ConditionCode,
    Decoder,
    FlowControl,
    InstructionInfoFactory,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
)

__all__ = ["Operation", "decode", "sweep"]

Operation = tuple[int, int, int, int, int, int]

LEADER = -1
"""A block starts here; the others follow it at the same address."""
KILL = 0
"""Register a has a new value."""
MOVE = 1
"""a = b."""
LOAD = 2
"""a = word at b + c."""
STORE = 3
"""Word at b + c = a."""
CALL = 4
"""a: the address called, 0 if not known; b: where the pointer to it lies, 0 if not known."""
BRANCH = 5
"""May go to a, else on; b: whether by a comparison of unsigned numbers."""
JUMP = 6
"""Goes to a."""
INDIRECT = 7
"""Goes to register a, or to the word at register b + c (b -1: at c), or (a -2) to a word of a table at b + c."""
PUSH = 8
"""Register a; -1 anything else."""
POP = 9
ADD = 10
"""a += c."""
ADDRESS = 11
"""a = b + c."""
CONSTANT = 12
"""a = c."""
ALIGN = 13
"""a = b, moved by nobody knows how much: rounded down, or an element of an array."""
LEAVE = 14
RETURN = 15
STOP = 16
"""Nothing comes after this instruction."""
SUM = 17
"""a = b + c, registers."""
DIFFERENCE = 18
"""a -= b."""
OFFSETS = 19
"""a = 32-bit word of a table at b + c."""
WORDS = 20
"""a = 64-bit word of a table at b + c."""
EXCHANGE = 21
COMPARE = 22
"""Registers a and b."""
LIMIT = 23
"""Something is compared with c."""
ENTER = 24
HALT = 25
"""As STOP, but what lies behind may be meant to go on."""
ELEMENT = 26
"""a = 32-bit word at b + c, registers, one of which is a table."""
EXTEND = 27
"""a = b, its lower half with sign."""
END = -2
"""The decoded code ends here."""

STACK = {PUSH, POP, LEAVE, ENTER}
"""Kinds that move the stack pointer without naming it."""

RBP = 6
RSP = 7
RIP = 16

_ORDER = ("RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15")


def _registers() -> list[int]:
    found = [-1] * 512
    full = {getattr(Register, name): i for i, name in enumerate(_ORDER)}
    for name in dir(Register):
        value = getattr(Register, name)
        if not name.startswith("_") and isinstance(value, int):
            found[value] = full.get(RegisterExt.full_register(value), -1)  # type: ignore[arg-type]
    found[Register.RIP] = RIP
    return found


REGISTER = _registers()

# What is done with an instruction, by its code.
_UNKNOWN, _NOTHING, _FIRST, _ALL = 0, 1, 2, 3
_SPECIAL = 4

_CODES: dict[str, int] = {}


def _special() -> dict[int, int]:
    names = {
        "MOV_R64_RM64": 10, "MOV_RM64_R64": 11, "LEA_R64_M": 12, "PUSH_R64": 13, "POP_R64": 14,
        "ADD_RM64_IMM8": 15, "ADD_RM64_IMM32": 15, "SUB_RM64_IMM8": 16, "SUB_RM64_IMM32": 16,
        "CALL_REL32_64": 17, "CALL_RM64": 18, "JMP_REL8_64": 19, "JMP_REL32_64": 19, "JMP_RM64": 20,
        "RETNQ": 21, "RETNQ_IMM16": 21, "AND_RM64_IMM8": 22, "AND_RM64_IMM32": 22, "LEAVEQ": 23,
        "MOVSXD_R64_RM32": 24, "ADD_R64_RM64": 25, "ADD_RM64_R64": 25, "SUB_R64_RM64": 26, "SUB_RM64_R64": 26,
        "MOV_R64_IMM64": 27, "MOV_R32_IMM32": 27, "MOV_RM64_IMM32": 27, "MOV_RM32_IMM32": 27,
        "PUSHQ_IMM8": 28, "PUSHQ_IMM32": 28, "PUSH_RM64": 28, "PUSHFQ": 28, "PUSHQ_FS": 28, "PUSHQ_GS": 28,
        "POP_RM64": 29, "POPFQ": 29, "POPQ_FS": 29, "POPQ_GS": 29, "XCHG_RM64_R64": 30, "XCHG_R64_RAX": 30,
        "CMP_RM64_R64": 31, "CMP_R64_RM64": 31,
        "CMP_RM64_IMM8": 32, "CMP_RM64_IMM32": 32, "CMP_RM32_IMM8": 32, "CMP_EAX_IMM32": 32, "CMP_RM32_IMM32": 32,
        "CMP_RM8_IMM8": 32, "CMP_AL_IMM8": 32, "CMP_RM16_IMM8": 32, "CMP_RM16_IMM16": 32, "CMP_RAX_IMM32": 32,
        "CMP_AX_IMM16": 32, "ENTERQ_IMM16_IMM8": 33, "HLT": 36, "UD2": 34, "INT3": 34, "INVALID": 34,
        "UD1_R32_RM32": 34, "UD1_R64_RM64": 34, "SUB_RAX_IMM32": 16, "ADD_RAX_IMM32": 15,
        "MOV_R32_RM32": 37, "CDQE": 38, "XOR_R32_RM32": 35, "XOR_RM32_R32": 35,
    }  # fmt: skip
    return {getattr(Code, name): kind for name, kind in names.items()}


_TODO = [_UNKNOWN] * 8192
for _code, _kind in _special().items():
    _TODO[_code] = _kind

_INFORMATION = InstructionInfoFactory()
_WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_CONDITIONAL = {FlowControl.CONDITIONAL_BRANCH, FlowControl.XBEGIN_XABORT_XEND}
_ENDING = {FlowControl.RETURN, FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH}
_UNSIGNED = {ConditionCode.A, ConditionCode.AE, ConditionCode.B, ConditionCode.BE}
_SURPRISING = {
    Mnemonic.CMPXCHG, Mnemonic.CMPXCHG8B, Mnemonic.CMPXCHG16B, Mnemonic.XCHG, Mnemonic.XADD, Mnemonic.MULX,
    Mnemonic.MUL, Mnemonic.IMUL, Mnemonic.DIV, Mnemonic.IDIV,
}  # fmt: skip


def _written(instruction: Any) -> list[int]:
    """The general registers an instruction writes."""
    return sorted(
        {
            REGISTER[one.register]
            for one in _INFORMATION.info(instruction).used_registers()
            if one.access in _WRITES and 0 <= REGISTER[one.register] < 16
        }
    )


def _classify(instruction: Any) -> int:
    """What is to be done with all instructions of this code."""
    flow = instruction.flow_control
    if flow in _CONDITIONAL:
        kind = 40
    elif flow in _ENDING:
        kind = 34
    elif flow == FlowControl.CALL or flow == FlowControl.INDIRECT_CALL:
        kind = 41
    else:
        first = instruction.op0_register
        written = _written(instruction)
        if instruction.mnemonic in _SURPRISING or any(one != REGISTER[first] for one in written):
            kind = _ALL
        elif instruction.op_count and _INFORMATION.info(instruction).op0_access in _WRITES:
            vector = instruction.op0_kind == OpKind.REGISTER and REGISTER[first] < 0
            kind = _NOTHING if vector else _FIRST
        else:
            kind = _NOTHING
    _TODO[instruction.code] = kind
    return kind


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def decode(code: bytes, address: int) -> tuple[list[Operation], int]:
    """The operations of a stretch of code, and how many instructions it has."""
    found: list[Operation] = []
    add = found.append
    todo = _TODO
    register = REGISTER
    count = 0
    for one in Decoder(64, code, ip=address):
        count += 1
        kind = todo[one.code] or _classify(one)
        if kind == _NOTHING:
            continue
        at = one.ip
        if kind == _FIRST:
            a = register[one.op0_register]
            if a >= 0:
                add((at, KILL, a, 0, 0, at + one.len))
            continue
        behind = at + one.len
        if kind == 40:
            add((at, BRANCH, one.near_branch_target, one.condition_code in _UNSIGNED, 0, behind))
        elif kind == 10 or kind == 11:
            a = register[one.op0_register]
            b = register[one.op1_register]
            if a >= 0 and b >= 0:
                add((at, MOVE, a, b, 0, behind))
            elif b >= 0:
                base = register[one.memory_base]
                if 0 <= base < 16 and not one.memory_index:
                    add((at, STORE, b, base, _signed(one.memory_displacement), behind))
            elif a >= 0:
                base = register[one.memory_base]
                if one.memory_index:
                    if one.memory_index_scale == 8:
                        add((at, WORDS, a, base, one.memory_displacement, behind))
                    else:
                        add((at, KILL, a, 0, 0, behind))
                elif 0 <= base < 16:
                    add((at, LOAD, a, base, _signed(one.memory_displacement), behind))
                else:
                    add((at, KILL, a, 0, 0, behind))
        elif kind == 17:
            add((at, CALL, one.near_branch_target, 0, 0, behind))
        elif kind == 12:
            a = register[one.op0_register]
            base = register[one.memory_base]
            if one.memory_index or base < 0:
                index = register[one.memory_index]
                if base >= 0 and 0 <= index < 16 and one.memory_index_scale == 1 and not one.memory_displacement:
                    add((at, SUM, a, base, index, behind))
                elif 0 <= base < 16:
                    add((at, ALIGN, a, base, 0, behind))
                else:
                    add((at, KILL, a, 0, 0, behind))
            elif base == RIP:
                add((at, CONSTANT, a, 0, one.memory_displacement, behind))
            else:
                add((at, ADDRESS, a, base, _signed(one.memory_displacement), behind))
        elif kind == 13:
            add((at, PUSH, register[one.op0_register], 0, 0, behind))
        elif kind == 14:
            add((at, POP, register[one.op0_register], 0, 0, behind))
        elif kind == 15 or kind == 16:
            a = register[one.op0_register]
            if a >= 0:
                c = _signed(one.immediate(1))
                add((at, ADD, a, 0, c if kind == 15 else -c, behind))
        elif kind == 19:
            add((at, JUMP, one.near_branch_target, 0, 0, behind))
        elif kind == 21:
            add((at, RETURN, 0, 0, 0, behind))
        elif kind == 32:
            add((at, LIMIT, 0, 0, one.immediate(1), behind))
        elif kind == 18:
            b = one.memory_displacement if register[one.memory_base] == RIP else 0
            add((at, CALL, 0, b, 0, behind))
        elif kind == 20:
            a = register[one.op0_register]
            if a >= 0:
                add((at, INDIRECT, a, 0, 0, behind))
            else:
                base = register[one.memory_base]
                a = -2 if one.memory_index and one.memory_index_scale == 8 else -1
                add((at, INDIRECT, a, -1 if base == RIP else base, one.memory_displacement, behind))
        elif kind == 35:
            a = register[one.op0_register]
            if a >= 0:
                if a == register[one.op1_register]:
                    add((at, CONSTANT, a, 0, 0, behind))
                else:
                    add((at, KILL, a, 0, 0, behind))
        elif kind == 24:
            a = register[one.op0_register]
            base = register[one.memory_base]
            source = register[one.op1_register]
            if one.memory_index and one.memory_index_scale == 4:
                add((at, OFFSETS, a, base, one.memory_displacement, behind))
            elif source >= 0:
                add((at, EXTEND, a, source, 0, behind))
            else:
                add((at, KILL, a, 0, 0, behind))
        elif kind == 37:
            a = register[one.op0_register]
            base = register[one.memory_base]
            index = register[one.memory_index]
            if a >= 0 and base >= 0 and index >= 0 and one.memory_index_scale == 4:
                add((at, OFFSETS, a, base, one.memory_displacement, behind))
            elif a >= 0 and base >= 0 and index >= 0 and one.memory_index_scale == 1 and not one.memory_displacement:
                add((at, ELEMENT, a, base, index, behind))
            elif a >= 0:
                add((at, KILL, a, 0, 0, behind))
        elif kind == 38:
            add((at, EXTEND, 0, 0, 0, behind))
        elif kind == 25 or kind == 26:
            a = register[one.op0_register]
            b = register[one.op1_register]
            if a >= 0 and b >= 0:
                add((at, SUM, a, a, b, behind) if kind == 25 else (at, DIFFERENCE, a, b, 0, behind))
            elif a >= 0:
                add((at, KILL, a, 0, 0, behind))
        elif kind == 27:
            a = register[one.op0_register]
            if a >= 0:
                add((at, CONSTANT, a, 0, one.immediate(1) & 0xFFFFFFFFFFFFFFFF, behind))
        elif kind == 28:
            add((at, PUSH, -1, 0, 0, behind))
        elif kind == 29:
            add((at, POP, -1, 0, 0, behind))
        elif kind == 22:
            a = register[one.op0_register]
            if a >= 0:
                add((at, ALIGN, a, a, 0, behind) if _signed(one.immediate(1)) < 0 else (at, KILL, a, 0, 0, behind))
        elif kind == 23:
            add((at, LEAVE, 0, 0, 0, behind))
        elif kind == 30:
            a = register[one.op0_register]
            b = register[one.op1_register]
            if a >= 0 and b >= 0:
                add((at, EXCHANGE, a, b, 0, behind))
            else:
                add((at, KILL, max(a, b), 0, 0, behind))
        elif kind == 31:
            a = register[one.op0_register]
            b = register[one.op1_register]
            if a == RSP or b == RSP:
                add((at, COMPARE, a, b, 0, behind))
        elif kind == 33:
            add((at, ENTER, 0, 0, one.immediate(0) if one.immediate(1) == 0 else -1, behind))
        elif kind == 34:
            add((at, STOP, 0, 0, 0, behind))
        elif kind == 36:
            add((at, HALT, 0, 0, 0, behind))
        elif kind == 41:
            add((at, CALL, 0, 0, 0, behind))
        else:
            for a in _written(one):
                add((at, KILL, a, 0, 0, behind))
    return found, count


_CHANGED = {
    KILL, MOVE, LOAD, POP, ADD, ADDRESS, CONSTANT, ALIGN, SUM, DIFFERENCE, OFFSETS, WORDS, EXCHANGE, LEAVE,
    ELEMENT, EXTEND,
}  # fmt: skip


def changed(operations: Iterable[Operation]) -> set[int] | None:
    """The registers that a stretch of code changes; None where it leads to other code."""
    found: set[int] = set()
    for _, kind, a, b, _, _ in operations:
        if kind in _CHANGED:
            found.add(RBP if kind == LEAVE else a)
            if kind == EXCHANGE:
                found.add(b)
        elif kind in (CALL, INDIRECT, ENTER):
            return None
    return found


def only_padding(code: bytes, address: int) -> bool:
    """Whether a stretch of code does nothing."""
    for one in Decoder(64, code, ip=address):
        if one.mnemonic not in (Mnemonic.NOP, Mnemonic.INT3, Mnemonic.FNOP) and one.code != Code.XCHG_RM16_R16:
            return False
    return True


def sweep(code: bytes, address: int) -> tuple[set[int], set[int], list[tuple[int, int]]]:
    """What a stretch of code refers to: addresses called, addresses taken, jumps as (from, to)."""
    called: set[int] = set()
    taken: set[int] = set()
    jumps: list[tuple[int, int]] = []
    for one in Decoder(64, code, ip=address):
        flow = one.flow_control
        if flow:
            if flow == FlowControl.CALL:
                called.add(one.near_branch_target)
            elif flow in (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH):
                jumps.append((one.ip, one.near_branch_target))
        elif one.code == Code.LEA_R64_M:
            if one.memory_base == Register.RIP:
                taken.add(one.memory_displacement)
        elif one.code in (Code.MOV_R32_IMM32, Code.MOV_RM64_IMM32):
            taken.add(one.immediate(1))
    return called, taken, jumps
