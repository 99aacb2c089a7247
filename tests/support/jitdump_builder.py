"""Writes jitdump files from values, in either byte order."""

import struct
from dataclasses import dataclass, field

CODE = b"\x90" * 32


@dataclass
class Dump:
    """A jitdump file to be; each method adds a record."""

    order: str = "<"
    pid: int = 7
    machine: int = 62
    created: int = 1000
    flags: int = 0
    data: bytes = b""
    records: list[bytes] = field(default_factory=list)

    def pack(self, form: str, *values: int) -> bytes:
        return struct.pack(self.order + form, *values)

    def record(self, kind: int, time: int, body: bytes, size: int | None = None) -> "Dump":
        self.records.append(self.pack("IIQ", kind, 16 + len(body) if size is None else size, time) + body)
        return self

    def load(self, address: int, name: bytes, index: int = 0, code: bytes = CODE, time: int = 1000) -> "Dump":
        head = self.pack("IIQQQQ", self.pid, self.pid, address, address, len(code), index)
        return self.record(0, time, head + name + b"\0" + code)

    def move(self, old: int, new: int, index: int, size: int = len(CODE), time: int = 1000) -> "Dump":
        return self.record(1, time, self.pack("IIQQQQQ", self.pid, self.pid, new, old, new, size, index))

    def lines(self, address: int, entries: list[tuple[int, int, int, bytes]], count: int | None = None) -> "Dump":
        body = self.pack("QQ", address, len(entries) if count is None else count)
        for place, line, column, file in entries:
            body += self.pack("QII", place, line, column) + file + b"\0"
        return self.record(2, 1000, body)

    def unwinding(self, frames: bytes, header: bytes = b"\x01\x1b\x03\x3b" + b"\0" * 16, first: bool = False) -> "Dump":
        both = header + frames if first else frames + header
        return self.record(4, 1000, self.pack("QQQ", len(both), len(header), 0) + both)

    def build(self) -> bytes:
        head = self.pack("6I2Q", 0x4A695444, 1, 40, self.machine, 0, self.pid, self.created, self.flags)
        return head + b"".join(self.records)


def frames(size: int, back: int) -> bytes:
    """An ``.eh_frame`` for ``size`` bytes of code that start ``back`` bytes before it: cfa rsp+8, from 4 on rsp+24."""
    cie = struct.pack("<II", 20, 0) + b"\x01zR\0\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\0\0"
    fde = struct.pack("<IIiI", 20, 28, -(back + len(cie) + 8), size) + b"\0\x44\x0e\x18" + b"\0" * 4
    return cie + fde + b"\0\0\0\0"
