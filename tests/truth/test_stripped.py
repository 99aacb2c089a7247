"""A stripped program: its functions are told apart in reports, and shown as assembly."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import undwarf

SOURCE = """
static volatile unsigned long sum;
__attribute__((noinline)) static void spin(int n) { for (int i = 0; i < n; i++) sum += i * 3; }
__attribute__((noinline)) static void outer(int n) { spin(n); sum++; }
int main(void) { for (int i = 0; i < 400; i++) outer(400000); return 0; }
"""

pytestmark = pytest.mark.records


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A recording of a stripped program, and where two of its functions started."""
    if shutil.which("perf") is None or shutil.which("gcc") is None:
        pytest.skip("needs perf and gcc")
    folder = tmp_path_factory.mktemp("stripped")
    (folder / "busy.c").write_text(SOURCE)
    program, recording = folder / "busy", folder / "perf.data"
    subprocess.run(["gcc", "-O1", "-o", program, folder / "busy.c"], check=True)
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.split()
    starts = {name: f"busy+{int(listed[listed.index(name) - 2], 16):#x}" for name in ("spin", "outer", "main")}
    subprocess.run(["strip", program], check=True)
    command = ["perf", "record", "-e", "cpu-clock", "-F", "999", "--call-graph", "dwarf", "-o", recording, program]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or not recording.exists():
        pytest.skip(f"perf cannot record here: {done.stderr[-200:]}")
    return recording, starts


def test_stacks_of_a_stripped_program_name_starts(recorded: tuple[Path, dict[str, str]]) -> None:
    recording, starts = recorded
    with undwarf.open(recording) as opened:
        stacks = [[frame.name for frame in sample.stack] for sample in opened.profile().samples]
    expected = [starts[name] for name in ("spin", "outer", "main")]
    whole = [stack for stack in stacks if stack[:3] == expected]
    assert len(whole) > len(stacks) * 0.8 > 0


def test_assembly_of_a_function_without_a_symbol(recorded: tuple[Path, dict[str, str]]) -> None:
    recording, starts = recorded
    command = [sys.executable, "-m", "undwarf", "report", "--source", starts["spin"], "--asm", recording]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert starts["spin"] in shown
    assert f" {starts['spin'].removeprefix('busy+0x')}  " in shown
    assert "ret" in shown


def test_script_can_spell_unknown_as_perf_does(recorded: tuple[Path, dict[str, str]]) -> None:
    recording, starts = recorded
    command = [sys.executable, "-m", "undwarf", "script", recording]
    ours = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    perf = subprocess.run([*command, "--perf-names"], capture_output=True, text=True, check=True).stdout
    assert f"{starts['spin']}+0x" in ours
    assert "busy+0x" not in perf
    assert f" [unknown] ({recording.parent}/busy)" in perf
