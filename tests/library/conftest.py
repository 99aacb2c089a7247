"""The recording of examples/, and the program of it with debugging information."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recording, the program it maps (``demo/words``), and the program with ``-g``."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("words")
    shutil.copytree(EXAMPLES / "recording", folder, dirs_exist_ok=True)
    options = ["-O2", "-g", "-ffreestanding", "-nostdlib", "-static", "-fno-stack-protector"]
    subprocess.run(["gcc", *options, str(EXAMPLES / "words.c"), "-o", str(folder / "words")], check=True)
    return folder


@pytest.fixture
def in_words(words: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same as the current directory."""
    monkeypatch.chdir(words)
    yield words
