"""Where the sections of a file that is not linked would lie."""

from undwarf.column import zeros
from undwarf.elf.file import ElfFile
from undwarf.elf.headers import ET_REL, SHF_ALLOC, SHF_EXECINSTR


def section_addresses(elf: ElfFile) -> memoryview:
    """The address (Q) of each section by its number; 0 for what is not loaded.

    The sections of a file that is not linked all claim address 0. They are laid out one behind the other, each
    aligned, as the kernel does with a module (``layout_sections`` in kernel/module/main.c): code in the file's order
    from address 0 on, then code of initialisation, then data.
    """
    sections = elf.sections
    column = zeros("Q", len(sections))
    if elf.kind != ET_REL:
        for section in sections:
            if section.flags & SHF_ALLOC:
                column[section.index] = section.address
        return column
    at = 0
    for turn in range(3):
        for section in sections:
            if not section.flags & SHF_ALLOC:
                continue
            own_turn = 2 if not section.flags & SHF_EXECINSTR else 1 if section.name.startswith(".init") else 0
            if own_turn != turn:
                continue
            align = section.align if section.align and section.align & (section.align - 1) == 0 else 1
            at = at + align - 1 & -align & 0xFFFFFFFFFFFFFFFF
            column[section.index] = at
            at = at + section.size & 0xFFFFFFFFFFFFFFFF
    return column
