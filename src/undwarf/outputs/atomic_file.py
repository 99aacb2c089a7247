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
    """A file to write, renamed to ``target`` when the with ends well; ``mode`` has its permissions, else those of any
    new file.

    A symbolic link stays, and its target is replaced. A device or a pipe is written to directly.
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
    """A descriptor of a file that has no name yet, so that nothing of it is left whatever ends us; -1 where the file
    system has no such files."""
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
        # With a directory's descriptor this is linkat(2), which follows the link that /proc has of the file.
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
    """The same where files must have a name from the start."""
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
    """Whether another file may take the place of this one: there is none yet, or it is a regular one."""
    try:
        return stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return True
