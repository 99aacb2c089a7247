"""Where code without rules was entered from, as the samples of a recording show it.

A just-in-time compiler for a language with a stack of its own needs one frame of the machine's stack for all its code
(Guile, Haskell): wherever that code is sampled, the return address of the function that entered it is equally far above
the stack pointer. Compilers that give each function a frame (Mono) have it at as many distances as there are depths.
So a call is taken for an entry where nearly all samples below it have one distance, in many pieces of code. Direct
calls need no such evidence (:meth:`undwarf.unwind.ruleless_step.RulelessStepper.step_to_entry`).
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from undwarf.perfdata import PerfData
from undwarf.unwind.walker import Walker

SHARE = 20
"""Samples at the usual distance for each one at another. Guile has 100 and more; Mono 1 at most."""
BLOCK = 256
"""Bytes of code that count as one place: a function that loops is sampled at one distance too."""
PLACES = 8
"""Places that must be sampled. Guile has 38 in 0.4 s, Mono at one distance 3 in 0.3 s."""
FARTHEST = 256
"""Bytes from the stack pointer to the return address at most: registers that are kept, and little else."""

Span = tuple[int, int, int, int]
"""Position, bytes, first sample and end sample of a window."""


class Entries:
    """What samples that end in code without rules show of the calls that enter it; ``left`` can still be looked at."""

    def __init__(self, most: int) -> None:
        self.left = most
        self._seen: dict[int, dict[int, list[int]]] = {}

    def look(self, walker: Walker, window: memoryview, position: int, sample: int) -> None:
        """Take a sample in, whose record lies in ``window`` (stream position ``position``)."""
        if self.left <= 0:
            return
        self.left -= 1
        found = walker.entry_of(window, position, sample, FARTHEST)
        if found is not None:
            frame, distance, address = found
            self._seen.setdefault(frame, {}).setdefault(distance, []).append(address // BLOCK)

    def found(self) -> list[tuple[int, int]]:
        """The calls that enter code without rules: (frame, bytes from the stack pointer to the return address)."""
        entries = []
        for frame, distances in self._seen.items():
            distance, places = max(distances.items(), key=lambda one: (len(one[1]), -one[0]))
            others = sum(map(len, distances.values())) - len(places)
            if len(set(places)) >= PLACES and len(places) >= SHARE * others:
                entries.append((frame, distance))
        return entries


def find_entries(
    data: PerfData, spans: Sequence[Span], walker: Walker, samples: Sequence[int], most: int
) -> list[tuple[int, int]]:
    """The calls that enter code without rules, as in :meth:`Entries.found`. ``samples`` end in such code; ``most`` of
    them, evenly spread, are looked at."""
    entries = Entries(most)

    def look(window: memoryview, position: int, sample: int) -> None:
        entries.look(walker, window, position, sample)

    for_each(data, spans, samples[:: max(1, -(-len(samples) // most))], look)
    return entries.found()


def for_each(
    data: PerfData,
    spans: Sequence[Span],
    samples: Sequence[int],
    act: Callable[[memoryview, int, int], None],
) -> None:
    """Call ``act`` with the window, its position and the number of each of these samples, which ascend."""
    firsts = [span[2] for span in spans]
    at = 0
    while at < len(samples):
        position, length, _first, end = spans[bisect_right(firsts, samples[at]) - 1]
        with data.window(position, length) as window:
            while at < len(samples) and samples[at] < end:
                act(window, position, samples[at])
                at += 1
