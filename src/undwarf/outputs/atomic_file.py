"""Output files that are written under a temporary name and renamed once complete."""

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(target: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """A file to write, renamed to ``target`` at the end of the ``with`` unless that raises. ``mode``: its permissions
    (default: those of any new file).

    If ``target`` is a symbolic link, the file that it points to is replaced. A device or a pipe is written directly.
    Raises OSError.
    """
    if not replaceable(target):
        with target.open("wb") as sink:
            yield sink
        return
    target = target.resolve()
    handle = _nameless(target.parent)
    if handle < 0:
        with _named(target, mode) as sink:
            yield sink
        return
    with os.fdopen(handle, "wb") as sink:
        yield sink
        sink.flush()
        if mode is not None:
            os.fchmod(handle, mode)
        _give_name(handle, target)


def _nameless(directory: Path) -> int:
    """The descriptor of a file without a name, of which nothing is left if the process dies; -1 if the file system does
    not support such files."""
    try:
        handle = os.open(directory, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    except (OSError, AttributeError):
        return -1
    if os.path.exists(f"/proc/self/fd/{handle}"):
        return handle
    os.close(handle)
    return -1


def _give_name(handle: int, target: Path) -> None:
    directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # With a directory descriptor, os.link calls linkat(2), which follows the link in /proc.
        source = f"/proc/self/fd/{handle}"
        try:
            os.link(source, target.name, dst_dir_fd=directory)
        except FileExistsError:
            draft = f".undwarf-{secrets.token_hex(8)}"
            os.link(source, draft, dst_dir_fd=directory)
            try:
                os.replace(draft, target.name, src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                os.unlink(draft, dir_fd=directory)
                raise
    finally:
        os.close(directory)


@contextmanager
def _named(target: Path, mode: int | None) -> Iterator[BinaryIO]:
    """As :func:`whole_file`, on file systems without nameless files."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".undwarf-", suffix=target.suffix)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as sink:
            yield sink
        if mode is None:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def replaceable(target: Path) -> bool:
    """Whether ``target`` can be replaced by renaming another file: it does not exist, or is a regular file."""
    try:
        return stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return True
