"""The published schemas: what they say, and that they fit what is printed."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from tests.support.documents import documents, objects, properties_in
from tests.support.perfdata.build import PLAIN, Attr, Build
from tests.support.profiles import S, make_profile
from tests.support.types.programs import LIST, build
from tests.support.types.recordings import memory_recording, place

from undwarf.cli.main import undwarf
from undwarf.defects import Defect
from undwarf.fleet.compaction import Compacted
from undwarf.fleet.frame_lookup import LookedUp
from undwarf.fleet.ingest import Taken
from undwarf.outputs import fleet, info_json, stack, summaries, top_json
from undwarf.outputs.schemas import DOCUMENTS, published
from undwarf.outputs.schemas.derive import document_schema
from undwarf.outputs.types import json_report
from undwarf.perfdata import SampleField
from undwarf.views.data.false_sharing import Clashes, Party, Sharing
from undwarf.views.data.layout import Spread
from undwarf.views.data.memory_counts import MemoryCounts
from undwarf.views.data.types import Counts, DataTypes
from undwarf.views.flat_profile import KEYS, flat_profile
from undwarf.views.unread_samples import Note
from undwarf.views.unwind_quality import Gap, Missing, UnwindQuality
from undwarf.views.verified_calls import Contradiction, Tally, VerifiedCalls

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "examples" / "recording"
RECORDING = [str(SHIPPED / "words.data"), "--symfs", str(SHIPPED)]
PROGRAM = str(SHIPPED / "demo" / "words")
FOLDER = ROOT / "src" / "undwarf" / "outputs" / "schemas"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_published_schema_is_that_of_the_type(name: str, request: pytest.FixtureRequest) -> None:
    text = json.dumps(document_schema(name), indent=1) + "\n"
    if request.config.getoption("--refresh"):
        (FOLDER / f"{name}.json").write_text(text)
    assert published(name) == text, "pytest --refresh writes the schema anew; see docs/reference/json.md on versions"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(published(name)))


def test_there_is_no_schema_of_anything_else() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(DOCUMENTS)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_object_and_property_is_described_and_no_other_is_allowed(name: str) -> None:
    for schema in objects(name).values():
        assert schema["description"]
        assert schema["additionalProperties"] is False
        assert all(one["description"].endswith((".", ")")) for one in schema["properties"].values())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_only_sort_keys_may_be_left_out(name: str) -> None:
    for part, schema in objects(name).items():
        optional = set(schema["properties"]) - set(schema["required"])
        assert optional == ({"Row": set(KEYS), "TopRow": {"comm", "event", "dso", "sym"}}.get(part, set()))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_says_what_it_is(name: str) -> None:
    properties = json.loads(published(name))["properties"]
    assert list(properties)[:2] == ["schema", "version"]
    assert properties["schema"]["const"] == f"undwarf/{name}"


UNITS = {"_bytes": " bytes", "_ns": " ns", "_s": " seconds", "_cycles": " cycles", "_percent": " percent"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_number_with_a_unit_has_it_in_its_name(name: str) -> None:
    for part, schema in objects(name).items():
        for key, described in schema["properties"].items():
            if (part == "Row" and key in KEYS) or not {"integer", "number"}.intersection(described.get("type", ())):
                continue
            in_name = {unit for unit in UNITS if key.endswith(unit)}
            in_words = {unit for unit, words in UNITS.items() if words in described["description"]}
            assert in_name == in_words, (part, key)


def test_a_document_with_an_unknown_property_is_invalid() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(published("doctor")))
    assert validator.is_valid({"schema": "undwarf/doctor", "version": 1, "findings": []})
    assert not validator.is_valid({"schema": "undwarf/doctor", "version": 1, "findings": [], "more": 1})
    assert not validator.is_valid({"schema": "undwarf/doctor", "version": 1})


def run(*arguments: object) -> str:
    result = CliRunner().invoke(undwarf, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def written(write: Callable[..., None], *arguments: Any) -> str:
    sink = io.StringIO()
    write(*arguments, sink)
    return sink.getvalue()


def info_of_everything() -> str:
    """The info of a recording in which all has gone wrong."""
    tally = Tally(1, 2, 3, 4)
    contradiction = Contradiction(3, "f", "[unknown]", 16, "g", "/bin/g", 32, "eh_frame", "no call")
    gap = Gap("truncated", "the stack dump ended", "[unknown]", "", 3, "")
    header = dict.fromkeys(("hostname", "osrelease", "version", "arch", "nrcpus", "cpudesc", "cmdline"))
    overview = {
        "file": "perf.data",
        "form": "file",
        "byte_order": "little",
        "header": header,
        "first_sample": None,
        "last_sample": None,
        "samples": 0,
        "events": [{"name": "cycles", "samples": 0, "period": 0, "stack_dump": 0}],
        "notes": [Note("trace", "", "a trace", "record otherwise")],
        "records": {"SAMPLE": 1},
        "lost": 0,
        "deferred_not_merged": 1,
        "deferred": dict.fromkeys(("merged", "superseded", "exited", "open", "duplicate", "unclaimed"), 1),
        "precise": dict.fromkeys(("samples", "fitting", "corrected", "returned", "followed", "unproven"), 1),
        "processes": [{"pid": -1, "comm": None, "samples": 1}],
        "wholeness": UnwindQuality(3, 3, 0, 0, 0, 0, {"truncated": 3}, [gap]),
        "missing": [Missing("[unknown]", "", "file", "gone", 1)],
        "defects": [Defect("cut short", "", 1, "")],
        "calls": VerifiedCalls(tally, tally, {"/bin/f": tally}, {"eh_frame": tally}, {"no call": 3}, [contradiction]),
    }
    return written(info_json.write, overview)


def reports(folder: Path) -> list[str]:
    """A report with a tree, one of stacks that end early, and one by all keys."""
    fields = SampleField.CALLCHAIN | SampleField.ADDR | SampleField.WEIGHT_STRUCT | SampleField.DATA_SRC
    pages = SampleField.PHYS_ADDR | SampleField.DATA_PAGE_SIZE | SampleField.CODE_PAGE_SIZE
    b, attr = Build(), Attr(sample_type=PLAIN | fields | pages)
    access = {"addr": 0x400800, "weight": 7, "data_src": 0x68100142, "phys": 0x1234, "data_page": 4096}
    samples = [b.sample(attr, ip=0x400100, pid=10, tid=10, chain=(2**64 - 512, 0x400100), **access)]
    path = folder / "memory.data"
    path.write_bytes(b.file([attr], [b.mmap2(attr, b"/bin/one", pid=10, tid=10), *samples]))
    return [
        run("report", *RECORDING, "--json"),
        run("report", "--json", gone(folder)),
        run("report", "--json", "-g", "none", "-s", ",".join(KEYS), path),
    ]


def listed(folder: Path) -> Path:
    """A program with debugging information."""
    return build(folder, LIST, "list.c", "-O1")


def walk(folder: Path) -> str:
    """An address in it."""
    return f"{place(folder / 'program', 'walk', 'struct node', 'key', 'r'):x}"


def types(folder: Path) -> list[str]:
    """Types of a recording of a list, and what rare recordings have."""
    binary = listed(folder)
    at = place(binary, "walk", "struct node", "key", "r")
    data = memory_recording(folder, binary, [{"ip": at}, {"ip": at, "data_src": 0x68100142}])
    parties = [Party("struct pair", "", 0, {1}, {0})]
    clashes = Clashes(
        "period",
        9,
        [
            Sharing(by_address, True, 5, 2, 1, 0x7F0000000040, 0, parties, parties, False, False, True, 64)
            for by_address in (True, False)
        ],
    )
    spread = Spread("struct pair", 136, 5, (("head", 0, 0.5),), (0, 2), 2, 1, (("f", 1.0),))
    event = json_report.types_of_event(DataTypes(), "cycles", "cycles", [spread], "latency", code=False)
    return [run("types", "--json", "--code", data), written(json_report.write, "a", "period", [event], clashes)]


def layouts(folder: Path) -> list[str]:
    binary = listed(folder)
    data = memory_recording(folder, binary, [{"ip": place(binary, "walk", "struct node", "key", "r")}])
    counts = Counts(1, 1)
    counts.recorded = MemoryCounts()
    counts.recorded.add_page(4096, 1)
    drawn = json.loads(run("types", "--json", "--type", "node", "--binary", binary))["layouts"][0]
    drawn["counts"]["memory"] = json_report._memory(counts.recorded)
    parties = [Party("struct pair", "", 0, {1}, {0})]
    clashes = Clashes("period", 9, [Sharing(True, True, 5, 2, 1, 64, 0, parties, parties, False, False, True, 64)])
    return [
        run("types", "--json", "--type", "node", data),
        run("types", "--json", "--type", "node", "--binary", binary),
        written(json_report.write_layouts, "a", "period", [drawn], clashes),
    ]


def compared(_folder: Path) -> str:
    sides = [str(SHIPPED / f"words-{name}.data") for name in ("sum", "product")]
    return run(
        "diff", *sides, *RECORDING[1:], "--json", "--by", "function,line,path", "--fail-if", "function:memcpy > 9%"
    )


def top() -> str:
    profile = make_profile([S("main@app f@app")])
    sink = io.BytesIO()
    keys = ("comm", "event", "dso", "sym")
    tables = [top_json.TopTable("cycles", "cycles", 1, flat_profile(profile, keys), 0.0)]
    top_json.write(top_json.TopUpdate(1.0, 1, 0, keys, tables), sink)
    return sink.getvalue().decode()


def recorded() -> str:
    counts = summaries.Counts(1, None, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4096, 0, False, ["a note"], 0)
    return written(summaries.write_record, [{"recording": "a", "samples": 1, "size_bytes": None}], "a.old", counts)


SOURCES: dict[str, Callable[[Path], str | list[str]]] = {
    "addr2line": lambda folder: run("addr2line", "-e", listed(folder), "--json", walk(folder)),
    "diff": compared,
    "doctor": lambda _: run("doctor", "--json"),
    "export": lambda folder: run("export", *RECORDING, "--json", "--format", "chrome", "-o", folder / "a"),
    "flamegraph": lambda folder: run("flamegraph", gone(folder), "--json", "-o", folder / "a.html"),
    "fleet-compact": lambda _: written(
        fleet.write_compact_json, "profiles", Compacted(3, 2, 900, 800, 1, ("2026-11-01",))
    ),
    "fleet-ingest": lambda _: written(
        fleet.write_ingest_json,
        "profiles",
        [Taken("one.data", 7, 900), Taken("two.data", size=9, problem="it is damaged")],
        LookedUp(3, (("/nowhere/one", "no such path"),)),
    ),
    "fleet-symbols-add": lambda _: written(
        fleet.write_symbols_json, "profiles", LookedUp(3, (("/nowhere/one", "no such path"),))
    ),
    "fleet-symbols-missing": lambda _: written(
        fleet.write_missing_json, "profiles", [fleet.Missing("/nowhere/one", "ab12", 3)]
    ),
    "fold": lambda _: run("fold", *RECORDING, "--json", "--root", "tid"),
    "info": lambda _: [run("info", *RECORDING, "--json", "--verify"), info_of_everything()],
    "info-missing": lambda _: run("info", RECORDING[0], "--json", "--missing"),
    "query": lambda _: run("query", *RECORDING, "--json", "FROM top() LIMIT 2"),
    "query-tables": lambda _: run("query", "--tables", "--json"),
    "record": lambda _: recorded(),
    "report": reports,
    "report-source": lambda _: run("report", *RECORDING, "--json", "--source", "count_word", "--asm"),
    "script": lambda _: run("script", *RECORDING, "--json", "-F", "+srcline"),
    "shrink": lambda folder: run("shrink", *RECORDING, "--json", "-o", folder / "a"),
    "stack": lambda _: stack.to_json(make_profile([S("main@app f@libc")]), "app", [5], 11),
    "tables-cache": lambda _: run("tables", "cache", "--json", PROGRAM),
    "tables-convert": lambda folder: run("tables", "convert", PROGRAM, "--json", "--to", "sframe", "-o", folder / "a"),
    "tables-dump": lambda _: run("tables", "dump", PROGRAM, "--json"),
    "tables-sizes": lambda _: run("tables", "sizes", PROGRAM, "--json"),
    "tables-verify": lambda _: run("tables", "verify", PROGRAM, "--json", "--against", "code"),
    "top": lambda _: top(),
    "types": types,
    "types-at": lambda folder: run("types", "--binary", listed(folder), "--json", "--at", walk(folder)),
    "types-layout": layouts,
    "view": lambda folder: run("view", gone(folder), "--json", "-o", folder / "a.html"),
}
"""By document: where it comes from."""


def gone(folder: Path) -> Path:
    """A recording whose stacks end in a file that is not here."""
    b, attr = Build(), Attr(sample_type=PLAIN | SampleField.REGS_USER | SampleField.STACK_USER, regs=0xFF0FFF)
    words = [0] * 20
    sample = b.sample(attr, ip=0x400100, pid=10, tid=10, regs=words, stack=bytes(64))
    path = folder / "gone.data"
    path.write_bytes(b.file([attr], [b.mmap2(attr, b"/nowhere/one", pid=10, tid=10), sample]))
    return path


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_printed_has_all_of_the_schema(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDWARF_CACHE_DIR", str(tmp_path / "cache") if name == "tables-cache" else "off")
    texts = SOURCES[name](tmp_path)
    found = [one for text in ([texts] if isinstance(texts, str) else texts) for one in documents(text)]
    assert {one["schema"] for one in found} == {f"undwarf/{name}"}
    seen = set().union(*(properties_in(name, one) for one in found))
    all_of_them = {(part, key) for part, schema in objects(name).items() for key in schema["properties"]}
    assert seen == all_of_them


HOSTILE = b'\xff"\\\x1b[2J\n</script>\xe2\x80\xae'
SHOWN = '\\xff"\\\x1b[2J\n</script>\u202e'


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    b, attr = Build(), Attr(sample_type=PLAIN | SampleField.CALLCHAIN)
    name = b"/nowhere/" + HOSTILE
    records = [b.comm(attr, HOSTILE[:15]), b.mmap2(attr, name, pid=10, tid=10)]
    records.append(b.sample(attr, ip=0x400100, pid=10, tid=10, chain=(2**64 - 512, 0x400100)))
    path = tmp_path / os.fsdecode(b"\xff.data")
    path.write_bytes(b.file([attr], records))
    return path


@pytest.mark.parametrize("command", ["report", "report -g callee", "info", "info --missing", "script", "fold"])
def test_hostile_names_are_valid_text(hostile: Path, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "undwarf", *command.split(), "--json", hostile], capture_output=True, check=True
    )
    (found,) = documents(done.stdout.decode("ascii"))
    assert "[2J" in json.dumps(found)
    assert found.get("recording", "\\xff.data").endswith("\\xff.data")


def test_the_name_of_a_file_is_kept_but_for_what_is_no_text(hostile: Path) -> None:
    (found,) = documents(run("report", "--json", "-s", "dso", hostile))
    assert found["events"][0]["rows"][0]["dso"] in (f"/nowhere/{SHOWN}", "/nowhere/" + SHOWN.replace("\\xff", "\ufffd"))


@pytest.mark.parametrize(
    ("command", "name"),
    [(["report"], "report"), (["tables", "dump"], "tables-dump"), (["report-source"], "report-source")],
)
def test_a_command_prints_schemas(command: list[str], name: str) -> None:
    assert json.loads(run("schema", *command)) == json.loads(published(name))


def test_without_a_command_all_are_listed() -> None:
    assert run("schema").split() == list(DOCUMENTS)


def test_a_command_that_fails_prints_no_document(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "undwarf", "report", "--json", tmp_path / "none"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.startswith(b"error: ")
