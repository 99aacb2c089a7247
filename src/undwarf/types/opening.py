"""Finds what says the types of a binary: its DWARF, else its BTF; and makes the resolver that answers from it."""

from pathlib import Path

from undwarf.diagnostics import Defects
from undwarf.dwarf.lines import AltFinder, SplitFinder
from undwarf.elf import ElfFile
from undwarf.errors import UndwarfError
from undwarf.limits import DEFAULT, Limits
from undwarf.types.btf import BtfFile, BtfTypes, open_btf
from undwarf.types.from_btf import PER_CPU, BtfSource
from undwarf.types.from_dwarf import DwarfSource
from undwarf.types.neighbours import Neighbours
from undwarf.types.resolve import Resolver

__all__ = ["open_resolver"]


def open_resolver(
    elf: ElfFile,
    debug_elf: ElfFile | None = None,
    *,
    btf: str = "",
    kernel: bool = False,
    find_alt: AltFinder | None = None,
    find_split: SplitFinder | None = None,
    limits: Limits = DEFAULT,
    defects: Defects | None = None,
) -> Resolver | None:
    """A resolver for one binary; None where nothing says its types.

    A file named as ``btf`` wins; else DWARF of the binary or its debug file, its `.BTF` section, a file `NAME.btf`
    beside it. Raises UnreadableInput if the named file is no BTF.
    """
    # Per-cpu variables are what tells a kernel: it uses %gs for them, and for the stack canary.
    kernel = kernel or elf.section(PER_CPU) is not None
    if btf:
        return Resolver(elf, BtfSource(BtfTypes(open_btf(btf, limits=limits)), elf), complete=True, kernel=kernel)
    defects = Defects() if defects is None else defects
    source = DwarfSource.open(elf, debug_elf, find_alt=find_alt, find_split=find_split, limits=limits, defects=defects)
    if source is not None:
        return Resolver(elf, source, debug=debug_elf, embedders_at=Neighbours(source).embedders, kernel=kernel)
    file = _btf_of(elf, limits)
    if file is None:
        return None
    return Resolver(elf, BtfSource(BtfTypes(file), elf), debug=debug_elf, complete=True, kernel=kernel)


def _btf_of(elf: ElfFile, limits: Limits) -> BtfFile | None:
    section = elf.section_data(".BTF")
    try:
        if section is not None:
            return BtfFile(bytes(section), elf.path, limits=limits)
        beside = f"{elf.path}.btf"
        if elf.path and Path(beside).is_file():
            return open_btf(beside, limits=limits)
    except (UndwarfError, OSError):
        return None
    return None
