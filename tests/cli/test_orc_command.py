"""``undwarf tables`` on kernels: a linked file, a module, and the image that boots."""

import gzip
import json
import struct
import subprocess
from pathlib import Path
from typing import Any

from tests.support.commands import Run
from tests.support.tables.orc_builder import TEXT, file_of, linked, module, value

ROWS = [
    (TEXT, value(0x205, 8)), (TEXT + 4, value(0x215, 16, -16)), (TEXT + 16, 0), (TEXT + 32, value(0xB05)),
    (TEXT + 48, value(0x100)), (TEXT + 64, 0),
]  # fmt: skip  # a table


def dumped(undwarf: Run, *arguments: object) -> list[dict[str, Any]]:
    done = undwarf("tables", "dump", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


def test_a_kernels_rows(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "vmlinux").write_bytes(linked(ROWS))
    rows = dumped(undwarf, tmp_path / "vmlinux")
    said = [
        (
            int(row["address"], 16),
            int(row["end_address"], 16),
            row["cfa"],
            row["ra"],
            row["registers"]["rbp"],
            row["signal"],
        )
        for row in rows
    ]
    assert said == [
        (TEXT, TEXT + 4, "rsp+8", "cfa-8", "same", False),
        (TEXT + 4, TEXT + 16, "rsp+16", "cfa-8", "cfa-16", False),
        (TEXT + 32, TEXT + 48, "rsp+0", "cfa+128", "cfa+32", True),
        (TEXT + 48, TEXT + 64, "undefined", "undefined", "same", False),
    ]
    assert {row["source"] for row in rows} == {"orc"}


def test_the_image_that_boots_has_the_same_rows(undwarf: Run, tmp_path: Path) -> None:
    payload = gzip.compress(linked(ROWS))
    head = bytearray(1024)
    head[0x1F1], head[0x202:0x206] = 1, b"HdrS"
    struct.pack_into("<H", head, 0x206, 0x20F)
    struct.pack_into("<II", head, 0x248, 0, len(payload))
    (tmp_path / "vmlinuz").write_bytes(bytes(head) + payload)
    (tmp_path / "vmlinux").write_bytes(linked(ROWS))
    assert dumped(undwarf, tmp_path / "vmlinuz") == dumped(undwarf, tmp_path / "vmlinux", "--source", "orc")


def test_functions_of_a_packed_module_by_name(undwarf: Run, tmp_path: Path) -> None:
    rows = [
        (".text", 0, value(0x205, 8)),
        (".text", 0x20, 0),
        (".init.text", 0, value(0x215, 16, -16)),
        (".init.text", 0x10, 0),
    ]
    (tmp_path / "m.ko.gz").write_bytes(gzip.compress(module(rows, {".text": 0x20, ".init.text": 0x10})))
    (row,) = dumped(undwarf, tmp_path / "m.ko.gz", "in_init_text")
    assert (row["address"], row["end_address"], row["cfa"]) == ("0x1000", "0x1010", "rsp+16")
    assert "in_text at 0x0" in undwarf("tables", "dump", tmp_path / "m.ko.gz").stdout


def test_sizes_count_entries(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "vmlinux").write_bytes(linked(ROWS))
    found = json.loads(undwarf("tables", "sizes", "--json", tmp_path / "vmlinux").stdout)
    assert found["in_file"] == [{"name": ".orc_unwind", "size_bytes": 60, "entries": 6}]
    assert found["rows"] == 4
    assert {one["name"]: one["size_bytes"] for one in found["written"]}["orc"] == 80
    assert "6 entries" in undwarf("tables", "sizes", tmp_path / "vmlinux").stdout


def test_a_kernels_table_is_converted_without_a_change(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "vmlinux").write_bytes(linked(ROWS))
    out = tmp_path / "copy.orc"
    done = undwarf("tables", "convert", tmp_path / "vmlinux", "--to", "orc", "--version", "3", "-o", out)
    assert done.returncode == 0, done.stderr
    before, after = file_of(linked(ROWS)), file_of(out.read_bytes())
    assert bytes(after.section_data(".orc_unwind") or b"") == bytes(before.section_data(".orc_unwind") or b"")
    assert dumped(undwarf, out) == dumped(undwarf, tmp_path / "vmlinux")


def test_a_program_that_carries_orc_agrees_with_its_call_frame_information(undwarf: Run, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(
        "#include <stdio.h>\n#include <alloca.h>\n"
        'int main(int c, char **v) { char *p = alloca(c * 9); return snprintf(p, c * 9, "%s", v[0]); }\n'
    )
    subprocess.run(["gcc", "-O2", "-o", "p", "p.c"], cwd=tmp_path, check=True)
    done = undwarf("tables", "convert", "p", "--to", "orc", "--into", "with", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "with"], check=False).returncode > 0
    done = undwarf("tables", "verify", "with", "--source", "cfi", "--against", "orc", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["agreed"] > 20
    assert set(found["kinds"]) <= {"missing"}
    # Only the procedure linkage table's expression has no words in ORC.
    assert found["agreed"] + found["only_source"] == found["instructions"]
