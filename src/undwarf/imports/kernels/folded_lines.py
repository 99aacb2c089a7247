# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Folded stacks: each line is a stack, root first, with ``;`` between the functions, then a space and a number.

Source: stackcollapse-perf.pl and flamegraph.pl (brendangregg/FlameGraph), which call the number a count of samples;
other programs write times or bytes there.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import copied, doubled, zeros
from undwarf.perfdata.interner import Interner
from undwarf.profile.grouping import Pairs

LONGEST_NAME = 65535
"""Bytes of a function's name; what is longer is cut."""
_MOST = 1 << 62


@cython.final
@cython.cclass
class FoldedLines:
    """The lines of a text: :meth:`read` fills the columns.

    ``stack`` (I, NOTHING: no function) and ``weight`` (Q) have an entry for each line, ``parent`` and ``name`` (I) are
    the tree of stacks, parents first. Names are numbered as in ``names()``. ``bad`` counts lines that are not folded
    stacks, ``first_bad`` is the number of the first of them, from 1; ``fractions`` counts weights that were rounded,
    ``cut`` names that were.
    """

    _names: Interner
    _nodes: Pairs
    _stack: Any
    _weight: Any
    _used: cython.Py_ssize_t
    _value: cython.ulonglong
    bad = cython.declare(cython.Py_ssize_t, visibility="readonly")
    first_bad = cython.declare(cython.Py_ssize_t, visibility="readonly")
    fractions = cython.declare(cython.Py_ssize_t, visibility="readonly")
    cut = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self) -> None:
        self._names = Interner()
        self._nodes = Pairs()
        self._stack = zeros("I", 1024)
        self._weight = zeros("Q", 1024)
        self._used = 0
        self.bad = self.first_bad = self.fractions = self.cut = 0

    @cython.locals(
        data="const unsigned char[::1]",
        stack="unsigned int[::1]",
        weight="unsigned long long[::1]",
        start="Py_ssize_t",
        end="Py_ssize_t",
        stop="Py_ssize_t",
        node="unsigned int",
        value="unsigned long long",
    )
    def read(self, data: Any, most_nodes: int) -> bool:
        """Read all lines of a text; False if its stacks have more than ``most_nodes`` nodes: the rest is not read."""
        size: cython.Py_ssize_t = data.shape[0]
        most: cython.Py_ssize_t = most_nodes
        at: cython.Py_ssize_t = 0
        line: cython.Py_ssize_t = 0
        stack = self._stack
        weight = self._weight
        while at < size:
            start = at
            while at < size and data[at] != 10:
                at += 1
            end = at
            at += 1
            line += 1
            while end > start and (data[end - 1] == 13 or data[end - 1] == 32 or data[end - 1] == 9):
                end -= 1
            if end == start or (end - start > 1 and data[start] == 35 and data[start + 1] == 32):
                continue
            stop = self._number(data, start, end)
            if stop < 0:
                self.bad += 1
                if self.first_bad == 0:
                    self.first_bad = line
                continue
            value = self._value
            if self._used == stack.shape[0]:
                self._stack = doubled(self._stack, self._used)
                self._weight = doubled(self._weight, self._used)
                stack = self._stack
                weight = self._weight
            node = self._node(data, start, stop)
            stack[self._used] = node
            weight[self._used] = value
            self._used += 1
            if self._nodes.count > most:
                return False
        return True

    @cython.cfunc
    @cython.exceptval(-2)
    @cython.locals(data="const unsigned char[::1]", value="unsigned long long")
    def _number(self, data: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The end of the stack in a line whose last word is a number, which goes to ``_value``; -1 for other lines."""
        first: cython.Py_ssize_t = end
        point: cython.Py_ssize_t = -1
        i: cython.Py_ssize_t
        while first > start and data[first - 1] != 32 and data[first - 1] != 9:
            first -= 1
        if first in (start, end):
            return -1
        value = 0
        for i in range(first, end):
            if data[i] == 46 and point < 0 and i > first:
                point = i
            elif not 48 <= data[i] <= 57:
                return -1
            elif point < 0:
                if value > _MOST // 10:
                    return -1
                value = value * 10 + data[i] - 48
        if point >= 0:
            for i in range(point + 1, end):
                if data[i] != 48:
                    self.fractions += 1
                    break
            if point + 1 < end and data[point + 1] >= 53:
                value += 1
        self._value = value
        # One blank, as in flamegraph.pl: others are part of a name.
        return first - 1

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(data="const unsigned char[::1]", node="unsigned long long", name="Py_ssize_t", text="Py_ssize_t")
    def _node(self, data: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.uint:
        """The innermost node of a stack; NOTHING for an empty one."""
        node = NOTHING
        if start == end:
            return NOTHING
        while True:
            text = start
            while start < end and data[start] != 59:
                start += 1
            if start - text > LONGEST_NAME:
                self.cut += 1
            if self._names.is_full():
                self._names.grow()
            # An empty name has no first byte to take the address of.
            name = 0
            if start > text:
                name = self._names.add(cython.address(data[text]), min(start - text, LONGEST_NAME))
            node = self._nodes.number((node << 32) | cython.cast("unsigned long long", name))
            if start >= end:
                return cython.cast(cython.uint, node)
            start += 1
            if start == end:
                # A separator at the end has no function behind it.
                return cython.cast(cython.uint, node)

    def column(self, which: str) -> memoryview:
        """One of the columns."""
        if which == "stack":
            return copied(self._stack, self._used)
        if which == "weight":
            return copied(self._weight, self._used)
        found: memoryview = self._nodes.high() if which == "parent" else self._nodes.low()
        return found

    def names(self) -> list[bytes]:
        """The functions by number; number 0 has no name."""
        entries: list[bytes] = self._names.entries()
        return entries
