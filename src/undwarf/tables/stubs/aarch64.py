"""Unwind rules of AArch64 procedure linkage tables, for which linkers write none.

A stub does not change the stack, and the return address is in the link register; only the table's header, which asks
the loader for an address, pushes x16 and x30. Source: ELF for the Arm 64-bit Architecture, "Procedure linkage tables",
and the output of GNU ld and lld.
"""

from undwarf.elf import ElfFile
from undwarf.tables.python_rows import PairSource
from undwarf.tables.registers import AARCH64_SP, X30
from undwarf.tables.rule_kinds import AT_CFA, CFA_REGISTER, RuleSource
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.stubs.sections import table_ranges

_PUSH = (0xA9BF7BF0).to_bytes(4, "little")
"""stp x16, x30, [sp, #-16]!"""
_LANDING = (0xD503245F).to_bytes(4, "little")
"""bti c"""
_HEADER = 32


def stubs(elf: ElfFile, rules: RuleSet) -> PairSource | None:
    """The tables of a file, None if it has none."""
    ranges = table_ranges(elf)
    if not ranges:
        return None
    try:
        plain = rules.add((CFA_REGISTER, AARCH64_SP, 0, 0), {}, column=X30, source=RuleSource.CODE)
        saved = {X30: (AT_CFA, -8, 0)}
        pushed = rules.add((CFA_REGISTER, AARCH64_SP, 16, 0), saved, column=X30, source=RuleSource.CODE)
    except OverflowError:
        return None

    def rows_of(start: int, end: int) -> list[tuple[int, int]]:
        head = bytes(elf.read(start, min(8, end - start)) or b"")
        push = head.find(_PUSH) if head.startswith((_PUSH, _LANDING + _PUSH)) else -1
        if push < 0:
            return [(start, plain)]
        found = [(start, plain), (start + push + 4, pushed)]
        return found if end - start <= _HEADER else [*found, (start + _HEADER, plain)]

    return PairSource(ranges, rows_of, apart=True)
