"""Call frame information from any bytes: ``python fuzz/fuzz_cfi.py [CORPUS...]``.

Runs under atheris where it is installed. Without it, ``python fuzz/fuzz_cfi.py [SECONDS [SEED]]`` mutates the call
frame sections of binaries found on this machine.
"""

import random
import sys
import time
from pathlib import Path

from undwarf.elf import ElfFile
from undwarf.errors import UndwarfError
from undwarf.limits import Limits
from undwarf.tables.cfi import Programs, RuleSet
from undwarf.tables.entries import Entries
from undwarf.tables.model import NO_RULE, UnwindTable, describe

LIMITS = Limits(cfi_steps=2000, cfi_rows=500, remember_depth=8, fdes=5000, rules=3000)
SEED_FILES = ("/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6", sys.executable)


def one_input(data: bytes) -> None:
    """The first byte chooses: 0x7f an ELF file, else the shape of a section whose bytes are the rest."""
    if data[:1] == b"\x7f":
        try:
            table = UnwindTable.from_elf(ElfFile.from_bytes(data, limits=LIMITS), limits=LIMITS)
        except UndwarfError:
            return
        table.more(0x1234)
        for _ in table:
            pass
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
    stopped = entries.scan(bool(shape & 8))
    if stopped and shape & 16:
        entries.take(range(entries.at, min(len(data), entries.at + 200)))
    entries.arrange()
    rules = RuleSet(LIMITS)
    programs = Programs(
        entries, rules, source=1, registers=34 if shape & 4 else 17, signing=bool(shape & 4), limits=LIMITS
    )
    rows = [programs.rows(entries.entry[i], entries.starts[i], entries.ends[i]) for i in range(len(entries.starts))]
    check(entries.starts, entries.ends, rows, rules, machine)


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
    """Inputs to start from: sections of real binaries, cut to what is quick."""
    found = []
    for name in SEED_FILES:
        if not Path(name).exists():
            continue
        elf = ElfFile.open(name)
        data = elf.section_data(".eh_frame")
        if data is not None:
            found.extend(b"\x08" + bytes(data[:size]) for size in (200, 2000, 8000))
    return found or [b"\x08" + bytes(100)]


def mutate(data: bytes, chance: random.Random) -> bytes:
    """A copy with some damage."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(changed))
        kind = chance.randrange(5)
        if kind == 0:
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            changed[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        elif kind == 2:
            changed[at : at + 4] = chance.choice((bytes(4), b"\xff" * 4, b"\xf0\xff\xff\xff", b"\x80" * 4))
        elif kind == 3:
            changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 9)))
        elif len(changed) > 20:
            del changed[at : at + chance.randrange(1, 9)]
    if chance.randrange(8) == 0:
        changed = changed[: chance.randrange(1, len(changed) + 1)]
    changed[0] = chance.randrange(32) if chance.randrange(4) == 0 else 0x08
    return bytes(changed)


def run(seconds: float, seed: int) -> int:
    """Mutates seeds for a while; how many inputs were tried. The one that fails is kept in ``crash-cfi``."""
    chance = random.Random(seed)
    start = seeds()
    until = time.monotonic() + seconds
    tried = 0
    while time.monotonic() < until:
        data = mutate(chance.choice(start), chance)
        tried += 1
        try:
            one_input(data)
        except BaseException:
            Path("crash-cfi").write_bytes(data)
            raise
    return tried


if __name__ == "__main__":
    try:
        import atheris  # type: ignore[import-not-found]
    except ImportError:
        length = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
        print(run(length, int(sys.argv[2]) if len(sys.argv) > 2 else 0), "inputs, no failure")
    else:
        atheris.Setup(sys.argv, one_input)
        atheris.Fuzz()
