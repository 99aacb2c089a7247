"""The page's modules: their own tests, their types, and what their text must not have."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from undwarf.outputs.page.bundle import web

TESTS = Path(__file__).parents[2] / "page"
NODE = shutil.which("node")
TYPES = shutil.which("tsc")
MODULES = sorted(entry.name for entry in web().iterdir() if entry.name.endswith(".js"))


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("test", sorted(path.name for path in TESTS.glob("*.test.js")))
def test_tests_of_modules_pass(test: str) -> None:
    run = subprocess.run([NODE or "", "--test", str(TESTS / test)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-6000:]
    assert re.search(r"^# pass [1-9]", run.stdout, re.MULTILINE)


@pytest.mark.skipif(TYPES is None, reason="tsc (npm package typescript) is not installed")
def test_types_of_modules_are_right() -> None:
    run = subprocess.run([TYPES or "", "-p", str(TESTS / "tsconfig.json")], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-6000:]


@pytest.mark.parametrize("module", MODULES)
def test_modules_make_no_elements_or_code_from_text(module: str) -> None:
    text = (web() / module).read_text(encoding="utf-8")
    code = re.sub(r"//.*|/\*.*?\*/", "", text)
    assert not re.search(
        r"(inner|outer|insertAdjacent)HTML|document\.write|\beval\(|new Function\(|srcdoc|setAttribute\(.(style|on)",
        code,
    )
