"""The start addresses of functions without symbols, from unwind information, else from code.

A stripped program still describes each function for unwinding (one FDE of `.eh_frame` a function, an SFrame function
entry), because exceptions and backtraces need it at run time. Those ranges are exact. Other code is searched for the
targets of its calls and for addresses that it takes.
"""

from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.from_code import code_functions
from undwarf.tables.model import UnwindTable

__all__ = ["described_functions", "searched_functions"]

Ranges = tuple[memoryview, memoryview]
_DESCRIBED = ("eh-frame", "debug-frame", "sframe")


def described_functions(elf: ElfFile, limits: Limits = DEFAULT) -> Ranges:
    """(starts, ends) of the functions that unwind information describes: two columns of Q, ELF virtual addresses,
    sorted and disjoint. Empty if the file has none, or if it cannot be read."""
    table = UnwindTable.from_elf(elf, _DESCRIBED, limits=limits)
    table.consult_all()
    return table.starts, table.ends


def searched_functions(elf: ElfFile, known: memoryview, limits: Limits = DEFAULT) -> Ranges:
    """(starts, ends) of functions found in the code itself, beside those that start at ``known`` addresses.

    Columns as of :func:`described_functions`; a range reaches to the next function's start. Empty for machines other
    than x86-64.
    """
    return code_functions(elf, known, limits)
