"""``undwarf diff`` on recordings."""

import json
import shutil
from pathlib import Path

import pytest
from tests.support.commands import Run

SHIPPED = Path(__file__).parents[2] / "examples" / "recording"
SUM, PRODUCT = SHIPPED / "words-sum.data", SHIPPED / "words-product.data"
SYMFS = ("--symfs", SHIPPED)


def test_what_became_faster_stands_first_and_is_marked(undwarf: Run) -> None:
    done = undwarf("diff", SUM, PRODUCT, *SYMFS)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    (total,) = [number for number, line in enumerate(lines) if "total" in line]
    assert ["▼" in line for line in lines[total + 2 : total + 5]] == [True, True, False]
    assert [line.split()[-1] for line in lines[total + 2 : total + 4]] == ["compare", "find_slot"]
    assert "words-sum → words-product" in done.stdout


def test_a_recording_differs_from_itself_in_nothing(undwarf: Run) -> None:
    done = undwarf("diff", SUM, SUM, *SYMFS)
    assert "No difference is larger than chance explains" in done.stdout
    assert "▲ " not in done.stdout


def test_options_may_stand_after_the_second_side(undwarf: Run, tmp_path: Path) -> None:
    again = [shutil.copy(path, tmp_path) for path in (SUM, PRODUCT)]
    done = undwarf("diff", SUM, again[0], "--", PRODUCT, again[1], "--json", *SYMFS)
    found = json.loads(done.stdout)
    assert [len(found[side]["recordings"]) for side in ("before", "after")] == [2, 2]
    assert found["events"][0]["total"]["significant"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "diff compares two sides, and 0 recordings are given"),
        ((SUM,), "diff compares two sides, and 1 recordings are given"),
        ((SUM, SUM, PRODUCT), "-- stands between the sides"),
        ((SUM, SUM, "--", PRODUCT), "words-sum.data is given twice on a side"),
        ((SUM, "--"), "there is no recording after --"),
        (("--", SUM), "there is no recording before --"),
        ((SUM, "--", SUM, "--", SUM), "there are more than two sides"),
        ((SUM, PRODUCT, "--by", "colour"), "'colour' is not one of function, path"),
        ((SUM, PRODUCT, "--normalize", "0"), "'0' is no unit of work"),
        ((SUM, PRODUCT, "--normalize", "1,2,3"), "there are 3 numbers for 2 recordings"),
        ((SUM, PRODUCT, "--normalize", "event:nothing"), "no event 'nothing'"),
        ((SUM, PRODUCT, "--json", "--markdown"), "exclude each other"),
        ((SUM, PRODUCT, "--fail-if", "total > 2%"), "one recording a side does not say how much runs differ"),
        ((SUM, PRODUCT, "--fail-if", "f > 2%"), "has no subject that is known"),
        ((SUM, PRODUCT, "--skid"), "--skid needs data types"),
    ],
)
def test_what_cannot_be_compared(undwarf: Run, words: tuple[object, ...], message: str) -> None:
    done = undwarf("diff", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("function:compare < -50%", 4),
        ("function:compare > +5%", 0),
        ("line:words-product.c:66 < -50%", 4),
        ("image:words-product > +5%", 0),
        ("path:_start > main > one_round > count_words < -50%", 4),
    ],
)
def test_a_gate_has_an_exit_code(undwarf: Run, condition: str, code: int) -> None:
    done = undwarf("diff", SUM, PRODUCT, *SYMFS, "--fail-if", condition)
    assert done.returncode == code
    assert f"{condition}: {'holds' if code else 'does not hold'}" in done.stdout


def test_a_function_that_nothing_has_is_undecided(undwarf: Run) -> None:
    done = undwarf("diff", SUM, PRODUCT, *SYMFS, "--fail-if", "function:no_such > +5%")
    assert done.returncode == 0
    assert "function:no_such > +5%: undecided: no sample has it" in done.stderr


def test_work_is_divided_out(undwarf: Run) -> None:
    def total(*options: object) -> float:
        found = json.loads(undwarf("diff", SUM, PRODUCT, *SYMFS, "--json", *options).stdout)
        value: float = found["events"][0]["total"]["weight"]["before"]
        return value

    assert total("--normalize", "100") == pytest.approx(total() / 100)
    assert total("--normalize", "10,20") == pytest.approx(total() / 10)
    assert total("--normalize", "event:task-clock") == pytest.approx(1)


def test_data_types_are_compared(undwarf: Run) -> None:
    found = json.loads(undwarf("diff", SUM, SUM, *SYMFS, "--json", "--by", "type,typeoff").stdout)
    tables = found["events"][0]["tables"]
    assert [table["by"] for table in tables] == ["type", "field"]
    assert all(table["rows"] for table in tables)


def test_profiles_of_other_tools_are_compared_without_tests(undwarf: Run, tmp_path: Path) -> None:
    for name, count in (("one", 10), ("two", 20)):
        (tmp_path / name).write_text(f"main;f {count}\nmain;g 30\n")
    done = undwarf("diff", tmp_path / "one", tmp_path / "two", "--json")
    found = json.loads(done.stdout)["events"][0]["tables"][0]["rows"]
    assert {row["name"]: row["weight"]["difference"] for row in found} == {"f": 10, "g": 0}
    assert all(row["p_corrected"] is None for row in found)


def test_markdown_shows_names_as_they_are(undwarf: Run, tmp_path: Path) -> None:
    for name, count in (("one", 10), ("two", 20)):
        (tmp_path / name).write_text(f"main;a<b>|`*_x_*`](http://x) {count}\n")
    done = undwarf("diff", tmp_path / "one", tmp_path / "two", "--markdown")
    row = next(line for line in done.stdout.splitlines() if "http" in line)
    assert row.count("|") == 8
    assert not set("<>`*_[]()").intersection(row)


def test_names_cannot_change_the_terminal(undwarf: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("main;a\x1b[2Jb 10\n")
    for option in ((), ("--markdown",), ("--json",), ("--by", "path")):
        assert "\x1b" not in undwarf("diff", tmp_path / "one", tmp_path / "two", *option, FORCE_COLOR="").stdout
