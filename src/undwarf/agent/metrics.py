"""What an agent counts, as OpenMetrics text (https://prometheus.io/docs/specs/om/open_metrics_spec/)."""

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


@dataclass(slots=True)
class Metrics:
    """Counts since the start. ``lost`` samples and records found no space in the kernel's buffers, ``unwritten`` ones
    none on the disk. Minutes are ``written`` when they are whole on disk, ``shipped`` when the store has them, and
    ``dropped`` if the spool or the disk was full or if they were damaged; ``spooled`` wait to be shipped."""

    samples: int = 0
    lost: int = 0
    written: int = 0
    shipped: int = 0
    shipped_bytes: int = 0
    dropped: int = 0
    truncated: int = 0
    unwritten: int = 0
    failures: int = 0
    otlp_sent: int = 0
    otlp_failures: int = 0
    reloads: int = 0
    renewals: int = 0
    spooled: int = 0
    spooled_bytes: int = 0
    backoff_seconds: float = 0.0
    frequency: int = 0
    own_percent: float = 0.0
    cpu_seconds: Callable[[], float] = field(default=time.process_time)

    def text(self) -> str:
        """All of them."""
        counters = (
            ("samples", "Samples taken.", self.samples),
            ("lost", "Samples and records lost to full kernel buffers.", self.lost),
            ("minutes_written", "Recordings completed on disk.", self.written),
            ("minutes_shipped", "Recordings stored.", self.shipped),
            ("minutes_dropped", "Recordings dropped: spool or disk full, or damaged.", self.dropped),
            ("minutes_truncated", "Recordings cut short by a full disk.", self.truncated),
            ("samples_unwritten", "Samples that a full disk had no space for.", self.unwritten),
            ("shipped_bytes", "Bytes stored.", self.shipped_bytes),
            ("store_failures", "Failed attempts to store a recording.", self.failures),
            ("otlp_sent", "Recordings sent to the collector.", self.otlp_sent),
            ("otlp_failures", "Recordings that the collector did not take.", self.otlp_failures),
            ("reloads", "Configurations read again.", self.reloads),
            ("renewals", "Unwinders replaced because they had outgrown their processes.", self.renewals),
            ("cpu_seconds", "Own CPU time.", round(self.cpu_seconds(), 3)),
        )
        gauges = (
            ("minutes_spooled", "Recordings that wait to be stored.", self.spooled),
            ("spooled_bytes", "Bytes of these.", self.spooled_bytes),
            ("backoff_seconds", "Time until the store is tried again.", round(self.backoff_seconds, 3)),
            ("frequency_hertz", "Samples per second and CPU.", self.frequency),
            ("cpu_percent", "Own CPU time over the last minutes, in percent of one CPU.", round(self.own_percent, 3)),
            ("resident_bytes", "Resident memory.", resident_bytes()),
        )
        lines = []
        for name, help_, value in counters:
            lines += [
                f"# TYPE undwarf_{name} counter",
                f"# HELP undwarf_{name} {help_}",
                f"undwarf_{name}_total {value}",
            ]
        for name, help_, value in gauges:
            lines += [f"# TYPE undwarf_{name} gauge", f"# HELP undwarf_{name} {help_}", f"undwarf_{name} {value}"]
        return "\n".join([*lines, "# EOF", ""])


def resident_bytes() -> int:
    """Resident memory of this process."""
    return resident()[0]


def resident() -> tuple[int, int]:
    """Bytes of resident memory of this process, and how many of these are pages of files."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            _size, all_, files, *_more = map(int, file.read().split())
    except (OSError, ValueError):
        return 0, 0
    return all_ * resource.getpagesize(), files * resource.getpagesize()
