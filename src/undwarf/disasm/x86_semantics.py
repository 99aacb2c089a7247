# cython: language_level=3, annotation_typing=False
"""Semantics of the x86-64 instructions that the data flow models: moves, arithmetic, extensions (Intel SDM 2)."""

from iced_x86 import Instruction as Native
from iced_x86 import Mnemonic, OpKind, Register

from undwarf.disasm.instruction import NONE, Instruction
from undwarf.disasm.instruction_semantics import Action
from undwarf.disasm.x86_operands import (
    IMMEDIATES,
    NUMBER,
    RAX,
    RCX,
    SHIFTS,
    VECTOR_MOVES,
    WIDTH,
    XMM0,
    immediate_at,
    register_at,
)

__all__ = ["MODELLED", "set_action"]

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
_CONDITIONS: dict[int, Action] = {Mnemonic.JE: Action.IF_ZERO, Mnemonic.JNE: Action.IF_NOT_ZERO}
_SETTERS: dict[int, Action] = {Mnemonic.SETE: Action.SET_IF_ZERO, Mnemonic.SETNE: Action.SET_IF_NOT_ZERO}
_CARRYING = frozenset((Mnemonic.ADC, Mnemonic.SBB))
_REPEATED = frozenset(
    (
        *(Mnemonic.STOSB, Mnemonic.STOSW, Mnemonic.STOSD, Mnemonic.STOSQ),
        *(Mnemonic.MOVSB, Mnemonic.MOVSW, Mnemonic.MOVSD, Mnemonic.MOVSQ),
    )
)
"""String instructions; MOVSD is also the mnemonic of a floating-point move."""
_UPDATES = frozenset((Mnemonic.ADD, Mnemonic.SUB, Mnemonic.INC, Mnemonic.DEC))
_WORD_MOVES = frozenset((Mnemonic.MOVQ, Mnemonic.VMOVQ))
_UPPER_SETTERS = frozenset((Mnemonic.PUNPCKLQDQ, Mnemonic.UNPCKLPD, Mnemonic.MOVLHPS, Mnemonic.MOVHPS, Mnemonic.MOVHPD))
_UPPER_MOVES = frozenset((Mnemonic.MOVHLPS, Mnemonic.PUNPCKHQDQ, Mnemonic.UNPCKHPD))
_SECOND_BYTES = frozenset((Register.AH, Register.BH, Register.CH, Register.DH))
"""Registers that are the second byte of another one."""
_PAIR, _WORD = 16, 8
"""Sizes in bytes of a vector register of two words, and of a word."""
_LAST_PAIR = XMM0 + 15
"""The upper words of later vector registers are not tracked."""


def set_action(made: Instruction, native: Native, mnemonic: int) -> None:
    """Set the action of an instruction and its operands, if its semantics are modelled."""
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
    width = WIDTH[into] if into else 0
    if mnemonic == Mnemonic.MOV:
        _move(made, native, first, second, into, width)
    elif mnemonic == Mnemonic.LEA:
        if width >= 4:
            made.action, made.destination, made.width = Action.ADDRESS, NUMBER[into], width
    elif mnemonic in _WIDENING:
        _widen(made, native, mnemonic, second, into, width)
    elif mnemonic in _UPDATES and first == OpKind.MEMORY and made.memory:
        _update(made, native, mnemonic, second)
    elif mnemonic == Mnemonic.OR and first == OpKind.MEMORY and second in IMMEDIATES:
        made.action, made.immediate, made.width = Action.OR, immediate_at(native, 1), made.memory[0].size
    elif mnemonic in _ARITHMETIC and width >= 4:
        _arithmetic(made, native, _ARITHMETIC[mnemonic], second, into, width)
    elif mnemonic == Mnemonic.OR and width >= 4 and second in IMMEDIATES:
        made.action, made.destination, made.left = Action.OR, NUMBER[into], NUMBER[into]
        made.immediate, made.width = immediate_at(native, 1), width
    elif mnemonic in (Mnemonic.INC, Mnemonic.DEC) and width >= 4:
        made.action, made.destination, made.left = Action.ADD, NUMBER[into], NUMBER[into]
        made.immediate, made.width = 1 if mnemonic == Mnemonic.INC else -1, width
    elif mnemonic in SHIFTS and width >= 4:
        if second in IMMEDIATES:
            made.action, made.destination, made.left = SHIFTS[mnemonic], NUMBER[into], NUMBER[into]
            made.immediate, made.width = native.immediate(1) & (63 if width == 8 else 31), width
    elif mnemonic == Mnemonic.IMUL and width >= 4 and count > 1:
        if count == 3 and (second == OpKind.REGISTER or (made.memory and not made.memory[0].implicit)):
            # A factor from memory is unknown.
            made.action, made.destination, made.left = Action.MULTIPLY, NUMBER[into], register_at(native, 1)
            made.immediate, made.width = immediate_at(native, 2), width
        elif count == 2 and second == OpKind.REGISTER:
            made.action, made.destination, made.left = Action.MULTIPLY, NUMBER[into], NUMBER[into]
            made.right, made.width = register_at(native, 1), width
    elif mnemonic == Mnemonic.NEG and width >= 4:
        made.action, made.destination, made.left = Action.MULTIPLY, NUMBER[into], NUMBER[into]
        made.immediate, made.width = -1, width
    elif mnemonic in _CARRYING and width == 8 and second in IMMEDIATES:
        made.action, made.destination, made.left, made.width = Action.CARRY, NUMBER[into], NUMBER[into], width
        made.immediate = immediate_at(native, 1) if mnemonic == Mnemonic.ADC else -immediate_at(native, 1)
    elif mnemonic in (Mnemonic.XOR, Mnemonic.SUB) and width >= 4:
        if second == OpKind.REGISTER and native.op_register(1) == into:
            made.action, made.destination, made.immediate, made.width = Action.CONSTANT, NUMBER[into], 0, width
    elif mnemonic in _CONDITIONAL_MOVES and width == 8:
        made.action, made.destination, made.left = Action.SELECT, NUMBER[into], NUMBER[into]
        made.right = register_at(native, 1)
    elif mnemonic == Mnemonic.XCHG and width == 8 and second == OpKind.REGISTER:
        made.action, made.left, made.right = Action.EXCHANGE, NUMBER[into], register_at(native, 1)
    elif mnemonic == Mnemonic.PUSH:
        made.action, made.left = Action.PUSH, NUMBER[into] if into else NONE
        if made.left == NONE and first in IMMEDIATES:
            made.immediate = immediate_at(native, 0)
    elif mnemonic == Mnemonic.POP and into:
        made.action, made.destination = Action.POP, NUMBER[into]
    elif mnemonic in _WORD_MOVES and count == 2:
        _move_word(made, native, first, second)
    elif mnemonic in VECTOR_MOVES:
        _move_pair(made, native, first, second)
    elif mnemonic in _UPPER_SETTERS or mnemonic in _UPPER_MOVES:
        _move_upper(made, native, mnemonic, first, second)
    elif mnemonic in _SETTERS:
        if into and into not in _SECOND_BYTES:
            made.action, made.left, made.width = _SETTERS[mnemonic], NUMBER[into], width
    elif mnemonic == Mnemonic.TEST:
        if width and second == OpKind.REGISTER and native.op_register(1) == into:
            made.action, made.left, made.width = Action.TEST, NUMBER[into], width
    elif mnemonic == Mnemonic.CMP:
        if width >= 4 and second in IMMEDIATES:
            made.action, made.left, made.width, made.immediate = (
                Action.COMPARE,
                NUMBER[into],
                width,
                immediate_at(native, 1),
            )
    elif mnemonic in _REPEATED and native.is_string_instruction:
        made.action, made.left = Action.REPEAT, RCX if native.has_rep_prefix else NONE


def _move(made: Instruction, native: Native, first: int, second: int, into: int, width: int) -> None:
    if first == OpKind.MEMORY:
        made.action, made.width = Action.STORE, made.memory[0].size if made.memory else 0
        if second == OpKind.REGISTER:
            made.left = NUMBER[native.op_register(1)]
        else:
            made.immediate = immediate_at(native, 1)
        return
    if width < 4 or not into:
        return
    made.destination, made.width = NUMBER[into], width
    if made.destination == NONE:
        return
    if second == OpKind.REGISTER:
        source = NUMBER[native.op_register(1)]
        if source != NONE:
            made.action, made.left = Action.COPY, source
    elif second == OpKind.MEMORY:
        if made.memory:
            made.action = Action.LOAD
    elif second in IMMEDIATES:
        value = immediate_at(native, 1)
        made.action, made.immediate = Action.CONSTANT, value if width == 8 else value & 0xFFFFFFFF


def _widen(made: Instruction, native: Native, mnemonic: int, second: int, into: int, width: int) -> None:
    if width < 4:
        return
    made.destination, made.signed = NUMBER[into], mnemonic != Mnemonic.MOVZX
    if second == OpKind.REGISTER:
        source = native.op_register(1)
        if source in _SECOND_BYTES:
            return
        made.action, made.left, made.width = Action.EXTEND, NUMBER[source], WIDTH[source]
    elif made.memory:
        made.action, made.width = Action.LOAD, width


def _arithmetic(made: Instruction, native: Native, action: Action, second: int, into: int, width: int) -> None:
    register = NUMBER[into]
    if second == OpKind.REGISTER:
        if action == Action.SUBTRACT and native.op_register(1) == into:
            made.action, made.destination, made.immediate, made.width = Action.CONSTANT, register, 0, width
            return
        made.right = NUMBER[native.op_register(1)]
    elif second in IMMEDIATES:
        made.immediate = immediate_at(native, 1)
    elif second == OpKind.MEMORY and made.memory and action == Action.ADD and width == 8:
        made.action, made.destination, made.left, made.width = Action.ADD_MEMORY, register, register, width
        return
    else:
        return
    made.action, made.destination, made.left, made.width = action, register, register, width


def _update(made: Instruction, native: Native, mnemonic: int, second: int) -> None:
    """An addition to memory, or a subtraction from it."""
    if mnemonic in (Mnemonic.INC, Mnemonic.DEC):
        made.immediate = 1 if mnemonic == Mnemonic.INC else -1
    elif second in IMMEDIATES:
        made.immediate = immediate_at(native, 1) if mnemonic == Mnemonic.ADD else -immediate_at(native, 1)
    elif second == OpKind.REGISTER:
        register = NUMBER[native.op_register(1)]
        made.left, made.right = (register, NONE) if mnemonic == Mnemonic.ADD else (NONE, register)
    else:
        return
    made.action, made.width = Action.UPDATE, made.memory[0].size


def _move_word(made: Instruction, native: Native, first: int, second: int) -> None:
    """A move of a word between memory, general and vector registers."""
    if first == OpKind.REGISTER:
        made.destination = NUMBER[native.op_register(0)]
        if second == OpKind.REGISTER:
            made.action, made.left = Action.COPY, NUMBER[native.op_register(1)]
        elif made.memory:
            made.action = Action.LOAD
    elif made.memory and second == OpKind.REGISTER:
        made.action, made.left = Action.STORE, NUMBER[native.op_register(1)]


def _move_pair(made: Instruction, native: Native, first: int, second: int) -> None:
    """A move of both words of a vector register, from or to memory or another one."""
    into, source = register_at(native, 0), register_at(native, 1)
    register = native.op_register(0 if first == OpKind.REGISTER else 1)
    if WIDTH[register] != _PAIR or max(into, source) > _LAST_PAIR:
        return
    if second == first:
        made.action, made.destination, made.left = Action.COPY_PAIR, into, source
    elif made.memory and second == OpKind.MEMORY:
        made.action, made.destination = Action.LOAD_PAIR, into
    elif made.memory:
        made.action, made.left = Action.STORE_PAIR, source


def _move_upper(made: Instruction, native: Native, mnemonic: int, first: int, second: int) -> None:
    """A move from or to the upper word of a vector register."""
    if first != OpKind.REGISTER:
        return
    into, source = NUMBER[native.op_register(0)], register_at(native, 1)
    if mnemonic in _UPPER_SETTERS:
        if second == OpKind.REGISTER or (made.memory and made.memory[0].size == _WORD):
            made.action, made.destination, made.left = Action.SET_UPPER, into, source
    elif mnemonic == Mnemonic.MOVHLPS or source == into:
        made.action, made.destination, made.left = Action.COPY_UPPER, into, source


MODELLED = frozenset(
    (
        *(Mnemonic.MOV, Mnemonic.LEA, Mnemonic.OR, Mnemonic.XOR, Mnemonic.IMUL, Mnemonic.XCHG, Mnemonic.PUSH),
        *(Mnemonic.POP, Mnemonic.LEAVE, Mnemonic.CDQE, Mnemonic.NEG, *_WIDENING, *_UPDATES, *_ARITHMETIC, *SHIFTS),
        *(*_CONDITIONAL_MOVES, *_WORD_MOVES, *_CARRYING, *_CONDITIONS, *_REPEATED, Mnemonic.TEST, Mnemonic.CMP),
        *(*VECTOR_MOVES, *_UPPER_SETTERS, *_UPPER_MOVES, *_SETTERS),
    )
)
"""Mnemonics for which ``set_action`` may set an action."""
