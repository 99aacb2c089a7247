"""The events of a recording in progress, opened on threads and CPUs, and their ring buffers."""

import errno
import fcntl
import mmap
import os
import resource
import select
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from undwarf.errors import UndwarfError
from undwarf.live import perf_event as pe
from undwarf.live.ring import Ring
from undwarf.perfdata import EventAttr, SampleField

LARGEST_RING, SMALLEST_RING = 64 << 20, 64 << 10
LARGEST_DUMP = 65528
"""A record has 65,535 bytes at most; the kernel cuts the dump so that the rest finds room."""
SMALLEST_DUMP = 8 << 10
"""What lies beyond a dump can mostly be read in the process: rather that than losing samples."""
PATIENCE = 1.0
"""Seconds of samples that a ring buffer should hold."""
_OPTIONAL = (
    (pe.DEFER_CALLCHAIN | pe.DEFER_OUTPUT, 0),
    (pe.BUILD_ID, 0),
    (pe.KSYMBOL | pe.BPF_EVENT, 0),
    (0, pe.FORMAT_LOST),
    (pe.COMM_EXEC, 0),
)
"""Flags and read formats that older kernels refuse, newest first."""


@dataclass(slots=True)
class Target:
    """Whose samples are taken: ``tids`` (with all they start, if ``inherit``), or everything on the CPUs if there are
    none. ``on_exec``: from when the one thread executes a program."""

    tids: list[int]
    inherit: bool
    on_exec: bool
    whom: str


def ring_and_dump(rate: int, cpus: int, memory: int, dump: int | None, ring: int | None) -> tuple[int, int]:
    """Bytes of the ring buffer of a CPU, and of a stack dump, for ``rate`` samples a second."""
    free = pe.may_everything() or pe.paranoid() < 0
    room = LARGEST_RING if free else max(SMALLEST_RING, pe.locked_bytes() - mmap.PAGESIZE)
    if ring is None:
        wanted = int(rate * (dump or LARGEST_DUMP) * PATIENCE)
        ring = max(1 << 20, min(wanted, LARGEST_RING, memory // 32 // max(1, cpus), room))
        ring = min(ring, room)
    size = SMALLEST_RING
    while 2 * size <= ring or (size < ring and 2 * size <= room and free):
        size *= 2
    if dump is None:
        dump = LARGEST_DUMP
        while dump > SMALLEST_DUMP and size < rate * dump * PATIENCE:
            dump //= 2
    return size, dump // 8 * 8


class OpenEvents:
    """The descriptors and ring buffers of events on a target.

    The first of ``events`` that the kernel refuses raises UndwarfError. ``tracking`` is the number of the event that
    also brings the side band, ``watermark`` the bytes in a buffer that wake us. ``events`` afterwards have the flags
    the kernel took, and their ids.
    """

    def __init__(self, events: Sequence[EventAttr], tracking: int, target: Target, ring: int, watermark: int) -> None:
        self.events = list(events)
        self.rings: list[Ring] = []
        self.poller = select.poll()
        self.ring_bytes = ring
        self._watermark = watermark
        self._target = target
        self._tracking = tracking
        self._descriptors: list[list[int]] = [[] for _ in events]
        self._leaders: dict[int, int] = {}
        self._maps: list[mmap.mmap] = []
        self._by_descriptor: dict[int, int] = {}
        with suppress(OSError, ValueError):
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        try:
            self._open()
            self._map()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        cpus = pe.online_cpus()
        opened = False
        for number, wanted in enumerate(self.events):
            event = replace(wanted, flags=wanted.flags | pe.WATERMARK | pe.SAMPLE_ID_ALL)
            if self._target.inherit and self._target.tids:
                event = replace(event, flags=event.flags | pe.INHERIT)
            event = replace(event, flags=event.flags | pe.DISABLED | (pe.ENABLE_ON_EXEC if self._target.on_exec else 0))
            ids = []
            for tid in self._target.tids or [-1]:
                for cpu in cpus:
                    try:
                        event, descriptor = self._one(event, tid, cpu)
                    except ProcessLookupError:
                        # The thread ended meanwhile.
                        break
                    except OSError as error:
                        if error.errno == errno.ENODEV and opened:
                            continue
                        raise pe.refusal(error, wanted, self._target.whom) from error
                    opened = True
                    self._descriptors[number].append(descriptor)
                    self._by_descriptor[descriptor] = cpu
                    ids.append(pe.event_id(descriptor))
            plain = event.flags & ~(pe.DISABLED | pe.ENABLE_ON_EXEC) | pe.DISABLED
            self.events[number] = replace(event, ids=tuple(ids), flags=plain)
        if not opened:
            raise UndwarfError(f"cannot sample {self._target.whom}", "it is gone", "give one that runs")

    def _one(self, event: EventAttr, tid: int, cpu: int) -> tuple[EventAttr, int]:
        """A descriptor, and the event as the kernel took it."""
        tries = [event]
        for flags, read_format in _OPTIONAL:
            last = tries[-1]
            tries.append(replace(last, flags=last.flags & ~flags, read_format=last.read_format & ~read_format))
        for attempt in tries:
            try:
                return attempt, pe.open_event(attempt, tid, cpu, watermark=min(self._watermark, self.ring_bytes // 4))
            except OSError as error:
                if error.errno != errno.EINVAL or attempt is tries[-1]:
                    raise
        raise AssertionError("never reached")

    def _map(self) -> None:
        """Map one ring buffer for each CPU, and have all its events write there."""
        sample_type = self.events[0].sample_type
        with_id = 8 if sample_type & SampleField.IDENTIFIER else 0
        # All events agree on what comes before the time and after it (undwarf.live.record).
        in_sample, from_end = 8 + with_id + 16, 8 + 8 + with_id
        # The tracking event first: it lives as long as any other, and has no samples that a full buffer could lose.
        order = [self._tracking, *(number for number in range(len(self.events)) if number != self._tracking)]
        for number in order:
            for descriptor in self._descriptors[number]:
                cpu = self._by_descriptor[descriptor]
                leader = self._leaders.get(cpu)
                if leader is not None:
                    fcntl.ioctl(descriptor, pe.SET_OUTPUT, leader)
                    continue
                self._leaders[cpu] = descriptor
                mapped = self._mapping(descriptor)
                self._maps.append(mapped)
                self.rings.append(Ring(mapped, in_sample, from_end))
                self.poller.register(descriptor, select.POLLIN)

    def _mapping(self, descriptor: int) -> mmap.mmap:
        while True:
            try:
                return mmap.mmap(
                    descriptor,
                    mmap.PAGESIZE + self.ring_bytes,
                    flags=mmap.MAP_SHARED,
                    prot=mmap.PROT_READ | mmap.PROT_WRITE,
                )
            except (OSError, ValueError) as error:
                number = getattr(error, "errno", 0)
                if number in (errno.EPERM, errno.ENOMEM) and self.ring_bytes > SMALLEST_RING:
                    self.ring_bytes //= 2
                    continue
                why = "the kernel gives no more locked memory to ring buffers"
                hint = "raise kernel.perf_event_mlock_kb, or give a smaller --buffer"
                raise UndwarfError("cannot map a ring buffer", why, hint) from error

    def enable(self, *numbers: int) -> None:
        """Begin."""
        for number in numbers:
            for descriptor in self._descriptors[number]:
                fcntl.ioctl(descriptor, pe.ENABLE, 0)

    def disable(self) -> None:
        """End."""
        for descriptors in self._descriptors:
            for descriptor in descriptors:
                with suppress(OSError):
                    fcntl.ioctl(descriptor, pe.DISABLE, 0)

    def unpoll(self, descriptor: int) -> None:
        """Wait no more for a buffer whose threads all ended; what it holds is read all the same."""
        with suppress(KeyError):
            self.poller.unregister(descriptor)

    def lost(self) -> int:
        """Samples that found no room, as the kernel counts them; 0 where it does not."""
        total = 0
        for event, descriptors in zip(self.events, self._descriptors, strict=True):
            if event.read_format & pe.FORMAT_LOST:
                for descriptor in descriptors:
                    with suppress(OSError):
                        total += pe.lost_samples(descriptor)
        return total

    def close(self) -> None:
        """Give everything back."""
        for ring in self.rings:
            ring.close()
        self.rings = []
        for mapped in self._maps:
            with suppress(BufferError):
                mapped.close()
        self._maps = []
        for descriptors in self._descriptors:
            for descriptor in descriptors:
                with suppress(OSError):
                    os.close(descriptor)
            descriptors.clear()
