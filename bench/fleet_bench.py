"""A generated fleet: how fast it is taken into a store, how large it is there, how long questions take.

``bench/fleet_bench.py [--folder DIR] [--times N] PART...``, with the parts ``ingest``, ``store``, ``query``, ``diff``;
all by default. The fleet has 500 hosts, 2 million samples a day (``--times`` as many), 50,000 stacks and three
releases; in release 3 one function takes 2 % more of all time. Stacks are drawn from a random tree of calls, as
programs have: few are frequent, most are rare. Each host weights its stacks a little otherwise.

``ingest`` writes recordings (call chains, as `undwarf record` makes them) of some hosts and takes them with one
process; ``store`` writes the fleet's store itself, as ingest would leave it, and compacts it; ``query`` asks it, each
command in a process of its own, whose time and peak memory are printed.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from undwarf.column import zeros
from undwarf.fleet.columns import hashes, indices, named, numbers, parquet, repeated, table
from undwarf.fleet.kernels.content_hashes import frame_hashes, stack_hashes
from undwarf.fleet.kernels.stack_lists import lists_of_tree
from undwarf.fleet.layout import Partition, schema
from undwarf.fleet.merging import merged
from undwarf.fleet.recording_tables import text_hash
from undwarf.fleet.store import Store

HOSTS, SAMPLES, STACKS, RELEASES = 500, 2_000_000, 50_000, 3
FUNCTIONS, OFFSETS, DEPTH = 3000, 7, 40
DAY = "2026-11-28"
START = 1_795_824_000_000_000
"""That day's begin, in us since 1970."""
PERIOD = 52_631_578
"""ns between samples at 19 Hz."""
SLOW = "app::Table::find"
EXTRA = 0.02
NONE = 0xFFFFFFFF
CHILD = """
import os, sys
leave = os._exit
def peak(code):
    with open("/proc/self/status") as status:
        sys.stderr.write("peak" + next(line for line in status if line.startswith("VmHWM")).split()[1])
    sys.stderr.flush()
    leave(code)
os._exit = peak
from undwarf.__main__ import main
main()
"""
"""Runs a command and prints its peak memory: that of getrusage begins with that of the process that forked it."""


class Fleet:
    """The stacks of a fleet: a tree of calls for each release, with the weight of each stack."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random = np.random.default_rng(seed)
        self.names = [f"app::module{i % 60}::function{i}" for i in range(FUNCTIONS)]
        self.slow = 77
        self.names[self.slow] = SLOW
        self.images = [("file", f"{release + 1:02x}" * 20, "/srv/app/server") for release in range(RELEASES)]
        texts = b"".join(text_hash(kind, build_id, path) for kind, build_id, path in self.images)
        self.image_words = memoryview(array("Q", texts))
        # Nodes: all releases share the shape of the tree; frames are those of the release's binary.
        parent, function = [NONE], [0]
        depth = [0]
        while len(parent) < STACKS // RELEASES:
            # The deeper of three: programs' stacks are deep and narrow.
            above = max(random.integers(0, len(parent), 3), key=depth.__getitem__)
            if depth[above] >= DEPTH:
                continue
            parent.append(int(above))
            function.append(int(random.integers(1, FUNCTIONS)) if random.random() < 0.97 else self.slow)
            depth.append(depth[above] + 1)
        self.nodes = len(parent)
        offsets = random.integers(0, OFFSETS, self.nodes)
        parents, frames, keys = [], [], {}
        for release in range(RELEASES):
            for node in range(self.nodes):
                key = (release, function[node], int(offsets[node]))
                frames.append(keys.setdefault(key, len(keys)))
                parents.append(NONE if parent[node] == NONE else parent[node] + release * self.nodes)
        self.keys = list(keys)
        self.parent, self.frame = memoryview(array("I", parents)), memoryview(array("I", frames))
        image = memoryview(array("I", [key[0] for key in self.keys]))
        offset = memoryview(array("Q", [0x1000 + 256 * key[1] + 16 * key[2] for key in self.keys]))
        flags = memoryview(array("I", [1] * len(self.keys)))
        absent = memoryview(array("I", [NONE] * len(self.keys)))
        self.image, self.offset = image, offset
        self.frame_words = frame_hashes(self.image_words, image, offset, flags, zeros("Q", 0), absent)
        self.stack_words = stack_hashes(self.parent, self.frame, self.frame_words)
        weight = random.pareto(1.1, self.nodes) + 0.05
        self.weight = weight / weight.sum()
        self.is_slow = np.array([one == self.slow for one in function])
        self.slow_share = float(self.weight[self.is_slow].sum())

    def weights(self, release: int) -> "np.ndarray[Any, Any]":
        """The part of each stack of the release's samples on one host, which differs between hosts."""
        weight = self.weight.copy()
        if release == RELEASES - 1:
            weight[self.is_slow] *= 1 + EXTRA / self.slow_share
        weight = weight * self.random.lognormal(0, 0.1, self.nodes)
        return weight / weight.sum()

    def host(self, number: int, count: int) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        """(times in us, nodes) of a host's samples."""
        release = number % RELEASES
        times = np.sort(self.random.integers(0, 86_400_000_000, count)) + START
        nodes = self.random.choice(self.nodes, count, p=self.weights(release)) + release * self.nodes
        return times, nodes

    def static(self, store: Store) -> "list[Any]":
        """The files of stacks, frames, images and symbols."""
        ids, frame_ids = hashes(self.stack_words), hashes(self.frame_words)
        every = memoryview(array("I", range(len(self.parent))))
        starts, flat = lists_of_tree(self.parent, self.frame, every)
        lists = pa.ListArray.from_arrays(numbers(starts).cast(pa.int32()), frame_ids.take(numbers(flat)))
        count = len(self.keys)
        rows = {
            "stacks": table("stacks", {"id": ids, "frames": lists}),
            "frames": table(
                "frames",
                {
                    "id": frame_ids,
                    "image": hashes(self.image_words).take(numbers(self.image)),
                    "code_offset": numbers(self.offset).cast(pa.int64()),
                    "name": pa.nulls(count, pa.string()),
                    "is_return": pa.array([False] * count),
                    "provenance": repeated("CALLCHAIN", count),
                    "sampled": pa.array([2] * count, pa.int32()),
                },
            ),
            "images": table(
                "images",
                {
                    "id": hashes(self.image_words),
                    "name": pa.array([path for _kind, _id, path in self.images]),
                    "path": pa.array([path for _kind, _id, path in self.images]),
                    "build_id": pa.array([build_id for _kind, build_id, _path in self.images]),
                    "kind": pa.array([kind for kind, _id, _path in self.images]),
                    "problem": pa.array([""] * RELEASES),
                },
            ),
        }
        inlined = schema("symbols").field("inlined").type
        symbols = table(
            "symbols",
            {
                "frame": frame_ids,
                "name": pa.array([self.names[key[1]] for key in self.keys]),
                "start": pa.array([0x1000 + 256 * key[1] for key in self.keys]),
                "unnamed": pa.array([False] * count),
                "inlined": pa.array(
                    [[{"name": None, "file": f"src/module{key[1] % 60}.cc", "line": key[1]}] for key in self.keys],
                    inlined,
                ),
            },
        )
        files = [_put(store, Partition(name, DAY, "app"), one) for name, one in rows.items()]
        return [*files, _put(store, Partition("symbols"), symbols)]


def _put(store: Store, partition: Partition, rows: Any) -> Any:
    rows = merged(partition.table, [rows])
    return store.put(partition, parquet(partition.table, rows), rows.num_rows)


def write_store(folder: Path, times: int) -> None:
    """The store of a fleet with ``times`` as many samples: 2 million a file, each of some hosts."""
    shutil.rmtree(folder, ignore_errors=True)
    store, fleet = Store(str(folder)), Fleet()
    files = fleet.static(store)
    each = SAMPLES * times // HOSTS
    per_file = HOSTS // times
    for first in range(0, HOSTS, per_file):
        parts, recordings = [], []
        for host in range(first, min(first + per_file, HOSTS)):
            when, nodes = fleet.host(host, each)
            parts.append(_samples(fleet, host, when, nodes))
            recordings.append(_recording(host, each))
        files.append(_put(store, Partition("samples", DAY, "app"), pa.concat_tables(parts)))
        files.append(_put(store, Partition("recordings", DAY, "app"), pa.concat_tables(recordings)))
    # As many chunks: what one commit lists is merged already.
    for file in files:
        store.commit([file])
    by_table: dict[str, int] = {}
    for file in files:
        by_table[file.partition.table] = by_table.get(file.partition.table, 0) + file.size
    total, samples = sum(by_table.values()), each * HOSTS
    print(
        f"store, {samples:,} samples: {total / samples:.2f} bytes a sample; "
        + ", ".join(f"{name} {size / samples:.2f}" for name, size in sorted(by_table.items(), key=lambda one: -one[1]))
    )


def _samples(fleet: Fleet, host: int, when: Any, nodes: Any) -> Any:
    count = len(nodes)
    threads = fleet.random.integers(0, 24, count).astype(np.int32)
    return table(
        "samples",
        {
            "recording": pa.repeat(pa.scalar(text_hash(f"recording{host}"), pa.binary(16)), count),
            "host": repeated(f"host-{host:04}", count),
            "release": repeated(f"{host % RELEASES + 1}.0", count),
            "container": repeated(None, count),
            "pod": repeated(f"app-{host:04}", count),
            "time": pa.array(when, pa.timestamp("us")),
            "pid": pa.array(np.full(count, 4000 + host, np.int32)),
            "tid": pa.array(4000 + host + threads),
            "cpu": pa.array(fleet.random.integers(0, 8, count).astype(np.int32)),
            "comm": named(pa.array(threads % 6), [f"worker-{i}" for i in range(6)]),
            "event": repeated("cpu-clock", count),
            "period": pa.array(np.full(count, PERIOD)),
            "stack": hashes(fleet.stack_words).take(indices(memoryview(array("I", nodes.astype(np.uint32).tobytes())))),
            "stop": repeated("ROOT", count),
            "stop_image": pa.nulls(count, pa.binary(16)),
            **{name: pa.nulls(count, pa.int64()) for name in ("data_source", "latency", "data_page_size")},
        },
    )


def _recording(host: int, samples: int) -> Any:
    event = {"name": "cpu-clock", "packed": False, "chains": True, "unit": "", "group": None, "precision": "late"}
    row = {
        "id": text_hash(f"recording{host}"), "host": f"host-{host:04}", "release": f"{host % RELEASES + 1}.0",
        "samples": samples, "lost": 0, "bytes": 260 * samples, "stack_dump": 0, "stitched": True, "recorder": "undwarf",
        "unwind_order": [], "events": [event], "labels": [], "damage": [],
    }  # fmt: skip  # a row
    return pa.Table.from_pylist([row], schema=schema("recordings"))


def write_recordings(folder: Path, hosts: int, each: int = 1000, per_host: int = 4) -> int:
    """Recordings of some hosts, ``per_host`` of a day; gives their bytes."""
    import undwarf
    from undwarf import Event, Mapping, PerfDataWriter

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    fleet = Fleet()
    chains: dict[int, tuple[int, ...]] = {}

    def chain(node: int) -> tuple[int, ...]:
        if node not in chains:
            up = fleet.parent[node]
            chains[node] = (0x400000 + fleet.offset[fleet.frame[node]], *(chain(up) if up != NONE else ()))
        return chains[node]

    for host in range(hosts):
        when, nodes = fleet.host(host, each * per_host)
        for part in range(per_host):
            path = folder / f"host-{host:04}-{part}.data"
            with (
                path.open("wb") as sink,
                PerfDataWriter(
                    sink, [Event("cpu-clock", period=PERIOD)], hostname=f"host-{host:04}", osrelease="6.1"
                ) as writer,
            ):
                pid = 4000 + host
                writer.comm(pid, pid, "worker")
                build_id = fleet.images[host % RELEASES][1]
                writer.mapping(pid, Mapping(0x400000, 0x700000, 0, "/srv/app/server", build_id=build_id))
                rows = slice(part * each, (part + 1) * each)
                for at, node in zip(when[rows].tolist(), nodes[rows].tolist(), strict=True):
                    calls = chain(node)
                    writer.sample(calls[0], pid, pid, (at - START) * 1000 + 10**9, period=PERIOD, callchain=calls)
    assert undwarf.open is not None
    return sum(path.stat().st_size for path in folder.iterdir())


def run(*command: str) -> tuple[float, float, float, str]:
    """(seconds, CPU seconds, peak MB, output) of a command."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", CHILD, *command], capture_output=True, text=True)
    taken = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, cpu, int(done.stderr.split("peak")[-1]) / 1024, done.stdout


def measure(what: str, *command: str, best_of: int = 3) -> str:
    """Print what a command takes: the best of some runs."""
    runs = [run(*command) for _ in range(best_of)]
    taken, cpu, peak, text = min(runs)
    print(f"{what}: {taken:.2f} s, {cpu:.2f} s of CPU, {peak:.0f} MB")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--folder", default="/tmp/fleet-bench", type=Path)
    parser.add_argument("--times", default=1, type=int)
    parser.add_argument("--hosts", default=10, type=int, help="hosts whose recordings are taken")
    options = parser.parse_args()
    parts = options.parts or ["ingest", "store", "query", "diff"]
    store = options.folder / f"store-{options.times}"
    if "ingest" in parts:
        folder = options.folder / "recordings"
        size = write_recordings(folder, options.hosts * options.times)
        taken_in = options.folder / "taken"
        shutil.rmtree(taken_in, ignore_errors=True)
        paths = [str(path) for path in sorted(folder.iterdir())]
        taken, cpu, peak, text = run(
            "fleet", "ingest", str(taken_in), "--workers", "0", "--label", "service=app", *paths
        )
        print(text.splitlines()[0])
        rate = size / 1e6 / cpu
        print(
            f"ingest: {size / 1e6:.0f} MB in {taken:.2f} s, {cpu:.2f} s of CPU, {peak:.0f} MB: {rate:.1f} MB/s and core"
        )
        measure("compact", "fleet", "compact", str(taken_in), "--workers", "0", best_of=1)
    if "store" in parts:
        write_store(store, options.times)
        measure("compact", "fleet", "compact", str(store), "--workers", "0", "--grace", "0", best_of=1)
    if "query" in parts:
        measure("report", "fleet", "report", str(store), "--json")
        measure("report without a tree", "fleet", "report", str(store), "-g", "none")
        measure("inclusive top in SQL", "fleet", "query", str(store), "FROM top() LIMIT 20")
        measure("report of one hour", "fleet", "report", str(store), "--span", f"{DAY}T10:00..{DAY}T11:00")
        measure(
            "samples by release", "fleet", "query", str(store), "SELECT release, count(*) FROM samples GROUP BY ALL"
        )
    if "diff" in parts:
        text = measure(
            "diff", "fleet", "diff", str(store), "--before", "release=2.0", "--after", "release=3.0", best_of=1
        )
        print(text[:2000])


if __name__ == "__main__":
    main()
