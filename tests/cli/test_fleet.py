"""``undwarf fleet`` on the command line."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest
from tests.support.fleets import SHIPPED, name_frames, write_host
from tests.support.page_parts import decode
from tests.support.perfdata.build import PLAIN, Attr, Build

from undwarf.cli.main import run
from undwarf.fleet.store import Store
from undwarf.perfdata import SampleField

WORDS = str(SHIPPED / "words.data")


class Done(NamedTuple):
    """What a command printed, errors behind the rest, and its exit code."""

    exit_code: int
    output: str


Command = Callable[..., Done]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs undwarf in this process."""

    def call(*arguments: object) -> Done:
        code = run([str(one) for one in arguments])
        return Done(code, "".join(capsys.readouterr()))

    return call


@pytest.fixture
def fleet(command: Command) -> Command:
    """Runs a command of `undwarf fleet`."""
    return partial(command, "fleet")


@pytest.fixture
def store(tmp_path: Path, fleet: Command) -> Path:
    """A store of five hosts of each of two releases; the second spends more in one function."""
    for release, samples in (("1", (40, 30, 30)), ("2", (60, 20, 20))):
        first, second, third = samples
        paths = [
            write_host(tmp_path / f"{release}-{n}.data", f"host-{release}-{n}", mix=(first + n, second - n, third))
            for n in range(5)
        ]
        done = fleet("ingest", tmp_path / "store", "--workers", 0, "--label", f"release={release}", *paths)
        assert done.exit_code == 0, done.output
    name_frames(Store(str(tmp_path / "store")))
    return tmp_path / "store"


def test_a_report_is_that_of_the_recording_but_for_its_name(tmp_path: Path, fleet: Command, command: Command) -> None:
    store = tmp_path / "store"
    assert fleet("ingest", store, "--workers", 0, "--symfs", SHIPPED, WORDS).exit_code == 0
    for options in (
        [],
        ["-g", "callee", "--sort", "sym"],
        ["--json"],
        ["-n", "--no-children", "-S", "count_word"],
        ["-F", "overhead,sample,sym"],
        ["--caller", "main", "--group", "-g", "none"],
        ["-d", "words", "-s", "cpu,tid,dso"],
    ):
        one = command("report", "--no-cache", "--symfs", SHIPPED, *options, WORDS)
        many = fleet("report", store, *options)
        assert one.exit_code == many.exit_code == 0
        assert many.output.replace(str(store), WORDS) == one.output


def test_ingest_says_what_it_took_and_what_not(tmp_path: Path, fleet: Command) -> None:
    bad = tmp_path / "bad\x1b[2J.data"
    bad.write_bytes(b"nothing")
    done = fleet("ingest", tmp_path / "store", "--workers", 0, bad, write_host(tmp_path / "one.data", "one"))
    assert done.exit_code == 1
    first, second, *_rest = done.output.splitlines()
    assert first.startswith("1 recording with 50 samples taken")
    assert second.startswith("refused: ") and "\x1b" not in second
    again = fleet("ingest", tmp_path / "store", "--workers", 0, tmp_path / "one.data")
    assert "1 known before" in again.output


def test_a_query_reads_the_tables_alone(store: Path, fleet: Command) -> None:
    done = fleet("query", store, "SELECT release, count(*) FROM samples GROUP BY ALL ORDER BY ALL", "--format", "csv")
    assert done.output.splitlines()[1:] == ["1,500", "2,500"]
    for query in (
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/undwarf-escaped'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ):
        assert fleet("query", store, query).exit_code == 2, query
    assert not os.path.exists("/tmp/undwarf-escaped")


def test_a_result_can_be_a_parquet_file(store: Path, tmp_path: Path, fleet: Command) -> None:
    assert fleet("query", store, "FROM top()", "-o", tmp_path / "top.parquet").exit_code == 0
    (row,) = duckdb.sql(f"SELECT sum(self) FROM '{tmp_path}/top.parquet'").fetchall()
    assert row == (1_000_000,)


def test_top_adds_up_self_and_total(store: Path, fleet: Command) -> None:
    rows = json.loads(fleet("query", store, "FROM top()", "--format", "json").output)
    assert {row["name"]: (row["self"], row["total"], row["percent"]) for row in rows} == {
        "main": (0, 1_000_000, 100.0),
        "work": (0, 1_000_000, 100.0),
        "parse": (520_000, 520_000, 52.0),
        "hash": (230_000, 230_000, 23.0),
        "copy": (250_000, 250_000, 25.0),
    }


@pytest.mark.parametrize("name", ["words", "particles", "nested-512"])
def test_top_is_the_report(name: str, tmp_path: Path, fleet: Command) -> None:
    kernel = ("--kallsyms", SHIPPED / "kernel-symbols")
    fleet("ingest", tmp_path, "--workers", 0, "--symfs", SHIPPED, *kernel, SHIPPED / f"{name}.data")
    (event,) = json.loads(fleet("report", tmp_path, "-s", "sym,dso", "--percent-limit", 0, "--json").output)["events"]
    expected = {(row["sym"], row["dso"]): (row["self"], row["total"]) for row in event["rows"]}
    rows = json.loads(fleet("query", tmp_path, "FROM top()", "--format", "json").output)
    assert {(row["name"], row["dso"]): (row["self"], row["total"]) for row in rows} == expected
    assert len(expected) > 3


def test_a_comparison_names_the_function_that_changed_first(store: Path, fleet: Command) -> None:
    done = fleet("diff", store, "--before", "release=1", "--after", "release=2", "--json")
    document = json.loads(done.output)
    assert [side["samples"] for side in document["before"]["recordings"]] == [100] * 5
    row, *_others = document["events"][0]["tables"][0]["rows"]
    assert (row["name"], row["significant"]) == ("parse", True)
    assert row["share"]["before"] == pytest.approx(0.42)
    assert row["share"]["after"] == pytest.approx(0.62)
    assert row["share"]["difference_low"] < 0.2 < row["share"]["difference_high"]


@pytest.mark.parametrize(
    ("condition", "code"),
    [("function:parse > +10pp", 4), ("function:parse > +30pp", 0), ("image:* > +1pp", 0), ("whole < -2pp", 0)],
)
def test_a_condition_decides_the_exit_code(condition: str, code: int, store: Path, fleet: Command) -> None:
    done = fleet("diff", store, "--before", "release=1", "--after", "release=2", "--fail-if", condition)
    assert done.exit_code == code, done.output
    assert f"{condition}: {'holds' if code else ''}" in done.output


@pytest.mark.parametrize("condition", ["total > +1%", "type:node > +1pp", "function:"])
def test_conditions_that_a_store_cannot_decide_are_refused(condition: str, store: Path, fleet: Command) -> None:
    done = fleet("diff", store, "--before", "release=1", "--after", "release=2", "--fail-if", condition)
    assert done.exit_code == 2


def test_one_host_cannot_be_compared(tmp_path: Path, fleet: Command) -> None:
    fleet("ingest", tmp_path / "store", "--workers", 0, write_host(tmp_path / "one.data", "one"))
    done = fleet("diff", tmp_path / "store", "--before", "host=one", "--after", "host=one")
    assert done.exit_code == 2
    assert "one host and one recording" in done.output


def test_old_days_are_dropped(store: Path, fleet: Command) -> None:
    assert "dropped" not in fleet("retain", store, "--days", 30_000, "--workers", 0).output
    done = fleet("retain", store, "--days", 1, "--workers", 0, "--grace", 0, "--json")
    kept = json.loads(done.output)
    assert kept["days_dropped"] in ([], ["2026-11-28"])


def test_hostile_names_are_escaped(tmp_path: Path, fleet: Command) -> None:
    hostile = b'\xff"\x1b[2J\n</script>'
    b, attr = Build(), Attr(sample_type=PLAIN | SampleField.CALLCHAIN)
    records = [b.comm(attr, hostile[:15]), b.mmap2(attr, b"/nowhere/" + hostile, pid=10, tid=10)]
    records.append(b.sample(attr, ip=0x400100, pid=10, tid=10, chain=(2**64 - 512, 0x400100)))
    path = tmp_path / "hostile.data"
    path.write_bytes(b.file([attr], records))
    store = tmp_path / "store"
    assert fleet("ingest", store, "--workers", 0, path).exit_code == 0
    for command in ("report", "symbols missing", "query"):
        words = [*command.split(), str(store), *(["FROM images"] if command == "query" else [])]
        done = subprocess.run([sys.executable, "-m", "undwarf", "fleet", *words], capture_output=True, check=True)
        assert b"\x1b" not in done.stdout
        assert b"[2J" in done.stdout or command == "symbols missing"
    page = tmp_path / "page.html"
    assert fleet("flamegraph", store, "-o", page).exit_code == 0
    assert page.read_text().count("</script>") == 3, "two parts of the page and its script"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "STORE"], "has no recordings"),
        (["report", "STORE", "--span", "yesterday"], "no term of a span"),
        (["report", "STORE", "--span", "2026-11-28..2026-11-27"], "ends before it starts"),
        (["report", "STORE", "--sort", "mem"], "needs a recording"),
        (["ingest", "STORE", "--label", "nothing", WORDS], "is no label"),
        (["ingest", "STORE", "/nowhere/one.data"], "cannot read /nowhere/one.data"),
        (["compact", "STORE", "--dask", "tcp://x:1", "--workers", "2"], "exclude each other"),
        (["symbols", "add", "STORE", "/etc/passwd"], "cannot"),
        (["ingest", "nowhere://bucket", WORDS], "is no store"),
    ],
)
def test_errors_say_what_is_wrong(arguments: list[str], words: str, tmp_path: Path, fleet: Command) -> None:
    done = fleet(*(str(tmp_path / "store") if one == "STORE" else one for one in arguments))
    assert done.exit_code in (1, 2, 3)
    assert words in " ".join(done.output.split())
    assert "defect of undwarf" not in done.output


def test_a_store_is_served_until_it_is_interrupted(store: Path) -> None:
    command = [sys.executable, "-m", "undwarf", "fleet", "serve", str(store), "--span", "release=2"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Shells start what runs in the background with interrupts ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as server:
        try:
            assert server.stdout is not None and select.select([server.stdout], [], [], 60)[0]
            address = server.stdout.readline().decode().strip()
            with urllib.request.urlopen(address, timeout=20) as page:
                assert b'data-served="true"' in page.read()
            with urllib.request.urlopen(f"{address}part/fleet?span=host%3Dhost-2-1", timeout=20) as answer:
                about = decode(answer.read())
            assert (about.store, about.within) == (str(store), "release=2")
            assert about.span["labels"] == [["host", ["host-2-1"]]]
            server.send_signal(signal.SIGINT)
            _out, errors = server.communicate(timeout=20)
            assert (server.returncode, b"Traceback" in errors) == (0, False)
        finally:
            server.kill()


def test_what_cannot_be_served_is_said_at_once(store: Path, tmp_path: Path, fleet: Command) -> None:
    done = fleet("serve", tmp_path / "none")
    assert done.exit_code == 1 and "has no recordings" in done.output
    done = fleet("serve", store, "--span", "2020-01-01")
    assert done.exit_code == 1 and "is in the span" in done.output
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = fleet("serve", store, "--port", taken.getsockname()[1])
    assert done.exit_code == 2 and "--port" in done.output
