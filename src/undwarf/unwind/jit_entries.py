"""Calls that enter code without rules, found from the samples in such code.

A just-in-time compiler for a language with a stack of its own needs one frame of the machine's stack for all its code
(Guile, Haskell): wherever that code is sampled, the return address of the function that entered it is equally far from
the stack pointer. Compilers that give each function a frame (Mono) have as many distances as there are depths. So a
call is an entry if nearly all samples below it have one distance, in many pieces of code. Direct calls need no such
evidence (:meth:`undwarf.unwind.ruleless_step.RulelessStepper.step_to_entry`).
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from undwarf.perfdata import PerfData
from undwarf.unwind.walker import Walker

SHARE = 20
"""Samples at the most frequent distance for each one at another. Guile has 100 and more, Mono at most 1."""
BLOCK = 256
"""Bytes of code that count as one piece: a function with a loop is sampled at one distance, too."""
PIECES = 8
"""Pieces that must be sampled. Guile has 38 in 0.4 s, Mono at one distance 3 in 0.3 s."""
FARTHEST = 256
"""Bytes from the stack pointer to the return address, at most: saved registers, and little else."""

Span = tuple[int, int, int, int]
"""Position, bytes, first sample and end sample of a window."""


class Entries:
    """Distances of calls from the stack pointers of samples that end in code without rules; ``left`` more samples are
    taken."""

    def __init__(self, most: int) -> None:
        self.left = most
        self._code_by_distance: dict[int, dict[int, list[int]]] = {}

    def add(self, walker: Walker, window: memoryview, position: int, sample: int) -> None:
        """Add a sample, whose record is in ``window`` (stream position ``position``)."""
        if self.left <= 0:
            return
        self.left -= 1
        found = walker.entry_of(window, position, sample, FARTHEST)
        if found is not None:
            frame, distance, address = found
            self._code_by_distance.setdefault(frame, {}).setdefault(distance, []).append(address // BLOCK)

    def found(self) -> list[tuple[int, int]]:
        """The calls that enter code without rules: (frame, bytes from the stack pointer to the return address)."""
        entries = []
        for frame, distances in self._code_by_distance.items():
            distance, pieces = max(distances.items(), key=lambda one: (len(one[1]), -one[0]))
            others = sum(map(len, distances.values())) - len(pieces)
            if len(set(pieces)) >= PIECES and len(pieces) >= SHARE * others:
                entries.append((frame, distance))
        return entries


def find_entries(
    data: PerfData, spans: Sequence[Span], walker: Walker, samples: Sequence[int], most: int
) -> list[tuple[int, int]]:
    """The calls that enter code without rules, as :meth:`Entries.found`. ``samples`` end in such code; at most ``most``
    of them, evenly spread, are used."""
    entries = Entries(most)

    def add(window: memoryview, position: int, sample: int) -> None:
        entries.add(walker, window, position, sample)

    for_each(data, spans, samples[:: max(1, -(-len(samples) // most))], add)
    return entries.found()


def for_each(
    data: PerfData,
    spans: Sequence[Span],
    samples: Sequence[int],
    act: Callable[[memoryview, int, int], None],
) -> None:
    """Call ``act`` with the window, its position and the number of each of these samples, in ascending order."""
    firsts = [span[2] for span in spans]
    at = 0
    while at < len(samples):
        position, length, _first, end = spans[bisect_right(firsts, samples[at]) - 1]
        with data.window(position, length) as window:
            while at < len(samples) and samples[at] < end:
                act(window, position, samples[at])
                at += 1
