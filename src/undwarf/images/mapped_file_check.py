"""Checks whether the file at a recorded path can be the one that was mapped, for recordings without build-ids.

A mapping's record has the file's device and inode. Devices are compared first: btrfs and overlayfs show processes
others than they map. A compiler that writes a program anew may get the same inode again, but not a time before the
recording.
"""

import os
import stat
from collections.abc import Callable
from functools import cached_property

PAGE = 4096

Extents = dict[tuple[str, tuple[int, int, int]], int]
"""By path and identity (device, inode): the end of mapped code, in bytes of the file."""


def written_at(path: str) -> float | None:
    """Time of the last write to a recording, in seconds since 1970; None if it is no file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime if stat.S_ISREG(status.st_mode) else None


class Recorded:
    """Evidence about the files of a recording without build-ids.

    ``ended`` is when it was written, in seconds since 1970, None where that is not known; ``here`` is whether this
    machine made it; ``extents`` gives the mapped parts of files.
    """

    def __init__(self, ended: float | None, here: bool, extents: Callable[[], Extents]) -> None:
        self._ended = ended
        self._here = here
        self._find_extents = extents

    @cached_property
    def _extents(self) -> Extents:
        return self._find_extents()

    def contradiction(self, found: str, recorded: str, place: tuple[int, int, int] | None) -> str:
        """Why the file at ``found`` is not the one mapped as ``recorded``; empty without evidence against it."""
        try:
            status = os.stat(found)
        except OSError:
            return ""
        if self._here and place is not None and place[2]:
            device = os.major(status.st_dev), os.minor(status.st_dev)
            if device == place[:2] and status.st_ino != place[2]:
                return "the file at its path is another one than was mapped (by its inode)"
        if self._here and self._ended is not None and status.st_mtime > self._ended:
            return "the file at its path was changed after the recording"
        if place is not None and self._extents.get((recorded, place), 0) >= status.st_size + PAGE:
            return "the file at its path is smaller than what was mapped"
        return ""
