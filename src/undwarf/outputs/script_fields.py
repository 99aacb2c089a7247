"""Fields of `script` that are formatted sample by sample: tracepoints, registers, branches, code.

The format is perf 7's (tools/perf/builtin-script.c: perf_sample__fprintf_iregs, _brstack, _brstackinsn, _addr,
_bpf_output, _insn). A kernel (`kernels/script_text.py`) formats the other fields and calls this module for these.
"""

import re
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from undwarf.defects import Defects
from undwarf.images import Image
from undwarf.limits import DEFAULT, Limits
from undwarf.outputs.script_modes import (
    AFTER_ADDRESS,
    AFTER_EVENT,
    AFTER_FRAMES,
    AFTER_LINE,
    BEFORE_FRAMES,
    BEFORE_TIME,
)  # fmt: skip
from undwarf.outputs.terminal.escape import printable
from undwarf.perfdata import EventAttr, PerfData, Records
from undwarf.perfdata.print_format import UNKNOWN, PrintFormat
from undwarf.perfdata.sideband_kinds import SidebandKind
from undwarf.perfdata.tracing import Tracing, parse_tracing
from undwarf.profile.addresses import Addresses, Located
from undwarf.profile.labels import Named, dso, is_kernel
from undwarf.profile.model import NONE, Profile
from undwarf.symbols.source_text import SourceText, read_source

PLACES = {
    "tod": BEFORE_TIME, "flags": AFTER_EVENT, "trace": AFTER_EVENT, "addr": AFTER_ADDRESS, "cgroup": BEFORE_FRAMES,
    "iregs": AFTER_FRAMES, "uregs": AFTER_FRAMES, "brstack": AFTER_FRAMES, "brstacksym": AFTER_FRAMES,
    "brstackoff": AFTER_FRAMES, "brstackinsn": AFTER_FRAMES, "brstackdisasm": AFTER_FRAMES,
    "bpf-output": AFTER_FRAMES, "insn": AFTER_FRAMES, "insnlen": AFTER_FRAMES, "srccode": AFTER_LINE,
}  # fmt: skip
"""Where these fields are in a sample's text."""
SILENT = ("synth", "callindent", "ipc", "machine_pid", "vcpu")
"""Fields that are always empty: perf fills them from processor traces and guests' recordings."""

_WINDOW = 4 << 20
_UNPRINTABLE = re.compile(rb"[^ -~]")
_X86_ORDER = ("AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP", "IP", "FLAGS", "CS", "SS", "DS", "ES", "FS", "GS",
              "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15")  # fmt: skip  # a table
_AARCH64_ORDER = (*(f"x{number}" for number in range(30)), "lr", "sp", "pc")
_BRANCHES = ("", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL", "COND_RET",
             "ERET", "IRQ", "SERROR", "NO_TX", "")  # fmt: skip  # a table
_NEW_BRANCHES = ("FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5")
_SPECULATION = ("-", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH")
_ANY_BRANCH = 1 << 3
_HARDWARE_INDEX = 1 << 17
_LARGEST_INSTRUCTION = 15
_LARGEST_BLOCK = 16384
_MISSING_BRANCH = 128
_CACHED_FILES = 64
"""Source files whose lines are cached."""
_JUMP_WIDTH = 30
_PAGE_FAULTS = (2, 5, 6)
_KERNEL_HALF = 1 << 63


class Branch(NamedTuple):
    """An entry of a branch stack; ``flags`` as in the kernel's header."""

    source: int
    target: int
    flags: int

    @property
    def cycles(self) -> int:
        """Cycles since the previous branch."""
        return self.flags >> 4 & 0xFFFF


@dataclass(slots=True, repr=False, eq=False)
class Sources:
    """The sources of the fields."""

    data: PerfData
    records: Records
    profile: Profile
    addresses: Addresses
    limits: Limits = DEFAULT
    nanoseconds: bool = False
    """Times of day have nine decimal places."""


class SampleFields:
    """Formats the fields of samples by place: ``text(place, sample)``. ``fields`` has those of each event."""

    def __init__(self, sources: Sources, fields: Sequence[frozenset[str]]) -> None:
        self._data = sources.data
        self._records = sources.records
        self._columns = sources.profile.samples.columns
        self._profile = sources.profile
        self._addresses = sources.addresses
        self._limits = sources.limits
        self._events: list[EventAttr] = sources.data.events
        self._defects: Defects = sources.data.defects
        self._names = {id_: _shown(name) for id_, name in self._cgroups()} if any("cgroup" in f for f in fields) else {}
        self._nanoseconds = sources.nanoseconds
        self._window: AbstractContextManager[memoryview] | None = None
        self._view = memoryview(b"")
        self._base = 0
        self._formats: dict[int, PrintFormat | None] = {}
        self._files: dict[int, SourceText] = {}
        self._last_lines: dict[int, tuple[int, int]] = {}
        self._writers = [self._writers_of(shown, event) for shown, event in zip(fields, self._events, strict=True)]

    def places(self, event: int) -> frozenset[int]:
        """The places at which samples of an event have fields."""
        return frozenset(place for place, writers in enumerate(self._writers[event]) if writers)

    def text(self, place: int, sample: int) -> bytes:
        """The fields at a place of a sample."""
        writers = self._writers[self._columns.event[sample]][place]
        return b"".join([write(sample) for write in writers])

    def close(self) -> None:
        """Unmap the recording."""
        if self._window is not None:
            self._window.__exit__(None, None, None)
            self._window = None

    def _writers_of(self, shown: frozenset[str], event: EventAttr) -> list[list[Callable[[int], bytes]]]:
        """The functions that format an event's fields, by place, in perf's order."""
        writers: list[list[Callable[[int], bytes]]] = [[] for _ in range(6)]

        def add(name: str, write: Callable[[int], bytes]) -> None:
            if name in shown:
                writers[PLACES[name]].append(write)

        add("tod", self._time_of_day)
        add("flags", lambda _sample: b" " * 24)
        if "trace" in shown:
            add("trace", lambda sample: self._trace(sample, event.config))
        if shown & {"sym", "dso"} and event.type == 1 and event.config in _PAGE_FAULTS:
            add("addr", lambda sample: self._address(sample, shown))
        add("cgroup", self._cgroup)
        names = register_names(self._data.features.arch or "")
        interrupted, user = _registers(event.sample_regs_intr, names), _registers(event.sample_regs_user, names)
        add("iregs", lambda sample: self._registers(sample, self._columns.regs_intr_at, interrupted))
        add("uregs", lambda sample: self._registers(sample, self._columns.regs_at, user))
        if "brstack" in shown:
            add("brstack", lambda sample: self._branches(sample, "dso" in shown, "dsoff" in shown))
        elif "brstacksym" in shown:
            add("brstacksym", lambda sample: self._branch_symbols(sample, "dso" in shown, "dsoff" in shown))
        elif "brstackoff" in shown:
            add("brstackoff", lambda sample: self._branches(sample, "dso" in shown, "dsoff" in shown))
        if event.type == 1 and event.config == 10:
            add("bpf-output", self._bpf_output)
        if shown & {"insn", "insnlen"}:
            writers[AFTER_FRAMES].append(lambda sample: self._instruction(sample, shown))
        for name in ("brstackinsn", "brstackdisasm"):
            if name in shown:
                add(name, lambda sample: self._branch_code(sample, event))
                break
        add("srccode", self._source_line)
        return writers

    # Contents of samples ---------------------------------------------------------------------------------

    def _record(self, sample: int) -> tuple[memoryview, int]:
        """(a view of the recording, the offset of a sample's record in it)."""
        columns = self._columns
        assert columns.position is not None
        position = columns.position[sample]
        at = position - self._base
        if not 0 <= at <= len(self._view) - 8 or at + self._size(at) > len(self._view):
            self.close()
            self._window = self._data.window(position, _WINDOW)
            self._view = self._window.__enter__()
            self._base, at = position, 0
        return self._view, at

    def _size(self, at: int) -> int:
        return int(struct.unpack_from("=H", self._view, at + 6)[0])

    def _words(self, sample: int, column: "memoryview[int] | None") -> Iterator[int]:
        """The 64-bit words of a sample from a field on; none without the field."""
        offset = column[sample] if column is not None else 0
        if not offset:
            return
        view, at = self._record(sample)
        end = at + self._size(at)
        at += offset
        while at + 8 <= end:
            yield struct.unpack_from("=Q", view, at)[0]
            at += 8

    def _raw(self, sample: int) -> bytes | None:
        """The raw data of a sample; None without any."""
        column = self._columns.raw_at
        offset = column[sample] if column is not None else 0
        if not offset:
            return None
        view, at = self._record(sample)
        (size,) = struct.unpack_from("=I", view, at + offset)
        return bytes(view[at + offset + 4 : at + offset + 4 + size])

    def _stack(self, sample: int, branches: int) -> list[Branch]:
        """The branch stack, the newest entry first."""
        words = self._words(sample, self._columns.branch_at)
        count = next(words, 0)
        if branches & _HARDWARE_INDEX and count:
            next(words, None)
        if count > self._limits.branches:
            self._defects.add("branch stack that is too long", self._data.path)
        return [Branch(*entry) for entry in islice(zip(words, words, words, strict=False), self._limits.branches)][
            :count
        ]

    def _space(self, sample: int) -> int:
        assert self._columns.space is not None
        return int(self._columns.space[sample])

    # Fields ----------------------------------------------------------------------------------------------

    def _time_of_day(self, sample: int) -> bytes:
        clock = self._data.features.clock_data
        if clock is None:
            return b""
        wall = clock.wall + self._columns.time[sample] - clock.clock
        try:
            day = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall // 10**9))
        except (OverflowError, ValueError, OSError):
            return b"[unknown] "
        part = f"{wall % 10**9:09}" if self._nanoseconds else f"{wall % 10**9 // 1000:06}"
        return f"{day}.{part} ".encode()

    @cached_property
    def _tracing(self) -> Tracing:
        section = self._data.features.tracing
        return parse_tracing(section, self._defects, self._limits) if section is not None else Tracing()

    def _trace(self, sample: int, number: int) -> bytes:
        raw = self._raw(sample)
        if raw is None:
            return b""
        if number not in self._formats:
            self._formats[number] = self._format(number)
        shown = self._formats[number]
        if shown is None:
            return UNKNOWN
        try:
            text = shown(raw)
        except ValueError:
            self._defects.add("tracepoint that does not fit its format", self._data.path)
            return UNKNOWN
        return text if _UNPRINTABLE.search(text) is None else _shown(text)

    def _format(self, number: int) -> PrintFormat | None:
        described = self._tracing.formats.get(number)
        if described is None:
            self._defects.add("tracepoint without a format", self._data.path)
            return None
        parsed = PrintFormat(described, self._tracing, self._kernel_function, self._limits)
        if parsed.failed:
            name = f"{described.system}:{described.name}"
            self._defects.add("tracepoint's format that is not understood", self._data.path, detail=name)
        return parsed

    def _kernel_function(self, address: int) -> tuple[bytes, int] | None:
        if address < _KERNEL_HALF:
            return None
        found = self._addresses.find(0, address)
        return (found.function.encode("utf-8", "replace"), address - found.start) if found.known else None

    def _address(self, sample: int, shown: frozenset[str]) -> bytes:
        columns = self._columns
        assert columns.addr is not None
        address, pid, when = columns.addr[sample], columns.pid[sample], columns.time[sample]
        found = self._addresses.find_data(self._space(sample), address, pid, when)
        text = b""
        if "sym" in shown:
            text += b" " + (_symbol(found) if "symoff" in shown else _shown(found.function))
        if "dso" in shown:
            text += _dso(found, "dsoff" in shown)
        return text

    def _cgroups(self) -> Iterator[tuple[int, bytes]]:
        side = self._records.sideband
        ids = side.cgroups.id
        for row in range(len(side.kind)):
            if side.kind[row] == SidebandKind.CGROUP:
                yield ids[row], self._records.names[side.name[row]]

    def _cgroup(self, sample: int) -> bytes:
        column = self._columns.cgroup
        return b" " + (self._names.get(column[sample], b"unknown") if column is not None else b"unknown")

    def _registers(self, sample: int, column: "memoryview[int] | None", names: list[bytes]) -> bytes:
        words = self._words(sample, column)
        abi = next(words, 0)
        if not abi:
            return b""
        shown = [b"%5s:0x%x " % (name, word) for name, word in zip(names, words, strict=False)]
        return b" ABI:%d " % abi + b"".join(shown)

    def _branches(self, sample: int, dsos: bool, offsets: bool) -> bytes:
        parts = []
        space = self._space(sample)
        for branch in self._stack(sample, self._branch_fields(sample)):
            ends = [
                b"0x%x" % address + (_dso(self._addresses.find(space, address), offsets) if dsos else b"")
                for address in branch[:2]
            ]
            parts.append(b" %s/%s%s" % (*ends, _flags(branch.flags)))
        return b"".join(parts)

    def _branch_symbols(self, sample: int, dsos: bool, offsets: bool) -> bytes:
        parts = []
        space = self._space(sample)
        for branch in self._stack(sample, self._branch_fields(sample)):
            ends = []
            for address in branch[:2]:
                found = self._addresses.find(space, address)
                ends.append(_symbol(found) + (_dso(found, offsets) if dsos else b""))
            parts.append(b"%s/%s%s" % (*ends, _flags(branch.flags)))
        return b"".join(parts)

    def _branch_fields(self, sample: int) -> int:
        return self._events[self._columns.event[sample]].branch_sample_type

    def _bpf_output(self, sample: int) -> bytes:
        raw = self._raw(sample)
        if not raw:
            return b""
        lines = [b"\n"]
        for start in range(0, len(raw), 8):
            part = raw[start : start + 8]
            lines.append(b"%17s" % (b"BPF output:" if not start else b""))
            lines.append(b" %04x:" % start)
            lines.append(b"".join([b" %02x" % byte for byte in part]) + b"   " * (8 - len(part)) + b"  ")
            lines.append(bytes([byte if 32 <= byte < 127 else 46 for byte in part]).ljust(8) + b"\n")
        text = raw.rstrip(b"\0")
        if text and len(text) < len(raw) and all(32 <= byte < 127 for byte in text):
            lines.append(b'%17s "%s"\n' % (b"BPF string:", text))
        return b"".join(lines)

    # Code ------------------------------------------------------------------------------------------------

    @cached_property
    def _decode(self) -> Callable[[bytes, int], tuple[int, bool]]:
        """A function that gives the length of the first instruction in some bytes (0 for none), and whether it always
        branches."""
        if (self._data.features.arch or "x86_64") not in ("x86_64", "i686", "i386"):
            return lambda code, _address: (4 if len(code) >= 4 else 0, False)
        from iced_x86 import Decoder, FlowControl

        always = {
            FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH, FlowControl.RETURN, FlowControl.CALL,
            FlowControl.INDIRECT_CALL, FlowControl.INTERRUPT,
        }  # fmt: skip  # a table

        def decode(code: bytes, address: int) -> tuple[int, bool]:
            instruction = Decoder(64, code[:_LARGEST_INSTRUCTION], ip=address).decode()
            if instruction.is_invalid:
                return 0, False
            return instruction.len, instruction.flow_control in always

        return decode

    def _code(self, space: int, start: int, size: int) -> bytes:
        """Code at an address: ``size`` bytes, or fewer at the end of the image; empty if it cannot be read."""
        found = self._addresses.find(space, start)
        return read_code(found.image, found.address, size)

    def _instruction(self, sample: int, shown: frozenset[str]) -> bytes:
        ip = self._columns.ip[sample]
        code = self._code(self._space(sample), ip, _LARGEST_INSTRUCTION)
        size, _always = self._decode(code, ip) if code else (0, False)
        text = b""
        if "insnlen" in shown:
            text += b" ilen: %d" % size
        if "insn" in shown and size:
            text += b" insn: " + _hex(code[:size]).rstrip()
        return text

    def _branch_code(self, sample: int, event: EventAttr) -> bytes:
        stack = self._stack(sample, event.branch_sample_type)
        if not stack:
            return b""
        return b"\n" + _BranchCode(self, sample, stack, event.branch_sample_type).text()

    def _source_line(self, sample: int) -> bytes:
        """The source line of the innermost frame, if it differs from that of the thread's previous sample."""
        frames, leaf = self._profile.frames, self._columns.stack[sample]
        if frames.file is None or frames.line is None or leaf == NONE:
            return b""
        frame = self._profile.stacks.frame[leaf]
        file, number = frames.file[frame], frames.line[frame]
        thread = self._columns.tid[sample]
        if file == NONE or self._last_lines.get(thread) == (file, number):
            return b""
        self._last_lines[thread] = file, number
        source = self._source(file)
        line = source.line_of(number)
        if not 0 < line <= len(source.lines):
            return b""
        return b"|%-8d %s\n" % (line, _shown(source.lines[line - 1].expandtabs()))

    def _source(self, file: int) -> SourceText:
        """The text of a source file; empty if it cannot be read."""
        if file not in self._files:
            if len(self._files) >= _CACHED_FILES:
                self._files.clear()
            try:
                self._files[file] = read_source(self._profile.files[file], "", self._limits.source_bytes)
            except OSError:
                self._files[file] = SourceText([], False, [])
        return self._files[file]


class _BranchCode:
    """The code between the branches of one sample, as perf prints it for ``brstackinsn``."""

    def __init__(self, fields: SampleFields, sample: int, stack: list[Branch], kind: int) -> None:
        self.fields = fields
        self.space = fields._space(sample)
        self.ip = fields._columns.ip[sample]
        self.stack = stack
        self.kind = kind
        self.lines: list[bytes] = []
        self.last: tuple[Image | None, str, int] | None = None
        self.cycles = 0
        self.left = fields._limits.branch_code_bytes

    def text(self) -> bytes:
        """All basic blocks, the oldest first."""
        first = self.stack[-1]
        code = self.block(first.source, first.source)
        if code:
            self.symbol(first.source)
            self.jump(first.source, first, code, 0)
        number = len(self.stack) - 2
        while number >= 0 and self.left > 0:
            start, end = self.stack[number + 1].target, self.stack[number].source
            if (start ^ end) >> 63 and number > 0:
                # The switch between user and kernel code is not in the branch stack.
                number -= 1
                end = self.stack[number].source
            self.between(start, end, self.stack[number])
            number -= 1
        newest = self.stack[0]
        if newest.source != self.ip and not newest.flags >> 3 & 1 and self.left > 0:
            self.up_to_sample(newest.target)
        return b"".join(self.lines)

    def block(self, start: int, end: int) -> bytes:
        """Code from ``start`` to at least the end of the instruction at ``end``; empty for an impossible range."""
        if (start ^ end) >> 63 or not 0 <= end - start <= _LARGEST_BLOCK - _LARGEST_INSTRUCTION:
            return b""
        self.left -= end - start + _LARGEST_INSTRUCTION
        return self.fields._code(self.space, start, end - start + _LARGEST_INSTRUCTION)

    def between(self, start: int, end: int, branch: Branch) -> None:
        """Add the basic block that a branch ends."""
        code = self.block(start, end)
        if not code:
            return
        offset = count = 0
        while offset < len(code):
            address = start + offset
            self.symbol(address)
            if address == end:
                count += 1
                self.jump(address, branch, code[offset:], count)
                break
            size = self.instruction(address, code[offset : offset + _LARGEST_INSTRUCTION])
            if not size:
                break
            offset += size
            count += 1
        if offset != end - start:
            self.lines.append(b"\tmismatch of LBR data and executable\n")

    def up_to_sample(self, start: int) -> None:
        """Add the code that was executed after the newest branch."""
        end = self.ip
        if end < start:
            # A branch is missing.
            end = start + _MISSING_BRANCH
        code = self.block(start, end)
        self.symbol(start)
        if not code:
            code = self.block(self.ip, self.ip)
            if code:
                self.instruction(self.ip, code)
            return
        offset = 0
        while offset <= end - start:
            part = code[offset : offset + _LARGEST_INSTRUCTION]
            size = self.instruction(start + offset, part)
            if not size:
                break
            if (not self.kind or self.kind & _ANY_BRANCH) and start + offset != self.ip:
                _size, always = self.fields._decode(part, start + offset)
                if always:
                    self.lines.append(b"\t... not reaching sample ...\n")
                    break
            offset += size

    def symbol(self, address: int) -> None:
        """Add a line for the function at an address, if it differs from the last one."""
        found = self.fields._addresses.find(self.space, address)
        if not found.known:
            self.last = None
            return
        function = (found.image, found.function, found.start)
        if function == self.last:
            return
        self.last = function
        offset = found.address - found.start
        self.lines.append(b"\t%s%s:\n" % (_shown(found.function), b"+%d" % offset if offset else b""))

    def instruction(self, address: int, code: bytes) -> int:
        """Add a line for an instruction; its size in bytes, 0 for invalid code."""
        size, _always = self.fields._decode(code, address) if code else (0, False)
        self.lines.append(b"\t%016x\tinsn: %s\n" % (address, _hex(code[:size])))
        return size

    def jump(self, address: int, branch: Branch, code: bytes, count: int) -> None:
        """Add a line for a branch, with its flags, cycles and instructions per cycle."""
        size, _always = self.fields._decode(code[:_LARGEST_INSTRUCTION], address)
        shown = (b"insn: " + _hex(code[:size])).ljust(_JUMP_WIDTH)
        flags = branch.flags
        words = ((0, b" MISPRED"), (1, b" PRED"), (2, b" INTX"), (3, b" ABORT"))
        line = b"\t%016x\t%s\t#%s" % (address, shown, b"".join([word for bit, word in words if flags >> bit & 1]))
        if branch.cycles:
            self.cycles += branch.cycles
            line += b" %d cycles [%d]" % (branch.cycles, self.cycles)
            if count:
                line += b" %.2f IPC" % (count / branch.cycles)
        self.lines.append(line + b"\n")


def read_code(image: Image | None, address: int, size: int) -> bytes:
    """Up to ``size`` bytes of an image's code; fewer at its end."""
    if image is None:
        return b""
    for _offset, length, start, _flags in image.segments:
        if start <= address < start + length:
            size = min(size, start + length - address)
    code = image.read(address, size)
    return bytes(code) if code is not None else b""


def register_names(arch: str) -> tuple[str, ...]:
    """perf's names of a machine's registers, by bit."""
    return _AARCH64_ORDER if arch in ("aarch64", "arm64") else _X86_ORDER


def _registers(mask: int, names: Sequence[str]) -> list[bytes]:
    return [
        (names[bit] if bit < len(names) else f"XMM{(bit - 32) // 2}" if names is _X86_ORDER else "unknown").encode()
        for bit in range(64)
        if mask >> bit & 1
    ]


def _hex(code: bytes) -> bytes:
    return b"".join([b"%02x " % byte for byte in code])


def _shown(text: "bytes | str") -> bytes:
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    return printable(text).encode("utf-8", "replace")


def _symbol(found: Located) -> bytes:
    if not found.known:
        return UNKNOWN
    return _shown(found.function) + b"+0x%x" % (found.address - found.start)


def _dso(found: Located, offset: bool) -> bytes:
    if found.image is None:
        return b" (%s)" % UNKNOWN
    image = Named(found.image.name.decode("utf-8", "replace"), found.image.kind.name)
    return b" (%s%s)" % (_shown(dso(image)), b"+0x%x" % found.offset if offset and not is_kernel(image) else b"")


def _flags(flags: int) -> bytes:
    """perf's print_bstack_flags."""
    kind = flags >> 20 & 15
    new = flags >> 26 & 15
    name = (_NEW_BRANCHES[new] if new < len(_NEW_BRANCHES) else "") if kind == 15 else _BRANCHES[kind]
    taken = "M" if flags & 1 else "P" if flags & 2 else "-"
    transaction = "X" if flags >> 2 & 1 else "-"
    aborted = "A" if flags >> 3 & 1 else "-"
    speculation = _SPECULATION[flags >> 24 & 3]
    return f"/{taken}/{transaction}/{aborted}/{flags >> 4 & 0xFFFF}/{name}/{speculation} ".encode()
