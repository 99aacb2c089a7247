# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Calls that may enter functions, in columns: found once for each function and image, whichever processes map it.

A row is a call. A series is what one image has of the calls of one function, by ascending return address. The table of
a function lists its series in the images that a process has mapped.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING
from cython.cimports.undwarf.unwind.call_tables import MAX_SITES
from cython.cimports.undwarf.unwind.exact_positions import CallLevel

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.call_counts import CallCounts
from undwarf.unwind.call_steps import CallSteps

MAX_SEEN = 16
"""Calls in other stacks that are taken for those of a function, those of most samples."""


@cython.final
@cython.cclass
class CallTables:
    """Tables of functions, by their numbers (``steps``) and the images of the sample's process."""

    images: Any
    addresses: Any
    functions: Any
    levels: Any
    positions: Any
    series_first: Any
    series_count: Any
    table_series: Any
    totals: Any
    ends: Any
    counts: CallCounts | None
    known: dict[tuple[int, int], tuple[int, object]]
    same: dict[tuple[int, int], tuple[int, object]]

    def __init__(self, steps: CallSteps) -> None:
        self.steps = steps
        self.counts = None
        self.images, self.addresses, self.functions = zeros("I", 64), zeros("Q", 64), zeros("I", 64)
        self.levels, self.positions = zeros("B", 64), zeros("I", 64)
        self.series_first, self.series_count = zeros("I", 64), zeros("I", 64)
        self.table_series, self.totals = zeros("I", 64), zeros("I", 64)
        self.ends = zeros("Q", 64)
        self.used = self.series_used = 0
        self.tables, self.by_image, self.by_pointer = IntMap(), IntMap(), IntMap()
        self.indirect, self.pointed = IntMap(), IntMap()
        self.known, self.same = {}, {}

    def use_counts(self, counts: CallCounts) -> None:
        """Take calls in the stacks of other samples for callers, too."""
        self.counts = counts
        self.tables, self.same = IntMap(), {}

    def of(self, function: cython.uint, images: cython.uint) -> cython.Py_ssize_t:
        """The table of a function in a set of images: its first series."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, function) << 32 | images
        known: cython.longlong = self.tables.get(key)
        if known < 0:
            with cython.gil:
                known = self._add_table(function, images)
            self.tables.put(key, cython.cast(cython.uint, known))
        return cython.cast(cython.Py_ssize_t, known)

    def within(self, table: cython.Py_ssize_t, caller: cython.uint, callee: cython.uint) -> cython.uint:
        """How many calls in the function ``caller`` may enter ``callee``, whose table it is: where code names it these,
        else those through a pointer. Sets ``first``, the row of the first of them."""
        series: cython.longlong
        low: cython.Py_ssize_t
        high: cython.Py_ssize_t
        key: cython.ulonglong = cython.cast(cython.ulonglong, table) << 32 | self.steps.function_images[caller]
        series = self.by_image.get(key)
        if series >= 0:
            low = self._after(series, self.steps.function_starts[caller])
            high = self._after(series, self._end_of(caller))
            if low < high:
                self.first = low
                return min(cython.cast(cython.uint, high - low), MAX_SITES)
        if not self._is_pointed_to(callee):
            return 0
        series = self.indirect.get(caller)
        if series < 0:
            with cython.gil:
                series = self._add_indirect(caller)
            self.indirect.put(caller, cython.cast(cython.uint, series))
        self.first = self.series_first[series]
        return cython.cast(cython.uint, self.series_count[series])

    def in_pointed(self, table: cython.Py_ssize_t, callee: cython.uint) -> cython.uint:
        """How many calls of a function, whose table it is, are in functions of its image that have pointers. Sets
        ``first``."""
        series: cython.longlong = self.by_pointer.get(table)
        if series < 0:
            with cython.gil:
                series = self._add_pointed(table, callee)
            self.by_pointer.put(table, cython.cast(cython.uint, series))
        self.first = self.series_first[series]
        return cython.cast(cython.uint, self.series_count[series])

    def function_of(self, call: cython.Py_ssize_t) -> cython.uint:
        """The number of the function that a call is in."""
        if self.functions[call] == NOTHING:
            with cython.gil:
                self.functions[call] = self._find_function(call)
        return cython.cast(cython.uint, self.functions[call])

    def _find_function(self, call: cython.Py_ssize_t) -> cython.uint:
        image: cython.uint = self.images[call]
        start: cython.ulonglong = self.steps.rules.source.code_evidence.function_start(image, self.addresses[call] - 1)
        return self.steps.number_function(image, start)

    def _after(self, series: cython.Py_ssize_t, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The first row of a series whose return address is greater than an address."""
        low: cython.Py_ssize_t = self.series_first[series]
        high: cython.Py_ssize_t = low + self.series_count[series]
        middle: cython.Py_ssize_t
        while low < high:
            middle = (low + high) >> 1
            if self.addresses[middle] <= address:
                low = middle + 1
            else:
                high = middle
        return low

    def _end_of(self, function: cython.uint) -> cython.ulonglong:
        """Where a function ends."""
        if function >= self.ends.shape[0] or self.ends[function] == 0:
            with cython.gil:
                self._find_end(function)
        return cython.cast(cython.ulonglong, self.ends[function])

    def _find_end(self, function: cython.uint) -> cython.int:
        if function >= self.ends.shape[0]:
            self.ends = longer(self.ends, self.ends.shape[0], 2 * function)
        evidence = self.steps.rules.source.code_evidence
        end: int = evidence.function_end(self.steps.function_images[function], self.steps.function_starts[function])
        self.ends[function] = min(end, 0xFFFFFFFFFFFFFFFF)
        return 0

    def _is_pointed_to(self, function: cython.uint) -> cython.bint:
        """Whether a function may be called through a pointer."""
        known: cython.longlong = self.pointed.get(function)
        if known < 0:
            with cython.gil:
                known = self._ask_pointed(function)
            self.pointed.put(function, cython.cast(cython.uint, known))
        return known > 0

    def _ask_pointed(self, function: cython.uint) -> cython.bint:
        evidence = self.steps.rules.source.code_evidence
        found: bool = evidence.is_pointed_to(self.steps.function_images[function], self.steps.function_starts[function])
        return found

    def _add_table(self, function: cython.uint, images: cython.uint) -> cython.Py_ssize_t:
        """Append a table; one without calls has one series without."""
        first: cython.Py_ssize_t = self.series_used
        total: cython.uint = 0
        series: cython.Py_ssize_t
        number: int = self.steps.function_images[function]
        start: int = self.steps.function_starts[function]
        found = self.steps.rules.source.code_evidence.calls_to(number, start, self.steps.images_of(images))
        known = self.same.get((function, id(found)))
        if known is not None:
            return known[0]
        for image, calls in found:
            series = self._add_series(self._rows(image, calls), len(calls.direct))
            self.by_image.put(cython.cast(cython.ulonglong, first) << 32 | image, cython.cast(cython.uint, series))
        if self.counts is not None:
            self._add_seen(number, start, found)
        if self.series_used == first:
            self._add_series(0, 0)
        for series in range(first, self.series_used):
            if self.series_count[series] <= MAX_SITES:
                total += self.series_count[series]
        self.table_series[first] = cython.cast(cython.uint, self.series_used - first)
        self.totals[first] = total
        # The calls are kept, so that no others get their identity.
        self.same[function, id(found)] = first, found
        return first

    def _rows(self, image: Any, calls: Any) -> cython.Py_ssize_t:
        """The first row of the calls of an image."""
        known = self.known.get((image, id(calls)))
        if known is None:
            first = self._add_rows([image] * len(calls.direct), calls.return_addresses, calls.direct)
            known = self.known[image, id(calls)] = first, calls
        return known[0]

    def _add_seen(self, number: int, start: int, found: "tuple[Any, ...]") -> None:
        """Append a series of the calls in the stacks of other samples that are in none of ``found``."""
        assert self.counts is not None
        stacks = self.steps.rules.stacks
        callers = self.counts.callers(number, start, MAX_SEEN)
        known = {
            (image, back)
            for image, calls in (found if callers else ())
            if len(calls.direct) <= MAX_SITES
            for back in calls.return_addresses
        }
        seen = [(stacks.frame_image[one], stacks.frame_address[one] + 1) for one in callers]
        new = [one for one in seen if one[0] != NOTHING and one not in known]
        if new:
            first = self._add_rows([one[0] for one in new], [one[1] for one in new], [False] * len(new))
            self._add_series(first, len(new))

    def _add_indirect(self, caller: cython.uint) -> cython.Py_ssize_t:
        """Append a series of the calls in a function that go through a pointer."""
        image: int = self.steps.function_images[caller]
        evidence = self.steps.rules.source.code_evidence
        found = evidence.indirect_calls(image, self.steps.function_starts[caller], self._end_of(caller))[:MAX_SITES]
        first: cython.Py_ssize_t = self._add_rows([image] * len(found), found, [False] * len(found))
        call: cython.Py_ssize_t
        for call in range(first, self.used):
            self.functions[call] = caller
        return self._add_series(first, len(found))

    def _add_pointed(self, table: cython.Py_ssize_t, callee: cython.uint) -> cython.Py_ssize_t:
        """Append the series of :meth:`in_pointed`, without any where there are more than MAX_SITES."""
        image: int = self.steps.function_images[callee]
        series: cython.longlong = self.by_image.get(cython.cast(cython.ulonglong, table) << 32 | image)
        call: cython.Py_ssize_t
        evidence = self.steps.rules.source.code_evidence
        backs, direct = [], []
        if series >= 0:
            for call in range(self.series_first[series], self.series_first[series] + self.series_count[series]):
                if evidence.is_pointed_to(image, self.addresses[call] - 1):
                    backs.append(self.addresses[call])
                    direct.append(self.levels[call] == CallLevel.PROVEN)
                    if len(backs) > MAX_SITES:
                        backs.clear()
                        break
        return self._add_series(self._add_rows([image] * len(backs), backs, direct), len(backs))

    def _add_rows(self, images: Any, backs: Any, direct: Any) -> cython.Py_ssize_t:
        """Append calls, by their images and return addresses, and whether they name the callee; where they begin."""
        first: cython.Py_ssize_t = self.used
        at: cython.Py_ssize_t
        size: cython.Py_ssize_t = self.images.shape[0]
        wanted: cython.Py_ssize_t = size
        while wanted < first + len(backs):
            wanted *= 2
        if wanted > size:
            self.images, self.addresses = longer(self.images, size, wanted), longer(self.addresses, size, wanted)
            self.levels, self.positions = longer(self.levels, size, wanted), longer(self.positions, size, wanted)
            self.functions = longer(self.functions, size, wanted)
        for at in range(len(backs)):
            self.images[first + at], self.addresses[first + at] = images[at], backs[at]
            self.levels[first + at] = CallLevel.PROVEN if direct[at] else CallLevel.POSSIBLE
            self.functions[first + at] = self.positions[first + at] = NOTHING
        self.used = first + len(backs)
        return first

    def _add_series(self, first: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        size: cython.Py_ssize_t = self.series_first.shape[0]
        number: cython.Py_ssize_t = self.series_used
        if number == size:
            self.series_first = longer(self.series_first, size, 2 * size)
            self.series_count = longer(self.series_count, size, 2 * size)
            self.table_series = longer(self.table_series, size, 2 * size)
            self.totals = longer(self.totals, size, 2 * size)
        self.series_first[number] = cython.cast(cython.uint, first)
        self.series_count[number] = cython.cast(cython.uint, count)
        self.series_used = number + 1
        return number
