"""Stacks walked by SFrame alone, and by SFrame with others behind it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.tables.sframe_builder import SP, Function, SFrame

import undwarf

from .conftest import bare

pytestmark = pytest.mark.records


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
    whole = stacks(path, "cfi")
    assert any(stop is undwarf.StopReason.ROOT and frames for frames, stop in whole)
    assert stacks(path, "sframe,cfi") == whole


def test_kinds_of_unwind_information_are_checked(recorded: tuple[Path, Path]) -> None:
    with pytest.raises(undwarf.UndwarfError, match="tarot"):
        undwarf.open(recorded[1], unwind="tarot")


def test_given_sections_unwind_code_without_a_file(
    build: Callable[..., Path], record: Callable[..., Path], tmp_path: Path
) -> None:
    program = build("gcc", "given.c", "-O2", "-fomit-frame-pointer")
    path = record([program, "300", "0", tmp_path / "place"])
    pid, start, size = map(int, (tmp_path / "place").read_text().split())
    rows = [(0, SP, (8,)), (4, SP, (48,)), (5, SP, (56, -56)), (13, SP, (48,)), (17, SP, (8,))]
    section = SFrame(address=start + 0x10000, functions=[Function(start, size, rows)])

    def burning(given: bool) -> list[tuple[list[str], undwarf.StopReason]]:
        with undwarf.open(path) as recording:
            if given:
                recording.add_text(pid, start, start + size, section.build(), section.address)
            found = []
            for sample in recording.profile(inline=False).samples:
                names = [bare(frame.name) for frame in sample.stack if not frame.dso.startswith("[kernel")]
                if names and names[0] == "burn":
                    found.append((names, undwarf.StopReason(sample.stop)))
            return found

    without, with_section = burning(False), burning(True)
    assert len(without) == len(with_section)
    if not without:
        pytest.skip("the machine is too busy for the program to be sampled")
    for names, stop in without:
        assert (len(names), stop) == (2, undwarf.StopReason.NO_RULE)
    for names, stop in with_section:
        assert names[2:4] == ["turn", "main"]
        assert stop is undwarf.StopReason.ROOT


def test_code_is_given_before_the_recording_is_read(recorded: tuple[Path, Path]) -> None:
    section = SFrame(functions=[Function(0x1000, 9, [(0, SP, (8,))])])
    with undwarf.open(recorded[1]) as recording:
        recording.add_text(1, 0x1000, 0x1009, section.build(), section.address)
        with pytest.raises(undwarf.UndwarfError, match="overlaps"):
            recording.add_text(1, 0x1008, 0x1010, section.build(), section.address)
        recording.profile()
        assert "given code is not in an anonymous mapping" in [defect.kind for defect in recording.defects]
        with pytest.raises(undwarf.UndwarfError, match="already"):
            recording.add_text(1, 0x2000, 0x2010, section.build(), section.address)
