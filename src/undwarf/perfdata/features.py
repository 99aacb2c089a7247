"""Feature sections: the machine, the command and the binaries of a recording.

Source: ``tools/perf/Documentation/perf.data-file-format.txt`` and ``tools/perf/util/header.c``.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, NamedTuple

from undwarf.defects import Defects
from undwarf.perfdata.abi import MISC_BUILD_ID_SIZE
from undwarf.perfdata.events import SMALLEST, EventAttr, parse_attr
from undwarf.perfdata.header import ByteOrder, order_mark

LINE = 64
"""Bytes of a cache line, unless the recording has its size."""
_LINES = (16, 32, 64, 128, 256, 512)


class Feature(IntEnum):
    """Numbers of the feature sections."""

    TRACING_DATA = 1
    BUILD_ID = 2
    HOSTNAME = 3
    OSRELEASE = 4
    VERSION = 5
    ARCH = 6
    NRCPUS = 7
    CPUDESC = 8
    CPUID = 9
    TOTAL_MEM = 10
    CMDLINE = 11
    EVENT_DESC = 12
    CPU_TOPOLOGY = 13
    NUMA_TOPOLOGY = 14
    PMU_MAPPINGS = 16
    GROUP_DESC = 17
    AUXTRACE = 18
    STAT = 19
    CACHE = 20
    SAMPLE_TIME = 21
    MEM_TOPOLOGY = 22
    CLOCKID = 23
    DIR_FORMAT = 24
    BPF_PROG_INFO = 25
    BPF_BTF = 26
    COMPRESSED = 27
    CPU_PMU_CAPS = 28
    CLOCK_DATA = 29
    HYBRID_TOPOLOGY = 30
    PMU_CAPS = 31
    CPU_DOMAIN_INFO = 32
    E_MACHINE = 33
    CLN_SIZE = 34


class BuildId(NamedTuple):
    """The build-id the recorder found for a file."""

    pid: int
    build_id: bytes
    filename: str
    misc: int


class Compression(NamedTuple):
    """How records were compressed."""

    version: int
    type: int
    level: int
    ratio: int
    mmap_len: int


class ClockData(NamedTuple):
    """The recording's clock beside the wall clock at one moment, both in ns."""

    clockid: int
    wall: int
    clock: int


class CacheLevel(NamedTuple):
    """One CPU cache."""

    level: int
    line: int
    sets: int
    ways: int
    type: str
    size: str
    map: str


@dataclass(slots=True, eq=False)
class Features:
    """The sections of a recording; None (or empty) for an absent one."""

    hostname: str | None = None
    osrelease: str | None = None
    version: str | None = None
    """Of the perf that recorded."""
    arch: str | None = None
    """As ``uname -m``."""
    nrcpus: tuple[int, int] | None = None
    """CPUs available and online."""
    cpudesc: str | None = None
    cpuid: str | None = None
    total_mem: int | None = None
    """KiB"""
    cmdline: list[str] | None = None
    build_ids: list[BuildId] = field(default_factory=list)
    event_desc: list[EventAttr] = field(default_factory=list)
    pmu_mappings: dict[int, str] = field(default_factory=dict)
    groups: list[tuple[str, int, int]] = field(default_factory=list)
    """Event groups: name, number of the leader, members."""
    cpu_topology: tuple[list[str], list[str]] | None = None
    """Lists of sibling CPUs by package and by core."""
    numa_nodes: list[tuple[int, int, int, str]] | None = None
    """Node, total and free KiB, CPU list."""
    caches: list[CacheLevel] | None = None
    sample_time: tuple[int, int] | None = None
    """Times of the first and last sample in ns."""
    clockid: int | None = None
    """Resolution of the clock in ns."""
    clock_data: ClockData | None = None
    dir_format: int | None = None
    compressed: Compression | None = None
    e_machine: tuple[int, int] | None = None
    """ELF machine number and flags of the recording perf."""
    cacheline_size: int | None = None
    """In bytes."""
    tracing: bytes | None = None
    """The formats of tracepoints, see undwarf.perfdata.tracing."""
    raw: dict[int, bytes] = field(default_factory=dict)
    """Every section that is not too large, by number."""

    @property
    def line_size(self) -> int:
        """Bytes of a cache line of the recorded machine: its own section, else that of the lowest cache level, else 64,
        which nearly all machines have."""
        nearest = min(self.caches or (), key=lambda one: one.level, default=None)
        for size in (self.cacheline_size, nearest.line if nearest is not None else None):
            if size is not None and size in _LINES:
                return size
        return LINE


class _Short(Exception):
    """A section is shorter than its counts and sizes claim."""


class Reader:
    """Reads numbers and strings in sequence; raises _Short at the end."""

    def __init__(self, data: bytes, byte_order: ByteOrder) -> None:
        self.data = data
        self.mark = order_mark(byte_order)
        self.byte_order = byte_order
        self.at = 0

    @property
    def left(self) -> int:
        """Bytes not yet taken."""
        return len(self.data) - self.at

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        if count > self.left:
            raise _Short
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, form: str) -> tuple[Any, ...]:
        """Numbers in the struct module's letters."""
        form = self.mark + form
        return struct.unpack(form, self.bytes(struct.calcsize(form)))

    def u32(self) -> int:
        """One u32."""
        return int(self.numbers("I")[0])

    def u64(self) -> int:
        """One u64."""
        return int(self.numbers("Q")[0])

    def string(self) -> str:
        """A length (with padding) and a NUL-terminated string."""
        return text(self.bytes(self.u32()))

    def count(self, smallest: int) -> int:
        """A u32 number of entries that take at least ``smallest`` bytes each."""
        found = self.u32()
        if found * smallest > self.left:
            raise _Short
        return found

    def strings(self) -> list[str]:
        """A counted list of strings."""
        return [self.string() for _ in range(self.count(4))]


def text(raw: bytes) -> str:
    """A C string; bytes that are no UTF-8 stay as surrogate escapes."""
    return raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def parse_build_id(body: bytes, misc: int, byte_order: ByteOrder, old: bool = False) -> BuildId | None:
    """A build-id record without its 8-byte header: pid, 24 bytes of id, file name; None when too short.

    Very old files lack the pid (``old``); the size of the id is there only if ``MISC_BUILD_ID_SIZE`` is set.
    """
    start = 0 if old else 4
    if len(body) < start + 24:
        return None
    pid = -1 if old else struct.unpack_from(order_mark(byte_order) + "i", body)[0]
    raw = body[start : start + 24]
    size = min(raw[20], 20) if misc & MISC_BUILD_ID_SIZE else 20
    build_id = raw[:size]
    if not any(build_id):
        build_id = b""
    return BuildId(pid, build_id, text(body[start + 24 :]), misc)


def _build_ids(reader: Reader, found: Features) -> None:
    entries = []
    while reader.left >= 8:
        _type, misc, size = reader.numbers("IHH")
        if size < 8:
            raise _Short
        entries.append((reader.bytes(size - 8), misc))
    read = [parse_build_id(body, misc, reader.byte_order) for body, misc in entries]
    # Files of perf before 2.6.33 have no pid: then the first name starts four bytes too late.
    if any(entry is not None and entry.filename == "nel.kallsyms]" for entry in read):
        read = [parse_build_id(body, misc, reader.byte_order, True) for body, misc in entries]
    found.build_ids.extend(entry for entry in read if entry is not None)


def _event_desc(reader: Reader, found: Features) -> None:
    number, size = reader.numbers("II")
    if size < SMALLEST or number * size > reader.left:
        raise _Short
    for _ in range(number):
        raw = reader.bytes(size)
        ids = reader.u32()
        name = reader.string()
        if ids * 8 > reader.left:
            raise _Short
        event = parse_attr(raw, reader.byte_order)
        found.event_desc.append(replace(event, name=name, ids=reader.numbers(f"{ids}Q")))


def _pmu_mappings(reader: Reader, found: Features) -> None:
    for _ in range(reader.count(8)):
        kind = reader.u32()
        found.pmu_mappings[kind] = reader.string()


def _groups(reader: Reader, found: Features) -> None:
    for _ in range(reader.count(12)):
        name = reader.string()
        leader, members = reader.numbers("II")
        found.groups.append((name, leader, members))


def _caches(reader: Reader, found: Features) -> None:
    if reader.u32() != 1:
        return
    found.caches = []
    for _ in range(reader.count(28)):
        level, line, sets, ways = reader.numbers("4I")
        found.caches.append(CacheLevel(level, line, sets, ways, reader.string(), reader.string(), reader.string()))


def _numa(reader: Reader, found: Features) -> None:
    found.numa_nodes = []
    for _ in range(reader.count(24)):
        node, total, free = reader.numbers("IQQ")
        found.numa_nodes.append((node, total, free, reader.string()))


def _clock_data(reader: Reader, found: Features) -> None:
    version, clockid, wall, clock = reader.numbers("IIQQ")
    if version == 1:
        found.clock_data = ClockData(clockid, wall, clock)


def _set(name: str, take: Callable[[Reader], Any]) -> Callable[[Reader, Features], None]:
    def parse(reader: Reader, found: Features) -> None:
        setattr(found, name, take(reader))

    return parse


_PARSERS: dict[int, Callable[[Reader, Features], None]] = {
    Feature.TRACING_DATA: _set("tracing", lambda reader: reader.bytes(reader.left)),
    Feature.BUILD_ID: _build_ids,
    Feature.HOSTNAME: _set("hostname", Reader.string),
    Feature.OSRELEASE: _set("osrelease", Reader.string),
    Feature.VERSION: _set("version", Reader.string),
    Feature.ARCH: _set("arch", Reader.string),
    Feature.NRCPUS: _set("nrcpus", lambda reader: reader.numbers("II")),
    Feature.CPUDESC: _set("cpudesc", Reader.string),
    Feature.CPUID: _set("cpuid", Reader.string),
    Feature.TOTAL_MEM: _set("total_mem", Reader.u64),
    Feature.CMDLINE: _set("cmdline", Reader.strings),
    Feature.EVENT_DESC: _event_desc,
    Feature.CPU_TOPOLOGY: _set("cpu_topology", lambda reader: (reader.strings(), reader.strings())),
    Feature.NUMA_TOPOLOGY: _numa,
    Feature.PMU_MAPPINGS: _pmu_mappings,
    Feature.GROUP_DESC: _groups,
    Feature.CACHE: _caches,
    Feature.SAMPLE_TIME: _set("sample_time", lambda reader: reader.numbers("QQ")),
    Feature.CLOCKID: _set("clockid", Reader.u64),
    Feature.CLOCK_DATA: _clock_data,
    Feature.DIR_FORMAT: _set("dir_format", Reader.u64),
    Feature.COMPRESSED: _set("compressed", lambda reader: Compression(*reader.numbers("5I"))),
    Feature.E_MACHINE: _set("e_machine", lambda reader: reader.numbers("II")),
    Feature.CLN_SIZE: _set("cacheline_size", Reader.u32),
}
_NAMES = {member.value: member.name for member in Feature}
RAW_BYTES = 1 << 20
"""Larger sections are not in ``Features.raw``."""


def feature_name(number: int) -> str:
    """The name of a feature section: ``"BUILD_ID"``, or ``"feature 99"`` for an unknown one."""
    return _NAMES.get(number) or f"feature {number}"


def is_parsed(number: int) -> bool:
    """Whether a section is parsed into attributes of Features."""
    return number in _PARSERS


def parse_feature(number: int, payload: bytes, byte_order: ByteOrder, found: Features, defects: Defects) -> None:
    """Add one section to ``found``; a truncated or invalid one is a defect."""
    if len(payload) <= RAW_BYTES:
        found.raw[number] = payload
    parser = _PARSERS.get(number)
    if parser is None:
        return
    try:
        parser(Reader(payload, byte_order), found)
    except _Short:
        defects.add("damaged feature section", feature_name(number), detail="it is too short for its contents")
