# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Room for Python's objects in large pages of memory.

CPython puts small objects into *arenas* of 1 MiB, each a mapping of its own. A run fills tens of them, and has to ask
the system for each page of 4 KiB: a twentieth of the time. Pages of 2 MiB are given where a mapping is large enough,
and where they are asked for (``/sys/kernel/mm/transparent_hugepage/enabled``: madvise).
"""

from typing import Any

import cython
from cython.cimports.posix.mman import MADV_HUGEPAGE, madvise
from cython.cimports.undwarf.arena_allocator import (
    PyObject_GetArenaAllocator,
    PyObject_SetArenaAllocator,
    PyObjectArenaAllocator,
)

__all__ = ["use_large_pages"]

ARENA = cython.declare(cython.size_t, 1 << 20)
LARGE = cython.declare(cython.size_t, 1 << 21)
ROOM = cython.declare(cython.size_t, 64 << 21)
"""Bytes of addresses that are set aside. There is no memory behind them before they are used; behind their end, pages
are small again."""

# Of these the allocator is made, which is called by whoever has the GIL.
_before = cython.declare(PyObjectArenaAllocator)
_next = cython.declare("char *", cython.NULL)
_end = cython.declare("char *", cython.NULL)
_free = cython.declare("void *", cython.NULL)
"""An arena that was given back; each begins with where the next one is."""


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.locals(_context="void *", found="void *")
@cython.returns("void *")
def _take(_context: Any, size: cython.size_t) -> Any:
    global _next, _free
    found = _free
    if size != ARENA or (found == cython.NULL and _end - _next < cython.cast(cython.Py_ssize_t, ARENA)):
        return _before.alloc(_before.ctx, size)
    if found != cython.NULL:
        _free = cython.cast("void **", found)[0]
        return found
    found = _next
    _next += ARENA
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.locals(_context="void *", arena="void *")
@cython.returns(cython.void)
def _give_back(_context: Any, arena: Any, size: cython.size_t) -> None:
    """An arena is kept for who takes the next one, wherever it is from."""
    global _free
    if size != ARENA:
        _before.free(_before.ctx, arena, size)
        return
    cython.cast("void **", arena)[0] = _free
    _free = arena


@cython.locals(place="char *")
def use_large_pages() -> None:
    """Put the objects that are made from now on into large pages where the system has them. For programs that are ours
    as a whole: it holds for all of the process."""
    global _next, _end
    allocator = cython.declare(PyObjectArenaAllocator)
    if _end != cython.NULL:
        return
    PyObject_GetArenaAllocator(cython.address(_before))
    place = cython.cast("char *", _before.alloc(_before.ctx, ROOM))
    if place == cython.NULL:
        return
    if madvise(place, ROOM, MADV_HUGEPAGE):
        _before.free(_before.ctx, place, ROOM)
        return
    _end = place + ROOM
    _next = place + (LARGE - cython.cast(cython.size_t, place) % LARGE) % LARGE
    allocator.ctx = cython.NULL
    allocator.alloc = _take
    allocator.free = _give_back
    PyObject_SetArenaAllocator(cython.address(allocator))
