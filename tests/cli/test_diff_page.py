"""``undwarf diff -o``: the page of a comparison."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import Run
from tests.support.page_parts import NONE, Part, parts_of

SHIPPED = Path(__file__).parents[2] / "examples" / "recording"
SUM, PRODUCT = SHIPPED / "words-sum.data", SHIPPED / "words-product.data"
SYMFS = ("--symfs", SHIPPED)
KINDS = "function,path,image,line"


def parts(undwarf: Run, folder: Path, *arguments: object) -> dict[str, Part]:
    """The parts of the page of two recordings."""
    done = undwarf("diff", SUM, PRODUCT, *SYMFS, *arguments, "-o", "page.html")
    assert done.returncode == 0, done.stderr
    return parts_of((folder / "page.html").read_text())


def test_the_page_has_the_profile_of_both_sides_and_the_code_of_each(undwarf: Run, tmp_path: Path) -> None:
    found = parts(undwarf, tmp_path)
    assert sorted(found) == ["before-code", "code", "comparison", "profile"]
    assert found["profile"].title == "words-sum.data → words-product.data"
    code = [one.functions.values() for one in (found["before-code"], found["code"])]
    assert all(sum(len(one["instructions"]) for one in side) > 100 for side in code)


def test_rows_are_those_of_json(undwarf: Run, tmp_path: Path) -> None:
    event = parts(undwarf, tmp_path)["comparison"].events[0]
    wanted = json.loads(undwarf("diff", SUM, PRODUCT, *SYMFS, "--by", KINDS, "--json").stdout)["events"][0]
    assert [table["by"] for table in event["tables"]] == KINDS.split(",")
    for own, other in zip(event["tables"], wanted["tables"], strict=True):
        assert [shown(row) for row in own["rows"]] == [expected(row) for row in other["rows"]]


def shown(row: dict[str, Any]) -> list[Any]:
    """What the page has of a row."""
    texts = [text for _kind, text in row["notes"]]
    return [row["name"], row["name_before"], *row["weight"], row["p_corrected"], row["significant"], texts]


def expected(row: dict[str, Any]) -> list[Any]:
    """The same of a row of ``--json``."""
    keys = ("before", "after", "difference_low", "difference_high", "ratio_low", "ratio_high", "p")
    weight = [row["weight"][key] for key in keys]
    texts = [note["text"] for note in row["notes"]]
    return [row["name"], row["name_before"], *weight, row["p_corrected"], row["significant"], texts]


def test_stacks_of_the_page_give_the_weights_of_call_paths(undwarf: Run, tmp_path: Path) -> None:
    found = parts(undwarf, tmp_path)
    profile = found["profile"]
    sums: dict[tuple[tuple[int, ...], int], int] = {}
    for row, node in enumerate(profile.row_node):
        path: list[int] = []
        while node != NONE:
            path.append(profile.frame_function[profile.node_frame[node]])
            node = profile.node_parent[node]
        path.reverse()
        for length in range(1, len(path) + 1):
            key = tuple(path[:length]), profile.row_side[row]
            sums[key] = sums.get(key, 0) + profile.row_weight[row]
    rows = next(table for table in found["comparison"].events[0]["tables"] if table["by"] == "path")["rows"]
    assert len(rows) > 5
    for row in rows:
        assert [sums.get((tuple(row["path"]), side), 0) for side in (0, 1)] == row["weight"][:2]


def test_both_builds_are_one_image(undwarf: Run, tmp_path: Path) -> None:
    found = parts(undwarf, tmp_path)
    names = [image["name"] for image in found["profile"].images]
    assert "words-product" in names
    assert "words-sum" not in names
    assert found["comparison"].files == [{"before": "words-sum", "after": "words-product"}]


def test_what_is_compared_can_be_chosen(undwarf: Run, tmp_path: Path) -> None:
    found = parts(undwarf, tmp_path, "--by", "image", "--normalize", "samples")["comparison"]
    assert [table["by"] for table in found.events[0]["tables"]] == ["image"]
    assert found.normalized_by == "samples"
    assert sum(row["weight"][0] for row in found.events[0]["tables"][0]["rows"]) == pytest.approx(1, abs=0.05)


def test_each_side_has_its_types_with_the_weights_that_are_compared(undwarf: Run, tmp_path: Path) -> None:
    found = parts(undwarf, tmp_path, "--by", "type")
    profile = found["profile"]
    rows = {row["name"]: row["weight"] for row in found["comparison"].events[0]["tables"][0]["rows"]}
    for side, name in enumerate(("before-types", "types")):
        types = [one["name"] for one in found[name].types]
        sums = dict.fromkeys(types, 0)
        for row, access in enumerate(found[name].row_access):
            assert access == NONE or profile.row_side[row] == side
            if access != NONE and (number := found[name].accesses[access]["type"]) is not None:
                sums[types[number]] += profile.row_weight[row]
        common = sums.keys() & rows.keys()
        assert "struct entry" in common
        assert {key: sums[key] for key in common} == {key: rows[key][side] for key in common}


def test_types_are_shown_of_one_recording_a_side(undwarf: Run, tmp_path: Path) -> None:
    again = shutil.copy(PRODUCT, tmp_path)
    done = undwarf("diff", SUM, "--", PRODUCT, again, *SYMFS, "--by", "type", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    found = parts_of((tmp_path / "page.html").read_text())
    assert found["before-types"].problem is None
    assert "one recording on a side" in found["types"].problem


def test_json_and_conditions_are_there_as_without_a_page(undwarf: Run, tmp_path: Path) -> None:
    gate = ("--fail-if", "function:compare < -5%")
    done = undwarf("diff", SUM, PRODUCT, *SYMFS, "--json", *gate, "-o", "page.html")
    assert done.returncode == 4
    assert json.loads(done.stdout)["conditions"][0]["state"] == "holds"
    assert (tmp_path / "page.html").exists()
    done = undwarf("diff", SUM, PRODUCT, *SYMFS, *gate, "-o", "page.html")
    assert (done.returncode, len(done.stdout.splitlines())) == (4, 2)
    assert "wrote page.html" in done.stderr


def test_profiles_of_other_tools_can_be_compared(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "a.folded").write_text("main;one 10\nmain;two 20\n")
    (tmp_path / "b.folded").write_text("main;one 30\nmain;three 20\n")
    done = undwarf("diff", "a.folded", "b.folded", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    found = parts_of((tmp_path / "page.html").read_text())
    assert found["profile"].time_unit_ns is None
    assert [table["by"] for table in found["comparison"].events[0]["tables"]] == ["function", "path", "image"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(("--open",), "--open needs a page"), (("-o", "gone/x.html"), "cannot write gone/x.html")],
)
def test_what_cannot_be_done_is_said(undwarf: Run, arguments: tuple[str, ...], reason: str) -> None:
    done = undwarf("diff", SUM, PRODUCT, *SYMFS, *arguments)
    assert done.returncode == 2
    assert reason in done.stderr
