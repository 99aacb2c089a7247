"""``undwarf tables`` on programs that the compiler makes here."""

import json
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import Run
from tests.support.elf_builder import Elf, Section

CODE = """
int twice(int x) __attribute__((noinline));
int twice(int x) { volatile int a[64]; a[x & 63] = x; return a[x & 63] * 2; }
int main(int argc, char **argv) { (void)argv; return twice(argc) + twice(argc + 1); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An optimised program with names."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    directory = tmp_path_factory.mktemp("tables")
    (directory / "p.c").write_text(CODE)
    subprocess.run(["gcc", "-O1", "-o", "p", "p.c"], cwd=directory, check=True)
    return directory / "p"


def rows(undwarf: Run, *arguments: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(undwarf("tables", "dump", "--json", *arguments).stdout)["rows"]
    return found


def test_a_row_has_the_registers_of_its_rule(undwarf: Run, program: Path) -> None:
    first = rows(undwarf, program, "twice")[0]
    assert list(first) == ["address", "end_address", "cfa", "ra", "registers", "signal", "source"]
    assert list(first["registers"]) == ["rbx", "rbp", "r12", "r13", "r14", "r15"]
    assert (first["cfa"], first["ra"], first["registers"]["rbp"]) == ("rsp+8", "cfa-8", "same")
    assert (first["signal"], first["source"]) == (False, "cfi")


def test_rows_of_a_function_are_those_within_its_range(undwarf: Run, program: Path) -> None:
    found = rows(undwarf, program, "twice")
    everything = rows(undwarf, program)
    assert found[0]["address"] in [row["address"] for row in everything] or len(found) > 1
    assert all(a["end_address"] == b["address"] for a, b in pairwise(found))


def test_adjacent_rows_differ(undwarf: Run, program: Path) -> None:
    found = rows(undwarf, program)
    for before, after in pairwise(found):
        if before["end_address"] == after["address"]:
            said = [{key: row[key] for key in row if key not in ("address", "end_address")} for row in (before, after)]
            assert said[0] != said[1]


def test_a_stretch_of_addresses_is_cut_out(undwarf: Run, program: Path) -> None:
    start = int(rows(undwarf, program, "twice")[0]["address"], 16)
    for place in (f"{start:#x}+1", hex(start)):
        (row,) = rows(undwarf, program, place)
        assert (row["address"], row["end_address"]) == (hex(start), hex(start + 1))


def test_text_names_the_function(undwarf: Run, program: Path) -> None:
    done = undwarf("tables", "dump", program, "twice")
    assert done.returncode == 0
    assert "twice at 0x" in done.stdout
    assert "rsp+8" in done.stdout


def test_unknown_source_and_function_are_usage_errors(undwarf: Run, program: Path) -> None:
    assert undwarf("tables", "dump", program, "--source", "tarot").returncode == 2
    done = undwarf("tables", "dump", program, "no_such_function")
    assert (done.returncode, "no function" in done.stderr) == (2, True)


def test_a_file_without_tables_is_nothing_usable(undwarf: Run, program: Path, tmp_path: Path) -> None:
    assert undwarf("tables", "dump", program, "--source", "debug-frame").returncode == 1
    (tmp_path / "text").write_text("no ELF file")
    assert undwarf("tables", "dump", tmp_path / "text").returncode == 3


MACHINES = {
    "RISC-V (little-endian)": (243, False),
    "PowerPC 64 (little-endian)": (21, False),
    "MIPS (little-endian)": (8, False),
    "s390x": (22, True),
    "AArch64 (big-endian)": (183, True),
    "machine 4711 (big-endian)": (4711, True),
}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize(
    "command",
    [("dump",), ("sizes",), ("verify", "--against", "code"), ("convert", "--to", "sframe", "-o", "x"), ("cache",)],
    ids=lambda command: command[0],
)
def test_a_machine_that_is_not_known_is_named(
    undwarf: Run, tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    machine, big = MACHINES[name]
    path = tmp_path / "program"
    frames = Section(".eh_frame", bytes(64), flags=2, address=0x2000)
    path.write_bytes(Elf(machine=machine, big=big, sections=[frames]).build())
    failed = undwarf("tables", command[0], path, *command[1:], UNDWARF_CACHE_DIR=str(tmp_path / "cache"))
    assert failed.returncode == 1
    assert f"is for {name}, and unwind tables are read from eh-frame" in failed.stderr
    assert "x86-64 and AArch64 (little-endian) only" in failed.stderr
    assert "damaged" not in failed.stderr


def test_sizes_leave_out_formats_of_other_machines(undwarf: Run, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    path = tmp_path / "program"
    (tmp_path / "f.s").write_text(".cfi_sections .eh_frame\nf: .cfi_startproc\nret\n.cfi_endproc\n")
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", path, tmp_path / "f.s"], check=True)
    data = bytearray(path.read_bytes())
    data[18] = 183
    path.write_bytes(data)
    written = json.loads(undwarf("tables", "sizes", "--json", path).stdout)["written"]
    assert "sframe 3" in [one["name"] for one in written]
    assert not any(one["name"].startswith("orc") for one in written)


def test_sframe_is_read_of_machines_without_call_frame_information(undwarf: Run, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(Elf(machine=243, sections=[Section(".sframe", bytes(64), flags=2, address=0x2000)]).build())
    failed = undwarf("tables", "dump", path, "--source", "sframe")
    assert failed.returncode == 1
    assert "read from sframe for s390x, x86-64, AArch64" in failed.stderr


def test_sizes_are_those_of_the_sections(undwarf: Run, program: Path) -> None:
    found = json.loads(undwarf("tables", "sizes", "--json", program).stdout)
    listed = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True).stdout
    size = next(int(line.split("]")[1].split()[4], 16) for line in listed.splitlines() if " .eh_frame " in line)
    assert found["in_file"][0] == {"name": ".eh_frame", "size_bytes": size, "entries": None}
    assert found["rows"] >= found["functions"] >= 3


def test_a_source_agrees_with_itself(undwarf: Run, program: Path) -> None:
    done = undwarf("tables", "verify", program, "--source", "cfi", "--against", "eh-frame", "--json")
    found = json.loads(done.stdout)
    assert found["agreed"] == found["instructions"] > 20
    assert found["disagreements"] == []


def test_a_wrong_rule_is_found_at_its_instruction(undwarf: Run, tmp_path: Path) -> None:
    """.eh_frame says what the code does, .debug_frame forgets the push."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    body = (
        "f:\n.cfi_startproc\n push %rbx\n{}.cfi_adjust_cfa_offset 8\n nop\n pop %rbx\n ret\n.cfi_endproc\n.size f,.-f\n"
    )
    head = ".text\n.globl f\n.type f,@function\n"
    (tmp_path / "good.s").write_text(".cfi_sections .eh_frame\n" + head + body.format(""))
    (tmp_path / "bad.s").write_text(
        ".cfi_sections .debug_frame\n" + head + body.format("").replace("offset 8", "offset 16")
    )
    for name in ("good", "bad"):
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", f"{name}.so", f"{name}.s"], cwd=tmp_path, check=True)
    subprocess.run(["objcopy", "--dump-section", ".debug_frame=frames", "bad.so", "bad2.so"], cwd=tmp_path, check=True)
    subprocess.run(["objcopy", "--add-section", ".debug_frame=frames", "good.so"], cwd=tmp_path, check=True)
    done = undwarf("tables", "verify", "good.so", "--source", "eh-frame", "--against", "debug-frame", "--json")
    found = json.loads(done.stdout)
    assert found["kinds"] == {"cfa": 3}
    only = found["disagreements"][0]
    assert (only["sym"], only["source"], only["against"], only["instructions"]) == ("f", "rsp+16", "rsp+24", 3)
    assert [line["text"].split()[0] for line in only["code"]] == ["nop", "pop", "ret"]


def test_a_converted_table_is_read_as_the_source(undwarf: Run, program: Path, tmp_path: Path) -> None:
    alone, copy = tmp_path / "alone", tmp_path / "copy"
    done = undwarf("tables", "convert", program, "--to", "sframe", "-o", alone, "--into", copy)
    assert (done.returncode, "functions" in done.stderr) == (0, True)
    found = json.loads(undwarf("tables", "verify", copy, "--against", "sframe", "--json").stdout)
    assert found["agreed"] == found["instructions"] > 20
    first = rows(undwarf, alone, "--source", "sframe")[0]
    assert (first["source"], first["registers"]["rbx"]) == ("sframe", "undefined")
    assert subprocess.run([copy], check=False).returncode == subprocess.run([program], check=False).returncode
    listed = subprocess.run(["readelf", "-SlW", copy], capture_output=True, text=True, check=False)
    assert (listed.stderr, ".sframe" in listed.stdout) == ("", True)


def test_convert_tells_what_is_wrong(undwarf: Run, program: Path, tmp_path: Path) -> None:
    for arguments in (
        ("--to", "sframe"),
        ("--to", "tarot", "-o", tmp_path / "x"),
        ("--to", "sframe", "--version", "7", "-o", tmp_path / "x"),
        ("--to", "sframe", "-o", program),
        ("--to", "sframe", "-o", tmp_path / "no" / "such"),
    ):
        assert undwarf("tables", "convert", program, *arguments).returncode == 2
    assert not list(tmp_path.iterdir())


def test_sizes_have_the_formats_that_can_be_written(undwarf: Run, program: Path, tmp_path: Path) -> None:
    found = json.loads(undwarf("tables", "sizes", "--json", program).stdout)
    written = {one["name"]: one["size_bytes"] for one in found["written"]}
    undwarf("tables", "convert", program, "--to", "sframe", "-o", tmp_path / "alone")
    in_file = json.loads(undwarf("tables", "sizes", "--json", "--source", "sframe", tmp_path / "alone").stdout)[
        "in_file"
    ]
    assert in_file == [{"name": ".sframe", "size_bytes": written["sframe 3"], "entries": None}]


SHIPPED = Path(__file__).parent.parent.parent / "examples" / "recording"


def test_the_cache_shows_what_a_run_kept(undwarf: Run, tmp_path: Path) -> None:
    place = {"UNDWARF_CACHE_DIR": str(tmp_path / "cache")}
    assert json.loads(undwarf("tables", "cache", "--json", **place).stdout)["tables"] == []
    for sections in ("1 sections read", "0 sections read"):
        done = undwarf("fold", "--stats", SHIPPED / "words.data", "--symfs", SHIPPED, **place)
        assert sections in done.stderr
    (table,) = json.loads(undwarf("tables", "cache", "--json", **place).stdout)["tables"]
    assert table["binary"] == str(SHIPPED / "words") or table["binary"].startswith(str(SHIPPED))
    assert table["rows"] > 0
    assert table["binary"] in undwarf("tables", "cache", **place).stdout
    assert "1 table removed" in undwarf("tables", "cache", "--clear", **place).stderr
    assert json.loads(undwarf("tables", "cache", "--json", **place).stdout)["tables"] == []


def test_whole_tables_can_be_kept_before_they_are_needed(undwarf: Run, tmp_path: Path, program: Path) -> None:
    place = {"UNDWARF_CACHE_DIR": str(tmp_path / "cache")}
    undwarf("tables", "cache", program, **place)
    (table,) = json.loads(undwarf("tables", "cache", "--json", **place).stdout)["tables"]
    assert table["binary"] == str(program)
    assert table["rows"] >= len(rows(undwarf, program, "twice"))


def test_there_may_be_no_cache(undwarf: Run) -> None:
    done = undwarf("tables", "cache", UNDWARF_CACHE_DIR="off")
    assert done.returncode == 2
    assert "UNDWARF_CACHE_DIR is off" in done.stderr


def test_sizes_have_a_line_for_the_cache(undwarf: Run, program: Path) -> None:
    found = json.loads(undwarf("tables", "sizes", "--json", program).stdout)
    sizes = {one["name"]: one["size_bytes"] for one in found["written"]}
    assert sizes["cache"] > 0


def test_registers_that_sframe_does_not_follow_are_no_disagreement(undwarf: Run, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    body = (
        "push %rdi\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rdi, 0\nnop\npop %rdi\n.cfi_adjust_cfa_offset -8\nret\n"
    )
    text = f".text\n.globl f\n.type f,@function\nf:\n.cfi_startproc\n{body}.cfi_endproc\n.size f,.-f\n"
    (tmp_path / "f.s").write_text(text)
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", "f.so", "f.s"], cwd=tmp_path, check=True)
    assert undwarf("tables", "convert", "f.so", "--to", "sframe", "--into", "g.so").returncode == 0
    found = json.loads(undwarf("tables", "verify", "g.so", "--against", "sframe", "--json").stdout)
    assert (found["agreed"], found["instructions"], found["kinds"]) == (4, 4, {})


def test_stacks_are_walked_by_what_unwind_names(undwarf: Run) -> None:
    place = {"UNDWARF_CACHE_DIR": "off"}
    recording = (SHIPPED / "words.data", "--symfs", SHIPPED)
    usual = undwarf("fold", *recording, **place).stdout
    assert undwarf("fold", "--unwind", "auto", *recording, **place).stdout == usual
    assert undwarf("fold", "--unwind", "debug-frame", *recording, **place).stdout != usual
    done = undwarf("fold", "--unwind", "tarot", *recording, **place)
    assert done.returncode == 2
    for name in ("auto", "cfi", "sframe", "fp"):
        assert name in done.stderr


def test_contradictions_come_before_what_is_missing(undwarf: Run, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")

    def function(name: str, offset: int) -> str:
        body = f"push %rbx\n.cfi_adjust_cfa_offset {offset}\n.cfi_rel_offset rbx, 0\nnop\nnop\npop %rbx\nret\n"
        head = f".globl {name}\n.type {name},@function\n{name}:\n"
        return f"{head}.cfi_startproc\n{body}.cfi_endproc\n.size {name},.-{name}\n"

    (tmp_path / "good.s").write_text(".cfi_sections .eh_frame\n" + function("first", 8) + function("second", 8))
    bare = "push %rbx\nnop\nnop\npop %rbx\nret\n"
    (tmp_path / "bad.s").write_text(".cfi_sections .debug_frame\n" + bare + function("second", 16))
    for name in ("good", "bad"):
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", f"{name}.so", f"{name}.s"], cwd=tmp_path, check=True)
    subprocess.run(["objcopy", "--dump-section", ".debug_frame=frames", "bad.so", "bad2.so"], cwd=tmp_path, check=True)
    subprocess.run(["objcopy", "--add-section", ".debug_frame=frames", "good.so"], cwd=tmp_path, check=True)
    arguments = ("tables", "verify", "good.so", "--source", "eh-frame", "--against", "debug-frame")
    found = json.loads(undwarf(*arguments, "--json").stdout)["disagreements"]
    # In bad.so the first function is where it is in good.so, and has no rules.
    expected = [("cfa", "second", 4), ("rbx", "second", 4), ("missing", "first", 5)]
    assert [(one["kind"], one["sym"], one["instructions"]) for one in found] == expected
    text = undwarf(*arguments, "--limit", "1").stdout
    assert "second: cfa is rsp+16 or rsp+24" in text
    assert "more places" in text
