# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Calls between functions in stacks, with the weight that passes through them."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import copied, doubled, zeros
from undwarf.profile.grouping import Pairs


@cython.locals(
    parent="const unsigned int[::1]",
    place="const unsigned int[::1]",
    entity_of="const unsigned int[::1]",
    below="const unsigned long long[::1]",
    seen="unsigned int[::1]",
    path="unsigned int[::1]",
    total="unsigned long long[::1]",
    up="unsigned int",
    what="unsigned int",
    slot="Py_ssize_t",
    depth="Py_ssize_t",
    index="Py_ssize_t",
    n="Py_ssize_t",
)
def call_edges(
    parents: Any, places: Any, entities: Any, weights: Any, count: int
) -> tuple[memoryview, memoryview, memoryview]:
    """(place of the call, called entity, weight) of the distinct calls in a tree of stacks.

    ``parents`` is the tree in preorder, ``places`` (I) the place that each node stands for, such as a function and a
    line, ``entities`` the entity of each place, below ``count``; ``weights`` (Q) are those of a node with all nodes
    below. Of recursive calls only the first one on a path has its weight, so that what is added up over the calls of an
    entity has each stack once; the others have weight 0.
    """
    parent, place, entity_of, below = parents, places, entities, weights
    n = parent.shape[0]
    pairs: Pairs = Pairs(n // 8 + 16)
    result = zeros("Q", 1024)
    total = result
    # How often each entity is on the path to the current node.
    seen = zeros("I", count)
    trail = zeros("I", 256)
    path = trail
    depth = 0
    for index in range(n):
        up = parent[index]
        # Leave the nodes that are not on the path to this one.
        while depth > 0 and path[depth - 1] != up:
            depth -= 1
            seen[entity_of[place[path[depth]]]] -= 1
        if up != NOTHING and depth == 0:
            raise ValueError("the tree is not in preorder")
        what = entity_of[place[index]]
        if up != NOTHING:
            slot = pairs.number((cython.cast("unsigned long long", place[up]) << 32) | what)
            if slot >= len(total):
                result = doubled(result, slot)
                total = result
            if seen[what] == 0:
                total[slot] += below[index]
        seen[what] += 1
        if depth == len(path):
            trail = doubled(trail, depth)
            path = trail
        path[depth] = cython.cast("unsigned int", index)
        depth += 1
    return pairs.high(), pairs.low(), memoryview(copied(result, pairs.count))


@cython.locals(parent="const unsigned int[::1]", out="unsigned int[::1]", index="Py_ssize_t")
def outermost(parents: Any) -> memoryview:
    """The outermost node (I) above each node of a tree with parents first."""
    parent = parents
    result = zeros("I", len(parents))
    out = result
    for index in range(parent.shape[0]):
        out[index] = cython.cast("unsigned int", index) if parent[index] == NOTHING else out[parent[index]]
    return memoryview(result)


@cython.locals(column="const unsigned int[::1]", out="unsigned int[::1]", index="Py_ssize_t")
def inverse(values: Any) -> memoryview:
    """The index (I) of each value of a column that has each number below its length once."""
    column = values
    result = zeros("I", len(values))
    out = result
    for index in range(column.shape[0]):
        out[column[index]] = cython.cast("unsigned int", index)
    return memoryview(result)
