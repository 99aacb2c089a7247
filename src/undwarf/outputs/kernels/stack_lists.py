# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Stacks as lists of numbers in JSON, and runs of samples with the same stack."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.outputs.text_sizes import CHUNK

from undwarf.column import doubled, zeros
from undwarf.outputs.kernels.text_buffer import Text

NUMBER = cython.declare(cython.Py_ssize_t, 12)
"""Bytes of a number of 32 bits and a comma, and a pair of brackets."""


@cython.cclass
class StackLists:
    """Writes stacks of a tree (``parent`` and ``entity``, I) as lists of their entities, outermost first."""

    parent: Any
    entity: Any

    def __init__(self, parent: Any, entity: Any) -> None:
        self.parent, self.entity = parent, entity
        self.path = zeros("I", 256)
        self.text = Text(2 * CHUNK)

    @cython.locals(
        column="const unsigned int[::1]", node="unsigned int", depth="Py_ssize_t", n="Py_ssize_t", at="Py_ssize_t"
    )
    def fill(self, nodes: Any, start: int) -> tuple[memoryview, int]:
        """(``[a,b],[c]`` for the innermost nodes (I) from ``start`` on, with a comma in front of all but the first
        node; the node to go on with). The text is overwritten by the next call."""
        column = nodes
        n = column.shape[0]
        at = start
        self.text.used = 0
        while at < n and self.text.used < CHUNK:
            depth = 0
            node = column[at]
            while node != NOTHING:
                if depth == len(self.path):
                    self.path = doubled(self.path, depth)
                self.path[depth] = self.entity[node]
                depth += 1
                node = self.parent[node]
            self.text.reserve((depth + 1) * NUMBER)
            if at > 0:
                self.text.put(44)
            self.text.put(91)
            while depth > 0:
                depth -= 1
                self.text.number(self.path[depth], 0, 32)
                if depth > 0:
                    self.text.put(44)
            self.text.put(93)
            at += 1
        return memoryview(self.text.out)[: self.text.used], at


@cython.locals(
    column="const unsigned int[::1]",
    own="const unsigned long long[::1]",
    out="unsigned int[::1]",
    total="unsigned long long[::1]",
    index="Py_ssize_t",
    count="Py_ssize_t",
)
def runs(nodes: Any, weights: Any) -> tuple[memoryview, memoryview]:
    """(the node (I) of each run of equal nodes, the sum of its weights (Q))."""
    column, own = nodes, weights
    count = 0
    node_of_run, sum_of_run = zeros("I", len(nodes)), zeros("Q", len(nodes))
    out, total = node_of_run, sum_of_run
    for index in range(column.shape[0]):
        if count == 0 or out[count - 1] != column[index]:
            out[count] = column[index]
            count += 1
        total[count - 1] += own[index]
    return memoryview(node_of_run)[:count], memoryview(sum_of_run)[:count]
