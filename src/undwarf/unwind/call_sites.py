"""Calls that may lead to a function, in all images of a recording: where the caller of one is searched for."""

import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from undwarf.images import Image
from undwarf.unwind.exact_paths import CodeProof, ExactPaths
from undwarf.unwind.exact_positions import CallLevel

MAX_CALLS = 4096
"""Calls of one function, and in one function, that are looked at."""


class CallProof(CodeProof, Protocol):
    """What the code of all images says of calls, also of imports."""

    def names_of(self, image: Image, address: int, /) -> list[str]:
        """The names under which other images may call the function that holds an address."""

    def import_calls(self, image: Image, name: str, /) -> list[tuple[int, int]]:
        """The calls, in an image, of a function that it imports by name; as :meth:`calls_of`."""

    def imported_at(self, image: Image, address: int, /) -> str | None:
        """The symbol that the stub at an address jumps to; None where no stub is."""

    def function_named(self, image: Image, name: str, /) -> int | None:
        """The address of the function that an image defines under a name."""


class CallSite(NamedTuple):
    """A call: the number of its image, its return address, where the function starts that it is in, and what the code
    says of it as a call of the callee."""

    image: int
    return_address: int
    function: int
    level: CallLevel


class CallSites:
    """Answers by the images' numbers: ``image_of`` gives one of ``count()`` images, ``call_target`` what the direct
    call before a return address calls (0 for another one)."""

    def __init__(
        self,
        image_of: Callable[[int], Image],
        count: Callable[[], int],
        call_target: Callable[[int, int], int],
        proof: CallProof,
    ) -> None:
        self._image_of = image_of
        self._count = count
        self._call_target = call_target
        self._proof = proof
        self._paths: dict[int, ExactPaths] = {}
        # Walkers of several threads ask.
        self._lock = threading.RLock()

    def callers(self, number: int, address: int) -> list[CallSite]:
        """The direct calls of the function that holds an address, in its own image and where others import it."""
        with self._lock:
            image, proven = self._image_of(number), CallLevel.PROVEN
            found = [CallSite(number, *one, proven) for one in self._proof.calls_of(image, address)]
            for name in self._proof.names_of(image, address):
                for other in range(self._count()):
                    calls = self._proof.import_calls(self._image_of(other), name)
                    found += [CallSite(other, *one, proven) for one in calls]
            return found[:MAX_CALLS]

    def within(self, number: int, address: int, callee_number: int, callee_address: int) -> list[CallSite]:
        """The calls that may lead to a callee, in the function that the call before a return address (less one) calls.
        Without a callee (a negative number) all calls in that function."""
        with self._lock:
            found = []
            for other, target in self._targets(number, self._call_target(number, address + 1)):
                image = self._image_of(other)
                function = self._proof.function_of(image, target)
                if function[0] != target:
                    continue
                if image.number not in self._paths:
                    self._paths[image.number] = ExactPaths(image)
                for site in self._paths[image.number].calls_within(*function):
                    level = CallLevel.POSSIBLE
                    if callee_number >= 0:
                        level = self._proof.level(image, site - 1, self._image_of(callee_number), callee_address)
                    if level >= CallLevel.POSSIBLE:
                        found.append(CallSite(other, site, target, level))
            return found[:MAX_CALLS]

    def _targets(self, number: int, target: int) -> Iterator[tuple[int, int]]:
        """(image, address) of the functions that a call of an address calls: several where images export one name."""
        name = self._proof.imported_at(self._image_of(number), target) if target else None
        if name is None:
            if target:
                yield number, target
            return
        for other in range(self._count()):
            found = self._proof.function_named(self._image_of(other), name)
            if found is not None:
                yield other, found
