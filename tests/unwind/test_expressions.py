"""DWARF expressions as the walk evaluates them: each stands for a call frame address, right if the caller is found."""

import shutil
import struct
import subprocess

import pytest
from tests.support.perfdata import build

import undwarf
from undwarf import StopReason
from undwarf.elf import ElfFile

BUILD = build.Build()
STACK = 0x7FFF00000000
ON_TOP = 0x8899AABBCCDDEEFF
ONES = 0xFFFFFFFFFFFFFFFF
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip")
BX, SP = 0x73, 0x77
VALUE_OF_BX = 0x1234

LIT = {number: bytes((0x30 + number,)) for number in range(32)}
MINUS_1 = b"\x09\xff"
MINUS_5 = b"\x09\xfb"
VALUES = {
    "address": (b"\x03" + struct.pack("<Q", 0x123456789ABC), 0x123456789ABC),
    "const1u": (b"\x08\xfe", 0xFE),
    "const1s": (MINUS_1, ONES),
    "const2u": (b"\x0a\xfe\xff", 0xFFFE),
    "const2s": (b"\x0b\xfe\xff", ONES - 1),
    "const4u": (b"\x0c\xfe\xff\xff\xff", 0xFFFFFFFE),
    "const4s": (b"\x0d\xfe\xff\xff\xff", ONES - 1),
    "const8u": (b"\x0e" + struct.pack("<Q", ON_TOP), ON_TOP),
    "const8s": (b"\x0f" + struct.pack("<Q", ON_TOP), ON_TOP),
    "constu": (b"\x10\xe5\x8e\x26", 624485),
    "consts": (b"\x11\x80\x7f", ONES - 127),
    "lit0": (LIT[0], 0),
    "lit31": (LIT[31], 31),
    "breg": (bytes((BX, 0x7F)), VALUE_OF_BX - 1),
    "bregx": (b"\x92\x03\x05", VALUE_OF_BX + 5),
    "deref": (bytes((SP, 0, 0x06)), ON_TOP),
    "deref_size 1": (bytes((SP, 0, 0x94, 1)), 0xFF),
    "deref_size 4": (bytes((SP, 0, 0x94, 4)), 0xCCDDEEFF),
    "deref_size 8": (bytes((SP, 0, 0x94, 8)), ON_TOP),
    "dup": (LIT[3] + b"\x12\x1e", 9),
    "drop": (LIT[3] + LIT[4] + b"\x13", 3),
    "over": (LIT[9] + LIT[4] + b"\x14\x1c\x1c", (9 - (4 - 9)) & ONES),
    "pick": (LIT[9] + LIT[4] + LIT[2] + b"\x15\x02\x1c\x1c\x1c", (9 - (4 - (2 - 9))) & ONES),
    "swap": (LIT[9] + LIT[4] + b"\x16\x1c", (4 - 9) & ONES),
    # 9 4 1 becomes 1 9 4.
    "rot": (LIT[9] + LIT[4] + LIT[1] + b"\x17\x1c\x1c", (1 - (9 - 4)) & ONES),
    "abs": (MINUS_5 + b"\x19", 5),
    "neg": (LIT[5] + b"\x1f", ONES - 4),
    "not": (LIT[5] + b"\x20", ONES - 5),
    "plus_uconst": (LIT[5] + b"\x23\x80\x01", 133),
    "and": (LIT[12] + LIT[10] + b"\x1a", 8),
    "minus": (LIT[5] + LIT[12] + b"\x1c", ONES - 6),
    "mul": (MINUS_5 + LIT[12] + b"\x1e", (-60) & ONES),
    "or": (LIT[12] + LIT[10] + b"\x21", 14),
    "plus": (MINUS_5 + LIT[12] + b"\x22", 7),
    "shl": (LIT[5] + LIT[31] + b"\x24", 5 << 31),
    "shl by 64": (LIT[5] + b"\x08\x40\x24", 0),
    "shr": (MINUS_5 + LIT[31] + b"\x25", (ONES - 4) >> 31),
    "shr by 64": (MINUS_5 + b"\x08\x40\x25", 0),
    "shra": (MINUS_5 + LIT[1] + b"\x26", ONES - 2),
    "shra by 200": (MINUS_5 + b"\x08\xc8\x26", ONES),
    "xor": (LIT[12] + LIT[10] + b"\x27", 6),
    "eq": (LIT[12] + LIT[12] + b"\x29", 1),
    "ge": (LIT[12] + MINUS_5 + b"\x2a", 1),
    "gt": (LIT[12] + LIT[12] + b"\x2b", 0),
    "le": (LIT[12] + MINUS_5 + b"\x2c", 0),
    "lt": (MINUS_5 + LIT[12] + b"\x2d", 1),
    "ne": (LIT[12] + LIT[12] + b"\x2e", 0),
    "nop": (LIT[7] + b"\x96", 7),
    "bra taken": (LIT[7] + LIT[1] + b"\x28\x01\x00\x1f", 7),
    "bra not taken": (LIT[7] + LIT[0] + b"\x28\x01\x00\x1f", ONES - 6),
    "skip": (LIT[7] + b"\x2f\x01\x00" + LIT[6], 7),
    # A sum of 1 and three times 2, above it what is left to do.
    "loop": (LIT[1] + LIT[3] + b"\x16\x23\x02\x16" + LIT[1] + b"\x1c\x12\x28\xf6\xff\x13", 7),
}
BAD = {
    "nothing is left": LIT[1] + b"\x13",
    "nothing to drop": b"\x13",
    "one where two are added": LIT[1] + b"\x22",
    "one where two are swapped": LIT[1] + b"\x16",
    "two where three turn": LIT[1] + LIT[2] + b"\x17",
    "a pick too deep": LIT[1] + b"\x15\x01",
    "a branch on nothing": b"\x28\x00\x00",
    "no such operation": LIT[1] + LIT[2] + b"\xff",
    "a word of nine bytes": bytes((SP, 0, 0x94, 9)),
    "a jump out of it": b"\x2f\x40\x00",
    "a jump back out of it": b"\x2f\xf0\xff",
    "an operand cut off": b"\x0a\x01",
    "a register that is not kept": bytes((0x92, 0x40, 0)),
    "no end": b"\x2f\xfd\xff",
    "a full stack": LIT[1] * 80,
}


def unsigned(value: int) -> bytes:
    """The operation that pushes a number."""
    return b"\x0e" + struct.pack("<Q", value)


def assembly(expressions: list[bytes]) -> str:
    """A program with a function for each expression, which is its call frame address."""
    lines = [".intel_syntax noprefix", ".text"]
    for number, expression in enumerate(expressions):
        escaped = ",".join(map(str, (0x0F, len(expression) & 0x7F | 0x80, len(expression) >> 7, *expression)))
        lines += [f".globl f{number}", f".type f{number}, @function", f"f{number}:", ".cfi_startproc"]
        lines += [f".cfi_escape {escaped}", "nop", "nop", ".cfi_endproc", f".size f{number}, .-f{number}"]
    lines += [".globl _start", ".type _start, @function", "_start:", ".cfi_startproc", ".cfi_undefined rip"]
    lines += ["call f0", ".globl in_start", "in_start: nop", ".cfi_endproc", ".size _start, .-_start", ""]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[str], StopReason]]:
    """By name of the expression: names from the innermost frame outwards, why the stack ended."""
    path = tmp_path_factory.mktemp("expressions")
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    # sp + 16, plus the value, less what that should be.
    right = {
        name: bytes((SP, 16)) + code + b"\x22" + unsigned(value) + b"\x1c" for name, (code, value) in VALUES.items()
    }
    expressions = right | BAD
    (path / "code.S").write_text(assembly(list(expressions.values())))
    program = path / "program"
    line = ["gcc", "-nostdlib", "-static", "-no-pie", str(path / "code.S"), "-o", str(program)]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"gcc cannot assemble for x86-64 here: {done.stderr.splitlines()[-1]}")
    named = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    at = {name: int(address, 16) for address, _kind, name in (line.split() for line in named.splitlines())}
    memory = struct.pack("<4Q", ON_TOP, at["in_start"], 0, 0)
    attr = build.Attr(
        sample_type=build.PLAIN | build.REGS_USER | build.STACK_USER, regs=(1 << len(REGISTERS)) - 1, stack=len(memory)
    )
    (code,) = (one for one in ElfFile.open(program).loads if one.flags & 1)
    records = [
        BUILD.mmap2(
            attr,
            str(program).encode(),
            start=code.address,
            length=code.memory_size,
            pgoff=code.offset,
            where=(0, 0, 0, 0),
        )
    ]
    for number in range(len(expressions)):
        ip = at[f"f{number}"] + 1
        registers = [0, VALUE_OF_BX, 0, 0, 0, 0, 0, STACK, ip]
        records.append(BUILD.sample(attr, ip=ip, tid=10, regs=registers, stack=memory, time=2000 + number))
    (path / "perf.data").write_bytes(BUILD.file([attr], records))
    with undwarf.open(path / "perf.data") as recording:
        samples = recording.profile(by_time=True).samples
        stacks = [([frame.name for frame in sample.stack], sample.stop) for sample in samples]
    assert [names[0] for names, _stop in stacks] == [f"f{number}" for number in range(len(expressions))]
    return dict(zip(expressions, stacks, strict=True))


@pytest.mark.parametrize("name", VALUES)
def test_value(walked: dict[str, tuple[list[str], StopReason]], name: str) -> None:
    names, stop = walked[name]
    assert (names[1:], stop) == (["_start"], StopReason.ROOT)


@pytest.mark.parametrize("name", BAD)
def test_no_value(walked: dict[str, tuple[list[str], StopReason]], name: str) -> None:
    names, stop = walked[name]
    assert (names[1:], stop) == ([], StopReason.BAD_RULE)
