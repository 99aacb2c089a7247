# cython: language_level=3, annotation_typing=False
"""The debugging sections of one file, decompressed at first use."""

from functools import cached_property
from typing import TYPE_CHECKING

from undwarf.column import zeros
from undwarf.dwarf.die import DebugInfo
from undwarf.dwarf.root_die_columns import ROOT_COLUMNS, Root
from undwarf.dwarf.strings import Text
from undwarf.dwarf.value_classes import ValueClass
from undwarf.elf import ElfFile
from undwarf.elf.headers import ET_REL, PT_LOAD
from undwarf.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from undwarf.dwarf.relocations import ObjectSections

_PF_X = 1
# Attributes of enumerations are slow.
_STRING, _STRP, _LINE_STRP = int(ValueClass.STRING), int(ValueClass.STRP), int(ValueClass.LINE_STRP)
_STRX, _STRP_ALT = int(ValueClass.STRX), int(ValueClass.STRP_ALT)
_KEPT_STRINGS = 1 << 16
"""Short strings of `.debug_str` that are cached."""


def _joined(elf: ElfFile) -> "ObjectSections":
    # Only here: most files are linked.
    from undwarf.dwarf.relocations import ObjectSections

    return ObjectSections(elf)


class DwarfFile:
    """The DWARF of one ELF file: a program, its debug file, a supplementary file, or a split one.

    ``split`` takes the sections that end in ``.dwo``. ``main`` is the file whose program headers say where code is
    (default: this one). Raises nothing for bad contents; absent sections are empty.
    """

    def __init__(
        self, elf: ElfFile, *, main: "ElfFile | None" = None, split: bool = False, limits: Limits = DEFAULT
    ) -> None:
        self.elf = elf
        self.main = elf if main is None else main
        self.split = split
        self.limits = limits
        self.alt: DwarfFile | None = None
        """The supplementary file (dwz), if there is one and it was found."""
        self.skeleton: DwarfFile | None = None
        """Of a split file: the main file, whose addresses it uses."""
        self._objects = _joined(elf) if elf.kind == ET_REL else None
        self._known_strings: dict[int, str] = {}
        self._string_tables: dict[int, tuple[int, int]] = {}
        """By unit: base of its part of `.debug_str_offsets`, and bytes of an offset."""

    def reopened(self) -> "DwarfFile":
        """The same file without caches."""
        made = DwarfFile(self.elf, main=self.main, split=self.split, limits=self.limits)
        made.alt = self.alt.reopened() if self.alt is not None else None
        made.skeleton = self.skeleton
        return made

    def type_unit(self, _signature: int) -> "DwarfFile | None":
        """The type unit of a signature, in packages, where each has its own entry; None elsewhere."""
        return None

    def type_signatures(self, _limit: int) -> list[int]:
        """The signatures of :meth:`type_unit`, ``limit`` at most."""
        return []

    def section(self, name: str) -> memoryview:
        """A section by its name without the dot, such as ``debug_info``; empty where it is absent."""
        name = "." + name + (".dwo" if self.split else "")
        if self._objects is not None:
            return self._objects.section(name)
        data = self.elf.section_data(name)
        return data if data is not None else memoryview(b"")

    @cached_property
    def code(self) -> memoryview:
        """Start and end of each executable segment (Q); empty for object files."""
        if self.main.kind == ET_REL:
            return zeros("Q", 0)
        found = [
            (segment.address, segment.address + segment.memory_size)
            for segment in self.main.segments
            if segment.type == PT_LOAD and segment.flags & _PF_X
        ]
        column = zeros("Q", 2 * len(found))
        for i, (start, end) in enumerate(found):
            column[2 * i], column[2 * i + 1] = start, min(end, (1 << 64) - 1)
        return column

    @property
    def big(self) -> bool:
        """Whether numbers have their most significant byte first."""
        return self.elf.byte_order == "big"

    @cached_property
    def info(self) -> DebugInfo:
        """The units of `.debug_info`."""
        owner = self if self.skeleton is None else self.skeleton
        return DebugInfo(
            self.section("debug_info"),
            self.section("debug_abbrev"),
            big=self.big,
            ranges=owner.section("debug_ranges"),
            rnglists=self.section("debug_rnglists"),
            addresses=owner.section("debug_addr"),
            code=owner.code,
            max_ranges=self.limits.dwarf_ranges,
            known_strings=self._known_strings,
        )

    @cached_property
    def types(self) -> DebugInfo:
        """The units of `.debug_types` (DWARF 4)."""
        return DebugInfo(
            self.section("debug_types"),
            self.section("debug_abbrev"),
            big=self.big,
            types=True,
            known_strings=self._known_strings,
            first_number=len(self.columns["offset_size"]),
        )

    @cached_property
    def roots(self) -> "Roots":
        """The attributes of all units' roots."""
        return Roots(self.info)

    @cached_property
    def strings(self) -> memoryview:
        """`.debug_str`"""
        return self.section("debug_str")

    @cached_property
    def text(self) -> Text:
        """The strings of `.debug_str`."""
        return Text(self.strings)

    @cached_property
    def _line_text(self) -> Text:
        return Text(self.section("debug_line_str"))

    def string(self, kind: int, value: int, unit: int = -1, place: "memoryview | None" = None) -> str:
        """The string of an attribute's value (of ``unit``); empty where there is none. Units of `.debug_types` are
        numbered after those of `.debug_info`.

        ``place`` is the section that has inline strings (default: `.debug_info`).
        """
        if kind == _STRP:
            found = self._known_strings.get(value)
            if found is None:
                found = self.text.at(value)
                self._keep(value, found)
            return found
        if kind == _STRING:
            return Text(self.section("debug_info") if place is None else place).at(value)
        if kind == _LINE_STRP:
            return self._line_text.at(value)
        if kind == _STRX and unit >= 0:
            at = self.string_at(value, unit)
            found = self.string(_STRP, at) if at >= 0 else ""
            if value < 1 << 32:
                self._keep(~(unit << 32 | value), found)
            return found
        if kind == _STRP_ALT and self.alt is not None:
            return self.alt.text.at(value)
        return ""

    def _keep(self, key: int, text: str) -> None:
        """Cache a string by its offset in `.debug_str`, or by ``~(unit << 32 | index)``."""
        if len(text) < 256:
            if len(self._known_strings) >= _KEPT_STRINGS:
                self._known_strings.clear()
            self._known_strings[key] = text

    def string_at(self, index: int, unit: int) -> int:
        """The offset in `.debug_str` of the string at an index of a unit's string offsets; -1 for none."""
        known = self._string_tables.get(unit)
        if known is None:
            number = unit
            columns = self.columns
            total = len(columns["offset_size"])
            base: int | None = None
            if unit < total:
                base = self.roots.value(unit, Root.STR_OFFSETS_BASE)
            else:
                columns, unit = self.types.units.columns(), unit - total
            width = columns["offset_size"][unit]
            if base is None:
                # A split unit has the whole section, after a header that DWARF 4 does not have.
                base = (8 if width == 4 else 16) if columns["version"][unit] >= 5 else 0
            known = self._string_tables[number] = base, width
        base, width = known
        at = base + index * width
        table = self._string_offsets
        if at + width > len(table):
            return -1
        return int.from_bytes(table[at : at + width], self.elf.byte_order)

    @cached_property
    def _string_offsets(self) -> memoryview:
        return self.section("debug_str_offsets")

    @cached_property
    def columns(self) -> dict[str, memoryview]:
        """The unit headers, as :meth:`undwarf.dwarf.units.UnitTable.columns`."""
        found: dict[str, memoryview] = self.info.units.columns()
        return found


class Roots:
    """The attributes of units' root DIEs, read before the units."""

    def __init__(self, info: DebugInfo) -> None:
        self.columns: tuple[memoryview, memoryview] = info.reader.roots()
        """Classes (B) and values (Q), ``ROOT_COLUMNS`` of each unit."""
        self._classes, self._values = self.columns

    def raw(self, unit: int, place: int) -> tuple[int, int]:
        """(class, value) of an attribute; class 0 for none."""
        at = ROOT_COLUMNS * unit + place
        return self._classes[at], self._values[at]

    def value(self, unit: int, place: int) -> int | None:
        """The value of a number or an offset, None if there is none."""
        kind, value = self.raw(unit, place)
        return value if kind else None

    def having(self, place: int) -> list[int]:
        """The units whose roots have an attribute."""
        return [unit for unit, kind in enumerate(self._classes[place::ROOT_COLUMNS].tolist()) if kind]

    def tag(self, unit: int) -> int:
        """DW_TAG_* of the root; 0 for a unit that cannot be read."""
        tag: int = self._values[ROOT_COLUMNS * unit + Root.TAG]
        return tag
