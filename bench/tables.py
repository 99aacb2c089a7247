"""Unwind tables beside readelf: every row of every file compared, and what building, writing and reading cost.

    tables.py [--readelf READELF] [--rounds 3] [FILE...]

READELF prints SFrame of versions 2 and 3 from binutils 2.46 on; what an older one does not print is not compared. CPU
seconds are user plus system time of this process, the median of the rounds. docs/benchmarks.md has figures.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.elf.writer import file_of_sections
from undwarf.tables.model import UnwindTable
from undwarf.tables.writers import write

# The tests' comparisons, for whole libraries.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
cfi_compare = import_module("tests.support.tables.cfi_compare")
sframe_compare = import_module("tests.support.tables.sframe_compare")

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
USUAL = (
    LIBRARIES / "libc.so.6",
    LIBRARIES / "libstdc++.so.6",
    LIBRARIES / "libcrypto.so.3",
    Path("/usr/bin/python3"),
    Path("/usr/aarch64-linux-gnu/lib/libc.so.6"),
    *sorted(Path("/usr/lib/gcc/x86_64-linux-gnu").glob("*/cc1")),
)


def cost(function: Callable[[], object], rounds: int) -> float:
    """CPU seconds, the median."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return statistics.median(found)


def build(path: Path) -> UnwindTable:
    """A file's whole table from `.eh_frame`."""
    table = UnwindTable.from_elf(path)
    table.complete()
    return table


def measure(path: Path, readelf: str, rounds: int) -> bool:
    """One file's lines; whether all agreed."""
    cfi = cfi_compare.compare(readelf, path)
    table = build(path)
    print(f"{path}: {len(table):,} functions, built in {cost(lambda: build(path), rounds):.3f} s")
    print(
        f"  .eh_frame: {cfi.rows:,} rows, {cfi.expressions} by expression, {len(cfi.differences)} differ from readelf's"
    )
    elf = ElfFile.open(path)
    good = not cfi.differences
    for version in ("3", "2"):
        made = write("sframe", table, elf, version)
        seconds = cost(partial(write, "sframe", table, elf, version), rounds)
        with tempfile.NamedTemporaryFile(suffix=".sframe") as file:
            file.write(file_of_sections(elf, made.sections))
            file.flush()
            found = sframe_compare.compare(readelf, file.name)
        size = sum(section.size for section in made.sections)
        print(
            f"  SFrame {version}: {made.rows:,} rows, {size:,} bytes, written in {seconds:.3f} s;"
            f" readelf prints {found.rows:,}, {len(found.differences)} differ; left out {made.left_out or 'nothing'}"
        )
        good = good and not found.differences and found.rows in (0, made.rows)
    return good


def main() -> int:
    """1 where a row differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    files = arguments.files or [path for path in USUAL if path.exists()]
    failed = 0
    for path in files:
        failed += not measure(path.resolve(), arguments.readelf, arguments.rounds)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
