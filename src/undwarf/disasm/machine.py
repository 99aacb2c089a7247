"""What machines have: who decodes their instructions, which registers they use for what."""

from typing import Protocol

from undwarf.disasm.listing import Listing
from undwarf.disasm.model import NONE, Instruction


class Decoder(Protocol):
    """Machine code -> instructions."""

    def __call__(self, code: bytes, address: int, /, most: int = -1) -> list[Instruction]:
        """All instructions of a stretch of code, or so many; bytes that are none become one STOP of one unit each."""


class Lister(Protocol):
    """Machine code -> its instructions as columns."""

    def __call__(self, code: bytes, address: int, /) -> "Listing":
        """As :class:`Decoder`, all instructions of a stretch of code."""


class Boundaries(Protocol):
    """Machine code -> where its instructions begin."""

    def __call__(self, code: bytes, address: int, /) -> list[int]:
        """Ascending addresses, those of bytes that are no code included."""


class Machine:
    """What a tracker must know about a machine and its calling convention (register numbers are DWARF's)."""

    __slots__ = (
        "decode",
        "entry_offset",
        "frame_pointer",
        "general",
        "instruction_unit",
        "link",
        "listing",
        "lost_in_calls",
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
        lost_in_calls: frozenset[int],
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
        """Where instructions begin, quicker than decoding them; by default every four bytes."""
        self.names = names
        self.general = general
        self.stack_pointer = stack_pointer
        self.frame_pointer = frame_pointer
        self.parameters = parameters
        """Registers of integer and pointer arguments, in order."""
        self.result = result
        self.wide_result = wide_result
        """The register of the second half of a returned pair."""
        self.lost_in_calls = lost_in_calls
        """General registers a callee may change."""
        self.entry_offset = entry_offset
        """The stack pointer at a function's entry, counted from the call frame address."""
        self.instruction_unit = instruction_unit
        """Instructions begin at multiples of this many bytes."""
        self.link = link
        self.upper = upper
        """How far from the number of a vector register the one is that stands for its second word; 0 where instructions
        name each."""
