# cython: language_level=3, annotation_typing=False
"""References to functions in code and data, and to variables that contain function addresses in code.

Input: the executable sections and pointer tables of an ELF file; output: callers of a function, places that store its
address, and functions that mention such a table.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import cython

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.elf.headers import SHF_EXECINSTR
from undwarf.types.dataflow.program_context import ProgramContext

if TYPE_CHECKING:
    from undwarf.disasm.x86_references import References

__all__ = ["MOST_SITES", "AddressReferences"]

MOST_SITES = 16
"""Limit of functions that reference one; with more, its callers are not examined."""
_EXECUTABLE = 2


class AddressReferences:
    """The references of one file. ``functions``: {address: name}; ``moved``: {place: address} of relocated data."""

    def __init__(
        self, elf: ElfFile, program: ProgramContext, functions: Mapping[int, str], moved: Mapping[int, int]
    ) -> None:
        self._elf = elf
        self._source = program.source
        self._functions = functions
        self._moved = moved

    def callers_of(self, low: int) -> list[int]:
        """Start addresses of the functions that call one, then of those that take its address; stops after
        ``MOST_SITES``."""
        found: dict[int, None] = {}
        for _kind, site in self.sites_of(low):
            bounds = self._source.function_range(site)
            if bounds is not None:
                found[bounds[0]] = None
                if len(found) > MOST_SITES:
                    break
        return list(found)

    def sites_of(self, low: int) -> list[tuple[int, int]]:
        """Sorted (kind as in :mod:`undwarf.disasm.x86_references`, address) of possible calls and address uses of a
        function."""
        number = bisect_left(self._starts, low)
        if number == len(self._starts) or self._starts[number] != low:
            return []
        return sorted(one for section in self._references for one in section.of(number))

    def mentioning(self, variable: int) -> list[int]:
        """Start addresses of the functions that reference a variable with function addresses, by the variable's
        address."""
        number = bisect_left(self._tables, variable)
        found: dict[int, None] = {}
        for section in self._table_references:
            for _kind, site in section.of(number):
                bounds = self._source.function_range(site)
                if bounds is not None:
                    found[bounds[0]] = None
        return list(found)

    @cached_property
    def stored(self) -> dict[int, list[int]]:
        """{function: places in data that store its address}."""
        found: dict[int, list[int]] = {}
        if self._elf.kind == _EXECUTABLE:
            for words, address in self._data():
                self._find_stored(words, address, found)
            return found
        for place, value in self._moved.items():
            if value in self._functions:
                found.setdefault(value, []).append(place)
        return found

    @cython.locals(
        words="const unsigned long long[::1]", starts="const unsigned long long[::1]",
        lowest=cython.ulonglong, highest=cython.ulonglong, value=cython.ulonglong, k=cython.Py_ssize_t,
    )  # fmt: skip  # rows of C types
    def _find_stored(self, words: "memoryview[int]", address: int, found: dict[int, list[int]]) -> None:
        """Add the words at an address that are function addresses."""
        starts = self._starts
        if not len(starts):
            return
        lowest, highest = starts[0], starts[len(starts) - 1]
        for k in range(len(words)):
            value = words[k]
            if lowest <= value <= highest and value in self._functions:
                found.setdefault(value, []).append(address + 8 * k)

    def placed(self, low: int, high: int) -> list[tuple[int, int]]:
        """(place, function) of stored function addresses in a range of data, ascending."""
        places = self._placed
        return places[bisect_left(places, (low, 0)) : bisect_left(places, (high, 0))]

    @cached_property
    def _placed(self) -> list[tuple[int, int]]:
        return sorted((place, function) for function, places in self.stored.items() for place in places)

    @cached_property
    def _starts(self) -> "memoryview[int]":
        """Start addresses of functions, ascending."""
        column = zeros("Q", len(self._functions))
        for number, start in enumerate(sorted(self._functions)):
            column[number] = start
        return column

    @cached_property
    def _references(self) -> "list[References]":
        """References to functions, by section of code."""
        return self._scanned(self._starts)

    @cached_property
    def _tables(self) -> "memoryview[int]":
        """Addresses of variables that contain function addresses, ascending."""
        starts = set()
        for places in self.stored.values():
            for place in places:
                found = self._source.global_at(place)
                if found is not None:
                    starts.add(found[0].address)
        column = zeros("Q", len(starts))
        for number, start in enumerate(sorted(starts)):
            column[number] = start
        return column

    @cached_property
    def _table_references(self) -> "list[References]":
        """References to these variables, by section of code."""
        return self._scanned(self._tables)

    def _scanned(self, starts: "memoryview[int]") -> "list[References]":
        from undwarf.disasm.x86_references import References

        found: list[References] = []
        left = self._elf.limits.call_scan_bytes
        for section in self._elf.sections:
            if not section.flags & SHF_EXECINSTR or not section.size:
                continue
            data = self._elf.section_data(section)
            if data is None or len(data) > left:
                continue
            left -= len(data)
            fixed = self._elf.kind == _EXECUTABLE
            found.append(References(data, section.address, starts, constants=fixed))
        return found

    def _data(self) -> "Iterator[tuple[memoryview[int], int]]":
        """(words, address) of the data sections that hold absolute addresses."""
        left = self._elf.limits.call_scan_bytes
        for section in self._elf.sections:
            if section.name not in (".data", ".rodata", ".data.rel.ro"):
                continue
            data = self._elf.section_data(section)
            if data is None or len(data) > left or section.address % 8:
                continue
            left -= len(data)
            yield memoryview(bytes(data[: len(data) // 8 * 8])).cast("Q"), section.address
