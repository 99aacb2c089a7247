"""The agent: records minutes until it is stopped, ships them, watches its own cost, rereads its configuration."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from undwarf.agent.budget import Budget
from undwarf.agent.cgroups import recorded_by_kernel
from undwarf.agent.clock import Clock
from undwarf.agent.contents import Contents
from undwarf.agent.labels import of_host
from undwarf.agent.metrics import Metrics
from undwarf.agent.minutes import Minutes, description
from undwarf.agent.otlp import Otlp
from undwarf.agent.process_memory import give_memory_back
from undwarf.agent.settings import AgentSettings
from undwarf.agent.shipper import Shipper
from undwarf.agent.spool import Spool
from undwarf.agent.store import Store, open_store
from undwarf.errors import UndwarfError
from undwarf.live import perf_event as pe
from undwarf.live.sampling.sampler import Sampler

LAST_SHIPPING_S = 5.0
"""Seconds that shipping may take when the agent ends: service managers kill it after a while."""
COST_INTERVAL_S = 10.0
"""Seconds between two looks at the own cost."""


def own_cpu_seconds() -> float:
    """CPU time of this process and of those that it started and that have ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def check(settings: AgentSettings) -> list[str]:
    """Try what an agent with these settings needs; what was found. Raises UndwarfError for what does not work."""
    found = []
    cgroups = recorded_by_kernel()
    sampler = Sampler(settings.recording(cgroups))
    try:
        events = ", ".join(event.name for event in sampler.events if event.name != "dummy:u")
        found.append(f"samples {events} at {settings.frequency} Hz on {len(pe.online_cpus())} CPUs")
        found += sampler.summary.notes
    finally:
        sampler.close()
    if not cgroups:
        found.append("this kernel has no control groups of samples: they are read by process")
    try:
        os.listdir("/proc/1/root")
    except OSError:
        found.append("files and mappings of other users are not readable: run it with CAP_SYS_PTRACE")
    try:
        Spool(settings.spool, settings.spool_bytes).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise UndwarfError(f"cannot write to the spool {settings.spool}", why, "choose another folder") from error
    found.append(f"spools to {settings.spool}, at most {settings.spool_bytes >> 20} MiB")
    try:
        open_store(settings.store).check()
    except OSError as error:
        why = error.strerror or str(error)
        raise UndwarfError(f"cannot use the store {settings.store}", why, "see whether it is there") from error
    found.append(f"ships to {settings.store}")
    return found


class Agent:
    """Runs with ``settings`` until a signal ends it: SIGTERM and SIGINT stop it, SIGHUP makes it read them again with
    ``reread``, which raises UndwarfError if it cannot. ``say`` writes a line of the log."""

    def __init__(
        self,
        settings: AgentSettings,
        reread: Callable[[], AgentSettings],
        version: str,
        say: Callable[[str], None],
        clock: Clock | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = Metrics(cpu_seconds=own_cpu_seconds)
        self._reread = reread
        self._version = version
        self._say = say
        self._clock = clock or Clock()
        self._hup = False
        self._restart = False
        self._reported_notes: set[str] = set()

    def run(self) -> None:
        """Record and ship. Raises UndwarfError if that cannot begin."""
        give_memory_back()
        try:
            spool = Spool(self.settings.spool, self.settings.spool_bytes)
        except OSError as error:
            why = error.strerror or str(error)
            raise UndwarfError(f"cannot use the spool {self.settings.spool}", why, "choose another folder") from error
        shipper = Shipper(spool, self._store, self.metrics, self._clock, self._say, self._otlp())
        server = None
        try:
            self._recover(spool)
            if self.settings.metrics:
                from undwarf.agent.metrics_server import MetricsServer

                server = MetricsServer(self.settings.metrics, self.metrics.text)
                self._say(f"metrics are at http://{self.settings.metrics}/metrics")
            shipper.start()
            with self._on_hangup():
                while True:
                    self._restart = False
                    self._record(spool, shipper)
                    if not self._restart:
                        break
        finally:
            shipper.stop(LAST_SHIPPING_S)
            if server is not None:
                server.close()
            spool.close()
        self._say(
            f"ended: {self.metrics.written} recordings written, {self.metrics.shipped} shipped, "
            f"{len(spool)} in the spool"
        )

    def _store(self) -> Store:
        return open_store(self.settings.store)

    def _otlp(self) -> Otlp | None:
        settings = self.settings
        return Otlp(settings.otlp, settings.otlp_headers, self.metrics, self._say) if settings.otlp else None

    def _labels(self) -> dict[str, str]:
        return of_host(self.settings.labels)

    def _recover(self, spool: Spool) -> None:
        """Keep what an agent recorded until it was killed."""
        for path in spool.unfinished():
            try:
                start = time.mktime(time.strptime(path.stem.partition("-")[0], "%Y%m%dT%H%M%SZ")) - time.timezone
                about = description(start, path.stat().st_mtime, self._labels(), {"samples": None, "truncated": True})
                if spool.recover(path, about):
                    self.metrics.written += 1
                    self._say(f"kept the recording of {path.stem}, whose agent was killed")
            except (OSError, ValueError) as error:
                self._say(f"cannot keep {path.name}: {error}")
        self.metrics.dropped += spool.trim()

    def _record(self, spool: Spool, shipper: Shipper) -> None:
        settings = self.settings
        sampler = Sampler(settings.recording(recorded_by_kernel()))
        frequencies = [settings.frequency, *sampler.settings.slower]
        budget = Budget(settings.budget_percent, len(frequencies))
        self.metrics.frequency = settings.frequency
        try:
            contents = Contents(sampler.encoder(), settings.pods, spool.folder)
            minutes = Minutes(
                sampler,
                spool,
                contents,
                self.metrics,
                self._clock,
                self._version,
                seconds=settings.seconds,
                labels=self._labels,
                say=self._say,
                finished=shipper.wake,
            )
            watched = self._clock.steady()

            def tick() -> None:
                nonlocal watched
                now = self._clock.steady()
                if self._hup:
                    self._hup = False
                    self._reload(spool, shipper, minutes, budget)
                    sampler.stopped = sampler.stopped or self._restart
                if now - watched >= COST_INTERVAL_S:
                    watched = now
                    self._watch_cost(sampler, budget, frequencies, now)

            sampler.tick = tick
            for note in sampler.summary.notes:
                self._note(note)
            hertz = f"{settings.frequency} Hz on {len(pe.online_cpus())} CPUs"
            self._say(f"records at {hertz}, {settings.seconds:g} s a file, to {settings.store}")
            minutes.run()
        finally:
            sampler.close()

    def _note(self, note: str) -> None:
        """Write a note of the recorder, once."""
        if note not in self._reported_notes:
            self._reported_notes.add(note)
            self._say(note)

    def _watch_cost(self, sampler: Sampler, budget: Budget, frequencies: list[int], now: float) -> None:
        before = budget.step
        step = budget.update(now, own_cpu_seconds())
        self.metrics.own_percent = budget.used
        if step != before:
            sampler.open.change_frequency(step)
            self.metrics.frequency = frequencies[step]
            used = f"{self.metrics.own_percent:.2f} % of one CPU, budget {budget.percent:g} %"
            self._say(f"samples at {frequencies[step]} Hz from now on (own cost {used})")

    def _reload(self, spool: Spool, shipper: Shipper, minutes: Minutes, budget: Budget) -> None:
        """Read the configuration again; without a usable one, go on as before."""
        try:
            settings = self._reread()
        except UndwarfError as error:
            self._say(f"the configuration was not read again: {error}")
            return
        if settings.spool != self.settings.spool or settings.metrics != self.settings.metrics:
            self._say("another spool or address of metrics needs a restart; the rest of the configuration is used")
        before, self.settings = self.settings, settings
        self.metrics.reloads += 1
        self._restart = not settings.records_like(before)
        minutes.seconds, budget.percent, spool.most_bytes = (
            settings.seconds,
            settings.budget_percent,
            settings.spool_bytes,
        )
        shipper.use(self._store, self._otlp())
        self._say("read the configuration again" + (", and begins a new recording" if self._restart else ""))

    @contextmanager
    def _on_hangup(self) -> Iterator[None]:
        def note(_number: int, _frame: FrameType | None) -> None:
            self._hup = True

        before = signal.signal(signal.SIGHUP, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGHUP, before)
