"""ELF files: headers, sections, notes, links to debug files. Nothing here knows of profiles."""

from undwarf.elf.file import ElfFile
from undwarf.elf.headers import Section, Segment

__all__ = ["ElfFile", "Section", "Segment"]
