"""Tables of code that a runtime copies."""

import pytest
from tests.support.elf_builder import Elf, Section, Segment, Symbol

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.limits import DEFAULT
from undwarf.tables.from_copies import PAGE, READ_BYTES, CopySource, table_in_memory, table_of_copies, template_of
from undwarf.tables.model import UnwindTable
from undwarf.tables.rule_set import RuleSet

PLAIN = b"\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"
"""sub $8,%rsp; call *%rcx; add $8,%rsp; ret"""
POINTER = b"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xff\xd1\x5d\xc3"
"""endbr64; push %rbp; mov %rsp,%rbp; call *%rcx; pop %rbp; ret"""
BASE = 0x7F0000000000
_BEGIN = "_Py_trampoline_func_start"


def test_rules_of_the_plain_template() -> None:
    table = table_of_copies(PLAIN, [0x1000, 0x1020], RuleSet())
    rules = [table.rule_at(0x1020 + at) for at in range(len(PLAIN) + 1)]
    assert [rule and rule.cfa for rule in rules] == ["rsp+8"] * 4 + ["rsp+16"] * 6 + ["rsp+8", None]
    assert {rule.source for rule in rules if rule} == {"code"}


def test_rules_of_a_template_with_a_frame_pointer() -> None:
    rule = table_of_copies(POINTER, [0x1000], RuleSet()).rule_at(0x1000 + 9)
    assert rule is not None
    assert (rule.cfa, rule.registers) in [(f"{base}+16", {"ra": "cfa-8", "rbp": "cfa-16"}) for base in ("rbp", "rsp")]


def test_copies_that_overlap_are_left_out() -> None:
    source = CopySource(8, [0, 4, 8, (1 << 64) - 4], [])
    assert list(zip(source.starts, source.ends, strict=True)) == [(0, 8), (8, 16)]


def test_the_number_of_known_copies_is_bounded() -> None:
    defects = Defects()
    limits = DEFAULT._replace(copies=2)
    assert len(table_of_copies(PLAIN, [0x1000, 0x1020], RuleSet(), limits, defects, "process 7")) == 2
    assert not len(defects)
    assert len(table_of_copies(PLAIN, [0x1000, 0x1020, 0x1040], RuleSet(), limits, defects, "process 7")) == 2
    assert [(defect.kind, defect.subject) for defect in defects] == [("too many copies of code", "process 7")]


def test_full_rules_leave_copies_without() -> None:
    assert table_of_copies(PLAIN, [0x1000], RuleSet(DEFAULT._replace(rules=0))).rule_at(0x1000) is None


class Memory:
    """Pages with one copy each 32 bytes from ``first`` on, ``count`` of them."""

    def __init__(self, first: int, count: int) -> None:
        self.start = first // PAGE * PAGE
        data = bytearray(-(-(first - self.start + 32 * count) // PAGE) * PAGE)
        for i in range(count):
            at = first - self.start + 32 * i
            data[at : at + len(PLAIN)] = PLAIN
        self.data = bytes(data)
        self.reads = 0

    def read(self, start: int, end: int) -> bytes:
        self.reads += 1
        at = start - self.start
        return self.data[at : end - self.start] if 0 <= at < len(self.data) else b""


def in_memory(memory: Memory, defects: Defects | None = None, copies: int = DEFAULT.copies) -> UnwindTable:
    limits = DEFAULT._replace(copies=copies)
    return table_in_memory(PLAIN, memory.read, RuleSet(), limits, defects if defects is not None else Defects())


@pytest.mark.parametrize("first", [BASE, BASE + 3 * PAGE - 16, BASE + READ_BYTES - 8 + 32 * 5])
def test_copies_are_found_around_an_address(first: int) -> None:
    memory = Memory(first, 300)
    table = in_memory(memory)
    assert [table.more(first + 32 * 150 + at) for at in (-1, 0, 10, 11)] == [False, True, True, False]
    reads = memory.reads
    assert table.more(first + 32 * 151)
    assert memory.reads == reads


def test_copies_made_later_are_found() -> None:
    memory = Memory(BASE, 4)
    table = in_memory(memory)
    assert table.more(BASE)
    assert not table.more(BASE + 32 * 4)
    memory.data = Memory(BASE, 5).data
    assert table.more(BASE + 32 * 4)
    assert not table.exhausted
    assert len(table) == 5


@pytest.mark.parametrize("address", [0, 1, (1 << 64) - 1])
def test_memory_that_cannot_be_read_has_no_copies(address: int) -> None:
    assert not in_memory(Memory(BASE, 1)).more(address)


def test_the_number_of_copies_is_bounded() -> None:
    defects = Defects()
    assert not in_memory(Memory(BASE, 5), defects, copies=4).more(BASE)
    assert [defect.kind for defect in defects] == ["too many copies of code"]
    assert in_memory(Memory(BASE, 4), defects, copies=4).more(BASE)


def elf(size: int = len(PLAIN), *, dynamic: bool = True, machine: int = 62, begin: str = _BEGIN) -> ElfFile:
    """A program with a template of some bytes, and its symbols in one of two tables."""
    made = Elf(machine=machine)
    made.sections.append(Section(".text", PLAIN.ljust(4096, b"\x90"), flags=6, address=0x1000, align=4096))
    made.segments.append(Segment(1, 5, 0x1000, ".text"))
    symbols = [Symbol(begin, 0x1000, type=0), Symbol("_Py_trampoline_func_end", 0x1000 + size & (1 << 64) - 1, type=0)]
    return ElfFile(made.add_symbols(symbols, dynamic).build())


@pytest.mark.parametrize("dynamic", [True, False])
def test_the_template_lies_between_its_symbols(dynamic: bool) -> None:
    assert template_of(elf(dynamic=dynamic)) == PLAIN


def test_files_without_both_symbols_have_no_template() -> None:
    assert template_of(elf(begin="_Py_trampoline_func_stop")) is None


def test_other_machines_have_no_template() -> None:
    assert template_of(elf(machine=183)) is None


@pytest.mark.parametrize("size", [0, -1, 1 << 40])
def test_symbols_that_bound_nothing_have_no_template(size: int) -> None:
    assert template_of(elf(size)) is None


def test_the_size_of_a_template_is_bounded() -> None:
    assert len(template_of(elf(256)) or b"") == 256
    assert template_of(elf(257)) is None
    assert template_of(elf(), DEFAULT._replace(template_bytes=10)) is None
