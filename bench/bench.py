"""Time and memory of undwarf beside samply's and perf's, on the same recording, in one run.

    bench.py [--file RECORDING] [--perf PERF] [--samply SAMPLY] [--rounds 3] [--json OUT]
    bench.py --types RECORDING... [--perf PERF] [--rounds 3] [--json OUT]

Without --file a busy machine is recorded first (see workload.py), for --seconds. Tools take turns, so that a noisy
neighbour hits all of them; figures are medians of the rounds. docs/benchmarks.md says how to read them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKLOADS = HERE.parent / "tests" / "workloads"
GROWTH = (0.125, 0.25, 0.5, 1.0)


@dataclass
class Run:
    """One run of one command: seconds of wall time and of CPU (user and system, children included), peak MB."""

    wall: float
    cpu: float
    peak: float
    error: str = ""


@dataclass
class Figures:
    """All runs of one command."""

    name: str
    runs: list[Run] = field(default_factory=list)

    def median(self, what: str) -> float:
        return float(statistics.median(getattr(run, what) for run in self.runs))

    @property
    def error(self) -> str:
        return next((run.error for run in self.runs if run.error), "")


def measure(command: list[str]) -> Run:
    """Run a command to its end with its output thrown away.

    ru_maxrss of a child starts at what its parent had, so this program must stay small itself.
    """
    with tempfile.TemporaryFile() as talk:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=talk)
        _pid, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        talk.seek(0)
        lines = talk.read(65536).decode(errors="replace").strip().splitlines()
    error = f"exit {process.returncode}: {lines[-1] if lines else ''}" if process.returncode else ""
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, error)


class Tools:
    """The commands to compare; a tool that is not there is left out."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.undwarf = [str(Path(sys.executable).parent / "undwarf")]
        if not Path(self.undwarf[0]).exists():
            self.undwarf = [sys.executable, "-m", "undwarf"]
        self.samply = shutil.which(options.samply)
        self.perf = shutil.which(options.perf)

    def ours(self, command: str, file: Path) -> tuple[str, list[str]]:
        """A first run: nothing is kept of earlier ones."""
        return f"undwarf {command}", [*self.undwarf, command, "--no-cache", str(file)]

    def again(self, command: str, file: Path) -> tuple[str, list[str]]:
        """A run after one on the same file, which kept rows of unwind tables."""
        return f"undwarf {command}, again", [*self.undwarf, command, str(file)]

    def peers(self, file: Path) -> Iterator[tuple[str, list[str]]]:
        if self.samply:
            # --save-only converts and goes; it unwinds and writes the profile, and names nothing
            command = [self.samply, "import", str(file), "--save-only", "--no-open", "-o", "/dev/null"]
            yield "samply import", command
        if self.perf:
            yield "perf script", [self.perf, "script", "--no-inline", "-i", str(file)]

    def versions(self) -> dict[str, str]:
        found = {}
        for name, path in (("samply", self.samply), ("perf", self.perf), ("undwarf", self.undwarf[0])):
            if path:
                done = subprocess.run([path, "--version"], capture_output=True, text=True)
                found[name] = done.stdout.strip()
        return found


def warm(file: Path) -> None:
    """Bring the file into the page cache."""
    with open(file, "rb", buffering=0) as stream:
        buffer = bytearray(1 << 20)
        while stream.readinto(buffer):
            pass


def compare(commands: list[tuple[str, list[str]]], rounds: int, slow_rounds: int) -> list[Figures]:
    """Run the commands in turn, `rounds` times; perf only `slow_rounds` times."""
    all_figures = [Figures(name) for name, _command in commands]
    for number in range(rounds):
        for figures, (name, command) in zip(all_figures, commands, strict=True):
            if figures.error or (name == "perf script" and number >= slow_rounds):
                continue
            note(f"round {number + 1}: {name}")
            figures.runs.append(measure(command))
    return all_figures


def show(title: str, all_figures: list[Figures], samples: int | None = None) -> None:
    first = all_figures[0]
    print(f"\n{title}")
    print(f"{'':22}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'us/sample':>11}   ours/theirs: wall, CPU")
    for figures in all_figures:
        if figures.error:
            print(f"{figures.name:22}{figures.error}")
            continue
        wall, cpu, peak = (figures.median(what) for what in ("wall", "cpu", "peak"))
        each = f"{cpu * 1e6 / samples:11.2f}" if samples else f"{'':11}"
        ratio = ""
        if not (figures.name.startswith("undwarf") or first.error):
            ratio = f"   {first.median('wall') / wall:.2f}x, {first.median('cpu') / cpu:.2f}x"
            again = next((one for one in all_figures if one.name == f"{first.name}, again" and not one.error), None)
            if again is not None:
                ratio += f"; again {again.median('wall') / wall:.2f}x, {again.median('cpu') / cpu:.2f}x"
        print(f"{figures.name:22}{wall:9.2f}{cpu:9.2f}{peak:9.0f}{each}{ratio}")


def note(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def record(perf: str | None, target: Path, options: list[str], command: list[str]) -> str:
    """Make a recording; the reason why not, or nothing."""
    if not perf:
        return "perf is not installed"
    environment = dict(os.environ, WORKLOAD_PATH=os.environ["PATH"])
    line = [perf, "record", "-q", "--call-graph", "dwarf", "-o", str(target), *options, "--", *command]
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    if not target.exists() or target.stat().st_size < 4096:
        return (done.stderr.strip().splitlines() or ["perf record failed"])[-1]
    return ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="take this recording (perf.data) instead of making one")
    parser.add_argument("--seconds", type=float, default=20, help="length of the recording (default 20)")
    parser.add_argument("--frequency", type=int, default=1997, help="its sampling frequency (default 1997 Hz)")
    parser.add_argument("--perf", default=os.environ.get("UNDWARF_BENCH_PERF", "perf"))
    parser.add_argument("--samply", default=os.environ.get("UNDWARF_BENCH_SAMPLY", "samply"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--perf-rounds", type=int, default=1, help="of the rounds, how many run perf (default 1)")
    parser.add_argument("--no-growth", action="store_true", help="leave out the growth from 1x to 8x")
    parser.add_argument("--no-small", action="store_true", help="leave out the start-up and forks recordings")
    parser.add_argument("--directory", type=Path, help="keep the recordings here (default: a temporary directory)")
    parser.add_argument("--json", type=Path, help="also write all figures here")
    parser.add_argument(
        "--types", type=Path, nargs="+", metavar="FILE", help="instead: data types of recordings, beside perf's"
    )
    options = parser.parse_args(arguments)
    if options.types:
        return data_types(options)
    with contextlib.ExitStack() as stack:
        directory = options.directory or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="undwarf-bench-")))
        directory.mkdir(parents=True, exist_ok=True)
        return run(options, directory)


def run(options: argparse.Namespace, directory: Path) -> int:
    tools = Tools(options)
    report: dict[str, object] = {"machine": platform.platform(), "cpus": os.cpu_count(), "tools": tools.versions()}
    print(f"{platform.platform()}, {os.cpu_count()} CPUs; {tools.versions()}")
    load, cpus = os.getloadavg()[0], os.cpu_count() or 1
    report["load"] = load
    if load > cpus / 2:
        print(f"the machine is busy (load {load:.1f}): wall times are those of a share of it, CPU times go up")
    file = options.file
    if file is None:
        file = directory / "machine.data"
        print(f"recording for {options.seconds:.0f} s or a little longer ...", flush=True)
        scope = ["-a"] if os.geteuid() == 0 else []
        workload = [sys.executable, str(HERE / "workload.py"), str(options.seconds), str(directory / "programs")]
        problem = record(tools.perf, file, [*scope, "-F", str(options.frequency), "-m", "8192"], workload)
        if problem:
            print(f"no recording: {problem}\ntake one made elsewhere: bench.py --file perf.data", file=sys.stderr)
            return 1
    warm(file)
    slices = growth_files(file, directory, options)
    samples = slices[-1][1] if slices else None
    size = file.stat().st_size
    os.environ["UNDWARF_CACHE_DIR"] = str(directory / "cache")
    again = tools.again("fold", file)
    measure(again[1])
    commands = [tools.ours("fold", file), again, tools.ours("report", file), *tools.peers(file)]
    figures = compare(commands, options.rounds, options.perf_rounds)
    note("")
    show(f"whole file: {size / 1e6:.0f} MB, {samples or '?'} samples", figures, samples)
    report["whole"] = {"bytes": size, "samples": samples, "figures": [asdict(item) for item in figures]}
    if len(slices) > 1:
        report["growth"] = growth(tools, slices)
    if not options.no_small:
        report["small"] = small(tools, directory, options)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if figures[0].error else 0


def growth_files(file: Path, directory: Path, options: argparse.Namespace) -> list[tuple[Path, int]]:
    """The recording's slices with the number of samples in each; made by another process, to stay small."""
    shares = (1.0,) if options.no_growth else GROWTH
    targets = [Path(os.devnull) if share == 1.0 else directory / f"slice-{share}.data" for share in shares]
    pairs = [text for share, target in zip(shares, targets, strict=True) for text in (str(share), str(target))]
    done = subprocess.run([sys.executable, str(HERE / "slicing.py"), str(file), *pairs], capture_output=True, text=True)
    if done.returncode:
        print(f"no growth: {(done.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return []
    counts = [int(line) for line in done.stdout.split()]
    targets[-1] = file
    return list(zip(targets, counts, strict=True))


def growth(tools: Tools, slices: list[tuple[Path, int]]) -> list[dict[str, float]]:
    print(f"\ngrowth, undwarf fold\n{'samples':>12}{'wall s':>9}{'CPU s':>9}{'us/sample':>11}{'peak MB':>9}")
    rows = []
    for path, samples in slices:
        warm(path)
        runs = [measure(tools.ours("fold", path)[1]) for _ in range(2)]
        best = min(runs, key=lambda run: run.cpu)
        each = best.cpu * 1e6 / samples
        print(f"{samples:12}{best.wall:9.2f}{best.cpu:9.2f}{each:11.2f}{best.peak:9.0f}  {best.error}")
        rows.append({"samples": samples, **asdict(best)})
    return rows


def small(tools: Tools, directory: Path, options: argparse.Namespace) -> dict[str, object]:
    """Start-up on a small recording, and a recording that is mostly forks and mappings."""
    result: dict[str, object] = {}
    cases = (
        ("start-up", "report", "library.cpp", ["g++", "-O2", "-g"], ["-F", "999"], ["900"]),
        ("forks", "fold", "forks.c", ["gcc", "-O2", "-g"], ["-F", "1999"], ["0", "1500"]),
    )
    for name, command, source, compiler, record_options, program_options in cases:
        program, file = directory / name, directory / f"{name}.data"
        if not shutil.which(compiler[0]):
            print(f"\n{name}: {compiler[0]} is not installed")
            continue
        subprocess.run([*compiler, str(WORKLOADS / source), "-o", str(program)], check=True)
        problem = record(tools.perf, file, record_options, [str(program), *program_options])
        if problem:
            print(f"\n{name}: no recording: {problem}")
            continue
        figures = compare([tools.ours(command, file), *tools.peers(file)], options.rounds, options.rounds)
        note("")
        show(f"{name}: {file.stat().st_size / 1e6:.0f} MB", figures)
        result[name] = [asdict(item) for item in figures]
    return result


def data_types(options: argparse.Namespace) -> int:
    """`undwarf types` beside perf's data-type profiles; with every sample eight times; and after an earlier run."""
    tools = Tools(options)
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}; {tools.versions()}")
    print(
        f"{'':20}{'hot':>6}{'typed':>7} | ours: {'wall':>5}{'CPU':>6}{'8x CPU':>8} | again: {'wall':>5}{'CPU':>6}",
        end="",
    )
    print(
        f" | report: {'wall':>6}{'CPU':>6} | annotate: {'wall':>6}{'CPU':>6} | report/ours: wall, CPU; again wall, CPU"
    )
    rows = []

    def perf(command: str, file: Path) -> list[str]:
        # A perf that is not installed where it was built for may find an objdump that does not start; it goes on.
        return [str(tools.perf), command, "-i", str(file), "--stdio", "--objdump", str(shutil.which("objdump"))]

    for file in options.types:
        typed = subprocess.run([*perf("report", file), "-s", "type"], capture_output=True, text=True)
        if "Error running" in typed.stderr:
            note("")
            print(f"{file.name}: perf cannot disassemble: {typed.stderr.strip().splitlines()[-1]}")
            continue
        told = subprocess.run(
            [*tools.undwarf, "types", "--json", "--code", str(file)], capture_output=True, text=True, check=True
        )
        instructions = [one for event in json.loads(told.stdout)["events"] for one in event["instructions"]]
        with tempfile.TemporaryDirectory(prefix="undwarf-bench-") as directory:
            longer = Path(directory) / "longer.data"
            repeat_samples(file, longer, 8)
            commands = [
                tools.ours("types", file),
                ("8x", tools.ours("types", longer)[1]),
                tools.again("types", file),
                ("report", [*perf("report", file), "-s", "type,typeoff"]),
                ("annotate", [*perf("annotate", file), "--data-type"]),
            ]
            ours, often, again, report, annotate = figures = compare(commands, options.rounds, options.rounds)
        note("")
        wrong = [f"{one.name}: {one.error}" for one in figures if one.error]
        if wrong:
            print(f"{file.name:20}{wrong[0]}")
            continue
        print(
            f"{file.stem:20}{len(instructions):6}{sum(one['type'] is not None for one in instructions):7} |"
            f"{ours.median('wall'):12.2f}{ours.median('cpu'):6.2f}{often.median('cpu'):8.2f} |"
            f"{again.median('wall'):13.2f}{again.median('cpu'):6.2f} |"
            f"{report.median('wall'):15.2f}{report.median('cpu'):6.2f} |"
            f"{annotate.median('wall'):17.2f}{annotate.median('cpu'):6.2f} |"
            f" {ratio(report, ours, 'wall')}, {ratio(report, ours, 'cpu')};"
            f" {ratio(report, again, 'wall')}, {ratio(report, again, 'cpu')}",
            flush=True,
        )
        rows.append({"file": file.name, "figures": [asdict(one) for one in figures]})
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if len(rows) == len(options.types) else 1


def ratio(theirs: Figures, ours: Figures, what: str) -> str:
    """How many times as much theirs took."""
    return f"{theirs.median(what) / ours.median(what):.1f}x"


def repeat_samples(file: Path, target: Path, times: int) -> None:
    """A copy of a recording with each of its samples so many times; for little-endian files that are not compressed.

    Source: perf.data-file-format.txt in the kernel's tools/perf/Documentation.
    """
    data = file.read_bytes()
    header = bytearray(data[: struct.unpack_from("<Q", data, 8)[0]])
    start, size = struct.unpack_from("<QQ", header, 40)
    made = bytearray()
    at = start
    while at < start + size:
        kind, _misc, length = struct.unpack_from("<IHH", data, at)
        made += data[at : at + length] * (times if kind == 9 else 1)
        at += length
    struct.pack_into("<Q", header, 48, len(made))
    sections = sum(bin(byte).count("1") for byte in header[72:104])
    table = bytearray(data[start + size : start + size + 16 * sections])
    for k in range(sections):
        place = struct.unpack_from("<Q", table, 16 * k)[0]
        struct.pack_into("<Q", table, 16 * k, place + len(made) - size)
    behind = data[start + size + len(table) :]
    target.write_bytes(header + data[len(header) : start] + made + table + behind)


if __name__ == "__main__":
    sys.exit(main())
