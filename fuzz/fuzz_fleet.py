"""Parquet files of a fleet's store from any bytes: refused, or tables that can be merged and written again."""

import sys

import mutate

from undwarf.errors import UnreadableInput

try:
    import pyarrow as pa

    from undwarf.fleet.columns import parquet
    from undwarf.fleet.layout import TABLES, schema
    from undwarf.fleet.merging import merged, read_table
except ImportError:
    sys.exit(0)


def one_input(data: bytes) -> None:
    """The first byte says which table."""
    name = TABLES[data[0] % len(TABLES)] if data else TABLES[0]
    try:
        rows = merged(name, [read_table(name, data[1:])])
    except UnreadableInput:
        return
    assert read_table(name, parquet(name, rows)).num_rows == rows.num_rows, "what was written can be read"


def seeds() -> list[bytes]:
    """A file of each table, of rows that are null but for their ids."""
    found = []
    for number, name in enumerate(TABLES):
        columns = []
        for field in schema(name):
            if field.type == pa.binary(16):
                columns.append(pa.array([b"a" * 16, b"b" * 16], field.type))
            elif name == "stacks":
                columns.append(pa.array([[b"a" * 16], [b"a" * 16, b"c" * 16]], field.type))
            else:
                columns.append(pa.nulls(2, field.type))
        found.append(bytes([number]) + parquet(name, pa.table(columns, schema=schema(name))))
    return found


if __name__ == "__main__":
    mutate.main(one_input, seeds())
