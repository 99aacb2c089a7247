"""A Dask cluster on this machine, of processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

TESTS = str(Path(__file__).parents[2])


def wait_until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until something holds; fails if it does not in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def cluster(
    folder: Path, count: int, *options: str, blind: Path | None = None
) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """The address of a scheduler of Dask, and the processes of it and of some workers, all with these options. One more
    worker has another folder in place of ``blind``."""
    environment = {**os.environ, "PYTHONPATH": TESTS}
    file = folder / "scheduler.json"
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *more: str, before: Sequence[str] = ()) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{name}", "--no-dashboard", "--scheduler-file", str(file)]
        silent = subprocess.DEVNULL
        command = [*before, *command, *options, *more]
        started.append(subprocess.Popen(command, env=environment, stdout=silent, stderr=silent))

    try:
        start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", *(["--protocol", "tls"] if options else []))
        worker = ("dask_worker", "--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        for _worker in range(count):
            start(*worker)
        if blind is not None:
            hidden = f'mount -t tmpfs none "{blind}" && exec "$@"'
            start(*worker, before=["unshare", "--mount", "--propagation", "private", "sh", "-c", hidden, "sh"])
        wait_until(lambda: file.exists() and file.read_text().rstrip().endswith("}"), 60)
        yield json.loads(file.read_text())["address"], started
    finally:
        for process in started:
            process.kill()
            process.wait()
