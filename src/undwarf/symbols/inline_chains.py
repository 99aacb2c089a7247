# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Chains of inlined functions by frame, as columns that are filled image by image."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import zeros


@cython.cclass
class Chains:
    """The functions of each frame, innermost first; the last one is not inlined.

    By frame: ``start`` and ``count`` (I) of its entries; a frame without debugging information has none. By entry:
    ``name`` and ``file`` (I, 0xffffffff for unknown), ``line`` (I, 0 for unknown).
    """

    starts = cython.declare("unsigned int[::1]")
    counts = cython.declare("unsigned int[::1]")
    entry_name = cython.declare("unsigned int[::1]")
    entry_file = cython.declare("unsigned int[::1]")
    entry_line = cython.declare("unsigned int[::1]")
    total: cython.Py_ssize_t

    def __init__(self, frames: int) -> None:
        self.starts = zeros("I", frames)
        self.counts = zeros("I", frames)
        self.entry_name = zeros("I", 1024)
        self.entry_file = zeros("I", 1024)
        self.entry_line = zeros("I", 1024)
        self.total = 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(old="unsigned int[::1]", new="unsigned int[::1]", size="Py_ssize_t")
    def reserve(self, wanted: cython.Py_ssize_t) -> cython.int:
        """Have room for ``wanted`` entries."""
        size = self.entry_name.shape[0]
        if wanted <= size:
            return 0
        while size < wanted:
            size *= 2
        old, new = self.entry_name, zeros("I", size)
        new[: self.total] = old[: self.total]
        self.entry_name = new
        old, new = self.entry_file, zeros("I", size)
        new[: self.total] = old[: self.total]
        self.entry_file = new
        old, new = self.entry_line, zeros("I", size)
        new[: self.total] = old[: self.total]
        self.entry_line = new
        return 0

    @cython.locals(
        order="const unsigned int[::1]",
        first="const unsigned int[::1]",
        name="const unsigned int[::1]",
        file="const unsigned int[::1]",
        line="const unsigned int[::1]",
        names="const unsigned int[::1]",
        files="const unsigned int[::1]",
        i=cython.Py_ssize_t,
        k=cython.Py_ssize_t,
        at=cython.Py_ssize_t,
        frame=cython.uint,
    )
    def add(
        self,
        frames: Any,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        found: Any,
        name_numbers: Any,
        file_numbers: Any,
    ) -> None:
        """Take the chains found for ``frames[begin:end]``, in this order; names and files get the numbers given."""
        order = frames
        first, name, file, line = found.first, found.name, found.file, found.line
        names, files = name_numbers, file_numbers
        self.reserve(self.total + name.shape[0])
        for i in range(end - begin):
            frame = order[begin + i]
            at = self.total
            self.starts[frame] = cython.cast(cython.uint, at)
            self.counts[frame] = first[i + 1] - first[i]
            for k in range(first[i], first[i + 1]):
                self.entry_name[at] = names[name[k]] if name[k] != NOTHING else NOTHING
                self.entry_file[at] = files[file[k]] if file[k] != NOTHING else NOTHING
                self.entry_line[at] = line[k]
                at += 1
            self.total = at

    def columns(self) -> dict[str, memoryview]:
        """``start``, ``count`` by frame, ``name``, ``file``, ``line`` by entry."""
        return {
            "start": memoryview(self.starts),
            "count": memoryview(self.counts),
            "name": memoryview(self.entry_name)[: self.total],
            "file": memoryview(self.entry_file)[: self.total],
            "line": memoryview(self.entry_line)[: self.total],
        }
