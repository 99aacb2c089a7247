"""The part of a page that all views need, of profiles whose numbers can be added up by hand."""

import json
from array import array

import pytest
from click.testing import CliRunner
from tests.support.page_parts import Part, decode, parts_of, rows_of
from tests.support.perfdata.build import CALLCHAIN, PLAIN, Attr, Build
from tests.support.profiles import S, make_profile

from undwarf.cli.main import undwarf
from undwarf.column import zeros
from undwarf.outputs.kernels.column_planes import planes
from undwarf.outputs.page.parts import encode
from undwarf.profile.model import Origin, Profile
from undwarf.unwind.stop_reason import StopReason
from undwarf.views.page.part import Part as PartOfView
from undwarf.views.page.profile_part import Bounds, profile_part

KEYS = ("sym", "dso")
APP, LIBC = "/opt/app/bin/app", "/lib/libc.so.6"


def part(profile: Profile, bounds: Bounds | None = None) -> Part:
    return decode(encode(profile_part(profile, "title", {}, bounds=bounds).part))


@pytest.mark.parametrize("typecode", "BHIQ")
@pytest.mark.parametrize("deltas", [False, True])
def test_columns_in_planes_are_read_back(typecode: str, deltas: bool) -> None:
    largest = (1 << 8 * array(typecode).itemsize) - 1
    values = [0, largest, 1, largest - 1, largest // 2, largest // 2 + 1, 7, 7]
    name = "row_time" if deltas else "row_node"
    read = decode(encode(PartOfView("x", {}, {name: memoryview(array(typecode, values))})))
    assert read.columns[name] == values


def test_deltas_are_zigzag_encoded() -> None:
    assert bytes(planes(memoryview(array("B", [0, 255, 0, 254])), True)) == bytes([0, 1, 2, 3])
    assert bytes(planes(memoryview(array("H", [0x0102, 0x0304])))) == bytes([2, 4, 1, 3])
    assert len(planes(zeros("Q", 0))) == 0


def test_functions_of_one_name_and_file_are_one() -> None:
    profile = make_profile([S("main@app f@app+10"), S("main@app f@app+20"), S("f@libc"), S("?@app", period=3)])
    read = part(profile)
    assert read.functions.count("f") == 2
    assert rows_of(read, KEYS)["f", APP] == (2, 2, 2)
    assert rows_of(read, KEYS)["f", LIBC] == (1, 1, 1)
    assert rows_of(read, KEYS)[None, APP] == (3, 3, 1)


def test_recursion_counts_once() -> None:
    read = part(make_profile([S("f@app g@app f@app", period=4), S("f@app", period=2)]))
    assert rows_of(read, KEYS) == {("f", APP): (6, 6, 2), ("g", APP): (0, 4, 0)}


def test_images_have_kinds() -> None:
    read = part(make_profile([S("a@app b@libc c@kernel d@module e@anon")]))
    assert {image["name"]: image["kind"] for image in read.images} == {
        "app": "program", "libc.so.6": "library", "[kernel.kallsyms]": "kernel", "[xfs]": "kernel", "//anon": "jit",
    }  # fmt: skip  # a table


def test_threads_are_told_apart_by_process_and_name() -> None:
    samples = [
        S("f@app", pid=1, tid=1, comm="a"),
        S("f@app", pid=1, tid=1, comm="b"),
        S("f@app", pid=1, tid=2, comm="c"),
    ]
    samples += [S("f@app", pid=0, tid=0, comm="swapper"), S("f@app", pid=3, tid=3, comm=None)]
    read = part(make_profile(samples))
    assert [(one["tid"], one["name"], one["idle"]) for one in read.threads] == [
        (1, "a", False), (1, "b", False), (2, "c", False), (0, "swapper", True), (3, None, False),
    ]  # fmt: skip  # a table
    assert [(one["pid"], one["name"]) for one in read.processes] == [(1, "a"), (0, "swapper"), (3, None)]


def test_events_of_different_units_are_measured_apart() -> None:
    events = ("cycles", "page-faults", "dummy")
    samples = [S("f@app", period=100), S("f@app", period=2, event=1), S("g@app", period=0, event=2)]
    read = part(make_profile(samples, events))
    assert [(one["name"], one["unit"]) for one in read.measures] == [
        ("cycles", "cycles"), ("page-faults", "page-faults"), ("dummy", "samples"),
    ]  # fmt: skip  # a table
    assert [rows_of(read, ("sym",), number) for number in range(3)] == [
        {("f",): (100, 100, 1)}, {("f",): (2, 2, 1)}, {("g",): (1, 1, 1)},
    ]  # fmt: skip  # a table


def test_clocks_are_drawn_together_and_alone() -> None:
    read = part(make_profile([S("f@app"), S("f@app", event=1)], ("cpu-clock", "offcpu-time")))
    assert [one["name"] for one in read.measures] == ["cpu-clock + offcpu-time", "cpu-clock", "offcpu-time"]
    assert [one["events"] for one in read.measures] == [[0, 1], [0], [1]]


def test_a_sample_without_a_stack_is_a_row() -> None:
    read = part(make_profile([S("", period=5), S("f@app")]))
    assert sorted(read.row_weight) == [1, 5]
    assert rows_of(read, ("sym",)) == {(None,): (5, 5, 1), ("f",): (1, 1, 1)}


def test_gaps_have_their_file_and_advice() -> None:
    samples = [S("f@app"), S("f@app", stop=StopReason.TRUNCATED, stop_image="libc"), S("f@app", stop=StopReason.NONE)]
    read = part(make_profile(samples))
    assert [(gap["reason"], gap["kind"]) for gap in read.gaps] == [
        ("root", "whole"), ("truncated", "early"), ("none", "without_user"),
    ]  # fmt: skip  # a table
    assert read.images[read.gaps[1]["image"]]["path"] == LIBC
    assert "larger stack dump" in read.gaps[1]["advice"]
    assert read.row_gap == [0, 1, 2]


def many(count: int) -> Profile:
    """Samples of 50 stacks, a microsecond apart."""
    return make_profile(
        [S(f"main@app f{k % 50}@app", period=k % 7 + 1, cpu=k % 2, time=1_000_000_000 + 1000 * k) for k in range(count)]
    )


def test_too_many_rows_are_merged_and_this_is_noted() -> None:
    profile = many(3000)
    whole, read = part(profile), part(profile, Bounds(rows=700))
    assert len(whole.row_node) == 3000
    assert whole.merged_time_ns == 0
    assert whole.notes == []
    assert 50 <= len(read.row_node) <= 700
    assert read.merged_time_ns > 0
    assert sum(read.row_count) == 3000
    assert rows_of(read, ("sym", "cpu")) == rows_of(whole, ("sym", "cpu"))
    assert read.notes == [f"3,000 samples are {len(read.row_node)} rows: equal ones within 0.3 ms are one"]
    assert read.row_time == sorted(read.row_time)


def test_light_nodes_are_cut_and_totals_stay_exact() -> None:
    samples = [S(f"main@app warm@app f{k}@app g{k}@app", period=1) for k in range(300)]
    samples += [S("main@app hot@app", period=5000)]
    profile = make_profile(samples)
    whole, read = part(profile), part(profile, Bounds(nodes=100))
    assert len(whole.node_parent) == 603
    assert len(read.node_parent) == 4
    rows = rows_of(read, ("sym",))
    assert rows["main",] == (0, 5300, 0)
    assert rows["hot",] == (5000, 5000, 1)
    assert rows["warm",] == (0, 300, 0)
    assert rows["[light stacks]",] == (300, 300, 300)
    assert len(read.notes) == 1
    assert read.notes[0].startswith("600 stack nodes with less than ")


def test_roots_are_cut_too() -> None:
    profile = make_profile([S(f"f{k}@app") for k in range(300)] + [S("hot@app", period=900)])
    rows = rows_of(part(profile, Bounds(nodes=10)), ("sym",))
    assert rows == {("hot",): (900, 900, 1), ("[light stacks]",): (300, 300, 300)}


def test_kernel_addresses_are_exact_in_52_bits() -> None:
    profile = make_profile([S("f@kernel")])
    profile.frames.address[0] = 0xFFFFFFFF81000123
    assert part(profile).frame_address == [0xFFFFF81000123]


def test_a_profile_of_another_tool_has_its_origin_and_no_times() -> None:
    profile = make_profile([S("f@app", period=3)])
    profile.origin = Origin("folded stacks", frozenset(), sums=True)
    read = part(profile)
    assert read.origin == {"format": "folded stacks", "sums": True}
    assert read.time_unit_ns is None
    assert rows_of(read, ("sym",)) == {("f",): (3, 3, 1)}


HOSTILE = "</script><script>alert(1)</script>\x1b[31m\u202e<!--]]>"


def test_hostile_names_stay_within_their_part(tmp_path) -> None:
    build = Build()
    attr = Attr(sample_type=PLAIN | CALLCHAIN, ids=[1])
    records = [
        build.comm(attr, b"</script><b>", pid=10, tid=11, time=1),
        build.mmap2(attr, b"/tmp/</script><img src=x onerror=alert(1)>", time=2),
        build.sample(attr, ip=0x400010, time=3, cpu=0, period=5, chain=((1 << 64) - 512, 0x400010)),
    ]
    path = tmp_path / "<title><script>.data"
    path.write_bytes(build.file([attr], records))
    result = CliRunner().invoke(undwarf, ["view", "-o", "-", "--title", HOSTILE, str(path)], catch_exceptions=False)
    page = result.stdout
    assert "alert(1)" not in page
    assert "onerror" not in page
    # Its own script, and a part each.
    assert page.count("</script>") == 1 + len(parts_of(page))
    read = parts_of(page)["profile"]
    assert read.title == "</script><script>alert(1)</script>\\x1b[31m\\u202e<!--]]>"
    assert read.threads[0]["name"] == "</script><b>"
    assert read.images[0]["path"] == "/tmp/</script><img src=x onerror=alert(1)>"


def test_lost_records_and_throttling_are_marks(tmp_path) -> None:
    build = Build()
    attr = Attr(sample_type=PLAIN | CALLCHAIN, ids=[1])
    second = 1_000_000_000
    records = [
        build.comm(attr, b"prog", pid=10, tid=11, time=1),
        build.sample(attr, ip=0x400010, time=second, period=5, chain=((1 << 64) - 512, 0x400010)),
        build.plain(attr, 2, build.words(1, 77), time=second + 2000),
        build.plain(attr, 5, build.words(second + 3000, 1, 1), time=second + 3000),
        build.sample(attr, ip=0x400010, time=second + 4000, period=5, chain=((1 << 64) - 512, 0x400010)),
    ]
    path = tmp_path / "perf.data"
    path.write_bytes(build.file([attr], records))
    read = parts_of(CliRunner().invoke(undwarf, ["view", "-o", "-", str(path)], catch_exceptions=False).stdout)[
        "profile"
    ]
    assert [(mark["time"], mark["kind"], mark["count"]) for mark in read.marks] == [
        (2, "lost", 77),
        (3, "throttled", 1),
    ]
    assert read.switches is None


def test_context_switches_are_spans(tmp_path) -> None:
    build = Build()
    attr = Attr(sample_type=PLAIN | CALLCHAIN, ids=[1])
    second = 1_000_000_000

    def switch(tid: int, time: int, cpu: int, out: bool) -> bytes:
        return build.plain(attr, 14, b"", (1 << 13) * out, pid=10, tid=tid, time=second + time, cpu=cpu)

    records = [
        build.comm(attr, b"prog", pid=10, tid=11, time=1),
        build.sample(attr, ip=0x400010, time=second, period=5, chain=((1 << 64) - 512, 0x400010)),
        switch(11, 2000, 1, True),
        switch(12, 2000, 1, False),
        switch(11, 5000, 0, False),
        switch(12, 6000, 1, True),
        switch(12, 7000, 1, False),
        build.task(attr, 4, pid=10, ppid=10, tid=12, ptid=12, time=second + 8000),
        build.sample(attr, ip=0x400010, time=second + 9000, period=5, chain=((1 << 64) - 512, 0x400010)),
    ]
    path = tmp_path / "perf.data"
    path.write_bytes(build.file([attr], records))
    read = parts_of(CliRunner().invoke(undwarf, ["view", "-o", "-", str(path)], catch_exceptions=False).stdout)[
        "profile"
    ]
    assert read.switches == {"spans": 4}
    tids = [read.threads[thread]["tid"] for thread in read.run_thread]
    assert list(zip(tids, read.run_cpu, read.run_start, read.run_end, strict=True)) == [
        (11, 1, 0, 2), (12, 1, 2, 6), (11, 0, 5, 9), (12, 1, 7, 8),
    ]  # fmt: skip  # a table


@pytest.mark.parametrize(("words", "spans"), [(["perf", "record", "-a"], 3), (["perf", "record"], None)])
def test_sched_switch_of_all_cpus_has_spans(tmp_path, words: list[str], spans: int | None) -> None:
    build = Build()
    attr = Attr(sample_type=PLAIN | CALLCHAIN, type=2, config=77, ids=[1])
    second = 1_000_000_000

    def switch(tid: int, time: int, cpu: int) -> bytes:
        return build.sample(
            attr, ip=0x400010, pid=10, tid=tid, time=second + time, cpu=cpu, period=1, chain=(0x400010,)
        )

    records = [switch(11, 0, 0), switch(12, 3000, 0), switch(11, 8000, 0), switch(12, 9000, 1)]
    name, words_text = build.string("sched:sched_switch"), b"".join(map(build.string, words))
    described = (
        build.pack("II", 1, len(build.attr(attr))) + build.attr(attr) + build.pack("I", 1) + name + build.words(1)
    )
    path = tmp_path / "perf.data"
    path.write_bytes(build.file([attr], records, {12: described, 11: build.pack("I", len(words)) + words_text}))
    read = parts_of(CliRunner().invoke(undwarf, ["view", "-o", "-", str(path)], catch_exceptions=False).stdout)[
        "profile"
    ]
    assert [event["name"] for event in read.events] == ["sched:sched_switch"]
    if spans is None:
        assert read.switches is None
        return
    tids = [read.threads[thread]["tid"] for thread in read.run_thread]
    assert list(zip(tids, read.run_cpu, read.run_start, read.run_end, strict=True)) == [
        (12, 0, 0, 3), (12, 1, 0, 9), (11, 0, 3, 8),
    ]  # fmt: skip  # a table


@pytest.mark.parametrize("text", ["main;f 3\nmain;g 4\n", json.dumps({"a": 1})])
def test_a_profile_of_another_tool_has_the_numbers_of_report(tmp_path, text: str) -> None:
    path = tmp_path / "stacks.folded"
    path.write_text(text)
    result = CliRunner().invoke(undwarf, ["view", "-o", "-", str(path)])
    if not text.startswith("main"):
        assert result.exit_code != 0
        return
    parts = parts_of(result.stdout)
    assert rows_of(parts["profile"], ("sym",)) == {("main",): (0, 7, 0), ("f",): (3, 3, 1), ("g",): (4, 4, 1)}
    assert parts["code"].problem == "it is a profile of another tool, without code"
