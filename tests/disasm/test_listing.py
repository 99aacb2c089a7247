"""Instructions as columns and shared templates say what the decoder says of each by itself."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from undwarf.disasm import Flow, Instruction
from undwarf.disasm import template_layout as parts
from undwarf.disasm.listing import Listing
from undwarf.disasm.template_layout import ROW_WORDS, TARGETED
from undwarf.disasm.templates import Templates
from undwarf.disasm.x86_64 import MACHINE
from undwarf.disasm.x86_decoding import decode
from undwarf.elf import ElfFile

LOOPS = """
struct cell { double weight; int count; short kind; char tag; struct cell *next; };
double dot(const double *a, const double *b, long n) {
    double s = 0;
    for (long i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
void scale(float *a, float by, int n) { for (int i = 0; i < n; i++) a[i] = a[i] * by + 1; }
int gather(const int *a, const int *at, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[at[i]]; return s; }
unsigned long mix(unsigned long a, unsigned b) { return (a << (b & 63)) ^ (a >> 7) ^ ~b * a; }
long walk(struct cell *c, int k) {
    long s = 0;
    for (; c; c = c->next) {
        c->count += k;
        c->weight /= 3;
        if (c->kind > k && c->tag != 7) s += c->count * (long)c->kind;
    }
    return s;
}
void bytes(unsigned char *a, const unsigned char *b, int n) {
    for (int i = 0; i < n; i++) a[i] = b[i] > 128 ? a[i] : b[i] >> 1;
}
"""


def wrapped(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


def told(listing: Listing, k: int) -> tuple[object, ...]:
    """What columns and template say of an instruction."""
    at = listing.templates[k] * ROW_WORDS
    row = listing.table.rows[at : at + ROW_WORDS].tolist()
    operands = []
    for number in range(row[parts.ROW_OPERAND], row[parts.ROW_OPERAND] + row[parts.ROW_OPERANDS]):
        words = listing.table.operands[number * parts.OPERAND_WORDS : (number + 1) * parts.OPERAND_WORDS].tolist()
        if words[parts.OPERAND_DISPLACED]:
            words[parts.OPERAND_DISPLACEMENT] = wrapped(words[parts.OPERAND_DISPLACEMENT] + listing.displacements[k])
        words[parts.OPERAND_DISPLACED] = 0
        operands.append(words)
    flow = listing.flows[k]
    row[parts.ROW_IMMEDIATE] = wrapped(listing.immediate(k))
    row[parts.ROW_RULE] = row[parts.ROW_OPERAND] = 0
    target = listing.targets[k] if flow & TARGETED else None
    return listing.address_of(k), listing.lengths[k], flow & 15, target, row, operands


def expected(made: Instruction) -> tuple[object, ...]:
    """The same of an instruction that was decoded by itself."""
    table = Templates()
    table.add(made)
    row = table.rows[:ROW_WORDS].tolist()
    operands = [
        table.operands[at * parts.OPERAND_WORDS : (at + 1) * parts.OPERAND_WORDS].tolist()
        for at in range(len(made.memory))
    ]
    target = None if made.target is None else wrapped(made.target)
    return made.address, made.size, int(made.flow), target, row, operands


OF_INSTRUCTIONS = (
    "address", "size", "flow", "target", "action", "destination", "left", "right", "immediate", "width", "signed",
)  # fmt: skip  # a table
OF_OPERANDS = (
    "base", "index", "scale", "displacement", "segment", "size", "access", "implicit", "element", "absolute",
    "floating", "writeback", "pre",
)  # fmt: skip  # a table


def whole(made: Instruction) -> tuple[object, ...]:
    """All that an instruction says."""
    operands = [tuple(getattr(one, name) for name in OF_OPERANDS) for one in made.memory]
    rest = tuple(getattr(made, name) for name in OF_INSTRUCTIONS)
    return *rest, made.reads[:1], set(made.reads), set(made.writes), operands, made.text


def compare(code: bytes, address: int) -> None:
    listing = MACHINE.listing(code, address)
    alone = decode(code, address)
    assert len(listing) == len(alone)
    for k, made in enumerate(alone):
        assert told(listing, k) == expected(made), made
        assert whole(listing[k]) == whole(made)


def noise(name: str, size: int) -> bytes:
    return hashlib.shake_256(name.encode()).digest(size)


def test_any_bytes() -> None:
    compare(noise("code", 30_000), 0x7FFF_0000)


def test_prefixes_and_maps_of_opcodes() -> None:
    begins = ("66", "f248", "f3", "648b", "f048", "c5", "c4e2", "c4e3", "0f", "0f38", "66480f3a")
    data = noise("prefixes", 33_000)
    pieces = (bytes.fromhex(begins[k % len(begins)]) + data[10 * k : 10 * k + 9] for k in range(3_300))
    compare(b"".join(pieces), 0xFFFFFFFF81000000)


def test_all_registers_of_an_opcode() -> None:
    # Each opcode, mandatory prefix and REX.W with registers, bases and indexes as they come, among them equal ones.
    for before, middle in (("", ""), ("66", ""), ("f2", "0f"), ("f3", "0f"), ("66", "0f"), ("", "0f"), ("66", "0f38")):
        data = noise(before + middle, 256 * 6 * 12)
        pieces = []
        for k in range(256 * 6):
            random = data[12 * k : 12 * k + 12]
            rex = bytes((0x40 | random[0] & 15,)) if random[0] & 0x30 else b""
            opcode = bytes.fromhex(before) + rex + bytes.fromhex(middle) + bytes((k // 6,))
            # Few registers, so that they often are the same.
            pieces.append(opcode + bytes((random[1] & 0xDB, random[2] & 0xDB)) + random[3:])
        compare(b"".join(pieces), 0)


def test_vector_instructions_of_three_registers() -> None:
    data = noise("vex", 256 * 16 * 10)
    pieces = []
    for k in range(256 * 16):
        random = data[10 * k : 10 * k + 10]
        middle = random[1] & (0x85 if k & 1 else 0xFD)
        pieces.append(bytes((0xC4, random[0] & 0xE0 | 1 + k % 3, middle, k // 16, random[2] & 0xDB)) + random[3:])
    compare(b"".join(pieces), 0x400000)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_vectorized_loops(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source = tmp_path / "loops.c"
    source.write_text(LOOPS)
    subprocess.run([compiler, "-O3", "-mavx2", "-mfma", "-mbmi2", "-c", source, "-o", tmp_path / "loops.o"], check=True)
    code = ElfFile.open(tmp_path / "loops.o").section_data(".text")
    assert code is not None
    compare(bytes(code), 0)


@pytest.mark.skipif(not Path(sys.executable).exists(), reason="no program to look at")
def test_a_program() -> None:
    elf = ElfFile.open(Path(sys.executable).resolve())
    section = elf.section(".text")
    code = elf.section_data(".text")
    if elf.machine != 62 or section is None or code is None:
        pytest.skip("this Python is for another machine")
    compare(bytes(code[:60_000]), section.address)


def test_numbers_of_one_template() -> None:
    # add $0x11223344,%rcx; add $-2,%ecx; mov $0x80000000,%eax; sub $0x1000,0x20(%rsp)
    code = bytes.fromhex("4881c14433221181c1feffffffb80000008081 6c2420 00100000")
    listing = MACHINE.listing(code, 0)
    assert [listing.immediate(k) for k in range(4)] == [0x11223344, 0xFFFFFFFE, 0x80000000, -0x1000]
    assert listing[3].flow == Flow.NEXT


def test_a_gather_with_a_register_twice_is_none() -> None:
    # vgatherqps %xmm15,-0x54(%rsi,%xmm7,4),%xmm14; the same with %xmm15 as what is gathered
    compare(bytes.fromhex("c4628193747eac c46281937c7eac"), 0)


def test_shifts_by_all_counts() -> None:
    pieces = [
        bytes.fromhex(before) + bytes((opcode, modrm, count))
        for before in ("", "66", "48", "41")
        for opcode in (0xC0, 0xC1)
        for modrm in range(0xC0, 0x100)
        for count in (0, 1, 8, 9, 17, 18, 31, 32, 33, 63, 64, 128)
    ]
    compare(b"".join(pieces), 0)


def test_accesses_through_what_a_call_returns() -> None:
    code = bytes.fromhex(
        "e8fb000000"  # 0 call
        "4889c3"  # 1 mov rbx, rax
        "4885c07424"  # 2 test rax, rax; 3 je 14
        "48895c2408"  # 4 mov [rsp+8], rbx
        "31c0"  # 5 xor eax, eax
        "8b4804"  # 6 mov ecx, [rax+4]: something else by now
        "488b542408"  # 7 mov rdx, [rsp+8]
        "894a10"  # 8 mov [rdx+16], ecx
        "e8fb000000"  # 9 call
        "488b0a"  # 10 mov rcx, [rdx]: lost
        "488d7308"  # 11 lea rsi, [rbx+8]
        "488b7e18"  # 12 mov rdi, [rsi+24]
        "eb04"  # 13 jmp 16
        "8b4020c3"  # 14 mov eax, [rax+32]; 15 ret
        "488b5b28"  # 16 mov rbx, [rbx+40]
        "488b1bc3"  # 17 mov rbx, [rbx]; 18 ret
        "488b03"  # 19 mov rax, [rbx]
    )
    listing = MACHINE.listing(code, 0x1000)
    frame = 1 << MACHINE.stack_pointer | 1 << MACHINE.frame_pointer
    lost = sum(1 << register for register in MACHINE.caller_saved if register < 64)
    found = listing.accessed_through(0, 256, frame, lost)
    assert found == [(8, 0), (12, 0), (14, 0), (16, 0)]
    assert listing.accessed_through(0, 9, frame, lost) == [(8, 0)]
    assert listing.accessed_through(19, 256, frame, lost) == []
    assert listing.accessed_through(-1, 256, frame, lost) == []


@pytest.mark.parametrize(
    ("code", "may"),
    [
        ("50c3", True),  # push rax
        ("5348c7c00100000051c3", True),  # push rbx; mov rax, 1; push rcx
        ("53e80000000051c3", True),  # push rbx; call; push rcx
        ("55534883ec085b5dc3", False),  # push rbp; push rbx; sub rsp, 8; pop rbx; pop rbp
        ("53740050c3", False),  # push rbx; je; push rax
        ("53eb0050c3", True),  # push rbx; jmp: who knows
        ("53", True),  # cut off
    ],
)
def test_code_that_may_push_a_register_that_callers_do_not_count_on(code: str, may: bool) -> None:
    lost = sum(1 << register for register in MACHINE.caller_saved if register < 64)
    assert MACHINE.listing(bytes.fromhex(code), 0x1000).may_push(lost) is may


def test_calls_with_a_target_and_stores_of_a_word() -> None:
    # mov %rax,(%rdi); mov %eax,(%rdi); movq $1,(%rdi); mov (%rdi),%rax; call +0; call *%rax; jmp +0; mov %r9,8(%rsi)
    code = bytes.fromhex("488907 8907 48c70701000000 488b07 e800000000 ffd0 eb00 4c894e08")
    listing = MACHINE.listing(code, 0x1000)
    assert listing.calls_and_stores(8) == [0, 4, 7]
    assert listing.calls_and_stores(4) == [1, 4]
    listing.redirect(5, Flow.CALL, 0x1000)
    assert listing.calls_and_stores(4) == [1, 4, 5]
