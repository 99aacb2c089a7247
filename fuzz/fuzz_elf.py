"""ELF files from any bytes: headers, sections, notes, symbols, compressed sections."""

import sys
from pathlib import Path

from mutate import main

from undwarf.elf import ElfFile
from undwarf.errors import ElfError
from undwarf.limits import Limits
from undwarf.symbols.elf_symbols import symbols_of_elf

LIMITS = Limits(section_bytes=1 << 20, elf_headers=2000, symbols=20_000)


def one_input(data: bytes) -> None:
    """Anything but an ElfError is a defect."""
    try:
        elf = ElfFile.from_bytes(data, limits=LIMITS)
        for section in elf.sections[:200]:
            elf.section_data(section)
        _ = elf.build_id, elf.debug_link, elf.alt_link
        for address in (0, 0x1000, 1 << 63):
            elf.address_of_offset(address)
            elf.read(address, 8)
        symbols_of_elf(elf, LIMITS)
    except ElfError:
        return


def seeds() -> list[bytes]:
    """A small program that every machine with Python has: the first extension module, and its headers alone."""
    files = sorted(Path(sys.prefix).rglob("*.so"), key=lambda path: path.stat().st_size)[:2]
    found = [path.read_bytes()[: 200 << 10] for path in files]
    return [*found, *(one[:4096] for one in found), b"\x7fELF\x02\x01\x01" + bytes(57)]


if __name__ == "__main__":
    main(one_input, seeds())
