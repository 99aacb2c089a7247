"""ORC tables from any bytes, in linked files, modules and kernel images: a table keeps its promises."""

import gzip
import struct
import sys
from pathlib import Path

import mutate

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.support.tables.orc_builder import HEADER_4, HEADER_LOONGARCH, linked, module

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.compression import CompressionError, unpack_file
from undwarf.errors import UndwarfError
from undwarf.images.packed_binary import boot_payload
from undwarf.limits import Limits
from undwarf.tables.from_orc import read_orc
from undwarf.tables.model import NO_RULE, UnwindTable, describe
from undwarf.tables.to_orc import sections_of
from undwarf.tables.writers import write

LIMITS = Limits(rules=200, orc_entries=2000, module_bytes=1 << 20)
TEXT = 0x401000


def one_input(data: bytes) -> None:
    """An ELF file, or a kernel image with one inside; anything else is an image's payload."""
    if data[:4] == b"\x7fELF":
        read(data)
        return
    payload = boot_payload(memoryview(data)) if data[:2] == b"MZ" else memoryview(data)
    if payload is None:
        return
    try:
        unpacked = unpack_file(payload, LIMITS)
    except CompressionError:
        return
    assert len(unpacked) <= LIMITS.module_bytes, "the limit holds"
    read(unpacked)


def read(data: bytes) -> None:
    """Everything that is done with a file's ORC."""
    try:
        elf = ElfFile.from_bytes(data, limits=LIMITS)
    except UndwarfError:
        return
    found = read_orc(elf, LIMITS, Defects())
    if found is not None:
        assert len(found.addresses) == len(found.numbers) <= LIMITS.orc_entries, "the limit holds"
        assert list(found.addresses) == sorted(found.addresses), "addresses ascend"
        try:
            written = sections_of(found, found.layout, 0x500000)
            assert len(written[0]) == 4 * len(found), "every slot is written"
        except UndwarfError:
            pass
    table = UnwindTable.from_elf(elf, "orc", limits=LIMITS)
    table.complete()
    before = 0
    for number, (start, end) in enumerate(zip(table.starts, table.ends, strict=True)):
        assert before <= start < end, "ranges are sorted, disjoint and not empty"
        before = end
        addresses, rules = table.rows(number)
        assert len(addresses) == len(rules) >= 1, "a stretch has a row"
        assert addresses[0] == start and addresses[len(addresses) - 1] < end, "rows lie in the stretch"
        assert all(addresses[i] < addresses[i + 1] for i in range(len(addresses) - 1)), "rows ascend"
        assert all(rule == NO_RULE or rule < len(table.rules) for rule in rules), "rules exist"
        table.rule_at(start)
        if end - start > 2:
            source = table.functions.only
            assert source is not None
            part, _rules = source.rows(number, start + 1, end - 1)
            assert part[0] == start + 1 and part[len(part) - 1] < end - 1, "a part begins and ends where it should"
    for number in range(len(table.rules)):
        describe(table.rules, number, table.machine)
    for version in ("4", "1"):
        try:
            made = write("orc", table, elf, version)
            places = {section.name: 0x600000 for section in made.sections}
            for section in made.sections:
                assert len(section.place(places)) == section.size, "sections are as long as was said"
        except UndwarfError:
            continue


def seeds() -> list[bytes]:
    """A file of each form."""
    rows = [(0, 0x205 << 32 | 8), (4, 0x215 << 32 | 0xFFF00010), (16, 0), (32, 0xB05 << 32), (40, 0x100 << 32), (48, 0)]
    old = [(0, 5 << 32 | 8), (4, 0x14 << 32 | 0xFFF00010), (16, 0), (32, 0x105 << 32), (40, 0x400 << 32), (48, 0)]
    new = [
        (0, 0x203 << 32 | 8),
        (4, 0x283 << 32 | 0xFFF00010),
        (8, 0x24A << 32 | 0xFFF8),
        (24, 0),
        (24, 0x203 << 32 | 8),
    ]
    loongarch = [(0, 0x2112 << 48 | 0xFFF8FFF00020), (8, 0xB002 << 48), (16, 0x1000 << 48), (24, 0)]
    code = bytes(64)

    def placed(entries: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(TEXT + offset, one) for offset, one in entries]

    plain = linked(placed(rows), code=code)
    payload = gzip.compress(plain)
    image = bytearray(1024)
    image[:2], image[0x1F1], image[0x202:0x206] = b"MZ", 1, b"HdrS"
    struct.pack_into("<H", image, 0x206, 0x20F)
    struct.pack_into("<II", image, 0x248, 0, len(payload))
    literals = plain[:600]
    block = b"\xf0" + b"\xff" * ((len(literals) - 15) // 255) + bytes(((len(literals) - 15) % 255,)) + literals
    return [
        plain,
        linked(placed(rows), code=code, header=b""),
        linked(placed(old), code=code, header=b""),
        linked(placed(new), code=code, header=HEADER_4),
        linked(placed(loongarch), code=code, header=HEADER_LOONGARCH, machine=258, size=8),
        module(
            [(".text", 0, rows[0][1]), (".text", 8, 0), (".init.text", 0, rows[1][1]), (".init.text", 8, 0)],
            {".text": 8, ".init.text": 8},
        ),
        bytes(image) + payload,
        b"\x02\x21\x4c\x18" + struct.pack("<I", len(block)) + block,
    ]


if __name__ == "__main__":
    mutate.main(one_input, seeds())
