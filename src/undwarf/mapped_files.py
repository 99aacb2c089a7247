# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Memory-mapped files that may be truncated while they are mapped.

Reading a mapped page that is no longer in the file raises SIGBUS, which ends the process. Checking the file's size
first would be a race, and reading whole files would cost as much memory as they are long. A program may call
:func:`handle_truncation`, as the command line does: then the mapping is replaced by zeros from the missing page on,
which readers treat as damage, and the file is noted. Without that call the process keeps its signal handlers.
"""

import mmap
from typing import Any

import cython
from cython.cimports.libc import errno
from cython.cimports.libc.stdlib import calloc
from cython.cimports.posix.mman import (
    MADV_DONTNEED,
    MAP_ANONYMOUS,
    MAP_FAILED,
    MAP_FIXED,
    MAP_PRIVATE,
    PROT_READ,
    madvise,
)
from cython.cimports.posix.mman import mmap as map_pages
from cython.cimports.posix.signal import (
    SA_SIGINFO,
    sigaction,
    sigaction_t,
    sigemptyset,
    siginfo_t,  # noqa: F401 - named in the types of locals
)
from cython.cimports.undwarf.mapping_table import BUS_ADRERR, MAPPINGS, SIG_DFL, SIGBUS, Mapping

__all__ = ["MappedFile", "cut_files", "handle_truncation", "release_pages"]

# Changed under the GIL only; the signal handler only sets `cut`.
_table = cython.declare("Mapping *", cython.NULL)
_used = cython.declare(cython.Py_ssize_t, 0)
_page = cython.declare(cython.size_t, mmap.PAGESIZE)
_before = cython.declare(sigaction_t)
"""The previous action, for signals that are not ours."""
_handles = cython.declare(cython.bint, False)
_passed_on = cython.declare(cython.bint, False)

_free: list[int] = []
_paths: dict[int, str] = {}
_cut: dict[str, None] = {}


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.locals(info="siginfo_t *", _context="void *", at=cython.size_t, kept=cython.int)
@cython.returns(cython.void)
def _missing(number: cython.int, info: Any, _context: Any) -> None:
    """Replace the missing pages of one of our mappings; other faults are passed to the previous handler."""
    global _passed_on
    i: cython.Py_ssize_t
    action = cython.declare(sigaction_t)
    at = cython.cast(cython.size_t, info.si_addr)
    at -= at % _page
    if info.si_code == BUS_ADRERR:
        for i in range(_used):
            if _table[i].start <= at < _table[i].end:
                kept = errno.errno
                if (
                    map_pages(
                        cython.cast("void *", at),
                        _table[i].end - at,
                        PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                        -1,
                        0,
                    )
                    != MAP_FAILED
                ):
                    if _table[i].cut == 0:
                        _table[i].cut = 1
                    errno.errno = kept
                    return
    # The instruction is repeated with the previous handler; a second time here ends the process.
    action = _before
    if _passed_on:
        sigemptyset(cython.address(action.sa_mask))
        action.sa_flags = 0
        action.sa_handler = SIG_DFL
    _passed_on = True
    sigaction(number, cython.address(action), cython.NULL)


def handle_truncation() -> None:
    """Install a handler of SIGBUS for this process: pages cut off mapped files read as zeros (:func:`cut_files`).

    It covers the files that undwarf maps. For other faults the previous handler is called.
    """
    global _handles
    action = cython.declare(sigaction_t)
    if _handles:
        return
    sigemptyset(cython.address(action.sa_mask))
    action.sa_flags = SA_SIGINFO
    action.sa_sigaction = _missing
    _handles = sigaction(SIGBUS, cython.address(action), cython.address(_before)) == 0


@cython.locals(view="const unsigned char[::1]")
def _add(view: Any, path: str) -> int:
    """Register a mapping and return its index. Raises OSError if there are too many."""
    global _table, _used
    if _table == cython.NULL:
        _table = cython.cast("Mapping *", calloc(MAPPINGS, cython.sizeof(Mapping)))
        if _table == cython.NULL:
            raise MemoryError
    start: cython.size_t = cython.cast(cython.size_t, cython.address(view[0]))
    size: cython.size_t = view.shape[0]
    i: cython.Py_ssize_t
    if _free:
        i = _free.pop()
    elif _used < MAPPINGS:
        i = _used
    else:
        raise OSError(errno.EMFILE, "too many files are mapped")
    _table[i].cut = 0
    _table[i].end = 0
    _table[i].start = start
    _table[i].end = start + (size + _page - 1) // _page * _page
    if i == _used:
        _used += 1
    _paths[i] = path
    return i


def _take_mark(i: cython.Py_ssize_t) -> bool:
    """Whether pages were found missing that were not reported yet."""
    if _table[i].cut != 1:
        return False
    _table[i].cut = 2
    return True


def _is_cut(i: cython.Py_ssize_t) -> bool:
    return bool(_table[i].cut)


def _remove(i: cython.Py_ssize_t) -> None:
    _table[i].start = 0
    _table[i].end = 0
    path = _paths.pop(i)
    if _take_mark(i):
        _cut[path] = None
    _free.append(i)


def release_pages() -> None:
    """Take the pages of all mapped files out of this process's resident memory; when they are read they come back, from
    the page cache."""
    i: cython.Py_ssize_t
    for i in range(_used):
        if _table[i].end > _table[i].start:
            madvise(cython.cast("void *", _table[i].start), _table[i].end - _table[i].start, MADV_DONTNEED)


def cut_files() -> list[str]:
    """The paths of mapped files that were found truncated since the last call."""
    for i, path in list(_paths.items()):
        if _take_mark(i):
            _cut[path] = None
    found = list(_cut)
    _cut.clear()
    return found


class MappedFile(mmap.mmap):
    """Bytes of a file, mapped read-only. If the file is truncated, the missing bytes read as zeros after
    :func:`handle_truncation`; without it, reading them ends the process with SIGBUS."""

    _number: int = -1

    @classmethod
    def of(cls, descriptor: int, size: int, path: str, **options: Any) -> "MappedFile":
        """``size`` bytes of an open file; ``options`` as for :class:`mmap.mmap`. ``path`` is for :func:`cut_files`."""
        made = cls(descriptor, size, mmap.MAP_PRIVATE, mmap.PROT_READ, **options)
        made._number = _add(made, path)
        return made

    @property
    def was_cut(self) -> bool:
        """Whether some of it was found to be missing."""
        return self._number >= 0 and _is_cut(self._number)

    def close(self) -> None:
        """As of :class:`mmap.mmap`: raises BufferError while there are views."""
        super().close()
        self._forget()

    def __del__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        if self._number >= 0:
            number, self._number = self._number, -1
            _remove(number)
