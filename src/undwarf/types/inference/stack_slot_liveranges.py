# cython: language_level=3, annotation_typing=False
"""Live ranges (webs) of stack slots: which accesses to bytes of the frame are of one object.

Compilers place objects that are not live at the same time in one slot. As with registers, stores and the loads they
reach form a web; two webs are two objects, or one that is initialised anew.
"""

from collections.abc import Callable
from typing import NamedTuple

from undwarf.types.dataflow.block_table import BlockTable

__all__ = ["FrameAccess", "live_ranges"]

_MOST_ACCESSES = 2048
_MOST_STEPS = 1 << 18
"""With more accesses or steps, all accesses count as one web."""


class FrameAccess(NamedTuple):
    """An access to bytes of the frame: reads (``r``), overwrites all (``w``), or may do either with any of them
    (``rw``)."""

    k: int
    begin: int
    end: int
    access: str
    floating: bool = False


class _Reaching:
    """Reaching definitions at block starts. ``last``: {block: {part of the frame: last access that writes it}}."""

    def __init__(self, blocks: BlockTable, last: dict[int, dict[int, int]]) -> None:
        self._blocks = blocks
        self._last = last
        self._before: dict[int, list[int]] = {}
        self._known: dict[tuple[int, int], list[int]] = {}
        self.steps = 0
        """Number of blocks visited."""

    def accesses(self, block: int, part: int) -> list[int]:
        """The accesses whose stores to a part of the frame reach a block's start."""
        known = self._known.get((block, part))
        if known is not None:
            return known
        last, known_before = self._last, self._before
        queue, seen = [block], {block}
        found: dict[int, None] = {}
        for one in queue:
            # The list grows during the iteration.
            several = known_before.get(one)
            if several is None:
                several = known_before[one] = self._blocks.predecessors(one)
            for before in several:
                held = last.get(before)
                access = held.get(part) if held is not None else None
                if access is not None:
                    found[access] = None
                elif before not in seen:
                    seen.add(before)
                    queue.append(before)
        self.steps += len(queue)
        made = self._known[block, part] = list(found)
        return made


def live_ranges(blocks: BlockTable, accesses: list[FrameAccess], agree: Callable[[int, int], bool]) -> list[int]:
    """The web of each access; one for all if they are too many. ``accesses`` are sorted; ``agree`` tells whether two
    connected ones can be of one object."""
    if len(accesses) > _MOST_ACCESSES:
        return [0] * len(accesses)
    borders = sorted({at for one in accesses for at in (one.begin, one.end)})
    parts = {at: n for n, at in enumerate(borders)}
    outs: dict[int, dict[int, int]] = {}
    pairs: dict[tuple[int, int], None] = {}
    open_reads: list[tuple[int, int, int]] = []
    for n, one in enumerate(accesses):
        block = blocks.of(one.k)
        held = outs.setdefault(block, {})
        for part in range(parts[one.begin], parts[one.end]):
            before = held.get(part)
            if one.access != "w" and before is not None:
                pairs[n, before] = None
            elif one.access != "w":
                open_reads.append((n, block, part))
            if one.access != "r":
                held[part] = n
    reaching = _Reaching(blocks, outs)
    for n, block, part in open_reads:
        for before in reaching.accesses(block, part):
            pairs[n, before] = None
        if reaching.steps > _MOST_STEPS:
            return [0] * len(accesses)
    webs = list(range(len(accesses)))

    def find(n: int) -> int:
        while webs[n] != n:
            webs[n] = n = webs[webs[n]]
        return n

    for n, before in pairs:
        if agree(n, before):
            webs[find(n)] = find(before)
    return [find(n) for n in range(len(accesses))]
