"""undwarf shrink: the file it writes, and the ones it leaves alone."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.perfdata import writing

from undwarf.cli.main import run


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "perf.data"
    path.write_bytes(writing.recording())
    return path


def test_the_file_appears_whole_and_alone(recording: Path, tmp_path: Path):
    assert run(["shrink", str(recording), "-o", str(tmp_path / "small.data")]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["perf.data", "small.data"]
    assert run(["info", str(tmp_path / "small.data")]) == 0


def test_the_recording_itself_is_not_overwritten(recording: Path, tmp_path: Path, capsys):
    before = recording.read_bytes()
    (tmp_path / "link").symlink_to(recording)
    assert run(["shrink", str(recording), "-o", str(tmp_path / "link")]) == 2
    assert "is the recording itself" in capsys.readouterr().err
    assert recording.read_bytes() == before


def test_standard_output_gets_pipe_form(recording: Path, tmp_path: Path, capfdbinary):
    assert run(["shrink", "--no-zstd", str(recording), "-o", "-"]) == 0
    piped = tmp_path / "piped.data"
    piped.write_bytes(capfdbinary.readouterr().out)
    assert piped.read_bytes()[8:16] == b"\x10" + bytes(7)
    assert run(["info", str(piped)]) == 0


def test_a_device_is_written_to_and_not_replaced(recording: Path):
    assert run(["shrink", str(recording), "-o", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()


def test_a_directory_that_is_not_there_is_a_clean_error(recording: Path, tmp_path: Path, capsys):
    assert run(["shrink", str(recording), "-o", str(tmp_path / "no" / "small.data")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_perf_shows_the_same_stacks(recording: Path, tmp_path: Path):
    perf = shutil.which("perf")
    if not perf:
        pytest.skip("perf is not installed")
    small = tmp_path / "small.data"
    assert run(["shrink", str(recording), "-o", str(small)]) == 0
    shown = [
        subprocess.run(
            [perf, "script", "-F", "comm,tid,time,ip", "-i", str(path)], capture_output=True, text=True
        ).stdout
        for path in (recording, small)
    ]
    assert shown[0] == shown[1] != b""


def test_perf_shows_what_we_show_of_short_lived_processes(tmp_path: Path, capfd):
    perf = shutil.which("perf")
    if not perf:
        pytest.skip("perf is not installed")
    whole, small = tmp_path / "perf.data", tmp_path / "small.data"
    work = "i=0; while [ $i -lt 30 ]; do cat /dev/null; i=$((i+1)); done"
    recorder = [perf, "record", "-q", "-e", "cpu-clock", "-F", "2000", "--call-graph", "dwarf,4096", "-o", str(whole)]
    done = subprocess.run([*recorder, "--", "sh", "-c", work], capture_output=True)
    if done.returncode or not whole.exists():
        pytest.skip("perf may not record here")
    assert run(["shrink", str(whole), "-o", str(small)]) == 0
    capfd.readouterr()
    shape = ["script", "--ns", "--no-inline", "-F", "comm,tid,time,ip"]
    assert run([*shape, str(small)]) == 0
    ours = capfd.readouterr().out
    theirs = subprocess.run([perf, *shape, "--max-stack", "10000", "-i", str(small)], capture_output=True, text=True)
    assert frames_by_sample(ours) == frames_by_sample(theirs.stdout)


def frames_by_sample(text: str) -> list[tuple[str, int]]:
    """(name, thread and time, frames) of each sample; older versions of perf print other addresses."""
    blocks = [block.strip("\n").splitlines() for block in text.split("\n\n")]
    return sorted((" ".join(block[0].split()), len(block) - 1) for block in blocks if block)
