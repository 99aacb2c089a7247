"""Whether perf prints what undwarf wrote as undwarf does: ``bench/script_agreement.py [--perf PERF] [RECORDING ...]``.

Each recording is shrunk (with ``--keep`` it was made by undwarf) and printed by ``undwarf script`` and ``perf script``,
with ``--before`` also by ``undwarf script`` as it was. Samples are matched by time, thread and event and compared line
by line; every difference is counted by what differs and shown by an example.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FIELDS = {"comm": "", "pid": "TID", "tid": "TID", "cpu": "CPU", "time": "TIME", "period": "", "event": ""}
FRAMES = "ip,sym,symoff,dso"
MORE = {
    "trace": "RAW", "iregs": "REGS_INTR", "uregs": "REGS_USER", "brstack": "BRANCH_STACK",
    "brstacksym": "BRANCH_STACK", "brstackinsn": "BRANCH_STACK", "bpf-output": "RAW", "cgroup": "CGROUP",
    "addr": "ADDR", "insn": "IP", "insnlen": "IP", "flags": "IP", "dsoff": "IP", "tod": "TIME",
}  # fmt: skip  # a table
"""Fields that are compared one by one with ``--fields``, and what an event must have for them."""
HEAD = re.compile(rb"^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+(?:\[(\d+)\]\s+)?(?:(\d+\.\d+):\s+)?(?:(\d+) +)?(\S+?): *(.*)$")
FRAME = re.compile(rb"^\s*([0-9a-f]+) (.*) \((.*)\)( \(inlined\))?$")
NAMES = tuple(FIELDS)
Key = tuple[bytes, bytes, bytes, int]


def blocks(command: list[str]) -> Iterator[tuple[Key, bytes]]:
    """What a command prints, sample by sample, with what it is known by."""
    seen: Counter[tuple[bytes, bytes, bytes]] = Counter()
    now = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        assert run.stdout is not None
        key: Key = (b"", b"", b"", 0)
        lines: list[bytes] = []
        for line in run.stdout:
            if line == b"\n":
                continue
            if line[:1] == b"\t" or (lines and FRAME.match(line) and not HEAD.match(line)):
                lines.append(line)
                continue
            if lines:
                yield key, b"".join(lines)
            lines = [line]
            head = HEAD.match(line)
            parts = (head[5] or b"", head[3], head[7]) if head else (b"?", line, b"")
            if parts[0] != now:
                now = parts[0]
                seen.clear()
            key = (*parts, seen[parts])
            seen[parts] += 1
        if lines:
            yield key, b"".join(lines)


def pairs(left: list[str], right: list[str]) -> Iterator[tuple[Key, bytes | None, bytes | None]]:
    """Samples of both commands, side by side; None where one does not print it."""
    waiting: tuple[dict[Key, bytes], dict[Key, bytes]] = ({}, {})
    sides = [blocks(left), blocks(right)]
    while sides[0] is not None or sides[1] is not None:
        for number in (0, 1):
            if sides[number] is None:
                continue
            found = next(sides[number], None)
            if found is None:
                sides[number] = None
                continue
            key, text = found
            other = waiting[1 - number].pop(key, None)
            if other is None:
                waiting[number][key] = text
            else:
                yield (key, text, other) if number == 0 else (key, other, text)
    for key, text in waiting[0].items():
        yield key, text, None
    for key, text in waiting[1].items():
        yield key, None, text


def difference(ours: bytes | None, theirs: bytes | None) -> tuple[str, str]:
    """(what differs first, both versions of it)."""
    if ours is None:
        return "only in the second", str(theirs)
    if theirs is None:
        return "only in the first", str(ours)
    mine, other = ours.splitlines(), theirs.splitlines()
    heads = HEAD.match(mine[0]), HEAD.match(other[0])
    if heads[0] and heads[1]:
        for number, name in enumerate(NAMES):
            if heads[0][number + 1] != heads[1][number + 1]:
                return name, f"{mine[0]!r} | {other[0]!r}"
        mine[0], other[0] = heads[0][8], heads[1][8]
    for one, two in zip(mine, other, strict=False):
        if one.strip() == two.strip():
            continue
        first, second = FRAME.match(one), FRAME.match(two)
        shown = f"{one.strip()!r} | {two.strip()!r}"
        if not first or not second:
            return "line", shown
        if first[1] != second[1]:
            return "address", shown
        if first[3] != second[3]:
            return "dso", shown
        return "symbol", shown
    if len(mine) != len(other):
        rest = (mine if len(mine) > len(other) else other)[min(len(mine), len(other))]
        return ("longer" if len(mine) > len(other) else "shorter"), repr(rest)
    return "space", f"{ours[:200]!r} | {theirs[:200]!r}"


def compare(name: str, left: list[str], right: list[str], examples: int) -> bool:
    """Count and show how two commands differ; whether they do not."""
    counts: Counter[str] = Counter()
    shown: dict[str, Counter[str]] = {}
    total = 0
    for _key, ours, theirs in pairs(left, right):
        total += 1
        if ours == theirs:
            continue
        what, example = difference(ours, theirs)
        counts[what] += 1
        kept = shown.setdefault(what, Counter())
        if len(kept) < 2000 or example in kept:
            kept[example] += 1
    same = total - sum(counts.values())
    rest = ", ".join(f"{what} {count:,}" for what, count in counts.most_common())
    print(f"{name}: {same:,} of {total:,} samples equal{'; ' if rest else ''}{rest}", flush=True)
    for what, kept in shown.items():
        for example, count in kept.most_common(examples):
            print(f"    {what} {count:,}: {example}")
    return same == total


def fields(recording: str) -> str:
    """What all events of a recording have; perf prints nothing when asked for more."""
    from undwarf.perfdata import SampleField as bits
    from undwarf.perfdata import open_perf_data

    with open_perf_data(recording) as opened:
        kinds = [event.sample_type for event in opened.events]
    return ",".join(
        [*(name for name, bit in FIELDS.items() if not bit or all(kind & bits[bit] for kind in kinds)), FRAMES]
    )


def compare_fields(name: str, perf: str, undwarf: list[str], recording: str) -> bool:
    """Compare each further field by itself, line by line; whether all are equal."""
    from undwarf.perfdata import SampleField as bits
    from undwarf.perfdata import open_perf_data

    with open_perf_data(recording) as opened:
        kinds = [(event.type, event.sample_type) for event in opened.events]
        histories = [event.branch_sample_type for event in opened.events]
        clock = opened.features.clock_data
    fine = True
    for field, bit in MORE.items():
        tracepoints = any(kind == 2 for kind, _fields in kinds)
        had = all(kind & bits[bit] for _type, kind in kinds) if field != "trace" else tracepoints
        if not had or (field == "tod" and clock is None) or (field == "bpf-output" and tracepoints):
            continue
        if field == "brstackinsn" and not all(branches & 8 for branches in histories):
            # perf refuses it where some branches are left out.
            continue
        shown = {"trace": "event,trace", "bpf-output": "+pid"}.get(field, f"{field},{FRAMES}")
        shape = ["script", "-F", shown, "--no-inline"]
        left, right = (
            subprocess.run(command, capture_output=True, check=False).stdout.split(b"\n")
            for command in ([*undwarf, *shape, recording], [perf, *shape, "-i", recording])
        )
        same = sum(one == two for one, two in zip(left, right, strict=False))
        total = max(len(left), len(right))
        fine &= same == total
        print(f"{name}: {field}: {same:,} of {total:,} lines equal ({100 * same / total:.2f} %)", flush=True)
        if same != total:
            differing = ((one, two) for one, two in zip(left, right, strict=False) if one != two)
            print(f"    {next(differing, ('', ''))}")
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("recordings", nargs="+")
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--inline", action="store_true", help="Print inlined functions too.")
    parser.add_argument("--examples", type=int, default=3, help="Differences of a kind that are shown.")
    parser.add_argument("--before", action="store_true", help="Also compare with the recording as it was.")
    parser.add_argument("--keep", action="store_true", help="Take the recordings as they are.")
    parser.add_argument("--fields", action="store_true", help="Compare further fields, of the recordings as they are.")
    options = parser.parse_args()
    undwarf = [sys.executable, "-m", "undwarf"]
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        small = str(Path(folder, "small.data"))
        for recording in options.recordings:
            if options.fields:
                fine &= compare_fields(recording, options.perf, undwarf, recording)
                continue
            if options.keep:
                small = recording
            else:
                made = subprocess.run([*undwarf, "shrink", recording, "-o", small], capture_output=True, text=True)
                if made.returncode:
                    print(f"{recording}: not shrunk: {made.stderr.strip()}")
                    fine = False
                    continue
            shape = ["script", "-F", fields(small), "--ns", *([] if options.inline else ["--no-inline"])]
            shape_of_ours = [*shape, "--perf-names"]
            ours = [*undwarf, *shape_of_ours, small]
            theirs = [options.perf, *shape, "--max-stack", "10000", "-i", small]
            fine &= compare(recording, ours, theirs, options.examples)
            if options.before:
                fine &= compare("  as it was", [*undwarf, *shape_of_ours, recording], ours, options.examples)
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
