"""Scores `undwarf types --binary --at` against recordings with truth found by single-stepping.

Usage: python bench/types_truth.py FOLDER [--btf] [--perf PERF] [-v] [PROGRAM...]

FOLDER holds one folder a program: the binary, and `truth.json` with the type and offset of every executed memory
operand of its hot functions. An answer is right if it names the type, or one around or inside it that holds the same
byte, at the offset there; weak if it names only the scalar at the end; wrong if it names anything else; a miss if it
names nothing. With --btf only the detached BTF beside the binary is used. With --perf, that perf is asked
as well, about a made recording with a sample in each function, and graded the same way; `only`: what only it has right.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from made_recordings import write_samples
from perf_types_agreement import of_perf, plain

from undwarf.elf import ElfFile

TYPED = ("heap", "global", "stackvar")
SCALARS = (
    "char", "signed char", "unsigned char", "short", "short int", "short unsigned int", "unsigned short", "int",
    "unsigned int", "long", "long int", "long unsigned int", "unsigned long", "long long int", "long long unsigned int",
    "float", "double", "long double", "_Bool", "bool", "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64",
    "isize", "f32", "f64", "__int128", "u128", "i128", "size_t", "ssize_t", "ptrdiff_t", "intptr_t", "uintptr_t",
    *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)  # fmt: skip  # a table
PLAIN_SCALARS = frozenset(map(plain, SCALARS))


def is_leaf(name: str) -> bool:
    """A scalar's or pointer's name, as it is or as :func:`plain` makes it."""
    return plain(name) in PLAIN_SCALARS or name.endswith("*")


def fits(accept: dict[str, object], name: str, offset: int) -> bool:
    """Whether an answer is one of those that are right."""
    if plain(str(accept["type"])) != plain(name):
        return False
    span = accept.get("range")
    if isinstance(span, list):
        return bool(span[0] <= offset < span[1])
    return bool(accept["offset"] <= offset <= accept.get("max_offset", accept["offset"]))


def graded(entry: dict[str, object], name: str, offset: int) -> str:
    """Right, weak or wrong."""
    accepts = entry["accept"]
    assert isinstance(accepts, list)
    if any(fits(one, name, offset) for one in accepts):
        outer = [one for one in accepts if not is_leaf(str(one["type"])) and not str(one["type"]).endswith("[]")]
        return "weak" if outer and is_leaf(name) else "right"
    return "wrong"


def grade(entry: dict[str, object], answers: list[dict[str, object]]) -> tuple[str, str]:
    """(right, weak, wrong or miss; the answer)."""
    typed = [one for one in answers if one["type"] is not None]
    if not typed:
        return "miss", "; ".join(str(one["reason"] or "") for one in answers)
    access = str(entry.get("rw", ""))
    chosen = next((one for one in typed if one["access"] == access), typed[0])
    name, offset = str(chosen["type"]), int(str(chosen["offset_bytes"]))
    return graded(entry, name, offset), f"{name}+{offset} {chosen['field']} [{chosen['how']}]"


@dataclass
class Score:
    """Grades of ours and of perf's answers, and how many only perf has right."""

    ours: Counter[str] = field(default_factory=Counter)
    perf: Counter[str] = field(default_factory=Counter)
    only: int = 0

    def add(self, other: "Score") -> None:
        """Sum up."""
        self.ours += other.ours
        self.perf += other.perf
        self.only += other.only


def asked(binary: Path, addresses: str, extra: list[str]) -> dict[int, list[dict[str, object]]]:
    """Our answers by address. Exits where the command fails."""
    command = [sys.executable, "-m", "undwarf", "types", "--binary", str(binary), "--at", addresses, "--json", *extra]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{binary}: {done.stderr}")
    found: dict[int, list[dict[str, object]]] = {}
    for one in json.loads(done.stdout)["accesses"]:
        found.setdefault(int(one["address"], 16), []).append(one)
    return found


def asked_perf(
    binary: Path, entries: list[dict[str, object]], options: argparse.Namespace
) -> dict[int, tuple[str, int, str, str]]:
    """perf's answers by address, of all functions that are asked about."""
    first: dict[str, int] = {}
    for entry in entries:
        first.setdefault(str(entry["sym"]), int(str(entry["addr"]), 16))
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "perf.data"
        write_samples(recording, ElfFile.open(binary), first.values())
        return of_perf(recording, binary, options.perf, options.objdump)


def score(folder: Path, options: argparse.Namespace) -> Score | None:
    """Grades of one program."""
    truth = json.loads((folder / "truth.json").read_text())
    binary = folder / truth["binary"]
    extra = []
    if options.btf:
        detached = next(iter(folder.glob("*.btf")), None)
        if detached is None:
            return None
        extra = ["--btf", str(detached)]
    entries = [one for one in truth["entries"] if one["kind"] in TYPED and not one.get("ambiguous")]
    found = asked(binary, ",".join(dict.fromkeys(one["addr"] for one in entries)), extra)
    theirs = asked_perf(binary, entries, options) if options.perf else {}
    grades = Score()
    for entry in entries:
        at = int(entry["addr"], 16)
        mark, said = grade(entry, found.get(at, []))
        grades.ours[mark] += 1
        if options.perf:
            name, offset, _member, _text = theirs.get(at, ("", 0, "", ""))
            by_perf = graded(entry, name, offset) if name else "miss"
            grades.perf[by_perf] += 1
            if by_perf == "right" != mark:
                grades.only += 1
                said += f"; perf {name}+{offset}, right"
        if mark != "right" and options.verbose:
            expected = f"{entry['type']}+{entry['offset']} {entry['field']}"
            print(f"  {mark:5} {entry['addr']} {entry['sym']} `{entry['insn']}`: {expected}; said {said}")
    return grades


def main() -> int:
    """Print a row a program and the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--btf", action="store_true")
    parser.add_argument("--perf")
    parser.add_argument("--objdump", default="/usr/bin/objdump")
    parser.add_argument("-v", dest="verbose", action="store_true")
    options = parser.parse_intermixed_args()
    whole = Score()
    more = "   perf: right   weak  wrong   miss  right %   only" if options.perf else ""
    print(f"{'program':28} scored  right   weak  wrong   miss  right %{more}")
    for path in sorted(options.folder.glob("*/truth.json")):
        if options.programs and path.parent.name not in options.programs:
            continue
        grades = score(path.parent, options)
        if grades is not None:
            whole.add(grades)
            row(path.parent.name, grades)
    row("all", whole)
    return 0


def row(name: str, grades: Score) -> None:
    """One line of the table."""
    more = f"      {cells(grades.perf)} {grades.only:6}" if grades.perf else ""
    print(f"{name:28} {sum(grades.ours.values()):6} {cells(grades.ours)}{more}", flush=True)


def cells(grades: Counter[str]) -> str:
    """How many of each, and of a hundred how many are right."""
    told = " ".join(f"{grades[mark]:6}" for mark in ("right", "weak", "wrong", "miss"))
    return f"{told} {100 * grades['right'] / max(sum(grades.values()), 1):8.1f}"


if __name__ == "__main__":
    sys.exit(main())
