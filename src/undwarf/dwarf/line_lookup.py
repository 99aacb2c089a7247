"""Looks up inlined functions and source lines by address; a unit is read when an address is in it."""

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import neg
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from undwarf.column import absent, zeros
from undwarf.defects import Defects
from undwarf.dwarf.innermost_ranges import ChainColumns, flatten, look_up, row_of, sorted_by_start
from undwarf.dwarf.root_die_columns import Root
from undwarf.dwarf.sections import DwarfFile
from undwarf.dwarf.split_dwarf import SplitFinder, SplitUnits
from undwarf.dwarf.strings import strings_at
from undwarf.dwarf.value_classes import ValueClass
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT, Limits
from undwarf.ordering import group, take

NONE = 0xFFFFFFFF

AltFinder = Callable[[ElfFile], "ElfFile | None"]
"""Finds the supplementary file that a file's `.gnu_debugaltlink` names."""


@dataclass(slots=True, repr=False, eq=False)
class InlineChains:
    """Chains of inlined functions by address. The chain of address k is the rows ``first[k]`` up to ``first[k + 1]``.

    By row, innermost first, the last being the function that has code of its own: ``name`` and ``file`` (I, numbers
    of ``names`` and ``files``, 0xffffffff for unknown), ``line`` and ``column`` (I, 0 for unknown). Names are linkage
    names where there are any. An address without debugging information has an empty chain.
    """

    first: memoryview
    name: memoryview
    file: memoryview
    line: memoryview
    column: memoryview
    names: list[str]
    files: list[str]

    def chain(self, number: int) -> list[tuple[str, str, int, int]]:
        """(name, file, line, column) of each row of one address; empty strings for unknown ones."""
        return [
            (
                self.names[self.name[k]] if self.name[k] != NONE else "",
                self.files[self.file[k]] if self.file[k] != NONE else "",
                self.line[k],
                self.column[k],
            )
            for k in range(self.first[number], self.first[number + 1])
        ]


@dataclass(slots=True, repr=False, eq=False)
class _Table:
    """A line table: its rows, and the names of its files."""

    rows: dict[str, memoryview]
    names: "dict[int, str]" = field(default_factory=dict)
    program: Any = None
    comp_dir: str = ""
    file: "DwarfFile | None" = None
    unit: int = -1

    def file_name(self, number: int) -> str:
        """The path of a file by its number in the table; empty where there is none."""
        found = self.names.get(number)
        if found is None:
            found = self.names[number] = self._file_name(number)
        return found

    def _file_name(self, number: int) -> str:
        if self.program is None or self.file is None:
            return ""
        kinds, values, directories = self.program.strings()
        new = self.program.version >= 5
        at = self.program.directory_count + number - (0 if new else 1)
        if not self.program.directory_count <= at < len(kinds):
            return ""
        name = self._string(kinds[at], values[at])
        if not name or name.startswith("/"):
            return name
        directory = directories[at]
        path = ""
        if new or directory:
            place = directory if new else directory - 1
            if place < self.program.directory_count:
                path = self._string(kinds[place], values[place])
        if not path.startswith("/"):
            path = "/".join(part for part in (self.comp_dir, path) if part)
        return f"{path}/{name}" if path else name

    def _string(self, kind: int, value: int) -> str:
        assert self.file is not None
        return self.file.string(kind, value, self.unit, self.file.section("debug_line"))


_NOTHING = _Table({name: zeros("Q" if name == "address" else "I", 0) for name in ("address", "file", "line", "column")})


class _Unit(NamedTuple):
    """A unit that was read: its functions and their flattened ranges; ``names`` has the names' numbers known so far."""

    file: DwarfFile
    functions: dict[str, memoryview]
    addresses: memoryview
    records: memoryview
    names: memoryview
    size: int


class DebugLines:
    """Finds the inlined functions and the source line of addresses in one binary.

    Units are read when an address is in them and cached up to ``Limits.dwarf_bytes``, the least recently used going
    first. Damage is counted in ``defects``.
    """

    def __init__(
        self,
        file: DwarfFile,
        *,
        find_split: "SplitFinder | None" = None,
        limits: Limits = DEFAULT,
        defects: "Defects | None" = None,
    ) -> None:
        self._file = file
        self._limits = limits
        self._defects = Defects() if defects is None else defects
        self._split = SplitUnits(file, find_split, limits=limits, defects=self._defects)
        self._kept: OrderedDict[int, _Unit] = OrderedDict()
        self._kept_bytes = 0
        self._tables: dict[int, _Table] = {}
        self._table_bytes = 0
        self._names: list[str] = []
        self._numbers: dict[str, int] = {}
        # By file, the numbers of names by their place in .debug_str.
        self._string_numbers: WeakKeyDictionary[DwarfFile, dict[int, int]] = WeakKeyDictionary()
        self._file_numbers: dict[str, int] = {}
        self._index: tuple[memoryview, memoryview, list[int]] | None = None
        self._damaged: WeakKeyDictionary[DwarfFile, int] = WeakKeyDictionary()

    @classmethod
    def open(
        cls,
        elf: ElfFile,
        debug_elf: "ElfFile | None" = None,
        *,
        find_alt: "AltFinder | None" = None,
        find_split: "SplitFinder | None" = None,
        limits: Limits = DEFAULT,
        defects: "Defects | None" = None,
    ) -> "DebugLines | None":
        """The debugging information of a binary or of its separate debug file; None where neither has any."""
        for candidate in (elf, debug_elf):
            if candidate is not None and candidate.section(".debug_info") is not None:
                file = DwarfFile(candidate, main=elf, limits=limits)
                if not len(file.section("debug_info")):
                    continue
                if find_alt is not None:
                    other = find_alt(candidate)
                    file.alt = DwarfFile(other, limits=limits) if other is not None else None
                    if other is None and candidate.alt_link is not None and defects is not None:
                        defects.add(
                            "common debugging information not found", candidate.path, detail=candidate.alt_link[0]
                        )
                return cls(file, find_split=find_split, limits=limits, defects=defects)
        return None

    def release(self) -> None:
        """Free all that was read; later queries read it again."""
        self._kept.clear()
        self._kept_bytes = 0
        self._tables.clear()
        self._table_bytes = 0
        self._string_numbers.clear()
        self._names.clear()
        self._numbers.clear()
        self._damaged.clear()
        for file in (self._file, self._file.alt):
            if file is not None:
                file.elf.release()
        self._file = self._file.reopened()
        self._split.release(self._file)

    @property
    def file(self) -> DwarfFile:
        """The main file, which has the skeletons of split units."""
        return self._file

    # Units by address --------------------------------------------------------------------------------------

    def unit_index(self) -> tuple[memoryview, memoryview, list[int]]:
        """(addresses, units) flattened, and the units whose roots have no ranges."""
        if self._index is None:
            file = self._file
            starts, ends, of, unsure = file.info.ranges.unit_ranges(*file.roots.columns)
            # Of ranges that begin together the longest comes first.
            rows = list(zip(starts, map(neg, ends), of, strict=True))
            order = array("I", sorted(range(len(rows)), key=rows.__getitem__))
            addresses, units = flatten(starts, ends, of, order)
            self._index = addresses, units, unsure
        return self._index

    def set_bases(self, unit: int) -> int:
        """Set what a unit's range lists are relative to; its low address."""
        file = self._file
        roots = file.roots
        addr_base = roots.value(unit, Root.ADDR_BASE) or 0
        kind, low = roots.raw(unit, Root.LOW_PC)
        file.info.ranges.set_bases(0, addr_base, roots.value(unit, Root.RNGLISTS_BASE) or 0, 0)
        if kind == ValueClass.ADDRX:
            low = file.info.ranges.address_at(unit, low)
        low = low if kind else 0
        file.info.ranges.set_bases(low, addr_base, roots.value(unit, Root.RNGLISTS_BASE) or 0, 0)
        return low

    # Reading a unit ----------------------------------------------------------------------------------------

    def _unit(self, unit: int) -> _Unit:
        found = self._kept.get(unit)
        if found is not None:
            self._kept.move_to_end(unit)
            return found
        made = self._read_unit(unit)
        self._kept[unit] = made
        self._kept_bytes += made.size
        while self._kept_bytes > self._limits.dwarf_bytes and len(self._kept) > 1:
            _number, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.size
        self._count_damage(self._file)
        if made.file is not self._file:
            self._count_damage(made.file)
        return made

    def _read_unit(self, unit: int) -> _Unit:
        source, number = self.source_of(unit)
        functions: dict[str, memoryview] = source.info.functions.of_unit(number)
        starts, ends, of = functions["start"], functions["end"], functions["of"]
        # Outer functions come first, so their numbers order ranges that begin together.
        addresses, records = flatten(starts, ends, of, sorted_by_start(starts, of))
        names = absent("I", len(functions["die"]))
        size = 37 * len(names) + 20 * len(starts) + 12 * len(addresses)
        return _Unit(source, functions, addresses, records, names, size)

    def source_of(self, unit: int) -> tuple[DwarfFile, int]:
        """The file that has the DIEs of a unit, and the number of the unit there; its bases are set."""
        file = self._file
        base = self.set_bases(unit)
        split = self._split.unit(unit)
        if split is None:
            return file, unit
        source, number = split
        rnglists_base = source.roots.value(number, Root.RNGLISTS_BASE)
        if rnglists_base is None:
            rnglists_base = 12 if source.columns["offset_size"][number] == 4 else 20
        source.info.ranges.set_bases(
            base,
            file.roots.value(unit, Root.ADDR_BASE) or 0,
            rnglists_base,
            file.roots.value(unit, Root.GNU_RANGES_BASE) or 0,
        )
        return source, number

    def _table(self, unit: int) -> _Table:
        file = self._file
        offset = file.roots.value(unit, Root.STMT_LIST)
        if offset is None:
            return _NOTHING
        table = self._tables.get(offset)
        if table is None:
            from undwarf.dwarf.line_program import LineProgram

            program = LineProgram(
                file.section("debug_line"),
                min(offset, (1 << 62)),
                file.columns["address_size"][unit],
                big=file.big,
                code=file.code,
                max_rows=self._limits.dwarf_rows,
            )
            if program.damaged:
                self._defects.add("damaged line table", file.elf.path, program.damaged)
            comp_dir = file.string(*file.roots.raw(unit, Root.COMP_DIR), unit)
            table = _Table(program.rows(), {}, program, comp_dir, file, unit)
            self._table_bytes += 20 * len(table.rows["address"])
            if len(self._tables) > 1 and self._table_bytes > self._limits.dwarf_bytes // 2:
                self._tables.clear()
                self._table_bytes = 0
            self._tables[offset] = table
        return table

    def _count_damage(self, file: DwarfFile) -> None:
        damaged, before = file.info.damaged, self._damaged.get(file, 0)
        if damaged > before:
            self._defects.add("damaged debugging information", file.elf.path, damaged - before)
            self._damaged[file] = damaged

    # Asking ------------------------------------------------------------------------------------------------

    def inline_chains(self, addresses: memoryview, *, lines: bool = True) -> InlineChains:
        """The chains of addresses (Q) of the binary, in their order. Without ``lines`` no line table is read: files
        and lines are unknown, and an address without a function has an empty chain."""
        unit_starts, unit_of, unsure = self.unit_index()
        which = look_up(addresses, unit_starts, unit_of)
        total = self._file.info.units.count
        order, starts = group(which, total)
        if unsure and starts[total] < len(order):
            which = self._claim(unsure, addresses, which, order[starts[total] :])
            order, starts = group(which, total)
        columns = ChainColumns(len(addresses))
        name_of_record: list[memoryview] = []
        base = 0
        for unit in [unit for unit in range(total) if starts[unit] < starts[unit + 1]]:
            numbers = order[starts[unit] : starts[unit + 1]]
            wanted = take(addresses, numbers)
            read = self._unit(unit)
            begin = columns.used
            found = look_up(wanted, read.addresses, read.records)
            table = self._table(unit) if lines else _NOTHING
            rows = table.rows
            columns.add(numbers, found, row_of(wanted, rows["address"]), read.functions, rows, base)
            self._name_records(read, columns.unnamed_records(begin, base, read.names))
            columns.renumber_files(begin, self._number_files(table, columns.file_numbers(begin) if lines else []))
            # The cache may drop the unit before the names are used.
            name_of_record.append(read.names)
            base += len(read.names)
        names = zeros("I", base)
        at = 0
        for part in name_of_record:
            names[at : at + len(part)] = part
            at += len(part)
        made: dict[str, memoryview] = columns.finish(names)
        # Units with unreadable roots are never read, so their damage is counted here.
        self._count_damage(self._file)
        return InlineChains(
            made["first"],
            made["name"],
            made["file"],
            made["line"],
            made["column"],
            list(self._names),
            list(self._file_numbers),
        )

    def _claim(self, unsure: list[int], addresses: memoryview, which: memoryview, missing: memoryview) -> memoryview:
        """``which``, with the ``unsure`` units of the ``missing`` addresses filled in."""
        for unit in unsure:
            read = self._unit(unit)
            if not len(read.addresses):
                continue
            for i in missing:
                at = bisect_right(read.addresses, addresses[i]) - 1
                if which[i] == NONE and at >= 0 and read.records[at] != NONE:
                    which[i] = unit
        return which

    def _number_files(self, table: _Table, wanted: list[int]) -> memoryview:
        """Our file numbers (I) by those of a line table."""
        column = zeros("I", wanted[-1] + 1 if wanted else 0)
        for number in wanted:
            name = table.file_name(number)
            column[number] = self._file_numbers.setdefault(name, len(self._file_numbers)) if name else NONE
        return column

    def _name_records(self, read: _Unit, wanted: memoryview) -> None:
        """Find the names of functions that have none yet."""
        functions, names = read.functions, read.names
        kinds, origins = functions["kind"], functions["origin"]
        known = self._string_numbers.setdefault(read.file, {})
        new, left = read.file.info.functions.number_names(wanted, kinds, origins, names, known, len(self._names))
        self._names += strings_at(read.file.strings, new)
        for record in left:
            name = self._name(read.file, kinds[record], origins[record])
            if not name and kinds[record]:
                name = self._name(read.file, ValueClass.REF, functions["die"][record])
            if name:
                number = self._numbers.get(name)
                if number is None:
                    number = self._numbers[name] = len(self._names)
                    self._names.append(name)
                names[record] = number

    def _name(self, file: DwarfFile, kind: int, offset: int) -> str:
        fallback = ""
        for _hop in range(4):
            if kind == ValueClass.REF_ALT:
                if file.alt is None:
                    break
                file = file.alt
            string_class, string, kind, offset_of_next, unit = file.info.functions.name_of(offset)
            name = file.string(string_class, string, unit) if string_class else ""
            if not kind:
                return name or fallback
            fallback = name or fallback
            offset = offset_of_next
        return fallback


__all__ = ["AltFinder", "DebugLines", "InlineChains", "SplitFinder"]
