# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Where control goes from the instructions of one image: decoded at their first use, some bytes at once."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cython
from cython.cimports.undwarf.disasm.flow_control import Flow

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap

if TYPE_CHECKING:
    from undwarf.disasm.listing import Listing

LONGEST = cython.declare(cython.Py_ssize_t, 15)
MEMORY_LENGTH = cython.declare(cython.int, 6)
"""Bytes of `call` and `jmp *offset(%rip)`."""
MAX_INSTRUCTIONS = cython.declare(cython.Py_ssize_t, 1 << 16)
"""Instructions of an image that are kept."""
MAX_WINDOW = 96
"""Bytes that are decoded at once."""


@cython.final
@cython.cclass
class InstructionFlows:
    """The instructions of one image. ``window``: the listing of at most MAX_WINDOW bytes of code from an address on,
    and these bytes; None where there is no code. ``function_in``: the function whose address a slot of the global
    offset table has, None for others."""

    flows: Any
    targets: Any
    ends: Any

    def __init__(
        self,
        window: "Callable[[int], tuple[Listing, bytes] | None]",
        function_in: Callable[[int], int | None],
    ) -> None:
        self.window = window
        self.function_in = function_in
        self._clear()

    def _clear(self) -> None:
        self.rows = IntMap()
        self.flows, self.targets, self.ends = zeros("B", 64), zeros("Q", 64), zeros("Q", 64)
        self.used = 0

    def flow(self, address: int) -> tuple[int, int, int] | None:
        """The flow of the instruction at an address, the address it goes to, and that of the next one; None where there
        is no code."""
        row: cython.Py_ssize_t = self.find(address)
        return None if row < 0 else (self.flows[row], self.targets[row], self.ends[row])

    def find(self, address: cython.ulonglong) -> cython.Py_ssize_t:
        """The row of the instruction at an address, valid until the next call; -1 where there is no code."""
        row: cython.longlong = self.rows.get(address)
        if row < 0:
            self._decode(address)
            row = self.rows.get(address)
        return cython.cast(cython.Py_ssize_t, row)

    @cython.locals(
        offsets="const unsigned int[::1]", lengths="const unsigned char[::1]", flows="const unsigned char[::1]",
        targets="const long long[::1]", code="const unsigned char[::1]", i=cython.Py_ssize_t, at=cython.Py_ssize_t,
        end=cython.ulonglong, flow=cython.int, second=cython.int, target=cython.ulonglong,
    )  # fmt: skip
    def _decode(self, address: cython.ulonglong) -> cython.int:
        found: Any = self.window(address)
        if found is None:
            return 0
        if self.used > MAX_INSTRUCTIONS:
            self._clear()
        listing, read = found
        if not len(listing):
            return 0
        offsets, lengths, flows, targets = listing.offsets, listing.lengths, listing.flows, listing.targets
        code = read
        for i in range(offsets.shape[0]):
            at = offsets[i]
            # The window may end inside of its last instruction.
            if at > MAX_WINDOW - LONGEST:
                break
            end = address + cython.cast(cython.ulonglong, at + lengths[i])
            flow, target = flows[i] & 15, cython.cast(cython.ulonglong, targets[i])
            second = code[at + 1] if lengths[i] > 1 and at + 1 < code.shape[0] else 0
            if code[at] == 0x0F and second == 0x05:
                # A system call; it goes on after it.
                flow = Flow.NEXT
            elif code[at] == 0xFF and second in (0x15, 0x25) and lengths[i] == MEMORY_LENGTH:
                slot: int = end + int.from_bytes(read[at + 2 : at + MEMORY_LENGTH], "little", signed=True)
                function = self.function_in(slot)
                if function is not None:
                    flow, target = Flow.CALL if second == 0x15 else Flow.JUMP, function
            self._keep(address + cython.cast(cython.ulonglong, at), flow, target, end)
        return 0

    def _keep(
        self, address: cython.ulonglong, flow: cython.int, target: cython.ulonglong, end: cython.ulonglong
    ) -> cython.int:
        if self.used == self.flows.shape[0]:
            self.flows = longer(self.flows, self.used, 2 * self.used)
            self.targets = longer(self.targets, self.used, 2 * self.used)
            self.ends = longer(self.ends, self.used, 2 * self.used)
        self.flows[self.used] = cython.cast(cython.uchar, flow)
        self.targets[self.used], self.ends[self.used] = target, end
        self.rows.put(address, cython.cast(cython.uint, self.used))
        self.used += 1
        return 0
