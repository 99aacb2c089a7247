"""Stacks walked by SFrame alone, and by SFrame with others behind it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import undwarf
from truth.conftest import bare


@pytest.fixture
def recorded(build: Callable[..., Path], record: Callable[..., Path]) -> tuple[Path, Path]:
    """A program that carries SFrame, and its recording."""
    program = build("gcc", "chain.c", "-O2", "-Wa,--gsframe")
    if b".sframe" not in subprocess.run(["readelf", "-SW", program], capture_output=True, check=True).stdout:
        pytest.skip("the linker leaves SFrame out")
    return program, record([program, "150"])


def stacks(path: Path, unwind: str) -> list[tuple[list[tuple[str, str]], undwarf.StopReason]]:
    """([(function, file)...] of each sample's user part, innermost first, why it ended)."""
    with undwarf.open(path, unwind=unwind) as recording:
        found = []
        for sample in recording.profile(inline=False).samples:
            frames = [(bare(one.name), one.dso) for one in sample.stack if not one.dso.startswith("[kernel")]
            found.append((frames, undwarf.StopReason(sample.stop)))
        return found


def test_sframe_alone_walks_as_far_as_it_has_rules(recorded: tuple[Path, Path]) -> None:
    program, path = recorded
    inside = 0
    for (by_sframe, stop), (by_cfi, _) in zip(stacks(path, "sframe"), stacks(path, "cfi"), strict=True):
        assert by_cfi[: len(by_sframe)] == by_sframe
        if by_sframe and by_sframe[0][1] == str(program) and by_sframe[0][0] != "_start":
            inside += 1
            # The C library has no SFrame: the walk ends at its first frame.
            assert stop is undwarf.StopReason.NO_RULE
            assert by_sframe[-1] == next(frame for frame in by_cfi if frame[1] != str(program))
    assert inside


def test_others_fill_what_sframe_leaves_open(recorded: tuple[Path, Path]) -> None:
    _, path = recorded
    assert stacks(path, "sframe,cfi") == stacks(path, "cfi")


def test_kinds_of_unwind_information_are_checked(recorded: tuple[Path, Path]) -> None:
    with pytest.raises(undwarf.UndwarfError, match="tarot"):
        undwarf.open(recorded[1], unwind="tarot")
