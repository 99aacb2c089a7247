"""Files that name code at run time, from any bytes: jitdump with lines and unwind information, perf maps, modules."""

import struct
from contextlib import suppress

from mutate import main

from undwarf.elf import ElfFile
from undwarf.errors import ElfError
from undwarf.images.jitdump import JitDump
from undwarf.limits import Limits
from undwarf.symbols.elf_symbols import symbols_of_jitdump
from undwarf.symbols.kernel_modules import first_code, symbols_of_module
from undwarf.symbols.perfmap import table_of_map
from undwarf.tables.from_jitdump import table_of_jitdump
from undwarf.tables.rule_set import RuleSet

LIMITS = Limits(jit_records=2000, symbols=20_000, cfi_steps=2000, cfi_rows=2000)


def one_input(data: bytes) -> None:
    """Anything but an ElfError is a defect."""
    table_of_map(data, LIMITS)
    first_code(data, b"mod")
    with suppress(ElfError):
        symbols_of_module(ElfFile.from_bytes(data, limits=LIMITS), LIMITS)
    try:
        dump = JitDump(data, limits=LIMITS)
    except ElfError:
        return
    symbols_of_jitdump(dump)
    table = table_of_jitdump(dump, RuleSet(LIMITS), LIMITS)
    for number, code in enumerate(dump.codes[:200]):
        dump.name(number)
        dump.lines(number)
        dump.line_at(code.offset)
        dump.read(code.offset, 8)
        table.rule_at(code.offset)


def seeds() -> list[bytes]:
    """A dump with one of each record, in both byte orders, a perf map, kallsyms of a module."""
    made = []
    for mark in "<>":
        frames = struct.pack(mark + "II", 20, 0) + b"\x01zR\0\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\0\0"
        frames += struct.pack(mark + "IIiI", 20, 28, -72, 32) + b"\0\x44\x0e\x18" + bytes(8)
        data = struct.pack(mark + "6I2Q", 0x4A695444, 1, 40, 62, 0, 7, 1000, 0)
        for kind, body in (
            (2, struct.pack(mark + "QQ", 0x1000, 1) + struct.pack(mark + "QII", 0x1000, 5, 1) + b"a.js\0"),
            (4, struct.pack(mark + "QQQ", len(frames) + 20, 20, 0) + frames + b"\x01\x1b\x03\x3b" + bytes(16)),
            (0, struct.pack(mark + "IIQQQQ", 7, 7, 0x1000, 0x1000, 32, 1) + b"name\0" + b"\x90" * 32),
            (1, struct.pack(mark + "IIQQQQQ", 7, 7, 0x2000, 0x1000, 0x2000, 32, 1)),
            (3, b""),
        ):
            data += struct.pack(mark + "IIQ", kind, 16 + len(body), 2000) + body
        made.append(data)
    return [*made, b"1000 10 one\n1008 10 two\n", b"ffffffffc0000000 t f\t[mod]\nffffffffc0000040 t g\t[mod]\n"]


if __name__ == "__main__":
    main(one_input, seeds())
