"""What a recording says besides samples: its header, its events, and all records one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from undwarf.perfdata import EventAttr, Features, Records
from undwarf.perfdata.sideband_kinds import SidebandKind


@dataclass(frozen=True, slots=True)
class Header:
    """The machine and the command of a recording; empty or 0 where the recording does not say.

    ``osrelease`` is the kernel's, ``version`` the recorder's; ``arch`` is as ``uname -m`` prints it. ``cpus`` are those
    available, ``cpus_online`` those online; ``memory`` is in bytes, ``cache_line`` too.

    >>> recording.header.osrelease, recording.header.cpus
    ('6.18.44-fc-v595', 2)
    """

    hostname: str = ""
    osrelease: str = ""
    version: str = ""
    arch: str = ""
    cpudesc: str = ""
    cpuid: str = ""
    cpus: int = 0
    cpus_online: int = 0
    memory: int = 0
    cache_line: int = 64
    cmdline: tuple[str, ...] = ()


def header_of(found: Features) -> Header:
    """The header from its feature sections."""
    available, online = found.nrcpus or (0, 0)
    return Header(
        found.hostname or "",
        found.osrelease or "",
        found.version or "",
        found.arch or "",
        found.cpudesc or "",
        found.cpuid or "",
        available,
        online,
        (found.total_mem or 0) << 10,
        found.line_size,
        tuple(found.cmdline or ()),
    )


@dataclass(frozen=True, slots=True)
class Event:
    """An event that samples are taken of. Its number is its place in :attr:`Recording.events`.

    ``type`` and ``config`` are as in the kernel's perf_event_attr; a software clock, the default, is right for what the
    kernel has no event for. A sample is taken each ``period`` occurrences or, where that is 0, ``frequency`` times a
    second. ``precise`` is 0 (any skid) to 3 (no skid). ``stack_bytes``: the most stack copied with each sample.

    >>> recording.events[0].name, recording.events[0].frequency
    ('task-clock:u', 997)
    """

    name: str
    type: int = 1
    config: int = 0
    period: int = 0
    frequency: int = 0
    precise: int = 0
    stack_bytes: int = 0


def event_of(attr: EventAttr) -> Event:
    """An event from its attributes."""
    period, frequency = (0, attr.sample_period) if attr.freq else (attr.sample_period, 0)
    return Event(attr.name, attr.type, attr.config, period, frequency, attr.precise_ip, attr.sample_stack_user)


class SampleRecord(NamedTuple):
    """A sample as recorded: ``number`` is its place in the profile's samples as recorded; ``time`` in ns; ``ip`` is the
    sampled address, ``addr`` that of the data, 0 without."""

    number: int
    time: int
    pid: int
    tid: int
    cpu: int
    event: int
    period: int
    ip: int
    addr: int


class MmapRecord(NamedTuple):
    """A new mapping, of ``path`` from ``offset`` on; ``pid`` -1 is the kernel. ``build_id`` is hexadecimal, empty if
    unknown; ``executable``: code may run there."""

    time: int
    pid: int
    tid: int
    start: int
    end: int
    offset: int
    path: str
    build_id: str
    executable: bool


class CommRecord(NamedTuple):
    """A thread's new name; ``is_exec``: by an exec."""

    time: int
    pid: int
    tid: int
    name: str
    is_exec: bool


class ForkRecord(NamedTuple):
    """A new process or, if ``parent`` is ``pid``, a new thread."""

    time: int
    pid: int
    tid: int
    parent: int
    parent_tid: int


class ExitRecord(NamedTuple):
    """The end of a thread."""

    time: int
    pid: int
    tid: int


class LostRecord(NamedTuple):
    """``lost`` records or samples that were lost before they could be written."""

    time: int
    lost: int


class OtherRecord(NamedTuple):
    """A record of another kind, by the name of its kind (``KSYMBOL``, ``CGROUP``, ...), and what it is named after."""

    time: int
    pid: int
    tid: int
    kind: str
    name: str


Record = SampleRecord | MmapRecord | CommRecord | ForkRecord | ExitRecord | LostRecord | OtherRecord

_EXEC = 1 << 13
"""PERF_RECORD_MISC_COMM_EXEC."""
_KINDS: dict[int, str] = {one.value: one.name for one in SidebandKind}


def iter_records(records: Records) -> Iterator[Record]:
    """All records in order of time; those of one time as recorded."""
    side, samples = records.sideband, records.samples
    row, rows = 0, len(side)
    times, positions = side.time, side.position
    for number in records.sample_order:
        time, position = samples.time[number], samples.position[number]
        while row < rows and (times[row], positions[row]) < (time, position):
            yield _side_record(records, row)
            row += 1
        yield SampleRecord(
            number,
            time,
            samples.pid[number],
            samples.tid[number],
            samples.cpu[number],
            samples.event[number],
            samples.period[number],
            samples.ip[number],
            samples.addr[number] if samples.addr is not None else 0,
        )
    for rest in range(row, rows):
        yield _side_record(records, rest)


def _side_record(records: Records, row: int) -> Record:
    side = records.sideband
    kind, time, pid, tid = side.kind[row], side.time[row], side.pid[row], side.tid[row]
    name = _text(records.names[side.name[row]])
    if kind == SidebandKind.MMAP:
        mmaps = side.mmaps
        start = mmaps.start[row]
        build_id = records.identities[side.identity[row]].build_id.hex()
        executable = mmaps.protection[row] & 4 != 0
        return MmapRecord(
            time, pid, tid, start, start + mmaps.length[row], mmaps.page_offset[row], name, build_id, executable
        )
    if kind == SidebandKind.COMM:
        return CommRecord(time, pid, tid, name, side.misc[row] & _EXEC != 0)
    if kind == SidebandKind.FORK:
        return ForkRecord(time, pid, tid, side.forks.parent_pid[row], side.forks.parent_tid[row])
    if kind == SidebandKind.EXIT:
        return ExitRecord(time, pid, tid)
    if kind == SidebandKind.LOST:
        return LostRecord(time, side.first[row])
    return OtherRecord(time, pid, tid, _KINDS.get(kind, str(kind)), name)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
