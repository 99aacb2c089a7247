# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""The callers of functions that have returned, or whose return address is not at hand, found by code alone.

The caller's own return address is still on the stack. Each word there that follows a call instruction may be it: the
function that is called before it is a caller if it calls the callee, and if one of its rules, at that call or at a
position some instructions further on, finds its return address in that very word.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES, NOTHING
from cython.cimports.undwarf.tables.registers import RBP, RSP
from cython.cimports.undwarf.unwind.caller_search import WORDS
from cython.cimports.undwarf.unwind.exact_positions import ALL_PATHS, Position
from cython.cimports.undwarf.unwind.state_candidates import RETURNS
from cython.cimports.undwarf.unwind.walk_constants import RULE_LIMIT

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.call_counts import CallCounts
from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.position_table import PositionTable
from undwarf.unwind.state_candidates import StateCandidates

MAX_TRIES = cython.declare(cython.Py_ssize_t, 4096)
"""Positions that are tried for one sample. With more to try, nothing is decided."""
MAX_SEEN = 16
"""Calls in other stacks that are taken for those of a function, those of most samples."""


@cython.final
@cython.cclass
class CallerSearch:
    """Searches for the callers of one sample at a time; calls are kept for the next."""

    slots: Any
    frames: Any
    images: Any
    addresses: Any
    functions: Any
    levels: Any
    counts: Any
    counts_of_calls: CallCounts | None

    def __init__(self, steps: CallSteps, positions: PositionTable, candidates: StateCandidates) -> None:
        self.steps = steps
        self.positions = positions
        self.candidates = candidates
        self.words = 0
        self.counts_of_calls = None
        self.pairs = IntMap()
        self.tables = IntMap()
        self.images, self.addresses, self.functions = zeros("I", 64), zeros("Q", 64), zeros("Q", 64)
        self.levels, self.counts = zeros("B", 64), zeros("I", 64)
        self.used = 0

    def use_counts(self, counts: CallCounts) -> None:
        """Take calls in the stacks of other samples for callers, too."""
        self.counts_of_calls = counts
        self.tables = IntMap()

    def scan_stack(self) -> cython.int:
        """Find the return addresses on the stack of the registers that ``steps`` keeps."""
        i: cython.int
        slot: cython.ulonglong
        sp: cython.ulonglong = self.steps.saved[RSP]
        word: cython.ulonglong
        self.words = 0
        self.left = MAX_TRIES
        for i in range(-1, WORDS - 1):
            self.steps.memory.fault = 0
            # First where the frame pointer has it, if it is one.
            slot = self.steps.saved[RBP] + 8 if i < 0 else sp + 8 * cython.cast(cython.ulonglong, i)
            if slot <= sp or slot & 7:
                continue
            word = self.steps.memory.load(slot)
            if self.steps.memory.fault or not self.steps.is_code(word - 1) or not self.steps.rules.follows_call(word):
                continue
            self.slots[self.words] = slot
            self.frames[self.words] = self.steps.rules.found_frame
            self.words += 1
        return 0

    def search(
        self, frame: cython.uint, distance: cython.int, reach: cython.int, level: cython.int, weight: cython.ulonglong
    ) -> cython.int:
        """Add to the candidates the callers to which the function of ``frame`` may have returned ``distance``
        instructions after the sampled one, the registers being those of at most ``reach`` after it. ``level``: how well
        the calls below are proven."""
        word: cython.Py_ssize_t
        call: cython.Py_ssize_t
        first: cython.Py_ssize_t
        calls: cython.ulonglong
        if self.candidates.returned == RETURNS or self.left <= 0:
            return 0
        first = self._calls(NOTHING, frame)
        calls = self.counts[first]
        # Where calls name the function, one by a pointer is that of such a caller, which has returned as well.
        words: cython.Py_ssize_t = 0 if calls else self.words
        for word in range(words):
            calls += self.counts[self._calls(self.frames[word], frame)]
        if calls == 0:
            return 0
        # Each of the calls may be the one.
        weight //= calls
        for call in range(first, first + self.counts[first]):
            self._try_call(call, 0, distance, reach, min(level, self.levels[call]), weight)
        for word in range(words):
            first = self._calls(self.frames[word], frame)
            for call in range(first, first + self.counts[first]):
                self._try_call(call, self.slots[word], distance, reach, min(level, self.levels[call]), weight)
        return 0

    def _try_call(
        self, call: cython.Py_ssize_t, slot: cython.ulonglong, distance: cython.int, reach: cython.int,
        level: cython.int, weight: cython.ulonglong,
    ) -> cython.int:  # fmt: skip
        """Try the positions after a call, in a caller whose return address is in this word of the stack (0: in any)."""
        bias: cython.ulonglong = self.steps.bias(self.images[call])
        site: cython.ulonglong = self.addresses[call] + bias
        at: cython.Py_ssize_t
        first: cython.Py_ssize_t
        caller: cython.uint
        share: cython.ulonglong
        depth: cython.int = self.candidates.returned
        if bias == ALL_ONES:
            return 0
        self.steps.rules.find(site - 1, site)
        if self.steps.rules.found_rule >= RULE_LIMIT:
            return 0
        caller = self.steps.rules.found_frame
        self.candidates.sites[depth] = site
        self.candidates.functions[depth] = self.functions[call] + bias
        self.candidates.returned = depth + 1
        first = self.positions.of_return(caller)
        for at in range(first, first + self.positions.counts[first]):
            if distance + self.positions.distances[at] > reach:
                continue
            share = weight * self.positions.weights[at] // ALL_PATHS
            if self.positions.kinds[at] == Position.PAST_RETURN:
                self.search(caller, distance + self.positions.distances[at], reach, level, share)
            elif self.left > 0:
                self.left -= 1
                self.candidates.add(at, site, caller, slot, level, share, distance + self.positions.distances[at])
        self.candidates.returned = depth
        return 0

    def _calls(self, caller: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        """Where the calls begin that may enter the function of ``callee``, in those that the call before the return
        address of ``caller`` may enter; without a caller (NOTHING) the direct calls in the image of the callee."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, caller) << 32 | callee
        known: cython.longlong = self.pairs.get(key)
        if known < 0:
            known = self.pairs.count
            self.pairs.put(key, cython.cast(cython.uint, known))
        key = cython.cast(cython.ulonglong, known) << 32 | self.steps.image_set()
        known = self.tables.get(key)
        if known < 0:
            with cython.gil:
                known = self._add_calls(caller, callee)
            self.tables.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    def _add_calls(self, caller: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        """Append a table of calls; one without any has a row that is none."""
        stacks = self.steps.rules.stacks
        evidence = self.steps.rules.source.code_evidence
        number: int = stacks.frame_image[callee]
        address: int = stacks.frame_address[callee]
        if caller == NOTHING:
            found = evidence.direct_calls(number, address, self.steps.images())
            if self.counts_of_calls is not None:
                start: int = evidence.function_start(number, address)
                callers = self.counts_of_calls.callers(number, start, MAX_SEEN)
                found = evidence.with_seen(
                    found, [(stacks.frame_image[one], stacks.frame_address[one] + 1) for one in callers]
                )
        else:
            found = evidence.calls_within(
                stacks.frame_image[caller], stacks.frame_address[caller], number, address, self.steps.images()
            )
        first: cython.Py_ssize_t = self.used
        size: cython.Py_ssize_t = self.images.shape[0]
        wanted: cython.Py_ssize_t = size
        while wanted <= first + len(found):
            wanted *= 2
        if wanted > size:
            self.images, self.addresses = longer(self.images, size, wanted), longer(self.addresses, size, wanted)
            self.levels, self.counts = longer(self.levels, size, wanted), longer(self.counts, size, wanted)
            self.functions = longer(self.functions, size, wanted)
        for at, one in enumerate(found, first):
            self.images[at], self.addresses[at], self.levels[at] = one.image, one.return_address, one.level
            self.functions[at] = one.function
        self.counts[first] = len(found)
        self.used = first + max(1, len(found))
        return first
