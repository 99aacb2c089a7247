# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Strings of a string section, one or many."""

from typing import Any

import cython
from cython.cimports.libc.string import memchr
from cython.cimports.undwarf.dwarf.reader_constants import MAX_STRING


@cython.final
@cython.cclass
class Text:
    """A string section. What is not UTF-8 is escaped; strings are cut to MAX_STRING bytes."""

    data = cython.declare("const unsigned char[::1]")

    def __init__(self, data: Any) -> None:
        self.data = data

    def at(self, offset: int) -> str:
        """The string that begins at an offset; empty outside of the section."""
        start: cython.Py_ssize_t
        last: cython.Py_ssize_t = self.data.shape[0]
        if offset < 0 or offset >= last:
            return ""
        start = offset
        if last - start > MAX_STRING:
            last = start + MAX_STRING
        found: str = _text(self.data, start, last)
        return found


@cython.cfunc
@cython.locals(view="const unsigned char[::1]", base="const char *", end="const char *")
def _text(view: Any, start: cython.Py_ssize_t, last: cython.Py_ssize_t) -> Any:
    """The string from ``start`` to a zero, or to ``last``, which is after it; both are in the section."""
    base = cython.cast("const char *", cython.address(view[start]))
    end = cython.cast("const char *", memchr(base, 0, last - start))
    size: cython.Py_ssize_t = last - start if end == cython.NULL else end - base
    return base[:size].decode("utf-8", "backslashreplace")


@cython.locals(
    view="const unsigned char[::1]",
    at="Py_ssize_t",
    last="Py_ssize_t",
    size="Py_ssize_t",
    most="Py_ssize_t",
    left="Py_ssize_t",
)
def strings_at(data: Any, offsets: list[int], budget: int = 1 << 28) -> list[str]:
    """The strings that begin at offsets of a string section; what is not UTF-8 is escaped.

    After ``budget`` bytes all further ones are cut to 256: tails of one long string could fill any memory.
    """
    view = data
    left = budget
    most = MAX_STRING
    found = []
    size = view.shape[0]
    for offset in offsets:
        if not 0 <= offset < size:
            found.append("")
            continue
        at = offset
        last = size if size - at <= most else at + most
        text = _text(view, at, last)
        left -= len(text)
        if left < 0:
            most = 256
        found.append(text)
    return found
