"""A store on an S3 server, a Dask scheduler and four workers, each on a host of its own: whoever is killed, the store
is in the end that of processes of this machine, byte for byte."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.fleets import RECORDINGS, SHIPPED, of_host
from tests.support.network import Network, network, why_not

WORKERS = ("worker1", "worker2", "worker3", "worker4")
HOSTS = ("client", "store", "scheduler", *WORKERS)
EACH = 6
RCLONE = shutil.which("rclone", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
READING = ["--symfs", str(SHIPPED)]
INGEST = [*READING, "--kallsyms", str(SHIPPED / "kernel-symbols"), "--no-cache", "--label", "service=web"]
IDLE = """
import sys, time
from distributed import Client
def running():
    from undwarf.fleet.engine import _processes
    return _processes.cache_info().currsize and len(_processes()._threads) - _processes()._idle
with Client(sys.argv[1]) as client:
    while any(client.run(running).values()):
        time.sleep(0.05)
"""
"""Waits until workers have ended what nobody waits for."""


class Cluster:
    """What runs on the hosts of a network."""

    def __init__(self, hosts: Network, folder: Path) -> None:
        self.hosts = hosts
        self.folder = folder
        self.objects = folder / "objects"
        """Where the S3 server keeps its buckets, as files."""
        (self.objects / "profiles").mkdir(parents=True)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{hosts.addresses['store']}:9000",
            "AWS_EC2_METADATA_DISABLED": "true",
            # The server sends the checksum of the whole with each part.
            "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
            # Not botocore is to try again for seconds, but the store.
            "AWS_RETRY_MODE": "standard",
            "AWS_MAX_ATTEMPTS": "1",
        }
        self.scheduler = f"tcp://{hosts.addresses['scheduler']}:8786"

    def start(self, host: str) -> None:
        """Start what belongs on a host; in place of what was there."""
        if host == "store":
            assert RCLONE is not None
            address = f"{self.hosts.addresses['store']}:9000"
            command = [RCLONE, "serve", "s3", "--auth-key", "testing,testing", "--addr", address, str(self.objects)]
        elif host == "scheduler":
            command = _module("distributed.cli.dask_scheduler", "--no-dashboard", "--port", "8786")
        else:
            options = ("--no-dashboard", "--no-nanny", "--nthreads", "1", "--local-directory", str(self.folder))
            command = _module("distributed.cli.dask_worker", self.scheduler, *options)
        with open(self.folder / f"{host}.log", "ab") as log:
            self.running[host] = self.hosts.started(
                host, *command, env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def kill(self, host: str) -> None:
        """End what runs on a host, as a loss of power would."""
        process = self.running.pop(host)
        process.kill()
        process.wait()

    def begun(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """An undwarf command on the client's host."""
        command = _module("undwarf", "fleet", *arguments)
        pipe = subprocess.PIPE
        return self.hosts.started("client", *command, env=self.environment, stdout=pipe, stderr=pipe)

    def close(self) -> None:
        """End everything."""
        for host in list(self.running):
            self.kill(host)


def _module(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", name, *arguments]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if RCLONE is None:
        pytest.skip("rclone is not installed")
    if reason := why_not():
        pytest.skip(reason)
    with network(HOSTS) as hosts:
        made = Cluster(hosts, tmp_path_factory.mktemp("cluster"))
        try:
            for host in HOSTS[1:]:
                made.start(host)
            yield made
        finally:
            made.close()


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The shipped recordings, as those of some hosts."""
    folder = tmp_path_factory.mktemp("recordings")
    return [
        of_host(path, folder / f"{Path(path).stem}-{number}.data", f"host-{number}")
        for number in range(EACH)
        for path in RECORDINGS
    ]


def ship(objects: Path, paths: list[str]) -> None:
    """Put recordings where agents put them."""
    for number, path in enumerate(paths):
        shipped = objects / "incoming" / "2026-11-28" / f"host-{number % 3}" / f"{number}.data"
        shipped.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, shipped)
        about = {"labels": {"host": f"host-{number % 3}", "service": "web"}, "start": "2026-11-28T10:00:00Z"}
        Path(f"{shipped}.json").write_text(json.dumps(about))


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.suffix in (".parquet", ".json", ".data")}


def contents(folder: Path) -> dict[str, bytes]:
    # What the server had begun to write when it was killed is no object.
    found = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".rclone_temp_put_")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def undisturbed(recordings: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a store that processes of this machine have made."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    ship(store, recordings[::2])
    for arguments in (
        ["ingest", str(store), *INGEST, *recordings[1::2]],
        ["ingest", str(store), *INGEST],
        ["compact", str(store), "--grace", "0"],
    ):
        subprocess.run(_module("undwarf", "fleet", *arguments), check=True, capture_output=True)
    found = contents(store)
    assert len(found) == 8
    return found


def finished(command: "subprocess.Popen[bytes]", seconds: float = 300) -> tuple[int, str]:
    """(the exit code, what was said)."""
    out, err = command.communicate(timeout=seconds)
    return command.returncode, (out + err).decode()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("victim", ["worker", "client", "store"])
def test_whoever_is_killed_the_store_is_the_same(
    victim: str, cluster: Cluster, recordings: list[str], undisturbed: dict[str, bytes]
) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    chance = random.Random(seed)
    objects = cluster.objects / "profiles" / victim
    ship(objects, recordings[::2])
    store = f"s3://profiles/{victim}"
    said = [f"seed {seed}"]

    def disturbed(changes: int, *arguments: str) -> None:
        """Run a command, kill somebody after some files have changed, and run it again if it did not end well."""
        before = files(objects)
        command = cluster.begun(*arguments, "--dask", cluster.scheduler)
        changed = chance.randrange(changes)
        while command.poll() is None and len(files(objects) ^ before) < changed:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.2))
        said.append(f"{arguments[0]} had changed {len(files(objects) ^ before)} files, {command.poll()}")
        if victim == "client":
            command.kill()
        elif victim == "worker":
            host = chance.choice(WORKERS)
            cluster.kill(host)
        else:
            cluster.kill("store")
            time.sleep(chance.uniform(0, 2))
            cluster.start("store")
        code, text = finished(command)
        said.append(f"{victim} killed: {code} {text}")
        if victim == "worker":
            assert code == 0, said
            cluster.start(host)
        assert code == 0 or victim == "client" or (code == 3 and "is away" in text), said
        if code:
            code, text = finished(cluster.begun(*arguments, "--dask", cluster.scheduler))
            said.append(f"again: {code} {text}")
            assert code == 0, said

    disturbed(80, "ingest", store, *INGEST, *recordings[1::2])
    disturbed(80, "ingest", store, *INGEST)
    disturbed(8, "compact", store, "--grace", "3600")
    # Who was not waited for may still have written.
    idle = [sys.executable, "-c", IDLE, cluster.scheduler]
    subprocess.run(cluster.hosts.command("client", *idle), env=cluster.environment, check=True, timeout=60)
    code, text = finished(cluster.begun("compact", store, "--grace", "0", "--dask", cluster.scheduler))
    assert code == 0, text
    found = contents(objects)
    assert sorted(found) == sorted(undisturbed), said
    assert found == undisturbed, said
