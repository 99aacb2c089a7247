"""Files that one run keeps for the next ones, in one directory that takes no more than so many bytes.

Whoever writes makes a new file beside the old one and renames it, so that readers see an old or a new file, never a
half. Files are read, not mapped: they are small, and a mapped one that somebody cuts short kills the process.
"""

import os
import stat
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["KeptFiles", "cache_directory", "maker"]

_STALE = 3600
"""Seconds after which a file that a writer left behind is removed."""
_FRESH = 86400
"""Seconds for which a file counts as just used: not every run writes to the directory."""


def cache_directory(part: str) -> "Path | None":
    """The user's directory for one kind of files: ``$UNDWARF_CACHE_DIR/part``, else ``undwarf/part`` below
    ``$XDG_CACHE_HOME`` or ``~/.cache``; None if ``UNDWARF_CACHE_DIR`` is ``off``, or if the latter belong to somebody
    else (sudo may leave HOME as it was)."""
    from pathlib import Path

    chosen = os.environ.get("UNDWARF_CACHE_DIR", "")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen) / part
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        owned = Path(base) if base.startswith("/") else Path.home()
        if owned.exists() and owned.stat().st_uid != os.geteuid():
            return None
    except (OSError, RuntimeError):
        return None
    root = owned if base.startswith("/") else owned / ".cache"
    return root / "undwarf" / part


@cache
def maker(*parts: str) -> bytes:
    """What tells two builds of undwarf apart that may make something else of the same binary: names, sizes and times of
    the files of these packages."""
    from pathlib import Path

    about = []
    folders = [str(Path(__file__).parent / part) for part in parts]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith((".py", ".so")):
                    status = entry.stat()
                    about.append((entry.path, status.st_size, status.st_mtime_ns))
    return repr(sorted(about)).encode()


class KeptFiles:
    """The files of one kind: those in ``directory`` whose names end in ``suffix``, ``limit`` bytes in all at most.

    Nothing here raises for what lies in the directory, or for a directory that cannot be used.
    """

    def __init__(self, directory: "str | os.PathLike[str]", suffix: str, limit: int) -> None:
        from pathlib import Path

        self.directory = Path(directory)
        self._suffix = suffix
        self.limit = limit

    def read(self, name: str) -> memoryview | None:
        """The bytes of a regular file; None if it cannot be read, is empty or too long."""
        try:
            handle = os.open(self.directory / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= self.limit:
                return None
            with os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
                data = file.read(status.st_size)
            return memoryview(data) if data else None
        except OSError:
            return None
        finally:
            os.close(handle)

    def used(self, name: str) -> None:
        """Note that a file was of use."""
        path = self.directory / name
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _FRESH:
                os.utime(path)

    def write(self, name: str, data: bytes) -> bool:
        """Keep a file; whether that could be done."""
        if len(data) > self.limit:
            return False
        draft = self.directory / f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            if not self.directory.is_dir():
                self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                with os.fdopen(handle, "wb", buffering=0) as file:
                    if file.write(data) != len(data):
                        raise OSError("the disk is full")
                draft.replace(self.directory / name)
            except OSError:
                draft.unlink(missing_ok=True)
                raise
        except OSError:
            return False
        return True

    def files(self) -> "list[tuple[float, int, Path]]":
        """(last use, bytes, path) of all files, of which writers' drafts have a name that starts with a dot."""
        found = []
        with suppress(OSError), os.scandir(self.directory) as listing:
            for one in listing:
                if one.name.endswith(self._suffix) or (one.name.startswith(".") and self._suffix + "." in one.name):
                    with suppress(OSError):
                        status = one.stat(follow_symlinks=False)
                        found.append((status.st_mtime, status.st_size, self.directory / one.name))
        return sorted(found)

    def usage(self) -> tuple[int, int]:
        """How many files there are, and their bytes."""
        sizes = [size for _used, size, path in self.files() if not path.name.startswith(".")]
        return len(sizes), sum(sizes)

    def trim(self) -> int:
        """Remove the files used least recently until the rest keeps to the limit, and old drafts; how many went."""
        files = self.files()
        total = sum(size for _used, size, path in files if not path.name.startswith("."))
        gone = 0
        for used, size, path in files:
            if path.name.startswith("."):
                if time.time() - used < _STALE:
                    continue
            elif total > self.limit:
                total -= size
            else:
                continue
            with suppress(OSError):
                path.unlink()
                gone += 1
        return gone

    def clear(self) -> int:
        """Remove all files; how many there were."""
        gone = 0
        for _used, _size, path in self.files():
            with suppress(OSError):
                path.unlink()
                gone += not path.name.startswith(".")
        return gone
