# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Group samples by what reports sort by, and stacks by what reports name: everything that is per sample or node.

A *column* here is a memoryview of typecode I. ``0xffffffff`` (NONE) stands for "no node".
"""

from typing import Any

import cython

from undwarf.buffers import zeros

NONE = 0xFFFFFFFF


@cython.cclass
class Pairs:
    """Numbers distinct pairs of 32-bit numbers, from 0 in the order in which they first come.

    ``high[i]``, ``low[i]`` give back pair number ``i``; ``count`` is how many there are.
    """

    keys = cython.declare("unsigned long long[::1]")
    numbers = cython.declare("unsigned int[::1]")
    pairs = cython.declare("unsigned long long[::1]")
    mask: cython.Py_ssize_t
    shift: cython.int
    count: cython.Py_ssize_t

    def __init__(self, expected: int = 1024) -> None:
        bits: cython.int = 8
        while bits < 30 and (1 << bits) < 2 * expected:
            bits += 1
        self.keys = zeros("Q", 1 << bits)
        self.numbers = zeros("I", 1 << bits)
        self.pairs = zeros("Q", 1 << (bits - 1))
        self.mask = (1 << bits) - 1
        self.shift = 64 - bits
        self.count = 0

    def __len__(self) -> int:
        return self.count

    @cython.cfunc
    @cython.locals(
        keys="unsigned long long[::1]",
        numbers="unsigned int[::1]",
        old="unsigned long long[::1]",
        pairs="unsigned long long[::1]",
        key="unsigned long long",
        slot="Py_ssize_t",
    )
    def grow(self) -> cython.int:
        """Double the table; ``numbers`` holds number + 1, 0 is free."""
        # A local, since a literal of this size inside an expression would be a Python number.
        spread: cython.ulonglong = 0x9E3779B97F4A7C15
        size: cython.Py_ssize_t = (self.mask + 1) * 2
        keys = zeros("Q", size)
        numbers = zeros("I", size)
        pairs = zeros("Q", size // 2)
        old = self.pairs
        self.shift -= 1
        self.mask = size - 1
        index: cython.Py_ssize_t
        for index in range(self.count):
            key = old[index]
            pairs[index] = key
            slot = cython.cast("Py_ssize_t", (key * spread) >> self.shift)
            while numbers[slot] != 0:
                slot = (slot + 1) & self.mask
            numbers[slot] = cython.cast("unsigned int", index + 1)
            keys[slot] = key
        self.keys = keys
        self.numbers = numbers
        self.pairs = pairs
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    @cython.locals(found="unsigned int")
    def number(self, key: cython.ulonglong) -> cython.Py_ssize_t:
        """The number of one pair (high in the upper half)."""
        spread: cython.ulonglong = 0x9E3779B97F4A7C15
        slot: cython.Py_ssize_t = cython.cast("Py_ssize_t", (key * spread) >> self.shift)
        while True:
            found = self.numbers[slot]
            if found == 0:
                break
            if self.keys[slot] == key:
                slot = cython.cast("Py_ssize_t", found)
                return slot - 1
            slot = (slot + 1) & self.mask
        if 2 * (self.count + 1) > self.mask:
            self.grow()
            slot = cython.cast("Py_ssize_t", (key * spread) >> self.shift)
            while self.numbers[slot] != 0:
                slot = (slot + 1) & self.mask
        self.keys[slot] = key
        self.pairs[self.count] = key
        self.count += 1
        self.numbers[slot] = cython.cast("unsigned int", self.count)
        return self.count - 1

    @cython.locals(
        high="const unsigned int[::1]", low="const unsigned int[::1]", out="unsigned int[::1]", n="Py_ssize_t"
    )
    def column(self, high: Any, low: Any) -> Any:
        """The number of (high[i], low[i]) for each i."""
        n = high.shape[0]
        result = zeros("I", n)
        out = result
        index: cython.Py_ssize_t
        for index in range(n):
            out[index] = cython.cast(
                "unsigned int", self.number((cython.cast("unsigned long long", high[index]) << 32) | low[index])
            )
        return result

    @cython.locals(out="unsigned int[::1]")
    def high(self) -> Any:
        """The first half of each pair, by number."""
        result = zeros("I", self.count)
        out = result
        index: cython.Py_ssize_t
        for index in range(self.count):
            out[index] = cython.cast("unsigned int", self.pairs[index] >> 32)
        return result

    @cython.locals(out="unsigned int[::1]")
    def low(self) -> Any:
        """The second half of each pair, by number."""
        result = zeros("I", self.count)
        out = result
        index: cython.Py_ssize_t
        for index in range(self.count):
            out[index] = cython.cast("unsigned int", self.pairs[index] & 0xFFFFFFFF)
        return result


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
    column="const unsigned int[::1]", table="const unsigned int[::1]", out="unsigned int[::1]", at="unsigned int"
)
def look_up(column: Any, table: Any) -> Any:
    """``table[column[i]]`` for each i; NONE stays NONE."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("I", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        at = column[index]
        out[index] = 0xFFFFFFFF if at == 0xFFFFFFFF else table[at]
    return result


@cython.locals(
    ints="const int[::1]",
    shorts="const unsigned short[::1]",
    bytes_="const unsigned char[::1]",
    out="unsigned int[::1]",
)
def widen(column: Any) -> Any:
    """A column of typecode i, H, B or I as typecode I (negative numbers keep their bits)."""
    if column.format == "I":
        return column
    n: cython.Py_ssize_t = len(column)
    result = zeros("I", n)
    out = result
    index: cython.Py_ssize_t
    if column.format == "i":
        ints = column
        for index in range(n):
            out[index] = cython.cast("unsigned int", ints[index])
    elif column.format == "H":
        shorts = column
        for index in range(n):
            out[index] = shorts[index]
    else:
        bytes_ = column
        for index in range(n):
            out[index] = bytes_[index]
    return result


@cython.locals(groups="const unsigned int[::1]", weights="const unsigned long long[::1]", out="unsigned long long[::1]")
def sums(groups: Any, weights: Any, count: int) -> Any:
    """The sum of ``weights`` (typecode Q; None: 1 each) of every group 0..count-1; group NONE is left out."""
    result = zeros("Q", count)
    out = result
    groups_n: cython.Py_ssize_t = groups.shape[0]
    index: cython.Py_ssize_t
    if weights is None:
        for index in range(groups_n):
            if groups[index] != 0xFFFFFFFF:
                out[groups[index]] += 1
        return result
    for index in range(groups_n):
        if groups[index] != 0xFFFFFFFF:
            out[groups[index]] += weights[index]
    return result


@cython.locals(column="const unsigned short[::1]", flags="const unsigned char[::1]", out="unsigned int[::1]")
def rows_among(column: Any, flags: Any) -> Any:
    """The indexes at which a column of typecode H has a value whose flag (typecode B) is set, ascending."""
    n: cython.Py_ssize_t = column.shape[0]
    index: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    for index in range(n):
        count += flags[column[index]] != 0
    result = zeros("I", count)
    out = result
    count = 0
    for index in range(n):
        if flags[column[index]] != 0:
            out[count] = cython.cast("unsigned int", index)
            count += 1
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
                    total = _doubled(total)
                total[slot] += weight[index]
            at = parent[at]
    result = zeros("Q", pairs.count)
    out = result
    for index in range(pairs.count):
        out[index] = total[index]
    return pairs.high(), pairs.low(), result


@cython.locals(old="unsigned long long[::1]", new="unsigned long long[::1]")
def _doubled(column: Any) -> Any:
    """A copy with room for twice as many."""
    old = column
    n: cython.Py_ssize_t = old.shape[0]
    result = zeros("Q", 2 * n)
    new = result
    new[:n] = old
    return result


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


@cython.locals(
    first="const unsigned int[::1]",
    second="const unsigned int[::1]",
    starts="unsigned int[::1]",
    by_second="unsigned int[::1]",
    out="unsigned int[::1]",
    node="unsigned int",
)
def order(first: Any, firsts: int, second: Any, seconds: int) -> Any:
    """The indexes sorted by (first[i], second[i]), stable; values lie below ``firsts`` and ``seconds``."""
    n: cython.Py_ssize_t = first.shape[0]
    index: cython.Py_ssize_t
    starts = zeros("I", seconds + 1)
    by_second = zeros("I", n)
    for index in range(n):
        starts[second[index] + 1] += 1
    for index in range(1, len(starts)):
        starts[index] += starts[index - 1]
    for index in range(n):
        by_second[starts[second[index]]] = cython.cast("unsigned int", index)
        starts[second[index]] += 1
    result = zeros("I", n)
    out = result
    starts = zeros("I", firsts + 1)
    for index in range(n):
        starts[first[index] + 1] += 1
    for index in range(1, len(starts)):
        starts[index] += starts[index - 1]
    for index in range(n):
        node = by_second[index]
        out[starts[first[node]]] = node
        starts[first[node]] += 1
    return result


@cython.locals(weights="const unsigned long long[::1]", sum_="unsigned long long")
def total(weights: Any) -> int:
    """The sum of a column of typecode Q."""
    n: cython.Py_ssize_t = weights.shape[0]
    index: cython.Py_ssize_t
    sum_ = 0
    for index in range(n):
        sum_ += weights[index]
    return sum_


@cython.locals(out="unsigned long long[::1]")
def ones(count: int) -> Any:
    """A column of typecode Q with 1 in each place."""
    result = zeros("Q", count)
    out = result
    index: cython.Py_ssize_t
    for index in range(count):
        out[index] = 1
    return result


@cython.locals(column="const unsigned long long[::1]", out="unsigned long long[::1]")
def ones_where(column: Any) -> Any:
    """A column of typecode Q with 1 where another is not 0."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("Q", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = 1 if column[index] else 0
    return result


@cython.locals(column="const unsigned long long[::1]", out="unsigned long long[::1]")
def at_least_one(column: Any) -> Any:
    """A column of typecode Q with 1 where it has 0."""
    n: cython.Py_ssize_t = column.shape[0]
    result = zeros("Q", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        out[index] = column[index] if column[index] else 1
    return result


@cython.locals(column="const unsigned long long[::1]", least="unsigned long long", out="unsigned int[::1]")
def rows_from(column: Any, least: int) -> Any:
    """The indexes at which a column of typecode Q has at least ``least``, ascending."""
    n: cython.Py_ssize_t = column.shape[0]
    index: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    for index in range(n):
        count += column[index] >= least
    result = zeros("I", count)
    out = result
    count = 0
    for index in range(n):
        if column[index] >= least:
            out[count] = cython.cast("unsigned int", index)
            count += 1
    return result


@cython.locals(column="const unsigned int[::1]", out="unsigned int[::1]")
def rows_set(column: Any) -> Any:
    """The indexes at which a column of typecode I is not 0, ascending."""
    n: cython.Py_ssize_t = column.shape[0]
    index: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    for index in range(n):
        count += column[index] != 0
    result = zeros("I", count)
    out = result
    count = 0
    for index in range(n):
        if column[index] != 0:
            out[count] = cython.cast("unsigned int", index)
            count += 1
    return result


@cython.locals(column="const unsigned int[::1]", out="unsigned int[::1]", instead="unsigned int")
def without_none(column: Any, instead: int) -> Any:
    """The column with ``instead`` where it has NONE; the column itself if it has none."""
    n: cython.Py_ssize_t = column.shape[0]
    index: cython.Py_ssize_t
    for index in range(n):
        if column[index] == 0xFFFFFFFF:
            break
    else:
        return column
    result = zeros("I", n)
    out = result
    for index in range(n):
        out[index] = instead if column[index] == 0xFFFFFFFF else column[index]
    return result


@cython.locals(column="const unsigned long long[::1]", first="unsigned int[::1]", second="unsigned int[::1]")
def halves(column: Any, shift: int = 0) -> tuple[memoryview, memoryview]:
    """The upper and lower 32 bits of each number of a column of typecode Q, after its ``shift`` low bits went."""
    n: cython.Py_ssize_t = column.shape[0]
    low: cython.int = shift
    high = zeros("I", n)
    rest = zeros("I", n)
    first = high
    second = rest
    index: cython.Py_ssize_t
    for index in range(n):
        first[index] = cython.cast("unsigned int", (column[index] >> low) >> 32)
        second[index] = cython.cast("unsigned int", (column[index] >> low) & 0xFFFFFFFF)
    return high, rest


@cython.locals(
    weights="const unsigned long long[::1]",
    events="const unsigned short[::1]",
    packed="const unsigned char[::1]",
    out="unsigned long long[::1]",
)
def part_of_weight(weights: Any, events: Any, packed: Any, part: int) -> Any:
    """Of each weight the latency (``part`` 0), that of the instruction (1) or to its retirement (2), typecode Q.

    ``packed`` says by event number whether weights hold all three; those of other events are latencies.
    """
    n: cython.Py_ssize_t = weights.shape[0]
    which: cython.int = part
    result = zeros("Q", n)
    out = result
    index: cython.Py_ssize_t
    for index in range(n):
        if not packed[events[index]]:
            if which == 0:
                out[index] = weights[index]
        elif which == 0:
            out[index] = weights[index] & 0xFFFFFFFF
        else:
            out[index] = (weights[index] >> (32 if which == 1 else 48)) & 0xFFFF
    return result
