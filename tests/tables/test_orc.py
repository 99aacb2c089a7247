"""ORC tables: every layout, linked files and modules, damage and limits."""

import random
import struct

import pytest
from tests.support.tables.orc_builder import (
    HEADER_3,
    HEADER_4,
    HEADER_LOONGARCH,
    SLOTS,
    TEXT,
    entry_bytes,
    file_of,
    linked,
    module,
    value,
)

from undwarf.defects import Defects
from undwarf.elf.section_layout import code_addresses
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.from_orc import guess_layout, read_orc
from undwarf.tables.model import Rule, RuleSet, UnwindTable
from undwarf.tables.orc.entries import (
    LAYOUT_1,
    LAYOUT_2,
    LAYOUT_3,
    LAYOUT_4,
    LAYOUT_LOONGARCH,
    Base,
    Entry,
    Kind,
    decode,
    encode,
    entry_of,
    rule_of,
)

LAYOUTS = (LAYOUT_1, LAYOUT_2, LAYOUT_3, LAYOUT_4)
UNKNOWN_3 = value(0)
PLAIN_3 = value(0x205, 8)
PUSHED_3 = value(0x215, 16, -16)
ENTRIES = [
    Entry(Kind.CALL, Base.SP, 8),
    Entry(Kind.CALL, Base.SP, 16, Base.PREV_SP, -16),
    Entry(Kind.CALL, Base.BP, 16, Base.PREV_SP, -16),
    Entry(Kind.CALL, Base.BP_INDIRECT, -8, Base.BP, 0),
    Entry(Kind.CALL, Base.SP_INDIRECT, 8),
    Entry(Kind.CALL, Base.R10, 0, Base.BP, -8),
    Entry(Kind.CALL, Base.R13),
    Entry(Kind.CALL, Base.DI),
    Entry(Kind.CALL, Base.DX),
    Entry(Kind.REGS, Base.SP, 0, signal=True),
    Entry(Kind.PARTIAL, Base.SP, -8, signal=True),
    Entry(Kind.END),
    Entry(Kind.UNDEFINED),
]


def table_of(data: bytes, limits: Limits = DEFAULT) -> tuple[UnwindTable, list[str]]:
    """The table, and what was wrong."""
    defects = Defects()
    table = UnwindTable.from_elf(file_of(data), "orc", limits=limits, defects=defects)
    return table, [defect.kind for defect in defects]


def at(table: UnwindTable, address: int) -> Rule:
    rule = table.rule_at(address)
    assert rule is not None
    return rule


# Layouts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "raw", "entry"),
    [
        (LAYOUT_1, "080000000500", Entry(Kind.CALL, Base.SP, 8)),
        (LAYOUT_2, "080000000500", Entry(Kind.CALL, Base.SP, 8)),
        (LAYOUT_3, "080000000502", Entry(Kind.CALL, Base.SP, 8)),
        (LAYOUT_4, "080000000302", Entry(Kind.CALL, Base.SP, 8)),
        (LAYOUT_1, "1000f0ff1400", Entry(Kind.CALL, Base.BP, 16, Base.PREV_SP, -16)),
        (LAYOUT_4, "1000f0ff8402", Entry(Kind.CALL, Base.BP, 16, Base.PREV_SP, -16)),
        (LAYOUT_1, "000000000501", Entry(Kind.REGS, Base.SP, 0, signal=True)),
        (LAYOUT_2, "000000000501", Entry(Kind.REGS, Base.SP, 0, signal=False)),
        (LAYOUT_2, "000000000505", Entry(Kind.REGS, Base.SP, 0, signal=True)),
        (LAYOUT_3, "00000000050b", Entry(Kind.REGS, Base.SP, 0, signal=True)),
        (LAYOUT_4, "f8ff0000030c", Entry(Kind.PARTIAL, Base.SP, -8, signal=True)),
        (LAYOUT_1, "000000000004", Entry(Kind.END)),
        (LAYOUT_2, "000000000008", Entry(Kind.END)),
        (LAYOUT_3, "000000000001", Entry(Kind.END)),
        (LAYOUT_1, "000000000000", Entry(Kind.UNDEFINED)),
        (LAYOUT_4, "000000000000", Entry(Kind.UNDEFINED)),
        (LAYOUT_3, "f8ff00004802", Entry(Kind.CALL, Base.BP_INDIRECT, -8, Base.BP, 0)),
        (LAYOUT_4, "f8ff00004a02", Entry(Kind.CALL, Base.BP_INDIRECT, -8, Base.BP, 0)),
        (LAYOUT_4, "000000000102", Entry(Kind.CALL, Base.AX)),
        (LAYOUT_3, "000000000302", Entry(Kind.CALL, Base.DI)),
        (LAYOUT_4, "000000000502", Entry(Kind.CALL, Base.DI)),
        (
            LAYOUT_LOONGARCH,
            "2000f0fff8ff1221",
            Entry(Kind.CALL, Base.SP, 32, Base.PREV_SP, -16, False, Base.PREV_SP, -8),
        ),
    ],
)
def test_an_entry_says_what_its_layout_means(layout, raw, entry):
    number = int.from_bytes(bytes.fromhex(raw), "little")
    assert decode(layout, number) == entry
    assert encode(layout, entry) == number


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_entries_come_back_from_rules(layout, entry):
    number = encode(layout, entry)
    assert number is not None
    words = rule_of(layout, entry)
    if words is None:
        assert entry.kind is Kind.UNDEFINED
        return
    rules = RuleSet()
    made = rules.add(words.cfa, words.registers, column=words.column, source=4, signal=words.signal, flags=words.flags)
    assert entry_of(rules.words(made)) == entry


@pytest.mark.parametrize("layout", [*LAYOUTS, LAYOUT_LOONGARCH], ids=lambda layout: layout.name)
def test_all_flags_are_written_as_they_were_read(layout):
    at = 16 * (layout.size // 2 - 1)
    known = 0
    for flags in range(1 << 16):
        number = flags << at | 0xFFF0 << 16 | 8
        entry = decode(layout, number)
        if entry is None:
            continue
        known += 1
        if layout.end_bit >= 0 and entry.kind not in (Kind.UNDEFINED, Kind.END):
            # The kernel does not look at this bit of an entry that has a base.
            number &= ~(1 << at + layout.end_bit)
        elif layout.end_bit >= 0:
            # Nor at the kind of one that has none.
            number &= ~(3 << at + 8)
        assert encode(layout, entry) == number
    assert known > 50


@pytest.mark.parametrize("flags", [0x000F, 0x0201, 0x0200, 0x02F5, 0x0505, 0x1205, 0x8205])
def test_an_entry_that_means_nothing_is_none(flags):
    assert decode(LAYOUT_3, value(flags, 8)) is None


def test_offsets_that_do_not_fit_are_not_written():
    assert encode(LAYOUT_3, Entry(Kind.CALL, Base.SP, 0x7FFF)) is not None
    assert encode(LAYOUT_3, Entry(Kind.CALL, Base.SP, 0x8000)) is None
    assert encode(LAYOUT_3, Entry(Kind.CALL, Base.AX)) is None


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_layout_is_seen_without_a_header(layout):
    entries = [(encode(layout, entry), 5) for entry in ENTRIES]
    assert guess_layout(62, entries) is layout


def test_the_second_layout_is_known_by_its_bits_only():
    plain = encode(LAYOUT_1, Entry(Kind.CALL, Base.SP, 8))
    regs = Entry(Kind.REGS, Base.SP, 0, signal=True)
    assert guess_layout(62, [(plain, 1)]) is LAYOUT_1
    assert guess_layout(62, [(plain, 1), (encode(LAYOUT_2, regs), 1)]) is LAYOUT_2
    assert guess_layout(62, [(plain, 1), (encode(LAYOUT_2, Entry(Kind.END)), 1)]) is LAYOUT_2
    assert guess_layout(62, [(plain, 1), (encode(LAYOUT_1, Entry(Kind.END)), 1)]) is LAYOUT_1


def test_no_layout_is_guessed_where_entries_do_not_fit():
    plain = encode(LAYOUT_3, Entry(Kind.CALL, Base.SP, 8))
    assert guess_layout(62, [(plain, 10), (value(0xFFFF), 10)]) is None
    assert guess_layout(62, [(value(0x215, 16), 10)]) is None


def test_the_header_wins_over_what_entries_look_like():
    # As layout 3 these are rdi; as layout 4 the stack pointer.
    rows = [(TEXT, value(0x203, 8)), (TEXT + 0x100, 0)]
    assert at(table_of(linked(rows, header=HEADER_4))[0], TEXT).cfa == "rsp+8"
    assert at(table_of(linked(rows, header=HEADER_3))[0], TEXT).cfa == "rdi+0"


def test_an_unknown_header_is_said_and_the_entries_decide():
    table, wrong = table_of(linked([(TEXT, PLAIN_3), (TEXT + 8, 0)], header=bytes(20)))
    assert at(table, TEXT).cfa == "rsp+8"
    assert wrong == ["unknown ORC header"]


def test_a_layout_that_cannot_be_known_makes_no_table():
    table, wrong = table_of(linked([(TEXT, value(0x215, 16)), (TEXT + 8, 0)], header=b""))
    assert (len(table), wrong) == (0, ["ORC layout not known"])


# Rules -----------------------------------------------------------------------------------------------------


def test_lookup_takes_the_last_entry_at_or_below():
    rows = [(TEXT, PLAIN_3), (TEXT + 1, PUSHED_3), (TEXT + 0x20, UNKNOWN_3), (TEXT + 0x30, PLAIN_3), (TEXT + 0x40, 0)]
    table, wrong = table_of(linked(rows))
    assert wrong == []
    assert [at(table, TEXT + offset).cfa for offset in (0, 1, 0x1F, 0x30, 0x3F)] == [
        "rsp+8", "rsp+16", "rsp+16", "rsp+8", "rsp+8",
    ]  # fmt: skip  # a table
    assert [table.rule_at(TEXT + offset) for offset in (-1, 0x20, 0x2F, 0x40, 0x1000)] == [None] * 5
    assert list(table.starts) == [TEXT, TEXT + 0x30]
    assert list(table.ends) == [TEXT + 0x20, TEXT + 0x40]


def test_of_entries_at_one_address_the_last_counts():
    table, _wrong = table_of(linked([(TEXT, 0), (TEXT, PLAIN_3), (TEXT + 8, PUSHED_3), (TEXT + 8, 0), (TEXT + 9, 0)]))
    assert at(table, TEXT).cfa == "rsp+8"
    assert table.rule_at(TEXT + 8) is None


def test_a_table_without_an_end_ends_with_its_section():
    table, _wrong = table_of(linked([(TEXT, PLAIN_3)]))
    assert (at(table, TEXT + 0xFFF).cfa, table.rule_at(TEXT + 0x1000)) == ("rsp+8", None)


def test_kernel_addresses_are_sums_that_wrap():
    text = 0xFFFFFFFF81000000
    rows = [(text, PLAIN_3), (text + 16, 0)]
    table, _wrong = table_of(linked(rows, text=text, slots=text + 0x1800000))
    assert list(table.starts) == [text]


def test_a_table_that_is_not_sorted_is_sorted_as_the_kernel_does():
    rows = [(TEXT + 0x10, PLAIN_3), (TEXT + 0x10, 0), (TEXT, PUSHED_3), (TEXT + 0x20, 0)]
    table, _wrong = table_of(linked(rows))
    assert [at(table, TEXT + offset).cfa for offset in (0, 0x10)] == ["rsp+16", "rsp+8"]


def test_a_call_forgets_what_orc_does_not_follow():
    rule = at(table_of(linked([(TEXT, PUSHED_3), (TEXT + 8, 0)]))[0], TEXT)
    unknown = dict.fromkeys(("rax", "rdx", "rdi", "r10"), "undefined")
    assert rule.registers == {
        **unknown,
        "ra": "cfa-8", "rbp": "cfa-16", "rbx": "undefined",
        "r12": "undefined", "r13": "undefined", "r14": "undefined", "r15": "undefined",
    }  # fmt: skip  # a table
    assert (rule.signal, rule.outermost, rule.source) == (False, False, "orc")


def test_interrupted_frames_have_the_registers_that_were_saved():
    rows = [(TEXT, value(0xB05)), (TEXT + 8, value(0xC05, 16)), (TEXT + 16, value(0x100)), (TEXT + 24, 0)]
    table, _wrong = table_of(linked(rows))
    full, part, last = (at(table, TEXT + offset) for offset in (0, 8, 16))
    places = {"ra": 128, "rsp": 152, "rbp": 32, "r15": 0, "rax": 80, "rdi": 112, "r10": 56, "rbx": 40}
    assert {name: full.registers[name] for name in places} == {name: f"cfa+{at}" for name, at in places.items()}
    assert len(full.registers) == 17
    assert (part.cfa, part.registers) == ("rsp+16", {"ra": "cfa+0", "rsp": "cfa+24"})
    assert (full.signal, part.signal, last.outermost) == (True, True, True)


def test_loongarch():
    entry = 0x2112 << 48 | (-8 & 0xFFFF) << 32 | (-16 & 0xFFFF) << 16 | 32
    regs = 0xB002 << 48
    leaf = 0x2002 << 48 | 16
    framed = 0x2113 << 48 | (-8 & 0xFFFF) << 32 | (-16 & 0xFFFF) << 16
    rows = [(TEXT + 8 * i, one) for i, one in enumerate((entry, regs, leaf, framed, 0x1000 << 48, 0))]
    data = linked(rows, header=HEADER_LOONGARCH, machine=258, size=8)
    table, wrong = table_of(data)
    called, interrupted, small, by_frame, last = (at(table, TEXT + 8 * i) for i in range(5))
    assert wrong == []
    assert (called.cfa, called.return_address, called.registers["fp"]) == ("sp+32", "cfa-8", "cfa-16")
    assert (small.cfa, small.return_address) == ("sp+16", "same")
    assert (interrupted.return_address, interrupted.registers["sp"], interrupted.signal) == ("cfa+264", "cfa+24", True)
    assert by_frame.cfa == "fp+0"
    assert last.outermost
    assert len(table_of(linked(rows, header=b"", machine=258, size=8))[0]) == 1


# Modules ---------------------------------------------------------------------------------------------------


def test_a_module_is_relocated_and_sorted():
    rows = [
        (".exit.text", 0, PUSHED_3), (".exit.text", 0x20, 0),
        (".text", 0, PLAIN_3), (".text", 0x10, PUSHED_3), (".text", 0x40, 0),
        (".init.text", 0, PLAIN_3), (".init.text", 0x10, 0),
    ]  # fmt: skip  # a table
    data = module(rows, {".text": 0x40, ".init.text": 0x10, ".exit.text": 0x20})
    table, wrong = table_of(data)
    elf = file_of(data)
    places = {elf.sections[index].name: at for index, at in code_addresses(elf).items()}
    assert (wrong, places) == ([], {".text": 0, ".exit.text": 0x40, ".init.text": 0x1000})
    # The end of .text is the start of .exit.text: an entry that only ends code goes first.
    assert [at(table, one).cfa for one in (0, 0x3F, 0x40, 0x5F, 0x1000)] == [
        "rsp+8", "rsp+16", "rsp+16", "rsp+16", "rsp+8",
    ]  # fmt: skip  # a table
    assert table.rule_at(0x60) is None
    assert len(read_orc(elf, DEFAULT, Defects())) == 7


def test_relocations_that_cannot_be_used_are_counted():
    rows = [(".text", 0, PLAIN_3), (".text", 0x40, 0)]
    table, wrong = table_of(module(rows, {".text": 0x40}, kind=10))
    assert (len(table), wrong) == (0, ["ORC relocation that cannot be used"])


def test_a_module_without_relocations_has_no_addresses():
    data = bytearray(module([(".text", 0, PLAIN_3), (".text", 0x40, 0)], {".text": 0x40}))
    at = data.index(b".rela.orc_unwind_ip")
    elf = file_of(bytes(data))
    index = next(one.index for one in elf.sections if one.name == ".rela.orc_unwind_ip")
    (sections,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<I", data, sections + 64 * index + 4, 1)
    assert at
    table, wrong = table_of(bytes(data))
    assert (len(table), wrong) == (0, ["ORC entry without an address"])


# Damage and limits -----------------------------------------------------------------------------------------


def test_entries_that_mean_nothing_are_holes_and_counted():
    rows = [(TEXT + 8 * i, PLAIN_3) for i in range(60)] + [(TEXT + 480, value(0x20F, 8)), (TEXT + 488, 0)]
    table, wrong = table_of(linked(rows))
    assert (at(table, TEXT + 479).cfa, table.rule_at(TEXT + 480)) == ("rsp+8", None)
    assert wrong == ["ORC entry that means nothing"]


def test_sections_of_unequal_length_use_what_both_have():
    elf = linked([(TEXT, PLAIN_3), (TEXT + 8, 0), (TEXT + 16, PLAIN_3)])
    short = elf.replace(entry_bytes([PLAIN_3, 0, PLAIN_3]), entry_bytes([PLAIN_3, 0]) + bytes(6))
    file = file_of(short)
    section = file.section(".orc_unwind")
    (sections,) = struct.unpack_from("<Q", short, 40)
    changed = bytearray(short)
    struct.pack_into("<Q", changed, sections + 64 * section.index + 32, 13)
    table, wrong = table_of(bytes(changed))
    assert (list(table.starts), wrong) == ([TEXT], ["ORC sections of unequal length"])


def test_the_limit_of_entries():
    rows = [(TEXT + i, PLAIN_3 if i % 2 else 0) for i in range(100)]
    table, wrong = table_of(linked(rows), Limits(orc_entries=10))
    assert (len(table), wrong) == (5, ["too many ORC entries"])


def test_the_limit_of_rules():
    rows = [(TEXT + i, value(0x205, 8 * i)) for i in range(1, 100)]
    table, wrong = table_of(linked(rows), Limits(rules=10))
    assert (sum(1 for _ in table), wrong) == (10, [])


def test_the_limit_of_rules_that_all_tables_share():
    limits = Limits(rules=10)
    rules = RuleSet(limits)
    for i in range(8):
        rules.add((1, 7, 8 * i, 0), {16: (2, -8, 0)}, column=16, source=1)
    defects = Defects()
    file = file_of(linked([(TEXT + i, value(0x205, 8 * i)) for i in range(1, 9)]))
    table = UnwindTable.from_elf(file, "orc", limits=limits, rules=rules, defects=defects)
    assert len(list(table)) == 2
    assert [defect.kind for defect in defects] == ["too many distinct rules"]


def test_thousands_of_distinct_entries():
    chance = random.Random(4)
    offsets = [chance.randrange(-0x8000, 0x8000) for _ in range(6000)]
    table, wrong = table_of(
        linked([(TEXT + i, value(0x205, offset)) for i, offset in enumerate(offsets)], code=bytes(6000))
    )
    assert wrong == []
    assert all(at(table, TEXT + i).cfa == f"rsp{offset:+d}" for i, offset in enumerate(offsets))


def test_big_endian_and_other_machines_have_no_orc():
    assert table_of(linked([(TEXT, PLAIN_3)], machine=183))[1] == ["unwind table not read"]


def test_slots_at_any_distance():
    rows = [(0, PLAIN_3), (0x7FFFFFFF + SLOTS, 0)]
    data = bytearray(linked([(TEXT, PLAIN_3), (TEXT + 1, 0)]))
    at = data.index(struct.pack("<i", TEXT - SLOTS))
    struct.pack_into("<ii", data, at, -SLOTS, 0x7FFFFFFF - 4)
    table, _wrong = table_of(bytes(data))
    assert (list(table.starts), list(table.ends)) == ([rows[0][0]], [rows[1][0]])


def test_a_hole_is_filled_by_the_next_source():
    """Where ORC knows nothing, whatever comes after it in the order is asked."""
    table, _wrong = table_of(linked([(TEXT, PLAIN_3), (TEXT + 8, 0), (TEXT + 16, PLAIN_3), (TEXT + 24, 0)]))
    functions = table.functions
    assert functions.at(TEXT + 8) is None
    assert table.more(TEXT + 8) is False


def test_rows_of_a_part_of_a_stretch():
    file = file_of(linked([(TEXT, PLAIN_3), (TEXT + 8, PUSHED_3), (TEXT + 16, PLAIN_3), (TEXT + 24, 0)]))
    table = UnwindTable.from_elf(file, "orc")
    source = table.functions.only
    addresses, _rules = source.rows(0, TEXT + 4, TEXT + 12)
    assert list(addresses) == [TEXT + 4, TEXT + 8]
    addresses, _rules = source.rows(0, TEXT + 8, TEXT + 24)
    assert list(addresses) == [TEXT + 8, TEXT + 16]
