"""Output files of `undwarf record`: the one being written, those of a switched output, and backups of older ones.

Names are perf's: an existing ``perf.data`` becomes ``perf.data.old``, and a switched output ``perf.data.<time>`` with
the local time down to 10 ms (``tools/perf/util/data.c``, ``perf_data__switch``).
"""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from undwarf.errors import UndwarfError, UsageError
from undwarf.live.record.run import Recorder
from undwarf.live.sampling.sampler import Sampler
from undwarf.live.sampling.settings import Switch
from undwarf.outputs.atomic_file import replaceable, whole_file
from undwarf.perfdata.writer import PerfWriter


@dataclass(slots=True)
class Written:
    """A recording that is complete."""

    path: Path
    samples: int
    size: int


def old_name(target: Path) -> Path:
    """The name under which an earlier recording is kept."""
    return target.with_name(target.name + ".old")


def keep_old(target: Path) -> Path | None:
    """Rename a file that is not empty to ``<name>.old``, in place of one of that name; the new name, or None where
    there was nothing to keep. Of a link, the file that it points to is renamed beside that one. Raises UndwarfError."""
    if not target.is_file() or not target.stat().st_size:
        return None
    target = target.resolve() if target.is_symlink() else target
    kept = old_name(target)
    try:
        return target.replace(kept)
    except OSError as error:
        hint = "move it away, or choose another -o"
        raise UndwarfError(f"cannot keep {target} as {kept.name}", error.strerror or str(error), hint) from error


def stamped(target: Path, moment: datetime) -> Path:
    """The name of a switched output that ends at this local time."""
    return target.with_name(f"{target.name}.{moment:%Y%m%d%H%M%S}{moment.microsecond // 10_000:02}")


class RecordFiles:
    """Writes what a :class:`Sampler` brings to ``target``, or to several files where ``switch`` says so.

    ``done`` is called for each file that is complete. While a file is written it is in pipe form, which can be read up
    to wherever its writer was stopped. ``kept`` is where the recording is that ``target`` was before.
    """

    def __init__(
        self,
        sampler: Sampler,
        target: Path,
        version: str,
        switch: Switch | None = None,
        done: Callable[[Written], None] = lambda _written: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.kept: Path | None = None
        self._sampler = sampler
        self._target = target.resolve() if target.is_symlink() else target
        self._switch = switch
        self._done = done
        self._clock = clock
        self._wanted = False
        self._file: BinaryIO | None = None
        self._samples = 0
        self._names: list[Path] = []
        # Large files are rewritten while sampling goes on, since the ring buffers would fill up meanwhile.
        self._workers = ThreadPoolExecutor(1)
        self._jobs: list[Future[Written]] = []
        self.recorder = Recorder(sampler, self._open, version)
        self._since = clock()
        if switch is not None:
            self.recorder.after_round = self._look

    def run(self) -> None:
        """Record until it is over. Raises OSError, and UsageError where the program cannot be run."""
        asked = self._switch is not None and self._switch.on_signal
        before = signal.signal(signal.SIGUSR2, self._ask) if asked else None
        try:
            self.recorder.run()
            self._end(self.recorder.writer)
        except UsageError:
            # The program could not be run after all: nothing was recorded.
            if self.kept is not None:
                self.kept.replace(self._target)
            raise
        finally:
            if asked:
                signal.signal(signal.SIGUSR2, before)
            self._workers.shutdown()
            if self._file is not None:
                self._file.close()
        self._tell(wait=True)

    def _ask(self, _number: int, _frame: object) -> None:
        self._wanted = True

    def _open(self) -> BinaryIO:
        self.kept = keep_old(self._target) if self.kept is None else self.kept
        self._file = open(self._target, "w+b", buffering=0)  # noqa: SIM115 - closed when it has its form
        return self._file

    def _look(self) -> None:
        """Begin another file, if it is time to."""
        switch = self._switch
        assert switch is not None
        self._tell()
        if not self._sampler.ending and (
            self._wanted
            or (switch.size and self.recorder.grown >= switch.size)
            or (switch.seconds and self._clock() - self._since >= switch.seconds)
        ):
            self._wanted = False
            ended = self.recorder.end_file()
            self._end(ended)
            self.recorder.begin_file(self._open())
            self._since = self._clock()

    def _end(self, ended: PerfWriter) -> None:
        """The file that was written gets its form and its name."""
        assert self._file is not None
        file, self._file = self._file, None
        path = self._target
        if self._switch is not None:
            path = self._new_name()
            os.replace(self._target, path)  # a link is renamed itself
            self._names.append(path)
        samples = self.recorder.samples - self._samples
        self._samples += samples
        self._jobs.append(self._workers.submit(self._finish, file, ended, path, samples))

    def _new_name(self) -> Path:
        """Two files may end within 10 ms of each other."""
        while True:
            path = stamped(self._target, datetime.now().astimezone())
            if not path.exists():
                return path
            time.sleep(0.01)

    def _finish(self, file: BinaryIO, ended: PerfWriter, path: Path, samples: int) -> Written:
        """Rewrite a file in file form, where another may take its place."""
        with file:
            if replaceable(path) and os.access(path.parent, os.W_OK):
                with whole_file(path) as whole:
                    self.recorder.as_file(ended, file.fileno(), whole)
        most = self._switch.files if self._switch is not None else 0
        while most and len(self._names) > most:
            with suppress(FileNotFoundError):
                self._names.pop(0).unlink()
        return Written(path, samples, path.stat().st_size if path.exists() else 0)

    def _tell(self, wait: bool = False) -> None:
        """Report the files that are complete."""
        while self._jobs and (wait or self._jobs[0].done()):
            self._done(self._jobs.pop(0).result())
