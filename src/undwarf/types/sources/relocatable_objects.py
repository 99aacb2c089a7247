"""Relocatable files (kernel modules, `.o`) presented as linked: sections at addresses, relocations applied.

Sections have the addresses of :mod:`undwarf.elf.section_layout`, which their DWARF uses too. Each undefined symbol gets
an address of its own far from the sections, so that calls and variables keep their names. Source: the gABI,
"Relocation"; arch/*/kernel/module.c of Linux for the relocations allowed in modules.
"""

from bisect import bisect_right
from functools import cached_property

from undwarf.elf import ElfFile
from undwarf.elf.headers import (
    ET_REL,
    SHF_ALLOC,
    SHT_NOBITS,
    SHT_REL,
    SHT_RELA,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    Section,
)
from undwarf.elf.section_layout import section_addresses

__all__ = ["ObjectFile", "as_linked"]

ELSEWHERE = 0x10000000
"""First address of undefined symbols, within reach of 31-bit relocations."""
APART = 0x10000
"""Distance between undefined symbols, so that offsets in a variable stay unambiguous."""
_END = 0x7FFF0000


def as_linked(elf: ElfFile) -> ElfFile:
    """The file itself if it is linked, else an :class:`ObjectFile` of it."""
    return ObjectFile(elf) if elf.kind == ET_REL and not isinstance(elf, ObjectFile) else elf


class ObjectFile(ElfFile):
    """One relocatable file; `read` returns code and constants with relocations applied."""

    def __init__(self, elf: ElfFile) -> None:
        super().__init__(elf._buffer, elf.path, limits=elf.limits, defects=elf.defects)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The section headers, with addresses."""
        found = super().sections
        places = section_addresses(self)
        return tuple(one._replace(address=places[one.index]) if one.flags & SHF_ALLOC else one for one in found)

    def __repr__(self) -> str:
        return f"<ObjectFile {self.path!r}>"

    @cached_property
    def _placed(self) -> list[tuple[int, int, Section]]:
        return sorted(
            (one.address, one.address + one.size, one)
            for one in self.sections
            if one.flags & SHF_ALLOC and one.size and one.type != SHT_NOBITS
        )

    @cached_property
    def _relocated(self) -> dict[int, memoryview]:
        return {}

    @cached_property
    def _symbol_section(self) -> Section | None:
        return next((one for one in self.sections if one.type == SHT_SYMTAB and one.size), None)

    @cached_property
    def undefined(self) -> dict[int, str]:
        """{assigned address: name} of undefined symbols."""
        table = self._symbol_section
        data = self.section_data(table) if table is not None else None
        if table is None or data is None or not self.is_64 or not table.link < len(self.sections):
            return {}
        strings = bytes(self.section_data(self.sections[table.link]) or b"")
        order = self.byte_order
        found: dict[int, str] = {}
        at = ELSEWHERE
        for row in range(1, len(data) // 24):
            entry = data[24 * row : 24 * row + 24]
            if entry[6] or entry[7]:
                continue
            name = int.from_bytes(entry[:4], order)
            end = strings.find(b"\0", name, name + 4096)
            if end > name and at < _END:
                found[at] = strings[name:end].decode("utf-8", "backslashreplace")
                self._numbers[row] = at
                at += APART
        return found

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """{symbol index: assigned address} of undefined symbols."""
        return {}

    @cached_property
    def _values(self) -> memoryview:
        """Value of each symbol."""
        table = self._symbol_section
        data = self.section_data(table) if table is not None else None
        if table is None or data is None:
            return memoryview(b"").cast("B").cast("Q")
        # Only needed for relocatable files.
        from undwarf.dwarf.apply_relocations import symbol_values

        extended = next(
            (one for one in self.sections if one.type == SHT_SYMTAB_SHNDX and one.link == table.index), None
        )
        indexes = self.section_data(extended) if extended is not None else None
        values = symbol_values(
            data,
            section_addresses(self),
            indexes if indexes is not None else memoryview(b""),
            wide=self.is_64,
            big=self.byte_order == "big",
        )
        if self.undefined:
            for row, address in self._numbers.items():
                if row < len(values):
                    values[row] = address
        return values

    def read(self, address: int, size: int, *, writable: bool = False) -> memoryview | None:
        """``size`` bytes at an address of :func:`undwarf.elf.section_layout.section_addresses`; None if they are not
        all in one section.

        Sections that are writable count too: nothing shows which are read-only once the file is loaded.
        """
        at = bisect_right(self._placed, address, key=lambda one: one[0]) - 1
        if at < 0 or size < 0 or address + size > self._placed[at][1]:
            return None
        low, _high, section = self._placed[at]
        data = self._relocated.get(section.index)
        if data is None:
            data = self._relocated[section.index] = self._relocate(section)
        return data[address - low : address - low + size] if address - low + size <= len(data) else None

    def _relocate(self, section: Section) -> memoryview:
        data = self.section_data(section)
        if data is None:
            return memoryview(b"")
        from undwarf.dwarf.apply_relocations import apply_relocations
        from undwarf.dwarf.relocations import operations_of

        made: bytearray | None = None
        for entries in self.sections:
            if entries.type not in (SHT_REL, SHT_RELA) or entries.info != section.index:
                continue
            relocations = self.section_data(entries)
            table = self._symbol_section
            if relocations is None or table is None or entries.link != table.index:
                continue
            if made is None:
                made = bytearray(data)
            # Unsupported relocations leave the bytes unchanged: such operands resolve to nothing known.
            apply_relocations(
                made,
                relocations,
                self._values,
                operations_of(self.machine),
                wide=self.is_64,
                big=self.byte_order == "big",
                addends=entries.type == SHT_RELA,
                base=section.address,
            )
        return data if made is None else memoryview(made).toreadonly()
