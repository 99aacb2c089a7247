"""The report, as people see it."""

import io
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.support.profiles import S, make_profile

from undwarf.column import zeros
from undwarf.outputs import report_json
from undwarf.outputs.report import ReportOptions, percent, write
from undwarf.outputs.terminal.style import Paint, cells, fit
from undwarf.profile.model import Profile
from undwarf.unwind.stop_reason import StopReason
from undwarf.views.data.access_labels import SampleLabels
from undwarf.views.report import Graph, Report, compute_report

Snapshot = Callable[[str], None]
LONG = "std::vector<std::pair<int,int>,std::allocator<std::pair<int,int>>>::push_back(std::pair<int,int>const&)"
SAMPLES = [
    *[S("_start@app main@app parse@app memcpy@libc", period=100)] * 40,
    *[S("_start@app main@app parse@app", period=100)] * 20,
    *[S(f"_start@app main@app {LONG}@app", period=100)] * 15,
    *[S("_start@app main@app read@libc entry_SYSCALL_64@kernel vfs_read@kernel", period=100)] * 15,
    *[S("?@libc", period=100, stop=StopReason.TRUNCATED, stop_image="libc")] * 9,
    S("swapper_idle@kernel", period=100, comm="swapper", stop=StopReason.NONE),
]
PROFILE = make_profile(SAMPLES, ("cycles:u",))


def report_of(profile: Profile, options: ReportOptions, **computed: Any) -> Report:
    share = options.tree_limit / 100
    return compute_report(
        profile,
        options.keys,
        options.weight,
        children=options.children,
        graph=options.graph,
        min_share=share,
        **computed,
    )


def text(
    profile: Profile = PROFILE,
    *,
    groups: Sequence[Sequence[int]] = (),
    labels: SampleLabels | None = None,
    **shown: Any,
) -> str:
    sink = io.StringIO()
    options = ReportOptions(path="perf.data", **shown)
    write(report_of(profile, options, groups=groups, labels=labels), sink, options)
    return sink.getvalue()


def test_report_plain(snapshot: Snapshot) -> None:
    snapshot(text())


def test_report_in_80_columns_with_colour(snapshot: Snapshot) -> None:
    snapshot(text(width=80, colour=True).replace("\x1b", "␛"))


def test_report_by_own_weight(snapshot: Snapshot) -> None:
    snapshot(text(children=False, keys=("dso", "sym"), graph="none", show_samples=True))


def test_report_callees(snapshot: Snapshot) -> None:
    snapshot(text(keys=("sym",), graph="callee", percent_limit=10))


def test_only_so_many_rows() -> None:
    lines = text(rows=2, graph="none").splitlines()
    assert lines[-4].startswith("Children")
    assert lines[-1] == "and 8 more (--rows 0 shows them)"


def test_report_of_two_events(snapshot: Snapshot) -> None:
    samples = [S("main@app f@app", period=7), S("main@app g@app", event=1, period=1)]
    snapshot(text(make_profile(samples, ("cycles", "page-faults", "unused")), lost=3))


GROUPED = make_profile(
    [S("main@app f@app", period=7), S("main@app g@app", period=3), S("main@app g@app", event=1, period=1)],
    ("cycles", "page-faults", "task-clock"),
)


def columns(shown: str, symbol: str) -> list[str]:
    """The numbers before a function in a table."""
    line = next(line for line in shown.splitlines() if line.endswith(f"] {symbol}"))
    return [part for part in line.split() if part[0].isdigit()]


def test_events_of_a_group_stand_side_by_side() -> None:
    shown = text(GROUPED, groups=((0, 1),), graph="none", show_samples=True)
    assert columns(shown, "g") == ["30.00%", "100.00%", "30.00%", "100.00%", "1", "1"]
    assert columns(shown, "f") == ["70.00%", "0.00%", "70.00%", "0.00%", "1", "0"]


def test_a_group_says_which_column_is_whose() -> None:
    shown = text(GROUPED, groups=((0, 1),), children=False, graph="none").splitlines()
    at = shown.index("Group of 2 events")
    assert [line.split("  ")[0] for line in shown[at + 1 : at + 3]] == ["1: cycles", "2: page-faults"]
    assert shown[at + 3].split()[:4] == ["Self", "1", "Self", "2"]


def test_a_row_that_is_heavy_in_one_event_of_a_group_is_shown() -> None:
    assert columns(text(GROUPED, groups=((0, 1),), graph="none", percent_limit=50), "g")


def test_each_event_of_a_group_has_its_tree() -> None:
    shown = text(GROUPED, groups=((0, 1),))
    assert "Call tree, callers above, of 1: cycles" in shown
    assert "Call tree, callers above, of 2: page-faults" in shown


def test_colours_only_repeat_what_the_text_says() -> None:
    assert re.sub(r"\x1b\[[0-9;]*m", "", text(width=80, colour=True)) == text(width=80)


def test_no_line_is_wider_than_the_terminal() -> None:
    lines = text(width=80).splitlines()
    tables = lines[lines.index(next(line for line in lines if line.startswith("Children"))) :]
    assert max(map(cells, tables)) <= 80


@pytest.mark.parametrize("width", [80, 120, 160])
def test_data_types_give_way_but_keep_their_members(width: int) -> None:
    profile = make_profile(SAMPLES, ("cycles:u",))
    node = "struct std::_Hash_node<std::pair<long unsigned int const, Order*>, false>"
    numbers = zeros("I", len(profile.samples))
    labels = {"type": (numbers, [node]), "typeoff": (numbers, [f"{node} +8 (first.id) [inferred]"])}
    shown = text(profile, keys=("type", "typeoff"), labels=labels, graph="none", width=width).splitlines()
    at = next(k for k, line in enumerate(shown) if line.startswith("Children"))
    assert max(map(cells, shown[at:])) <= max(width, 86)
    assert all("+8 (first.id) " in line for line in shown[at + 1 :] if "%" in line)
    assert node in text(profile, keys=("type", "typeoff"), labels=labels, graph="none")


def test_nothing_is_cut_without_a_terminal() -> None:
    assert LONG in text()


def test_names_cannot_drive_the_terminal() -> None:
    profile = make_profile([S("f\x1b[2J@app", comm="\x1b]0;x\x07")], ("\x1b[5m",))
    assert "\x1b" not in text(profile)


def test_a_profile_without_samples() -> None:
    assert "0 samples" in text(make_profile([]))


def test_json_has_what_the_text_has() -> None:
    sink = io.StringIO()
    options = ReportOptions(path="perf.data", lost=2)
    report_json.write(report_of(PROFILE, options), sink, options)
    found = json.loads(sink.getvalue())
    (event,) = found["events"]
    memcpy = next(row for row in event["rows"] if row["sym"] == "memcpy")
    assert (found["samples"], found["lost"], event["event"], event["weight"]) == (100, 2, "cycles:u", 10000)
    assert memcpy == {
        "comm": "app",
        "dso": "/lib/libc.so.6",
        "sym": "memcpy",
        "self": 4000,
        "total": 4000,
        "samples": 40,
    }
    assert event["tree"][0]["sym"] == "_start"
    assert event["tree"][0]["parent"] is None
    assert found["wholeness"]["gaps"][0]["reason"] == "truncated"


@pytest.mark.parametrize("graph", ["caller", "callee"])
def test_json_of_a_deep_tree_is_flat_and_has_every_node(graph: Graph) -> None:
    depth = 5000
    sink = io.StringIO()
    profile = make_profile([S(" ".join(f"f{number}@app" for number in range(depth)))])
    options = ReportOptions(graph=graph)
    report_json.write(report_of(profile, options), sink, options)
    tree = json.loads(sink.getvalue())["events"][0]["tree"]
    assert [node["id"] for node in tree] == list(range(depth))
    assert [node["parent"] for node in tree] == [None, *range(depth - 1)]
    names = [f"f{number}" for number in range(depth)]
    assert [node["sym"] for node in tree] == (names if graph == "caller" else names[::-1])
    assert (tree[-1] if graph == "caller" else tree[0])["self"] == 1


def test_json_of_a_tree_has_a_node_before_its_children() -> None:
    sink = io.StringIO()
    options = ReportOptions(path="perf.data", tree_limit=0)
    report_json.write(report_of(PROFILE, options), sink, options)
    tree = json.loads(sink.getvalue())["events"][0]["tree"]
    assert len(tree) > 3
    assert all(node["parent"] is None or node["parent"] < node["id"] for node in tree)
    assert all(tree[node["parent"]]["total"] >= node["total"] for node in tree if node["parent"] is not None)


def test_a_share_is_only_whole_if_it_is() -> None:
    assert [percent(share) for share in (1.0, 0.99999, 0.5)] == ["100.0 %", "99.9 %", "50.0 %"]


@pytest.mark.parametrize(
    ("room", "end", "shown"), [(9, False, "/usr/lib6"), (5, False, "/usr…"), (5, True, "…lib6"), (1, False, "…")]
)
def test_fit(room: int, end: bool, shown: str) -> None:
    assert fit("/usr/lib6", room, keep_end=end) == shown


def test_wide_characters_take_two_columns() -> None:
    assert cells("日本") == 4


def test_paint_is_off_without_colour() -> None:
    assert Paint(False).bad("x") == "x"
