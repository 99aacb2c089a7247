"""Stack dumps of one round's samples, to continue one dump with another of the same thread."""

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from undwarf.unwind.x86_64 import registers

_SP = 7
"""DWARF number of the stack pointer."""


class RoundDumps:
    """Dumps by sample. ``samples`` are columns, ``order`` the samples by time, ``spans`` as in a round, ``slots`` the
    positions of registers in samples by event (:func:`undwarf.unwind.x86_64.registers.slots`)."""

    def __init__(
        self,
        samples: Any,
        order: Sequence[int],
        spans: Sequence[tuple[memoryview, int, int, int]],
        slots: Sequence[int],
    ) -> None:
        self._samples = samples
        self._order = order
        self._spans = spans
        self._ends = [end for _view, _position, _first, end in spans]
        self._slots = slots
        self._by_thread: dict[int, list[int]] = {}
        self._index: dict[int, int] = {}

    def near(self, sample: int, limit: int) -> Iterator[Iterator[tuple[int, memoryview]]]:
        """Two sequences: the dumps of the sample's thread before it, newest first, and those after it, oldest first;
        at most ``limit`` each."""
        if not self._index:
            tids = self._samples.tid
            for number in self._order:
                mine = self._by_thread.setdefault(tids[number], [])
                self._index[number] = len(mine)
                mine.append(number)
        at = self._index[sample]
        mine = self._by_thread[self._samples.tid[sample]]
        yield map(self.dump, reversed(mine[max(0, at - limit) : at]))
        yield map(self.dump, mine[at + 1 : at + 1 + limit])

    def dump(self, sample: int) -> tuple[int, memoryview]:
        """(stack pointer, dump) of a sample; the dump is empty if it has none."""
        samples = self._samples
        view, position, _first, _end = self._spans[bisect_left(self._ends, sample + 1)]
        slot = self._slots[registers.SLOTS * samples.event[sample] + _SP]
        regs, stack = samples.regs_at[sample], samples.stack_at[sample]
        if not regs or not stack or slot == registers.ABSENT:
            return 0, view[:0]
        record = samples.position[sample] - position
        try:
            (low,) = struct.unpack_from("=Q", view, record + regs + 8 + 8 * slot)
            (size,) = struct.unpack_from("=Q", view, record + stack)
            (valid,) = struct.unpack_from("=Q", view, record + stack + 8 + size) if size else (0,)
        except struct.error:
            return 0, view[:0]
        begin = record + stack + 8
        return low, view[begin : begin + min(valid, size)]
