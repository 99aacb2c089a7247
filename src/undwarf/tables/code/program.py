"""What the analysis of one function asks for."""

from typing import Protocol

from undwarf.tables.code import operations as do

__all__ = ["Program"]


class Program(Protocol):
    """What the flow asks of the whole binary."""

    @property
    def searched(self) -> bool:
        """Whether functions were searched for in the code, so that some may be missing."""

    def range_at(self, address: int) -> tuple[int, int] | None:
        """The function, or piece of one, that holds an address."""

    def operations(self, start: int, end: int) -> list[do.Operation] | None:
        """What a stretch of code does; None where it is too large."""

    def code(self, start: int, end: int) -> bytes:
        """Bytes of code."""

    def never_returns(self, address: int, pointer: int) -> bool:
        """Whether a function, given by its address or by where a pointer to it lies, is known never to return."""

    def changed_by(self, address: int) -> set[int] | None:
        """The registers that a function without calls of its own changes; None where that is not known."""

    def table(self, kind: int, address: int, base: int, count: int, start: int, end: int) -> list[int]:
        """Where the entries of a jump table lead to; ``base`` is what its offsets are from."""

    def landing_pads(self, start: int) -> list[tuple[int, int, int]]:
        """(first, behind, target) of calls that may end at a landing pad."""
