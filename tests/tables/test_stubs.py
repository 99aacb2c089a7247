"""Rules of linkage tables that the linker wrote none for."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.elf_builder import Elf, Section, Segment

from undwarf.elf import ElfFile
from undwarf.tables.model import UnwindTable
from undwarf.tables.rule_set import RuleSet
from undwarf.tables.stubs import signals_x86_64, x86_64

JUMP, PUSH, BACK = "ff25e29f1c00", "6800000000", "e9e0ffffff"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # GNU ld, static: jumps alone
        (f"{JUMP}6690" * 3, [(0, 8)]),
        # after endbr64, with a bnd prefix
        (f"f30f1efaf2{JUMP}0f1f440000" * 2, [(0, 8)]),
        # lazy: the header, then a jump that first goes to the push after it
        (
            f"ff35e22f0000{JUMP}0f1f4000" + f"{JUMP}{PUSH}{BACK}" * 2,
            [(0, 16), (6, 24), (12, 8), (27, 16), (32, 8), (43, 16)],
        ),
        # anything else ends what is known
        (f"{JUMP}66904889e5{JUMP}", [(0, 8), (8, 0)]),
        ("", [(0, 8)]),
    ],
)
def test_what_lies_on_the_stack(code: str, expected: list[tuple[int, int]]) -> None:
    assert x86_64.depths(bytes.fromhex(code)) == expected


def test_a_large_static_program_has_rules_for_its_stubs(tmp_path: Path) -> None:
    """GNU ld describes no stubs of static programs; the C library alone has more functions than are looked at."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    source = tmp_path / "program.c"
    source.write_text("int main(void) { return 0; }")
    program = tmp_path / "program"
    if subprocess.run(
        ["gcc", "-static", "-w", "-Wl,--eh-frame-hdr", str(source), "-o", str(program)], capture_output=True
    ).returncode:
        pytest.skip("gcc cannot link statically here")
    elf = ElfFile.open(program)
    section = elf.section(".plt") or elf.section(".iplt")
    if section is None or UnwindTable.from_elf(elf, "eh-frame", rules=RuleSet()).rule_at(section.address) is not None:
        pytest.skip("no linkage table, or one that the linker describes")
    table = UnwindTable.from_elf(elf, "auto", rules=RuleSet(), quick=True)
    rule = table.rule_at(section.address)
    assert rule is not None
    assert (rule.cfa, rule.source) == ("rsp+8", "code")
    # Functions have theirs all the same.
    assert table.rule_at(elf.entry + 1) is not None


def test_undescribed_signal_return_code_has_a_rule() -> None:
    """As musl has it: two of them, the byte before is padding."""
    code = b"\xc3\x90" + signals_x86_64.RETURN + b"\xc3" * 5 + signals_x86_64.RETURN
    elf = Elf(kind=2, sections=[Section(".text", code, 1, 6, 0x401000)])
    elf.segments = [Segment(1, 5, 0x401000, ".text", 0, len(code))]
    found = signals_x86_64.signal_returns(ElfFile.from_bytes(elf.build()), RuleSet(), 5)
    assert found is not None
    assert [(low - 0x401000, high - 0x401000) for low, high in zip(found.starts, found.ends, strict=True)] == [
        (1, 11),
        (16, 25),
    ]
    table = UnwindTable.from_elf(ElfFile.from_bytes(elf.build()), "code")
    rules = [table.rule_at(0x401000 + at) for at in (1, 2, 16)]
    assert [(rule.cfa, rule.signal, rule.registers["ra"]) for rule in rules if rule is not None] == [
        ("*(rsp+160)", True, "*(rsp+168)")
    ] * 3
