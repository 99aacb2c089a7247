"""Inlined functions and source lines of Go programs from their own table, as if from DWARF."""

from undwarf.column import zeros
from undwarf.dwarf.line_lookup import InlineChains
from undwarf.elf.go_functions import GoFunctions

NONE = 0xFFFFFFFF


class GoLines:
    """Lookup by address in one program's table, which is read on demand."""

    def __init__(self, functions: GoFunctions) -> None:
        self._functions = functions
        self._known: dict[int, list[tuple[str, str, int]]] = {}

    def release(self) -> None:
        """Free what was read."""
        self._known.clear()

    def inline_chains(self, addresses: memoryview, *, lines: bool = True) -> InlineChains:
        """The chains of a column of addresses (Q); without files unless ``lines``."""
        chains = [self._chain(address) for address in addresses]
        count = sum(map(len, chains))
        first = zeros("I", len(chains) + 1)
        name, file, numbers, columns = (zeros("I", count) for _ in range(4))
        names: dict[str, int] = {}
        files: dict[str, int] = {}
        at = 0
        for i, chain in enumerate(chains):
            first[i] = at
            for function, path, line in chain:
                name[at] = names.setdefault(function, len(names))
                file[at] = files.setdefault(path, len(files)) if lines and path else NONE
                numbers[at] = line if lines else 0
                at += 1
        first[len(chains)] = at
        return InlineChains(first, name, file, numbers, columns, list(names), list(files))

    def _chain(self, address: int) -> list[tuple[str, str, int]]:
        """(name, file, line) of an address, innermost first."""
        found = self._known.get(address)
        if found is None:
            found = self._known[address] = self._read(address)
        return found

    def _read(self, address: int) -> list[tuple[str, str, int]]:
        functions = self._functions
        function = functions.at(address)
        if function is None:
            return []
        inlined = functions.inlined(function, address)
        places = functions.lines(function, [address, *(call for _name, call in inlined)])
        names = [*(name for name, _call in inlined), functions.name(function)]
        return [(name, *place) for name, place in zip(names, places, strict=True)]
