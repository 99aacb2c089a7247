"""Recordings and programs that are cut short, or damaged, while they are read."""

import os
import shutil
from pathlib import Path

import pytest

import undwarf
from undwarf.api import OpenedRecording, open_recording
from undwarf.defects import CUT_SHORT, OWN_DEFECT
from undwarf.images import Finder
from undwarf.unwind.unwind_tables import UnwindTables

RECORDING = Path(__file__).parent.parent.parent / "examples" / "recording"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The example with its program, to be damaged."""
    undwarf.handle_truncation()
    shutil.copytree(RECORDING, tmp_path / "recording")
    return tmp_path / "recording"


def kinds(recording: OpenedRecording) -> set[str]:
    return {defect.kind for defect in recording.defects}


def frames(profile: undwarf.Profile) -> int:
    return sum(len(one.stack) for one in profile.samples)


def programs(copy: Path) -> list[Path]:
    return [path for path in copy.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def test_a_program_that_is_cut_short_after_it_was_opened_is_named(copy: Path) -> None:
    with open_recording(copy / "words.data", symfs=copy, cache=False) as recording:
        images = map(recording.images.image, recording.spaces.replay.keys())
        opened = {image.elf.path for image in images if image.elf is not None}
        cut = [path for path in programs(copy) if str(path) in opened]
        assert cut
        for path in cut:
            os.truncate(path, 64)
        profile = recording.profile()
        assert frames(profile) >= len(profile.samples) > 100
        assert CUT_SHORT in kinds(recording)


def test_what_was_read_of_a_program_that_was_cut_short_is_not_kept(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDWARF_CACHE_DIR", str(tmp_path / "kept"))
    program = copy / "demo" / "words"
    whole = program.read_bytes()
    with open_recording(copy / "words.data", symfs=copy) as recording:
        assert any(image.elf is not None for image in map(recording.images.image, recording.spaces.replay.keys()))
        os.truncate(program, 64)
        cut = recording.profile()
    program.write_bytes(whole)
    with open_recording(copy / "words.data", symfs=copy) as recording:
        again = recording.profile()
    with open_recording(copy / "words.data", symfs=copy, cache=False) as recording:
        fresh = recording.profile()
    depths = [[len(sample.stack) for sample in profile.samples] for profile in (cut, again, fresh)]
    assert depths[0] != depths[1] == depths[2]


def test_a_recording_truncated_after_opening_has_fewer_samples(copy: Path) -> None:
    path = copy / "words.data"
    with open_recording(path, symfs=copy, cache=False) as recording:
        whole = len(recording.profile().samples)
    with open_recording(path, symfs=copy, cache=False) as recording:
        os.truncate(path, path.stat().st_size // 2)
        assert 0 < len(recording.profile().samples) < whole
        assert kinds(recording)


def broken(*_arguments: object, **_options: object) -> None:
    raise OverflowError("nobody foresaw this")


def test_what_nobody_foresaw_in_a_table_costs_the_frames_of_its_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_recording(RECORDING / "words.data", symfs=RECORDING, cache=False) as recording:
        whole = frames(recording.profile())
    monkeypatch.setattr(UnwindTables, "_table", broken)
    monkeypatch.delenv("UNDWARF_TRACEBACK")
    with open_recording(RECORDING / "words.data", symfs=RECORDING, cache=False) as recording:
        profile = recording.profile()
        found = [defect for defect in recording.defects if defect.kind == OWN_DEFECT]
        assert len(profile.samples) <= frames(profile) < whole
        assert found
        assert found[0].detail.startswith("OverflowError: nobody foresaw this; set UNDWARF_TRACEBACK=1")
        assert all(defect.count == 1 for defect in found)


@pytest.mark.parametrize("step", ["undwarf.symbols.resolver.symbols_of_image", "undwarf.symbols.inlines.DebugLines"])
def test_what_nobody_foresaw_in_symbols_or_lines_costs_names(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(step, broken if step.endswith("image") else type("Broken", (), {"open": broken}))
    monkeypatch.delenv("UNDWARF_TRACEBACK")
    with open_recording(RECORDING / "words.data", symfs=RECORDING, cache=False) as recording:
        profile = recording.profile()
        assert frames(profile) >= len(profile.samples) > 100
        assert OWN_DEFECT in kinds(recording)


def test_what_nobody_foresaw_in_finding_a_file_is_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Finder, "binary", broken)
    monkeypatch.delenv("UNDWARF_TRACEBACK")
    with open_recording(RECORDING / "words.data", symfs=RECORDING, cache=False) as recording:
        problems = {image.problem for image in recording.profile().images if image.kind == "file"}
        assert "file not readable" in problems


def test_what_nobody_foresaw_is_raised_where_tracebacks_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Finder, "binary", broken)
    monkeypatch.setenv("UNDWARF_TRACEBACK", "1")
    opened = open_recording(RECORDING / "words.data", symfs=RECORDING, cache=False)
    with opened as recording, pytest.raises(OverflowError):
        recording.profile(jobs=1)
