"""Names, lines and types of single addresses."""

import shutil
import subprocess
from pathlib import Path

import pytest

import undwarf

INLINED = """
static inline __attribute__((always_inline)) int inner(int *at) { return *at * 3; }
__attribute__((noinline)) int outer(int *at) { return inner(at) + 1; }
int main(int argc, char **argv) { return outer(&argc); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("inlined")
    (folder / "p.c").write_text(INLINED)
    subprocess.run(["gcc", "-g", "-O1", "p.c", "-o", "p"], cwd=folder, check=True)
    return folder / "p"


def functions(program: Path) -> dict[str, int]:
    starts = undwarf.UnwindTable.from_elf(program).starts
    return {one.symbol: one.address for one in undwarf.Symbolizer(program).lookup(starts) if one.symbol}


def test_inlined_functions_come_before_the_one_they_are_in(program: Path) -> None:
    start = functions(program)["outer"]
    found = undwarf.Symbolizer(program).lookup(range(start, start + 12))
    chains = {tuple((frame.function, frame.line, frame.inlined) for frame in one.frames) for one in found}
    assert (("inner", 2, True), ("outer", 3, False)) in chains
    assert all(frame.file.endswith("p.c") for one in found for frame in one.frames)


def test_a_return_address_is_looked_up_one_less(program: Path) -> None:
    start = functions(program)["outer"]
    symbolizer = undwarf.Symbolizer(program)
    exact, after = symbolizer.lookup([undwarf.CodeAddress(start), undwarf.CodeAddress(start, is_return=True)])
    assert (exact.address, after.address) == (start, start - 1)
    assert exact.symbol == "outer"


def test_an_address_without_a_symbol_has_an_empty_name(program: Path) -> None:
    unknown, outer = undwarf.Symbolizer(program).lookup([1 << 40, functions(program)["outer"]])
    assert (unknown.name, unknown.symbol, unknown.frames) == ("", "", [])
    assert outer.name


def test_nothing_asked_is_nothing_found(program: Path) -> None:
    assert undwarf.Symbolizer(program).lookup([]) == []


@pytest.mark.parametrize("kind", [undwarf.Symbolizer, undwarf.TypeResolver, undwarf.UnwindTable.from_elf])
def test_a_file_that_is_no_elf_file_is_an_error(kind: type, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    with pytest.raises(undwarf.ElfError):
        kind(tmp_path / "text")


def test_every_access_has_evidence(program: Path) -> None:
    resolver = undwarf.TypeResolver(program)
    start = functions(program)["outer"]
    found = {access.evidence for address in range(start, start + 12) for access in resolver.at(address)}
    assert undwarf.TypeEvidence.VARIABLE in found
    assert found <= set(undwarf.TypeEvidence)
    assert {one.evidence.value == one.how for one in resolver.at(start)} == {True}


def test_a_table_has_the_rules_of_all_functions(program: Path) -> None:
    table = undwarf.UnwindTable.from_elf(program)
    assert len(table) == len(table.starts) == len(table.ends) > 3
    rows = {start: rule for start, _end, rule in table}
    assert set(table.starts) <= set(rows)
    rule = table.rule_at(functions(program)["outer"])
    assert rule is not None
    assert (rule.cfa, rule.return_address, rule.source) == ("rsp+8", "cfa-8", "eh_frame")
