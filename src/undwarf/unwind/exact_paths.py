"""What code says of precise samples, for all images of a recording: instructions, paths from them, calls of functions.

The kernel states the exact instruction of a precise sample, but registers and stack of up to some instructions later.
Each position that control flow reaches by then is one hypothesis: in the same function, in a function that it jumped or
called to, or past its return. Code is decoded for x86-64 alone: precise events of AArch64 have no stack.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from undwarf.disasm import Flow, Instruction, machine_of
from undwarf.disasm.listing_search import with_flows
from undwarf.disasm.x86_flows import FlowDecoder
from undwarf.elf.headers import EM_X86_64
from undwarf.images import Image
from undwarf.unwind.call_values import CallValues
from undwarf.unwind.exact_positions import CallLevel
from undwarf.unwind.frame_depths import UNKNOWN, FrameDepths
from undwarf.unwind.instruction_flows import InstructionFlows
from undwarf.unwind.path_values import End, PathValues
from undwarf.unwind.symbolic_state import Facts

if TYPE_CHECKING:
    from undwarf.disasm.listing import Listing

MAX_FUNCTION = 1 << 18
"""Bytes of a function whose calls are looked for."""
MAX_WINDOW = 96
"""Bytes of code whose instructions are decoded at once."""
NO_IMAGE = 0xFFFFFFFF
LONGEST_INSTRUCTION = 15
MAX_INSTRUCTIONS = 1 << 14
"""Instructions of an image that are kept with their effects."""
CALLS = 1 << Flow.CALL | 1 << Flow.INDIRECT_CALL
DIRECT_JUMPS = 1 << Flow.JUMP | 1 << Flow.BRANCH
LEAVING = CALLS | 1 << Flow.JUMP | 1 << Flow.INDIRECT_JUMP | 1 << Flow.RETURN | 1 << Flow.STOP
MAX_BLOCKS = 256
"""Functions whose blocks are kept."""


class CodeProof(Protocol):
    """What the code of all images says of calls."""

    def level(self, image: Image, address: int, callee_image: Image, callee_address: int, /) -> CallLevel:
        """Whether the call that ends at a return address (less one) may lead to the function that holds an address."""

    def calls_to(
        self, callee_image: Image, callee_address: int, others: tuple[Image, ...], /
    ) -> "Mapping[Image, EnteringCalls]":
        """By image the calls that may enter the function that holds an address, in its image and ``others``, which may
        jump there as well; the same object for the same calls."""

    def entry_level(self, image: Image, address: int, callee_image: Image, callee_address: int, /) -> CallLevel:
        """As ``level``, without a search for pointers to the function: an indirect call is UNKNOWN."""

    def called(self, image: Image, address: int, /) -> int | str | None:
        """The start of the function of an image that the call before a return address (less one) names, or the name of
        an imported one; None where it names none."""

    def defined(self, name: str, others: tuple[Image, ...], /) -> tuple[Image, int] | None:
        """The first of some images that defines a function of this name, and the start of the function."""

    def entries(self, image: Image, address: int, callee_image: Image, start: int, /) -> list[int] | None:
        """The functions of a callee's image that the call at a return address (less one) may enter, of those that are
        the function at ``start``, or jump to it; None where it may be others."""

    def leads_to(self, image: Image, target: int, start: int, /) -> bool:
        """Whether a jump to an address, or to a linkage stub there, enters a function of the image."""

    def function_of(self, image: Image, address: int, /) -> tuple[int, int]:
        """The start and end of the function that holds an address."""

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


class ExactPaths:
    """The instructions of one image, and calls of its functions. ``flows``: decodes their flows."""

    def __init__(self, image: Image, proof: CodeProof, flows: FlowDecoder) -> None:
        self.image = image
        self._elf = image.elf
        self._machine = machine_of(self._elf.machine) if self._elf is not None else None
        self._calls: dict[tuple[int, int, int], list[int]] = {}
        self._blocks: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        self._made: dict[int, tuple[Listing, int] | None] = {}
        self.flows = InstructionFlows(list(self._segments()), flows, lambda slot: proof.function_in(image, slot))

    def distance(self, start: int, end: int) -> int | None:
        """Instructions from an address to a later one in the same code, if no call, return or jump is between them."""
        count = 0
        while start < end:
            instruction = self.flows.flow(start)
            if instruction is None or instruction[0] not in (Flow.NEXT, Flow.BRANCH):
                return None
            start = instruction[2]
            count += 1
        return count if start == end else None

    def instruction(self, address: int) -> Instruction | None:
        """The instruction at an address; None where there is no code."""
        if address not in self._made:
            found = self._window(address)
            if len(self._made) > MAX_INSTRUCTIONS:
                self._made.clear()
            self._made[address] = None
            if found is not None:
                listing, code = found
                for row, offset in enumerate(listing.offsets):
                    # The window may end inside of its last instruction.
                    if offset == 0 or offset + LONGEST_INSTRUCTION <= len(code):
                        self._made[address + offset] = listing, row
        made = self._made[address]
        return made[0][made[1]] if made is not None else None

    def _segments(self) -> Iterator[tuple[int, memoryview]]:
        """Address and bytes of what may be code."""
        if self._elf is None or self._elf.machine != EM_X86_64:
            return
        for one in self._elf.loads:
            size = min(one.file_size, max(0, len(self._elf.data) - one.offset))
            code = self._elf.read(one.address, size)
            if code is not None:
                yield one.address, code

    def _window(self, address: int) -> "tuple[Listing, bytes] | None":
        return self._listing(address, MAX_WINDOW)

    def _listing(self, address: int, size: int) -> "tuple[Listing, bytes] | None":
        """The instructions of at most so many bytes from an address on, up to the end of its segment, and the bytes."""
        if self._elf is None or self._machine is None:
            return None
        ends = (one.address + one.file_size for one in self._elf.loads if 0 <= address - one.address < one.file_size)
        read = self._elf.read(address, min(size, max(0, next(ends, address) - address)))
        if read is None:
            return None
        code = bytes(read)
        return self._machine.listing(code, address), code

    def first_instructions(self, address: int) -> list[bytes]:
        """The bytes of the instructions from an address on, up to the first that jumps, calls or returns, at most those
        in MAX_WINDOW bytes."""
        window = self._window(address)
        if window is None:
            return []
        listing, code = window
        found = []
        for offset, length, flow in zip(listing.offsets, listing.lengths, listing.flows, strict=True):
            if flow & 15 != Flow.NEXT or offset + length > len(code):
                break
            found.append(code[offset : offset + length])
        return found

    def block_before(self, start: int, end: int, back: int) -> int | None:
        """Where the instructions begin that lead to the call before a return address, in the function from ``start`` to
        ``end``: after another call, or where one of its jumps goes; None where no call is."""
        key = start, end
        if key not in self._blocks:
            if len(self._blocks) == MAX_BLOCKS:
                self._blocks.clear()
            self._blocks[key] = self._find_blocks(start, end)
        begins, calls = self._blocks[key]
        at = bisect_left(calls, back)
        if at == len(calls) or calls[at] != back:
            return None
        return begins[bisect_left(begins, back) - 1]

    def _find_blocks(self, start: int, end: int) -> tuple[list[int], list[int]]:
        """Where the code of a function may be entered, and its calls' return addresses, ascending."""
        found = self._listing(start, min(end - start, MAX_FUNCTION))
        if found is None:
            return [], []
        listing = found[0]
        targets = {listing.targets[k] for k in with_flows(listing.flows, DIRECT_JUMPS)}
        begins, calls = {start} | {one for one in targets if start <= one < end}, []
        for k in with_flows(listing.flows, LEAVING):
            after = start + listing.offsets[k] + listing.lengths[k]
            begins.add(after)
            if listing.flows[k] & 15 in (Flow.CALL, Flow.INDIRECT_CALL):
                calls.append(after)
        return sorted(begins), calls

    def calls_within(self, start: int, end: int, flows: int = CALLS) -> list[int]:
        """The return addresses of calls in code from ``start`` to ``end``, of all or some kinds (bits of Flow)."""
        key = start, end, flows
        if key not in self._calls:
            found = self._listing(start, min(end - start, MAX_FUNCTION))
            self._calls[key] = []
            if found is not None:
                listing = found[0]
                self._calls[key] = [
                    start + listing.offsets[k] + listing.lengths[k] for k in with_flows(listing.flows, flows)
                ]
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
        self._flows = FlowDecoder()
        self._paths: dict[int, ExactPaths] = {}
        self._calls: dict[tuple[object, ...], tuple[tuple[int, EnteringCalls], ...]] = {}
        self._image_sets: dict[tuple[int, ...], tuple[dict[Image, int], tuple[Image, ...]]] = {}
        self._values = PathValues(self.flows_of, self._instruction)
        self._depths = FrameDepths(self.flows_of, self._instruction)
        self._call_values = CallValues(
            self.flows_of, self._instruction, self.function_start, self._block_before, self._entries, self._leads_to
        )
        # Walkers of several threads ask.
        self.lock = threading.RLock()

    def paths_of(self, image: Image) -> ExactPaths:
        """The positions and calls of an image; ``lock`` must be held."""
        found = self._paths.get(image.number)
        if found is None:
            found = self._paths[image.number] = ExactPaths(image, self._proof, self._flows)
        return found

    def flows_of(self, number: int) -> InstructionFlows:
        """The instructions of an image; ``lock`` must be held while they are used."""
        return self.paths_of(self._image_of(number)).flows

    def _instruction(self, number: int, address: int) -> Instruction | None:
        """As :meth:`ExactPaths.instruction`."""
        return self.paths_of(self._image_of(number)).instruction(address)

    def _block_before(self, number: int, back: int) -> int | None:
        """As :meth:`ExactPaths.block_before`, by the number of an image."""
        image = self._image_of(number)
        return self.paths_of(image).block_before(*self._proof.function_of(image, back - 1), back)

    def _entries(self, number: int, address: int, callee_number: int, function: int) -> list[int] | None:
        """As :meth:`CodeProof.entries`."""
        return self._proof.entries(self._image_of(number), address, self._image_of(callee_number), function)

    def _leads_to(self, number: int, target: int, function: int) -> bool:
        """As :meth:`CodeProof.leads_to`."""
        return self._proof.leads_to(self._image_of(number), target, function)

    def call_facts(self, number: int, function: int, back: int, caller: int, caller_back: int) -> list[Facts] | None:
        """As :meth:`CallValues.facts`."""
        with self.lock:
            return self._call_values.facts(number, function, back, caller, caller_back)

    def path_ends(self, image: int, address: int, sites: tuple[tuple[int, int], ...], reach: int) -> list[End]:
        """As :meth:`PathValues.ends`."""
        with self.lock:
            return self._values.ends(image, address, sites, reach)

    def depth(self, number: int, address: int, is_return: bool) -> int:
        """As :meth:`FrameDepths.depth`, before the instruction at an address, or after the call that holds it."""
        if number == NO_IMAGE:
            return UNKNOWN
        with self.lock:
            start, end = self._proof.function_of(self._image_of(number), address)
            return self._depths.depth(number, start, end, address + is_return)

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

    def flow(self, number: int, address: int) -> tuple[int, int, int] | None:
        """As :meth:`InstructionFlows.flow`."""
        with self.lock:
            return self.flows_of(number).flow(address)

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

    def calls_to(self, number: int, address: int, others: tuple[int, ...]) -> "tuple[tuple[int, EnteringCalls], ...]":
        """As :meth:`CodeProof.calls_to`, by the images' numbers, the function's own first; the same object for the same
        calls. ``others``: the images of the process."""
        with self.lock:
            callee = self._image_of(number)
            images, order = self._images(others)
            calls_to = self._proof.calls_to(callee, address, order)
            found = tuple([(number if image is callee else images[image], calls) for image, calls in calls_to.items()])
            return self._calls.setdefault((number, id(calls_to), tuple([one for one, _calls in found])), found)

    def called(self, number: int, address: int) -> int | str | None:
        """The start of the function of an image that the call before a return address (less one) names, or the name of
        an imported one; None where it names none."""
        with self.lock:
            return self._proof.called(self._image_of(number), address)

    def defined(self, name: str, others: tuple[int, ...]) -> tuple[int, int] | None:
        """The image and the start of the function that an imported name stands for in a process with the images
        ``others``."""
        with self.lock:
            images, order = self._images(others)
            found = self._proof.defined(name, order)
            return (images[found[0]], found[1]) if found is not None else None

    def function_end(self, number: int, start: int) -> int:
        """The end of the function that starts at an address of an image."""
        with self.lock:
            return self._proof.function_of(self._image_of(number), start)[1]

    def is_pointed_to(self, number: int, address: int) -> bool:
        """As :meth:`CodeProof.is_pointed_to`."""
        with self.lock:
            return self._proof.is_pointed_to(self._image_of(number), address)

    def indirect_calls(self, number: int, start: int, end: int) -> list[int]:
        """The return addresses of the calls through pointers in the code from ``start`` to ``end``."""
        with self.lock:
            return self.paths_of(self._image_of(number)).calls_within(start, end, 1 << Flow.INDIRECT_CALL)
