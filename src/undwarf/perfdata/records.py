"""The decoded recording: columns of samples and of side-band records, and the numbers the format uses.

Columns are memoryviews of native numbers, one entry a record. Sources: ``include/uapi/linux/perf_event.h``
and ``tools/lib/perf/include/perf/event.h``.
"""

from dataclasses import field
from enum import IntEnum, IntFlag
from typing import NamedTuple

from undwarf.lazy_dataclasses import dataclass

Column = memoryview  # of native C numbers; the type code is given with each column


class RecordType(IntEnum):
    """Record types: the kernel's are below 64, those perf itself writes start there."""

    MMAP = 1
    LOST = 2
    COMM = 3
    EXIT = 4
    THROTTLE = 5
    UNTHROTTLE = 6
    FORK = 7
    READ = 8
    SAMPLE = 9
    MMAP2 = 10
    AUX = 11
    ITRACE_START = 12
    LOST_SAMPLES = 13
    SWITCH = 14
    SWITCH_CPU_WIDE = 15
    NAMESPACES = 16
    KSYMBOL = 17
    BPF_EVENT = 18
    CGROUP = 19
    TEXT_POKE = 20
    AUX_OUTPUT_HW_ID = 21
    CALLCHAIN_DEFERRED = 22
    HEADER_ATTR = 64
    HEADER_EVENT_TYPE = 65
    HEADER_TRACING_DATA = 66
    HEADER_BUILD_ID = 67
    FINISHED_ROUND = 68
    ID_INDEX = 69
    AUXTRACE_INFO = 70
    AUXTRACE = 71
    AUXTRACE_ERROR = 72
    THREAD_MAP = 73
    CPU_MAP = 74
    STAT_CONFIG = 75
    STAT = 76
    STAT_ROUND = 77
    EVENT_UPDATE = 78
    TIME_CONV = 79
    HEADER_FEATURE = 80
    COMPRESSED = 81
    FINISHED_INIT = 82
    COMPRESSED2 = 83
    BPF_METADATA = 84
    SCHEDSTAT_CPU = 85
    SCHEDSTAT_DOMAIN = 86


_NAMES = {member.value: member.name for member in RecordType}


def type_name(number: int) -> str:
    """What a record type is called in counts: ``"MMAP2"``, or ``"type 99"`` for one we do not know."""
    return _NAMES.get(number) or f"type {number}"


class SampleField(IntFlag):
    """Bits of ``sample_type``. The bit order is not the order in the record."""

    IP = 1 << 0
    TID = 1 << 1
    TIME = 1 << 2
    ADDR = 1 << 3
    READ = 1 << 4
    CALLCHAIN = 1 << 5
    ID = 1 << 6
    CPU = 1 << 7
    PERIOD = 1 << 8
    STREAM_ID = 1 << 9
    RAW = 1 << 10
    BRANCH_STACK = 1 << 11
    REGS_USER = 1 << 12
    STACK_USER = 1 << 13
    WEIGHT = 1 << 14
    DATA_SRC = 1 << 15
    IDENTIFIER = 1 << 16
    TRANSACTION = 1 << 17
    REGS_INTR = 1 << 18
    PHYS_ADDR = 1 << 19
    AUX = 1 << 20
    CGROUP = 1 << 21
    DATA_PAGE_SIZE = 1 << 22
    CODE_PAGE_SIZE = 1 << 23
    WEIGHT_STRUCT = 1 << 24


class CpuMode(IntEnum):
    """The low three bits of a record's ``misc``: where the CPU was."""

    UNKNOWN = 0
    KERNEL = 1
    USER = 2
    HYPERVISOR = 3
    GUEST_KERNEL = 4
    GUEST_USER = 5


MISC_BIT_13 = 1 << 13
"""MMAP, MMAP2: not executable. COMM: after exec. FORK: perf made it up, no maps are inherited."""
MISC_BIT_14 = 1 << 14
"""SAMPLE: the ip is exact. MMAP2: holds a build-id in place of device and inode."""


class SidebandKind(IntEnum):
    """What a side-band entry is, and what its columns a, b, c, d hold."""

    MMAP = 1
    """a start, b length, c page offset, d protection (without one in the record: 4 for code, 3 for data)"""
    COMM = 2
    """name"""
    FORK = 3
    """a parent pid, b parent tid"""
    EXIT = 4
    """a parent pid, b parent tid"""
    KSYMBOL = 5
    """a address, b length, c type (1 BPF, 2 out of line), d flags (1 unregister), name"""
    TEXT_POKE = 6
    """a address, b old length, c new length; the bytes are in the record"""
    BPF = 7
    """a program id, b tag, c type (1 load, 2 unload), d flags"""
    CGROUP = 8
    """a id, name"""
    NAMESPACES = 9
    """a number of entries; they are in the record, from byte 24 on"""
    SWITCH = 10
    """a pid, b tid of the other task (both 0 where the record has none), c 1 for a CPU-wide record"""
    LOST = 11
    """a how many, b event id, c 1 for lost samples (LOST_SAMPLES), d 1 where a filter dropped them on purpose"""
    DEFERRED = 12
    """a cookie, b number of addresses; they are in the record, from byte 24 on"""
    AUX = 13
    """a offset, b size, d flags"""
    ITRACE_START = 14
    """pid, tid"""
    AUX_OUTPUT_HW_ID = 15
    """a hardware id"""
    THROTTLE = 16
    """a event id, b stream id"""
    UNTHROTTLE = 17
    """as THROTTLE"""


class FileIdentity(NamedTuple):
    """What a mapping says about its file beside the name: a build-id, or a device and inode."""

    build_id: bytes
    major: int
    minor: int
    inode: int
    generation: int


NO_IDENTITY = FileIdentity(b"", 0, 0, 0, 0)


@dataclass(slots=True, repr=False, eq=False)
class Samples:
    """Samples in stream order, one entry each; the type code of every column is in its comment.

    A column of offsets (``..._at``) counts bytes from the record's header to the field's first word; 0 says
    that the sample has no such field. What the word counts was verified to lie within the record. Optional
    columns are None when no event of the recording has the field.
    """

    count: int
    position: Column  # Q logical offset of the record header, see PerfData.window
    time: Column  # Q effective time in ns, 0 where the recording has no times
    pid: Column  # i, -1 without TID
    tid: Column  # i
    cpu: Column  # i, -1 without CPU
    event: Column  # H index in PerfData.events
    misc: Column  # H
    ip: Column  # Q, 0 without IP
    period: Column  # Q
    callchain_at: Column  # H -> u64 nr, then nr entries
    regs_at: Column  # H -> u64 abi, then one u64 for each bit of sample_regs_user unless abi is 0
    stack_at: Column  # H -> u64 size, then the bytes and u64 dyn_size unless size is 0
    read_at: Column  # H -> the counter values, by read_format
    raw_at: Column  # H -> u32 size, then the bytes
    branch_at: Column  # H -> u64 nr, [u64 hw_idx], nr * (from, to, flags)
    addr: Column | None = None  # Q
    weight: Column | None = None  # Q (WEIGHT_STRUCT: u32, u16, u16 from the low end)
    data_src: Column | None = None  # Q
    transaction: Column | None = None  # Q
    phys_addr: Column | None = None  # Q
    cgroup: Column | None = None  # Q
    data_page_size: Column | None = None  # Q
    code_page_size: Column | None = None  # Q
    id: Column | None = None  # Q
    stream_id: Column | None = None  # Q
    regs_intr_at: Column | None = None  # H -> u64 abi, then one u64 for each bit of sample_regs_intr

    def __len__(self) -> int:
        return self.count


@dataclass(slots=True, repr=False, eq=False)
class Sideband:
    """Everything but samples that changes what addresses mean, in time order (time, position)."""

    count: int
    kind: Column  # B SidebandKind
    misc: Column  # H
    time: Column  # Q effective time in ns
    position: Column  # Q
    pid: Column  # i, -1 where unknown
    tid: Column  # i
    a: Column  # Q, by kind
    b: Column  # Q
    c: Column  # Q
    d: Column  # I
    name: Column  # I index in Records.names
    identity: Column  # I index in Records.identities

    def __len__(self) -> int:
        return self.count


@dataclass(slots=True, repr=False, eq=False)
class Records:
    """All records of a recording, decoded once."""

    samples: Samples
    sideband: Sideband
    names: list[bytes]
    """Index 0 is the empty name; a name is there once."""
    identities: list[FileIdentity]
    """Index 0 says nothing."""
    counts: dict[str, int]
    """Records by type name, in order of type number."""
    lost: int
    """Lost records and lost samples, summed."""
    sample_order: Column
    """I: sample numbers in time order; samples of the same time stay in stream order."""
    unordered: int = 0
    """Records older than what an earlier round had already promised to be complete."""
    first_time: int = 0
    """ns; of the samples, 0 without times."""
    last_time: int = 0
    events_used: list[int] = field(default_factory=list)
    """Samples of each event, by event number."""
