"""Writes perf.data, in file or pipe form, plain or compressed, so that perf can read it.

In file form the header's data size is 0 ("not finished") until ``finish``: if the writer is killed, perf and undwarf
still read all records in the file. Source: ``tools/perf/util/header.c``.
"""

import os
import struct
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, BinaryIO, Literal

from undwarf.perfdata.abi import LARGEST_RECORD
from undwarf.perfdata.events import EventAttr, encode_attr
from undwarf.perfdata.feature_writer import attr_stride
from undwarf.perfdata.features import Feature
from undwarf.perfdata.header import MAGIC, PIPE_SIZE, SIZE
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.record_writer import finished_round, record

CHUNK = 256 << 10
"""Bytes of records compressed at once. perf unpacks each compressed record into a buffer of the announced size."""
ANNOUNCED = 2 * CHUNK
ADOPTED = 1 << 20
"""Bytes copied at once."""
PIECE = 65000
"""Compressed bytes in one record; its size field has 16 bits."""
LAST_IN_PIPE = Feature.PMU_CAPS
"""perf 6.1 reports an error for later feature sections in pipe form; in file form it skips them."""

_NAME_UPDATE = 2


class PerfWriter:
    """Writes one recording to ``sink``, which file form needs to be seekable. Use as a context manager.

    ``features`` are sections by number, see `feature_writer.py`. In file form they may be given to ``finish`` as well;
    in pipe form they have to come first. ``zstd_level`` 0 leaves records as they are.
    """

    def __init__(
        self,
        sink: BinaryIO,
        events: Sequence[EventAttr],
        *,
        features: Mapping[int, bytes] | None = None,
        form: Literal["file", "pipe"] = "file",
        zstd_level: int = 0,
    ) -> None:
        if not events:
            raise ValueError("a recording has at least one event")
        self.form = form
        self.size = 0
        """Bytes of the record stream before compression."""
        self._sink = sink
        self._events = list(events)
        self._features = dict(features or {})
        self._level = zstd_level
        self._compressor: Any = None
        self._pending = bytearray()
        self._given = 0
        self._packed = 0
        self._start = 0
        self._written = 0
        if zstd_level:
            # Imported here since most users of this module never compress.
            import zstandard

            self._compressor = zstandard.ZstdCompressor(level=zstd_level).compressobj()
            self._flush_block = zstandard.COMPRESSOBJ_FLUSH_BLOCK
            self._features[Feature.COMPRESSED] = struct.pack("=5I", 0, 1, zstd_level, 10, ANNOUNCED)
        if form == "pipe":
            self._begin_pipe()
        else:
            self._begin_file()

    def write(self, records: "bytes | bytearray | memoryview") -> None:
        """Append whole records in native byte order."""
        self.size += len(records)
        if self._compressor is None:
            self._put(records)
            return
        self._pending += records
        while len(self._pending) >= CHUNK:
            self._compress(CHUNK)

    def adopt(self, descriptor: int, start: int, end: int) -> None:
        """Append bytes of a file that another writer wrote for the same events: whole records, or compressed ones of
        the same level. Nothing may have been written before."""
        while start < end:
            chunk = os.pread(descriptor, min(ADOPTED, end - start), start)
            if not chunk:
                break
            self._put(chunk)
            start += len(chunk)

    def flush(self) -> None:
        """Write everything so far to the file, so that it outlives this process."""
        if self._compressor is not None and self._pending:
            self._compress(len(self._pending))
        self._sink.flush()

    def finish(self, features: Mapping[int, bytes] | None = None) -> None:
        """Write pending records; in file form also the feature sections and the header's sizes."""
        self.flush()
        if self.form == "file":
            if not self._written:
                # Without a record the data size would be 0, which means "not finished".
                self._put(finished_round())
            self._features.update(features or {})
            if self._compressor is not None:
                ratio = max(1, self._given // max(1, self._packed))
                self._features[Feature.COMPRESSED] = struct.pack("=5I", 0, 1, self._level, ratio, ANNOUNCED)
            end = self._start + self._written
            numbers = sorted(number for number, payload in self._features.items() if payload)
            at = end + 16 * len(numbers)
            table = []
            for number in numbers:
                table.append(struct.pack("=QQ", at, len(self._features[number])))
                at += len(self._features[number])
            self._sink.write(b"".join(table + [self._features[number] for number in numbers]))
            self._sink.seek(0)
            self._sink.write(self._header(self._written, numbers))
            self._sink.seek(0, 2)
        self._sink.flush()

    def __enter__(self) -> "PerfWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()

    def _put(self, data: "bytes | bytearray | memoryview") -> None:
        self._written += len(data)
        # A raw sink may write less than requested.
        view = memoryview(data)
        while len(view):
            done = self._sink.write(view)
            if done is None or done >= len(view):
                break
            view = view[done:]

    def _compress(self, count: int) -> None:
        """Compress the first ``count`` pending bytes, and flush, so that they can be read without later ones."""
        packed = self._compressor.compress(self._pending[:count]) + self._compressor.flush(self._flush_block)
        del self._pending[:count]
        self._given += count
        self._packed += len(packed)
        for at in range(0, len(packed), PIECE):
            self._put(record(RecordType.COMPRESSED, packed[at : at + PIECE]))

    def _begin_file(self) -> None:
        ids = b"".join(struct.pack(f"={len(event.ids)}Q", *event.ids) for event in self._events)
        size = attr_stride(self._events)
        self._attrs_at = SIZE + len(ids)
        self._attr_size = size + 16
        place = SIZE
        entries = []
        for event in self._events:
            entries.append(encode_attr(event).ljust(size, b"\0") + struct.pack("=QQ", place, 8 * len(event.ids)))
            place += 8 * len(event.ids)
        self._start = self._attrs_at + len(entries) * self._attr_size
        self._sink.write(self._header(0, ()) + ids + b"".join(entries))

    def _header(self, data_size: int, numbers: Sequence[int]) -> bytes:
        bits = sum(1 << number for number in numbers)
        head = struct.pack(
            "=8s9Q",
            MAGIC,
            SIZE,
            self._attr_size,
            self._attrs_at,
            self._attr_size * len(self._events),
            self._start,
            data_size,
            0,
            0,
            bits & (1 << 64) - 1,
        )
        return head + struct.pack("=3Q", *(bits >> 64 * number & (1 << 64) - 1 for number in (1, 2, 3)))

    def _begin_pipe(self) -> None:
        parts = [struct.pack("=8sQ", MAGIC, PIPE_SIZE)]
        for event in self._events:
            attr = encode_attr(event)
            # Many threads on many CPUs have more ids than fit in one record; file form has all of them.
            ids = event.ids[: (LARGEST_RECORD - 8 - len(attr)) // 8]
            parts.append(record(RecordType.HEADER_ATTR, attr + struct.pack(f"={len(ids)}Q", *ids)))
        for number in sorted(self._features):
            payload = self._features[number]
            if number == Feature.TRACING_DATA:
                padded = payload + bytes(-len(payload) % 8)
                parts.append(record(RecordType.HEADER_TRACING_DATA, struct.pack("=II", len(padded), 0)) + padded)
            elif number == Feature.BUILD_ID:
                parts.append(_build_id_records(payload))
            elif number <= LAST_IN_PIPE and len(payload) <= PIECE:
                parts.append(record(RecordType.HEADER_FEATURE, struct.pack("=Q", number) + payload))
        for event in self._events:
            if event.ids and event.name:
                name = event.name.encode("utf-8", "surrogateescape") + b"\0"
                body = struct.pack("=QQ", _NAME_UPDATE, event.ids[0]) + name + bytes(-len(name) % 8)
                parts.append(record(RecordType.EVENT_UPDATE, body))
        head = b"".join(parts)
        self._start = len(head)
        self._sink.write(head)

    @property
    def records_at(self) -> int:
        """Where in the file the records begin."""
        return self._start

    @property
    def written(self) -> int:
        """Bytes of records in the file so far, after compression."""
        return self._written


def _build_id_records(section: bytes) -> bytes:
    """The entries of a BUILD_ID section as records of a stream."""
    out = bytearray(section)
    at = 0
    while at + 8 <= len(out):
        struct.pack_into("=I", out, at, RecordType.HEADER_BUILD_ID)
        (size,) = struct.unpack_from("=H", out, at + 6)
        at += max(8, size)
    return bytes(out)
