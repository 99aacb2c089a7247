# cython: language_level=3, annotation_typing=False
"""Where the types of a binary are defined, by their names."""

from collections.abc import Callable

import cython
from cython.cimports.undwarf.dwarf import tags

from undwarf.dwarf.die import Entry
from undwarf.types.sources.dwarf_entries import SPECIFICATION, Space, Spaces

__all__ = ["CAPTURED", "Definitions"]

CAPTURED = "{closure_env#"
"""How the name begins that rustc gives to what a closure has captured."""

_MOST_OF_A_NAME = 16
"""Definitions that are looked at of types of one plain name."""
_NAMED = frozenset((
    tags.STRUCTURE_TYPE, tags.UNION_TYPE, tags.CLASS_TYPE, tags.ENUMERATION_TYPE, tags.INTERFACE_TYPE, tags.TYPEDEF,
))  # fmt: skip  # a table
_Place = tuple[Space, int]
"""Of an entry: the space, and the offset in it."""


class Definitions:
    """The types that are defined in the spaces of one binary. ``called`` gives the whole name of a type's entry, of the
    plain one that is written there."""

    def __init__(self, spaces: Spaces, called: Callable[[Entry, str], str]) -> None:
        self._spaces = spaces
        self._called = called
        self._by_name: dict[str, list[tuple[Space, int, int]]] | None = None
        self._captured: dict[str, _Place] | None = None

    def of(self, entry: Entry, name: str, full: str) -> _Place | None:
        """The definition that a declaration stands for, whose plain name and whole name are these; None if there is
        none."""
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
        """A type by its name, written with the namespaces it is in or without: the first that is defined, unit by unit.

        Where only a typedef has the name, that; None if nothing has.
        """
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
        """What a closure of Rust has captured, by its name with the namespaces it is in: the code may be in one unit
        and this in another."""
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
        """(space, unit, offset) of the types that are defined anywhere, by plain name; found when first needed."""
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
    """Whether a type has a name with namespaces, where it is or where it was declared."""
    if space.qualified(unit, die, plain) == name:
        return True
    entry = space.entry_in(unit, die)
    declared = entry.reference(SPECIFICATION) if entry is not None else None
    return declared is not None and declared.space.qualified(declared.unit, declared.offset, plain) == name


@cython.cfunc
def _own_name(name: str) -> str:
    """A type's name without the namespaces it is in; those of what it is a template of stay, as they do in DWARF."""
    depth: cython.int = 0
    at: cython.Py_ssize_t
    for at in range(len(name) - 1, 0, -1):
        letter = name[at]
        if letter in ">)]}":
            # Not the arrow of a function's type.
            depth += letter != ">" or name[at - 1] != "-"
        elif letter in "<([{":
            depth -= 1
        elif letter == ":" and name[at - 1] == ":" and not depth:
            return name[at + 1 :]
    return name
