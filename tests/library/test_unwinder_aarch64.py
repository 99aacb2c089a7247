"""Unwinding stacks of an AArch64 process elsewhere: registers and memory of QEMU's debug stub."""

from pathlib import Path

from tests.aarch64.test_steps import compiled, needs_tools, steps

import undwarf
from undwarf.elf import ElfFile

REGISTERS = [*(f"x{number}" for number in range(31)), "sp", "pc"]


@needs_tools
def test_stacks_are_what_calls_and_returns_made_them(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-O2")
    taken = steps(program)
    mappings = [
        undwarf.Mapping(one.address, one.address + one.file_size, one.offset, str(program), "r-xp")
        for one in ElfFile.open(program).loads
    ]
    unwinder = undwarf.Unwinder(mappings, lambda _address, _size: None, architecture="aarch64")
    expected, found = [], []
    for step in taken:
        registers = dict(zip(REGISTERS, step.registers, strict=False))
        base, memory = registers["sp"], step.stack

        def read(address: int, size: int, base: int = base, memory: bytes = memory) -> bytes | None:
            return memory[address - base :][:size] if base <= address < base + len(memory) else None

        stack = unwinder.unwind(registers, read)
        expected.append([registers["pc"], *reversed(step.calls)])
        found.append([int(frame.address) for frame in stack.frames][: len(expected[-1])])
    assert len(taken) > 300
    assert found == expected
