"""Comparisons of simulated recordings, whose truth is known; bench/diff_truth.py has them longer and more often."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.profiles import S, make_profile
from tests.support.simulated import Program, simulate

from undwarf.errors import UsageError
from undwarf.profile.model import Profile
from undwarf.unwind.stop_reason import StopReason
from undwarf.views.comparison.compare import compare
from undwarf.views.comparison.model import By, Comparison, Normalization, Recorded, Row
from undwarf.views.comparison.speed import relative_to_whole
from undwarf.views.comparison.variance import Estimate

SHARES = (0.5, 0.3, 0.2)
SECONDS, RATE = 20.0, 200


def side(program: Program, seed: int, runs: int, seconds: float = SECONDS) -> list[Recorded]:
    random_ = random.Random(seed)
    return [Recorded(f"{run}", simulate(program, random_, seconds, RATE)) for run in range(runs)]


def pair(before: Program, after: Program, seed: int, runs: int = 1) -> Comparison:
    return compare(side(before, 2 * seed, runs), side(after, 2 * seed + 1, runs))


def rows(comparison: Comparison, table: int = 0) -> dict[str, Row]:
    return {row.name: row for row in comparison.events[0].tables[table].rows}


def significant(comparison: Comparison) -> set[str]:
    return {name for name, row in rows(comparison).items() if row.significant}


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("phases", [0.0, 0.3])
def test_recordings_of_the_same_have_no_difference(runs: int, phases: float) -> None:
    program = Program(SHARES, phases=phases)
    found = [pair(program, program, seed, runs).significant for seed in range(40)]
    # 2 are expected at most; 6 or more of 40 have a probability of 1.4 %.
    assert sum(found) < 6


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("phases", [0.0, 0.3])
def test_intervals_have_the_truth_in_95_of_100(runs: int, phases: float) -> None:
    before, after = Program(SHARES, phases=phases), Program(SHARES, {0: 1.1}, phases=phases)
    inside = []
    for seed in range(60):
        for name, row in rows(pair(before, after, seed, runs)).items():
            if name != "main":
                number = int(name[1:])
                true = 1e9 * SECONDS * (after.times()[number] - before.times()[number])
                assert row.weight.difference is not None
                low, high = row.weight.difference
                inside.append(low <= true <= high)
    assert 0.91 < sum(inside) / len(inside) < 0.99


def test_a_function_that_became_slower_is_found_and_no_other() -> None:
    found = [significant(pair(Program(SHARES), Program(SHARES, {0: 1.15}), seed)) for seed in range(20)]
    assert sum("f0" in one for one in found) >= 16
    assert sum(bool(one - {"f0"}) for one in found) < 4


def test_several_recordings_find_what_one_cannot() -> None:
    before, after = Program(SHARES), Program(SHARES, {0: 1.05})
    alone = sum("f0" in significant(pair(before, after, seed)) for seed in range(12))
    several = sum("f0" in significant(pair(before, after, seed, 6)) for seed in range(12))
    assert alone < several and several >= 10


def test_several_recordings_test_the_total() -> None:
    comparison = pair(Program(SHARES), Program(SHARES, {0: 1.1}), 1, 4)
    total = comparison.events[0].total
    assert total.significant and total.weight.ratio is not None
    assert total.weight.ratio[0] <= 1.05 <= (total.weight.ratio[1] or 0)


def test_one_recording_a_side_does_not_test_the_total() -> None:
    total = pair(Program(SHARES), Program(SHARES, {0: 1.3}), 1).events[0].total
    assert (total.test, total.weight.difference) == (None, None)
    assert total.weight.after > total.weight.before


def test_a_machine_that_is_slower_is_no_function_that_is() -> None:
    slower = Program(tuple(1.1 * share for share in SHARES))
    comparison = pair(Program(SHARES), slower, 3)
    assert not significant(comparison)
    assert comparison.events[0].alike == pytest.approx(1.1, abs=0.01)


def test_several_recordings_know_how_much_runs_differ() -> None:
    noisy = Program(SHARES, speed=0.05)
    found = [pair(noisy, noisy, seed, 4).significant for seed in range(40)]
    assert sum(found) < 6


def test_lighter_functions_are_added_up() -> None:
    program = Program((0.9, 0.06, 0.02, 0.02))
    (table,) = compare(side(program, 1, 1), side(program, 2, 1), least=0.05).events[0].tables
    assert {row.name for row in table.rows} == {"f0", "f1"}
    assert (table.below, table.others is not None) == (2, True)
    weights = [row.weight.before for row in (*table.rows, *([table.others] if table.others else []))]
    assert sum(weights) == pytest.approx(
        compare(side(program, 1, 1), side(program, 2, 1)).events[0].total.weight.before
    )


def test_a_named_function_is_tested_however_light_it_is() -> None:
    program = Program((0.9, 0.06, 0.02, 0.02))
    comparison = compare(side(program, 1, 1), side(program, 2, 1), least=0.05, named=[("function", "f3")])
    assert rows(comparison)["f3"].test is not None


def test_normalized_by_samples_it_compares_shares() -> None:
    comparison = compare(
        side(Program(SHARES), 1, 1), side(Program(SHARES), 2, 1, 2 * SECONDS), normalization=Normalization("samples")
    )
    row = rows(comparison)["f0"]
    assert (row.weight.before, row.weight.after) == pytest.approx((0.5, 0.5), abs=0.03)
    assert row.weight[:2] == row.share[:2]
    assert not comparison.significant


def test_normalized_by_time_it_compares_rates() -> None:
    comparison = compare(
        side(Program(SHARES), 1, 1), side(Program(SHARES), 2, 1, 2 * SECONDS), normalization=Normalization("time")
    )
    assert comparison.events[0].total.weight[:2] == pytest.approx((1e9, 1e9), rel=0.01)
    assert not comparison.significant


def test_normalized_by_work_it_compares_weight_per_unit() -> None:
    (before,), (after,) = side(Program(SHARES), 1, 1), side(Program(SHARES), 2, 1, 2 * SECONDS)
    sides = [before._replace(work=10.0)], [after._replace(work=20.0)]
    comparison = compare(*sides, normalization=Normalization("number"))
    assert comparison.events[0].total.weight[:2] == pytest.approx((2e9, 2e9), rel=0.01)
    assert not comparison.significant


def recorded(samples: Sequence[S], events: Sequence[str] = ("cycles",)) -> list[Recorded]:
    timed = [replace(sample, time=1000 * number) for number, sample in enumerate(samples)]
    return [Recorded("", make_profile(timed, events))]


def test_normalized_by_an_event_it_compares_weight_per_event() -> None:
    def work(count: int) -> list[Recorded]:
        samples = [S("main@app f@app", 100), S("main@app", 50, event=1)] * count
        return recorded(samples, ("cycles", "instructions"))

    comparison = compare(work(200), work(300), normalization=Normalization("event", "instructions"))
    assert rows(comparison)["f"].weight[:2] == (2.0, 2.0)


def test_the_share_of_whole_stacks_is_compared() -> None:
    whole = [S("main@app f@app")] * 400
    broken = [S("f@app", stop=StopReason.TRUNCATED), S("main@app f@app")] * 200
    random.Random(1).shuffle(broken)
    comparison = compare(recorded(whole), recorded(broken))
    assert comparison.whole is not None
    assert comparison.whole.weight[:2] == (1.0, 0.5)
    assert comparison.whole.significant
    same = compare(recorded(whole), recorded(whole)).whole
    assert same is not None and not same.significant


def test_events_are_the_same_whatever_their_modifiers() -> None:
    samples = [S("main@app f@app")] * 100
    (event,) = compare(recorded(samples, ("cycles:u",)), recorded(samples, ("cycles",))).events
    assert (event.name, event.name_after) == ("cycles:u", "cycles")


def test_recordings_of_other_events_cannot_be_compared() -> None:
    samples = [S("main@app f@app")] * 100
    with pytest.raises(UsageError, match="no event in common"):
        compare(recorded(samples, ("cycles",)), recorded(samples, ("task-clock",)))


def tables(by: By, before: Sequence[S], after: Sequence[S]) -> dict[str, Row]:
    return rows(compare(recorded(before), recorded(after), (by,)))


def test_images_and_threads() -> None:
    before = [S("main@app f@libc", comm="one"), S("main@app", comm="two")] * 100
    after = [S("main@app f@libc", comm="one")] * 100
    found = tables("image", before, after)
    assert {name: row.weight[:2] for name, row in found.items()} == {"app": (100, 0), "libc.so.6": (100, 100)}
    found = tables("thread", before, after)
    assert {name: row.weight[:2] for name, row in found.items()} == {"one": (100, 100), "two": (100, 0)}


def test_paths_with_callees_without_those_that_say_the_same() -> None:
    before = [S("main@app f@app g@app"), S("main@app f@app")] * 100
    found = compare(recorded(before), recorded(before[:100]), ("path",)).events[0].tables[0].rows
    assert {row.path: row.weight[:2] for row in found} == {("main", "f"): (200, 100), ("main", "f", "g"): (100, 50)}


def test_functions_with_their_callees() -> None:
    before = [S("main@app f@app g@app"), S("main@app f@app f@app")] * 100
    comparison = compare(recorded(before), recorded(before), children=True)
    found = {row.name: row.weight.before for row in comparison.events[0].tables[0].rows}
    assert found == {"main": 200, "f": 200, "g": 100}


def test_without_times_one_recording_a_side_tests_nothing() -> None:
    samples = [S("main@app f@app", time=5) for _sample in range(100)]
    profile = make_profile(samples)
    comparison = compare([Recorded("", profile)], [Recorded("", make_profile(samples[:50]))])
    assert comparison.tests == 0
    assert rows(comparison)["f"].weight[:2] == (100, 50)


def test_paths_of_any_depth_end_somewhere() -> None:
    samples = [S("main@app" + " f@app" * 1000)] * 100
    found = compare(recorded(samples), recorded(samples), ("path",)).events[0].tables[0].rows
    assert [(len(row.path), row.weight.before) for row in found] == [(256, 100)]


def test_of_many_functions_the_heaviest_are_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    from undwarf.views.comparison import compare as module

    monkeypatch.setattr(module, "_MOST_TESTS", 3)
    program = Program((0.4, 0.3, 0.2, 0.1))
    (table,) = compare(side(program, 1, 1), side(program, 2, 1)).events[0].tables
    assert ({row.name for row in table.rows}, table.below) == ({"f0", "f1", "f2"}, 1)


def lines(shift: int, profile: Profile) -> Profile:
    from tests.support.profiles import column

    profile.files = ["/src/a.c"]
    profile.frames.file = column("I", [0] * len(profile.frames))
    profile.frames.line = column("I", [10 * (number + 1) + shift for number in range(len(profile.frames))])
    return profile


def test_lines_that_moved_together_are_the_same() -> None:
    samples = [S("f@app+10", time=1), S("f@app+20", time=2), S("f@app+20", time=3), S("f@app+30", time=4)] * 100
    sides = [[Recorded("", lines(shift, make_profile(samples)))] for shift in (0, 7)]
    found = rows(compare(sides[0], sides[1], ("line",)))
    assert {name: row.weight[:2] for name, row in found.items()} == {
        "a.c:17": (100, 100), "a.c:27": (200, 200), "a.c:37": (100, 100),
    }  # fmt: skip  # a table
    assert found["a.c:17"].notes[0].text == "line 10 before"


@pytest.mark.parametrize("by", ["path", "image", "thread"])
def test_what_is_all_of_a_recording_is_not_tested_for_the_total(by: By) -> None:
    slower = Program(tuple(1.04 * share for share in SHARES))
    comparison = compare(side(Program(SHARES), 1, 1), side(slower, 2, 1), (by,))
    whole = max(comparison.events[0].tables[0].rows, key=lambda row: row.weight.before)
    assert whole.weight.after > 1.03 * whole.weight.before
    assert not comparison.significant


def test_a_row_is_compared_with_the_whole_if_the_rest_moved_with_it() -> None:
    def estimate(before: float, after: float) -> Estimate:
        return Estimate(before, after, 1.0, 1.0, 100)

    alone, with_rest, most = estimate(40, 44), estimate(40, 44), estimate(90, 99)
    assert relative_to_whole(alone, (100, 104)) is None
    assert relative_to_whole(with_rest, (100, 110)) == estimate(40, 40)._replace(variance_after=1 / 1.1**2)
    assert relative_to_whole(most, (100, 109)) is not None
    assert relative_to_whole(estimate(10, 20), (100, 200)) is None
