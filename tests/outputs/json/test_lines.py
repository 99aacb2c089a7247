"""Samples and stacks as lines of JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.commands import two_events
from tests.support.documents import documents
from tests.support.perfdata.build import ADDR, CALLCHAIN, PLAIN, RAW, Attr, Build
from tests.support.perfdata.tracepoints import format_file, raw

from undwarf.cli.main import undwarf
from undwarf.errors import UsageError
from undwarf.perfdata import feature_writer

USER, KERNEL = (1 << 64) - 512, (1 << 64) - 128
NOBODY = (1 << 32) - 1
BUILD = Build()
CHAINS = Attr(sample_type=PLAIN | CALLCHAIN)
SHIPPED = Path(__file__).parents[3] / "examples" / "recording"


def lines(command: str, path: Path, *options: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(undwarf, [command, "--json", *options, str(path)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return documents(done.stdout)


def write(path: Path, attr: Attr, *samples: bytes, features: dict[int, bytes] | None = None) -> Path:
    path /= "perf.data"
    records = [BUILD.comm(attr, b"prog", pid=10, tid=11, time=1), BUILD.mmap2(attr, b"/bin/prog", pid=10, time=1)]
    path.write_bytes(BUILD.file([attr], [*records, *samples], features))
    return path


def test_a_sample_has_what_was_recorded_and_null_for_the_rest(tmp_path: Path) -> None:
    chain = (USER, 0x400100, 0x400200)
    path = write(tmp_path, CHAINS, BUILD.sample(CHAINS, ip=0x400100, pid=10, tid=11, time=1999, period=5, chain=chain))
    (found,) = lines("script", path)
    assert [found[key] for key in ("comm", "pid", "tid", "time_ns", "period")] == ["prog", 10, 11, 1999, 5]
    assert [found[key] for key in ("cpu", "addr", "phys_addr", "data_src", "weight_cycles", "trace")] == [
        0,
        *[None] * 5,
    ]
    assert [(one["ip"], one["dso"]) for one in found["frames"]] == [
        ("0x400100", "/bin/prog"),
        ("0x400200", "/bin/prog"),
    ]


def test_the_kernel_has_one_name(tmp_path: Path) -> None:
    chain = (KERNEL, 0xFFFFFFFF81000010, USER, 0x400100)
    path = write(tmp_path, CHAINS, BUILD.sample(CHAINS, ip=0xFFFFFFFF81000010, pid=10, tid=11, misc=1, chain=chain))
    (found,) = lines("script", path)
    assert found["frames"][0]["ip"] == "0xffffffff81000010"
    assert found["frames"][0]["dso"] in ("[kernel.kallsyms]", None)


def test_fields_that_are_left_out_are_null(tmp_path: Path) -> None:
    path = write(tmp_path, CHAINS, BUILD.sample(CHAINS, ip=0x400100, pid=10, tid=11, chain=(USER, 0x400100)))
    (found,) = lines("script", path, "-F", "comm,time")
    assert {key for key, value in found.items() if value is not None} == {
        "schema", "version", "comm", "time_ns", "unit", "stop"
    }  # fmt: skip
    (found,) = lines("script", path, "-F", "-dso,-pid")
    assert (found["pid"], found["tid"], found["frames"][0]["dso"]) == (None, 11, None)


def test_a_field_that_lines_do_not_have_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, CHAINS, BUILD.sample(CHAINS, pid=10, tid=11))
    with pytest.raises(UsageError, match="--json has no field iregs"):
        lines("script", path, "-F", "+iregs")


def test_a_tracepoint_has_its_text(tmp_path: Path) -> None:
    attr = Attr(type=2, config=77, sample_type=PLAIN | RAW)
    section = feature_writer.tracing({"sys": [format_file('"a=%d %s", REC->a, __get_str(name)')]})
    data = raw(a=5, name=b'"\\')
    sample = BUILD.sample(attr, time=2000, raw=data + bytes(-(len(data) + 4) % 8))
    (found,) = lines("script", write(tmp_path, attr, sample, features={1: section}))
    assert found["trace"] == 'a=5 "\\'


def test_an_address_of_zero_is_none(tmp_path: Path) -> None:
    attr = Attr(sample_type=PLAIN | ADDR)
    samples = [BUILD.sample(attr, pid=10, tid=11, time=time, addr=addr) for time, addr in ((1, 0), (2, 0x7F00))]
    assert [one["addr"] for one in lines("script", write(tmp_path, attr, *samples))] == [None, "0x7f00"]


def test_an_id_of_no_process_is_null(tmp_path: Path) -> None:
    path = write(tmp_path, CHAINS, BUILD.sample(CHAINS, pid=NOBODY, tid=NOBODY, chain=(USER, 0x400100)))
    (found,) = lines("script", path)
    assert (found["pid"], found["tid"], found["comm"]) == (None, None, None)


def test_a_frame_that_is_inlined_says_so() -> None:
    found = lines("script", SHIPPED / "words.data", "--symfs", str(SHIPPED))
    assert len(found) == 1127
    text = CliRunner().invoke(undwarf, ["script", "--symfs", str(SHIPPED), str(SHIPPED / "words.data")]).stdout
    assert sum(len(one["frames"]) for one in found) == sum(line.startswith("\t") for line in text.splitlines())
    assert sum(frame["inlined"] for one in found for frame in one["frames"]) == text.count("(inlined)")


def test_a_stack_has_its_names_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "stacks").write_text("app;main;f 3\n")
    (found,) = lines("fold", tmp_path / "stacks")
    assert (found["comm"], found["stack"], found["weight"], found["unit"]) == (None, ["app", "main", "f"], 3, None)


def test_roots_are_ids_too(tmp_path: Path) -> None:
    path = write(tmp_path, CHAINS, BUILD.sample(CHAINS, ip=0x400100, pid=10, tid=11, chain=(USER, 0x400100)))
    for root, ids in (("none", (None, None, None)), ("comm", ("prog", None, None)), ("pid", ("prog", 10, None))):
        (found,) = lines("fold", path, "--root", root)
        assert (found["comm"], found["pid"], found["tid"]) == ids


def test_weights_have_their_event_and_unit(tmp_path: Path) -> None:
    (tmp_path / "two").write_bytes(two_events())
    by_weight = {weight: lines("fold", tmp_path / "two", "--weight", weight) for weight in ("samples", "period")}
    assert {(one["event"], one["unit"]) for one in by_weight["samples"]} == {(None, "samples")}
    assert {(one["event"], one["unit"]) for one in by_weight["period"]} == {("cpu-clock", "ns")}
    (one,) = lines("fold", tmp_path / "two", "--weight", "period", "--event", "page-faults")
    assert (one["event"], one["unit"], one["weight"]) == ("page-faults", "page-faults", 7)


def test_lines_are_those_of_the_text() -> None:
    options = ["fold", "--symfs", str(SHIPPED), str(SHIPPED / "words.data")]
    text = CliRunner().invoke(undwarf, options).stdout
    found = [
        ";".join([one["comm"], *one["stack"]]) + f" {one['weight']}"
        for one in map(json.loads, CliRunner().invoke(undwarf, [*options, "--json"]).stdout.splitlines())
    ]
    assert found == text.splitlines()


@pytest.mark.parametrize("command", ["export --format pprof", "flamegraph", "shrink", "record"])
def test_standard_output_is_not_for_two_things(command: str) -> None:
    words = [*command.split(), "--json", "-o", "-"]
    with pytest.raises(UsageError, match="--json cannot be used with -o -"):
        CliRunner().invoke(
            undwarf, [*words, *(["--", "true"] if command == "record" else [str(SHIPPED / "words.data")])],
            catch_exceptions=False,
        )  # fmt: skip
