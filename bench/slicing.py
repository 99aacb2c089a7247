"""Cut a perf.data file to its first records, so that one recording gives the points of a growth curve.

A slice holds the same header, events and feature sections as the whole and the first share of the data section's
records, cut at a record boundary. Two slices therefore differ in nothing but their length, which separate recordings
of a busy machine never do.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
from typing import BinaryIO

MAGIC = b"PERFILE2"
HEADER_SIZE = 104
RECORD_SAMPLE = 9
FEATURE_WORDS = 4
COPY_CHUNK = 1 << 20


def cut_positions(path: str | os.PathLike[str], shares: list[float]) -> list[tuple[int, int]]:
    """For every share (0..1, ascending) of the samples: (bytes of the data section, samples in them)."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start, size = _data_section(data)
        unpack = struct.Struct("<IHH").unpack_from
        ends: list[int] = []
        position, end = start, start + size
        while position + 8 <= end:
            kind, _misc, length = unpack(data, position)
            if length < 8:
                raise ValueError(f"record of {length} bytes at {position}: not a plain perf.data file")
            position += length
            if kind == RECORD_SAMPLE:
                ends.append(min(position, end) - start)
    total = len(ends)
    cuts = []
    for share in shares:
        count = max(1, min(total, round(total * share)))
        cuts.append((size if count == total else ends[count - 1], count))
    return cuts


def write_slice(path: str | os.PathLike[str], target: str | os.PathLike[str], data_bytes: int) -> None:
    """Write the file's header, attributes, first `data_bytes` of records and all feature sections to `target`."""
    with open(path, "rb") as source, open(target, "wb") as sink:
        header = bytearray(source.read(HEADER_SIZE))
        data_offset, data_size = struct.unpack_from("<QQ", header, 40)
        if header[:8] != MAGIC or data_offset < HEADER_SIZE or data_bytes > data_size:
            raise ValueError(f"{path}: not a little-endian perf.data file with {data_bytes} bytes of records")
        struct.pack_into("<Q", header, 48, data_bytes)
        features = sum(word.bit_count() for word in struct.unpack_from(f"<{FEATURE_WORDS}Q", header, 72))
        sink.write(header)
        source.seek(HEADER_SIZE)
        _copy(source, sink, data_offset - HEADER_SIZE + data_bytes)
        source.seek(data_offset + data_size)
        table = list(struct.iter_unpack("<QQ", source.read(16 * features)))
        offset = data_offset + data_bytes + 16 * len(table)
        moved = b""
        for _old, size in table:
            moved += struct.pack("<QQ", offset, size)
            offset += size
        sink.write(moved)
        for old, size in table:
            source.seek(old)
            _copy(source, sink, size)


def _data_section(data: mmap.mmap) -> tuple[int, int]:
    if data[:8] != MAGIC:
        raise ValueError("not a little-endian perf.data file")
    start, size = struct.unpack_from("<QQ", data, 40)
    return start, min(size, len(data) - start)


def _copy(source: BinaryIO, sink: BinaryIO, size: int) -> None:
    while size > 0:
        chunk = source.read(min(size, COPY_CHUNK))
        if not chunk:
            return
        sink.write(chunk)
        size -= len(chunk)


def main(arguments: list[str]) -> int:
    """slicing.py FILE SHARE OUT [SHARE OUT ...]: write slices, print the samples in each, one number a line."""
    source, rest = arguments[0], arguments[1:]
    shares, targets = [float(text) for text in rest[::2]], rest[1::2]
    for (size, count), target in zip(cut_positions(source, shares), targets, strict=True):
        write_slice(source, target, size)
        print(count)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
