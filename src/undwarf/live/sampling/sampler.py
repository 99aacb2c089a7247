"""The sampling loop: opens events on processes or CPUs and processes their samples in rounds, for `record` and
`top`."""

import mmap
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from undwarf.defects import OWN_DEFECT, Defects
from undwarf.errors import UndwarfError, UsageError
from undwarf.images.container_files import Containers
from undwarf.images.finder import Finder
from undwarf.limits import DEFAULT, Limits
from undwarf.live import perf_event as pe
from undwarf.live import system_snapshot as system
from undwarf.live.sampling.event_buffers import LARGEST_DUMP, OpenEvents, Target, sizes
from undwarf.live.sampling.live_unwinder import LiveUnwinder
from undwarf.live.sampling.settings import Settings, Summary
from undwarf.live.sampling.workload import Workload
from undwarf.perfdata import EventAttr, SampleField
from undwarf.perfdata.events import BREAKPOINT, HARDWARE, TRACEPOINT
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.tables.disk.cache import Store

UNWOUND_ELSEWHERE = ("fp", "dump")
"""Modes in which stacks are not unwound here: the kernel follows frame pointers, or they are dumped as perf does."""
ROUND = 0.1
"""Seconds between two rounds at most."""
EARLY_ROUND_S = 0.05
"""Seconds of samples after which a round begins earlier: what lies beyond their dumps should still be there."""
FIRST, FIRST_SECONDS = 0.01, 0.2
"""Seconds between rounds at the begin, and for how long: a stack deeper than its dump is followed from the round on in
which it was first seen."""
MIN_ROUND_SAMPLES = 16
"""Samples of a CPU that are worth a round before its time: each costs a millisecond, however little there is to do."""
MIN_RECORD_AGE_NS = 5_000_000
"""How old, in ns, a record must be: a younger one may have older neighbours that are still being written."""
DESCRIBE_SLICE_S = 0.02
"""Seconds for which they are described between two rounds: meanwhile the buffers fill up."""
PRIORITY = -10
"""Ours while sampling, where that is allowed."""
PERF_DUMP, SWITCH_DUMP = 8192, 16384
REGISTERS = 0xFF0FFF
"""What perf asks for on x86-64: general registers, ip, flags, cs, ss."""
READ = SampleField.READ
"""The counters of a group come with each sample of its first event."""
FOREVER = (1 << 64) - 1
_OF_A_THREAD = os.O_EXCL
"""PIDFD_THREAD (``include/uapi/linux/pidfd.h``)."""
_CYCLES = re.compile(r"(cpu-)?cycles")
OFF_CPU = "offcpu-time"
"""perf's name for time spent blocked."""
_FIELDS = SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.CPU | SampleField.PERIOD
_SIDE_BAND = pe.MMAP | pe.MMAP2 | pe.COMM | pe.COMM_EXEC | pe.TASK | pe.KSYMBOL | pe.BPF_EVENT | pe.BUILD_ID


class Sampler:
    """Events on a target, and the loop that takes what they bring: what ``record`` and ``top`` have in common."""

    def __init__(self, settings: Settings, limits: Limits = DEFAULT) -> None:
        self.settings = settings
        self.summary = Summary()
        self.limits = limits
        self.stopped = False
        self.ending = False
        """The round that is taken is the last one."""
        self.leaders: Sequence[int] = ()
        """By event, the number of the one that leads its group."""
        self.tick: Callable[[], None] = lambda: None
        """Called several times a second while sampling."""
        self.between: Callable[[], None] = lambda: None
        """Called after each round, when the kernel has its buffers back."""
        self.walks = settings.mode not in UNWOUND_ELSEWHERE
        self._build_ids = system.BuildIds()
        self._owned = ExitStack()
        self.workload = Workload(settings.command, settings.piped) if settings.command else None
        if self.workload is not None:
            self._owned.callback(self.workload.close)
        try:
            self._begin()
        except BaseException:
            self._owned.close()
            raise

    # -- events ---------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        settings = self.settings
        self._kernel = pe.may_see_kernel()
        chosen, kinds = self._chosen()
        self._rate = rate = settings.frequency if settings.period is None else 1000
        wanted = None if self.walks else PERF_DUMP
        size = sizes(rate, len(pe.online_cpus()), system.memory_bytes(), settings.dump or wanted, settings.buffer)
        self.ring_bytes, self.relay_bytes, dump = size.ring, size.relay, size.dump
        if self.walks and settings.dump is None and dump < LARGEST_DUMP:
            buffer = self.relay_bytes or self.ring_bytes
            self.summary.notes.append(
                f"stack dumps have {dump:,} bytes, as buffers of {buffer >> 10:,} KiB a CPU do not hold "
                f"more at {rate:,} Hz: a lower -F or a larger --buffer lets them be larger"
            )
        self.watermark = max(mmap.PAGESIZE, int(max(MIN_ROUND_SAMPLES, rate * EARLY_ROUND_S) * (dump + 512)))
        target = self._target()
        # A program that starts now has its side band with its first event; else it must be on before we look around.
        alone = target.on_exec and not target.delayed
        leaders = [leader for leader, _kind in kinds]
        events: list[EventAttr] = []
        for number, (event, (leader, kind)) in enumerate(zip(chosen, kinds, strict=True)):
            event = self._sampling(event, dump)
            if kind == "S" and leader == number:
                event = replace(event, sample_type=event.sample_type | READ)
            elif kind == "S":
                # It is read with each sample of the first one, which has the fields of that.
                event = replace(
                    event,
                    sample_type=events[leader].sample_type,
                    sample_period=0,
                    freq=False,
                    flags=event.flags & ~pe.FREQ,
                )
            events.append(event)
        self.off_cpu: int | None = None
        if settings.off_cpu:
            self.off_cpu = len(events)
            # There may be many; the buffer has to hold what they reserve, not what they use.
            least = PERF_DUMP if settings.everything else SWITCH_DUMP
            events.append(self._sampling(self._switching(), min(dump, least)))
        if not alone:
            events.append(replace(pe.software(pe.DUMMY, "dummy:u"), flags=pe.EXCLUDE_KERNEL, sample_period=1))
        tracking = 0 if alone else len(events) - 1
        with_id = SampleField.IDENTIFIER if len(events) > 1 else SampleField(0)
        for number, event in enumerate(events):
            flags = event.flags | pe.USE_CLOCKID
            if number == tracking:
                flags |= _SIDE_BAND
                if self.walks:
                    flags |= pe.MMAP_DATA
                if settings.mode == "fp":
                    flags |= pe.DEFER_OUTPUT
                if self.off_cpu is not None:
                    flags |= pe.CONTEXT_SWITCH
            events[number] = replace(
                event,
                flags=flags,
                clockid=system.CLOCK_MONOTONIC,
                sample_type=int(event.sample_type | _FIELDS | with_id),
                read_format=(pe.FORMAT_GROUP | pe.FORMAT_ID) if event.sample_type & READ else pe.FORMAT_LOST,
                sample_id_all=True,
            )
        leaders += range(len(leaders), len(events))
        self.open = self._opened(events, tracking, target, leaders)
        self._owned.callback(self.open.close)
        self.summary.ring, self.summary.dump = self.open.ring_bytes, dump if settings.mode != "fp" else 0
        self.tracking = tracking
        self.events = self.open.events

    def _opened(self, events: list[EventAttr], tracking: int, target: Target, leaders: Sequence[int]) -> OpenEvents:
        """The events, opened; without hardware counters, the clock is in place of cycles, as with perf."""
        if self.settings.branches and not pe.has_branches():
            why = "this CPU does not record branches (Intel's LBR, AMD's LbrExtV2), or a virtual machine hides that"
            raise UndwarfError("cannot record branch stacks", why, "leave out -b and -j; call chains do not need them")
        events_of: list[tuple[list[EventAttr], str]] = [(events, "")]
        if any(map(_cycles, events)):
            clock = pe.parse_event("cpu-clock")
            clocks = [
                replace(event, type=clock.type, config=clock.config, name=_CYCLES.sub("cpu-clock", event.name))
                if _cycles(event)
                else event
                for event in events
            ]
            events_of.append((clocks, "no hardware counters here: the event is cpu-clock"))
        alone = range(len(events))
        groups: list[tuple[Target, Sequence[int], str]] = [(target, leaders, "")]
        if any(event.sample_type & READ for event in events):
            note = "this kernel reads no groups (:S) of what a process starts: only the process itself is recorded"
            groups.append((replace(target, inherit=False), leaders, note))
        elif list(leaders) != list(alone):
            note = "the kernel does not count these events as a group: each is counted by itself"
            groups.append((target, alone, note))
        refused: UndwarfError | None = None
        for wanted, of_events in events_of:
            for whom, order, of_groups in groups:
                try:
                    opened = OpenEvents(
                        wanted, tracking, whom, self.ring_bytes, self.relay_bytes, self.watermark, order
                    )
                except UndwarfError as error:
                    refused = refused or error
                    continue
                self.summary.notes += [note for note in (of_events, of_groups) if note]
                self.leaders = order
                return opened
        assert refused is not None
        raise refused

    def _chosen(self) -> tuple[list[EventAttr], list[tuple[int, str]]]:
        """The events, and for each the number of the one that leads its group, with the group's kind
        (:func:`undwarf.live.perf_event.split_groups`)."""
        chosen: list[EventAttr] = []
        kinds: list[tuple[int, str]] = []
        asked = self.settings.events or ("cycles",)
        for events, kind in (one for text in asked for one in pe.parse_groups(text)):
            leader = len(chosen)
            for event in events:
                if self.settings.only:
                    exclude = pe.EXCLUDE_USER if self.settings.only == "k" else pe.EXCLUDE_KERNEL
                    flags = event.flags & ~(pe.EXCLUDE_USER | pe.EXCLUDE_KERNEL) | exclude | pe.EXCLUDE_HV
                    event = replace(event, flags=flags)
                if not self._kernel and not event.flags & (pe.EXCLUDE_USER | pe.EXCLUDE_KERNEL):
                    event = replace(event, flags=event.flags | pe.EXCLUDE_KERNEL, name=f"{event.name}:u")
                kinds.append((leader if kind else len(chosen), kind))
                chosen.append(event)
        if not self._kernel:
            self.summary.notes.append(
                f"user code alone: kernel.perf_event_paranoid is {pe.paranoid()}, without CAP_PERFMON"
            )
        if self.settings.branches and not any(pe.may_have_branches(event) for event in chosen):
            names = ", ".join(event.name for event in chosen)
            raise UsageError(f"no branch stacks with {names}", "only the CPU's own events have them", "-e cycles")
        return chosen, kinds

    def _switching(self) -> EventAttr:
        if not self._kernel:
            why = f"a thread leaves its CPU inside the kernel; kernel.perf_event_paranoid is {pe.paranoid()}"
            raise UndwarfError("--off-cpu is not allowed", why, "run as root, or sysctl kernel.perf_event_paranoid=1")
        return replace(pe.software(pe.CONTEXT_SWITCHES, OFF_CPU), sample_period=1)

    def _sampling(self, event: EventAttr, dump: int) -> EventAttr:
        """The event with what its samples are to hold."""
        settings = self.settings
        flags, period, freq = event.flags, event.sample_period, event.freq
        if not period:
            if settings.period is not None:
                period = settings.period
            else:
                period, freq = min(settings.frequency, pe.largest_rate()), True
                if period < settings.frequency and settings.strict:
                    why = f"kernel.perf_event_max_sample_rate is {period}"
                    raise UndwarfError(f"cannot sample at {settings.frequency} Hz", why, "leave out --strict-freq")
                if period < settings.frequency:
                    self.summary.notes.append(f"sampling at {period} Hz: kernel.perf_event_max_sample_rate")
        elif settings.period is not None and period == 1 and event.name != OFF_CPU:
            period = settings.period
        fields = SampleField.CALLCHAIN
        if event.type == TRACEPOINT:
            fields |= SampleField.RAW
        if event.type == BREAKPOINT or "fault" in event.name:
            fields |= SampleField.ADDR
        if event.name != OFF_CPU:
            fields |= settings.fields
        branches = settings.branches if pe.may_have_branches(event) else 0
        if branches:
            fields |= SampleField.BRANCH_STACK
        if settings.mode == "fp":
            # Where the kernel can (from 6.19 on), it follows the chain when it may fault, in a record of its own.
            flags |= pe.DEFER_CALLCHAIN
        else:
            fields |= SampleField.REGS_USER | SampleField.STACK_USER
            flags |= pe.EXCLUDE_CALLCHAIN_USER
        return replace(
            event,
            flags=flags | (pe.FREQ if freq else 0),
            freq=freq,
            sample_period=period,
            sample_type=int(fields),
            branch_sample_type=branches,
            sample_regs_user=REGISTERS if settings.mode != "fp" else 0,
            sample_stack_user=dump if settings.mode != "fp" else 0,
        )

    def _target(self) -> Target:
        settings = self.settings
        more: dict[str, Any] = {"delayed": settings.delay > 0, "filters": settings.filters}
        if settings.everything:
            return Target([], False, False, "all CPUs", cpus=self._cpus(), **more)
        if settings.pids or settings.tids:
            tids = list(settings.tids)
            for pid in settings.pids:
                found = system.threads_of(pid)
                if not found:
                    raise UndwarfError(f"cannot sample process {pid}", "there is no such process", "see ps -e")
                tids += found
            names = ", ".join(str(number) for number in [*settings.pids, *settings.tids])
            return Target(tids, settings.inherit and not settings.tids, False, f"process {names}", **more)
        assert self.workload is not None
        return Target([self.workload.pid], settings.inherit, True, f"the new process {settings.command[0]}", **more)

    def _cpus(self) -> list[int]:
        online = pe.online_cpus()
        for cpu in self.settings.cpus:
            if cpu not in online:
                raise UndwarfError(f"cannot sample CPU {cpu}", "it does not run", f"these do: {online}")
        return list(self.settings.cpus)

    # -- the loop -------------------------------------------------------------------------------------------------

    def describe(self) -> bytes:
        """Records of what runs already, and of the kernel."""
        settings = self.settings
        encoder = RecordEncoder(replace(self.events[self.tracking], ids=self.events[self.tracking].ids[:1]))
        out = [system.describe_kernel(encoder)] if self._kernel else []
        if self._kernel and not out[0]:
            self.summary.notes.append(f"the kernel's functions have no names: {system.why_no_kernel()}")
        if settings.everything:
            pids = system.all_processes()
        elif self.workload is not None and settings.own:
            pids = []
            out.append(encoder.comm(b"undwarf-exec", self.workload.pid, self.workload.pid))
        else:
            pids = sorted({*settings.pids, *(_process_of(tid) for tid in settings.tids)})
        out.append(system.describe_processes(encoder, pids, self._build_ids))
        return b"".join(out)

    def describe_now(self, unwinder: LiveUnwinder | None) -> bytes:
        """What :meth:`describe` gives, in the middle of it: ``unwinder`` knows processes better than /proc does, since
        some that have samples still to come may have ended."""
        encoder = RecordEncoder(replace(self.events[self.tracking], ids=self.events[self.tracking].ids[:1]))
        kernel = system.describe_kernel(encoder) if self._kernel else b""
        if unwinder is not None:
            return kernel + unwinder.describe(encoder)
        return kernel + system.describe_processes(encoder, system.all_processes(), self._build_ids)

    def describe_again(self, known: Iterable[int]) -> Iterator[bytes]:
        """Records of what runs now, for when some of those that told of changes were lost; ``known``: processes.

        A piece is what there is time for between two rounds.
        """
        encoder = RecordEncoder(replace(self.events[self.tracking], ids=self.events[self.tracking].ids[:1]))
        pids = system.all_processes() if self.settings.everything else sorted(pid for pid in known if pid > 0)
        began, piece = time.monotonic(), []
        for pid in pids:
            piece.append(system.describe_processes(encoder, [pid], self._build_ids, time.monotonic_ns()))
            if time.monotonic() - began > DESCRIBE_SLICE_S:
                yield b"".join(piece)
                began, piece = time.monotonic(), []
        yield b"".join(piece)

    def run(self, begin: Callable[[bytes], None], take: Callable[[list[memoryview]], None]) -> None:
        """Sample until the target ends, a signal comes or ``stopped`` is set.

        ``begin`` gets the records of what runs already, ``take`` those of each round.
        """
        watched = self._watch_target()
        for descriptor in watched if self.workload is None else {*watched, self.workload.watch}:
            self.open.poller.register(descriptor)
        stopping = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            # The terminal is gone: what was recorded is brought to its end all the same.
            stopping.append(signal.SIGHUP)
        before = {number: signal.signal(number, self._stop) for number in stopping}
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        # Buffers fill up while others compute. What is sampled keeps its own priority.
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, min(niceness, PRIORITY))
        try:
            if not self.settings.own:
                # First what tells of changes, then what is: what changes in between is told twice, not never.
                self.open.enable(self.tracking)
            begin(self.describe())
            if not self.settings.delay and not self.settings.own:
                self._enable()
            if self.workload is not None:
                self.workload.start()
            self.open.move(self._rate * (self.summary.dump + 512))
            self._loop(watched, take)
        finally:
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, 0, niceness)
            for number, handler in before.items():
                # From now on there is something to put in order.
                interrupts = number == signal.SIGINT and handler == signal.SIG_DFL
                signal.signal(number, signal.default_int_handler if interrupts else handler)
        if self.workload is not None:
            self.summary.status = self.workload.finish()

    def _enable(self) -> None:
        """Begin to take samples."""
        self.open.enable(*(number for number in range(len(self.events)) if number != self.tracking))

    def _loop(self, watched: set[int], take: Callable[[list[memoryview]], None]) -> None:
        end = time.monotonic() + self.settings.seconds if self.settings.seconds is not None else None
        last = False
        delayed = time.monotonic() + self.settings.delay if self.settings.delay else None
        soon = time.monotonic() + FIRST_SECONDS
        # Nobody wakes us for buffers that are emptied by threads.
        pause = ROUND if not self.open.relays or self._rate < 1 / EARLY_ROUND_S**2 else EARLY_ROUND_S
        while not last:
            now = time.monotonic()
            if delayed is not None and now >= delayed:
                self._enable()
                delayed, soon = None, now + FIRST_SECONDS
            longest = min(FIRST, pause) if now < soon else pause
            wait = max(0.0, min(longest, (end or now + pause) - now, (delayed or now + pause) - now))
            for descriptor, what in self.open.poller.poll(wait * 1000):
                if self.workload is not None and descriptor == self.workload.watch:
                    last = True
                elif descriptor in watched:
                    self.open.poller.unregister(descriptor)
                    watched.discard(descriptor)
                    last = last or not watched
                elif not what & 1:
                    self.open.unpoll(descriptor)
            self.tick()
            last = last or self.stopped or (end is not None and time.monotonic() >= end)
            if last:
                self.ending = True
                self.open.disable()
                self.open.settle()
            self._take(FOREVER if last else min(time.monotonic_ns() - MIN_RECORD_AGE_NS, self.open.settled()), take)

    def _take(self, until: int, take: Callable[[list[memoryview]], None]) -> None:
        views = []
        for ring in self.open.rings:
            views += ring.take(until)
        if views or until == FOREVER:
            self.summary.rounds += 1
            take(views)
        views.clear()
        for ring in self.open.rings:
            ring.done()
        self.between()

    def _watch_target(self) -> set[int]:
        """What becomes readable when the processes and threads that are sampled end; nothing where that is not told."""
        found = set()
        targets = [(pid, 0) for pid in self.settings.pids] + [(tid, _OF_A_THREAD) for tid in self.settings.tids]
        for number, flags in targets:
            try:
                found.add(os.pidfd_open(number, flags))
            except ProcessLookupError:
                # It ended meanwhile.
                continue
            except OSError:
                # Kernels before 6.9 watch no single threads.
                for descriptor in found:
                    os.close(descriptor)
                return set()
        for descriptor in found:
            self._owned.callback(os.close, descriptor)
        self.stopped = self.stopped or (bool(targets) and not found)
        return found

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopped = True

    def unwinder(self, features: Any = None, *, runtime: bool = True) -> LiveUnwinder:
        """What walks this sampler's samples."""
        finder = Finder(limits=self.limits)
        order = None if self.settings.mode == "live" else self.settings.mode
        made = LiveUnwinder(
            self.events,
            finder,
            features,
            order=order,
            infer=self.settings.other_dumps,
            switches=self.off_cpu is not None,
            runtime=runtime,
            disk=Store.from_environment(self.limits),
            limits=self.limits,
        )
        finder.containers = Containers(lambda: [pid for pid in made.replay.pids() if pid > 0])
        self._owned.callback(self._note_own_defects, finder.defects)
        self._owned.callback(made.close)
        return made

    def _note_own_defects(self, defects: Defects) -> None:
        """Damage of programs is for reports to tell; what we could not cope with is told at once."""
        self.summary.notes += [str(defect) for defect in defects if defect.kind == OWN_DEFECT]

    def close(self) -> None:
        """Close events, and end a program that was never let go."""
        if self.open is not None:
            self.summary.broken_rings = sum(bool(ring.broken) for ring in self.open.rings)
            self.summary.lost = max(self.summary.lost, self.open.lost())
        self._owned.close()


def _cycles(event: EventAttr) -> bool:
    """Whether the event counts cycles, of whichever kind of core."""
    return event.type == HARDWARE and event.config & 0xFFFFFFFF == 0


def _process_of(tid: int) -> int:
    """The process of a thread; the thread itself where it is gone."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{tid}/status").read_bytes().split(b"\n"):
            if line.startswith(b"Tgid:"):
                return int(line.split()[1])
    return tid
