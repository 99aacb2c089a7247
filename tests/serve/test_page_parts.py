"""The parts of a page: within the bytes that a file may have."""

import random
from pathlib import Path

import pytest
from tests.support.page_parts import decode, rows_of

from undwarf.api import open_recording
from undwarf.outputs.page.bundle import bundle
from undwarf.outputs.page.html import document
from undwarf.serve import page_parts
from undwarf.serve.page_parts import PageParts


def test_a_page_without_parts_has_the_bytes_that_are_kept_for_it() -> None:
    assert 0 < len(document(bundle(), {}).encode()) < page_parts.OUTSIDE_PARTS


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    """20,000 different stacks, without any order that compresses, and one that is heavy."""
    numbers = random.Random(5)
    lines = [
        f"main;{';'.join(f'f{numbers.randrange(400)}' for _depth in range(3))} {numbers.randrange(1, 9)}"
        for _line in range(20_000)
    ]
    path = tmp_path / "stacks.folded"
    path.write_text("\n".join([*lines, "main;hot 1000000", ""]))
    return path


def test_what_exceeds_the_bytes_of_a_file_is_cut_and_noted(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_recording(str(stacks)) as source:
        profile = source.profile()
        whole = decode(PageParts(source, profile, "whole").for_file(types=False)["profile"])
        monkeypatch.setattr(page_parts, "MOST_BYTES", page_parts.OUTSIDE_PARTS + 60_000)
        parts = PageParts(source, profile, "cut").for_file(types=False)
    assert sum(map(len, parts.values())) * 4 / 3 <= 60_000
    cut = decode(parts["profile"])
    assert whole.notes == ["source and assembly are there for the 400 heaviest of 402 functions"]
    assert any("stack nodes" in note for note in cut.notes)
    assert len(cut.node_parent) < len(whole.node_parent)
    assert sum(cut.row_weight) == sum(whole.row_weight)
    assert rows_of(cut, ("sym",))["main",] == rows_of(whole, ("sym",))["main",]
    assert rows_of(cut, ("sym",))["hot",] == rows_of(whole, ("sym",))["hot",] == (1_000_000, 1_000_000, 1)


def test_functions_beyond_those_of_the_page_are_none(stacks: Path) -> None:
    with open_recording(str(stacks)) as source:
        parts = PageParts(source, source.profile(), "x", served=True)
        count = len(parts.page.functions)
        assert parts.part("code", {"function": str(count - 1)}) is not None
        for wrong in (str(count), "-1", "", "1.5", "²", "9" * 5000):
            assert parts.part("code", {"function": wrong}) is None
        assert parts.part("gone") is None
