"""What `undwarf agent` costs, and what it loses when things go wrong.

    python bench/agent_cost.py cost --seconds 180        CPU time (user, system, and the kernel's own work for a sample)
                                                         and memory: alone, beside two busy programs, two compilers,
                                                         programs that start as fast as they can
    python bench/agent_cost.py forks --seconds 600       programs that start and end as fast as they can: does it grow?
    python bench/agent_cost.py kills --times 50          killed at random moments: damaged or lost recordings
    python bench/agent_cost.py away --seconds 60         the store is away, then back
    python bench/agent_cost.py full                      the disk of the spool is full, then has space (needs root)

Each prints figures, and fails if a limit of ``LIMITS`` is passed or something was lost.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import undwarf
from undwarf.live import perf_event as pe
from undwarf.live.sampling.event_buffers import OpenEvents, Target
from undwarf.perfdata import SampleField

LIMITS = {"cpu_percent": 0.5, "resident_mb": 80.0}
BUSY = """
volatile unsigned long sink;
__attribute__((noinline)) static void leaf(int n) { for (int i = 0; i < n; i++) sink += i * i; }
__attribute__((noinline)) static void middle(int n, int depth) {
    if (depth) middle(n, depth - 1); else leaf(n);
    sink++;
}
int main(void) { for (;;) middle(100000, 20); }
"""
TICKS = os.sysconf("SC_CLK_TCK")


def busy_program(folder: Path) -> Path:
    """A program that computes for ever."""
    (folder / "busy.c").write_text(BUSY)
    subprocess.run(["gcc", "-O1", "-o", folder / "busy", folder / "busy.c"], check=True)
    return folder / "busy"


@contextmanager
def running(*commands: list[str]) -> Iterator[None]:
    """These programs, until the end."""
    processes = [subprocess.Popen(["nice", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  start_new_session=True) for command in commands]  # fmt: skip
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Agent:
    """A running agent, with its spool and store in ``folder``."""

    def __init__(self, folder: Path, seconds: int, spool: Path | None = None, store: Path | None = None) -> None:
        self.spool, self.store = spool or folder / "spool", store or folder / "store"
        self.log = folder / "log"
        (folder / "agent.toml").write_text(
            f'store = "{self.store}"\n[spool]\nfolder = "{self.spool}"\n[sampling]\nseconds = {seconds}\n'
            "[budget]\npercent = 100\n"
        )
        self._command = [sys.executable, "-m", "undwarf", "agent", "--config", str(folder / "agent.toml")]
        self.start()

    def start(self) -> None:
        """Start it (again)."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self._command, stderr=log)

    def end(self) -> None:
        """End it as a service manager does."""
        self.process.terminate()
        try:
            assert self.process.wait(60) == 0, self.log.read_text()
        finally:
            self.process.kill()

    def cpu(self) -> float:
        """CPU seconds of it and its children so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15])) / TICKS

    def times(self) -> tuple[float, float]:
        """(user, system) CPU seconds of it and its children so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        user, system, children_user, children_system = (int(field) / TICKS for field in fields[11:15])
        return user + children_user, system + children_system

    def memory(self) -> tuple[float, float]:
        """(resident now, at most so far) in MB."""
        found = memory_of(self.process.pid)
        return found["anon"] + found["file"], found["most"]


def memory_of(pid: int) -> dict[str, float]:
    """Resident memory of a process in MB: its own (``anon``), pages of files, which it shares with the page cache
    (``file``), and the sum of both at most so far (``most``)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.endswith("kB")}
    return {"anon": found["RssAnon"], "file": found["RssFile"], "most": found["VmHWM"]}


def recordings(*folders: Path) -> list[Path]:
    """The recordings with a description, by their sequence numbers."""
    found = {path.stem: path for folder in folders for path in folder.rglob("*.json") if path.name[0] != "."}
    return [found[name].with_suffix(".data") for name in sorted(found, key=lambda name: name.rpartition("-")[2])]


def examine(path: Path) -> tuple[int, float]:
    """(samples, share of whole user stacks) of a recording, which has to be whole and as described."""
    about = json.loads(path.with_suffix(".json").read_text())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == about["sha256"], f"{path} is damaged"
    with undwarf.open(path) as recording:
        profile = recording.profile()
        # Other programs may be built anew, or still write their jitdump.
        others = ("build-id mismatch", "jitdump", "file replaced")
        damage = [str(one) for one in recording.defects if not any(other in str(one) for other in others)]
        assert not damage, f"{path}: {damage}"
        assert about["samples"] in (len(profile.samples), None) or about["truncated"], path
        whole = sum(sample.stop.name in ("ROOT", "KERNEL") for sample in profile.samples)
        return len(profile.samples), whole / max(1, len(profile.samples))


COMPILED = """
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>
int main(int n, char **a) {
    std::map<std::string, std::vector<int>> found;
    for (int i = 0; i < n; i++) found[a[i]].push_back(i);
    for (auto &one : found) { std::sort(one.second.begin(), one.second.end()); std::cout << one.first; }
}
"""
STORM = "while :; do /bin/true; /bin/ls / >/dev/null; (:); done"
DUMP_BYTES = 32 << 10


def loads(folder: Path) -> dict[str, list[list[str]]]:
    """By name: the commands that run meanwhile."""
    busy = str(busy_program(folder))
    (folder / "compiled.cc").write_text(COMPILED)
    both = 'g++ -O2 -o "$0" compiled.cc; gcc -O1 -o "$0.c" busy.c; "$0" a b >/dev/null'
    compile_ = f"cd {folder}; while :; do {both}; done"
    return {
        "quiet": [],
        "busy": [[busy], [busy]],
        "compile": [["sh", "-c", compile_, f"{folder}/one"], ["sh", "-c", compile_, f"{folder}/two"]],
        "storm": [["sh", "-c", STORM], ["bash", "-c", STORM]],
    }


def processes_started() -> int:
    """Since the machine started."""
    return int(Path("/proc/stat").read_text().split("processes ")[1].split()[0])


def costs(folder: Path, seconds: int) -> bool:
    """The cost beside four kinds of work, user and system time apart, and what the kernel itself needs for a sample."""
    good = True
    own = kernel_cost(folder)
    share = 100 * own * 19 * len(os.sched_getaffinity(0))
    print(f"the kernel's own work: {own * 1e6:.1f} us a sample, {share:.3f} % of one CPU at 19 Hz", flush=True)
    for name, commands in loads(folder).items():
        place = folder / f"beside-{name}"
        place.mkdir()
        with running(*commands):
            agent = Agent(place, 60)
            time.sleep(70)
            before, began, first = agent.times(), time.monotonic(), processes_started()
            time.sleep(seconds)
            elapsed = time.monotonic() - began
            user, system = (100 * (now - then) / elapsed for now, then in zip(agent.times(), before, strict=True))
            memory = memory_of(agent.process.pid)
            rate = (processes_started() - first) / elapsed
            agent.end()
        lost = sum(json.loads(path.with_suffix(".json").read_text())["lost"] for path in recordings(agent.store))
        samples, whole = zip(*map(examine, recordings(agent.store)), strict=True)
        print(f"{name:8} user {user:.3f} system {system:.3f} sum {user + system:.3f} % of one CPU; resident "
              f"{memory['anon']:.1f} own + {memory['file']:.1f} files, at most {memory['most']:.1f} MB; {rate:.0f} "
              f"programs/s, {sum(samples)} samples, {lost} lost, whole {100 * min(whole):.1f} % at least, load "
              f"{os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
        good &= user + system <= LIMITS["cpu_percent"] and memory["most"] <= LIMITS["resident_mb"]
    return good


def kernel_cost(folder: Path) -> float:
    """Seconds of the kernel for a sample as the agent takes it (registers and 32 KB of stack into a ring buffer): by
    how much slower a loop is that is sampled a thousand times a second."""
    program = folder / "loop"
    (folder / "loop.c").write_text(BUSY.replace("for (;;) middle", "for (int i = 0; i < 3000; i++) middle"))
    subprocess.run(["gcc", "-O1", "-o", program, folder / "loop.c"], check=True)
    hertz, ratios = 999, []
    for _ in range(5):
        times = []
        for sampled in (False, True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            process = subprocess.Popen([program])
            sampler = opened(process.pid, hertz) if sampled else None
            process.wait()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            if sampler is not None:
                sampler.close()
        ratios.append((times[1] - times[0]) / (hertz * times[1]))
    return sorted(ratios)[len(ratios) // 2]


def opened(pid: int, hertz: int) -> OpenEvents:
    """A running sampling event of the agent's kind on a process."""
    flags = pe.FREQ | pe.EXCLUDE_CALLCHAIN_USER | pe.USE_CLOCKID
    fields = SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.CPU | SampleField.PERIOD
    fields |= SampleField.CALLCHAIN | SampleField.REGS_USER | SampleField.STACK_USER
    event = replace(pe.parse_event("cpu-clock"), sample_type=int(fields), sample_period=hertz, freq=True, flags=flags,
                    sample_regs_user=0xFF0FFF, sample_stack_user=DUMP_BYTES, clockid=1)  # fmt: skip
    # A ring that nobody reads would be full soon; the kernel still copies each dump until then.
    events = OpenEvents([event], 0, Target([pid], False, False, "a loop"), 64 << 20, 0, 1 << 20)
    events.enable(0)
    return events


def forks(folder: Path, seconds: int) -> bool:
    """Forks and exits."""
    with running(["sh", "-c", STORM], ["bash", "-c", STORM]):
        agent = Agent(folder, 60)
        began, seen = time.monotonic(), []
        first = processes_started()
        while time.monotonic() - began < seconds:
            time.sleep(min(30, seconds / 4))
            seen.append(agent.memory()[0])
            started = processes_started() - first
            elapsed = time.monotonic() - began
            print(f"{elapsed:5.0f} s {started:8} processes, resident {seen[-1]:.1f} MB, at most "
                  f"{agent.memory()[1]:.1f} MB, cpu {100 * agent.cpu() / elapsed:.2f} %", flush=True)  # fmt: skip
        most = agent.memory()[1]
        agent.end()
    third = len(seen) // 3
    early, late = sum(seen[third : 2 * third]) / third, sum(seen[-third:]) / third
    print(f"resident {early:.1f} MB in the second third, {late:.1f} MB in the last one; at most {most:.1f} MB")
    print(agent.log.read_text())
    for path in recordings(agent.store)[-3:]:
        print(path.name, path.stat().st_size, *examine(path))
    return late < 1.05 * early and most <= LIMITS["resident_mb"]


def kills(folder: Path, times: int) -> bool:
    """SIGKILL at random moments; the clock of each recording is short, so that many are being finished."""
    finished: set[str] = set()
    lost: set[str] = set()
    kept = 0
    busy = str(busy_program(folder))
    with running([busy]):
        agent = Agent(folder, 1)
        for number in range(times):
            time.sleep(random.uniform(0.3, 4.0))
            agent.process.kill()
            agent.process.wait()
            now = {path.stem for path in recordings(agent.spool, agent.store)}
            lost |= finished - now
            finished |= now
            agent.start()
            print(f"\r{number + 1} kills, {len(finished)} recordings", end="", flush=True)
        time.sleep(4)
        agent.end()
    now = {path.stem for path in recordings(agent.spool, agent.store)}
    lost |= finished - now
    samples = [examine(path)[0] for path in recordings(agent.spool, agent.store)]
    kept = agent.log.read_text().count("whose agent was killed")
    left = [
        path.name for place in (agent.spool, agent.store) for path in place.rglob("*") if path.name.endswith(".part")
    ]
    print(f"\n{len(now)} recordings, all whole, {sum(samples)} samples; lost {len(lost)}; {kept} unfinished ones kept; "
          f"drafts left: {left}")  # fmt: skip
    return not lost and len({name.rpartition("-")[2] for name in now}) == len(now)


def away(folder: Path, seconds: int) -> bool:
    """The store cannot be written to for some time: its folder is a file meanwhile."""
    store = folder / "store"
    busy = str(busy_program(folder))
    with running([busy]):
        agent = Agent(folder, 2)
        time.sleep(6)
        store.rename(folder / "aside")
        store.write_text("not a folder")
        time.sleep(seconds)
        waiting = len(recordings(agent.spool))
        store.unlink()
        (folder / "aside").rename(store)
        deadline = time.monotonic() + 400
        while len(recordings(agent.spool)) > 1 and time.monotonic() < deadline:
            time.sleep(1)
        back = time.monotonic() - deadline + 400
        agent.end()
    numbers = [int(path.stem.rpartition("-")[2]) for path in recordings(store, agent.spool)]
    samples = [examine(path)[0] for path in recordings(store, agent.spool)]
    print(agent.log.read_text())
    print(f"{waiting} recordings waited; all shipped {back:.0f} s after the store was back; "
          f"numbers {numbers[0]} to {numbers[-1]}, {len(numbers)} recordings, {sum(samples)} samples")  # fmt: skip
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def full(folder: Path, _seconds: int) -> bool:
    """A spool on a disk of 8 MB, which something else fills and then leaves; the store is away all the time."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=True)
    try:
        (folder / "store").write_text("away")
        busy = str(busy_program(folder))
        with running([busy], ["sh", "-c", "while :; do /bin/true; done"]):
            agent = Agent(folder, 2, spool=disk / "spool")
            time.sleep(9)
            before = {path.stem for path in recordings(agent.spool)}
            filler = disk / "filler"
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            time.sleep(9)
            during = {path.stem for path in recordings(agent.spool)}
            filler.unlink()
            time.sleep(9)
            agent.end()
        after = {path.stem for path in recordings(agent.spool)}
        samples = [examine(path)[0] for path in recordings(agent.spool)]
        print(agent.log.read_text())
        print(f"before {len(before)}, while full {len(during)}, after {len(after)} recordings; {sum(samples)} samples")
        return before <= during <= after and len(after) > len(during)
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


def main() -> int:
    """Run one of them; 0 if all is as it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cost", "forks", "kills", "away", "full"])
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--times", type=int, default=50)
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    folder = Path(tempfile.mkdtemp(prefix="agent-cost-"))
    try:
        number = chosen.times if chosen.what == "kills" else chosen.seconds
        good = {"cost": costs, "forks": forks, "kills": kills, "away": away, "full": full}[chosen.what](folder, number)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("as it should be" if good else "NOT as it should be")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
