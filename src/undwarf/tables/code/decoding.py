"""x86-64 instructions (Intel SDM volume 2) reduced to operations, by their opcodes."""

from collections.abc import Callable
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

from undwarf.tables.code.operations import (
    ADD,
    ADDRESS,
    ALIGN,
    BRANCH,
    CALL,
    COMPARE,
    CONSTANT,
    DIFFERENCE,
    ELEMENT,
    ENTER,
    EXCHANGE,
    EXTEND,
    HALT,
    INDIRECT,
    JUMP,
    KILL,
    LEAVE,
    LIMIT,
    LOAD,
    MOVE,
    OFFSETS,
    POP,
    PUSH,
    RETURN,
    RSP,
    STOP,
    STORE,
    SUM,
    WORDS,
    Operation,
)

__all__ = ["decode", "only_padding", "sweep"]

Reduction = Callable[[Any, int, int], Operation | None]
"""The operation of a decoded instruction, from its address and that of the next one."""

RIP = 16

_ORDER = ("RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15")


def _registers() -> list[int]:
    found = [-1] * 512
    full = {getattr(Register, name): i for i, name in enumerate(_ORDER)}
    for name in dir(Register):
        value = getattr(Register, name)
        if not name.startswith("_") and isinstance(value, int):
            found[value] = full.get(RegisterExt.full_register(value), -1)  # type: ignore[arg-type]  # an int, as at run time
    found[Register.RIP] = RIP
    return found


_REGISTER = _registers()
"""The DWARF number of each of the decoder's registers."""

_INFORMATION = InstructionInfoFactory()
_WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_CONDITIONAL = {FlowControl.CONDITIONAL_BRANCH, FlowControl.XBEGIN_XABORT_XEND}
_ENDING = {FlowControl.RETURN, FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH}
_UNSIGNED = {ConditionCode.A, ConditionCode.AE, ConditionCode.B, ConditionCode.BE}
_SURPRISING = {
    Mnemonic.CMPXCHG, Mnemonic.CMPXCHG8B, Mnemonic.CMPXCHG16B, Mnemonic.XCHG, Mnemonic.XADD, Mnemonic.MULX,
    Mnemonic.MUL, Mnemonic.IMUL, Mnemonic.DIV, Mnemonic.IDIV,
}  # fmt: skip  # a table


def _written(instruction: Any) -> list[int]:
    """The general registers an instruction writes."""
    return sorted(
        {
            _REGISTER[one.register]
            for one in _INFORMATION.info(instruction).used_registers()
            if one.access in _WRITES and 0 <= _REGISTER[one.register] < 16
        }
    )


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _nothing(one: Any, at: int, after: int) -> Operation | None:
    return None


def _kill(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    return (at, KILL, a, 0, 0, after) if a >= 0 else None


def _several(one: Any, at: int, after: int) -> Operation | None:
    """Of instructions that write registers other than their first operand; :func:`decode` makes an operation of
    each."""
    raise NotImplementedError


def _fixed(kind: int, a: int = 0) -> Reduction:
    """Of instructions whose operands do not matter."""

    def reduction(_one: Any, at: int, after: int) -> Operation | None:
        return at, kind, a, 0, 0, after

    return reduction


def _branch(one: Any, at: int, after: int) -> Operation | None:
    return at, BRANCH, one.near_branch_target, one.condition_code in _UNSIGNED, 0, after


def _jump(one: Any, at: int, after: int) -> Operation | None:
    return at, JUMP, one.near_branch_target, 0, 0, after


def _indirect(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    if a >= 0:
        return at, INDIRECT, a, 0, 0, after
    base = _REGISTER[one.memory_base]
    a = -2 if one.memory_index and one.memory_index_scale == 8 else -1
    return at, INDIRECT, a, -1 if base == RIP else base, one.memory_displacement, after


def _call(one: Any, at: int, after: int) -> Operation | None:
    return at, CALL, one.near_branch_target, 0, 0, after


def _call_memory(one: Any, at: int, after: int) -> Operation | None:
    pointer = one.memory_displacement if _REGISTER[one.memory_base] == RIP else 0
    return at, CALL, 0, pointer, 0, after


def _move(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    b = _REGISTER[one.op1_register]
    if a >= 0 and b >= 0:
        return at, MOVE, a, b, 0, after
    base = _REGISTER[one.memory_base]
    if b >= 0:
        if 0 <= base < 16 and not one.memory_index:
            return at, STORE, b, base, _signed(one.memory_displacement), after
        return None
    if a < 0:
        return None
    if one.memory_index:
        if one.memory_index_scale == 8:
            return at, WORDS, a, base, one.memory_displacement, after
    elif 0 <= base < 16:
        return at, LOAD, a, base, _signed(one.memory_displacement), after
    return at, KILL, a, 0, 0, after


def _move_half(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    if a < 0:
        return None
    base = _REGISTER[one.memory_base]
    index = _REGISTER[one.memory_index]
    if base >= 0 and index >= 0:
        if one.memory_index_scale == 4:
            return at, OFFSETS, a, base, one.memory_displacement, after
        if one.memory_index_scale == 1 and not one.memory_displacement:
            return at, ELEMENT, a, base, index, after
    return at, KILL, a, 0, 0, after


def _move_extended(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    source = _REGISTER[one.op1_register]
    if one.memory_index and one.memory_index_scale == 4:
        return at, OFFSETS, a, _REGISTER[one.memory_base], one.memory_displacement, after
    return (at, EXTEND, a, source, 0, after) if source >= 0 else (at, KILL, a, 0, 0, after)


def _move_number(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    return (at, CONSTANT, a, 0, one.immediate(1) & 0xFFFFFFFFFFFFFFFF, after) if a >= 0 else None


def _lea(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    base = _REGISTER[one.memory_base]
    if base == RIP:
        return at, CONSTANT, a, 0, one.memory_displacement, after
    if base < 0:
        return at, KILL, a, 0, 0, after
    if not one.memory_index:
        return at, ADDRESS, a, base, _signed(one.memory_displacement), after
    index = _REGISTER[one.memory_index]
    if 0 <= index < 16 and one.memory_index_scale == 1 and not one.memory_displacement:
        return at, SUM, a, base, index, after
    return at, ALIGN, a, base, 0, after


def _push(one: Any, at: int, after: int) -> Operation | None:
    return at, PUSH, _REGISTER[one.op0_register], 0, 0, after


def _pop(one: Any, at: int, after: int) -> Operation | None:
    return at, POP, _REGISTER[one.op0_register], 0, 0, after


def _add_number(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    return (at, ADD, a, 0, _signed(one.immediate(1)), after) if a >= 0 else None


def _subtract_number(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    return (at, ADD, a, 0, -_signed(one.immediate(1)), after) if a >= 0 else None


def _and_number(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    if a < 0:
        return None
    return (at, ALIGN, a, a, 0, after) if _signed(one.immediate(1)) < 0 else (at, KILL, a, 0, 0, after)


def _add(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    b = _REGISTER[one.op1_register]
    if a < 0:
        return None
    return (at, SUM, a, a, b, after) if b >= 0 else (at, KILL, a, 0, 0, after)


def _subtract(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    b = _REGISTER[one.op1_register]
    if a < 0:
        return None
    return (at, DIFFERENCE, a, b, 0, after) if b >= 0 else (at, KILL, a, 0, 0, after)


def _exclusive_or(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    if a < 0:
        return None
    same = a == _REGISTER[one.op1_register]
    return (at, CONSTANT, a, 0, 0, after) if same else (at, KILL, a, 0, 0, after)


def _exchange(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    b = _REGISTER[one.op1_register]
    return (at, EXCHANGE, a, b, 0, after) if a >= 0 and b >= 0 else (at, KILL, max(a, b), 0, 0, after)


def _compare(one: Any, at: int, after: int) -> Operation | None:
    a = _REGISTER[one.op0_register]
    b = _REGISTER[one.op1_register]
    return (at, COMPARE, a, b, 0, after) if a == RSP or b == RSP else None


def _compare_number(one: Any, at: int, after: int) -> Operation | None:
    return at, LIMIT, 0, 0, one.immediate(1), after


def _enter(one: Any, at: int, after: int) -> Operation | None:
    return at, ENTER, 0, 0, one.immediate(0) if one.immediate(1) == 0 else -1, after


_NAMES: tuple[tuple[Reduction, str], ...] = (
    (_move, "MOV_R64_RM64 MOV_RM64_R64"),
    (_move_half, "MOV_R32_RM32"),
    (_move_extended, "MOVSXD_R64_RM32"),
    (_fixed(EXTEND), "CDQE"),
    (_move_number, "MOV_R64_IMM64 MOV_R32_IMM32 MOV_RM64_IMM32 MOV_RM32_IMM32"),
    (_lea, "LEA_R64_M"),
    (_push, "PUSH_R64"),
    (_fixed(PUSH, -1), "PUSHQ_IMM8 PUSHQ_IMM32 PUSH_RM64 PUSHFQ PUSHQ_FS PUSHQ_GS"),
    (_pop, "POP_R64"),
    (_fixed(POP, -1), "POP_RM64 POPFQ POPQ_FS POPQ_GS"),
    (_add_number, "ADD_RM64_IMM8 ADD_RM64_IMM32 ADD_RAX_IMM32"),
    (_subtract_number, "SUB_RM64_IMM8 SUB_RM64_IMM32 SUB_RAX_IMM32"),
    (_and_number, "AND_RM64_IMM8 AND_RM64_IMM32"),
    (_add, "ADD_R64_RM64 ADD_RM64_R64"),
    (_subtract, "SUB_R64_RM64 SUB_RM64_R64"),
    (_exclusive_or, "XOR_R32_RM32 XOR_RM32_R32"),
    (_exchange, "XCHG_RM64_R64 XCHG_R64_RAX"),
    (_compare, "CMP_RM64_R64 CMP_R64_RM64"),
    (_compare_number, "CMP_RM64_IMM8 CMP_RM64_IMM32 CMP_RM32_IMM8 CMP_RM32_IMM32 CMP_RM16_IMM8 CMP_RM16_IMM16"),
    (_compare_number, "CMP_RM8_IMM8 CMP_AL_IMM8 CMP_AX_IMM16 CMP_EAX_IMM32 CMP_RAX_IMM32"),
    (_enter, "ENTERQ_IMM16_IMM8"),
    (_fixed(LEAVE), "LEAVEQ"),
    (_call, "CALL_REL32_64"),
    (_call_memory, "CALL_RM64"),
    (_jump, "JMP_REL8_64 JMP_REL32_64"),
    (_indirect, "JMP_RM64"),
    (_fixed(RETURN), "RETNQ RETNQ_IMM16"),
    (_fixed(STOP), "UD2 UD1_R32_RM32 UD1_R64_RM64 INT3 INVALID"),
    (_fixed(HALT), "HLT"),
)
"""The reductions of opcodes that matter; those of others follow from the decoder's properties of them."""

_REDUCTIONS: list[Reduction | None] = [None] * 8192
for _reduction, _codes in _NAMES:
    for _code in _codes.split():
        _REDUCTIONS[getattr(Code, _code)] = _reduction


def _reduction_of(instruction: Any) -> Reduction:
    """The reduction of all instructions with an opcode that is met for the first time."""
    flow = instruction.flow_control
    found: Reduction
    if flow in _CONDITIONAL:
        found = _branch
    elif flow in _ENDING:
        found = _fixed(STOP)
    elif flow == FlowControl.CALL or flow == FlowControl.INDIRECT_CALL:
        found = _fixed(CALL)
    else:
        first = instruction.op0_register
        written = _written(instruction)
        if instruction.mnemonic in _SURPRISING or any(one != _REGISTER[first] for one in written):
            found = _several
        elif instruction.op_count and _INFORMATION.info(instruction).op0_access in _WRITES:
            vector = instruction.op0_kind == OpKind.REGISTER and _REGISTER[first] < 0
            found = _nothing if vector else _kill
        else:
            found = _nothing
    _REDUCTIONS[instruction.code] = found
    return found


def decode(code: bytes, address: int) -> tuple[list[Operation], int]:
    """The operations of some code, and how many instructions it has."""
    found: list[Operation] = []
    add = found.append
    reductions = _REDUCTIONS
    count = 0
    for one in Decoder(64, code, ip=address):
        count += 1
        reduction = reductions[one.code] or _reduction_of(one)
        if reduction is _nothing:
            continue
        at = one.ip
        if reduction is _several:
            found += [(at, KILL, a, 0, 0, at + one.len) for a in _written(one)]
        elif (operation := reduction(one, at, at + one.len)) is not None:
            add(operation)
    return found, count


IDLE = frozenset(
    (0x0F, 0x26, 0x2E, 0x36, 0x3E, *range(0x40, 0x50), *range(0x64, 0x68), 0x87, 0x90, 0xCC, 0xD9, 0xF0, 0xF2, 0xF3)
)
"""First bytes of instructions that do nothing, prefixes included: a check that is faster than the decoder."""


def only_padding(code: bytes, address: int) -> bool:
    """Whether code is padding."""
    for one in Decoder(64, code, ip=address):
        if one.mnemonic not in (Mnemonic.NOP, Mnemonic.INT3, Mnemonic.FNOP) and one.code != Code.XCHG_RM16_R16:
            return False
    return True


def sweep(code: bytes, address: int) -> tuple[set[int], set[int], list[tuple[int, int]]]:
    """References of code: addresses that it calls, addresses that it takes, jumps as (from, to)."""
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
