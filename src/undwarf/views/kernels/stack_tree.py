# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Trees of stacks: nodes merged by name, subtrees summed, children ordered.

Columns are of typecode I, where not said otherwise; 0xffffffff stands for "no node".
"""

from typing import Any

import cython

from undwarf.column import doubled, zeros
from undwarf.profile.grouping import Pairs


@cython.locals(
    parent="const unsigned int[::1]",
    frame="const unsigned int[::1]",
    entity="const unsigned int[::1]",
    out="unsigned int[::1]",
    up="unsigned int",
    what="unsigned int",
)
def collapse(parent: Any, frame: Any, entity: Any) -> tuple[memoryview, memoryview, memoryview]:
    """Merge stack nodes whose frames are the same entity (a function, say) under the same parent.

    ``parent`` and ``frame`` are the profile's stacks (parents come first), ``entity`` gives an entity for each
    frame. Returns (new node of each old node, parent of each new node, entity of each new node); new
    parents come first too.
    """
    n: cython.Py_ssize_t = parent.shape[0]
    pairs: Pairs = Pairs(n // 8 + 16)
    node_of = zeros("I", n)
    out = node_of
    index: cython.Py_ssize_t
    for index in range(n):
        up = parent[index]
        if up != 0xFFFFFFFF:
            if cython.cast("Py_ssize_t", up) >= index:
                raise ValueError("a stack node comes before its parent")
            up = out[up]
        what = entity[frame[index]]
        out[index] = cython.cast("unsigned int", pairs.number((cython.cast("unsigned long long", up) << 32) | what))
    return node_of, pairs.high(), pairs.low()


@cython.locals(
    group="const unsigned int[::1]",
    node="const unsigned int[::1]",
    weight="const unsigned long long[::1]",
    parent="const unsigned int[::1]",
    entity="const unsigned int[::1]",
    seen="unsigned int[::1]",
    total="unsigned long long[::1]",
    out="unsigned long long[::1]",
    at="unsigned int",
    what="unsigned int",
    slot="Py_ssize_t",
)
def inclusive(
    group: Any,
    node: Any,
    weight: Any,
    parent: Any,
    entity: Any,
    entities: int,
) -> tuple[memoryview, memoryview, memoryview]:
    """Weight of every (group, entity) that occurs anywhere in a stack, counted once for each stack.

    ``group``, ``node``, ``weight`` describe distinct stacks with their weights; ``parent`` and ``entity`` the
    tree. Returns (group, entity, weight) columns.
    """
    n: cython.Py_ssize_t = node.shape[0]
    pairs: Pairs = Pairs(max(1024, entities))
    seen = zeros("I", entities)
    sums_column = zeros("Q", 1024)
    total = sums_column
    index: cython.Py_ssize_t
    for index in range(n):
        at = node[index]
        while at != 0xFFFFFFFF:
            what = entity[at]
            if seen[what] != cython.cast("unsigned int", index + 1):
                seen[what] = cython.cast("unsigned int", index + 1)
                slot = pairs.number((cython.cast("unsigned long long", group[index]) << 32) | what)
                if slot >= len(total):
                    total = doubled(total, slot)
                total[slot] += weight[index]
            at = parent[at]
    result = zeros("Q", pairs.count)
    out = result
    for index in range(pairs.count):
        out[index] = total[index]
    return pairs.high(), pairs.low(), result


@cython.locals(
    nodes="const unsigned int[::1]",
    weights="const unsigned long long[::1]",
    parents="const unsigned int[::1]",
    entities="const unsigned int[::1]",
    recursive="const unsigned char[::1]",
    begins="const unsigned int[::1]",
    order="const unsigned int[::1]",
    below="unsigned long long[::1]",
    passed="unsigned char[::1]",
    total="unsigned long long[::1]",
    seen="unsigned char[::1]",
    groups_out="unsigned int[::1]",
    entities_out="unsigned int[::1]",
    sums_out="unsigned long long[::1]",
    up="unsigned int",
    row="unsigned int",
)
def inclusive_by_group(
    starts: Any, rows: Any, node: Any, weight: Any, parent: Any, entity: Any, count: int, repeated: Any
) -> tuple[memoryview, memoryview, memoryview]:
    """As :func:`inclusive`, for few groups of many stacks: the tree is summed up once for each group, which takes no
    longer if stacks are deep. ``starts`` and ``rows``: the stacks of each group, as :func:`undwarf.ordering.group`
    gives them; ``count``: of entities; ``repeated`` (B): nodes above which their entity is too."""
    nodes, weights, parents, entities, recursive = node, weight, parent, entity, repeated
    begins, order = starts, rows
    tree: cython.Py_ssize_t = parents.shape[0]
    groups: cython.Py_ssize_t = begins.shape[0] - 1
    below, passed = zeros("Q", tree), zeros("B", tree)
    total, seen = zeros("Q", count), zeros("B", count)
    first, second, third = zeros("I", 1024), zeros("I", 1024), zeros("Q", 1024)
    groups_out, entities_out, sums_out = first, second, third
    made: cython.Py_ssize_t = 0
    room: cython.Py_ssize_t = 1024
    index: cython.Py_ssize_t
    number: cython.Py_ssize_t
    for number in range(groups):
        for index in range(begins[number], begins[number + 1]):
            row = order[index]
            if nodes[row] != 0xFFFFFFFF:
                below[nodes[row]] += weights[row]
                passed[nodes[row]] = 1
        for index in range(tree - 1, -1, -1):
            if passed[index]:
                up = parents[index]
                if up != 0xFFFFFFFF:
                    below[up] += below[index]
                    passed[up] = 1
                if not recursive[index]:
                    total[entities[index]] += below[index]
                    seen[entities[index]] = 1
                below[index] = 0
                passed[index] = 0
        for index in range(count):
            if seen[index]:
                if made == room:
                    room *= 2
                    first, second, third = doubled(first, made), doubled(second, made), doubled(third, made)
                    groups_out, entities_out, sums_out = first, second, third
                groups_out[made] = cython.cast("unsigned int", number)
                entities_out[made] = cython.cast("unsigned int", index)
                sums_out[made] = total[index]
                made += 1
                total[index] = 0
                seen[index] = 0
    return first[:made], second[:made], third[:made]


@cython.locals(
    parent="const unsigned int[::1]",
    own="const unsigned long long[::1]",
    out="unsigned long long[::1]",
    up="unsigned int",
)
def subtree_sums(parent: Any, own: Any) -> Any:
    """The weight of each node and of all nodes below it."""
    n: cython.Py_ssize_t = parent.shape[0]
    result = zeros("Q", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = own[index]
    for index in range(n - 1, -1, -1):
        up = parent[index]
        if up != 0xFFFFFFFF:
            out[up] += out[index]
    return result


@cython.locals(
    parent="const unsigned int[::1]",
    entity="const unsigned int[::1]",
    starts="unsigned int[::1]",
    by_entity="unsigned int[::1]",
    ordered="unsigned int[::1]",
    size="unsigned int[::1]",
    cursor="unsigned int[::1]",
    out="unsigned int[::1]",
    node="unsigned int",
    up="unsigned int",
)
def preorder(parent: Any, entity: Any, entities: int) -> Any:
    """The place of each node when the tree is walked from the roots, siblings in the order of their entity.

    All steps are linear: a counting sort by entity, a stable one by parent, then sizes of subtrees.
    """
    n: cython.Py_ssize_t = parent.shape[0]
    index: cython.Py_ssize_t
    below: cython.Py_ssize_t
    starts = zeros("I", entities + 1)
    by_entity = zeros("I", n)
    for index in range(n):
        starts[entity[index] + 1] += 1
    for index in range(1, len(starts)):
        starts[index] += starts[index - 1]
    for index in range(n):
        by_entity[starts[entity[index]]] = cython.cast("unsigned int", index)
        starts[entity[index]] += 1
    # Bucket 0 holds the roots, bucket p + 1 the children of p.
    starts = zeros("I", n + 2)
    ordered = zeros("I", n)
    for index in range(n):
        up = parent[index]
        starts[0 if up == 0xFFFFFFFF else up + 1] += 1
    below = 0
    for index in range(n + 1):
        below += starts[index]
        starts[index] = cython.cast("unsigned int", below - starts[index])
    for index in range(n):
        node = by_entity[index]
        up = parent[node]
        below = 0 if up == 0xFFFFFFFF else up + 1
        ordered[starts[below]] = node
        starts[below] += 1
    size = zeros("I", n)
    for index in range(n - 1, -1, -1):
        size[index] += 1
        up = parent[index]
        if up != 0xFFFFFFFF:
            size[up] += size[index]
    # Groups come by ascending parent, and a parent's own group came before: its place is known.
    cursor = zeros("I", n + 1)
    result = zeros("I", n)
    out = result
    for index in range(n):
        node = ordered[index]
        up = parent[node]
        if up == 0xFFFFFFFF:
            out[node] = cursor[n]
            cursor[n] += size[node]
        else:
            out[node] = out[up] + 1 + cursor[up]
            cursor[up] += size[node]
    return result


@cython.locals(nodes="const unsigned int[::1]", place="const unsigned int[::1]", out="unsigned int[::1]")
def places(nodes: Any, place: Any) -> Any:
    """``place[nodes[i]] + 1`` for each i, 0 where there is no node."""
    n: cython.Py_ssize_t = nodes.shape[0]
    result = zeros("I", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = 0 if nodes[index] == 0xFFFFFFFF else place[nodes[index]] + 1
    return result
