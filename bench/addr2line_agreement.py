"""How often `undwarf addr2line` agrees with other tools: ``bench/addr2line_agreement.py [--addresses N] [NAME...]``.

The last function of a chain has code of its own and several names: the symbol's, its aliases', the one in DWARF without
the suffix of a clone. Any of them counts as the same function; how many agree to the letter is told as well.

Builds programs of all kinds (compilers, languages, DWARF versions, split, packed, shared by dwz, not linked), or takes
binaries given by ``--binary``; asks for random addresses of their code; and counts those whose whole chain (function,
file and line of every frame) is what at least one of GNU addr2line, elfutils' and llvm-symbolizer says.

GNU_ADDR2LINE (a second one), EU_ADDR2LINE and OBJCOPY (one that packs with zstd) may name others than in the path.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.elf.headers import ET_REL, SHF_EXECINSTR, SHT_NOBITS
from undwarf.images import Finder

HERE = Path(__file__).parent
Chain = list[tuple[str, str, int]]

OTHERS = {
    "gnu": "addr2line",
    "gnu-new": os.environ.get("GNU_ADDR2LINE", ""),
    "elfutils": os.environ.get("EU_ADDR2LINE", "eu-addr2line"),
    "llvm": "llvm-symbolizer",
}
OPTIONS = {"elfutils": ["-A"], "llvm": ["--no-demangle", "--output-style=GNU"]}

CASES: dict[str, tuple[str, ...]] = {
    "gcc": ("gcc -O2 -g sort.c -o {out}",),
    "gcc-O0": ("gcc -O0 -g sort.c -o {out}",),
    "gcc-dwarf3": ("gcc -O2 -gdwarf-3 sort.c -o {out}",),
    "g++": ("g++ -O2 -g template.cpp -o {out}",),
    "g++-dwarf4": ("g++ -O2 -gdwarf-4 template.cpp -o {out}",),
    "g++-types": ("g++ -O2 -g -fdebug-types-section template.cpp -o {out}",),
    "clang": ("clang -O2 -g sort.c -o {out}",),
    "clang++": ("clang++ -std=c++17 -O2 -g template.cpp -o {out}",),
    "clang++-dwarf4": ("clang++ -std=c++17 -O2 -gdwarf-4 template.cpp -o {out}",),
    "rustc": ("rustc -C opt-level=3 -g words.rs -o {out}",),
    "g++-lto": (
        "g++ -O2 -g -flto=1 -c template.cpp -o lto1.o",
        "g++ -O2 -g -flto=1 -c other.cpp -o lto2.o",
        "g++ -O2 -g -flto=1 lto1.o lto2.o -DX -o {out}",
    ),
    "clang++-lto": ("clang++ -std=c++17 -O2 -g -flto template.cpp -o {out}",),
    "split-4": ("g++ -O2 -gdwarf-4 -gsplit-dwarf template.cpp -o {out}",),
    "split-5": ("g++ -O2 -gdwarf-5 -gsplit-dwarf template.cpp -o {out}",),
    "split-clang": (
        "clang++ -std=c++17 -O2 -gdwarf-5 -gsplit-dwarf -c template.cpp -o splitc.o",
        "clang++ splitc.o -o {out}",
    ),
    "dwp-4": (
        "g++ -O2 -gdwarf-4 -gsplit-dwarf -c template.cpp -o p4.o",
        "g++ p4.o -o {out}",
        "dwp -e {out} -o {out}.dwp",
        "rm p4.dwo",
    ),
    "dwp-5": (
        "clang++ -std=c++17 -O2 -gdwarf-5 -gsplit-dwarf -c template.cpp -o p5.o",
        "clang++ p5.o -o {out}",
        "llvm-dwp -e {out} -o {out}.dwp",
        "rm p5.dwo",
    ),
    "dwz": (
        "g++ -O2 -g template.cpp -o {out}",
        "g++ -O2 -g template.cpp -DX -o {out}-2",
        "dwz -m common.dwz {out} {out}-2",
    ),
    "dwz-alone": ("g++ -O2 -g template.cpp other.cpp -DY -o {out}", "dwz {out}"),
    "object": ("g++ -O2 -g -c template.cpp -o {out}",),
    "object-clang": ("clang++ -std=c++17 -O2 -g -c template.cpp -o {out}",),
    "object-types": ("g++ -O2 -g -fdebug-types-section -c template.cpp -o {out}",),
    "object-rel": ("gcc -O2 -g -m32 -ffreestanding -c plain.c -o {out}",),
    "zlib": ("g++ -O2 -g -gz=zlib template.cpp -o {out}",),
    "zdebug": ("g++ -O2 -g template.cpp -o {out}", "objcopy --compress-debug-sections=zlib-gnu {out}"),
    "zstd": (
        "g++ -O2 -g template.cpp -o {out}",
        "{objcopy} --compress-debug-sections=zstd {out}",
    ),
}


def build(name: str, folder: Path) -> Path:
    """The program of a case, made unless it is there."""
    out = folder / name
    if not out.exists():
        for source in (HERE / "sources").glob("*"):
            shutil.copy(source, folder)
        for line in CASES[name]:
            line = line.format(out=out, objcopy=os.environ.get("OBJCOPY", "objcopy"))
            subprocess.run(line.split(), cwd=folder, check=True, capture_output=True, text=True)
    return out


def addresses_of(path: Path, count: int, seed: int) -> list[int]:
    """Random addresses of code; of a file that is not linked those of its first section with code."""
    elf = ElfFile.open(path)
    sections = [one for one in elf.sections if one.flags & SHF_EXECINSTR and one.size and one.type != SHT_NOBITS]
    text = [one for one in sections if one.name == ".text"]
    sections = sections[:1] if elf.kind == ET_REL else text or sections
    chance = random.Random(seed)
    weights = [one.size for one in sections]
    chosen = chance.choices(sections, weights, k=count)
    return [chance.randrange(one.address, one.address + one.size) for one in chosen]


def ask(command: list[str], addresses: list[int]) -> list[Chain]:
    """The inline chains that a program prints for addresses."""
    text = "".join(f"{address:#x}\n" for address in addresses)
    done = subprocess.run(command, input=text, capture_output=True, text=True, errors="backslashreplace")
    found: list[Chain] = []
    name: str | None = None
    for line in done.stdout.splitlines():
        if not line:
            continue
        if line.startswith("0x") and ":" not in line:
            found.append([])
            name = None
        elif name is None:
            name = re.sub(r" inlined at .*", "", line)
        elif found:
            found[-1].append(("" if name.startswith("?") else name, *place_of(line)))
            name = None
    return found


def place_of(line: str) -> tuple[str, int]:
    """File and line of ``file:line``, ``file:line:column`` or ``file:line (discriminator 3)``; 0 for ``?``."""
    line = re.sub(r" \(discriminator \d+\)$", "", line)
    match = re.match(r"(.*?):(\d+|\?)(?::\d+)?$", line)
    if match is None:
        return "", 0
    file = "" if match[1].startswith("?") else os.path.normpath(match[1])
    number = int(match[2]) if match[2].isdigit() else 0
    # Where there is no line, some print the file that the symbol table has before the symbol.
    return (file, number) if number or "/" in file else ("", 0)


CLONE = re.compile(r"(\.(isra|part|constprop|cold|lto_priv|localalias|llvm)(\.\d+)?)+$")


class Names:
    """The names that functions of a binary have."""

    def __init__(self, path: Path) -> None:
        at: dict[str, set[str]] = {}
        debug = Finder().debug_file(ElfFile.open(path), str(path))
        for file in (str(path), debug.path if debug is not None else ""):
            out = subprocess.run(["nm", "-a", file], capture_output=True, text=True).stdout if file else ""
            rows = [line.split(" ", 2) for line in out.splitlines() if line[:1] != " "]
            for row in rows:
                if len(row) == 3:
                    at.setdefault(row[0], set()).add(row[2].partition("@")[0])
        self._aliases: dict[str, set[str]] = {}
        for names in at.values():
            for name in names:
                self._aliases.setdefault(CLONE.sub("", name), set()).update(CLONE.sub("", one) for one in names)
        self._plain: dict[str, str] = {}

    def same(self, mine: str, other: str) -> bool:
        """Whether two names mean one function."""
        if mine == other:
            return True
        mine, other = (CLONE.sub("", name.partition("@")[0]) for name in (mine, other))
        if mine == other or other in self._aliases.get(mine, ()):
            return True
        return not other.startswith(("_Z", "_R")) and bool(other) and self.plain(mine) == other.partition("<")[0]

    def plain(self, name: str) -> str:
        """The last part of a demangled name without parameters."""
        found = self._plain.get(name)
        if found is None:
            text = subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip()
            text = re.sub(r"\(anonymous namespace\)::", "", text)
            while (cut := re.sub(r"<[^<>]*>", "", text)) != text:
                text = cut
            found = self._plain[name] = text.partition("(")[0].split(" ")[-1].rpartition("::")[2]
        return found


def main() -> int:
    """1 where a case is below what is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--addresses", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where programs are built, and found again")
    parser.add_argument("--binary", action="append", default=[], type=Path, help="an existing binary")
    parser.add_argument("--least", type=float, default=99.5, help="percent")
    parser.add_argument("--show", type=int, default=3, help="differences to show of each")
    parser.add_argument("--without", action="append", default=[], choices=OTHERS, help="a program not to ask")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="agreement-"))
    folder.mkdir(parents=True, exist_ok=True)
    below = 0
    wanted = arguments.cases or ([] if arguments.binary else list(CASES))
    for name in [*arguments.binary, *wanted]:
        try:
            path = name if isinstance(name, Path) else build(name, folder)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name}: not built: {getattr(error, 'stderr', '') or error}"[:300])
            continue
        below += compare(str(name), path, arguments) < arguments.least
    return below > 0


def alike(mine: Chain, other: Chain, names: Names) -> bool:
    """Whether two chains are the same."""
    if len(mine) != len(other) or not mine or mine[:-1] != other[:-1] or mine[-1][1:] != other[-1][1:]:
        return False
    return names.same(mine[-1][0], other[-1][0])


def compare(name: str, path: Path, arguments: argparse.Namespace) -> float:
    """Percent of addresses that agree with one of the others."""
    addresses = addresses_of(path, arguments.addresses, arguments.seed)
    ours = ask([sys.executable, "-m", "undwarf", "addr2line", "-a", "-f", "-i", "-e", str(path)], addresses)
    answers = {}
    for other, program in OTHERS.items():
        if shutil.which(program) and other not in arguments.without:
            answer = ask([program, *OPTIONS.get(other, []), "-a", "-f", "-i", "-e", str(path)], addresses)
            if len(answer) == len(addresses):
                answers[other] = answer
            else:
                print(f"  {other}: {len(answer)} answers to {len(addresses)} questions")
    names = Names(path)
    same, exact, shown, inlined = 0, 0, 0, 0
    each = dict.fromkeys(answers, 0)
    for i, address in enumerate(addresses):
        mine = ours[i] if i < len(ours) else []
        inlined += len(mine) > 1
        like = [other for other, answer in answers.items() if alike(mine, answer[i], names)]
        exact += any(answer[i] == mine for answer in answers.values())
        for other in like:
            each[other] += 1
        same += bool(like)
        if not like and shown < arguments.show:
            shown += 1
            print(f"  {address:#x} ours {len(mine)} {mine[-1:]}")
            for other, answer in answers.items():
                first = next(
                    (k for k, pair in enumerate(zip(mine, answer[i], strict=False)) if pair[0] != pair[1]), None
                )
                differs = f"frame {first}: {mine[first]} / {answer[i][first]}" if first is not None else ""
                print(f"  {'':{len(hex(address))}} {other} {len(answer[i])} {differs}")
    percent = 100 * same / len(addresses)
    letter = 100 * exact / len(addresses)
    alone = ", ".join(f"{other} {100 * count / len(addresses):.1f}" for other, count in each.items())
    print(
        f"{name}: {percent:.2f} % of {len(addresses)} (to the letter {letter:.2f}; {alone}; {inlined} inlined)",
        flush=True,
    )
    return percent


if __name__ == "__main__":
    sys.exit(main())
