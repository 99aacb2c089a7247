"""Memory accesses that PEBS, IBS and SPE record: by type, as sort keys, as script fields, and as perf prints them."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.documents import document
from tests.support.perfdata.build import (
    PLAIN,
    Attr,
    Build,
)
from tests.support.types.programs import WIDE, build
from tests.support.types.recordings import BASE, memory_recording, place

from undwarf.cli.main import undwarf
from undwarf.views.flat_profile import parse_keys

HIT_L1 = 2 | (2 | 8) << 5 | 2 << 19 | 26 << 26 | 1 << 40
MISS_L3 = 2 | (4 | 0x40) << 5 | 16 << 19 | 18 << 26 | 1 << 40
RAM = 2 | 2 << 5 | 13 << 33 | 2 << 19 | 0x24 << 26 | 1 << 40
STORED = 4 | (2 | 8) << 5 | 2 << 24 | 1 << 19 | 1 << 26
SCRIPT = "ip,addr,data_src,weight,ins_lat,phys_addr,data_page_size,code_page_size"


def access(at: int, source: int, cycles: int, **more: int) -> dict[str, int]:
    return {
        "ip": at,
        "data_src": source,
        "weight": cycles | 7 << 32 | 2 << 48,
        "addr": 0x7F00_0000_1000,
        "phys": 0x1234_5000,
        "data_page": 4096,
        "code_page": 2 << 20,
        **more,
    }


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """(a program, a recording of it)"""
    binary = build(tmp_path, WIDE, "wide.c", "-O2")
    hot = place(binary, "work", "struct wide", "hot", "rw")
    far = place(binary, "work", "struct wide", "far", "rw")
    one = next(row for row in symbols(binary) if row[1] == "one")[0]
    samples = [
        access(hot, HIT_L1, 4, addr=BASE + one),
        access(hot, MISS_L3, 60, addr=BASE + one),
        access(hot, RAM, 300, addr=BASE + one + 64, data_page=2 << 20, cpu=1),
        access(hot, STORED, 0, addr=BASE + one),
        access(far, HIT_L1, 5, phys=0),
        access(far, 0, 0, data_page=0, addr=0),
    ]
    return binary, memory_recording(tmp_path, binary, samples)


def symbols(binary: Path) -> list[tuple[int, str]]:
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    text = subprocess.run(["nm", binary], check=True, capture_output=True, text=True).stdout
    return [(int(line.split()[0], 16), line.split()[2]) for line in text.splitlines() if len(line.split()) == 3]


def run(*arguments: object) -> str:
    result = CliRunner().invoke(undwarf, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_members_have_latencies_levels_and_the_access_the_hardware_saw(made: tuple[Path, Path]) -> None:
    (event,) = document(run("types", "--json", made[1]))["events"]
    hot, far = event["types"][0]["fields"]
    memory = hot["memory"]
    assert (hot["field"], hot["weight"], hot["latency_cycles"], hot["timed_samples"]) == ("hot", 4000, 364, 3)
    # The instruction reads and writes; three samples are about the load, one about the store.
    assert (hot["loads"], hot["stores"]) == (3000, 1000)
    assert tuple(memory[key] for key in ("level_known", "missed", "tlb_missed", "from_other_cpu")) == (
        4000,
        2000,
        2000,
        1000,
    )
    assert memory["levels"] == {"L1 hit": 2000, "L3 miss": 1000, "RAM hit": 1000}
    assert memory["pages"] == {"4K": 3000, "2M": 1000}
    assert (far["memory"]["level_known"], far["memory"]["missed"], far["loads"], far["stores"]) == (1000, 0, 2000, 1000)


def test_recorded_fields_are_columns(made: tuple[Path, Path]) -> None:
    text = run("types", "--type", "wide", made[1])
    row = next(line for line in text.splitlines() if line.split()[-3:] == ["hot", "long", "int"])
    assert row.split()[:5] == ["66.67%", "50.00%", "16.67%", "121.3", "50.00%"]
    assert "L1 hit 50%, L3 miss 25%, RAM hit 25%, from another cpu's cache 25%, TLB missed 50%, pages 4K, 2M" in text


def test_latency_can_be_the_weight(made: tuple[Path, Path]) -> None:
    (event,) = document(run("types", "--json", "--weight", "latency", made[1]))["events"]
    # A sample without a latency counts 1.
    assert [one["weight"] for one in event["types"][0]["fields"]] == [365, 6]


def rows(path: Path, keys: str) -> dict[tuple[str | int | None, ...], int]:
    text = run("report", "-g", "none", "--json", "--percent-limit", "0", "-s", keys, path)
    (event,) = json.loads(text)["events"]
    return {tuple(row[key] for key in keys.split(",")): row["self"] for row in event["rows"]}


def test_sort_keys_show_the_data_source(made: tuple[Path, Path]) -> None:
    found = rows(made[1], "typeoff,mem,snoop,tlb,locked,blocked")
    assert found["struct wide +0 (hot)", "L3 miss", "HitM", "L2 hit", "No", None] == 1000
    assert found["struct wide +0 (hot)", "L1 hit", None, None, "Yes", None] == 1000
    assert found["struct wide +128 (far)", None, None, None, "No", None] == 1000
    assert sum(found.values()) == 6000


def test_sort_keys_show_latencies_and_pages(made: tuple[Path, Path]) -> None:
    assert rows(made[1], "local_ins_lat,ins_lat,local_retire_lat") == {(7, 42, 2): 6000}
    assert rows(made[1], "local_weight")[(300,)] == 1000
    assert parse_keys("symbol_iaddr,local_p_stage_cyc,p_stage_cyc") == ("sym", "local_retire_lat", "retire_lat")
    assert rows(made[1], "data_page_size,code_page_size")[("2M", "2M")] == 1000
    assert rows(made[1], "phys_daddr") == {("0x0000000012345000",): 5000, (None,): 1000}


def test_sort_keys_show_the_data_address(made: tuple[Path, Path]) -> None:
    binary, data = made
    found = rows(data, "symbol_daddr,dso_daddr")
    # No mapping of data was recorded: the place of the code says where the file's data is.
    assert found["one+0x0", str(binary)] == 3000
    assert found["one+0x40", str(binary)] == 1000
    assert found["0x00007f0000001000", None] == 1000
    assert rows(data, "dcacheline")[("0x00007f0000001000",)] == 1000


def test_a_field_that_was_not_recorded_is_an_error(tmp_path: Path) -> None:
    data = tmp_path / "plain.data"
    b, attr = Build(), Attr(sample_type=PLAIN)
    data.write_bytes(b.file([attr], [b.comm(attr, b"program"), b.sample(attr)]))
    for arguments in (["report", "-s", "mem"], ["report", "-s", "symbol_daddr"], ["types", "--weight", "latency"]):
        result = CliRunner().invoke(undwarf, [*arguments, str(data)])
        assert result.exit_code != 0
        assert "the recording has no" in str(result.exception or result.output)


def test_perf_prints_the_same_of_the_same_file(made: tuple[Path, Path]) -> None:
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("no perf")
    data = made[1]
    done = subprocess.run([perf, "script", "-i", data, "-F", SCRIPT], capture_output=True, text=True, check=False)
    if done.returncode or "|OP LOAD" not in done.stdout:
        pytest.skip("this perf does not read the file")
    ours = run("script", "-F", SCRIPT, data)
    # The width of the data source is the only thing that differs between versions.
    assert [re.split(" +", line) for line in ours.splitlines()] == [
        re.split(" +", line) for line in done.stdout.splitlines()
    ]
    for key in ("mem", "snoop", "tlb", "locked", "blocked", "local_weight"):
        command = [perf, "report", "--mem-mode", "--stdio", "-q", "-t", ";", "-s", key, "-i", str(data)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        shown = [line.split(";") for line in done.stdout.splitlines() if ";" in line]
        found: dict[str, float] = {}
        for share, text, *_rest in shown:
            # perf keeps apart what has other bits but the same words.
            found[text.strip()] = found.get(text.strip(), 0) + float(share.strip().rstrip("%"))
        ours = run("report", "-g", "none", "--json", "--weight", "latency", "--percent-limit", "0", "-s", key, data)
        (event,) = json.loads(ours)["events"]
        assert {
            "N/A" if row[key] is None else str(row[key]): round(100 * row["self"] / event["weight"], 2)
            for row in event["rows"]
        } == pytest.approx(found, abs=0.02)
