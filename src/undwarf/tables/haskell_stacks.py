"""Unwind rules of code that GHC compiles on x86-64, to continue on the C stack.

The Haskell stack is in the heap; rbp points to it. The stack pointer stays where `StgRun` of the runtime left it when
it jumped into Haskell code, below a reserve for functions of C and below the registers that `StgRun` saved, so that its
caller, the scheduler, is at one distance from all Haskell code. Only calls of C move the stack pointer, by an amount
that is added back right after the call. Sources: StgCRun.c and includes/rts/Constants.h of GHC (RESERVED_C_STACK_BYTES,
STG_RUN_STACK_FRAME_SIZE), GHC's CmmToAsm/X86/CodeGen.hs (genCCall64).
"""

import re
import struct
from itertools import pairwise

from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_X86_64, ET_REL, PT_DYNAMIC, SHF_EXECINSTR
from undwarf.tables.python_rows import PairSource
from undwarf.tables.registers import RIP, RSP
from undwarf.tables.rule_format import NO_RULE
from undwarf.tables.rule_kinds import AT_CFA, CFA_REGISTER, FLAG_HASKELL, RuleSource
from undwarf.tables.rule_set import RuleSet

_RESERVED = 16384
"""Bytes of stack reserved for functions of C that Haskell calls."""
_SAVED = {3: -56, 6: -48, 12: -40, 13: -32, 14: -24, 15: -16, RIP: -8}
"""Offsets of the registers that `StgRun` saves, by DWARF number, from the call frame address."""
_FRAME = _RESERVED + 56
"""Bytes from the stack pointer in Haskell code to the call frame address of `StgRun`."""

_DT_NEEDED, _DT_STRTAB, _DT_SONAME = 1, 5, 14
_LIBRARY = b"libHS"
"""How the names of GHC's libraries begin."""
_MOST_DYNAMIC = 1 << 16
_STG_RUN = b"\x11\x03\x80\x70\x11\x06\xff\x6f\x11\x0c\xfe\x6f\x11\x0d\xfd\x6f\x11\x0e\xfc\x6f\x11\x0f\xfb\x6f"
"""Unique to `StgRun` in `.eh_frame`: DW_CFA_offset_extended_sf of the six registers, 16,384 bytes up and more."""
_MOST_DESCRIBED = 1 << 20
"""Bytes of `.eh_frame` that are searched: it describes no code of GHC, so that it is small in programs of Haskell."""

_ENTERED = b"\x48\x83\xec\x30\x48\x89\xe0\x48\x81\xec\x00\x40\x00\x00"
"""How `StgRun` begins: sub $48,%rsp; mov %rsp,%rax; sub $16384,%rsp."""
CALL, CALL_LENGTH = b"\xe8", 5

_BLOCK = 1 << 14
"""Bytes of code that are searched for calls at once."""
_LONGEST = 256
"""Most bytes between the instructions that move the stack pointer down for a call and back."""
_ENTRY = 64
_CALL = re.compile(
    rb"(?:\xe8.{4}|\xff\x15.{4}|\x41?\xff[\xd0-\xd7])\x48(?:\x83\xc4(?P<byte>[\x08-\x78])|\x81\xc4(?P<long>.{3}\0))",
    re.DOTALL,
)
"""A call of C, and `add $bytes,%rsp` after it."""
_DOWN = b"\x48\x83\xec"
"""sub $bytes,%rsp"""


def is_haskell(elf: ElfFile) -> bool:
    """Whether a linked program or library has code of GHC: it is or needs one of GHC's libraries, or has `StgRun`."""
    if elf.machine != EM_X86_64 or not elf.is_64 or elf.byte_order != "little" or elf.kind == ET_REL:
        return False
    return _links_haskell(elf) or _has_stg_run(elf)


def calls_stg_run(elf: ElfFile, address: int) -> bool:
    """Whether a call of `StgRun` ends at an address, as it does in the scheduler."""
    call = bytes(elf.read(address - CALL_LENGTH, CALL_LENGTH) or b"")
    if call[:1] != CALL:
        return False
    target = address + int.from_bytes(call[1:], "little", signed=True)
    return target >= 0 and bytes(elf.read(target, len(_ENTERED)) or b"") == _ENTERED


def _links_haskell(elf: ElfFile) -> bool:
    segment = next((one for one in elf.segments if one.type == PT_DYNAMIC), None)
    if segment is None:
        return False
    data = elf.read(segment.address, min(segment.file_size, _MOST_DYNAMIC) & -16, writable=True) or b""
    entries = list(struct.iter_unpack("<QQ", data))
    names = next((value for tag, value in entries if tag == _DT_STRTAB), 0)
    length = len(_LIBRARY)
    wanted = [names + value for tag, value in entries if tag in (_DT_NEEDED, _DT_SONAME)]
    return any(bytes(elf.read(address, length) or b"") == _LIBRARY for address in wanted)


def _has_stg_run(elf: ElfFile) -> bool:
    section = elf.section(".eh_frame")
    if not elf.entry or section is None or section.size > _MOST_DESCRIBED:
        return False
    data = elf.section_data(section)
    return data is not None and _STG_RUN in bytes(data)


def add_rule(rules: RuleSet, below: int = 0) -> int:
    """The number of the rule of Haskell code with the stack pointer ``below`` bytes under its usual place; NO_RULE if
    the set is full. It applies only if the return address follows a call of `StgRun`."""
    saved = {register: (AT_CFA, place, 0) for register, place in _SAVED.items()}
    cfa = (CFA_REGISTER, RSP, _FRAME + below, 0)
    try:
        return rules.add(cfa, saved, column=RIP, source=RuleSource.CODE, flags=FLAG_HASKELL)
    except OverflowError:
        return NO_RULE


def depths(code: bytes) -> list[tuple[int, int]]:
    """(offset, bytes that the stack pointer is below its usual place) of code, ascending; -1 if unknown."""
    found = [(0, 0)]
    done = 0
    for call in _CALL.finditer(code):
        bytes_back = call["byte"][0] if call["byte"] else int.from_bytes(call["long"], "little")
        at = code.rfind(_DOWN, max(done, call.start() - _LONGEST), call.start())
        if at >= 0:
            # More arguments than registers are pushed, one by one.
            below = code[at + len(_DOWN)]
            found.append((at + len(_DOWN) + 1, below if below == bytes_back else -1))
        if found[-1][1] != bytes_back:
            found.append((call.start(), bytes_back))
        done = call.end()
        found.append((done, 0))
    return found


def source(elf: ElfFile, rules: RuleSet) -> PairSource | None:
    """The code of a file compiled by GHC, in blocks; None if there is none. Nothing else describes it."""
    if not is_haskell(elf):
        return None
    ranges: list[tuple[int, int]] = []
    sections: dict[int, tuple[int, int]] = {}
    end = 0
    for section in sorted(elf.sections, key=lambda one: one.address):
        low, high = max(section.address, end), section.address + min(section.size, len(elf.data))
        if section.flags & SHF_EXECINSTR and section.name.startswith(".text") and low < high:
            # Nothing calls a program's first instructions, and they belong to no function around them.
            bounds = {*range(low, high, _BLOCK), elf.entry, elf.entry + _ENTRY, high}
            blocks = list(pairwise(sorted(bound for bound in bounds if low <= bound <= high)))
            ranges += blocks
            sections |= {start: (low, high) for start, _ in blocks}
            end = high

    def rows_of(start: int, end: int) -> list[tuple[int, int]]:
        # Calls at a block's ends begin and end in its neighbours.
        low, high = max(sections[start][0], start - _LONGEST), min(sections[start][1], end + _LONGEST)
        code = bytes(elf.read(low, high - low) or b"") if start != elf.entry else b""
        if not code:
            return [(start, NO_RULE)]
        found = depths(code)
        rule = {below: add_rule(rules, below) if below >= 0 else NO_RULE for below in {one for _, one in found}}
        return [(low + at, rule[below]) for at, below in found]

    return PairSource(ranges, rows_of, on_demand=True) if ranges else None
