# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Formats folded stacks a buffer at a time, from columns and encoded names: as text or as lines of JSON."""

from typing import Any

import cython
from cython.cimports.libc.string import memcpy

from undwarf.column import zeros


@cython.cclass
class FoldedText:
    """Writes one line ``root;outer;...;inner WEIGHT`` for each (root, node, weight).

    ``layout`` has the bytes that differ between formats: the separator of names (one byte), what is between the names
    and the weight, and the end of a line. ``leading``: whether a separator follows a root that is not empty.

    ``parent`` and ``entity`` are a tree of functions (parents first); ``names``/``name_offsets`` the name of each
    entity, ``roots``/``root_offsets`` the text before the first ``;`` of each root (an empty text is left out).
    A line whose node is 0xffffffff is the root alone. Lines that share the start of their path should
    follow each other: then only what differs is looked up.
    """

    parent = cython.declare("const unsigned int[::1]")
    entity = cython.declare("const unsigned int[::1]")
    names = cython.declare("const unsigned char[::1]")
    name_offsets = cython.declare("const unsigned int[::1]")
    roots = cython.declare("const unsigned char[::1]")
    root_offsets = cython.declare("const unsigned int[::1]")
    line_root = cython.declare("const unsigned int[::1]")
    line_node = cython.declare("const unsigned int[::1]")
    line_weight = cython.declare("const unsigned long long[::1]")
    depth = cython.declare("unsigned int[::1]")
    on_path = cython.declare("unsigned int[::1]")
    path_end = cython.declare("long long[::1]")
    path = cython.declare("unsigned char[::1]")
    digits = cython.declare("unsigned char[::1]")
    out = cython.declare("unsigned char[::1]")
    before_weight = cython.declare("const unsigned char[::1]")
    end = cython.declare("const unsigned char[::1]")
    separator: cython.uchar
    leading: cython.bint
    path_depth: cython.Py_ssize_t
    line: cython.Py_ssize_t

    @cython.locals(depth="unsigned int[::1]", up="unsigned int", deepest="unsigned int")
    def __init__(
        self,
        parent: Any,
        entity: Any,
        names: bytes,
        name_offsets: Any,
        roots: bytes,
        root_offsets: Any,
        line_root: Any,
        line_node: Any,
        line_weight: Any,
        layout: "tuple[bytes, bytes, bytes]" = (b";", b" ", b"\n"),
        leading: bool = True,
        chunk: int = 1 << 18,
    ) -> None:
        self.separator = layout[0][0]
        self.before_weight = layout[1]
        self.end = layout[2]
        self.leading = leading
        self.parent = parent
        self.entity = entity
        self.names = names
        self.name_offsets = name_offsets
        self.roots = roots
        self.root_offsets = root_offsets
        self.line_root = line_root
        self.line_node = line_node
        self.line_weight = line_weight
        n: cython.Py_ssize_t = self.parent.shape[0]
        depth = zeros("I", n)
        deepest = 0
        index: cython.Py_ssize_t
        for index in range(n):
            up = self.parent[index]
            if up != 0xFFFFFFFF:
                depth[index] = depth[up] + 1
                if depth[index] > deepest:
                    deepest = depth[index]
        self.depth = depth
        self.on_path = zeros("I", deepest + 1)
        self.path_end = zeros("q", deepest + 1)
        self.path = zeros("B", 4096)
        self.digits = zeros("B", 24)
        self.out = zeros("B", chunk)
        self.path_depth = 0
        self.line = 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        node="unsigned int",
        what="unsigned int",
        start="Py_ssize_t",
        size="Py_ssize_t",
        at="Py_ssize_t",
        level="Py_ssize_t",
        new_path="unsigned char[::1]",
    )
    def set_path(self, leaf: cython.uint) -> cython.Py_ssize_t:
        """Make ``path`` the names from the root of the stack to ``leaf``, each after a ``;``; its length in bytes."""
        node = leaf
        # Put the nodes from the leaf up in place until they meet what is there already.
        while True:
            level = self.depth[node]
            if level < self.path_depth and self.on_path[level] == node:
                break
            self.on_path[level] = node
            if level == 0:
                level = -1
                break
            node = self.parent[node]
        at = self.path_end[level] if level >= 0 else 0
        self.path_depth = cython.cast("Py_ssize_t", self.depth[leaf]) + 1
        while level + 1 < self.path_depth:
            level += 1
            what = self.entity[self.on_path[level]]
            start = self.name_offsets[what]
            size = cython.cast("Py_ssize_t", self.name_offsets[what + 1]) - start
            if size < 0 or start + size > self.names.shape[0]:
                raise IndexError("name offsets")
            if at + size + 1 > self.path.shape[0]:
                new_path = zeros("B", 2 * (at + size + 1))
                new_path[:at] = self.path[:at]
                self.path = new_path
            self.path[at] = self.separator
            # Both ends were checked just above.
            if size > 0:
                memcpy(
                    cython.cast("char *", cython.address(self.path[0])) + at + 1,
                    cython.cast("const char *", cython.address(self.names[0])) + start,
                    size,
                )
            at += size + 1
            self.path_end[level] = at
        return at

    @cython.locals(
        root="unsigned int",
        node="unsigned int",
        weight="unsigned long long",
        start="Py_ssize_t",
        root_size="Py_ssize_t",
        path_size="Py_ssize_t",
        skip="Py_ssize_t",
        used="Py_ssize_t",
        digit="Py_ssize_t",
        fixed="Py_ssize_t",
        i="Py_ssize_t",
    )
    def fill(self) -> int:
        """Put the next lines into ``buffer()``; their size in bytes, 0 at the end."""
        n: cython.Py_ssize_t = self.line_node.shape[0]
        used = 0
        while self.line < n:
            root = self.line_root[self.line]
            node = self.line_node[self.line]
            weight = self.line_weight[self.line]
            start = self.root_offsets[root]
            root_size = cython.cast("Py_ssize_t", self.root_offsets[root + 1]) - start
            if root_size < 0 or start + root_size > self.roots.shape[0]:
                raise IndexError("root offsets")
            path_size = self.set_path(node) if node != 0xFFFFFFFF else 0
            fixed = 24 + self.before_weight.shape[0] + self.end.shape[0]
            if used + root_size + path_size + fixed > self.out.shape[0]:
                if used > 0:
                    break
                self.out = zeros("B", 2 * (root_size + path_size + fixed))
            # The size of the whole line was checked just above.
            if root_size > 0:
                memcpy(
                    cython.cast("char *", cython.address(self.out[0])) + used,
                    cython.cast("const char *", cython.address(self.roots[0])) + start,
                    root_size,
                )
                used += root_size
            skip = 1 if path_size > 0 and (root_size == 0 or not self.leading) else 0
            if path_size > 0:
                memcpy(
                    cython.cast("char *", cython.address(self.out[0])) + used,
                    cython.cast("const char *", cython.address(self.path[0])) + skip,
                    path_size - skip,
                )
                used += path_size - skip
            for i in range(self.before_weight.shape[0]):
                self.out[used] = self.before_weight[i]
                used += 1
            digit = 24
            while True:
                digit -= 1
                self.digits[digit] = cython.cast("unsigned char", 48 + weight % 10)
                weight //= 10
                if weight == 0:
                    break
            while digit < 24:
                self.out[used] = self.digits[digit]
                used += 1
                digit += 1
            for i in range(self.end.shape[0]):
                self.out[used] = self.end[i]
                used += 1
            self.line += 1
        return used

    def buffer(self) -> Any:
        """The buffer of :meth:`fill`, which may replace it."""
        return self.out
