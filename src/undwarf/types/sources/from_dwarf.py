# cython: language_level=3, annotation_typing=False
"""DWARF as the type source of one binary: variables by scope, globals by address, prototypes by function."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property

from undwarf.defects import Defects
from undwarf.dwarf.die import Entry
from undwarf.dwarf.line_lookup import AltFinder, DebugLines, SplitFinder
from undwarf.dwarf.sections import DwarfFile
from undwarf.dwarf.tags import NAMESPACE, SUBPROGRAM, VARIABLE
from undwarf.elf import ElfFile
from undwarf.elf.headers import ET_REL
from undwarf.limits import DEFAULT, Limits
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.layouts.virtual_bases import all_virtual_bases
from undwarf.types.sources.data_symbols import DataSymbols
from undwarf.types.sources.dwarf_entries import (
    ABSTRACT_ORIGIN,
    EXTERNAL,
    LINKAGE_NAME,
    LOCATION,
    NORETURN,
    SPECIFICATION,
    Space,
    Spaces,
    name_of_entry,
)
from undwarf.types.sources.dwarf_types import C_LANGUAGES, DwarfTypes
from undwarf.types.sources.locations import spots
from undwarf.types.sources.lru import LruCache
from undwarf.types.sources.parameter_registers import argument_registers, is_clone, thunk_of, virtual_thunk_of
from undwarf.types.sources.rust_closures import environment_of
from undwarf.types.sources.scopes import FunctionScopes
from undwarf.types.sources.type_source import GlobalVariable, Place, PlaceKind, Prototype
from undwarf.types.sources.variable_declarations import VariableDeclarations

_PT_TLS = 7

_FUNCTION_COST = 150
"""Approximate bytes of a function's row in the cache of ranges."""

MAX_RELATED = 1000
"""Limit of aggregates related to one function (:meth:`DwarfSource.related`)."""
MAX_RELATED_DEPTH = 5

_ASSEMBLERS = frozenset((0x31, 0x8001))
"""Languages without types: DW_LANG_Assembly, DW_LANG_Mips_Assembler."""

_NO_TYPES = frozenset((NAMESPACE, SUBPROGRAM, VARIABLE))
"""Tags that also units without types declare."""

FunctionRanges = tuple[list[int], list[int], list[int], Space, int, int]
"""(starts, ends and entry offsets of a unit's functions, their space, the unit's number in it, its low address)."""
_FunctionPlace = tuple[FunctionRanges, int, int]
Fixed = tuple[int, Space, int, int, int, int]
"""(address; space, unit and offset of the variable's entry; offset and size of the piece at the address, size 0: all of
it)."""


class DwarfSource:
    """:class:`~undwarf.types.sources.type_source.TypeSource` over DWARF; units, functions and types on demand."""

    def __init__(self, lines: DebugLines, file: DwarfFile, elf: ElfFile, graph: TypeGraph) -> None:
        self.graph = graph
        self._lines = lines
        self._file = file
        self._spaces = Spaces(file, lines.source_of)
        self.types = DwarfTypes(self._spaces, graph)
        self.symbols = DataSymbols(elf)
        self._functions: LruCache[tuple[int, int], FunctionScopes] = LruCache(file.limits.dwarf_bytes // 4)
        self._units: LruCache[int, FunctionRanges] = LruCache(file.limits.dwarf_bytes // 4)
        self._last_unit = 0, 0, 0
        """Cache of the last unit query: (low, high, unit)."""
        self._last_pc = -1
        self._last_place: _FunctionPlace | None = None
        self._declared: dict[int, VariableDeclarations] = {}
        self._prototypes: dict[int, Prototype | None] = {}
        self._widest_at: dict[tuple[bool, int], tuple[GlobalVariable | None, int]] = {}
        """{(thread-local, start address): result of :meth:`_widest`}."""

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
    ) -> "DwarfSource | None":
        """The types of a binary, from itself or its separate debug file; None if neither has DWARF."""
        defects = Defects() if defects is None else defects
        lines = DebugLines.open(
            elf, debug_elf, find_alt=find_alt, find_split=find_split, limits=limits, defects=defects
        )
        if lines is None:
            return None
        graph = TypeGraph(pointer_size=8 if elf.is_64 else 4, limits=limits, defects=defects, subject=elf.path)
        return cls(lines, lines.file, elf, graph)

    # Functions ---------------------------------------------------------------------------------------------

    def _unit_of(self, pc: int) -> int | None:
        low, high, unit = self._last_unit
        if low <= pc < high:
            return unit
        addresses, units, _unsure = self._lines.unit_index()
        at = bisect_right(addresses, pc) - 1
        if at >= 0 and units[at] != 0xFFFFFFFF:
            self._last_unit = addresses[at], addresses[at + 1] if at + 1 < len(addresses) else pc + 1, units[at]
            return units[at]
        for unit in self._units_without_ranges:
            starts, ends, _dies, _space, _number, _base = self._ranges(unit)
            k = bisect_right(starts, pc) - 1
            if k >= 0 and pc < ends[k]:
                return unit
        return None

    @cached_property
    def _units_without_ranges(self) -> list[int]:
        """Units that have functions but no ranges of their own."""
        return [unit for unit in self._lines.unit_index()[2] if self._ranges(unit)[0]]

    def _ranges(self, unit: int) -> FunctionRanges:
        found = self._units.get(unit)
        if found is not None:
            return found
        base = self._lines.set_bases(unit)
        file, number = self._lines.source_of(unit)
        space = self._spaces.of(file)
        if file is not self._file:
            self._spaces.note_split(space, number, unit)
        starts, ends, dies = space.info.functions.by_address(number)
        found = starts, ends, dies, space, number, base
        self._units.put(unit, found, _FUNCTION_COST * len(starts))
        return found

    def _place(self, pc: int) -> "_FunctionPlace | None":
        """(functions of the unit, index of the one that contains ``pc``, unit); None if there is none."""
        if pc != self._last_pc:
            # Consecutive queries are often for the same address.
            self._last_place = self._find_place(pc)
            self._last_pc = pc
        return self._last_place

    def _find_place(self, pc: int) -> "_FunctionPlace | None":
        unit = self._unit_of(pc)
        if unit is None:
            return None
        ranges = self._ranges(unit)
        at = bisect_right(ranges[0], pc) - 1
        # Ranges of nested functions may overlap.
        for k in range(at, max(at - 8, -1), -1):
            if pc < ranges[1][k]:
                return ranges, k, unit
        return None

    def _scopes(self, pc: int) -> FunctionScopes | None:
        place = self._place(pc)
        if place is None:
            return None
        (_starts, _ends, dies, space, number, base), k, unit = place
        key = (unit, dies[k])
        found = self._functions.get(key)
        if found is not None:
            return found
        entry = space.entry_in(number, dies[k])
        if entry is None:
            return None
        # Makes this unit the current one: range lists are relative to the bases of the unit read last.
        self._lines.source_of(unit)
        declared = self._declared.get(space.number)
        if declared is None:
            declared = self._declared[space.number] = VariableDeclarations(self.types, space)
        found = FunctionScopes(self.types, entry, base, environment_of, declared)
        self._functions.put(key, found, found.cost)
        return found

    def place(self, pc: int) -> "tuple[Space, int, int] | None":
        """(space, unit, offset) of the entry of the function that contains ``pc``; None if there is none."""
        place = self._place(pc)
        if place is None:
            return None
        (_starts, _ends, dies, space, number, _base), k, _unit = place
        return space, number, dies[k]

    def function_range(self, pc: int) -> "tuple[int, int] | None":
        """The contiguous range [low, high) of the function that contains ``pc``; None if there is none."""
        place = self._place(pc)
        if place is None:
            return None
        (starts, ends, _dies, _space, _number, _base), k, _unit = place
        return starts[k], ends[k]

    def describes(self, pc: int) -> bool:
        """Whether types are described for the function at ``pc``: not for assembly, nor for units with lines and
        functions only (-g1)."""
        place = self._place(pc)
        if place is None:
            return False
        (_starts, _ends, _dies, space, number, _base), _k, _unit = place
        return space.language(number) not in _ASSEMBLERS and not _NO_TYPES.issuperset(space.declared(number)["tag"])

    def by_assembler(self, pc: int) -> bool:
        """Whether the unit of the function at ``pc`` is written in assembly."""
        place = self._place(pc)
        return place is not None and place[0][3].language(place[0][4]) in _ASSEMBLERS

    def places(self, pc: int) -> list[list[Place]]:
        """The variables with a location at ``pc``, by scope, innermost first."""
        function = self._scopes(pc)
        return function.places_at(pc) if function is not None else []

    def function_places(self, low: int, high: int) -> Sequence[Place]:
        """All variable locations valid anywhere in a range of one function, outer scopes first.

        Constants and integers in registers may be missing from it: it shows that a function has variables, not all of
        them.
        """
        function = self._scopes(low)
        return function.places(low, high) if function is not None else []

    def returned_at(self, pc: int) -> list[int]:
        """Return types of the functions inlined at ``pc``, innermost first, then of the function itself."""
        function = self._scopes(pc)
        return function.returned_at(pc) if function is not None else []

    def type_parameters(self, pc: int) -> list[int]:
        """Template type parameters of the function at ``pc``."""
        function = self._scopes(pc)
        return self.types.type_parameters(function.entry) if function is not None else []

    def types_of_variables(self, pc: int) -> Iterable[int]:
        """Types of the variables and parameters of a function and of the functions inlined in it."""
        function = self._scopes(pc)
        return function.types if function is not None else ()

    def related(self, pc: int) -> list[list[int]]:
        """Aggregates related to a function, in three lists of increasing distance: those of its variables or their
        pointees; also those that they name (typedefs, template parameters); and all that these contain or name. Empty
        for C: no inheritance."""
        function = self._scopes(pc)
        if function is None or function.entry.space.language(function.entry.unit) in C_LANGUAGES:
            # C has no inheritance.
            return []
        graph = self.graph
        direct: dict[int, None] = {}
        for t in function.types:
            self._whole(t, direct)
        named: dict[int, None] = {}
        for t in direct:
            for part in (t, *(member.type for member in graph.members(t) if member.base)):
                for inner in self.types.mentioned_types(part):
                    self._whole(inner, named)
        found = direct | named
        queue = [(t, 0) for t in found]
        for t, depth in queue:
            if len(found) >= MAX_RELATED or depth >= MAX_RELATED_DEPTH:
                break
            for inner in (*(member.type for member in graph.members(t)), *self.types.mentioned_types(t)):
                before = len(found)
                self._whole(inner, found)
                if len(found) > before:
                    queue.append((next(reversed(found)), depth + 1))
        return [list(direct), list(named), list(found)]

    def _whole(self, t: int, found: dict[int, None]) -> None:
        """Add the aggregate that a type is or points to."""
        graph = self.graph
        for _hop in range(4):
            if not (graph.is_pointer(t) or graph.is_array(t)):
                break
            t = graph.target(t)
        if graph.is_aggregate(t) and len(found) < MAX_RELATED:
            found.setdefault(graph.strip(t))

    # Prototypes --------------------------------------------------------------------------------------------

    def prototype_at(self, address: int) -> "Prototype | None":
        """The prototype of the function that starts at an address; None if unknown."""
        if address not in self._prototypes:
            place = self._place(address)
            found = None
            if place is not None and place[0][0][place[1]] == address:
                (_starts, _ends, dies, space, number, _base), k, _unit = place
                entry = space.entry_in(number, dies[k])
                found = self._prototype(entry, address) if entry is not None else None
            elif place is None:
                # GCC emits no DWARF for thunks.
                found = self._thunk(self.symbols.functions.get(address, ""), address)
            self._prototypes[address] = found
        return self._prototypes[address]

    def _prototype(self, entry: Entry, low: int) -> Prototype:
        named = entry
        noreturn = external = False
        parameters, variadic = self.types.parameters(entry)
        symbol = self.symbols.functions.get(low, "")
        for _hop in range(8):
            noreturn = noreturn or named.flag(NORETURN)
            external = external or named.flag(EXTERNAL)
            further = named.reference(ABSTRACT_ORIGIN) or named.reference(SPECIFICATION)
            if not parameters:
                parameters, variadic = self.types.parameters(named)
            if further is None:
                break
            named = further
        name = symbol or entry.string(LINKAGE_NAME) or named.string(LINKAGE_NAME) or name_of_entry(entry)
        # Clang describes thunks as functions without parameters.
        thunk = self._thunk(name, low) if low >= 0 and not parameters else None
        if thunk is not None:
            return thunk
        trusted = not is_clone(symbol)
        returns = self.types.of(entry)
        return Prototype(name, returns, parameters, low, noreturn, variadic, trusted, external=external and trusted)

    def _thunk(self, name: str, low: int) -> "Prototype | None":
        """The prototype of a C++ thunk, that of the method it calls; None for other functions."""
        plain, virtual = thunk_of(name), virtual_thunk_of(name)
        called = plain or virtual
        method = self._method(called[0]) if called is not None else None
        if called is None or method is None or not method.parameters:
            return None
        graph = self.graph
        given = argument_registers(graph, method.parameters, method.returns)
        this = method.parameters[0][1]
        first = next((register for register, t, _piece in given if t == this), None)
        if first is None:
            return None
        if plain is not None:
            return Prototype(name, method.returns, method.parameters, low, arguments=given, inside=(first, plain[1]))
        base = self._base_of_thunk(graph.target(this), called[0])
        if not base:
            return None
        pointer = graph.pointer_to(base)
        arguments = tuple((register, pointer if register == first else t, piece) for register, t, piece in given)
        whole = (called[1], graph.target(this))
        return Prototype(
            name, method.returns, method.parameters, low, arguments=arguments, inside=(first, 0), whole=whole
        )

    def _method(self, name: str) -> "Prototype | None":
        """The prototype of a thunk's method, which is usually in the same object file."""
        found = self.prototype_named(name)
        if (found is None or not found.parameters) and (address := self.symbols.function_named(name)) is not None:
            found = self.prototype_at(address)
        return found

    def _base_of_thunk(self, t: int, method: str) -> int:
        """The virtual base through which a method's thunk is called: the only one, or the only one that declares the
        method (their symbols differ in the class name); void if ambiguous."""
        graph = self.graph
        bases = all_virtual_bases(graph, t)
        if len(bases) > 1:
            before, named, behind = method.partition(_in_symbol(graph.name(graph.strip(t))))
            declared = self._declared_functions if named else {}
            bases = [
                base for base in bases if f"{before}{_in_symbol(graph.name(graph.strip(base)))}{behind}" in declared
            ]
        return bases[0] if len(bases) == 1 else VOID

    @cached_property
    def _declared_functions(self) -> dict[str, tuple[Space, int, int]]:
        """{symbol name: (space, unit, offset)} of declared functions."""
        found: dict[str, tuple[Space, int, int]] = {}
        for space in self._spaces.every:
            rows = space.outline[1]
            for name, (unit, die, _kind, _at) in zip(space.names_of(rows), rows, strict=True):
                if name:
                    found.setdefault(name, (space, unit, die))
        return found

    def prototype_named(self, name: str) -> "Prototype | None":
        """The prototype of a symbol name, such as of a library function that is declared here; None if unknown."""
        place = self._declared_functions.get(name.partition("@")[0])
        if place is None:
            return None
        space, unit, die = place
        entry = space.entry_in(unit, die)
        return self._prototype(entry, -1) if entry is not None else None

    # Variables at fixed addresses --------------------------------------------------------------------------

    @cached_property
    def _fixed(self) -> tuple[list[Fixed], list[Fixed]]:
        """(variables in memory, thread-local ones), both sorted by address."""
        memory: list[Fixed] = []
        thread: list[Fixed] = []
        for space in self._spaces.program:
            for unit, die, place, kind in space.outline[0]:
                address: int | None = place
                if kind == 5:
                    memory += self._parts(space, unit, die)
                    continue
                if kind in (2, 4):
                    address = self._spaces.indexed_address(space, unit, place)
                if address is not None:
                    if kind > 2:
                        address = self._in_block(address)
                    (memory if kind < 3 else thread).append((address, space, unit, die, 0, 0))
        memory.sort(key=lambda one: one[0])
        thread.sort(key=lambda one: one[0])
        return memory, thread

    def type_named(self, name: str) -> int:
        """A structure, union, class, enumeration or typedef by its name; void if there is none."""
        return self.types.named(name)

    def _parts(self, space: Space, unit: int, die: int) -> list[Fixed]:
        """The rows of a variable with a computed address or with pieces at several addresses."""
        entry = space.entry_in(unit, die)
        block = entry.block(LOCATION) if entry is not None else None
        if block is None:
            return []
        found = spots(
            block,
            address_size=space.columns["address_size"][unit],
            order=space.file.elf.byte_order,
            frame_base=None,
            indexed=lambda index: self._spaces.indexed_address(space, unit, index),
            steps=self.graph.limits.expression_steps,
        )
        return [
            (spot.offset, space, unit, die, spot.piece_offset, spot.piece_size)
            for spot in found
            if spot.kind == PlaceKind.ADDRESS and not spot.indirect and spot.offset >= 0
        ]

    def _in_block(self, place: int) -> int:
        """The offset in the thread's TLS block; GCC's split files have an address in the TLS template instead."""
        for segment in self._file.main.segments:
            if segment.type == _PT_TLS and max(segment.address, segment.memory_size) <= place:
                return place - segment.address
        return place

    @cached_property
    def _memory_starts(self) -> list[int]:
        return [one[0] for one in self._fixed[0]]

    @cached_property
    def _thread_starts(self) -> list[int]:
        return [one[0] for one in self._fixed[1]]

    @cached_property
    def _declared_variables(self) -> dict[str, tuple[Space, int, int]]:
        found: dict[str, tuple[Space, int, int]] = {}
        for space in self._spaces.every:
            rows = space.outline[2]
            for name, (unit, die, _kind, _at) in zip(space.names_of(rows), rows, strict=True):
                found.setdefault(name, (space, unit, die))
        return found

    def _held(self, rows: list[Fixed], starts: list[int], address: int) -> "tuple[GlobalVariable, int] | None":
        at = bisect_right(starts, address) - 1
        if at < 0:
            return None
        start = starts[at]
        known = self._widest_at.get((rows is self._fixed[1], start))
        if known is None:
            known = self._widest_at[rows is self._fixed[1], start] = self._widest(rows, at, start)
        best, room = known
        if best is not None and (address - start < room or address == start):
            return best, address - best.address
        return None

    def _widest(self, rows: list[Fixed], last: int, start: int) -> "tuple[GlobalVariable | None, int]":
        """(the variable that starts at an address, its bytes there), from the last row of that address.

        Several units may describe a variable, some without array bounds: the largest is taken. At address 0 are also
        variables whose sections the linker dropped, thousands in a kernel; there the variable must have the symbol's
        name.
        """
        best: GlobalVariable | None = None
        room = 0
        dropped = not start and rows is self._fixed[0] and self._file.main.kind != ET_REL
        there = self.symbols.variable_at(start) if dropped else None
        for at in range(last, -1, -1):
            address, space, unit, die, piece, piece_size = rows[at]
            if address != start:
                break
            entry = space.entry_in(unit, die)
            if entry is None or (dropped and (there is None or name_of_entry(entry) != there[0])):
                continue
            t = self.types.of(entry)
            size = self.graph.size(t)
            if best is None or size > best.size:
                best = GlobalVariable(name_of_entry(entry), t, start - piece, size)
                room = piece_size or size
        return best, room

    def global_at(self, address: int) -> "tuple[GlobalVariable, int] | None":
        """(variable, offset in it) at an address, by its own entry, else by its symbol and a declaration of that name;
        None if none."""
        found = self._held(self._fixed[0], self._memory_starts, address)
        if found is not None:
            return found
        named = self.symbols.variable_at(address)
        if named is None:
            return None
        name, start, size = named
        place = self._declared_variables.get(name)
        entry = place[0].entry_in(place[1], place[2]) if place is not None else None
        if entry is None:
            return None
        t = self.types.of(entry)
        size = self.graph.size(t) or size
        return (GlobalVariable(name, t, start, size), address - start) if address - start < size else None

    def variable_named(self, name: str) -> int:
        """The type of a variable that is declared here and defined elsewhere; void if there is none."""
        place = self._declared_variables.get(name)
        entry = place[0].entry_in(place[1], place[2]) if place is not None else None
        return self.types.of(entry) if entry is not None else VOID

    def symbol_named(self, name: str) -> "tuple[int, int]":
        """(address, size) of the only variable symbol of a name; (0, 0) if there is none or several."""
        return self.symbols.place_of(name)

    def per_cpu_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """(per-CPU variable, offset in it) at an address, or at an offset if the section starts at 0; None if there is
        none.

        The per-CPU section of SMP kernels is linked at 0 (x86-64 until Linux 6.14) or at its load address; in both
        cases code uses the values of the symbols. A module's code names the kernel's variables.
        """
        return self.global_at(offset)

    def thread_local_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """(thread-local variable, offset in it) at an offset of the module's TLS block; None if there is none."""
        return self._held(self._fixed[1], self._thread_starts, offset)


def _in_symbol(name: str) -> str:
    """A class name as it is mangled in symbols of its methods (Itanium C++ ABI, 5.1.2, `<source-name>`)."""
    plain = name.rpartition("::")[2]
    return f"{len(plain)}{plain}"
