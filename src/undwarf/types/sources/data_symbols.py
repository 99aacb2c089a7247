# cython: language_level=3, annotation_typing=False
"""Symbols of variables and functions by name and by address, from ELF symbol tables or kallsyms."""

import struct
from bisect import bisect_right
from functools import cached_property

from undwarf.elf import ElfFile
from undwarf.elf.headers import SHT_DYNSYM, SHT_SYMTAB
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.types.sources.relocatable_objects import APART, ObjectFile

PER_CPU = ".data..percpu"
"""The section of a kernel's per-CPU variables."""
_OBJECT, _FUNC, _IFUNC, _TLS = 1, 2, 10, 6
_UNDEFINED = 0
_RESERVED = 0xFF00


class DataSymbols:
    """The symbols of one ELF file, read at first use; at most ``Limits.symbols`` of them."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf

    def section_address(self, name: str) -> int | None:
        """The address of a section; None if there is no such section."""
        section = self._elf.section(name)
        return section.address if section is not None else None

    @cached_property
    def _rows(self) -> list[tuple[int, int, int, str]]:
        """(type, address, size, name) of all defined symbols that have a name."""
        elf = self._elf
        mark, wide = "<" if elf.byte_order == "little" else ">", elf.is_64
        layout = struct.Struct(mark + ("IBBHQQ" if wide else "IIIBBH"))
        found: list[tuple[int, int, int, str]] = []
        left = elf.limits.symbols
        # Symbol values of relocatable files are relative to their sections.
        sections = elf.sections if isinstance(elf, ObjectFile) else ()
        for kind in (SHT_SYMTAB, SHT_DYNSYM):
            for section in elf.sections:
                if section.type != kind or not 0 < section.link < len(elf.sections):
                    continue
                data = elf.section_data(section)
                text = elf.section_data(elf.sections[section.link])
                if data is None or text is None:
                    continue
                strings = bytes(text)
                count = min(len(data) // layout.size, left)
                left -= count
                for row in layout.iter_unpack(data[: count * layout.size]):
                    if wide:
                        name, info, _other, index, value, size = row
                    else:
                        name, value, size, info, _other, index = row
                    what = info & 0xF
                    if index == _UNDEFINED or index >= _RESERVED or what not in (_OBJECT, _FUNC, _IFUNC, _TLS):
                        continue
                    end = strings.find(b"\0", name, name + 4096)
                    if end > name:
                        if index < len(sections) and what != _TLS:
                            value += sections[index].address
                        found.append((what, value, size, strings[name:end].decode("utf-8", "backslashreplace")))
            if found:
                break
        if isinstance(elf, ObjectFile):
            # Undefined symbols have no reliable type: each counts as a function at its first byte and as a variable.
            for address, text_of in elf.undefined.items():
                found += [(_FUNC, address, 0, text_of), (_OBJECT, address, APART, text_of)]
        return found

    @cached_property
    def variables(self) -> dict[str, list[int]]:
        """Addresses of variables by name; several if files have static variables of the same name."""
        found: dict[str, list[int]] = {}
        for what, value, _size, name in self._rows:
            if what == _OBJECT:
                at = found.setdefault(name.partition("@")[0], [])
                if value not in at:
                    at.append(value)
        return found

    @cached_property
    def _objects(self) -> list[tuple[int, int, str]]:
        return sorted((value, size, name) for what, value, size, name in self._rows if what == _OBJECT and size)

    def variable_at(self, address: int) -> "tuple[str, int, int] | None":
        """(name, address, size) of the variable symbol that covers an address; None if there is none."""
        at = bisect_right(self._objects, (address, 1 << 64, "")) - 1
        if at < 0 or address - self._objects[at][0] >= self._objects[at][1]:
            return None
        start, size, name = self._objects[at]
        return name.partition("@")[0], start, size

    def place_of(self, name: str) -> "tuple[int, int]":
        """(address, size) of the only variable of a name; (0, 0) if there is none or several."""
        found = self.variables.get(name, [])
        held = self.variable_at(found[0]) if len(found) == 1 else None
        return (held[1], held[2]) if held is not None else (0, 0)

    @cached_property
    def functions(self) -> dict[int, str]:
        """{address: name} of functions, the first name of each address."""
        found: dict[int, str] = {}
        for what, value, _size, name in self._rows:
            if what in (_FUNC, _IFUNC):
                found.setdefault(value, name)
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for what, value, _size, name in self._rows:
            if what == _FUNC:
                # Static functions of several files are different functions.
                found[name] = value if found.setdefault(name, value) == value else -1
            elif what == _IFUNC:
                found[name] = -1
        return found

    def function_named(self, name: str) -> int | None:
        """The address of the only function of a name; None for none, for several, and for one chosen at run time."""
        found = self._places.get(name, -1)
        return found if found >= 0 else None

    @cached_property
    def functions_by_name(self) -> dict[str, int]:
        """What :meth:`function_named` gives, of all names."""
        return {name: address for name, address in self._places.items() if address >= 0}

    @cached_property
    def resolvers(self) -> dict[str, int]:
        """The functions that choose at run time what a name stands for (ifunc), by name."""
        return {name: value for what, value, _size, name in self._rows if what == _IFUNC}

    def defines(self, name: str) -> bool:
        """Whether a function has the name, be it one of several, or one chosen at run time."""
        return name in self._places

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        return sorted({(value, value + size) for what, value, size, _name in self._rows if what == _FUNC and size})

    def function_at(self, address: int) -> "tuple[int, int] | None":
        """The range [low, high) of the function symbol that covers an address; None if there is none."""
        at = bisect_right(self._ranges, (address, 1 << 64)) - 1
        if at < 0 or address >= self._ranges[at][1]:
            return None
        return self._ranges[at]


class _FunctionNames:
    """Names of functions by their start address."""

    def __init__(self, table: SymbolTable) -> None:
        self._table = table

    def get(self, address: int, default: str = "") -> str:
        """The name of the function that starts at an address."""
        number = self._table.find(address)
        if number is None or self._table.extent(number)[0] != address:
            return default
        return self._table.names_at(number)[0].decode("utf-8", "backslashreplace")


class TableSymbols:
    """The interface of :class:`DataSymbols` over a table of functions: kernels without `.symtab` have kallsyms only. No
    variables."""

    def __init__(self, table: SymbolTable, elf: ElfFile) -> None:
        self._table = table
        self._elf = elf
        self.variables: dict[str, list[int]] = {}
        self.functions = _FunctionNames(table)

    def section_address(self, name: str) -> int | None:
        """The address of a section; None if there is no such section."""
        section = self._elf.section(name)
        return section.address if section is not None else None

    def place_of(self, _name: str) -> "tuple[int, int]":
        """(0, 0): the table has no variables."""
        return 0, 0

    def function_at(self, address: int) -> "tuple[int, int] | None":
        """The range [low, high) of the function that covers an address; None if there is none."""
        number = self._table.find(address)
        return self._table.extent(number) if number is not None else None
