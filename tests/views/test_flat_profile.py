"""Weights by thread, file and function."""

import pytest
from tests.support.profiles import S, make_profile

from undwarf.errors import UsageError
from undwarf.views.flat_profile import NO_FRAME, Row, flat_profile, parse_keys

SAMPLES = [
    S("main@app work@app", period=10),
    S("main@app work@app read@kernel", period=20, comm="other", cpu=1),
    S("main@app", period=5),
]


def rows(*keys: str, samples: list[S] = SAMPLES, events: tuple[str, ...] = ("cycles",), **options: object) -> list[Row]:
    return flat_profile(make_profile(samples, events), keys, **options).rows


def test_own_and_passing_weight_of_functions() -> None:
    assert [(row.key, row.children_weight, row.self_weight) for row in rows("sym")] == [
        (("main",), 35, 5),
        (("work",), 30, 10),
        (("read",), 20, 20),
    ]


def test_rows_count_the_samples_that_ended_there() -> None:
    assert {row.key[0]: row.samples for row in rows("sym")} == {"main": 1, "work": 1, "read": 1}


def test_recursion_counts_once() -> None:
    (row,) = rows("sym", samples=[S("f@app f@app f@app", period=7)])
    assert (row.children_weight, row.self_weight) == (7, 7)


def test_recursion_through_another_function_counts_once() -> None:
    found = rows("sym", samples=[S("f@app g@app f@app g@app", period=7)])
    assert [(row.key, row.children_weight, row.self_weight) for row in found] == [(("g",), 7, 7), (("f",), 7, 0)]


def test_keys_come_in_the_order_asked_for() -> None:
    assert ("read", "other", "[kernel.kallsyms]") in {row.key for row in rows("sym", "comm", "dso")}


def test_kernel_code_is_told() -> None:
    assert {row.key[0]: row.kernel for row in rows("sym")} == {"main": False, "work": False, "read": True}


def test_one_name_in_kernel_and_program_is_two_rows() -> None:
    found = rows("sym", samples=[S("read@app"), S("read@kernel")])
    assert [(row.key, row.kernel) for row in found] == [(("read",), False), (("read",), True)]


@pytest.mark.parametrize(
    ("key", "expected"),
    [("comm", {"app": 15, "other": 20}), ("cpu", {"0": 15, "1": 20}), ("pid", {"100": 35}), ("event", {"cycles": 35})],
)
def test_keys_of_samples(key: str, expected: dict[str, int]) -> None:
    assert {row.key[0]: row.self_weight for row in rows(key)} == expected


def test_negative_process_numbers() -> None:
    (row,) = rows("pid", samples=[S("f@app", pid=-1)])
    assert row.key == ("-1",)


def test_only_one_event_counts() -> None:
    samples = [S("f@app", period=3), S("g@app", period=4, event=1)]
    found = flat_profile(make_profile(samples, ("cycles", "faults")), ("sym",), event=1)
    assert [(row.key, row.self_weight) for row in found.rows] == [(("g",), 4)]
    assert (found.total, found.samples) == (4, 1)


def test_weight_by_samples() -> None:
    assert flat_profile(make_profile(SAMPLES), ("dso",), "samples").total == 3


def test_periods_that_are_all_zero_fall_back_to_samples() -> None:
    assert flat_profile(make_profile([S("f@app", period=0)] * 2), ("sym",)).total == 2


def test_without_children_rows_have_their_own_weight_only() -> None:
    assert {row.key[0]: row.self_weight for row in rows("sym", children=False)} == {"main": 5, "work": 10, "read": 20}


def test_samples_without_a_stack_have_a_row() -> None:
    (row,) = rows("sym", samples=[S("", period=3)])
    assert row == Row((NO_FRAME,), 3, 3, 1)


def test_a_profile_without_samples() -> None:
    assert rows("comm", "dso", "sym", samples=[]) == []


def test_own_weights_add_up_to_the_total() -> None:
    found = flat_profile(make_profile(SAMPLES), ("comm", "dso", "sym", "cpu"))
    assert sum(row.self_weight for row in found.rows) == found.total == 35


def test_keys_are_named_as_perf_names_them() -> None:
    assert parse_keys("comm, symbol,dso,comm") == ("comm", "sym", "dso")


@pytest.mark.parametrize("text", ["nonsense", "", ","])
def test_keys_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError):
        parse_keys(text)
