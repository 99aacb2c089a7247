"""Profiles of other tools on the command line: what shows them, and what says that it needs a recording."""

import json
from pathlib import Path

import pytest
from tests.support.commands import Run, recording, two_events
from tests.support.profile_files import FILES, FOLDED


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a file of each format."""
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize("format", FILES)
def test_each_command_shows_each_format(undwarf: Run, files: Path, format: str) -> None:
    for command in (["report"], ["report", "--json"], ["fold"], ["flamegraph", "-o", "-"]):
        done = undwarf(*command, format)
        assert (done.returncode, done.stderr) in (
            (0, ""),
            (0, "note: only cpu: its unit differs from that of samples (choose with --event)\n"),
        )
        assert "work" in done.stdout


def test_the_report_says_what_the_file_has_not(undwarf: Run, files: Path) -> None:
    done = undwarf("report", "-g", "none", "folded")
    assert done.stdout.splitlines() == [
        "folded: 2 entries",
        "folded stacks: without times, process ids, thread ids, CPUs, thread names, files, source lines, "
        "the reason why stacks end",
        "",
        "weight  2 entries, 15 in all",
        "Children      Self  Symbol",
        " 100.00%    20.00%  [.] main",
        " 100.00%     0.00%  [.] app",
        "  80.00%    80.00%  [.] work",
    ]


def test_json_has_null_for_what_is_not_known(undwarf: Run, files: Path) -> None:
    shown = json.loads(undwarf("report", "--json", "pprof").stdout)
    assert (shown["format"], shown["samples"], shown["lost"], shown["wholeness"]["share"]) == (
        "a pprof profile",
        None,
        None,
        None,
    )
    event = shown["events"][0]
    assert (event["event"], event["unit"], event["weight"], event["rows"][0]["samples"]) == ("cpu", "ns", 30, None)


def test_json_says_what_a_recording_is(undwarf: Run, files: Path) -> None:
    (files / "perf.data").write_bytes(two_events())
    shown = json.loads(undwarf("report", "--json", "perf.data").stdout)
    assert (shown["format"], [event["unit"] for event in shown["events"]]) == ("perf.data", ["ns", "page-faults"])


def test_standard_input_and_pipes(undwarf: Run, files: Path) -> None:
    assert undwarf("fold", "-", stdin=FOLDED).stdout.encode() == FOLDED[17:] + FOLDED[:17]
    assert undwarf("fold", "-", stdin=recording()).stdout.startswith("prog;")


def test_the_format_may_be_given(undwarf: Run, files: Path) -> None:
    (files / "odd").write_bytes(b"no stack\n" + FOLDED)
    assert undwarf("fold", "odd").returncode == 3
    done = undwarf("fold", "--format", "folded", "odd")
    assert done.stdout.encode() == FOLDED[17:] + FOLDED[:17]
    assert done.stderr == "warning: line that is no folded stack in odd: line 1 is the first\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["script", "pprof"], "undwarf script needs a recording (perf.data), and pprof is a pprof profile"),
        (["types", "pprof"], "undwarf types needs a recording (perf.data), and pprof is a pprof profile"),
        (["info", "folded"], "undwarf info needs a recording (perf.data), and folded is folded stacks"),
        (["shrink", "-o", "x", "folded"], "undwarf shrink needs a recording (perf.data), and folded is folded stacks"),
        (["report", "--unwind", "fp", "pprof"], "--unwind needs a recording (perf.data), and pprof is a pprof profile"),
        (
            ["report", "--max-stack", "3", "pprof"],
            "--max-stack needs a recording (perf.data), and pprof is a pprof profile",
        ),
        (["report", "-s", "type", "pprof"], "--sort type needs a recording (perf.data), and pprof is a pprof profile"),
        (["report", "-b", "pprof"], "--branch-stack needs a recording (perf.data), and pprof is a pprof profile"),
        (["report", "-n", "pprof"], "samples cannot be counted"),
        (["report", "--weight", "samples", "pprof"], "samples cannot be counted"),
        (["fold", "--weight", "samples", "pprof"], "samples cannot be counted"),
        (["report", "-s", "pid", "pprof"], "pprof cannot be sorted by pid"),
        (["report", "--pid", "3", "pprof"], "pprof cannot be filtered by process ids"),
        (["report", "--time", "0,1", "folded"], "folded cannot be filtered by times"),
        (["report", "--source", "main", "folded"], "folded has no source lines"),
        (["fold", "--root", "pid", "folded"], "folded has no process ids"),
        (["fold", "--by", "type", "folded"], "--by type needs a recording (perf.data), and folded is folded stacks"),
    ],
)
def test_what_needs_a_recording_says_so_in_one_sentence(
    undwarf: Run, files: Path, arguments: list[str], error: str
) -> None:
    done = undwarf(*arguments)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[0]) == (2, "", f"error: {error}")


@pytest.mark.parametrize("format", FILES)
@pytest.mark.parametrize("form", ["pprof", "speedscope", "callgrind", "otlp", "folded", "csv", "arrow"])
def test_each_format_is_exported(undwarf: Run, files: Path, format: str, form: str) -> None:
    done = undwarf("export", "--format", form, format, "-o", "out")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"note: not in {format}: " in done.stderr and "the reason why stacks end\n" in done.stderr


def test_what_is_not_there_is_named(undwarf: Run, files: Path) -> None:
    done = undwarf("export", "--format", "otlp", "perf-script", "-o", "out")
    assert "note: not in perf-script: source lines, addresses, and the reason why stacks end\n" in done.stderr


@pytest.mark.parametrize(
    ("form", "missing"),
    [
        ("firefox", "times and no thread ids"),
        ("perfetto", "times and no thread ids"),
        ("chrome", "times and no thread ids"),
        ("perf-script", "thread names and no thread ids and no times and no addresses"),
    ],
)
def test_what_shows_times_needs_them(undwarf: Run, files: Path, form: str, missing: str) -> None:
    done = undwarf("export", "--format", form, "folded")
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        [
            f"error: folded has no {missing}, which {form} shows",
            "  try: --format pprof, speedscope, otlp, callgrind, folded, csv, parquet, arrow",
        ],
    )


def test_folded_stacks_stay_the_same(undwarf: Run, files: Path) -> None:
    done = undwarf("export", "--format", "folded", "folded", "-o", "-")
    assert done.stdout.encode() == FOLDED[17:] + FOLDED[:17]


def test_the_input_format_of_an_export_may_be_given(undwarf: Run, files: Path) -> None:
    (files / "odd").write_bytes(b"no stack\n" + FOLDED)
    assert undwarf("export", "--format", "folded", "odd", "-o", "-").returncode == 3
    done = undwarf("export", "--input-format", "folded", "--format", "folded", "odd", "-o", "-")
    assert done.stdout.encode() == FOLDED[17:] + FOLDED[:17]


def test_json_of_what_was_written_has_null_for_what_is_not_known(undwarf: Run, files: Path) -> None:
    shown = json.loads(undwarf("export", "--json", "--format", "pprof", "folded", "-o", "out").stdout)
    (event,) = shown["events"]
    assert (shown["recording"], event["unit"], event["samples"], event["written"]) == ("folded", None, None, True)
    drawn = json.loads(undwarf("flamegraph", "--json", "folded", "-o", "page.html").stdout)
    assert [graph["unit"] for graph in drawn["graphs"]] == [None]


def test_json_of_what_was_written_has_the_unit_that_the_file_states(undwarf: Run, files: Path) -> None:
    shown = json.loads(undwarf("export", "--json", "--format", "folded", "pprof", "-o", "out").stdout)
    drawn = json.loads(undwarf("flamegraph", "--json", "pprof", "-o", "page.html").stdout)
    assert shown["events"][0]["unit"] == drawn["graphs"][0]["unit"] == "ns"


def test_filters_of_frames(undwarf: Run, files: Path) -> None:
    assert undwarf("fold", "--symbol", "main", "folded").stdout == "app;main 3\n"
    done = undwarf("fold", "--symbol", "gone", "folded")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error: no sample was taken in a function named gone")


def test_an_event_is_chosen_by_name(undwarf: Run, files: Path) -> None:
    assert undwarf("fold", "--event", "samples", "pprof").stdout == "main 1\nmain;work 2\n"


@pytest.mark.parametrize("options", [(), ("--mark-kernel",), ("--weight", "period", "--root", "tid")])
def test_folded_stacks_of_a_real_recording_are_read_back_the_same(
    undwarf: Run, files: Path, options: list[str]
) -> None:
    shipped = Path(__file__).parent.parent.parent / "examples" / "recording"
    text = undwarf("fold", *options, "--symfs", shipped, shipped / "words.data").stdout
    (files / "stacks").write_text(text)
    assert text.count("\n") > 5
    assert undwarf("fold", "stacks").stdout == text


@pytest.mark.parametrize("format", FILES)
def test_a_query_reads_each_format(undwarf: Run, files: Path, format: str) -> None:
    done = undwarf("query", format, "SELECT count(*) > 0 AS found, bool_and(whole IS NULL) AS unstated FROM samples")
    assert (done.stdout, done.stderr) == ("found  unstated\ntrue   true\n", "")


def test_a_query_joins_a_recording_with_a_profile_of_another_tool(undwarf: Run, files: Path, perf_data: Path) -> None:
    done = undwarf("query", perf_data, "folded", "SELECT DISTINCT recording FROM top() ORDER BY ALL", "--format", "csv")
    assert done.stdout == f"recording\n{perf_data}\nfolded\n"


@pytest.mark.parametrize("table", ["types", "fields"])
def test_a_query_of_data_types_needs_a_recording(undwarf: Run, files: Path, table: str) -> None:
    done = undwarf("query", "folded", f"FROM {table}")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "error: a query of types or fields needs a recording (perf.data), and folded is folded stacks",
    )


def test_the_table_of_events_has_the_units_that_a_file_states(undwarf: Run, files: Path) -> None:
    done = undwarf("query", "pprof", "SELECT name, unit FROM events ORDER BY name", "--format", "csv")
    assert done.stdout == "name,unit\ncpu,ns\nsamples,count\n"
