"""Jump tables of switch statements, as compilers write them: 32-bit offsets from the table itself, or addresses."""

from struct import iter_unpack

from undwarf.elf import ElfFile
from undwarf.elf.headers import SHT_RELA
from undwarf.limits import Limits
from undwarf.tables.code.reference_columns import bound, distinct, last_at, relocated


class Pointers:
    """Words that a program's start-up code relocates: their values, and the symbols that they are bound to. If several
    relocations name one word, the last one counts."""

    def __init__(self, elf: ElfFile, limits: Limits) -> None:
        self._elf = elf
        self._sections: list[_Relocations] = []
        for section in elf.sections:
            if section.type != SHT_RELA or not section.flags & 2:
                continue
            data = elf.section_data(section)
            if data is not None and len(data) // 24 <= limits.symbols:
                self._sections.append(_Relocations(elf, data[: len(data) // 24 * 24].cast("Q"), section.link))

    def value_at(self, address: int, otherwise: int) -> int:
        """The value of a word, ``otherwise`` if nothing relocates it or its symbol is of another file."""
        for one in reversed(self._sections):
            at = last_at(one.addresses, address)
            if at >= 0:
                return one.values[at]
        return otherwise

    def symbol_at(self, address: int) -> str:
        """The symbol that a word is bound to; empty where there is none."""
        for one in reversed(self._sections):
            at = last_at(one.bound_addresses, address)
            if at >= 0:
                return one.symbol(one.bound_entries[at])
        return ""

    def targets(self) -> memoryview:
        """All values (Q), ascending."""
        found = bytearray()
        for one in self._sections:
            found += one.values.cast("B")
        values: memoryview = distinct(memoryview(found).cast("Q"))
        return values


class _Relocations:
    """One section of relocations; ``entries`` are its words."""

    def __init__(self, elf: ElfFile, entries: memoryview, link: int) -> None:
        sections = elf.sections
        table = elf.section_data(sections[link]) if link < len(sections) else None
        strings = None
        if table is not None and sections[link].link < len(sections):
            strings = elf.section_data(sections[sections[link].link])
        self._entries = entries
        self._table = table[: len(table) // 24 * 24] if table is not None else memoryview(b"")
        self._text = bytes(strings) if strings is not None else b""
        self.addresses, self.values = relocated(entries, self._table.cast("Q"))
        self.bound_addresses, self.bound_entries = bound(entries)

    def symbol(self, entry: int) -> str:
        """The name of an entry's symbol."""
        number = self._entries[3 * entry + 1] >> 32
        if 24 * number + 24 > len(self._table):
            return ""
        at = int.from_bytes(self._table[24 * number : 24 * number + 4], "little")
        end = self._text.find(b"\0", at)
        return self._text[at:end].decode("ascii", "replace") if end >= 0 else ""


def read_offsets(elf: ElfFile, address: int, base: int, count: int) -> list[int]:
    """At most ``count`` targets of a table of 32-bit offsets from ``base``, which is mostly the table's own address."""
    data = _most(elf, address, 4 * count)
    return [base + offset for (offset,) in iter_unpack("<i", data[: len(data) // 4 * 4])]


def read_words(elf: ElfFile, pointers: Pointers, address: int, count: int) -> list[int]:
    """Targets of a table of addresses."""
    found = []
    data = _most(elf, address, 8 * count)
    for i, (word,) in enumerate(iter_unpack("<Q", data[: len(data) // 8 * 8])):
        found.append(pointers.value_at(address + 8 * i, word))
    return found


def _most(elf: ElfFile, address: int, size: int) -> bytes:
    """As many of ``size`` bytes at an address as the file has."""
    for load in elf.loads:
        if load.address <= address < load.address + load.file_size:
            data = elf.read(address, min(size, load.address + load.file_size - address), writable=True)
            return bytes(data) if data is not None else b""
    return b""


__all__ = ["Pointers", "read_offsets", "read_words"]
