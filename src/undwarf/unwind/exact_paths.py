"""What code says of precise samples: positions that control flow reaches from an instruction, and calls of functions.

The kernel states the exact instruction of a precise sample, but registers and stack of up to some instructions later.
Each position that can be reached within REACH instructions is one hypothesis: in the same function, in a function that
it jumped or called to, or past its return. Code is decoded for x86-64 alone: precise events of AArch64 have no stack.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from undwarf.disasm import Flow, machine_of
from undwarf.images import Image
from undwarf.unwind.exact_positions import ALL_PATHS, REACH, CallLevel, Position

if TYPE_CHECKING:
    from undwarf.disasm.listing import Listing

MAX_POSITIONS = 96
"""Positions that are looked at, those of fewest instructions first."""
MAX_SITES = 64
"""Calls of a function that may be the one it returned from."""
MAX_FUNCTION = 1 << 18
"""Bytes of a function whose calls are looked for."""
WINDOW = 96
"""Bytes of code that are decoded at once."""
MAX_INSTRUCTIONS = 1 << 16
"""Decoded instructions of an image that are kept."""
LONGEST_INSTRUCTION = 15
NO_IMAGE = 0xFFFFFFFF
SYSTEM_CALL = b"\x0f\x05"
THROUGH_MEMORY = {b"\xff\x15": Flow.CALL, b"\xff\x25": Flow.JUMP}
"""`call` and `jmp *offset(%rip)`, by how they begin."""
MEMORY_LENGTH = 6
CALLS = (Flow.CALL, Flow.INDIRECT_CALL)


class CodeProof(Protocol):
    """What the code of all images says of calls."""

    def level(self, image: Image, address: int, callee_image: Image, callee_address: int, /) -> CallLevel:
        """Whether the call that ends at a return address (less one) may lead to the function that holds an address."""

    def calls_to(
        self, callee_image: Image, callee_address: int, others: tuple[Image, ...], /
    ) -> "Mapping[Image, EnteringCalls]":
        """By image the calls that may enter the function that holds an address, in its image and ``others``, which may
        jump there as well."""

    def entry_level(self, image: Image, address: int, callee_image: Image, callee_address: int, /) -> CallLevel:
        """As ``level``, without a search for pointers to the function: an indirect call is UNKNOWN."""

    def called_function(self, image: Image, address: int, others: Iterable[Image], /) -> tuple[Image, int, int] | None:
        """The image, start and end of the function that the call before a return address (less one) names; an imported
        one is looked for in ``others``. None where the call names none."""

    def is_pointed_to(self, image: Image, address: int, /) -> bool:
        """Whether the function at an address may be called through a pointer."""

    def function_start(self, image: Image, address: int, /) -> int:
        """The start of the function at an address."""

    def function_in(self, image: Image, slot: int, /) -> int | None:
        """The function of an image whose address a slot of its global offset table has."""


class EnteringCalls(Protocol):
    """Calls that may enter a function."""

    @property
    def return_addresses(self) -> list[int]:
        """The addresses after the calls, ascending."""

    @property
    def direct(self) -> list[bool]:
        """Whether each call names the function; others go to functions that jump to it."""


class PathPosition(NamedTuple):
    """A position and the fewest instructions to it. Addresses are the file's. ``weight``: the share of paths that go
    through it, of ALL_PATHS."""

    position: Position
    address: int
    return_address: int
    levels: int
    steps: int
    weight: int


class Site(NamedTuple):
    """A call: the number of its image, its return address, where its function starts, and how well the code proves that
    it enters the callee."""

    image: int
    return_address: int
    function: int
    level: CallLevel


_Successor = tuple[Position | None, int, tuple[int, ...], int, int]
"""A position, or an address to go on at, with the return addresses of the calls that led there, a weight, and how many
instructions further it is."""


class ExactPaths:
    """Positions near instructions of one image, and calls of its functions."""

    def __init__(self, image: Image, proof: CodeProof) -> None:
        self.image = image
        self._proof = proof
        self._elf = image.elf
        self._machine = machine_of(self._elf.machine) if self._elf is not None else None
        self._instructions: dict[int, tuple[int, int, int]] = {}
        self._calls: dict[tuple[int, int, tuple[Flow, ...]], list[int]] = {}

    def positions(self, address: int) -> list[PathPosition]:
        """The positions reached from an address, by the number of instructions; the first is that of the address."""
        found: dict[tuple[Position, int, int, int], list[int]] = {}
        # By the number of instructions: (address, return addresses of the calls that led there), and its weight.
        states: list[dict[tuple[int, tuple[int, ...]], int]] = [{} for _ in range(REACH + 3)]
        states[0][address, ()] = ALL_PATHS

        def add(position: Position, at: int, returns: tuple[int, ...], steps: int, weight: int) -> None:
            key = (position, at, returns[0] if returns else 0, len(returns))
            if key in found or len(found) < MAX_POSITIONS:
                found.setdefault(key, [steps, 0])[1] += weight

        for steps in range(REACH + 1):
            for (at, returns), weight in states[steps].items():
                add(Position.IN_CALLEE if returns else Position.IN_FRAME, at, returns, steps, weight)
                if steps == REACH or len(found) == MAX_POSITIONS:
                    continue
                for position, after, deeper, share, further in self._successors(at, returns, weight):
                    if position is not None:
                        add(position, address, deeper, steps + further, share)
                    else:
                        following = states[steps + further]
                        following[after, deeper] = following.get((after, deeper), 0) + share
        return [PathPosition(*key, *value) for key, value in found.items()]

    def _successors(self, at: int, returns: tuple[int, ...], weight: int) -> Iterator[_Successor]:
        """What follows an instruction that calls, which return to ``returns``, have led to."""
        instruction = self._instruction(at)
        if instruction is None:
            return
        flow, target, after = instruction
        half = max(1, weight // 2)
        if flow == Flow.NEXT:
            yield None, after, returns, weight, 1
        elif flow == Flow.JUMP:
            yield None, target, returns, weight, 1
        elif flow == Flow.BRANCH:
            yield None, after, returns, half, 1
            yield None, target, returns, half, 1
        elif flow == Flow.CALL:
            yield None, target, (*returns, after), weight, 1
        elif flow == Flow.INDIRECT_CALL:
            yield Position.IN_UNKNOWN_CALLEE, at, (*returns, after)[:1], weight, 1
            yield None, after, returns, half, 2
        elif flow == Flow.INDIRECT_JUMP and returns:
            yield Position.IN_UNKNOWN_CALLEE, at, returns[:1], weight, 1
            yield None, returns[-1], returns[:-1], half, 2
        elif flow == Flow.RETURN and returns:
            yield None, returns[-1], returns[:-1], weight, 1
        elif flow == Flow.RETURN:
            yield Position.PAST_RETURN, at, (), weight, 1
        elif flow == Flow.INDIRECT_JUMP:
            yield Position.PAST_JUMP, at, (), weight, 1
            yield Position.PAST_RETURN, at, (), half, 2

    def distance(self, start: int, end: int) -> int | None:
        """Instructions from an address to a later one in the same code, if no call, return or jump is between them."""
        count = 0
        while start < end:
            instruction = self._instruction(start)
            if instruction is None or instruction[0] not in (Flow.NEXT, Flow.BRANCH):
                return None
            start = instruction[2]
            count += 1
        return count if start == end else None

    def flow(self, address: int) -> tuple[int, int] | None:
        """The flow and the length of the instruction at an address."""
        instruction = self._instruction(address)
        return (instruction[0], instruction[2] - address) if instruction is not None else None

    def _instruction(self, address: int) -> tuple[int, int, int] | None:
        """(flow, target, address of the next one) of the instruction at an address; None where there is no code."""
        found = self._instructions.get(address)
        if found is None:
            if len(self._instructions) > MAX_INSTRUCTIONS:
                self._instructions.clear()
            self._instructions.update(self._decode(address))
            found = self._instructions.get(address)
        return found

    def _decode(self, address: int) -> dict[int, tuple[int, int, int]]:
        listing = self._listing(address, WINDOW)
        if listing is None or self._elf is None:
            return {}
        code = bytes(self._elf.read(address, WINDOW) or b"")
        found = {}
        for offset, length, flow, target in zip(
            listing.offsets, listing.lengths, listing.flows, listing.targets, strict=True
        ):
            # The window may end inside of its last instruction.
            if offset > WINDOW - LONGEST_INSTRUCTION:
                break
            after = address + offset + length
            flow &= 15
            start = code[offset : offset + 2]
            if start == SYSTEM_CALL:
                # It goes on after the call.
                flow = Flow.NEXT
            elif start in THROUGH_MEMORY and length == MEMORY_LENGTH:
                slot = after + int.from_bytes(code[offset + 2 : offset + length], "little", signed=True)
                function = self._proof.function_in(self.image, slot)
                if function is not None:
                    flow, target = THROUGH_MEMORY[start], function
            found[address + offset] = (flow, target, after)
        return found

    def _listing(self, address: int, size: int) -> "Listing | None":
        """The instructions of at most so many bytes from an address on, up to the end of its segment."""
        if self._elf is None:
            return None
        ends = (one.address + one.file_size for one in self._elf.loads if 0 <= address - one.address < one.file_size)
        code = self._elf.read(address, min(size, max(0, next(ends, address) - address)))
        return self._machine.listing(bytes(code), address) if code is not None and self._machine is not None else None

    def first_instructions(self, address: int) -> list[bytes]:
        """The bytes of the instructions from an address on, up to the first that jumps, calls or returns, at most those
        in WINDOW bytes."""
        listing = self._listing(address, WINDOW)
        code = self._elf.read(address, WINDOW) if self._elf is not None else None
        if listing is None or code is None:
            return []
        found = []
        for offset, length, flow in zip(listing.offsets, listing.lengths, listing.flows, strict=True):
            if flow & 15 != Flow.NEXT or offset + length > len(code):
                break
            found.append(bytes(code[offset : offset + length]))
        return found

    def calls_within(self, start: int, end: int, flows: tuple[Flow, ...] = CALLS) -> list[int]:
        """The return addresses of calls in code from ``start`` to ``end``, of all or some kinds."""
        key = start, end, flows
        if key not in self._calls:
            listing = self._listing(start, min(end - start, MAX_FUNCTION))
            rows = zip(listing.offsets, listing.lengths, listing.flows, strict=True) if listing is not None else ()
            self._calls[key] = [start + offset + length for offset, length, flow in rows if flow & 15 in flows]
        return self._calls[key]


class CodeEvidence:
    """Answers for all images of a recording, by number: ``image_of`` gives an image."""

    def __init__(
        self,
        image_of: Callable[[int], Image],
        proof: CodeProof,
    ) -> None:
        self._image_of = image_of
        self._proof = proof
        self._paths: dict[int, ExactPaths] = {}
        self._called: dict[tuple[int, int, tuple[int, ...]], tuple[Image, int, int] | None] = {}
        self._image_sets: dict[tuple[int, ...], tuple[dict[Image, int], tuple[Image, ...]]] = {}
        # Walkers of several threads ask.
        self.lock = threading.RLock()

    def paths_of(self, image: Image) -> ExactPaths:
        """The positions and calls of an image; ``lock`` must be held."""
        found = self._paths.get(image.number)
        if found is None:
            found = self._paths[image.number] = ExactPaths(image, self._proof)
        return found

    def positions(self, number: int, address: int) -> list[PathPosition]:
        """As :meth:`ExactPaths.positions`."""
        with self.lock:
            return self.paths_of(self._image_of(number)).positions(address)

    def function_start(self, number: int, address: int) -> int:
        """As :meth:`CodeProof.function_start`."""
        if number == NO_IMAGE:
            return address
        with self.lock:
            return self._proof.function_start(self._image_of(number), address)

    def distance(self, number: int, start: int, end: int) -> int | None:
        """As :meth:`ExactPaths.distance`."""
        with self.lock:
            return self.paths_of(self._image_of(number)).distance(start, end)

    def flow(self, number: int, address: int) -> tuple[int, int] | None:
        """As :meth:`ExactPaths.flow`."""
        with self.lock:
            return self.paths_of(self._image_of(number)).flow(address)

    def call_level(self, number: int, address: int, callee_number: int, callee_address: int) -> CallLevel:
        """As :meth:`CodeProof.level`, by the images' numbers; UNKNOWN where one of them is in no image."""
        if NO_IMAGE in (number, callee_number):
            return CallLevel.UNKNOWN
        with self.lock:
            return self._proof.level(self._image_of(number), address, self._image_of(callee_number), callee_address)

    def entry_level(self, number: int, address: int, callee_number: int, callee_address: int) -> CallLevel:
        """As :meth:`CodeProof.entry_level`, by the images' numbers; UNKNOWN where one of them is in no image."""
        if NO_IMAGE in (number, callee_number):
            return CallLevel.UNKNOWN
        with self.lock:
            return self._proof.entry_level(
                self._image_of(number), address, self._image_of(callee_number), callee_address
            )

    def _images(self, numbers: tuple[int, ...]) -> tuple[dict[Image, int], tuple[Image, ...]]:
        """Images by number, and in order."""
        if numbers not in self._image_sets:
            images = {self._image_of(one): one for one in numbers}
            self._image_sets[numbers] = images, tuple(images)
        return self._image_sets[numbers]

    def direct_calls(self, number: int, address: int, others: tuple[int, ...]) -> list[Site]:
        """The calls, in its own and ``others``, the images of the process, that name the function at an address, or
        functions that jump to it; those of an image that has more than MAX_SITES are left out."""
        with self.lock:
            callee = self._image_of(number)
            images, order = self._images(others)
            found = []
            for image, calls in self._proof.calls_to(callee, address, order).items():
                if len(calls.return_addresses) <= MAX_SITES:
                    at = number if image is callee else images[image]
                    found += [self._site(at, image, calls, k) for k in range(len(calls.return_addresses))]
            return found

    def with_seen(self, sites: list[Site], calls: Iterable[tuple[int, int]]) -> list[Site]:
        """Calls, and further ones that were seen to enter the function, by the numbers of their images and return
        addresses."""
        known = {(one.image, one.return_address) for one in sites}
        return sites + [
            Site(number, back, self.function_start(number, back - 1), CallLevel.POSSIBLE)
            for number, back in calls
            if (number, back) not in known and number != NO_IMAGE
        ]

    def calls_within(
        self, number: int, address: int, callee_number: int, callee_address: int, others: tuple[int, ...]
    ) -> list[Site]:
        """The calls that may enter a callee without :meth:`direct_calls` in the function that is called before a return
        address (less one). If that call names none: in the functions of the callee's image that have pointers.
        ``others``: the images of the process."""
        with self.lock:
            images, order = self._images(others)
            callee = self._image_of(callee_number)
            calls_to = self._proof.calls_to(callee, callee_address, order)
            called = number, address, others
            if called not in self._called:
                self._called[called] = self._proof.called_function(self._image_of(number), address, order)
            found = self._called[called]
            if found is None:
                return self._calls_by_pointed(callee_number, callee, calls_to)
            image, start, end = found
            at = images.get(image, number)
            calls = calls_to.get(image)
            if calls is not None:
                first, last = bisect_right(calls.return_addresses, start), bisect_right(calls.return_addresses, end)
                if first < last:
                    return [self._site(at, image, calls, k) for k in range(first, last)][:MAX_SITES]
            if not self._proof.is_pointed_to(callee, callee_address):
                return []
            indirect = self.paths_of(self._image_of(at)).calls_within(start, end, (Flow.INDIRECT_CALL,))
            return [Site(at, back, start, CallLevel.POSSIBLE) for back in indirect[:MAX_SITES]]

    def _calls_by_pointed(self, number: int, image: Image, calls_to: "Mapping[Image, EnteringCalls]") -> list[Site]:
        calls = calls_to.get(image)
        if calls is None:
            return []
        found = []
        for k, back in enumerate(calls.return_addresses):
            if self._proof.is_pointed_to(image, back - 1):
                found.append(self._site(number, image, calls, k))
                if len(found) > MAX_SITES:
                    return []
        return found

    def _site(self, number: int, image: Image, calls: EnteringCalls, k: int) -> Site:
        back = calls.return_addresses[k]
        level = CallLevel.PROVEN if calls.direct[k] else CallLevel.POSSIBLE
        return Site(number, back, self._proof.function_start(image, back - 1), level)
