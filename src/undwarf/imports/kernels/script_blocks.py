# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The text of ``perf script``, cut into samples: a line that describes the sample, then a line for each frame.

Lines of frames begin with a tab and a hexadecimal address, innermost frame first. A line that begins with two blanks
after a frame is its source line. Frames marked ``(inlined)`` do not say which file they are in: the frame that they are
inlined into does, which follows. Source: ``tools/perf/builtin-script.c``, ``sample__fprintf_callchain`` in
``tools/perf/util/evsel_fprintf.c``.
"""

from typing import Any

import cython
from cython.cimports.libc.string import memcmp
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import copied, doubled, zeros
from undwarf.perfdata.interner import Interner
from undwarf.profile.grouping import Pairs

LONGEST_TEXT = 65535
"""Bytes of a frame's text; what is longer is cut."""


@cython.final
@cython.cclass
class ScriptBlocks:
    """The samples of a text: :meth:`read` fills the columns.

    ``header`` (Q) and ``length`` (I) are where each sample's first line is in the text, ``node`` (I, NOTHING: none) is
    its innermost node. ``parent`` and ``frame`` (I) are the tree of stacks, parents first. ``text`` and ``outer`` (I)
    have an entry for each frame: the number of its text, and the frame, with a smaller number, that it is inlined into
    (NOTHING: none). ``texts()`` are a line each, with the source line after it. ``bad`` counts lines among frames that
    are none, ``first_bad`` is the number of the first of them, from 1; ``cut`` counts texts that were cut.
    """

    _texts: Interner
    _nodes: Pairs
    _header: Any
    _length: Any
    _node: Any
    _frames: Pairs
    _open: Any
    _inlined: Any
    _used: cython.Py_ssize_t
    _depth: cython.Py_ssize_t
    bad = cython.declare(cython.Py_ssize_t, visibility="readonly")
    first_bad = cython.declare(cython.Py_ssize_t, visibility="readonly")
    cut = cython.declare(cython.Py_ssize_t, visibility="readonly")

    def __init__(self) -> None:
        self._texts = Interner()
        self._nodes = Pairs()
        self._frames = Pairs()
        self._header = zeros("Q", 1024)
        self._length = zeros("I", 1024)
        self._node = zeros("I", 1024)
        self._open = zeros("I", 1024)
        self._inlined = zeros("B", 1024)
        self._used = self._depth = 0
        self.bad = self.first_bad = self.cut = 0

    @cython.locals(
        data="const unsigned char[::1]",
        start="Py_ssize_t",
        end="Py_ssize_t",
        next_line="Py_ssize_t",
        in_sample="bint",
        frames="unsigned int[::1]",
        inlined="unsigned char[::1]",
    )
    def read(self, data: Any, most_nodes: int) -> bool:
        """Read all samples of a text; False if its stacks have more than ``most_nodes`` nodes, and the rest is not
        read."""
        size: cython.Py_ssize_t = data.shape[0]
        most: cython.Py_ssize_t = most_nodes
        at: cython.Py_ssize_t = 0
        line: cython.Py_ssize_t = 0
        in_sample = False
        while at < size:
            start = at
            end = self._end(data, start)
            at = end + 1
            line += 1
            if self._is_blank(data, start, end):
                if in_sample:
                    self._close()
                    in_sample = False
                    if self._nodes.count > most:
                        return False
                continue
            if self._is_frame(data, start, end):
                if not in_sample:
                    # Without any field of the sample itself, blank lines alone separate samples.
                    self._begin(start, 0)
                    in_sample = True
                next_line = self._with_source(data, start, end)
                if next_line > end:
                    at = next_line + 1
                    line += 1
                if self._depth == self._open.shape[0]:
                    self._open = doubled(self._open, self._depth)
                    self._inlined = doubled(self._inlined, self._depth)
                frames = self._open
                inlined = self._inlined
                inlined[self._depth] = self._is_inlined(data, start, end)
                frames[self._depth] = self._text(data, start + 1, next_line)
                self._depth += 1
                continue
            if data[start] == 9 or (in_sample and self._depth and data[start] == 32):
                self.bad += 1
                if self.first_bad == 0:
                    self.first_bad = line
                continue
            if data[start] == 35 and not in_sample:
                continue
            if in_sample:
                self._close()
            self._begin(start, end - start)
            in_sample = True
        if in_sample:
            self._close()
        return self._nodes.count <= most

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char[::1]")
    def _end(self, data: Any, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The end of a line, without its line break."""
        size: cython.Py_ssize_t = data.shape[0]
        while at < size and data[at] != 10:
            at += 1
        return at

    @cython.cfunc
    @cython.inline
    @cython.locals(data="const unsigned char[::1]")
    @cython.exceptval(check=True)
    def _is_blank(self, data: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        while start < end and (data[start] == 32 or data[start] == 9 or data[start] == 13):
            start += 1
        return start == end

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(data="const unsigned char[::1]", byte="unsigned char")
    def _is_frame(self, data: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Whether a line is a tab, blanks, and a word of hexadecimal digits."""
        if data[start] != 9:
            return False
        at: cython.Py_ssize_t = start + 1
        while at < end and data[at] == 32:
            at += 1
        first: cython.Py_ssize_t = at
        while at < end:
            byte = data[at]
            if not (48 <= byte <= 57 or 97 <= byte <= 102):
                break
            at += 1
        return 0 < at - first <= 16 and (at == end or data[at] == 32 or data[at] == 13)

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(data="const unsigned char[::1]")
    def _is_inlined(self, data: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        if end > start and data[end - 1] == 13:
            end -= 1
        return end - start > 10 and memcmp(cython.address(data[end - 9]), b"(inlined)", 9) == 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(data="const unsigned char[::1]", more="Py_ssize_t")
    def _with_source(self, data: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The end of a frame's text: with its source line, if there is one."""
        size: cython.Py_ssize_t = data.shape[0]
        if end + 2 < size and data[end + 1] == 32 and data[end + 2] == 32:
            more = self._end(data, end + 1)
            if not self._is_blank(data, end + 1, more):
                return more
        return end

    @cython.cfunc
    @cython.exceptval(check=True)
    @cython.locals(data="const unsigned char[::1]")
    def _text(self, data: Any, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.uint:
        while start < end and data[start] == 32:
            start += 1
        if end - start > LONGEST_TEXT:
            self.cut += 1
            end = start + LONGEST_TEXT
        if self._texts.is_full():
            self._texts.grow()
        return cython.cast(cython.uint, self._texts.add(cython.address(data[start]), end - start))

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(header="unsigned long long[::1]", length="unsigned int[::1]", node="unsigned int[::1]")
    def _begin(self, start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.int:
        if self._used == self._header.shape[0]:
            self._header = doubled(self._header, self._used)
            self._length = doubled(self._length, self._used)
            self._node = doubled(self._node, self._used)
        header = self._header
        length = self._length
        node = self._node
        header[self._used] = start
        length[self._used] = cython.cast("unsigned int", min(size, 0x7FFFFFFF))
        node[self._used] = NOTHING
        self._used += 1
        self._depth = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        texts="const unsigned int[::1]",
        inlined="const unsigned char[::1]",
        node="unsigned int[::1]",
        at="unsigned long long",
        outer="unsigned long long",
        none="unsigned long long",
    )
    def _close(self) -> cython.int:
        texts = self._open
        inlined = self._inlined
        none = NOTHING
        at = outer = none
        i: cython.Py_ssize_t
        for i in range(self._depth - 1, -1, -1):
            outer = self._frames.number(((outer if inlined[i] else none) << 32) | texts[i])
            at = self._nodes.number((at << 32) | outer)
        node = self._node
        node[self._used - 1] = cython.cast("unsigned int", at)
        self._depth = 0
        return 0

    def leaf(self, text: bytes) -> int:
        """The node of a stack of one frame, whose text is part of a sample's first line."""
        text = text[:LONGEST_TEXT]
        if not text:
            return int(NOTHING)
        if self._texts.is_full():
            self._texts.grow()
        raw: cython.p_char = text
        number: cython.Py_ssize_t = self._texts.add(cython.cast("const unsigned char *", raw), len(text))
        none: cython.ulonglong = NOTHING
        frame: cython.ulonglong = self._frames.number((none << 32) | cython.cast("unsigned long long", number))
        return self._nodes.number((none << 32) | frame)

    def column(self, which: str) -> memoryview:
        """One of the columns."""
        if which == "header":
            return copied(self._header, self._used)
        if which == "length":
            return copied(self._length, self._used)
        if which == "node":
            return copied(self._node, self._used)
        pairs: Pairs = self._frames if which in ("text", "outer") else self._nodes
        found: memoryview = pairs.high() if which in ("parent", "outer") else pairs.low()
        return found

    def texts(self) -> list[bytes]:
        """The texts by number; number 0 is of none."""
        entries: list[bytes] = self._texts.entries()
        return entries
