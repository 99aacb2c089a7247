"""Opens events on threads and CPUs, with the ring buffers that the kernel writes their records to."""

import errno
import fcntl
import mmap
import os
import resource
import select
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from undwarf.errors import UndwarfError, UsageError
from undwarf.live import perf_event as pe
from undwarf.live.sampling.ring import Relay, Ring
from undwarf.perfdata import EventAttr, SampleField
from undwarf.perfdata.events import TRACEPOINT

LARGEST_RING, SMALLEST_RING = 64 << 20, 64 << 10
LARGEST_DUMP = 65528
"""A record has 65,535 bytes at most; the kernel shortens the dump so that the other fields fit."""
SMALLEST_DUMP = 8 << 10
RING_FILL_S = 1.0
"""Seconds of samples that a ring buffer should hold. If it holds less, dumps may be small for a while."""
SAFE_RING_FILL_S = 0.1
"""If it holds less than these seconds, dumps are smaller at the start, when unwind tables are built; dumps of a fixed
size always. On two CPUs that sampled a compiler, 0.17 seconds (6,000 Hz) lost nothing."""
MIN_RING_FILL_S = 0.01
"""If full dumps leave less than these seconds, they are smaller. Of 3,000 samples at 4,000 Hz on two CPUs none was lost
with buffers of 16 ms, 471 with 4 ms."""
SMALL_DUMP_DIVISOR = 8
DRAIN_SHARE = 0.25
"""Fraction of the time in which a small buffer fills after which it is drained."""
MAX_DRAIN_INTERVAL_S = 0.02
"""Most seconds between two drains of a small buffer."""
_OPTIONAL = (
    (pe.DEFER_CALLCHAIN | pe.DEFER_OUTPUT, 0),
    (pe.BUILD_ID, 0),
    (pe.KSYMBOL | pe.BPF_EVENT, 0),
    (0, pe.FORMAT_LOST),
    (pe.COMM_EXEC, 0),
)
"""(flags, read formats) that older kernels do not know, newest first."""


@dataclass(slots=True)
class Target:
    """What is sampled: ``tids`` (with their later children, if ``inherit``), or whole CPUs if there are none.

    ``on_exec``: events are enabled when the thread executes a program; if ``delayed``, only its side band then, and
    samples on request. ``whom``: for messages. ``cpus``: if not empty, only these; ``filters``: of the tracepoints.
    """

    tids: list[int]
    inherit: bool
    on_exec: bool
    whom: str
    delayed: bool = False
    cpus: Sequence[int] = ()
    filters: Sequence[str] = ()


@dataclass(slots=True)
class Sizes:
    """Bytes of a CPU's kernel ring buffer, of the larger buffer that it is drained into (0: none), of a full stack
    dump, and of a small one for when buffers are nearly full (0: none). ``starts_small``: dumps are small at first."""

    ring: int
    relay: int
    dump: int
    small_dump: int = 0
    starts_small: bool = False


def sizes(rate: int, cpus: int, memory: int, dump: int | None, ring: int | None, changeable: bool = True) -> Sizes:
    """Sizes for ``rate`` samples a second per CPU, on a machine with ``cpus`` CPUs and ``memory`` bytes; ``dump`` and
    ``ring`` are the user's choices. ``changeable``: dumps may change their size while sampling.

    Kernel buffers are locked memory, of which a process without privileges gets little: a few milliseconds of samples.
    Then they are drained into larger buffers as fast as they fill.
    """
    free = pe.may_lock()
    allowed = LARGEST_RING if free else max(SMALLEST_RING, pe.locked_bytes(cpus) - mmap.PAGESIZE)
    relay = 0
    if ring is None:
        wanted = max(1 << 20, min(int(rate * (dump or LARGEST_DUMP) * RING_FILL_S), LARGEST_RING))
        wanted = min(wanted, max(1 << 20, memory // 32 // max(1, cpus)))
        ring = min(wanted, allowed)
        if ring < wanted:
            # The power of two at or above it.
            relay = 1 << (wanted - 1).bit_length()
    size = SMALLEST_RING
    while 2 * size <= ring or (size < ring and 2 * size <= allowed and free):
        size *= 2
    relay_size = relay if relay > size else 0
    if dump is not None:
        return Sizes(size, relay_size, dump // 8 * 8)
    holds = (relay or size) / rate
    safe = _largest_dump(holds / SAFE_RING_FILL_S)
    # How full the kernel's small buffers get before they are drained is not seen.
    full = _largest_dump(holds / MIN_RING_FILL_S) if changeable and not relay_size else safe
    if safe < full:
        return Sizes(size, relay_size, full, safe, starts_small=True)
    may_fill = changeable and not relay_size and holds < full * RING_FILL_S and full > SMALLEST_DUMP
    return Sizes(size, relay_size, full, max(SMALLEST_DUMP, full // SMALL_DUMP_DIVISOR) if may_fill else 0)


def _largest_dump(limit: float) -> int:
    """The largest dump of at most ``limit`` bytes: LARGEST_DUMP, halved until it fits, but not below SMALLEST_DUMP."""
    dump = LARGEST_DUMP
    while dump > SMALLEST_DUMP and dump > limit:
        dump //= 2
    return dump // 8 * 8


def _first(items: list[int], number: int) -> list[int]:
    """The items, the one with this number first."""
    return [items[number], *items[:number], *items[number + 1 :]]


def _drain(relay: Relay, pause: int) -> None:
    """Drain a buffer every ``pause`` ns."""
    pe.request_short_slice()
    relay.run(pause)


class OpenEvents:
    """The descriptors and ring buffers of events on a target. Raises UndwarfError if the kernel refuses an event.

    ``tracking`` is the number of the event with the side band, ``ring`` the bytes of the kernel's buffers, ``relay`` of
    those that they are drained into (0: none), ``watermark`` the bytes in a buffer that wake the poller, at most one
    ``part``-th of it. ``leaders``:
    by event, the number of its group's leader, which comes before it; its own number outside of groups. With
    ``small_dump``, events with larger stack dumps are opened a second time, with dumps of that size (bytes), and
    ``small`` decides which ones are enabled first. For each of the frequencies ``slower`` (Hz) events with a frequency
    are opened once more, and stay disabled. Afterwards ``events`` have the flags that the kernel accepted, and their
    ids, also of the further ones.
    """

    def __init__(
        self,
        events: Sequence[EventAttr],
        tracking: int,
        target: Target,
        ring: int,
        relay: int,
        watermark: int,
        leaders: Sequence[int] = (),
        small_dump: int = 0,
        small: bool = False,
        slower: Sequence[int] = (),
        part: int = 4,
    ) -> None:
        self.events = list(events)
        self.small_dump = small_dump
        self.small = small
        self.rings: list[Ring] = []
        self.poller = select.poll()
        self.ring_bytes = ring
        self.relays: list[Relay] = []
        self._relay_bytes = relay
        self._drainers: list[threading.Thread] = []
        self._watermark = watermark
        self._part = part
        self._target = target
        self._tracking = tracking
        self._descriptors: list[list[int]] = [[] for _ in events]
        self._small: dict[int, int] = {}
        """The descriptor of the event with small dumps for that of the event with full ones."""
        self._slower: list[dict[int, int]] = [{} for _ in slower]
        """By lower frequency: its descriptor for that of the event with the first frequency."""
        self._frequencies = list(slower)
        self._group_of = leaders or range(len(events))
        self._leaders: dict[int, int] = {}
        self._maps: list[mmap.mmap] = []
        self._by_descriptor: dict[int, int] = {}
        with suppress(OSError, ValueError):
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        try:
            self._open()
            if target.filters:
                self._filter()
            self._map()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        cpus = pe.online_cpus()
        opened = False
        grouped: dict[tuple[int, int, int], int] = {}
        for number, wanted in enumerate(self.events):
            event = replace(wanted, flags=wanted.flags | pe.WATERMARK | pe.SAMPLE_ID_ALL)
            if self._target.inherit and self._target.tids:
                event = replace(event, flags=event.flags | pe.INHERIT)
            on_exec = self._target.on_exec and (number == self._tracking or not self._target.delayed)
            leader = self._group_of[number]
            if leader == number:
                # The other events of a group count whenever the leader does.
                event = replace(event, flags=event.flags | pe.DISABLED | (pe.ENABLE_ON_EXEC if on_exec else 0))
            ids = []
            for tid in self._target.tids or [-1]:
                # A process that comes to a CPU may have its mappings from another one.
                for cpu in (number != self._tracking and self._target.cpus) or cpus:
                    group = grouped.get((leader, tid, cpu), -1)
                    if group < 0 and leader != number:
                        continue
                    try:
                        event, descriptor = self._open_both(event, tid, cpu, group)
                    except ProcessLookupError:
                        # The thread has ended meanwhile.
                        break
                    except OSError as error:
                        if error.errno == errno.ENODEV and opened:
                            continue
                        raise pe.refusal(error, wanted, self._target.whom) from error
                    opened = True
                    grouped[number, tid, cpu] = descriptor
                    self._descriptors[number].append(descriptor)
                    for one in self._same_event(descriptor):
                        self._by_descriptor[one] = cpu
                        ids.append(pe.event_id(one))
            plain = event.flags & ~(pe.DISABLED | pe.ENABLE_ON_EXEC) | (pe.DISABLED if leader == number else 0)
            self.events[number] = replace(event, ids=tuple(ids), flags=plain)
        if not opened:
            raise UndwarfError(f"cannot sample {self._target.whom}", "it has ended", "give one that runs")

    def _filter(self) -> None:
        """Set the filters of the tracepoints: one for all, or one each."""
        filters = list(self._target.filters)
        chosen = [number for number, event in enumerate(self.events) if event.type == TRACEPOINT]
        if len(filters) == 1:
            filters *= len(chosen)
        if len(filters) != len(chosen) or not chosen:
            why = f"there are {len(self._target.filters)} for {len(chosen)} tracepoints"
            raise UsageError(
                "the number of filters does not match", why, "give one for all tracepoints, or one for each"
            )
        for number, text in zip(chosen, filters, strict=True):
            for descriptor in self._all_of(number):
                pe.set_filter(descriptor, text)

    def _all_of(self, number: int) -> list[int]:
        """The descriptors of an event, first those with full dumps."""
        descriptors = self._descriptors[number]
        return descriptors + [other for one in descriptors for other in self._same_event(one)[1:]]

    def _same_event(self, descriptor: int) -> list[int]:
        """The descriptor, and those of the same event with small dumps and with lower frequencies."""
        others = [known[descriptor] for known in (self._small, *self._slower) if descriptor in known]
        return [descriptor, *others]

    def _open_both(self, event: EventAttr, tid: int, cpu: int, group: int) -> tuple[EventAttr, int]:
        """As :meth:`_open_on`; also opens the event with small dumps and with lower frequencies, if it is to have such.
        Raises OSError."""
        if not 0 < self.small_dump < event.sample_stack_user:
            opened, descriptor = self._open_on(event, tid, cpu, group)
            for frequency, known in zip(self._frequencies if event.freq else (), self._slower, strict=False):
                slow = replace(opened, sample_period=frequency, flags=opened.flags & ~pe.ENABLE_ON_EXEC)
                _slow, known[descriptor] = self._open_on(slow, tid, cpu, -1)
            return opened, descriptor
        on_exec = event.flags & pe.ENABLE_ON_EXEC
        disabled = replace(event, flags=event.flags & ~pe.ENABLE_ON_EXEC)
        full, descriptor = self._open_on(disabled if self.small else event, tid, cpu, group)
        flags = full.flags & ~pe.ENABLE_ON_EXEC | (on_exec if self.small else 0)
        try:
            small = replace(full, flags=flags, sample_stack_user=self.small_dump)
            _small, self._small[descriptor] = self._open_on(small, tid, cpu, -1)
        except OSError:
            os.close(descriptor)
            raise
        return replace(full, flags=full.flags | on_exec), descriptor

    def _open_on(self, event: EventAttr, tid: int, cpu: int, group: int) -> tuple[EventAttr, int]:
        """(the event with the flags that the kernel accepted, its descriptor)."""
        tries = [event]
        for flags, read_format in _OPTIONAL:
            last = tries[-1]
            tries.append(replace(last, flags=last.flags & ~flags, read_format=last.read_format & ~read_format))
        for attempt in tries:
            try:
                watermark = min(self._watermark, self.ring_bytes // self._part)
                return attempt, pe.open_event(attempt, tid, cpu, watermark=watermark, group=group)
            except OSError as error:
                if error.errno != errno.EINVAL or attempt is tries[-1]:
                    raise
        raise AssertionError("never reached")

    def _map(self) -> None:
        """Map one ring buffer for each CPU, which all its events write to."""
        sample_type = self.events[0].sample_type
        with_id = 8 if sample_type & SampleField.IDENTIFIER else 0
        # All events have the same fields before the time (undwarf.live.sampling.sampler).
        in_sample, from_end = 8 + with_id + 16, 8 + 8 + with_id
        # The tracking event owns the buffer: it lives as long as any other, and has no samples to lose.
        order = [self._tracking, *(number for number in range(len(self.events)) if number != self._tracking)]
        for number in order:
            for descriptor in self._all_of(number):
                cpu = self._by_descriptor[descriptor]
                leader = self._leaders.get(cpu)
                if leader is not None:
                    fcntl.ioctl(descriptor, pe.SET_OUTPUT, leader)
                    continue
                self._leaders[cpu] = descriptor
                mapped = self._mapping(descriptor)
                self._maps.append(mapped)
                if not self._relay_bytes:
                    self.rings.append(Ring(mapped, in_sample, from_end))
                    self.poller.register(descriptor, select.POLLIN)
                    continue
                large = mmap.mmap(-1, 4096 + self._relay_bytes)
                self._maps.append(large)
                self.relays.append(Relay(mapped, large))
                self.rings.append(Ring(large, in_sample, from_end))

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
                why = "the kernel does not allow as much locked memory for ring buffers"
                hint = "raise kernel.perf_event_mlock_kb, or give a smaller --buffer"
                raise UndwarfError("cannot map a ring buffer", why, hint) from error

    def start_draining(self, rate: int) -> None:
        """Drain small buffers, each in a thread; ``rate``: bytes a second with which one fills at most."""
        pause = min(MAX_DRAIN_INTERVAL_S, max(0.0005, DRAIN_SHARE * self.ring_bytes / max(1, rate)))
        for relay in self.relays:
            drainer = threading.Thread(target=_drain, args=(relay, int(pause * 1e9)), name="undwarf-ring", daemon=True)
            drainer.start()
            self._drainers.append(drainer)

    def drained_until(self) -> int:
        """The time (ns) up to which ``rings`` have all records."""
        return min((relay.seen for relay in self.relays), default=(1 << 64) - 1)

    def stop_draining(self) -> None:
        """Stop the threads, and drain what is left."""
        for relay in self.relays:
            relay.stop()
        for drainer in self._drainers:
            drainer.join()
        self._drainers = []
        for relay in self.relays:
            relay.move()

    def enable(self, *numbers: int) -> None:
        """Enable these events."""
        for number in numbers:
            for descriptor in self._descriptors[number]:
                fcntl.ioctl(self._small.get(descriptor, descriptor) if self.small else descriptor, pe.ENABLE, 0)

    def change_dumps(self, small: bool) -> None:
        """Enable the events with small dumps, or those with full ones, and disable the other ones."""
        self.small = small
        for pair in self._small.items():
            # The thread may have ended.
            with suppress(OSError):
                fcntl.ioctl(pair[not small], pe.DISABLE, 0)
                fcntl.ioctl(pair[small], pe.ENABLE, 0)

    def change_frequency(self, step: int) -> None:
        """Sample with the first frequency (``step`` 0), or with one of the lower ones (1 and higher)."""
        for descriptor in self._slower[0] if self._slower else ():
            chosen, *others = _first(self._same_event(descriptor), step)
            for one in others:
                with suppress(OSError):
                    fcntl.ioctl(one, pe.DISABLE, 0)
            fcntl.ioctl(chosen, pe.ENABLE, 0)

    def disable(self) -> None:
        """Disable all events."""
        for number in range(len(self.events)):
            for descriptor in self._all_of(number):
                with suppress(OSError):
                    fcntl.ioctl(descriptor, pe.DISABLE, 0)

    def unpoll(self, descriptor: int) -> None:
        """Stop polling a buffer whose threads have all ended; it is still read."""
        with suppress(KeyError):
            self.poller.unregister(descriptor)

    def lost(self) -> int:
        """Samples that did not fit into full buffers, as counted by the kernel; 0 if it does not count them."""
        total = 0
        for number, event in enumerate(self.events):
            if event.read_format & pe.FORMAT_LOST:
                for descriptor in self._all_of(number):
                    with suppress(OSError):
                        total += pe.lost_samples(descriptor)
        return total

    def close(self) -> None:
        """Release descriptors and buffers."""
        self.stop_draining()
        for relay in self.relays:
            relay.close()
        for ring in self.rings:
            ring.close()
        self.relays, self.rings = [], []
        for mapped in self._maps:
            with suppress(BufferError):
                mapped.close()
        self._maps = []
        for descriptor in self._by_descriptor:
            with suppress(OSError):
                os.close(descriptor)
        self._by_descriptor.clear()
        self._small.clear()
        for known in self._slower:
            known.clear()
        for descriptors in self._descriptors:
            descriptors.clear()
