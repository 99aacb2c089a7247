"""SQL over recordings: what queries read, what they cannot do, and numbers as in other commands."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.profiles import S, make_profile

import undwarf
from undwarf.errors import UsageError
from undwarf.profile.model import Profile
from undwarf.unwind.stop_reason import StopReason
from undwarf.views.data.types import DataTypes
from undwarf.views.flat_profile import flat_profile
from undwarf.views.folded_stacks import fold
from undwarf.views.sql.database import Database, words
from undwarf.views.sql.macros import MACROS
from undwarf.views.unwind_quality import unwind_quality

SHIPPED = Path(__file__).parent.parent.parent / "examples" / "recording"


class Source:
    """A recording; what a query asks for is counted."""

    def __init__(self, profile: Profile, name: str = "a.data") -> None:
        self.name = name
        self.asked: list[str] = []
        self._profile = profile

    @property
    def profile(self) -> Profile:
        self.asked.append("profile")
        return self._profile

    @property
    def data_types(self) -> list[DataTypes]:
        self.asked.append("data_types")
        return [DataTypes()]


SOURCE = Source(make_profile([S("main@app f@app g@libc", 5), S("main@app f@app", 2), S("main@app f@app f@app", 3)]))


def answer(query: str, *sources: Source) -> list[tuple[Any, ...]]:
    return list(Database(query, sources or (SOURCE,)).result().rows)


@pytest.fixture(scope="module")
def shipped() -> Source:
    with undwarf.open(SHIPPED / "words.data", symfs=SHIPPED) as recording:
        return Source(recording.profile())


def test_top_counts_a_recursive_function_once() -> None:
    found = answer('SELECT name, "self", total, total_percent FROM top()')
    assert found == [("f", 5, 10, 100.0), ("main", 0, 10, 100.0), ("g", 5, 5, 50.0)]


def test_top_has_the_weights_of_report(shipped: Source) -> None:
    rows = flat_profile(shipped.profile, ("dso", "sym")).rows
    expected = {(row.key[1], row.key[0]): (row.self_weight, row.children_weight) for row in rows}
    found = {
        (name, dso): (own, total)
        for name, dso, own, total in answer("SELECT name, dso, self, total FROM top()", shipped)
    }
    assert len(found) > 10
    assert found == expected


def test_flame_has_the_lines_of_fold(shipped: Source) -> None:
    folded = fold(shipped.profile, "samples")
    names, expected = folded.names, {}
    for root, node, weight in zip(folded.line_root, folded.line_node, folded.line_weight, strict=True):
        path = []
        while node != 0xFFFFFFFF:
            path.append(names[folded.name[node]])
            node = folded.parent[node]
        expected[";".join([folded.roots[root].text, *reversed(path)])] = weight
    assert len(expected) > 10
    assert dict(answer("SELECT line, samples FROM flame()", shipped)) == expected


def test_the_share_of_whole_stacks_is_that_of_info() -> None:
    profile = make_profile([S("f@app", stop=stop) for stop in StopReason])
    quality = unwind_quality(profile)
    assert 0 < quality.whole < quality.unwound < quality.samples
    found = answer("SELECT count(whole), sum(whole::INT), count(*) FROM samples", Source(profile))
    assert found == [(quality.unwound, quality.whole, quality.samples)]


def test_callers_of_a_function() -> None:
    assert answer("SELECT name, weight, samples FROM callers('f')") == [("main", 10, 3)]
    assert answer("SELECT name, weight, samples FROM callers('main')") == [(None, 10, 3)]


def test_frames_of_a_stack() -> None:
    found = answer("SELECT depth, name FROM frames_of((SELECT stack FROM samples WHERE id = 0))")
    assert found == [(0, "g"), (1, "f"), (2, "main")]


def test_numbers_of_several_recordings_are_of_one_row_each() -> None:
    sources = [Source(make_profile([S("main@app f@app")] * 3), name) for name in ("a.data", "b.data")]
    assert answer("SELECT count(DISTINCT id), count(DISTINCT stack) FROM samples", *sources) == [(6, 2)]
    joined = "SELECT recording, s.name, f.name, p.name FROM samples JOIN stacks s ON s.id = stack AND s.recording = "
    joined += "samples.recording JOIN frames f ON f.id = s.frame JOIN stacks p ON p.id = s.parent"
    query = joined.replace("SELECT recording", "SELECT DISTINCT samples.recording") + " ORDER BY 1"
    assert answer(query, *sources) == [("a.data", "f", "f", "main"), ("b.data", "f", "f", "main")]


def test_top_keeps_recordings_apart() -> None:
    sources = [Source(make_profile([S("f@app", period)]), name) for name, period in (("a.data", 5), ("b.data", 7))]
    assert answer("SELECT recording, name, total FROM top()", *sources) == [("a.data", "f", 5), ("b.data", "f", 7)]


def test_equal_names_of_recordings_are_numbered() -> None:
    sources = [Source(make_profile([S("f@app")])) for _number in range(2)]
    assert answer("SELECT DISTINCT recording FROM samples ORDER BY 1", *sources) == [("a.data",), ("a.data_2",)]


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("SELECT 1", set()),
        ("SELECT count(*) FROM samples", {"profile"}),
        ("SELECT count(*) FROM Types", {"data_types"}),
        ("FROM FIELDS", {"data_types"}),
        ("FROM top()", {"profile"}),
    ],
)
def test_only_what_a_query_names_is_computed(query: str, asked: set[str]) -> None:
    source = Source(make_profile([S("f@app")]))
    answer(query, source)
    assert set(source.asked) == asked


def test_words_of_a_query_are_in_lower_case() -> None:
    assert words('SELECT "Types".x FROM Top()') == {"select", "types", "x", "from", "top"}


def test_table_functions_read_the_tables_they_declare() -> None:
    from undwarf.profile.table_descriptions import TABLES

    names = {table.name for table in TABLES}
    for macro in MACROS:
        used = words(macro.query) & names - {"samples"}
        assert used - set(macro.tables) == set(), macro.name


FORBIDDEN = (
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM glob('/*')",
    "COPY samples TO '{file}.out'",
    "ATTACH '{file}.db'",
    "EXPORT DATABASE '{file}.dir'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SELECT * FROM 'https://example.com/a.parquet'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET python_enable_replacements = true",
)


@pytest.mark.parametrize("query", FORBIDDEN)
def test_a_query_reaches_nothing_but_the_tables(query: str, tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="the query cannot be run"):
        answer(query.format(file=file))
    assert [path.name for path in tmp_path.iterdir()] == ["file.csv"]


@pytest.mark.parametrize(
    ("query", "what", "hint"),
    [
        ("SELECT nam FROM samples", 'Referenced column "nam" not found in FROM clause', '"name"'),
        ("SELECT * FROM sample", "Table with name sample does not exist", 'Did you mean "samples"?'),
        ("SELEC 1", 'syntax error at or near "SELEC"', "undwarf query --tables"),
        ("SELECT error('no') FROM samples", "no", "undwarf query --tables"),
    ],
)
def test_an_error_of_sql_is_one_sentence(query: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        answer(query)
    assert raised.value.what == f"the query cannot be run: {what}"
    assert hint in raised.value.hint


def test_an_old_duckdb_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duckdb.__version__", "1.4.3")
    with pytest.raises(UsageError, match=r"SQL needs DuckDB 1\.5 or newer: version 1\.4\.3 is installed"):
        answer("SELECT 1")


@pytest.mark.parametrize("query", ["", " ", ";", "-- nothing"])
def test_an_empty_query_is_an_error(query: str) -> None:
    with pytest.raises(UsageError, match="there is no query"):
        answer(query)


def test_of_several_statements_the_last_one_has_the_result() -> None:
    assert answer("CREATE TABLE t AS SELECT count(*) AS n FROM samples; SELECT n + 1 FROM t") == [(4,)]


def test_equal_names_of_columns_are_numbered() -> None:
    assert Database("SELECT 1 AS a, 2 AS a", [SOURCE]).result().names == ["a", "a_2"]


def test_all_tables_are_shown_whatever_the_query_names() -> None:
    from undwarf.profile.table_descriptions import TABLES

    assert {name for (name,) in answer("SHOW TABLES")} == {table.name for table in TABLES}
