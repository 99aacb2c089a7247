"""An hour of `undwarf agent` on a machine where programs start and end all the time: does it grow, is a minute missing?

    python bench/agent_endurance.py --minutes 60 --rate 40 --save endurance.csv

Programs start ``--rate`` times a second, of several hundred different files; the agent's memory and CPU time are looked
at every 10 seconds. At the end all minutes are read again: each must be as its description says (digest, number of
samples), none may be missing, and the time between the end of one and the start of the next is reported. ``--beside``
runs nothing, for a machine that has work of its own. Fails if memory passes 80 MB or grows.

The largest process id (``kernel.pid_max``) is printed too. Where pids are reused during the run, the state of exited
processes is overwritten and cannot grow: ``sysctl kernel.pid_max=4194304``, which systemd sets, is the harder case.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from pathlib import Path

from agent_cost import LIMITS, Agent, examine, memory_of, recordings

LOOK_S = 10.0
PROGRAMS = 300
"""Different files of programs that start."""
LONGEST_GAP_S = 1.5
"""Between two minutes, in which samples of the second one may come before its file is open."""
SOURCE = """
#include <stdlib.h>
volatile unsigned long sink;
__attribute__((noinline)) static void work_%d(int n) { for (int i = 0; i < n; i++) sink += i; }
int main(int n, char **a) { work_%d(atoi(a[1])); return 0; }
"""


def programs(folder: Path, count: int) -> list[str]:
    """Small programs, each with a build-id of its own."""
    found = []
    for number in range(count):
        source, program = folder / f"p{number}.c", folder / f"program{number}"
        source.write_text(SOURCE % (number, number))
        subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
        found.append(str(program))
    return found


class Starter(threading.Thread):
    """Starts programs, ``rate`` a second, until it is stopped."""

    def __init__(self, files: list[str], rate: float) -> None:
        super().__init__(daemon=True)
        self.files, self.rate = files, rate
        self.started = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.wait(1 / self.rate):
            subprocess.run([random.choice(self.files), str(random.randrange(4_000_000))], check=False)
            self.started += 1


def watch(agent: Agent, seconds: float, starter: Starter | None, save: Path | None) -> list[dict[str, float]]:
    """Look at the agent every 10 seconds."""
    began, seen = time.monotonic(), []
    before = agent.cpu()
    while time.monotonic() - began < seconds:
        time.sleep(LOOK_S)
        elapsed = time.monotonic() - began
        row = {"seconds": round(elapsed, 1), **memory_of(agent.process.pid),
               "cpu_percent": round(100 * (agent.cpu() - before) / elapsed, 3),
               "load": os.getloadavg()[0], "started": starter.started if starter else 0}  # fmt: skip
        seen.append(row)
        if save is not None:
            header = "" if len(seen) > 1 else ",".join(row) + "\n"
            with save.open("a" if len(seen) > 1 else "w") as file:
                file.write(header + ",".join(map(str, row.values())) + "\n")
        if len(seen) % 30 == 0:
            print(row, flush=True)
    return seen


def read_again(store: Path, spool: Path) -> tuple[int, float]:
    """(samples, longest gap in seconds) of all minutes, which have to be whole and complete."""
    found = recordings(store, spool)
    numbers = [int(path.stem.rpartition("-")[2]) for path in found]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), f"minutes are missing: {numbers}"
    total, lost, ends, gap = 0, 0, 0.0, 0.0
    for path in found:
        about = json.loads(path.with_suffix(".json").read_text())
        start, end = (datetime.fromisoformat(about[key]).timestamp() for key in ("start", "end"))
        gap = max(gap, start - ends) if ends else gap
        ends = end
        lost += about["lost"]
        total += examine(path)[0]
    size = sum(path.stat().st_size for path in found) / total
    print(f"{len(found)} minutes, {total} samples, all as described; {lost} records lost to full buffers")
    print(f"longest gap {gap:.2f} s; {size:.1f} bytes a sample")
    return total, gap


def main() -> int:
    """0 if all is as it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=40, help="programs started each second")
    parser.add_argument("--seconds", type=int, default=60, help="of a recording")
    parser.add_argument("--beside", action="store_true", help="start no programs")
    parser.add_argument("--save", type=Path, help="a CSV file of what was seen")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="agent-endurance-"))
    starter = None
    try:
        if not chosen.beside:
            (folder / "programs").mkdir()
            starter = Starter(programs(folder / "programs", PROGRAMS), chosen.rate)
            starter.start()
        agent = Agent(folder, chosen.seconds)
        try:
            time.sleep(2 * LOOK_S)
            seen = watch(agent, 60 * chosen.minutes, starter, chosen.save)
        finally:
            if starter is not None:
                starter.stopping.set()
            agent.end()
        print(agent.log.read_text())
        _samples, gap = read_again(agent.store, agent.spool)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    resident = [row["anon"] + row["file"] for row in seen]
    third = max(1, len(resident) // 3)
    early, late = statistics.mean(resident[third : 2 * third]), statistics.mean(resident[-third:])
    most = max(row["most"] for row in seen)
    print(f"resident {early:.1f} MB in the second third, {late:.1f} MB in the last one; at most {most:.1f} MB; "
          f"{seen[-1]['cpu_percent']:.3f} % of one CPU; {seen[-1]['started']} programs, ids up to "
          f"{int(Path('/proc/sys/kernel/pid_max').read_text()):,}")  # fmt: skip
    good = late < 1.05 * early and most <= LIMITS["resident_mb"] and gap <= LONGEST_GAP_S
    print("as it should be" if good else "NOT as it should be")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
