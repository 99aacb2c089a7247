"""Functions of one side found on the other."""

from collections.abc import Sequence

import pytest
from tests.support.profiles import IMAGES, S, make_profile

from undwarf.profile.model import ImageInfo
from undwarf.views.comparison.compare import compare
from undwarf.views.comparison.matching import Matching, match
from undwarf.views.comparison.model import Comparison, Recorded, Row
from undwarf.views.comparison.side_functions import SideFunctions, plain_name

MORE_IMAGES = {
    "app2": ImageInfo("/opt/app2", "/opt/app2", "dd" * 20, "file"),
    "libz12": ImageInfo("/lib/libz.so.1.2", "/lib/libz.so.1.2", "ee" * 20, "file"),
    "libz13": ImageInfo("/lib/libz.so.1.3", "/lib/libz.so.1.3", "ff" * 20, "file"),
}


@pytest.fixture(autouse=True)
def _images(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, image in MORE_IMAGES.items():
        monkeypatch.setitem(IMAGES, name, image)


def side(stacks: Sequence[str]) -> SideFunctions:
    functions = SideFunctions()
    functions.add(make_profile([S(stack) for stack in stacks]), None, "period", 1.0)
    return functions


def matched(before: Sequence[str], after: Sequence[str]) -> dict[tuple[str | None, str | None], str | None]:
    """(name before, name after): how they were matched."""
    sides = side(before), side(after)
    matching: Matching = match(*sides)
    return {
        (
            sides[0].keys[old].name if old is not None else None,
            sides[1].keys[new].name if new is not None else None,
        ): how
        for old, new, how in matching.pairs
    }


@pytest.mark.parametrize(
    "name",
    [
        "work.constprop.0",
        "work.isra.0.cold",
        "work.part.3",
        "work.llvm.8123456789",
        "work.lto_priv.0",
        "work [clone .constprop.0]",
        "work [clone .isra.0] [clone .cold]",
    ],
)
def test_clones_are_the_function_they_were_made_of(name: str) -> None:
    assert plain_name(name) == "work"


@pytest.mark.parametrize("name", ["main.func1", "a.b", "operator()", ".cold", "x.partial"])
def test_other_names_stay(name: str) -> None:
    assert plain_name(name) == name


def test_clones_match_and_are_noted() -> None:
    comparison = compared(["main@app work@app"] * 100, ["main@app work.constprop.0@app"] * 100)
    (row,) = [row for row in rows(comparison) if row.name == "work"]
    assert [note.text for note in row.notes] == [".constprop after"]


def test_a_library_of_another_version_is_the_same() -> None:
    assert matched(["inflate@libz12"], ["inflate@libz13"]) == {("inflate", "inflate"): "moved"}


def test_a_program_of_another_name_is_found_by_its_functions() -> None:
    assert matched(["main@app f@app g@app"], ["main@app2 f@app2 h@app2"])[("f", "f")] == "moved"


def test_files_without_common_functions_are_different() -> None:
    assert matched(["f@libc g@libc"], ["x@app2"]) == {("f", None): None, ("g", None): None, (None, "x"): None}


def test_other_template_arguments_and_parameters() -> None:
    before = ["main@app std::vector<int>::push_back(int)@app", "main@app f(int)@app"]
    after = ["main@app std::vector<long>::push_back(long)@app", "main@app f(long)@app"]
    found = matched(before, after)
    assert found["std::vector<int>::push_back(int)", "std::vector<long>::push_back(long)"] == "signature"
    assert found["f(int)", "f(long)"] == "signature"


def test_several_functions_of_one_template_are_not_guessed() -> None:
    found = matched(["f<int>@app", "f<char>@app"], ["f<long>@app", "f<short>@app"])
    assert ("f<int>", None) in found and (None, "f<long>") in found


def test_a_function_of_another_name_with_the_same_callers_and_callees_is_renamed() -> None:
    before = ["main@app old@app leaf@app", "main@app old@app", "main@app other@app"]
    after = [stack.replace("old", "new") for stack in before]
    assert matched(before, after)["old", "new"] == "renamed"


def test_a_leaf_is_renamed_if_it_stands_between_the_same_functions() -> None:
    before = ["main@app first@app", "main@app old@app", "main@app last@app"]
    after = [stack.replace("old", "new") for stack in before]
    assert matched(before, after)["old", "new"] == "renamed"


def test_a_function_elsewhere_is_another_one() -> None:
    before = ["main@app first@app", "main@app old@app", "main@app last@app"]
    after = ["main@app first@app", "main@app last@app", "main@app last@app new@app"]
    assert ("old", None) in matched(before, after)


def test_functions_without_a_symbol_match_in_the_same_build_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def functions(build_id: str) -> SideFunctions:
        monkeypatch.setitem(IMAGES, "app", IMAGES["app"]._replace(build_id=build_id))
        profile = make_profile([S("main@app app:0x40@app")])
        profile.functions.unnamed[-1] = 1
        found = SideFunctions()
        found.add(profile, None, "period", 1.0)
        return found

    same = match(functions("aa"), functions("aa"))
    assert [how for _old, _new, how in same.pairs] == ["same", "same"]
    other = match(functions("aa"), functions("bb"))
    assert [how for _old, _new, how in other.pairs] == ["same", None, None]


def compared(before: Sequence[str], after: Sequence[str]) -> Comparison:
    def recorded(stacks: Sequence[str]) -> Recorded:
        return Recorded("", make_profile([S(one, time=number) for number, one in enumerate(stacks)]))

    return compare([recorded(before)], [recorded(after)])


def rows(comparison: Comparison) -> list[Row]:
    return comparison.events[0].tables[0].rows


def notes(comparison: Comparison) -> dict[str, list[str]]:
    return {row.name: [note.kind for note in row.notes] for row in rows(comparison)}


def test_a_function_that_was_inlined_is_one_row_with_a_note() -> None:
    stacks = ["main@app work@app helper@app", "main@app work@app"] * 200
    before, after = (make_profile([S(one, time=number) for number, one in enumerate(stacks)]) for _side in range(2))
    after.frames.inline_depth[2] = 1
    comparison = compare([Recorded("", before)], [Recorded("", after)])
    assert notes(comparison)["helper"] == ["inlined"]
    assert [note.text for row in rows(comparison) for note in row.notes] == ["inlined after, into work"]
    assert not comparison.significant


def test_without_debugging_information_inlining_is_possible() -> None:
    before = ["main@app work@app helper@app", "main@app work@app", "main@app other@app"] * 200
    after = ["main@app work@app", "main@app work@app", "main@app other@app"] * 200
    found = notes(compared(before, after))
    assert (found["helper"], found["work"], found["other"]) == (["possibly-inlined"], ["caller-of-inlined"], [])


def test_a_function_that_is_gone_whose_caller_stays_as_it_was_is_gone() -> None:
    before = ["main@app work@app helper@app", "main@app work@app", "main@app other@app"] * 200
    after = ["main@app work@app", "main@app other@app"] * 200
    assert notes(compared(before, after))["helper"] == ["only-before"]


def test_both_sides_have_common_numbers() -> None:
    comparison = compared(["main@app f@app"] * 10, ["g@app main@app"] * 10)
    numbers = comparison.functions
    names = [[numbers.pairs[number] for number in column[0]] for column in (numbers.before, numbers.after)]
    assert [pair.before for pair in names[0]] == ["main", "f"]
    assert [pair.after for pair in names[1]] == ["g", "main"]
    assert names[0][0] is names[1][1]
