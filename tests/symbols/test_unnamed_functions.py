"""Functions of stripped programs: called after where they start, as unwind information or the code says."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.symbols.resolving import names, resolve, store_of

from undwarf.symbols import Resolver, ResolverOptions

SOURCE = """
#include <stdlib.h>
__attribute__((noinline)) static int leaf(int n) { volatile int x = n; return x * 3; }
__attribute__((noinline)) static int middle(int n) { return leaf(n) + leaf(n + 1); }
int main(int argc, char **argv) { return middle(argc) + atoi(argv[0]); }
"""


def build(folder: Path, *flags: str) -> tuple[Path, dict[str, tuple[int, int]]]:
    """A stripped program called ``prog``, and (start, size) of the functions it had names of."""
    (folder / "prog.c").write_text(SOURCE)
    program = folder / "prog"
    subprocess.run(["gcc", "-O1", "-o", program, folder / "prog.c", *flags], check=True)
    listed = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    functions = {
        name: (int(start, 16), int(size, 16))
        for start, size, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (leaf|middle|main)$", listed, re.M)
    }
    subprocess.run(["strip", program], check=True)
    return program, functions


pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


@pytest.mark.parametrize("flags", [(), ("-static",)], ids=["eh_frame", "static"])
def test_named_after_the_start_in_unwind_information(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program, functions = build(tmp_path, *flags)
    frames = [(0, start + offset) for start, size in functions.values() for offset in (0, size - 1)]
    found = resolve(Resolver(store_of(program)), frames)
    assert names(found) == [f"prog+{start:#x}" for start, _size in functions.values() for _ in range(2)]
    assert list(found.address) == [start for start, _size in functions.values()]
    assert bytes(found.unnamed) == b"\1\1\1"


def test_named_after_the_start_that_the_code_calls(tmp_path: Path) -> None:
    program, functions = build(tmp_path, "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    start, size = functions["leaf"]
    assert names(resolve(Resolver(store_of(program)), [(0, start + size - 1)])) == [f"prog+{start:#x}"]


def test_code_that_no_function_covers_stays_unknown(tmp_path: Path) -> None:
    program, functions = build(tmp_path)
    found = resolve(Resolver(store_of(program)), [(0, functions["main"][0]), (0, 0x7FFFF000)])
    assert names(found)[1] == "[unknown]"
    assert bytes(found.unnamed) == b"\1\1"
    assert names(found)[0] != "[unknown]"


def test_exported_functions_keep_their_names(tmp_path: Path) -> None:
    program, functions = build(tmp_path, "-rdynamic")
    found = resolve(Resolver(store_of(program)), [(0, functions["main"][0]), (0, functions["middle"][0])])
    assert names(found) == ["main", f"prog+{functions['middle'][0]:#x}"]
    assert [found.unnamed[number] for number in found.number] == [0, 1]


def test_starts_can_be_left_out_as_perf_does(tmp_path: Path) -> None:
    program, functions = build(tmp_path)
    resolver = Resolver(store_of(program), ResolverOptions(starts=False))
    assert names(resolve(resolver, [(0, start) for start, _size in functions.values()])) == ["[unknown]"] * 3
