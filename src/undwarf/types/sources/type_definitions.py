# cython: language_level=3, annotation_typing=False
"""Finds the definition of a type by its name, across all units of a binary."""

from collections.abc import Callable

import cython
from cython.cimports.undwarf.dwarf import tags

from undwarf.dwarf.die import Entry
from undwarf.types.sources.dwarf_entries import SPECIFICATION, Space, Spaces

__all__ = ["CAPTURED", "Definitions"]

CAPTURED = "{closure_env#"
"""Prefix of rustc's names for closure environments."""

_MOST_OF_A_NAME = 16
"""Limit of definitions with one unqualified name."""
_NAMED = frozenset((
    tags.STRUCTURE_TYPE, tags.UNION_TYPE, tags.CLASS_TYPE, tags.ENUMERATION_TYPE, tags.INTERFACE_TYPE, tags.TYPEDEF,
))  # fmt: skip  # a table
_Place = tuple[Space, int]
"""(space, offset) of an entry."""


class Definitions:
    """The types defined in the spaces of one binary. ``called`` returns a type's qualified name from its entry and
    plain name."""

    def __init__(self, spaces: Spaces, called: Callable[[Entry, str], str]) -> None:
        self._spaces = spaces
        self._called = called
        self._by_name: dict[str, list[tuple[Space, int, int]]] | None = None
        self._captured: dict[str, _Place] | None = None

    def of(self, entry: Entry, name: str, full: str) -> _Place | None:
        """The definition of a declared type with the plain name ``name`` and the qualified name ``full``; None if there
        is none."""
        known = self.by_name()
        written = name if name in known else name.partition("<")[0]
        for space, unit, offset in known.get(written, ()):
            other = space.entry_in(unit, offset)
            if other is None or (other.tag == tags.ENUMERATION_TYPE) != (entry.tag == tags.ENUMERATION_TYPE):
                continue
            if self._called(other, written) == full:
                return space, offset
        return None

    def named(self, name: str) -> _Place | None:
        """A type by its name, qualified or not: the first definition, else a typedef of that name; None if there is
        none."""
        plain = _own_name(name)
        same: dict[tuple[int, int, int], bool] = {}
        typedef: _Place | None = None
        for space in self._spaces.every:
            for unit in range(space.info.units.count):
                rows = space.declared(unit)
                columns = [rows[column].tolist() for column in ("tag", "kind", "name", "flags", "die")]
                for k, (tag, kind, text, flags, die) in enumerate(zip(*columns, strict=True)):
                    if tag not in _NAMED or flags & 1 or not kind:
                        continue
                    key = (space.number, kind, text)
                    fits = same.get(key)
                    if fits is None:
                        fits = same[key] = space.row_name(unit, k) == plain
                    if not fits or (plain != name and not _is_called(space, unit, die, plain, name)):
                        continue
                    if tag != tags.TYPEDEF:
                        return space, die
                    typedef = typedef or (space, die)
        return typedef

    def captured(self, name: str) -> _Place | None:
        """The environment of a Rust closure by its qualified name: it may be in another unit than the code. None if
        there is none."""
        found = self._captured
        if found is None:
            found = self._captured = {}
            for space in self._spaces.every:
                rows = space.info.index.definitions()
                for plain, (unit, offset, _kind, _at) in zip(space.names_of(rows), rows, strict=True):
                    if plain.startswith(CAPTURED):
                        found.setdefault(space.qualified(unit, offset, plain), (space, offset))
        return found.get(name)

    def by_name(self) -> dict[str, list[tuple[Space, int, int]]]:
        """{plain name: [(space, unit, offset)]} of all defined types, built at first use."""
        found = self._by_name
        if found is None:
            found = {}
            for space in self._spaces.every:
                rows = space.info.index.definitions()
                for name, (unit, offset, _kind, _at) in zip(space.names_of(rows), rows, strict=True):
                    at = found.setdefault(name, [])
                    if len(at) < _MOST_OF_A_NAME:
                        at.append((space, unit, offset))
                space.file.elf.release(unpacked=False)
            self._by_name = found
        return found


def _is_called(space: Space, unit: int, die: int, plain: str, name: str) -> bool:
    """Whether a type has a qualified name, by its own scope or that of its declaration."""
    if space.qualified(unit, die, plain) == name:
        return True
    entry = space.entry_in(unit, die)
    declared = entry.reference(SPECIFICATION) if entry is not None else None
    return declared is not None and declared.space.qualified(declared.unit, declared.offset, plain) == name


@cython.cfunc
def _own_name(name: str) -> str:
    """A type's name without its scope; scopes within template arguments stay, as in DWARF."""
    depth: cython.int = 0
    at: cython.Py_ssize_t
    for at in range(len(name) - 1, 0, -1):
        letter = name[at]
        if letter in ">)]}":
            # Skip the arrow of a function type.
            depth += letter != ">" or name[at - 1] != "-"
        elif letter in "<([{":
            depth -= 1
        elif letter == ":" and name[at - 1] == ":" and not depth:
            return name[at + 1 :]
    return name
