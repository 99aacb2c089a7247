"""Opening files whose names come from untrusted input: regular files only, mapped read-only."""

import errno
import os
import resource
import stat
import sys

from undwarf.errors import ElfError
from undwarf.mapped_files import MappedFile


def map_regular_file(path: str) -> MappedFile:
    """The file's bytes, mapped. Raises ElfError for anything but a readable regular file that is not empty.

    The file type is checked before opening, since opening a device or a FIFO has side effects, and again afterwards,
    since the file may have been replaced meanwhile.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ElfError(f"cannot read {path}", "not a regular file")
        fd = _open(path)
    except (OSError, ValueError) as error:
        raise ElfError(f"cannot read {path}", _reason(error)) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ElfError(f"cannot read {path}", "not a regular file")
        if status.st_size == 0:
            raise ElfError(f"cannot read {path}", "empty file")
        try:
            return _map(fd, status.st_size, path)
        except OSError as error:
            if error.errno != errno.EMFILE or not _allow_more_files():
                raise
            return _map(fd, status.st_size, path)
    except (OSError, ValueError, OverflowError) as error:
        raise ElfError(f"cannot read {path}", _reason(error)) from error
    finally:
        os.close(fd)


def _map(fd: int, size: int, path: str) -> MappedFile:
    # MAP_PRIVATE: from Linux 6.16 on /sys/kernel/btf/vmlinux cannot be mapped shared.
    if sys.version_info >= (3, 13):
        return MappedFile.of(fd, size, path, trackfd=False)
    return MappedFile.of(fd, size, path)


def _open(path: str) -> int:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        return os.open(path, flags)
    except OSError as error:
        if error.errno != errno.EMFILE or not _allow_more_files():
            raise
        return os.open(path, flags)


def _allow_more_files() -> bool:
    """Raise the soft limit of open files to the hard limit: each mapping keeps a descriptor open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return True


def _reason(error: BaseException) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
