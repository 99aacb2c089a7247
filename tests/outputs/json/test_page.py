"""The examples of docs/reference/json.md, as a reader runs them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from undwarf.cli.main import COMMANDS

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "examples" / "recording"
PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
EXAMPLES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
OF_RUNNING_PROGRAMS = ("undwarf record", "undwarf top", "undwarf stack")


@pytest.mark.parametrize("line", [line for line in EXAMPLES if not line.startswith(OF_RUNNING_PROGRAMS)])
def test_an_example_works(line: str, tmp_path: Path) -> None:
    if shutil.which("jq") is None:
        pytest.skip("no jq")
    (tmp_path / "perf.data").symlink_to(SHIPPED / "words.data")
    for name, shipped in (("old.data", "words-sum.data"), ("new.data", "words-product.data")):
        (tmp_path / name).symlink_to(SHIPPED / shipped)
    (tmp_path / "words").symlink_to(SHIPPED / "demo" / "words")
    (tmp_path / "files").symlink_to(SHIPPED)
    (tmp_path / "undwarf").write_text(f'#!/bin/sh\nexec {sys.executable} -m undwarf "$@"\n')
    (tmp_path / "undwarf").chmod(0o755)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "jq: error" in done.stderr) == (0, False), done.stderr
    assert done.stdout or "select(" in line or "not_held" in line


def test_each_command_has_an_example() -> None:
    shown = {line.split()[1] for line in EXAMPLES}
    assert shown == set(COMMANDS) - {"agent", "browse", "completion"}
