"""Cached unwind tables from any bytes with a valid checksum: refused, or columns that keep their promises."""

import sys
from array import array
from hashlib import blake2b
from pathlib import Path

import mutate

from undwarf.elf import ElfFile
from undwarf.tables.disk.cache import Key, read, write
from undwarf.tables.model import UnwindTable, describe
from undwarf.tables.rule_set import RuleSet

UNKNOWN = 0xFFFFFFFE
HEADER, MARK, ID_AT = 40, 16, 108
"""Bytes before what the checksum covers; of a fingerprint; before the build-id."""
SEED_FILES = ("/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6", sys.executable)


def one_input(data: bytes) -> None:
    """A file whose size and checksum are made to fit; its binary is the one it names."""
    body = data[HEADER:]
    data = data[:8] + len(data).to_bytes(4, "little") + data[12:24]
    data += blake2b(body, digest_size=16).digest() + body
    identity = int.from_bytes(data[ID_AT - 4 : ID_AT - 2], "little")
    key = Key("x.table", data[ID_AT : ID_AT + identity], data[HEADER : HEADER + MARK], 17, "")
    rules = RuleSet()
    found = read(memoryview(data), rules, key)
    if found is None:
        return
    columns = found.rows.unpack()
    addresses, rows = columns
    assert addresses[0] == 0 and all(addresses[i] < addresses[i + 1] for i in range(len(addresses) - 1)), "rows ascend"
    assert all(rule >= UNKNOWN or rule < len(rules) for rule in rows), "rules exist"
    for i in range(0, len(addresses), 1 + len(addresses) // 50):
        assert found.rows.rule_at(addresses[i]) == rows[i], "a lookup finds the row"
        assert i == 0 or found.rows.rule_at(addresses[i] - 1) == rows[i - 1], "a lookup finds the row before"
    expressions = len(rules.expression_offsets) - 1
    for number in range(len(rules)):
        words = rules.words(number)
        describe(rules, number, 62)
        assert 0 <= words[0] <= 4 and 0 <= words[1] < 17, "rules are well formed"
        assert words[0] != 4 or 0 <= words[3] < expressions, "a rule's expression exists"
        for k in range(words[6]):
            register, kind, value, base = words[8 + 4 * k : 12 + 4 * k]
            assert 0 <= register < 17 and 1 <= kind <= 7 and 0 <= base < 17, "entries are well formed"
            assert kind != 4 or 0 <= value < 17, "a register's value is in a known register"
            assert kind < 6 or 0 <= value < expressions, "an entry's expression exists"
    again = write(columns, rules, key, found.debug_mark)
    assert again is not None, "what was read can be written"
    twice = read(memoryview(again), RuleSet(), key)
    assert twice is not None and twice.rows.unpack()[0] == addresses, "what was written can be read"


def seeds() -> list[bytes]:
    """Files of real binaries, cut to what is quick, and of made-up rows."""
    found = []
    key = Key("x.table", b"\1" * 20, b"\2" * MARK, 17, "/usr/bin/x")
    for name in SEED_FILES:
        if not Path(name).exists():
            continue
        table = UnwindTable.from_elf(ElfFile.open(name))
        table.complete()
        addresses, rows = table.functions.all_columns()
        for size in (40, 300):
            made = write((addresses[:size], rows[:size]), table.rules, key)
            if made is not None:
                found.append(made)
    rules = RuleSet()
    rules.expressions.add(b"\x77\x08")
    rules.add((4, 0, 0, 0), {16: (6, 0, 0), 3: (5, -8, 6), 6: (4, 12, 0)}, column=16, source=1)
    rules.add((1, 7, 8, 0), {16: (2, -8, 0)}, column=16, source=1)
    columns = (
        memoryview(array("Q", [0, 5, 300, 9000, 1 << 31])),
        memoryview(array("I", [0, 1, UNKNOWN, 1, UNKNOWN + 1])),
    )
    made = write(columns, rules, key)
    return found + ([made] if made is not None else [])


if __name__ == "__main__":
    mutate.main(one_input, seeds())
