"""Writes a perf.data whose samples ask perf for the names of chosen addresses."""

import struct
from pathlib import Path
from typing import NamedTuple

BASE = 0x7F00_0000_0000
PID = 100


class Mapping(NamedTuple):
    start: int
    length: int
    offset: int
    name: bytes
    build_id: bytes


def _record(kind: int, misc: int, payload: bytes) -> bytes:
    return struct.pack("<IHH", kind, misc, 8 + len(payload)) + payload


def _padded(text: bytes) -> bytes:
    return text + b"\0" * (8 - len(text) % 8)


def write_recording(path: Path, mappings: list[Mapping], ips: list[int]) -> None:
    """One process, one event of the software clock, a sample for each ip."""
    parts = [_record(3, 2, struct.pack("<II", PID, PID) + _padded(b"prog") + struct.pack("<IIQ", PID, PID, 0))]
    for start, length, offset, name, build_id in mappings:
        payload = struct.pack("<IIQQQ", PID, PID, start, length, offset)
        payload += bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0")
        payload += struct.pack("<II", 5, 2) + _padded(name) + struct.pack("<IIQ", PID, PID, 0)
        parts.append(_record(10, 2 | 1 << 14, payload))
    parts += [_record(9, 2, struct.pack("<QIIQ", ip, PID, PID, 1000 + i)) for i, ip in enumerate(ips)]
    data = b"".join(parts)
    attr = bytearray(128)
    flags = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18 | 1 << 23
    struct.pack_into("<IIQQQQQ", attr, 0, 1, 128, 0, 1000, 1 | 2 | 4, 0, flags)
    attrs = bytes(attr) + struct.pack("<QQ", 0, 0)
    at = 104 + len(attrs)
    head = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, len(attrs), 104, len(attrs), at, len(data), 0, 0)
    path.write_bytes(head + b"\0" * 32 + attrs + data)
