"""What code says of precise samples: positions that control flow reaches from an instruction, and calls of functions.

The kernel states the exact instruction of a precise sample, but registers and stack of up to some instructions later.
Each position that can be reached within REACH instructions is one hypothesis: in the same function, in a function that
it jumped or called to, or past its return. Code is decoded for x86-64 alone: precise events of AArch64 have no stack.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from undwarf.disasm import Flow, machine_of
from undwarf.images import Image
from undwarf.unwind.exact_positions import CallLevel, Position

if TYPE_CHECKING:
    from undwarf.disasm.listing import Listing

REACH = 12
"""Instructions that the state may be late, as far as it is looked for."""
MAX_POSITIONS = 96
"""Positions that are looked at, those of fewest instructions first."""
MAX_SITES = 64
"""Calls of a function that may be the one it returned from."""
MAX_FUNCTION = 1 << 18
"""Bytes of a function whose calls are looked for."""
WINDOW = 96
"""Bytes of code that are decoded at once."""
LONGEST_INSTRUCTION = 15


class CodeProof(Protocol):
    """What the code of all images says of calls."""

    def level(self, image: Image, address: int, callee_image: Image, callee_address: int, /) -> CallLevel:
        """Whether the call that ends at a return address (less one) may lead to the function that holds an address."""

    def function_of(self, image: Image, address: int, /) -> tuple[int, int]:
        """The start and end of the function that holds an address."""

    def calls_of(self, image: Image, address: int, /) -> list[tuple[int, int]]:
        """The direct calls, in its image, of the function that holds an address: their return addresses, and where the
        functions start that they are in."""


class Entry(NamedTuple):
    """One hypothesis. Addresses are the file's."""

    position: Position
    address: int
    return_address: int
    levels: int
    steps: int


class Site(NamedTuple):
    """A call: its return address, and where the function starts that it is in."""

    return_address: int
    function: int


class ExactPaths:
    """Positions near instructions of one image, and calls of its functions."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self._elf = image.elf
        self._machine = machine_of(self._elf.machine) if self._elf is not None else None
        self._windows: dict[int, dict[int, tuple[int, int, int]]] = {}

    def entries(self, address: int) -> list[Entry]:
        """The hypotheses for a sample at an address, by steps; the first: the state is the instruction's own."""
        found: list[Entry] = []
        waiting: deque[tuple[int, int, tuple[int, ...]]] = deque([(0, address, ())])
        seen: set[tuple[int, tuple[int, ...]]] = set()
        others: set[tuple[Position, int]] = set()

        def other(position: Position, back: int, steps: int) -> None:
            if (position, back) not in others:
                others.add((position, back))
                found.append(Entry(position, address, back, 0, steps))

        while waiting and len(seen) < MAX_POSITIONS:
            steps, at, returns = waiting.popleft()
            if (at, returns) in seen:
                continue
            seen.add((at, returns))
            if returns:
                found.append(Entry(Position.IN_CALLEE, at, returns[0], len(returns), steps))
            else:
                found.append(Entry(Position.IN_FRAME, at, 0, 0, steps))
            instruction = self._instruction(at) if steps < REACH else None
            if instruction is None:
                continue
            flow, target, after = instruction
            if flow in (Flow.JUMP, Flow.BRANCH):
                waiting.append((steps + 1, target, returns))
            if flow in (Flow.NEXT, Flow.BRANCH):
                waiting.append((steps + 1, after, returns))
            elif flow == Flow.CALL:
                waiting.append((steps + 1, target, (*returns, after)))
            elif flow == Flow.INDIRECT_CALL:
                other(Position.IN_UNKNOWN_CALLEE, returns[0] if returns else after, steps + 1)
                waiting.append((steps + 2, after, returns))
            elif flow == Flow.INDIRECT_JUMP and returns:
                other(Position.IN_UNKNOWN_CALLEE, returns[0], steps + 1)
                waiting.append((steps + 2, returns[-1], returns[:-1]))
            elif flow == Flow.RETURN and returns:
                waiting.append((steps + 1, returns[-1], returns[:-1]))
            elif flow == Flow.RETURN:
                other(Position.PAST_RETURN, 0, steps + 1)
            elif flow == Flow.INDIRECT_JUMP:
                other(Position.PAST_JUMP, 0, steps + 1)
                other(Position.PAST_RETURN, 0, steps + 2)
        return sorted(found, key=lambda one: one.steps)

    def distance(self, start: int, end: int) -> int | None:
        """Instructions from an address to a later one in the same code, if no call, return or jump is between them."""
        count = 0
        while start < end:
            instruction = self._instruction(start)
            # What calls the kernel has no target.
            if instruction is None or not (
                instruction[0] in (Flow.NEXT, Flow.BRANCH) or (instruction[0] == Flow.CALL and not instruction[1])
            ):
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
        for known in self._windows.values():
            if address in known:
                return known[address]
        decoded = self._decode(address)
        if len(self._windows) >= 8:
            self._windows.pop(next(iter(self._windows)))
        self._windows[address] = decoded
        return decoded.get(address)

    def _decode(self, address: int) -> dict[int, tuple[int, int, int]]:
        listing = self._listing(address, WINDOW)
        if listing is None:
            return {}
        rows = zip(listing.offsets, listing.lengths, listing.flows, listing.targets, strict=True)
        # The window may end inside of its last instruction.
        return {
            address + offset: (flow & 15, target, address + offset + length)
            for offset, length, flow, target in rows
            if offset <= WINDOW - LONGEST_INSTRUCTION
        }

    def _listing(self, address: int, size: int) -> "Listing | None":
        """The instructions of at most so many bytes from an address on, up to the end of its segment."""
        if self._elf is None:
            return None
        ends = (one.address + one.file_size for one in self._elf.loads if 0 <= address - one.address < one.file_size)
        code = self._elf.read(address, min(size, max(0, next(ends, address) - address)))
        return self._machine.listing(bytes(code), address) if code is not None and self._machine is not None else None

    def calls_within(self, start: int, end: int) -> list[int]:
        """The return addresses of all calls of code from ``start`` to ``end``."""
        listing = self._listing(start, min(end - start, MAX_FUNCTION))
        if listing is None:
            return []
        return [
            start + offset + length
            for offset, length, flow in zip(listing.offsets, listing.lengths, listing.flows, strict=True)
            if flow & 15 in (Flow.CALL, Flow.INDIRECT_CALL)
        ]


class CodeEvidence:
    """Answers for all images of a recording, by number: ``image_of`` gives an image, ``call_target`` what the direct
    call before a return address calls (0 for another one)."""

    def __init__(
        self,
        image_of: Callable[[int], Image],
        call_target: Callable[[int, int], int],
        proof: CodeProof,
    ) -> None:
        self._image_of = image_of
        self._call_target = call_target
        self._proof = proof
        self._paths: dict[int, ExactPaths] = {}
        # Walkers of several threads ask.
        self._lock = threading.RLock()

    def _paths_of(self, number: int) -> ExactPaths:
        """The positions and calls of an image."""
        image = self._image_of(number)
        found = self._paths.get(image.number)
        if found is None:
            found = self._paths[image.number] = ExactPaths(image)
        return found

    def entries(self, number: int, address: int) -> list[Entry]:
        """As :meth:`ExactPaths.entries`."""
        with self._lock:
            return self._paths_of(number).entries(address)

    def distance(self, number: int, start: int, end: int) -> int | None:
        """As :meth:`ExactPaths.distance`."""
        with self._lock:
            return self._paths_of(number).distance(start, end)

    def flow(self, number: int, address: int) -> tuple[int, int] | None:
        """As :meth:`ExactPaths.flow`."""
        with self._lock:
            return self._paths_of(number).flow(address)

    def call_level(self, number: int, address: int, callee_number: int, callee_address: int) -> CallLevel:
        """As :meth:`CodeProof.level`, by the images' numbers."""
        with self._lock:
            return self._proof.level(self._image_of(number), address, self._image_of(callee_number), callee_address)

    def sites_of(self, number: int, address: int) -> list[Site]:
        """The direct calls of the function that holds an address."""
        with self._lock:
            return [Site(*one) for one in self._proof.calls_of(self._image_of(number), address)[:MAX_SITES]]

    def sites_between(self, number: int, address: int, callee_number: int, callee_address: int) -> list[Site]:
        """The calls that may lead to a callee, in the function that the direct call before a return address (less one)
        calls; of calls that do, if there are any, those alone."""
        with self._lock:
            return self._sites_between(number, address, callee_number, callee_address)

    def _sites_between(self, number: int, address: int, callee_number: int, callee_address: int) -> list[Site]:
        target = self._call_target(number, address + 1)
        image, callee = self._image_of(number), self._image_of(callee_number)
        function = self._proof.function_of(image, target)
        if function[0] != target:
            return []
        found: dict[CallLevel, list[int]] = {CallLevel.POSSIBLE: [], CallLevel.PROVEN: []}
        for site in self._paths_of(number).calls_within(*function):
            found.get(self._proof.level(image, site - 1, callee, callee_address), []).append(site)
        return [Site(site, target) for site in (found[CallLevel.PROVEN] or found[CallLevel.POSSIBLE])[:MAX_SITES]]
