"""BTF from any bytes: every type looked at, every function's prototype, every variable."""

import struct

from mutate import main

from undwarf.errors import UnreadableInput
from undwarf.limits import Limits
from undwarf.types.btf import BtfFile, BtfTypes
from undwarf.types.from_btf import BtfSource

LIMITS = Limits(types=2000)


def one_input(data: bytes) -> None:
    """Anything but UnreadableInput is a defect."""
    try:
        source = BtfSource(BtfTypes(BtfFile(data, limits=LIMITS)))
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
        (0, 13 << 24 | 2, 2, 10, 2, 15, 3),
        (19, 12 << 24 | 1, 12),
        (15, 14 << 24, 3, 1),
        (24, 15 << 24 | 1, 0, 14, 0, 16),
        (1, 16 << 24, 8),
        (1, 17 << 24, 3, 0),
        (1, 18 << 24, 3),
        (1, 19 << 24 | 1, 8, 1, 0, 0),
        (5, 1 << 31 | 4 << 24 | 2, 4, 10, 1, 3 << 24, 15, 1, 5 << 24 | 3),
    ]
    types = b"".join(struct.pack(f"<{len(row)}I", *row) for row in rows)
    head = struct.pack("<HBBI4I", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings))
    return [head + types + strings]


if __name__ == "__main__":
    main(one_input, seeds())
