"""Walks through copies of a template in anonymous memory, whose bytes no recording has."""

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
COPY = 0x7F0000001000
PID = 10
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
CODE = """
    .text
    .globl _Py_trampoline_func_start, _Py_trampoline_func_end, evaluate, in_evaluate, in_start
_Py_trampoline_func_start:
    sub $8, %rsp
    call *%rcx
    add $8, %rsp
    ret
_Py_trampoline_func_end:
    .type evaluate, @function
evaluate:
    .cfi_startproc
    sub $8, %rsp
    .cfi_def_cfa_offset 16
    call *%rax
in_evaluate:
    add $8, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size evaluate, .-evaluate
    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    call *%rax
in_start:
    nop
    .cfi_endproc
    .size _start, .-_start
"""
LINE = f"{COPY:x} b py::f:made.py\n"


def walked(folder: Path, text: str, back: int = 0) -> tuple[list[str], StopReason]:
    """(names from the innermost outwards, why the stack ended) of _start -> evaluate -> copy -> evaluate, with a perf
    map of this text. The copy returns to ``back`` bytes after its call."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    (folder / "code.S").write_text(CODE)
    program = folder / "program"
    line = ["gcc", "-nostdlib", "-static", "-no-pie", str(folder / "code.S"), "-o", str(program)]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"gcc cannot assemble for x86-64 here: {done.stderr.splitlines()[-1]}")
    (folder / "tmp").mkdir()
    (folder / "tmp" / f"perf-{PID}.map").write_text(text)
    named = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    at = {name: int(address, 16) for address, _kind, name in (line.split() for line in named.splitlines())}
    ip = at["evaluate"] + 4
    # evaluate(), the copy, evaluate(), _start()
    words = [0, COPY + 6, 0, at["in_evaluate"] + back, 0, at["in_start"]]
    memory = struct.pack(f"<{len(words)}Q", *words)
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=len(memory)
    )
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    mapped = {"start": code.address, "length": code.memory_size, "pgoff": code.offset, "where": (0, 0, 0, 0)}
    records = [
        BUILD.mmap2(attr, b"/program", pid=PID, tid=PID, time=1, **mapped),
        BUILD.mmap2(attr, b"//anon", pid=PID, tid=PID, time=2, start=COPY, length=0x1000, where=(0, 0, 0, 0)),
        BUILD.sample(attr, ip=ip, pid=PID, tid=PID, regs=[0] * 6 + [0x99, STACK, ip], stack=memory, time=2000),
    ]
    (folder / "perf.data").write_bytes(BUILD.file([attr], records))
    with undwarf.open(folder / "perf.data", symfs=str(folder)) as recording:
        (sample,) = recording.profile(by_time=True).samples
    return [frame.name for frame in sample.stack], sample.stop


def test_a_copy_has_the_rules_of_its_template(tmp_path: Path) -> None:
    assert walked(tmp_path, LINE) == (["evaluate", "py::f:made.py", "evaluate", "_start"], StopReason.ROOT)


def test_a_caller_that_called_nothing_ends_the_stack(tmp_path: Path) -> None:
    assert walked(tmp_path, LINE, back=1) == (["evaluate", "py::f:made.py"], StopReason.NO_RULE)


@pytest.mark.parametrize("text", ["", LINE.replace("py::", "js::"), LINE.replace(" b ", " c ")])
def test_only_the_map_s_copies_are_believed(tmp_path: Path, text: str) -> None:
    names, stop = walked(tmp_path, text)
    assert (names[0], len(names), stop) == ("evaluate", 2, StopReason.NO_RULE)
