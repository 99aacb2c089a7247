"""Tables as Parquet files, written by DuckDB."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from undwarf.errors import UsageError
from undwarf.outputs.export.tables import Target, write_tables

if TYPE_CHECKING:
    from undwarf.profile.model import Profile


def write(profile: "Profile", target: Target, *, table: str | None = None) -> None:
    """Write one table to a file, or all of them to a directory (:func:`write_tables`). Raises OSError, and UsageError
    without DuckDB."""
    write_tables(profile, target, table, "parquet", write_table)


def write_table(table: Any, sink: BinaryIO) -> None:
    """Write anything that has ``__arrow_c_stream__`` to an open file."""
    try:
        import duckdb
    except ImportError:
        raise UsageError("Parquet needs DuckDB", "it is not installed", "pip install 'undwarf[sql]'") from None
    with tempfile.TemporaryDirectory(prefix="undwarf-") as folder, duckdb.connect(":memory:") as connection:
        draft = Path(folder) / "table.parquet"
        connection.register("held", table)
        # DuckDB would write sums, which have 128 bits, as floating-point numbers.
        wide = [
            name
            for name, kind, *_more in connection.execute("DESCRIBE held").fetchall()
            if kind in ("HUGEINT", "UHUGEINT")
        ]
        exact = ", ".join(f"{quoted(name)}::DECIMAL(38, 0) AS {quoted(name)}" for name in wide)
        path = "'" + str(draft).replace("'", "''") + "'"
        columns = f"* REPLACE ({exact})" if wide else "*"
        connection.execute(f"COPY (SELECT {columns} FROM held) TO {path} (FORMAT parquet, COMPRESSION zstd)")
        with draft.open("rb") as written:
            while part := written.read(1 << 20):
                sink.write(part)


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'
