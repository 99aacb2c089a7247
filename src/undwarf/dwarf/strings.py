# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Strings of a section of strings, one or many. What is not UTF-8 is kept recognisable."""

from typing import Any

import cython

MAX_STRING = cython.declare(cython.Py_ssize_t, 1 << 16)
"""Bytes of a name that are looked at."""


@cython.final
@cython.cclass
class Text:
    """A section of strings. What is not UTF-8 is kept recognisable; of a string MAX_STRING bytes are looked at."""

    data = cython.declare("const unsigned char[::1]")

    def __init__(self, data: Any) -> None:
        self.data = data

    def at(self, offset: int) -> str:
        """The string that begins at an offset; empty outside of the section."""
        start: cython.Py_ssize_t
        end: cython.Py_ssize_t
        last: cython.Py_ssize_t = self.data.shape[0]
        if offset < 0 or offset >= last:
            return ""
        start = offset
        if last - start > MAX_STRING:
            last = start + MAX_STRING
        end = start
        while end < last and self.data[end] != 0:
            end += 1
        if end <= start:
            return ""
        # Just checked: all of it is inside.
        found: str = cython.cast("const char *", cython.address(self.data[start]))[: end - start].decode(
            "utf-8", "backslashreplace"
        )
        return found


@cython.locals(
    view="const unsigned char[::1]",
    at="Py_ssize_t",
    end="Py_ssize_t",
    size="Py_ssize_t",
    most="Py_ssize_t",
    left="Py_ssize_t",
)
def strings_at(data: Any, offsets: list[int], room: int = 1 << 28) -> list[str]:
    """The strings that begin at offsets of a section of strings; what is not UTF-8 is kept recognisable.

    When they take ``room`` bytes together, each further one is cut to 256: names that all end where one long one ends
    could fill any memory.
    """
    view = data
    left = room
    most = MAX_STRING
    found = []
    size = view.shape[0]
    for offset in offsets:
        if offset >= size:
            found.append("")
            continue
        at = offset
        end = at
        while end < size and view[end] != 0 and end - at < most:
            end += 1
        left -= end - at
        if left < 0:
            most = 256
        found.append(bytes(data[at:end]).decode("utf-8", "backslashreplace"))
    return found
