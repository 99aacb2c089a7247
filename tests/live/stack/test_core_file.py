"""Stacks of core files."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.stacks import functions, rests_in_main, shown

from undwarf.cli.main import undwarf
from undwarf.elf import ElfFile
from undwarf.errors import UnreadableInput
from undwarf.live.stack.core_file import read_core, snapshot_of

pytestmark = pytest.mark.usefixtures("stacks_are_supported")


def core_of(pid: int, folder: Path) -> Path:
    if shutil.which("gcore") is None:
        pytest.skip("no gcore")
    done = subprocess.run(["gcore", "-o", str(folder / "core"), str(pid)], capture_output=True, check=False)
    core = folder / f"core.{pid}"
    if done.returncode or not core.exists():
        pytest.skip("gcore cannot write a core here")
    return core


def test_a_core_has_the_same_stacks(process: subprocess.Popen[bytes], tmp_path: Path):
    core = core_of(process.pid, tmp_path)
    whole = sorted(map(functions, shown(process.pid)))
    assert ["deep" in names for names in whole].count(True) == 1
    assert sorted(map(functions, shown(core))) == whole


def header(kind: int, machine: int = 62, body: bytes = b"") -> ElfFile:
    data = b"\x7fELF\2\1\1".ljust(16, b"\0")
    data += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 0, 64, 56, 1 if body else 0, 64, 0, 0)
    if body:
        data += struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(body), len(body), 4)
    return ElfFile.from_bytes(data + body)


def test_files_that_are_no_core():
    with pytest.raises(UnreadableInput, match="another kind"):
        snapshot_of(header(2))
    with pytest.raises(UnreadableInput, match="machine 40"):
        snapshot_of(header(4, 40))
    with pytest.raises(UnreadableInput, match="no registers"):
        snapshot_of(header(4))


def test_a_compressed_core_has_a_hint_how_to_decompress_it(tmp_path: Path):
    packed = tmp_path / "my core.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    with pytest.raises(UnreadableInput, match="compressed with zstd") as refused:
        read_core(str(packed))
    assert refused.value.hint == f"zstd -dc < '{packed}' > core"


def test_a_core_takes_files_from_elsewhere_with_binary_and_symfs(
    sleeper: tuple[subprocess.Popen[bytes], Path], tmp_path: Path
):
    running, program = sleeper
    core = core_of(running.pid, tmp_path)
    moved = tmp_path / "moved"
    program.rename(moved)
    shutil.copy("/bin/true", program)
    assert "rests" not in functions(shown(core)[0])
    assert (
        f"files of the process that were not found: {program};"
        in CliRunner().invoke(undwarf, ["stack", str(core)]).stderr
    )
    assert rests_in_main(shown(core, "--binary", str(moved)))
    inside = tmp_path / "root" / str(program).lstrip("/")
    inside.parent.mkdir(parents=True)
    shutil.copy(moved, inside)
    assert rests_in_main(shown(core, "--symfs", str(tmp_path / "root")))


def test_only_programs_and_libraries_are_reported_missing(tmp_path: Path):
    """Other files that a process had mapped have no part in its stacks."""
    (tmp_path / "data").write_bytes(bytes(10_000))
    script = "import mmap, time; f = open('data'); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); print(flush=True)"
    command = [sys.executable, "-c", f"{script}; time.sleep(99)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) as running:
        assert running.stdout is not None
        assert running.stdout.read(1)
        try:
            core = core_of(running.pid, tmp_path)
        finally:
            running.kill()
    assert "not here" not in CliRunner().invoke(undwarf, ["stack", str(core)]).stderr


def test_a_truncated_core_without_registers_is_an_error(sleeper: tuple[subprocess.Popen[bytes], Path], tmp_path: Path):
    core = core_of(sleeper[0].pid, tmp_path)
    size = core.stat().st_size
    os.truncate(core, size // 2)
    # A debugger writes the registers last, the kernel first.
    with pytest.raises(UnreadableInput, match="truncated"):
        shown(core)


def test_missing_memory_of_a_truncated_core_is_counted():
    registers = [0] * 27
    status = bytes(32) + struct.pack("<i", 7) + bytes(76) + struct.pack("<27Q", *registers) + bytes(8)
    note = struct.pack("<III", 5, len(status), 1) + b"CORE\0\0\0\0" + status
    data = b"\x7fELF\2\1\1".ljust(16, b"\0")
    data += struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    data += struct.pack("<IIQQQQQQ", 4, 0, 176, 0, 0, len(note), len(note), 4)
    data += struct.pack("<IIQQQQQQ", 1, 6, 176 + len(note), 0x1000, 0, 4096, 4096, 4096)
    snapshot = snapshot_of(ElfFile.from_bytes(data + note + bytes(96)))
    assert snapshot.remarks == ["the core file is truncated: 4,000 bytes of memory are missing"]


def test_a_core_without_file_names_takes_the_given_program(tmp_path: Path):
    """QEMU's cores of AArch64 programs: neither file names nor code are in them."""
    compiler, machine = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
    if not compiler or not machine:
        pytest.skip("needs aarch64-linux-gnu-gcc and qemu-aarch64")
    (tmp_path / "a.c").write_text(
        "__attribute__((noinline)) int falls(int n) {\n"
        "  volatile int x = n;\n"
        "  if (n) return falls(n - 1) + x;\n"
        "  *(volatile int *)8 = 1;\n"
        "  return x;\n"
        "}\n"
        "int main(void) { return falls(3); }\n"
    )
    options = ["-g", "-O1", "-fno-optimize-sibling-calls", "-static"]
    built = subprocess.run([compiler, *options, "a.c", "-o", "a"], cwd=tmp_path, capture_output=True, check=False)
    if built.returncode:
        pytest.skip("no static library for AArch64")
    subprocess.run(["sh", "-c", f"ulimit -c unlimited; {machine} ./a"], cwd=tmp_path, capture_output=True, check=False)
    core = next(tmp_path.glob("qemu_*.core"), None)
    if core is None:
        pytest.skip("no core is written here")
    thread = shown(core, "--binary", str(tmp_path / "a"))[0]
    assert functions(thread)[:5] == ["falls"] * 4 + ["main"]
    assert thread["incomplete"] is None


def test_a_core_without_memory_has_the_innermost_frame():
    registers = [0] * 27
    registers[16] = 0x1234
    status = bytes(32) + struct.pack("<i", 7) + bytes(76) + struct.pack("<27Q", *registers) + bytes(8)
    note = struct.pack("<III", 5, len(status), 1) + b"CORE\0\0\0\0" + status
    snapshot = snapshot_of(header(4, body=note))
    with snapshot.open(cache=False) as recording:
        profile = recording.profile(runtime=True)
        assert [frame.runtime for frame in profile.samples[0].stack] == [0x1234]


def test_a_program_header_in_a_core_that_covers_all_addresses():
    registers = [0] * 27
    registers[16] = 0x400100
    status = bytes(32) + struct.pack("<i", 7) + bytes(76) + struct.pack("<27Q", *registers) + bytes(8)
    note = struct.pack("<III", 5, len(status), 1) + b"CORE\0\0\0\0" + status
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    program = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    program += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, (1 << 64) - 1, (1 << 64) - 1, 4096)
    data = ident + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    data += struct.pack("<IIQQQQQQ", 4, 0, 176, 0, 0, len(note), len(note), 4)
    data += struct.pack("<IIQQQQQQ", 1, 5, 176 + len(note), 0x400000, 0, len(program), 4096, 4096)
    profile, _defects = snapshot_of(ElfFile.from_bytes(data + note + program)).profile(cache=False)
    assert [image.path for image in profile.images] == ["/400000"]
    assert len(profile.samples[0].stack) == 1
