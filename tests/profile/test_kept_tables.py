"""The second run on a recording takes all rows of unwind tables from the first one."""

from pathlib import Path

import pytest

from undwarf.api import open_recording

FOLDER = Path(__file__).parent.parent.parent / "examples" / "recording"
Stacks = list[tuple[int, tuple[str, ...]]]


def run(limit: int | None = None, cache: bool = True) -> tuple[Stacks, int]:
    """Stacks of the shipped recording, and how many sections of unwind information were read."""
    with open_recording(FOLDER / "words.data", symfs=FOLDER, cache=cache) as recording:
        profile = recording.profile(max_stack=limit)
        stacks = [(sample.stop, tuple(frame.name for frame in sample.stack)) for sample in profile.samples]
        assert sum(len(names) > 1 or limit == 1 for _stop, names in stacks) > 100
        return stacks, recording.sources.built


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNDWARF_CACHE_DIR", str(tmp_path))
    return tmp_path / "tables"


def test_the_second_run_builds_no_table(directory: Path) -> None:
    cold, built = run()
    assert built > 0
    assert [path.suffix for path in directory.iterdir()] == [".table"]
    warm, built = run()
    assert built == 0
    assert warm == cold


def test_a_run_that_needs_more_gets_it(directory: Path) -> None:
    run(limit=1)
    deep, built = run()
    assert built > 0
    again, built = run()
    assert built == 0
    assert deep == again == run(cache=False)[0]


def test_without_the_cache_nothing_is_kept(directory: Path) -> None:
    assert run(cache=False)[1] > 0
    assert not directory.exists()


def test_a_damaged_file_changes_nothing(directory: Path) -> None:
    cold, _built = run()
    (path,) = directory.iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    again, built = run()
    assert again == cold
    assert built > 0
    assert run() == (cold, 0)
