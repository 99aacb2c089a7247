"""Vector registers that hold several members: each of these is accessed, and has the weight."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.page_parts import parts_of
from tests.support.types.programs import answers, build
from tests.support.types.recordings import memory_recording

from undwarf.cli.main import undwarf

SOURCE = """
struct inner { int left, right; };
union either { long whole; struct inner parts; };
struct wide
{
    long first; struct inner pair; union either one; long after;
    char gap[24]; long last, behind; struct inner rows[4]; long end;
};
__attribute__((noinline)) void put(struct wide *p)
{
    __asm__ volatile("movups %%xmm0, STORE(%0)" : : "r"(p) : "memory");
}
int main(int argc, char **argv) { put((void *)argv); return 0; }
"""


def drawn(folder: Path, store: int) -> tuple[dict[str, Any], str]:
    """The struct of a recording with one sample at a store of 16 bytes, as JSON and as text."""
    binary = build(folder, SOURCE.replace("STORE", str(store)), "wide.c", "-O2")
    (at,) = (int(one["address"], 16) for one in answers(binary, "put") if one["size_bytes"] == 16)
    data = memory_recording(folder, binary, [{"ip": at}])
    made = [CliRunner().invoke(undwarf, ["types", "--type", "wide", *more, str(data)]) for more in (["--json"], [])]
    assert all(one.exit_code == 0 for one in made), made
    found: dict[str, Any] = json.loads(made[0].stdout)["layouts"][0]
    return found, made[1].stdout


@pytest.mark.parametrize(
    ("store", "touched"),
    [
        (0, ["first", "pair.left", "pair.right"]),
        # Of a union's members the first one.
        (8, ["pair.left", "pair.right", "one.whole"]),
        (56, ["last", "behind"]),
        (64, ["behind", "rows"]),
    ],
)
def test_all_accessed_members_have_the_weight(tmp_path: Path, store: int, touched: list[str]) -> None:
    found, text = drawn(tmp_path, store)
    charged = {one["path"]: one for one in found["layout"] if one["counts"] is not None}
    assert list(charged) == touched
    assert {one["counts"]["weight"] for one in charged.values()} == {found["counts"]["weight"]} == {1000}
    assert [one["reached"] for one in charged.values()] == [0] + [1000] * (len(touched) - 1)
    assert text.count("with what is before") == len(touched) - 1


@pytest.mark.parametrize(("store", "lines"), [(40, [True, False]), (56, [True, True]), (64, [False, True])])
def test_an_access_across_cache_lines_is_on_both(tmp_path: Path, store: int, lines: list[bool]) -> None:
    text = drawn(tmp_path, store)[1]
    assert [f"cache line {line}, 100.00%" in text for line in (0, 1)] == lines


def test_a_wide_access_past_an_element_is_the_next_one(tmp_path: Path) -> None:
    found, _text = drawn(tmp_path, 72)
    assert not [one["path"] for one in found["layout"] if one["reached"]]


def test_types_are_drawn_with_the_recorded_machines_cache_lines(tmp_path: Path) -> None:
    binary = build(tmp_path, SOURCE.replace("STORE", "104"), "wide.c", "-O2")
    (at,) = (int(one["address"], 16) for one in answers(binary, "put") if one["size_bytes"] == 16)
    said = {}
    for size in (0, 32, 128):
        data = str(memory_recording(tmp_path, binary, [{"ip": at}], line_size=size))
        page = tmp_path / "types.html"
        CliRunner().invoke(undwarf, ["types", "--html", str(page), data])
        report = CliRunner().invoke(undwarf, ["report", "-g", "none", "-s", "typecln", "--json", data])
        (row,) = json.loads(report.stdout)["events"][0]["rows"]
        text = CliRunner().invoke(undwarf, ["types", "--type", "wide", data]).stdout
        said[size] = text.count("── cache line"), row["typecln"], parts_of(page.read_text())["types"].line_size
    assert said == {
        0: (2, "struct wide: cache-line 1", 64),
        32: (4, "struct wide: cache-line 3", 32),
        128: (0, "struct wide: cache-line 0", 128),
    }
