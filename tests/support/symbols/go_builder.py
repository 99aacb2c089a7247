"""Makes tables of functions as Go's linker does, of each version of the format, and programs with them."""

import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.support.elf_builder import Elf, Section, Segment

GO_1_2, GO_1_16, GO_1_18, GO_1_20 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
VERSIONS = (GO_1_2, GO_1_16, GO_1_18, GO_1_20)
TEXT, TABLE, DATA, CALLS = 0x401000, 0x500000, 0x600000, 0x580000

Steps = list[tuple[int, int]]
"""(value, instructions it stays for)."""


class Call(NamedTuple):
    """A function inlined: its name, and how far behind the start of the function is the place of the call."""

    name: str
    place: int


@dataclass
class Function:
    """A function of ``size`` bytes; ``depths``, ``lines`` and ``files`` (numbers of the program's) along its code."""

    name: str
    size: int = 64
    depths: Steps = field(default_factory=lambda: [(0, 4), (24, 56), (0, 4)])
    lines: Steps = field(default_factory=lambda: [(10, 64)])
    files: Steps = field(default_factory=lambda: [(0, 64)])
    calls: list[Call] = field(default_factory=list)
    inlined: Steps = field(default_factory=list)
    top: bool = False
    code: bytes = b""


def varint(value: int) -> bytes:
    """A number of variable length."""
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*made, value))


def steps(values: Steps) -> bytes:
    """A table of values along code."""
    made, before = b"", -1
    for value, length in values:
        change = value - before
        made += varint(change << 1 if change >= 0 else (-change << 1) - 1) + varint(length)
        before = value
    return made + b"\0"


@dataclass
class Program:
    """A program of Go; ``word`` bytes have its numbers, ``quantum`` its instructions at least."""

    functions: list[Function]
    version: int = GO_1_20
    file_names: tuple[str, ...] = ("/src/main.go", "/src/other.go")
    quantum: int = 1
    word: int = 8
    big: bool = False
    machine: int = 62
    states_text: bool = True
    section: str = ".gopclntab"
    calls: bytes = b""

    @property
    def mark(self) -> str:
        return ">" if self.big else "<"

    def number(self, value: int, size: int = 0) -> bytes:
        return value.to_bytes(size or self.word, "big" if self.big else "little")

    def table(self) -> bytes:
        """The bytes of the table."""
        mark, word, old = self.mark, self.word, self.version == GO_1_2
        count = len(self.functions)
        fields = word if self.version in (GO_1_2, GO_1_16) else 4
        head_size = 8 + word * {GO_1_2: 1, GO_1_16: 7}.get(self.version, 8)
        # In the oldest format all places count from the table's start, and the list of functions follows the head.
        list_size = (2 * count + 1) * fields
        at = head_size + (list_size + 4 if old else 0)
        base = at if old else 0
        names, name_at = b"\0", {}
        for name in [one.name for one in self.functions] + [call.name for one in self.functions for call in one.calls]:
            if name not in name_at:
                name_at[name] = base + len(names)
                names += name.encode() + b"\0"
        values, value_at = b"\0", []
        values_base = base + len(names) if old else 0
        for one in self.functions:
            row = []
            for part in (one.depths, one.files, one.lines, one.inlined):
                row.append(values_base + len(values) if part else 0)
                values += steps(part) if part else b""
            value_at.append(row)
        texts, text_at = b"", []
        for file in self.file_names:
            text_at.append(len(texts))
            texts += file.encode() + b"\0"
        if old:
            texts_at = at + len(names) + len(values)
            files = b"".join(self.number(texts_at + place, 4) for place in text_at)
            files_at = texts_at + len(texts)
            records_at = files_at + len(files)
        else:
            files = b"".join(self.number(place, 4) for place in text_at)
            records_at = list_size
        records, record_at, self.calls = b"", [], b"\0" * 8
        start = TEXT
        for one, (depths, lines_of, lines, inlined) in zip(self.functions, value_at, strict=True):
            record_at.append(records_at + len(records))
            tree = len(self.calls) if one.calls else 0xFFFFFFFF
            for call in one.calls:
                if self.version == GO_1_18:
                    self.calls += struct.pack(mark + "hBxiiii", -1, 0, 0, 0, name_at[call.name], call.place)
                else:
                    self.calls += struct.pack(mark + "Bxxxiii", 0, name_at[call.name], call.place, 0)
            entry = (
                self.number(start)
                if fields == word and self.version in (GO_1_2, GO_1_16)
                else self.number(start - TEXT, 4)
            )
            made = entry + struct.pack(mark + "iiIIIII", name_at[one.name], 0, 0, depths, lines_of, lines, 3)
            if not old:
                made += self.number(0, 4)
            if self.version == GO_1_20:
                made += self.number(1, 4)
            made += bytes((0, 1 if one.top else 0, 0, 4))
            records += (
                made + struct.pack(mark + "III", 0, 0, inlined) + struct.pack(mark + "IIII", *(0xFFFFFFFF,) * 3, tree)
            )
            records += bytes(-len(records) % word)
            start += one.size
        listed, place = b"", TEXT if fields == word and self.version in (GO_1_2, GO_1_16) else 0
        for one, record in zip(self.functions, record_at, strict=True):
            listed += self.number(place, fields) + self.number(record, fields)
            place += one.size
        listed += self.number(place, fields)
        head = self.number(self.version, 4) + bytes((0, 0, self.quantum, word)) + self.number(count)
        if old:
            return head + listed + self.number(files_at, 4) + names + values + texts + files + records
        places = [head_size, head_size + len(names), 0, 0, 0]
        places[2] = places[1] + len(files)
        places[3] = places[2] + len(texts)
        places[4] = places[3] + len(values)
        head += self.number(len(self.file_names))
        if self.version != GO_1_16:
            head += self.number(TEXT if self.states_text else 0)
        head += b"".join(map(self.number, places))
        return head + names + files + texts + values + listed + records

    def module(self) -> bytes:
        """The start of runtime.moduledata."""
        words = [0] * 44
        words[0], words[20], words[21], words[22] = TABLE, TEXT, TEXT + sum(one.size for one in self.functions), TEXT
        words[38 if self.version == GO_1_18 else 40] = CALLS
        return b"".join(map(self.number, words))

    def build(self) -> bytes:
        """An ELF file that has nothing but code, this table and what the run-time knows of the program."""
        table = self.table()
        code = b"".join(one.code.ljust(one.size, b"\xcc") for one in self.functions)
        elf = Elf(is_64=self.word == 8, big=self.big, machine=self.machine, kind=2)
        elf.sections = [
            Section(".text", code, 1, 6, TEXT),
            Section(self.section, table, 1, 2, TABLE, align=32),
            Section(".rodata", self.calls, 1, 2, CALLS, align=8),
            Section(".noptrdata", self.module(), 1, 3, DATA, align=8),
        ]
        elf.segments = [
            Segment(1, flags, one.address, one.name, 0, len(one.data))
            for one, flags in zip(elf.sections, (5, 4, 4, 6), strict=True)
        ]
        return elf.build()
