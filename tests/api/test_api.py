"""What a program gets: the public names, and the examples that its page of docs/ shows."""

import io
import sys
from pathlib import Path

import pytest
from tests.support.commands import recording

import undwarf

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "how-to" / "library.md")


@pytest.fixture
def profile() -> undwarf.Profile:
    with undwarf.open(io.BytesIO(recording())) as opened:
        return opened.profile()


@pytest.mark.parametrize("name", undwarf.__all__)
def test_public_names_are_there_and_say_what_they_are(name: str) -> None:
    assert name in dir(undwarf)
    assert getattr(undwarf, name).__doc__


def test_a_call_tree(profile: undwarf.Profile) -> None:
    tree = profile.call_tree(weight="samples")
    (root,) = tree.roots
    assert (tree.total, root.weight, root.self_weight, root.dso) == (3, 3, 0, "/nowhere/prog")
    assert [child.self_weight for child in root.children] == [3]


def test_callers_begin_where_samples_ended(profile: undwarf.Profile) -> None:
    (leaf,) = profile.callers().roots
    assert (leaf.weight, [caller.weight for caller in leaf.children]) == (15, [15])


def test_samples_say_by_name_why_they_end(profile: undwarf.Profile) -> None:
    sample = profile.samples[0]
    assert repr(sample.stop) == "<StopReason.NO_DUMP: 8>"
    assert isinstance(sample.stack[0].provenance, undwarf.Provenance)


@pytest.mark.parametrize("source", [b"perf.data", 5, None])
def test_what_is_neither_path_nor_stream_is_a_type_error(source: object) -> None:
    with pytest.raises(TypeError, match="a recording is opened by its path"):
        undwarf.open(source)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_the_pages(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "perf.data").write_bytes(recording())
    monkeypatch.chdir(tmp_path)
    example = "".join(block.split("```")[0] for block in page.read_text().split("```python\n")[1:])
    exec(example.replace("/usr/bin/python3", sys.executable), {})
    assert capsys.readouterr().out.startswith("prog ['[unknown]', '[unknown]']\n")
