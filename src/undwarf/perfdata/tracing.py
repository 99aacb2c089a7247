"""Reads the formats of tracepoints in a recording's TRACING_DATA section.

Source: the section's layout is that of trace.dat (`Documentation/trace-cmd/trace-cmd.dat.v6.5.txt` of trace-cmd,
`tools/perf/util/trace-event-read.c`), each description a ``format`` file (`Documentation/trace/events.rst`).
"""

import re
import struct
from dataclasses import dataclass, field

from undwarf.defects import Defects
from undwarf.limits import DEFAULT, Limits
from undwarf.perfdata.header import ByteOrder, order_mark

MAGIC = b"\x17\x08\x44tracing"

_FIELD = re.compile(
    rb"^\s*field(?: special)?:([^;]*?)\s*;\s*offset:\s*(\d+)\s*;\s*size:\s*(\d+)\s*;(?:\s*signed:\s*(-?\d+)\s*;)?"
)
_NAME = re.compile(rb"^(.*?)\s*([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)$", re.DOTALL)
_STRINGS = (b"char", b"u8", b"s8")
_SIZES = {b"u8": 1, b"s8": 1, b"u16": 2, b"s16": 2, b"u32": 4, b"s32": 4, b"u64": 8, b"s64": 8,
          b"char": 1, b"short": 2, b"int": 4, b"bool": 1, b"__u8": 1, b"__u16": 2, b"__u32": 4, b"__u64": 8,
          b"__be16": 2, b"__be32": 4, b"size_t": 8, b"loff_t": 8, b"pid_t": 4}  # fmt: skip  # a table


@dataclass(frozen=True, slots=True)
class TraceField:
    """One field of a tracepoint's record. ``offset`` and ``size`` in bytes; ``element_size`` of arrays, else the size.

    ``dynamic``: the record has offset and length (16 bits each, the length above) of the value in place of the value;
    with ``relative`` the offset counts from the end of the field.
    """

    name: str
    type: str
    offset: int
    size: int
    element_size: int
    signed: bool = False
    array: bool = False
    string: bool = False
    dynamic: bool = False
    relative: bool = False

    @property
    def pointer(self) -> bool:
        """Whether it is declared as a pointer."""
        return "*" in self.type

    @property
    def long(self) -> bool:
        """Whether its type has the size of a machine word."""
        return "long" in self.type.split() or self.type.split()[-1:] == ["size_t"]


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """A tracepoint: its fields in order (``common`` ones apart) and ``print_format``, the arguments that the kernel
    would print it with."""

    system: str
    name: str
    id: int
    common: tuple[TraceField, ...]
    fields: tuple[TraceField, ...]
    print_format: bytes

    def field(self, name: str) -> TraceField | None:
        """The field of this name."""
        return next((one for one in (*self.common, *self.fields) if one.name == name), None)


@dataclass(slots=True, eq=False)
class Tracing:
    """What a TRACING_DATA section holds. ``formats`` by the events' ids; ``strings`` are texts by their address in the
    kernel; ``long_size`` the bytes of a word there."""

    byte_order: ByteOrder = "little"
    long_size: int = 8
    formats: dict[int, TraceFormat] = field(default_factory=dict)
    strings: dict[int, bytes] = field(default_factory=dict)


class _Short(Exception):
    """The section is shorter than its counts and sizes claim."""


class _Bytes:
    """Reads the section in sequence."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.mark = "<"

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise _Short
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, letter: str) -> int:
        return int(struct.unpack(self.mark + letter, self.take(struct.calcsize(letter)))[0])

    def string(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise _Short
        found = self.data[self.at : end]
        self.at = end + 1
        return found


def parse_tracing(data: bytes, defects: Defects, limits: Limits = DEFAULT) -> Tracing:
    """Read a TRACING_DATA section; damage is a defect, and what was read before it is returned."""
    found = Tracing()
    try:
        _parse(_Bytes(data), found, defects, limits)
    except _Short:
        defects.add("damaged feature section", "TRACING_DATA", detail="it is too short for its contents")
    return found


def _parse(source: _Bytes, found: Tracing, defects: Defects, limits: Limits) -> None:
    if source.take(len(MAGIC)) != MAGIC:
        raise _Short
    version = source.string()
    found.byte_order = "big" if source.take(1) == b"\1" else "little"
    source.mark = order_mark(found.byte_order)
    found.long_size = source.take(1)[0]
    source.number("I")  # bytes of a page
    for _ in ("header_page", "header_event"):
        source.string()
        source.take(source.number("Q"))
    for _ in range(source.number("I")):
        # Formats of the function tracer, which perf does not record.
        source.take(source.number("Q"))
    for _ in range(source.number("I")):
        system = source.string().decode("utf-8", "replace")
        for _ in range(source.number("I")):
            text = source.take(source.number("Q"))
            if len(found.formats) >= limits.trace_formats:
                defects.add("too many tracepoint formats", "TRACING_DATA")
                continue
            made = parse_format(text, system, found.long_size, limits)
            if made is None:
                defects.add("damaged tracepoint format", system)
            else:
                found.formats[made.id] = made
    source.take(source.number("I"))  # the kernel's symbols, which perf takes from elsewhere
    _strings(source.take(source.number("I")), found)
    if version >= b"0.6":
        source.take(source.number("Q"))  # names of processes


def _strings(text: bytes, found: Tracing) -> None:
    """Lines of ``printk_formats``: an address and the text in quotes."""
    for line in text.split(b"\n"):
        address, _colon, quoted = line.partition(b":")
        try:
            number = int(address.strip(), 16)
        except ValueError:
            continue
        value = quoted.strip().strip(b'"')
        if value.endswith(b"\\n"):
            value = value[:-2]
        found.strings[number] = value


def parse_format(text: bytes, system: str, long_size: int = 8, limits: Limits = DEFAULT) -> TraceFormat | None:
    """A tracepoint from its ``format`` file; None without name or id, or if it is too long."""
    if len(text) > limits.trace_format_bytes:
        return None
    name = re.search(rb"^name:\s*(\S+)", text, re.MULTILINE)
    number = re.search(rb"^ID:\s*(\d{1,9})\s*$", text, re.MULTILINE)
    shown = re.search(rb"^print fmt:[ \t]*(.*)", text, re.MULTILINE | re.DOTALL)
    if name is None or number is None:
        return None
    parts: list[list[TraceField]] = [[]]
    for line in text[: shown.start() if shown else None].split(b"\n"):
        if not line.strip() and parts[0] and len(parts) == 1:
            # A blank line ends the fields that all tracepoints have.
            parts.append([])
        made = _field(line, long_size)
        if made is not None:
            parts[-1].append(made)
    if len(parts) == 1:
        parts.insert(0, [])
    return TraceFormat(
        system,
        name[1].decode("utf-8", "replace"),
        int(number[1]),
        tuple(parts[0]),
        tuple(parts[1]),
        shown[1].strip() if shown else b"",
    )


def _field(line: bytes, long_size: int) -> TraceField | None:
    """The field that a line of a format declares."""
    found = _FIELD.match(line)
    if found is None or max(len(found[2]), len(found[3])) > 6:
        return None
    declared = _NAME.match(found[1])
    if declared is None:
        return None
    type_, name, brackets = declared[1], declared[2], declared[3]
    offset, size = int(found[2]), int(found[3])
    words = type_.split()
    relative = b"__rel_loc" in words
    dynamic = relative or b"__data_loc" in words
    array = bool(brackets) or b"[" in type_
    element = size
    if array:
        base = type_.replace(b"[]", b"").strip()
        counted = re.match(rb"\[\s*(\d{1,6})\s*\]", brackets)
        if counted and int(counted[1]):
            element = size // int(counted[1])
        elif dynamic:
            element = _type_size(base.split(), long_size)
        elif any(kind in base for kind in _STRINGS):
            element = 1
        else:
            element = long_size if b"long" in words else _type_size(base.split(), long_size)
    return TraceField(
        name.decode(),
        type_.decode("utf-8", "replace"),
        offset,
        size,
        element,
        found[4] not in (None, b"0"),
        array,
        array and any(kind in type_ for kind in _STRINGS),
        dynamic,
        relative,
    )


def _type_size(words: list[bytes], long_size: int) -> int:
    """Size in bytes of an array element by the words of its type; 0 for an unknown type."""
    if words[-1:] == [b"long"]:
        return 8 if words[-2:-1] == [b"long"] else long_size
    if words[-1:] and b"*" in words[-1]:
        return long_size
    return _SIZES.get(words[-1] if words else b"", 0)
