# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Samples of a thread as slices of time, one for each function while it stays on the stack."""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.outputs.text_sizes import CHUNK

from undwarf.column import doubled, zeros
from undwarf.outputs.kernels.text_buffer import Names, Text


@cython.locals(
    time="const unsigned long long[::1]",
    length="const unsigned long long[::1]",
    column="const unsigned int[::1]",
    parent="const unsigned int[::1]",
    depth_of="const unsigned int[::1]",
    at="unsigned long long[::1]",
    nodes="unsigned int[::1]",
    begins="unsigned char[::1]",
    path="unsigned int[::1]",
    node="unsigned int",
    start="unsigned long long",
    end="unsigned long long",
    i="Py_ssize_t",
    count="Py_ssize_t",
    depth="Py_ssize_t",
    wanted="Py_ssize_t",
    shared="Py_ssize_t",
)
def slices(
    times: Any, durations: Any, leaves: Any, parents: Any, depths: Any
) -> tuple[memoryview, memoryview, memoryview]:
    """(time (Q), node (I), whether it begins (B)) of each begin and end of a function, in the order of time, of samples
    in the order of time.

    A sample ends at its time and lasts its duration (Q, ns). One that would begin before the end of the sample before
    it, or less than half of its duration after it, begins there: durations keep their sum, and samples in a row are one
    slice where their stacks are the same. Samples without a duration are left out. ``leaves`` (I) are the innermost
    nodes, ``parents`` and ``depths`` (I) are by node; depths start at 1.
    """
    time, length, column, parent, depth_of = times, durations, leaves, parents, depths
    at, nodes, begins = zeros("Q", 64), zeros("I", 64), zeros("B", 64)
    path = zeros("I", 64)
    count = depth = 0
    end = 0
    for i in range(column.shape[0] + 1):
        wanted = shared = 0
        start = end
        if i < column.shape[0]:
            if length[i] == 0:
                continue
            start = time[i] - length[i] if time[i] > length[i] else 0
            node = column[i]
            wanted = 0 if node == NOTHING else depth_of[node]
            while wanted > len(path):
                path = doubled(path, len(path))
            if start < end or start - end <= length[i] // 2:
                start = end
                shared = _shared(path, depth, parent, node, wanted)
        while count + depth + wanted > len(at):
            at, nodes, begins = doubled(at, count), doubled(nodes, count), doubled(begins, count)
        while depth > shared:
            depth -= 1
            at[count], nodes[count] = end, path[depth]
            count += 1
        if i == column.shape[0]:
            break
        end = start + length[i]
        for depth in range(wanted - 1, shared - 1, -1):
            path[depth] = node
            node = parent[node]
        for depth in range(shared, wanted):
            at[count], nodes[count], begins[count] = start, path[depth], 1
            count += 1
        depth = wanted
    return memoryview(at)[:count], memoryview(nodes)[:count], memoryview(begins)[:count]


@cython.cfunc
@cython.exceptval(-1)
@cython.locals(open_="unsigned int[::1]", parent="const unsigned int[::1]", node="unsigned int")
def _shared(
    open_: Any, depth: cython.Py_ssize_t, parent: Any, node: cython.uint, wanted: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """How many outermost nodes of the path to ``node``, which has ``wanted``, are among the ``depth`` open ones."""
    while wanted > 0 and not (wanted <= depth and open_[wanted - 1] == node):
        wanted -= 1
        node = parent[node]
    return wanted


@cython.locals(parent="const unsigned int[::1]", out="unsigned int[::1]", i="Py_ssize_t")
def depths(parents: Any) -> memoryview:
    """The number of nodes (I) from the root to each node of a tree with parents first."""
    parent = parents
    result = zeros("I", len(parents))
    out = result
    for i in range(parent.shape[0]):
        out[i] = 1 if parent[i] == NOTHING else out[parent[i]] + 1
    return memoryview(result)


@cython.locals(column="const unsigned long long[::1]", out="unsigned long long[::1]", i="Py_ssize_t", factor="double")
def scaled(values: Any, by: float) -> memoryview:
    """A column (Q) multiplied by a number, at least 1 each, at most a day in ns."""
    column = values
    factor = by
    result = zeros("Q", len(values))
    out = result
    for i in range(column.shape[0]):
        out[i] = cython.cast("unsigned long long", min(max(column[i] * factor + 0.5, 1.0), 86400e9))
    return memoryview(result)


@cython.cclass
class SliceText:
    """Writes slices as events of the Trace Event format. ``names``, with their offsets ``ends``, are the texts of
    events after their time, by entity; ``entity`` (I) is by node."""

    entity: Any

    def __init__(self, names: bytes, ends: Any, entity: Any) -> None:
        self.names = Names(names, ends)
        self.entity = entity
        self.text = Text(2 * CHUNK)

    @cython.locals(
        time="const unsigned long long[::1]",
        node="const unsigned int[::1]",
        begin="const unsigned char[::1]",
        heads=Names,
        n="Py_ssize_t",
        i="Py_ssize_t",
    )
    def fill(self, events: tuple[Any, Any, Any], start: int, end: bytes, started: bytes) -> tuple[memoryview, int]:
        """(events from ``start`` on; the one to go on with). ``end`` and ``started`` are the texts of the thread's
        events of these kinds, before their time. Overwritten by the next call."""
        time, node, begin = events
        ends = zeros("I", 3)
        ends[1], ends[2] = len(end), len(end) + len(started)
        heads = Names(end + started, ends)
        i = start
        n = len(events[1])
        self.text.used = 0
        while i < n and self.text.used < CHUNK:
            # A name also reserves space for the numbers after it.
            self.text.name(heads, begin[i], 0)
            self.text.number(time[i] // 1000, 0, 48)
            if time[i] % 1000:
                self.text.put(46)
                self.text.number(time[i] % 1000, 3, 48)
            self.text.name(self.names, self.entity[node[i]], 0)
            i += 1
        return memoryview(self.text.out)[: self.text.used], i
