"""Call frame information from any bytes: a table keeps its promises or the file is refused."""

import sys
from pathlib import Path

import mutate

from undwarf.elf import ElfFile
from undwarf.errors import UndwarfError
from undwarf.limits import Limits
from undwarf.tables.cfi.entries import Entries
from undwarf.tables.cfi.program import Programs
from undwarf.tables.disk.cache import Key, read, write
from undwarf.tables.model import NO_RULE, UnwindTable, describe
from undwarf.tables.row_table import RowTable
from undwarf.tables.rule_set import RuleSet

LIMITS = Limits(cfi_steps=2000, cfi_rows=500, remember_depth=8, fdes=5000, rules=3000)
SEED_FILES = ("/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6", "/usr/bin/true", sys.executable)


def one_input(data: bytes) -> None:
    """The first byte chooses: 0x7f an ELF file, else the shape of a section whose bytes are the rest."""
    if data[:1] == b"\x7f":
        try:
            table = UnwindTable.from_elf(ElfFile.from_bytes(data, limits=LIMITS), limits=LIMITS)
        except UndwarfError:
            return
        table.more(0x1234)
        quick = UnwindTable.from_elf(ElfFile.from_bytes(data, limits=LIMITS), limits=LIMITS, quick=True)
        rows = [quick.rows(i) for i in range(len(quick))]
        check(quick.starts, quick.ends, rows, quick.rules, quick.machine)
        quick.more(0x1234)
        for _ in table:
            pass
        check_kept(data)
        check(table.starts, table.ends, [table.rows(i) for i in range(len(table))], table.rules, table.machine)
        return
    shape = data[0] if data else 0
    debug = bool(shape & 1)
    address = 0 if debug else 0x1000
    machine = 183 if shape & 4 else 62
    entries = Entries(
        memoryview(data[1:]),
        address,
        debug=debug,
        word=4 if shape & 2 else 8,
        code=[(0, 1 << 64)],
        max_entries=LIMITS.fdes,
    )
    if not (shape & 32 and len(data) > 1 and entries.index(memoryview(data), 2, data[1], 0x1000)):
        stopped = entries.scan(bool(shape & 8))
        if stopped and shape & 16:
            entries.take(range(entries.at, min(len(data), entries.at + 200)))
        entries.arrange()
    rules = RuleSet(LIMITS)
    programs = Programs(
        entries, rules, source=1, registers=34 if shape & 4 else 17, signing=bool(shape & 4), limits=LIMITS
    )
    numbers = range(len(entries.starts)) if entries.entry is None else entries.entry
    compiled = RowTable(programs, rules.lock, entries.total)
    rows = [compiled.rows(n, entries.starts[i], entries.ends[i]) for i, n in enumerate(numbers)]
    check(entries.starts, entries.ends, rows, rules, machine)


def check_kept(data: bytes) -> None:
    """Rows that one run cached are the same in the next one, which reads nothing for them."""
    elf = ElfFile.from_bytes(data, limits=LIMITS)
    cold = UnwindTable.from_elf(elf, limits=LIMITS, quick=True)
    places = [0, 0x1234, (1 << 64) - 1]
    for function in range(0, len(cold), 1 + len(cold) // 10):
        places += [cold.starts[function], cold.ends[function] - 1, cold.ends[function]]
    found = [cold.rule_at(place) for place in places]
    key = Key("x.table", b"", bytes(16), 34 if elf.machine == 183 else 17, "")
    made = write(cold.known(), cold.rules, key)
    rules = RuleSet(LIMITS)
    stored = read(memoryview(made), rules, key) if made is not None else None
    if made is None:
        return
    assert stored is not None, "what was written can be read"
    warm = UnwindTable.from_elf(elf, limits=LIMITS, quick=True, rules=rules, kept=stored.rows)
    for place, rule in zip(places, found, strict=True):
        if place < 1 << 32:
            assert warm.rule_at(place) == rule, "a kept row is the row"
            assert warm.built == 0, "kept rows are enough"


def check(
    starts: memoryview, ends: memoryview, rows: list[tuple[memoryview, memoryview]], rules: RuleSet, machine: int
) -> None:
    """What a table promises, whatever its bytes were."""
    before = 0
    for start, end, (addresses, numbers) in zip(starts, ends, rows, strict=True):
        assert before <= start < end, "ranges are sorted, disjoint and not empty"
        before = end
        assert len(addresses) == len(numbers) >= 1, "a function has a row"
        assert addresses[0] == start, "the first row is at the start"
        assert all(addresses[i] < addresses[i + 1] for i in range(len(addresses) - 1)), "rows ascend"
        assert addresses[len(addresses) - 1] < end, "rows lie in the function"
        assert all(number == NO_RULE or number < len(rules) for number in numbers), "rules exist"
    expressions = len(rules.expression_offsets) - 1
    for number in range(len(rules)):
        words = rules.words(number)
        describe(rules, number, machine)
        known = 34 if machine == 183 else 17
        assert 1 <= words[0] <= 4 and 0 <= words[1] < known and 0 <= words[6] <= 18, "rules are well formed"
        assert words[0] != 4 or 0 <= words[3] < expressions, "a rule's expression exists"
        for k in range(words[6]):
            register, kind, value, base = words[8 + 4 * k : 12 + 4 * k]
            assert 0 <= register < known and 1 <= kind <= 7 and 0 <= base < known, "entries are well formed"
            assert kind != 4 or 0 <= value < known, "a register's value is in a known register"
            assert kind < 6 or 0 <= value < expressions, "an entry's expression exists"


def seeds() -> list[bytes]:
    """Inputs to start from: sections of real binaries, cut to what is quick, also after a search table of their own;
    small binaries."""
    found = []
    for name in SEED_FILES:
        if not Path(name).exists():
            continue
        elf = ElfFile.open(name)
        if len(elf.data) < 50_000:
            found.append(bytes(elf.data))
        data = elf.section_data(".eh_frame")
        if data is not None:
            found.extend(b"\x08" + bytes(data[:size]) for size in (200, 2000, 8000))
            found.append(with_table(bytes(data[:2000])))
    return found or [b"\x08" + bytes(100)]


def with_table(section: bytes) -> bytes:
    """A section after a table of its functions, as :func:`one_input` reads one."""
    # One byte is the number of functions in the table; the section stays aligned.
    data = bytes(len(section) + 4) + section
    entries = Entries(memoryview(data), 0x1000, debug=False, word=8, code=[(0, 1 << 64)], max_entries=1000)
    entries.scan(True)
    offsets, at = [], len(section) + 4
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "little")
        if data[at + 4 : at + 8] != bytes(4) and at + 4 + length <= len(data):
            offsets.append(at)
        at += 4 + length
    pairs = sorted(zip(entries.origins, offsets, strict=False))[:255]
    table = b"".join(
        (start - 0x1000 & 0xFFFFFFFF).to_bytes(4, "little") + offset.to_bytes(4, "little") for start, offset in pairs
    )
    return bytes((0x20, len(pairs))) + table.ljust(len(section) + 3, b"\0") + section


if __name__ == "__main__":
    mutate.main(one_input, seeds())
