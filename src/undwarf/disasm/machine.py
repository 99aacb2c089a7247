"""Machines: decoders of their instructions, and their calling conventions."""

from typing import Protocol

from undwarf.disasm.instruction import NONE, Instruction
from undwarf.disasm.listing import Listing


class Decoder(Protocol):
    """Machine code -> instructions."""

    def __call__(self, code: bytes, address: int, /, most: int = -1) -> list[Instruction]:
        """All instructions of ``code``, or the first ``most``; invalid bytes become a STOP of one instruction unit."""


class Lister(Protocol):
    """Machine code -> its instructions as columns."""

    def __call__(self, code: bytes, address: int, /) -> "Listing":
        """As :class:`Decoder`, all instructions."""


class Boundaries(Protocol):
    """Machine code -> the addresses of its instructions."""

    def __call__(self, code: bytes, address: int, /) -> list[int]:
        """Ascending addresses, invalid bytes included."""


class Machine:
    """A machine and its calling convention, for data flow analysis; registers are DWARF register numbers."""

    __slots__ = (
        "caller_saved",
        "decode",
        "entry_offset",
        "frame_pointer",
        "general",
        "instruction_unit",
        "link",
        "listing",
        "name",
        "names",
        "parameters",
        "result",
        "stack_pointer",
        "starts",
        "thread_segments",
        "upper",
        "wide_result",
    )

    def __init__(
        self,
        name: str,
        decode: Decoder,
        *,
        names: tuple[str, ...],
        general: frozenset[int],
        stack_pointer: int,
        frame_pointer: int,
        parameters: tuple[int, ...],
        result: int,
        wide_result: int,
        caller_saved: frozenset[int],
        entry_offset: int,
        instruction_unit: int,
        listing: "Lister",
        starts: Boundaries | None = None,
        link: int = NONE,
        upper: int = 0,
    ) -> None:
        self.name = name
        self.decode = decode
        self.listing = listing
        self.starts: Boundaries = starts or (lambda code, address: list(range(address, address + len(code), 4)))
        """The addresses of instructions, faster than decoding them; by default every four bytes."""
        self.names = names
        self.general = general
        self.stack_pointer = stack_pointer
        self.frame_pointer = frame_pointer
        self.parameters = parameters
        """Registers of integer and pointer arguments, in order."""
        self.result = result
        self.wide_result = wide_result
        """The register of the second half of a returned pair."""
        self.caller_saved = caller_saved
        """Registers that a callee may change."""
        self.entry_offset = entry_offset
        """The stack pointer at a function's entry, relative to the canonical frame address."""
        self.instruction_unit = instruction_unit
        """Alignment of instructions, in bytes."""
        self.link = link
        self.upper = upper
        """A vector register's number plus this stands for its upper word; 0 if words are not tracked separately."""
