"""``undwarf query``"""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from tests.support.commands import Run, recording, two_events
from tests.support.types.programs import build
from tests.support.types.recordings import memory_recording, place

FOLDER = Path(__file__).parent.parent.parent / "examples" / "recording"
OPTIONS = ["--symfs", FOLDER, FOLDER / "words.data"]
LIST = """
struct node { long key; struct node *next; };
__attribute__((noinline)) long sum(struct node *n) { long s = 0; for (; n; n = n->next) s += n->key; return s; }
int main(int argc, char **argv) { return sum((struct node *)argv); }
"""
COUNT = "SELECT name, count(*) AS n, sum(period) AS weight FROM samples GROUP BY name ORDER BY n DESC LIMIT 2"


def test_a_result_is_a_table(undwarf: Run) -> None:
    done = undwarf("query", *OPTIONS, COUNT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "name       n     weight\ncompare  297  297893673\nmerge    212  212637908\n"


def test_a_result_as_csv(undwarf: Run) -> None:
    done = undwarf("query", *OPTIONS, COUNT, "--format", "csv")
    assert done.stdout == "name,n,weight\ncompare,297,297893673\nmerge,212,212637908\n"


def test_a_result_as_json(undwarf: Run) -> None:
    done = undwarf("query", *OPTIONS, COUNT, "--format", "json")
    assert json.loads(done.stdout)[0] == {"name": "compare", "n": 297, "weight": 297893673}


def test_a_result_without_rows_is_an_empty_array(undwarf: Run) -> None:
    done = undwarf("query", *OPTIONS, "SELECT id FROM samples WHERE false", "--format", "json")
    assert json.loads(done.stdout) == []


def test_a_result_as_parquet_has_exact_sums(undwarf: Run, tmp_path: Path) -> None:
    done = undwarf("query", *OPTIONS, COUNT, "-o", "result.parquet")
    assert (done.returncode, done.stdout) == (0, "")
    rows = pyarrow.parquet.read_table(tmp_path / "result.parquet").to_pylist()
    assert rows[0] == {"name": "compare", "n": 297, "weight": 297893673}


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_failed_query_leaves_no_file(undwarf: Run, tmp_path: Path, ending: str) -> None:
    done = undwarf("query", *OPTIONS, "SELECT error(name) FROM samples", "-o", f"result.{ending}")
    assert done.returncode == 2
    assert "the query cannot be run" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_filters_come_before_the_query(undwarf: Run, perf_data: Path) -> None:
    query = "SELECT count(*) AS n FROM samples"
    assert undwarf("query", perf_data, query, "--format", "csv").stdout == "n\n3\n"
    assert undwarf("query", "--cpu", "1", perf_data, query, "--format", "csv").stdout == "n\n1\n"


def test_two_recordings_in_one_query(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "a.data").write_bytes(recording(samples=2))
    (tmp_path / "b.data").write_bytes(two_events())
    query = "SELECT recording, event, count(*) FROM samples GROUP BY ALL ORDER BY 1, 2"
    done = undwarf("query", "a.data", "b.data", query, "--format", "csv")
    assert done.stdout.splitlines()[1:] == ["a.data,cpu-clock,2", "b.data,cpu-clock,3", "b.data,page-faults,1"]


def test_the_recording_is_perf_data_by_default(undwarf: Run, perf_data: Path) -> None:
    assert undwarf("query", "SELECT count(*) AS n FROM samples", "--format", "csv").stdout == "n\n3\n"


def test_hostile_names_are_escaped_in_every_format(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(recording(comm=b'\x1b[31m\n,"'))
    query = "SELECT DISTINCT comm FROM samples"
    assert undwarf("query", query).stdout == 'comm\n\\x1b[31m\\x0a,"\n'
    assert undwarf("query", query, "--format", "csv").stdout == 'comm\n"\\x1b[31m\\x0a,"""\n'
    assert json.loads(undwarf("query", query, "--format", "json").stdout) == [{"comm": '\x1b[31m\n,"'}]


def test_an_error_of_sql_has_no_traceback(undwarf: Run, perf_data: Path) -> None:
    done = undwarf("query", perf_data, "SELECT nam FROM samples")
    assert done.returncode == 2
    assert done.stderr.startswith('error: the query cannot be run: Referenced column "nam" not found in FROM clause\n')
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [[], ["perf.data"], ["perf.data", "perf.data"]])
def test_a_missing_query_is_an_error(undwarf: Run, perf_data: Path, arguments: list[str]) -> None:
    done = undwarf("query", *arguments)
    assert done.returncode == 2
    assert "there is no query" in done.stderr
    assert "FROM top() LIMIT 20" in done.stderr


def test_tables_lists_tables_and_functions(undwarf: Run) -> None:
    lines = undwarf("query", "--tables").stdout.splitlines()
    heads = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert heads == [
        "samples", "stacks", "stack_frames", "stack_weights", "frames", "functions", "images", "events", "processes",
        "types", "fields", "top()", "callers(function)", "flame()", "frames_of(node)",
    ]  # fmt: skip  # a list


def test_types_and_fields_of_a_recording(undwarf: Run, tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O1")
    key, following = (place(binary, "sum", "struct node", member, "r") for member in ("key", "next"))
    data = memory_recording(tmp_path, binary, [{"ip": one} for one in (key, following, key)])
    query = "SELECT types.name, fields.name, fields.samples FROM fields JOIN types ON types.id = type ORDER BY 2"
    done = undwarf("query", data, query, "--format", "csv")
    assert done.stdout.splitlines()[1:] == ["struct node,key,2", "struct node,next,1"], done.stderr


def test_types_of_each_event(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(two_events())
    done = undwarf("query", "SELECT count(*) AS n FROM types", "--format", "csv")
    assert (done.returncode, done.stdout) == (0, "n\n0\n")


@pytest.mark.parametrize(
    "query", ["SELECT line FROM frames", "SELECT line FROM frames_of((SELECT min(stack) FROM samples))"]
)
def test_frames_have_source_lines(undwarf: Run, tmp_path: Path, query: str) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O1")
    data = memory_recording(tmp_path, binary, [{"ip": place(binary, "sum", "struct node", "key", "r")}])
    done = undwarf("query", data, query, "--format", "csv")
    assert (done.returncode, done.stdout) == (0, "line\n3\n"), done.stderr


def test_a_long_query_is_no_file(undwarf: Run, perf_data: Path) -> None:
    query = f"SELECT '{'x' * 5000}' AS text, count(*) AS n FROM samples"
    assert undwarf("query", query, "--format", "csv").stdout == f"text,n\n{'x' * 5000},3\n"


def test_without_duckdb_the_error_says_what_to_install(perf_data: Path) -> None:
    code = f"""
import sys
sys.modules["duckdb"] = None
from undwarf.cli.main import run
print(run(["query", {str(perf_data)!r}, "FROM top()"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "2\n"
    assert "SQL needs DuckDB" in done.stderr
    assert "pip install 'undwarf[sql]'" in done.stderr


def test_query_needs_neither_pyarrow_nor_numpy(perf_data: Path) -> None:
    code = f"""
import sys
for name in ("pyarrow", "numpy", "pandas", "polars"):
    sys.modules[name] = None
from undwarf.cli.main import run
assert run(["query", {str(perf_data)!r}, "SELECT count(*) AS n FROM samples", "--format", "csv"]) == 0
assert run(["query", {str(perf_data)!r}, "FROM top()", "-o", {str(perf_data.parent / "a.parquet")!r}]) == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "n\n3\n"), done.stderr
    assert pyarrow.parquet.read_table(perf_data.parent / "a.parquet").num_rows == 1
