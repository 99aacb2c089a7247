"""BTF as the type source of one binary: prototypes by symbol name, per-CPU variables, globals by symbol address."""

from bisect import bisect_right
from functools import cached_property

from undwarf.elf import ElfFile
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.sources.btf import BtfTypes
from undwarf.types.sources.data_symbols import PER_CPU, DataSymbols, TableSymbols
from undwarf.types.sources.parameter_registers import argument_registers, is_clone
from undwarf.types.sources.type_source import GlobalVariable, Place, Prototype


class BtfSource:
    """:class:`~undwarf.types.sources.type_source.TypeSource` over BTF, which has no local variables: variable
    locations are empty.

    ``symbols`` are the binary's (None: functions can only be queried by name). A global's address is that of the only
    symbol of its name, or else of the symbol at its BTF section offset.
    """

    def __init__(
        self, types: BtfTypes, elf: "ElfFile | None" = None, symbols: "DataSymbols | TableSymbols | None" = None
    ) -> None:
        self.types = types
        self.graph: TypeGraph = types.graph
        self.symbols = DataSymbols(elf) if symbols is None and elf is not None else symbols
        self._prototypes: dict[str, Prototype | None] = {}

    def places(self, pc: int) -> list[list[Place]]:
        """Empty: BTF has no local variables."""
        return []

    def function_range(self, pc: int) -> "tuple[int, int] | None":
        """The range of the symbol that covers ``pc``; None if unknown."""
        return self.symbols.function_at(pc) if self.symbols is not None else None

    def describes(self, pc: int) -> bool:
        """Whether the function at ``pc`` has a prototype."""
        held = self.function_range(pc)
        return held is not None and self.prototype_at(held[0]) is not None

    def by_assembler(self, pc: int) -> bool:
        """False: BTF has no source language."""
        return False

    def function_places(self, low: int, high: int) -> list[Place]:
        """Empty: BTF has no local variables."""
        return []

    @cached_property
    def _globals(self) -> tuple[list[int], list[GlobalVariable]]:
        found: dict[int, GlobalVariable] = {}
        symbols = self.symbols
        if symbols is not None:
            for section, rows in self.types.sections().items():
                if section == PER_CPU:
                    continue
                start = symbols.section_address(section)
                for name, t, offset, size in rows:
                    addresses = symbols.variables.get(name, [])
                    address = -1
                    if len(addresses) == 1:
                        address = addresses[0]
                    elif start is not None and start + offset in addresses:
                        address = start + offset
                    if address >= 0:
                        found.setdefault(address, GlobalVariable(name, t, address, size or self.graph.size(t)))
        rows_found = [found[address] for address in sorted(found)]
        return [one.address for one in rows_found], rows_found

    @cached_property
    def _per_cpu(self) -> tuple[list[int], list[GlobalVariable]]:
        """By offset in the section. Code of a module names the kernel's own variables, whose section may start at 0."""
        start = self._per_cpu_start
        found = [
            GlobalVariable(name, t, offset - start if start and offset >= start else offset, size)
            for name, t, offset, size in self.types.sections().get(PER_CPU, [])
        ]
        found.sort(key=lambda one: one.address)
        return [one.address for one in found], found

    @cached_property
    def _per_cpu_start(self) -> int:
        return (self.symbols.section_address(PER_CPU) if self.symbols is not None else None) or 0

    @cached_property
    def _per_cpu_names(self) -> dict[str, tuple[int, int]]:
        """{name: (type, size)} of the base files' per-CPU variables."""
        found: dict[str, tuple[int, int]] = {}
        types = self.types.base
        while types is not None:
            for name, t, _offset, size in types.sections().get(PER_CPU, []):
                found.setdefault(name, (t, size))
            types = types.base
        return found

    def returned_at(self, pc: int) -> list[int]:
        """Empty: BTF has no inlined functions."""
        return []

    def type_parameters(self, pc: int) -> list[int]:
        """Empty: BTF has no templates."""
        return []

    def related(self, pc: int) -> list[list[int]]:
        """Empty: BTF has neither variables of functions nor base classes."""
        return []

    def type_named(self, name: str) -> int:
        """A structure, union, enumeration or typedef by its name; void if there is none."""
        return self.types.named(name)

    def global_at(self, address: int) -> "tuple[GlobalVariable, int] | None":
        """(variable, offset in it) at an address; None if there is none."""
        return _held(*self._globals, address)

    def variable_named(self, name: str) -> int:
        """Void: BTF has no declarations of other files' variables."""
        return VOID

    def symbol_named(self, name: str) -> "tuple[int, int]":
        """(address, size) of the only variable symbol of a name; (0, 0) if there is none or several."""
        return self.symbols.place_of(name) if self.symbols is not None else (0, 0)

    def per_cpu_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """(per-CPU variable, offset in it) at an address of the section, or at an offset if the section starts at 0;
        None if none."""
        if isinstance(self.symbols, DataSymbols) and self.types.base is not None:
            # In a module: the kernel's variables by name, its own by the address of its section.
            named = self.symbols.variable_at(offset)
            known = self._per_cpu_names.get(named[0]) if named is not None else None
            if named is not None and known is not None and offset - named[1] < known[1]:
                return GlobalVariable(named[0], known[0], named[1], known[1]), offset - named[1]
        return _held(*self._per_cpu, offset - self._per_cpu_start if offset >= self._per_cpu_start else offset)

    def thread_local_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """None: BTF has no thread-local variables."""
        return None

    def prototype_at(self, address: int) -> "Prototype | None":
        """The prototype of the function whose symbol starts at an address; None if unknown."""
        if self.symbols is None:
            return None
        name = self.symbols.functions.get(address, "")
        return self.prototype_named(name) if name else None

    def prototype_named(self, name: str) -> "Prototype | None":
        """The prototype of a symbol name; None if unknown. A clone (``name.isra.0``) has the return type only."""
        if name not in self._prototypes:
            self._prototypes[name] = self._prototype(name)
        return self._prototypes[name]

    def _prototype(self, name: str) -> "Prototype | None":
        clone = is_clone(name)
        types: BtfTypes | None = self.types
        number = None
        plain = name.partition(".")[0] if clone else name
        while types is not None:
            number = types.functions.get(plain)
            if number is not None:
                break
            types = types.base
        if types is None or number is None:
            return None
        function = types.prototype(number)
        if function == VOID:
            return None
        record = self.graph.record(function)
        if clone:
            return Prototype(name, record.target, (), trusted=False)
        if any(not self._alike(function, types.prototype(one)) for one in types.further_functions.get(plain, ())):
            # Static functions of several files with different prototypes: ambiguous.
            return Prototype(name, VOID, (), trusted=False)
        arguments = argument_registers(self.graph, record.parameters, record.target)
        return Prototype(name, record.target, record.parameters, variadic=record.variadic, arguments=arguments)

    def _alike(self, one: int, other: int) -> bool:
        """Whether two functions have the same parameter and return types, whatever their names."""
        graph = self.graph
        first, second = ([graph.returns(t), *(each for _name, each in graph.parameters(t))] for t in (one, other))
        return [graph.canonical(t) for t in first] == [graph.canonical(t) for t in second]


def _held(starts: list[int], rows: list[GlobalVariable], address: int) -> "tuple[GlobalVariable, int] | None":
    at = bisect_right(starts, address) - 1
    if at < 0 or address - starts[at] >= rows[at].size:
        return None
    return rows[at], address - starts[at]
