"""Rewrites a record stream: decompressed, without trace bytes between records, in native byte order.

Each writer compresses its records as one zstd stream that is never ended, cut into COMPRESSED or COMPRESSED2
records wherever a buffer was full, so that records straddle the cuts. Source: ``tools/perf/util/zstd.c``.
"""

import struct
import sys
from collections.abc import Callable, Sequence

import zstandard

from undwarf.defects import Defects
from undwarf.limits import Limits
from undwarf.perfdata.byteorder import Swapper
from undwarf.perfdata.events import EventAttr
from undwarf.perfdata.header import ByteOrder, order_mark
from undwarf.perfdata.record_boundaries import plain_end
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.scan_status import Boundary
from undwarf.perfdata.spool import Spool
from undwarf.perfdata.stream import WINDOW, Stream

LARGEST_WINDOW = 128 << 20
"""zstd's own default limit on the window size of a stream."""
BATCH = 1 << 20
"""Decompressed bytes after which complete records are passed on."""


class _TooMuch(Exception):
    """More decompressed bytes than the limits allow for the compressed ones."""


class _Writer:
    """One writer's zstd stream; buffers an incomplete record at its end."""

    def __init__(self, pass_on: Callable[[bytearray], int], limits: Limits) -> None:
        """``pass_on`` is called with bytes that start with a record, and returns how many it consumed."""
        self._pass_on = pass_on
        self._ratio = limits.compression_ratio
        self._taken = 0
        self._given = 0
        self._tail = bytearray()
        decompressor = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
        self._stream = decompressor.stream_writer(self, write_size=BATCH, closefd=False)  # type: ignore[arg-type]  # has write

    def feed(self, data: memoryview) -> None:
        """Decompress more; raises zstandard.ZstdError or _TooMuch."""
        self._taken += len(data)
        self._stream.write(data)
        self._deliver()

    def write(self, data: bytes) -> int:
        """Called by the decompressor with its output."""
        self._given += len(data)
        # The first bytes of a stream may have a high ratio; a megabyte is harmless.
        if self._given > BATCH + self._ratio * self._taken:
            raise _TooMuch
        self._tail += data
        if len(self._tail) > 2 * BATCH:
            self._deliver()
        return len(data)

    def flush(self) -> None:
        """Part of the decompressor's interface to its sink; nothing is buffered there."""

    def _deliver(self) -> None:
        used = self._pass_on(self._tail)
        if used:
            del self._tail[:used]

    @property
    def left(self) -> int:
        """Bytes of the incomplete record at the end."""
        return len(self._tail)


class Unpacker:
    """Rewrites a raw record stream into a spool."""

    def __init__(
        self, spool: Spool, byte_order: ByteOrder, events: Sequence[EventAttr], limits: Limits, defects: Defects
    ) -> None:
        self._spool = spool
        self._mark = order_mark(byte_order)
        self._big = byte_order == "big"
        self._swapper = Swapper(events) if byte_order != sys.byteorder else None
        self._limits = limits
        self._defects = defects
        self._broken = False

    def run(self, stream: Stream, progress: Callable[[int, int], None] | None = None) -> list[tuple[int, int, int]]:
        """Rewrite everything; returns the parts of a Stream over the spool, one for each segment of ``stream``."""
        parts = []
        for segment in stream.segments:
            start = self._spool.size
            self._segment(stream, segment.position, segment.end, progress)
            parts.append((self._spool.fileno(), start, self._spool.size - start))
        self._spool.flush()
        return parts

    def _segment(self, stream: Stream, position: int, end: int, progress: Callable[[int, int], None] | None) -> None:
        self._broken = False
        writer: _Writer | None = None
        lost = 0
        while position < end:
            with stream.window(position, WINDOW) as view:
                at, length = 0, len(view)
                while True:
                    start = at
                    at, why = plain_end(view, at, self._big)
                    self._plain(view[start:at])
                    if why in (Boundary.INCOMPLETE, Boundary.INVALID):
                        break
                    kind, _misc, size = struct.unpack_from(self._mark + "IHH", view, at)
                    record = view[at : at + size]
                    if kind in (RecordType.COMPRESSED, RecordType.COMPRESSED2):
                        if writer is None:
                            writer = _Writer(self._whole, self._limits)
                        lost += self._compressed(writer, record, kind, bool(lost))
                        at += size
                    else:
                        at += size + self._without_payload(record, kind)
                    record.release()
                    if at > length:
                        break
            if why == Boundary.INVALID:
                # The decoder will find the same record and count it.
                with stream.window(position + at, 8) as view:
                    self._plain(view[:8])
                return
            if at == 0 or (position + length >= end and at < length):
                left = end - position - at
                self._defects.add("truncated record", "", detail=f"{left} trailing bytes do not form a record")
                break
            position += at
            if progress is not None:
                progress(min(position, stream.size), stream.size)
        if writer is not None and writer.left and not lost:
            detail = f"{writer.left} trailing decompressed bytes do not form a record"
            self._defects.add("truncated record", "", detail=detail)
        if lost:
            self._defects.add("compressed records that cannot be unpacked", "", lost)

    def _plain(self, records: memoryview) -> None:
        if not len(records):
            return
        if self._swapper is None:
            self._spool.write(records)
        else:
            copy = bytearray(records)
            self._swapper.swap(copy)
            self._spool.write(copy)

    def _whole(self, data: bytearray) -> int:
        """Pass on the complete records at the start of decompressed bytes; how many bytes they were."""
        at = 0
        while not self._broken:
            start = at
            at, why = plain_end(data, at, self._big)
            with memoryview(data) as view:
                self._plain(view[start:at])
            if why == Boundary.INCOMPLETE:
                break
            if why == Boundary.INVALID:
                self._defects.add("record with an impossible size", "", detail="in decompressed records")
                self._broken = True
                break
            kind, _misc, size = struct.unpack_from(self._mark + "IHH", data, at)
            with memoryview(data) as view:
                self._without_payload(view[at : at + size], kind)
            at += size
        return len(data) if self._broken else at

    def _compressed(self, writer: _Writer, record: memoryview, kind: int, dead: bool) -> int:
        """Decompress a record; 1 if that fails, or failed before (``dead``)."""
        if dead:
            return 1
        payload = record[8:]
        if kind == RecordType.COMPRESSED2:
            if len(payload) < 8:
                return 1
            (size,) = struct.unpack_from(self._mark + "Q", payload)
            if size > len(payload) - 8:
                return 1
            payload = payload[8 : 8 + size]
        try:
            writer.feed(payload)
        except zstandard.ZstdError as error:
            self._defects.add("damaged compression", "", detail=str(error))
            return 1
        except _TooMuch:
            detail = f"more than {self._limits.compression_ratio} times the compressed bytes"
            self._defects.add("implausible compression", "", detail=detail)
            return 1
        return 0

    def _without_payload(self, record: memoryview, kind: int) -> int:
        """Write a record without the bytes that follow it; returns how many those are."""
        copy = bytearray(record)
        extra = 0
        if kind == RecordType.HEADER_TRACING_DATA and len(copy) >= 12:
            (extra,) = struct.unpack_from(self._mark + "I", copy, 8)
            extra = (extra + 7) // 8 * 8
            copy[8:12] = bytes(4)
        elif kind == RecordType.AUXTRACE and len(copy) >= 16:
            (extra,) = struct.unpack_from(self._mark + "Q", copy, 8)
            copy[8:16] = bytes(8)
        elif kind in (RecordType.COMPRESSED, RecordType.COMPRESSED2):
            # Inside decompressed data: kept, for the decoder to count and report.
            pass
        if self._swapper is not None:
            self._swapper.swap(copy)
        self._spool.write(copy)
        return int(extra)
