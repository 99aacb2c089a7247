"""The pages of docs/: in the navigation, with links to what is there, and commands that print what the text says."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import build_site
import command_pages
import pytest
import schema_pages
from terminal import BLOCK, RECORDINGS, commands, drawn, flamegraph, plain, run

import undwarf
from undwarf.cli.main import COMMANDS
from undwarf.outputs.schemas import DOCUMENTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not path.is_relative_to(DOCS / "site"))
LINKED = [*PAGES, *sorted(ROOT.glob("*.md"))]
LESSONS = [path for path in PAGES if "\n```{terminal}" in path.read_text()]
TREE = re.compile(r"```\{toctree\}\n(?::[^\n]*\n)*(.*?)```", re.DOTALL)
GENERATED = ("reference/commands/undwarf", "reference/schemas/index", "changes", "contributing", "security")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def navigation() -> set[str]:
    """The pages that tables of contents list, as paths below docs/ without a suffix."""
    found = {"index"}
    for path in PAGES:
        for tree in TREE.findall(path.read_text()):
            for line in filter(None, map(str.strip, tree.split("\n"))):
                target = line.partition("<")[2].rstrip(">") or line
                found.add(str((path.parent / target).relative_to(DOCS)))
    return found


def headings(text: str) -> set[str]:
    """The anchors of a page, as GitHub and MyST name them."""
    code = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"^#+ (.*)$", code, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in found}


def test_every_page_is_in_the_navigation() -> None:
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in PAGES}
    assert navigation() == pages | set(GENERATED)


def test_every_command_has_a_page_that_its_group_lists(tmp_path: Path) -> None:
    command_pages.write(tmp_path)
    (listed,) = TREE.findall((tmp_path / "undwarf.md").read_text())
    assert all(f"{name} <undwarf-{name}>" in listed for name in COMMANDS)
    assert all((tmp_path / f"undwarf-{name}.md").exists() for name in COMMANDS)
    assert "`-s, --sort KEYS`" in (tmp_path / "undwarf-report.md").read_text()


@pytest.mark.parametrize("path", LINKED, ids=name_of)
def test_links_lead_to_files_and_headings(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _hash, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        if re.match(r"(https?|mailto):", target) or "reference/commands" in target:
            continue
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in headings(place.read_text())):
            wrong.append(target)
    assert wrong == []


def blocks(path: Path) -> Iterator[tuple[str, str]]:
    for kind, content in BLOCK.findall(path.read_text()):
        for command in commands(content):
            yield kind, command


def test_the_lessons_are_there() -> None:
    assert len([path for path in LESSONS if path.parent.name == "tutorial"]) == 5


@pytest.mark.parametrize("path", LESSONS, ids=name_of)
def test_commands_of_a_page_print_what_its_text_quotes(path: Path) -> None:
    printed = ""
    for kind, command in blocks(path):
        if kind == "flamegraph":
            assert "<html" in flamegraph(command.removeprefix("undwarf flamegraph "))
        else:
            printed += plain(run(command))
    assert printed
    quoted = set(re.findall(r"`(\d+\.\d+ ?%)`", path.read_text()))
    assert {one for one in quoted if one not in printed} == set()


def test_functions_in_c_are_those_of_the_programs() -> None:
    sources = "".join(path.read_text() for path in (RECORDINGS / "demo").glob("*.c"))
    quoted = [
        code
        for path in LESSONS
        for code in re.findall(r"```c\n(.*?)```", path.read_text(), re.DOTALL)
        if code.startswith("FRAME")
    ]
    assert len(quoted) == 2
    assert [code for code in quoted if code not in sources] == []


def test_kept_recordings_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in RECORDINGS.glob("*.data")}
    assert sizes.keys() > {"words.data", "requests.data", "particles.data"}
    assert {name for name, size in sizes.items() if size > 300_000} == set()
    assert sum(path.stat().st_size for path in RECORDINGS.rglob("*") if path.is_file()) < 1_000_000


def compiled(name: str, folder: Path) -> Path:
    """A program of the lessons, compiled as for its recording."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    script = (RECORDINGS / "record.sh").read_text()
    (flags,) = re.findall(r'^flags="(.*)"$', script, re.MULTILINE)
    source = RECORDINGS / "demo" / f"{name}.c"
    subprocess.run(["gcc", *flags.split(), str(source), "-o", str(folder / name)], check=True)
    return folder / name


@pytest.mark.parametrize(("name", "arguments"), [("requests", "2 3"), ("particles", "1"), ("nested", "1")])
def test_the_programs_of_the_lessons_run(name: str, arguments: str, tmp_path: Path) -> None:
    subprocess.run([str(compiled(name, tmp_path)), *arguments.split()], check=True, timeout=60)


@pytest.mark.records
def test_a_new_recording_shows_what_the_lesson_on_waiting_says(tmp_path: Path) -> None:
    program = compiled("requests", tmp_path)
    command = f"undwarf record -q --all-user --off-cpu -F 499 -o new.data -- {program} 4 100 && echo recorded"
    try:
        run(command, tmp_path)
    except RuntimeError as error:
        pytest.skip(f"the kernel does not allow it: {plain(str(error)).splitlines()[-1]}")
    with undwarf.open(tmp_path / "new.data") as recording:
        samples = [one for one in recording.profile().samples if one.event == "offcpu-time"]
    waiting = [one for one in samples if "mutex_lock" in [frame.name for frame in one.stack]]
    assert sum(one.period for one in waiting) > 0.3 * sum(one.period for one in samples) > 0


def test_pictures_have_the_output_as_text_and_load_nothing() -> None:
    picture = drawn("undwarf report", "\x1b[1mbold\x1b[0m <script> & plain\n")
    assert "bold" in picture
    assert "&lt;script&gt;" in picture.replace("&#160;", " ")
    assert "<script" not in picture
    assert "url(http" not in picture
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_a_command_that_fails_or_prints_nothing_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="status 3"):
        run("undwarf report nowhere.data")
    with pytest.raises(RuntimeError, match="status 0"):
        run("true")


def test_what_a_page_loads_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('<a href="https://a.org"><img src="../b.png"><script src="//c.org/d.js">')
    (tmp_path / "site.css").write_text('a { background: url("https://e.org/f.png"), url(data:x) }')
    found = [one.rpartition(": ")[2] for one in build_site.loaded_from_elsewhere(tmp_path)]
    assert found == ["//c.org/d.js", "https://e.org/f.png"]


def test_links_out_of_docs_become_files_of_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_site, "PAGES", tmp_path)
    page = DOCS / "how-to" / "library.md"
    text = "[a](../reference/api.md#open) [b](../../examples/demo.py) [c](../../CHANGELOG.md) [d](https://e.org/f)"
    assert build_site.with_links(text, page) == (
        "[a](/reference/api.md#open) [b](/files/examples/demo.py) [c](/changes.md) [d](https://e.org/f)"
    )
    assert (tmp_path / "files" / "examples" / "demo.py").read_bytes() == (ROOT / "examples" / "demo.py").read_bytes()


def test_every_schema_has_a_page(tmp_path: Path) -> None:
    schema_pages.write(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {*DOCUMENTS, "index"}


def test_a_schema_becomes_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {
        "description": "What <b> prints.",
        "properties": {
            "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}, "description": "The rows."},
            "kind": {"enum": ["a", "b"], "description": "Which | one."},
            "at": {"type": "object", "properties": {"line": {"type": ["integer", "null"]}}, "required": ["line"]},
        },
        "required": ["rows"],
        "$defs": {"Row": {"properties": {"name": {"type": "string"}}, "description": "One row."}},
    }
    monkeypatch.setattr(schema_pages, "SCHEMAS", tmp_path)
    (tmp_path / "report.json").write_text(json.dumps(schema))
    schema_pages.write(tmp_path / "pages")
    text = (tmp_path / "pages" / "report.md").read_text()
    assert "| `rows` | array of [Row](#row) | yes | The rows. |" in text
    assert '| `kind` | `"a"`, `"b"` | no | Which \\| one. |' in text
    assert "| `at.line` | integer or null | yes |  |" in text
    assert "What \\<b\\> prints." in text
    assert "## Row" in text
    assert "report" in (tmp_path / "pages" / "index.md").read_text()
