"""Packed rows and rules: the same comes out as went in, and nothing else is taken."""

import random
from array import array
from bisect import bisect_right

import pytest

from undwarf.column import zeros
from undwarf.tables.disk.packed_rows import PackedRows, pack_rows, ranked
from undwarf.tables.disk.packed_rules import pack_rules, unpack_rules
from undwarf.tables.rule_set import RuleSet

UNKNOWN, HOLE = 0xFFFFFFFE, 0xFFFFFFFF
SHAPES = {
    "one row": (1, (1,), 1),
    "a full block": (32, (1, 2, 223), 5),
    "a block and a row": (33, (1, 224, 7935, 7936), 5),
    "small steps": (5000, (1, 2, 3, 4, 9, 17), 200),
    "wide steps": (3000, (223, 224, 255, 256, 7935, 7936, 70000, 1 << 20), 300),
    "many rules": (40000, (1, 5, 300), 6000),
}


def some_rows(count: int, steps: tuple[int, ...], rules: int, seed: int = 1) -> tuple[memoryview, memoryview]:
    chance = random.Random(seed)
    addresses, numbers = array("Q"), array("I")
    address = chance.choice([0, 0x1000, 1 << 40])
    for _ in range(count):
        addresses.append(address)
        address += chance.choice(steps)
        numbers.append(chance.choice([UNKNOWN, HOLE, *(chance.randrange(rules) for _ in range(9))]))
    return memoryview(addresses), memoryview(numbers)


def packed(addresses: memoryview, rows: memoryview, rules: int) -> PackedRows:
    numbers = memoryview(array("I", range(2, rules + 2)))
    made = pack_rows(addresses, rows, numbers)
    assert made is not None
    return PackedRows(*made, memoryview(array("I", range(rules))), addresses[0], len(addresses))


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_come_out_as_they_went_in(shape: str) -> None:
    addresses, rows = some_rows(*SHAPES[shape])
    made = packed(addresses, rows, SHAPES[shape][2]).unpack()
    assert made[0] == addresses
    assert made[1] == rows


@pytest.mark.parametrize("shape", SHAPES)
def test_lookups_find_the_row_that_covers_an_address(shape: str) -> None:
    addresses, rows = some_rows(*SHAPES[shape])
    table = packed(addresses, rows, SHAPES[shape][2])
    chance = random.Random(2)
    for _ in range(2000):
        near = max(0, chance.choice(addresses) + chance.choice([-1, 0, 1]))
        address = chance.choice([near, chance.randrange(1 << 48)])
        # Columns hold to the end of 4 GiB.
        if not 0 <= address - addresses[0] < 1 << 32:
            assert table.rule_at(address) == UNKNOWN
            continue
        assert table.rule_at(address) == rows[bisect_right(addresses, address) - 1]


def test_a_table_that_spans_more_than_4_gib_is_not_packed() -> None:
    rows = memoryview(array("I", [0, UNKNOWN]))
    assert pack_rows(memoryview(array("Q", [0, 1 << 32])), rows, memoryview(array("I", [2]))) is None
    assert pack_rows(memoryview(array("Q", [0, (1 << 32) - 1])), rows, memoryview(array("I", [2]))) is not None


def test_rules_are_ranked_by_use() -> None:
    assert ranked(array("I", [3, 1, 3, HOLE, 0, UNKNOWN, 3, 0]), 4) == [3, 0, 1]
    assert ranked(array("I", [4]), 4) is None


def test_bytes_that_no_writer_makes_are_refused() -> None:
    addresses, rows = some_rows(200, (1, 300, 9000), 300)
    numbers = memoryview(array("I", range(2, 302)))
    made = pack_rows(addresses, rows, numbers)
    assert made is not None
    index, data = made
    known = memoryview(array("I", range(300)))
    for bad in (data[:-1], bytes(data) + b"\0"):
        with pytest.raises(ValueError, match="blocks"):
            PackedRows(index, memoryview(bytes(bad)), known, addresses[0], 200)
    with pytest.raises(ValueError, match="rows"):
        PackedRows(index, data, known, addresses[0], 300)
    with pytest.raises(ValueError, match="blocks"):
        PackedRows(index, data, known[:100], addresses[0], 200)
    chance = random.Random(3)
    for _ in range(3000):
        broken = bytearray(data)
        broken[chance.randrange(len(broken))] = chance.randrange(256)
        try:
            table = PackedRows(index, memoryview(broken), known, addresses[0], 200)
        except ValueError:
            continue
        found = table.unpack()
        assert all(found[0][i] < found[0][i + 1] for i in range(199))
        assert all(rule >= UNKNOWN or rule < 300 for rule in found[1])


def some_rules() -> RuleSet:
    rules = RuleSet()
    for text in (b"\x77\x08", b"\x76\x00\x06", b"\x91"):
        rules.expressions.add(text)
    rules.add((1, 7, 8, 0), {16: (2, -8, 0)}, column=16, source=1)
    rules.add((1, 6, -16, 0), {16: (2, -8, 0), 6: (2, -(1 << 31), 0), 3: (4, 12, 0)}, column=16, source=2, signal=True)
    rules.add((2, 6, -8, 24), {16: (5, -8, 6), 3: (3, 1 << 30, 0), 12: (1, 0, 0)}, column=16, source=3, signed=True)
    rules.add((4, 0, 0, 2), {16: (6, 1, 0), 3: (7, 0, 0)}, column=16, source=1)
    rules.add((3, 7, 8, 11), {}, column=16, source=1)
    return rules


def test_rules_come_out_as_they_went_in() -> None:
    rules = some_rules()
    order = memoryview(array("I", [4, 3, 0, 2, 1]))
    data, expressions = pack_rules(rules.states, order, len(rules.expressions))
    assert expressions == [2, 0, 1]
    other = RuleSet()
    other.expressions.add(b"something else")
    numbers = memoryview(array("I", [other.expressions.add(rules.expressions[i]) for i in expressions]))
    states = unpack_rules(data, 5, 17, numbers)
    assert states is not None
    made = other.take(states)
    for old, new in zip(order, made, strict=True):
        before, after = rules.words(old), other.words(new)
        if old == 3:
            assert rules.expressions[before[3]] == other.expressions[after[3]]
            before[3] = after[3] = 0
            for k in (8, 12):
                assert rules.expressions[before[k + 2]] == other.expressions[after[k + 2]]
                before[k + 2] = after[k + 2] = 0
        assert before == after


def test_rules_of_another_machine_or_with_other_bytes_are_refused() -> None:
    rules = some_rules()
    order = memoryview(array("I", range(5)))
    data, expressions = pack_rules(rules.states, order, len(rules.expressions))
    numbers = memoryview(array("I", range(len(expressions))))
    assert unpack_rules(data, 5, 17, numbers) is not None
    assert unpack_rules(data, 5, 16, numbers) is None
    assert unpack_rules(data, 4, 17, numbers) is None
    assert unpack_rules(data, 6, 17, numbers) is None
    assert unpack_rules(data, 1 << 30, 17, numbers) is None
    assert unpack_rules(data, 5, 17, numbers[:2]) is None
    assert unpack_rules(data[:-1], 5, 17, numbers) is None
    assert unpack_rules(zeros("B", 0), 0, 17, numbers) is not None
