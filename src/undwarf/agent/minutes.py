"""Records in files of a minute each, through one recorder: no sample is lost between two of them."""

import datetime
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from undwarf.agent.clock import Clock
from undwarf.agent.contents import Contents
from undwarf.agent.metrics import Metrics, resident, resident_bytes
from undwarf.agent.process_memory import trim_heap
from undwarf.agent.spool import Spool
from undwarf.live.record.run import Recorder
from undwarf.live.sampling.sampler import Sampler
from undwarf.mapped_files import release_pages

MOST_FILE_BYTES = 22 << 20
"""Resident pages of files above which those of mapped files are released: the agent's own program has 16 MB. They are
read again, so that this costs time."""
CALM_BYTES = 56 << 20
"""Resident memory up to which tables of images without frames are kept."""
SHORT_BYTES = 64 << 20
"""Resident memory above which the unwinder is replaced."""
MOST_BYTES = 72 << 20
"""Resident memory above which a recording ends early, so that less can be kept at once."""
EARLIEST_S = 10.0
"""Seconds after its start at which a recording may end early."""
RENEWAL_S = 60.0
"""Least seconds between two renewals because of that."""


def stamp(seconds: float) -> str:
    """A time in UTC as in names: 20261128T205200Z."""
    return f"{_utc(seconds):%Y%m%dT%H%M%SZ}"


def iso(seconds: float) -> str:
    """A time in UTC as in descriptions: 2026-11-28T20:52:00.125Z."""
    return f"{_utc(seconds):%Y-%m-%dT%H:%M:%S.}{int(seconds % 1 * 1000):03}Z"


def _utc(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def description(start: float, end: float, labels: dict[str, str], found: dict[str, Any]) -> dict[str, Any]:
    """What stands beside a recording, but for its name, size and digest."""
    return {"version": 1, "start": iso(start), "end": iso(end), "labels": labels, **found}


class Sink:
    """The file of a recording. After a write that fails, such as on a full disk, it has all up to the last flush, which
    is whole records, and what comes later is counted and left out."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.left_out = 0
        self.failure: OSError | None = None
        self.flushed = 0
        """Bytes up to the last flush."""
        self._written = 0

    def write(self, data: "bytes | bytearray | memoryview") -> int:
        """Write all of it, or nothing."""
        view = memoryview(data)
        try:
            while self.failure is None and len(view):
                view = view[self.file.write(view) or 0 :]
        except OSError as error:
            # Its traceback would keep this file and its compressor in a cycle.
            self.failure = error.with_traceback(None)
            self.left_out += self._written - self.flushed
            with suppress(OSError):
                os.ftruncate(self.file.fileno(), self.flushed)
                self.file.seek(self.flushed)
        if self.failure is None:
            self._written += len(data)
        else:
            self.left_out += len(data)
        return len(data)

    def flush(self) -> None:
        """What was written are whole records; the file itself is not buffered."""
        self.flushed = self._written


class _Nowhere:
    """Stands for a file that could not be created."""

    def __init__(self, failure: OSError) -> None:
        self.failure = failure

    def write(self, _data: Any) -> int:
        raise self.failure


class Minutes:
    """The recordings of a :class:`Sampler`, each finished in ``spool`` after ``seconds``.

    The length is measured by the steady clock, so that a wall clock that is set makes no minute longer or shorter.
    """

    def __init__(
        self,
        sampler: Sampler,
        spool: Spool,
        contents: Contents,
        metrics: Metrics,
        clock: Clock,
        version: str,
        *,
        seconds: float,
        labels: Callable[[], dict[str, str]],
        say: Callable[[str], None],
        finished: Callable[[], None],
    ) -> None:
        self.seconds = seconds
        self._sampler = sampler
        self._spool = spool
        self._contents = contents
        self._metrics = metrics
        self._clock = clock
        self._labels = labels
        self._say = say
        self._finished = finished
        self._renewed = clock.steady()
        self._used_before: set[int] = set()
        self._lost = 0
        self._taken = 0
        self._full = False
        # Bringing files to a busy disk may take longer than the ring buffers hold.
        self._workers = ThreadPoolExecutor(1, "undwarf-spool")
        self._start, self._begun = clock.wall(), clock.steady()
        self._sink = self._open()
        self.recorder = Recorder(sampler, lambda: self._sink, version)  # type: ignore[arg-type,return-value]  # a file
        self.recorder.forewords.append(contents.cgroups.before)
        self.recorder.see_round = contents.see
        self.recorder.images = contents.images
        self.recorder.after_round = self._after_round

    def run(self) -> None:
        """Record until sampling ends; then the last recording is finished too."""
        with self._workers:
            self.recorder.run()
            self._finish(self._clock.steady())

    def _open(self) -> Sink:
        self._contents.restart()
        try:
            return Sink(self._spool.begin(f"{stamp(self._start)}-{self._spool.number():08}"))
        except OSError as error:
            sink = Sink(_Nowhere(error.with_traceback(None)))  # type: ignore[arg-type]  # it has what is used of a file
            sink.failure = error.with_traceback(None)
            return sink

    def _after_round(self) -> None:
        self._metrics.samples += self._contents.samples - self._taken
        self._taken = self._contents.samples
        now, (size, files) = self._clock.steady(), resident()
        if files > MOST_FILE_BYTES:
            # Tables are read from mapped files of hundreds of megabytes.
            release_pages()
        elapsed = now - self._begun
        # Memory that grows fast does not wait for the end of a minute.
        early = size > MOST_BYTES and now - self._renewed > RENEWAL_S and elapsed > EARLIEST_S
        if not self._sampler.ending and (elapsed >= self.seconds or early):
            wall = self._clock.wall()
            self.recorder.end_file()
            self._finish(now)
            # What is sampled meanwhile is in the next one.
            self._start, self._begun = wall, now
            self._forget()
            trim_heap()
            self._sink = self._open()
            self.recorder.begin_file(self._sink)  # type: ignore[arg-type]  # it has what is used of a file

    def _forget(self) -> None:
        """Forget what is probably not needed soon: the tables of images without frames in the last two recordings. Go
        on with a new unwinder if the present one keeps much of processes and files that are gone, or if memory is
        still short, but for that reason not often: tables of programs that still run are loaded again."""
        now, used = self._clock.steady(), self._contents.images()
        if resident_bytes() > CALM_BYTES:
            self.recorder.forget_images(used | self._used_before)
        self._used_before = set(used)
        if self.recorder.outgrown or (resident_bytes() > SHORT_BYTES and now - self._renewed > RENEWAL_S):
            self._renewed = now
            self._metrics.renewals += 1
            self._used_before = set()
            self._contents.forget_unwinder()
            self.recorder.renew_unwinder()

    def _finish(self, now: float) -> None:
        """Finish the current file, which ends now, in a thread, as far as the disk has space for it."""
        sink = self._sink
        lost = self.recorder.lost
        self._metrics.lost += lost - self._lost
        lost, self._lost = lost - self._lost, lost
        samples, self._taken = self._contents.samples, 0
        end = self._start + now - self._begun
        found = {"samples": samples, "lost": lost, "truncated": sink.failure is not None, **self._contents.describe()}
        about = description(self._start, end, self._labels(), found)
        self._workers.submit(self._keep, sink, about)

    def _keep(self, sink: Sink, about: dict[str, Any]) -> None:
        metrics = self._metrics
        try:
            if isinstance(sink.file, _Nowhere):
                raise sink.file.failure
            with sink.file:
                if sink.failure is not None and not sink.flushed:
                    Path(sink.file.name).unlink(missing_ok=True)
                    raise sink.failure
                dropped = self._spool.finish(sink.file, about)
        except OSError as error:
            metrics.dropped += 1
            metrics.unwritten += about["samples"]
            if not self._full:
                self._say(f"cannot write to the spool, recordings are dropped: {error.strerror or error}")
            self._full = True
            return
        metrics.written += 1
        metrics.dropped += dropped
        metrics.truncated += sink.failure is not None
        if dropped:
            self._say(f"the spool is full: dropped the oldest {dropped} recordings")
        if self._full and sink.failure is None:
            self._full = False
            self._say("the spool can be written to again")
        self._finished()
