"""`undwarf types --binary --at` on programs compiled here."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from undwarf.cli.main import undwarf

LIST = """
#include <stdlib.h>
struct tail { unsigned low : 3, high : 5; };
struct node { long key; union { int whole; short half; } as; struct node *next; struct tail tail[4]; };
struct node *head; static int counts[8];
__attribute__((noinline)) long walk(struct node *n, int k)
{
	long s = 0;
	for (; n; n = n->next) { s += n->key; counts[k & 7]++; n->tail[k & 3].high = 1; }
	return s;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++) { struct node *n = calloc(1, sizeof *n); n->next = head; head = n; }
	return (int)walk(head, argc);
}
"""


def build(folder: Path, source: str, name: str, *flags: str, compiler: str = "gcc") -> Path:
    """Compile a program; the test is skipped where there is no such compiler."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    (folder / name).write_text(source)
    made = folder / "program"
    subprocess.run([compiler, "-g", *flags, "-o", made, folder / name], check=True, capture_output=True)
    return made


def function_of(binary: Path, name: str) -> tuple[int, int]:
    """Address and size of a function."""
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    text = subprocess.run(["nm", "-S", binary], check=True, capture_output=True, text=True).stdout
    row = next(line.split() for line in text.splitlines() if line.endswith(f" {name}"))
    return int(row[0], 16), int(row[1], 16)


def answers(binary: Path, name: str) -> list[dict[str, Any]]:
    """What is said of every address of a function where an instruction begins."""
    start, size = function_of(binary, name)
    addresses = ",".join(f"{at:x}" for at in range(start, start + size))
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(binary), "--at", addresses, "--json"])
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return [one for one in found if one["access"]]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_members_of_a_list_are_found(tmp_path: Path, compiler: str, level: str) -> None:
    binary = build(tmp_path, LIST, "list.c", level, compiler=compiler)
    found = {(one["type"], one["field"], one["access"]) for one in answers(binary, "walk")}
    assert ("struct node", "key", "r") in found
    assert ("struct node", "next", "r") in found
    assert any(t in ("int[]", "int") and "w" in access for t, _field, access in found)
    unknown = [one for one in answers(binary, "walk") if one["type"] is None and one["how"] == ""]
    assert not unknown


def test_of_the_members_of_a_bit_field_all_are_named(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    stored = [one for one in answers(binary, "walk") if one["field"].startswith("tail[]")]
    assert stored
    assert all(set(one["candidates"]) == {"tail[].low", "tail[].high"} for one in stored)


def test_an_address_within_an_instruction_has_the_reason(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-O2")
    start, _size = function_of(binary, "main")
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(binary), "--at", f"{start + 1:x}", "--json"])
    (one,) = json.loads(result.stdout)
    assert one["type"] is None
    assert one["reason"] == "not the begin of an instruction"


def test_a_binary_without_types_is_told(tmp_path: Path) -> None:
    binary = build(tmp_path, LIST, "list.c", "-g0")
    result = CliRunner().invoke(undwarf, ["types", "--binary", str(binary), "--at", "1000"])
    assert result.exit_code != 0
