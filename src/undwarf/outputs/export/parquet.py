"""Tables as Parquet files, written by DuckDB."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from undwarf.errors import UsageError
from undwarf.profile.table_descriptions import SAMPLES
from undwarf.profile.tables import named

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables


def write(tables: "ExportTables", sink: BinaryIO, _origin: "Origin", *, table: str = SAMPLES.name) -> list[str]:
    """Write a table of the samples' profile. Raises UsageError without DuckDB."""
    write_table(named(tables.profile, table), sink)
    return []


def write_table(table: Any, sink: BinaryIO) -> None:
    """Write anything that has ``__arrow_c_stream__`` to an open file."""
    try:
        import duckdb
    except ImportError:
        raise UsageError("Parquet needs DuckDB", "it is not installed", "pip install 'undwarf[sql]'") from None
    # More threads take a fifth more CPU time: one produces the batches.
    with draft() as file, duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.register("held", table)
        write_relation(connection.sql("FROM held"), file, sink)


@contextmanager
def draft() -> Iterator[Path]:
    """The name of a file that DuckDB may write, in a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="undwarf-") as folder:
        yield Path(folder) / "table.parquet"


def write_relation(relation: Any, file: Path, sink: BinaryIO) -> None:
    """Write DuckDB's relation to a file by its name, and that one to an open file."""
    # DuckDB would write sums, which have 128 bits, as floating-point numbers.
    columns = [
        f"{quoted(name)}::DECIMAL(38, 0) AS {quoted(name)}" if str(kind) in ("HUGEINT", "UHUGEINT") else quoted(name)
        for name, kind in zip(relation.columns, relation.types, strict=True)
    ]
    relation.project(", ".join(columns)).write_parquet(str(file), compression="zstd")
    with file.open("rb") as written:
        while part := written.read(1 << 20):
            sink.write(part)


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'
