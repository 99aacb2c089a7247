"""SFrame sections from any bytes: a table keeps its promises or the section is refused."""

import struct

import mutate
from fuzz_cfi import LIMITS

from undwarf.tables.from_sframe import source_of_section
from undwarf.tables.model import NO_RULE, describe
from undwarf.tables.rule_set import RuleSet

MACHINES = ((62, "little"), (183, "little"), (183, "big"), (22, "big"))


def one_input(data: bytes) -> None:
    """The first byte chooses machine and byte order, the rest is the section."""
    machine, byte_order = MACHINES[data[0] & 3 if data else 0]
    rules = RuleSet(LIMITS)
    source = source_of_section(
        memoryview(data[1:]),
        0x2000,
        machine=machine,
        byte_order=byte_order,
        rules=rules,
        code=[(0x1000, 0x2000)],
        read=lambda address, size: memoryview(b"\xff\x25" * 8)[:size],
        limits=LIMITS,
    )
    if source is None:
        return
    before = 0
    for piece, (start, end) in enumerate(zip(source.starts, source.ends, strict=True)):
        assert before <= start < end, "ranges are sorted, disjoint and not empty"
        before = end
        addresses, numbers = source.rows(piece, start, end)
        assert len(addresses) == len(numbers) >= 1, "a function has a row"
        assert addresses[0] == start, "the first row is at the start"
        assert all(addresses[i] < addresses[i + 1] for i in range(len(addresses) - 1)), "rows ascend"
        assert addresses[len(addresses) - 1] < end, "rows lie in the function"
        assert all(number == NO_RULE or number < len(rules) for number in numbers), "rules exist"
    expressions = len(rules.expression_offsets) - 1
    for number in range(len(rules)):
        describe(rules, number, machine)
        words = rules.words(number)
        assert 0 <= words[0] <= 3 and 0 <= words[1] < 36 and 0 <= words[6] <= 18, "rules are well formed"
        assert words[0] or words[4] & 2, "only an outermost frame has no call frame address"
        for k in range(words[6]):
            register, kind, value, base = words[8 + 4 * k : 12 + 4 * k]
            assert 0 <= register < 36 and 1 <= kind <= 7 and 0 <= base < 36, "entries are well formed"
            assert kind != 4 or 0 <= value < 36, "a register's value is in a known register"
            assert kind < 6 or 0 <= value < expressions, "an entry's expression exists"


def seeds() -> list[bytes]:
    """Sections of each version and machine with rows of every kind."""
    found = []
    for number, (machine, byte_order) in enumerate(MACHINES):
        mark = "<" if byte_order == "little" else ">"
        abi = {(62, "little"): 3, (183, "little"): 2, (183, "big"): 1, (22, "big"): 4}[machine, byte_order]
        words = bytes.fromhex("00 03 08  01 05 10 f0  04 04 10 f0  09 01")
        flexible = bytes.fromhex("00 05 51 00  01 0b 33 f0 00 33 00  04 09 3d 10 11 00")
        for version in (1, 2, 3):
            entries = rows = b""
            for at, (info, count, kind, body) in enumerate(
                ((0, 4, 0, words), (0x10, 2, 0, words), (0x80, 3, 1, flexible))
            ):
                start = 0x1000 + 64 * at - 0x2000
                if version == 3:
                    entries += struct.pack(mark + "qII", start, 48, len(rows))
                    rows += struct.pack(mark + "HBBB", count, info, kind, 16)
                else:
                    entries += struct.pack(mark + "iIIIB", start, 48, len(rows), count, info)
                    entries += b"\x10\0\0" if version == 2 else b""
                rows += body
            head = (0xDEE2, version, 1, abi, 0, -8 if abi == 3 else 0, 0, 3, 9, len(rows), 0, len(entries))
            found.append(bytes([number]) + struct.pack(mark + "HBBBbbBIIIII", *head) + entries + rows)
    return found


if __name__ == "__main__":
    mutate.main(one_input, seeds())
