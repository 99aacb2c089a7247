# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Which pairs of caller and callee are a direct call of that function: most of a profile's, found without looking at
each."""

from collections.abc import Callable, Iterable
from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import ALL_ONES

from undwarf.column import absent, zeros
from undwarf.ordering import group

CALL = cython.declare(cython.uchar, 0xE8)
"""x86-64's `call` with a 32-bit displacement (Intel SDM, volume 2)."""
LENGTH = cython.declare(cython.ulonglong, 5)


class DirectCalls:
    """The functions of frames and the targets of the direct calls before them, by the frame's number. ``image`` (I),
    ``address`` (Q): of each frame, a caller's being its return address less one."""

    def __init__(self, image: memoryview, address: memoryview) -> None:
        self._image = image
        self._address = address
        self._starts = zeros("Q", len(image))
        self._targets = absent("Q", len(image))

    def find(
        self,
        images: int,
        functions_of: Callable[[int], Iterable[tuple[memoryview, memoryview]]],
        code_of: Callable[[int], Iterable[tuple[int, memoryview]]],
    ) -> None:
        """Find them in all of so many images: ``functions_of`` one gives (starts, ends) of its functions, several where
        they are of several sources, ``code_of`` (address, bytes) of its code."""
        order, starts = group(self._image, images)
        for image in range(images):
            first, end = starts[image], starts[image + 1]
            sections = list(code_of(image)) if first < end else []
            if not sections:
                continue
            frames = order[first:end]
            for address, code in sections:
                _find_targets(frames, self._address, code, address, self._targets)
            for ranges in functions_of(image):
                _find_starts(frames, self._address, *ranges, self._starts)

    def are_calls(self, callers: memoryview, callees: memoryview) -> bytes:
        """For each pair of frames (I) 1 if it is a direct call of the callee's function, in the same image."""
        found = zeros("B", len(callers))
        _compare(callers, callees, self._image, self._targets, self._starts, found)
        return bytes(found)


@cython.locals(
    numbers="const unsigned int[::1]", addresses="const unsigned long long[::1]", code="const unsigned char[::1]",
    targets="unsigned long long[::1]", base=cython.ulonglong, size=cython.ulonglong, at=cython.ulonglong,
    i=cython.Py_ssize_t, k=cython.Py_ssize_t, value=cython.uint, back=cython.ulonglong,
)  # fmt: skip
def _find_targets(frames: Any, address: Any, section: Any, start: int, into: Any) -> None:
    """The targets of the calls before return addresses in some code."""
    numbers, addresses, code, targets, base = frames, address, section, into, start
    size = code.shape[0]
    for i in range(numbers.shape[0]):
        back = addresses[numbers[i]] + 1
        if back - base < LENGTH or back - base > size:
            continue
        at = back - base - LENGTH
        if code[at] != CALL:
            continue
        value = 0
        for k in range(4):
            value |= cython.cast(cython.uint, code[at + 1 + k]) << 8 * k
        targets[numbers[i]] = back + cython.cast(cython.ulonglong, cython.cast(cython.int, value))


@cython.locals(
    numbers="const unsigned int[::1]", addresses="const unsigned long long[::1]",
    first="const unsigned long long[::1]", last="const unsigned long long[::1]", found="unsigned long long[::1]",
    i=cython.Py_ssize_t, low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t, one=cython.ulonglong,
    start=cython.ulonglong,
)  # fmt: skip
def _find_starts(frames: Any, address: Any, starts: Any, ends: Any, into: Any) -> None:
    """The starts of functions, or of the gaps between them, where they are later than those found before."""
    numbers, addresses, first, last, found = frames, address, starts, ends, into
    for i in range(numbers.shape[0]):
        one = addresses[numbers[i]]
        low, high = 0, min(first.shape[0], last.shape[0])
        while low < high:
            middle = (low + high) >> 1
            if first[middle] <= one:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            continue
        start = first[low - 1] if last[low - 1] > one else last[low - 1]
        if start > found[numbers[i]]:
            found[numbers[i]] = start


@cython.locals(
    caller="const unsigned int[::1]", callee="const unsigned int[::1]", images="const unsigned int[::1]",
    target="const unsigned long long[::1]", start="const unsigned long long[::1]", found="unsigned char[::1]",
    i=cython.Py_ssize_t, frames=cython.uint,
)  # fmt: skip
def _compare(callers: Any, callees: Any, image: Any, targets: Any, starts: Any, into: Any) -> None:
    caller, callee, images, target, start, found = callers, callees, image, targets, starts, into
    frames = cython.cast(cython.uint, images.shape[0])
    for i in range(caller.shape[0]):
        # The caller of a root is none.
        if caller[i] < frames and callee[i] < frames and images[caller[i]] == images[callee[i]]:
            found[i] = target[caller[i]] != ALL_ONES and target[caller[i]] == start[callee[i]]
