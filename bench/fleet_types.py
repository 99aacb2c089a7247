"""Types of a store and of its recordings, and their cost: ``bench/fleet_types.py [--vmlinux FILE] RECORDING...``

Each recording is taken into a store of its own, whose `fleet types` (plain, with --skid, and --code) and `fleet report`
by type must be those of the recording. Then all are taken into one store: with names alone, and with types, both
without cached answers. CPU seconds are the best of three; times of a busy machine vary by a tenth.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WITHOUT = """
import undwarf.fleet.types as types
types.missing = lambda _database, *, again: ([], ())
from undwarf.__main__ import main
main()
"""
"""Runs a command that looks at no instructions after names."""


def run(*arguments: str, program: "list[str] | None" = None) -> tuple[str, float]:
    """(what a command prints, its CPU seconds)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *(program or ["-m", "undwarf"]), *arguments], capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed: {done.stderr}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def events(text: str) -> Any:
    """The events of a document, without addresses that a store has not."""
    found = json.loads(text)["events"]
    for event in found:
        for one in event.get("instructions") or ():
            if one["how"] == "unread":
                one["address"] = None
        if event.get("instructions"):
            event["instructions"].sort(key=lambda one: json.dumps(one, sort_keys=True))
    return found


def compare(path: str, store: str, files: list[str]) -> None:
    """Print whether a store and its only recording have the same types."""
    said, _cpu = run("fleet", "ingest", store, "--workers", "0", "--no-cache", *files, path)
    print(Path(path).name, said.splitlines()[-1])
    for options in ([], ["--skid"], ["--skid", "--code"]):
        one = events(run("types", "--json", *options, *files, path)[0])
        many = events(run("fleet", "types", "--json", *options, store)[0])
        print(f"  types {' '.join(options)}: {'equal' if one == many else 'different'}", end="")
        print(f", {sum(row['typed'] for row in one) / max(sum(row['weight'] for row in one), 1):.1%} typed")
    asked = ["report", "-g", "none", "--json", "-s", "type,typeoff,sym", "--skid"]
    one = events(run(*asked, *files, path)[0])
    many = events(run("fleet", *asked, store)[0])
    print(f"  report by type: {'equal' if one == many else 'different'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", nargs="+", metavar="RECORDING")
    parser.add_argument("--vmlinux")
    options = parser.parse_args()
    files = ["--vmlinux", options.vmlinux] if options.vmlinux else []
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(options.recordings):
            compare(path, f"{folder}/{number}", files)
        size = sum(os.stat(path).st_size for path in options.recordings) / 1e6
        for what, program in (("names", ["-c", WITHOUT]), ("names and types", None)):
            best = float("inf")
            for _run in range(3):
                shutil.rmtree(f"{folder}/all", ignore_errors=True)
                asked = ["fleet", "ingest", f"{folder}/all", "--workers", "0", "--no-cache", *files]
                said, cpu = run(*asked, *options.recordings, program=program)
                best = min(best, cpu)
            print(f"{what}: {size:.0f} MB, {best:.2f} s of CPU, {size / best:.1f} MB/s; {said.splitlines()[-1]}")


if __name__ == "__main__":
    main()
