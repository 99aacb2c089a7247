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
from cython.cimports.undwarf.unwind.call_tables import MAX_SITES
from cython.cimports.undwarf.unwind.caller_search import WORDS
from cython.cimports.undwarf.unwind.exact_positions import ALL_PATHS, Position
from cython.cimports.undwarf.unwind.state_candidates import RETURNS

from undwarf.spaces.int_map import IntMap
from undwarf.unwind.call_steps import CallSteps
from undwarf.unwind.call_tables import CallTables
from undwarf.unwind.position_table import PositionTable
from undwarf.unwind.state_candidates import StateCandidates

MAX_TRIES = cython.declare(cython.Py_ssize_t, 4096)
"""Positions that are tried for one sample. With more to try, nothing is decided."""
UNNAMED = cython.declare(cython.uint, 0xFFFFFFFD)
"""Instead of a function that code does not name."""
IMPORTED = cython.declare(cython.uint, 0x80000000)
"""Set in the number of a name that stands for a function."""


@cython.final
@cython.cclass
class CallerSearch:
    """Searches for the callers of one sample at a time; calls are kept for the next."""

    slots: Any
    called_functions: Any
    names: list[str]
    name_numbers: dict[str, int]

    def __init__(self, steps: CallSteps, positions: PositionTable, candidates: StateCandidates) -> None:
        self.steps = steps
        self.positions = positions
        self.candidates = candidates
        self.tables = CallTables(steps)
        self.words = 0
        self.called, self.defined, self.recursive = IntMap(), IntMap(), IntMap()
        self.names, self.name_numbers = [], {}

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
        table: cython.Py_ssize_t
        series: cython.Py_ssize_t
        count: cython.uint
        calls: cython.uint
        if self.candidates.returned == RETURNS or self.left <= 0:
            return 0
        table = self.tables.of(function, self.steps.image_set())
        calls = self.tables.totals[table]
        # Where calls name the function, one by a pointer is that of such a caller, which has returned as well.
        words: cython.Py_ssize_t = 0 if calls else self.words
        for word in range(words):
            calls += self._calls_in(table, word, function)
        if calls == 0:
            return 0
        for series in range(table, table + self.tables.table_series[table]):
            count = self.tables.series_count[series]
            if count <= MAX_SITES:
                self._try_calls(self.tables.series_first[series], count, 0, distance, reach, level, weight)
        for word in range(words):
            count = self._calls_in(table, word, function)
            self._try_calls(self.tables.first, count, self.slots[word], distance, reach, level, weight)
        return 0

    def _calls_in(self, table: cython.Py_ssize_t, word: cython.Py_ssize_t, function: cython.uint) -> cython.uint:
        """How many calls may enter a function, whose table it is, in the one that is called before a word of the stack;
        sets ``tables.first``."""
        if self.called_functions[word] == UNNAMED:
            return self.tables.in_pointed(table, function)
        return self.tables.within(table, self.called_functions[word], function)

    def is_recursive(self, function: cython.uint) -> cython.bint:
        """Whether a function may call itself, without a detour through other images."""
        known: cython.longlong = self.recursive.get(function)
        if known < 0:
            known = self.tables.within(self.tables.of(function, NOTHING), function, function) > 0
            self.recursive.put(function, cython.cast(cython.uint, known))
        return known > 0

    def _try_calls(
        self, first: cython.Py_ssize_t, count: cython.uint, slot: cython.ulonglong, distance: cython.int,
        reach: cython.int, level: cython.int, weight: cython.ulonglong,
    ) -> cython.int:  # fmt: skip
        call: cython.Py_ssize_t
        for call in range(first, first + count):
            self._try_call(call, slot, distance, reach, min(level, self.tables.levels[call]), weight)
        return 0

    def _try_call(
        self, call: cython.Py_ssize_t, slot: cython.ulonglong, distance: cython.int, reach: cython.int,
        level: cython.int, weight: cython.ulonglong,
    ) -> cython.int:  # fmt: skip
        """Try the positions after a call, in a caller whose return address is in this word of the stack (0: in any)."""
        bias: cython.ulonglong = self.steps.bias(self.tables.images[call])
        site: cython.ulonglong = self.tables.addresses[call] + bias
        at: cython.Py_ssize_t
        first: cython.Py_ssize_t
        function: cython.uint
        share: cython.ulonglong
        depth: cython.int = self.candidates.returned
        if bias == ALL_ONES:
            return 0
        function = self.tables.function_of(call)
        first = self.tables.positions[call]
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
        first: cython.Py_ssize_t = self.positions.of_address(self.tables.images[call], self.tables.addresses[call])
        self.tables.positions[call] = cython.cast(cython.uint, first)
        return first

    def _called_before(self, frame: cython.uint) -> cython.uint:
        """The function that the call before the return address of a frame names; UNNAMED where it names none."""
        key: cython.ulonglong
        known: cython.longlong = self.called.get(frame)
        if known < 0:
            with cython.gil:
                known = self._find_called(frame)
            self.called.put(frame, cython.cast(cython.uint, known))
        if known < IMPORTED or known == UNNAMED:
            return cython.cast(cython.uint, known)
        key = cython.cast(cython.ulonglong, known) << 32 | self.steps.image_set()
        known = self.defined.get(key)
        if known < 0:
            with cython.gil:
                known = self._find_defined(cython.cast(cython.uint, key >> 32))
            self.defined.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.uint, known)

    def _find_called(self, frame: cython.uint) -> cython.uint:
        """As :meth:`_called_before`; of an import IMPORTED and the number of its name."""
        stacks = self.steps.rules.stacks
        image: cython.uint = stacks.frame_image[frame]
        found = self.steps.rules.source.code_evidence.called(image, stacks.frame_address[frame])
        if isinstance(found, str):
            number: int = self.name_numbers.setdefault(found, len(self.names))
            if number == len(self.names):
                self.names.append(found)
            return IMPORTED | cython.cast(cython.uint, number)
        return UNNAMED if found is None else self.steps.number_function(image, found)

    def _find_defined(self, imported: cython.uint) -> cython.uint:
        """The function that an image of the process defines under an imported name; UNNAMED without one."""
        found = self.steps.rules.source.code_evidence.defined(
            self.names[imported & ~IMPORTED], self.steps.images_of(self.steps.image_set())
        )
        return UNNAMED if found is None else self.steps.number_function(found[0], found[1])
