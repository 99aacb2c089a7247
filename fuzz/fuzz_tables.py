"""ELF files from any bytes through all that `undwarf tables` does: dump, verify, convert, and reading that again."""

import io
import sys
from pathlib import Path

import mutate
from fuzz_cfi import LIMITS

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.writer import file_of_sections, with_sections
from undwarf.errors import UndwarfError
from undwarf.outputs.tables import dump
from undwarf.tables.from_sframe import source_of_section
from undwarf.tables.model import UnwindTable
from undwarf.tables.writers import write
from undwarf.views.tables.dump import Binary, Rows
from undwarf.views.tables.verify import verify


def one_input(data: bytes) -> None:
    """The file, as it is read from disk."""
    try:
        defects = Defects()
        elf = ElfFile.from_bytes(data, limits=LIMITS, defects=defects)
        binary = Binary("input", elf, LIMITS, defects)
        for source in ("cfi", "sframe"):
            table = UnwindTable.from_elf(elf, source, limits=LIMITS, defects=defects)
            table.complete()
            if source == "cfi":
                dump.write_json("fuzz", Rows(table), io.StringIO())
            else:
                dump.write(binary, Rows(table), io.StringIO())
            for version in ("3", "2"):
                made = write("sframe", table, elf, version)
                if made.sections:
                    written(table, made.sections[0].place({".sframe": 0x10000}), elf)
                    ElfFile.from_bytes(file_of_sections(elf, made.sections))
                    copy = ElfFile.from_bytes(with_sections(elf, made.sections))
                    assert copy.section_data(".sframe") is not None, "a copy carries what was written"
        verify(binary, "cfi", "sframe", shown=3)
    except UndwarfError:
        return


def written(table: UnwindTable, data: bytes, elf: ElfFile) -> None:
    """Where the written table has a rule, the table that was read has the same."""
    rules = table.rules
    defects = Defects()
    source = source_of_section(
        memoryview(data), 0x10000, machine=elf.machine, byte_order=elf.byte_order, rules=rules, defects=defects
    )
    assert source is not None and not list(defects), "what is written is not damaged"
    again = UnwindTable(rules, [lambda: source], elf.machine)
    for start, _, rule in again:
        if rule is None:
            continue
        other = table.rule_at(start)
        assert other is not None, "nothing is made up"
        assert rule.return_address == other.return_address, "return addresses are those of the table"
        assert other.outermost or rule.cfa == other.cfa, "call frame addresses are those of the table"
    assert not list(defects), "what is written is not damaged"


def seeds() -> list[bytes]:
    """Small programs, with SFrame in them."""
    found = []
    for name in (sys.executable, "/bin/true", "/usr/bin/env", "/bin/false"):
        if Path(name).exists() and Path(name).stat().st_size < 60_000:
            elf = ElfFile.open(name)
            found.append(bytes(elf.data))
            made = write("sframe", UnwindTable.from_elf(elf), elf)
            if made.sections:
                found.append(with_sections(elf, made.sections))
    return found or [b"\x7fELF"]


if __name__ == "__main__":
    mutate.main(one_input, seeds())
