"""jitdump files: what a just-in-time compiler says of its code, whole and damaged."""

import os
import random
from pathlib import Path

import pytest
from tests.support.jitdump_builder import CODE, Dump, frames

from undwarf.defects import Defects
from undwarf.errors import ElfError
from undwarf.images import Finder, ImageKind, ImageStore
from undwarf.images.container_files import Containers
from undwarf.images.image_kind import kind_of_name
from undwarf.images.jitdump import JitDump
from undwarf.limits import DEFAULT
from undwarf.perfdata.records import FileIdentity
from undwarf.symbols.elf_symbols import symbols_of_jitdump
from undwarf.tables.from_jitdump import table_of_jitdump
from undwarf.tables.rule_set import RuleSet


def read(dump: Dump, **more: object) -> JitDump:
    return JitDump(dump.build(), "jit-7.dump", **more)


@pytest.mark.parametrize("order", ["<", ">"])
def test_code_name_and_place(order: str) -> None:
    found = read(Dump(order, pid=9, machine=62, created=5).load(0x1000, b"f(int)", 1, b"\xaa\xbb", 77))
    assert (found.pid, found.machine, found.created, found.byte_order[0]) == (9, 62, 5, "l" if order == "<" else "b")
    assert [(code.time, code.address, code.size) for code in found.codes] == [(77, 0x1000, 2)]
    assert found.name(0) == "f(int)"
    assert found.placements == [(77, 0x1000, 2, found.codes[0].offset, -1)]
    assert found.read(found.codes[0].offset, 2) == b"\xaa\xbb"


def test_code_by_its_offset() -> None:
    found = read(Dump().load(0x1000, b"a").load(0x1000, b"b"))
    one, two = (code.offset for code in found.codes)
    assert [found.code_at(at) for at in (0, one - 1, one, one + 31, one + 32, two)] == [None, None, 0, 0, None, 1]
    assert found.read(one + 30, 3) is None


def test_moved_code_keeps_its_offset() -> None:
    found = read(Dump().load(0x1000, b"a", 4).move(0x1000, 0x9000, 4, time=50))
    assert found.placements[1] == (50, 0x9000, 32, found.codes[0].offset, 0x1000)


def test_an_index_means_its_last_code() -> None:
    found = read(Dump().load(0x1000, b"a", 4).load(0x2000, b"b", 4).move(0x2000, 0x9000, 4))
    assert found.placements[2].offset == found.codes[1].offset


def test_a_move_of_unknown_code_is_counted() -> None:
    defects = Defects()
    assert len(read(Dump().move(1, 2, 3), defects=defects).placements) == 0
    assert [(defect.kind, defect.count) for defect in defects] == [("damaged jitdump record", 1)]


@pytest.mark.parametrize("order", ["<", ">"])
def test_lines(order: str) -> None:
    entries = [(0x1008, 5, 2, b"b.js"), (0x1000, 4, 1, b"a.js"), (0x1010, 6, 3, b"\xff"), (0x9999, 7, 0, b"far.js")]
    dump = Dump(order).lines(0x1000, entries).load(0x1000, b"f").load(0x1000, b"g")
    found = read(dump)
    base = found.codes[0].offset
    assert found.lines(0) == [(base, 4, 1, "a.js"), (base + 8, 5, 2, "b.js"), (base + 16, 6, 3, "a.js")]
    assert [found.line_at(base + at) for at in (7, 8, 31)] == [found.lines(0)[0], found.lines(0)[1], found.lines(0)[2]]
    assert found.lines(1) == []
    assert found.line_at(found.codes[1].offset) is None


def test_lines_of_v8_are_an_elf_header_too_far() -> None:
    dump = Dump().lines(0x1000, [(0x1040, 1, 0, b"a.js"), (0x1050, 2, 0, b"a.js")]).load(0x1000, b"f")
    found = read(dump.lines(0x2000, [(0x2044, 3, 0, b"a.js")]).load(0x2000, b"g"))
    assert [line.offset - found.codes[0].offset for line in found.lines(0)] == [0, 16]
    assert [line.offset - found.codes[1].offset for line in found.lines(1)] == [4]


def test_names_that_are_no_text_are_left_out_and_counted() -> None:
    defects = Defects()
    entries = [(0x1000, 1, 0, b"A\xb8\x03"), (0x1004, 2, 0, b"a.js"), (0x1008, 3, 0, b"b\x1b[m")]
    found = read(Dump().lines(0x1000, entries).load(0x1000, b"f"), defects=defects)
    assert [line.line for line in found.lines(0)] == [2]
    assert [(defect.kind, defect.count) for defect in defects] == [("file name in a jitdump that is not text", 2)]


@pytest.mark.parametrize("count", [0, 1, 1 << 60])
def test_line_counts_are_not_believed(count: int) -> None:
    found = read(Dump().lines(0x1000, [(0x1000, 1, 0, b"a"), (0x1004, 2, 0, b"b")], count).load(0x1000, b"f"))
    assert len(found.lines(0)) == min(count, 2)


@pytest.mark.parametrize("first", [False, True], ids=["as perf has it", "as the text has it"])
def test_unwind_information_lies_behind_the_code(first: bool) -> None:
    data = frames(len(CODE), len(CODE) + (20 if first else 0))
    found = read(Dump().unwinding(data, first=first).load(0x1000, b"f").load(0x2000, b"g"))
    assert found.unwinding(0) == (data, found.codes[0].offset + 32 + (20 if first else 0))
    assert found.unwinding(1) is None
    table = table_of_jitdump(found, RuleSet())
    base = found.codes[0].offset
    rules = [table.rule_at(at) for at in (base - 1, base, base + 4, base + 31, base + 32)]
    assert [rule and rule.cfa for rule in rules] == [None, "rsp+8", "rsp+24", "rsp+24", None]
    assert table.rule_at(found.codes[1].offset) is None


def test_the_only_entry_of_the_codes_length_is_the_codes() -> None:
    found = read(Dump().unwinding(frames(len(CODE), len(CODE) + 8)).load(0x1000, b"f"))
    base = found.codes[0].offset
    rules = [table_of_jitdump(found, RuleSet()).rule_at(at) for at in (base, base + 4, base + 32)]
    assert [rule and rule.cfa for rule in rules] == ["rsp+8", "rsp+24", None]


def test_an_entry_elsewhere_of_another_length_is_not_the_codes() -> None:
    found = read(Dump().unwinding(frames(len(CODE) - 1, 3 * len(CODE))).load(0x1000, b"f"))
    assert table_of_jitdump(found, RuleSet()).rule_at(found.codes[0].offset) is None


def test_a_header_alone_is_no_unwind_information() -> None:
    found = read(Dump().unwinding(b"").load(0x1000, b"f"))
    assert found.unwinding(0) is None
    assert len(table_of_jitdump(found, RuleSet())) == 0


def test_damaged_unwind_information_is_counted_when_it_is_used() -> None:
    defects = Defects()
    found = read(Dump().unwinding(b"\x10\0\0\0" + b"\xff" * 40).load(0x1000, b"f"))
    table = table_of_jitdump(found, RuleSet(), defects=defects)
    assert table.rule_at(found.codes[0].offset) is None
    assert [defect.kind for defect in defects] == ["damaged unwind information in a jitdump"]


def test_names_are_symbols_at_the_offsets_of_their_code() -> None:
    found = read(Dump().load(0x1000, b"LazyCompile:~f a.js:1").load(0x1000, b"\xff\xfe"))
    table = symbols_of_jitdump(found)
    assert table is not None
    numbers = [table.find(code.offset + 31) for code in found.codes]
    assert [table.names_at(number) for number in numbers if number is not None] == [
        [b"LazyCompile:~f a.js:1"],
        [b"\xff\xfe"],
    ]


# Damage ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"JITD", b"\x7fELF" + b"\0" * 60, b"\0" * 40])
def test_what_is_no_jitdump(data: bytes) -> None:
    with pytest.raises(ElfError):
        JitDump(data)


def test_a_file_cut_anywhere_has_what_came_before() -> None:
    whole = Dump().lines(0x1000, [(0x1000, 1, 0, b"a")]).unwinding(frames(32, 32))
    data = whole.load(0x1000, b"first").load(0x2000, b"second").build()
    for end in range(40, len(data)):
        found = JitDump(data[:end], defects=Defects())
        assert len(found.codes) in (0, 1)
        for number in range(len(found.codes)):
            assert found.lines(number)
            assert found.name(number) == "first"


@pytest.mark.parametrize("size", [0, 15, 1 << 31])
def test_a_record_of_an_impossible_size_ends_the_file(size: int) -> None:
    defects = Defects()
    dump = Dump().load(0x1000, b"a").record(0, 1, b"x" * 60, size).load(0x1000, b"b")
    assert len(read(dump, defects=defects).codes) == 1
    assert [defect.kind for defect in defects] == ["damaged jitdump record"]


def test_code_that_does_not_fit_is_left_out() -> None:
    defects = Defects()
    dump = Dump()
    dump.record(0, 1, dump.pack("IIQQQQ", 7, 7, 0, 0x1000, 1 << 40, 1) + b"big\0" + CODE)
    dump.record(0, 1, dump.pack("IIQQQQ", 7, 7, 0, 0x1000, 4, 1) + b"no end of the name")
    dump.load((1 << 64) - 8, b"wraps").load(0x1000, b"empty", code=b"").load(0x1000, b"good")
    found = read(dump, defects=defects)
    assert [found.name(i) for i in range(len(found.codes))] == ["good"]
    assert [(defect.kind, defect.count) for defect in defects] == [("damaged jitdump record", 3)]


def test_the_number_of_records_is_bounded() -> None:
    defects = Defects()
    dump = Dump().load(0x1000, b"a").load(0x1000, b"b").load(0x1000, b"c")
    assert len(read(dump, limits=DEFAULT._replace(jit_records=2), defects=defects).codes) == 2
    assert [defect.kind for defect in defects] == ["too many jitdump records"]


def test_changed_bytes_are_survived() -> None:
    whole = Dump().lines(0x1000, [(0x1000, 1, 0, b"a"), (0x1004, 2, 0, b"\xff")]).unwinding(frames(32, 32))
    data = whole.load(0x1000, b"first", 1).move(0x1000, 0x3000, 1).load(0x2000, b"second", 2).build()
    draw = random.Random(5)
    for _ in range(1500):
        bad = bytearray(data)
        for _ in range(draw.randrange(1, 5)):
            bad[draw.randrange(4, len(bad))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        try:
            found = JitDump(bytes(bad), defects=Defects())
        except ElfError:
            continue
        table = table_of_jitdump(found, RuleSet(), defects=Defects())
        symbols_of_jitdump(found)
        for number, code in enumerate(found.codes):
            found.name(number)
            found.lines(number)
            table.rule_at(code.offset)


# Images ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (b"/home/u/.debug/jit/java-jit-20260101.XX/jit-12.dump", ImageKind.JITDUMP),
        (b"/tmp/jit-12.dump", ImageKind.JITDUMP),
        (b"/tmp/jit-12.dump (deleted)", ImageKind.FILE),
        (b"/tmp/jit-x.dump", ImageKind.FILE),
        (b"/tmp/a-jit-12.dump", ImageKind.FILE),
    ],
)
def test_dumps_are_known_by_their_name(name: bytes, kind: ImageKind) -> None:
    assert kind_of_name(name) is kind


def image(path: str, finder: Finder, pid: int = 0) -> tuple[object, str]:
    one = ImageStore([path.encode()], [FileIdentity(b"", 0, 0, 0, 0)], None, finder).image((0, 0))
    return one.open_dump(pid), one.problem


def test_a_dump_below_symfs(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "jit-7.dump").write_bytes(Dump().load(0x1000, b"f").build())
    assert image("/tmp/jit-7.dump", Finder(symfs=str(tmp_path)))[0] is not None
    assert image("/tmp/jit-8.dump", Finder(symfs=str(tmp_path))) == (None, "no such path")


def test_a_dump_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "jit-7.dump"
    path.write_bytes(b"x" * 100)
    assert image(str(path), Finder()) == (None, "not a jitdump file")


def test_a_dump_in_the_container_of_its_process(tmp_path: Path) -> None:
    finder = Finder()
    finder.containers = Containers(lambda: [])
    path = tmp_path / "jit-7.dump"
    path.write_bytes(Dump().load(0x1000, b"f").build())
    assert image(str(path), finder, os.getpid())[0] is not None
