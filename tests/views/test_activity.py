"""The weight of samples over time."""

from hypothesis import given
from hypothesis import strategies as st
from tests.support.profiles import S, make_profile

from undwarf.views.activity import Activity, activity, time_range

PROFILE = make_profile(
    [S("f@app", period=weight, time=time) for time, weight in ((100, 1), (149, 2), (150, 4), (199, 8))]
)


def test_each_sample_is_in_one_part() -> None:
    assert activity(PROFILE, 2, 100, 199).weights == [3, 12]
    assert activity(PROFILE, 1, 120, 160).weights == [6]


def test_the_range_is_that_of_the_samples() -> None:
    assert time_range(PROFILE) == (100, 199)
    assert time_range(make_profile([])) == (0, 0)


@given(st.integers(0, 1000), st.integers(1, 1000), st.integers(1, 70), st.data())
def test_parts_and_their_times_agree(first: int, length: int, parts: int, data: st.DataObject) -> None:
    shown = Activity(first, first + length - 1, [0] * parts)
    time = data.draw(st.integers(first, first + length - 1))
    part = shown.part(time)
    start, end = shown.span(part, part)
    assert start <= time <= end
    assert shown.span(0, parts - 1) == (first, first + length - 1)
