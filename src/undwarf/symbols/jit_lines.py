"""Source lines of just-in-time compiled code from a jitdump file, as if from DWARF."""

from undwarf.column import zeros
from undwarf.dwarf.line_lookup import InlineChains
from undwarf.images.jitdump import JitDump

NONE = 0xFFFFFFFF


class JitLines:
    """The lines of one dump; those of a function are read on demand."""

    def __init__(self, dump: JitDump) -> None:
        self._dump = dump

    def release(self) -> None:
        """Free the lines that were read."""
        self._dump.release_lines()

    def inline_chains(self, addresses: memoryview, *, lines: bool = True) -> InlineChains:
        """The chains of a column of addresses (Q, offsets in the dump); empty without ``lines``, as a dump has no
        inlined functions."""
        found = [self._dump.line_at(address) if lines else None for address in addresses]
        count = sum(line is not None for line in found)
        first = zeros("I", len(found) + 1)
        name, file, numbers, columns = (zeros("I", count) for _ in range(4))
        files: dict[str, int] = {}
        at = 0
        for i, line in enumerate(found):
            first[i] = at
            if line is not None:
                name[at] = NONE
                file[at] = files.setdefault(line.file, len(files))
                numbers[at], columns[at] = line.line, line.column
                at += 1
        first[len(found)] = at
        return InlineChains(first, name, file, numbers, columns, [], list(files))
