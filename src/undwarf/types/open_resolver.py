"""Opens the type information of a binary (its DWARF, else its BTF) and creates the resolver."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from undwarf.defects import Defects
from undwarf.dwarf.line_lookup import AltFinder, SplitFinder
from undwarf.elf import ElfFile
from undwarf.errors import NothingUsable, UndwarfError
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.types.resolver import Resolver
from undwarf.types.sources.data_symbols import PER_CPU, TableSymbols
from undwarf.types.sources.from_dwarf import DwarfSource
from undwarf.types.sources.relocatable_objects import as_linked
from undwarf.types.sources.unit_types import UnitTypes

if TYPE_CHECKING:
    from undwarf.types.sources.btf import BtfFile

__all__ = ["btf_of", "open_btf_with_base", "open_path", "open_resolver"]

_MODULE = ".gnu.linkonce.this_module"


def open_resolver(
    elf: ElfFile,
    debug_elf: ElfFile | None = None,
    *,
    btf: "str | BtfFile" = "",
    btf_base: "BtfFile | None" = None,
    kernel: bool = False,
    symbols: SymbolTable | None = None,
    find_alt: AltFinder | None = None,
    find_split: SplitFinder | None = None,
    limits: Limits = DEFAULT,
    defects: Defects | None = None,
) -> Resolver | None:
    """A resolver for one binary; None if there is no type information.

    The BTF given as ``btf`` takes precedence; then DWARF of the binary or its debug file, its `.BTF` section, a file
    `NAME.btf` beside it. ``btf_base`` is the base of a module's split BTF. ``symbols`` are the functions of a kernel
    without symbols. Raises UnreadableInput if the given file is no BTF.
    """
    elf = as_linked(elf)
    # A per-CPU section identifies a kernel, which addresses per-CPU variables and the stack canary by %gs.
    kernel = kernel or elf.section(PER_CPU) is not None or elf.section(_MODULE) is not None
    defects = Defects() if defects is None else defects
    if not btf:
        source = DwarfSource.open(
            elf, debug_elf, find_alt=find_alt, find_split=find_split, limits=limits, defects=defects
        )
        if source is not None:
            containers = UnitTypes(source, isolated=kernel).containers
            return Resolver(elf, source, debug=debug_elf, containers_at=containers, kernel=kernel, symbols=symbols)
    file: BtfFile | None
    if not isinstance(btf, str):
        file = btf
    elif btf:
        from undwarf.types.sources.btf import open_btf

        file = open_btf(btf, base=btf_base, limits=limits)
    else:
        file = btf_of(elf, btf_base, limits)
    if file is None:
        return None
    # Rarely needed: most files have DWARF or neither.
    from undwarf.types.sources.btf import BtfTypes
    from undwarf.types.sources.from_btf import BtfSource

    known = TableSymbols(symbols, elf) if symbols is not None else None
    types = BtfSource(BtfTypes(file), elf, known)
    return Resolver(elf, types, debug=debug_elf, complete=True, kernel=kernel, symbols=symbols)


def open_btf_with_base(path: str, limits: Limits = DEFAULT) -> "BtfFile":
    """BTF from a file; a module's, among those of a running kernel, with `vmlinux` beside it as base.

    Raises UnreadableInput.
    """
    from pathlib import Path

    from undwarf.types.sources.btf import open_btf

    beside = Path(path).parent / "vmlinux"
    whole = Path(path).parent.name != "btf" or Path(path).name == "vmlinux" or not beside.is_file()
    return open_btf(path, base=None if whole else open_btf(str(beside), limits=limits), limits=limits)


def open_path(
    binary: str,
    *,
    btf: str = "",
    symfs: str = "",
    debug_dirs: Sequence[str] = (),
    vmlinux: str = "",
    code: bool = True,
) -> Resolver:
    """A resolver for a binary by its path, with its debug file from beside it, ``debug_dirs`` or ``symfs``. ``vmlinux``
    has the base of a module's BTF.

    Raises NothingUsable if there is no type information, or with ``code`` if its machine is not supported.
    """
    from undwarf.images.finder import Finder
    from undwarf.images.packed_binary import open_binary

    elf = open_binary(binary)
    # Companion files are beside the real path, which recordings use, too.
    place = os.path.realpath(binary)
    finder = Finder(symfs, (*debug_dirs, "/usr/lib/debug"))
    debug = None if btf or elf.section(".debug_info") is not None else finder.debug_file(elf, place)
    found = open_resolver(
        elf,
        debug,
        btf=btf,
        btf_base=btf_of(open_binary(vmlinux)) if vmlinux else None,
        find_alt=lambda file: finder.alt_file(file, place),
        find_split=lambda name, directory, _identity: finder.split_files(name, directory, elf, place, debug),
    )
    if found is None:
        raise NothingUsable(
            f"no type information for {binary}",
            "it has neither DWARF nor BTF",
            "build it with -g, or give --btf",
        )
    if found.machine is None and code:
        raise NothingUsable(f"cannot decode the code of {binary}", "only x86-64 and AArch64 are supported")
    return found


def btf_of(elf: ElfFile, base: "BtfFile | None" = None, limits: Limits = DEFAULT) -> "BtfFile | None":
    """The BTF in a binary, or in a file `NAME.btf` beside it; None if there is none or it is unreadable."""
    section = elf.section_data(".BTF")
    beside = f"{elf.path}.btf"
    if section is None and not (elf.path and os.access(beside, os.R_OK)):
        # Most files have neither.
        return None
    from pathlib import Path

    from undwarf.types.sources.btf import BtfFile, open_btf

    try:
        if section is not None:
            return BtfFile(bytes(section), elf.path, base=base, limits=limits)
        if Path(beside).is_file():
            return open_btf(beside, base=base, limits=limits)
    except (UndwarfError, OSError):
        return None
    return None
