"""How long `undwarf browse` takes on a terminal of 80x24: to its first picture, and to the call tree.

    python bench/browse_start.py FILE... [--rounds 5] [--symfs DIR]

Prints the shortest and the median of all rounds: wall time from the start of the process, and the CPU time until it has
ended by its key, which other work on the machine changes less.
"""

import argparse
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import termios
import time
from typing import NamedTuple

LONGEST = 120.0
"""Seconds to wait for a picture."""
FIRST, TREE = b"all keys", b"%"
"""What is shown in the first picture, and only once there are rows."""


class Times(NamedTuple):
    """Seconds to the first picture and to the call tree, and CPU seconds until it had ended."""

    first: float
    tree: float
    cpu: float


def start(path: str, options: list[str]) -> Times:
    """Start it, and end it with its key once the tree is there. Raises RuntimeError if that takes too long."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    begun = time.perf_counter()
    command = [sys.executable, "-m", "undwarf", "browse", *options, path]
    environment = os.environ | {"TERM": "xterm-256color"}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    shown, first, tree = b"", 0.0, 0.0
    try:
        while not tree:
            if not select.select([ours], [], [], LONGEST)[0]:
                raise RuntimeError(f"{path}: nothing to see after {LONGEST:.0f} s")
            try:
                shown += os.read(ours, 1 << 16)
            except OSError as error:
                raise RuntimeError(f"{path}: it ended: {shown[-200:]!r}") from error
            now = time.perf_counter() - begun
            first = first or (now if FIRST in shown or TREE in shown else 0.0)
            # Progress in per cent has a blank before its mark.
            tree = now if TREE in shown.replace(b" %", b"") else 0.0
        os.write(ours, b"q")
        while select.select([ours], [], [], LONGEST)[0]:
            try:
                os.read(ours, 1 << 16)
            except OSError:
                break
    finally:
        os.close(ours)
        if not tree:
            process.kill()
        _pid, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Times(first, tree, used.ru_utime + used.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--symfs", default="")
    options = parser.parse_args()
    print(f"{'':30} {'first picture':>18} {'call tree':>18} {'CPU':>18}   (shortest, median in s)")
    for path in options.files:
        times = [start(path, ["--symfs", options.symfs] if options.symfs else []) for _round in range(options.rounds)]
        columns = [f"{min(values):8.3f} {statistics.median(values):8.3f}" for values in zip(*times, strict=True)]
        print(f"{os.path.basename(path):30} {columns[0]:>18} {columns[1]:>18} {columns[2]:>18}")


if __name__ == "__main__":
    main()
