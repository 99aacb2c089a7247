"""Arrow arrays over columns, and Parquet files of tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from undwarf.column import zeros
from undwarf.errors import UnreadableInput, UsageError
from undwarf.fleet.kernels.stack_lists import lengths
from undwarf.fleet.layout import ID_BYTES, VERSION, schema
from undwarf.fleet.store import INSTALL

if TYPE_CHECKING:
    import pyarrow

NONE = 0xFFFFFFFF
_TYPES = {"I": "uint32", "Q": "uint64", "i": "int32", "H": "uint16", "B": "uint8", "q": "int64"}
_DELTA = {"samples": {"time": "DELTA_BINARY_PACKED"}}
_PLAIN = {
    "samples": ("time",),
    "stacks": ("id",),
    "frames": ("id", "code_offset"),
    "images": ("id",),
    "recordings": ("id",),
}
"""Columns without a dictionary: their values hardly repeat."""
ROWS = 1 << 20
"""Rows of a row group, the unit that readers decode at once."""


def arrow() -> Any:
    """pyarrow. Raises UsageError if it is not installed."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise UsageError("a store needs pyarrow", "it is not installed", INSTALL) from None
    return pyarrow


def numbers(column: memoryview) -> Any:
    """A column as an Arrow array, without a copy."""
    pa = arrow()
    return pa.Array.from_buffers(getattr(pa, _TYPES[column.format])(), len(column), [None, pa.py_buffer(column)])


def indices(column: memoryview) -> Any:
    """A column (I) of indices as an Arrow array, null where it is NONE."""
    pa = arrow()
    found = numbers(column)
    return pa.compute.if_else(pa.compute.equal(found, pa.scalar(NONE, pa.uint32())), None, found).cast(pa.int32())


def hashes(words: memoryview) -> Any:
    """Hashes (Q, two words each) as an Arrow array."""
    pa = arrow()
    return pa.Array.from_buffers(pa.binary(ID_BYTES), len(words) // 2, [None, pa.py_buffer(words)])


def words(column: Any, what: str) -> memoryview:
    """The hashes (Q, two words each) of an Arrow array of them, which has no nulls. Raises UnreadableInput for values
    that are no hashes."""
    pa = arrow()
    if isinstance(column, pa.ChunkedArray):
        if not column.num_chunks:
            return zeros("Q", 0)
        column = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    if column.null_count:
        raise UnreadableInput("the store is damaged", f"{what} has no hash")
    if not len(column):
        return zeros("Q", 0)
    if column.type == pa.binary(ID_BYTES):
        data, start = memoryview(column.buffers()[1]).cast("B"), column.offset * ID_BYTES
    else:
        # DuckDB has no type for bytes of one length.
        if column.type != pa.binary():
            column = column.cast(pa.binary())
        _valid, offsets, held = column.buffers()
        starts = memoryview(offsets).cast("B")[4 * column.offset : 4 * (column.offset + len(column) + 1)].cast("i")
        if lengths(starts) != (ID_BYTES, ID_BYTES):
            raise UnreadableInput("the store is damaged", f"a hash of {what} has not {ID_BYTES} bytes")
        data, start = memoryview(held).cast("B"), starts[0]
    return data[start : start + len(column) * ID_BYTES].cast("Q")


def column_of(values: Any, typecode: Any = "I") -> memoryview:
    """A column of an Arrow array of numbers without nulls. Raises UnreadableInput for nulls."""
    pa = arrow()

    if not len(values):
        return zeros(typecode, 0)
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)
    if values.null_count:
        raise UnreadableInput("the store is damaged", "a number is missing")
    size = values.type.bit_width // 8
    data = memoryview(values.buffers()[1]).cast("B")
    return data[size * values.offset : size * (values.offset + len(values))].cast(typecode)


def named(column: Any, texts: Sequence[str]) -> Any:
    """Texts by indices, an Arrow array of signed integers of 32 bits that may have nulls."""
    pa = arrow()
    return pa.DictionaryArray.from_arrays(column, pa.array(list(map(clean, texts)), pa.string()))


def repeated(text: str | None, count: int) -> Any:
    """One text, or null, for each row."""
    pa = arrow()
    if text is None:
        return pa.nulls(count, pa.dictionary(pa.int32(), pa.string()))
    return named(pa.repeat(pa.scalar(0, pa.int32()), count), [text])


def clean(text: str) -> str:
    """The text, with what UTF-8 cannot have escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def table(name: str, columns: dict[str, Any]) -> "pyarrow.Table":
    """A table of the layout."""
    pa = arrow()
    kinds = schema(name)
    return pa.table([pa.chunked_array([columns[field.name]]).cast(field.type) for field in kinds], schema=kinds)


def parquet(name: str, rows: "pyarrow.Table") -> bytes:
    """A file of a table."""
    pa = arrow()
    # Dictionaries of Arrow have the order in which their texts came; those of the file that of its rows.
    decoded = [
        pa.field(field.name, pa.string()) if pa.types.is_dictionary(field.type) else field for field in rows.schema
    ]
    kinds = pa.schema(decoded, {"undwarf-fleet": str(VERSION)})
    sink = pa.BufferOutputStream()
    plain = _PLAIN.get(name, ())
    leaves = _leaves(kinds)
    pa.parquet.write_table(
        rows.cast(kinds).combine_chunks(),
        sink,
        compression="zstd",
        compression_level=3,
        row_group_size=ROWS,
        use_dictionary=[leaf for leaf in leaves if leaf not in plain],
        column_encoding=_DELTA.get(name),
        dictionary_pagesize_limit=64 << 20,
        data_page_version="2.0",
        store_schema=False,
    )
    return memoryview(sink.getvalue()).tobytes()


def _leaves(kinds: "pyarrow.Schema") -> list[str]:
    """The paths of the columns of a Parquet file."""
    pa = arrow()
    sink = pa.BufferOutputStream()
    pa.parquet.write_metadata(kinds, sink)
    leaves = pa.parquet.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return [leaves.column(i).path for i in range(len(leaves))]
