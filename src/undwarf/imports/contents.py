"""The bytes of an input: its beginning, which says what it is, all of it, and what is compressed in it."""

import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Protocol, cast

from undwarf.errors import UnreadableInput
from undwarf.limits import Limits


class Readable(Protocol):
    """A binary stream."""

    def read(self, size: int, /) -> bytes: ...


Source = str | os.PathLike[str] | BinaryIO
"""An input: a path, ``-`` for standard input, or a stream."""
START = 104
"""Bytes that are read to tell a recording from other files: the size of its header."""
GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20


class Resumed(io.RawIOBase):
    """A stream whose beginning was read already; the stream behind it is not closed with it."""

    def __init__(self, name: str, start: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self.name = name
        self._start = start
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``; empty at the end."""
        if self._start:
            size = len(self._start) if size < 0 else size
            found, self._start = self._start[:size], self._start[size:]
            return found
        return self._rest.read(size) if size >= 0 else self._rest.read()


def name_of(source: Source) -> str:
    """What an input is called in errors."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return str(getattr(source, "name", "<stream>"))


@contextmanager
def begun(source: Source) -> Iterator[tuple[bytes, Source]]:
    """The first bytes of an input, and the input to go on with, which still has them; until the context ends.

    They are empty for what is left to the reader of recordings: directories, and what cannot be opened.
    """
    if isinstance(source, str) and source == "-":
        yield _of_stream(sys.stdin.buffer, source)
    elif isinstance(source, str | os.PathLike):
        try:
            status = os.stat(source)
            file = None if stat.S_ISDIR(status.st_mode) else open(source, "rb", buffering=0)  # noqa: SIM115 - closed below
        except (OSError, ValueError):
            file = None
        if file is None:
            yield b"", source
            return
        with file:
            start = read_up_to(file, START)
            if stat.S_ISREG(status.st_mode) and status.st_size > 0:
                yield start, source
            else:
                yield start, cast("BinaryIO", Resumed(os.fspath(source), start, file))
    elif hasattr(source, "read"):
        yield _of_stream(source, None)
    else:
        yield b"", source


def _of_stream(stream: BinaryIO, name: str | None) -> tuple[bytes, Source]:
    """The first bytes of a stream; ``name`` is what it is opened by elsewhere."""
    try:
        number = stream.fileno()
        status = os.fstat(number)
        if stat.S_ISREG(status.st_mode) and status.st_size > 0 and os.lseek(number, 0, os.SEEK_CUR) == 0:
            return os.pread(number, START, 0), name if name is not None else stream
    except (AttributeError, OSError, ValueError):
        pass
    start = read_up_to(stream, START)
    return start, cast("BinaryIO", Resumed(name if name is not None else name_of(stream), start, stream))


def opened(source: Source) -> BinaryIO:
    """An input as a stream; closing it leaves standard input and streams of the caller open."""
    if isinstance(source, str | os.PathLike):
        return open(0 if source == "-" else source, "rb", buffering=0, closefd=source != "-")
    return cast("BinaryIO", Resumed(name_of(source), b"", source))


def read_up_to(stream: Readable, size: int) -> bytes:
    """The next ``size`` bytes; fewer at the end."""
    chunks = []
    while size > 0 and (chunk := stream.read(min(size, _CHUNK))):
        size -= len(chunk)
        chunks.append(chunk)
    return b"".join(chunks)


def whole(stream: Readable, start: bytes, name: str, limits: Limits) -> bytes:
    """All bytes of a stream that began with ``start``. Raises UnreadableInput above ``profile_bytes``."""
    rest = read_up_to(stream, limits.profile_bytes - len(start) + 1)
    if len(start) + len(rest) > limits.profile_bytes:
        raise too_large(name, limits.profile_bytes)
    return start + rest


def too_large(name: str, most: int) -> UnreadableInput:
    """The error for an input of more than ``most`` bytes."""
    why = f"it has more than {most >> 20} MiB"
    return UnreadableInput(f"cannot read {name}", why, "raise the limit if it is genuine")


def unpacked(packed: bytes, name: str, limits: Limits) -> tuple[bytes, int]:
    """(what gzip has compressed, in one or several parts, the number of bytes after it that are not gzip's).

    Raises UnreadableInput for damaged data, and for more than the limits allow.
    """
    most = min(limits.profile_bytes, limits.profile_ratio * len(packed) + limits.profile_unpacked_bytes)
    chunks = []
    size = 0
    left: bytes | memoryview = memoryview(packed)
    what = f"cannot read {name}"
    while left[:2] == GZIP:
        reader = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not reader.eof:
            try:
                chunk = reader.decompress(left, _CHUNK)
            except zlib.error as error:
                raise UnreadableInput(what, f"its gzip data is damaged: {error}", "get a complete copy") from error
            if not chunk and not reader.eof:
                raise UnreadableInput(what, "its gzip data ends early", "get a complete copy")
            left = reader.unconsumed_tail
            size += len(chunk)
            if size > most:
                raise too_large(name, most)
            chunks.append(chunk)
        left = reader.unused_data
    return b"".join(chunks), len(left)
