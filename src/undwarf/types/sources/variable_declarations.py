# cython: language_level=3, annotation_typing=False
"""Names and types of variables, read once for all functions that inline them."""

from typing import Any

import cython
from cython.cimports.undwarf.dwarf.value_classes import REF, STRP, STRX

from undwarf.dwarf.die import Entry
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.dwarf_entries import Space, name_of_entry
from undwarf.types.sources.dwarf_types import DwarfTypes
from undwarf.types.sources.location_expressions import ExpressionCache

__all__ = ["Variable", "VariableDeclarations"]

_KEPT = 1 << 16
"""Limit of cached variables."""


@cython.final
@cython.cclass
class Variable:
    """A variable's name and type. ``is_pointer_or_aggregate``: whether its value in a register is evidence for memory;
    -1 if not computed yet."""

    def __init__(self, name: str, t: int) -> None:
        self.name = name
        self.type = t
        self.is_pointer_or_aggregate = -1


@cython.final
@cython.cclass
class VariableDeclarations:
    """Caches of one space: abstract variables by entry offset, and expressions that mean the same in all units."""

    def __init__(self, types: DwarfTypes, space: Space) -> None:
        self._types = types
        self._space = space
        self._strings = space.info.known_strings
        self._origins: dict[int, Variable] = {}
        self.expressions = ExpressionCache()
        self.room: Any = None
        """Reusable buffer for unsorted locations; None while it is in use."""

    def of(self, entries: Any, row: int, unit: int) -> Variable:
        """The variable at a row of :meth:`undwarf.dwarf.die.DebugInfo.variables` of a unit."""
        if entries[row + 3] == REF and not entries[row + 5] and not entries[row + 7]:
            origin = entries[row + 4]
            found: Variable | None = self._origins.get(origin)
            if found is None:
                if len(self._origins) > _KEPT:
                    self._origins.clear()
                plain = self._space.info.variable(origin, self._space)
                if plain is not None:
                    found = Variable(plain[0], self._types.number(self._space, plain[1]))
                else:
                    found = self._described(self._space.entry(origin))
                self._origins[origin] = found
            return found
        if entries[row + 5] == REF and entries[row + 7]:
            name: str | None = None
            if entries[row + 7] == STRP:
                name = self._strings.get(entries[row + 8])
            elif entries[row + 7] == STRX and entries[row + 8] >> 32 == 0:
                name = self._strings.get(~(unit << 32 | cython.cast(cython.Py_ssize_t, entries[row + 8])))
            if name is None:
                name = self._space.file.string(entries[row + 7], entries[row + 8], unit, self._space.data)
            if name:
                return Variable(name, self._types.number(self._space, min(entries[row + 6], 1 << 62)))
        return self._described(self._space.entry_in(unit, entries[row + 2]))

    def _described(self, entry: Entry | None) -> Variable:
        return Variable("", VOID) if entry is None else Variable(name_of_entry(entry), self._types.of(entry))
