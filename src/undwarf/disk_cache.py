"""A directory of cache files that persist between runs, with a limit on its size.

A file is written under another name and renamed, so that readers see the old or the new contents, never a part. All
access is through a descriptor of the directory, which must not be a symbolic link and must belong to this user or to
root: nothing that another user could have put there is read or overwritten.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DiskCache", "build_identity", "cache_directory", "own_directory", "trusted"]

_STALE = 3600
"""Seconds after which an unfinished file is removed."""
_FRESH = 86400
"""Seconds for which a file counts as recently used, so that not every run updates its time."""


def cache_directory(part: str) -> str | None:
    """The user's directory for one kind of files: ``$UNDWARF_CACHE_DIR/part``, else ``undwarf/part`` below
    ``$XDG_CACHE_HOME`` or ``~/.cache``; None if ``UNDWARF_CACHE_DIR`` is ``off``, or if these belong to another user
    (sudo may keep HOME)."""

    chosen = os.environ.get("UNDWARF_CACHE_DIR", "")
    if chosen == "off":
        return None
    if chosen:
        return os.path.join(chosen, part)
    base = os.environ.get("XDG_CACHE_HOME", "")
    owned = base if base.startswith("/") else os.path.expanduser("~")
    if not os.path.isabs(owned):
        return None
    try:
        if os.stat(owned).st_uid != os.geteuid():
            return None
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:
        return None
    return os.path.join(owned, *(() if owned == base else (".cache",)), "undwarf", part)


@cache
def build_identity(*parts: str) -> bytes:
    """Identifies a build of undwarf whose results may differ from another's: names, sizes and times of the files of
    these packages."""

    about = []
    folders = [os.path.join(os.path.dirname(__file__), part) for part in parts]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith((".py", ".so")):
                    status = entry.stat()
                    about.append((entry.path, status.st_size, status.st_mtime_ns))
    return repr(sorted(about)).encode()


def trusted(owner: int) -> bool:
    """Whether files and directories of this uid may be read and written: our own, and root's."""
    return owner in (0, os.geteuid())


@contextmanager
def own_directory(
    path: "str | os.PathLike[str]", *, within: int | None = None, make: bool = False, link: bool = False
) -> Iterator[int]:
    """A descriptor of a directory that belongs to this user or to root; ``within`` is that of its parent.

    ``make``: create it if it does not exist, without ``within`` its parents, too. ``link``: it may belong to any user,
    or be a link of this user or root. Raises OSError otherwise.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        handle = _open_directory(path, flags, within, link)
    except FileNotFoundError:
        if not make:
            raise
        if within is None:
            os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700, dir_fd=within)
        handle = _open_directory(path, flags, within, link)
    try:
        yield handle
    finally:
        os.close(handle)


def _open_directory(path: "str | os.PathLike[str]", flags: int, within: int | None, link: bool) -> int:
    name = os.fspath(path).rstrip("/") or "/"
    if link:
        status = os.stat(name, dir_fd=within, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode) and not trusted(status.st_uid):
            raise PermissionError(errno.EPERM, "it belongs to another user", name)
        return os.open(name, flags, dir_fd=within)
    handle = os.open(name, flags | os.O_NOFOLLOW, dir_fd=within)
    if not trusted(os.fstat(handle).st_uid):
        os.close(handle)
        raise PermissionError(errno.EPERM, "it belongs to another user", name)
    return handle


class DiskCache:
    """The files of one kind: those in ``directory`` whose names end in ``suffix``, at most ``limit`` bytes in all.

    Nothing here raises for the contents of the directory, or for an unusable directory.
    """

    def __init__(self, directory: "str | os.PathLike[str]", suffix: str, limit: int) -> None:
        self._directory = os.fspath(directory)
        self._suffix = suffix
        self.limit = limit

    @property
    def directory(self) -> "Path":
        """The directory."""
        # Few runs need it, and the module is large.
        from pathlib import Path

        return Path(self._directory)

    def read(self, name: str) -> memoryview | None:
        """The bytes of a regular file; None if it cannot be read, is empty or too long, or another user's."""
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            with own_directory(self._directory) as directory:
                handle = os.open(name, flags, dir_fd=directory)
        except OSError:
            return None
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or not trusted(status.st_uid) or not 0 < status.st_size <= self.limit:
                return None
            with os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
                data = file.read(status.st_size)
            return memoryview(data) if data else None
        except OSError:
            return None
        finally:
            os.close(handle)

    def touch(self, name: str) -> None:
        """Mark a file as used now."""
        with suppress(OSError), own_directory(self.directory) as directory:
            if time.time() - os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime > _FRESH:
                os.utime(name, dir_fd=directory, follow_symlinks=False)

    def write(self, name: str, data: bytes) -> bool:
        """Write a file; whether that succeeded."""
        if len(data) > self.limit:
            return False
        draft = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            with own_directory(self._directory, make=True) as directory:
                handle = os.open(draft, flags, 0o600, dir_fd=directory)
                try:
                    with os.fdopen(handle, "wb", buffering=0) as file:
                        if file.write(data) != len(data):
                            raise OSError("the disk is full")
                    os.replace(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
                except OSError:
                    with suppress(FileNotFoundError):
                        os.unlink(draft, dir_fd=directory)
                    raise
        except OSError:
            return False
        return True

    def files(self) -> "list[tuple[float, int, Path]]":
        """(last use, bytes, path) of all files; names of unfinished ones start with a dot."""
        with suppress(OSError), own_directory(self.directory) as directory:
            return [(used, size, self.directory / name) for used, size, name in self._files(directory)]
        return []

    def _files(self, directory: int) -> "list[tuple[float, int, str]]":
        found = []
        with os.scandir(directory) as listing:
            for one in listing:
                if one.name.endswith(self._suffix) or (one.name.startswith(".") and self._suffix + "." in one.name):
                    with suppress(OSError):
                        status = one.stat(follow_symlinks=False)
                        found.append((status.st_mtime, status.st_size, one.name))
        return sorted(found)

    def usage(self) -> tuple[int, int]:
        """(number of files, their bytes)."""
        sizes = [size for _used, size, path in self.files() if not path.name.startswith(".")]
        return len(sizes), sum(sizes)

    def trim(self) -> int:
        """Remove least recently used files until the rest is within the limit, and old unfinished ones; how many."""
        gone = 0
        with suppress(OSError), own_directory(self._directory) as directory:
            files = self._files(directory)
            total = sum(size for _used, size, name in files if not name.startswith("."))
            for used, size, name in files:
                if name.startswith("."):
                    if time.time() - used < _STALE:
                        continue
                elif total > self.limit:
                    total -= size
                else:
                    continue
                gone += _removed(name, directory)
        return gone

    def clear(self) -> int:
        """Remove all files; how many."""
        gone = 0
        with suppress(OSError), own_directory(self._directory) as directory:
            for _used, _size, name in self._files(directory):
                gone += _removed(name, directory) and not name.startswith(".")
        return gone


def _removed(name: str, directory: int) -> bool:
    try:
        os.unlink(name, dir_fd=directory)
    except OSError:
        return False
    return True
