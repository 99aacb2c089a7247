"""Split DWARF: finds the units that belong to the skeletons in a binary, in `.dwo` files or packages (`.dwp`).

Sources: DWARF 5, 3.1.2, 7.3.2 and 7.3.5 (packages); GCC's wiki, DebugFission and DebugFissionDWP, for DWARF 4.
"""

from collections.abc import Callable, Iterable
from functools import cached_property

from undwarf.defects import Defects
from undwarf.dwarf.root_die_columns import Root
from undwarf.dwarf.sections import DwarfFile
from undwarf.dwarf.unit_kinds import UnitKind
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT, Limits

SplitFinder = Callable[[str, str, int], "Iterable[ElfFile]"]
"""Files that may hold a split unit, `.dwo` files or packages (`.dwp`), best first, by the file name it states, its
compilation directory and its id (DW_AT_dwo_id). Whether one has the unit is checked by the id."""

Place = tuple[DwarfFile, int]
"""A split unit: its file, and its number there."""

MAX_FILES = 1024
"""Maximum split units, or files of them, that stay open."""

# DW_SECT_* (DWARF 5, table 7.1), and what they were before.
_PARTS = {1: "debug_info", 3: "debug_abbrev", 4: "debug_line", 5: "debug_loclists", 6: "debug_str_offsets",
          7: "debug_macro", 8: "debug_rnglists"}  # fmt: skip  # a table
_OLD_PARTS = {1: "debug_info", 2: "debug_types", 3: "debug_abbrev", 4: "debug_line", 5: "debug_loc",
              6: "debug_str_offsets", 7: "debug_macinfo", 8: "debug_macro"}  # fmt: skip  # a table


class PackedUnit(DwarfFile):
    """One unit of a package, as if it were in a file of its own: ``parts`` are its (offset, size) in sections."""

    def __init__(self, elf: ElfFile, parts: dict[str, tuple[int, int]], *, main: ElfFile, limits: Limits) -> None:
        super().__init__(elf, main=main, split=True, limits=limits)
        self._parts = parts

    def section(self, name: str) -> memoryview:
        """The unit's part of a section; string sections are shared. Type units have entries of their own."""
        part = self._parts.get(name)
        if name == "debug_types" and part is None:
            return memoryview(b"")
        data = super().section(name)
        return data if part is None else data[part[0] : part[0] + part[1]]

    def type_unit(self, signature: int) -> "PackedUnit | None":
        """The type of a signature in the same package."""
        parts = self._types.parts(signature)
        if parts is None:
            return None
        made = PackedUnit(self.elf, parts, main=self.main, limits=self.limits)
        made.skeleton = self.skeleton
        return made

    def type_signatures(self, limit: int) -> list[int]:
        """The signatures of the types in the same package, ``limit`` at most."""
        return self._types.identities(limit)

    @cached_property
    def _types(self) -> "Package":
        return Package(self.elf, index=".debug_tu_index")

    def reopened(self) -> "PackedUnit":
        """The same unit, with nothing read yet."""
        made = PackedUnit(self.elf, self._parts, main=self.main, limits=self.limits)
        made.skeleton = self.skeleton
        return made


class Package:
    """The index of a package of split units (`.debug_cu_index`, or `.debug_tu_index` for types)."""

    def __init__(self, elf: ElfFile, *, index: str = ".debug_cu_index") -> None:
        self.elf = elf
        self._data = elf.section_data(index) or memoryview(b"")
        self._columns = self._units = self._slots = 0
        self.version = self._number(0, 2) if self._number(0, 4) != 2 else 2
        if self.version not in (2, 5):
            return
        columns, units, slots = (self._number(at, 4) for at in (4, 8, 12))
        # The number of slots is a power of two; all tables must fit.
        if slots & (slots - 1) == 0 and 16 + 12 * slots + 4 * columns + 8 * columns * units <= len(self._data):
            self._columns, self._units, self._slots = columns, units, slots

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._data[at : at + size], self.elf.byte_order)

    def parts(self, identity: int) -> dict[str, tuple[int, int]] | None:
        """(offset, size) of the unit with an id or type signature, by section; None where it is not in the package."""
        slots = self._slots
        if not slots:
            return None
        slot = identity & (slots - 1)
        step = (identity >> 32) & (slots - 1) | 1
        for _probe in range(slots):
            row = self._number(16 + 8 * slots + 4 * slot, 4)
            if not row:
                return None
            if self._number(16 + 8 * slot, 8) == identity:
                return self._row(row - 1)
            slot = (slot + step) & (slots - 1)
        return None

    def identities(self, limit: int) -> list[int]:
        """The ids (or type signatures) of the units, ``limit`` at most."""
        found: list[int] = []
        for slot in range(self._slots):
            if len(found) >= limit:
                break
            if self._number(16 + 8 * self._slots + 4 * slot, 4):
                found.append(self._number(16 + 8 * slot, 8))
        return found

    def _row(self, row: int) -> dict[str, tuple[int, int]] | None:
        if row >= self._units:
            return None
        names = _PARTS if self.version == 5 else _OLD_PARTS
        heads = 16 + 12 * self._slots
        columns = self._columns
        found = {}
        for column in range(columns):
            name = names.get(self._number(heads + 4 * column, 4))
            if name is not None:
                at = heads + 4 * columns + 4 * (row * columns + column)
                found[name] = self._number(at, 4), self._number(at + 4 * columns * self._units, 4)
        return found


class SplitUnits:
    """Finds the split units of the skeletons in ``main``. Each that is not found is counted once."""

    def __init__(
        self,
        main: DwarfFile,
        find: "SplitFinder | None",
        *,
        limits: Limits = DEFAULT,
        defects: "Defects | None" = None,
    ) -> None:
        self._main = main
        self._find = find
        self._limits = limits
        self._defects = Defects() if defects is None else defects
        self._known: dict[int, Place | None] = {}
        self._files: dict[str, DwarfFile] = {}
        self._packages: list[Package] = []

    def release(self, main: DwarfFile) -> None:
        """Free what was read; ``main`` replaces the skeletons' file."""
        for file in {id(file.elf): file.elf for file in self._files.values()}.values():
            file.release()
        for package in self._packages:
            package.elf.release()
        self._known.clear()
        self._files.clear()
        self._packages.clear()
        self._main = main

    def unit(self, skeleton: int) -> Place | None:
        """The split unit of a unit of the main file; None where that is no skeleton, or where it is not found."""
        if self._find is None:
            return None
        kind, value = self._main.roots.raw(skeleton, Root.DWO_NAME)
        if not kind:
            return None
        if skeleton not in self._known:
            if len(self._files) >= MAX_FILES:
                self._known = {number: None for number, place in self._known.items() if place is None}
                self._files.clear()
            name = self._main.string(kind, value, skeleton)
            found = self._known[skeleton] = self._look_for(skeleton, name)
            if found is None:
                self._defects.add("split debugging information not found", self._main.elf.path, detail=name)
        return self._known[skeleton]

    def _look_for(self, skeleton: int, name: str) -> Place | None:
        identity = self._main.roots.value(skeleton, Root.DWO_ID)
        if identity is None or self._find is None:
            return None
        for package in self._packages:
            found = self._packed(package, identity)
            if found is not None:
                return found
        directory = self._main.string(*self._main.roots.raw(skeleton, Root.COMP_DIR), skeleton)
        known = {package.elf.path for package in self._packages}
        for elf in self._find(name, directory, identity):
            if elf.section(".debug_cu_index") is None:
                found = self._alone(elf, identity)
            elif elf.path in known:
                continue
            else:
                package = Package(elf)
                self._packages.append(package)
                found = self._packed(package, identity)
            if found is not None:
                return found
        return None

    def _packed(self, package: Package, identity: int) -> Place | None:
        parts = package.parts(identity)
        if parts is None:
            return None
        file = PackedUnit(package.elf, parts, main=self._main.main, limits=self._limits)
        file.skeleton = self._main
        self._files[f"{package.elf.path}\0{identity}"] = file
        number = unit_of(file, identity)
        # Before DWARF 5 the id is in the root, which a package's index makes needless.
        return (file, number) if number >= 0 else None

    def _alone(self, elf: ElfFile, identity: int) -> Place | None:
        file = self._files.get(elf.path)
        if file is None:
            file = DwarfFile(elf, main=self._main.main, split=True, limits=self._limits)
            file.skeleton = self._main
        number = unit_of(file, identity)
        if number < 0:
            return None
        self._files[elf.path] = file
        return file, number


def unit_of(file: DwarfFile, identity: int) -> int:
    """The number of the unit with an id (DW_AT_dwo_id) in a split file; -1 where there is none."""
    kinds = file.columns["kind"]
    for number in range(file.info.units.count):
        whole = kinds[number] not in (UnitKind.TYPE, UnitKind.SPLIT_TYPE)
        if whole and file.roots.value(number, Root.DWO_ID) == identity:
            return number
    return -1
