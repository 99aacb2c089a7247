"""The command line as users run it, on recordings made from bytes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.commands import Run, recording
from tests.support.documents import documents


@pytest.fixture
def perf_data(tmp_path: Path) -> Path:
    """A small recording."""
    path = tmp_path / "perf.data"
    path.write_bytes(recording())
    return path


@pytest.fixture
def undwarf(tmp_path: Path) -> Run:
    """Runs ``python -m undwarf`` in an empty directory; ``stdin`` may be bytes, ``without`` variables not to set. What
    ``--json`` prints is valid."""

    def run(
        *arguments: object, stdin: bytes = b"", without: tuple[str, ...] = (), **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "undwarf", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if name not in without} | environment,
            timeout=60,
            check=False,
        )
        text = done.stdout.decode()
        if "--json" in arguments and not done.returncode:
            documents(text)
        return subprocess.CompletedProcess(done.args, done.returncode, text, done.stderr.decode(errors="replace"))

    return run
