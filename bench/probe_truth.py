"""Compares stacks under return probes with the truth, which each recorded stack dump holds.

Usage: python bench/probe_truth.py [--out FOLDER] [--rounds N] [--flags "-O2"] [--sets leaf,all] [--perf PERF] [--again]

Builds `bench/probes/` (a program and two libraries, which keep a shadow stack of the functions that were entered in an
array on the stack of `main`), sets return probes with `perf probe`, and records `cpu-clock` with `--call-graph dwarf`
while they are enabled. Needs root. Each recording is unwound by undwarf, and by perf if one is given with ``--perf``.
A stack is

  equal   its functions of the program are those of the shadow stack, but for the innermost one, which may have been
          entered or left a moment ago, and it reaches the root
  gap     as equal, but that callers after a replaced return address are not known, and it does not claim to be whole
  cut     they are the innermost ones of these, and it does not claim to be whole
  false   another function, one too many or too few

Printed by set of probes and kind: `with` a function that has a probe, `without`, and in the kernel's `page` for probes,
where the instruction under a breakpoint is executed. Then the inferred callers, and why stacks end that are not whole.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from undwarf.api import open_recording
from undwarf.unwind.provenance import Provenance
from undwarf.unwind.stop_reason import WHOLE, StopReason

SOURCES = Path(__file__).parent / "probes"
MAGIC = struct.pack("<QQ", 0x5EAD0FCA11EDF00D, 0x0DDBA11C0FFEE123)
DUMP = 16384
DEPTH = 500
"""Functions that the shadow stack holds."""
KINDS = ("with", "without", "page")
VERDICTS = ("equal", "gap", "cut", "false")
GAP = "[uprobes]"
"""Stands for callers that are not known."""
Chain = tuple[str, ...]
SETS = {
    "none": "",
    "leaf": "program:inner",
    "middle": "program:leaf libone.so:one_step libtwo.so:two_leaf",
    "callbacks": "program:visit program:compare program:pick program:variable",
    "recursive": "program:factorial program:even program:odd libone.so:one_recursive",
    "nested": "program:dispatch program:big program:small program:leaf program:inner",
    "libraries": "libone.so:one_leaf libone.so:one_step libone.so:one_walk libone.so:one_each libtwo.so:two_leaf "
    "libtwo.so:two_twice libtwo.so:two_back libtwo.so:two_spread",
    "all": "",
}
"""Functions with return probes."""


def functions() -> list[str]:
    """The names of the functions by number, of those in `shadow.h`."""
    text = (SOURCES / "shadow.h").read_text().replace("\\\n", "")
    return ["", *re.findall(r"X\((\w+)\)", next(line for line in text.splitlines() if "define FUNCTIONS" in line))]


def build(folder: Path, flags: list[str]) -> None:
    """Compile the program and its libraries."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("two", "one"):
        library = ["gcc", *flags, "-g", "-fPIC", "-shared", "-o", f"lib{name}.so", str(SOURCES / f"{name}.c")]
        subprocess.run(library, cwd=folder, check=True)
    program = ["gcc", *flags, "-g", "-o", "program", str(SOURCES / "main.c"), "./libone.so", "./libtwo.so"]
    subprocess.run(program, cwd=folder, check=True)


def places(name: str) -> list[str]:
    """``file:function`` of a set's probes; all functions but `main` for "all"."""
    if name != "all":
        return SETS[name].split()
    prefixes = {"one_": "libone.so", "two_": "libtwo.so"}
    return [f"{prefixes.get(one[:4], 'program')}:{one}" for one in functions()[2:]]


def record(folder: Path, name: str, rounds: int) -> Path:
    """Record with the probes of a set."""
    target = folder / f"{name}.data"
    events = []
    group = f"truth{os.getpid()}"
    try:
        for number, place in enumerate(places(name)):
            file, _, function = place.partition(":")
            event = f"{group}:p{number}"
            probe = ["perf", "probe", "-q", "-x", str(folder / file), "-a", f"{event}={function}%return"]
            subprocess.run(probe, check=True, stdout=subprocess.DEVNULL)
            # Enabled, but no sample of its own.
            events += ["-e", f"{event}__return", "--filter", "common_pid == 0"]
        command = ["perf", "record", "-q", "-F", "3999", "-e", "cpu-clock", *events, "-m", "4M"]
        command += ["--max-size", "500M", "--call-graph", f"dwarf,{DUMP}", "-o", str(target), "./program", str(rounds)]
        subprocess.run(command, cwd=folder, check=False)
    finally:
        subprocess.run(["perf", "probe", "-q", "-d", f"{group}:*"], check=False, stderr=subprocess.DEVNULL)
    return target


def truths(path: Path, names: list[str]) -> dict[int, list[str]]:
    """By the time of a sample the functions on the shadow stack, from `main` on; none where the dump ends before."""
    found: dict[int, list[str]] = {}
    with open_recording(path, format="perf.data") as recording:
        samples = recording.records.samples
        rows = list(zip(samples.time, samples.position, samples.stack_at, strict=True))
    data = path.read_bytes()
    # struct perf_file_header: where the records start; positions count from there.
    (begin,) = struct.unpack_from("<Q", data, 40)
    for time, position, stack_at in rows:
        at = begin + position + stack_at
        (size,) = struct.unpack_from("<Q", data, at) if stack_at else (0,)
        at = data.find(MAGIC, at + 8, at + 8 + size)
        if at >= 0:
            (depth,) = struct.unpack_from("<Q", data, at + 16)
            if depth <= DEPTH and at + 24 + 2 * depth <= len(data):
                found[time] = [names[number] for number in struct.unpack_from(f"<{depth}H", data, at + 24)]
    return found


def of_undwarf(path: Path, names: set[str], stops: Counter[str]) -> Iterator[tuple[int, Chain, bool, list[str]]]:
    """(time, functions from the outermost on, whether the stack claims to be whole, inferred callers) by sample."""
    with open_recording(path, format="perf.data") as recording:
        for sample in recording.profile(inline=False).samples:
            known = [
                one
                for one in sample.stack
                if one.dso == GAP or (one.dso.startswith(str(path.parent)) and one.name in names)
            ]
            inferred = [one.name for one in known if one.provenance == Provenance.INFERRED_CALLER]
            whole = sample.stop in WHOLE
            if not whole:
                stops[f"{StopReason(sample.stop).name} in {sample.stack[-1].name if sample.stack else '-'}"] += 1
            yield sample.time, tuple(GAP if one.dso == GAP else one.name for one in reversed(known)), whole, inferred


def of_perf(path: Path, names: set[str], perf: str) -> Iterator[tuple[int, Chain, bool, list[str]]]:
    """The same by perf, which never says that a stack ends early."""
    command = [perf, "script", "--ns", "--no-inline", "-F", "time,ip,sym,dso", "-i", str(path)]
    time, chain, other = -1, [], ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if head := re.match(r"\s*(\d+)\.(\d{9}):", line):
                if time >= 0:
                    yield time, tuple(reversed(chain)), other == "_start", []
                time, chain = int(head[1] + head[2]), []
            elif line.strip():
                _, other, *_ = [*line.split(), "", ""]
                if other in names and str(path.parent) in line:
                    chain.append(other)
    if time >= 0:
        yield time, tuple(reversed(chain)), other == "_start", []


def fits(chain: Chain, truth: Chain) -> bool:
    """Whether a chain is the true one, with any functions in place of a gap."""
    if GAP not in chain:
        return chain == truth
    at = len(chain) - chain[::-1].index(GAP) - 1
    inner = chain[at + 1 :]
    if truth[len(truth) - len(inner) :] != inner:
        return False
    rest = truth[: len(truth) - len(inner)]
    return any(fits(chain[:at], rest[:end]) for end in range(len(rest) + 1))


def judge(chain: Chain, whole: bool, truth: Chain) -> str:
    """ "equal", "gap", "cut" or "false"."""
    if whole and chain[-1:] == (GAP,):
        # In the kernel's page for probes: about to enter a function.
        chain = chain[:-1]
    if GAP in chain and chain[0] in ("main", GAP):
        return "gap" if fits(chain, truth) or fits(chain[:-1], truth) else "false"
    chain = tuple(one for one in chain if one != GAP)
    if whole:
        return "equal" if truth in (chain, chain[:-1]) else "false"
    for inner in (chain, chain[:-1]):
        if len(inner) <= len(truth) and inner == truth[len(truth) - len(inner) :]:
            return "cut"
    return "false"


def compare(path: Path, name: str, perf: str, show: int) -> None:
    """Print how a recording's stacks compare with the truth."""
    names = functions()
    true = truths(path, names)
    probed = {one.partition(":")[2] for one in places(name)}
    stops: Counter[str] = Counter()
    sources = {"undwarf": of_undwarf(path, set(names[1:]), stops)}
    if perf:
        sources["perf"] = of_perf(path, set(names[1:]), perf)
    in_page: set[int] = set()
    for source, rows in sources.items():
        counts: Counter[str] = Counter()
        right = wrong = 0
        for time, chain, whole, inferred in rows:
            truth = tuple(true.get(time, ()))
            if not truth:
                counts["without truth"] += 1
                continue
            if source == "undwarf" and chain[-1:] == (GAP,):
                in_page.add(time)
            verdict = judge(chain, whole, truth)
            kind = "page" if time in in_page else "with" if probed.intersection(truth) else "without"
            counts[f"{verdict} {kind}"] += 1
            right += len(inferred) if verdict == "equal" else 0
            wrong += len(inferred) if verdict == "false" else 0
            if verdict == "false" and show > 0:
                show -= 1
                print(f"    true:  {' '.join(truth)}\n    false: {' '.join(chain)}   inferred: {' '.join(inferred)}")
        for kind in KINDS:
            total = sum(counts[f"{verdict} {kind}"] for verdict in VERDICTS)
            shares = " ".join(f"{100 * counts[f'{one} {kind}'] / max(total, 1):6.2f} % {one}" for one in VERDICTS)
            if total:
                print(f"{name:10} {source:8} {total:6} {kind:8} {shares}")
        if source == "undwarf":
            why = dict(stops.most_common(4))
            print(f"{name:10} inferred callers in equal stacks: {right}, in false ones: {wrong}; stops: {why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("probe-truth"), help="where recordings go, and stay")
    parser.add_argument("--rounds", type=int, default=1500, help="how long the program runs")
    parser.add_argument("--flags", default="-O2", help="of the compiler")
    parser.add_argument("--sets", default=",".join(SETS), help="sets of probes")
    parser.add_argument("--perf", default="", help="a perf to compare with")
    parser.add_argument("--show", type=int, default=0, help="false stacks to print, by recording")
    parser.add_argument("--again", action="store_true", help="compare what was recorded before")
    arguments = parser.parse_args()
    folder = arguments.out.absolute()
    if not arguments.again:
        build(folder, shlex.split(arguments.flags))
    for name in arguments.sets.split(","):
        path = folder / f"{name}.data"
        if not arguments.again:
            record(folder, name, arguments.rounds)
        compare(path, name, arguments.perf, arguments.show)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
