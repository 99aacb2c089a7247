"""Calls that may lead to a function, in all images of a recording: where the caller of one is searched for."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from undwarf.images import Image, ImageKind
from undwarf.unwind.exact_paths import MAX_FUNCTION, NO_IMAGE, CodeEvidence, CodeProof
from undwarf.unwind.exact_positions import CallLevel

MAX_CALLS = 4096
"""Calls of one function, and in one function, that are looked at."""
WITH_CALLS = (ImageKind.FILE, ImageKind.VDSO)
"""Kinds of images that may call the functions of others."""


RETURN_ADDRESS = 8
SUBTRACT_BYTE, SUBTRACT_LONG, ADD_BYTE, ALIGN = b"\x48\x83\xec", b"\x48\x81\xec", b"\x48\x83\xc4", b"\x48\x83\xe4"
"""``sub``, ``add`` (of -128) and ``and`` of the stack pointer with a constant (Intel SDM, volume 2)."""
SUBTRACT_REGISTER = re.compile(rb"[\x48\x4c]\x29[\xc4\xcc\xd4\xdc\xe4\xec\xf4\xfc]")
"""``sub`` of a register from it, as by ``alloca``."""


class CallProof(CodeProof, Protocol):
    """What the code of all images says of calls, also of imports."""

    def function_of(self, image: Image, address: int, /) -> tuple[int, int]:
        """The start and end of the function that holds an address."""

    def imported_at(self, image: Image, address: int, /) -> str | None:
        """The symbol that the stub at an address jumps to; None where no stub is."""

    def has_pointer(self, image: Image, start: int, others: Iterable[Image], /) -> bool:
        """Whether a pointer to the function at an address, or to one that jumps there, is in its image or in others.
        Dynamic symbols do not count: few exported functions are ever called through a pointer."""

    def function_named(self, image: Image, name: str, /) -> int | None:
        """The address of the function that an image defines under a name."""


class CallSite(NamedTuple):
    """A call: the number of its image, its return address, where the function starts that it is in, what the code says
    of it as a call of the callee, and the bytes of the function's frame at its calls (0: unknown, negative: more than
    so many)."""

    image: int
    return_address: int
    function: int
    level: CallLevel
    size: int


class CallSites:
    """Answers by the images' numbers: ``image_of`` gives one of ``count()`` images, ``call_target`` what the direct
    call before a return address calls (0 for another one), ``evidence`` the code of images, which it shares."""

    def __init__(
        self,
        image_of: Callable[[int], Image],
        count: Callable[[], int],
        call_target: Callable[[int, int], int],
        proof: CallProof,
        evidence: CodeEvidence,
    ) -> None:
        self._image_of = image_of
        self._count = count
        self._call_target = call_target
        self._proof = proof
        self._evidence = evidence
        self._sizes: dict[tuple[int, int], int] = {}

    def callers(self, number: int, address: int) -> list[CallSite]:
        """The calls that name the function that holds an address, or one that jumps to it, in its own image and where
        others import them."""
        if number == NO_IMAGE:
            return []
        with self._evidence.lock:
            callee = self._image_of(number)
            numbers = {callee: number} | {
                image: other for other in range(self._count()) if (image := self._image_of(other)).kind in WITH_CALLS
            }
            found = [
                CallSite(numbers[image], back, function, CallLevel.PROVEN, self._frame_size(image, function))
                for image, calls in self._proof.calls_to(callee, address, tuple(numbers)).items()
                for back in calls.return_addresses
                for function in (self._proof.function_start(image, back - 1),)
            ]
            return found[:MAX_CALLS]

    def has_pointer(self, number: int, function: int) -> bool:
        """As :meth:`CallProof.has_pointer`, by the number of an image, for all images of the recording."""
        with self._evidence.lock:
            others = [one for other in range(self._count()) if (one := self._image_of(other)).kind in WITH_CALLS]
            return self._proof.has_pointer(self._image_of(number), function, others)

    def within(self, number: int, address: int, callee_number: int, callee_address: int) -> list[CallSite]:
        """The calls that may lead to a callee, in the function that the call before a return address (less one) calls.
        Without a callee (a negative number) all calls in that function."""
        if callee_number == NO_IMAGE:
            callee_number = -1
        with self._evidence.lock:
            found = []
            for other, target in self._targets(number, self._call_target(number, address + 1)):
                image = self._image_of(other)
                function = self._proof.function_of(image, target)
                if function[0] != target:
                    continue
                size = self._frame_size(image, target)
                for site in self._evidence.paths_of(image).calls_within(*function):
                    level = CallLevel.POSSIBLE
                    if callee_number >= 0:
                        level = self._proof.level(image, site - 1, self._image_of(callee_number), callee_address)
                    if level >= CallLevel.POSSIBLE:
                        found.append(CallSite(other, site, target, level, size))
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

    def _frame_size(self, image: Image, function: int) -> int:
        """The bytes between a function's call frame address and its stack pointer, after what its first instructions
        push and subtract; 0 where they align the stack pointer or cannot be read. Frames of variable size have more:
        negative."""
        key = image.number, function
        if key not in self._sizes:
            self._sizes[key] = self._find_frame_size(image, function)
        return self._sizes[key]

    def _find_frame_size(self, image: Image, function: int) -> int:
        start, end = self._proof.function_of(image, function)
        body = image.read(start, min(end - start, MAX_FUNCTION))
        if body is None:
            return 0
        sign = -1 if SUBTRACT_REGISTER.search(body) else 1
        size = RETURN_ADDRESS
        for code in self._evidence.paths_of(image).first_instructions(function):
            # push, with and without a REX prefix
            if code[0] & 0xF8 == 0x50 or (code[0] == 0x41 and code[1] & 0xF8 == 0x50):
                size += 8
            elif code[:3] in (SUBTRACT_BYTE, SUBTRACT_LONG):
                return sign * (size + int.from_bytes(code[3:], "little", signed=True))
            elif code[:3] == ADD_BYTE:
                return sign * (size - int.from_bytes(code[3:], "little", signed=True))
            elif code[:3] == ALIGN:
                return 0
        return sign * size if size > RETURN_ADDRESS else 0
