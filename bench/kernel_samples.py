"""A recording with samples at memory accesses of a kernel that does not run: ``bench/kernel_samples.py VMLINUX OUT``.

VMLINUX is a kernel with symbols and DWARF, as of a distribution's debug package. Sampled is what accesses memory in
``--functions`` functions, taken by chance (``--seed``) or named (``--only``): all of it, or ``--each`` instructions a
function. The kernel lies where it was linked to be. ``perf report --vmlinux VMLINUX -s type,typeoff`` and ``undwarf
types --vmlinux VMLINUX`` take the file for a recording of that kernel by its build-id.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from made_recordings import write_samples

from undwarf.elf import ElfFile
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.types.open_resolver import open_resolver


def accesses(elf: ElfFile, only: list[str], count: int, each: int, chance: random.Random) -> Iterator[int]:
    """Addresses of instructions that access memory."""
    symbols, resolver = symbols_of_elf(elf), open_resolver(elf)
    if symbols is None or resolver is None:
        sys.exit(f"{elf.path}: no symbols or no types")
    functions = sorted(set(symbols.ranges()[0]))
    chance.shuffle(functions)
    if only:
        functions = [at for at in (symbols.address_of_name(name.encode()) for name in only) if at is not None]
    for low in functions:
        if not only and count <= 0:
            return
        place = resolver.instruction(low)
        found = []
        for k in range(len(place[0])) if place is not None else ():
            made = place[0][k]
            if any(one.access and not one.implicit for one in made.memory):
                found.append(made.address)
        if found:
            count -= 1
            yield from chance.sample(found, min(each, len(found))) if each else found


def main() -> int:
    """Writes the recording."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("vmlinux", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--functions", type=int, default=250)
    options.add_argument("--only", nargs="+", default=[])
    options.add_argument("--each", type=int, default=0)
    options.add_argument("--seed", type=int, default=1)
    arguments = options.parse_args()
    elf = ElfFile.open(arguments.vmlinux)
    chance = random.Random(arguments.seed)
    at = list(accesses(elf, arguments.only, arguments.functions, arguments.each, chance))
    chance.shuffle(at)
    write_samples(arguments.out, elf, at, kernel=True)
    print(f"{len(at)} samples")
    return 0


if __name__ == "__main__":
    sys.exit(main())
