"""The logical record stream: concatenated segments of files, mapped a window at a time."""

import contextlib
import mmap
import os
from bisect import bisect_right
from collections.abc import Iterable
from types import TracebackType
from typing import NamedTuple

from undwarf.mapped_files import MappedFile

WINDOW = 16 << 20
"""Bytes mapped at once, which bounds the memory that a recording of any size needs."""


class Segment(NamedTuple):
    """A range of whole records in a file. Records never straddle segments."""

    file: int
    offset: int
    length: int
    position: int

    @property
    def end(self) -> int:
        """The stream position after the last byte."""
        return self.position + self.length


class Window:
    """A context manager whose value is a read-only memoryview of mapped bytes, unmapped at its end."""

    __slots__ = ("_length", "_mapping", "_path", "_segment", "_start", "_view")

    def __init__(self, segment: Segment | None, start: int, length: int, path: str) -> None:
        self._segment = segment
        self._start = start
        self._length = length
        self._path = path
        self._mapping: MappedFile | None = None
        self._view: memoryview | None = None

    def __enter__(self) -> memoryview:
        segment = self._segment
        if segment is None:
            return memoryview(b"")
        at = segment.offset + self._start - segment.position
        # Without bytes by which the file was truncated since it was opened.
        length = min(self._length, os.fstat(segment.file).st_size - at)
        if length <= 0:
            return memoryview(b"")
        page = at - at % mmap.ALLOCATIONGRANULARITY
        self._mapping = MappedFile.of(segment.file, at + length - page, self._path, offset=page)
        self._view = memoryview(self._mapping)[at - page :]
        return self._view

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Slices that a caller still has keep the mapping alive.
        with contextlib.suppress(BufferError):
            if self._view is not None:
                self._view.release()
            if self._mapping is not None:
                self._mapping.close()


class Stream:
    """Segments with their positions in the stream; does not own the files."""

    def __init__(self, parts: Iterable[tuple[int, int, int]], path: str = "") -> None:
        """``parts``: (file descriptor, offset, length) in order; empty ones are dropped. ``path`` names the files in
        reports of truncation."""
        self._path = path
        self.segments: list[Segment] = []
        self.size = 0
        for file, offset, length in parts:
            if length > 0:
                self.segments.append(Segment(file, offset, length, self.size))
                self.size += length
        self._starts = [segment.position for segment in self.segments]

    def segment(self, position: int) -> Segment | None:
        """The segment that contains a stream position; None outside the stream."""
        if not 0 <= position < self.size:
            return None
        return self.segments[bisect_right(self._starts, position) - 1]

    def window(self, position: int, length: int) -> Window:
        """The bytes [position, position + length) that are in one segment."""
        segment = self.segment(position)
        if segment is None:
            return Window(None, 0, 0, "")
        return Window(segment, position, max(0, min(length, segment.end - position)), self._path)
