"""ORC entries in each layout that kernels have used, decoded, and the equivalent rules.

Sources: struct orc_entry and its numbers in arch/x86/include/asm/orc_types.h (Linux 4.14, 6.3, 6.4, 7.1) and
arch/loongarch/include/asm/orc_types.h; ``unwind_next_frame`` in unwind_orc.c of both; struct pt_regs.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from undwarf.elf.headers import EM_LOONGARCH, EM_X86_64
from undwarf.tables.registers import ARCHITECTURES, LOONGARCH_PC, RBP, RIP, RSP
from undwarf.tables.rule_kinds import (
    AT_CFA,
    AT_REGISTER,
    CFA_DEREF,
    CFA_REGISTER,
    CFA_UNDEFINED,
    FLAG_INTERRUPTED,
    FLAG_OUTERMOST,
    FLAG_SIGNAL,
    UNDEFINED,
)


class Kind(Enum):
    """The frame of an entry: unknown, the outermost, called, or interrupted, with all or five registers saved."""

    UNDEFINED = 0
    END = 1
    CALL = 2
    REGS = 3
    PARTIAL = 4


class Base(Enum):
    """The base of an offset. BP is the frame pointer of either machine. The indirect ones read a word: at BP and the
    offset, or at SP, to which the offset is then added."""

    UNDEFINED = 0
    PREV_SP = 1
    SP = 2
    BP = 3
    SP_INDIRECT = 4
    BP_INDIRECT = 5
    AX = 6
    DX = 7
    DI = 8
    R10 = 9
    R13 = 10


class Entry(NamedTuple):
    """One entry in numbers that do not depend on the layout. ``ra`` and ``ra_offset`` are LoongArch's only."""

    kind: Kind
    base: Base = Base.UNDEFINED
    offset: int = 0
    frame: Base = Base.UNDEFINED
    frame_offset: int = 0
    signal: bool = False
    ra: Base = Base.UNDEFINED
    ra_offset: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """One layout of entries.

    ``name`` is ours, ``since`` the first kernel that had it; ``bases`` and ``kinds`` are in the order of their numbers.
    ``kind_bits`` is the width of a kind, ``signal_bit`` the position of the bit for interrupted callers and ``end_bit``
    that of the bit that distinguishes an outermost frame from an unknown one; -1 if there is none.
    """

    name: str
    since: str
    machine: int
    size: int
    bases: tuple[Base, ...]
    kinds: tuple[Kind, ...]
    kind_at: int
    kind_bits: int
    signal_bit: int
    end_bit: int

    @property
    def used(self) -> int:
        """The bits of the flags that are in use."""
        bits = (1 << self.kind_at + self.kind_bits) - 1
        for bit in (self.signal_bit, self.end_bit):
            bits |= 1 << bit if bit >= 0 else 0
        return bits


_B, _K = Base, Kind
_OLD_BASES = (
    _B.UNDEFINED, _B.PREV_SP, _B.DX, _B.DI, _B.BP, _B.SP, _B.R10, _B.R13, _B.BP_INDIRECT, _B.SP_INDIRECT,
)  # fmt: skip  # a table
_NEW_BASES = (
    _B.UNDEFINED, _B.AX, _B.DX, _B.SP, _B.BP, _B.DI, _B.R10, _B.R13, _B.PREV_SP, _B.SP_INDIRECT, _B.BP_INDIRECT,
)  # fmt: skip  # a table
_OLD_KINDS = (_K.CALL, _K.REGS, _K.PARTIAL)
_NEW_KINDS = (_K.UNDEFINED, _K.END, _K.CALL, _K.REGS, _K.PARTIAL)

LAYOUT_1 = Layout("1", "4.14", EM_X86_64, 6, _OLD_BASES, _OLD_KINDS, 8, 2, -1, 10)
LAYOUT_2 = Layout("2", "6.3", EM_X86_64, 6, _OLD_BASES, _OLD_KINDS, 8, 2, 10, 11)
LAYOUT_3 = Layout("3", "6.4", EM_X86_64, 6, _OLD_BASES, _NEW_KINDS, 8, 3, 11, -1)
LAYOUT_3_AX = Layout("3", "6.4", EM_X86_64, 6, (*_OLD_BASES, _B.AX), _NEW_KINDS, 8, 3, 11, -1)
"""A stable kernel's, which got AX as a further number."""
LAYOUT_4 = Layout("4", "7.1", EM_X86_64, 6, _NEW_BASES, _NEW_KINDS, 8, 3, 11, -1)
LAYOUT_LOONGARCH = Layout(
    "loongarch", "6.9", EM_LOONGARCH, 8, (_B.UNDEFINED, _B.PREV_SP, _B.SP, _B.BP), _NEW_KINDS, 12, 3, 15, -1
)

X86_LAYOUTS = (LAYOUT_1, LAYOUT_2, LAYOUT_3, LAYOUT_4)

HEADERS = {
    bytes.fromhex("137c36ad7627c4dd55932176bb0ecdbd5041fc82"): LAYOUT_4,
    bytes.fromhex("fe5d32bf581bd63b2ca9a5c65ba5a625eab3fe24"): LAYOUT_3,
    bytes.fromhex("edfa4d15552fdd2e1d56679728416379f2fe4534"): LAYOUT_3_AX,
    bytes.fromhex("db84aed4103b31dd51e017f8f79783ca985c2c51"): LAYOUT_2,
    bytes.fromhex("d9f45aafc6d2a2889d601ec9e3fe1092dac249dc"): LAYOUT_LOONGARCH,
}
"""Layouts by what `.orc_header` holds: the SHA-1 of the structure's lines (scripts/orc_hash.sh)."""


def _signed(value: int) -> int:
    return (value & 0xFFFF ^ 0x8000) - 0x8000


def decode(layout: Layout, value: int) -> Entry | None:
    """The entry in a little-endian number; None for one that the kernel rejects."""
    words = [_signed(value >> 16 * i) for i in range(layout.size // 2 - 1)]
    flags = value >> 16 * len(words)
    offset, frame_offset = words[:2]
    number, frame_number = flags & 15, flags >> 4 & 15
    kind_number = flags >> layout.kind_at & (1 << layout.kind_bits) - 1
    ra_number = flags >> 8 & 15 if layout.machine == EM_LOONGARCH else 0
    if (
        flags & ~layout.used
        or kind_number >= len(layout.kinds)
        or max(number, frame_number, ra_number) >= len(layout.bases)
    ):
        return None
    kind = layout.kinds[kind_number]
    base, frame, ra = layout.bases[number], layout.bases[frame_number], layout.bases[ra_number]
    signal = bool(flags >> layout.signal_bit & 1) if layout.signal_bit >= 0 else kind is not Kind.CALL
    if layout.end_bit >= 0 and base is Base.UNDEFINED:
        kind = Kind.END if flags >> layout.end_bit & 1 else Kind.UNDEFINED
        signal = signal and layout.signal_bit >= 0
    if kind not in (Kind.UNDEFINED, Kind.END):
        if base in (Base.UNDEFINED, Base.PREV_SP) or frame not in (Base.UNDEFINED, Base.PREV_SP, Base.BP):
            return None
        if layout.machine == EM_LOONGARCH and (
            frame is Base.BP or ra not in (Base.UNDEFINED, Base.PREV_SP) or kind is Kind.PARTIAL
        ):
            return None
    ra_offset = words[2] if layout.machine == EM_LOONGARCH else 0
    return Entry(kind, base, offset, frame, frame_offset, signal, ra, ra_offset)


def encode(layout: Layout, entry: Entry) -> int | None:
    """The number of an entry; None if the layout has none."""
    kind, base = entry.kind, entry.base
    if any(one not in layout.bases for one in (base, entry.frame, entry.ra)):
        return None
    flags = layout.bases.index(base) | layout.bases.index(entry.frame) << 4
    if layout.end_bit >= 0 and kind in (Kind.UNDEFINED, Kind.END):
        if base is not Base.UNDEFINED:
            return None
        flags |= (1 << layout.end_bit) * (kind is Kind.END)
    else:
        flags |= layout.kinds.index(kind) << layout.kind_at
    if layout.signal_bit >= 0:
        flags |= entry.signal << layout.signal_bit
    elif entry.signal != (kind in (Kind.REGS, Kind.PARTIAL)):
        return None
    words = [entry.offset, entry.frame_offset]
    if layout.machine == EM_LOONGARCH:
        flags |= layout.bases.index(entry.ra) << 8
        words.append(entry.ra_offset)
    if not all(-0x8000 <= word < 0x8000 for word in words):
        return None
    value = flags << 16 * len(words)
    for i, word in enumerate(words):
        value |= (word & 0xFFFF) << 16 * i
    return value


# Rules -----------------------------------------------------------------------------------------------------


class RuleWords(NamedTuple):
    """A rule as :meth:`undwarf.tables.rule_set.RuleSet.add` takes it."""

    cfa: tuple[int, int, int, int]
    registers: dict[int, tuple[int, int, int]]
    column: int
    signal: bool
    flags: int


_X86_64, _LOONGARCH = ARCHITECTURES[EM_X86_64], ARCHITECTURES[EM_LOONGARCH]
_SCRATCH = {Base.AX: 0, Base.DX: 1, Base.DI: 5, Base.R10: 10, Base.R13: 13}
"""Bases whose value only an interrupted frame has, by DWARF register; the kernel uses it without the offset."""
_BASE_OF = {number: base for base, number in _SCRATCH.items()} | {RSP: Base.SP, RBP: Base.BP}

_PT_REGS = {
    15: 0, 14: 8, 13: 16, 12: 24, RBP: 32, 3: 40, 11: 48, 10: 56, 9: 64, 8: 72, 0: 80, 2: 88, 1: 96, 4: 104, 5: 112,
    RIP: 128, RSP: 152,
}  # fmt: skip
"""Where struct pt_regs has the registers, by DWARF number (arch/x86/include/asm/ptrace.h)."""
_UNKNOWN = {number: (UNDEFINED, 0, 0) for number in (*_X86_64.callee_saved, *_SCRATCH.values()) if number != RBP}
"""Registers that ORC does not track: the function may have saved them anywhere."""
_CALL_IP, _REGS_IP, _PARTIAL_IP, _PARTIAL_SP = -8, 128, 0, 24

_RA, _SP, _FP = _LOONGARCH.return_address, _LOONGARCH.stack_pointer, _LOONGARCH.frame_pointer
_LOONGARCH_REGS = {_RA: 8, _SP: 24, _FP: 176, LOONGARCH_PC: 264}
"""The registers that the unwinder reads from struct pt_regs (arch/loongarch/include/asm/ptrace.h): regs, orig_a0,
csr_era."""


def rule_of(layout: Layout, entry: Entry) -> RuleWords | None:
    """The rule of an entry; None for code with an unknown frame."""
    if entry.kind is Kind.UNDEFINED:
        return None
    if layout.machine == EM_LOONGARCH:
        return _rule_of_loongarch(entry)
    if entry.kind is Kind.END:
        return RuleWords((CFA_UNDEFINED, 0, 0, 0), {RIP: (UNDEFINED, 0, 0)}, RIP, entry.signal, 0)
    base, offset = entry.base, entry.offset
    if base in (Base.SP, Base.BP):
        cfa = CFA_REGISTER, RSP if base is Base.SP else RBP, offset, 0
    elif base is Base.SP_INDIRECT:
        cfa = CFA_DEREF, RSP, 0, offset
    elif base is Base.BP_INDIRECT:
        cfa = CFA_DEREF, RBP, offset, 0
    else:
        # The last word keeps the entry's offset, which the walk does not need.
        cfa = CFA_REGISTER, _SCRATCH[base], 0, offset
    if entry.kind is Kind.REGS:
        registers = {number: (AT_CFA, at, 0) for number, at in _PT_REGS.items()}
        flags = FLAG_INTERRUPTED
    elif entry.kind is Kind.PARTIAL:
        # Only five registers were saved: others that an earlier interruption saved are still valid.
        registers = {RIP: (AT_CFA, _PARTIAL_IP, 0), RSP: (AT_CFA, _PARTIAL_SP, 0)}
        flags = FLAG_INTERRUPTED
    else:
        registers = {RIP: (AT_CFA, _CALL_IP, 0), **_UNKNOWN}
        flags = 0
    if entry.frame is Base.PREV_SP:
        registers[RBP] = AT_CFA, entry.frame_offset, 0
    elif entry.frame is Base.BP:
        registers[RBP] = AT_REGISTER, entry.frame_offset, RBP
    return RuleWords(cfa, registers, RIP, entry.signal, flags)


def _rule_of_loongarch(entry: Entry) -> RuleWords:
    if entry.kind is Kind.END:
        return RuleWords((CFA_UNDEFINED, 0, 0, 0), {_RA: (UNDEFINED, 0, 0)}, _RA, entry.signal, 0)
    # The kernel uses the frame pointer without the offset.
    cfa = (CFA_REGISTER, _SP, entry.offset, 0) if entry.base is Base.SP else (CFA_REGISTER, _FP, 0, entry.offset)
    registers = {number: (UNDEFINED, 0, 0) for number in _LOONGARCH.callee_saved if number != _FP}
    column, flags = _RA, 0
    if entry.kind is Kind.REGS:
        registers |= {number: (AT_CFA, at, 0) for number, at in _LOONGARCH_REGS.items()}
        column, flags = LOONGARCH_PC, FLAG_INTERRUPTED
    if entry.ra is Base.PREV_SP and entry.kind is Kind.CALL:
        registers[_RA] = AT_CFA, entry.ra_offset, 0
    if entry.frame is Base.PREV_SP:
        registers[_FP] = AT_CFA, entry.frame_offset, 0
    return RuleWords(cfa, registers, column, entry.signal, flags)


def entry_of(words: list[int]) -> "Entry | str":
    """The entry for the call frame address, the return address and the frame pointer of a rule of x86-64; the reason,
    if there is none.

    ``words`` are the rule's, in the order of `tables/rule.pxd`. Other registers are ignored: ORC does not track them.
    """
    kind, register, offset, extra, flags, _source, count, column = words[:8]
    signal = bool(flags & FLAG_SIGNAL)
    if column != RIP:
        return "of another machine"
    if flags & FLAG_OUTERMOST:
        return Entry(Kind.END, signal=signal)
    base = _BASE_OF.get(register)
    if kind == CFA_REGISTER and base in (Base.SP, Base.BP):
        pass
    elif kind == CFA_REGISTER and base is not None and offset == 0:
        offset = extra
    elif kind == CFA_DEREF and register == RSP and offset == 0:
        base, offset = Base.SP_INDIRECT, extra
    elif kind == CFA_DEREF and register == RBP and extra == 0:
        base = Base.BP_INDIRECT
    elif kind in (CFA_REGISTER, CFA_DEREF):
        return "call frame address by a register that ORC does not have"
    else:
        return "call frame address by an expression"
    assert base is not None
    saved = {words[8 + 4 * i]: tuple(words[9 + 4 * i : 12 + 4 * i]) for i in range(count)}
    address = saved.get(RIP)
    stack = saved.get(RSP)
    bp = saved.get(RBP)
    if address == (AT_CFA, _CALL_IP, 0) and stack is None:
        found = Kind.CALL
    elif address == (AT_CFA, _REGS_IP, 0) and stack == (AT_CFA, _PT_REGS[RSP], 0):
        found = Kind.REGS
    elif address == (AT_CFA, _PARTIAL_IP, 0) and stack == (AT_CFA, _PARTIAL_SP, 0):
        found = Kind.PARTIAL
    else:
        return "return address or stack pointer elsewhere"
    frame, frame_offset = Base.UNDEFINED, 0
    if bp is None or (found is Kind.REGS and bp == (AT_CFA, _PT_REGS[RBP], 0)):
        pass
    elif bp[0] == AT_CFA:
        frame, frame_offset = Base.PREV_SP, bp[1]
    elif bp[0] == AT_REGISTER and bp[2] == RBP:
        frame, frame_offset = Base.BP, bp[1]
    else:
        return "frame pointer elsewhere"
    return Entry(found, base, offset, frame, frame_offset, signal)
