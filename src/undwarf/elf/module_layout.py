"""Where the kernel puts a module's code, of which the file only knows the sections.

It lays executable sections first, in the file's order, each aligned, those of initialisation elsewhere
(``layout_sections`` in kernel/module/main.c).
"""

from undwarf.elf.file import ElfFile
from undwarf.elf.headers import SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS

PAGE = 4096


def text_offsets(elf: ElfFile) -> dict[int, int]:
    """Where each executable section lies behind the module's start, by section number; without initialisation."""
    return _lay(elf, 0, init=False)[0]


def code_addresses(elf: ElfFile) -> dict[int, int]:
    """The same with the sections of initialisation, for which a place is made up on the pages behind the others: the
    kernel gives them memory of their own."""
    found, end = _lay(elf, 0, init=False)
    return {**found, **_lay(elf, end + PAGE - 1 & -PAGE, init=True)[0]}


def _lay(elf: ElfFile, at: int, *, init: bool) -> tuple[dict[int, int], int]:
    found: dict[int, int] = {}
    wanted = SHF_ALLOC | SHF_EXECINSTR
    for section in elf.sections:
        if section.flags & wanted != wanted or section.type == SHT_NOBITS:
            continue
        if section.name.startswith(".init") is not init or section.size > len(elf.data):
            continue
        align = section.align if section.align and section.align & (section.align - 1) == 0 else 1
        at = at + align - 1 & -align
        found[section.index] = at
        at += section.size
    return found, at
