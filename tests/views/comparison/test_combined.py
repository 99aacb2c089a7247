"""Both sides of a comparison as one profile."""

import random
from collections import Counter

import pytest
from tests.support.simulated import Program, simulate

from undwarf.profile.model import NONE, Profile
from undwarf.views.comparison.combined import Combined, combine
from undwarf.views.comparison.compare import compare
from undwarf.views.comparison.model import Comparison, Normalization, Recorded
from undwarf.views.page.comparison_part import compared_page, comparison_part


def recorded(seed: int, seconds: float = 3, work: float = 1.0, program: Program | None = None) -> Recorded:
    """A recording of a simulated program."""
    return Recorded(f"{seed}.data", simulate(program or Program(), random.Random(seed), seconds), work=work)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Two recordings before, one after, which did different work."""
    after = recorded(3, 4, 5.0, Program(slower={0: 1.5}))
    return compare([recorded(1), recorded(2, 2, 3.0)], [after], ("function", "path"), Normalization("number"))


@pytest.fixture(scope="module")
def combined(comparison: Comparison) -> Combined:
    return combine(comparison)


def own_weights(profile: Profile) -> Counter[str]:
    """The weight of each function."""
    found: Counter[str] = Counter()
    for sample in profile.samples:
        found[sample.stack[0].name] += sample.period
    return found


def test_samples_of_all_recordings_are_there_in_order_of_time(comparison: Comparison, combined: Combined) -> None:
    times = list(combined.profile.samples.columns.time)
    assert times == sorted(times)
    counts = Counter(combined.recording)
    assert [counts[number] for number in range(3)] == [
        len(one.profile.samples) for one in (*comparison.before, *comparison.after)
    ]


def test_each_recording_begins_at_the_same_time(combined: Combined) -> None:
    first: dict[int, int] = {}
    for recording, time in zip(combined.recording, combined.profile.samples.columns.time, strict=True):
        # The first sample of a simulated recording is at 0, as those without a time are.
        if time:
            first.setdefault(recording, time)
    assert set(first.values()) == {1}


def test_matched_functions_are_one(comparison: Comparison, combined: Combined) -> None:
    expected: Counter[str] = Counter()
    for one in (*comparison.before, *comparison.after):
        expected += own_weights(one.profile)
    assert own_weights(combined.profile) == expected
    names = list(combined.profile.functions.name)
    assert len(names) == len(set(names))


def test_stacks_stay_as_they_are(comparison: Comparison, combined: Combined) -> None:
    stacks = Counter(tuple(frame.name for frame in sample.stack) for sample in combined.profile.samples)
    expected: Counter[tuple[str, ...]] = Counter()
    for one in (*comparison.before, *comparison.after):
        expected += Counter(tuple(frame.name for frame in sample.stack) for sample in one.profile.samples)
    assert stacks == expected


def test_rows_of_the_page_give_the_numbers_of_the_comparison(comparison: Comparison, combined: Combined) -> None:
    compared = compared_page(comparison, combined, "both", {})
    part = comparison_part(comparison, combined, compared, "period")
    columns = compared.page.part.columns
    event = part.values["events"][0]
    assert event["work"] == [1.0, 3.0, 5.0]
    sums: dict[tuple[int, int], float] = {}
    for row, node in enumerate(columns["row_node"]):
        function = columns["frame_function"][columns["node_frame"][node]]
        recording = columns["row_recording"][row]
        side = columns["row_side"][row]
        assert side == (recording == 2)
        scale = event["work"][recording] * (2, 1)[side]
        key = function, side
        sums[key] = sums.get(key, 0.0) + columns["row_weight"][row] / scale
    rows = event["tables"][0]["rows"]
    assert len(rows) > 5
    for row in rows:
        before, after = row["weight"][:2]
        assert sums[row["function"], 0] == pytest.approx(before, rel=1e-12)
        assert sums[row["function"], 1] == pytest.approx(after, rel=1e-12)


def test_call_paths_have_the_functions_of_the_page(comparison: Comparison, combined: Combined) -> None:
    compared = compared_page(comparison, combined, "both", {})
    part = comparison_part(comparison, combined, compared, "period")
    rows = part.values["events"][0]["tables"][1]["rows"]
    names = compared.page.part.values["functions"]
    wanted = {row.name: row.path for row in comparison.events[0].tables[1].rows}
    found = {row["name"]: tuple(names[function] for function in row["path"]) for row in rows}
    assert found == wanted
    assert max(map(len, found.values())) > 1


def test_equal_rows_of_two_recordings_stay_apart(comparison: Comparison, combined: Combined) -> None:
    from undwarf.views.page.profile_part import Bounds

    compared = compared_page(comparison, combined, "both", {}, bounds=Bounds(rows=100))
    assert compared.page.part.values["merged_time_ns"]
    counts: Counter[int] = Counter()
    for row, recording in enumerate(compared.page.part.columns["row_recording"]):
        counts[recording] += compared.page.part.columns["row_count"][row]
    assert counts == Counter(combined.recording)


def test_functions_of_one_name_that_are_no_pair_have_different_names(combined: Combined) -> None:
    from undwarf.views.comparison.combined import names_of
    from undwarf.views.comparison.model import FunctionPair

    pairs = [FunctionPair("app+0x10", None, "app", None, None), FunctionPair(None, "app+0x10", None, "app", None)]
    assert names_of(pairs, [0, 0]) == ["app+0x10", "app+0x10 (after, 1)"]
    assert names_of(pairs, [0, 1]) == ["app+0x10", "app+0x10"]


def test_nothing_is_none_that_was_known(combined: Combined) -> None:
    frames = combined.profile.frames
    assert NONE not in frames.function
    assert max(frames.function) < len(combined.profile.functions)
