"""Streams of other libraries as columns of our own."""

from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undwarf.arrow.columns_of_stream import Column, StreamError, columns_of_stream

ENTRY = pa.struct({"name": pa.string(), "line": pa.int32()}.items())
TYPES: dict[str, tuple[Any, Any]] = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint16": (pa.uint16(), st.integers(0, 2**16 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "hash": (pa.binary(16), st.binary(min_size=16, max_size=16)),
    "text": (pa.string(), st.text()),
    "long text": (pa.large_string(), st.text()),
    "bytes": (pa.binary(), st.binary()),
    "list": (pa.list_(pa.binary(16)), st.lists(st.binary(min_size=16, max_size=16), max_size=3)),
    "structs": (
        pa.large_list(ENTRY),
        st.lists(st.fixed_dictionaries({"name": st.none() | st.text(), "line": st.none() | st.integers(0, 9)})),
    ),
}


def values(column: Column, kind: pa.DataType) -> list[Any]:
    """The entries as Python objects."""
    if pa.types.is_struct(kind):
        fields = {name: values(column.children[name], kind.field(name).type) for name in column.children}
        found: list[Any] = [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)]
    elif column.children:
        inner = values(column.entries, kind.value_type)
        found = [inner[start:end] for start, end in pairwise(column.starts)]
    elif len(column.starts):
        data = [bytes(column.values[start:end]) for start, end in pairwise(column.starts)]
        found = [one if pa.types.is_binary(kind) else one.decode() for one in data]
    elif pa.types.is_fixed_size_binary(kind):
        data = bytes(column.values.cast("B"))
        found = [data[at : at + 16] for at in range(0, len(data), 16)]
    else:
        found = column.values.tolist()
    assert len(found) == column.length
    if column.nulls is not None:
        return [None if null else value for value, null in zip(found, column.nulls, strict=True)]
    return found


@pytest.mark.parametrize("name", TYPES)
@given(st.data())
def test_columns_have_the_values_of_all_batches(name: str, data: st.DataObject) -> None:
    kind, one = TYPES[name]
    chunks = data.draw(st.lists(st.lists(st.none() | one, max_size=4), min_size=1, max_size=3))
    skipped = data.draw(st.integers(0, 2))
    table = pa.table({"a": pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)}).slice(skipped)
    found = columns_of_stream(table.__arrow_c_stream__())
    assert values(found["a"], kind) == table["a"].to_pylist()


def test_slices_of_structs_have_their_own_fields() -> None:
    whole = pa.array([{"name": "a", "line": 1}, {"name": None, "line": 2}, {"name": "c", "line": None}], ENTRY)
    table = pa.table({"s": whole}).slice(1)
    assert values(columns_of_stream(table.__arrow_c_stream__())["s"], ENTRY) == whole.to_pylist()[1:]


def test_what_a_producer_raises_late_is_an_error() -> None:
    def rows() -> Any:
        yield pa.record_batch({"a": pa.array([1])})
        raise RuntimeError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), rows())
    with pytest.raises(StreamError, match="the disk is gone"):
        columns_of_stream(reader.__arrow_c_stream__())


@pytest.mark.parametrize("query", ["SELECT 1.5::FLOAT", "SELECT true", "SELECT 'a'::ENUM('a', 'b')"])
def test_other_types_are_an_error(query: str) -> None:
    with pytest.raises(ValueError, match="a column"):
        columns_of_stream(duckdb.sql(query).__arrow_c_stream__())


def test_what_is_no_stream_is_an_error() -> None:
    with pytest.raises(ValueError, match="PyCapsule"):
        columns_of_stream(5)
