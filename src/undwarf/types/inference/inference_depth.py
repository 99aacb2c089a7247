# cython: language_level=3, annotation_typing=False
"""Functions as they are inferred by what is known of others: from their own code, and ever deeper from that of others.

What a function is given rests on its callers, and what these know of it on theirs and on what others return, which may
be in circles. So a function is inferred at depths: at none from its own code alone, at each further one from others as
they are at lesser depths. What it is at a depth rests on the program only, not on who asks or what was asked before: it
is made once. It is made from a bounded number of functions, and looks no deeper into them than it must.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from undwarf.types.inference.function_inference import Inference

__all__ = ["DEEPEST", "Depths"]

DEEPEST = 4
"""The depth of what is asked for."""
_KEPT = 256


class _Made(NamedTuple):
    """What a function is at a depth, and the functions that it was made from."""

    inference: Inference | None
    rests_on: frozenset[int]


class Depths:
    """``make`` makes the inference of the function at an address at a depth; ``most`` are the other functions beyond
    which none is looked into for one."""

    def __init__(self, make: Callable[[int, int], Inference | None], most: int) -> None:
        self._make = make
        self._most = most
        self.depth = DEEPEST + 1
        """The depth of what is made."""
        self._rests_on: set[int] = set()
        self._kept: OrderedDict[int, dict[int, _Made]] = OrderedDict()
        self._all: dict[int, list[Inference]] = {}

    def at(self, low: int, depth: int) -> Inference | None:
        """What a function is at a depth."""
        return self._at(low, depth).inference

    def others(self, low: int) -> list[Inference]:
        """All inferences of a function that are at hand; what is made is added."""
        return self._all.setdefault(low, [])

    def looked_into(self, low: int, depth: int) -> Inference | None:
        """What a function is at a depth, for the one that is made; None if that looked into too many already."""
        if low not in self._rests_on and len(self._rests_on) > self._most:
            return None
        found = self._at(low, depth)
        self._rests_on |= found.rests_on
        return found.inference

    def deepest(self, low: int) -> Inference | None:
        """The same, as deep as it may be for the one that is made."""
        return self.looked_into(low, self.depth - 1) if self.depth else None

    def apart(self, ask: Callable[[], None]) -> frozenset[int]:
        """Ask for something that does not rest on who is made; the functions it rests on."""
        outer, self._rests_on = self._rests_on, set()
        ask()
        found, self._rests_on = frozenset(self._rests_on), outer
        return found

    def rests_on(self, functions: frozenset[int]) -> None:
        """What is made rests on some functions as well."""
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
