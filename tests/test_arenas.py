"""Objects of a command lie in large pages; those of a program that only imports undwarf where it has them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import undwarf

needs_large_pages = pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").is_dir(), reason="this kernel has no large pages on demand"
)
ASKED = """
def asked():
    "Bytes of mappings for which large pages are asked for; of these in use."
    sizes = [0, 0]
    size = used = 0
    for line in open("/proc/self/smaps"):
        name, _, rest = line.partition(":")
        if name == "Size":
            size = int(rest.split()[0])
        elif name == "Rss":
            used = int(rest.split()[0])
        elif name == "VmFlags" and "hg" in rest.split():
            sizes[0] += size
            sizes[1] += used
    return [one << 10 for one in sizes]
"""


def run(program: str, **environment: str) -> str:
    command = [sys.executable, "-c", ASKED + program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return done.stdout


@needs_large_pages
def test_objects_lie_in_large_pages_and_behind_them_in_small_ones() -> None:
    # Twice as many objects as there is room for, all of them gone in between.
    program = """
from undwarf.arenas import use_large_pages
use_large_pages()
use_large_pages()
for turn in range(2):
    made = [b"%400d" % k for k in range(500_000)]
    assert all(int(one) == k for k, one in enumerate(made))
    room, used = asked()
    print(room >> 20, used > room * 9 // 10)
    del made
"""
    assert run(program).split() == ["128", "True"] * 2


@needs_large_pages
def test_only_commands_ask_for_large_pages() -> None:
    assert run("import undwarf.api, undwarf.cli.main; print(asked())").split() == ["[0,", "0]"]
    program = "import sys; sys.argv[0] = '/usr/bin/undwarf'; import undwarf.cli; print(asked()[0] > 0)"
    assert run(program).split() == ["True"]


def test_commands_begin_where_nothing_is_compiled(tmp_path: Path) -> None:
    source = Path(undwarf.__file__).parent
    (tmp_path / "undwarf" / "cli").mkdir(parents=True)
    for name in ("__init__.py", "importing.py", "arenas.py", "cli/__init__.py"):
        shutil.copy(source / name, tmp_path / "undwarf" / name)
    program = "import sys; sys.argv[0] = '/usr/bin/undwarf'; import undwarf.cli; print(undwarf.cli.__file__)"
    assert run(program, PYTHONPATH=str(tmp_path)).strip() == str(tmp_path / "undwarf" / "cli" / "__init__.py")
