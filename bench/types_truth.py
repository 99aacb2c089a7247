"""Scores `undwarf types --binary --at` against recordings with truth found by single-stepping.

Usage: python bench/types_truth.py FOLDER [--btf] [-v] [PROGRAM...]

FOLDER holds one folder a program: the binary, and `truth.json` with the type and offset of every executed memory
operand of its hot functions. An answer is right if it names the type, or one around or inside it that holds the same
byte, at the offset there; weak if it names only the scalar at the end; wrong if it names anything else; a miss if it
names nothing. With --btf only the detached BTF beside the binary is used.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

TYPED = ("heap", "global", "stackvar")
SCALARS = (
    "char", "signed char", "unsigned char", "short", "short int", "short unsigned int", "unsigned short", "int",
    "unsigned int", "long", "long int", "long unsigned int", "unsigned long", "long long int", "long long unsigned int",
    "float", "double", "long double", "_Bool", "bool", "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64",
    "isize", "f32", "f64", "__int128", "u128", "i128",
)  # fmt: skip


def is_leaf(name: str) -> bool:
    """A scalar's or pointer's name."""
    return name in SCALARS or name.endswith("*")


def fits(accept: dict[str, object], name: str, offset: int) -> bool:
    """Whether an answer is one of those that are right."""
    if accept["type"] != name:
        return False
    span = accept.get("range")
    if isinstance(span, list):
        return bool(span[0] <= offset < span[1])
    return bool(accept["offset"] <= offset <= accept.get("max_offset", accept["offset"]))  # type: ignore[operator]


def grade(entry: dict[str, object], answers: list[dict[str, object]]) -> tuple[str, str]:
    """(right, weak, wrong or miss; what was said)."""
    typed = [one for one in answers if one["type"] is not None]
    if not typed:
        return "miss", "; ".join(str(one.get("reason", "")) for one in answers)
    access = str(entry.get("rw", ""))
    chosen = next((one for one in typed if one["access"] == access), typed[0])
    name, offset = str(chosen["type"]), int(str(chosen["offset"]))
    said = f"{name}+{offset} {chosen['field']} [{chosen['how']}]"
    accepts = entry["accept"]
    assert isinstance(accepts, list)
    if any(fits(one, name, offset) for one in accepts):
        outer = [one for one in accepts if not is_leaf(str(one["type"])) and not str(one["type"]).endswith("[]")]
        return ("weak" if outer and is_leaf(name) else "right"), said
    return "wrong", said


def score(folder: Path, *, btf: bool, verbose: bool) -> Counter[str] | None:
    """Grades of one program."""
    truth = json.loads((folder / "truth.json").read_text())
    binary = folder / truth["binary"]
    extra = []
    if btf:
        detached = next(iter(folder.glob("*.btf")), None)
        if detached is None:
            return None
        extra = ["--btf", str(detached)]
    entries = [one for one in truth["entries"] if one["kind"] in TYPED and not one.get("ambiguous")]
    addresses = ",".join(dict.fromkeys(one["addr"] for one in entries))
    done = subprocess.run(
        [sys.executable, "-m", "undwarf", "types", "--binary", str(binary), "--at", addresses, "--json", *extra],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{folder}: {done.stderr}")
    found: dict[int, list[dict[str, object]]] = {}
    for one in json.loads(done.stdout):
        found.setdefault(int(one["address"], 16), []).append(one)
    grades: Counter[str] = Counter()
    for entry in entries:
        mark, said = grade(entry, found.get(int(entry["addr"], 16), []))
        grades[mark] += 1
        if mark != "right" and verbose:
            expected = f"{entry['type']}+{entry['offset']} {entry['field']}"
            print(f"  {mark:5} {entry['addr']} {entry['sym']} `{entry['insn']}`: {expected}; said {said}")
    return grades


def main(arguments: list[str]) -> int:
    """Print a row a program and the sum."""
    btf, verbose = "--btf" in arguments, "-v" in arguments
    names = [one for one in arguments if not one.startswith("-")]
    if not names:
        print(__doc__)
        return 2
    whole: Counter[str] = Counter()
    print(f"{'program':28} scored  right   weak  wrong   miss  right %")
    for path in sorted(Path(names[0]).glob("*/truth.json")):
        if names[1:] and path.parent.name not in names[1:]:
            continue
        grades = score(path.parent, btf=btf, verbose=verbose)
        if grades is not None:
            whole += grades
            row(path.parent.name, grades)
    row("all", whole)
    return 0


def row(name: str, grades: Counter[str]) -> None:
    """One line of the table."""
    total = sum(grades.values())
    cells = " ".join(f"{grades[mark]:6}" for mark in ("right", "weak", "wrong", "miss"))
    print(f"{name:28} {total:6} {cells} {100 * grades['right'] / max(total, 1):8.1f}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
