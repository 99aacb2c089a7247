"""What an agent does: the values of its configuration file, checked."""

from dataclasses import dataclass, field
from pathlib import Path

from undwarf.live.sampling.event_buffers import LARGEST_RING
from undwarf.live.sampling.settings import Settings

FREQUENCY_HZ = 19
"""Not in step with what happens every tenth or hundredth of a second."""
MINUTE_S = 60.0
ROUND_S = 1.0
"""Seconds between two rounds: a round takes 1 to 2 ms, however few samples it has."""
STACK_BYTES = 32 << 10
BUFFER_BYTES = 2 << 20
"""Least bytes of the buffer of a CPU: 1.6 seconds of full stack dumps until half of it is used at 19 Hz."""
UNWIND = "eh-frame,gopclntab,debug-frame,sframe,fp"
"""All sources of unwind rules but the analysis of code, which needs 20 to 60 MB and seconds for a large program."""
MOST_MAPPINGS = 1 << 16
MOST_MEMORY = 2 << 20
MOST_NODES = 1 << 14
LOWEST_SHARE = 8
"""The lowest frequency that the agent changes to is this part of the configured one."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """``store`` is a folder or an address of fsspec; ``labels`` go with each recording, beside those found."""

    store: str
    spool: Path
    spool_bytes: int = 256 << 20
    labels: dict[str, str] = field(default_factory=dict)
    frequency: int = FREQUENCY_HZ
    event: str = ""
    """As perf names it; empty: cycles, or cpu-clock without hardware counters."""
    seconds: float = MINUTE_S
    """Of a recording."""
    stack_bytes: int = STACK_BYTES
    budget_percent: float = 1.0
    """Of one CPU: own CPU time above which the frequency is lowered."""
    pods: Path = Path("/var/log/pods")
    """The kubelet's folder of logs, whose entries are named NAMESPACE_POD_UID."""
    metrics: str = ""
    """HOST:PORT on loopback; empty: none."""
    otlp: str = ""
    """Address of a collector; empty: none."""
    otlp_headers: dict[str, str] = field(default_factory=dict)

    def recording(self, cgroups: bool) -> Settings:
        """The settings of the recorder; ``cgroups``: whether the kernel has the control groups of samples."""
        interval = min(ROUND_S, self.seconds / 4)
        slower = [self.frequency // part for part in (2, 4, LOWEST_SHARE) if self.frequency // part]
        return Settings(
            everything=True,
            events=(self.event,) if self.event else (),
            frequency=self.frequency,
            mode=UNWIND,
            slower=tuple(dict.fromkeys(slower)),
            dump=self.stack_bytes,
            buffer=self._buffer(interval),
            interval=interval,
            cgroups=cgroups,
            # Others record on the same machine, and must not notice.
            build_ids=False,
            idle=False,
            data=False,
            searches_calls=False,
            most_mappings=MOST_MAPPINGS,
            most_nodes=MOST_NODES,
            most_memory=MOST_MEMORY,
            command_line=["undwarf", "agent"],
        )

    def _buffer(self, interval: float) -> int:
        """Bytes of the buffer of a CPU: a power of two that holds three times the samples between two rounds."""
        wanted = int(3 * interval * self.frequency * (self.stack_bytes + 512))
        return max(BUFFER_BYTES, min(1 << (wanted - 1).bit_length(), LARGEST_RING))

    def records_like(self, other: "AgentSettings") -> bool:
        """Whether a recorder may go on with these settings that was started with ``other``."""
        return self.recording(True) == other.recording(True)
