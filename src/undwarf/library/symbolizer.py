"""Names of addresses in one file."""

import os
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from undwarf.defects import Defects
from undwarf.images import Finder
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.address_lookup import Addresses
from undwarf.unwind.code_address import CodeAddress


class SourceFrame(NamedTuple):
    """A function at an address, and the source position there; ``file`` is empty, ``line`` and ``column`` are 0 if
    unknown. ``inlined``: it has no code of its own here, and the next frame is the function it is inlined into."""

    function: str
    file: str
    line: int
    column: int
    inlined: bool


class Symbolized(NamedTuple):
    """What is at an address: ``symbol`` is the name in the symbol table, empty if there is none; ``frames`` are the
    functions there, innermost first, the last one with code of its own."""

    address: int
    symbol: str
    frames: list[SourceFrame]

    @property
    def name(self) -> str:
        """The innermost function, by debugging information or else by its symbol; empty if unknown."""
        return (self.frames[0].function if self.frames else "") or self.symbol


class Symbolizer:
    """Names addresses of an ELF file: symbols, inlined functions and source lines.

    Its separate debug file is found as for recordings, also in ``debug_dirs``. ``demangle``: names are demangled.
    Damage is counted in ``defects``. Raises ElfError if the file cannot be read.

    >>> (found,) = undwarf.Symbolizer("demo/words").lookup([0x4003E0])
    >>> found.symbol
    'count_word'
    """

    def __init__(
        self,
        elf: "str | os.PathLike[str]",
        *,
        debug_dirs: "Sequence[str | os.PathLike[str]]" = (),
        demangle: bool = True,
        limits: Limits = DEFAULT,
    ) -> None:
        self.path = os.fspath(elf)
        self.defects = Defects()
        directories = (*(os.fspath(directory) for directory in debug_dirs), "/usr/lib/debug")
        finder = Finder(debug_dirs=directories, limits=limits, defects=self.defects)
        self._addresses = Addresses(self.path, demangle=demangle, finder=finder, limits=limits, defects=self.defects)

    def lookup(self, addresses: Iterable[int | CodeAddress]) -> list[Symbolized]:
        """What is at each ELF virtual address; of a :class:`CodeAddress` what is at its ``lookup``. Many addresses at
        once cost much less than one by one."""
        wanted = [one.lookup if isinstance(one, CodeAddress) else one for one in addresses]
        if not wanted:
            return []
        located = self._addresses.locate(memoryview(array("Q", [address & (1 << 64) - 1 for address in wanted])))
        found = []
        for number, address in enumerate(wanted):
            chain = located.chains.chain(number)
            symbol = located.symbols[located.symbol_of[number]]
            frames = [
                SourceFrame(function or (symbol if k == len(chain) - 1 else ""), file, line, column, k < len(chain) - 1)
                for k, (function, file, line, column) in enumerate(chain)
            ]
            found.append(Symbolized(address, symbol, frames))
        return found

    def __repr__(self) -> str:
        return f"<undwarf.Symbolizer {self.path}>"
