"""Different types of one name and size have rows of their own."""

import json
from pathlib import Path

from click.testing import CliRunner
from tests.support.page_parts import parts_of
from tests.support.types.programs import build
from tests.support.types.recordings import memory_recording, place

from undwarf.cli.main import undwarf

FIRST = """
struct node { long left, right; };
static struct { int x, y; } small[8];
extern void other(void *), more(void *);
__attribute__((noinline)) void walk(struct node *n) { n->right += 3; }
__attribute__((noinline)) void step(int k) { small[k].y += 5; }
int main(int argc, char **argv) { walk((void *)argv); step(argc); other(argv); more(argv); return 0; }
"""
SECOND = """
struct node { double weight; struct node *next; };
static struct { float u, v; } small[8];
__attribute__((noinline)) void other(struct node *n) { n->next = 0; }
__attribute__((noinline)) void more(int *k) { small[*k].v += 5; }
"""
BOTH = "struct both { int a, b; };"
FIRST_OF_BOTH = f"""
{BOTH}
extern void other(void *);
__attribute__((noinline)) void walk(struct both *p) {{ p->b += 7; }}
int main(int argc, char **argv) {{ walk((void *)argv); other(argv); return 0; }}
"""
SECOND_OF_BOTH = f"""
{BOTH}
__attribute__((noinline)) void other(struct both *p) {{ p->b -= 9; }}
"""


def _rows(folder: Path, binary: Path, places: list[int]) -> list[tuple[str, list[str], int]]:
    data = memory_recording(folder, binary, [{"ip": one} for one in places])
    rows = []
    for jobs in (["--jobs", "1"], []):
        result = CliRunner().invoke(undwarf, ["types", "--json", *jobs, str(data)])
        assert result.exit_code == 0, result.output
        types = json.loads(result.stdout)["events"][0]["types"]
        rows.append([(one["type"], [field["field"] for field in one["fields"]], one["samples"]) for one in types])
    assert rows[0] == rows[1]
    return sorted(rows[0])


def test_types_of_one_name_with_other_members_have_own_rows(tmp_path: Path) -> None:
    (tmp_path / "second.c").write_text(SECOND)
    binary = build(tmp_path, FIRST, "first.c", "-O2", str(tmp_path / "second.c"))
    nameless = "struct (anonymous)"
    places = [
        place(binary, "walk", "struct node", "right", "rw"),
        place(binary, "other", "struct node", "next", "w"),
        place(binary, "step", nameless, "y", "rw"),
        place(binary, "more", nameless, "v", "r"),
    ]
    assert _rows(tmp_path, binary, places) == [
        (nameless, ["v"], 1),
        (nameless, ["y"], 1),
        ("struct node", ["next"], 1),
        ("struct node", ["right"], 1),
    ]
    data = tmp_path / "memory.data"
    text = CliRunner().invoke(undwarf, ["types", "--type", "node", str(data)]).stdout
    assert text.count("struct node  16 bytes, 1 cache line, 25.00%") == 2
    assert all(member in text for member in ("left", "right", "weight", "next"))
    drawn = json.loads(CliRunner().invoke(undwarf, ["types", "--type", "node", "--json", str(data)]).stdout)
    assert [one["type"] for one in drawn["layouts"]] == ["struct node", "struct node"]
    page = tmp_path / "types.html"
    CliRunner().invoke(undwarf, ["types", "--type", "node", "--html", str(page), str(data)])
    names = [one["name"] for one in parts_of(page.read_text())["types"].types]
    assert names.count("struct node") == 2


def test_the_same_type_of_two_units_has_one_row(tmp_path: Path) -> None:
    (tmp_path / "second.c").write_text(SECOND_OF_BOTH)
    binary = build(tmp_path, FIRST_OF_BOTH, "first.c", "-O2", str(tmp_path / "second.c"))
    places = [place(binary, function, "struct both", "b", "rw") for function in ("walk", "other")]
    assert _rows(tmp_path, binary, places) == [("struct both", ["b"], 2)]
