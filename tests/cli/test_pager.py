"""Long output on a terminal goes to a pager, on a real pseudo-terminal."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.commands import Run, recording
from tests.support.terminal import Terminal

SAMPLES = 2000
FIRST, LAST = b" 1.500000:", b" 1.501999:"
"""The times of the first and the last sample of a recording whose text is larger than the output's buffer."""


@pytest.fixture
def long_data(tmp_path: Path) -> Path:
    """A recording whose samples fill many screens."""
    path = tmp_path / "long.data"
    path.write_bytes(recording(samples=SAMPLES))
    return path


def start(tmp_path: Path, *arguments: object, **environment: str) -> Terminal:
    return Terminal([sys.executable, "-m", "undwarf", *map(str, arguments)], tmp_path, **environment)


needs_less = pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")


@needs_less
def test_less_shows_the_first_page_until_it_is_left(tmp_path: Path, long_data: Path) -> None:
    terminal = start(tmp_path, "script", long_data)
    assert terminal.wait_for(FIRST)
    terminal.press(b"q")
    assert terminal.end() == 0
    assert LAST not in terminal.shown
    assert b"error" not in terminal.shown and b"Traceback" not in terminal.shown


@needs_less
def test_less_goes_on_to_the_end(tmp_path: Path, long_data: Path) -> None:
    terminal = start(tmp_path, "script", long_data)
    assert terminal.wait_for(FIRST)
    terminal.press(b"G")
    assert terminal.wait_for(LAST)
    terminal.press(b"q")
    assert terminal.end() == 0


@needs_less
def test_an_interrupt_leaves_the_page_until_it_is_left(tmp_path: Path, long_data: Path) -> None:
    terminal = start(tmp_path, "script", long_data)
    assert terminal.wait_for(FIRST)
    terminal.press(b"\x03")
    # Less still answers: it goes to the end of what was written before. An interrupt drops keys that it has not read.
    for _attempt in range(30):
        terminal.press(b"G")
        if terminal.wait_for(b"(END)", 1):
            break
    assert b"(END)" in terminal.shown
    terminal.press(b"q")
    assert terminal.end() == 130
    assert LAST not in terminal.shown and b"Traceback" not in terminal.shown


@needs_less
def test_what_fits_on_the_screen_needs_no_key(tmp_path: Path, perf_data: Path) -> None:
    terminal = start(tmp_path, "fold", perf_data)
    assert terminal.end() == 0
    assert b"prog;" in terminal.shown


@pytest.mark.parametrize("never", ["", "1"])
def test_colours_reach_the_pager(tmp_path: Path, perf_data: Path, never: str) -> None:
    terminal = start(tmp_path, "report", perf_data, UNDWARF_PAGER="cat > page", NO_COLOR=never)
    assert terminal.end() == 0
    assert (b"\x1b[" in (tmp_path / "page").read_bytes()) is not bool(never)


def test_columns_are_those_of_the_terminal(tmp_path: Path, perf_data: Path) -> None:
    terminal = start(tmp_path, "report", perf_data, UNDWARF_PAGER="cat > page", NO_COLOR="1")
    assert terminal.end() == 0
    assert max(map(len, (tmp_path / "page").read_text().splitlines())) <= 100


def test_a_reader_who_leaves_early_is_no_error(tmp_path: Path, long_data: Path) -> None:
    terminal = start(tmp_path, "script", long_data, UNDWARF_PAGER="head -c 10")
    assert terminal.end() == 0
    assert b"Traceback" not in terminal.shown and b"error" not in terminal.shown


def test_the_command_waits_for_the_pager(tmp_path: Path, perf_data: Path) -> None:
    terminal = start(tmp_path, "fold", perf_data, UNDWARF_PAGER="cat > page; sleep 0.3; echo read > end")
    assert terminal.end() == 0
    assert (tmp_path / "end").read_text() == "read\n"


def test_notes_come_after_the_pager(tmp_path: Path, long_data: Path) -> None:
    """The statistics are printed at the end, when the pager has long started."""
    terminal = start(tmp_path, "script", "--stats", long_data, UNDWARF_PAGER="cat; sleep 0.3; echo closed")
    assert terminal.end() == 0
    assert terminal.shown.index(b"closed") < terminal.shown.index(b"unwind tables")


@pytest.mark.parametrize("pagers", [("touch used", "touch other"), (None, "touch used")])
def test_the_variables_of_the_pager(tmp_path: Path, perf_data: Path, pagers: tuple[str | None, str]) -> None:
    own, usual = pagers
    environment = {"PAGER": usual} | ({"UNDWARF_PAGER": own} if own is not None else {})
    assert start(tmp_path, "fold", perf_data, **environment).end() == 0
    assert (tmp_path / "used").exists() and not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("words", "pager", "configuration"),
    [
        ("--no-pager fold", "touch used", ""),
        ("fold --no-pager", "touch used", ""),
        ("fold", "", ""),
        ("fold", "cat", ""),
        ("fold", None, "pager = false"),
        ("fold", None, "[fold]\nno-pager = true"),
        ("addr2line --help", "touch used", ""),
        ("schema fold", "touch used", ""),
        ("fold --json", "touch used", ""),
        ("fold", "touch used", "[fold]\njson = true"),
        ("fold --help", "touch used", ""),
    ],
)
def test_no_pager(tmp_path: Path, perf_data: Path, words: str, pager: str | None, configuration: str) -> None:
    (tmp_path / "config").write_text(configuration)
    environment = {"UNDWARF_CONFIG": "config", "PAGER": "touch used"}
    environment |= {"UNDWARF_PAGER": pager} if pager is not None else {}
    files = [] if words.startswith("schema") else [perf_data]
    terminal = start(tmp_path, *words.split(), *files, **environment)
    assert terminal.end() == 0
    assert terminal.shown and not (tmp_path / "used").exists()


def test_the_pager_of_the_configuration(tmp_path: Path, perf_data: Path) -> None:
    (tmp_path / "config").write_text('pager = "touch used"')
    assert start(tmp_path, "fold", perf_data, UNDWARF_CONFIG="config", PAGER="touch other").end() == 0
    assert (tmp_path / "used").exists() and not (tmp_path / "other").exists()


def test_a_pager_that_does_not_exist(tmp_path: Path, perf_data: Path) -> None:
    terminal = start(tmp_path, "fold", perf_data, UNDWARF_PAGER="no-such-pager -x")
    assert terminal.end() == 0
    assert b"no pager: no-such-pager" in terminal.shown and b"prog;" in terminal.shown


def test_output_that_no_terminal_shows_has_no_pager(undwarf: Run, perf_data: Path, tmp_path: Path) -> None:
    assert "prog;" in undwarf("fold", perf_data, UNDWARF_PAGER="touch used").stdout
    assert not (tmp_path / "used").exists()


def test_files_have_no_pager(tmp_path: Path, perf_data: Path) -> None:
    terminal = start(tmp_path, "query", perf_data, "SELECT 1 AS one", "-o", "one.csv", UNDWARF_PAGER="touch used")
    assert terminal.end() == 0
    assert os.listdir(tmp_path).count("one.csv") == 1 and not (tmp_path / "used").exists()
