"""AArch64 instructions (Arm ARM; AAPCS64 and the DWARF registers of its ABI), decoded by capstone.

As in the x86-64 decoder, operands come from capstone's structures, and the registers that an instruction reads and
writes from its access lists.
"""

from typing import Any

from capstone import CS_ARCH_ARM64, CS_MODE_ARM, Cs  # type: ignore[import-untyped]  # has no stubs
from capstone import arm64 as a64

from undwarf.disasm.flow_control import Flow
from undwarf.disasm.instruction import NONE, Instruction, Memory
from undwarf.disasm.instruction_semantics import Action
from undwarf.disasm.listing import listing_of
from undwarf.disasm.machine import Machine

__all__ = ["MACHINE", "decode"]

SP, LINK, FRAME = 31, 30, 29
V0 = 64


def _numbers() -> tuple[dict[int, int], dict[int, int]]:
    """(DWARF number, bytes) by capstone's register."""
    number: dict[int, int] = {a64.ARM64_REG_SP: SP, a64.ARM64_REG_WSP: SP}
    width: dict[int, int] = {a64.ARM64_REG_SP: 8, a64.ARM64_REG_WSP: 4, a64.ARM64_REG_XZR: 8, a64.ARM64_REG_WZR: 4}
    for i in range(31):
        for letter, size in (("X", 8), ("W", 4)):
            register = getattr(a64, f"ARM64_REG_{letter}{i}", None)
            if register is not None:
                number[register], width[register] = i, size
    for i in range(32):
        for letter, size in (("B", 1), ("H", 2), ("S", 4), ("D", 8), ("Q", 16), ("V", 16)):
            register = getattr(a64, f"ARM64_REG_{letter}{i}", None)
            if register is not None:
                number[register], width[register] = V0 + i, size
    return number, width


_NUMBER, _WIDTH = _numbers()
_ZERO = (a64.ARM64_REG_XZR, a64.ARM64_REG_WZR)


def _ids(names: str) -> frozenset[int]:
    """Capstone's numbers of mnemonics; those that its version does not have are left out."""
    return frozenset(value for name in names.split() if (value := getattr(a64, f"ARM64_INS_{name}", None)) is not None)


_BYTE = _ids("LDRB LDRSB LDURB LDURSB STRB STURB LDARB STLRB LDXRB LDAXRB STXRB STLXRB LDTRB LDTRSB STTRB LDAPRB")
_HALF = _ids("LDRH LDRSH LDURH LDURSH STRH STURH LDARH STLRH LDXRH LDAXRH STXRH STLXRH LDTRH LDTRSH STTRH LDAPRH")
_WORD = _ids("LDRSW LDURSW LDPSW LDTRSW")
_SIGNED = _ids("LDRSB LDURSB LDRSH LDURSH LDRSW LDURSW LDPSW")
_PAIR = _ids("LDP STP LDNP STNP LDPSW LDXP LDAXP")
_STATUS = _ids("STXR STLXR STXRB STLXRB STXRH STLXRH STXP STLXP")
_LOADS = _ids("LDR LDUR LDAR LDXR LDAXR LDTR LDAPR LDRSW LDURSW") | _BYTE | _HALF
_STORES = _ids("STR STUR STLR STTR STRB STURB STLRB STTRB STRH STURH STLRH STTRH")
_PREFETCH = _ids("PRFM PRFUM")
_READ_WRITE = (
    *("ldadd", "ldclr", "ldset", "ldeor", "swp", "cas", "ldsmax", "ldsmin", "ldumax", "ldumin"),
    *("stadd", "stclr", "stset", "steor"),
)
_RETURNS = _ids("RET RETAA RETAB ERET")
_CALLS = _ids("BL")
_CALL_REGISTER = _ids("BLR BLRAA BLRAAZ BLRAB BLRABZ")
_JUMP_REGISTER = _ids("BR BRAA BRAAZ BRAB BRABZ")
_COMPARE_BRANCH = _ids("CBZ CBNZ TBZ TBNZ")
_STOPS = _ids("BRK HLT UDF")
_MOVES = _ids("MOV MOVZ FMOV ORR")
_EXTENDS = {_id: size for names, size in (("SXTW", 4), ("SXTH UXTH", 2), ("SXTB UXTB", 1)) for _id in _ids(names)}
_SIGN_EXTENDS = _ids("SXTW SXTH SXTB")
_SELECTS = _ids("CSEL")
_SHIFTS = _ids("LSL")
_MULTIPLIES = _ids("MUL")
_ARITHMETIC = {
    next(iter(_ids(name))): action
    for name, action in (("ADD", Action.ADD), ("SUB", Action.SUBTRACT), ("AND", Action.AND))
}
_PAGE = _ids("ADRP ADR")
_engine: list[Cs] = []


def _text(native: object) -> str:
    return f"{native.mnemonic} {native.op_str}".strip()  # type: ignore[attr-defined]  # a CsInsn


def decode(code: bytes, address: int, most: int = -1) -> list[Instruction]:
    """All instructions of ``code``, or the first ``most``; four invalid bytes become an instruction of flow STOP."""
    if not _engine:
        engine = Cs(CS_ARCH_ARM64, CS_MODE_ARM)
        engine.detail = True
        _engine.append(engine)
    made: list[Instruction] = []
    at = 0
    data = bytes(code) if most < 0 else bytes(code[: 4 * most])
    while len(data) - at >= 4:
        for native in _engine[0].disasm(data[at:], address + at):
            instruction = Instruction(native.address, 4)
            _describe(instruction, native)
            made.append(instruction)
            at += 4
        if len(data) - at >= 4:
            stop = Instruction(address + at, 4)
            stop.flow = Flow.STOP
            made.append(stop)
            at += 4
    return made


def _describe(made: Instruction, native: Any) -> None:
    made._native = native
    made._text = _text
    read, written = native.regs_access()
    made.reads = tuple(_NUMBER[r] for r in read if r in _NUMBER)
    made.writes = tuple(_NUMBER[r] for r in written if r in _NUMBER)
    operands = native.operands
    kind = native.id
    _set_flow(made, native, kind, operands)
    if made.flow == Flow.NEXT:
        _set_memory(made, native, kind, operands)
        _act(made, native, kind, operands)


def _set_flow(made: Instruction, native: Any, kind: int, operands: list[Any]) -> None:
    immediate = operands[-1].imm if operands and operands[-1].type == a64.ARM64_OP_IMM else None
    if kind == a64.ARM64_INS_B:
        conditional = native.cc not in (a64.ARM64_CC_INVALID, a64.ARM64_CC_AL)
        made.flow, made.target = Flow.BRANCH if conditional else Flow.JUMP, immediate
    elif kind in _COMPARE_BRANCH:
        made.flow, made.target = Flow.BRANCH, immediate
    elif kind in _CALLS:
        made.flow, made.target = Flow.CALL, immediate
    elif kind in _CALL_REGISTER:
        made.flow = Flow.INDIRECT_CALL
    elif kind in _JUMP_REGISTER:
        made.flow = Flow.INDIRECT_JUMP
    elif kind in _RETURNS:
        made.flow = Flow.RETURN
    elif kind in _STOPS:
        made.flow = Flow.STOP
    if made.flow in (Flow.INDIRECT_CALL, Flow.INDIRECT_JUMP) and operands:
        made.left = _NUMBER.get(operands[0].reg, NONE)


def _set_memory(made: Instruction, native: Any, kind: int, operands: list[Any]) -> None:
    at = next((k for k, operand in enumerate(operands) if operand.type == a64.ARM64_OP_MEM), None)
    if at is None or kind in _PREFETCH:
        return
    where = operands[at].mem
    registers = [operand for operand in operands[:at] if operand.type == a64.ARM64_OP_REG]
    data = registers[1:] if kind in _STATUS else registers
    size = _WIDTH.get(data[0].reg, 8) if data else 8
    if kind in _BYTE:
        size = 1
    elif kind in _HALF:
        size = 2
    elif kind in _WORD:
        size = 4
    count = 2 if kind in _PAIR else 1
    name = native.mnemonic
    if name.startswith(("ld1", "ld2", "ld3", "ld4", "st1", "st2", "st3", "st4")):
        count = max(1, len(data))
    if name.startswith(_READ_WRITE):
        access = "rw"
        if name.endswith("b") or name.endswith("h"):
            size = 1 if name.endswith("b") else 2
    else:
        access = "w" if name.startswith("st") else "r"
    shift = operands[at].shift
    scale = 1 << shift.value if shift.type == a64.ARM64_SFT_LSL and shift.value < 8 else 1
    base = _NUMBER.get(where.base, NONE)
    memory = Memory(
        base,
        _NUMBER.get(where.index, NONE),
        scale,
        where.disp,
        size=size * count,
        access=access,
        element=size,
    )
    if native.writeback:
        post = operands[at + 1] if at + 1 < len(operands) else None
        if post is not None and post.type == a64.ARM64_OP_IMM:
            memory.writeback = post.imm
            if where.disp == post.imm:
                memory.displacement = 0
        else:
            memory.writeback, memory.pre = where.disp, True
    made.memory = (memory,)
    made.signed = kind in _SIGNED
    made.width = _WIDTH.get(data[0].reg, 8) if data else 8
    first = _NUMBER.get(data[0].reg, NONE) if data else NONE
    if kind in _PAIR and len(data) == 2:
        second = _NUMBER.get(data[1].reg, NONE)
        if access == "r":
            made.action, made.destination, made.right = Action.LOAD_PAIR, first, second
        else:
            made.action, made.left, made.right = Action.STORE_PAIR, first, second
    elif kind in _LOADS and access == "r" and len(data) == 1:
        made.action, made.destination = Action.LOAD, first
    elif kind in _STORES and len(data) == 1:
        made.action, made.left = Action.STORE, first


def _operand(operand: Any) -> tuple[int, int] | None:
    """(register, 0) or (NONE, immediate); None for other operands and unsupported shifts."""
    if operand.type == a64.ARM64_OP_IMM:
        shift = operand.shift
        value = operand.imm
        if shift.type == a64.ARM64_SFT_LSL:
            value <<= shift.value
        return NONE, value
    if operand.type == a64.ARM64_OP_REG:
        if operand.reg in _ZERO:
            return NONE, 0
        if operand.reg in _NUMBER:
            return _NUMBER[operand.reg], 0
    return None


def _act(made: Instruction, native: Any, kind: int, operands: list[Any]) -> None:
    if made.memory or not operands or operands[0].type != a64.ARM64_OP_REG or operands[0].reg not in _NUMBER:
        return
    destination, width = _NUMBER[operands[0].reg], _WIDTH[operands[0].reg]
    if width < 4:
        return
    if kind in _PAGE and len(operands) == 2:
        made.action, made.memory = Action.ADDRESS, (Memory(NONE, displacement=operands[1].imm),)
    elif kind in _MOVES and len(operands) == 2:
        source = _operand(operands[1])
        if source is None:
            return
        made.left, made.immediate = source
        made.action = Action.CONSTANT if made.left == NONE else Action.COPY
    elif kind in _EXTENDS and len(operands) == 2:
        source = _operand(operands[1])
        if source is None or source[0] == NONE:
            return
        made.action, made.left, made.signed = Action.EXTEND, source[0], kind in _SIGN_EXTENDS
        width = _EXTENDS[kind]
    elif kind in _ARITHMETIC and len(operands) == 3:
        left, right = _operand(operands[1]), _operand(operands[2])
        if left is None or right is None or left[0] == NONE:
            return
        extended = operands[2].ext != a64.ARM64_EXT_INVALID
        shift = operands[2].shift
        if right[0] != NONE and (shift.type == a64.ARM64_SFT_LSL or extended):
            # add xd, xn, xm, lsl #k: address arithmetic like lea.
            if kind != a64.ARM64_INS_ADD or (shift.type not in (a64.ARM64_SFT_LSL, a64.ARM64_SFT_INVALID)):
                return
            made.memory = (Memory(left[0], right[0], 1 << min(shift.value, 32)),)
            made.action = Action.ADDRESS
        elif right[0] != NONE and shift.type != a64.ARM64_SFT_INVALID:
            return
        else:
            made.action, made.left, made.right, made.immediate = _ARITHMETIC[kind], left[0], right[0], right[1]
    elif kind in _SELECTS and len(operands) == 3:
        left, right = _operand(operands[1]), _operand(operands[2])
        if left is None or right is None or NONE in (left[0], right[0]):
            return
        made.action, made.left, made.right = Action.SELECT, left[0], right[0]
    elif kind in _SHIFTS and len(operands) == 3 and operands[2].type == a64.ARM64_OP_IMM:
        source = _operand(operands[1])
        if source is None or source[0] == NONE:
            return
        made.action, made.left, made.immediate = Action.SHIFT_LEFT, source[0], operands[2].imm
    elif kind in _MULTIPLIES and len(operands) == 3:
        left, right = _operand(operands[1]), _operand(operands[2])
        if left is None or right is None or NONE in (left[0], right[0]):
            return
        made.action, made.left, made.right = Action.MULTIPLY, left[0], right[0]
    else:
        return
    made.destination, made.width = destination, width


MACHINE = Machine(
    "aarch64",
    decode,
    listing=lambda code, address: listing_of(decode(code, address), address),
    names=(*(f"x{i}" for i in range(31)), "sp"),
    general=frozenset(range(32)),
    stack_pointer=SP,
    frame_pointer=FRAME,
    parameters=tuple(range(8)),
    result=0,
    wide_result=1,
    caller_saved=frozenset(range(19)) | {LINK} | frozenset(range(V0, V0 + 32)),
    entry_offset=0,
    instruction_unit=4,
    link=LINK,
)
