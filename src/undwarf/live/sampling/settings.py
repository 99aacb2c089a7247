"""Settings of a recording, and the counts reported at its end."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Switch:
    """When to switch to another file: on SIGUSR2, at ``size`` bytes, after ``seconds``; 0 or False: not for that
    reason.

    ``files``: the number of latest files to keep, 0 for all. Without any of the three: one file with the time in its
    name.
    """

    on_signal: bool = False
    size: int = 0
    seconds: float = 0.0
    files: int = 0


@dataclass(slots=True)
class Settings:
    """What to record.

    ``pids`` and ``tids`` are running processes and threads; ``everything``: whole CPUs; without these, ``command``
    is started and recorded. With one of these, ``command`` only determines the duration. ``period``: events per sample,
    in place of ``frequency`` in Hz.
    """

    command: Sequence[str] = ()
    pids: Sequence[int] = ()
    tids: Sequence[int] = ()
    everything: bool = False
    events: Sequence[str] = ()
    frequency: int = 999
    period: int | None = None
    mode: str = "live"
    """``live``, ``fp``, ``dump``, or kinds of unwind information (:mod:`undwarf.tables.sources`)."""
    other_dumps: bool = True
    """Continue stacks deeper than their dump with inferred callers, and mark them."""
    off_cpu: bool = False
    off_cpu_least: int = 0
    """Shortest wait, in ns, that is recorded."""
    inherit: bool = True
    dump: int | None = None
    """Bytes of a stack dump."""
    buffer: int | None = None
    """Bytes of the ring buffer of one CPU."""
    zstd: bool = True
    level: int = 1
    """Of zstd: higher levels cost more time than the space is worth."""
    most_bytes: int = 0
    """Size of the recording at which it ends; 0: unlimited."""
    branches: int = 0
    """``branch_sample_type`` of the events; 0: no branch stacks."""
    fields: int = 0
    """Additional bits of ``sample_type``."""
    only: str = ""
    """``u`` or ``k``: sample only user mode or only the kernel, overriding the events' modifiers."""
    strict: bool = False
    """Fail if the kernel does not allow the rate."""
    cpus: Sequence[int] = ()
    """With ``everything``: only these CPUs."""
    filters: Sequence[str] = ()
    """Filters of the tracepoints: one for all, or one for each."""
    delay: float = 0.0
    """Seconds before sampling begins."""
    seconds: float | None = None
    """Duration after which sampling ends at the latest."""
    interval: float = 0.0
    """Most seconds between two rounds; 0: as is best for stacks that are deeper than their dump."""
    slower: Sequence[int] = ()
    """Lower frequencies (Hz) that sampling may change to."""
    most_mappings: int = 0
    """Mappings in snapshots of address spaces above which these are compacted; 0: as is best for speed."""
    data: bool = True
    """Also keep mappings of data: half of all."""
    build_ids: bool = True
    """Let the kernel add build-ids to mappings. It then also marks mappings in others' recordings as having one, since
    `perf_event_mmap_output` does not restore ``header.misc`` from one event to the next: perf 6.1 crashes on these."""
    searches_calls: bool = True
    """Search code for the calls that may enter a function whose return address a probe has replaced: that takes seconds
    and up to a gigabyte, of all programs and libraries that are loaded."""
    most_nodes: int = 0
    """Nodes of stacks above which all are dropped: they are copied in each round; 0: as is best for speed."""
    most_memory: int = 0
    """Bytes kept of what was read of stacks beyond their dumps; 0: as is best for whole stacks."""
    idle: bool = True
    """Sample CPUs also while they are idle, if the event counts then."""
    cgroups: bool = False
    """Record the control group of each sample, if the kernel can."""
    piped: bool = False
    """Standard output has the recording, or its summary; the command's goes to standard error, as with perf."""
    command_line: list[str] = field(default_factory=list)

    @property
    def own(self) -> bool:
        """Whether the command is recorded."""
        return bool(self.command) and not (self.pids or self.tids or self.everything)


@dataclass(slots=True)
class Summary:
    """Counts of a recording, for messages.

    Of stacks deeper than their dump, ``completed`` were followed to their root in process memory that provably had not
    changed, ``inferred`` in memory that may have changed; ``unproven`` end with their dump. ``forgotten``: waits lost
    because stacks were dropped. ``dropped``: samples that could not be decoded.
    """

    samples: int = 0
    blocked: int = 0
    lost: int = 0
    throttled: int = 0
    exits: int = 0
    completed: int = 0
    inferred: int = 0
    unproven: int = 0
    shortened: int = 0
    dropped: int = 0
    broken_rings: int = 0
    forgotten: int = 0
    rounds: int = 0
    full: bool = False
    """It ended at its maximum size."""
    stops: list[int] = field(default_factory=lambda: [0] * 16)
    notes: list[str] = field(default_factory=list)
    status: int = 0
    """Exit code of the command."""
    ring: int = 0
    dump: int = 0
