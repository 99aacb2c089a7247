"""The sampling loop of `record` and `top`: opens events on processes or CPUs, and reads their records in rounds."""

import mmap
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import chain, product
from types import FrameType
from typing import Any

from undwarf.defects import OWN_DEFECT, Defects
from undwarf.errors import UndwarfError, UsageError
from undwarf.images.container_files import Containers
from undwarf.images.finder import Finder
from undwarf.limits import DEFAULT, Limits
from undwarf.live import perf_event as pe
from undwarf.live import system_snapshot as system
from undwarf.live.running_files import MAX_ROOTS, ROOTS_LAST_S, RunningFiles
from undwarf.live.sampling.dump_size import DumpSize
from undwarf.live.sampling.event_buffers import LARGEST_DUMP, OpenEvents, Sizes, Target, sizes
from undwarf.live.sampling.live_unwinder import MAX_NODES, MAX_SNAPSHOT_MAPPINGS, LiveUnwinder
from undwarf.live.sampling.settings import Settings, Summary
from undwarf.live.sampling.stack_continuation import MAX_KEPT_BYTES
from undwarf.live.sampling.workload import Workload
from undwarf.perfdata import EventAttr, SampleField
from undwarf.perfdata.events import BREAKPOINT, HARDWARE, TRACEPOINT
from undwarf.perfdata.record_writer import RecordEncoder
from undwarf.tables.disk.cache import Store

UNWOUND_ELSEWHERE = ("fp", "dump")
"""Modes in which stacks are not unwound here: the kernel follows frame pointers, or they are dumped as by perf."""
ROUND_S = 0.1
"""Most seconds between two rounds."""
EARLY_ROUND_S = 0.05
"""Seconds of samples in a buffer that start a round earlier: the stacks beyond their dumps should still be in
memory."""
FIRST_ROUND_S, FIRST_ROUNDS_S = 0.01, 0.2
"""Seconds between the first rounds, and for how long: a stack can be continued beyond its dump only from the first
round on in which it was seen."""
MIN_ROUND_SAMPLES = 16
"""Samples of a CPU below which no round starts early: a round costs a millisecond, however few samples it has."""
MIN_RECORD_AGE_NS = 5_000_000
"""Age (ns) from which records are read: older neighbours of a younger one may still be being written."""
DESCRIBE_SLICE_S = 0.02
"""Seconds for which running processes are described between two rounds: buffers fill meanwhile."""
NICENESS = -10
"""Of this process while sampling, if that is allowed."""
PERF_DUMP, SWITCH_DUMP = 8192, 16384
REGISTERS = 0xFF0FFF
"""What perf asks for on x86-64: general registers, ip, flags, cs, ss."""
READ = SampleField.READ
"""Samples of the leader of a group have the counters of the whole group."""
FOREVER = (1 << 64) - 1
_OF_A_THREAD = os.O_EXCL
"""PIDFD_THREAD (``include/uapi/linux/pidfd.h``)."""
_CYCLES = re.compile(r"(cpu-)?cycles")
OFF_CPU = "offcpu-time"
"""perf's name for time spent blocked."""
_FIELDS = SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.CPU | SampleField.PERIOD
_SIDE_BAND = pe.MMAP | pe.MMAP2 | pe.COMM | pe.COMM_EXEC | pe.TASK | pe.KSYMBOL | pe.BPF_EVENT


class Sampler:
    """Events on a target, and the loop that reads their records."""

    def __init__(self, settings: Settings, limits: Limits = DEFAULT) -> None:
        self.settings = settings
        self.summary = Summary()
        self.limits = limits
        self.stopped = False
        self._enabled = not settings.delay
        self.ending = False
        """Whether the current round is the last one."""
        self.leaders: Sequence[int] = ()
        """By event, the number of its group's leader."""
        self.tick: Callable[[], None] = lambda: None
        """Called before each round, several times a second."""
        self.between: Callable[[], None] = lambda: None
        """Called after each round, when the kernel may reuse its buffers."""
        self.walks = settings.mode not in UNWOUND_ELSEWHERE
        self._build_ids: system.FileIds = system.BuildIds() if settings.build_ids else system.NoBuildIds()
        self._kernel_records = system.KernelRecords()
        self._unwinders: list[tuple[LiveUnwinder, Defects]] = []
        self._owned = ExitStack()
        self._owned.callback(lambda: self.release(*(unwinder for unwinder, _defects in self._unwinders)))
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
        # Groups are enabled as a whole, so dumps of their events keep their size.
        grouped = any(kind for _leader, kind in kinds)
        cpus, memory = len(pe.online_cpus()), system.memory_bytes()
        size = sizes(rate, cpus, memory, settings.dump or wanted, settings.buffer, changeable=not grouped)
        dump = size.dump
        if self.walks and settings.dump is None and dump < LARGEST_DUMP:
            buffer = size.relay or size.ring
            self.summary.notes.append(
                f"stack dumps have {dump:,} bytes, as buffers of {buffer >> 10:,} KiB per CPU do not hold "
                f"more at {rate:,} Hz: a lower -F or a larger --buffer lets them be larger"
            )
        early = rate * (2 * settings.interval or EARLY_ROUND_S)
        self.watermark = max(mmap.PAGESIZE, int(max(MIN_ROUND_SAMPLES, early) * (dump + 512)))
        target = self._target()
        # A dummy event tracks what runs already: its side band must be enabled before running processes are described.
        alone = target.on_exec and not target.delayed
        leaders = [leader for leader, _kind in kinds]
        events: list[EventAttr] = []
        for number, (event, (leader, kind)) in enumerate(zip(chosen, kinds, strict=True)):
            event = self._sampling(event, dump)
            if kind == "S" and leader == number:
                event = replace(event, sample_type=event.sample_type | READ)
            elif kind == "S":
                # It is read with each sample of the leader, and has the leader's fields.
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
            # There may be many, and dumps take their full size in the buffer, however short the stack.
            limit = PERF_DUMP if settings.everything else SWITCH_DUMP
            events.append(self._sampling(self._switching(), min(dump, limit)))
        if not alone:
            events.append(replace(pe.software(pe.DUMMY, "dummy:u"), flags=pe.EXCLUDE_KERNEL, sample_period=1))
        tracking = 0 if alone else len(events) - 1
        with_id = SampleField.IDENTIFIER if len(events) > 1 else SampleField(0)
        for number, event in enumerate(events):
            flags = event.flags | pe.USE_CLOCKID
            if number == tracking:
                flags |= _SIDE_BAND
                if settings.build_ids:
                    flags |= pe.BUILD_ID
                if self.walks and settings.data:
                    flags |= pe.MMAP_DATA
                if settings.cgroups:
                    flags |= pe.CGROUP
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
        self.open = self._opened(events, tracking, target, leaders, size)
        self._owned.callback(self.open.close)
        self.summary.ring = self.open.ring_bytes
        self.summary.dump = max(event.sample_stack_user for event in self.open.events)
        self._dump_size = DumpSize(self.open.small) if self.open.small_dump else None
        self._changed_dumps = False
        self.tracking = tracking
        self.events = self.open.events

    def _opened(
        self, events: list[EventAttr], tracking: int, target: Target, leaders: Sequence[int], size: Sizes
    ) -> OpenEvents:
        """The events, opened; without hardware counters cpu-clock replaces cycles, as with perf."""
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
            note = "this kernel cannot read groups (:S) in child processes: only the process itself is recorded"
            groups.append((replace(target, inherit=False), leaders, note))
        elif list(leaders) != list(alone):
            note = "the kernel does not count these events as a group: each is counted by itself"
            groups.append((target, alone, note))
        refused: UndwarfError | None = None
        # There may be too many threads to open their events twice.
        smalls = [size.small_dump, 0] if size.small_dump else [0]
        for (wanted, of_events), (whom, order, of_groups), small in product(events_of, groups, smalls):
            buffers = size.ring, size.relay, self.watermark
            if size.starts_small and not small:
                limit = size.small_dump
                wanted = [replace(one, sample_stack_user=min(one.sample_stack_user, limit)) for one in wanted]
            try:
                opened = OpenEvents(
                    wanted,
                    tracking,
                    whom,
                    *buffers,
                    order,
                    small_dump=small,
                    small=size.starts_small,
                    slower=self.settings.slower,
                    part=2 if self.settings.interval else 4,
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
        """(events, by event its group's leader and kind (:func:`undwarf.live.perf_event.split_groups`))."""
        chosen: list[EventAttr] = []
        kinds: list[tuple[int, str]] = []
        texts = self.settings.events or ("cycles",)
        for events, kind in chain.from_iterable(map(pe.parse_groups, texts)):
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
                f"only user mode is recorded: kernel.perf_event_paranoid is {pe.paranoid()}, without CAP_PERFMON"
            )
        if self.settings.branches and not any(pe.may_have_branches(event) for event in chosen):
            names = ", ".join(event.name for event in chosen)
            raise UsageError(f"no branch stacks with {names}", "only hardware events have them", "-e cycles")
        return chosen, kinds

    def _switching(self) -> EventAttr:
        if not self._kernel:
            why = f"threads are switched out inside the kernel; kernel.perf_event_paranoid is {pe.paranoid()}"
            raise UndwarfError("--off-cpu is not allowed", why, "run as root, or sysctl kernel.perf_event_paranoid=1")
        return replace(pe.software(pe.CONTEXT_SWITCHES, OFF_CPU), sample_period=1)

    def _sampling(self, event: EventAttr, dump: int) -> EventAttr:
        """The event with its rate and with the fields of its samples."""
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
        if settings.cgroups:
            fields |= SampleField.CGROUP
        if not settings.idle:
            flags |= pe.EXCLUDE_IDLE
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
            # From 6.19 on the kernel reads the user chain when it may fault pages in, in a record of its own.
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
                raise UndwarfError(f"cannot sample CPU {cpu}", "it is not online", f"online are {online}")
        return list(self.settings.cpus)

    # -- the loop -------------------------------------------------------------------------------------------------

    def describe(self) -> bytes:
        """Records of the processes that run already, and of the kernel."""
        settings = self.settings
        encoder = self.encoder()
        out = [self._kernel_records.now(encoder)] if self._kernel else []
        if self._kernel and not out[0]:
            self.summary.notes.append(f"the kernel's functions have no names: {system.why_no_kernel()}")
        if settings.everything:
            pids = system.all_processes()
        elif self.workload is not None and settings.own:
            pids = []
            out.append(encoder.comm(b"undwarf-exec", self.workload.pid, self.workload.pid))
        else:
            # The thread's own number if it has ended.
            processes = (int(system.status_of(tid).get("Tgid", tid)) for tid in settings.tids)
            pids = sorted({*settings.pids, *processes})
        out.append(self._described(encoder, pids))
        return b"".join(out)

    def describe_now(self) -> bytes:
        """As :meth:`describe`, while sampling."""
        encoder = self.encoder()
        return self.describe_kernel() + self._described(encoder, system.all_processes())

    def _described(self, encoder: RecordEncoder, pids: Iterable[int], moment: int = 0) -> bytes:
        return system.describe_processes(encoder, pids, self._build_ids, moment, data=self.settings.data)

    def describe_kernel(self) -> bytes:
        """Records of the kernel and its modules, as they are now."""
        return self._kernel_records.now(self.encoder()) if self._kernel else b""

    def encoder(self) -> RecordEncoder:
        """Encodes records of the side band."""
        return RecordEncoder(replace(self.events[self.tracking], ids=self.events[self.tracking].ids[:1]))

    def describe_again(self, known: Iterable[int]) -> Iterator[bytes]:
        """Records of what runs now, after side-band records were lost, in pieces for the time between two rounds.

        ``known``: the process ids to describe, unless whole CPUs are sampled.
        """
        encoder = self.encoder()
        pids = system.all_processes() if self.settings.everything else sorted(pid for pid in known if pid > 0)
        began, piece = time.monotonic(), []
        for pid in pids:
            piece.append(self._described(encoder, [pid], time.monotonic_ns()))
            if time.monotonic() - began > DESCRIBE_SLICE_S:
                yield b"".join(piece)
                began, piece = time.monotonic(), []
        yield b"".join(piece)

    def run(self, begin: Callable[[bytes], None], take: Callable[[list[memoryview]], None]) -> None:
        """Sample until the target ends, a signal comes or ``stopped`` is set.

        ``begin`` gets the records of the processes that run already, ``take`` those of each round.
        """
        watched = self._watch_target()
        for descriptor in watched if self.workload is None else {*watched, self.workload.watch}:
            self.open.poller.register(descriptor)
        stopping = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
            # When the terminal closes, the recording is finished.
            stopping.append(signal.SIGHUP)
        if threading.current_thread() is not threading.main_thread():
            # Signals are the business of the thread that the program's user talks to.
            stopping.clear()
        before = {number: signal.signal(number, self._stop) for number in stopping}
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        # Buffers fill while other processes compute. The sampled processes keep their priority.
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, min(niceness, NICENESS))
        try:
            if not self.settings.own:
                # Changes are recorded before the present state is read: a change in between comes twice.
                self.open.enable(self.tracking)
            begin(self.describe())
            if not self.settings.delay and not self.settings.own:
                self._enable()
            if self.workload is not None:
                self.workload.start()
            self.open.start_draining(self._rate * (self.summary.dump + 512))
            self._loop(watched, take)
        finally:
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, 0, niceness)
            for number, handler in before.items():
                # KeyboardInterrupt from now on, so that the recording is finished.
                interrupts = number == signal.SIGINT and handler == signal.SIG_DFL
                signal.signal(number, signal.default_int_handler if interrupts else handler)
        if self.workload is not None:
            self.summary.status = self.workload.finish()
        if self._dump_size is not None:
            self._dump_size.finish(time.monotonic())
        if self._dump_size is not None and self._dump_size.seconds:
            self.summary.notes.append(
                f"stack dumps had {self.open.small_dump:,} instead of {self.summary.dump:,} bytes for "
                f"{self._dump_size.seconds:.1f} s, so that the ring buffers did not overflow: a lower -F or a larger "
                "--buffer avoids that"
            )

    def _enable(self) -> None:
        """Enable the events that sample."""
        self._enabled = True
        self.open.enable(*(number for number in range(len(self.events)) if number != self.tracking))

    def _loop(self, watched: set[int], take: Callable[[list[memoryview]], None]) -> None:
        end = time.monotonic() + self.settings.seconds if self.settings.seconds is not None else None
        last = False
        delayed = time.monotonic() + self.settings.delay if self.settings.delay else None
        first_until = time.monotonic() + FIRST_ROUNDS_S
        # Large buffers of our own do not wake the poller.
        pause = ROUND_S if not self.open.relays or self._rate < 1 / EARLY_ROUND_S**2 else EARLY_ROUND_S
        pause = self.settings.interval or pause
        while not last:
            now = time.monotonic()
            if delayed is not None and now >= delayed:
                self._enable()
                delayed, first_until = None, now + FIRST_ROUNDS_S
            longest = min(FIRST_ROUND_S, pause) if now < first_until else pause
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
                self.open.stop_draining()
            until = min(time.monotonic_ns() - MIN_RECORD_AGE_NS, self.open.drained_until())
            self._take(FOREVER if last else until, take)

    def _take(self, until: int, take: Callable[[list[memoryview]], None]) -> None:
        views = []
        for ring in self.open.rings:
            views += ring.take(until)
        if views or until == FOREVER:
            self.summary.rounds += 1
            take(views)
        views.clear()
        if self._dump_size is not None and self._enabled and not self.ending:
            self._change_dumps(self._dump_size)
        for ring in self.open.rings:
            ring.done()
        self.between()

    def _change_dumps(self, size: DumpSize) -> None:
        """Make stack dumps small if a buffer was nearly full in this round, and full again when there is space."""
        changed = size.update(max(ring.filled for ring in self.open.rings), time.monotonic())
        # Once more in the next round: a process that was being forked may have inherited the state from before.
        if changed or self._changed_dumps:
            self.open.change_dumps(size.small)
        self._changed_dumps = changed

    def _watch_target(self) -> set[int]:
        """Descriptors that become readable when the sampled processes and threads end; empty if that is not
        supported."""
        found = set()
        targets = [(pid, 0) for pid in self.settings.pids] + [(tid, _OF_A_THREAD) for tid in self.settings.tids]
        for number, flags in targets:
            try:
                found.add(os.pidfd_open(number, flags))
            except ProcessLookupError:
                # It has ended meanwhile.
                continue
            except OSError:
                # Kernels before 6.9 have no pidfds of threads.
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
        """A new unwinder for this sampler's samples, closed with it."""
        finder = Finder(limits=self.limits)
        order = None if self.settings.mode == "live" else self.settings.mode
        unwinder = LiveUnwinder(
            self.events,
            finder,
            features,
            order=order,
            infer=self.settings.other_dumps,
            switches=self.off_cpu is not None,
            runtime=runtime,
            most_mappings=self.settings.most_mappings or MAX_SNAPSHOT_MAPPINGS,
            most_memory=self.settings.most_memory or MAX_KEPT_BYTES,
            most_nodes=self.settings.most_nodes or MAX_NODES,
            searches_calls=self.settings.searches_calls,
            disk=Store.from_environment(self.limits),
            limits=self.limits,
        )
        finder.containers = Containers(
            lambda: [pid for pid in unwinder.replay.pids() if pid > 0], lasts=ROOTS_LAST_S, most=MAX_ROOTS
        )
        finder.mapped = RunningFiles(finder.containers, self.limits)
        self._unwinders.append((unwinder, finder.defects))
        return unwinder

    def release(self, *unwinders: LiveUnwinder) -> None:
        """Close these unwinders. Undwarf's own defects are reported now; damage in files when the recording is read."""
        for unwinder, defects in self._unwinders:
            if unwinder in unwinders:
                unwinder.close()
                self.summary.notes += [str(defect) for defect in defects if defect.kind == OWN_DEFECT]
        self._unwinders = [pair for pair in self._unwinders if pair[0] not in unwinders]

    def close(self) -> None:
        """Close the events; a command that was never started ends."""
        if self.open is not None:
            self.summary.broken_rings = sum(bool(ring.broken) for ring in self.open.rings)
            self.summary.lost = max(self.summary.lost, self.open.lost())
        self._owned.close()


def _cycles(event: EventAttr) -> bool:
    """Whether the event counts cycles, on any kind of core."""
    return event.type == HARDWARE and event.config & 0xFFFFFFFF == 0
