"""Stores of the shipped recordings, and recordings of several hosts that share code."""

import os
from array import array
from pathlib import Path

import pyarrow

from undwarf import Event, Mapping, PerfDataWriter
from undwarf.fleet.columns import parquet
from undwarf.fleet.database import Database
from undwarf.fleet.engine import LocalWorkers
from undwarf.fleet.frame_lookup import look_up
from undwarf.fleet.ingest import Reading, Taken, chunks, given, ingest_all
from undwarf.fleet.layout import Partition
from undwarf.fleet.store import Store
from undwarf.fleet.symbol_rows import symbol_rows

SHIPPED = Path(__file__).parents[2] / "examples" / "recording"
RECORDINGS = [str(path) for path in sorted(SHIPPED.glob("*.data"))]
READING = Reading(symfs=str(SHIPPED), kallsyms=str(SHIPPED / "kernel-symbols"), cache=False)
BUILD_ID = "ab" * 20
NOON = 1_795_867_200
"""Seconds since 1970 at 2026-11-28 12:00 UTC."""


def take(store: Store, paths: list[str], *, size: int = 32, names: bool = True, **labels: str) -> list[Taken]:
    """Take recordings into a store, within this process."""
    workers = LocalWorkers(0)
    taken = ingest_all(chunks(store, given(paths, labels), READING, size), workers)
    if names:
        look_up(store, workers, READING)
    return taken


NAMES = {0x100: "parse", 0x10F: "parse", 0x110: "hash", 0x120: "copy", 0x7FF: "work", 0x8FF: "main"}
"""The functions of :func:`write_host`, by offset in their file."""


def name_frames(store: Store) -> None:
    """Give the frames of :func:`write_host` names, as if their file had been here."""
    database = Database(store)
    found = database.arrow("SELECT id, any_value(code_offset) AS code_offset FROM frames GROUP BY id ORDER BY id")
    database.close()
    count = found.num_rows
    ids = found["id"].combine_chunks().cast(pyarrow.binary(16))
    offsets = found["code_offset"].to_pylist()
    names = [NAMES.get(offset, f"{offset:#x}") for offset in offsets]
    table = symbol_rows(ids, memoryview(array("I", range(count))), names, offsets, [False] * count, None)
    store.commit([store.put(Partition("symbols"), parquet("symbols", table), count)])


def files_of(store: Store) -> dict[str, bytes]:
    """The contents of all files of a store, by path."""
    return {path: store.read(path) for path in store.found("")}


def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    """The rows of a query."""
    database = Database(store)
    try:
        return database.connection.execute(query).fetchall()
    finally:
        database.close()


def write_host(
    path: Path, host: str, *, samples: int = 50, period: int = 1000, start: int = 10**9, mix: tuple[int, ...] = ()
) -> str:
    """A recording of a host whose program is in no file here, of NOON: of three functions by offset, in turn, or as
    many samples of each as ``mix`` has."""
    places = [place for place, count in enumerate(mix) for _sample in range(count)] or [n % 3 for n in range(samples)]
    with path.open("wb") as sink, PerfDataWriter(sink, [Event("cpu-clock", period=period)], hostname=host) as writer:
        writer.comm(7, 7, "server")
        writer.mapping(7, Mapping(0x400000, 0x500000, 0, "/srv/server", build_id=BUILD_ID))
        for number, place in enumerate(places):
            calls = [0x400100 + 16 * place, 0x400800, 0x400900]
            writer.sample(calls[0], 7, 7, start + number * 10**6, period=period, callchain=calls)
    os.utime(path, (NOON, NOON))
    return str(path)


def of_host(path: str, target: Path, host: str) -> str:
    """A copy of one of RECORDINGS, of NOON, with another name of its host in the header."""
    recorded = b"vm".ljust(24, b"\0")
    contents = Path(path).read_bytes()
    assert contents.count(recorded) == 1
    target.write_bytes(contents.replace(recorded, host.encode().ljust(24, b"\0")))
    os.utime(target, (NOON, NOON))
    return str(target)
