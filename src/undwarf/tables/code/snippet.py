"""Unwind rules of a few x86-64 instructions: a function without a program around it."""

from undwarf.limits import Limits
from undwarf.tables.code import operations as do
from undwarf.tables.code.decoding import decode
from undwarf.tables.code.flow import Flow
from undwarf.tables.code.stack_state import RuleWords

__all__ = ["rules_of"]


class _Alone:
    """A program that has only this code."""

    searched = False

    def __init__(self, code: bytes) -> None:
        self._code = code

    def range_at(self, _address: int) -> None:
        """No other function is known."""

    def code(self, start: int, end: int) -> bytes:
        """Bytes of code."""
        return self._code[start:end]

    def operations(self, start: int, end: int) -> list[do.Operation]:
        """The operations of a part of the code."""
        return decode(self._code[start:end], start)[0]

    def never_returns(self, _address: int, _pointer: int) -> bool:
        """No called function is known."""
        return False

    def changed_by(self, _address: int) -> None:
        """No called function is known."""

    def table(self, _kind: int, _address: int, _base: int, _count: int, _start: int, _end: int) -> list[int]:
        """There are no jump tables."""
        return []

    def landing_pads(self, _start: int) -> list[tuple[int, int, int]]:
        """There are no landing pads."""
        return []


def rules_of(code: bytes, limits: Limits) -> "list[tuple[int, RuleWords | None]]":
    """(offset, rule) of a function's instructions, ascending; None where the rule is unknown."""
    flow = Flow(_Alone(code), 0, len(code))
    flow.run(steps=limits.code_steps)
    return flow.rows(0, len(code))
