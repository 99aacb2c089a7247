"""Folded stacks."""

import io
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.profiles import S, make_profile

from undwarf.outputs.folded import write
from undwarf.profile.model import Profile
from undwarf.views import folded_stacks


def fold(profile: Profile, **options: Any) -> list[str]:
    sink = io.BytesIO()
    write(folded_stacks.fold(profile, **options), sink)
    return sink.getvalue().decode().splitlines()


def test_a_stack_is_one_line_from_the_root_with_its_number_of_samples() -> None:
    assert fold(make_profile([S("main@app work@app"), S("main@app work@app")])) == ["app;main;work 2"]


def test_addresses_of_one_function_are_one() -> None:
    assert fold(make_profile([S("main@app+8 work@app+1"), S("main@app+20 work@app+2")])) == ["app;main;work 2"]


def test_functions_of_one_name_in_two_files_are_one() -> None:
    assert fold(make_profile([S("main@app"), S("main@libc")])) == ["app;main 2"]


def test_the_order_does_not_depend_on_the_order_of_samples() -> None:
    samples = [
        S("main@app b@app"),
        S("main@app a@app c@app"),
        S("main@app a@app"),
        S("start@app"),
        S("z@app", comm="aa"),
    ]
    lines = fold(make_profile(samples))
    assert lines == ["aa;z 1", "app;main;a 1", "app;main;a;c 1", "app;main;b 1", "app;start 1"]
    assert fold(make_profile(samples[::-1])) == lines


def test_weight_by_period() -> None:
    assert fold(make_profile([S("main@app", period=5), S("main@app", period=7)]), weight="period") == ["app;main 12"]


def test_periods_larger_than_32_bits_add_up() -> None:
    assert fold(make_profile([S("f@app", period=1 << 40)] * 2), weight="period") == [f"app;f {1 << 41}"]


@pytest.mark.parametrize(
    ("root", "line"), [("none", "main 1"), ("comm", "app;main 1"), ("pid", "app-7;main 1"), ("tid", "app-7/8;main 1")]
)
def test_what_a_line_starts_with(root: str, line: str) -> None:
    assert fold(make_profile([S("main@app", pid=7, tid=8)]), root=root) == [line]


def test_a_process_outside_the_namespace_keeps_its_sign() -> None:
    assert fold(make_profile([S("main@app", pid=-1, tid=-1)]), root="tid") == ["app--1/-1;main 1"]


def test_kernel_functions_are_marked_when_asked() -> None:
    profile = make_profile([S("main@app read@libc vfs@kernel xfs@module")])
    assert fold(profile, annotate_kernel=True) == ["app;main;read;vfs_[k];xfs_[k] 1"]


def test_only_the_events_asked_for_count() -> None:
    profile = make_profile([S("a@app", event=0), S("b@app", event=1)], ("cycles", "faults"))
    assert fold(profile, events=[1]) == ["app;b 1"]


def test_a_semicolon_in_a_name_does_not_split_it() -> None:
    assert fold(make_profile([S("f<[u8;4]>@app", comm="a;b")])) == ["a:b;f<[u8:4]> 1"]


def test_control_characters_are_escaped() -> None:
    assert fold(make_profile([S("main@app", comm="a\x1b[31m\nb")])) == ["a\\x1b[31m\\x0ab;main 1"]


def test_a_function_without_a_name_is_called_by_its_file() -> None:
    assert fold(make_profile([S("?@libc ?@kernel ?@")])) == ["app;[libc.so.6];[kernel.kallsyms];[unknown] 1"]


def test_a_sample_without_a_stack_is_its_root_alone() -> None:
    assert fold(make_profile([S(""), S("main@app")])) == ["app 1", "app;main 1"]


def test_a_thread_without_a_name_has_a_root() -> None:
    assert fold(make_profile([S("main@app", comm=None)])) == ["[unknown];main 1"]


def test_no_samples_give_no_lines() -> None:
    assert fold(make_profile([])) == []


def test_names_that_are_not_ascii() -> None:
    assert fold(make_profile([S("größe@app", comm="日本")])) == ["日本;größe 1"]


def test_a_line_longer_than_the_buffer_is_whole() -> None:
    stack = " ".join(f"{'x' * 500}{number}@app" for number in range(2000))
    (line,) = fold(make_profile([S(stack)]))
    assert len(line) > 1_000_000
    assert line.count(";") == 2000


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from("fghi"), max_size=6), st.integers(1, 9))))
def test_lines_are_the_sums_of_the_samples(samples: list[tuple[str, list[str], int]]) -> None:
    profile = make_profile([S(" ".join(f"{f}@app" for f in stack), comm=comm, period=p) for comm, stack, p in samples])
    expected: Counter[str] = Counter()
    for comm, stack, period in samples:
        expected[";".join([comm, *stack])] += period
    assert fold(profile, weight="period") == [
        f"{path} {weight}" for path, weight in sorted(expected.items(), key=order)
    ]


def order(item: tuple[str, int]) -> list[str]:
    return item[0].split(";")
