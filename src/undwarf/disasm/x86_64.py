# cython: language_level=3, annotation_typing=False
"""x86-64 instructions (Intel SDM volume 2; System V ABI for registers and calls), decoded by iced-x86.

Nothing is read from disassembly text. What a register becomes is said for the instructions that move, add, extend and
address; for all others the decoder's list of written registers says what is no longer known.
"""

from typing import Any

from undwarf.disasm.iced import (
    ConditionCode,
    Decoder,
    FlowControl,
    Formatter,
    FormatterSyntax,
    InstructionInfoFactory,
    MemorySize,
    MemorySizeExt,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
)
from undwarf.disasm.iced import Instruction as Native
from undwarf.disasm.listing import Listing
from undwarf.disasm.model import NONE, Action, Flow, Instruction, Machine, Memory
from undwarf.disasm.templates import (
    FIXED,
    NEGATED,
    NEGATED_UNSIGNED,
    NEGATED_UNSIGNED_SHORT,
    SIGNED,
    UNSIGNED,
    UNSIGNED_SHORT,
    Templates,
)
from undwarf.disasm.x86_forms import FIELDS, OWN, Forms
from undwarf.disasm.x86_structure import RELATIVE, SHIFT_COUNT, SIGNED_NUMBER, UNSIGNED_BYTE, Structure

__all__ = ["MACHINE", "decode", "fused"]

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
            whole = RegisterExt.full_register(register)  # type: ignore[arg-type]
            width[register] = RegisterExt.size(register)  # type: ignore[arg-type]
        except ValueError:
            break
        number[register] = full.get(whole, NONE)
    return number, width


_NUMBER, _WIDTH = _numbers()
_ACCESS = {
    OpAccess.READ: "r",
    OpAccess.COND_READ: "r",
    OpAccess.WRITE: "w",
    OpAccess.COND_WRITE: "w",
    OpAccess.READ_WRITE: "rw",
    OpAccess.READ_COND_WRITE: "rw",
}
_ONLY_WRITING = (OpAccess.WRITE, OpAccess.COND_WRITE)
_WRITING = (*_ONLY_WRITING, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_FLOWS = {
    FlowControl.NEXT: Flow.NEXT,
    FlowControl.UNCONDITIONAL_BRANCH: Flow.JUMP,
    FlowControl.INDIRECT_BRANCH: Flow.INDIRECT_JUMP,
    FlowControl.CONDITIONAL_BRANCH: Flow.BRANCH,
    FlowControl.RETURN: Flow.RETURN,
    FlowControl.CALL: Flow.CALL,
    FlowControl.INDIRECT_CALL: Flow.INDIRECT_CALL,
    FlowControl.INTERRUPT: Flow.NEXT,
    FlowControl.XBEGIN_XABORT_XEND: Flow.NEXT,
    FlowControl.EXCEPTION: Flow.STOP,
}
_DIRECT = frozenset((Flow.JUMP, Flow.BRANCH, Flow.CALL))
_IMMEDIATES = frozenset(
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
_CONDITIONAL_MOVES = frozenset(
    (
        *(Mnemonic.CMOVA, Mnemonic.CMOVAE, Mnemonic.CMOVB, Mnemonic.CMOVBE, Mnemonic.CMOVE, Mnemonic.CMOVG),
        *(Mnemonic.CMOVGE, Mnemonic.CMOVL, Mnemonic.CMOVLE, Mnemonic.CMOVNE, Mnemonic.CMOVNO, Mnemonic.CMOVNP),
        *(Mnemonic.CMOVNS, Mnemonic.CMOVO, Mnemonic.CMOVP, Mnemonic.CMOVS),
    )
)
_WIDENING = frozenset((Mnemonic.MOVZX, Mnemonic.MOVSX, Mnemonic.MOVSXD))
_ARITHMETIC: dict[int, Action] = {
    Mnemonic.ADD: Action.ADD,
    Mnemonic.SUB: Action.SUBTRACT,
    Mnemonic.AND: Action.AND,
}
_SHIFTS: dict[int, Action] = {
    Mnemonic.SHL: Action.SHIFT_LEFT,
    Mnemonic.SAL: Action.SHIFT_LEFT,
    Mnemonic.SHR: Action.SHIFT_RIGHT,
    Mnemonic.SAR: Action.SHIFT_RIGHT,
}
_CONDITIONS: dict[int, Action] = {Mnemonic.JE: Action.IF_ZERO, Mnemonic.JNE: Action.IF_NOT_ZERO}
_CARRYING = frozenset((Mnemonic.ADC, Mnemonic.SBB))
_REPEATED = frozenset(
    (
        *(Mnemonic.STOSB, Mnemonic.STOSW, Mnemonic.STOSD, Mnemonic.STOSQ),
        *(Mnemonic.MOVSB, Mnemonic.MOVSW, Mnemonic.MOVSD, Mnemonic.MOVSQ),
    )
)
"""String instructions, and a move of floating-point numbers that is called as one of them."""
_UPDATES = frozenset((Mnemonic.ADD, Mnemonic.SUB, Mnemonic.INC, Mnemonic.DEC))
_ADDRESS_ONLY = frozenset((Mnemonic.LEA, Mnemonic.NOP, Mnemonic.ENDBR64, Mnemonic.ENDBR32))
_NO_ACCESS = frozenset(
    (
        *(Mnemonic.PREFETCH, Mnemonic.PREFETCHW, Mnemonic.PREFETCHWT1, Mnemonic.PREFETCHIT0, Mnemonic.PREFETCHIT1),
        *(Mnemonic.PREFETCHNTA, Mnemonic.PREFETCHT0, Mnemonic.PREFETCHT1, Mnemonic.PREFETCHT2),
        *(Mnemonic.CLFLUSH, Mnemonic.CLFLUSHOPT, Mnemonic.CLWB, Mnemonic.INVLPG),
    )
)
_HINTS = frozenset((Mnemonic.NOP, Mnemonic.RESERVEDNOP))
_WORD_MOVES = frozenset((Mnemonic.MOVQ, Mnemonic.VMOVQ))
_FLOATING = frozenset((MemorySize.FLOAT32, MemorySize.FLOAT64))
_SIGNED_CONDITIONS = frozenset((ConditionCode.L, ConditionCode.GE, ConditionCode.LE, ConditionCode.G))
_UNSIGNED_CONDITIONS = frozenset((ConditionCode.B, ConditionCode.AE, ConditionCode.BE, ConditionCode.A))
_SIGNED = frozenset((Mnemonic.SAR, Mnemonic.IDIV))
_UNSIGNED = frozenset((Mnemonic.SHR, Mnemonic.DIV, Mnemonic.MUL))
_FROM_INTEGERS = frozenset((Mnemonic.CVTSI2SD, Mnemonic.CVTSI2SS, Mnemonic.VCVTSI2SD, Mnemonic.VCVTSI2SS))
_CALCULATING = frozenset((Mnemonic.ADD, Mnemonic.SUB, Mnemonic.AND, Mnemonic.OR, Mnemonic.XOR))
_VECTOR_MOVES = frozenset(
    (
        *(Mnemonic.MOVAPS, Mnemonic.MOVUPS, Mnemonic.MOVAPD, Mnemonic.MOVUPD, Mnemonic.MOVDQA, Mnemonic.MOVDQU),
        *(Mnemonic.VMOVAPS, Mnemonic.VMOVUPS, Mnemonic.VMOVAPD, Mnemonic.VMOVUPD, Mnemonic.VMOVDQA, Mnemonic.VMOVDQU),
    )
)
_MULTIPLYING = frozenset((Mnemonic.IMUL, Mnemonic.NEG, Mnemonic.NOT))
_REGISTER, _MEMORY = OpKind.REGISTER, OpKind.MEMORY
_MOST_TEMPLATES = 200_000
"""Templates that are kept; a program has some thousands."""
_NO_RULES: dict[int, int] = {}
_DISPLACEMENTS = {size: (value, value.to_bytes(size, "little")) for size, value in ((1, 0x55), (4, 0x51234566))}
"""By size, a number as a displacement that can be told from others, and its bytes."""


def _rules(kind: int, size: int) -> tuple[bytes, dict[int, int]]:
    """The same for an immediate: its bytes, and what has become of it where an instruction has one of these."""
    raw = bytes.fromhex("2143658778563492")[8 - size :]
    plain, signed = int.from_bytes(raw, "little"), int.from_bytes(raw, "little", signed=True)
    if kind == UNSIGNED_BYTE:
        return raw, {plain: SIGNED, -plain: NEGATED}
    if kind == SHIFT_COUNT:
        return b"\x12", {0x12: SIGNED}
    rules = {} if size == 1 else {plain: UNSIGNED, -plain: NEGATED_UNSIGNED}
    if size == 2:
        rules = {plain: UNSIGNED_SHORT, -plain: NEGATED_UNSIGNED_SHORT}
    return raw, rules | {signed: SIGNED, -signed: NEGATED}


_NUMBERS = {(SIGNED_NUMBER, size): _rules(SIGNED_NUMBER, size) for size in (1, 2, 4, 8)}
_NUMBERS |= {(kind, 1): _rules(kind, 1) for kind in (UNSIGNED_BYTE, SHIFT_COUNT)}
_REG, _VVVV, _RM, _BASE, _INDEX = FIELDS
_OWN_FIELDS = {
    first + register: field
    for first in (0, XMM0)
    for register, field in zip(OWN, FIELDS, strict=True)
    if not first or field != _BASE
}
"""Which field of a form a register stands for."""
_OWN_BASE = OWN[3]
_SIZES: dict[int, int] = {}
_ELEMENTS: dict[int, int] = {}
_info = InstructionInfoFactory().info
_formatter = Formatter(FormatterSyntax.GAS)
_formatter.uppercase_hex = _formatter.branch_leading_zeros = False
_format = _formatter.format


def _text(native: object) -> str:
    return str(_format(native))  # type: ignore[arg-type]


def _signed(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


def _size(kind: int) -> int:
    size = _SIZES.get(kind)
    if size is None:
        size = _SIZES[kind] = MemorySizeExt.size(kind)  # type: ignore[arg-type]
        _ELEMENTS[kind] = MemorySizeExt.element_size(kind) or size  # type: ignore[arg-type]
    return size


def _immediate(native: Native, operand: int) -> int:
    return _signed(native.immediate(operand))


class _Lister:
    """Makes listings; describes an instruction once for all that have the same parts."""

    def __init__(self) -> None:
        self._table = Templates()
        self._code = b""
        self._address = 0
        self._forms = Forms(self._table, self._exact, self._general)
        self._structure = Structure(self._table, self._forms.template, self._ask)

    def __call__(self, code: bytes, address: int) -> Listing:
        if self._table.count > _MOST_TEMPLATES:
            self.__init__()  # type: ignore[misc]
        self._code, self._address = code, address
        columns = self._structure.split(code, address)
        self._code = b""

        decoder = Decoder(64, code, ip=address)

        def native(made: Instruction) -> Native | None:
            decoder.position = made.address - address
            decoder.ip = made.address
            found = decoder.decode()
            return None if found.is_invalid else found

        return Listing(address, self._table, columns, native, _text)

    def _exact(self, code: bytes, parts: int) -> int:
        """The template of instructions with these parts; -1 where each is something else."""
        found = _patched(code, parts)
        return -1 if found is None else self._added(*found)

    def _added(self, native: Native, displacement: int | None, rules: dict[int, int]) -> int:
        made = Instruction(0, native.len)
        _describe(made, native)
        return self._table.add(made, displacement, rules.get(made.immediate, FIXED))

    def _general(self, code: bytes, parts: int, fields: int) -> tuple[int, int, int] | None:
        """The template of a form, if all its fields name registers, and each just one."""
        found = _patched(code, parts)
        if found is None:
            return None
        native = found[0]
        if native.mnemonic in _HINTS:
            # With other registers, hints among which some do something.
            return None
        vectors = narrow = 0
        left = fields
        for k in range(native.op_count):
            kind = native.op_kind(k)
            if kind == _REGISTER:
                register = native.op_register(k)
                number = _NUMBER[register]
                field = _OWN_FIELDS.get(number, 0)
                if not field & left & (_REG | _VVVV | _RM):
                    if field & fields:
                        return None
                    continue
                left &= ~field
                if number >= XMM0:
                    vectors |= field
                elif _WIDTH[register] == 1:
                    narrow |= field
            elif kind == _MEMORY and fields & (_BASE | _INDEX):
                if fields & _BASE and _NUMBER[native.memory_base] == _OWN_BASE:
                    left &= ~_BASE
                number = _NUMBER[native.memory_index]
                if fields & _INDEX and _OWN_FIELDS.get(number) == _INDEX:
                    left &= ~_INDEX
                    if number >= XMM0:
                        vectors |= _INDEX
        if left:
            return None
        return self._added(*found), vectors, narrow

    def _ask(self, at: int) -> tuple[int, int, int, int, int | None]:
        """One instruction by itself."""
        made = decode(self._code[at : at + 15], self._address + at, 1)[0]
        return made.size, self._table.add(made), 0, 0, made.target


def _patched(code: bytes, parts: int) -> tuple[Native, int | None, dict[int, int]] | None:
    """An instruction with numbers that can be told from others in place of its own, ``parts`` as in :class:`Structure`:
    (what the decoder makes of it, its displacement, the rule for an immediate by what has become of it)."""
    displacement = None
    rules: dict[int, int] = _NO_RULES
    size = parts >> 4 & 15
    if size:
        displacement, raw = _DISPLACEMENTS[size]
        at = parts & 15
        code = code[:at] + raw + code[at + size :]
        if parts & RELATIVE:
            displacement += len(code)
    kind = parts >> 16 & 3
    if kind:
        raw, rules = _NUMBERS[kind, parts >> 12 & 15]
        at = parts >> 8 & 15
        code = code[:at] + raw + code[at + len(raw) :]
    native = Decoder(64, code, ip=0).decode()
    return None if native.is_invalid or native.len != len(code) else (native, displacement, rules)


def decode(code: bytes, address: int, most: int = -1) -> list[Instruction]:
    """All instructions of a stretch of code, or so many; a byte that begins none becomes one that stops."""
    made: list[Instruction] = []
    decoder = Decoder(64, bytes(code), ip=address)
    while decoder.can_decode and len(made) != most:
        at, ip = decoder.position, decoder.ip
        native = decoder.decode()
        if native.is_invalid:
            instruction = Instruction(ip & 0xFFFFFFFFFFFFFFFF, 1)
            instruction.flow = Flow.STOP
            decoder.position, decoder.ip = at + 1, ip + 1
        else:
            instruction = Instruction(native.ip & 0xFFFFFFFFFFFFFFFF, native.len)
            _describe(instruction, native)
        made.append(instruction)
    return made


def _describe(made: Instruction, native: Native) -> None:
    made._native = native
    made._text = _text
    flow = _FLOWS.get(native.flow_control, Flow.NEXT)
    mnemonic = native.mnemonic
    if mnemonic == Mnemonic.HLT:
        flow = Flow.STOP
    made.flow = flow
    if mnemonic == Mnemonic.NOP:
        # Its operand is only there to make it longer.
        return
    if flow in _DIRECT and native.op_count:
        made.target = native.near_branch_target
    info = _info(native)
    writes: list[int] = []
    reads: list[int] = []
    for used in info.used_registers():
        number = _NUMBER[used.register]
        if number != NONE:
            access = used.access
            if access in _WRITING:
                writes.append(number)
            if access not in _ONLY_WRITING:
                reads.append(number)
    made.writes = tuple(writes)
    made.reads = tuple(reads)
    used_memory = info.used_memory()
    if used_memory or mnemonic == Mnemonic.LEA:
        made.memory = _memory(native, mnemonic, used_memory)
    if mnemonic in _TOLD:
        _act(made, native, mnemonic)


def _memory(native: Native, mnemonic: int, used_memory: Any) -> tuple[Memory, ...]:
    if mnemonic == Mnemonic.LEA:
        base = _NUMBER[native.memory_base]
        displacement = _signed(native.memory_displacement)
        if base == RIP:
            base = NONE
        index = _NUMBER[native.memory_index]
        return (Memory(base, index, native.memory_index_scale, displacement),)
    if mnemonic in _NO_ACCESS:
        return ()
    stack = native.stack_pointer_increment != 0 or mnemonic == Mnemonic.LEAVE
    explicit: list[Memory] = []
    implicit: list[Memory] = []
    for used in used_memory:
        access = _ACCESS.get(used.access, "")
        if not access:
            continue
        kind = used.memory_size
        size = _size(kind) if kind else 0
        element = _ELEMENTS.get(kind, size)
        if not kind:
            # Repeated string instructions: as many as %rcx says, of this size each.
            element = _size(native.memory_size)
        base = _NUMBER[used.base]
        segment = used.segment
        index_register = used.index
        operand = Memory(
            base,
            _NUMBER[index_register],
            used.scale,
            _signed(used.displacement),
            segment="fs" if segment == Register.FS else "gs" if segment == Register.GS else "",
            size=size,
            access=access,
            element=element,
            implicit=stack and segment == Register.SS and base in (RSP, RBP) and not _names_memory(native, base),
        )
        operand.floating = kind in _FLOATING
        (implicit if operand.implicit else explicit).append(operand)
    return (*explicit, *implicit)


def _names_memory(native: Native, base: int) -> bool:
    """The instruction has a memory operand of its own with this base."""
    for k in range(native.op_count):
        if native.op_kind(k) == OpKind.MEMORY and _NUMBER[native.memory_base] == base:
            return True
    return False


def _register(native: Native, operand: int) -> int:
    return _NUMBER[native.op_register(operand)] if native.op_kind(operand) == OpKind.REGISTER else NONE


def _act(made: Instruction, native: Native, mnemonic: int) -> None:
    """Says what the instruction does, if it is one of those told apart."""
    count = native.op_count
    if mnemonic in _CONDITIONS:
        made.action = _CONDITIONS[mnemonic]
        return
    if count == 0:
        if mnemonic == Mnemonic.LEAVE:
            made.action = Action.LEAVE
        elif mnemonic == Mnemonic.CDQE:
            made.action, made.destination, made.left, made.width, made.signed = Action.EXTEND, RAX, RAX, 4, True
        return
    first, second = native.op_kind(0), native.op_kind(1) if count > 1 else -1
    into = native.op_register(0) if first == OpKind.REGISTER else 0
    width = _WIDTH[into] if into else 0
    if mnemonic == Mnemonic.MOV:
        _move(made, native, first, second, into, width)
    elif mnemonic == Mnemonic.LEA:
        if width >= 4:
            made.action, made.destination, made.width = Action.ADDRESS, _NUMBER[into], width
    elif mnemonic in _WIDENING:
        _widen(made, native, mnemonic, second, into, width)
    elif mnemonic in _UPDATES and first == OpKind.MEMORY and made.memory:
        _update(made, native, mnemonic, second)
    elif mnemonic in _ARITHMETIC and width >= 4:
        _arithmetic(made, native, _ARITHMETIC[mnemonic], second, into, width)
    elif mnemonic == Mnemonic.OR and width >= 4 and second in _IMMEDIATES:
        made.action, made.destination, made.left = Action.OR, _NUMBER[into], _NUMBER[into]
        made.immediate, made.width = _immediate(native, 1), width
    elif mnemonic in (Mnemonic.INC, Mnemonic.DEC) and width >= 4:
        made.action, made.destination, made.left = Action.ADD, _NUMBER[into], _NUMBER[into]
        made.immediate, made.width = 1 if mnemonic == Mnemonic.INC else -1, width
    elif mnemonic in _SHIFTS and width >= 4:
        if second in _IMMEDIATES:
            made.action, made.destination, made.left = _SHIFTS[mnemonic], _NUMBER[into], _NUMBER[into]
            made.immediate, made.width = native.immediate(1) & (63 if width == 8 else 31), width
    elif mnemonic == Mnemonic.IMUL and width >= 4 and count > 1:
        if count == 3 and (second == OpKind.REGISTER or (made.memory and not made.memory[0].implicit)):
            # A number from memory is any number.
            made.action, made.destination, made.left = Action.MULTIPLY, _NUMBER[into], _register(native, 1)
            made.immediate, made.width = _immediate(native, 2), width
        elif count == 2 and second == OpKind.REGISTER:
            made.action, made.destination, made.left = Action.MULTIPLY, _NUMBER[into], _NUMBER[into]
            made.right, made.width = _register(native, 1), width
    elif mnemonic == Mnemonic.NEG and width >= 4:
        made.action, made.destination, made.left = Action.MULTIPLY, _NUMBER[into], _NUMBER[into]
        made.immediate, made.width = -1, width
    elif mnemonic in _CARRYING and width == 8 and second in _IMMEDIATES:
        made.action, made.destination, made.left, made.width = Action.CARRY, _NUMBER[into], _NUMBER[into], width
        made.immediate = _immediate(native, 1) if mnemonic == Mnemonic.ADC else -_immediate(native, 1)
    elif mnemonic in (Mnemonic.XOR, Mnemonic.SUB) and width >= 4:
        if second == OpKind.REGISTER and native.op_register(1) == into:
            made.action, made.destination, made.immediate, made.width = Action.CONSTANT, _NUMBER[into], 0, width
    elif mnemonic in _CONDITIONAL_MOVES and width == 8:
        made.action, made.destination, made.left = Action.SELECT, _NUMBER[into], _NUMBER[into]
        made.right = _register(native, 1)
    elif mnemonic == Mnemonic.XCHG and width == 8 and second == OpKind.REGISTER:
        made.action, made.left, made.right = Action.EXCHANGE, _NUMBER[into], _register(native, 1)
    elif mnemonic == Mnemonic.PUSH:
        made.action, made.left = Action.PUSH, _NUMBER[into] if into else NONE
        if made.left == NONE and first in _IMMEDIATES:
            made.immediate = _immediate(native, 0)
    elif mnemonic == Mnemonic.POP and into:
        made.action, made.destination = Action.POP, _NUMBER[into]
    elif mnemonic in _WORD_MOVES and count == 2:
        _move_word(made, native, first, second)
    elif mnemonic == Mnemonic.TEST:
        if width and second == OpKind.REGISTER and native.op_register(1) == into:
            made.action, made.left, made.width = Action.TEST, _NUMBER[into], width
    elif mnemonic in _REPEATED and native.is_string_instruction:
        made.action, made.left = Action.REPEAT, RCX if native.has_rep_prefix else NONE


def _move(made: Instruction, native: Native, first: int, second: int, into: int, width: int) -> None:
    if first == OpKind.MEMORY:
        made.action, made.width = Action.STORE, made.memory[0].size if made.memory else 0
        if second == OpKind.REGISTER:
            made.left = _NUMBER[native.op_register(1)]
        else:
            made.immediate = _immediate(native, 1)
        return
    if width < 4 or not into:
        return
    made.destination, made.width = _NUMBER[into], width
    if made.destination == NONE:
        return
    if second == OpKind.REGISTER:
        source = _NUMBER[native.op_register(1)]
        if source != NONE:
            made.action, made.left = Action.COPY, source
    elif second == OpKind.MEMORY:
        if made.memory:
            made.action = Action.LOAD
    elif second in _IMMEDIATES:
        value = _immediate(native, 1)
        made.action, made.immediate = Action.CONSTANT, value if width == 8 else value & 0xFFFFFFFF


def _widen(made: Instruction, native: Native, mnemonic: int, second: int, into: int, width: int) -> None:
    if width < 4:
        return
    made.destination, made.signed = _NUMBER[into], mnemonic != Mnemonic.MOVZX
    if second == OpKind.REGISTER:
        source = native.op_register(1)
        made.action, made.left, made.width = Action.EXTEND, _NUMBER[source], _WIDTH[source]
    elif made.memory:
        made.action, made.width = Action.LOAD, width


def _arithmetic(made: Instruction, native: Native, action: Action, second: int, into: int, width: int) -> None:
    register = _NUMBER[into]
    if second == OpKind.REGISTER:
        if action == Action.SUBTRACT and native.op_register(1) == into:
            made.action, made.destination, made.immediate, made.width = Action.CONSTANT, register, 0, width
            return
        made.right = _NUMBER[native.op_register(1)]
    elif second in _IMMEDIATES:
        made.immediate = _immediate(native, 1)
    elif second == OpKind.MEMORY and made.memory and action == Action.ADD and width == 8:
        made.action, made.destination, made.left, made.width = Action.ADD_MEMORY, register, register, width
        return
    else:
        return
    made.action, made.destination, made.left, made.width = action, register, register, width


def _update(made: Instruction, native: Native, mnemonic: int, second: int) -> None:
    """A sum in memory; the difference with a register is left to the list of what is written."""
    if mnemonic in (Mnemonic.INC, Mnemonic.DEC):
        made.immediate = 1 if mnemonic == Mnemonic.INC else -1
    elif second in _IMMEDIATES:
        made.immediate = _immediate(native, 1) if mnemonic == Mnemonic.ADD else -_immediate(native, 1)
    elif mnemonic == Mnemonic.ADD and second == OpKind.REGISTER:
        made.left = _NUMBER[native.op_register(1)]
    else:
        return
    made.action, made.width = Action.UPDATE, made.memory[0].size


def _move_word(made: Instruction, native: Native, first: int, second: int) -> None:
    """A word between memory, general and vector registers."""
    if first == OpKind.REGISTER:
        made.destination = _NUMBER[native.op_register(0)]
        if second == OpKind.REGISTER:
            made.action, made.left = Action.COPY, _NUMBER[native.op_register(1)]
        elif made.memory:
            made.action = Action.LOAD
    elif made.memory and second == OpKind.REGISTER:
        made.action, made.left = Action.STORE, _NUMBER[native.op_register(1)]


_TOLD = frozenset(
    (
        *(Mnemonic.MOV, Mnemonic.LEA, Mnemonic.OR, Mnemonic.XOR, Mnemonic.IMUL, Mnemonic.XCHG, Mnemonic.PUSH),
        *(Mnemonic.POP, Mnemonic.LEAVE, Mnemonic.CDQE, Mnemonic.NEG, *_WIDENING, *_UPDATES, *_ARITHMETIC, *_SHIFTS),
        *(*_CONDITIONAL_MOVES, *_WORD_MOVES, *_CARRYING, *_CONDITIONS, *_REPEATED, Mnemonic.TEST),
    )
)
"""What :func:`_act` says something of."""
_FUSING = frozenset((Mnemonic.CMP, Mnemonic.TEST, Mnemonic.ADD, Mnemonic.SUB, Mnemonic.AND, Mnemonic.INC, Mnemonic.DEC))


def fused(before: Instruction, branch: Instruction) -> bool:
    """These two may be carried out as one, so that a sample of the branch is one of what stands before it.

    Intel's and AMD's optimization manuals: a compare or simple arithmetic followed by a conditional jump; not with an
    immediate and an address relative to the instruction pointer.
    """
    if branch.flow != Flow.BRANCH or before.next_address != branch.address:
        return False
    native = before.native
    if not isinstance(native, Native) or native.mnemonic not in _FUSING:
        return False
    immediate = any(native.op_kind(k) in _IMMEDIATES for k in range(native.op_count))
    if immediate and any(native.op_kind(k) == OpKind.MEMORY for k in range(native.op_count)):
        return not native.is_ip_rel_memory_operand
    return True


def starts(code: bytes, address: int) -> list[int]:
    """Where instructions begin; behind bytes that are none it goes on at the next byte, as the decoder does."""
    return [instruction.ip for instruction in Decoder(64, code, ip=address)]


def signedness(made: Instruction, after: Instruction | None) -> tuple[int, int]:
    """(1 for numbers with sign, -1 for those without, 0 where nothing says; bytes of the operands).

    What an instruction takes its operands for, or a comparison by what depends on it. A comparison without sign against
    an immediate says nothing: compilers test two bounds at once that way.
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
        sign = mnemonic == Mnemonic.SHR and native.op_kind(1) in _IMMEDIATES and native.immediate(1) == 8 * width - 1
        return 0 if sign else -1, width
    if mnemonic in _FROM_INTEGERS:
        return 1, _operand_width(native, native.op_count - 1)
    if mnemonic not in (Mnemonic.CMP, Mnemonic.TEST) or after is None:
        return 0, width
    condition = after.native.condition_code if isinstance(after.native, Native) else ConditionCode.NONE
    if condition in _SIGNED_CONDITIONS:
        return 1, width
    if mnemonic == Mnemonic.CMP and condition in _UNSIGNED_CONDITIONS and native.op_kind(1) not in _IMMEDIATES:
        return -1, width
    return 0, width


def shifts_by(made: Instruction) -> int:
    """The register that says by how many bits an instruction shifts; -1 where none does."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic not in _SHIFTS or native.op_count != 2:
        return NONE
    return _NUMBER[native.op_register(1)] if native.op_kind(1) == OpKind.REGISTER else NONE


def _operand_width(native: Native, operand: int) -> int:
    if native.op_kind(operand) == OpKind.REGISTER:
        return _WIDTH[native.op_register(operand)]
    return _size(native.memory_size) if native.op_kind(operand) == OpKind.MEMORY else 0


def moves_vector(made: Instruction) -> int:
    """The vector register that is loaded as it is in memory, or stored; -1 for all else."""
    native = made.native
    if not isinstance(native, Native) or native.mnemonic not in _VECTOR_MOVES or native.op_count != 2:
        return NONE
    for operand in range(2):
        if native.op_kind(operand) == OpKind.REGISTER and native.op_kind(1 - operand) == OpKind.MEMORY:
            return _NUMBER[native.op_register(operand)]
    return NONE


def turned_around(made: Instruction) -> tuple[int, int]:
    """(the register in which the bytes of a number change their order, how many there are); NONE for all else."""
    native = made.native
    if not isinstance(native, Native) or not native.op_count or native.op_kind(0) != OpKind.REGISTER:
        return NONE, 0
    into = native.op_register(0)
    half = native.mnemonic in (Mnemonic.ROL, Mnemonic.ROR) and _WIDTH[into] == 2 and native.op_kind(1) in _IMMEDIATES
    if native.mnemonic == Mnemonic.BSWAP or (half and native.immediate(1) == 8):
        return _NUMBER[into], _WIDTH[into]
    return NONE, 0


def bytes_read(made: Instruction, register: int) -> int:
    """How many bytes of a register an instruction reads as an operand; 0 where it is none."""
    native = made.native
    if not isinstance(native, Native):
        return 0
    named = [native.op_register(k) for k in range(native.op_count) if native.op_kind(k) == OpKind.REGISTER]
    return max((_WIDTH[one] for one in named if _NUMBER[one] == register), default=0)


def immediate_of(made: Instruction) -> int | None:
    """The number an instruction ends with."""
    native = made.native
    last = native.op_count - 1 if isinstance(native, Native) else -1
    if not isinstance(native, Native) or last < 0 or native.op_kind(last) not in _IMMEDIATES:
        return None
    return _immediate(native, last)


def compares(made: Instruction) -> bool:
    """Two numbers are compared."""
    return isinstance(made.native, Native) and made.native.mnemonic == Mnemonic.CMP


def calculates(made: Instruction) -> int:
    """1 where two numbers of one size become a third as addresses may too, a sum or a difference or by a mask; 2 where
    they are no addresses; 0 for all else."""
    native = made.native
    if not isinstance(native, Native):
        return 0
    mnemonic = native.mnemonic
    return 1 if mnemonic in _CALCULATING else 2 if mnemonic in _MULTIPLYING else 0


_NAMES = ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{i}" for i in range(8, 16)), "rip")

MACHINE = Machine(
    "x86_64",
    decode,
    listing=_Lister(),
    starts=starts,
    names=_NAMES,
    general=frozenset(range(16)),
    stack_pointer=RSP,
    frame_pointer=RBP,
    parameters=(RDI, RSI, RDX, RCX, 8, 9),
    result=RAX,
    wide_result=RDX,
    lost_in_calls=frozenset((RAX, RDX, RCX, RSI, RDI, 8, 9, 10, 11)) | VECTORS,
    entry_offset=-8,
    instruction_unit=1,
)
