"""The symbol store: names, inlined functions and lines of frames in files, found once for the whole fleet.

A frame is known by the build-id of its file and the offset in it, and any machine that has the file can name it. Code
that only the recorded machine knows, as the kernel's and what a compiler made at run time, was named when its recording
was taken.
"""

from array import array
from typing import Any, NamedTuple

from undwarf.fleet.columns import hashes, parquet
from undwarf.fleet.database import Database
from undwarf.fleet.files import finder
from undwarf.fleet.ingest import Reading
from undwarf.fleet.layout import Partition
from undwarf.fleet.merging import merged
from undwarf.fleet.store import DataFile, Store
from undwarf.fleet.symbol_rows import symbol_rows
from undwarf.images import Finder, ImageStore
from undwarf.perfdata.records import FileIdentity

_MISSING = """
SELECT i.name, i.build_id, list(f.id ORDER BY f.id) AS frames, list(f.code_offset ORDER BY f.id) AS offsets
FROM (SELECT id, any_value(image) AS image, any_value(code_offset) AS code_offset FROM frames WHERE name IS NULL
      GROUP BY id) AS f
ANTI JOIN (FROM symbols) AS s ON f.id = s.frame
JOIN (SELECT id, any_value(name) AS name, any_value(build_id) AS build_id FROM images GROUP BY id) AS i
  ON f.image = i.id
WHERE i.build_id <> ''
GROUP BY ALL ORDER BY ALL
"""
_MOST_BUILD_ID = 64
"""Hexadecimal digits."""


class MissingImage(NamedTuple):
    """A file of which frames have no names: its path as recorded, its build-id as hexadecimal digits, hashes and
    offsets in the file of the frames."""

    name: str
    build_id: str
    frames: tuple[bytes, ...]
    offsets: tuple[int, ...]


class Naming(NamedTuple):
    """An image to name, where its file is looked for, and files that are given."""

    store: Store
    image: MissingImage
    reading: Reading
    files: tuple[str, ...] = ()


class Named(NamedTuple):
    """The file of names that was written, None without any; how many frames have names now; why others have none."""

    file: DataFile | None
    frames: int
    problem: str = ""


def missing(database: Database) -> list[MissingImage]:
    """The images of which frames have no names, by path; of a database with tables frames, images and symbols."""
    return [
        MissingImage(row["name"] or "", row["build_id"], tuple(row["frames"]), tuple(row["offsets"]))
        for row in database.arrow(_MISSING).to_pylist()
        if is_build_id(row["build_id"])
    ]


def is_build_id(text: str) -> bool:
    """Whether a text is that of a build-id."""
    return len(text) <= _MOST_BUILD_ID and len(text) % 2 == 0 and set(text) <= set("0123456789abcdef")


def name_image(work: Naming) -> Named:
    """Write the names of an image's frames to a file of the store, which no commit lists yet."""
    with finder(work.reading, work.files) as where:
        rows, problem = _names(work.image, where)
    if rows is None:
        return Named(None, 0, problem)
    table = merged("symbols", [rows])
    file = work.store.put(Partition("symbols"), parquet("symbols", table), table.num_rows)
    return Named(file, table.num_rows, problem)


def _names(image: MissingImage, where: Finder) -> tuple[Any, str]:
    """(the rows of an image's frames, why some have no name)."""
    from undwarf.symbols.inlines import ImageLines, find_inlines
    from undwarf.symbols.resolver import Resolver

    identity = FileIdentity(bytes.fromhex(image.build_id), 0, 0, 0, 0)
    store = ImageStore([b"", image.name.encode("utf-8", "surrogateescape")], [identity], finder=where)
    found = store.image((1, 0))
    if found.elf is None:
        return None, found.problem or "no such file"
    stated = [found.address_of_offset(offset) for offset in image.offsets]
    known = [number for number, address in enumerate(stated) if address is not None]
    if not known:
        return None, "the file has none of the code: a debug file without its binary"
    addresses = memoryview(array("Q", [stated[number] or 0 for number in known]))
    numbers = memoryview(array("I", [found.number] * len(known)))
    functions = Resolver(store).resolve(numbers, addresses)
    inlines = find_inlines(store, numbers, addresses, ImageLines(store))
    ids = hashes(memoryview(b"".join(image.frames[number] for number in known)).cast("Q"))
    rows = symbol_rows(
        ids,
        memoryview(array("I", range(len(known)))),
        [functions.name[number] for number in functions.number],
        [functions.address[number] for number in functions.number],
        [bool(functions.unnamed[number]) for number in functions.number],
        inlines,
    )
    left = len(stated) - len(known)
    return rows, f"{left:,} frames are in no part of the file" if left else ""
