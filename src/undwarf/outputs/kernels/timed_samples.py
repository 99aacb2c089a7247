# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Samples of OpenTelemetry profiles as Protocol Buffers, a buffer at a time.

Source: https://github.com/open-telemetry/opentelemetry-proto, profiles/v1development/profiles.proto.
"""

from __future__ import annotations

from typing import Any

import cython
from cython.cimports.undwarf.outputs.text_sizes import CHUNK

from undwarf.column import zeros
from undwarf.outputs.kernels.wire_buffer import Wire


@cython.cclass
class TimedSamples:
    """Writes fields ``samples`` of a Profile: one for each group of samples with the same stack and thread.

    ``groups`` has the samples by group and where each group starts (I, one more), as :func:`undwarf.ordering.group`
    gives them. By group: the index of its ``stack`` and of its piece of ``suffixes`` (I), which has the offsets
    ``ends``. By sample its ``weight`` and, if not None, its ``time`` (Q).
    """

    order: Any
    starts: Any
    stack: Any
    suffix: Any
    suffixes: Any
    ends: Any
    weight: Any
    time: Any

    def __init__(
        self, groups: tuple[Any, Any], stack: Any, suffix: Any, suffixes: bytes, ends: Any, weight: Any, time: Any
    ) -> None:
        self.order, self.starts = groups
        self.stack, self.suffix = stack, suffix
        self.suffixes, self.ends = suffixes + b"\0", ends
        self.weight = weight
        self.timed = time is not None
        self.time = time if time is not None else zeros("Q", 0)
        self.wire, self.body = Wire(2 * CHUNK), Wire(4096)
        self.at = 0

    @cython.locals(i="Py_ssize_t", size="Py_ssize_t", first="Py_ssize_t", last="Py_ssize_t", total="unsigned long long")
    def fill(self) -> memoryview:
        """The next messages; empty at the end. Overwritten by the next call. Without times, a message has the sum of
        its group's weights."""
        self.wire.used = 0
        while self.at < self.stack.shape[0] and self.wire.used < CHUNK:
            first, last = self.starts[self.at], self.starts[self.at + 1]
            self.body.used = 0
            total = 0
            for i in range(first, last):
                self.body.reserve(10)
                if self.timed:
                    self.body.varint(self.weight[self.order[i]])
                else:
                    total += self.weight[self.order[i]]
            if not self.timed:
                self.body.varint(total)
            size = self.body.used
            # The message's fields: stack_index, the suffix, values, timestamps_unix_nano.
            self.body.reserve(12)
            self.body.varint(8)
            self.body.varint(self.stack[self.at])
            self.body.copy(self.suffixes, self.ends[self.suffix[self.at]], self.ends[self.suffix[self.at] + 1])
            self.body.reserve(12)
            self.body.varint(34)
            self.body.varint(cython.cast("unsigned long long", size))
            self.body.copy(self.body.out, 0, size)
            if self.timed:
                self.body.reserve(12 + 8 * (last - first))
                self.body.varint(42)
                self.body.varint(cython.cast("unsigned long long", 8 * (last - first)))
                for i in range(first, last):
                    self.body.fixed64(self.time[self.order[i]])
            self.wire.reserve(12)
            self.wire.varint(18)
            self.wire.varint(cython.cast("unsigned long long", self.body.used - size))
            self.wire.copy(self.body.out, size, self.body.used)
            self.at += 1
        return memoryview(self.wire.out)[: self.wire.used]


@cython.locals(
    column="const unsigned long long[::1]", out="unsigned long long[::1]", by="unsigned long long", i="Py_ssize_t"
)
def shifted(values: Any, amount: int) -> memoryview:
    """A column (Q) with a number added to each entry, modulo 2^64."""
    column = values
    by = amount & 0xFFFFFFFFFFFFFFFF
    result = zeros("Q", len(values))
    out = result
    for i in range(column.shape[0]):
        out[i] = column[i] + by
    return memoryview(result)
