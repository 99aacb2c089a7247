"""Tables as CSV, Parquet and Arrow files."""

import csv
import io
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pyarrow.ipc
import pyarrow.parquet
import pytest
from tests.support.exports import HOSTILE, hostile_profile
from tests.support.profiles import S, make_profile

from undwarf.arrow.table import ColumnDescription, ColumnType, Table, TableDescription, integers
from undwarf.column import Typecode
from undwarf.errors import UsageError
from undwarf.outputs.export.csv import write_rows, write_table
from undwarf.outputs.export.formats import FORMATS as EVERY
from undwarf.outputs.export.formats import writer
from undwarf.outputs.export.origin import Origin
from undwarf.outputs.export.tables import write
from undwarf.profile.table_descriptions import PROFILE_TABLES
from undwarf.profile.tables import named
from undwarf.views.export_tables import export_tables

FORMATS = [name for name, form in EVERY.items() if form.by_table]
ORIGIN = Origin("perf.data")
READERS: dict[str, Callable[[Path], int]] = {
    "csv": lambda path: len(list(csv.reader(path.read_text().splitlines()))) - 1,
    "parquet": lambda path: pyarrow.parquet.read_table(path).num_rows,
    "arrow": lambda path: pyarrow.ipc.open_file(path).read_all().num_rows,
}


def profile() -> Any:
    return make_profile([S("main@app f@app", comm="a,b\x1b"), S("main@app", comm=None)])


def write_one(name: str, target: Path, table: str | None = None) -> None:
    with target.open("wb") as sink:
        writer(name, table)(export_tables(profile()), sink, ORIGIN)


@pytest.mark.parametrize("name", FORMATS)
def test_all_tables_go_into_a_directory(name: str, tmp_path: Path) -> None:
    write(export_tables(profile()), tmp_path / "out", ORIGIN, name)
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {f"{table.name}.{name}" for table in PROFILE_TABLES}
    assert READERS[name](tmp_path / "out" / f"samples.{name}") == 2


@pytest.mark.parametrize("name", FORMATS)
def test_one_table_goes_into_a_file(name: str, tmp_path: Path) -> None:
    write_one(name, tmp_path / "one", "functions")
    assert READERS[name](tmp_path / "one") == 2


@pytest.mark.parametrize("name", FORMATS)
def test_without_a_name_the_samples_are_written(name: str, tmp_path: Path) -> None:
    write_one(name, tmp_path / "one")
    assert READERS[name](tmp_path / "one") == 2


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_files_have_the_values_of_the_table(name: str, tmp_path: Path) -> None:
    write_one(name, tmp_path / "one", "samples")
    read = polars.read_parquet if name == "parquet" else polars.read_ipc
    assert read(tmp_path / "one").rows() == polars.DataFrame(profile().samples).rows()


def test_csv_escapes_control_characters_and_leaves_null_empty() -> None:
    sink = io.BytesIO()
    writer("csv")(export_tables(profile()), sink, ORIGIN)
    rows = list(csv.DictReader(io.StringIO(sink.getvalue().decode())))
    assert [row["comm"] for row in rows] == ["a,b\\x1b", ""]
    assert [row["whole"] for row in rows] == ["true", "true"]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("table", [one.name for one in PROFILE_TABLES])
def test_csv_is_what_python_would_write(name: str, table: str) -> None:
    given = named(hostile_profile(HOSTILE[name]), table)
    ours, expected = io.BytesIO(), io.BytesIO()
    write_table(given, ours)
    write_rows(given.names, given.rows(), expected)
    assert ours.getvalue() == expected.getvalue() and ours.getvalue().count(b"\n") >= 1


def test_csv_has_the_smallest_and_largest_numbers() -> None:
    limits: dict[ColumnType, tuple[Typecode, int, int]] = {
        "uint8": ("B", 0, 255),
        "int32": ("i", -(1 << 31), (1 << 31) - 1),
        "uint32": ("I", 0, (1 << 32) - 1),
        "int64": ("q", -(1 << 63), (1 << 63) - 1),
        "uint64": ("Q", 0, (1 << 64) - 1),
    }
    columns = [integers(memoryview(array(code, [low, high]))) for code, low, high in limits.values()]
    described = TableDescription("all", "", tuple(ColumnDescription(kind, kind, "") for kind in limits))
    sink = io.BytesIO()
    write_table(Table(described, lambda: iter([columns, columns])), sink)
    lows, highs = (",".join(str(row[place]) for row in limits.values()) for place in (1, 2))
    assert sink.getvalue().decode().splitlines()[1:] == [lows, highs, lows, highs]


@pytest.mark.parametrize(("name", "library", "extra"), [("parquet", "duckdb", "sql"), ("arrow", "pyarrow", "arrow")])
def test_a_missing_library_is_an_error(
    name: str, library: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError) as raised:
        write(export_tables(profile()), tmp_path, ORIGIN, name)
    assert raised.value.hint == f"pip install 'undwarf[{extra}]'"
    assert list(tmp_path.iterdir()) == []
