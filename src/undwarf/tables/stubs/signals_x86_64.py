"""Unwind rules of the code that signal handlers return to on x86-64 Linux, where nothing describes it: musl and Go have
their own.

The code is one system call, to resume what was interrupted. The stack pointer then points to the ``struct ucontext`` of
the kernel, which has all registers. Sources: ``rt_sigreturn`` and ``struct sigcontext_64`` of Linux
(arch/x86/include/uapi/asm/sigcontext.h, arch/x86/kernel/signal_64.c).
"""

from undwarf.elf import ElfFile
from undwarf.elf.headers import PF_X
from undwarf.tables.python_rows import PairSource
from undwarf.tables.registers import RIP, RSP
from undwarf.tables.rule_format import NO_RULE
from undwarf.tables.rule_kinds import AT_REGISTER, CFA_DEREF
from undwarf.tables.rule_set import RuleSet

RETURN = b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
"""mov $15,%rax; syscall"""
_REGISTERS = {
    8: 40, 9: 48, 10: 56, 11: 64, 12: 72, 13: 80, 14: 88, 15: 96,
    5: 104, 4: 112, 6: 120, 3: 128, 1: 136, 0: 144, 2: 152, RIP: 168,
}  # fmt: skip
"""Offsets of the kernel's copies of registers, by DWARF number, in bytes from the stack pointer; that of the stack
pointer is at 160."""
_PLACE_OF_RSP = 160
_PADDING = (0x90, 0xCC, 0x00)
_MOST = 16
_MOST_BYTES = 64 << 20


def add_rule(rules: RuleSet, source: int) -> int:
    """The number of the rule; NO_RULE if the set is full."""
    saved = {register: (AT_REGISTER, place, RSP) for register, place in _REGISTERS.items()}
    cfa = (CFA_DEREF, RSP, _PLACE_OF_RSP, 0)
    try:
        return rules.add(cfa, saved, column=RIP, source=source, signal=True)
    except OverflowError:
        return NO_RULE


def signal_returns(elf: ElfFile, rules: RuleSet, source: int) -> PairSource | None:
    """The code of a file to which signal handlers return, None if it has none.

    A range begins one byte early where nothing else is: callers are looked up by the byte before the return address.
    """
    ranges: list[tuple[int, int]] = []
    for load in elf.loads:
        if not load.flags & PF_X:
            continue
        code = bytes(elf.data[load.offset : load.offset + min(load.file_size, _MOST_BYTES)])
        at = code.find(RETURN)
        while at >= 0 and len(ranges) < _MOST:
            early = 1 if at and code[at - 1] in _PADDING else 0
            ranges.append((load.address + at - early, load.address + at + len(RETURN)))
            at = code.find(RETURN, at + len(RETURN))
    ranges.sort()
    ranges = [one for i, one in enumerate(ranges) if not i or ranges[i - 1][1] <= one[0]]
    if not ranges:
        return None
    rule = add_rule(rules, source)
    return PairSource(ranges, lambda start, _end: [(start, rule)], apart=True)
