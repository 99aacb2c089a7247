"""Targets of a program's global offset table: the address or symbol that the dynamic linker writes into each slot.

Position-independent code calls functions and reaches variables through these slots. Source: gABI, "Relocation"; the
psABIs of x86-64 (4.4.1) and AArch64 (5.7.9) for GLOB_DAT, JUMP_SLOT and RELATIVE.
"""

from functools import cached_property

from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_AARCH64, EM_X86_64, SHT_REL, SHT_RELA
from undwarf.symbols.elf_symtab import relocations_of_types

__all__ = ["OffsetTable"]

_TYPES = {EM_X86_64: (6, 7, 8), EM_AARCH64: (1025, 1026, 1027)}
_MOST = 500_000
"""Limit of relocations of one file."""
_ET_DYN = 3
_MAX_NAME = 4096
_SYMBOL = 24


class OffsetTable:
    """The slots of one 64-bit file, read at first use."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf

    @cached_property
    def _slots(self) -> dict[int, tuple[int, str]]:
        """{slot: (address in this file or -1, symbol name or empty)}."""
        elf = self._elf
        types = _TYPES.get(elf.machine)
        tables = [(one.address, one.address + one.size) for one in elf.sections if one.name in (".got", ".got.plt")]
        found: dict[int, tuple[int, str]] = {}
        if types is None or not tables or not elf.is_64:
            return found
        for section in elf.sections:
            if section.type not in (SHT_RELA, SHT_REL) or not section.name.startswith((".rel.", ".rela.")):
                continue
            data = elf.section_data(section)
            if data is None:
                continue
            addends = section.type == SHT_RELA
            for slot, kind, symbol, addend in relocations_of_types(
                data, True, elf.byte_order == "big", addends, types, _MOST
            ):
                if not any(low <= slot < high for low, high in tables):
                    continue
                if kind == types[2]:
                    address = addend if addends else self._word(slot)
                    found[slot] = address, ""
                else:
                    found[slot] = self._symbol(symbol)
        return found

    @cached_property
    def _moved(self) -> dict[int, int]:
        """{place: address in this file} of RELATIVE relocations."""
        elf = self._elf
        types = _TYPES.get(elf.machine)
        found: dict[int, int] = {}
        if types is None or not elf.is_64 or elf.kind != _ET_DYN:
            return found
        for section in elf.sections:
            if section.type != SHT_RELA or not section.name.startswith(".rela."):
                continue
            data = elf.section_data(section)
            if data is not None:
                rows = relocations_of_types(data, True, elf.byte_order == "big", True, (types[2],) * 3, _MOST)
                found.update((slot, addend) for slot, _kind, _symbol, addend in rows if 0 <= addend < 1 << 64)
        return found

    @property
    def all_moved(self) -> dict[int, int]:
        """{place: address in this file that the dynamic linker writes there}."""
        return self._moved

    def moved(self, address: int) -> int | None:
        """The address in this file that the dynamic linker writes to a place; None if it writes none."""
        return self._moved.get(address)

    def _word(self, address: int) -> int:
        data = self._elf.read(address, 8)
        return int.from_bytes(data, self._elf.byte_order) if data is not None and len(data) == 8 else -1

    def _symbol(self, number: int) -> tuple[int, str]:
        elf = self._elf
        table = elf.section(".dynsym")
        data = elf.section_data(table) if table is not None else None
        if table is None or data is None or not 0 <= table.link < len(elf.sections):
            return -1, ""
        row = bytes(data[number * _SYMBOL : number * _SYMBOL + _SYMBOL])
        strings = elf.section_data(elf.sections[table.link])
        if strings is None or len(row) < _SYMBOL:
            return -1, ""
        order = elf.byte_order
        at = int.from_bytes(row[:4], order)
        name = bytes(strings[at : at + _MAX_NAME]).partition(b"\0")[0].decode("utf-8", "backslashreplace")
        defined = int.from_bytes(row[6:8], order) != 0
        return (int.from_bytes(row[8:16], order) if defined else -1), name

    def get(self, slot: int) -> int | None:
        """The address in this file that a slot points to; None for targets elsewhere and for no slot."""
        found = self._slots.get(slot)
        return found[0] if found is not None and found[0] > 0 else None

    def function(self, slot: int) -> int | None:
        """The id of the function called through a slot: its address, or the slot's if it is elsewhere; None for no
        slot."""
        if slot not in self._slots:
            return None
        return self.get(slot) or slot

    def name(self, slot: int) -> str:
        """The symbol name of a slot; empty if it has none."""
        found = self._slots.get(slot)
        return found[1] if found is not None else ""
