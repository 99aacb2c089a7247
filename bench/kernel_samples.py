"""A recording with samples at memory accesses of a kernel that does not run: ``bench/kernel_samples.py VMLINUX OUT``.

VMLINUX is a kernel with symbols and DWARF, as of a distribution's debug package. Sampled is what accesses memory in
``--functions`` functions, taken by chance (``--seed``) or named (``--only``): all of it, or ``--each`` instructions a
function. The kernel lies where it was linked to be. ``perf report --vmlinux VMLINUX -s type,typeoff`` and ``undwarf
types --vmlinux VMLINUX`` take the file for a recording of that kernel by its build-id.
"""

import argparse
import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.elf.headers import PF_X
from undwarf.perfdata import EventAttr, SampleField
from undwarf.perfdata import feature_bytes as encode
from undwarf.perfdata.encode import name_bytes, record
from undwarf.perfdata.features import BuildId, Feature
from undwarf.perfdata.records import CpuMode, RecordType
from undwarf.perfdata.writer import PerfWriter
from undwarf.symbols.elf_symbols import symbols_of_elf
from undwarf.types.opening import open_resolver

KERNEL = int(CpuMode.KERNEL)
EVENT = EventAttr(
    name="cpu-clock", type=1, config=0, sample_period=1000, freq=False,
    sample_type=SampleField.IP | SampleField.TID | SampleField.TIME | SampleField.PERIOD, read_format=0, flags=0,
    sample_id_all=False, config1=0, config2=0, branch_sample_type=0, sample_regs_user=0, sample_stack_user=0,
    clockid=None, sample_regs_intr=0, sample_max_stack=0, ids=(),
)  # fmt: skip


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
    text = min((one for one in elf.loads if one.flags & PF_X), key=lambda one: one.address)
    mapped = struct.pack("=iIQQQ", -1, 0xFFFFFFFF, text.address, text.memory_size, text.address)
    features = {
        Feature.OSRELEASE: encode.string("0"),
        Feature.ARCH: encode.string("x86_64"),
        Feature.BUILD_ID: encode.build_ids([BuildId(-1, bytes(elf.build_id), "[kernel.kallsyms]", KERNEL)]),
    }
    with arguments.out.open("wb") as sink, PerfWriter(sink, [EVENT], features=features) as writer:
        writer.write(record(RecordType.MMAP, mapped + name_bytes(b"[kernel.kallsyms]_text"), KERNEL))
        for number, one in enumerate(at):
            writer.write(record(RecordType.SAMPLE, struct.pack("=QIIQQ", one, 1, 1, 1000 * number, 1000), KERNEL))
    print(f"{len(at)} samples")
    return 0


if __name__ == "__main__":
    sys.exit(main())
