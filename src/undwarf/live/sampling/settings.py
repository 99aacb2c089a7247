"""The settings of a recording, and the counts that it ends with."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Switch:
    """When another file begins: on SIGUSR2, at that many bytes, after that many seconds; 0 or False: not for that.

    ``files``: how many are kept, the last ones; 0: all. None of the three: one file, with the time in its name.
    """

    on_signal: bool = False
    size: int = 0
    seconds: float = 0.0
    files: int = 0


@dataclass(slots=True)
class Settings:
    """What to record.

    ``pids`` and ``tids`` are of running processes and threads; with ``everything``, whole CPUs; else what ``command``
    starts. Beside the others, ``command`` only says how long. ``period``: events a sample, in place of ``frequency`` in
    Hz.
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
    """Stacks deeper than their dump are continued with callers that are not proven, and marked."""
    off_cpu: bool = False
    off_cpu_least: int = 0
    """Shortest wait, in ns, that makes a sample."""
    inherit: bool = True
    dump: int | None = None
    """Bytes of a stack dump."""
    buffer: int | None = None
    """Bytes of the ring buffer of one CPU."""
    zstd: bool = True
    level: int = 1
    """Of zstd: higher ones cost more than they save."""
    most_bytes: int = 0
    """Size of the recording after which it ends; 0: none."""
    branches: int = 0
    """``branch_sample_type`` of what is sampled; 0: no branch stacks."""
    fields: int = 0
    """Bits of ``sample_type`` that samples have beside what is always recorded."""
    only: str = ""
    """``u`` or ``k``: only what happens outside or inside of the kernel, whatever an event says."""
    strict: bool = False
    """A rate that the kernel does not allow is an error."""
    cpus: Sequence[int] = ()
    """Only these CPUs, of ``everything``."""
    filters: Sequence[str] = ()
    """Which of a tracepoint's events count: one for all, or one for each."""
    delay: float = 0.0
    """Seconds that pass before samples are taken."""
    seconds: float | None = None
    """When to stop, if nothing else ends before."""
    piped: bool = False
    """The recording goes to standard output: what the command prints there goes to standard error, as with perf."""
    command_line: list[str] = field(default_factory=list)

    @property
    def own(self) -> bool:
        """Whether the command is what is recorded."""
        return bool(self.command) and not (self.pids or self.tids or self.everything)


@dataclass(slots=True)
class Summary:
    """What was recorded, and what could not be.

    ``completed``: stacks deeper than their dump that were followed in the process's own memory; ``inferred``: those
    that were although it may not have been any more what it had been; ``unproven``: those
    where it may not have been any more what it had been, which end with their dump. ``wakeups``: rounds.
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
    """It ended at its largest size."""
    stops: list[int] = field(default_factory=lambda: [0] * 16)
    notes: list[str] = field(default_factory=list)
    status: int = 0
    """Exit code of the command."""
    ring: int = 0
    dump: int = 0
