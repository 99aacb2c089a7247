"""References of a program's code, from one pass over all of it."""

from undwarf.disasm.x86_encoding import CALLED, JUMPED, RETURNED, TAKEN
from undwarf.disasm.x86_linear_sweep import sweep
from undwarf.elf import ElfFile
from undwarf.limits import Limits
from undwarf.tables.code import reference_columns as columns

__all__ = ["CodeReferences"]


class CodeReferences:
    """Addresses within ``code``, the sorted ranges of a program's code: ``called`` and ``taken`` (Q) ascend, each once;
    jumps are from ``sources`` to ``targets`` (Q), ``returned`` (Q) are the addresses after returns. Ranges that exceed
    ``limits.code_bytes`` together are left out."""

    def __init__(self, elf: ElfFile, code: list[tuple[int, int]], limits: Limits) -> None:
        budget = limits.code_bytes
        kinds, sources, targets = bytearray(), bytearray(), bytearray()
        highest = max((end for _, end in code), default=0)
        for start, end in code:
            data = elf.read(start, end - start, writable=True) if end - start <= budget else None
            if data is not None:
                budget -= end - start
                found = sweep(data, start, code[0][0], highest)
                for column, more in zip((kinds, sources, targets), found, strict=True):
                    column += more
        of_all = memoryview(kinds), memoryview(sources).cast("Q"), memoryview(targets).cast("Q")
        self.called = columns.distinct(columns.of_kind(*of_all, CALLED)[1])
        self.taken = columns.distinct(columns.of_kind(*of_all, TAKEN)[1])
        self.returned = columns.of_kind(*of_all, RETURNED)[1]
        self.sources, self.targets = columns.of_kind(*of_all, JUMPED)
