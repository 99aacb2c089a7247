"""Opens a recording: events and features are read at once, records on demand."""

import os
import stat
import struct
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from types import TracebackType
from typing import BinaryIO, Literal

from undwarf.defects import Defects
from undwarf.errors import UnreadableInput
from undwarf.limits import DEFAULT, Limits
from undwarf.perfdata import file_sections
from undwarf.perfdata.decoder import Decoder
from undwarf.perfdata.events import EventAttr, attr_bytes, parse_attr
from undwarf.perfdata.features import Feature, Features, parse_build_id, parse_feature, text
from undwarf.perfdata.header import HINT, SIZE, ByteOrder, byte_order_of, order_mark, parse_header
from undwarf.perfdata.record_types import RecordType
from undwarf.perfdata.records import Records
from undwarf.perfdata.records_builder import build_records
from undwarf.perfdata.sample_layout import sample_layout
from undwarf.perfdata.scan_status import ScanStatus
from undwarf.perfdata.spool import Spool, data_files, regular_file
from undwarf.perfdata.stream import WINDOW, Stream

Form = Literal["file", "pipe", "directory"]
Progress = Callable[[int, int], None]

_APPLIED = (
    RecordType.HEADER_ATTR,
    RecordType.HEADER_FEATURE,
    RecordType.HEADER_BUILD_ID,
    RecordType.EVENT_UPDATE,
)
_HEAD_ENDS = (
    RecordType.COMM,
    RecordType.EXIT,
    RecordType.FORK,
    RecordType.SAMPLE,
    RecordType.FINISHED_ROUND,
    RecordType.AUXTRACE,
    RecordType.COMPRESSED,
    RecordType.COMPRESSED2,
)
_HEAD_RECORDS = 100_000
_GLANCE = 1 << 18
"""Bytes of a small recording that are decoded first, to estimate the number of records."""
_NAME_UPDATE = 2
STITCHED_BY = "undwarf "
"""Start of the VERSION of recordings with unwound chains (undwarf.unwind.sample_writer), whose samples have a stop
reason in ``misc`` (MISC_STOP_MASK)."""
_LATE_EVENTS = 1000
"""Events that may be described after the first samples; each rebuilds the decoders' tables."""


class PerfData:
    """A perf.data recording in any of its forms. Use as a context manager, or call ``close``."""

    def __init__(self, path: str, files: list[int], limits: Limits, defects: Defects) -> None:
        """``files``: descriptors, the one with the header first. See ``open_perf_data``."""
        self.path = path
        self.defects = defects
        self.features = Features()
        self.events: list[EventAttr] = []
        self._owned = ExitStack()
        self._updates: dict[int, str] = {}
        self._limits = limits
        self._head_applied = 0
        self._rare = 0
        self._records: Records | None = None
        self._switches = False
        file = files[0]
        size = os.fstat(file).st_size
        header = parse_header(os.pread(file, SIZE, 0), path, defects)
        self.form: Form = "pipe" if header.pipe else "directory" if len(files) > 1 else "file"
        self.byte_order: ByteOrder = header.byte_order
        if header.pipe:
            self._raw = [(file, header.size, size - header.size)]
            self._read_head(file, header.size, size)
            if not self.events:
                why = "it is in pipe form, but no event is described before the first sample"
                raise UnreadableInput(f"cannot read {path}", why, "the stream is damaged; record again")
        else:
            data = file_sections.data_section(header, size, path, defects)
            self._raw = [(file, data.offset, data.size)]
            self.features = file_sections.read_features(file, header, size, path, defects)
            events = file_sections.read_events(file, header, size, path, defects)
            self.events = events
        self._rename()
        self._raw += [(number, 0, os.fstat(number).st_size) for number in files[1:]]
        self._stream = Stream(self._raw, path)

    @property
    def stitched(self) -> bool:
        """Whether undwarf wrote the recording: samples have unwound chains and their stop reasons."""
        return (self.features.version or "").startswith(STITCHED_BY)

    def records(self, progress: Progress | None = None, *, switches: bool = False) -> Records:
        """All records, decoded at the first call. ``progress`` is called with the bytes done and all bytes.

        Context switches are counted, and in the side band only when ``switches`` is set.
        """
        if self._records is None or (switches and not self._switches):
            self._records = self._decode(progress, switches)
            self._switches = switches
        return self._records

    def window(self, position: int, length: int) -> AbstractContextManager[memoryview]:
        """The bytes [position, position + length) of the record stream, mapped read-only while the with lasts.

        It holds fewer bytes at the end of a segment. Positions come from ``records``.
        """
        return self._stream.window(position, length)

    def segment_end(self, position: int) -> int:
        """The end of the segment that holds ``position``; records never straddle segments."""
        segment = self._stream.segment(position)
        return segment.end if segment is not None else self._stream.size

    @property
    def stream_size(self) -> int:
        """Bytes of the record stream."""
        return self._stream.size

    def owns(self, files: ExitStack) -> None:
        """Close these files in :meth:`close`, too."""
        self._owned.push(files)

    def close(self) -> None:
        """Close files and remove temporary ones."""
        self._owned.close()

    def __enter__(self) -> "PerfData":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _decode(self, progress: Progress | None, switches: bool) -> Records:
        if self._raw and (self.byte_order != sys.byteorder or self.features.compressed is not None):
            self._unpack(progress)
        decoder = self._scan(progress, switches)
        if decoder is None:
            # Compressed records without the feature that announces them.
            self._unpack(progress)
            decoder = self._scan(progress, switches)
            assert decoder is not None
        self._rename()
        return build_records(decoder, self.events, self.path, self.defects)

    def _unpack(self, progress: Progress | None) -> None:
        """Make the stream a temporary file with the records decompressed and in native byte order."""
        # Imported here: zstandard is needed for few recordings.
        from undwarf.perfdata.decompress import Unpacker

        spool = Spool(self._limits.stream_bytes)
        self._owned.callback(spool.close)
        unpacker = Unpacker(spool, self.byte_order, self.events, self._limits, self.defects)
        parts = unpacker.run(Stream(self._raw, self.path), progress)
        self._stream = Stream(parts, self.path)
        self._raw = []

    def _scan(self, progress: Progress | None, switches: bool) -> Decoder | None:
        """Decode the whole stream; None if it has compressed records that no feature section announced."""
        stream = self._stream
        decoder = Decoder(sample_layout(self.events), self._limits.records, keep_switches=switches)
        self._rare = 0
        for segment in stream.segments:
            # Each file of a directory is written by a thread of its own.
            decoder.rounds.restart()
            position = segment.position
            status: int = ScanStatus.MORE
            held = used = 0
            # Columns that grow by doubling are written twice, so their final size is estimated from the density of
            # records so far. A large recording needs a whole window for a good estimate.
            length = WINDOW if stream.size > 2 * WINDOW else min(_GLANCE, WINDOW)
            while position < segment.end:
                with stream.window(position, length) as view:
                    decoder.at, held = 0, len(view)
                    while (status := decoder.scan(view, position)) == ScanStatus.RARE:
                        if not self._rare_record(decoder, view):
                            return None
                    used = decoder.at
                at_end = position + held >= segment.end
                position += used
                if status != ScanStatus.MORE or used == 0 or (at_end and used < held):
                    break
                if progress is not None:
                    progress(min(position, stream.size), stream.size)
                length = WINDOW
                columns = decoder.columns
                if columns.samples:
                    share = stream.size / position
                    columns.expect(int(columns.samples * share) + 1024, int(columns.sideband * share) + 1024)
            left = segment.end - position
            if status == ScanStatus.FULL:
                self.defects.add("too many records", self.path, detail=f"the last {left} bytes are not read")
                break
            if status == ScanStatus.BROKEN:
                detail = f"at stream position {position}; it and {left} bytes from there on are lost"
                self.defects.add("record with an impossible size", self.path, detail=detail)
            elif left > 0:
                self.defects.add("truncated record", self.path, detail=f"{left} trailing bytes do not form a record")
            elif left < 0:
                self.defects.add("truncated record", self.path, detail=f"{-left} bytes of trace data are missing")
        self._head_applied = max(self._head_applied, self._rare)
        return decoder

    def _rare_record(self, decoder: Decoder, view: memoryview) -> bool:
        """Handle the record the decoder stopped at and skip it; False if it must be decompressed first."""
        at = decoder.at
        kind, misc, size = struct.unpack_from("=IHH", view, at)
        decoder.at = at + size
        if kind in (RecordType.COMPRESSED, RecordType.COMPRESSED2):
            if self._raw:
                self._head_applied = max(self._head_applied, self._rare)
                return False
            self.defects.add("compressed record inside a compressed one", self.path)
        elif kind == RecordType.HEADER_TRACING_DATA:
            decoder.at += self._tracing_bytes(view[at : at + size], sys.byteorder)
        else:
            self._rare += 1
            if self._rare > self._head_applied:
                self._apply(kind, misc, bytes(view[at + 8 : at + size]))
                if kind == RecordType.HEADER_ATTR and len(self.events) <= _LATE_EVENTS:
                    decoder.change_layout(sample_layout(self.events))
        return True

    def _read_head(self, file: int, start: int, end: int) -> None:
        """Apply the records of a recording in pipe form that precede those of processes."""
        mark = order_mark(self.byte_order)
        position = start
        for _ in range(_HEAD_RECORDS):
            header = os.pread(file, 8, position)
            if len(header) < 8:
                break
            kind, misc, size = struct.unpack(mark + "IHH", header)
            if kind in _HEAD_ENDS or size < 8 or position + size > end:
                break
            if kind in _APPLIED:
                self._apply(kind, misc, os.pread(file, size - 8, position + 8))
                self._head_applied += 1
            elif kind == RecordType.HEADER_TRACING_DATA:
                extra = self._tracing_bytes(os.pread(file, size, position), self.byte_order)
                if 0 < extra <= file_sections.SECTION_BYTES:
                    payload = file_sections.read_at(file, position + size, extra)
                    parse_feature(Feature.TRACING_DATA, payload, self.byte_order, self.features, self.defects)
                size += extra
            position += size

    def _tracing_bytes(self, record: "bytes | memoryview", byte_order: ByteOrder) -> int:
        """Bytes that follow a TRACING_DATA record outside of its size."""
        if len(record) < 12:
            return 0
        (size,) = struct.unpack_from(order_mark(byte_order) + "I", record, 8)
        return int(size + 7) // 8 * 8

    def _apply(self, kind: int, misc: int, body: bytes) -> None:
        """Apply one of the records that pipe form has in place of header and feature sections."""
        mark = order_mark(self.byte_order)
        if kind == RecordType.HEADER_ATTR:
            self._add_event(body)
        elif kind == RecordType.HEADER_FEATURE and len(body) >= 8:
            (number,) = struct.unpack_from(mark + "Q", body)
            # The last one is empty and marks the end of features.
            if len(body) > 8:
                parse_feature(number, body[8:], self.byte_order, self.features, self.defects)
        elif kind == RecordType.HEADER_BUILD_ID:
            entry = parse_build_id(body, misc, self.byte_order)
            if entry is not None:
                self.features.build_ids.append(entry)
        elif kind == RecordType.EVENT_UPDATE and len(body) > 16:
            what, identifier = struct.unpack_from(mark + "QQ", body)
            name = text(body[16:])
            if what == _NAME_UPDATE and name:
                self._updates[identifier] = name

    def _rename(self) -> None:
        """Name events as the recording does; a later EVENT_UPDATE record takes precedence."""
        events = file_sections.name_events(self.events, self.features)
        for number, event in enumerate(events):
            update = next((i for i in event.ids if i in self._updates), None) if self._updates else None
            if update is not None:
                events[number] = replace(event, name=self._updates[update])
        self.events = events

    def _add_event(self, body: bytes) -> None:
        if len(body) < 64 or len(self.events) >= file_sections.MAX_EVENTS:
            self.defects.add("damaged event attributes", self.path)
            return
        size = min(attr_bytes(body, self.byte_order), len(body))
        ids = body[size:]
        event = parse_attr(body[:size], self.byte_order)
        numbers = struct.unpack(f"{order_mark(self.byte_order)}{len(ids) // 8}Q", ids[: len(ids) // 8 * 8])
        self.events.append(replace(event, ids=numbers))


def open_perf_data(
    source: "str | os.PathLike[str] | BinaryIO",
    *,
    limits: Limits = DEFAULT,
    defects: Defects | None = None,
) -> PerfData:
    """Open a recording: a file, a directory that ``perf record --threads`` made, ``"-"`` for stdin, or a stream.

    Raises UnreadableInput when it cannot be opened or is no perf.data. Damage that leaves something to read is
    counted in ``defects``.
    """
    if defects is None:
        defects = Defects()
    with ExitStack() as owned:
        if isinstance(source, str) and source == "-":
            path, files = "-", [_stream_file("-", sys.stdin.buffer, owned, limits)]
        elif isinstance(source, str | os.PathLike):
            path = os.fspath(source)
            files = _path_files(path, owned, limits)
        elif not hasattr(source, "read"):
            raise TypeError(f"a recording is opened by its path, or as a binary stream, not as {type(source).__name__}")
        else:
            path = str(getattr(source, "name", "<stream>"))
            files = [_stream_file(path, source, owned, limits)]
        data = PerfData(path, files, limits, defects)
        data.owns(owned.pop_all())
    return data


def _stream_file(path: str, source: BinaryIO, owned: ExitStack, limits: Limits) -> int:
    """A descriptor with all bytes of a stream: the file behind it, or a temporary copy."""
    number = regular_file(source)
    if number is not None:
        owned.callback(os.close, number)
        return number
    # The header first: a stream that is no recording may be endless.
    start = b""
    while len(start) < SIZE and (more := source.read(SIZE - len(start))):
        start += more
    byte_order_of(start, path)
    spool = Spool(limits.stream_bytes)
    owned.callback(spool.close)
    spool.write(start)
    spool.copy(source)
    return spool.fileno()


def _open(path: str, owned: ExitStack) -> int:
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    owned.callback(os.close, number)
    return number


def _path_files(path: str, owned: ExitStack, limits: Limits) -> list[int]:
    what = f"cannot read {path}"
    if not path:
        raise UnreadableInput("cannot read a file without a name", "the name is empty", HINT)
    try:
        status = os.stat(path)  # to import pathlib takes longer than to read a small recording
        if stat.S_ISDIR(status.st_mode):
            from pathlib import Path

            main = Path(path) / "data"
            if not main.is_file():
                raise UnreadableInput(what, "it is a directory without a file named 'data'", HINT)
            return [_open(name, owned) for name in (str(main), *data_files(path))]
        if stat.S_ISREG(status.st_mode) and status.st_size > 0:
            return [_open(path, owned)]
        with open(path, "rb", buffering=0) as source:
            return [_stream_file(path, source, owned, limits)]
    except OSError as error:
        hint = "record one with 'perf record --call-graph dwarf'" if isinstance(error, FileNotFoundError) else ""
        raise UnreadableInput(what, error.strerror or str(error), hint) from error
