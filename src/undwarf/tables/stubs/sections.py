"""The sections of procedure linkage tables."""

from undwarf.elf import ElfFile

NAMES = (".plt", ".iplt", ".plt.got", ".plt.sec", ".plt.bnd")
_LARGEST = 1 << 20
"""Bytes of a table that are read: some 65,000 stubs."""


def table_ranges(elf: ElfFile) -> list[tuple[int, int]]:
    """(start, end) of the tables of a file, ascending and disjoint."""
    sections = (section for section in map(elf.section, NAMES) if section is not None and section.size)
    ranges = sorted((section.address, section.address + min(section.size, _LARGEST)) for section in sections)
    return [one for i, one in enumerate(ranges) if not i or ranges[i - 1][1] <= one[0]]
