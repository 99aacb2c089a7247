"""The rows of an unwind table for printing: equal adjacent rows merged, rules as text."""

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.headers import ET_REL
from undwarf.elf.section_layout import code_addresses
from undwarf.errors import NothingUsable, UsageError
from undwarf.images import Finder
from undwarf.images.packed_binary import open_binary
from undwarf.limits import DEFAULT, Limits
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.symbols.kernel_modules import symbols_of_module
from undwarf.symbols.symbol_table import SymbolTable
from undwarf.tables.model import NO_RULE, UnwindTable, describe
from undwarf.tables.registers import ARCHITECTURES
from undwarf.tables.sources import parse_order, require_supported

KINDS = {"eh_frame": "cfi", "debug_frame": "cfi"}
"""The names of rules' sources in a dump that differ from their own."""

_RANGE = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})(?:([-+])(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}))?")


@dataclass(slots=True)
class Binary:
    """An ELF file with what its tables need: its debug file, if any, its symbols and the defects."""

    path: str
    elf: ElfFile
    limits: Limits = DEFAULT
    defects: Defects = field(default_factory=Defects)
    _symbols: "SymbolTable | str | None" = ""

    @classmethod
    def open(cls, path: str) -> "Binary":
        """Open a file. Raises ElfError if it cannot be read."""
        defects = Defects()
        return cls(path, open_binary(path, defects=defects), defects=defects)

    def debug_elf(self) -> ElfFile | None:
        """The separate debug file."""
        return Finder().debug_file(self.elf, os.path.realpath(self.path))

    def table(self, source: str | None) -> UnwindTable:
        """The table of all functions from one source or several (``"cfi,sframe"``); their rows are computed on demand.
        Raises NothingUsable if none of the sources is supported for the file's machine."""
        require_supported(self.elf, parse_order(source))
        table = UnwindTable.from_elf(
            self.elf, source, debug_elf=self.debug_elf, limits=self.limits, defects=self.defects
        )
        table.consult_all()
        return table

    @property
    def symbols(self) -> SymbolTable | None:
        """The file's symbols, else those of its debug file."""
        if isinstance(self._symbols, str):
            if self.elf.kind == ET_REL:
                self._symbols = symbols_of_module(self.elf, self.limits, code_addresses(self.elf))
                return self._symbols
            symbols = symbols_of_elf(self.elf, self.limits)
            debug_elf = self.debug_elf() if symbols is None or self.elf.section(".symtab") is None else None
            if debug_elf is not None:
                symbols = symbols_of_elf(debug_elf, self.limits) or symbols
            self._symbols = symbols
        return self._symbols

    def name_at(self, address: int) -> str:
        """The name of the function at an address; empty if unknown."""
        symbols = self.symbols
        number = symbols.find(address) if symbols is not None else None
        if symbols is None or number is None:
            return ""
        names = symbols.names_at(number)
        return names[0].decode("utf-8", "surrogateescape") if names else ""

    def range_of(self, text: str | None) -> tuple[int, int]:
        """The address range (start, end) of a function's name, ``START-END``, ``START+BYTES`` or one address; all
        addresses for None. Raises UsageError."""
        if not text:
            return 0, 1 << 64
        symbols = self.symbols
        address = symbols.address_of_name(text.encode("utf-8", "surrogateescape")) if symbols is not None else None
        numbers = _RANGE.fullmatch(text)
        if address is None and numbers is not None:
            first, sign, second = numbers.groups()
            low = int(first, 0)
            return low, (int(second, 0) + (low if sign == "+" else 0)) if second else low + 1
        if symbols is None or address is None:
            hint = "give its symbol, or START-END as in 0x1000-0x1040"
            raise UsageError(f"{self.path} has no function {text!r}", "", hint)
        number = symbols.find(address)
        if number is None:
            return address, address + 1
        return address, max(symbols.ranges()[1][number], address + 1)


@dataclass(frozen=True, slots=True)
class RowWords:
    """A rule as text. ``registers`` starts with ``ra``; callee-saved ones always have an entry, others if they have a
    rule."""

    cfa: str
    registers: dict[str, str]
    signal: bool
    source: str


def words_of(table: UnwindTable, number: int) -> RowWords:
    """A rule as text: ``rsp+8``, ``cfa-16``, ``same``, ``undefined``, ``expr`` for a DWARF expression, a register's
    name for a value saved in it, ``val(cfa-8)`` for a value that is an address in the frame."""
    rule = describe(table.rules, number, table.machine)
    registers = {"ra": rule.return_address}
    architecture = ARCHITECTURES.get(table.machine)
    if architecture is not None:
        for register in architecture.callee_saved:
            name = architecture.names[register]
            registers[name] = rule.registers.get(name, "same")
    registers.update(rule.registers)
    texts = {name: "expr" if text[0] == "*" else text for name, text in registers.items()}
    cfa = "expr" if rule.cfa[0] == "*" or rule.cfa.startswith("plt") else rule.cfa
    return RowWords(cfa, texts, rule.signal, KINDS.get(rule.source, rule.source))


class Rows:
    """All rows of a table, or those of an address range, with adjacent rules of equal text merged.

    Iterating gives (start, end, rule number), without ranges that have no rule. ``count`` is the number of functions,
    ``words`` the text of each rule by its number.
    """

    def __init__(self, table: UnwindTable, low: int = 0, high: int = 1 << 64) -> None:
        self.table = table
        self.low = low
        self.high = high
        self.words: dict[int, RowWords] = {}
        self._same: dict[int, int] = {NO_RULE: NO_RULE}
        self._by_words: dict[str, int] = {}
        first = max(bisect_right(table.starts, low) - 1, 0)
        if first < len(table) and table.ends[first] <= low:
            first += 1
        self._functions = range(first, max(first, bisect_left(table.starts, high)))
        self.count = len(self._functions)

    def _merged(self, number: int) -> int:
        """The number of the first rule with the same text."""
        words = words_of(self.table, number)
        first = self._by_words.setdefault(repr(words), number)
        self._same[number] = first
        if first == number:
            self.words[number] = words
        return first

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        functions = self.table.functions
        ends = functions.ends
        same = self._same
        start = previous_end = 0
        rule = NO_RULE
        for function in self._functions:
            addresses, rules = functions.passing_rows(function)
            at = addresses[0] if len(addresses) else ends[function]
            if at != previous_end and rule != NO_RULE:
                yield start, previous_end, rule
                rule = NO_RULE
            for address, number in zip(addresses, rules, strict=True):
                merged = same.get(number)
                if merged is None:
                    merged = self._merged(number)
                if merged != rule:
                    if rule != NO_RULE:
                        yield start, address, rule
                    start, rule = address, merged
            previous_end = ends[function]
        if rule != NO_RULE:
            yield start, previous_end, rule

    def cut(self) -> Iterator[tuple[int, int, int]]:
        """The same, cut off at the ends of the address range."""
        low, high = self.low, self.high
        for start, end, rule in self:
            if end > low and start < high:
                yield max(start, low), min(end, high), rule


def hint_without(source: str) -> str:
    """What to try if a file has no table from a source."""
    if source == "sframe":
        return "build with -Wa,--gsframe, or undwarf tables convert --to sframe, or try another --source"
    return "try another --source"


def whole_table(binary: Binary, source: str | None) -> UnwindTable:
    """The table of a file. Raises NothingUsable if it has no functions from this source."""
    table = binary.table(source)
    if not len(table):
        kind = source or "cfi"
        raise NothingUsable(f"{binary.path} has no unwind table from {kind}", "", hint_without(kind))
    return table


def rows_of(binary: Binary, source: str | None, place: str | None = None) -> Rows:
    """The rows of a file. Raises NothingUsable if it has no functions from this source."""
    return Rows(whole_table(binary, source), *binary.range_of(place))
