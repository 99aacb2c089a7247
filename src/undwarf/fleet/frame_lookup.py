"""Finds what frames in files are called and which types their instructions access, once for the whole fleet.

Names and types of one image are two tasks, since each reads other sections of its file; the tasks of all images run at
once, and what they write is one commit.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import NamedTuple

from undwarf.fleet import symbols, types
from undwarf.fleet.compaction import commit_merged
from undwarf.fleet.database import Database
from undwarf.fleet.engine import Workers, run
from undwarf.fleet.files import opened
from undwarf.fleet.ingest import Reading
from undwarf.fleet.store import Store
from undwarf.fleet.symbols import Named, Naming, name_image
from undwarf.fleet.types import Typed, Typing, type_image


class LookedUp(NamedTuple):
    """Frames that got names, and (path, reason) of files whose frames have none; frames whose instructions were looked
    at, how many of them with the types of their file, and (path, damage) of files with debugging information."""

    named: int = 0
    not_named: tuple[tuple[str, str], ...] = ()
    typed: int = 0
    described: int = 0
    damage: tuple[tuple[str, str], ...] = ()


def look_up(
    store: Store,
    workers: Workers,
    reading: Reading,
    files: Sequence[str] = (),
    done: Callable[[int, int], None] | None = None,
    *,
    again: bool = True,
) -> LookedUp:
    """Look up the frames that have no names, and those of whose accesses nothing is known, of images whose files are
    found or given; ``again``: also accesses where the file, or its debugging information, was not there before. Raises
    UndwarfError for given files that cannot be read."""
    for path in files:
        opened(path)
    tasks = _tasks(store, reading.absolute(), tuple(map(os.path.abspath, files)), again)
    workers.reach(store, [*files, *reading.paths()])
    named: list[Named] = []
    typed: list[Typed] = []
    not_named: list[tuple[str, str]] = []
    damage: list[tuple[str, str]] = []
    for work, made, error in run(_looked_up, tasks, workers, done):
        path = work.image.name
        if isinstance(made, Named):
            named.append(made)
            not_named += [(path, made.problem)] if made.problem else []
        elif isinstance(made, Typed):
            typed.append(made)
            damage += [(path, problem) for problem in made.problems]
        else:
            (not_named if isinstance(work, Naming) else damage).append((path, str(error)))
    written: dict[str, Sequence[Named | Typed]] = {"symbols": named, "types": typed}
    commit_merged(store, {table: [one.file for one in of if one.file] for table, of in written.items()}, workers)
    return LookedUp(
        sum(one.frames for one in named),
        tuple(not_named),
        sum(one.frames for one in typed),
        sum(one.described for one in typed),
        tuple(damage),
    )


def _tasks(store: Store, reading: Reading, files: tuple[str, ...], again: bool) -> list[Naming | Typing]:
    with closing(Database(store, tables=("frames", "images", "symbols", "types"))) as database:
        unnamed = symbols.missing(database)
        untyped, releases = types.missing(database, again=again)
    return [
        *(Typing(store, image, reading, files, releases) for image in untyped),
        *(Naming(store, image, reading, files) for image in unnamed),
    ]


def _looked_up(work: Naming | Typing) -> Named | Typed:
    return name_image(work) if isinstance(work, Naming) else type_image(work)
