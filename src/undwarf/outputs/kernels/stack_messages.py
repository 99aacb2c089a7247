# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Messages of stacks in Protocol Buffers, a buffer at a time: samples of pprof, stacks of OpenTelemetry."""

from __future__ import annotations

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.outputs.text_sizes import CHUNK

from undwarf.column import zeros
from undwarf.outputs.kernels.wire_buffer import Wire


@cython.cclass
class StackMessages:
    """Writes a message for each stack: its locations, innermost first, as packed field 1, then its values as packed
    field 2, then a suffix.

    ``tag`` is the tag of the messages, below 128. ``tree`` is the tree of stacks: parents, frames, and the number of
    each frame's location (I; NOTHING for frames without one). By stack: its innermost ``node`` (I; NOTHING: no
    locations) and its suffix: the number (I) of a piece of ``suffixes``, which has the offsets ``ends`` (I, one more).
    ``values`` (Q) has ``width`` entries for each stack; without any, messages have no field 2.
    """

    parent: Any
    frame: Any
    location: Any
    node: Any
    values: Any
    suffix: Any
    suffixes: Any
    ends: Any

    def __init__(
        self,
        tag: int,
        tree: tuple[Any, Any, Any],
        node: Any,
        suffix: Any,
        suffixes: bytes,
        ends: Any,
        values: Any = None,
        width: int = 0,
    ) -> None:
        self.tag = tag
        self.parent, self.frame, self.location = tree
        self.node = node
        self.suffix = suffix
        self.suffixes = suffixes + b"\0"
        self.ends = ends
        self.values = values if values is not None else zeros("Q", 0)
        self.width = width
        self.at = 0
        self.wire = Wire(2 * CHUNK)
        self.body = Wire(4096)

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(at="unsigned int", where="unsigned int")
    def locations(self, node: cython.uint) -> cython.int:
        """Put the locations of a stack into ``body``."""
        self.body.used = 0
        at = node
        while at != NOTHING:
            where = self.location[self.frame[at]]
            if where != NOTHING:
                self.body.reserve(10)
                self.body.varint(where)
            # Parents have smaller numbers, in a tree that the profile checked.
            at = self.parent[at]
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def field(self, number: cython.uchar, start: cython.Py_ssize_t) -> cython.int:
        """Put the tag and size of a packed field that is in ``body`` from ``start`` on in front of it, in ``wire``."""
        if self.body.used > start:
            self.wire.reserve(12)
            self.wire.varint(cython.cast("unsigned long long", number) << 3 | 2)
            self.wire.varint(cython.cast("unsigned long long", self.body.used - start))
            self.wire.copy(self.body.out, start, self.body.used)
        return 0

    @cython.locals(
        first="Py_ssize_t",
        last="Py_ssize_t",
        middle="Py_ssize_t",
        size="Py_ssize_t",
        index="Py_ssize_t",
        n="Py_ssize_t",
    )
    def fill(self) -> memoryview:
        """The next messages; empty at the end. Overwritten by the next call."""
        self.wire.used = 0
        n = self.node.shape[0]
        while self.at < n and self.wire.used < CHUNK:
            self.locations(self.node[self.at])
            middle = self.body.used
            for index in range(self.at * self.width, (self.at + 1) * self.width):
                self.body.reserve(10)
                self.body.varint(self.values[index])
            first = self.ends[self.suffix[self.at]]
            last = self.ends[self.suffix[self.at] + 1]
            size = last - first
            if middle > 0:
                size += 1 + varint_size(middle) + middle
            if self.body.used > middle:
                size += 1 + varint_size(self.body.used - middle) + self.body.used - middle
            self.wire.reserve(12)
            self.wire.varint(self.tag)
            self.wire.varint(cython.cast("unsigned long long", size))
            index = self.body.used
            self.body.used = middle
            self.field(1, 0)
            self.body.used = index
            self.field(2, middle)
            self.wire.copy(self.suffixes, first, last)
            self.at += 1
        return memoryview(self.wire.out)[: self.wire.used]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def varint_size(value: cython.ulonglong) -> cython.Py_ssize_t:
    """The bytes of a variable-length number."""
    size: cython.Py_ssize_t = 1
    while value > 127:
        value >>= 7
        size += 1
    return size


@cython.locals(
    columns="const unsigned long long[::1]",
    out="unsigned long long[::1]",
    i="Py_ssize_t",
    k="Py_ssize_t",
    n="Py_ssize_t",
)
def interleaved(many: list[memoryview], count: int) -> memoryview:
    """Columns (Q) of ``count`` entries as one, with the entries of each row together."""
    n = len(many)
    result = zeros("Q", n * count)
    out = result
    for k in range(n):
        columns = many[k]
        for i in range(count):
            out[i * n + k] = columns[i]
    return memoryview(result)
