"""Reads jitdump files: just-in-time compiled code, with names, lines, unwind information and times.

Format: tools/perf/Documentation/jitdump-specification.txt and tools/perf/util/jitdump.h of the kernel. A header of 40
bytes, then records of 16 bytes (type, whole size, time in ns) and what follows; of either byte order. The unwind
information of a function is in the record before its code's: ``.eh_frame``, then ``.eh_frame_hdr``, as if mapped after
the code, at the next multiple of 8 (tools/perf/util/genelf.c; the specification's text has the two in the other order).
"""

import mmap
import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Literal, NamedTuple

from undwarf.defects import Defects
from undwarf.elf.safe_open import map_regular_file
from undwarf.errors import ElfError
from undwarf.limits import DEFAULT, Limits

MAGIC = 0x4A695444
HEADER_BYTES = 40
RECORD_BYTES = 16
ARCH_TIMESTAMP = 1

LOAD, MOVE, DEBUG_INFO, CLOSE, UNWINDING_INFO = range(5)

LOAD_BYTES = 56
"""Bytes of a code record before its name."""
MAX_NAME = 4096
ELF_HEADER = 0x40
MAX_LOOKED_AT = 1000
"""Functions whose first line is checked to recognise V8's dumps."""


class Code(NamedTuple):
    """A function: time of creation (ns), runtime address, ``size`` bytes at ``offset`` of the file.

    ``name`` is the name's offset in the file; ``lines`` and ``unwinding`` are the offsets of the records that belong to
    it, 0 where there is none.
    """

    time: int
    address: int
    size: int
    offset: int
    name: int
    lines: int
    unwinding: int


class Placement(NamedTuple):
    """Code was placed at an address: ``size`` bytes of the file's ``offset``; ``left``: its former address, or -1."""

    time: int
    address: int
    size: int
    offset: int
    left: int


class Line(NamedTuple):
    """From this offset of the file on, code belongs to this line (from 1) of a source file."""

    offset: int
    line: int
    column: int
    file: str


class JitDump:
    """A jitdump file. ``codes`` are in file order, with ascending offsets, which are used in place of ELF virtual
    addresses. ``placements``: the times at which code was placed at addresses.

    Raises ElfError if the file is no jitdump. Damage is counted in ``defects`` and left out; a truncated record ends
    the file, which may still be written to.
    """

    def __init__(
        self,
        data: "bytes | mmap.mmap",
        path: str = "",
        *,
        limits: Limits = DEFAULT,
        defects: Defects | None = None,
    ) -> None:
        self.path = path
        self.data = memoryview(data)
        self.codes: list[Code] = []
        self.placements: list[Placement] = []
        self.closed = False
        self._defects = Defects() if defects is None else defects
        self._limits = limits
        if len(data) < HEADER_BYTES:
            raise ElfError(f"cannot read {path or 'these bytes'}", "no jitdump header")
        magic = int.from_bytes(data[:4], "little")
        if magic not in (MAGIC, int.from_bytes(MAGIC.to_bytes(4, "little"), "big")):
            raise ElfError(f"cannot read {path or 'these bytes'}", "not a jitdump file")
        self.byte_order: Literal["little", "big"] = "little" if magic == MAGIC else "big"
        self._mark = "<" if magic == MAGIC else ">"
        _, self.version, start, self.machine, _, self.pid, self.created, self.flags = struct.unpack_from(
            self._mark + "6I2Q", data
        )
        self._read(max(start, HEADER_BYTES))
        self._offsets = [code.offset for code in self.codes]
        self._lines: dict[int, list[Line]] = {}

    @classmethod
    def open(cls, path: str, *, limits: Limits = DEFAULT, defects: Defects | None = None) -> "JitDump":
        """Maps a file. Raises ElfError."""
        return cls(map_regular_file(path), path, limits=limits, defects=defects)

    @property
    def ticks(self) -> bool:
        """Whether times are ticks of the CPU's counter, not ns of the monotonic clock."""
        return bool(self.flags & ARCH_TIMESTAMP)

    @property
    def first_time(self) -> int:
        """The time of the first code; 0 without any."""
        return self.codes[0].time if self.codes else 0

    def _read(self, at: int) -> None:
        data, size = self.data, len(self.data)
        head, load, move = (struct.Struct(self._mark + form) for form in ("IIQ", "IIQQQQ", "IIQQQQQ"))
        lines = unwinding = damaged = 0
        by_index: dict[int, int] = {}
        records = 0
        while size - at >= RECORD_BYTES:
            kind, length, time = head.unpack_from(data, at)
            if length < RECORD_BYTES or length > size - at:
                damaged += 1
                break
            records += 1
            if records > self._limits.jit_records:
                self._defects.add("too many jitdump records", self.path, detail=f"limit {self._limits.jit_records}")
                break
            if kind == LOAD:
                code = self._code(at, length, time, load, lines, unwinding)
                lines = unwinding = 0
                if code is None:
                    damaged += 1
                elif code[0].size:
                    by_index[code[1]] = len(self.codes)
                    self.codes.append(code[0])
                    self.placements.append(Placement(time, code[0].address, code[0].size, code[0].offset, -1))
            elif kind == MOVE and length >= RECORD_BYTES + move.size:
                _pid, _tid, _vma, left, address, moved, index = move.unpack_from(data, at + RECORD_BYTES)
                number = by_index.get(index)
                if number is None or address + moved > 1 << 64:
                    damaged += 1
                else:
                    known = self.codes[number]
                    self.placements.append(Placement(time, address, min(moved, known.size), known.offset, left))
            elif kind == DEBUG_INFO:
                lines = at
            elif kind == UNWINDING_INFO:
                unwinding = at
            elif kind == CLOSE:
                self.closed = True
            at += length
        if damaged:
            self._defects.add("damaged jitdump record", self.path, damaged)

    def _code(
        self, at: int, length: int, time: int, form: struct.Struct, lines: int, unwinding: int
    ) -> tuple[Code, int] | None:
        """A code record and its index, None if it does not fit; code without bytes has size 0."""
        if length < LOAD_BYTES + 1:
            return None
        _pid, _tid, _vma, address, size, index = form.unpack_from(self.data, at + RECORD_BYTES)
        name = at + LOAD_BYTES
        end = bytes(self.data[name : min(name + MAX_NAME, at + length)]).find(b"\0")
        offset = name + end + 1
        if end < 0 or size > at + length - offset or address + size > 1 << 64:
            return None
        return Code(time, address, size, offset, name, lines, unwinding), index

    # One function --------------------------------------------------------------------------------------

    def code_at(self, offset: int) -> int | None:
        """The index of the code that contains a file offset, or None."""
        number = bisect_right(self._offsets, offset) - 1
        if number < 0 or offset >= self.codes[number].offset + self.codes[number].size:
            return None
        return number

    def name(self, number: int) -> str:
        """A code's name."""
        raw = bytes(self.data[self.codes[number].name : self.codes[number].offset - 1])
        return raw.decode("utf-8", "replace")

    def read(self, offset: int, size: int) -> memoryview | None:
        """``size`` bytes of a code; None if they are not all inside."""
        number = self.code_at(offset)
        if number is None or size < 0 or size > self.codes[number].offset + self.codes[number].size - offset:
            return None
        return self.data[offset : offset + size]

    def unwinding(self, number: int) -> tuple[memoryview, int] | None:
        """(``.eh_frame`` bytes, their address) of a code, in the addresses of :attr:`codes`; None without any."""
        code = self.codes[number]
        at = code.unwinding
        if not at:
            return None
        length = self._word("I", at + 4)
        if length < RECORD_BYTES + 24:
            return None
        total, header, _mapped = struct.unpack_from(self._mark + "3Q", self.data, at + RECORD_BYTES)
        start = at + RECORD_BYTES + 24
        total = min(total, at + length - start)
        if header >= total:
            return None
        address = code.offset + (code.size + 7 & ~7)
        frames = self.data[start : start + total - header]
        if self.data[start] == 1 and len(frames) >= 4 and int.from_bytes(frames[:4], self.byte_order) > total:
            # No length of a first entry, but the version of a header: some write that first, as the text has it.
            return self.data[start + header : start + total], address + header
        return frames, address

    def lines(self, number: int) -> list[Line]:
        """The lines of a code, by ascending offset; empty where the file has none for it.

        Entries whose file name is no text are left out and counted: V8 (of node 20) writes names that it has freed.
        """
        code = self.codes[number]
        if not code.lines:
            return []
        start, end, shift = code.offset, code.offset + code.size, self._line_shift
        found, bad = [], 0
        for line in self._entries(code):
            if start <= line.offset - shift < end:
                if line.file.isprintable() and "\ufffd" not in line.file:
                    found.append(line._replace(offset=line.offset - shift))
                else:
                    bad += 1
        if bad:
            self._defects.add("file name in a jitdump that is not text", self.path, bad)
        found.sort(key=lambda line: line.offset)
        return found

    @cached_property
    def _line_shift(self) -> int:
        """The excess in the addresses of lines.

        V8 adds the size of an ELF header, since `perf inject` once put code after one without adjusting its line table
        (PerfJitLogger::LogWriteDebugInfo). So all its functions start that much too late.
        """
        nearest = -1
        for code in islice((code for code in self.codes if code.lines), MAX_LOOKED_AT):
            first = next(self._entries(code), None)
            if first is not None:
                distance = first.offset - code.offset
                if distance < ELF_HEADER:
                    return 0
                nearest = distance if nearest < 0 else min(nearest, distance)
        return ELF_HEADER if nearest == ELF_HEADER else 0

    def line_at(self, offset: int) -> Line | None:
        """The source line of a file offset, or None; lines are cached by function until :meth:`release_lines`."""
        number = self.code_at(offset)
        if number is None:
            return None
        lines = self._lines.get(number)
        if lines is None:
            lines = self._lines[number] = self.lines(number)
        place = bisect_right(lines, offset, key=lambda line: line.offset) - 1
        return lines[place] if place >= 0 else None

    def release_lines(self) -> None:
        """Free the cached lines."""
        self._lines.clear()

    def _entries(self, code: Code) -> Iterator[Line]:
        """The entries of a debug record: address, line, column, file name; the name ff 00 repeats the last one."""
        at = code.lines
        end = at + self._word("I", at + 4)
        if end - at < RECORD_BYTES + 16:
            return
        _address, count = struct.unpack_from(self._mark + "2Q", self.data, at + RECORD_BYTES)
        form = struct.Struct(self._mark + "QII")
        at += RECORD_BYTES + 16
        file = ""
        while count and end - at > form.size:
            address, line, column = form.unpack_from(self.data, at)
            name = bytes(self.data[at + form.size : min(end, at + form.size + MAX_NAME)])
            stop = name.find(b"\0")
            if stop < 0:
                return
            if name[:stop] != b"\xff":
                file = name[:stop].decode("utf-8", "replace")
            if line < 1 << 31 and column < 1 << 31:
                yield Line(code.offset + address - code.address, line, column, file)
            at += form.size + stop + 1
            count -= 1

    def _word(self, form: str, at: int) -> int:
        word: int = struct.unpack_from(self._mark + form, self.data, at)[0]
        return word
