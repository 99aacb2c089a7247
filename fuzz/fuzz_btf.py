"""BTF from any bytes: every type looked at, every function's prototype, every variable; and code followed by it."""

import struct
from functools import cache

from fuzz_types import programs
from mutate import main

from undwarf.elf import ElfFile
from undwarf.errors import UnreadableInput
from undwarf.limits import Limits
from undwarf.types.open_resolver import open_resolver
from undwarf.types.sources.btf import BtfFile, BtfTypes
from undwarf.types.sources.data_symbols import DataSymbols
from undwarf.types.sources.from_btf import BtfSource

LIMITS = Limits(types=2000)


def one_input(data: bytes) -> None:
    """Anything but UnreadableInput is a defect."""
    try:
        file = BtfFile(data, limits=LIMITS)
        source = BtfSource(BtfTypes(file))
    except UnreadableInput:
        return
    graph = source.graph
    for t in range(min(len(graph), 100)):
        graph.canonical(t)
        graph.members(t)
        for offset in (0, 4, 8, 1 << 40):
            graph.member_at(t, offset, 8)
            graph.value_at(t, offset, 8)
    for name in list(source.types.functions)[:50]:
        source.prototype_named(name)
    for offset in (0, 64, 1 << 33):
        source.per_cpu_at(offset)
    for program in programs()[:1]:
        follow(program, file)


def follow(program: bytes, file: BtfFile) -> None:
    """What a program's code touches, if these are its types."""
    resolver = open_resolver(ElfFile.from_bytes(program), btf=file, limits=LIMITS)
    assert resolver is not None, "BTF that was read serves"
    for address, name in symbols_of(program).items():
        if name in ("walk", "use"):
            for step in range(60):
                resolver.sampled(address + step)
                resolver.producer(address + step)


@cache
def symbols_of(program: bytes) -> dict[int, str]:
    """Names of a program's functions by address."""
    return dict(DataSymbols(ElfFile.from_bytes(program)).functions)


def seeds() -> list[bytes]:
    """One file with every kind of type."""
    strings = b"\0int\0node\0next\0key\0walk\0.data..percpu\0"
    rows = [
        (1, 1 << 24, 4, 1 << 24 | 32),
        (0, 2 << 24, 3),
        (5, 4 << 24 | 2, 16, 10, 2, 0, 15, 1, 64),
        (0, 3 << 24, 0, 3, 1, 4),
        (5, 5 << 24 | 2, 16, 10, 2, 0, 15, 4, 0),
        (1, 6 << 24 | 1, 4, 1, 0),
        (5, 7 << 24, 0),
        (1, 8 << 24, 3),
        (0, 9 << 24, 8),
        (0, 10 << 24, 9),
        (0, 11 << 24, 2),
        (0, 13 << 24 | 2, 1, 10, 2, 15, 1),
        (19, 12 << 24 | 1, 12),
        (15, 14 << 24, 3, 1),
        (24, 15 << 24 | 1, 0, 14, 0, 16),
        (1, 16 << 24, 8),
        (1, 17 << 24, 3, 0),
        (1, 18 << 24, 3),
        (1, 19 << 24 | 1, 8, 1, 0, 0),
        (5, 1 << 31 | 4 << 24 | 2, 4, 10, 1, 3 << 24, 15, 1, 5 << 24 | 3),
    ]
    # The program that follow() takes has a function walk, whose first argument is a pointer to this node.
    types = b"".join(struct.pack(f"<{len(row)}I", *row) for row in rows)
    head = struct.pack("<HBBI4I", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings))
    return [head + types + strings]


if __name__ == "__main__":
    main(one_input, seeds())
