# cython: language_level=3, annotation_typing=False
"""Where a program's code and data speak of its functions, and code of the variables that have their addresses."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import cython

from undwarf.column import zeros
from undwarf.elf import ElfFile
from undwarf.elf.headers import SHF_EXECINSTR
from undwarf.types.dataflow.program_context import Program

if TYPE_CHECKING:
    from undwarf.disasm.x86_references import References

__all__ = ["MOST_SITES", "Mentions"]

MOST_SITES = 16
"""Functions that speak of one, which are looked into."""
_EXECUTABLE = 2


class Mentions:
    """``functions`` are names by address, ``moved`` addresses in data by place."""

    def __init__(self, elf: ElfFile, program: Program, functions: Mapping[int, str], moved: Mapping[int, int]) -> None:
        self._elf = elf
        self._source = program.source
        self._functions = functions
        self._moved = moved

    def callers_of(self, low: int) -> list[int]:
        """The functions that call one, then those that take its address; of very many only some."""
        found: dict[int, None] = {}
        for _kind, site in self.sites_of(low):
            bounds = self._source.function_range(site)
            if bounds is not None:
                found[bounds[0]] = None
                if len(found) > MOST_SITES:
                    break
        return list(found)

    def sites_of(self, low: int) -> list[tuple[int, int]]:
        """(CALLED or TAKEN, of `x86_encoding`; address) of what may call a function or take its address."""
        number = bisect_left(self._starts, low)
        if number == len(self._starts) or self._starts[number] != low:
            return []
        return sorted(one for section in self._references for one in section.of(number))

    def speaking_of(self, variable: int) -> list[int]:
        """The functions that speak of a variable that has addresses of functions, by where it begins."""
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
        """By function, the places in data that hold its address."""
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
        """Adds where functions' addresses are among the words of data at an address."""
        starts = self._starts
        if not len(starts):
            return
        lowest, highest = starts[0], starts[len(starts) - 1]
        for k in range(len(words)):
            value = words[k]
            if lowest <= value <= highest and value in self._functions:
                found.setdefault(value, []).append(address + 8 * k)

    def placed(self, low: int, high: int) -> list[tuple[int, int]]:
        """The places in a range of data that hold functions' addresses, and these functions."""
        places = self._placed
        return places[bisect_left(places, (low, 0)) : bisect_left(places, (high, 0))]

    @cached_property
    def _placed(self) -> list[tuple[int, int]]:
        return sorted((place, function) for function, places in self.stored.items() for place in places)

    @cached_property
    def _starts(self) -> "memoryview[int]":
        """Where functions begin, in rising order."""
        column = zeros("Q", len(self._functions))
        for number, start in enumerate(sorted(self._functions)):
            column[number] = start
        return column

    @cached_property
    def _references(self) -> "list[References]":
        """By section, what its code says of functions."""
        return self._scanned(self._starts)

    @cached_property
    def _tables(self) -> "memoryview[int]":
        """Where variables begin that have addresses of functions, in rising order."""
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
        """By section, what its code says of such variables."""
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
        """The words of data that are addresses as they are, and where they begin."""
        left = self._elf.limits.call_scan_bytes
        for section in self._elf.sections:
            if section.name not in (".data", ".rodata", ".data.rel.ro"):
                continue
            data = self._elf.section_data(section)
            if data is None or len(data) > left or section.address % 8:
                continue
            left -= len(data)
            yield memoryview(bytes(data[: len(data) // 8 * 8])).cast("Q"), section.address
