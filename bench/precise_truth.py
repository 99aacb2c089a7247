"""Compares the stacks of precise events with the truth: by how late registers and stack are, and where they are of.

Usage: python bench/precise_truth.py bench/precise/*.{c,cpp,rs,go} --out FOLDER [--variants gcc-O0,gcc-O2-fp,...]
       python bench/precise_truth.py FOLDER ... [--perf PERF] [--show-false KIND] [--addresses]

A source is built by each compiler of its language at each level (`-fp`: with frame pointers), a program is taken as it
is; both are stepped through (`precise_recordings.py`) into a folder each, which may be given itself later. Each of its
recordings is unwound by undwarf, and by perf, and each stack is compared with the true one, frame by frame by their
functions:

  equal   all frames are those of the truth, or all that are on the stack of a signal's handler
  cut     the stack ends early, and does not claim to be whole
  false   a frame is another one, or there is one too many, or the stack ends early and claims to be whole

by where the thread was when the registers were taken: still in the sampled frame, in another function that took it over
(a tail call), in a callee, past a return, on another stack, or in a system call.
"""

from __future__ import annotations

import argparse
import bisect
import json
import re
import shlex
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from precise_recordings import ALL_KINDS, FROM_EXEC, IN_KERNEL, OTHER_STACK, START, STEP, Truth, make

from undwarf import StopReason
from undwarf.api import open_recording
from undwarf.elf import ElfFile
from undwarf.tables.function_starts import described_functions
from undwarf.unwind.stop_reason import WHOLE

HERE = Path(__file__).resolve().parent / "precise"
COMPILERS = {".c": ("gcc", "clang"), ".cpp": ("gcc", "clang"), ".rs": ("rustc",), ".go": ("go",)}
VARIANTS = (
    *(f"{name}-{level}" for name in ("gcc", "clang", "rustc") for level in ("O0", "O2", "O2-fp", "O3")), "go"
)  # fmt: skip
PLACES = ("same frame", "tail call", "callee", "past return", "other stack", "kernel")
DEBUG = Path("/usr/lib/debug/.build-id")
FUNCTIONS = (2, 10)
"""STT_FUNC and STT_GNU_IFUNC."""
CLAIMED = WHOLE - {StopReason.SIGNAL_STACK} | {StopReason.INFERRED_ROOT}
"""Reasons that claim that nothing is missing; at the end of a handler's own stack the others are not in the dump."""
LANDING = re.compile("_Unwind_(Resume|RaiseException|ForcedUnwind)")
Chain = list[int]


class Functions:
    """Functions of the images of a process, by address."""

    def __init__(self, mappings: list[tuple[int, int, int, str]]) -> None:
        self.mappings = sorted(mappings)
        self.starts = [one[0] for one in self.mappings]
        self.symbols: dict[str, tuple[list[int], list[tuple[int, str]]]] = {}
        self.known: dict[int, tuple[str, int, str]] = {}
        self.regions: dict[int, tuple[str, int]] = {}

    def at(self, address: int) -> tuple[str, int, str]:
        """(image, start of the function, its name); the address itself where no symbol covers it."""
        found = self.known.get(address)
        if found is None:
            found = self.known[address] = self._find(address)
        return found

    def region(self, address: int) -> tuple[str, int]:
        """As `at`, but all that is between two functions is one, as linkage tables are."""
        if address not in self.regions:
            image, start, _name = self.at(address)
            if image and start == address:
                at = next(address - one[0] + one[2] for one in self.mappings if one[0] <= address < one[1])
                start = ~bisect.bisect_right(self.symbols[image][0], at)
            self.regions[address] = image, start
        return self.regions[address]

    def same(self, one: int, other: int) -> bool:
        """Whether two addresses are of one function. A signal's return trampoline may be looked up one byte early."""
        return abs(one - other) <= 1 or self.at(one) == self.at(other)

    def _find(self, address: int) -> tuple[str, int, str]:
        number = bisect.bisect_right(self.starts, address) - 1
        if number < 0 or address >= self.mappings[number][1]:
            return "", address, f"{address:#x}"
        start, _end, offset, name = self.mappings[number]
        if name not in self.symbols:
            self.symbols[name] = read_symbols(name)
        starts, ends = self.symbols[name]
        stated = address - start + offset
        k = bisect.bisect_right(starts, stated) - 1
        if k >= 0 and stated < ends[k][0]:
            return name, starts[k], ends[k][1]
        return name, address, f"{Path(name).name}+{stated:#x}"


def read_symbols(path: str) -> tuple[list[int], list[tuple[int, str]]]:
    """Functions of a file by file offset: sorted starts, and (end, name) of each."""
    found: dict[int, tuple[int, str]] = {}
    if not Path(path).is_file():
        return [], []
    elf = ElfFile.open(path)
    bias = {one.address: one.address - one.offset for one in elf.loads}
    build_id = bytes(elf.build_id or b"").hex()
    separate = DEBUG / build_id[:2] / f"{build_id[2:]}.debug"
    for file in (path, *([str(separate)] if separate.exists() else [])):
        for value, size, kind, name in symbols(Path(file).read_bytes()):
            if kind in FUNCTIONS and size:
                at = max((one for one in bias if one <= value), default=0)
                offset = value - bias.get(at, 0)
                found[offset] = max(found.get(offset, (0, "")), (offset + size, name))
    for address, end in zip(*described_functions(elf, elf.limits), strict=True):
        # Libraries without symbols: functions as their unwind information has them.
        at = max((one for one in bias if one <= address), default=0)
        offset = address - bias.get(at, 0)
        found.setdefault(offset, (offset + end - address, f"{Path(path).name}+{address:#x}"))
    starts = sorted(found)
    return starts, [found[one] for one in starts]


def symbols(data: bytes) -> Iterator[tuple[int, int, int, str]]:
    """(value, size, type, name) of the symbols of an ELF file of 64 bits."""
    (at,) = struct.unpack_from("=Q", data, 40)
    count = struct.unpack_from("=H", data, 60)[0]
    sections = [struct.unpack_from("=IIQQQQIIQQ", data, at + 64 * i) for i in range(count)]
    for section in sections:
        if section[1] not in (2, 11):
            continue
        names = sections[section[6]][4]
        for entry in range(section[4], section[4] + section[5], 24):
            name, info, _other, index, value, size = struct.unpack_from("=IBBHQQ", data, entry)
            if index:
                end = data.index(b"\0", names + name)
                yield value, size, info & 15, data[names + name : end].decode(errors="replace")


def of_undwarf(path: Path) -> Iterator[tuple[int, Chain, StopReason]]:
    """(number, chain, why it ends) of each sample, by undwarf."""
    with open_recording(path, format="perf.data") as recording:
        profile = recording.profile(names=False, inline=False, runtime=True)
        frames, stacks = profile.frames, profile.stacks
        assert frames.runtime is not None
        chains: dict[int, Chain] = {}
        columns = profile.samples.columns
        for time, node, stop in zip(columns.time, columns.stack, columns.stop, strict=True):
            if node not in chains:
                chain, at = [], node
                while at < len(stacks):
                    chain.append(frames.runtime[stacks.frame[at]])
                    at = stacks.parent[at]
                chains[node] = chain
            yield (time - START) // STEP, chains[node], StopReason(stop)


def of_perf(perf: str, path: Path) -> Iterator[tuple[int, Chain, None]]:
    """The same by perf, which does not say why a stack ends."""
    command = [perf, "script", "--ns", "--no-inline", "-F", "time,ip", "-i", str(path)]
    number, chain = -1, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if head := re.match(r"\s*(\d+)\.(\d{9}):", line):
                if number >= 0:
                    yield number, chain, None
                number, chain = (int(head[1] + head[2]) - START) // STEP, []
            elif line.strip():
                chain.append(int(line.split()[0], 16))
    if number >= 0:
        yield number, chain, None


def place(truth: Truth, kind: str, functions: Functions) -> str:
    """Where the registers of a sample were taken."""
    taken = ALL_KINDS[kind].registers
    ip, gone, new = (truth.chain[0], 0, 0) if taken == 0 else truth.after_one if taken else truth.after_all
    if gone == IN_KERNEL:
        return "kernel"
    if gone == OTHER_STACK:
        return "other stack"
    if gone:
        return "past return"
    if new:
        return "callee"
    return "same frame" if functions.region(ip) == functions.region(truth.chain[0]) else "tail call"


def judge(truth: Truth, chain: Chain, stop: StopReason | None, functions: Functions) -> tuple[str, str]:
    """("equal", "cut" or "false", more about it)."""
    for depth, (one, other) in enumerate(zip(chain, truth.chain, strict=False)):
        if not functions.same(one, other):
            what = "frame" if functions.at(one)[0] else "no code at frame"
            return "false", f"{what} {depth}: {functions.at(one)[2]} for {functions.at(other)[2]}"
    if len(chain) < truth.reachable or (len(chain) < len(truth.chain) and stop not in (None, StopReason.SIGNAL_STACK)):
        if stop in CLAIMED:
            return "false", f"{stop.name} at frame {len(chain) - 1}"
        return "cut", stop.name if stop is not None else ""
    if len(chain) > len(truth.chain) and truth.complete:
        return "false", f"too many frames: {functions.at(chain[len(truth.chain)])[2]}"
    sites = any(abs(one - other) > 1 for one, other in zip(chain, truth.chain, strict=False))
    return "equal", "call site" if sites else ""


def is_ambiguous(truth: Truth, functions: Functions) -> bool:
    """Whether the sample has no one true caller.

    Before it jumps, glibc's `__longjmp` describes the target as its caller. libgcc installs the registers of a landing
    pad by writing them over those that its own frame saved, its return address among them.
    """
    if any(functions.at(one)[2] == "__longjmp" for one in truth.chain):
        return True
    images, names = zip(*((image, name) for image, _start, name in map(functions.at, truth.chain[:3])), strict=True)
    depth = next((k for k, name in enumerate(names) if LANDING.match(name)), 3)
    # It does so in functions that it calls, which call others only to copy.
    return depth == 0 or (depth == 1 and images[0] == images[1]) or (depth == 2 and images[0] != images[1] == images[2])


@dataclass
class Score:
    """Samples of one tool by (kind, place), and by (kind, outcome) what it was about."""

    results: Counter[tuple[str, str, str]]
    reasons: Counter[tuple[str, str]]
    ambiguous: int = 0
    missing: int = 0


def truths(folder: Path) -> list[Truth]:
    """What is true of the samples in each of a folder's recordings."""
    return [Truth(**json.loads(line)) for line in (folder / "truth.jsonl").read_text().splitlines()]


def kinds_of(folder: Path) -> list[str]:
    """The kinds of recordings that a folder has."""
    return [kind for kind in ALL_KINDS if (folder / f"{kind}.data").exists()]


def score(folder: Path, perf: str | None = None, show_false: str | None = None) -> dict[str, Score]:
    """The recordings of a folder, by tool; ``show_false``: the kind whose false stacks of undwarf are printed."""
    functions = Functions(json.loads((folder / "mappings.json").read_text()))
    known = truths(folder)
    scores: dict[str, Score] = {}
    for kind in kinds_of(folder):
        path = folder / f"{kind}.data"
        places = [place(one, kind, functions) for one in known]
        tools = {"undwarf": of_undwarf(path)} | ({"perf": of_perf(perf, path)} if perf else {})
        for tool, chains in tools.items():
            made = scores.setdefault(tool, Score(Counter(), Counter()))
            seen = 0
            for number, chain, stop in chains:
                truth = known[number]
                seen += 1
                if is_ambiguous(truth, functions):
                    made.ambiguous += 1
                    continue
                outcome, why = judge(truth, chain, stop, functions)
                made.results[kind, places[number], outcome] += 1
                if why:
                    made.reasons[kind, f"{outcome}: {why.split(':')[0] if outcome == 'false' else why}"] += 1
                if kind == show_false and outcome == "false" and tool == "undwarf":
                    names = " < ".join(functions.at(one)[2] for one in truth.chain[:4])
                    at = f"{places[number]} at {truth.chain[0]:#x}"
                    print(f"  {folder.name} {number} {at}: {why}; true: {names}")
            made.missing += len(known) - seen
    return scores


def score_addresses(folder: Path) -> dict[str, Counter[str]]:
    """By kind, the samples at accesses that have a type: whether the data address that the recording states, and that
    undwarf computes from the registers without it, is the "right" or a "wrong" one, or "unknown"."""
    known = {START + STEP * one.number: one.address for one in truths(folder)}
    found: dict[str, Counter[str]] = {}
    for kind in kinds_of(folder):
        counts = found[kind] = Counter[str]()
        with open_recording(folder / f"{kind}.data") as recording:
            profile = recording.profile(callers=False, inline=False)
            touched = recording.touch(profile)
            stated = touched.profile
            silent = stated.derived(samples=replace(stated.samples.columns, addr=None))
            leaves = [stated.stacks.frame[node] for node in stated.samples.columns.stack]
            typed = frozenset(touched.typed())
            for what, one in (("stated", stated), ("computed", silent)):
                addresses = recording.data_addresses(one, touched).column
                for time, leaf, address in zip(stated.samples.columns.time, leaves, addresses, strict=True):
                    if leaf in typed and known[time]:
                        right = "unknown" if not address else "right" if address == known[time] else "wrong"
                        counts[f"{what} {right}"] += 1
    return found


def show_addresses(counts: dict[str, Counter[str]]) -> None:
    """A line for each kind."""
    for kind, found in counts.items():
        print(f"{kind:9} addresses:", ", ".join(f"{what} {count}" for what, count in sorted(found.items())))


def show(scores: dict[str, Score]) -> None:
    """A table by kind and place."""
    print(f"{'':9}{'state':13}{'samples':>8}", *(f"{tool:>12}: equal     cut   false" for tool in scores))
    kinds = [kind for kind in ALL_KINDS if any(kind == key[0] for made in scores.values() for key in made.results)]
    for kind in kinds:
        for where in (*PLACES, "all"):
            cells, total = [], 0
            for made in scores.values():
                counts = Counter[str]()
                for (one, at, outcome), count in made.results.items():
                    if one == kind and where in (at, "all"):
                        counts[outcome] += count
                total = counts.total()
                shares = (f"{100 * counts[name] / max(total, 1):6.2f} %" for name in ("equal", "cut", "false"))
                cells.append("     " + " ".join(shares))
            if total:
                print(f"{kind if where == 'all' else '':9}{where:13}{total:8}", *cells)
        for tool, made in scores.items():
            why = Counter({text: count for (one, text), count in made.reasons.items() if one == kind})
            if why:
                print(f"{'':9}{tool}:", ", ".join(f"{text} {count}" for text, count in why.most_common(6)))
    for tool, made in scores.items():
        left_out, missing = made.ambiguous // len(kinds), made.missing // len(kinds)
        print(f"{tool}: {left_out} more have no one true caller, {missing} are missing")


def build(source: Path, variant: str, folder: Path) -> Path | None:
    """Compile a program; None where the variant is not of its language."""
    compiler, _, options = variant.partition("-")
    if compiler not in COMPILERS[source.suffix]:
        return None
    level, _, pointers = options.partition("-")
    program = folder / source.stem
    folder.mkdir(parents=True, exist_ok=True)
    if compiler == "go":
        run = ["go", "build", "-o", str(program), str(source)]
    elif compiler == "rustc":
        flags = [f"-Copt-level={level[1:]}", *(["-Cforce-frame-pointers=yes"] if pointers else [])]
        run = ["rustc", "--edition=2021", "-Awarnings", "-g", *flags, str(source), "-o", str(program)]
    else:
        frames = "-fno-omit-frame-pointer" if pointers or level == "O0" else "-fomit-frame-pointer"
        named = {"gcc": "g++", "clang": "clang++"}[compiler] if source.suffix == ".cpp" else compiler
        flags = ["-g", f"-{level}", frames, "-w"]
        library = source.with_name(f"{source.stem}_library.c")
        if library.exists():
            made = folder / "liblibrary.so"
            subprocess.run([compiler, *flags, "-shared", "-fPIC", str(library), "-o", str(made)], check=True)
            flags += [str(made), f"-Wl,-rpath,{folder.resolve()}", "-Wl,-z,lazy"]
        run = [named, str(source), *flags, "-o", str(program)]
    subprocess.run(run, check=True)
    return program.resolve()


def main() -> int:
    """All sources in all variants, or folders that were made earlier."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+", help="sources, programs, or folders of recordings")
    parser.add_argument("--out", type=Path, help="where to put recordings")
    parser.add_argument("--arguments", type=shlex.split, default=[], help="the programs' arguments, as one word")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--samples", type=int, default=5000, help="samples of a program")
    parser.add_argument("--gap", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from-exec", action="store_true", help="step through the dynamic linker too")
    parser.add_argument("--branches", action="store_true", help="recordings with the branches before, too")
    parser.add_argument("--addresses", action="store_true", help="compare data addresses, instead of stacks")
    parser.add_argument("--perf", help="a perf to compare with")
    parser.add_argument("--show-false", metavar="KIND", choices=ALL_KINDS, help="show undwarf's false stacks of a kind")
    options = parser.parse_args()
    folders = []
    for path in options.paths:
        if path.is_dir():
            folders += sorted(one.parent for one in path.rglob("truth.jsonl"))
            continue
        if options.out is None:
            parser.error("programs need --out")
        if path.stem.endswith("_library"):
            continue
        for variant in options.variants.split(",") if path.suffix in COMPILERS else ["program"]:
            folder = options.out / f"{path.stem}-{variant}"
            program = build(path, variant, folder) if path.suffix in COMPILERS else path.resolve()
            if program is None:
                continue
            environment = {"GODEBUG": "asyncpreemptoff=1", "GOGC": "off"} if variant == "go" else {}
            start_at = FROM_EXEC if options.from_exec else None
            if variant == "go":
                # What comes before is the runtime's, and takes minutes.
                start_at = next(value for value, *_, name in symbols(program.read_bytes()) if name == "main.main")
            done = make([str(program), *options.arguments], folder, options.samples, gap=options.gap, seed=options.seed,
                        start_at=start_at, environment=environment, branches=options.branches)  # fmt: skip
            print(f"{folder.name:24}{done}", flush=True)
            folders.append(folder)
    total: dict[str, Score] = {}
    addresses: dict[str, Counter[str]] = {}
    for folder in folders if options.addresses else ():
        for kind, counts in score_addresses(folder).items():
            addresses.setdefault(kind, Counter()).update(counts)
    show_addresses(addresses)
    for folder in folders if not options.addresses else ():
        scores = score(folder, options.perf, options.show_false)
        print(f"\n{folder.name}")
        show(scores)
        for tool, made in scores.items():
            sums = total.setdefault(tool, Score(Counter(), Counter()))
            sums.results += made.results
            sums.reasons += made.reasons
            sums.ambiguous += made.ambiguous
            sums.missing += made.missing
    if len(folders) > 1 and total:
        print("\nAll")
        show(total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
