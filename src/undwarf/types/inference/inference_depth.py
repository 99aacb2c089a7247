# cython: language_level=3, annotation_typing=False
"""Interprocedural inference in bounded depths, independent of the order of queries.

A function's arguments depend on its callers, theirs on others, possibly in cycles. At depth 0 a function is inferred
from its own code only, at each further depth from others at lesser depths. The result at a depth depends on the program
only, not on earlier queries, and is computed once, from a bounded number of functions.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from undwarf.types.inference.function_inference import Inference

__all__ = ["DEEPEST", "InferenceDepths"]

DEEPEST = 4
"""Depth of final results."""
_KEPT = 256


class _Made(NamedTuple):
    """The inference of a function at a depth, and the functions it depends on."""

    inference: Inference | None
    rests_on: frozenset[int]


class InferenceDepths:
    """Inferences by function and depth. ``make`` computes one; ``most`` limits the other functions that one may depend
    on."""

    def __init__(self, make: Callable[[int, int], Inference | None], most: int) -> None:
        self._make = make
        self._most = most
        self.depth = DEEPEST + 1
        """Depth of the inference being computed."""
        self._rests_on: set[int] = set()
        self._kept: OrderedDict[int, dict[int, _Made]] = OrderedDict()
        self._all: dict[int, list[Inference]] = {}

    def at(self, low: int, depth: int) -> Inference | None:
        """The inference of a function at a depth; None if there is none."""
        return self._at(low, depth).inference

    def others(self, low: int) -> list[Inference]:
        """Cached inferences of a function, to be extended by the caller."""
        return self._all.setdefault(low, [])

    def inferred_at(self, low: int, depth: int) -> Inference | None:
        """The inference of another function at a depth, for the one being computed; None if that depends on too many
        functions already."""
        if low not in self._rests_on and len(self._rests_on) > self._most:
            return None
        found = self._at(low, depth)
        self._rests_on |= found.rests_on
        return found.inference

    def deepest(self, low: int) -> Inference | None:
        """The same at the greatest depth allowed."""
        return self.inferred_at(low, self.depth - 1) if self.depth else None

    def apart(self, ask: Callable[[], None]) -> frozenset[int]:
        """Run a query that is independent of the current computation; returns the functions it depends on."""
        outer, self._rests_on = self._rests_on, set()
        ask()
        found, self._rests_on = frozenset(self._rests_on), outer
        return found

    def rests_on(self, functions: frozenset[int]) -> None:
        """Add dependencies of the current computation."""
        self._rests_on |= functions

    def _at(self, low: int, depth: int) -> _Made:
        known = self._kept.get(low)
        if known is not None:
            self._kept.move_to_end(low)
            found = known.get(depth)
            if found is not None:
                return found
        outer = self.depth, self._rests_on
        self.depth, self._rests_on = depth, {low}
        made = self._make(low, depth)
        if made is not None:
            made.rest()
        found = _Made(made, frozenset(self._rests_on))
        self.depth, self._rests_on = outer
        self._kept.setdefault(low, {})[depth] = found
        self._kept.move_to_end(low)
        if len(self._kept) > _KEPT:
            gone, _dropped = self._kept.popitem(last=False)
            for one in self._all.pop(gone, ()):
                one.release()
        return found
