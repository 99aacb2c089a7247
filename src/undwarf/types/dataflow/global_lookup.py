# cython: language_level=3, annotation_typing=False
"""Global variables at the addresses that one function computes."""

from collections.abc import Mapping

from undwarf.types.dataflow.abstract_values import Value
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.sources.type_source import GlobalVariable

__all__ = ["GlobalLookup"]

_KEPT = 4096


class GlobalLookup:
    """Lookup of a program's globals; ``variables`` are undescribed ones by address.

    A class of its own so that :class:`~undwarf.types.dataflow.declared_vs_tracked.Reconciler` holds no reference cycle,
    which would keep all of a function's state alive.
    """

    def __init__(self, program: ProgramContext, variables: "Mapping[int, GlobalVariable] | None") -> None:
        self._program = program
        self._variables = variables or {}
        self._known: dict[int, tuple[int, int, str] | None] = {}

    def variable_of(self, value: Value) -> tuple[int, int] | None:
        """(type, offset in it) of the global variable that an address, plus or minus its steps, points into; None if
        there is none.

        It is the variable the address started in: with a partly known index the sum may be in its neighbour.
        Exceptions: the start of a variable may be the end of the one before, and a scalar has no elements to step to (a
        pointer that starts one before its array).
        """
        there = self.global_at(value[4])
        if not value[2] or value[1] == value[4]:
            return there[:2] if there is not None else None
        first = self.global_at(value[1])
        if first is None:
            return there[:2] if there is not None else None
        offset = value[4] - value[1] + first[1]
        if offset < 0 and not first[1] and there is not None:
            return there[:2]
        graph = self._program.graph
        whole = graph.size(first[0])
        if not 0 <= offset < whole and whole > 0 and not value[2] % whole and not graph.is_array(first[0]):
            stride = graph.stride(there[0]) if there is not None and graph.is_array(there[0]) else 0
            return there[:2] if there is not None and stride > 0 and not value[2] % stride else None
        return first[0], offset

    def global_at(self, address: int) -> tuple[int, int, str] | None:
        """(type, offset in it, name) of the global variable at an address; None if there is none."""
        if address in self._known:
            return self._known[address]
        at = address & 0xFFFFFFFFFFFFFFFF
        got = self._program.source.global_at(at) or self._undescribed(at)
        found = None if got is None else (got[0].type, got[1], got[0].name)
        if len(self._known) < _KEPT:
            self._known[address] = found
        return found

    def _undescribed(self, address: int) -> "tuple[GlobalVariable, int] | None":
        symbol = self._program.symbol_at(address) if self._variables else None
        known = self._variables.get(symbol[1]) if symbol is not None else None
        return (known, address - known.address) if known is not None else None
