# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Tables of one thread: the entries that it uses of a profile's tables, numbered anew. Columns are of typecode I."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import absent, copied, doubled, zeros


@cython.cclass
class LocalNumbers:
    """Numbers the entries of a table of ``size`` entries anew for one column after the other."""

    owner = cython.declare("unsigned int[::1]")
    number = cython.declare("unsigned int[::1]")
    turn: cython.uint

    def __init__(self, size: int) -> None:
        self.owner = zeros("I", size)
        self.number = zeros("I", size)
        self.turn = 0

    @cython.locals(
        column="const unsigned int[::1]", out="unsigned int[::1]", used="unsigned int[::1]", one="unsigned int"
    )
    def local(self, values: Any) -> tuple[memoryview, memoryview]:
        """(the new number of each entry, from 0 by first use; the old number by new one). NOTHING stays NOTHING."""
        column = values
        n: cython.Py_ssize_t = column.shape[0]
        count: cython.uint = 0
        index: cython.Py_ssize_t
        result = absent("I", n)
        distinct = zeros("I", n)
        out, used = result, distinct
        self.turn += 1
        for index in range(n):
            one = column[index]
            if one == NOTHING:
                continue
            if self.owner[one] != self.turn:
                self.owner[one] = self.turn
                self.number[one] = count
                used[count] = one
                count += 1
            out[index] = self.number[one]
        return memoryview(result), memoryview(distinct)[:count]


@cython.cclass
class LocalStacks:
    """The part of a tree of stacks that some samples use; ``parent`` and ``frame`` are the tree."""

    parent = cython.declare("const unsigned int[::1]")
    frame = cython.declare("const unsigned int[::1]")
    owner = cython.declare("unsigned int[::1]")
    number = cython.declare("unsigned int[::1]")
    turn: cython.uint

    def __init__(self, parent: Any, frame: Any) -> None:
        self.parent, self.frame = parent, frame
        self.owner = zeros("I", len(parent))
        self.number = zeros("I", len(parent))
        self.turn = 0

    @cython.locals(
        column="const unsigned int[::1]",
        out="unsigned int[::1]",
        above="unsigned int[::1]",
        what="unsigned int[::1]",
        path="unsigned int[::1]",
        node="unsigned int",
        before="unsigned int",
        depth="Py_ssize_t",
    )
    def local(self, values: Any) -> tuple[memoryview, memoryview, memoryview]:
        """(parent and frame of each node that the innermost nodes of samples need, parents first; the new number of
        each sample's innermost node)."""
        column = values
        n: cython.Py_ssize_t = column.shape[0]
        count: cython.Py_ssize_t = 0
        index: cython.Py_ssize_t
        result = absent("I", n)
        out = result
        parents = zeros("I", 64)
        frames = zeros("I", 64)
        trail = zeros("I", 64)
        above, what, path = parents, frames, trail
        self.turn += 1
        for index in range(n):
            node = column[index]
            if node == NOTHING:
                continue
            depth = 0
            while node != NOTHING and self.owner[node] != self.turn:
                if depth == len(path):
                    trail = doubled(trail, depth)
                    path = trail
                path[depth] = node
                depth += 1
                node = self.parent[node]
            before = NOTHING if node == NOTHING else self.number[node]
            while depth > 0:
                depth -= 1
                node = path[depth]
                if count == len(above):
                    parents, frames = doubled(parents, count), doubled(frames, count)
                    above, what = parents, frames
                above[count] = before
                what[count] = self.frame[node]
                self.owner[node] = self.turn
                self.number[node] = before = cython.cast("unsigned int", count)
                count += 1
            out[index] = self.number[column[index]]
        return memoryview(copied(parents, count)), memoryview(copied(frames, count)), memoryview(result)
