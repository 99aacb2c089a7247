"""Call frame programs and the rows they make."""

import pytest
from tests.support.tables.cfi_builder import CODE, USUAL, Compiled, Section, block, compiled, rules_of, sleb, uleb

from undwarf.limits import Limits
from undwarf.tables.rule_set import RuleSet

Rows = list[tuple[int, str, dict[str, str]]]

DEF_CFA, DEF_CFA_REGISTER, DEF_CFA_OFFSET, DEF_CFA_EXPRESSION = b"\x0c", b"\x0d", b"\x0e", b"\x0f"
REMEMBER, RESTORE_STATE = b"\x0a", b"\x0b"
RBP, RSP, RA = 6, 7, 16
PUSH_RBP = b"\x0e\x10\x86\x02"  # rsp+16, rbp at cfa-16


def advance(by: int) -> bytes:
    return bytes((0x40 | by,))


def rows(program: bytes, **more: object) -> Rows:
    """The rows of one function of 256 bytes."""
    return rules_of(compiled(program, **more).rows())


AT_START = (0, "rsp+8", {})


def test_without_instructions_the_cie_says_it_all() -> None:
    assert rows(b"") == [AT_START]


def test_the_usual_prologue() -> None:
    assert rows(advance(1) + PUSH_RBP + advance(3) + b"\x0d\x06" + advance(10) + b"\x0c\x07\x08") == [
        AT_START,
        (1, "rsp+16", {"rbp": "cfa-16"}),
        (4, "rbp+16", {"rbp": "cfa-16"}),
        (14, "rsp+8", {"rbp": "cfa-16"}),
    ]


@pytest.mark.parametrize(
    ("instruction", "cfa", "registers"),
    [
        (b"\x86\x02", "rsp+8", {"rbp": "cfa-16"}),
        (b"\x05\x06\x02", "rsp+8", {"rbp": "cfa-16"}),
        (b"\x07\x06", "rsp+8", {"rbp": "undefined"}),
        (b"\x09\x06\x03", "rsp+8", {"rbp": "rbx"}),
        (b"\x09\x06" + uleb(40), "rsp+8", {"rbp": "undefined"}),
        (b"\x0c\x06" + uleb(300), "rbp+300", {}),
        (b"\x0d\x0a", "r10+8", {}),
        (b"\x0e" + uleb(70000), "rsp+70000", {}),
        (b"\x11\x06" + sleb(-2), "rsp+8", {"rbp": "cfa+16"}),
        (b"\x12\x06" + sleb(-4), "rbp+32", {}),
        (b"\x13" + sleb(-3), "rsp+24", {}),
        (b"\x14\x06\x02", "rsp+8", {"rbp": "val(cfa-16)"}),
        (b"\x15\x06" + sleb(-2), "rsp+8", {"rbp": "val(cfa+16)"}),
        (b"\x2f\x06\x02", "rsp+8", {"rbp": "cfa+16"}),
        (b"\x10\x06" + block(b"\x76" + sleb(-8)), "rsp+8", {"rbp": "*(rbp-8)"}),
        (b"\x10\x06" + block(b"\x77\x08\x06"), "rsp+8", {"rbp": "expr"}),
        (b"\x16\x06" + block(b"\x77\x08"), "rsp+8", {"rbp": "expr"}),
        (b"\x0f" + block(b"\x76" + sleb(-8)), "rbp-8", {}),
        (b"\x0f" + block(b"\x76" + sleb(-8) + b"\x06"), "*(rbp-8)", {}),
        (b"\x0f" + block(b"\x77" + sleb(24) + b"\x06\x23\x38"), "*(rsp+24)+56", {}),
        (b"\x0f" + block(b"\x77" + sleb(24) + b"\x06\x38\x22"), "*(rsp+24)+8", {}),
        (b"\x0f" + block(b"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), "plt(rsp+8, 11)", {}),
        (b"\x0f" + block(b"\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x22"), "plt(rsp+8, 9)", {}),
        (b"\x0f" + block(b"\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x1c"), "expr", {}),
        (b"\x0f" + block(b"\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08"), "expr", {}),
        (b"\x0f" + block(b""), "expr", {}),
    ],
)
def test_what_an_instruction_sets(instruction: bytes, cfa: str, registers: dict[str, str]) -> None:
    assert rows(advance(4) + instruction) == [AT_START, (4, cfa, registers)]


@pytest.mark.parametrize(
    "instruction",
    [
        b"\x00",
        b"\x08\x06",
        b"\x2d",
        b"\x2e" + uleb(5000),
        b"\x05" + uleb(33) + b"\x02",
        b"\x07" + uleb(17),
        b"\x06" + uleb(1 << 40),
        b"\x10" + uleb(20) + block(b"\x77\x08"),
        b"\x0e\x08",
    ],
    ids=["nop", "same", "window_save", "args_size", "xmm", "undefined xmm", "restore xmm", "expression xmm", "repeat"],
)
def test_what_changes_no_row(instruction: bytes) -> None:
    assert rows(advance(4) + instruction + advance(4) + instruction) == [AT_START]


@pytest.mark.parametrize(
    ("instruction", "at"),
    [
        (b"\x41", 1),
        (b"\x7f", 63),
        (b"\x02\x80", 128),
        (b"\x03\x00\x01", 256),
        (b"\x04\x00\x01\x00\x00", 256),
        (b"\x01" + (CODE + 77).to_bytes(8, "little"), 77),
    ],
)
def test_advances(instruction: bytes, at: int) -> None:
    section = Section(debug=True)
    section.fde(section.cie(augmentation=b""), CODE, 0x1000, instruction + PUSH_RBP)
    assert [offset for offset, _ in Compiled(section).rows()] == [0, at]


def test_set_loc_reads_pointers_as_the_cie_says() -> None:
    section = Section()
    cie = section.cie()
    field = section.address + len(section.data) + 4 + 4 + 8 + 1 + 1
    section.fde(cie, CODE, 0x100, b"\x01" + section.encoded(CODE + 9, 0x1B, field) + PUSH_RBP)
    assert [offset for offset, _ in Compiled(section).rows()] == [0, 9]


def test_advances_are_in_units_of_the_code_alignment() -> None:
    section = Section()
    section.fde(section.cie(code_align=4), CODE, 0x100, advance(3) + PUSH_RBP + b"\x02\x05" + b"\x0e\x18")
    assert [offset for offset, _ in Compiled(section).rows()] == [0, 12, 32]


def test_adjacent_rows_that_say_the_same_are_one() -> None:
    assert len(rows(advance(1) + PUSH_RBP + advance(1) + b"\x0e\x10" + advance(1) + b"\x0e\x18")) == 3


def test_a_repeated_setting_does_not_hide_a_restored_state() -> None:
    # gcc writes this where a block ends early: restore_state, then a rule that the restored state has already.
    program = REMEMBER + advance(1) + PUSH_RBP + advance(4) + RESTORE_STATE + b"\x0e\x08" + advance(4) + PUSH_RBP
    assert rows(program) == [
        AT_START,
        (1, "rsp+16", {"rbp": "cfa-16"}),
        (5, "rsp+8", {}),
        (9, "rsp+16", {"rbp": "cfa-16"}),
    ]


def test_states_nest() -> None:
    down = REMEMBER + advance(1) + b"\x0e\x10" + REMEMBER + advance(1) + b"\x0e\x18"
    program = down + advance(1) + RESTORE_STATE + advance(1) + RESTORE_STATE
    assert [row[1] for row in rows(program)] == ["rsp+8", "rsp+16", "rsp+24", "rsp+16", "rsp+8"]


def test_restore_goes_back_to_the_cie_not_to_nothing() -> None:
    initial = USUAL + b"\x83\x04"
    program = advance(1) + b"\x83\x02\x86\x03" + advance(1) + b"\xc3\x06\x06"
    assert rows(program, initial=initial) == [
        (0, "rsp+8", {"rbx": "cfa-32"}),
        (1, "rsp+8", {"rbx": "cfa-16", "rbp": "cfa-24"}),
        (2, "rsp+8", {"rbx": "cfa-32"}),
    ]


def test_remembered_states_of_one_function_are_not_seen_by_the_next() -> None:
    section = Section()
    cie = section.cie()
    section.fde(cie, CODE, 0x10, REMEMBER + advance(1) + PUSH_RBP)
    section.fde(cie, CODE + 0x10, 0x10, advance(1) + RESTORE_STATE)
    assert rules_of(Compiled(section).rows(1)) == [(16, "rsp+8", {}), (17, "hole", {})]


def test_the_program_of_a_cie_sets_no_location() -> None:
    assert rows(b"", initial=advance(9) + USUAL + advance(9)) == [AT_START]


def test_rows_stop_at_the_function_end() -> None:
    assert [row[0] for row in rows(advance(8) + b"\x0e\x10" + advance(8) + b"\x0e\x18", size=16)] == [0, 8]


def test_an_undefined_return_address_is_the_outermost_frame() -> None:
    found = compiled(b"\x07\x10").rows()[0][1]
    assert found is not None
    assert (found.outermost, found.return_address, found.registers) == (True, "undefined", {})


def test_the_return_address_comes_first() -> None:
    found = compiled(b"\x83\x02\x86\x03")
    words = found.rules.words(found.numbers()[0][1])
    assert words[:12] == [1, RSP, 8, 0, 0, 1, 3, RA, RA, 2, -8, 0]
    assert words[12:20] == [3, 2, -16, 0, 6, 2, -24, 0]


def test_flags_of_expressions_and_signal_frames() -> None:
    section = Section()
    cie = section.cie(augmentation=b"zRS")
    section.fde(cie, CODE, 0x10)
    section.fde(cie, CODE + 0x10, 0x10, b"\x0f" + block(b"\x96"))
    found = Compiled(section)
    assert [found.rules.words(found.numbers(i)[0][1])[4] for i in (0, 1)] == [1, 1 | 8]


def test_expressions_are_kept_once_each() -> None:
    odd, other = b"\x77\x08\x06\x06", b"\x77\x10\x06\x06"
    found = compiled(b"\x0f" + block(odd) + b"\x10\x06" + block(other) + b"\x10\x03" + block(odd))
    words = found.rules.words(found.numbers()[0][1])
    assert (words[0], words[3]) == (4, 0)
    entries = {words[8 + 4 * k]: words[9 + 4 * k : 11 + 4 * k] for k in range(words[6])}
    assert entries == {16: [2, -8], 6: [6, 1], 3: [6, 0]}
    assert [found.rules.expressions[i] for i in (0, 1)] == [odd, other]
    assert list(found.rules.expression_offsets) == [0, 4, 8]
    assert bytes(found.rules.expression_bytes[:8]) == odd + other


HOLE_AFTER_4 = [AT_START, (4, "hole", {})]


@pytest.mark.parametrize(
    "instruction",
    [
        b"\x17",
        b"\x3f",
        b"\x1d" + bytes(8),
        RESTORE_STATE,
        b"\x0e" + uleb(1 << 40),
        b"\x86" + uleb(1 << 40),
        b"\x0c" + uleb(17) + b"\x08",
        b"\x0c\x07" + b"\x80" * 30,
        b"\x0f" + uleb(1000) + b"\x77",
        b"\x10\x06" + uleb(1 << 63) + b"\x77",
        b"\x02",
        b"\x03\x01",
        b"\x04\x01\x02\x03",
        b"\x01\x02",
        b"\x0f" + block(b"\x77\x08\x06") + b"\x0e\x10",
        b"\x0f" + block(b"\x77\x08\x06") + b"\x0d\x06",
    ],
)
def test_damage_leaves_a_hole_and_is_counted(instruction: bytes) -> None:
    section = Section()
    section.fde(section.cie(), CODE, 0x100, advance(4) + instruction, pad=False)
    found = Compiled(section)
    assert rules_of(found.rows()) == HOLE_AFTER_4
    assert found.table.damaged == 1


def test_a_cie_that_cannot_be_run_makes_holes_of_its_functions() -> None:
    found = compiled(PUSH_RBP, initial=b"\x3f")
    assert rules_of(found.rows()) == [(0, "hole", {})]
    assert found.table.damaged == 1


def test_set_loc_backwards_is_damage() -> None:
    section = Section(debug=True)
    back = b"\x01" + (CODE + 1).to_bytes(8, "little")
    section.fde(section.cie(augmentation=b""), CODE, 0x100, advance(4) + back)
    assert rules_of(Compiled(section).rows()) == HOLE_AFTER_4


def test_the_depth_of_remembered_states_is_bounded() -> None:
    limits = Limits(remember_depth=5)
    fine = REMEMBER * 5 + advance(4) + PUSH_RBP
    assert rows(fine, limits=limits)[-1][1] == "rsp+16"
    assert rows(advance(4) + REMEMBER * 6 + PUSH_RBP, limits=limits) == HOLE_AFTER_4


def test_the_steps_of_a_program_are_bounded() -> None:
    limits = Limits(cfi_steps=50)
    assert rows(advance(4) + b"\x00" * 50 + PUSH_RBP, limits=limits) == HOLE_AFTER_4


def test_the_rows_of_a_program_are_bounded() -> None:
    limits = Limits(cfi_rows=5)
    program = b"".join(advance(1) + b"\x0e" + uleb(16 + 8 * i) for i in range(50))
    assert [row[1] for row in rows(program, limits=limits)] == [
        *("rsp+8", "rsp+16", "rsp+24", "rsp+32", "rsp+40"),
        "hole",
    ]


def test_the_work_for_one_section_is_bounded() -> None:
    # Each function runs one large CIE's instructions again, because another CIE comes in between.
    section = Section()
    large = section.cie(USUAL + bytes(20_000))
    small = section.cie()
    for i in range(300):
        section.fde(large if i % 2 else small, CODE + 16 * i, 16)
    found = Compiled(section, limits=Limits(cfi_steps=50_000))
    last = [found.rows(i)[0][1] for i in range(300)]
    assert last[1] is not None
    assert last[299] is None
    assert found.table.damaged > 0


def test_the_rules_of_a_run_are_bounded() -> None:
    limits = Limits(rules=10)
    program = b"".join(advance(1) + b"\x0e" + uleb(16 + 8 * i) for i in range(50))
    found = compiled(program, limits=limits)
    assert [offset for offset, rule in found.rows() if rule is None] == [10]
    assert found.rules.refused > 0
    assert len(found.rules) == 10


def test_rows_of_a_covered_function_start_at_each_of_its_pieces() -> None:
    section = Section()
    cie = section.cie()
    section.fde(cie, CODE, 0x100, b"".join(advance(8) + b"\x0e" + uleb(16 + 8 * i) for i in range(20)))
    section.fde(cie, CODE + 0x14, 0x10)
    found = Compiled(section)
    assert [row[:2] for row in rules_of(found.rows(0))] == [(0, "rsp+8"), (8, "rsp+16"), (16, "rsp+24")]
    assert [row[:2] for row in rules_of(found.rows(1))] == [(0x14, "rsp+8")]
    assert [row[:2] for row in rules_of(found.rows(2))][:2] == [(0x24, "rsp+40"), (0x28, "rsp+48")]


def test_rows_handed_out_stay_true_when_more_are_made() -> None:
    section = Section()
    cie = section.cie()
    for i in range(400):
        section.fde(cie, CODE + 16 * i, 16, advance(4) + b"\x0e" + uleb(16 + 8 * i))
    found = Compiled(section)
    entries = found.entries
    kept = [found.table.rows(i, entries.starts[i], entries.ends[i]) for i in range(400)]
    for i, (addresses, rules) in enumerate(kept):
        assert list(addresses) == [CODE + 16 * i, CODE + 16 * i + 4]
        assert found.rules.words(rules[1])[2] == 16 + 8 * i


def test_compiling_all_at_once_gives_the_same() -> None:
    section = Section()
    cie = section.cie()
    for i in range(50):
        section.fde(cie, CODE + 16 * i, 16, advance(1 + i % 7) + b"\x0e" + uleb(16 + 8 * (i % 9)))
    one, other = Compiled(section), Compiled(section)
    assert other.table.compile_all() == sum(len(one.numbers(i)) for i in range(50))
    assert [one.rows(i) for i in range(50)] == [other.rows(i) for i in range(50)]


def test_sections_share_rules() -> None:
    rules = RuleSet()
    section = Section()
    section.fde(section.cie(), CODE, 0x10, advance(1) + PUSH_RBP)
    one, other = Compiled(section, rules=rules), Compiled(section, rules=rules)
    assert one.numbers() == other.numbers()
    assert len(rules) == 2


AARCH64_USUAL = b"\x0c\x1f\x00"


def aarch64(program: bytes) -> Compiled:
    section = Section()
    section.fde(section.cie(AARCH64_USUAL, code_align=4, column=30), CODE, 0x100, program)
    return Compiled(section, machine=183)


def test_aarch64_registers() -> None:
    found = aarch64(advance(1) + b"\x0e\x20\x9d\x04\x9e\x03").rows()
    assert rules_of(found) == [(0, "sp+0", {}), (4, "sp+32", {"ra": "cfa-24", "x29": "cfa-32"})]


def test_aarch64_signed_return_addresses_are_remembered_and_restored() -> None:
    program = b"".join(
        (advance(1), b"\x2d", REMEMBER, advance(1), b"\x0e\x10", advance(1), b"\x2d", advance(1), RESTORE_STATE)
    )
    found = aarch64(program).rows()
    assert [(offset, rule.signed) for offset, rule in found if rule] == [
        (0, False),
        (4, True),
        (8, True),
        (12, False),
        (16, True),
    ]


def test_more_registers_than_fit_leave_out_the_lowest() -> None:
    program = b"".join(bytes((0x80 | register, 1)) for register in range(31))
    found = aarch64(program).rows()[0][1]
    assert found is not None
    assert found.return_address == "cfa-8"
    assert {"x29", "x28", "x19"} <= found.registers.keys()
    assert len(found.registers) == 18
