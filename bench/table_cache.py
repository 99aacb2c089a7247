"""Unwind tables of whole binaries: bytes in each format, CPU time to build them, time of a lookup.

``bench/table_cache.py [BINARY...]``; without names, the C and C++ libraries, libcrypto, Python and the C compiler.
"""

import statistics
import sys
import time
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.tables import writers
from undwarf.tables.disk.cache import Key, read, write
from undwarf.tables.model import UnwindTable
from undwarf.tables.rule_set import RuleSet

USUAL = (
    "usr/lib/x86_64-linux-gnu/libc.so.6",
    "usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "usr/bin/python3*[0-9]",
    "usr/lib/gcc/x86_64-linux-gnu/*/cc1",
    "usr/lib/gcc/x86_64-linux-gnu/*/cc1plus",
)
ROUNDS = 5
LOOKUPS = 2_000_000


def timed(rounds: int, what: "object", *arguments: object) -> tuple[float, object]:
    """Median CPU seconds of a call, and what the last one gave."""
    spent, made = [], None
    for _ in range(rounds):
        start = time.process_time()
        made = what(*arguments)
        spent.append(time.process_time() - start)
    return statistics.median(spent), made


def build(elf: ElfFile) -> UnwindTable:
    table = UnwindTable.from_elf(elf)
    table.complete()
    table.functions.all_columns()
    return table


def main() -> int:
    names = sys.argv[1:] or sorted({str(found.resolve()) for name in USUAL for found in Path("/").glob(name)})
    print(
        f"{'binary':<22}{'functions':>10}{'rows':>9}{'rules':>7}{'eh_frame+hdr':>14}{'sframe 3':>11}{'cache':>11}"
        f"{'':>8}{'build':>9}{'read':>9}{'lookup':>9}"
    )
    for name in names:
        elf = ElfFile.open(name)
        build_time, table = timed(ROUNDS, build, elf)
        assert isinstance(table, UnwindTable)
        columns = table.functions.all_columns()
        key = Key("", elf.build_id, bytes(16), 17, name)
        made = write(columns, table.rules, key)
        sections = [elf.section_data(one) for one in (".eh_frame", ".eh_frame_hdr")]
        base = sum(len(data) for data in sections if data is not None)
        sframe = sum(section.size for section in writers.write("sframe", table, elf, "3").sections)
        if made is None or not base:
            print(f"{Path(name).name:<22} cannot be kept, or has no .eh_frame")
            continue
        read_time, _ = timed(ROUNDS, lambda made=made, key=key: read(memoryview(made), RuleSet(), key).rows.unpack())
        stored = read(memoryview(made), RuleSet(), key)
        assert stored is not None
        # Random addresses all over the code: neither the processor's caches nor its guesses help.
        lookup, _ = timed(ROUNDS, stored.rows.lookups, LOOKUPS, table.starts[0], table.ends[len(table) - 1])
        print(
            f"{Path(name).name:<22}{len(table):>10,}{len(columns[0]):>9,}{len(table.rules):>7,}{base:>14,}{sframe:>11,}"
            f"{len(made):>11,}{len(made) / base:>7.2f}x{build_time * 1e3:>6.1f} ms{read_time * 1e3:>6.1f} ms"
            f"{lookup / LOOKUPS * 1e9:>6.0f} ns"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
