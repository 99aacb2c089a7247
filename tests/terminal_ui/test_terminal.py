"""Programs on a real pseudo-terminal: they start, take keys, and leave the terminal as it was."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.screens import RECORDINGS
from tests.support.terminal import Terminal

COMMAND = [sys.executable, "-m", "undwarf", "browse", "--symfs", str(RECORDINGS), str(RECORDINGS / "words.data")]
ALTERNATE, NORMAL = b"\x1b[?1049h", b"\x1b[?1049l"


def test_it_starts_and_q_restores_the_terminal(tmp_path: Path) -> None:
    terminal = Terminal(COMMAND, tmp_path)
    before = terminal.settings()
    assert terminal.wait_for(b"count_words")
    terminal.press(b"3")
    assert terminal.wait_for(b"Self\xe2\x96\xbc")
    terminal.press(b"q")
    assert terminal.end() == 0
    assert terminal.shown.count(ALTERNATE) == terminal.shown.count(NORMAL) == 1
    assert b"\x1b[?25h" in terminal.shown.split(NORMAL)[1]
    assert before == terminal.last_settings


def test_a_signal_restores_the_terminal(tmp_path: Path) -> None:
    terminal = Terminal(COMMAND, tmp_path)
    before = terminal.settings()
    assert terminal.wait_for(b"count_words")
    terminal.send(signal.SIGTERM)
    terminal.end()
    assert NORMAL in terminal.shown
    assert before == terminal.last_settings


@pytest.mark.parametrize(("never", "coloured"), [("1", False), ("", True)])
def test_no_color_is_heeded(tmp_path: Path, never: str, coloured: bool) -> None:
    terminal = Terminal(COMMAND, tmp_path, **({"NO_COLOR": never} if never else {}))
    assert terminal.wait_for(b"count_words")
    terminal.press(b"q")
    assert terminal.end() == 0
    assert (b"\x1b[1;31m" in terminal.shown) is coloured
    assert re.search(rb"\x1b\[(1;)?7[;m]", terminal.shown)


def test_a_recording_comes_through_a_pipe(tmp_path: Path) -> None:
    words = " ".join(shlex.quote(word) for word in COMMAND[:-1])
    terminal = Terminal(["sh", "-c", f"cat {RECORDINGS}/words.data | {words} -"], tmp_path)
    assert terminal.wait_for(b"count_words")
    terminal.press(b"q")
    assert terminal.end() == 0


def test_without_a_terminal_it_says_so(tmp_path: Path) -> None:
    done = subprocess.run(COMMAND, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "browse needs a terminal" in done.stderr
