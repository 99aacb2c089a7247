"""The store of types: which struct and member the instructions of innermost frames access, found once for the fleet.

What an instruction accesses depends on the code alone, so any machine that has the file and its debugging information
can tell, by build-id and offset; in the kernel and its modules by the name of the function and the offset in it. Code
that is in no such file was looked at when its recording was taken.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from undwarf.defects import Defects
from undwarf.fleet.columns import arrow, hashes, parquet, repeated
from undwarf.fleet.database import Database
from undwarf.fleet.files import finder
from undwarf.fleet.ingest import Reading
from undwarf.fleet.layout import Partition
from undwarf.fleet.store import DataFile, Store
from undwarf.fleet.symbols import is_build_id
from undwarf.fleet.type_order import RANK
from undwarf.fleet.type_rows import DIFFER, Known, places_of, rank_of, type_rows, unread_rows
from undwarf.images import Finder, Image, ImageKind, ImageStore
from undwarf.limits import DEFAULT
from undwarf.ordering import ascending
from undwarf.perfdata.records import FileIdentity
from undwarf.profile.access_resolution import Place, Resolution, resolve_places
from undwarf.profile.skid_kinds import StopKind
from undwarf.types.no_debuginfo import CodeWithoutTypes, unread

if TYPE_CHECKING:
    from undwarf.symbols.symbol_table import SymbolTable
    from undwarf.types.resolvers_by_image import ImageResolvers

NEVER = 3
"""The rank of a frame that has not been looked at; see :data:`undwarf.fleet.type_order.RANK`."""
_KINDS = ("file", "kernel", "module")
"""Kinds of images whose files can be found again."""
_MOST_RELEASES = 256
"""Releases of kernels under whose names a kernel's file is looked for."""
_MISSING = f"""
WITH seen AS (
    SELECT id, any_value(image) AS image, greatest(any_value(code_offset), 0) AS code_offset, any_value(name) AS name,
           max(sampled) AS sampled
    FROM frames WHERE sampled > 0 GROUP BY id),
known AS (
    SELECT frame, precision, min({RANK}) AS rank, arg_min(evidence, {RANK}) AS evidence
    FROM types GROUP BY frame, precision),
ranked AS (
    SELECT seen.*, greatest(
        coalesce(k_at.rank, {NEVER}),
        CASE WHEN sampled >= 2 AND k_at.evidence IN {DIFFER} THEN coalesce(k_late.rank, {NEVER}) ELSE 0 END,
        CASE WHEN sampled >= 3 AND k_at.rank < 2 THEN coalesce(k_after.rank, {NEVER}) ELSE 0 END) AS rank
    FROM seen
    LEFT JOIN (FROM known WHERE precision = 'at') AS k_at ON k_at.frame = seen.id
    LEFT JOIN (FROM known WHERE precision = 'late') AS k_late ON k_late.frame = seen.id
    LEFT JOIN (FROM known WHERE precision = 'after') AS k_after ON k_after.frame = seen.id)
SELECT i.name, i.kind, i.build_id, list(r.id ORDER BY r.id) AS frames, list(r.code_offset ORDER BY r.id) AS offsets,
       list(r.name ORDER BY r.id) AS names, list(r.sampled ORDER BY r.id) AS sampled, list(r.rank ORDER BY r.id) AS rank
FROM ranked AS r
JOIN (SELECT id, any_value(name) AS name, any_value(kind) AS kind, any_value(build_id) AS build_id
      FROM images GROUP BY id) AS i ON r.image = i.id
WHERE i.build_id <> '' AND i.kind IN {_KINDS} AND r.rank >= {{least}}
GROUP BY ALL ORDER BY ALL
"""
_RELEASES = "SELECT DISTINCT osrelease FROM recordings WHERE osrelease <> '' ORDER BY ALL"


class UntypedImage(NamedTuple):
    """A file with frames to look at: its path as recorded, its kind, its build-id as hexadecimal digits. By frame: its
    id, its offset in the file, or in the function of this name, how samples were taken there (``frames.sampled``), and
    how little is known already."""

    name: str
    kind: str
    build_id: str
    frames: tuple[bytes, ...]
    offsets: tuple[int, ...]
    names: tuple[str | None, ...]
    sampled: tuple[int, ...]
    ranks: tuple[int, ...]


class Typing(NamedTuple):
    """An image to look at, where its file is looked for, files that are given, and releases of kernels."""

    store: Store
    image: UntypedImage
    reading: Reading
    files: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()


class _Features(NamedTuple):
    osrelease: str


class Typed(NamedTuple):
    """The file of types that was written, None without any; of how many frames more is known now, and of how many of
    these the types of the file; what was wrong with debugging information."""

    file: DataFile | None
    frames: int
    described: int
    problems: tuple[str, ...]


def missing(database: Database, *, again: bool) -> tuple[list[UntypedImage], tuple[str, ...]]:
    """(the images with frames to look at, by path; releases of kernels), of a database with tables frames, images and
    types. ``again``: also frames that were looked at without their file, or without its debugging information."""
    rows = database.arrow(_MISSING.format(least=1 if again else NEVER)).to_pylist()
    releases = database.arrow(_RELEASES)["osrelease"].to_pylist() if rows else []
    columns = ("frames", "offsets", "names", "sampled", "rank")
    images = [
        UntypedImage(row["name"] or "", row["kind"], row["build_id"], *(tuple(row[column]) for column in columns))
        for row in rows
        if is_build_id(row["build_id"])
    ]
    return images, tuple(releases[:_MOST_RELEASES])


def type_image(work: Typing) -> Typed:
    """Write what the frames of an image access to a file of the store, which no commit lists yet."""
    defects = Defects()
    with finder(work.reading, work.files) as where:
        where.defects = defects
        rows, frames, described = _looked_at(work, where, defects)
    problems = tuple(f"{one.kind}{f': {one.detail}' if one.detail else ''}" for one in defects)
    if not rows.num_rows:
        return Typed(None, 0, 0, problems)
    file = work.store.put(Partition("types"), parquet("types", rows), rows.num_rows)
    return Typed(file, frames, described, problems)


def _looked_at(work: Typing, where: Finder, defects: Defects) -> tuple[Any, int, int]:
    """(the rows of those frames of an image of which more is known now; how many; how many with the file's types)."""
    asked = work.image
    image, resolvers = _opened(work, where, defects)
    found = resolvers.in_file(image.number)
    if isinstance(found, str):
        rows = _unread(asked, found)
        return rows, rows.num_rows, 0
    if image.kind is ImageKind.FILE:
        addresses: list[int | str] = [_address(image, offset) for offset in asked.offsets]
    else:
        addresses = _addresses_by_name(image, resolvers, asked)
    chosen, resolved = [], {}
    for number, address in enumerate(addresses):
        if isinstance(address, str):
            # It has no address; a place of its own stands for it.
            known = Known(asked.frames[number], asked.sampled[number], image.number + 1, number)
            why = unread(asked.offsets[number], address)
            has_types = not isinstance(found, CodeWithoutTypes)
            resolved.update(dict.fromkeys(places_of([known]), Resolution(why, has_types, False, False, True)))
        else:
            known = Known(asked.frames[number], asked.sampled[number], image.number, address)
        chosen.append(known)
    places = [place for place in places_of(chosen) if place.image == image.number]
    answers = resolve_places(
        places, lambda _image, address: (found, address), answers_of=resolvers.answers, contained=resolvers.contained
    )
    resolved.update(zip(places, answers, strict=True))
    at = [resolved[Place(one.image, one.address, StopKind.AT)] for one in chosen]
    better = [number for number, one in enumerate(at) if rank_of(one) < asked.ranks[number]]
    rows = type_rows([chosen[number] for number in better], resolved)
    return rows, len(better), sum(at[number].resolved for number in better)


def _unread(asked: UntypedImage, reason: str) -> Any:
    """The rows of an image whose code cannot be read, for frames that were never looked at."""
    pa = arrow()
    new = pa.array([number for number, rank in enumerate(asked.ranks) if rank == NEVER], pa.int32())
    ids = hashes(memoryview(b"".join(asked.frames)).cast("Q")).take(new)
    return unread_rows(ids, pa.array(asked.offsets, pa.int64()).take(new), repeated(reason, len(new)))


def _opened(work: Typing, where: Finder, defects: Defects) -> "tuple[Image, ImageResolvers]":
    """The image, and what opens its debugging information: with the first release under whose name its file is there,
    of the kernel or a module."""
    from undwarf.types.answer_cache import answer_files
    from undwarf.types.resolvers_by_image import ImageResolvers

    name = work.image.name.encode("utf-8", "surrogateescape")
    identity = FileIdentity(bytes.fromhex(work.image.build_id), 0, 0, 0, 0)
    cache = answer_files(DEFAULT) if work.reading.cache else None
    for release in (*(work.releases if work.image.kind != "file" else ()), ""):
        store = ImageStore([b"", name], [identity], _Features(release), where)
        image, resolvers = store.image((1, 0)), ImageResolvers(store, DEFAULT, defects, kept=cache)
        if not release or not isinstance(resolvers.in_file(image.number), str):
            break
    return image, resolvers


def _address(image: Image, offset: int) -> int:
    """The address of an offset in the file; of one in no loaded part, as in recordings, the offset."""
    address = image.address_of_offset(offset)
    return offset if address is None else address


def _addresses_by_name(image: Image, resolvers: "ImageResolvers", asked: UntypedImage) -> "list[int | str]":
    """The addresses in the file of a kernel, or a module, of places in functions; or the reason why one has none."""
    table, found = _functions(image, resolvers), resolvers.in_file(image.number)
    if table is None:
        return ["no symbols in the kernel's file"] * len(asked.frames)
    texts = [(name or "").encode("utf-8", "surrogateescape") for name in asked.names]
    symbols_of: dict[bytes, list[int]] = {text: [] for text in texts if text}
    names, starts = table.describe(ascending(len(table)), len(table))
    for number, aliases in enumerate(names):
        for alias in aliases if isinstance(aliases, list) else (aliases,):
            if alias in symbols_of:
                symbols_of[alias].append(number)
    addresses: list[int | str] = []
    for text, offset in zip(texts, asked.offsets, strict=True):
        symbols = symbols_of.get(text, ())
        places = {starts[one] + offset for one in symbols if _contains(table, one, starts[one] + offset)}
        if len(places) > 1 and not isinstance(found, str | CodeWithoutTypes):
            # Of functions with one name, samples were taken in one that has an instruction there.
            places = {one for one in places if found.instruction(one) is not None}
        if len(places) == 1:
            addresses += places
        else:
            addresses.append("several functions have this name" if places else "function not found in the file")
    return addresses


def _functions(image: Image, resolvers: "ImageResolvers") -> "SymbolTable | None":
    """The functions of a kernel or a module, at the addresses that its resolver uses."""
    from undwarf.symbols.elf_symbols import symbols_of_elf
    from undwarf.symbols.kernel_modules import symbols_of_module

    if image.kind is ImageKind.MODULE:
        return symbols_of_module(image.elf) if image.elf is not None else None
    kernel = resolvers.kernel()
    if isinstance(kernel, str):
        return None
    return kernel.symbols or symbols_of_elf(kernel.elf)


def _contains(table: "SymbolTable", symbol: int, address: int) -> bool:
    start, end = table.extent(symbol)
    return start <= address < end
