"""Unwind tables: `pc -> rule`, one table for each binary, all sharing one set of rules.

A rule is 80 numbers of 32 bits: [0] kind of the call frame address (0 undefined; 1 register + offset; 2 the word at
register + offset, plus extra; 3 a lazy procedure linkage table: rsp + offset, 8 more where pc & 15 >= extra; 4 the
expression numbered extra), [1] its register, [2] offset, [3] extra, [4] flags (1 signal frame, 2 outermost),
[5] source, [6] how many registers have an entry, [7] the return address's column, then four numbers an entry: register,
kind (1 undefined; 2 saved at cfa + value; 3 is cfa + value; 4 is in register `value`; 5 saved at base + value; 6 saved
at the value of expression `value`; 7 is the value of expression `value`), value, base. The return address comes first.
A register without an entry is unchanged; the stack pointer is then the call frame address.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from undwarf.buffers import zeros
from undwarf.diagnostics import Defects
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT, Limits
from undwarf.tables import registers_x86_64
from undwarf.tables.cfi import CfiSection, RuleSet

__all__ = ["NO_RULE", "Rule", "RuleSet", "UnwindTable"]

NO_RULE = 0xFFFFFFFF
"""In a table's rows: this stretch of a function has no rule."""

SOURCES = {1: "eh_frame", 2: "debug_frame", 3: "sframe", 4: "orc", 5: "code"}

_PT_LOAD = 1
_PF_X = 1
_PT_GNU_EH_FRAME = 0x6474E550


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule in words people read, as readelf writes them: ``cfa`` like ``rsp+8``, registers like ``cfa-16``."""

    cfa: str
    registers: dict[str, str]
    signal: bool
    outermost: bool
    source: str

    @property
    def return_address(self) -> str:
        """Where the return address is."""
        return "undefined" if self.outermost else self.registers.get("ra", "same")


def _signed(value: int) -> str:
    return f"{value:+d}"


def describe(rules: RuleSet, number: int) -> Rule:
    """A rule of the set as text."""
    words = rules.words(number)
    names = registers_x86_64.NAMES
    kind, register, offset, extra, flags, source, count = words[:7]
    base = names[register] if 0 <= register < len(names) else f"r{register}"
    cfa = {
        0: "undefined",
        1: f"{base}{_signed(offset)}",
        2: f"*({base}{_signed(offset)})" + (_signed(extra) if extra else ""),
        3: f"plt({base}{_signed(offset)}, {extra})",
        4: "expr",
    }.get(kind, "expr")
    found = {}
    for k in range(count):
        register, how, value, base_register = words[8 + 4 * k : 12 + 4 * k]
        found[names[register]] = {
            1: "undefined",
            2: f"cfa{_signed(value)}",
            3: f"val(cfa{_signed(value)})",
            4: names[value] if 0 <= value < len(names) else f"r{value}",
            5: f"*({names[base_register]}{_signed(value)})",
        }.get(how, "expr")
    return Rule(cfa, found, bool(flags & 1), bool(flags & 2), SOURCES.get(source, "?"))


class UnwindTable:
    """The unwind table of one binary.

    ``starts`` and ``ends`` are the functions' ranges as ELF virtual addresses, sorted and disjoint. Rows are made at
    a function's first use. ``version`` grows when a further source adds functions.
    """

    def __init__(self, rules: RuleSet, sources: "list[Callable[[], CfiSection | None]]") -> None:
        self.rules = rules
        self.version = 0
        self._sources = sources
        self._sections: list[CfiSection] = []
        self._where: list[tuple[int, int]] | None = None
        self._rows: dict[int, tuple[memoryview, memoryview]] = {}
        self.starts: memoryview = zeros("Q", 0)
        self.ends: memoryview = zeros("Q", 0)
        while not len(self.starts) and self._next():
            pass

    @classmethod
    def from_elf(
        cls,
        elf: "ElfFile | str | os.PathLike[str]",
        source: str | None = None,
        *,
        debug_elf: "Callable[[], ElfFile | None] | ElfFile | None" = None,
        rules: RuleSet | None = None,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
    ) -> "UnwindTable":
        """The table of a binary, from its `.eh_frame` and, for what that leaves open, `.debug_frame`.

        ``source`` limits it to ``"eh_frame"`` or ``"debug_frame"`` (``"cfi"`` and None mean both). ``debug_elf`` is the
        separate debug file, or a function that finds it when it is needed. Raises ElfError if the file cannot be read.
        """
        main = elf if isinstance(elf, ElfFile) else ElfFile.open(elf, limits=limits, defects=defects)
        known = rules if rules is not None else RuleSet()
        code = [
            (segment.address, segment.address + segment.memory_size)
            for segment in main.segments
            if segment.type == _PT_LOAD and segment.flags & _PF_X
        ]
        word = 8 if main.is_64 else 4
        found = defects if defects is not None else Defects()

        def section(data: "tuple[memoryview, int] | None", debug: bool) -> CfiSection | None:
            if data is None or not len(data[0]):
                return None
            made = CfiSection(data[0], data[1], debug, code, known, limits, word)
            if made.damaged:
                kind = ".debug_frame" if debug else ".eh_frame"
                found.add("damaged call frame entry", f"{main.path} {kind}", made.damaged)
            return made

        def separate() -> CfiSection | None:
            other = debug_elf() if callable(debug_elf) else debug_elf
            return section(_debug_frame(other), True) if other is not None else None

        sources: list[Callable[[], CfiSection | None]] = []
        if source in (None, "cfi", "eh_frame"):
            sources.append(lambda: section(_eh_frame(main), False))
        if source in (None, "cfi", "debug_frame"):
            sources.append(lambda: section(_debug_frame(main), True))
            sources.append(separate)
        return cls(known, sources)

    def _next(self) -> bool:
        """Merge in what the next source knows of addresses that have no function yet; False when none is left."""
        if not self._sources:
            return False
        section = self._sources.pop(0)()
        if section is None or not section.total:
            return bool(self._sources)
        self._sections.append(section)
        if len(self._sections) == 1:
            self.starts, self.ends = section.starts, section.ends
            self.version += 1
            return True
        number = len(self._sections) - 1
        where = self._where or [(0, i) for i in range(len(self.starts))]
        merged = [(self.starts[i], self.ends[i], *where[i]) for i in range(len(self.starts))]
        before = len(merged)
        for i in range(section.total):
            start, end = section.starts[i], section.ends[i]
            at = bisect_right(self.starts, start) - 1
            covered = at >= 0 and self.ends[at] > start
            if not covered and not (at + 1 < before and self.starts[at + 1] < end):
                merged.append((start, end, number, i))
        if len(merged) > before:
            merged.sort()
            self.starts, self.ends = zeros("Q", len(merged)), zeros("Q", len(merged))
            for i, (start, end, _section, _index) in enumerate(merged):
                self.starts[i], self.ends[i] = start, end
            self._where = [(section_number, index) for _start, _end, section_number, index in merged]
            self._rows.clear()
            self.version += 1
        return True

    def more(self, address: int) -> bool:
        """Ask the sources not consulted yet for a function at this address; whether there is one now."""
        while self.function_at(address) is None:
            if not self._next():
                return self.function_at(address) is not None
        return True

    def function_at(self, address: int) -> int | None:
        """The number of the function that covers an address."""
        at = bisect_right(self.starts, address) - 1
        return at if at >= 0 and address < self.ends[at] else None

    def rows(self, function: int) -> tuple[memoryview, memoryview]:
        """(addresses, rule numbers) of a function's rows, in ascending order; NO_RULE marks a hole."""
        made = self._rows.get(function)
        if made is None:
            section, index = self._where[function] if self._where is not None else (0, function)
            made = self._rows[function] = self._sections[section].rows(index)
        return made

    def rule_at(self, address: int) -> Rule | None:
        """The rule for an ELF virtual address, or None where there is none."""
        function = self.function_at(address)
        if function is None:
            if not self.more(address):
                return None
            function = self.function_at(address)
            if function is None:
                return None
        addresses, rules = self.rows(function)
        at = bisect_right(addresses, address) - 1
        if at < 0 or rules[at] == NO_RULE:
            return None
        return describe(self.rules, rules[at])

    def __iter__(self) -> Iterator[tuple[int, int, Rule | None]]:
        """All rows of all functions as (address, end, rule)."""
        for function in range(len(self.starts)):
            addresses, rules = self.rows(function)
            for i, address in enumerate(addresses):
                end = addresses[i + 1] if i + 1 < len(addresses) else self.ends[function]
                yield address, end, None if rules[i] == NO_RULE else describe(self.rules, rules[i])


def _eh_frame(elf: ElfFile) -> tuple[memoryview, int] | None:
    """Bytes and address of `.eh_frame`, by its section, else by the header segment that points to it."""
    section = elf.section(".eh_frame")
    if section is not None:
        data = elf.section_data(section)
        if data is not None:
            return data, section.address
    for segment in elf.segments:
        if segment.type != _PT_GNU_EH_FRAME or segment.file_size < 8:
            continue
        head = elf.read(segment.address, 8)
        if head is None or head[0] != 1 or head[1] != 0x1B:
            continue
        address = segment.address + 4 + int.from_bytes(head[4:8], "little", signed=True)
        for load in elf.segments:
            if load.type == _PT_LOAD and load.address <= address < load.address + load.file_size:
                data = elf.read(address, load.address + load.file_size - address)
                if data is not None:
                    return data, address
    return None


def _debug_frame(elf: ElfFile) -> tuple[memoryview, int] | None:
    data = elf.section_data(".debug_frame")
    return (data, 0) if data is not None else None
