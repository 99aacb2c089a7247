# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""How often each call is in the stacks that were found, as evidence for samples whose callers are not certain."""

from typing import TYPE_CHECKING, Any

import cython
from cython.cimports.undwarf.integer_constants import NOTHING

from undwarf.column import absent, longer, zeros
from undwarf.spaces.int_map import IntMap
from undwarf.unwind.stacks import Stacks

if TYPE_CHECKING:
    from undwarf.unwind.exact_paths import CodeEvidence


@cython.final
@cython.cclass
class CallCounts:
    """Counts of calls in the stacks of samples. ``stacks``: their frames and nodes, which may grow;
    ``stack`` (I): the node of each sample, 0xffffffff for none."""

    first: Any
    following: Any
    callee: Any
    samples: Any
    image: Any
    address: Any
    by_function: dict[int, dict[int, int]]
    numbers: dict[tuple[int, int], int]
    heaviest: dict[tuple[int, int], list[int]]

    @cython.locals(
        parent="const unsigned int[::1]", frame="const unsigned int[::1]", nodes_of="const unsigned int[::1]",
        passing="unsigned int[::1]", i=cython.Py_ssize_t, node=cython.uint, caller=cython.uint,
        key=cython.ulonglong, at=cython.longlong, used=cython.Py_ssize_t,
    )  # fmt: skip
    def __init__(self, evidence: "CodeEvidence", stacks: Stacks, stack: memoryview) -> None:
        columns = stacks.columns()
        self.evidence = evidence
        self.stacks = stacks
        self.image, self.address = columns["image"], columns["address"]
        self.known, self.totals, self.functions = IntMap(), IntMap(), IntMap()
        self.by_function, self.numbers, self.heaviest = {}, {}, {}
        parent: Any = columns["parent"]
        frame: Any = columns["frame"]
        nodes_of: Any = stack
        passing = zeros("I", max(1, parent.shape[0]))
        for i in range(nodes_of.shape[0]):
            if nodes_of[i] != NOTHING:
                passing[nodes_of[i]] += 1
        # A node comes after its parent.
        for i in range(parent.shape[0] - 1, -1, -1):
            if parent[i] != NOTHING:
                passing[parent[i]] += passing[i]
        self.first = absent("I", max(1, self.image.shape[0]))
        self.following, self.callee, self.samples = zeros("I", 64), zeros("I", 64), zeros("I", 64)
        numbers = IntMap()
        used = 0
        for i in range(parent.shape[0]):
            node = parent[i]
            if node == NOTHING or passing[i] == 0:
                continue
            caller = frame[node]
            key = cython.cast(cython.ulonglong, caller) << 32 | frame[i]
            at = numbers.get(key)
            if at >= 0:
                self.samples[at] += passing[i]
                continue
            if used == self.callee.shape[0]:
                self.following = longer(self.following, used, 2 * used)
                self.callee = longer(self.callee, used, 2 * used)
                self.samples = longer(self.samples, used, 2 * used)
            numbers.put(key, cython.cast(cython.uint, used))
            self.callee[used], self.samples[used] = frame[i], passing[i]
            self.following[used], self.first[caller] = self.first[caller], cython.cast(cython.uint, used)
            used += 1

    def count(self, caller: cython.uint, callee: cython.uint) -> cython.Py_ssize_t:
        """How many samples have a call from the return address of ``caller`` to the function of ``callee``."""
        key: cython.ulonglong = cython.cast(cython.ulonglong, caller) << 32 | callee
        found: cython.longlong
        if caller >= self.first.shape[0] or self.first[caller] == NOTHING:
            return 0
        found = self.known.get(key)
        if found < 0:
            found = self._count(caller, callee)
            self.known.put(key, cython.cast(cython.uint, found))
        return cython.cast(cython.Py_ssize_t, found)

    def _count(self, caller: cython.uint, callee: cython.uint) -> cython.uint:
        at: cython.uint = self.first[caller]
        found: cython.uint = 0
        function: cython.uint = self._function_of(callee)
        while at != NOTHING:
            if self._function_of(self.callee[at]) == function:
                found += self.samples[at]
            at = self.following[at]
        return found

    def total(self, callee: cython.uint) -> cython.Py_ssize_t:
        """How many samples have a call of the function of ``callee``."""
        function: cython.uint = self._function_of(callee)
        found: cython.longlong = self.totals.get(function)
        if found < 0:
            with cython.gil:
                found = self._total(function)
            self.totals.put(function, cython.cast(cython.uint, found))
        return cython.cast(cython.Py_ssize_t, found)

    def _total(self, function: cython.uint) -> cython.uint:
        return min(sum(self._calls_by_function().get(function, {}).values()), 0xFFFFFFFE)

    def callers(self, image: int, start: int, most: int) -> list[int]:
        """The frames of at most so many calls to the function that starts at an address of an image: those of most
        samples, in descending order."""
        by_function = self._calls_by_function()
        function = self.numbers.get((image, start), -1)
        if (function, most) not in self.heaviest:
            found = by_function.get(function, {})
            # Numbers of frames depend on which thread found them first.
            order = sorted(found, key=lambda caller: (-found[caller], self.image[caller], self.address[caller]))
            self.heaviest[function, most] = order[:most]
        return self.heaviest[function, most]

    @cython.locals(caller=cython.Py_ssize_t, at=cython.uint, function=cython.uint)
    def _calls_by_function(self) -> dict[int, dict[int, int]]:
        """By function, its callers and their samples."""
        if not self.by_function:
            for caller in range(self.first.shape[0]):
                at = self.first[caller]
                while at != NOTHING:
                    function = self._function_of(self.callee[at])
                    calls = self.by_function.setdefault(function, {})
                    calls[caller] = calls.get(caller, 0) + self.samples[at]
                    at = self.following[at]
        return self.by_function

    def _function_of(self, frame: cython.uint) -> cython.uint:
        """The number of the function that a frame is in."""
        known: cython.longlong = self.functions.get(frame)
        if known < 0:
            with cython.gil:
                known = self._number_function(frame)
            self.functions.put(frame, cython.cast(cython.uint, known))
        return cython.cast(cython.uint, known)

    def _number_function(self, frame: cython.uint) -> cython.uint:
        image: cython.uint = self.stacks.frame_image[frame]
        start: int = self.evidence.function_start(image, self.stacks.frame_address[frame])
        number: int = self.numbers.setdefault((image, start), len(self.numbers))
        return number
