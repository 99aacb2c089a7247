"""Folded stacks as other programs write them, and as `undwarf fold` does."""

import io
import random

import fuzz_folded
import mutate
import pytest
from tests.support.profile_files import damage, opened, stacks
from tests.support.profiles import S, make_profile

from undwarf.errors import UnreadableInput
from undwarf.limits import Limits
from undwarf.outputs import folded
from undwarf.profile.filters import Filters
from undwarf.views.folded_stacks import fold


def text_of(profile: object, **options: str) -> bytes:
    """The folded stacks of a profile."""
    sink = io.BytesIO()
    folded.write(fold(profile, "period", **options), sink)  # type: ignore[arg-type]
    return sink.getvalue()


def test_each_part_of_a_line_is_a_function_and_the_number_its_weight() -> None:
    assert stacks(opened("app;main;work 12\napp;main 3\n").profile()) == {"app main work": 12, "app main": 3}


def test_what_was_written_is_read_back_the_same() -> None:
    samples = [
        S("main@app f@app", 5),
        S("main@app f@app g;h@app", 7, comm="other"),
        S("", 2),
        S("main@app ?@libc", 9),
        S("häuser@app a\x1bb@app", 1, comm="x y"),
    ]
    text = text_of(make_profile(samples))
    assert text.count(b"\n") == 5
    assert text_of(opened(text).profile(), root="none") == text


def test_names_may_have_blanks_and_digits_at_their_end() -> None:
    assert stacks(opened("a;operator new 7;f 3 12\n").profile()) == {"a operator new 7 f 3": 12}


def test_line_ends_of_windows_blank_lines_and_comments_are_no_part_of_stacks() -> None:
    assert stacks(opened("# mode: wall\r\na;b 1\r\n\r\na;c 2").profile()) == {"a b": 1, "a c": 2}


def test_equal_stacks_are_one_node() -> None:
    profile = opened("a;b 1\na;b 2\na;c 4\n").profile()
    assert len(profile.stacks) == 3


def test_the_call_tree_adds_up() -> None:
    tree = opened("a;b 1\na;c 2\na 4\n").profile().call_tree()
    assert (tree.total, tree.roots[0].name, tree.roots[0].weight, tree.roots[0].self_weight) == (7, "a", 7, 4)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("a;b", "line that is no folded stack"),
        ("a;b nan", "line that is no folded stack"),
        ("a;b -3", "line that is no folded stack"),
        ("a;b 1e5", "line that is no folded stack"),
        ("17", "line that is no folded stack"),
        ("a;b 99999999999999999999", "line that is no folded stack"),
        ("a;b 1.5", "weight with a fraction, rounded"),
        ("x" * 70_000 + " 1", "name cut"),
    ],
)
def test_damage_is_counted_and_the_rest_is_read(line: str, kind: str) -> None:
    text = "a;good 1\n" * 70 + line + "\na;good 1\n"
    assert damage(text) == {kind: 1}
    assert stacks(opened(text).profile())["a good"] == 71


def test_a_weight_is_rounded_half_up() -> None:
    assert stacks(opened("a 1.5\nb 1.49\nc 2.\n").profile()) == {"a": 2, "b": 1, "c": 2}


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert list(stacks(opened(b"caf\xe9;a 1\n").profile())) == ["caf\\xe9 a"]


def test_a_stack_of_a_million_functions() -> None:
    profile = opened("f;" * 1_000_000 + "g 1\n", "folded").profile()
    assert (len(profile.stacks), len(profile.functions)) == (1_000_001, 3)
    assert profile.call_tree(min_share=0.5).total == 1


def test_too_many_distinct_stacks_are_an_error() -> None:
    lines = "".join(f"a{number} 1\n" for number in range(100))
    with pytest.raises(UnreadableInput, match="more than 50 distinct frames"):
        opened(lines, limits=Limits(profile_nodes=50))


def test_weights_that_do_not_fit_64_bits_are_an_error() -> None:
    with pytest.raises(UnreadableInput, match="62 bits"):
        opened(f"a {1 << 61}\nb {1 << 61}\n")


def test_frames_are_filtered_as_in_recordings() -> None:
    profile = opened("a;b 1\na;c 2\na;c;d 4\n").profile(filters=Filters(callers=("c",)))
    assert stacks(profile) == {"a c": 2, "a c d": 4}


def test_any_bytes_are_read_or_refused() -> None:
    chance = random.Random(5)
    start = fuzz_folded.seeds()
    for _ in range(150):
        fuzz_folded.one_input(mutate.mutated(chance.choice(start), chance))
