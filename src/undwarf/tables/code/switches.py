"""Jump tables of switch statements, as compilers write them: 32-bit offsets from the table itself, or addresses."""

from collections.abc import Callable
from struct import iter_unpack, unpack_from

from undwarf.elf import ElfFile
from undwarf.limits import Limits

_RELATIVE = 8
_ABSOLUTE = 1
_SHT_RELA = 4


class Pointers:
    """Words that a program's start-up code relocates: address to value, and address to the symbol it is bound to."""

    def __init__(self, elf: ElfFile, limits: Limits) -> None:
        self._elf = elf
        self.values: dict[int, int] = {}
        self.symbols: dict[int, str] = {}
        for section in elf.sections:
            if section.type != _SHT_RELA or not section.flags & 2:
                continue
            data = elf.section_data(section)
            if data is None or len(data) // 24 > limits.symbols:
                continue
            names = self._names(section.link)
            for offset, info, addend in iter_unpack("<QQq", data[: len(data) // 24 * 24]):
                if info == _RELATIVE:
                    self.values[offset] = addend
                elif info >> 32:
                    name, value = names(info >> 32)
                    if info & 0xFFFFFFFF == _ABSOLUTE and value:
                        self.values[offset] = value + addend
                    self.symbols[offset] = name

    def _names(self, link: int) -> Callable[[int], tuple[str, int]]:
        sections = self._elf.sections
        table = self._elf.section_data(sections[link]) if link < len(sections) else None
        strings = None
        if table is not None and sections[link].link < len(sections):
            strings = self._elf.section_data(sections[sections[link].link])
        text = bytes(strings) if strings is not None else b""

        def symbol(number: int) -> tuple[str, int]:
            if table is None or 24 * number + 24 > len(table):
                return "", 0
            at, _info, _other, _section, value, _size = unpack_from("<IBBHQQ", table, 24 * number)
            end = text.find(b"\0", at)
            return text[at:end].decode("ascii", "replace") if end >= 0 else "", value

        return symbol


def read_offsets(elf: ElfFile, address: int, base: int, count: int) -> list[int]:
    """At most ``count`` targets of a table of 32-bit offsets from ``base``, which is mostly the table's own address."""
    data = _most(elf, address, 4 * count)
    return [base + offset for (offset,) in iter_unpack("<i", data[: len(data) // 4 * 4])]


def read_words(elf: ElfFile, pointers: Pointers, address: int, count: int) -> list[int]:
    """Targets of a table of addresses."""
    found = []
    data = _most(elf, address, 8 * count)
    for i, (word,) in enumerate(iter_unpack("<Q", data[: len(data) // 8 * 8])):
        found.append(pointers.values.get(address + 8 * i, word))
    return found


def _most(elf: ElfFile, address: int, size: int) -> bytes:
    """As many of ``size`` bytes at an address as the file has."""
    for load in elf.loads:
        if load.address <= address < load.address + load.file_size:
            data = elf.read(address, min(size, load.address + load.file_size - address), writable=True)
            return bytes(data) if data is not None else b""
    return b""


__all__ = ["Pointers", "read_offsets", "read_words"]
