"""Files below a folder which no link leads out of.

Whoever can write to a store could else have files of this machine read, and copied to where recordings are set aside,
or files of the store written elsewhere. Each part of a path is opened without following a link; only the folder itself
may be one.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

from undwarf.errors import UnreadableInput

DRAFT = ".draft-"
"""In the name of a file that is being written."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ConfinedFolder:
    """A folder by its path; files in it by theirs below it, with ``/`` between parts. All raise FileNotFoundError and
    other OSErrors as the system says, and UnreadableInput for links and what is no file."""

    def __init__(self, root: str) -> None:
        self.root = root

    def open(self, path: str) -> BinaryIO:
        """A file to read."""
        with self._parent(path) as (parent, name):
            file = _opened(name, _READ, parent, path)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise UnreadableInput("the store is damaged", f"{path} is no file")
        return os.fdopen(file, "rb")

    def write(self, path: str, contents: bytes) -> None:
        """Write a file, which appears whole, and stays when the power fails."""
        os.makedirs(self.root, exist_ok=True)
        with self._parent(path, make=True) as (parent, name):
            draft = name + DRAFT + secrets.token_hex(8)
            try:
                with os.fdopen(os.open(draft, _WRITE, 0o666, dir_fd=parent), "wb") as file:
                    file.write(contents)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=parent)
                raise

    def remove(self, path: str) -> None:
        """Remove a file."""
        with self._parent(path) as (parent, name):
            os.unlink(name, dir_fd=parent)

    def files(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        """All files below a folder; none if there is no such folder. Links are none."""
        if not os.path.isdir(self.root):
            return
        root = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for parent, _folders, names, opened in os.fwalk(folder or ".", dir_fd=root):
                start = "" if parent == "." else parent.removeprefix("./") + "/"
                for name in names:
                    with contextlib.suppress(FileNotFoundError):
                        about = os.stat(name, dir_fd=opened, follow_symlinks=False)
                        if stat.S_ISREG(about.st_mode):
                            yield start + name, about
        except FileNotFoundError:
            return
        finally:
            os.close(root)

    @contextlib.contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """(the folder that a file is in, open; its name there)."""
        *folders, name = path.split("/")
        if not name or {"", ".", ".."}.intersection(folders) or name in (".", ".."):
            raise UnreadableInput("the store is damaged", f"{path[:200]!r} is no path in it")
        opened = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for folder in folders:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, dir_fd=opened)
                below = _opened(folder, _FOLDER, opened, path)
                os.close(opened)
                opened = below
            yield opened, name
        finally:
            os.close(opened)


def _opened(name: str, flags: int, parent: int, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        try:
            about = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except OSError:
            raise error from None
        if stat.S_ISLNK(about.st_mode):
            raise UnreadableInput("the store is damaged", f"{path[:200]!r} is or goes through a link") from None
        raise
