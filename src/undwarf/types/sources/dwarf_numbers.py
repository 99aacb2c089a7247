# cython: language_level=3, boundscheck=True, annotation_typing=False
"""Cursor over the integers of location expressions and lists (DWARF 5, 7.6)."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.leb128 import leb128


@cython.cclass
class Reader:
    """Reads integers in sequence; past the end all are 0 and ``short`` is set."""

    def __init__(self, data: Any, order: Any) -> None:
        self.data = data
        self.big = order == "big"
        self.at = 0
        self.end = len(data)
        self.short = False

    @cython.cfunc
    @cython.inline
    @cython.returns(cython.bint)
    @cython.exceptval(check=False)
    def more(self) -> bool:
        """Whether bytes are left."""
        return self.at < self.end and not self.short

    @cython.cfunc
    @cython.returns(cython.ulonglong)
    @cython.exceptval(check=False)
    @cython.locals(size=cython.Py_ssize_t, value=cython.ulonglong, i=cython.Py_ssize_t, first=cython.Py_ssize_t)
    def fixed(self, size: int) -> int:
        """An unsigned integer of ``size`` bytes, at most eight."""
        if size < 0 or size > 8 or self.at < 0 or size > self.end - self.at:
            self.short = True
            return 0
        first = self.at
        value = 0
        for i in range(size):
            value = value << 8 | self.data[first + i if self.big else first + size - 1 - i]
        self.at += size
        return value

    @cython.cfunc
    @cython.returns(cython.ulonglong)
    @cython.exceptval(check=False)
    def uleb(self) -> int:
        """An unsigned LEB128 integer, truncated to 64 bits."""
        return self.leb(False)

    @cython.cfunc
    @cython.returns(cython.longlong)
    @cython.exceptval(check=False)
    def sleb(self) -> int:
        """A signed LEB128 integer."""
        return cython.cast(cython.longlong, self.leb(True))

    @cython.cfunc
    @cython.inline
    @cython.returns(cython.ulonglong)
    @cython.exceptval(check=False)
    @cython.locals(sign=cython.bint, value=cython.ulonglong)
    def leb(self, sign: bool) -> int:
        value = leb128(self.data, cython.address(self.at), self.end, sign)
        if self.at > self.end:
            self.short = True
            self.at = self.end
        return value

    @cython.cfunc
    @cython.returns(cython.int)
    @cython.exceptval(check=False)
    @cython.locals(size=cython.ulonglong)
    def skip(self, size: int) -> int:
        """Skip ``size`` bytes."""
        if size > cython.cast(cython.ulonglong, self.end - self.at):
            self.short = True
            self.at = self.end
        else:
            self.at += cython.cast(cython.Py_ssize_t, size)
        return 0
