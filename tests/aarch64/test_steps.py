"""Real AArch64 code, stepped through instruction by instruction: what calls and returns did is what stacks must say.

An emulated program's registers and stack are made into samples of a recording, which is unwound like any other.
"""

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.gdb_stub import Stub
from tests.support.perfdata.build import PLAIN, REGS_USER, STACK_USER, Attr, Build

import undwarf
from undwarf.api import open_recording
from undwarf.elf import ElfFile
from undwarf.unwind.aarch64.calls import ends_with_call

SOURCE = Path(__file__).parent / "steps.c"
COMPILER, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64"
STEPS = 1500
ABOVE_MAIN = 1024
ALL_REGISTERS = (1 << 33) - 1
ARCH = 6
LINK, SP, PC = 30, 31, 32

needs_tools = pytest.mark.skipif(
    not (shutil.which(COMPILER) and shutil.which(QEMU)), reason=f"{COMPILER} or {QEMU} is not installed"
)


@dataclass(frozen=True)
class Step:
    """The state before an instruction, and the return addresses of all calls that have not returned since main."""

    registers: tuple[int, ...]
    stack: bytes
    calls: tuple[int, ...]


def compiled(tmp_path: Path, *options: str) -> Path:
    program = tmp_path / "steps"
    command = [COMPILER, str(SOURCE), "-static", "-no-pie", *options, "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{COMPILER} cannot build: {done.stderr.strip().splitlines()[-1]}")
    return program


def symbols(program: Path) -> dict[str, int]:
    lines = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: int(value, 16) for value, _kind, name in (line.split() for line in lines if line[0] != " ")}


def steps(program: Path, count: int = STEPS) -> list[Step]:
    """Single steps from main on, with the calls as the instructions themselves make them."""
    found: list[Step] = []
    with Stub(QEMU, program, "-cpu", "max") as stub:
        stub.run_to(symbols(program)["main"])
        start = stub.registers()
        calls = [start[LINK]]
        while calls and len(found) < count:
            registers = stub.registers()
            pc, sp = registers[PC], registers[SP]
            size = min(start[SP] + ABOVE_MAIN - sp, 60000)
            found.append(Step(registers, stub.memory(sp, size), tuple(calls)))
            (word,) = struct.unpack("<I", stub.memory(pc, 4))
            if not stub.step():
                break
            if ends_with_call(word.to_bytes(4, "little")):
                calls.append(pc + 4)
            elif stub.registers()[PC] == calls[-1]:
                calls.pop()
    return found


def recording(program: Path, taken: list[Step], path: Path) -> Path:
    """A recording whose samples are these steps."""
    build = Build()
    attr = Attr(sample_type=PLAIN | REGS_USER | STACK_USER, regs=ALL_REGISTERS, stack=1024, ids=[1])
    records = [build.comm(attr, b"steps", pid=10, tid=10, time=1)]
    records += [
        build.mmap2(
            attr,
            str(program).encode(),
            start=one.address,
            length=one.file_size,
            pgoff=one.offset,
            time=2,
            where=(0, 0, 0, 0),
        )
        for one in ElfFile.open(program).loads
    ]
    records += [
        build.sample(attr, ip=step.registers[PC], tid=10, time=1000 + i, regs=step.registers, stack=step.stack)
        for i, step in enumerate(taken)
    ]
    path.write_bytes(build.file([attr], records, {ARCH: build.string("aarch64")}))
    return path


@needs_tools
@pytest.mark.parametrize(
    "options",
    [
        ("-O0",),
        ("-O2",),
        ("-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"),
        ("-O2", "-mbranch-protection=standard"),
        ("-Os", "-mbranch-protection=pac-ret+leaf+b-key"),
    ],
    ids=" ".join,
)
def test_stacks_are_what_calls_and_returns_made_them(tmp_path: Path, options: tuple[str, ...]) -> None:
    program = compiled(tmp_path, *options)
    taken = steps(program)
    assert len(taken) > 300
    assert max(len(step.calls) for step in taken) >= 6
    with open_recording(recording(program, taken, tmp_path / "perf.data")) as opened:
        samples = opened.profile(inline=False, runtime=True).samples
    assert len(samples) == len(taken)
    for step, sample in zip(taken, samples, strict=True):
        expected = [step.registers[PC], *(address - 1 for address in reversed(step.calls))]
        assert [frame.runtime for frame in sample.stack[: len(expected)]] == expected
        assert undwarf.StopReason(sample.stop) is undwarf.StopReason.ROOT
        assert sample.stack[-1].name == "_start"
