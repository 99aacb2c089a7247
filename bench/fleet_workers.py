"""How much faster two workers take recordings into a store than one: processes of this machine, and Dask workers.

``bench/fleet_workers.py [--folder DIR] [--recordings N] [--rounds N] [--s3] [local] [dask]``. Each round takes the
same recordings into a new store with one worker and with two, in turn; Dask workers run all the time and have taken
recordings before. Printed are the best elapsed times and their quotient, and the CPU time of the command itself,
which more workers do not divide, beside that of the workers: on a busy machine, the quotient that two CPUs would give
follows from these (``(command + workers) / (command + workers / 2)``, as if they never ran at once).

``--s3``: the store is on an S3 server (rclone) of this machine, whose CPU time is the workers' loss here.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fleet_bench import write_recordings

TICKS = os.sysconf("SC_CLK_TCK")
CLIENT = """
import os, resource, sys
leave = os._exit
def own(code):
    used = resource.getrusage(resource.RUSAGE_SELF)
    sys.stderr.write(f"own {used.ru_utime + used.ru_stime}")
    sys.stderr.flush()
    leave(code)
os._exit = own
from undwarf.__main__ import main
main()
"""
"""Runs a command and prints the CPU time of its own process."""


class Taken(NamedTuple):
    """Seconds that a run took, and of CPU those of the command's process and those of the workers."""

    elapsed: float
    command: float
    workers: float


class Cluster(NamedTuple):
    """A scheduler with workers."""

    address: str
    workers: tuple[int, ...]


@contextlib.contextmanager
def cluster(folder: Path, count: int, environment: dict[str, str]) -> Iterator[Cluster]:
    """A scheduler and workers of one thread each, on this machine."""
    file = folder / f"scheduler-{count}.json"
    file.unlink(missing_ok=True)
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *options: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{name}", "--no-dashboard", "--scheduler-file", str(file)]
        silent = subprocess.DEVNULL
        started.append(subprocess.Popen([*command, *options], env=environment, stdout=silent, stderr=silent))

    try:
        start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        for _worker in range(count):
            start("dask_worker", "--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        while not (file.exists() and file.read_text().rstrip().endswith("}")):
            time.sleep(0.1)
        address = file.read_text().split('"address": "')[1].split('"')[0]
        yield Cluster(address, tuple(process.pid for process in started[1:]))
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextlib.contextmanager
def server(folder: Path) -> Iterator[dict[str, str]]:
    """An S3 server, as the environment of who uses it."""
    port = 19_000 + os.getpid() % 1000
    (folder / "profiles").mkdir(parents=True, exist_ok=True)
    rclone = shutil.which("rclone", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if rclone is None:
        sys.exit("rclone is not installed")
    command = [rclone, "serve", "s3", "--auth-key", "testing,testing", "--addr", f"127.0.0.1:{port}", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        yield {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
        }
    finally:
        process.kill()
        process.wait()


def cpu(pids: tuple[int, ...]) -> float:
    """The CPU time of processes and what they have started, in seconds."""
    total = 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) / TICKS
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += cpu(tuple(map(int, (task / "children").read_text().split())))
    return total


def taken(store: str, paths: list[str], environment: dict[str, str], on: Cluster | None, count: int) -> Taken:
    """Take recordings into a store."""
    where = ["--dask", on.address] if on is not None else ["--workers", str(count)]
    command = [sys.executable, "-c", CLIENT, "fleet", "ingest", store, "--label", "service=app", *where, *paths]
    before = cpu(on.workers) if on is not None else 0.0
    started = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read().decode()
        _pid, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    elapsed = time.perf_counter() - started
    if process.returncode:
        sys.exit(f"{' '.join(command[3:8])} failed: {said}")
    own = float(said.rpartition("own ")[2])
    # Local workers are the command's children.
    workers = cpu(on.workers) - before if on is not None else used.ru_utime + used.ru_stime - own
    return Taken(elapsed, own, workers)


def compared(name: str, folder: Path, paths: list[str], rounds: int, environment: dict[str, str], where: str) -> None:
    """Print how one worker and two compare."""
    runs: dict[int, list[Taken]] = {1: [], 2: []}
    with contextlib.ExitStack() as stack:
        clusters: dict[int, Cluster | None] = {1: None, 2: None}
        if name == "dask":
            clusters = {count: stack.enter_context(cluster(folder, count, environment)) for count in runs}
        for number in range(rounds + 1):
            for count in runs:
                store = f"{where}/{name}-{number}-{count}"
                # The first round finds the workers' modules and files.
                some = paths if number else paths[:32]
                found = taken(store, some, environment, clusters[count], count)
                shutil.rmtree(folder / "stores" / "profiles" / f"{name}-{number}-{count}")
                if number:
                    runs[count].append(found)
    for count, all_ in runs.items():
        best = min(all_)
        print(
            f"{name}, {count} worker(s): {best.elapsed:.2f} s; CPU {best.command:.2f} s of the command, "
            f"{best.workers:.2f} s of the workers",
            flush=True,
        )
    command = min(one.command for one in runs[2])
    workers = min(one.workers for one in runs[1])
    other = min(one.workers for one in runs[2])
    print(
        f"{name}: {min(runs[1]).elapsed / min(runs[2]).elapsed:.2f} times as fast; by CPU time at least "
        f"{(command + workers) / (command + other / 2):.2f}, without the command's part {workers / (other / 2):.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="local, dask; both by default")
    parser.add_argument("--folder", default="/tmp/fleet-workers", type=Path)
    parser.add_argument("--recordings", default=2560, type=int, help="2560: those of a day of 640 hosts, 953 MB")
    parser.add_argument("--rounds", default=6, type=int)
    parser.add_argument("--s3", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    recordings = options.folder / "recordings"
    size = write_recordings(recordings, options.recordings // 4)
    paths = [str(path) for path in sorted(recordings.iterdir())]
    print(f"{len(paths)} recordings, {size / 1e6:.0f} MB")
    stores = options.folder / "stores"
    with server(stores) if options.s3 else contextlib.nullcontext({}) as settings:
        environment = {**os.environ, **settings}
        (stores / "profiles").mkdir(parents=True, exist_ok=True)
        where = "s3://profiles" if options.s3 else str(stores / "profiles")
        for kind in options.kinds or ["local", "dask"]:
            compared(kind, options.folder, paths, options.rounds, environment, where)
    shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
