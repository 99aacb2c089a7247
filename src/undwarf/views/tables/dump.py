"""The rows of an unwind table for printing: adjacent equal rows merged, rules as text."""

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
"""What a rule's source is called in a dump, where that is not its own name."""

_PLACE = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})(?:([-+])(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}))?")


@dataclass(slots=True)
class Binary:
    """One file with what its tables need: the file, its debug file where there is one, names, and damage met."""

    path: str
    elf: ElfFile
    limits: Limits = DEFAULT
    defects: Defects = field(default_factory=Defects)
    _symbols: "SymbolTable | str | None" = ""

    @classmethod
    def open(cls, path: str) -> "Binary":
        """Raises ElfError where the file is none that can be read."""
        defects = Defects()
        return cls(path, open_binary(path, defects=defects), defects=defects)

    def debug_elf(self) -> ElfFile | None:
        """The separate debug file."""
        return Finder().debug_file(self.elf, os.path.realpath(self.path))

    def table(self, source: str | None) -> UnwindTable:
        """The table from a source or a list of them, ``"cfi,sframe"``, with all functions; their rows are made when
        they are asked for. Raises NothingUsable where none of the sources is read for the file's machine."""
        require_supported(self.elf, parse_order(source))
        made = UnwindTable.from_elf(
            self.elf, source, debug_elf=self.debug_elf, limits=self.limits, defects=self.defects
        )
        made.consult_all()
        return made

    @property
    def symbols(self) -> SymbolTable | None:
        """The functions' names."""
        if isinstance(self._symbols, str):
            if self.elf.kind == ET_REL:
                self._symbols = symbols_of_module(self.elf, self.limits, code_addresses(self.elf))
                return self._symbols
            found = symbols_of_elf(self.elf, self.limits)
            other = self.debug_elf() if found is None or self.elf.section(".symtab") is None else None
            if other is not None:
                found = symbols_of_elf(other, self.limits) or found
            self._symbols = found
        return self._symbols

    def name_at(self, address: int) -> str:
        """The function that holds an address; empty where none is known."""
        symbols = self.symbols
        number = symbols.find(address) if symbols is not None else None
        if symbols is None or number is None:
            return ""
        names = symbols.names_at(number)
        return names[0].decode("utf-8", "surrogateescape") if names else ""

    def place(self, text: str | None) -> tuple[int, int]:
        """(first address, address behind) of what a user names: a function, ``START-END`` or ``START+BYTES`` or one
        address; everything for None. Raises UsageError."""
        if not text:
            return 0, 1 << 64
        symbols = self.symbols
        address = symbols.address_of_name(text.encode("utf-8", "surrogateescape")) if symbols is not None else None
        found = _PLACE.fullmatch(text)
        if address is None and found is not None:
            first, sign, second = found.groups()
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
    """A rule in the words of a dump. ``registers`` begins with ``ra``; those a function gives back always have an
    entry, others where they have a rule."""

    cfa: str
    registers: dict[str, str]
    signal: bool
    source: str

    def fields(self) -> dict[str, "str | bool"]:
        """As they are written in JSON."""
        return {"cfa": self.cfa, **self.registers, "signal": self.signal, "source": self.source}


def words_of(table: UnwindTable, number: int) -> RowWords:
    """A rule: ``rsp+8``, ``cfa-16``, ``same``, ``undefined``, ``expr`` for what takes an expression to say, the name
    of a register for a value that is in it, ``val(cfa-8)`` for one that is an address in the frame."""
    rule = describe(table.rules, number, table.machine)
    registers = {"ra": rule.return_address}
    architecture = ARCHITECTURES.get(table.machine)
    if architecture is not None:
        for register in architecture.callee_saved:
            name = architecture.names[register]
            registers[name] = rule.registers.get(name, "same")
    registers.update(rule.registers)
    plain = {name: "expr" if text[0] == "*" else text for name, text in registers.items()}
    cfa = "expr" if rule.cfa[0] == "*" or rule.cfa.startswith("plt") else rule.cfa
    return RowWords(cfa, plain, rule.signal, KINDS.get(rule.source, rule.source))


class Rows:
    """All rows of a table, or those of an address range, with adjacent rules of equal text merged.

    ``count`` is how many functions they come from; iterating gives (address, address behind, rule number), without the
    ranges without a rule. ``words`` has a rule's words by its number.
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
        """The first rule that says the same in words."""
        words = words_of(self.table, number)
        same = self._by_words.setdefault(repr(words), number)
        self._same[number] = same
        self.words[same] = words if same == number else self.words[same]
        return same

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        functions = self.table.functions
        ends = functions.ends
        same = self._same
        start = before = 0
        rule = NO_RULE
        for function in self._functions:
            addresses, rules = functions.passing_rows(function)
            at = addresses[0] if len(addresses) else ends[function]
            if at != before and rule != NO_RULE:
                yield start, before, rule
                rule = NO_RULE
            for address, number in zip(addresses, rules, strict=True):
                found = same.get(number)
                if found is None:
                    found = self._merged(number)
                if found != rule:
                    if rule != NO_RULE:
                        yield start, address, rule
                    start, rule = address, found
            before = ends[function]
        if rule != NO_RULE:
            yield start, before, rule

    def cut(self) -> Iterator[tuple[int, int, int]]:
        """The same, within the address range that was asked for."""
        low, high = self.low, self.high
        for start, end, rule in self:
            if end > low and start < high:
                yield max(start, low), min(end, high), rule


def how_to_have(source: str) -> str:
    """What to try where a file has no table from a source."""
    if source == "sframe":
        return "build with -Wa,--gsframe, or undwarf tables convert --to sframe, or try another --source"
    return "try another --source"


def whole_table(binary: Binary, source: str | None) -> UnwindTable:
    """The table of a file. Raises NothingUsable where it has no functions from this source."""
    table = binary.table(source)
    if not len(table):
        kind = source or "cfi"
        raise NothingUsable(f"{binary.path} has no unwind table from {kind}", "", how_to_have(kind))
    return table


def rows_of(binary: Binary, source: str | None, place: str | None = None) -> Rows:
    """The rows of a file. Raises NothingUsable where it has no functions from this source."""
    return Rows(whole_table(binary, source), *binary.place(place))
