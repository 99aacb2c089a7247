# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Columns of Arrow arrays as lines of CSV, a buffer at a time."""

from __future__ import annotations

from typing import Any

import cython
from cython.cimports.undwarf.outputs.text_sizes import CHUNK

from undwarf.column import zeros
from undwarf.outputs.kernels.text_buffer import Names, Text

CELL = cython.declare(cython.Py_ssize_t, 24)
"""Bytes of the longest number, and the separator after it."""
KINDS = {"uint8": 0, "bool": 1, "int32": 2, "uint32": 3, "name": 4, "int64": 5, "uint64": 6}
"""Types of columns, as :mod:`undwarf.arrow.table` has them."""


@cython.final
@cython.cclass
class Cells:
    """A column: its type, the buffer of its entries, and the bitmap of those that are not null, or None. ``names``
    (None: no names) are the texts that its entries number, as they are written."""

    valid: Any
    ones: Any
    fours: Any
    eights: Any
    names: Names

    def __init__(self, kind: str, entries: Any, valid: Any, names: Names | None) -> None:
        self.kind = KINDS[kind]
        self.nullable = valid is not None
        self.valid = memoryview(valid).cast("B") if valid is not None else zeros("B", 0)
        whole = memoryview(entries).cast("B")
        self.ones = whole if self.kind < 2 else zeros("B", 0)
        self.fours = whole.cast("I") if 2 <= self.kind < 5 else zeros("I", 0)
        self.eights = whole.cast("Q") if self.kind >= 5 else zeros("Q", 0)
        self.names = names if names is not None else Names(b"", zeros("I", 1))

    @cython.cfunc
    @cython.exceptval(-1)
    def put(self, text: Text, row: cython.Py_ssize_t) -> cython.int:
        """Append an entry; nothing for null."""
        text.reserve(CELL)
        if self.nullable and not (self.valid[row >> 3] >> (row & 7)) & 1:
            return 0
        if self.kind == 4:
            text.name(self.names, self.fours[row], 0)
        elif self.kind == 6:
            text.number(self.eights[row], 0, 32)
        elif self.kind == 3:
            text.number(self.fours[row], 0, 32)
        elif self.kind == 2:
            text.signed(cython.cast(cython.int, self.fours[row]), 0, True)
        elif self.kind == 5:
            text.signed(cython.cast(cython.longlong, self.eights[row]), 0, True)
        elif self.kind == 0:
            text.number(self.ones[row], 0, 32)
        elif (self.ones[row >> 3] >> (row & 7)) & 1:
            text.put(116)
            text.put(114)
            text.put(117)
            text.put(101)
        else:
            text.put(102)
            text.put(97)
            text.put(108)
            text.put(115)
            text.put(101)
        return 0


@cython.final
@cython.cclass
class Rows:
    """Writes the lines of a table with ``length`` rows."""

    columns: list[Cells]

    def __init__(self, columns: list[Cells], length: int) -> None:
        self.columns, self.length = columns, length
        self.at = 0
        self.text = Text(2 * CHUNK)

    @cython.locals(index="Py_ssize_t", count="Py_ssize_t", cells=Cells)
    def fill(self) -> memoryview:
        """The next lines; empty at the end. Overwritten by the next call."""
        count = len(self.columns)
        self.text.used = 0
        while self.at < self.length and self.text.used < CHUNK:
            for index in range(count):
                cells = self.columns[index]
                cells.put(self.text, self.at)
                self.text.reserve(1)
                self.text.put(44 if index + 1 < count else 10)
            self.at += 1
        return memoryview(self.text.out)[: self.text.used]
