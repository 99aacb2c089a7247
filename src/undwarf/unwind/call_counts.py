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
    by_function: dict[tuple[int, int], dict[int, int]]

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
        self.known, self.totals = IntMap(), IntMap()
        self.by_function = {}
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
            with cython.gil:
                found = self._count(caller, callee)
            self.known.put(key, cython.cast(cython.uint, found))
        return cython.cast(cython.Py_ssize_t, found)

    def total(self, callee: cython.uint) -> cython.Py_ssize_t:
        """How many samples have a call of the function of ``callee``."""
        found: cython.longlong = self.totals.get(callee)
        if found < 0:
            with cython.gil:
                found = self._total(callee)
            self.totals.put(callee, cython.cast(cython.uint, found))
        return cython.cast(cython.Py_ssize_t, found)

    def _total(self, callee: cython.uint) -> cython.uint:
        if not self.by_function:
            self._index()
        image: cython.uint = self.stacks.frame_image[callee]
        start: int = self.evidence.function_start(image, self.stacks.frame_address[callee])
        found: int = sum(self.by_function.get((image, start), {}).values())
        return min(found, 0xFFFFFFFE)

    def callers(self, image: int, start: int, most: int) -> list[int]:
        """The frames of at most so many calls to the function that starts at an address of an image: those of most
        samples, in descending order."""
        if not self.by_function:
            self._index()
        found = self.by_function.get((image, start), {})
        # Numbers of frames depend on which thread found them first.
        return sorted(found, key=lambda caller: (-found[caller], self.image[caller], self.address[caller]))[:most]

    @cython.locals(caller=cython.Py_ssize_t, at=cython.uint)
    def _index(self) -> None:
        """Find the calls to each function."""
        starts: dict[int, int] = {}
        for caller in range(self.first.shape[0]):
            at = self.first[caller]
            while at != NOTHING:
                callee: int = self.callee[at]
                image: int = self.image[callee]
                if callee not in starts:
                    starts[callee] = self.evidence.function_start(image, self.address[callee])
                calls = self.by_function.setdefault((image, starts[callee]), {})
                calls[caller] = calls.get(caller, 0) + self.samples[at]
                at = self.following[at]

    def _count(self, caller: cython.uint, callee: cython.uint) -> cython.uint:
        at: cython.uint = self.first[caller]
        found: cython.uint = 0
        image: cython.uint = self.stacks.frame_image[callee]
        start: int = self.evidence.function_start(image, self.stacks.frame_address[callee])
        while at != NOTHING:
            if (
                self.image[self.callee[at]] == image
                and self.evidence.function_start(image, self.address[self.callee[at]]) == start
            ):
                found += self.samples[at]
            at = self.following[at]
        return found
