"""Names of run-time compiled functions from a jitdump that is still being written to.

Only what was added since the last look is read, and of that only the records' heads; a name is read when its function
was sampled. Format: ``tools/perf/Documentation/jitdump-specification.txt``.
"""

import os
import stat
import struct
from array import array
from bisect import bisect_right
from contextlib import suppress

HEADER = struct.Struct("6I2Q")
RECORD = struct.Struct("IIQ")
LOADED = struct.Struct("IIQQQQ")
MOVED = struct.Struct("IIQQQQQ")
LOAD, MOVE = 0, 1
MAGIC = 0x4A695444
MOST_FUNCTIONS = 1 << 17
"""Functions of a process that are known: 20 bytes each."""
MOST_BYTES = 64 << 20
"""Bytes of a dump that are passed at a look, the rest at the next one."""
MOST_NAME = 1 << 12
PIECE = 1 << 16
OVERLAPS = 4
"""Functions before an address that are tried: newer code may lie within the range of code that is gone."""


class JitDumpNames:
    """The functions of the dump that a process mapped as ``path`` with ``inode``."""

    def __init__(self, pid: int, path: str, inode: int) -> None:
        self._paths = (path, f"/proc/{pid}/root{path}")
        self._inode = inode
        self._at = 0
        self._starts, self._sizes, self._places = array("Q"), array("I"), array("Q")
        self._order: list[int] = []
        self._sorted: list[int] = []

    def functions(self, addresses: list[int]) -> dict[int, tuple[int, int, str]]:
        """By address: (start, size, name) of the function that is there now; without those that no function holds."""
        file = self._opened()
        if file is None:
            return {}
        try:
            self._read(file, os.fstat(file).st_size)
            found = {address: number for address in addresses if (number := self._at_address(address)) is not None}
            return {
                address: (self._starts[number], self._sizes[number], _name(file, self._places[number]))
                for address, number in found.items()
            }
        except (OSError, struct.error):
            return {}
        finally:
            os.close(file)

    def _opened(self) -> int | None:
        for path in self._paths:
            with suppress(OSError, ValueError):
                status = os.stat(path)
                if status.st_ino == self._inode and stat.S_ISREG(status.st_mode):
                    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        return None

    def _read(self, file: int, size: int) -> None:
        if not self._at:
            head = os.pread(file, HEADER.size, 0)
            if len(head) < HEADER.size or HEADER.unpack(head)[0] != MAGIC:
                return
            self._at = max(HEADER.unpack(head)[2], HEADER.size)
        before, end = len(self._starts), min(size, self._at + MOST_BYTES)
        recent: dict[int, int] = {}
        piece, base = b"", 0
        while self._at + RECORD.size + LOADED.size <= end and len(self._starts) < MOST_FUNCTIONS:
            if self._at + RECORD.size + MOVED.size > base + len(piece):
                piece, base = os.pread(file, PIECE, self._at), self._at
            kind, length, _time = RECORD.unpack_from(piece, self._at - base)
            body = self._at - base + RECORD.size
            if length < RECORD.size or length > size - self._at:
                # It is being written, or damaged.
                break
            if kind == LOAD and length >= RECORD.size + LOADED.size:
                _pid, _tid, _vma, start, code, _index = LOADED.unpack_from(piece, body)
                recent[start] = self._at + RECORD.size + LOADED.size
                self._add(start, code, recent[start])
            elif kind == MOVE and length >= RECORD.size + MOVED.size:
                _pid, _tid, _vma, old, start, code, _index = MOVED.unpack_from(piece, body)
                number = self._at_address(old) if old not in recent else None
                place = recent.get(old, self._places[number] if number is not None else 0)
                if place:
                    recent[start] = place
                    self._add(start, code, place)
            self._at += length
        if len(self._starts) > before:
            self._sort()

    def _add(self, start: int, size: int, place: int) -> None:
        self._starts.append(start)
        self._sizes.append(min(size, 0xFFFFFFFF))
        self._places.append(place)

    def _sort(self) -> None:
        """Those that were added come after older ones at the same address."""
        if len(self._order) < len(self._starts):
            self._order += range(len(self._order), len(self._starts))
            self._order.sort(key=self._starts.__getitem__)
            self._sorted = [self._starts[number] for number in self._order]

    def _at_address(self, address: int) -> int | None:
        last = bisect_right(self._sorted, address)
        for at in range(last - 1, max(-1, last - 1 - OVERLAPS), -1):
            number = self._order[at]
            if address - self._starts[number] < self._sizes[number]:
                return number
        return None


def _name(file: int, place: int) -> str:
    return os.pread(file, MOST_NAME, place).partition(b"\0")[0].decode("utf-8", "replace")
