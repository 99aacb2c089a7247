# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Call stacks and samples of Perfetto traces as Protocol Buffers, a buffer at a time.

Source: https://github.com/google/perfetto/blob/main/protos/perfetto/trace (profiling/profile_common.proto,
profiling/profile_packet.proto, trace_packet.proto).
"""

from __future__ import annotations

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.outputs.text_sizes import CHUNK

from undwarf.column import doubled, zeros
from undwarf.outputs.kernels.wire_buffer import Wire

LONGEST = cython.declare(cython.Py_ssize_t, 128)
"""More bytes than a sample's packet has."""


@cython.cclass
class Callstacks:
    """Writes fields ``callstacks`` of InternedData: stacks of a tree (``parent`` and ``frame``, I), outermost frame
    first. The ids of frames are their numbers plus 1."""

    parent: Any
    frame: Any

    def __init__(self, parent: Any, frame: Any) -> None:
        self.parent, self.frame = parent, frame
        self.path = zeros("I", 256)
        self.wire = Wire(2 * CHUNK)
        self.body = Wire(4096)

    @cython.locals(
        column="const unsigned int[::1]", node="unsigned int", depth="Py_ssize_t", n="Py_ssize_t", at="Py_ssize_t"
    )
    def fill(self, nodes: Any, start: int) -> tuple[memoryview, int]:
        """(the stacks of the innermost nodes (I) from ``start`` on, whose ids are their places in ``nodes`` plus 1; the
        place to go on with). Overwritten by the next call."""
        column = nodes
        n = column.shape[0]
        at = start
        self.wire.used = 0
        while at < n and self.wire.used < CHUNK:
            self.body.used = 0
            self.body.reserve(16)
            self.body.varint(8)
            self.body.varint(cython.cast("unsigned long long", at + 1))
            depth = 0
            node = column[at]
            while node != NOTHING:
                if depth == len(self.path):
                    self.path = doubled(self.path, depth)
                self.path[depth] = self.frame[node]
                depth += 1
                node = self.parent[node]
            self.body.reserve(12 * depth)
            while depth > 0:
                depth -= 1
                self.body.varint(16)
                self.body.varint(cython.cast("unsigned long long", self.path[depth]) + 1)
            self.wire.reserve(12)
            self.wire.varint(58)
            self.wire.varint(cython.cast("unsigned long long", self.body.used))
            self.wire.copy(self.body.out, 0, self.body.used)
            at += 1
        return memoryview(self.wire.out)[: self.wire.used], at


@cython.cclass
class SamplePackets:
    """Writes a TracePacket with a PerfSample for each sample.

    Columns by sample: ``time`` (Q, ns), ``cpu`` (NOTHING: unknown), ``pid``, ``tid`` (I), ``stack`` (I), the id of its
    call stack less 1 (NOTHING: none), ``mode`` (B) and ``count`` (Q), the value of the counter on its CPU.
    """

    time: Any
    cpu: Any
    pid: Any
    tid: Any
    stack: Any
    mode: Any
    count: Any

    def __init__(self, time: Any, ids: tuple[Any, Any, Any], stack: Any, mode: Any, count: Any) -> None:
        self.time, self.stack, self.mode, self.count = time, stack, mode, count
        self.cpu, self.pid, self.tid = ids
        self.wire, self.body, self.inner = Wire(2 * CHUNK), Wire(LONGEST), Wire(LONGEST)
        self.at = 0

    @cython.locals(i="Py_ssize_t")
    def fill(self) -> memoryview:
        """The next packets; empty at the end. Overwritten by the next call."""
        self.wire.used = 0
        while self.at < self.time.shape[0] and self.wire.used < CHUNK:
            i = self.at
            self.inner.used = 0
            self.inner.reserve(LONGEST)
            if self.cpu[i] != NOTHING:
                self.inner.varint(8)
                self.inner.varint(self.cpu[i])
            self.inner.varint(16)
            self.inner.varint(self.pid[i])
            self.inner.varint(24)
            self.inner.varint(self.tid[i])
            if self.stack[i] != NOTHING:
                self.inner.varint(32)
                self.inner.varint(cython.cast("unsigned long long", self.stack[i]) + 1)
            self.inner.varint(40)
            self.inner.varint(self.mode[i])
            self.inner.varint(48)
            self.inner.varint(self.count[i])
            self.body.used = 0
            self.body.reserve(2 * LONGEST)
            # timestamp, trusted_packet_sequence_id 1, sequence_flags: needs what was interned, perf_sample.
            self.body.varint(64)
            self.body.varint(self.time[i])
            self.body.varint(80)
            self.body.varint(1)
            self.body.varint(104)
            self.body.varint(2)
            self.body.varint(66 << 3 | 2)
            self.body.varint(cython.cast("unsigned long long", self.inner.used))
            self.body.copy(self.inner.out, 0, self.inner.used)
            self.wire.reserve(12)
            self.wire.varint(10)
            self.wire.varint(cython.cast("unsigned long long", self.body.used))
            self.wire.copy(self.body.out, 0, self.body.used)
            self.at += 1
        return memoryview(self.wire.out)[: self.wire.used]


@cython.locals(
    column="const unsigned int[::1]", own="const unsigned long long[::1]", out="unsigned long long[::1]", i="Py_ssize_t"
)
def running_totals(keys: Any, weights: Any) -> memoryview:
    """The sum (Q) of the weights of each entry and of all entries before it with the same key (I)."""
    column, own = keys, weights
    result = zeros("Q", len(weights))
    out = result
    totals: dict[int, int] = {}
    for i in range(column.shape[0]):
        total = (totals.get(column[i], 0) + own[i]) & 0xFFFFFFFFFFFFFFFF
        totals[column[i]] = total
        out[i] = total
    return memoryview(result)
