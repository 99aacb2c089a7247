"""The manual pages: one for each command, with all of its options, without a complaint of groff or mandoc."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from undwarf.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    script = ROOT / "docs" / "site" / "man_pages.py"
    environment = os.environ | {"SOURCE_DATE_EPOCH": "86400"}
    subprocess.run([sys.executable, str(script), str(folder)], check=True, env=environment, stdout=subprocess.DEVNULL)
    return folder


def read(pages: Path, name: str) -> str:
    """The page as text, without hyphens that roff escapes."""
    return (pages / f"{name}.1").read_text().replace("\\-", "-")


def test_every_command_has_a_page(pages: Path) -> None:
    names = {path.stem for path in pages.iterdir()}
    assert {"undwarf", *(f"undwarf-{name}" for name in COMMANDS), "undwarf-tables-dump"} <= names


def test_a_page_has_options_groups_examples_and_others(pages: Path) -> None:
    text = read(pages, "undwarf-report")
    assert "\\fB-s\\fR, \\fB--sort\\fR \\fIKEYS\\fR" in text
    assert ".SS Which samples" in text
    assert ".SH EXAMPLES" in text
    assert ".BR undwarf-flamegraph (1)," in text
    assert '1 "1970-01-02" "undwarf ' in text


def test_pages_are_ascii_so_that_every_roff_reads_them(pages: Path) -> None:
    assert all(path.read_bytes().isascii() for path in pages.iterdir())


@pytest.mark.parametrize(
    "checker", [["mandoc", "-Tlint", "-Wstyle"], ["groff", "-man", "-ww", "-z"]], ids=["mandoc", "groff"]
)
def test_no_complaint_of_roff(pages: Path, checker: list[str], tmp_path: Path) -> None:
    if shutil.which(checker[0]) is None:
        pytest.skip(f"needs {checker[0]}")
    found = sorted(map(str, pages.iterdir()))
    assert len(found) > len(COMMANDS)
    done = subprocess.run([*checker, *found], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wrong = tmp_path / "wrong.1"
    wrong.write_text('.TH WRONG 1 "1970-01-02"\n.SH NAME\n.nosuchmacro\n')
    done = subprocess.run([*checker, str(wrong)], capture_output=True, text=True, check=False)
    assert "nosuchmacro" in done.stdout + done.stderr
