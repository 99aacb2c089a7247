"""Temporary files for bytes that cannot be mapped where they are: pipes, decompressed and converted records."""

import os
import stat
from typing import BinaryIO

from undwarf.errors import UnreadableInput

CHUNK = 1 << 20


def spool_directory() -> str:
    """The directory of spools: TMPDIR, else /var/tmp, which unlike /tmp is rarely a tmpfs, else the default."""
    if "TMPDIR" not in os.environ and os.access("/var/tmp", os.W_OK | os.X_OK):
        return "/var/tmp"
    import tempfile

    return tempfile.gettempdir()


class Spool:
    """An unlinked temporary file that is written once, front to back."""

    def __init__(self, limit: int) -> None:
        """``limit``: maximum size in bytes, against decompression bombs."""
        import tempfile  # only here: loading it costs more than reading a small recording

        directory = spool_directory()
        try:
            self._file = tempfile.TemporaryFile(dir=directory, buffering=0, prefix="undwarf-")  # noqa: SIM115 - open as long as this object
        except OSError as error:
            why = f"no temporary file can be created in {directory}: {error.strerror}"
            raise UnreadableInput("cannot unpack the recording", why, "set TMPDIR") from error
        self.size = 0
        self.limit = limit
        self._pending = bytearray()

    def fileno(self) -> int:
        """Its file descriptor."""
        return self._file.fileno()

    def write(self, data: "bytes | bytearray | memoryview") -> int:
        """Append; raises UnreadableInput when the disk is full or the limit is reached."""
        length = len(data)
        if self.size + length > self.limit:
            why = f"it unpacks to more than {self.limit >> 20} MiB"
            raise UnreadableInput("cannot unpack the recording", why, "raise the limit if it is genuine")
        self.size += length
        self._pending += data
        if len(self._pending) >= CHUNK:
            self.flush()
        return length

    def flush(self) -> None:
        """Write pending bytes to the file, so that they can be mapped."""
        left = memoryview(self._pending)
        try:
            while left:
                left = left[os.write(self._file.fileno(), left) :]
        except OSError as error:
            why = f"the temporary file in {spool_directory()} cannot be written: {error.strerror}"
            hint = "set TMPDIR to a directory with enough space"
            raise UnreadableInput("cannot unpack the recording", why, hint) from error
        finally:
            left.release()
        self._pending = bytearray()

    def copy(self, source: BinaryIO) -> None:
        """Append everything ``source`` has."""
        while True:
            data = source.read(CHUNK)
            if not data:
                break
            self.write(data)
        self.flush()

    def close(self) -> None:
        """Close and thereby delete the file."""
        self._file.close()


def regular_file(source: BinaryIO) -> int | None:
    """A new descriptor of a stream's regular file, if it is at its start; None for other streams."""
    try:
        number = source.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    # A regular file that was partly read, or one whose size is not known (/proc), is copied like a pipe.
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode) or os.fstat(number).st_size == 0:
            return None
        if os.lseek(number, 0, os.SEEK_CUR) != 0:
            return None
    except OSError:
        return None
    return os.dup(number)


def data_files(directory: str) -> list[str]:
    """The streams of a recording in directory form, ``data.0``, ``data.1`` ..., by number."""
    found = []
    with os.scandir(directory) as entries:
        for one in entries:
            begin, _dot, number = one.name.partition(".")
            named = begin == "data" and number.isascii() and number.isdigit()
            if named and one.is_file(follow_symlinks=False):
                found.append((int(number), one.path))
    return [path for _, path in sorted(found)]
