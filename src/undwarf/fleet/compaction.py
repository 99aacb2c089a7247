"""Makes few large files of many small ones, and drops old days.

Each partition becomes one file, by a tree of merges of at most ``FAN_IN`` files each, whose result does not depend on
how the recordings came. Samples of more than ``ROWS`` become several files, each of some hosts, so that no merge takes
more memory than that needs. Readers see the old files or the new ones: one commit replaces all others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from undwarf.errors import UndwarfError
from undwarf.fleet.columns import parquet
from undwarf.fleet.database import repeated_recordings
from undwarf.fleet.engine import Outcome, Workers, run
from undwarf.fleet.layout import Partition
from undwarf.fleet.merging import merged, of_hosts, read_table
from undwarf.fleet.store import DataFile, Store

Work = TypeVar("Work", "Merge", "Split")
Made = TypeVar("Made")
FAN_IN = 64
"""Files that one merge reads."""
ROWS = 2 << 20
"""Samples of a partition above which it has several files."""
PARTS = 1 << 12
"""Files of a partition, at most: what a commit says about rows is not known to be true."""
GRACE = 3600.0
"""Seconds for which replaced files stay, for readers that have begun to read them."""


class Merge(NamedTuple):
    """Files of one partition that become one; of samples and recordings without those of ``without``, by the path of
    the file that repeats them. ``part``: of samples, which part of the hosts they are of."""

    store: Store
    partition: Partition
    files: tuple[DataFile, ...]
    without: tuple[tuple[str, bytes], ...] = ()
    part: int = 0


class Split(NamedTuple):
    """A file of samples that becomes several, each of a part of the hosts; without the recordings of ``without``."""

    store: Store
    partition: Partition
    file: DataFile
    parts: int
    without: tuple[bytes, ...] = ()


class Compacted(NamedTuple):
    """The number of files and bytes before and after, of files removed, and of days dropped."""

    files_before: int
    files: int
    bytes_before: int
    bytes: int
    removed: int
    dropped: tuple[str, ...] = ()


def merge(work: Merge) -> DataFile:
    """Write the file of a merge."""
    name = work.partition.table

    def read(file: DataFile) -> Any:
        rows = read_table(name, work.store.read(file.path), work.store.limits, file.rows)
        without = [recording for path, recording in work.without if path == file.path]
        return merged(name, [rows], without) if without else rows

    rows = merged(name, work.store.each(read, work.files))
    return work.store.put(work.partition, parquet(name, rows), rows.num_rows)


def commit_merged(store: Store, files: Mapping[str, Sequence[DataFile]], workers: Workers) -> None:
    """Make what workers have written of tables that are not divided by day one file each, and commit them at once."""
    work = [Merge(store, Partition(table), tuple(some)) for table, some in sorted(files.items()) if some]
    made = []
    for outcome in run(merge, work, workers):
        if outcome.made is None:
            raise outcome.error or UndwarfError(f"files of {outcome.given.partition.table} cannot be merged")
        made.append(outcome.made)
    if made:
        store.commit(made)


def split(work: Split) -> list[DataFile]:
    """Write the files of a split, one for each part."""
    name, file = work.partition.table, work.file
    rows = merged(name, [read_table(name, work.store.read(file.path), work.store.limits, file.rows)], work.without)
    parts = [of_hosts(rows, part, work.parts) for part in range(work.parts)]
    return work.store.each(lambda part: work.store.put(work.partition, parquet(name, part), part.num_rows), parts)


def compact(
    store: Store,
    workers: Workers,
    *,
    grace: float = GRACE,
    first_day: str = "",
    done: Callable[[int, int], None] | None = None,
) -> Compacted:
    """Make one file of each partition, without days before ``first_day``, and remove what was replaced ``grace``
    seconds ago. Raises UndwarfError if a partition cannot be merged: nothing is changed then."""
    workers.reach(store)
    contents = store.contents()
    before = [file for files in contents.partitions.values() for file in files]
    dropped = sorted({where.day for where in contents.partitions if where.day and where.day < first_day})
    repeated = repeated_recordings(store, contents)
    kept: list[DataFile] = []
    level: dict[Partition, list[DataFile]] = {}
    for where, files in contents.partitions.items():
        if where.day and where.day < first_day:
            continue
        commits = {contents.commit_of[file.path] for file in files}
        unsplit = len(files) == 1 and _parts(where, files) > 1
        if len(commits) > 1 or unsplit or any(path == file.path for file in files for path, _recording in repeated):
            level[where] = list(files)
        else:
            # Of one chunk, or of a compaction: it is merged already.
            kept += files
    made = _merged_all(store, workers, level, repeated, done)
    settled = sorted([*kept, *made])
    stale = len(contents.commits) > 1 or contents.replaced_by or any(one.replaces for one in contents.commits)
    if settled != sorted(before) or stale:
        commit = store.commit(settled, [one.name for one in contents.commits] + sorted(contents.replaced_by))
        removed = store.clean(grace)
        if not store.contents().replaced_by:
            # What it names is gone. Without the names, stores with the same recordings are the same.
            final = store.commit(settled)
            if final.name != commit.name:
                store.remove([f"commits/{commit.name}.json"])
    else:
        removed = store.clean(grace)
    return Compacted(
        len(before),
        len(settled),
        sum(file.size for file in before),
        sum(file.size for file in settled),
        removed,
        tuple(dropped),
    )


def _merged_all(
    store: Store,
    workers: Workers,
    level: dict[Partition, list[DataFile]],
    repeated: Sequence[tuple[str, bytes]],
    done: Callable[[int, int], None] | None,
) -> list[DataFile]:
    """The files of all partitions."""
    splits = []
    groups: dict[tuple[Partition, int], list[DataFile]] = {}
    for where, files in level.items():
        parts = _parts(where, files)
        for file in files if parts > 1 else ():
            without = tuple(recording for path, recording in repeated if path == file.path)
            splits.append(Split(store, where, file, parts, without))
        if parts == 1:
            groups[where, 0] = files
    for split_of, files in _outcomes(run(split, splits, workers, done)):
        for part, file in enumerate(files):
            if file.rows:
                groups.setdefault((split_of.partition, part), []).append(file)
    made: list[DataFile] = []
    while groups:
        tasks = []
        for (where, part), files in groups.items():
            for at in range(0, len(files), FAN_IN):
                group = tuple(files[at : at + FAN_IN])
                paths = {file.path for file in group}
                tasks.append(Merge(store, where, group, tuple(one for one in repeated if one[0] in paths), part))
        above: dict[tuple[Partition, int], list[DataFile]] = {}
        for merge_of, file in _outcomes(run(merge, tasks, workers, done)):
            above.setdefault((merge_of.partition, merge_of.part), []).append(file)
        made += [files[0] for files in above.values() if len(files) == 1]
        groups = {key: files for key, files in above.items() if len(files) > 1}
    return [file for file in made if file.rows]


def _outcomes(outcomes: "Sequence[Outcome[Work, Made]]") -> "list[tuple[Work, Made]]":
    """What was made of each input. Raises UndwarfError if anything failed."""
    found = []
    for outcome in outcomes:
        if outcome.error is not None or outcome.made is None:
            if isinstance(outcome.error, UndwarfError):
                raise outcome.error
            where = outcome.given.partition
            raise UndwarfError(f"cannot compact {where.table} of {where.day or 'all days'}", str(outcome.error))
        found.append((outcome.given, outcome.made))
    return found


def _parts(where: Partition, files: Sequence[DataFile]) -> int:
    """How many files a partition gets: a power of two, by its number of samples."""
    rows = sum(file.rows for file in files) if where.table == "samples" else 0
    return min(PARTS, 1 << max(0, -(-rows // ROWS) - 1).bit_length())
