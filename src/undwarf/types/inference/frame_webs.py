# cython: language_level=3, annotation_typing=False
"""Which accesses of a part of the frame are of one object: those that stores, or who is given its address, connect with
what reads it.

Compilers put objects that are not needed at the same time into one place. As with registers, what is stored there and
what reads it is one web; two webs are two objects, or one that is begun anew.
"""

from collections.abc import Callable
from typing import NamedTuple

from undwarf.types.dataflow.blocks import Blocks

__all__ = ["FrameAccess", "webs_of"]

_MOST_ACCESSES = 2048
_MOST_NODES = 65_536
"""Accesses of a part of the frame, and nodes of their webs, beyond which they are not told apart."""


class FrameAccess(NamedTuple):
    """An instruction's access to bytes of the frame: it reads them (``r``), writes all of them (``w``), or may do
    either with any of them (``rw``); as a number with a point, or not."""

    k: int
    begin: int
    end: int
    access: str
    floating: bool = False


class _Reaching:
    """What reaches what: by node, those before it. An access is a node by its number; what a part of the frame holds
    where a block begins is one behind them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._before: list[list[int]] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self.begun: list[tuple[int, int]] = []
        """(block, part) of what is held where blocks begin."""

    def at_begin(self, block: int, part: int) -> int:
        """The node of what is held in a part of the frame where a block begins."""
        node = self._numbers.get((block, part))
        if node is None:
            node = self._numbers[block, part] = self._count + len(self._before)
            self._before.append([])
            self.begun.append((block, part))
        return node

    def comes(self, node: int, before: int) -> None:
        """What is held where a block begins comes from a node."""
        self._before[node - self._count].append(before)

    def accesses(self, node: int) -> list[int]:
        """The accesses that a node comes from."""
        queue, seen, found = [node], {node}, []
        while queue:
            one = queue.pop()
            if one < self._count:
                found.append(one)
                continue
            for before in self._before[one - self._count]:
                if before not in seen:
                    seen.add(before)
                    queue.append(before)
        return found


def webs_of(blocks: Blocks, accesses: list[FrameAccess], agree: Callable[[int, int], bool]) -> list[int]:
    """By access, of which web it is; all of one where they are too many. ``accesses`` are sorted; ``agree`` says of
    two, of which one reaches the other, whether they can be of one object."""
    if len(accesses) > _MOST_ACCESSES:
        return [0] * len(accesses)
    reaching = _Reaching(len(accesses))
    borders = sorted({at for one in accesses for at in (one.begin, one.end)})
    parts = {at: n for n, at in enumerate(borders)}
    outs: dict[int, dict[int, int]] = {}
    reads: dict[tuple[int, int], None] = {}
    for n, one in enumerate(accesses):
        block = blocks.of(one.k)
        held = outs.setdefault(block, {})
        for part in range(parts[one.begin], parts[one.end]):
            if one.access != "w":
                before = held.get(part)
                reads[n, reaching.at_begin(block, part) if before is None else before] = None
            if one.access != "r":
                held[part] = n
    for block, part in reaching.begun:
        # The list grows while it is walked.
        if len(reaching.begun) > _MOST_NODES:
            return [0] * len(accesses)
        for before in blocks.predecessors(block):
            last = outs.get(before, {}).get(part)
            last = reaching.at_begin(before, part) if last is None else last
            reaching.comes(reaching.at_begin(block, part), last)
    webs = list(range(len(accesses)))

    def find(n: int) -> int:
        while webs[n] != n:
            webs[n] = n = webs[webs[n]]
        return n

    for n, node in reads:
        for before in reaching.accesses(node):
            if agree(n, before):
                webs[find(n)] = find(before)
    return [find(n) for n in range(len(accesses))]
