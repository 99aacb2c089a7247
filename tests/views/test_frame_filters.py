"""Samples chosen by what is on their stacks."""

import pytest
from tests.support.profiles import S, make_profile

from undwarf.errors import NothingUsable
from undwarf.profile.filters import Filters
from undwarf.views.frame_filters import passing, split_names

SAMPLES = [
    S("main@app parse(int)@app memcpy@libc", period=1),
    S("main@app parse(int)@app", period=2),
    S("main@app emit<int>(char)@app memcpy@libc", period=4),
    S("main@app vfs_read@kernel", period=8),
    S("", period=16),
]
PROFILE = make_profile(SAMPLES)


def chosen(**filters: tuple[str, ...]) -> int:
    """The sum of the periods of the samples that pass: each sample is one bit of it."""
    return sum(passing(PROFILE, Filters(**filters)).period)


@pytest.mark.parametrize(
    ("name", "bits"),
    [("memcpy", 5), ("mem*", 5), ("parse", 2), ("parse(int)", 2), ("vfs_read", 8), ("parse,vfs_read", 10)],
)
def test_by_the_function_a_sample_was_taken_in(name: str, bits: int) -> None:
    assert chosen(symbols=tuple(name.split(","))) == bits


@pytest.mark.parametrize(
    ("name", "bits"), [("libc.so.6", 5), ("/lib/libc.so.6", 5), ("[kernel*", 8), ("app", 2), ("*app", 2)]
)
def test_by_the_file_a_sample_was_taken_in(name: str, bits: int) -> None:
    assert chosen(dsos=(name,)) == bits


@pytest.mark.parametrize(("name", "bits"), [("parse", 3), ("emit", 4), ("main", 15), ("^(parse|emit)", 7)])
def test_by_a_function_on_the_stack(name: str, bits: int) -> None:
    assert chosen(callers=(name,)) == bits


def test_filters_by_frame_go_together() -> None:
    assert chosen(callers=("parse",), dsos=("libc.so.6",)) == 1


def test_one_of_several_names_is_enough() -> None:
    assert chosen(symbols=("nowhere", "memcpy")) == 5


@pytest.mark.parametrize(
    ("filters", "nearest"),
    [
        ({"symbols": ("memcpyy",)}, "memcpy"),
        ({"dsos": ("libc",)}, "libc.so.6"),
        ({"callers": ("pasre",)}, "parse(int)"),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_near_ones(filters: dict[str, tuple[str, ...]], nearest: str) -> None:
    with pytest.raises(NothingUsable) as error:
        chosen(**filters)
    assert error.value.why.startswith(f"there are: {nearest}")


def test_a_function_that_only_calls_is_offered_as_a_caller() -> None:
    with pytest.raises(NothingUsable) as error:
        chosen(symbols=("main",))
    assert (error.value.what, error.value.hint) == (
        "no sample was taken in main itself",
        "--caller 'main' chooses these",
    )


def test_commas_within_brackets_part_no_names() -> None:
    assert split_names("f<int, char>(a, b), g,") == ["f<int, char>(a, b)", "g"]


def test_the_sampled_function_is_the_outer_one_of_its_inlines() -> None:
    profile = make_profile([S("main@app outer@app inner@app", period=3)])
    profile.frames.inline_depth = memoryview(bytes([0, 0, 1]))
    assert list(passing(profile, Filters(symbols=("outer",))).period) == [3]
    with pytest.raises(NothingUsable):
        passing(profile, Filters(symbols=("main",)))
