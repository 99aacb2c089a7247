"""BTF as a source of types for one binary: prototypes by symbol, per-cpu variables, globals joined with symbols."""

from bisect import bisect_right
from functools import cached_property

from undwarf.elf import ElfFile
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.sources.btf import BtfTypes
from undwarf.types.sources.data_symbols import PER_CPU, DataSymbols, TableSymbols
from undwarf.types.sources.parameter_registers import argument_registers, is_clone
from undwarf.types.sources.type_source import GlobalVariable, Place, Prototype


class BtfSource:
    """What BTF says about a binary. It has no local variables, so that ``places`` are empty.

    ``symbols`` are those of the binary (None for a running kernel, whose functions are then asked for by name). The
    addresses of variables come from the symbols of the same name, where there is one such, else from where BTF says
    they are in their section.
    """

    def __init__(
        self, types: BtfTypes, elf: "ElfFile | None" = None, symbols: "DataSymbols | TableSymbols | None" = None
    ) -> None:
        self.types = types
        self.graph: TypeGraph = types.graph
        self.symbols = DataSymbols(elf) if symbols is None and elf is not None else symbols
        self._prototypes: dict[str, Prototype | None] = {}

    def places(self, pc: int) -> list[list[Place]]:
        """BTF does not know where local variables are."""
        return []

    def function_range(self, pc: int) -> "tuple[int, int] | None":
        """The symbol that holds ``pc``, where symbols are known."""
        return self.symbols.function_at(pc) if self.symbols is not None else None

    def describes(self, pc: int) -> bool:
        """Whether the function that holds ``pc`` has a prototype."""
        held = self.function_range(pc)
        return held is not None and self.prototype_at(held[0]) is not None

    def by_assembler(self, pc: int) -> bool:
        """BTF does not say what a function was written in."""
        return False

    def function_places(self, low: int, high: int) -> list[Place]:
        """BTF does not know where local variables are."""
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
        """By place in the section. A module's code names the kernel's own variables, whose section may begin at 0."""
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
        """(type, size) of the base's per-cpu variables, by name."""
        found: dict[str, tuple[int, int]] = {}
        types = self.types.base
        while types is not None:
            for name, t, _offset, size in types.sections().get(PER_CPU, []):
                found.setdefault(name, (t, size))
            types = types.base
        return found

    def returned_at(self, pc: int) -> list[int]:
        """Nothing: BTF does not say what is inlined."""
        return []

    def made_for(self, pc: int) -> list[int]:
        """Nothing: BTF knows of no templates."""
        return []

    def related(self, pc: int) -> list[list[int]]:
        """Nothing: BTF does not say what a function's variables are, nor does it know of bases."""
        return []

    def type_named(self, name: str) -> int:
        """A structure, union, enumeration or typedef by its name; void for none."""
        return self.types.named(name)

    def global_at(self, address: int) -> "tuple[GlobalVariable, int] | None":
        """The variable that holds an address."""
        return _held(*self._globals, address)

    def variable_named(self, name: str) -> int:
        """Nothing: BTF describes variables of its own sections only."""
        return VOID

    def symbol_named(self, name: str) -> "tuple[int, int]":
        """(address, size) of the only variable whose symbol has a name; (0, 0) without one."""
        return self.symbols.place_of(name) if self.symbols is not None else (0, 0)

    def per_cpu_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """The per-cpu variable at an address of the section, or at an offset in it where the section begins at 0."""
        if isinstance(self.symbols, DataSymbols) and self.types.base is not None:
            # A module's: of the kernel by name, of its own by where its section was put.
            named = self.symbols.variable_at(offset)
            known = self._per_cpu_names.get(named[0]) if named is not None else None
            if named is not None and known is not None and offset - named[1] < known[1]:
                return GlobalVariable(named[0], known[0], named[1], known[1]), offset - named[1]
        return _held(*self._per_cpu, offset - self._per_cpu_start if offset >= self._per_cpu_start else offset)

    def thread_local_at(self, offset: int) -> "tuple[GlobalVariable, int] | None":
        """BTF has no thread-local variables."""
        return None

    def prototype_at(self, address: int) -> "Prototype | None":
        """The function whose symbol begins at an address."""
        if self.symbols is None:
            return None
        name = self.symbols.functions.get(address, "")
        return self.prototype_named(name) if name else None

    def prototype_named(self, name: str) -> "Prototype | None":
        """A function by its symbol's name. A clone has its function's return type, and no arguments."""
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
            # Static functions of several files: which one a symbol is, nothing says.
            return Prototype(name, VOID, (), trusted=False)
        arguments = argument_registers(self.graph, record.parameters, record.target)
        return Prototype(name, record.target, record.parameters, variadic=record.variadic, arguments=arguments)

    def _alike(self, one: int, other: int) -> bool:
        """Whether two functions take and return the same, whatever they call it."""
        graph = self.graph
        first, second = ([graph.returns(t), *(each for _name, each in graph.parameters(t))] for t in (one, other))
        return [graph.canonical(t) for t in first] == [graph.canonical(t) for t in second]


def _held(starts: list[int], rows: list[GlobalVariable], address: int) -> "tuple[GlobalVariable, int] | None":
    at = bisect_right(starts, address) - 1
    if at < 0 or address - starts[at] >= rows[at].size:
        return None
    return rows[at], address - starts[at]
