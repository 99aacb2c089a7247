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

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.call_counts import CallCounts
from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.position_table import PositionTable
from undwarf.unwind.state_candidates import StateCandidates

MAX_TRIES = cython.declare(cython.Py_ssize_t, 4096)
"""Positions that are tried for one sample. With more to try, nothing is decided."""
ANYWHERE = cython.declare(cython.uint, 0xFFFFFFFF)
UNNAMED = cython.declare(cython.uint, 0xFFFFFFFD)
"""Instead of the function that calls are in."""
MAX_SEEN = 16
"""Calls in other stacks that are taken for those of a function, those of most samples."""


@cython.final
@cython.cclass
class CallerSearch:
    """Searches for the callers of one sample at a time; calls are kept for the next."""

    slots: Any
    called_functions: Any
    images: Any
    addresses: Any
    functions: Any
    levels: Any
    firsts: Any
    counts: Any
    counts_of_calls: CallCounts | None

    def __init__(self, steps: CallSteps, positions: PositionTable, candidates: StateCandidates) -> None:
        self.steps = steps
        self.positions = positions
        self.candidates = candidates
        self.words = 0
        self.counts_of_calls = None
        self.called, self.pairs, self.tables, self.recursive = IntMap(), IntMap(), IntMap(), IntMap()
        self.images, self.addresses, self.functions = zeros("I", 64), zeros("Q", 64), zeros("I", 64)
        self.levels, self.firsts, self.counts = zeros("B", 64), zeros("I", 64), zeros("I", 64)
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
            self.called_functions[self.words] = self._called_before(self.steps.rules.found_frame)
            self.words += 1
        return 0

    def search(
        self, function: cython.uint, distance: cython.int, reach: cython.int, level: cython.int,
        weight: cython.ulonglong,
    ) -> cython.int:  # fmt: skip
        """Add to the candidates the callers to which a function may have returned ``distance`` instructions after the
        sampled one, the registers being those of at most ``reach`` after it. ``level``: how well the calls below are
        proven."""
        word: cython.Py_ssize_t
        call: cython.Py_ssize_t
        first: cython.Py_ssize_t
        calls: cython.ulonglong
        if self.candidates.returned == RETURNS or self.left <= 0:
            return 0
        first = self._calls(ANYWHERE, function)
        calls = self.counts[first]
        # Where calls name the function, one by a pointer is that of such a caller, which has returned as well.
        words: cython.Py_ssize_t = 0 if calls else self.words
        for word in range(words):
            calls += self.counts[self._calls(self.called_functions[word], function)]
        if calls == 0:
            return 0
        for call in range(first, first + self.counts[first]):
            self._try_call(call, 0, distance, reach, min(level, self.levels[call]), weight)
        for word in range(words):
            first = self._calls(self.called_functions[word], function)
            for call in range(first, first + self.counts[first]):
                self._try_call(call, self.slots[word], distance, reach, min(level, self.levels[call]), weight)
        return 0

    def is_recursive(self, function: cython.uint) -> cython.bint:
        """Whether a function may call itself, without a detour through other images."""
        known: cython.longlong = self.recursive.get(function)
        if known < 0:
            with cython.gil:
                known = self._calls_itself(function)
            self.recursive.put(function, cython.cast(cython.uint, known))
        return known > 0

    def _calls_itself(self, function: cython.uint) -> cython.bint:
        image, start = self.steps.function_images[function], self.steps.function_starts[function]
        return len(self.steps.rules.source.code_evidence.calls_within(image, start, image, start, ())) > 0

    def _try_call(
        self, call: cython.Py_ssize_t, slot: cython.ulonglong, distance: cython.int, reach: cython.int,
        level: cython.int, weight: cython.ulonglong,
    ) -> cython.int:  # fmt: skip
        """Try the positions after a call, in a caller whose return address is in this word of the stack (0: in any)."""
        bias: cython.ulonglong = self.steps.bias(self.images[call])
        site: cython.ulonglong = self.addresses[call] + bias
        at: cython.Py_ssize_t
        first: cython.Py_ssize_t
        function: cython.uint = self.functions[call]
        share: cython.ulonglong
        depth: cython.int = self.candidates.returned
        if bias == ALL_ONES:
            return 0
        first = self.firsts[call]
        if first == NOTHING:
            with cython.gil:
                first = self._add_positions(call)
        self.candidates.sites[depth] = site
        self.candidates.functions[depth] = function
        self.candidates.returned = depth + 1
        for at in range(first, first + self.positions.counts[first]):
            if distance + self.positions.distances[at] > reach:
                continue
            share = weight * self.positions.weights[at] // ALL_PATHS
            if self.positions.kinds[at] == Position.PAST_RETURN:
                self.search(function, distance + self.positions.distances[at], reach, level, share)
            elif self.left > 0:
                self.left -= 1
                self.candidates.add(at, site, function, slot, level, share, distance + self.positions.distances[at])
        self.candidates.returned = depth
        return 0

    def _add_positions(self, call: cython.Py_ssize_t) -> cython.Py_ssize_t:
        first: cython.Py_ssize_t = self.positions.of_address(self.images[call], self.addresses[call])
        self.firsts[call] = cython.cast(cython.uint, first)
        return first

    def _called_before(self, frame: cython.uint) -> cython.uint:
        """The function that the call before the return address of a frame names; UNNAMED where it names none."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, frame) << 32 | self.steps.image_set()
        known: cython.longlong = self.called.get(key)
        if known < 0:
            with cython.gil:
                known = self._find_called(frame)
            self.called.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.uint, known)

    def _find_called(self, frame: cython.uint) -> cython.uint:
        stacks = self.steps.rules.stacks
        found = self.steps.rules.source.code_evidence.called_function(
            stacks.frame_image[frame], stacks.frame_address[frame], self.steps.images()
        )
        return UNNAMED if found is None else self.steps.number_function(found[0], found[1])

    def _calls(self, within: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        """Where the calls begin that may enter the function ``callee``, in the function ``within``; ANYWHERE: the
        direct calls, UNNAMED: those in functions that have pointers."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, within) << 32 | callee
        known: cython.longlong = self.pairs.get(key)
        if known < 0:
            known = self.pairs.count
            self.pairs.put(key, cython.cast(cython.uint, known))
        key = cython.cast(cython.ulonglong, known) << 32 | self.steps.image_set()
        known = self.tables.get(key)
        if known < 0:
            with cython.gil:
                known = self._add_calls(within, callee)
            self.tables.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    def _add_calls(self, within: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        """Append a table of calls; one without any has a row that is none."""
        stacks = self.steps.rules.stacks
        evidence = self.steps.rules.source.code_evidence
        images = self.steps.images()
        number: int = self.steps.function_images[callee]
        start: int = self.steps.function_starts[callee]
        if within == ANYWHERE:
            found = evidence.direct_calls(number, start, images)
            if self.counts_of_calls is not None:
                callers = self.counts_of_calls.callers(number, start, MAX_SEEN)
                found = evidence.with_seen(
                    found, [(stacks.frame_image[one], stacks.frame_address[one] + 1) for one in callers]
                )
        elif within == UNNAMED:
            found = evidence.calls_by_pointer(number, start, images)
        else:
            found = evidence.calls_within(
                self.steps.function_images[within], self.steps.function_starts[within], number, start, images
            )
        first: cython.Py_ssize_t = self.used
        size: cython.Py_ssize_t = self.images.shape[0]
        wanted: cython.Py_ssize_t = size
        while wanted <= first + len(found):
            wanted *= 2
        if wanted > size:
            self.images, self.addresses = longer(self.images, size, wanted), longer(self.addresses, size, wanted)
            self.levels, self.counts = longer(self.levels, size, wanted), longer(self.counts, size, wanted)
            self.functions, self.firsts = longer(self.functions, size, wanted), longer(self.firsts, size, wanted)
        for at, one in enumerate(found, first):
            self.images[at], self.addresses[at], self.levels[at] = one.image, one.return_address, one.level
            self.functions[at] = self.steps.number_function(one.image, one.function)
            self.firsts[at] = NOTHING
        self.counts[first] = len(found)
        self.used = first + max(1, len(found))
        return first
