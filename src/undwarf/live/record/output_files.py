"""Output files of `undwarf record`: the current one, earlier ones of a switched output, and the backup of an older one.

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
    """A complete recording."""

    path: Path
    samples: int
    size: int


def old_name(target: Path) -> Path:
    """The backup name of an earlier recording."""
    return target.with_name(target.name + ".old")


def keep_old(target: Path) -> Path | None:
    """Rename a nonempty file to ``<name>.old``, replacing a file of that name. Returns the new name, None if there is
    no such file. The target of a symbolic link is renamed in its own directory. Raises UndwarfError."""
    if not target.is_file() or not target.stat().st_size:
        return None
    target = target.resolve() if target.is_symlink() else target
    backup = old_name(target)
    try:
        return target.replace(backup)
    except OSError as error:
        hint = "move it away, or choose another -o"
        raise UndwarfError(f"cannot keep {target} as {backup.name}", error.strerror or str(error), hint) from error


def stamped(target: Path, moment: datetime) -> Path:
    """The name of a switched output that was completed at this local time."""
    return target.with_name(f"{target.name}.{moment:%Y%m%d%H%M%S}{moment.microsecond // 10_000:02}")


class RecordFiles:
    """Writes the records of a :class:`Sampler` to ``target``, or to several files as ``switch`` requires.

    ``done`` is called with each complete file. The current file is in pipe form, which is readable up to wherever its
    writer was killed. ``kept`` is the backup of the recording that ``target`` was before.
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
        self._requested = False
        self._file: BinaryIO | None = None
        self._samples = 0
        self._names: list[Path] = []
        # A thread rewrites complete files, since large ones take longer than the ring buffers hold.
        self._workers = ThreadPoolExecutor(1)
        self._jobs: list[Future[Written]] = []
        self.recorder = Recorder(sampler, self._open, version)
        self._since = clock()
        if switch is not None:
            self.recorder.after_round = self._switch_if_due

    def run(self) -> None:
        """Record until sampling ends. Raises OSError, and UsageError if the program cannot be run."""
        on_signal = self._switch is not None and self._switch.on_signal
        before = signal.signal(signal.SIGUSR2, self._request) if on_signal else None
        try:
            self.recorder.run()
            self._end(self.recorder.writer)
        except UsageError:
            # The program could not be run: nothing was recorded.
            if self.kept is not None:
                self.kept.replace(self._target)
            raise
        finally:
            if on_signal:
                signal.signal(signal.SIGUSR2, before)
            self._workers.shutdown()
            if self._file is not None:
                self._file.close()
        self._report(wait=True)

    def _request(self, _number: int, _frame: object) -> None:
        self._requested = True

    def _open(self) -> BinaryIO:
        self.kept = keep_old(self._target) if self.kept is None else self.kept
        self._file = open(self._target, "w+b", buffering=0)  # noqa: SIM115 - closed when it has its form
        return self._file

    def _switch_if_due(self) -> None:
        """Begin another file if a switch is due."""
        switch = self._switch
        assert switch is not None
        self._report()
        if not self._sampler.ending and (
            self._requested
            or (switch.size and self.recorder.grown >= switch.size)
            or (switch.seconds and self._clock() - self._since >= switch.seconds)
        ):
            self._requested = False
            self._end(self.recorder.end_file())
            self.recorder.begin_file(self._open())
            self._since = self._clock()

    def _end(self, ended: PerfWriter) -> None:
        """Give the current file its final name, and have it rewritten in file form."""
        assert self._file is not None
        file, self._file = self._file, None
        path = self._target
        if self._switch is not None:
            path = self._new_name()
            os.replace(self._target, path)  # renames a link, not its target
            self._names.append(path)
        samples = self.recorder.samples - self._samples
        self._samples += samples
        self._jobs.append(self._workers.submit(self._finish, file, ended, path, samples))

    def _new_name(self) -> Path:
        """An unused name: two files may end within 10 ms of each other."""
        while True:
            path = stamped(self._target, datetime.now().astimezone())
            if not path.exists():
                return path
            time.sleep(0.01)

    def _finish(self, file: BinaryIO, ended: PerfWriter, path: Path, samples: int) -> Written:
        """Rewrite a file in file form, if it may be replaced."""
        with file:
            if replaceable(path) and os.access(path.parent, os.W_OK):
                with whole_file(path) as whole:
                    self.recorder.as_file(ended, file.fileno(), whole)
        limit = self._switch.files if self._switch is not None else 0
        while limit and len(self._names) > limit:
            with suppress(FileNotFoundError):
                self._names.pop(0).unlink()
        return Written(path, samples, path.stat().st_size if path.exists() else 0)

    def _report(self, wait: bool = False) -> None:
        """Call ``done`` with the files that are complete; ``wait``: with all."""
        while self._jobs and (wait or self._jobs[0].done()):
            self._done(self._jobs.pop(0).result())
