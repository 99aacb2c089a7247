"""The page's modules: their types, and their own tests, run by node."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
VERSION = "5.9.3"
NODE = shutil.which("node")


def compiler() -> Path:
    """TypeScript's compiler, of its npm package; installed below the tests' cache, or the test is skipped."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "undwarf-tests" / f"typescript-{VERSION}"
    found = cache / "node_modules" / "typescript" / "bin" / "tsc"
    if not found.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm to install TypeScript with")
        # Tests that run side by side install it apart; the first one to end is kept.
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache.parent) as folder:
            command = [npm, "install", "--silent", "--ignore-scripts", "--prefix", folder, f"typescript@{VERSION}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode:
                pytest.skip(f"TypeScript cannot be installed: {done.stderr.strip()[-200:]}")
            if not found.exists():
                shutil.copytree(folder, cache, dirs_exist_ok=True)
    return found


@pytest.mark.skipif(NODE is None, reason="no node on this machine")
def test_modules_have_no_type_errors() -> None:
    command = [str(NODE), str(compiler()), "--project", str(FOLDER / "tsconfig.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(NODE is None, reason="no node on this machine")
def test_modules_pass_their_tests() -> None:
    tests = sorted(map(str, FOLDER.glob("*.test.js")))
    assert tests
    done = subprocess.run(
        [str(NODE), "--test", *tests], capture_output=True, text=True, timeout=120, check=False, cwd=FOLDER
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
