# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Where control goes from the instructions of one image: decoded one by one, at their first use."""

from collections.abc import Callable
from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import Flow

from undwarf.column import longer, zeros
from undwarf.spaces.int_map import IntMap

MEMORY_LENGTH = cython.declare(cython.int, 6)
"""Bytes of `call` and `jmp *offset(%rip)`."""
MAX_INSTRUCTIONS = cython.declare(cython.Py_ssize_t, 1 << 16)
"""Instructions of an image that are kept."""


@cython.final
@cython.cclass
class InstructionFlows:
    """The instructions of one image. ``segments``: address and bytes of its code; ``decode``: a
    :class:`undwarf.disasm.x86_flows.FlowDecoder`; ``function_in``: the function whose address a slot of the global
    offset table has, None for others."""

    segments: list[tuple[int, Any]]
    flows: Any
    targets: Any
    ends: Any

    def __init__(
        self,
        segments: list[tuple[int, Any]],
        decode: Callable[[Any, int], int],
        function_in: Callable[[int], int | None],
    ) -> None:
        self.segments = segments
        self.decode = decode
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
        code="const unsigned char[::1]", start=cython.ulonglong, found=cython.longlong, at=cython.Py_ssize_t,
        length=cython.Py_ssize_t, size=cython.Py_ssize_t, i=cython.Py_ssize_t, end=cython.ulonglong, flow=cython.int,
        second=cython.int, target=cython.ulonglong, number=cython.ulonglong,
    )  # fmt: skip
    def _decode(self, address: cython.ulonglong) -> cython.int:
        for start, data in self.segments:
            if address - start >= cython.cast(cython.ulonglong, len(data)):
                continue
            at = address - start
            found = self.decode(data, at)
            flow, size, length = found & 15, found >> 4 & 15, found >> 8
            code = data
            end, target, number = address + cython.cast(cython.ulonglong, length), 0, 0
            for i in range(size):
                number |= cython.cast(cython.ulonglong, code[at + length - size + i]) << 8 * i
            if size:
                target = end + number
                if number >> (8 * size - 1):
                    target -= cython.cast(cython.ulonglong, 1) << 8 * size
            second = code[at + 1] if length > 1 else 0
            if code[at] == 0x0F and second == 0x05:
                # A system call; it goes on after it.
                flow = Flow.NEXT
            elif code[at] == 0xFF and second in (0x15, 0x25) and length == MEMORY_LENGTH:
                slot: int = end + int.from_bytes(data[at + 2 : at + MEMORY_LENGTH], "little", signed=True)
                function = self.function_in(slot)
                if function is not None:
                    flow, target = Flow.CALL if second == 0x15 else Flow.JUMP, function
            return self._keep(address, flow, target, end)
        return 0

    def _keep(
        self, address: cython.ulonglong, flow: cython.int, target: cython.ulonglong, end: cython.ulonglong
    ) -> cython.int:
        if self.used > MAX_INSTRUCTIONS:
            self._clear()
        if self.used == self.flows.shape[0]:
            self.flows = longer(self.flows, self.used, 2 * self.used)
            self.targets = longer(self.targets, self.used, 2 * self.used)
            self.ends = longer(self.ends, self.used, 2 * self.used)
        self.flows[self.used] = cython.cast(cython.uchar, flow)
        self.targets[self.used], self.ends[self.used] = target, end
        self.rows.put(address, cython.cast(cython.uint, self.used))
        self.used += 1
        return 0
