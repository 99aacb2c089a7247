# cython: language_level=3, annotation_typing=False
"""DWARF entries (DIEs) across all sections and files of one binary, read one at a time.

An entry is identified by (space, offset): a :class:`Space` is one section of units in one file. References cross
spaces: to dwz's supplementary file (DW_FORM_GNU_ref_alt), to type units (signatures), from a skeleton unit to its split
unit.
"""

from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import Any

from undwarf.dwarf.die import Entry
from undwarf.dwarf.root_die_columns import Root
from undwarf.dwarf.sections import DwarfFile
from undwarf.dwarf.strings import strings_at
from undwarf.dwarf.unit_index import given_names
from undwarf.dwarf.unit_kinds import UnitKind
from undwarf.dwarf.value_classes import ValueClass
from undwarf.types.sources.lru import LruCache

# DW_AT_*
NAME, LOCATION, BYTE_SIZE, BIT_OFFSET, BIT_SIZE, LOW_PC, HIGH_PC = 0x03, 0x02, 0x0B, 0x0C, 0x0D, 0x11, 0x12
CONST_VALUE, LOWER_BOUND, UPPER_BOUND, ABSTRACT_ORIGIN, COUNT, DATA_MEMBER_LOCATION = 0x1C, 0x22, 0x2F, 0x31, 0x37, 0x38
DECLARATION, ENCODING, EXTERNAL, FRAME_BASE, SPECIFICATION, TYPE, RANGES = 0x3C, 0x3E, 0x3F, 0x40, 0x47, 0x49, 0x55
SIGNATURE, DATA_BIT_OFFSET, LINKAGE_NAME, NORETURN, SIBLING, DISCR = 0x69, 0x6B, 0x6E, 0x87, 0x01, 0x15
CALLING_CONVENTION, ARTIFICIAL, EXPORT_SYMBOLS, TEMPLATE_NAME = 0x36, 0x34, 0x89, 0x2110

TAG_NAMESPACE, TAG_PACK = 0x39, 0x4108
"""DW_TAG_GNU_formal_parameter_pack is the latter."""
_APART = {TAG_PACK: 255, 0x4107: 254, 0x4106: 253}
"""Indices in :func:`tags_of` of tags above 255: parameter packs, template parameter packs, template templates
(DW_TAG_GNU_*)."""

# Looking up members of enumerations is slow.
_STRING, _STRP, _LINE_STRP = int(ValueClass.STRING), int(ValueClass.STRP), int(ValueClass.LINE_STRP)
_STRX, _STRP_ALT = int(ValueClass.STRX), int(ValueClass.STRP_ALT)
_OF_TYPES = int(UnitKind.TYPE), int(UnitKind.SPLIT_TYPE)
MAX_CHILDREN = 1 << 20
"""Limit of children that are read of one entry."""
MAX_TYPE_UNITS = 4096
"""Limit of type units in packages that are opened to find a type by its name."""

_NOWHERE = (0, 0)
_COLUMN_COST = 300
"""Overhead of a column's Python objects in bytes."""


def tags_of(*wanted: int, into: tuple[int, ...] = ()) -> bytes:
    """A flag byte for each tag, for :meth:`undwarf.dwarf.die.DebugInfo.entries`: the wanted tags, and those of them
    whose children are visited too (``into``)."""
    flags = bytearray(256)
    for tag in (*wanted, *into):
        flags[_APART.get(tag, tag)] = 3 if tag in into else 1
    return bytes(flags)


class Space:
    """One section of units: ``info`` reads it, ``data`` are its bytes, ``number`` is its index among the binary's
    spaces."""

    def __init__(self, spaces: "Spaces", file: DwarfFile, info: Any, data: memoryview, number: int) -> None:
        self.spaces = spaces
        self.file = file
        self.info = info
        self.data = data
        self.number = number
        self.columns: dict[str, memoryview] = info.units.columns()
        self._named: dict[int, dict[int, tuple[int, int]]] = {}
        self.numbers: dict[int, int] = {}
        """{entry offset: type id}; filled by the owner of the ids."""

    def entry(self, offset: int) -> Entry | None:
        """The entry at an offset; None if it cannot be read."""
        unit = self.info.units.unit_at(offset)
        return self.entry_in(unit, offset) if unit >= 0 else None

    def entry_in(self, unit: int, offset: int) -> Entry | None:
        """The entry at an offset within a known unit."""
        found: Entry | None = self.info.entry(unit, offset, self)
        return found

    def root(self, unit: int) -> Entry | None:
        """The root entry of a unit."""
        return self.entry_in(unit, self.columns["first"][unit])

    def elsewhere(self, kind: int, value: int) -> Entry | None:
        """The entry that a reference out of the section points to (supplementary file or type signature); None if not
        found."""
        if kind == ValueClass.REF_ALT:
            other = self.spaces.alternative(self)
            return other.entry(value) if other is not None else None
        if kind == ValueClass.REF_SIG8:
            place = self.spaces.signature(value, self)
            return place[0].entry(place[1]) if place is not None else None
        return None

    def children(self, entry: Entry, tags: bytes) -> list[Entry]:
        """The direct children of an entry that have one of the tags (:func:`tags_of`)."""
        if not entry.has_children:
            return []
        found: list[Entry] = self.info.entries(entry.unit, entry.end, tags, MAX_CHILDREN, self)
        return found

    def members(self, entry: Entry, tags: bytes) -> list[Any]:
        """The direct children with one of the tags; plain members are tuples, see
        :meth:`undwarf.dwarf.die.DebugInfo.members`."""
        if not entry.has_children:
            return []
        found: list[Any] = self.info.members(entry.unit, entry.end, tags, MAX_CHILDREN, self)
        return found

    @cached_property
    def outline(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Summary of what all units declare, see :meth:`undwarf.dwarf.unit_index.UnitIndex.outline`."""
        found: tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[tuple[int, ...]]] = self.info.index.outline()
        self.file.elf.release(unpacked=False)
        return found

    def names_of(self, rows: list[tuple[int, ...]]) -> list[str]:
        """The names of rows of :attr:`outline` (functions, declarations or definitions); empty if a row has none."""
        file = self.file
        first = self.info.first_number
        # By form of the string: row numbers and offsets.
        sections: dict[int, tuple[list[int], list[int]]] = {}
        numbers: list[int] = []
        places: list[int] = []
        last = -1
        for number, (unit, _die, kind, at) in enumerate(rows):
            if kind == _STRX:
                kind, at = _STRP, file.string_at(at, unit + first)
            if kind != last:
                last = kind
                numbers, places = sections.setdefault(kind, ([], []))
            numbers.append(number)
            places.append(at)
        found = [""] * len(rows)
        for kind, (numbers, places) in sections.items():
            if kind == _STRP:
                data = file.strings
            elif kind == _LINE_STRP:
                data = file.section("debug_line_str")
            elif kind == _STRING:
                data = self.data
            elif kind == _STRP_ALT and file.alt is not None:
                data = file.alt.strings
            else:
                continue
            # Types of headers repeat in each unit.
            texts = dict.fromkeys(places)
            names = strings_at(data, list(texts))
            if len(texts) < len(places):
                by_place = dict(zip(texts, names, strict=True))
                names = [by_place[at] for at in places]
            if len(names) == len(rows):
                return names
            for number, name in zip(numbers, names, strict=True):
                found[number] = name
        return found

    def declared(self, unit: int) -> dict[str, memoryview]:
        """The declarations of a unit (:meth:`undwarf.dwarf.unit_index.UnitIndex.declared`), from a cache."""
        kept = self.spaces.declared
        found = kept.get((self.number, unit))
        if found is None:
            found = self.info.index.declared(unit)
            kept.put((self.number, unit), found, sum(column.nbytes + _COLUMN_COST for column in found.values()))
        return found

    def given_name(self, unit: int, offset: int) -> str:
        """The name of the typedef of an anonymous type, as in ``typedef struct {...} name_t``; empty if there is none.

        Of several the first that is declared in the scope of the type.
        """
        kind, at = self.given_names(unit).get(offset, _NOWHERE)
        return self._string(kind, at, unit)

    def given_names(self, unit: int) -> dict[int, tuple[int, int]]:
        """{offset of an anonymous type: (form class, value) of its typedef's name} of a unit."""
        found = self._named.get(unit)
        if found is None:
            found = self._named[unit] = given_names(self.declared(unit))
        return found

    def language(self, unit: int) -> int:
        """DW_LANG_* of a unit; 0 if unknown."""
        root = self.root(unit)
        return (root.number(0x13) or 0) if root is not None else 0

    def row_of(self, unit: int, offset: int) -> int:
        """Row of an entry in ``declared``; -1 if it has none."""
        dies = self.declared(unit)["die"]
        at = bisect_right(dies, offset) - 1
        return at if at >= 0 and dies[at] == offset else -1

    def row_names(self, unit: int, rows: list[int]) -> list[str]:
        """The unqualified names of rows of ``declared``."""
        declared = self.declared(unit)
        kinds, names = declared["kind"], declared["name"]
        return self.names_of([(unit, 0, kinds[row], names[row]) for row in rows])

    def row_name(self, unit: int, row: int) -> str:
        """The unqualified name of a row of ``declared``."""
        rows = self.declared(unit)
        kind = rows["kind"][row]
        return self._string(kind, rows["name"][row], unit)

    def _string(self, kind: int, value: int, unit: int) -> str:
        return self.file.string(kind, value, unit + self.info.first_number, self.data) if kind else ""

    def qualified(self, unit: int, offset: int, name: str) -> str:
        """A type's name with its enclosing namespaces and types."""
        row = self.row_of(unit, offset)
        if row < 0:
            return name
        rows = self.declared(unit)
        parts = [name]
        for _depth in range(64):
            row = rows["parent"][row]
            if row >= 0xFFFFFFFE:
                break
            if rows["flags"][row] & 2:
                row = self._declaration_of(unit, row)
            part = self.row_name(unit, row) or self._name_by_signature(unit, row)
            if rows["tag"][row] != TAG_NAMESPACE and "<" not in part and self.spaces.whole_name is not None:
                entry = self.entry_in(unit, rows["die"][row])
                part = self.spaces.whole_name(entry, part) if entry is not None else part
            if part:
                parts.append(part)
            elif rows["tag"][row] == TAG_NAMESPACE:
                parts.append("(anonymous namespace)")
        return "::".join(reversed(parts))

    def _name_by_signature(self, unit: int, row: int) -> str:
        """The name of an unnamed row by its type signature; Clang writes enclosing types in type units so."""
        rows = self.declared(unit)
        entry = self.entry_in(unit, rows["die"][row]) if rows["tag"][row] != TAG_NAMESPACE else None
        whole = entry.reference(SIGNATURE) if entry is not None else None
        return whole.string(NAME) if whole is not None else ""

    def _declaration_of(self, unit: int, row: int) -> int:
        """The row of the declaration that a row completes (DW_AT_specification), if it is in the same unit; else the
        row itself."""
        entry = self.entry_in(unit, self.declared(unit)["die"][row])
        further = entry.reference(SPECIFICATION) if entry is not None else None
        found = self.row_of(unit, further.offset) if further is not None and further.unit == unit else -1
        return found if found >= 0 else row


class Spaces:
    """All spaces of one binary: ``main`` is its `.debug_info`, ``all`` are those opened so far.

    ``source_of`` maps a unit of ``file`` to the file and unit that have its entries
    (:meth:`undwarf.dwarf.line_lookup.DebugLines.source_of`).
    """

    def __init__(self, file: DwarfFile, source_of: "Callable[[int], tuple[DwarfFile, int]] | None" = None) -> None:
        self.file = file
        self._source_of = source_of
        self.whole_name: Callable[[Entry, str], str] | None = None
        """Returns a type's name with its template arguments (:mod:`undwarf.types.sources.template_names`)."""
        self.main = Space(self, file, file.info, file.section("debug_info"), 0)
        self.all: list[Space] = [self.main]
        self._of: dict[tuple[int, bool], Space] = {(id(file), False): self.main}
        self.declared: LruCache[tuple[int, int], dict[str, memoryview]] = LruCache(file.limits.dwarf_bytes // 2)
        """Cache of declarations by (space, unit)."""
        self._signatures: dict[int, tuple[Space, int]] | None = None
        self._type_units: dict[int, list[tuple[Space, int]]] = {}
        self._split: dict[tuple[int, int], int] = {}
        self._tables: dict[tuple[int, int], tuple[memoryview, int, int, Any]] = {}
        """By unit: the `.debug_addr` section, the offset of the unit's part, address size and byte order."""

    def of(self, file: DwarfFile, *, types: bool = False) -> Space:
        """The space of a file's `.debug_info`, or of its `.debug_types`."""
        found = self._of.get((id(file), types))
        if found is None:
            info = file.types if types else file.info
            data = file.section("debug_types" if types else "debug_info")
            found = self._of[id(file), types] = Space(self, file, info, data, len(self.all))
            self.all.append(found)
            if self._signatures is not None:
                self._add_signatures(found)
        return found

    @cached_property
    def program(self) -> list[Space]:
        """The spaces of units with code and variables; opens split files."""
        found = {self.main: None}
        if self._source_of is not None and len(self.main.data):
            for unit in self.file.roots.having(Root.DWO_NAME):
                file, number = self._source_of(unit)
                if file is not self.file:
                    space = self.of(file)
                    self.note_split(space, number, unit)
                    found[space] = None
        alternative = self.alternative(self.main)
        if alternative is not None:
            found[alternative] = None
        return list(found)

    @cached_property
    def every(self) -> list[Space]:
        """The spaces of type units (at most ``MAX_TYPE_UNITS`` of a package), then :attr:`program`.

        GCC's other units repeat only the parts of such types that they use, and of methods not the parameters.
        """
        left = MAX_TYPE_UNITS
        packages = set()
        for space in self.program:
            if len(space.file.section("debug_types")):
                self.of(space.file, types=True)
            package = space.file.elf.path
            if package not in packages:
                signatures = space.file.type_signatures(left)
                packages.add(package)
                left -= len(signatures)
                for signature in signatures:
                    self.signature(signature, space)
        program = set(self.program)
        return [*(space for space in self.all if space not in program), *self.program]

    def type_units(self, space: Space) -> list[tuple[Space, int]]:
        """(space, unit) of a file's type units (-fdebug-types-section)."""
        found = self._type_units.get(space.number)
        if found is None:
            spaces = [space]
            if len(space.file.section("debug_types")):
                spaces.append(self.of(space.file, types=True))
            found = self._type_units[space.number] = [
                (one, unit) for one in spaces for unit, kind in enumerate(one.columns["kind"]) if kind in _OF_TYPES
            ]
        return found

    def alternative(self, space: Space) -> Space | None:
        """The supplementary file's space; None without one."""
        file = space.file.alt
        return self.of(file) if file is not None else None

    def signature(self, signature: int, space: Space) -> "tuple[Space, int] | None":
        """(space, offset) of the type with a signature; None if not found."""
        if self._signatures is None:
            self._signatures = {}
            for one in list(self.all):
                self._add_signatures(one)
                if len(one.file.section("debug_types")):
                    self.of(one.file, types=True)
        if len(space.file.section("debug_types")):
            self.of(space.file, types=True)
        found = self._signatures.get(signature)
        if found is None and (apart := space.file.type_unit(signature)) is not None:
            self.of(apart, types=bool(len(apart.section("debug_types"))))
            found = self._signatures.get(signature)
        return found

    def _add_signatures(self, space: Space) -> None:
        assert self._signatures is not None
        columns = space.columns
        for unit, kind in enumerate(columns["kind"]):
            if kind in _OF_TYPES:
                place = columns["offset"][unit] + columns["type"][unit]
                self._signatures.setdefault(columns["signature"][unit], (space, place))

    def note_split(self, space: Space, unit: int, main_unit: int) -> None:
        """Record the main file's unit whose addresses a split unit uses."""
        self._split[space.number, unit] = main_unit
        self._tables.pop((space.number, unit), None)

    def indexed_address(self, space: Space, unit: int, index: int) -> int | None:
        """Address at an index of a unit's part of `.debug_addr`, plus the upper 32 bits of ``index`` as an offset; None
        if out of range."""
        data, base, size, order = self._table(space, unit)
        at = base + (index & 0xFFFFFFFF) * size
        if at + size > len(data):
            return None
        return int.from_bytes(data[at : at + size], order) + (index >> 32)

    def addresses(self, space: Space, unit: int) -> memoryview:
        """`.debug_addr` from the start of a unit's part."""
        data, base, _size, _order = self._table(space, unit)
        return data[base:]

    def _table(self, space: Space, unit: int) -> tuple[memoryview, int, int, Any]:
        table = self._tables.get((space.number, unit))
        if table is None:
            file = space.file
            main_unit = self._split.get((space.number, unit), unit)
            roots = file.roots if file.skeleton is None else file.skeleton.roots
            owner = file if file.skeleton is None else file.skeleton
            base = roots.value(main_unit, Root.ADDR_BASE) or 0
            table = owner.section("debug_addr"), base, space.columns["address_size"][unit], owner.elf.byte_order
            self._tables[space.number, unit] = table
        return table


def name_of_entry(entry: Entry) -> str:
    """An entry's unqualified name, or that of its origin or specification."""
    for _hop in range(8):
        name = entry.string(NAME)
        if name:
            return name
        further = entry.reference(ABSTRACT_ORIGIN) or entry.reference(SPECIFICATION)
        if further is None:
            return ""
        entry = further
    return ""
