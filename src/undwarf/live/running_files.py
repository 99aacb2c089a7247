"""The files that running processes map, found by path and inode: the kernel's records have no build-ids of them.

A path is one of the process's own file system: below it another container has another file. Union file systems show
files with other devices than they map, but with the same inode, if all their layers are on one file system (overlayfs,
"Non-directories" in ``Documentation/filesystems/overlayfs.rst``).
"""

import os
import stat

from undwarf.elf import ElfFile
from undwarf.errors import ElfError
from undwarf.images.container_files import Containers
from undwarf.images.finder import DELETED, Place
from undwarf.images.symfs_paths import confined
from undwarf.limits import DEFAULT, Limits

MAX_ROOTS = 1024
"""Mount namespaces that are searched."""
ROOTS_LAST_S = 10.0
"""Seconds after which it is looked for new ones, if a file is in none of those known."""


class RunningFiles:
    """Access to mapped files for the finder (:class:`undwarf.images.finder.Mapped`)."""

    def __init__(self, containers: Containers, limits: Limits = DEFAULT) -> None:
        self._containers = containers
        self._limits = limits
        self._root = ""

    def file(self, path: str, build_id: bytes, place: Place | None) -> ElfFile | None:
        """The file with this path and inode, here or in a container."""
        self._root = ""
        if build_id or place is None or not place[2] or not path.startswith("/"):
            return None
        path = path.removesuffix(DELETED)
        found = self._opened(path, place)
        if found is not None:
            return found
        for root in self._containers.roots():
            inside = confined(root, path)
            found = self._opened(inside, place) if inside else None
            if found is not None:
                self._root = root
                return found
        return None

    def fits(self, _elf: ElfFile, _path: str, build_id: bytes, place: Place | None) -> bool:
        """Whether a file that is not the one of that inode may be what was mapped."""
        return bool(build_id) or place is None or not place[2]

    def remains(self, _path: str, _build_id: bytes, _place: Place | None) -> ElfFile | None:
        """Nothing: memory is not read."""
        return None

    def root(self) -> str:
        """The root of the container in which the last file was found; empty if it is our own."""
        return self._root

    def _opened(self, path: str, place: Place) -> ElfFile | None:
        try:
            status = os.stat(path)
            if status.st_ino != place[2] or not stat.S_ISREG(status.st_mode):
                return None
            return ElfFile.open(path, limits=self._limits)
        except (OSError, ValueError, ElfError):
            return None
