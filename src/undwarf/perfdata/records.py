"""The decoded recording: columns of samples and of side-band records.

Columns are memoryviews of native numbers, one entry a record. Sources: ``include/uapi/linux/perf_event.h``
and ``tools/lib/perf/include/perf/event.h``.
"""

from dataclasses import dataclass
from typing import NamedTuple

Column = memoryview  # of native C numbers; the type code is given with each column


class FileIdentity(NamedTuple):
    """The file of a mapping, in addition to its name: a build-id, or a device and inode."""

    build_id: bytes
    major: int
    minor: int
    inode: int
    generation: int


NO_IDENTITY = FileIdentity(b"", 0, 0, 0, 0)


@dataclass(slots=True, repr=False, eq=False)
class Samples:
    """Samples in stream order, one entry each; the type code of every column is in its comment.

    A column of offsets (``..._at``) counts bytes from the record's header to the field's first word; 0 means
    that the sample has no such field. What the word counts was verified to be within the record. Optional
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


class Mmaps(NamedTuple):
    """Columns of the side band in rows of kind MMAP."""

    start: Column  # Q
    length: Column  # Q
    page_offset: Column  # Q
    protection: Column  # I PROT_ bits; without them in the record 4 for code, 3 for data


class Forks(NamedTuple):
    """Columns of the side band in rows of kind FORK or EXIT."""

    parent_pid: Column  # Q
    parent_tid: Column  # Q


class KernelSymbols(NamedTuple):
    """Columns of the side band in rows of kind KSYMBOL."""

    address: Column  # Q
    length: Column  # Q
    kind: Column  # Q, 1 BPF, 2 out of line
    flags: Column  # I, 1 unregister


class Cgroups(NamedTuple):
    """Columns of the side band in rows of kind CGROUP."""

    id: Column  # Q


class DeferredChains(NamedTuple):
    """Columns of the side band in rows of kind DEFERRED."""

    cookie: Column  # Q
    length: Column  # Q addresses, in the record from byte 24 on


@dataclass(slots=True, repr=False, eq=False)
class Sideband:
    """Records other than samples: mappings, threads, names, losses; in order of (time, position)."""

    count: int
    kind: Column  # B SidebandKind
    misc: Column  # H
    time: Column  # Q effective time in ns
    position: Column  # Q
    pid: Column  # i, -1 where unknown
    tid: Column  # i
    first: Column  # Q; what these four are depends on the kind (SidebandKind), see the properties
    second: Column  # Q
    third: Column  # Q
    fourth: Column  # I
    name: Column  # I index in Records.names
    identity: Column  # I index in Records.identities

    def __len__(self) -> int:
        return self.count

    @property
    def mmaps(self) -> Mmaps:
        """The columns as those of MMAP entries."""
        return Mmaps(self.first, self.second, self.third, self.fourth)

    @property
    def forks(self) -> Forks:
        """The columns as those of FORK and EXIT entries."""
        return Forks(self.first, self.second)

    @property
    def ksymbols(self) -> KernelSymbols:
        """The columns as those of KSYMBOL entries."""
        return KernelSymbols(self.first, self.second, self.third, self.fourth)

    @property
    def cgroups(self) -> Cgroups:
        """The columns as those of CGROUP entries."""
        return Cgroups(self.first)

    @property
    def deferred_chains(self) -> DeferredChains:
        """The columns as those of DEFERRED entries."""
        return DeferredChains(self.first, self.second)


@dataclass(slots=True, repr=False, eq=False)
class Records:
    """All records of a recording, decoded once."""

    samples: Samples
    sideband: Sideband
    names: list[bytes]
    """Index 0 is the empty name; a name is there once."""
    identities: list[FileIdentity]
    """Index 0 is the unknown identity."""
    counts: dict[str, int]
    """Records by type name, in order of type number."""
    lost: int
    """Lost records and lost samples, summed."""
    sample_order: Column
    """I: sample numbers in time order; samples of the same time stay in stream order."""
    unordered: int = 0
    """Records older than the time up to which an earlier round was complete."""
    first_time: int = 0
    """ns; of the samples, 0 without times."""
    last_time: int = 0
