"""The moment when the unwinder of exceptions leaves for a handler, whose registers its own frame already holds."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.support.perfdata import build

import undwarf
from undwarf import StopReason
from undwarf.elf import ElfFile

BUILD = build.Build()
STACK = 0x7FFF00000000
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
# install() is what _Unwind_RaiseException() calls to fill its own frame; leave() saves rax and rdx as that does.
CODE = """
.macro function name, size
    .globl \\name
    .type \\name, @function
\\name:
    .cfi_startproc
    .cfi_def_cfa rsp, \\size
.endm
.macro finish name
    nop
    .cfi_endproc
    .size \\name, .-\\name
.endm
    .text
    function install, 8
    nop
    finish install
    function leave, 40
    .cfi_offset rbp, -16
    .ifdef SAVING
    .cfi_offset rdx, -24
    .cfi_offset rax, -32
    .endif
    call install
    .globl in_leave
in_leave:
    finish leave
    function level, 24
    call level
    .globl in_level
in_level:
    finish level
    function main, 16
    call level
    .globl in_main
in_main:
    finish main
    function _start, 8
    .cfi_undefined rip
    call main
    .globl in_start
in_start:
    finish _start
"""


def walked(path: Path, *options: str) -> tuple[list[str], StopReason]:
    """(names from the innermost outwards, why the stack ended) where leave() left the frames between for level()."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    (path / "code.S").write_text(CODE)
    program = path / "program"
    line = ["gcc", "-nostdlib", "-static", "-no-pie", *options, str(path / "code.S"), "-o", str(program)]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"gcc cannot assemble for x86-64 here: {done.stderr.splitlines()[-1]}")
    named = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    at = {name: int(address, 16) for address, _kind, name in (line.split() for line in named.splitlines())}
    words = [at["in_leave"]]
    # leave(): rax, rdx, rbp and the return address, which are those of level() by now
    words += [0, 0, 0, 0x1234, at["in_level"]]
    # what was between and does not come back, down to where level() called it
    words += [5, 7, 5, 7, at["in_level"]]
    # level() twice, then main() and _start()
    words += [1, 1, at["in_level"], 2, 2, at["in_main"], 3, at["in_start"]]
    memory = struct.pack(f"<{len(words)}Q", *words)
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=len(memory)
    )
    ip = at["install"] + 1
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    records = [
        BUILD.mmap2(
            attr,
            str(program).encode(),
            start=code.address,
            length=code.memory_size,
            pgoff=code.offset,
            where=(0, 0, 0, 0),
        ),
        BUILD.sample(attr, ip=ip, tid=10, regs=[0, 0, 0, 0, 0, 0, 0x99, STACK, ip], stack=memory, time=2000),
    ]
    (path / "perf.data").write_bytes(BUILD.file([attr], records))
    with undwarf.open(path / "perf.data") as recording:
        (sample,) = recording.profile(by_time=True).samples
    return [frame.name for frame in sample.stack], sample.stop


def test_the_frame_left_for_is_found(tmp_path: Path) -> None:
    found = walked(tmp_path, "-Wa,--defsym,SAVING=1")
    assert found == (["install", "leave", "level", "level", "main", "_start"], StopReason.ROOT)


def test_no_other_function_may_leave_frames_out(tmp_path: Path) -> None:
    names, stop = walked(tmp_path)
    assert names[:3] == ["install", "leave", "level"]
    assert "main" not in names
    assert stop is not StopReason.ROOT
