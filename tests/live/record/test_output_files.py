"""Output files of `undwarf record`: the backup of an earlier recording, and switched outputs."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.documents import document
from tests.support.recording import names, record

import undwarf
from undwarf.cli.main import run

pytestmark = pytest.mark.usefixtures("perf_events")


def test_an_earlier_recording_is_kept_beside_the_new_one(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    for before in (b"an hour of samples", b"another"):
        path.write_bytes(before)
        assert record(path, "--", program, "3") == 0
        assert (tmp_path / "perf.data.old").read_bytes() == before
        assert path.read_bytes().startswith(b"PERFILE2")
    assert f"the previous recording is now {path}.old" in capsys.readouterr().err


def test_standard_output_has_the_summary_alone_as_json(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    path.write_bytes(b"an earlier one")
    shell = ["sh", "-c", f"echo said; {program} 3"]
    command = [sys.executable, "-m", "undwarf", "record", "--json", "-e", "cpu-clock", "-o", path, "--", *shell]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = document(done.stdout)
    assert found["files"] == [{"recording": str(path), "samples": found["samples"], "size_bytes": path.stat().st_size}]
    assert (found["previous"], found["exit_code"], found["waits"]) == (f"{path}.old", 0, None)
    assert "said" in done.stderr.splitlines()


@pytest.mark.parametrize("program", ["no-such-program", "/etc/passwd"])
def test_an_earlier_recording_survives_a_program_that_cannot_run(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    path.write_bytes(b"an hour of samples")
    assert run(["record", "-e", "cpu-clock", "-o", str(path), "--", program]) == 2
    assert f"cannot run {program}" in capsys.readouterr().err
    assert path.read_bytes() == b"an hour of samples"


def test_an_earlier_recording_keeps_its_name_if_a_script_cannot_run(tmp_path: Path):
    path, script = tmp_path / "perf.data", tmp_path / "script"
    path.write_bytes(b"an hour of samples")
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert record(path, "--", str(script)) == 2
    assert path.read_bytes() == b"an hour of samples"


def test_a_recording_that_cannot_be_renamed_is_not_overwritten(program: str, tmp_path: Path, capsys):
    path = tmp_path / "perf.data"
    path.write_bytes(b"an hour of samples")
    (tmp_path / "perf.data.old").mkdir()
    assert record(path, "--", program, "3") == 1
    assert "cannot keep" in capsys.readouterr().err
    assert path.read_bytes() == b"an hour of samples"


def test_an_empty_file_is_overwritten(program: str, tmp_path: Path):
    path = tmp_path / "perf.data"
    path.touch()
    assert record(path, "--", program, "3") == 0
    assert [one.name for one in tmp_path.iterdir()] == ["perf.data"]


def test_a_link_stays_and_its_target_is_renamed(program: str, tmp_path: Path):
    (tmp_path / "disk").mkdir()
    real, link = tmp_path / "disk" / "real", tmp_path / "perf.data"
    real.write_bytes(b"an hour of samples")
    link.symlink_to(real)
    assert record(link, "--", program, "3") == 0
    assert link.is_symlink()
    assert real.read_bytes().startswith(b"PERFILE2")
    assert (tmp_path / "disk" / "real.old").read_bytes() == b"an hour of samples"


def switched(tmp_path: Path) -> list[Path]:
    return sorted(path for path in tmp_path.iterdir() if re.fullmatch(r"perf\.data\.\d{16}", path.name))


@pytest.mark.parametrize("mode", ["live", "fp"])
def test_each_of_several_files_can_be_read_by_itself(program: str, tmp_path: Path, mode: str):
    # It runs for long enough on a busy machine, where describing all processes takes a while.
    command = ["--unwind", mode, "-z0", "-F", "5000", "--switch-output=20K", "--", program, "3", "24000"]
    assert record(tmp_path / "perf.data", *command) == 0
    found = switched(tmp_path)
    assert len(found) > 2
    assert len(list(tmp_path.iterdir())) == len(found)
    for path in found:
        with undwarf.open(path) as recording:
            samples = list(recording.profile().samples)
            assert {sample.comm for sample in samples} <= {"prog", "undwarf-exec"}
            unnamed = sum(not any(name in ("leaf", "deep", "main") for name in names(sample)) for sample in samples)
            # Only a walk knows the mappings of a process that has ended since.
            assert unnamed <= 0.2 * len(samples) + 2 or mode == "fp"
    with undwarf.open(found[1]) as recording:
        assert any("leaf" in names(sample) for sample in recording.profile().samples)


def test_only_the_last_of_several_files_are_kept(program: str, tmp_path: Path):
    command = ["-q", "-z0", "-F", "5000", "--switch-output=20K", "--switch-max-files", "2", "--", program, "3", "8000"]
    assert record(tmp_path / "perf.data", *command) == 0
    assert len(switched(tmp_path)) == 2


def test_a_signal_begins_another_file(program: str, tmp_path: Path):
    command = [sys.executable, "-m", "undwarf", "record", "-e", "cpu-clock", "--switch-output", "-o"]
    with subprocess.Popen([*command, tmp_path / "perf.data", "--", program, "forever"], stdout=subprocess.PIPE) as one:
        try:
            assert one.stdout is not None
            assert one.stdout.readline() == b"ready\n"
            deadline = time.monotonic() + 20
            while not switched(tmp_path) and time.monotonic() < deadline:
                one.send_signal(signal.SIGUSR2)
                time.sleep(0.3)
        finally:
            one.send_signal(signal.SIGINT)
            one.wait()
    assert len(switched(tmp_path)) >= 2


def test_one_file_may_have_the_time_in_its_name(program: str, tmp_path: Path):
    assert record(tmp_path / "perf.data", "--timestamp-filename", "--", program, "3") == 0
    assert [path.name for path in tmp_path.iterdir()] == [path.name for path in switched(tmp_path)]
    assert len(switched(tmp_path)) == 1
