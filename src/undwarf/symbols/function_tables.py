"""Function bounds without names, for code without symbols."""

from array import array
from operator import sub

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.tables.function_starts import described_functions, searched_functions

__all__ = ["described_table", "searched_table"]


def described_table(elf: ElfFile, limits: Limits) -> SymbolTable:
    """The functions that a file's unwind information describes, by their ELF virtual addresses."""
    return _nameless(*described_functions(elf, limits))


def searched_table(elf: ElfFile, limits: Limits, described: SymbolTable) -> SymbolTable:
    """The functions that a file's code refers to, including those with unwind information."""
    starts, _ends = described.ranges()
    return _nameless(*searched_functions(elf, starts, limits))


def _nameless(starts: "memoryview[int]", ends: "memoryview[int]") -> SymbolTable:
    count = len(starts)
    sizes = memoryview(array("Q", map(sub, ends, starts)))
    return SymbolTable(starts, sizes, zeros("Q", count), zeros("Q", count), zeros("B", count), None, [b"\0"])
