"""``report --source`` on a program whose hot line is known from how it is written."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Build = Callable[..., Path]
Record = Callable[..., Path]

SOURCE = """\
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long stir(unsigned long value) {
    for (int i = 0; i < 1000; i++)
        value = value * 31 + (value >> 7); /* hot */
    return value;
}
__attribute__((noinline)) void work(unsigned long seed) {
    sink = seed;
    sink += stir(seed); /* call */
}
int main(void) {
    for (unsigned long i = 0; i < 150000; i++)
        work(i);
    return 0;
}
"""
HOT, CALL, WORK = 4, 9, 13


@pytest.fixture
def recorded(build: Build, record: Record, tmp_path: Path) -> Path:
    (tmp_path / "hot.c").write_text(SOURCE)
    program = build("gcc", str(tmp_path / "hot.c"), "-O2", "-g")
    os.utime(tmp_path / "hot.c", (1, 1))
    return record([program])


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "undwarf", "report", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def listed(recorded: Path, *arguments: str) -> dict[str, object]:
    done = run("--json", *arguments, recorded)
    assert done.returncode == 0, done.stderr
    (event,) = json.loads(done.stdout)["events"]
    (listing,) = event["listings"]
    found: dict[str, object] = listing
    return found


def by_line(listing: dict[str, object]) -> dict[int, dict[str, object]]:
    lines = listing["lines"]
    assert isinstance(lines, list)
    return {line["line"]: line for line in lines}


def test_weight_lies_on_the_lines_that_cost(recorded: Path) -> None:
    inner = by_line(listed(recorded, "--source", "stir"))
    outer = by_line(listed(recorded, "--source", "work"))
    main = by_line(listed(recorded, "--source", "main"))
    total = sum(line["self"] for line in inner.values())
    assert inner[HOT]["text"] == "        value = value * 31 + (value >> 7); /* hot */"
    assert inner[HOT]["self"] + inner[HOT - 1]["self"] >= 0.9 * total
    # What is inlined counts as passing the line that calls it, and as nothing of its own.
    assert total <= outer[CALL]["total"] <= 1.1 * total
    assert main[WORK]["total"] >= total
    assert main[WORK]["self"] <= 0.1 * total


def test_instructions_stand_below_their_lines(recorded: Path) -> None:
    listing = listed(recorded, "--source", "stir", "--asm")
    for line in by_line(listing).values():
        assert sum(code["self"] for code in line["instructions"]) == line["self"]
    addresses = [code["address"] for line in by_line(listing).values() for code in line["instructions"]]
    assert len(addresses) == len(set(addresses)) > 3
    outer = by_line(listed(recorded, "--source", "work", "--asm"))
    assert {code["sym"] for code in outer[CALL]["instructions"]} >= {"stir"}


def test_the_text_shows_source_and_shares(recorded: Path) -> None:
    done = run("--source", "stir", "--asm", recorded)
    assert done.returncode == 0, done.stderr
    (hot,) = [line for line in done.stdout.splitlines() if "/* hot */" in line]
    assert hot.split()[2:4] == [str(HOT), "│"]
    assert hot.split()[0].endswith("%")


def test_source_that_moved_or_went(recorded: Path, tmp_path: Path) -> None:
    os.utime(tmp_path / "hot.c")
    os.utime(tmp_path / "program", (1, 1))
    assert "newer than the binary" in run("--source", "stir", recorded).stdout
    (tmp_path / "hot.c").write_text("int main;\n")
    assert "has only 1 lines" in run("--source", "stir", recorded).stdout
    (tmp_path / "hot.c").unlink()
    gone = run("--source", "stir", recorded).stdout
    assert "No such file or directory" in gone
    assert f" {HOT} │" in gone
    os.mkfifo(tmp_path / "hot.c")
    assert "not a regular file" in run("--source", "stir", recorded).stdout


def test_a_function_that_is_not_there(recorded: Path) -> None:
    done = run("--source", "stirr", recorded)
    assert done.returncode == 1
    assert "no sample passed a function called stirr" in done.stderr
    assert "stir" in done.stderr.split("close to it: ")[1]
    assert run("--asm", recorded).returncode == 2
