"""Go's function table (pclntab), which even stripped Go programs have: names, stack depths, lines, inlining.

Addresses are those of the ELF file. The format changed with Go 1.16, 1.18 and 1.20, each with a number of its own
at the start. Sources: debug/gosym/pclntab.go, runtime/symtab.go, runtime/runtime2.go (``_func``) and
cmd/link/internal/ld/pcln.go of Go.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import islice

from undwarf.column import zeros
from undwarf.elf.file import ElfFile
from undwarf.elf.headers import PF_W, PF_X, SHF_ALLOC, SHT_RELA

__all__ = ["SECTIONS", "GoFunctions", "may_have_functions"]

SECTIONS = (".gopclntab", ".data.rel.ro.gopclntab")
"""Names of the section; in a position-independent program it was meant to be relocated."""

_MARKS = (".go.buildinfo", ".note.go.buildid")
"""Sections that Go programs have."""

GO_1_2, GO_1_16, GO_1_18, GO_1_20 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
_MAX_FOUND = 8
"""Maximum candidates for the table's header, if no section has it."""
_MAX_NAME = 16384
_MAX_INLINED = 100
"""Maximum depth of inlining at one address."""
_RUNTIME = b"runtime."
_TOP_FRAME = 1
_OUTERMOST = frozenset({"runtime.goexit", "runtime.mstart", "runtime.rt0_go"})
"""Root functions of stacks, for programs that do not mark them (before Go 1.17)."""
_INLINE_TREE, _INLINE_INDEX = 3, 2
"""FUNCDATA_InlTree and PCDATA_InlTreeIndex."""
_RELATIVE = {62: 8, 183: 1027}
"""R_X86_64_RELATIVE, R_AARCH64_RELATIVE."""
_MINPC, _TEXT, _GOFUNC = 20, 22, range(38, 48)
"""Words of runtime.moduledata; the offset of the last depends on the version."""
_MAX_PLACES = 1000
"""Maximum words with the table's address that are tried as runtime.moduledata."""
_MAX_STEPS = 1 << 20
"""Maximum cached steps of pc-value tables."""
_TRIED = 50
"""Maximum functions that are tried to find the base of FUNCDATA."""


def may_have_functions(elf: ElfFile) -> bool:
    """Whether a file may be a Go program; cheap."""
    return any(elf.section(name) is not None for name in SECTIONS) or _is_searched(elf)


def _is_searched(elf: ElfFile) -> bool:
    """Whether the table may be inside another section, as some linkers place it."""
    return not elf.sections or any(elf.section(name) is not None for name in _MARKS)


@cache
def _head() -> re.Pattern[bytes]:
    """The first bytes of the table."""
    return re.compile(
        rb"[\xfb\xfa\xf0\xf1]\xff\xff\xff\0\0[\1\2\4][\4\10]|\xff\xff\xff[\xfb\xfa\xf0\xf1]\0\0[\1\2\4][\4\10]"
    )


def _heads(elf: ElfFile) -> Iterator[tuple[memoryview, int]]:
    """(bytes, address) of candidates for the table, if no section header locates it."""
    left = _MAX_FOUND
    for load in elf.loads:
        if load.flags & PF_X and load.file_size > 1 << 16 and len(elf.loads) > 1:
            continue
        data = elf.data[load.offset : load.offset + load.file_size]
        for found in _head().finditer(data):
            if not left:
                return
            left -= 1
            if not (load.address + found.start()) % 8:
                yield data[found.start() :], load.address + found.start()


class GoFunctions:
    """The functions of a Go program, by ascending address.

    ``starts`` and ``ends`` (Q) are their ranges; ``names`` (Q) the offsets of their NUL-terminated names in ``data``.
    """

    def __init__(self, elf: ElfFile, data: memoryview, address: int) -> None:
        """From the bytes of a table. An unusable table has no functions; damage is counted."""
        self.data = data
        self._elf = elf
        self._address = address
        self.starts = self.ends = self.names = self._records = zeros("Q", 0)
        self._little = len(data) > 8 and data[3] == 0xFF
        self._mark = "<" if self._little else ">"
        self._version = self._number(0, 4)
        self._steps: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._kept = 0
        self._of_runtime: dict[str, int] = {}
        self._quantum = data[6] if len(data) > 8 else 1
        word = data[7] if len(data) > 8 else 8
        self._word = word
        head = [self._number(8 + word * i, word) for i in range(8)] if len(data) >= 8 + 8 * word else []
        if (
            not head
            or self._quantum not in (1, 2, 4)
            or self._little != (elf.byte_order == "little")
            or word != (8 if elf.is_64 else 4)
        ):
            return
        self._names_at = self._units = self._files = self._values = 0
        count, base, field = head[0], 0, word
        if self._version == GO_1_2:
            table, records = 8 + word, 0
            self._files = self._number(table + (2 * count + 1) * field, 4) if count < len(data) else 0
        elif self._version == GO_1_16:
            self._names_at, self._units, self._files, self._values, table = head[2:7]
            records = table
        elif self._version in (GO_1_18, GO_1_20):
            self._names_at, self._units, self._files, self._values, table = head[3:8]
            records, field = table, 4
            base = self._text_start(head[2], table, count)
        else:
            return
        # A record starts with the function's address, in as many bytes as in the list.
        self._name = field
        room = self._end + 4
        if max(table, self._names_at, self._units, self._files, self._values) > len(data) or count > min(
            len(data) // (2 * field), elf.limits.symbols
        ):
            elf.defects.add("unusable table of Go's functions", elf.path)
            return
        # Checked for every program, and few are Go programs.
        from undwarf.elf.go_pclntab import read_functions

        columns = tuple(zeros("Q", count) for _ in range(4))
        kept = read_functions(
            data, table, count, field, base, records, room, self._name, self._names_at, not self._little, columns
        )
        if kept < count:
            elf.defects.add("damaged function in Go's table", elf.path, count - kept)
        self.starts, self.ends, self._records, self.names = (column[:kept] for column in columns)

    @classmethod
    def of(cls, elf: ElfFile) -> "GoFunctions | None":
        """The functions of a file; None without a table."""
        for name in SECTIONS:
            section = elf.section(name)
            data = elf.section_data(section) if section is not None else None
            if section is not None and data is not None:
                found = cls(elf, data, section.address)
                return found if len(found) else None
        if _is_searched(elf):
            for data, address in _heads(elf):
                found = cls(elf, data, address)
                if len(found):
                    return found
        return None

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, address: int) -> int | None:
        """The index of the function that contains an address."""
        number = bisect_right(self.starts, address) - 1
        return number if number >= 0 and address < self.ends[number] else None

    def name(self, function: int) -> str:
        """The name of a function."""
        return self._text(self.names[function])

    def named(self, name: str) -> int | None:
        """The index of a runtime function by name. Most come early and are found before all names are read."""
        if name not in self._of_runtime:
            for number, place in self._left:
                if self.data[place : place + len(_RUNTIME)] == _RUNTIME:
                    found = self.name(number)
                    self._of_runtime.setdefault(found, number)
                    if found == name:
                        break
        return self._of_runtime.get(name)

    @cached_property
    def _left(self) -> Iterator[tuple[int, int]]:
        """(index, offset of the name) of the functions that :meth:`named` has not read yet."""
        return iter(enumerate(self.names))

    def is_outermost(self, function: int) -> bool:
        """Whether a function is the root of stacks."""
        if self._version in (GO_1_2, GO_1_16):
            return self.name(function) in _OUTERMOST
        return bool(self.data[self._records[function] + self._end + 1] & _TOP_FRAME)

    def depths(self, function: int) -> list[tuple[int, int]]:
        """(address, bytes by which the stack pointer is below its value at entry) from each address on, ascending."""
        return self._values_of(function, self._field(function, 3))

    def lines(self, function: int, addresses: "list[int]") -> list[tuple[str, int]]:
        """(file, line) at addresses of a function; ("", 0) if unknown."""
        files = self._values_of(function, self._field(function, 4))
        numbers = self._values_of(function, self._field(function, 5))
        found = []
        for address in addresses:
            file, line = _value(files, address), _value(numbers, address)
            name = self._file(function, file) if file >= 0 and line > 0 else ""
            found.append((name, line) if name else ("", 0))
        return found

    def inlined(self, function: int, address: int) -> list[tuple[str, int]]:
        """(name, address for looking up the call's line) of the functions inlined at an address, innermost first."""
        values = self._indexes(function)
        base = self._function_data if values else 0
        found: list[tuple[str, int]] = []
        at = address
        while base and len(found) < _MAX_INLINED:
            index = _value(values, at)
            call = self._call(function, index, base) if index >= 0 else None
            if call is None:
                break
            at = self.starts[function] + call[1]
            found.append((self._text(call[0]), at))
        return found

    # Reading ---------------------------------------------------------------------------------------------

    @property
    def _end(self) -> int:
        """The offset of a record's last four bytes: function id, flags, and number of FUNCDATA entries."""
        return self._name + {GO_1_2: 28, GO_1_20: 36}.get(self._version, 32)

    def _number(self, at: int, size: int) -> int:
        if at < 0 or at + size > len(self.data):
            return 0
        return int.from_bytes(self.data[at : at + size], "little" if self._little else "big")

    def _field(self, function: int, number: int) -> int:
        """An integer of a function's record, by index from its name."""
        return self._number(self._records[function] + self._name + 4 * number, 4)

    def _text(self, at: int) -> str:
        end = min(len(self.data), at + _MAX_NAME)
        return bytes(self.data[at:end]).split(b"\0", 1)[0].decode("utf-8", "replace") if 0 <= at < end else ""

    def _file(self, function: int, number: int) -> str:
        if self._version == GO_1_2:
            return self._text(self._number(self._files + 4 * number, 4))
        place = self._number(self._units + 4 * (self._field(function, 7) + number), 4)
        return self._text(self._files + place) if place != 0xFFFFFFFF else ""

    def _along(self, function: int, table: int) -> Iterator[tuple[int, int]]:
        """(address, value from there on) of a pc-value table; the last value is -1 if the table ends early.

        Each step is two varints: the change of the value (zigzag encoded), and the number of instruction units that it
        is valid for.
        """
        at = self._values + table
        address, value, end = self.starts[function], -1, self.ends[function]
        if not table:
            return
        first = True
        while address < end:
            change, at = self._varint(at)
            if at < 0 or (not change and not first):
                break
            value += -(change >> 1) - 1 if change & 1 else change >> 1
            steps, at = self._varint(at)
            if at < 0 or not steps or not -1 << 31 <= value < 1 << 31:
                break
            yield address, value
            address += steps * self._quantum
            first = False
        if address < end:
            yield address, -1

    def _values_of(self, function: int, table: int) -> list[tuple[int, int]]:
        """As :meth:`_along`, cached: many addresses are in one function."""
        key = (function, table)
        found = self._steps.get(key)
        if found is None:
            if self._kept > _MAX_STEPS:
                self._steps.clear()
                self._kept = 0
            found = self._steps[key] = list(self._along(function, table))
            self._kept += len(found)
        return found

    def _varint(self, at: int) -> tuple[int, int]:
        """(varint, offset after it); -1 if it is truncated or longer than five bytes."""
        value = 0
        for i in range(5):
            if at + i >= len(self.data):
                break
            byte = self.data[at + i]
            value |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                return value & 0xFFFFFFFF, at + i + 1
        return 0, -1

    # Base addresses -------------------------------------------------------------------------------------

    def _text_start(self, stated: int, table: int, count: int) -> int:
        """The base address of functions: from the table; if that has to be relocated or is no longer there, from
        runtime.moduledata; else the start of the code."""
        last = self._number(table + 8 * count, 4) if count < len(self.data) else 0
        section = self._elf.section(".text")
        for start in (stated, self._relocated(self._address + 8 + 2 * self._word), self._module_word(_TEXT)):
            if start and self._is_code(start, last):
                return start
        return section.address if section is not None else 0

    def _is_code(self, start: int, size: int) -> bool:
        return any(
            one.flags & PF_X and one.address <= start and size <= one.address + one.memory_size - start
            for one in self._elf.loads
            if start < one.address + one.memory_size
        )

    @cached_property
    def _relocations(self) -> memoryview:
        """The relocations that the loader applies, if they have addends."""
        for section in self._elf.sections:
            if section.type == SHT_RELA and section.flags & SHF_ALLOC and section.name != ".rela.plt":
                return self._elf.section_data(section) or memoryview(b"")
        return memoryview(b"")

    def _relocated(self, address: int) -> int:
        """The value that the loader stores at an address; 0 for none."""
        return self._relocation(struct.pack("<Q", address), 0, 16) if self._little and self._word == 8 else 0

    def _relocation(self, key: bytes, at: int, give: int) -> int:
        """Word ``give`` of the relocation of this machine's simple kind that has ``key`` at byte ``at``; 0 for none."""
        kind = _RELATIVE.get(self._elf.machine)
        for found in re.finditer(re.escape(key), self._relocations):
            entry = found.start() - at
            if entry >= 0 and not entry % 24 and entry + 24 <= len(self._relocations):
                info, *_ = struct.unpack_from("<Q", self._relocations, entry + 8)
                if info == kind:
                    return int(struct.unpack_from("<Q", self._relocations, entry + give)[0])
        return 0

    @cached_property
    def _module(self) -> int:
        """The address of runtime.moduledata, whose first word is the address of this table; 0 if it is not found."""
        if not self._little or self._word != 8:
            return 0
        key = struct.pack("<Q", self._address)
        moved = self._relocation(key, 16, 0)
        if moved:
            return moved
        for load in self._elf.loads:
            if not load.flags & PF_W:
                continue
            places = re.finditer(re.escape(key), self._elf.data[load.offset : load.offset + load.file_size])
            for found in islice(places, _MAX_PLACES):
                place = load.address + found.start()
                if not place % 8 and self._is_code(self._at(place + 8 * _MINPC), 0):
                    return place
        return 0

    def _at(self, address: int) -> int:
        data = self._elf.read(address, 8, writable=True)
        return int.from_bytes(data, "little") if data is not None else 0

    def _module_word(self, number: int) -> int:
        """A word of runtime.moduledata; 0 if it is not found."""
        at = self._module + 8 * number
        return (self._at(at) or self._relocated(at)) if self._module else 0

    @cached_property
    def _function_data(self) -> int:
        """The base of FUNCDATA (``go:func.*``), found by checking inlining trees; 0 if unknown."""
        if self._version not in (GO_1_18, GO_1_20):
            return 0
        tried = []
        for function in range(len(self)):
            highest = max((index for _at, index in self._indexes(function)), default=-1)
            if highest >= 0:
                tried.append((function, highest))
                if len(tried) == _TRIED:
                    break
        for word in _GOFUNC if tried else ():
            base = self._module_word(word)
            if base and all(self._call(function, index, base) for function, highest in tried for index in (0, highest)):
                return base
        return 0

    def _indexes(self, function: int) -> list[tuple[int, int]]:
        """Along a function's code, the index in its inlining tree, -1 for its own code; empty if nothing is inlined."""
        record = self._records[function]
        if self._field(function, 6) <= _INLINE_INDEX or self._number(record + self._end + 3, 1) <= _INLINE_TREE:
            return []
        return self._values_of(function, self._number(record + self._end + 4 + 4 * _INLINE_INDEX, 4))

    def _call(self, function: int, index: int, base: int) -> tuple[int, int] | None:
        """(offset of the name, offset of the call from the function's start) of an inlining tree's entry, or None."""
        at = self._records[function] + self._end + 4 + 4 * (self._field(function, 6) + _INLINE_TREE)
        place = self._number(at, 4)
        stride, name_at, call_at = (20, 12, 16) if self._version == GO_1_18 else (16, 4, 8)
        entry = self._elf.read(base + place + stride * index, stride) if place != 0xFFFFFFFF else None
        if entry is None:
            return None
        name, call = (struct.unpack_from(self._mark + "I", entry, at)[0] for at in (name_at, call_at))
        name += self._names_at
        if name >= len(self.data) or call >= self.ends[function] - self.starts[function]:
            return None
        # Names are consecutive.
        return (name, call) if self.data[name - 1] == 0 and self.data[name] else None


def _value(values: list[tuple[int, int]], address: int) -> int:
    """The value at an address; -1 for none."""
    at = bisect_right(values, address, key=lambda entry: entry[0]) - 1
    return values[at][1] if at >= 0 else -1
