"""ELF files: headers, sections, notes, links to debug files. Nothing here depends on profiles."""

from undwarf.elf.file import ElfFile
from undwarf.elf.headers import Section, Segment

__all__ = ["ElfFile", "Section", "Segment"]
