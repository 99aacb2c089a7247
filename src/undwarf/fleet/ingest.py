"""Takes recordings into a store: each once, in chunks that appear whole.

A worker unwinds the recordings of a chunk, writes one file a table, day and service, and last the commit that lists
them. If it dies before, nothing of the chunk is there; if it dies after, the recordings are known by their hash when
they come again. Two that take the same recording at once are harmless too: readers count it in one commit
(:mod:`undwarf.fleet.database`).
"""

import errno
import hashlib
import json
import os
import re
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from undwarf.errors import UndwarfError, UnreadableInput, UsageError
from undwarf.fleet.columns import parquet
from undwarf.fleet.engine import Lost, Workers, run
from undwarf.fleet.known_recordings import known_recordings
from undwarf.fleet.labels import MOST_JSON, Shipped, shipped
from undwarf.fleet.layout import PARTITIONED, Partition
from undwarf.fleet.merging import merged
from undwarf.fleet.recording_tables import recording_id, tables_of
from undwarf.fleet.store import DataFile, Store, StoreUnavailable
from undwarf.limits import DEFAULT

CHUNK = 32
"""Recordings of a chunk; more make fewer files, and more work is lost with a worker."""
CHUNK_BYTES = 256 << 20
CHUNKS = 16
"""Into so many fewer recordings are put, so that several workers have work until the end. A chunk costs 15 ms of its
own."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 20
INCOMING = "incoming"
ASIDE = "aside"
_OF_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE)
_DAY = re.compile(r"incoming/(\d{4}-\d\d-\d\d)/")


class Source(NamedTuple):
    """A recording to take. ``path``: of a file here, or with ``in_store`` of one in the store, beside which a JSON file
    has its labels. ``labels``: those that the user gives, which come first."""

    path: str
    size: int
    in_store: bool = False
    labels: tuple[tuple[str, str], ...] = ()


class Reading(NamedTuple):
    """Where files of recordings are looked for, as :func:`undwarf.api.open_recording` has it."""

    symfs: str | None = None
    debug_dirs: tuple[str, ...] = ()
    kallsyms: str | None = None
    vmlinux: str | None = None
    debuginfod: bool = False
    unwind: str = "auto"
    cache: bool = True

    def absolute(self) -> "Reading":
        """The same for who works in another folder."""
        whole = [os.path.abspath(path) if path else None for path in (self.symfs, self.kallsyms, self.vmlinux)]
        folders = tuple(map(os.path.abspath, self.debug_dirs))
        return self._replace(symfs=whole[0], debug_dirs=folders, kallsyms=whole[1], vmlinux=whole[2])

    def paths(self) -> list[str]:
        """Those that are named."""
        return [path for path in (self.symfs, *self.debug_dirs, self.kallsyms, self.vmlinux) if path]


class Chunk(NamedTuple):
    """The work of one run of :func:`ingest_chunk`."""

    store: Store
    sources: tuple[Source, ...]
    reading: Reading


class Taken(NamedTuple):
    """What became of a recording: its ``samples`` if it is in the store, ``known`` if it was before; ``problem``: why
    it cannot be taken."""

    path: str
    samples: int = 0
    size: int = 0
    known: bool = False
    problem: str = ""


def incoming(store: Store, labels: Mapping[str, str] | None = None) -> list[Source]:
    """The recordings that agents have shipped: those whose JSON file is there. Of one that was taken by a process which
    then died that is all there may be left."""
    added = tuple(sorted((labels or {}).items()))
    found = store.found(INCOMING)
    sources = []
    for path in sorted(path for path in found if path.endswith(".json")):
        recording = path.removesuffix(".json")
        names = (recording, recording + ".data.zst", recording + ".data")
        name = next((name for name in names if name in found), recording)
        sources.append(Source(name, found[name].size if name in found else 0, True, added))
    return sources


def chunks(store: Store, sources: Sequence[Source], reading: Reading, size: int | None = None) -> list[Chunk]:
    """The sources in chunks, which depend on nothing but the sources; ``size``: most recordings of one."""
    chosen = sorted(set(sources))
    reading = reading.absolute()
    most = size or min(CHUNK, -(-len(chosen) // CHUNKS))
    # Half of a recording more is let in: else each chunk would have one less.
    most_bytes = min(CHUNK_BYTES, sum(source.size for source in chosen) // CHUNKS) if size is None else CHUNK_BYTES
    made: list[Chunk] = []
    group: list[Source] = []
    held = 0
    for source in chosen:
        if group and (len(group) >= most or held + source.size // 2 > most_bytes):
            made.append(Chunk(store, tuple(group), reading))
            group, held = [], 0
        group.append(source)
        held += source.size
    if group:
        made.append(Chunk(store, tuple(group), reading))
    return made


def ingest_all(work: Sequence[Chunk], workers: Workers, done: Callable[[int, int], None] | None = None) -> list[Taken]:
    """Take the recordings of all chunks; gives what became of each, by path. One that kills its worker is set aside as
    one that cannot be read. Raises UndwarfError if the store cannot be used."""
    taken: list[Taken] = []
    alone: list[Chunk] = []
    if work:
        folders = {
            os.path.dirname(one.path): one.path for one in chain(*(chunk.sources for chunk in work)) if not one.in_store
        }
        workers.reach(work[0].store, [*folders.values(), *work[0].reading.paths()])
    for outcome in run(ingest_chunk, work, workers, done):
        if outcome.made is not None:
            taken += outcome.made
        elif isinstance(outcome.error, Lost) and len(outcome.given.sources) > 1:
            alone += [outcome.given._replace(sources=(source,)) for source in outcome.given.sources]
        elif isinstance(outcome.error, Lost):
            taken.append(_refused(outcome.given.store, outcome.given.sources[0], outcome.error))
        elif outcome.error is not None:
            raise outcome.error
    if alone:
        taken += ingest_all(alone, workers, done)
    return sorted(taken)


def ingest_chunk(chunk: Chunk) -> list[Taken]:
    """Take the recordings of a chunk; gives what became of each. Raises UndwarfError if the store cannot be used."""
    store = chunk.store
    taken: list[Taken] = []
    parts: dict[Partition, list[Any]] = {}
    opened: list[tuple[Source, str, bytes, Shipped, float]] = []
    with tempfile.TemporaryDirectory(prefix="undwarf-") as folder:
        for source, found in zip(
            chunk.sources, store.each(lambda one: _tried(store, one, folder), chunk.sources), strict=True
        ):
            if isinstance(found, FileNotFoundError) and source.in_store:
                # Who takes a recording removes it after its commit, and may die before it says so.
                taken.append(Taken(source.path, size=source.size, known=True))
            elif isinstance(found, Exception):
                _check_machine(found)
                taken.append(_refused(store, source, found))
            else:
                path, digest, about, written = found
                opened.append((source, path, recording_id(digest), about, written))
        recordings = [recording for _source, _path, recording, _about, _written in opened]
        present = known_recordings(store, recordings, _days(chunk.sources))
        for source, path, recording, about, written in sorted(opened, key=lambda one: one[2]):
            if recording in present:
                taken.append(Taken(source.path, size=source.size, known=True))
                continue
            try:
                made, samples = _made(path, recording, source.size, about, written, chunk.reading, folder)
            except Exception as error:  # noqa: BLE001  # one recording that nobody foresaw must not end the others
                _check_machine(error)
                taken.append(_refused(store, source, error))
                continue
            present.add(recording)
            for partition, rows in made:
                parts.setdefault(partition, []).append(rows)
            taken.append(Taken(source.path, samples, source.size))
        files = store.each(lambda partition: _put(store, partition, parts[partition]), sorted(parts))
        if files:
            store.commit(files)
        store.remove(
            path
            for source in chunk.sources
            if source.in_store and any(one.path == source.path and not one.problem for one in taken)
            for path in _both(source.path)
        )
    return sorted(taken)


def _check_machine(error: Exception) -> None:
    """Raise UndwarfError for an error of this machine, which says nothing about a recording."""
    if isinstance(error, OSError) and error.errno in _OF_MACHINE:
        what = f"{socket.gethostname()} cannot take recordings"
        raise UndwarfError(what, error.strerror or "", "see whether its disk is full, and run the command again")


def _days(sources: Sequence[Source]) -> tuple[str, str] | None:
    """The first and last day on which shipped recordings may begin, by where they lie; None where nothing says it. Of a
    recording that lies elsewhere than its time says, what is in the store is found by readers."""
    days = [_DAY.match(source.path) if source.in_store else None for source in sources]
    try:
        found = sorted(date.fromisoformat(day[1]) for day in days if day is not None)
        if not found or len(found) < len(days):
            return None
        return (found[0] - timedelta(days=1)).isoformat(), (found[-1] + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return None


def _made(
    path: str, recording: bytes, size: int, about: Shipped, written: float, reading: Reading, folder: str
) -> tuple[list[tuple[Partition, Any]], int]:
    """(the tables of a recording by partition, the number of samples); ``folder`` may have files of its own."""
    from undwarf.api import open_recording

    kallsyms = None
    if about.kallsyms:
        kallsyms = os.path.join(folder, "kallsyms")
        Path(kallsyms).write_bytes(about.kallsyms)
    with open_recording(
        path,
        format="perf.data",
        symfs=reading.symfs,
        kallsyms=reading.kallsyms or kallsyms,
        vmlinux=reading.vmlinux,
        debug_dirs=reading.debug_dirs,
        debuginfod=reading.debuginfod,
        unwind=reading.unwind,
        cache=reading.cache,
    ) as opened:
        found = tables_of(opened, recording, size, about, int(written * 1e9))
    made = []
    samples = 0
    for part in found:
        samples += part.tables["samples"].num_rows
        for name, rows in part.tables.items():
            if rows.num_rows:
                where = Partition(name, part.day, part.service) if name in PARTITIONED else Partition(name)
                made.append((where, rows))
    return made, samples


def _put(store: Store, partition: Partition, tables: list[Any]) -> DataFile:
    rows = merged(partition.table, tables)
    return store.put(partition, parquet(partition.table, rows), rows.num_rows)


def _tried(store: Store, source: Source, folder: str) -> tuple[str, bytes, Shipped, float] | Exception:
    """A recording as :func:`_fetched` gives it, or why it cannot be read. Raises StoreUnavailable."""
    try:
        return _fetched(store, source, folder)
    except StoreUnavailable:
        raise
    except (UndwarfError, OSError, ValueError) as error:
        return error


def _fetched(store: Store, source: Source, folder: str) -> tuple[str, bytes, Shipped, float]:
    """(the path of the recording on this machine, its SHA-256, its labels, when it was written). Raises
    FileNotFoundError if it is gone."""
    about = Shipped({})
    if source.in_store:
        about = shipped(_labels_of(store, source.path), source.path)
        path = os.path.join(folder, hashlib.sha256(source.path.encode()).hexdigest())
        store.copy(source.path, path)
        written = about.end / 1e9 if about.end is not None else 0.0
    else:
        path = source.path
        written = os.stat(path).st_mtime
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        start = file.read(4)
        digest.update(start)
        while piece := file.read(_PIECE):
            digest.update(piece)
    if about.sha256 and about.sha256 != digest.hexdigest():
        raise UnreadableInput(f"cannot read {source.path}", "its SHA-256 is not that of its labels")
    about = about._replace(labels={**about.labels, **dict(source.labels)})
    if start == _ZSTD:
        path = _unpacked(path, os.path.join(folder, digest.hexdigest()))
    return path, digest.digest(), about, written


def _labels_of(store: Store, path: str) -> bytes:
    for labels in _both(path)[1:]:
        try:
            return store.read(labels, MOST_JSON)
        except FileNotFoundError:
            continue
    store.asked(lambda: store.open(path)).close()
    raise UnreadableInput(f"cannot read {path}", "its labels are gone")


def _both(path: str) -> list[str]:
    """A recording in the store and the names that the file of its labels may have."""
    return [path, path + ".json", path.removesuffix(".zst").removesuffix(".data") + ".json"]


def _unpacked(path: str, target: str) -> str:
    """The path of the contents of a file that is one zstd stream. Raises UnreadableInput if they are too large."""
    import zstandard

    most = max(DEFAULT.profile_ratio * os.stat(path).st_size, DEFAULT.profile_unpacked_bytes)
    size = 0
    try:
        with open(path, "rb") as file, open(target, "wb") as sink:
            for piece in zstandard.ZstdDecompressor().read_to_iter(file, read_size=_PIECE):
                size += len(piece)
                if size > most:
                    raise UnreadableInput(f"cannot read {path}", f"it unpacks to more than {most:,} bytes")
                sink.write(piece)
    except zstandard.ZstdError as error:
        raise UnreadableInput(f"cannot read {path}", f"its compression is damaged: {error}") from None
    return target


def _refused(store: Store, source: Source, error: Exception) -> Taken:
    """A recording that cannot be taken; in the store it is set aside."""
    problem = f"{type(error).__name__}: {error}" if not isinstance(error, UndwarfError) else str(error)
    if source.in_store:
        set_aside(store, source.path, problem)
    return Taken(source.path, size=source.size, problem=problem)


def set_aside(store: Store, path: str, problem: str) -> None:
    """Move a shipped recording to where nothing is taken from, with a file that says why."""
    target = ASIDE + path.removeprefix(INCOMING)
    store.write(target + ".problem.json", json.dumps({"problem": problem[:2000]}).encode())
    for one in _both(path):
        # It may be gone, or be a link, which stays.
        with suppress(FileNotFoundError, UnreadableInput):
            store.write(ASIDE + one.removeprefix(INCOMING), store.read(one))
    for one in _both(path):
        with suppress(UnreadableInput):
            store.remove([one])


def given(paths: Sequence[str], labels: dict[str, str]) -> list[Source]:
    """Sources of files that the user names. Raises UsageError for one that is not there."""
    sources = []
    for path in paths:
        try:
            size = os.stat(path).st_size
        except OSError as error:
            raise UsageError(f"cannot read {path}", error.strerror or str(error), "name a recording") from None
        sources.append(Source(os.path.abspath(path), size, False, tuple(sorted(labels.items()))))
    return sources
