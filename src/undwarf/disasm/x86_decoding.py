# cython: language_level=3, annotation_typing=False
"""x86-64 instructions (Intel SDM volume 2; System V ABI for registers and calls), decoded by iced-x86.

Disassembly text is not parsed. Instructions that :mod:`undwarf.disasm.x86_semantics` models have an action; all others
only clobber the registers that the decoder lists as written.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from iced_x86 import (
    Decoder,
    FlowControl,
    Formatter,
    FormatterSyntax,
    InstructionInfoFactory,
    MemorySize,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
)
from iced_x86 import Instruction as Native

from undwarf.disasm.flow_control import Flow
from undwarf.disasm.instruction import NONE, Instruction, Memory, as_signed
from undwarf.disasm.x86_operands import NUMBER, RBP, RIP, RSP, element_size, size_of
from undwarf.disasm.x86_semantics import MODELLED, set_action

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["decode", "describe", "flow_of", "starts", "text"]

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
_NO_ACCESS = frozenset(
    (
        *(Mnemonic.PREFETCH, Mnemonic.PREFETCHW, Mnemonic.PREFETCHWT1, Mnemonic.PREFETCHIT0, Mnemonic.PREFETCHIT1),
        *(Mnemonic.PREFETCHNTA, Mnemonic.PREFETCHT0, Mnemonic.PREFETCHT1, Mnemonic.PREFETCHT2),
        *(Mnemonic.CLFLUSH, Mnemonic.CLFLUSHOPT, Mnemonic.CLWB, Mnemonic.INVLPG),
    )
)
_FLOATING = frozenset((MemorySize.FLOAT32, MemorySize.FLOAT64))
_info = InstructionInfoFactory().info


@cache
def _format() -> "Callable[[Any], str]":
    # Created on demand: the first formatter builds a table of all instruction names.
    formatter = Formatter(FormatterSyntax.GAS)
    formatter.uppercase_hex = formatter.branch_leading_zeros = False
    return formatter.format


def text(native: object) -> str:
    return str(_format()(native))


def decode(code: bytes, address: int, most: int = -1) -> list[Instruction]:
    """All instructions of ``code``, or the first ``most``; an invalid byte becomes an instruction of flow STOP."""
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
            describe(instruction, native)
        made.append(instruction)
    return made


def flow_of(native: Native) -> Flow:
    return Flow.STOP if native.mnemonic == Mnemonic.HLT else _FLOWS.get(native.flow_control, Flow.NEXT)


def describe(made: Instruction, native: Native) -> None:
    made._native = native
    made._text = text
    mnemonic = native.mnemonic
    flow = made.flow = flow_of(native)
    if mnemonic == Mnemonic.NOP:
        # Its operand only pads it.
        return
    if flow in _DIRECT and native.op_count:
        made.target = native.near_branch_target
    info = _info(native)
    writes: list[int] = []
    reads: list[int] = []
    for used in info.used_registers():
        number = NUMBER[used.register]
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
    if mnemonic in MODELLED:
        set_action(made, native, mnemonic)


def _memory(native: Native, mnemonic: int, used_memory: Any) -> tuple[Memory, ...]:
    if mnemonic == Mnemonic.LEA:
        base = NUMBER[native.memory_base]
        displacement = as_signed(native.memory_displacement)
        if base == RIP:
            base = NONE
        index = NUMBER[native.memory_index]
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
        size = size_of(kind) if kind else 0
        element = element_size(kind) or size
        if not kind:
            # Repeated string instructions: %rcx elements of this size.
            element = size_of(native.memory_size)
        base = NUMBER[used.base]
        segment = used.segment
        index_register = used.index
        operand = Memory(
            base,
            NUMBER[index_register],
            used.scale,
            as_signed(used.displacement),
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
    """Whether the instruction has an explicit memory operand with this base."""
    for k in range(native.op_count):
        if native.op_kind(k) == OpKind.MEMORY and NUMBER[native.memory_base] == base:
            return True
    return False


def starts(code: bytes, address: int) -> list[int]:
    """The addresses of instructions; after invalid bytes decoding continues at the next byte."""
    return [instruction.ip for instruction in Decoder(64, code, ip=address)]
