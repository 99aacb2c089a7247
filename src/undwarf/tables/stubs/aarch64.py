"""Unwind rules of AArch64 procedure linkage tables, for which linkers write none.

A stub leaves the stack alone and the return address in the link register; only the table's header, which asks the
loader for an address, pushes x16 and x30. Source: ELF for the Arm 64-bit Architecture, "Procedure linkage tables", and
what GNU ld and lld write.
"""

from undwarf.elf import ElfFile
from undwarf.tables.registers import AARCH64_SP, X30
from undwarf.tables.rule_kinds import AT_CFA, CFA_REGISTER, RuleSource
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.stubs.common import StubTables

_PUSH = (0xA9BF7BF0).to_bytes(4, "little")
"""stp x16, x30, [sp, #-16]!"""
_LANDING = (0xD503245F).to_bytes(4, "little")
"""bti c"""
_HEADER = 32


class Stubs(StubTables):
    """The linkage tables of one file."""

    def __init__(self, elf: ElfFile, rules: RuleSet) -> None:
        places = []
        for name in (".iplt", ".plt", ".plt.got", ".plt.sec"):
            section = elf.section(name)
            if section is not None and section.size:
                places.append((section.address, section.address + section.size))
        places.sort()
        super().__init__(places)
        self._elf = elf
        self._plain = rules.add((CFA_REGISTER, AARCH64_SP, 0, 0), {}, column=X30, source=RuleSource.CODE)
        saved = {X30: (AT_CFA, -8, 0)}
        self._pushed = rules.add((CFA_REGISTER, AARCH64_SP, 16, 0), saved, column=X30, source=RuleSource.CODE)

    def _all(self, piece: int) -> list[tuple[int, int]]:
        start, end = self.starts[piece], self.ends[piece]
        head = bytes(self._elf.read(start, min(8, end - start)) or b"")
        push = head.find(_PUSH) if head.startswith((_PUSH, _LANDING + _PUSH)) else -1
        if push < 0:
            return [(start, self._plain)]
        found = [(start, self._plain), (start + push + 4, self._pushed)]
        return found if end - start <= _HEADER else [*found, (start + _HEADER, self._plain)]


def stubs(elf: ElfFile, rules: RuleSet) -> Stubs | None:
    """The tables of a file, None if it has none."""
    try:
        made = Stubs(elf, rules)
    except OverflowError:
        return None
    return made if len(made.starts) else None
