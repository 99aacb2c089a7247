"""Makes SFrame sections of all versions from functions and rows, byte by byte as the specification has them."""

import struct
from dataclasses import dataclass, field

AMD64, AARCH64, AARCH64_BIG, S390X = 3, 2, 1, 4
SP, FP = 1, 0
MACHINES = {AMD64: 62, AARCH64: 183, AARCH64_BIG: 183, S390X: 22}


@dataclass
class Function:
    """One function; ``rows`` are (offset, info bits besides count and size, words)."""

    start: int
    size: int
    rows: list[tuple[int, int, tuple[int, ...]]]
    info: int = 0  # besides the width of offsets
    kind: int = 0  # 1: flexible
    block: int = 0
    width: int = 1  # bytes of a row's offset
    word: int = 1  # bytes of a row's words


@dataclass
class SFrame:
    """A section to be; :meth:`build` gives its bytes."""

    version: int = 3
    abi: int = AMD64
    flags: int = 5
    address: int = 0x2000
    fixed_fp: int = 0
    more: bytes = b""
    functions: list[Function] = field(default_factory=list)

    @property
    def big(self) -> bool:
        return self.abi in (AARCH64_BIG, S390X)

    @property
    def byte_order(self) -> str:
        return "big" if self.big else "little"

    def rows_of(self, function: Function) -> bytes:
        """A function's rows."""
        order = self.byte_order
        found = b""
        for offset, info, words in function.rows:
            size = {1: 0, 2: 1, 4: 2}[function.word]
            found += offset.to_bytes(function.width, order) + bytes([info | len(words) << 1 | size << 5])
            for word in words:
                found += (word & (1 << 8 * function.word) - 1).to_bytes(function.word, order)
        return found

    def build(self) -> bytes:
        """The section's bytes, loaded at ``address``."""
        mark = ">" if self.big else "<"
        stride = {1: 17, 2: 20, 3: 16}[self.version]
        entries = rows = b""
        fixed_ra = -8 if self.abi == AMD64 else 0
        for number, function in enumerate(self.functions):
            field_at = 28 + len(self.more) + stride * number
            start = function.start - self.address - (field_at if self.flags & 4 else 0)
            info = function.info | {1: 0, 2: 1, 4: 2}[function.width]
            at = len(rows)
            if self.version == 3:
                entries += struct.pack(mark + "qII", start, function.size, at)
                rows += struct.pack(mark + "HBBB", len(function.rows), info, function.kind, function.block)
            else:
                entries += struct.pack(mark + "iIIIB", start, function.size, at, len(function.rows), info)
                if self.version == 2:
                    entries += bytes([function.block, 0, 0])
            rows += self.rows_of(function)
        count = sum(len(function.rows) for function in self.functions)
        head = struct.pack(
            mark + "HBBBbbBIIIII", 0xDEE2, self.version, self.flags, self.abi, self.fixed_fp, fixed_ra,
            len(self.more), len(self.functions), count, len(rows), 0, len(entries),
        )  # fmt: skip  # rows of fields
        return head + self.more + entries + rows
