"""What the analysis of one function needs of its program."""

from typing import Protocol

from undwarf.tables.code import operations as do

__all__ = ["Program"]


class Program(Protocol):
    """Interface of :class:`undwarf.tables.code.program_analysis.ProgramAnalysis`, and of code that has no program
    (`snippet.py`)."""

    @property
    def searched(self) -> bool:
        """Whether functions were searched for in the code, so that some may be missing."""

    def range_at(self, address: int) -> tuple[int, int] | None:
        """The function, or piece of one, that holds an address."""

    def operations(self, start: int, end: int) -> list[do.Operation] | None:
        """The operations of some code; None if it is over a limit."""

    def code(self, start: int, end: int) -> bytes:
        """Bytes of code."""

    def never_returns(self, address: int, pointer: int) -> bool:
        """Whether a function, given by its address or by the address of a pointer to it, never returns."""

    def changed_by(self, address: int) -> set[int] | None:
        """The registers that a leaf function changes; None if that is unknown."""

    def table(self, kind: int, address: int, base: int, count: int, start: int, end: int) -> list[int]:
        """The targets of a jump table; ``base`` is what its offsets are from."""

    def landing_pads(self, start: int) -> list[tuple[int, int, int]]:
        """(first, end, target) of ranges of calls with a landing pad."""
