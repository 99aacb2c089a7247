"""Recordings on the local disk that wait to be shipped: a bounded folder, good whenever its agent may be killed.

A recording is written as ``NAME.part``, in a form that can be read up to wherever its writer was killed. When it is
complete, its description is written beside it, both are brought to the disk, and it gets its name; the description gets
its name last, so that what has a description is whole. After a kill, ``recover`` cuts an unfinished recording after its
last complete record and keeps it too.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from undwarf.agent.store import sync_folder
from undwarf.errors import UndwarfError
from undwarf.perfdata.header import MAGIC, PIPE_SIZE
from undwarf.perfdata.record_types import RecordType

DESCRIPTION_PART = "description.part"
PART = re.compile(r"\d{8}T\d{6}Z-\d+\.part\Z")
RECORDING, DESCRIPTION = ".data", ".json"
SEQUENCE = "sequence"
BLOCK = 1000
"""Sequence numbers that are reserved at once."""
LEAST_BYTES = 4096
"""An unfinished recording of fewer bytes has no samples worth keeping."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """A complete recording: its name without extension, and the bytes of both files."""

    name: str
    size: int


class Spool:
    """The folder, with at most ``most_bytes`` of complete recordings; the oldest ones are dropped first."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        """Raises OSError, and UndwarfError if another agent uses the folder."""
        self.folder = folder
        self.most_bytes = most_bytes
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            hint = "stop it, or give another spool"
            raise UndwarfError(f"cannot use the spool {folder}", "another agent uses it", hint) from error
        self._next = self._reserved = 0
        # Recordings are finished in one thread and shipped in another one.
        self._mutex = threading.RLock()
        self._kept: dict[str, int] = dict(self._found())

    def close(self) -> None:
        """Let others use the folder."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    # -- names ----------------------------------------------------------------------------------------------------

    def number(self) -> int:
        """The next sequence number: larger than all before, also those of agents before this one."""
        if self._next >= self._reserved:
            path = self.folder / SEQUENCE
            with contextlib.suppress(OSError, ValueError):
                self._next = max(self._next, int(path.read_text("ascii")))
            # The file may be gone, or the disk full.
            names = [*self.unfinished(), *map(Path, list(self._kept))]
            self._next = max([self._next, *(_number(name) + 1 for name in names)])
            self._reserved = self._next + BLOCK
            with contextlib.suppress(OSError):
                draft = path.with_name(f"{SEQUENCE}.part")
                draft.write_text(str(self._reserved), "ascii")
                draft.replace(path)
        self._next += 1
        return self._next - 1

    # -- writing --------------------------------------------------------------------------------------------------

    def begin(self, name: str) -> BinaryIO:
        """The file of a recording with this name, which begins with its start. Raises OSError."""
        return (self.folder / f"{name}.part").open("x+b", buffering=0)

    def finish(self, part: BinaryIO, description: dict[str, Any]) -> int:
        """Give a recording its name; returns how many older ones were dropped for it. Raises OSError; then nothing is
        left of it."""
        name = Path(part.name).stem
        os.fsync(part.fileno())
        size = os.fstat(part.fileno()).st_size
        description = {
            **description,
            "recording": f"{name}{RECORDING}",
            "sha256": _sha256(part.fileno()),
            "bytes": size,
        }
        draft = self.folder / DESCRIPTION_PART
        try:
            with draft.open("wb") as file:
                file.write(json.dumps(description, ensure_ascii=True, separators=(",", ":")).encode())
                file.flush()
                os.fsync(file.fileno())
                size += file.tell()
            Path(part.name).replace(self.folder / f"{name}{RECORDING}")
            draft.replace(self.folder / f"{name}{DESCRIPTION}")
        except OSError:
            for left in (draft, Path(part.name), self.folder / f"{name}{RECORDING}"):
                with contextlib.suppress(OSError):
                    left.unlink(missing_ok=True)
            raise
        sync_folder(self.folder)
        with self._mutex:
            self._kept[name] = size
            return self.trim()

    def unfinished(self) -> list[Path]:
        """Recordings that an agent left when it was killed, oldest first."""
        return sorted((path for path in self.folder.iterdir() if PART.match(path.name)), key=_number)

    def recover(self, path: Path, description: dict[str, Any]) -> bool:
        """Finish one that was left; False if it is not worth keeping, and is removed. Raises OSError."""
        with path.open("r+b") as part:
            size = whole_bytes(part)
            if size < LEAST_BYTES:
                path.unlink()
                return False
            part.truncate(size)
            self.finish(part, description)
        return True

    # -- what waits -----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """Bytes of the complete recordings."""
        with self._mutex:
            return sum(self._kept.values())

    def oldest(self) -> Spooled | None:
        """The recording that was finished first; None if none waits."""
        with self._mutex:
            name = next(iter(self._kept), None)
            return Spooled(name, self._kept[name]) if name is not None else None

    def whole(self, name: str, about: dict[str, Any]) -> bool:
        """Whether a recording is what its description says. Raises OSError."""
        with self.files(name)[0].open("rb") as file:
            return _sha256(file.fileno()) == about.get("sha256")

    def files(self, name: str) -> tuple[Path, Path]:
        """The paths of a recording and of its description."""
        return self.folder / f"{name}{RECORDING}", self.folder / f"{name}{DESCRIPTION}"

    def describe(self, name: str) -> dict[str, Any]:
        """The description of a recording. Raises OSError, and ValueError if it is damaged."""
        found = json.loads(self.files(name)[1].read_bytes())
        if not isinstance(found, dict):
            raise ValueError("no description")
        return found

    def remove(self, name: str) -> None:
        """Remove a recording, its description first: without one it counts as nothing."""
        recording, description = self.files(name)
        with self._mutex:
            for path in (description, recording):
                path.unlink(missing_ok=True)
            self._kept.pop(name, None)

    def trim(self) -> int:
        """Drop the oldest recordings above the limit; returns how many."""
        dropped = 0
        while self.size > self.most_bytes and (oldest := self.oldest()) is not None:
            self.remove(oldest.name)
            dropped += 1
        return dropped

    def _found(self) -> Iterator[tuple[str, int]]:
        """Complete recordings, in the order of their numbers; what else is left of them is removed."""
        complete = []
        self._complete_last()
        for path in list(self.folder.iterdir()):
            if path.suffix == RECORDING and path.with_suffix(DESCRIPTION).exists():
                size = path.stat().st_size + path.with_suffix(DESCRIPTION).stat().st_size
                complete.append((_number(path), path.stem, size))
            elif path.suffix == RECORDING or (path.suffix == DESCRIPTION and not path.with_suffix(RECORDING).exists()):
                path.unlink(missing_ok=True)
        return ((name, size) for _number, name, size in sorted(complete))

    def _complete_last(self) -> None:
        """Give the last description its name, if the agent was killed between the names of both files."""
        draft = self.folder / DESCRIPTION_PART
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(draft.read_bytes())
            recording = self.folder / Path(found["recording"]).name
            with recording.open("rb") as file:
                if _sha256(file.fileno()) == found["sha256"]:
                    draft.replace(recording.with_suffix(DESCRIPTION))
        draft.unlink(missing_ok=True)


def _number(path: Path) -> int:
    """The sequence number in the name of a recording."""
    number = path.stem.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 20 else -1


def whole_bytes(part: BinaryIO) -> int:
    """The bytes of a recording in pipe form up to its last complete record, also within compressed ones; 0 if it is no
    recording."""
    total = os.fstat(part.fileno()).st_size
    part.seek(0)
    head = part.read(16)
    if len(head) < 16 or head != struct.pack("=8sQ", MAGIC, PIPE_SIZE):
        return 0
    unpacked = _Unpacked()
    at = whole = 16
    while at + 8 <= total:
        part.seek(at)
        kind, _misc, size = struct.unpack("=IHH", part.read(8))
        if size < 8 or at + size > total or kind > max(RecordType):
            break
        if kind == RecordType.COMPRESSED and not unpacked.take(part.read(size - 8)):
            break
        at += size
        if kind == RecordType.HEADER_TRACING_DATA:
            part.seek(at - size + 8)
            at += (int.from_bytes(part.read(4), "little") + 7) // 8 * 8
        if not unpacked.rest and at <= total:
            whole = at
    return whole


class _Unpacked:
    """The stream of compressed records: ``rest`` is the incomplete record at its end."""

    def __init__(self) -> None:
        self.rest = b""
        self._stream = zstandard.ZstdDecompressor().decompressobj()

    def take(self, data: bytes) -> bool:
        """Go on with the bytes of a compressed record; False if they are damaged."""
        try:
            self.rest += self._stream.decompress(data)
        except zstandard.ZstdError:
            return False
        at = 0
        while at + 8 <= len(self.rest):
            size = int.from_bytes(self.rest[at + 6 : at + 8], "little")
            if size < 8:
                return False
            if at + size > len(self.rest):
                break
            at += size
        self.rest = self.rest[at:]
        return True


def _sha256(descriptor: int) -> str:
    digest = hashlib.sha256()
    at = 0
    while piece := os.pread(descriptor, 1 << 18, at):
        digest.update(piece)
        at += len(piece)
    return digest.hexdigest()
