# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Orders the tree of stacks depth first, and lists the frames of whole stacks.

Columns of the tree have one entry per node; a node's parent has a smaller number, NOTHING at a root.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import zeros


@cython.locals(
    parents="const unsigned int[::1]",
    functions="const unsigned int[::1]",
    depth="unsigned int[::1]",
    position="unsigned int[::1]",
    last="unsigned int[::1]",
    free="unsigned int[::1]",
    size="unsigned int[::1]",
    node_at="unsigned int[::1]",
    path="unsigned int[::1]",
    open_="unsigned int[::1]",
    recursive="unsigned char[::1]",
    up="unsigned int",
    node="unsigned int",
    function="unsigned int",
    roots="unsigned int",
)
def depth_first(parents: Any, functions: Any, function_count: int) -> tuple[Any, Any, Any, Any]:
    """By node: (its depth (I), 0 at a root; its position depth first (I); the position of the last node below it, or
    its own (I); whether a node above it is of the same function (B)). ``functions``: the function of each node, below
    ``function_count``, or NOTHING."""
    n: cython.Py_ssize_t = len(parents)
    index: cython.Py_ssize_t
    depths = zeros("I", n)
    positions = zeros("I", n)
    lasts = zeros("I", n)
    repeated = zeros("B", n)
    depth, position, last, recursive = depths, positions, lasts, repeated
    free = zeros("I", n)
    size = zeros("I", n)
    node_at = zeros("I", n)
    deepest: cython.Py_ssize_t = 0
    for index in range(n - 1, -1, -1):
        size[index] += 1
        if parents[index] != NOTHING:
            size[parents[index]] += size[index]
    roots = 0
    for index in range(n):
        up = parents[index]
        if up == NOTHING:
            position[index] = roots
            roots += size[index]
        else:
            position[index] = free[up]
            free[up] += size[index]
            depth[index] = depth[up] + 1
            if depth[index] > deepest:
                deepest = depth[index]
        free[index] = position[index] + 1
        last[index] = position[index] + size[index] - 1
        node_at[position[index]] = cython.cast("unsigned int", index)
    # The nodes above the current one, and how many of them are of each function.
    path = zeros("I", deepest + 1)
    open_ = zeros("I", function_count)
    level: cython.Py_ssize_t = 0
    for index in range(n):
        node = node_at[index]
        while level > depth[node]:
            level -= 1
            function = functions[path[level]]
            if function != NOTHING:
                open_[function] -= 1
        function = functions[node]
        if function != NOTHING:
            recursive[node] = open_[function] != 0
            open_[function] += 1
        path[level] = node
        level += 1
    return depths, positions, lasts, repeated


@cython.final
@cython.cclass
class StackFrames:
    """The frames of some stacks, innermost first, in pieces of a bounded size."""

    parents: "memoryview[int]" = cython.declare("const unsigned int[::1]")
    frames: "memoryview[int]" = cython.declare("const unsigned int[::1]")
    stacks: "memoryview[int]" = cython.declare("const unsigned int[::1]")
    at: cython.Py_ssize_t
    node: cython.uint
    depth: cython.uint

    def __init__(self, parents: Any, frames: Any, stacks: Any) -> None:
        """``stacks``: the innermost node of each stack."""
        self.parents = parents
        self.frames = frames
        self.stacks = stacks
        self.at = 0
        self.depth = 0
        self.node = stacks[0] if len(stacks) else NOTHING

    @cython.locals(
        stack="unsigned int[::1]",
        depth="unsigned int[::1]",
        frame="unsigned int[::1]",
    )
    def following(self, most: int) -> tuple[Any, Any, Any]:
        """The next rows, up to ``most``: the stack, the depth (0 innermost) and the frame, as columns (I); empty at the
        end."""
        limit: cython.Py_ssize_t = most
        columns = zeros("I", limit), zeros("I", limit), zeros("I", limit)
        stack, depth, frame = columns
        count: cython.Py_ssize_t = 0
        while count < limit and self.at < len(self.stacks):
            if self.node == NOTHING:
                self.at += 1
                self.depth = 0
                if self.at < len(self.stacks):
                    self.node = self.stacks[self.at]
                continue
            stack[count] = self.stacks[self.at]
            depth[count] = self.depth
            frame[count] = self.frames[self.node]
            self.node = self.parents[self.node]
            self.depth += 1
            count += 1
        return columns[0][:count], columns[1][:count], columns[2][:count]


@cython.locals(ends="const unsigned int[::1]", seen="unsigned char[::1]", out="unsigned int[::1]")
def distinct(column: Any, limit: int) -> Any:
    """The distinct entries (I) of a column of numbers below ``limit``, ascending; without NOTHING."""
    ends = column
    seen = zeros("B", limit)
    index: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    for index in range(len(ends)):
        if ends[index] != NOTHING and not seen[ends[index]]:
            seen[ends[index]] = 1
            count += 1
    result = zeros("I", count)
    out = result
    count = 0
    for index in range(len(seen)):
        if seen[index]:
            out[count] = cython.cast("unsigned int", index)
            count += 1
    return result
