"""`undwarf top` on programs that run here."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.documents import documents
from tests.support.recording import compiled
from tests.support.terminal import Terminal

from undwarf.cli.main import run

pytestmark = pytest.mark.usefixtures("perf_events")


def test_top_shows_hot_functions(program: str, capsys):
    # More rows than functions: of functions with equal weight, a shorter table has any.
    assert run(["top", "-e", "cpu-clock", "--interval", "0.2", "--rows", "100", "--", program, "5"]) == 0
    shown = capsys.readouterr().out
    assert "Children    Self" in shown
    assert " main" in shown
    assert " leaf" in shown
    assert "cpu-clock in" in shown


def test_json_has_a_line_for_each_update(program: str, capfdbinary):
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        try:
            command = ["top", "--json", "-e", "cpu-clock", "--interval", "0.2", "--iterations", "2", "--sort", "sym"]
            assert run([*command, "-p", str(process.pid)]) == 0
        finally:
            process.kill()
    first, second = documents(capfdbinary.readouterr().out.decode())
    assert first["time_s"] < second["time_s"]
    (event,) = second["events"]
    assert (event["event"], event["unit"]) == ("cpu-clock", "ns")
    assert event["rows"][0]["sym"] == "leaf"
    assert 0 < event["rows"][0]["self"] <= event["weight"]


def test_top_ends_after_its_last_iteration(program: str, capsys):
    with subprocess.Popen([program, "forever"], stdout=subprocess.PIPE) as process:
        try:
            command = ["top", "-e", "cpu-clock", "--interval", "0.2", "--iterations", "1", "--sort", "sym"]
            assert run([*command, "-p", str(process.pid)]) == 0
        finally:
            process.kill()
    assert "Symbol" in capsys.readouterr().out


def test_on_a_terminal_a_function_is_annotated_while_it_runs(tmp_path: Path, perf_events: None) -> None:
    program = compiled(tmp_path, "volatile long n;\nint main(void) {\n  for (;;)\n    n++;  // the hot line\n}\n", "-g")
    with subprocess.Popen([program]) as process:
        try:
            command = [
                sys.executable,
                "-m",
                "undwarf",
                "top",
                "-e",
                "cpu-clock",
                "--interval",
                "0.3",
                "--sort",
                "dso,sym",
            ]
            terminal = Terminal([*command, "-p", str(process.pid)], tmp_path)
            assert terminal.wait_for(b"main")
            terminal.press(b"a")
            assert terminal.wait_for(b"the hot line")
            terminal.press(b"\x1b")
            time.sleep(0.3)
            terminal.press(b"q")
            assert terminal.end() == 0
        finally:
            process.kill()
    assert terminal.shown.count(b"\x1b[?1049l") == 1
