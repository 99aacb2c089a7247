"""Where the data types of perf and of undwarf differ: ``bench/perf_types_agreement.py RECORDING BINARY [-v]``.

Perf tells a type for each memory operand of the functions that have samples (``annotate --code-with-type``), undwarf is
asked for the same addresses of the binary. Several recordings and binaries may be given in turn. Counted are addresses
where both say the same place; where we name something around or inside of what perf names, at the same byte; where we
name something else; where perf names a type and we call the place the compiler's own (a register put aside on the
stack); where else only perf names a type; and where only we do. With -v all are listed that are not the same.
Who is right, a difference does not tell: `types_truth.py` does. ``--perf`` and ``--objdump`` name the programs.
``--kernel``: BINARY is the recorded kernel, of which only the instructions that have samples are compared
(`kernel_samples.py` makes such recordings); to ask perf for all of a function takes it seconds each.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from undwarf.elf import ElfFile
from undwarf.perfdata import open_perf_data
from undwarf.symbols.elf_symbols import symbols_of_elf

LINE = re.compile(r"^\s*[\d.]*\s*:\s+([0-9a-f]+):\s+(.*?)\s*# data-type: (.*?) \+(0x[0-9a-f]+|0)(?: \((.*)\))?\s*$")
HEAD = re.compile(r"Source code & Disassembly of (\S+) for")
SPELLINGS = (
    (r"\b(struct|class|union|enum|const|volatile)\s+", ""), (r"\blong unsigned int\b", "unsigned long"),
    (r"\blong int\b", "long"), (r"\bshort unsigned int\b", "unsigned short"), (r"\bshort int\b", "short"), (r"\s", ""),
)  # fmt: skip  # a table
ROW = re.compile(r"^[^|]*\|\[k\] (\S+)\+(0x[0-9a-f]+|0) *\|(.*?) *\|.* \+(0x[0-9a-f]+|0) \((.*)\) *$")
NO_TYPES = ("(stackoperation)", "(stackcanary)", "(unknowntype)", "(unknown)")
COUNTS = ("same", "nested", "other", "spill", "perf only", "ours only")


def plain(name: str) -> str:
    """A type's name as both write it."""
    for pattern, by in SPELLINGS:
        name = re.sub(pattern, by, name)
    return name


def of_perf(recording: Path, binary: Path, perf: str, objdump: str) -> dict[int, tuple[str, int, str, str]]:
    """(type, offset, member, instruction) by address, of the functions of one binary."""
    command = [perf, "annotate", f"--objdump={objdump}", "--code-with-type", "--stdio", "-i", str(recording)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as job:
        assert job.stdout is not None
        found = {}
        inside = False
        for line in job.stdout:
            head = HEAD.search(line)
            if head:
                inside = Path(head[1]).name == binary.name
            told = LINE.match(line) if inside else None
            if told:
                found[int(told[1], 16)] = plain(told[3]), int(told[4], 16), told[5] or "", told[2]
    return {at: one for at, one in found.items() if one[0] not in NO_TYPES}


def of_kernel(recording: Path, binary: Path, perf: str, objdump: str) -> dict[int, tuple[str, int, str, str]]:
    """The same of the sampled instructions of a kernel."""
    symbols = symbols_of_elf(ElfFile.open(binary))
    # perf names functions, of which several may have one name: what has no sample is in another one.
    there = sampled(recording)
    command = [perf, "report", "--vmlinux", str(binary), f"--objdump={objdump}", "--stdio", "-i", str(recording)]
    command += ["-s", "symoff,type,typeoff", "-t", "|", "-w", "0,120,200,300"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
    found = {}
    for row in filter(None, map(ROW.match, done.stdout.splitlines())):
        low = symbols.address_of_name(row[1].encode()) if symbols is not None else None
        at = low + int(row[2], 16) if low is not None else -1
        if at in there and plain(row[3]) not in NO_TYPES:
            found[at] = plain(row[3]), int(row[4], 16), "" if row[5] == "no field" else row[5], ""
    return found


def of_ours(binary: Path, addresses: list[int]) -> dict[int, list[dict[str, Any]]]:
    """The answers by address."""
    command = [sys.executable, "-m", "undwarf", "types", "--binary", str(binary), "--json", "--at"]
    found: dict[int, list[dict[str, Any]]] = {}
    # Linux takes arguments of 128 KiB each.
    for first in range(0, len(addresses), 6000):
        asked = ",".join(f"{at:x}" for at in addresses[first : first + 6000])
        done = subprocess.run([*command, asked], check=True, capture_output=True, text=True)
        for one in json.loads(done.stdout)["accesses"]:
            found.setdefault(int(one["address"], 16), []).append(one)
    return found


def compare(theirs: tuple[str, int, str, str], answers: list[dict[str, Any]]) -> tuple[str, str]:
    """(how they compare, what we say)."""
    typed = [one for one in answers if one["type"] is not None]
    if not typed:
        kept = ", ".join(str(other) for one in answers for other in one["candidates"])
        kind = "spill" if answers and all(one["how"] == "spill" for one in answers) else "perf only"
        return kind, "; ".join(str(one["reason"]) for one in answers) + (f" [{kept}]" if kept else "")
    said = "; ".join(f"{one['type']}+{one['offset_bytes']} {one['field']} [{one['how']}]" for one in typed)
    name, offset, member, _insn = theirs
    kinds = []
    for one in typed:
        ours, at, path = plain(one["type"]), one["offset_bytes"], (one["field"] or "").replace("[]", "")
        leaf, wanted = path.rpartition(".")[2], member.rpartition(".")[2]
        if ours == name and at == offset:
            kinds.append("same")
        elif leaf == wanted or not leaf or not wanted or wanted == "nofield":
            kinds.append("nested")
        else:
            kinds.append("other")
    return min(kinds, key=COUNTS.index), said


def agreement(recording: Path, binary: Path, arguments: argparse.Namespace) -> Counter[str]:
    """Counts for one recording."""
    ask = of_kernel if arguments.kernel else of_perf
    theirs = ask(recording, binary, arguments.perf, arguments.objdump)
    counts: Counter[str] = Counter()
    if not theirs:
        return counts
    spans = functions(binary, arguments.objdump) if not arguments.kernel else []
    asked = sorted(
        {at for low, high, each in spans if any(low <= one < high for one in theirs) for at in each}
        | {*theirs, *(sampled(recording) if arguments.kernel else ())}
    )
    ours = of_ours(binary, asked)
    for at in asked:
        if at not in theirs:
            counts["ours only"] += any(one["type"] is not None for one in ours.get(at, ()))
            continue
        kind, said = compare(theirs[at], ours.get(at, []))
        counts[kind] += 1
        if arguments.verbose and kind != "same":
            name, offset, member, insn = theirs[at]
            print(f"  {kind:9} {at:#x} `{insn}`: perf {name}+{offset} {member}; ours {said}")
    return counts


def sampled(recording: Path) -> set[int]:
    """The instructions that have samples."""
    with open_perf_data(recording) as data:
        return set(data.records().samples.ip)


def functions(binary: Path, objdump: str) -> list[tuple[int, int, list[int]]]:
    """(first address, end, addresses of instructions) of the functions in a binary."""
    done = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", str(binary)], check=True, capture_output=True, text=True, errors="replace"
    )
    found: list[tuple[int, int, list[int]]] = []
    for line in done.stdout.splitlines():
        if re.match(r"^[0-9a-f]+ <", line):
            found.append((int(line.split()[0], 16), 0, []))
        else:
            code = re.match(r"^\s+([0-9a-f]+):\t", line)
            if code and found:
                found[-1][2].append(int(code[1], 16))
    return [(low, each[-1] + 1, each) for low, _high, each in found if each]


def main() -> int:
    """A row a recording, and the sum."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="+", type=Path, metavar="RECORDING BINARY")
    options.add_argument("--perf", default="perf")
    options.add_argument("--objdump", default="/usr/bin/objdump")
    options.add_argument("--kernel", action="store_true")
    options.add_argument("-v", dest="verbose", action="store_true")
    arguments = options.parse_args()
    if len(arguments.files) % 2:
        options.error("a binary goes with each recording")
    whole: Counter[str] = Counter()
    print(f"{'program':28} " + " ".join(f"{name:>9}" for name in COUNTS))
    for recording, binary in zip(arguments.files[::2], arguments.files[1::2], strict=True):
        counts = agreement(recording, binary, arguments)
        print(f"{binary.name:28} " + " ".join(f"{counts[name]:9}" for name in COUNTS))
        whole += counts
    print(f"{'all':28} " + " ".join(f"{whole[name]:9}" for name in COUNTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
