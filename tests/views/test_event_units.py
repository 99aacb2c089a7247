"""What may be added of events, and what numbers of samples are worth."""

import pytest
from tests.support.profiles import S, make_profile

from undwarf.views.call_tree import call_tree
from undwarf.views.event_units import measures, samples_differ, unit_of_event
from undwarf.views.sample_selection import sections


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("cpu-clock", "ns"),
        ("task-clock:u", "ns"),
        ("offcpu-time", "ns"),
        ("sched:sched_stat_sleep", "ns"),
        ("sched:sched_switch", "sched:sched_switch"),
        ("cycles:Pu", "cycles"),
        ("cpu_core/cycles/u", "cycles"),
        ("cpu-cycles", "cycles"),
        ("page-faults", "page-faults"),
        ("cpu/event=0x3c,umask=0x1/", "event=0x3c,umask=0x1"),
    ],
)
def test_unit_of_an_event(name: str, unit: str) -> None:
    assert unit_of_event(name) == unit


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["cpu-clock", "offcpu-time"], [(0, 1)]),
        (["cycles", "offcpu-time"], [(0,), (1,)]),
        (["cpu-clock", "task-clock", "offcpu-time"], [(0, 2), (1,)]),
        (["cpu_core/cycles/", "cpu_atom/cycles/"], [(0, 1)]),
        (["cycles:u", "cycles:k"], [(0, 1)]),
        (["cycles:u", "cycles"], [(0,), (1,)]),
        (["cpu-clock", "sched:sched_stat_runtime"], [(0,), (1,)]),
        (["cycles", "instructions", "page-faults"], [(0,), (1,), (2,)]),
    ],
)
def test_what_may_be_added(names: list[str], groups: list[tuple[int, ...]]) -> None:
    assert [one.events for one in measures(names, range(len(names)))] == groups


TWO = make_profile([S("a@app", 5), S("a@app", 7, event=1)], ("cycles", "page-faults"))


def test_a_report_by_event_has_a_section_for_each_unit() -> None:
    assert sections(TWO, ("event", "sym")) == [((0,), "cycles"), ((1,), "page-faults")]


def test_the_sum_of_different_units_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="cycles.*page-faults"):
        assert call_tree(TWO).total == 12


def test_one_event_of_several_is_added_in_silence() -> None:
    assert call_tree(TWO, event=1).total == 7


@pytest.mark.parametrize(
    ("event", "periods", "differ"),
    [
        ("cycles", (1, 5), False),
        ("cpu-clock:u", (1, 5), False),
        ("page-faults", (1, 5), True),
        ("page-faults", (5, 5), False),
        ("offcpu-time", (1, 5), True),
    ],
)
def test_where_numbers_of_samples_mean_little(event: str, periods: tuple[int, int], differ: bool) -> None:
    assert samples_differ(make_profile([S("a@app", period) for period in periods], (event,)), (0,)) is differ
