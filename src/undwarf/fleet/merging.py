"""Tables of several files as one: rows that are the same are there once, in an order that depends on nothing else.

Merging is associative: however the files are grouped and in whatever order they come, the result is the same.
"""

import zlib
from array import array
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from undwarf.column import zeros
from undwarf.errors import UnreadableInput
from undwarf.fleet.columns import arrow, numbers, words
from undwarf.fleet.kernels.stack_lists import lengths, numbered, tree_of_lists
from undwarf.fleet.layout import schema
from undwarf.fleet.parquet_footer import footer
from undwarf.fleet.type_order import TYPES_ORDER, UNREAD
from undwarf.limits import DEFAULT, Limits
from undwarf.ordering import take
from undwarf.profile.stack_order import depth_first

if TYPE_CHECKING:
    import pyarrow

_SAMPLE_ORDER = (
    "host", "time", "cpu", "pid", "tid", "recording", "event", "stack", "period", "comm", "stop", "stop_image",
    "container", "pod", "release", "data_source", "latency", "data_page_size",
)  # fmt: skip  # a list of columns
_KEYS = {"stacks": "id", "frames": "id", "images": "id", "recordings": "id", "symbols": "frame"}


def read_table(name: str, contents: bytes, limits: Limits = DEFAULT, count: int | None = None) -> "pyarrow.Table":
    """The rows of a file. Raises UnreadableInput if it has other columns than the layout, or too much in them: a few
    bytes may stand for any number of equal values; and if it has not ``count`` rows, by which work is divided."""
    return read_columns(name, arrow().BufferReader(contents), schema(name).names, limits, count)


def read_columns(
    name: str, source: Any, columns: Sequence[str], limits: Limits = DEFAULT, count: int | None = None
) -> "pyarrow.Table":
    """Some columns of a file that is open. Raises UnreadableInput as :func:`read_table` does."""
    pa = arrow()
    kinds = pa.schema([schema(name).field(column) for column in columns])
    try:
        about = footer(source, limits.store_footer_bytes)
        if about.values > limits.store_values or about.size > 16 * limits.store_values:
            why = f"a file of {name} has more than {limits.store_values:,} values"
            raise UnreadableInput("the store is damaged", why, "raise the limit if it is genuine")
        if count is not None and about.rows != count:
            raise UnreadableInput("the store is damaged", f"a file of {name} has {about.rows:,} rows, not {count:,}")
        source.seek(0)
        found = pa.parquet.ParquetFile(source).read(list(columns))
        # Readers may know dictionaries as plain texts, and the other way round.
        return pa.table([found[field.name].cast(field.type) for field in kinds], schema=kinds)
    except (pa.ArrowException, KeyError, ValueError, OSError) as error:
        raise UnreadableInput("the store is damaged", f"a file of {name} cannot be read: {error}") from None


def of_hosts(rows: "pyarrow.Table", part: int, parts: int) -> "pyarrow.Table":
    """The samples of those hosts that belong to a part, which a hash of their name says."""
    if parts == 1:
        return rows
    pa = arrow()
    hosts = pa.compute.unique(rows["host"]).to_pylist()
    chosen = [host for host in hosts if zlib.crc32((host or "").encode()) % parts == part]
    return rows.filter(pa.compute.is_in(rows["host"].cast(pa.string()), pa.array(chosen, pa.string())))


def merged(
    name: str, tables: "Sequence[pyarrow.Table]", without: Collection[bytes] = (), limits: Limits = DEFAULT
) -> "pyarrow.Table":
    """The rows of all tables of one name; ``without`` those of samples of these recordings."""
    pa = arrow()
    rows = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    if name == "samples":
        if without:
            others = pa.array(sorted(without), pa.binary(16))
            rows = rows.filter(pa.compute.invert(pa.compute.is_in(rows["recording"], others)))
        return _sorted(rows, [(column, "ascending") for column in _SAMPLE_ORDER])
    if name == "types":
        return _best_types(rows)
    key = _KEYS[name]
    rows = _best(name, rows, key)
    if name == "stacks":
        return rows.take(numbers(_by_place(rows, limits)))
    return rows


def _best(name: str, rows: "pyarrow.Table", key: str) -> "pyarrow.Table":
    """One row of each key, in the order of keys; of rows that differ the one that says most."""
    pa = arrow()
    order = [(key, "ascending")]
    if name == "images":
        # An image that was found somewhere has no problem.
        order.append(("problem", "ascending"))
    elif name == "symbols":
        rows = rows.append_column("lines", pa.compute.list_value_length(rows["inlined"]))
        order += [("unnamed", "ascending"), ("lines", "descending"), ("name", "ascending"), ("start", "ascending")]
    elif name == "frames":
        # All of its samples are of the kinds that the largest number stands for.
        order.append(("sampled", "descending"))
    rows = _sorted(rows, order)
    if name == "symbols":
        rows = rows.drop_columns("lines")
    _number, first = numbered(words(rows[key], name))
    return rows.take(numbers(first))


def _best_types(rows: "pyarrow.Table") -> "pyarrow.Table":
    """One row of each frame and precision, in their order; of rows that differ the one that says most."""
    compute = arrow().compute
    is_unread = compute.fill_null(compute.equal(rows["evidence"].cast(arrow().string()), UNREAD), False)
    rank = compute.if_else(rows["described"], 0, compute.if_else(is_unread, 2, 1))
    order = ["frame", "precision", "rank", *TYPES_ORDER]
    rows = _sorted(rows.append_column("rank", rank), [(one, "ascending") for one in order]).drop_columns("rank")
    rows = rows.combine_chunks()
    changes = [
        compute.fill_null(compute.not_equal(column.slice(1), column.slice(0, len(column) - 1)), True)
        for column in (rows["frame"], rows["precision"].cast(arrow().string()))
    ]
    first = arrow().chunked_array([arrow().array([True] * min(1, rows.num_rows)), *compute.or_(*changes).chunks])
    return rows.filter(first)


def _sorted(rows: "pyarrow.Table", order: list[tuple[str, str]]) -> "pyarrow.Table":
    """The rows in this order."""
    pa = arrow()
    plain = pa.table(
        {
            column: rows[column].cast(pa.string()) if pa.types.is_dictionary(rows[column].type) else rows[column]
            for column, _way in order
        }
    )
    return rows.take(pa.compute.sort_indices(plain, sort_keys=order))


def _by_place(rows: "pyarrow.Table", limits: Limits) -> memoryview:
    """Row numbers (I) of stacks, sorted by id, so that those which share callers are beside each other: compressed,
    they take a fourth less."""
    starts, frames = lists(rows["frames"], limits)
    number, _first = numbered(frames)
    parent, frame, nodes = tree_of_lists(starts, number)
    _depth, position, _last, _again = depth_first(parent, frame, len(number))
    pa = arrow()
    places = numbers(take(position, nodes)) if len(nodes) else pa.array([], pa.uint32())
    order = pa.compute.sort_indices(places).cast(pa.uint32())
    found = zeros("I", len(order))
    if len(order):
        found.cast("B")[:] = memoryview(order.buffers()[1]).cast("B")[: 4 * len(order)]
    return found


def lists(column: Any, limits: Limits = DEFAULT) -> "tuple[memoryview[int], memoryview[int]]":
    """(starts (i), hashes (Q, two words each)) of a column of lists of frames. Raises UnreadableInput for lists that no
    stack has: empty, null or too long."""
    pa = arrow()
    if isinstance(column, pa.ChunkedArray):
        if not column.num_chunks:
            return zeros("i", 1), zeros("Q", 0)
        column = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    if not len(column):
        return zeros("i", 1), zeros("Q", 0)
    offsets = memoryview(column.buffers()[1]).cast("B")[4 * column.offset : 4 * (column.offset + len(column) + 1)]
    starts = offsets.cast("i")
    least, most = lengths(starts)
    if column.null_count or not 0 < least <= most <= limits.store_depth:
        raise UnreadableInput("the store is damaged", f"a stack has no frames, or more than {limits.store_depth:,}")
    if starts[0]:
        starts = memoryview(array("i", [start - starts[0] for start in starts]))
    return starts, words(column.flatten(), "a stack")
