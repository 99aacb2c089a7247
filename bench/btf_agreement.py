"""Where data types from BTF alone and from DWARF differ: ``bench/btf_agreement.py ELF BTF [--count N] [-v]``.

ELF has DWARF, as a kernel's vmlinux of a distribution's debug package; BTF describes the same program
(`objcopy -O binary --only-section=.BTF`). Asked are N memory accesses, each of another function. Where both name a
type, DWARF, which knows where variables are, is taken for the truth. Printed are, by how BTF's answer was found: the
same place; one around or inside of it, with the same member at the end; something else; something where DWARF says
there is no data (the compiler's own places), or says nothing. Bytes that are cast are something else here, though both
may be right.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.types.open_resolver import open_resolver

KINDS = ("same", "nested", "other", "no data", "DWARF unknown")


def accesses(path: Path, count: int, seed: int) -> list[int]:
    """Addresses of instructions that access memory, one a function."""
    elf = ElfFile.open(path)
    symbols = symbols_of_elf(elf)
    resolver = open_resolver(elf)
    if symbols is None or resolver is None:
        sys.exit(f"{path}: no symbols or no types")
    chance = random.Random(seed)
    functions = sorted(set(symbols.ranges()[0]))
    chance.shuffle(functions)
    found: list[int] = []
    for low in functions:
        place = resolver.instruction(low)
        if place is None:
            continue
        listing = place[0]
        some = [
            k
            for k in range(len(listing))
            if any(operand.access and not operand.implicit for operand in listing[k].memory)
        ]
        if some:
            found.append(listing.address_of(chance.choice(some)))
        if len(found) >= count:
            break
    return sorted(found)


def answers(path: Path, at: list[int], *more: str) -> tuple[dict[str, list[dict[str, object]]], float]:
    """(answers by address, seconds)."""
    command = [sys.executable, "-m", "undwarf", "types", "--binary", str(path), *more, "--json", "--at", "@/dev/stdin"]
    begun = time.perf_counter()
    asked = ",".join(f"{one:x}" for one in at)
    done = subprocess.run(command, input=asked, check=True, capture_output=True, text=True)
    found: dict[str, list[dict[str, object]]] = {}
    for one in json.loads(done.stdout)["accesses"]:
        found.setdefault(one["address"], []).append(one)
    return found, time.perf_counter() - begun


def leaf(one: dict[str, object]) -> str:
    """The innermost member."""
    return str(one["field"] or "").rpartition(".")[2].replace("[]", "")


def compare(truth: dict[str, object], answer: dict[str, object]) -> str:
    """How an answer from BTF relates to DWARF's."""
    if truth["type"] is None:
        return "no data" if truth["how"] else "DWARF unknown"
    if (truth["type"], truth["offset_bytes"]) == (answer["type"], answer["offset_bytes"]):
        return "same"
    return "nested" if leaf(truth) == leaf(answer) or not answer["field"] else "other"


def main() -> int:
    """A row for each kind of evidence, and the sum."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("elf", type=Path, metavar="ELF")
    options.add_argument("btf", type=Path, metavar="BTF")
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("-v", dest="verbose", action="store_true", help="list what is neither the same nor nested")
    arguments = options.parse_args()
    at = accesses(arguments.elf, arguments.count, arguments.seed)
    by_dwarf, dwarf_seconds = answers(arguments.elf, at)
    by_btf, btf_seconds = answers(arguments.elf, at, "--btf", str(arguments.btf))
    counts: Counter[tuple[str, str]] = Counter()
    sums: Counter[str] = Counter()
    for address, told in by_btf.items():
        for truth, one in zip(by_dwarf[address], told, strict=True):
            data = truth["type"] is not None or not truth["how"]
            sums["data"] += data
            sums["DWARF"] += truth["type"] is not None
            if one["type"] is None:
                continue
            kind = compare(truth, one)
            counts[str(one["how"] or ""), kind] += 1
            if arguments.verbose and kind not in ("same", "nested"):
                said = (
                    f"{truth['type']}+{truth['offset_bytes']} {truth['field']}"
                    if truth["type"]
                    else str(truth["reason"])
                )
                print(f"  {address} `{one['insn']}`: {said}; BTF {one['type']}+{one['offset']} {one['field']}")
    print(f"{len(at)} accesses, {sums['data']} of data. DWARF types {sums['DWARF']} in {dwarf_seconds:.1f} s")
    print(f"{'by BTF':12}" + "".join(f"{kind:>14}" for kind in KINDS))
    for how in (*sorted({how for how, _kind in counts}), "all"):
        row = [sum(n for (by, of), n in counts.items() if how in (by, "all") and of == kind) for kind in KINDS]
        print(f"{how:12}" + "".join(f"{number:14}" for number in row))
    whole = sum(counts.values())
    right = sum(n for (_how, kind), n in counts.items() if kind in ("same", "nested"))
    print(f"BTF types {whole} in {btf_seconds:.1f} s, {100 * right / max(whole, 1):.1f} % of them as DWARF does")
    return 0


if __name__ == "__main__":
    sys.exit(main())
