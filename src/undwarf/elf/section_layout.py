"""Assigns addresses to the sections of relocatable files (``ET_REL``: object files, kernel modules).

All sections of such a file have address 0. They are laid out in the file's order, each aligned, as the kernel does for
modules (``layout_sections`` in kernel/module/main.c): code, then init code, then data. The kernel allocates init
sections separately, and no recording has their addresses: those here are placeholders.
"""

from collections.abc import Iterable

from undwarf.column import zeros
from undwarf.elf.file import ElfFile
from undwarf.elf.headers import ET_REL, SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS, Section

__all__ = ["code_addresses", "section_addresses", "text_offsets"]

PAGE = 4096


def section_addresses(elf: ElfFile) -> memoryview:
    """The address (Q) of each section by index; 0 for sections that are not loaded. Init code directly follows code."""
    column = zeros("Q", len(elf.sections))
    loaded = [section for section in elf.sections if section.flags & SHF_ALLOC]
    if elf.kind != ET_REL:
        found = {section.index: section.address for section in loaded}
    else:
        code = [section for section in loaded if section.flags & SHF_EXECINSTR]
        data = [section for section in loaded if not section.flags & SHF_EXECINSTR]
        found, _end = _lay_out([*_code(code, init=False), *_code(code, init=True), *data], 0)
    for index, address in found.items():
        column[index] = address
    return column


def text_offsets(elf: ElfFile) -> dict[int, int]:
    """The offset of each executable section from the module's start, by section index; without init sections."""
    return _lay_out(_code(_text(elf), init=False), 0)[0]


def code_addresses(elf: ElfFile) -> dict[int, int]:
    """The same including init sections, which start on the page after the others."""
    text = _text(elf)
    found, end = _lay_out(_code(text, init=False), 0)
    return {**found, **_lay_out(_code(text, init=True), end + PAGE - 1 & -PAGE)[0]}


def _text(elf: ElfFile) -> list[Section]:
    """Executable sections with bytes in the file; one larger than the file is damaged."""
    wanted = SHF_ALLOC | SHF_EXECINSTR
    return [
        section
        for section in elf.sections
        if section.flags & wanted == wanted and section.type != SHT_NOBITS and section.size <= len(elf.data)
    ]


def _code(sections: Iterable[Section], *, init: bool) -> list[Section]:
    return [section for section in sections if section.name.startswith(".init") is init]


def _lay_out(sections: Iterable[Section], at: int) -> tuple[dict[int, int], int]:
    """(address by section index, first address after them), modulo 2^64: a damaged file may claim any size."""
    found: dict[int, int] = {}
    for section in sections:
        align = section.align if section.align and section.align & (section.align - 1) == 0 else 1
        at = found[section.index] = at + align - 1 & -align & 0xFFFFFFFFFFFFFFFF
        at = at + section.size & 0xFFFFFFFFFFFFFFFF
    return found, at
