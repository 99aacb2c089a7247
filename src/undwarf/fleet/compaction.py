"""Makes few large files of many small ones, and drops old days.

Each partition becomes one file, by a tree of merges of at most ``FAN_IN`` files each, whose result does not depend on
how the recordings came. Samples of more than ``ROWS`` become several files, each of some hosts, so that no merge takes
more memory than that needs. Readers see the old files or the new ones: one commit replaces all others.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from undwarf.errors import UndwarfError
from undwarf.fleet.columns import parquet
from undwarf.fleet.database import repeated_recordings
from undwarf.fleet.engine import Workers, run
from undwarf.fleet.layout import Partition
from undwarf.fleet.merging import merged, of_hosts, read_table
from undwarf.fleet.store import DataFile, Store

FAN_IN = 64
"""Files that one merge reads."""
ROWS = 2 << 20
"""Samples of a partition above which it has several files."""
GRACE = 3600.0
"""Seconds for which replaced files stay, for readers that have begun to read them."""


class Merge(NamedTuple):
    """Files of one partition that become one; of samples and recordings without those of ``without``, by the path of
    the file that repeats them."""

    store: Store
    partition: Partition
    files: tuple[DataFile, ...]
    without: tuple[tuple[str, bytes], ...] = ()
    share: tuple[int, int] = (0, 1)
    """Of samples, which part of the hosts: its number, and how many parts there are."""


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
    tables = []
    for file in work.files:
        rows = of_hosts(read_table(name, work.store.read(file.path)), *work.share)
        without = [recording for path, recording in work.without if path == file.path]
        tables.append(merged(name, [rows], without) if without else rows)
    rows = merged(name, tables)
    return work.store.put(work.partition, parquet(name, rows), rows.num_rows)


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
    contents = store.contents()
    before = [file for files in contents.partitions.values() for file in files]
    dropped = sorted({where.day for where in contents.partitions if where.day and where.day < first_day})
    repeated = repeated_recordings(store, contents)
    level = {
        where: list(files) for where, files in contents.partitions.items() if not where.day or where.day >= first_day
    }
    made = _merged_all(store, workers, level, repeated, done)
    settled = sorted(made)
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
    made: list[DataFile] = []
    first = True
    while level:
        tasks = []
        for where, files in level.items():
            parts = _parts(where, files)
            if parts > 1:
                without = tuple(one for one in repeated if one[0] in {file.path for file in files})
                tasks += [Merge(store, where, tuple(files), without, (part, parts)) for part in range(parts)]
                continue
            for at in range(0, len(files), FAN_IN):
                group = tuple(files[at : at + FAN_IN])
                paths = {file.path for file in group}
                without = tuple(one for one in repeated if first and one[0] in paths)
                tasks.append(Merge(store, where, group, without))
        outcomes = run(merge, tasks, workers, done)
        first = False
        above: dict[Partition, list[DataFile]] = {}
        for outcome in outcomes:
            if outcome.error is not None or outcome.made is None:
                if isinstance(outcome.error, UndwarfError):
                    raise outcome.error
                where = outcome.given.partition
                raise UndwarfError(f"cannot compact {where.table} of {where.day or 'all days'}", str(outcome.error))
            if outcome.given.share[1] > 1:
                made.append(outcome.made)
            else:
                above.setdefault(outcome.given.partition, []).append(outcome.made)
        level = {}
        for where, files in above.items():
            if len(files) == 1:
                made += files
            else:
                level[where] = files
    return [file for file in made if file.rows]


def _parts(where: Partition, files: Sequence[DataFile]) -> int:
    """How many files a partition gets: a power of two, by its number of samples."""
    rows = sum(file.rows for file in files) if where.table == "samples" else 0
    return 1 << max(0, -(-rows // ROWS) - 1).bit_length()
