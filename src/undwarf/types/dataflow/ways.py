"""Ways through a kernel's code that its instructions do not show: static branches, and what follows a fault.

A static branch is a jump, or an instruction that does nothing in the place of one, which the kernel rewrites while it
runs; its jump table says where both are (linux/jump_label.h, `struct jump_entry`, whose places are relative to
themselves). An access that may fault goes on at its fixup (asm/extable.h of x86, `struct exception_table_entry`).
"""

from bisect import bisect_left
from functools import cached_property

from undwarf.elf import ElfFile
from undwarf.symbols.table import SymbolTable

__all__ = ["KernelWays"]

_JUMP_TABLE, _FAULTS = "__jump_table", "__ex_table"
_JUMP_SIZE, _FAULT_SIZE = 16, 12
_MOST = 1 << 18
"""Entries of a table that are read."""


class KernelWays:
    """The ways of one kernel or module for x86-64; none where the tables are not found."""

    def __init__(self, elf: ElfFile, symbols: SymbolTable | None) -> None:
        self._elf = elf
        self._symbols = symbols

    def between(self, low: int, high: int) -> list[tuple[int, int]]:
        """(address of an instruction, where execution may go on beside what it says) in a range of code."""
        ways = self._ways
        return ways[bisect_left(ways, (low, -1)) : bisect_left(ways, (high, -1))]

    @cached_property
    def _ways(self) -> list[tuple[int, int]]:
        start, size = self._jump_table()
        found = self._entries(start, size, _JUMP_SIZE)
        faults = self._elf.section(_FAULTS)
        if faults is not None:
            found += self._entries(faults.address, faults.size, _FAULT_SIZE)
        found.sort()
        return found

    def _jump_table(self) -> tuple[int, int]:
        """A section of a module; a part of a kernel's data that its linker script names."""
        section = self._elf.section(_JUMP_TABLE)
        if section is not None:
            return section.address, section.size
        if self._symbols is None:
            return 0, 0
        start, stop = (
            self._symbols.address_of_name(name) for name in (b"__start___jump_table", b"__stop___jump_table")
        )
        return (start, stop - start) if start is not None and stop is not None else (0, 0)

    def _entries(self, start: int, size: int, each: int) -> list[tuple[int, int]]:
        """The two places at the begin of each entry, 32 bits from themselves."""
        size = min(size, _MOST * each)
        data = self._elf.read(start, size) if size > 0 else None
        if data is None:
            return []
        words = memoryview(bytes(data[: len(data) - len(data) % each])).cast("i")
        step = each // 4
        return [(start + 4 * at + words[at], start + 4 * at + 4 + words[at + 1]) for at in range(0, len(words), step)]
