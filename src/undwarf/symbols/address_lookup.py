"""Functions, inlined functions, files and lines of addresses in one binary, without a recording (as addr2line)."""

import os
from dataclasses import dataclass
from functools import partial

from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.dwarf.line_lookup import InlineChains
from undwarf.elf import ElfFile
from undwarf.images import Finder, ImageStore
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.demangle import demangle_all, demangle_own
from undwarf.symbols.inlines import ImageLines
from undwarf.symbols.language_detection import has_code_of
from undwarf.symbols.resolver import UNKNOWN, Functions, Resolver, ResolverOptions

NONE = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class _Identity:
    build_id: bytes
    major: int = 0
    minor: int = 0
    inode: int = 0


@dataclass(slots=True)
class Located:
    """Names and lines of ``addresses`` (Q): chains as in :class:`undwarf.dwarf.InlineChains`, and a symbol for each.

    ``symbol_of`` (I) are indices in ``symbols``; an empty symbol is none.
    """

    addresses: memoryview
    chains: InlineChains
    symbols: list[str]
    symbol_of: memoryview


class Addresses:
    """Looks up addresses of the ELF file at ``path``; its debug file is found as for recordings.

    Raises ElfError if the file cannot be read. ``demangle``: whether names are demangled.
    """

    def __init__(
        self,
        path: str,
        *,
        demangle: bool = False,
        finder: "Finder | None" = None,
        limits: Limits = DEFAULT,
        defects: "Defects | None" = None,
    ) -> None:
        defects = Defects() if defects is None else defects
        elf = ElfFile.open(path, limits=limits, defects=defects)
        finder = Finder(limits=limits, defects=defects) if finder is None else finder
        name = os.fsencode(os.path.realpath(path))
        self._store = ImageStore([name], [_Identity(elf.build_id)], None, finder)
        self._image = self._store.image((0, 0))
        # The user chose this very file: no cached one with the same build-id replaces it.
        self._image.__dict__["elf"] = elf
        self._resolver = Resolver(self._store, ResolverOptions(demangle=False, starts=False, limits=limits))
        self._lines = ImageLines(self._store, limits, defects)
        self._demangle = demangle
        self._limits = limits
        self._demangled: dict[str, str] = {}
        self.digits = 16 if elf.is_64 else 8
        """Digits of an address of this file."""

    def locate(self, addresses: memoryview) -> Located:
        """Names and lines of a column of ELF virtual addresses (Q)."""
        count = len(addresses)
        lines = self._lines(self._image)
        chains = _no_chains(count)
        if lines is not None:
            with self._store.finder.defects.contained(self._image.path):
                chains = lines.inline_chains(addresses)
        functions = self._resolver.resolve(zeros("I", count), addresses)
        names = ["" if name == UNKNOWN else name for name in functions.symbol]
        if functions.aliases:
            _choose_aliases(names, functions, chains)
        if self._demangle:
            chains.names = self._all_demangled(chains.names)
            names = self._all_demangled(names)
        return Located(addresses, chains, names, functions.number)

    def _all_demangled(self, names: list[str]) -> list[str]:
        """Names demangled, each once in all."""
        known = self._demangled
        new = [name for name in names if name not in known]
        own = demangle_own(new, partial(has_code_of, self._image), self._limits)
        known.update(zip(new, demangle_all(own, self._limits), strict=True))
        return [known[name] for name in names]


def _choose_aliases(names: list[str], functions: Functions, chains: InlineChains) -> None:
    """Of symbols that share an address, choose the one that is the function's linkage name in DWARF, if any."""
    some_address = dict(zip(functions.number.tolist(), range(len(functions.number)), strict=True))
    for number, aliases in functions.aliases.items():
        at = some_address.get(number, -1)
        last = chains.first[at + 1] - 1 if at >= 0 else -1
        if last >= 0 and chains.first[at] <= last and chains.name[last] != NONE:
            name = chains.names[chains.name[last]]
            if name in aliases:
                names[number] = name


def _no_chains(count: int) -> InlineChains:
    none = zeros("I", 0)
    return InlineChains(zeros("I", count + 1), none, none, none, none, [], [])
