"""Unwind rules of the code that signal handlers return to on x86-64 Linux, where nothing describes it: musl and Go have
their own.

Such code does one thing, ask the kernel to go back to what was interrupted. The stack pointer is then at the
``struct ucontext`` that the kernel has put there, with all registers. Sources: ``rt_sigreturn`` and
``struct sigcontext_64`` of Linux (arch/x86/include/uapi/asm/sigcontext.h, arch/x86/kernel/signal_64.c).
"""

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.elf.headers import PF_X
from undwarf.tables.rule_kinds import AT_REGISTER, CFA_DEREF
from undwarf.tables.rule_set import RuleSet

RETURN = b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
"""mov $15,%rax; syscall"""
_NO_RULE = 0xFFFFFFFF
_RSP, _RETURN_ADDRESS = 7, 16
_REGISTERS = {
    8: 40, 9: 48, 10: 56, 11: 64, 12: 72, 13: 80, 14: 88, 15: 96,
    5: 104, 4: 112, 6: 120, 3: 128, 1: 136, 0: 144, 2: 152, _RETURN_ADDRESS: 168,
}  # fmt: skip  # a table
"""Where the kernel saves DWARF's registers, in bytes from the stack pointer on; the stack pointer itself is at 160."""
_PLACE_OF_RSP = 160
_PADDING = (0x90, 0xCC, 0x00)
_MOST = 16
_MOST_BYTES = 64 << 20


def add_rule(rules: RuleSet, source: int) -> int:
    """The number of the rule; 0xffffffff where the set is full."""
    saved = {register: (AT_REGISTER, place, _RSP) for register, place in _REGISTERS.items()}
    cfa = (CFA_DEREF, _RSP, _PLACE_OF_RSP, 0)
    try:
        return rules.add(cfa, saved, column=_RETURN_ADDRESS, source=source, signal=True)
    except OverflowError:
        return _NO_RULE


class SignalReturns:
    """Where a program has such code: ``starts`` and ``ends`` of each.

    Each begins one byte early where nothing else is: callers are looked up by the byte before the return address.
    """

    indexed = False
    apart = True

    def __init__(self, elf: ElfFile, rules: RuleSet, source: int) -> None:
        places: list[tuple[int, int]] = []
        for load in elf.loads:
            if not load.flags & PF_X:
                continue
            code = bytes(elf.data[load.offset : load.offset + min(load.file_size, _MOST_BYTES)])
            at = code.find(RETURN)
            while at >= 0 and len(places) < _MOST:
                early = 1 if at and code[at - 1] in _PADDING else 0
                places.append((load.address + at - early, load.address + at + len(RETURN)))
                at = code.find(RETURN, at + len(RETURN))
        places.sort()
        places = [one for i, one in enumerate(places) if not i or places[i - 1][1] <= one[0]]
        self.starts: memoryview = zeros("Q", len(places))
        self.ends: memoryview = zeros("Q", len(places))
        for i, (start, end) in enumerate(places):
            self.starts[i], self.ends[i] = start, end
        self._rule = add_rule(rules, source) if places else _NO_RULE

    def rows(self, _piece: int, start: int, _end: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers): the one row."""
        addresses, numbers = zeros("Q", 1), zeros("I", 1)
        addresses[0], numbers[0] = start, self._rule
        return addresses, numbers

    def compile_all(self) -> int:
        """How many rows there are."""
        return len(self.starts)


def signal_returns(elf: ElfFile, rules: RuleSet, source: int) -> SignalReturns | None:
    """Those of a file, None if it has none."""
    found = SignalReturns(elf, rules, source)
    return found if len(found.starts) else None
