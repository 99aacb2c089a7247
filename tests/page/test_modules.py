"""The unit tests of the page's modules, in node."""

import shutil
import subprocess
from pathlib import Path

import pytest

NODE = shutil.which("node")
FOLDER = Path(__file__).parent


@pytest.mark.skipif(NODE is None, reason="no node on this machine")
@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.test.js")))
def test_modules_of_the_page(name: str) -> None:
    done = subprocess.run(
        [str(NODE), "--test", name], cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout
