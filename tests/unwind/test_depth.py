"""The limit of frames: what stacks share is counted for each of them."""

from pathlib import Path

import pytest

import undwarf
from undwarf import StopReason

FOLDER = Path(__file__).parent.parent.parent / "examples" / "recording"
Stacks = list[tuple[StopReason, tuple[str, ...]]]


def stacks(limit: int | None) -> Stacks:
    """Why each stack of the shipped recording ends, and its frames from the innermost on."""
    with undwarf.open(FOLDER / "words.data", symfs=FOLDER, cache=False) as recording:
        profile = recording.profile(max_stack=limit, inline=False)
        return [(sample.stop, tuple(frame.name for frame in sample.stack)) for sample in profile.samples]


@pytest.fixture(scope="module")
def whole() -> Stacks:
    found = stacks(None)
    assert sum(len(names) > 12 for _stop, names in found) > 100
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7, 8, 12])
def test_stacks_are_whole_or_cut_at_the_limit(whole: Stacks, limit: int) -> None:
    # The dumps are short, so that some stacks end before.
    expected = [(StopReason.DEPTH, names[:limit]) if len(names) > limit else (stop, names) for stop, names in whole]
    assert stacks(limit) == expected


def test_innermost_frames_are_the_same_without_callers_and_need_no_tables(whole: Stacks) -> None:
    with undwarf.open(FOLDER / "words.data", symfs=FOLDER, cache=False) as recording:
        profile = recording.profile(callers=False, inline=False)
        found = [tuple(frame.name for frame in sample.stack) for sample in profile.samples]
        assert "sources" not in recording.__dict__
    assert found == [names[:1] for _stop, names in whole]
