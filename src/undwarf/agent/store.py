"""Where recordings are shipped to: a folder, or any address that fsspec knows."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from undwarf.errors import UndwarfError


class Store(Protocol):
    """Takes files. ``put`` raises OSError or UndwarfError when the store is away; a reader never sees half a file.
    ``pause``: seconds between two shipments."""

    @property
    def pause(self) -> float: ...

    def put(self, name: str, source: Path) -> None:
        """Store a file under a relative name with slashes."""

    def check(self) -> None:
        """Raise OSError or UndwarfError unless files can be stored."""

    def rest(self) -> None:
        """The end of a shipment."""


def open_store(address: str) -> Store:
    """The store at an address."""
    scheme, colon, rest = address.partition("://")
    if not colon or scheme == "file":
        return FolderStore(Path(rest if colon else address).expanduser())
    from undwarf.agent.remote_store import RemoteStore  # not at the top: it imports this module

    return RemoteStore(address)


def fsspec_store(address: str) -> "FsspecStore":
    """The store at an address, in this process. Raises UndwarfError if a package is missing."""
    try:
        import fsspec
    except ImportError as error:
        why = "only a folder can be one without the package fsspec"
        raise UndwarfError(f"cannot use the store {address}", why, "pip install 'undwarf[fleet]'") from error
    try:
        system, root = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise UndwarfError(f"cannot use the store {address}", str(error), "install the package it names") from error
    return FsspecStore(system, root)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder outlive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FolderStore:
    """A folder: files get their names when they are whole and on disk."""

    pause = 0.0

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, name: str, source: Path) -> None:
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        try:
            with source.open("rb") as read, draft.open("xb") as write:
                while piece := read.read(1 << 20):
                    write.write(piece)
                write.flush()
                os.fsync(write.fileno())
            draft.replace(target)
        except BaseException:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)

    def check(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        draft = self.root / f".check.{secrets.token_hex(4)}.part"
        draft.write_bytes(b"")
        draft.unlink()

    def rest(self) -> None:
        """Nothing is kept."""


class FsspecStore:
    """A file system of fsspec. Object stores show a file only when all of it is there; elsewhere its description, which
    comes after it, does."""

    def __init__(self, system: Any, root: str) -> None:
        self._system = system
        self._root = root.rstrip("/")

    def put(self, name: str, source: Path) -> None:
        target = f"{self._root}/{name}"
        try:
            self._system.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._system.pipe_file(target, source.read_bytes())
        except OSError:
            raise
        # Back ends raise exceptions of their own libraries, of any class.
        except Exception as error:
            raise UndwarfError("the store failed", f"{type(error).__name__}: {error}", "") from error

    def check(self) -> None:
        try:
            self._system.makedirs(self._root, exist_ok=True)
            self._system.ls(self._root)
        except OSError:
            raise
        except Exception as error:  # as above
            raise UndwarfError("the store failed", f"{type(error).__name__}: {error}", "") from error
