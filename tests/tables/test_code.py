"""Unwind rules from machine code beside those that the compiler wrote for the same code, and limits."""

import gc
import os
import random
import shutil
import struct
import subprocess
import weakref
from bisect import bisect_right
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from iced_x86 import Decoder

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.errors import UndwarfError
from undwarf.limits import DEFAULT, Limits
from undwarf.tables.code.noreturn_names import is_noreturn
from undwarf.tables.code.parts import components
from undwarf.tables.from_code import CodeSource, source
from undwarf.tables.function_starts import searched_functions
from undwarf.tables.model import NO_RULE, RuleSet, UnwindTable
from undwarf.tables.sources import UNWIND_ORDER, Request

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="programs for x86-64 are compiled")

SWITCH = """
volatile long sink;
__attribute__((noinline)) long leaf(long n) { long s = 0; for (long i = 0; i < n; i++) s += i * sink; return s; }
__attribute__((noinline)) long pick(long k, long m) {
    switch (k) {
    case 0: return leaf(m) + 1;
    case 1: return leaf(m * 3) * 3;
    case 2: return leaf(m) ^ leaf(m + 1);
    case 3: return leaf(m) - leaf(9);
    case 4: sink += leaf(8); return leaf(m) + 7;
    case 5: return leaf(m) * k;
    case 6: return leaf(k) + 11;
    case 7: return leaf(m) / (k + 1);
    default: return leaf(3);
    }
}
int main(int count, char **words) { return (int)pick(count, count * 3) + words[0][0]; }
"""

NEVER_RETURNS = """
#include <stdlib.h>
#include <stdio.h>
volatile long sink;
__attribute__((noinline, cold)) static void fail(const char *what, long n) {
    char text[300];
    snprintf(text, sizeof text, "%s %ld", what, n);
    fputs(text, stderr);
    exit(1);
}
__attribute__((noinline)) long checked(long a, long b, long c) {
    if (a == 7) fail("seven", b);
    if (b == 9) abort();
    sink += a;
    if (c == 3 && a > 100) { sink += b; fail("three", c); }
    return a * b + c;
}
__attribute__((noinline)) long many(long *v, long n) {
    long a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5];
    for (long i = 0; i < n; i++) { a += checked(b, c, d); b ^= e; if (__builtin_expect(a == 12345, 0)) fail("a", f); }
    return a + b + c + d + e + f;
}
int main(int count, char **words) {
    long v[6] = {count, count + 1, 2, 3, 4, words[0][0]};
    return (int)many(v, count);
}
"""

TAIL_CALLS = """
volatile long sink;
typedef long (*step)(long, long);
__attribute__((noinline)) long one(long a, long b) { sink += a; return a + b; }
__attribute__((noinline)) long two(long a, long b) { sink += b; return one(b, a); }
__attribute__((noinline)) long three(step s, long a, long b) {
    long keep = two(a, b);
    sink += keep;
    return s(keep, b);
}
int main(int count, char **words) { return (int)three(count > 1 ? one : two, count, words[0][0]); }
"""

FRAMES = """
#include <alloca.h>
#include <string.h>
volatile long sink;
__attribute__((noinline)) void use(void *p, long n) { memset(p, (int)n, n); sink += *(char *)p; }
__attribute__((noinline)) long variable(long n) { char b[n]; use(b, n); return b[n / 2] + sink; }
__attribute__((noinline)) long allocated(long n) {
    long t = 0;
    for (long i = 1; i < n; i++) { char *p = alloca(i * 16); use(p, i); t += p[0]; }
    return t;
}
__attribute__((noinline)) long realigned(long n, long a, long b, long c, long d, long e, long f, long g) {
    char wide[256] __attribute__((aligned(64)));
    use(wide, 200);
    return wide[n & 63] + a + b + c + d + e + f + g;
}
__attribute__((noinline)) long realigned_variable(long n, long a, long b, long c, long d, long e, long f, long g) {
    char wide[64] __attribute__((aligned(64)));
    char b2[n];
    use(wide, 60);
    use(b2, n);
    return wide[n & 31] + b2[0] + a + b + c + d + e + f + g;
}
__attribute__((noinline)) long large(long n) { char b[70000]; use(b, n); return b[n]; }
__attribute__((noinline)) long shrunk(long *v, long n) {
    if (n < 3) return v[0];
    long a = v[1], b = v[2], c = v[3];
    for (long i = 0; i < n; i++) { use(v, 8); a += b * c; b ^= v[i % 4]; }
    return a + b + c;
}
int main(int count, char **words) {
    long v[8] = {count, 1, 2, 3, 4, 5, 6, words[0][0]};
    long n = count + 20;
    return (int)(variable(n) + allocated(n) + realigned(n, 1, 2, 3, 4, 5, 6, 7) + large(n) + shrunk(v, n)
                 + realigned_variable(n, 1, 2, 3, 4, 5, 6, 7));
}
"""

EXCEPTIONS = """
#include <stdexcept>
#include <string>
#include <vector>
volatile long sink;
__attribute__((noinline)) long risky(long n) {
    if (n % 5 == 0) throw std::runtime_error("five " + std::to_string(n));
    return n * 2;
}
__attribute__((noinline)) long guarded(long n) {
    std::vector<std::string> kept;
    try {
        for (long i = 0; i < n; i++) { kept.push_back(std::to_string(risky(i + 1))); }
    } catch (const std::runtime_error &e) {
        sink += e.what()[0];
        return kept.size();
    } catch (...) { sink++; throw; }
    return sink;
}
int main(int count, char **) { return (int)guarded(count + 3); }
"""

PROGRAMS = {
    "switch": (SWITCH, "c"),
    "never-returns": (NEVER_RETURNS, "c"),
    "tail-calls": (TAIL_CALLS, "c"),
    "frames": (FRAMES, "c"),
    "exceptions": (EXCEPTIONS, "cpp"),
}
COMPILERS = {
    "gcc": ("gcc", "-O2"),
    "gcc-O0": ("gcc", "-O0"),
    "gcc-no-pie-stripped": ("gcc", "-O2", "-fno-pie", "-no-pie", "-s"),
    "gcc-frame-pointers": ("gcc", "-O2", "-fno-omit-frame-pointer", "-fcf-protection"),
    "clang": ("clang", "-O2"),
    "clang-O1": ("clang", "-O1", "-fno-pie", "-no-pie"),
}


def build(place: Path, text: str, kind: str, compiler: str, *flags: str) -> Path:
    found = shutil.which({"gcc": "g++", "clang": "clang++"}[compiler] if kind == "cpp" else compiler)
    if found is None:
        pytest.skip(f"no {compiler} for {kind}")
    source = place / f"program.{kind}"
    source.write_text(text)
    subprocess.run([found, *flags, str(source), "-o", str(place / "program")], check=True, capture_output=True)
    return place / "program"


def rows_of(table: UnwindTable) -> tuple[list[int], list[int]]:
    """The starts of all rows and gaps of a table, ascending, and their rules."""
    at: list[int] = []
    rules: list[int] = []
    for function in range(len(table)):
        addresses, numbers = table.rows(function)
        at += [*addresses, table.ends[function]]
        rules += [*numbers, NO_RULE]
    return at, rules


def essence(words: list[int], address: int) -> tuple[object, ...]:
    """The call frame address and where the return address is; what a lazy stub's rule means at an address."""
    kind, register, offset, extra = words[:4]
    if kind == 3:
        kind, offset, extra = 1, offset + (8 if address & 15 >= extra else 0), 0
    return kind, register, offset, extra if kind == 2 else 0, tuple(words[9:11]) if words[6] else ()


def compare(path: Path, debug: bool = False) -> Iterator[tuple[int, str, object, object]]:
    """(address, instruction, by `.eh_frame`, by code) at every instruction of the functions that `.eh_frame` covers."""
    elf = ElfFile.open(path)
    rules = RuleSet()
    stated = UnwindTable.from_elf(elf, "eh-frame", rules=rules)
    found = UnwindTable.from_elf(elf, "code", rules=rules)
    at, numbers = rows_of(found)
    for function in range(len(stated)):
        start, end = stated.starts[function], stated.ends[function]
        addresses, theirs = stated.rows(function)
        code = elf.read(start, end - start)
        assert code is not None
        for one in Decoder(64, bytes(code), ip=start):
            number = theirs[bisect_right(addresses, one.ip) - 1]
            words = rules.words(number) if number != NO_RULE else None
            if words is None or words[0] == 4 or words[4] & 2:
                continue
            i = bisect_right(at, one.ip) - 1
            mine = numbers[i] if i >= 0 else NO_RULE
            got = essence(rules.words(mine), one.ip) if mine != NO_RULE else None
            yield one.ip, str(one), essence(words, one.ip), got


@pytest.mark.parametrize("how", COMPILERS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_agrees_with_the_compiler_at_every_instruction(program: str, how: str, tmp_path: Path) -> None:
    compiler, *flags = COMPILERS[how]
    path = build(tmp_path, *PROGRAMS[program], compiler, *flags)
    everything = list(compare(path))
    different = [(hex(at), *rest) for at, *rest in everything if rest[1] != rest[2]]
    # Of the shortest program gcc 16 makes thirty instructions.
    assert len(everything) >= 20
    assert not different


@pytest.mark.parametrize(
    "flags", [("-Wl,-z,lazy",), ("-Wl,-z,now",), ("-Wl,-z,lazy", "-fcf-protection", "-Wl,-z,ibtplt")]
)
def test_stubs_have_the_linkers_rules(flags: tuple[str, ...], tmp_path: Path) -> None:
    path = build(tmp_path, NEVER_RETURNS, "c", "gcc", "-O2", *flags)
    elf = ElfFile.open(path)
    stubs = [one for one in elf.sections if one.name.startswith(".plt")]
    seen = 0
    for at, _, stated, found in compare(path):
        if any(one.address <= at < one.address + one.size for one in stubs):
            seen += 1
            assert found == stated, hex(at)
    assert seen >= 4


ASSEMBLY = """
    .text
    .globl main, outer, moved, lost
    .type main, @function
main:
    push %rbx
    call outer
    pop %rbx
    ret
    .size main, .-main
    .type outer, @function
outer:
    mov %rsp, %rax
    push %r12
    push %r13
    sub $64, %rsp
    and $-64, %rsp
    mov %rax, 8(%rsp)
    call moved
after:
    mov 8(%rsp), %rax
    mov -16(%rax), %r13
    mov -8(%rax), %r12
    mov %rax, %rsp
last:
    ret
    .size outer, .-outer
    .type moved, @function
moved:
    push %rbp
    mov %rsp, %rbp
    sub $32, %rsp
    xor %eax, %eax
inside:
    leave
left:
    ret
    .size moved, .-moved
    .type lost, @function
lost:
    mov (%rdi), %rsp
nowhere:
    nop
    ret
    .size lost, .-lost
    .section .note.GNU-stack, "", @progbits
"""


@pytest.fixture(scope="module")
def assembled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    place = tmp_path_factory.mktemp("assembly")
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm")
    path = build(place, ASSEMBLY, "s", "gcc", "-no-pie")
    listed = subprocess.run([nm, str(path)], check=True, capture_output=True, text=True).stdout
    return path, {line.split()[2]: int(line.split()[0], 16) for line in listed.splitlines() if line[0] != " "}


@pytest.mark.parametrize(
    ("label", "cfa", "registers"),
    [
        ("outer", "rsp+8", {"ra": "cfa-8"}),
        ("after", "*(rsp+8)+8", {"ra": "cfa-8", "r12": "cfa-16", "r13": "cfa-24"}),
        ("last", "rsp+8", {"ra": "cfa-8"}),
        ("inside", "rbp+16", {"ra": "cfa-8", "rbp": "cfa-16"}),
        ("left", "rsp+8", {"ra": "cfa-8"}),
    ],
)
def test_assembly(assembled: tuple[Path, dict[str, int]], label: str, cfa: str, registers: dict[str, str]) -> None:
    path, labels = assembled
    rule = UnwindTable.from_elf(path).rule_at(labels[label])
    assert rule is None
    rule = UnwindTable.from_elf(path, "cfi,code").rule_at(labels[label])
    assert rule is not None
    assert (rule.cfa, rule.registers, rule.source) == (cfa, registers, "code")


def test_a_stack_from_elsewhere_has_no_rule(assembled: tuple[Path, dict[str, int]]) -> None:
    path, labels = assembled
    table = UnwindTable.from_elf(path, "code")
    assert table.rule_at(labels["lost"]) is not None
    assert table.rule_at(labels["nowhere"]) is None


def test_padding_between_functions_is_not_analysed(assembled: tuple[Path, dict[str, int]]) -> None:
    path, _ = assembled
    elf = ElfFile.open(path)
    table = UnwindTable.from_elf(elf, "cfi,code")
    start = table.ends[0]
    assert table.function_at(start) is None or table.rule_at(start) is None


@pytest.mark.parametrize(
    "limits",
    [
        DEFAULT._replace(code_function_bytes=4),
        DEFAULT._replace(code_steps=1),
        DEFAULT._replace(code_operations=1),
        DEFAULT._replace(code_total_bytes=4),
    ],
)
def test_limits(assembled: tuple[Path, dict[str, int]], limits: Limits) -> None:
    path, labels = assembled
    defects = Defects()
    table = UnwindTable.from_elf(path, "cfi,code", limits=limits, defects=defects)
    assert table.rule_at(labels["inside"]) is None
    assert any("not analysed" in str(one) for one in defects)


EXPORTS = """
long (*volatile kept)(long);
static __attribute__((noinline)) long hidden(long n) { char buffer[512]; kept = 0; return n + (long)buffer; }
long first(long n) { long (*stage)(long) = hidden; __asm__("" : "+r"(stage)); return stage(n); }
""" + "\n".join(f"long f{n}(long n) {{ long (*to)(long) = kept; return to(n) * {n}; }}" for n in range(12))


def test_functions_reached_through_pointers_only_are_found(tmp_path: Path) -> None:
    flags = (
        "-O2",
        "-shared",
        "-fPIC",
        "-nostdlib",
        "-fno-asynchronous-unwind-tables",
        "-Wl,--no-ld-generated-unwind-info",
    )
    path = build(tmp_path, EXPORTS, "c", "gcc", *flags)
    listed = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    start = next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith(" t hidden"))
    subprocess.run(["strip", path], check=True)
    table = UnwindTable.from_elf(path, "code")
    assert start in list(table.starts)


JUMPED_TO = """
    .text
    .globl main
    .type main, @function
main:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    call hops
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size main, .-main
    .p2align 4
hops:
    mov %rsi, %rdi
    jmp far
    .p2align 4
quits:
    sub $40, %rsp
    call ends
    .p2align 4
other:
    lea 3(%rdi), %rax
alone:
    ret
    .p2align 4
far:
    push %r12
    push %r13
inside:
    call quits
    pop %r13
    pop %r12
    ret
    .p2align 4
ends:
    xor %edi, %edi
    jmp ends
    .p2align 4
thread:
    mov $56, %eax
    syscall
    test %eax, %eax
    jnz parent
    xor %ebp, %ebp
    pop %rdi
child:
    call far
    mov $60, %eax
    syscall
    hlt
parent:
    ret
    .p2align 4
starts:
    call thread
    ret
    .fill 16384, 1, 0xcc
    .section .note.GNU-stack, "", @progbits
"""


@pytest.fixture(scope="module", params=["", "-Wl,--no-eh-frame-hdr"])
def jumping(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A stripped program of which next to nothing, or nothing, is described."""
    place = tmp_path_factory.mktemp("jumping")
    if shutil.which("nm") is None or shutil.which("strip") is None:
        pytest.skip("no nm or strip")
    path = build(place, JUMPED_TO, "s", "gcc", "-no-pie", *filter(None, [request.param]))
    listed = subprocess.run(["nm", str(path)], check=True, capture_output=True, text=True).stdout
    subprocess.run(["strip", path], check=True)
    return path, {line.split()[2]: int(line.split()[0], 16) for line in listed.splitlines() if line[0] != " "}


@pytest.mark.parametrize(
    ("label", "cfa"), [("far", "rsp+8"), ("inside", "rsp+24"), ("hops", "rsp+8"), ("parent", "rsp+8")]
)
def test_functions_that_are_only_jumped_to(jumping: tuple[Path, dict[str, int]], label: str, cfa: str) -> None:
    path, labels = jumping
    rule = UnwindTable.from_elf(path, "cfi,code").rule_at(labels[label])
    assert rule is not None
    assert (rule.cfa, rule.source) == (cfa, "code")


def test_a_call_that_ends_a_function_does_not_lead_into_the_next(jumping: tuple[Path, dict[str, int]]) -> None:
    path, labels = jumping
    assert UnwindTable.from_elf(path, "cfi,code").rule_at(labels["alone"]) is None


def test_who_clears_the_frame_pointer_and_exits_is_outermost(
    jumping: tuple[Path, dict[str, int]],
) -> None:
    path, labels = jumping
    table = UnwindTable.from_elf(path, "cfi,code")
    rule = table.rule_at(labels["child"])
    assert rule is not None
    assert rule.outermost
    before = table.rule_at(labels["thread"])
    assert before is not None
    assert not before.outermost


CIRCLE = """
    .text
    .globl _start
_start:
    call owner
    call second
    call third
    mov $60, %eax
    syscall
    hlt
    .p2align 4
owner:
    push %rbx
    push %r12
    test %edi, %edi
    jnz first_part
back:
    pop %r12
    pop %rbx
    ret
    .p2align 4
second:
    lea 2(%rdi), %rax
    ret
    .p2align 4
second_part:
    inc %rbx
    test %r12, %r12
    jnz third_part
    jmp back
    .p2align 4
third:
    lea 3(%rdi), %rax
    ret
    .p2align 4
first_part:
    inc %rbx
    test %r12, %r12
    jnz second_part
    jmp back
    .p2align 4
fourth:
    call third
    ret
    .p2align 4
third_part:
    inc %rbx
    test %r12, %r12
    jnz first_part
    call fourth
    jmp back
    .section .note.GNU-stack, "", @progbits
"""
"""Parts of a function jump into each other in a cycle; functions are between them."""

PARTS = ("first_part", "second_part", "third_part")


@pytest.fixture(scope="module")
def circle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A stripped program of which nothing is described."""
    if shutil.which("nm") is None or shutil.which("strip") is None:
        pytest.skip("no nm or strip")
    path = build(tmp_path_factory.mktemp("circle"), CIRCLE, "s", "gcc", "-nostdlib", "-static", "-no-pie")
    listed = subprocess.run(["nm", str(path)], check=True, capture_output=True, text=True).stdout
    subprocess.run(["strip", path], check=True)
    return path, {line.split()[2]: int(line.split()[0], 16) for line in listed.splitlines() if line[0] != " "}


@pytest.mark.parametrize("order", list(permutations(PARTS)), ids="-".join)
def test_parts_in_a_circle_do_not_depend_on_the_order_of_questions(
    circle: tuple[Path, dict[str, int]], order: tuple[str, ...]
) -> None:
    path, labels = circle
    table = UnwindTable.from_elf(path, "code")
    rules = [table.rule_at(labels[label]) for label in order]
    assert [rule and (rule.cfa, rule.registers["rbx"]) for rule in rules] == [("rsp+24", "cfa-16")] * 3


def test_a_function_keeps_its_rule_beside_parts_in_a_circle(circle: tuple[Path, dict[str, int]]) -> None:
    path, labels = circle
    rule = UnwindTable.from_elf(path, "code").rule_at(labels["back"])
    assert rule is not None
    assert rule.cfa == "rsp+24"


def test_parts_of_too_many_others_belong_to_none(circle: tuple[Path, dict[str, int]]) -> None:
    path, labels = circle
    table = UnwindTable.from_elf(path, "code", limits=DEFAULT._replace(code_parts=1))
    rule = table.rule_at(labels["first_part"])
    assert rule is not None
    assert rule.cfa == "rsp+8"


def code_source(path: Path, limits: Limits) -> CodeSource:
    """The functions of a program by their code alone."""
    request = Request(
        ElfFile.open(path), ("code",), lambda: None, RuleSet(limits), limits, Defects(), quick=False, followed=False
    )
    found = source(request)
    assert found is not None
    return found


def test_few_functions_are_kept_while_all_are_gone_through(circle: tuple[Path, dict[str, int]]) -> None:
    path, _ = circle
    most, fewest = code_source(path, DEFAULT), code_source(path, DEFAULT._replace(code_kept=1))
    assert most.compile_all() == fewest.compile_all() > 8
    assert fewest.binary.kept_operations < most.binary.kept_operations


def test_functions_that_are_not_kept_have_the_same_rows(circle: tuple[Path, dict[str, int]]) -> None:
    path, _ = circle
    everything = list(UnwindTable.from_elf(path, "code"))
    assert len(everything) > 8
    assert everything == list(UnwindTable.from_elf(path, "code", limits=DEFAULT._replace(code_kept=1)))


def test_a_function_gone_through_is_freed_at_once(circle: tuple[Path, dict[str, int]]) -> None:
    path, _ = circle
    found = code_source(path, DEFAULT._replace(code_kept=1))
    first = weakref.ref(found.binary.flow(0))
    gc.disable()
    try:
        found.compile_all()
        assert first() is None
    finally:
        gc.enable()


def test_a_long_chain_of_parts_is_followed_without_recursion() -> None:
    depends = {number: [number + 1] for number in range(5000)} | {5000: []}
    assert list(components(depends)) == [[number] for number in range(5000, -1, -1)]


def test_ranges_in_a_circle_are_found_together() -> None:
    depends = {1: [2], 2: [3], 3: [1, 4], 4: [5], 5: [4], 6: [1]}
    assert [sorted(circle) for circle in components(depends)] == [[4, 5], [1, 2, 3], [6]]


UNDESCRIBED = r"""
__asm__(".text\n.balign 16\n"
    "exported: push %rbx\n .globl in_first\n in_first: nop\n pop %rbx\n ret\n .balign 16\n"
    "other: push %r12\n mov %rsp, %rbx\n sub $64, %rsp\n and $-64, %rsp\n mov %rbx, 8(%rsp)\n"
    "xor %ebx, %ebx\n .globl in_second\n in_second: nop\n 1: dec %edi\n jne 1b\n"
    "mov 8(%rsp), %rsp\n pop %r12\n jmp exported\n .balign 16\n"
    "third: sub $24, %rsp\n .globl in_third\n in_third: nop\n add $24, %rsp\n ret\n");
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[UnwindTable, dict[str, int]]:
    """The table of a stripped library with 2,000 compiled functions, as walks use it, and addresses in its assembly."""
    many = "\n".join(f"int many_{number}(int a) {{ return a * {number}; }}" for number in range(2000))
    place = tmp_path_factory.mktemp("large")
    path = build(place, many + UNDESCRIBED, "c", "gcc", "-O1", "-shared", "-fPIC")
    names = subprocess.run(["nm", str(path)], capture_output=True, check=True, text=True).stdout.splitlines()
    at = {name: int(address, 16) for address, _, name in (line.rsplit(" ", 2) for line in names) if address.strip()}
    subprocess.run(["strip", "--strip-all", str(path)], check=True)
    return UnwindTable.from_elf(ElfFile.open(path), UNWIND_ORDER, quick=True), at


def test_assembly_in_a_large_library_has_rules(large: tuple[UnwindTable, dict[str, int]]) -> None:
    table, at = large
    rule = table.rule_at(at["in_first"])
    assert rule is not None and (rule.cfa, rule.registers["rbx"], rule.source) == ("rsp+16", "cfa-16", "code")


def test_assembly_that_aligns_the_stack_keeps_it_on_the_stack(large: tuple[UnwindTable, dict[str, int]]) -> None:
    table, at = large
    rule = table.rule_at(at["in_second"])
    assert rule is not None and (rule.cfa, rule.registers["r12"]) == ("*(rsp+8)+16", "cfa-16")


def test_a_function_begins_behind_a_jump_to_another(large: tuple[UnwindTable, dict[str, int]]) -> None:
    table, at = large
    rule = table.rule_at(at["in_third"])
    assert rule is not None and rule.cfa == "rsp+32"


def test_start_files_of_a_large_library_have_rules(large: tuple[UnwindTable, dict[str, int]]) -> None:
    table, at = large
    rules = [table.rule_at(at[name] + 1) for name in ("register_tm_clones", "deregister_tm_clones", "frame_dummy")]
    assert [rule.cfa for rule in rules if rule is not None] == ["rsp+8"] * 3
    assert table.rule_at(at["__do_global_dtors_aux"] + 5) is not None


def test_only_what_is_left_open_is_searched(tmp_path: Path) -> None:
    path = build(tmp_path, SWITCH + UNDESCRIBED, "c", "gcc", "-O2")
    elf = ElfFile.open(path)
    described = UnwindTable.from_elf(elf, "eh-frame")
    table = UnwindTable.from_elf(elf, UNWIND_ORDER, quick=True)
    table.consult_all()
    more = set(table.starts) - set(described.starts)
    assert more and not any(described.function_at(start) is not None for start in more)


def test_functions_found_for_rules_are_not_searched_again_for_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elf = ElfFile.open(build(tmp_path, SWITCH + UNDESCRIBED, "c", "gcc", "-O2"))
    UnwindTable.from_elf(elf, UNWIND_ORDER, quick=True).consult_all()
    monkeypatch.delattr("undwarf.tables.from_code._open_ranges")
    starts, ends = searched_functions(elf, memoryview(b"").cast("Q"))
    assert len(starts) == len(ends) > 0


def test_open_code_beyond_the_limit_is_not_searched(tmp_path: Path) -> None:
    elf = ElfFile.open(build(tmp_path, SWITCH + UNDESCRIBED, "c", "gcc", "-O2"))
    counts = []
    for limits in (DEFAULT, DEFAULT._replace(code_searched_bytes=16)):
        table = UnwindTable.from_elf(elf, ("eh-frame", "code"), limits=limits, quick=True)
        counts.append(table.consult_all())
    assert counts[1] < counts[0]


def program_of(*segments: tuple[int, int, int]) -> bytes:
    """A program of 64 KB of `push`, `pop` and `ret` with executable (offset, address, file size), no sections."""
    count = len(segments)
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    made = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, count, 64, 0, 0)
    for offset, address, size in segments:
        made += struct.pack("<IIQQQQQQ", 1, 5, offset, address, address, size, size, 4096)
    return made + b"\x55\x5d\xc3" * (((1 << 16) - len(made)) // 3)


@pytest.mark.parametrize(
    "segments",
    [
        [(0, 0x20000 * number, 0x10000) for number in range(500)],
        [(0, 16 * number, 0x10000) for number in range(500)],
        [(0, 0x1000000 * number, 0) for number in range(500)] + [(0, 0, 0x10000)],
        [(0, 0, 1 << 40), (0, 1 << 41, 1 << 40)],
    ],
    ids=["many times", "overlapping", "empty", "beyond the file"],
)
def test_code_is_no_more_than_the_bytes_of_the_file(segments: list[tuple[int, int, int]]) -> None:
    data = program_of(*segments)
    table = UnwindTable.from_elf(ElfFile.from_bytes(data), "code")
    assert 0 < sum(end - start for start, end in zip(table.starts, table.ends, strict=True)) <= len(data)


def test_code_that_is_too_large_is_not_searched(tmp_path: Path) -> None:
    path = build(tmp_path, FRAMES, "c", "gcc", "-O2", "-s", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    everything = UnwindTable.from_elf(path, "code")
    little = UnwindTable.from_elf(path, "code", limits=DEFAULT._replace(code_bytes=16))
    assert len(little) < len(everything)


def test_damaged_programs_are_survived(tmp_path: Path) -> None:
    path = build(tmp_path, SWITCH, "c", "gcc", "-O2", "-s", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    original = path.read_bytes()
    chance = random.Random(7)
    for _ in range(150):
        data = bytearray(original)
        for _ in range(chance.randrange(1, 60)):
            data[chance.randrange(64, len(data))] = chance.randrange(256)
        try:
            table = UnwindTable.from_elf(ElfFile.from_bytes(bytes(data)), "code")
        except UndwarfError:
            continue
        table.complete()
        for function in range(len(table)):
            addresses, rules = table.rows(function)
            assert len(addresses) == len(rules) >= 1


def test_code_beyond_all_addresses_is_left_out() -> None:
    """A core file's memory may show a program whose headers are damaged."""
    made = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    made += struct.pack("<IIQQQQQQ", 1, 5, 0, (1 << 64) - 64, 0, 120, 120, 4096)
    assert len(UnwindTable.from_elf(ElfFile.from_bytes(made), "code")) == 0


def test_stubs_that_are_said_to_be_huge_are_refused(tmp_path: Path) -> None:
    """Nothing is made of each stub before its section's size, which damage may set to anything, was looked at."""
    path = build(tmp_path, SWITCH, "c", "gcc", "-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    elf = ElfFile.open(path)
    stubs = elf.section(".plt")
    if stubs is None:
        pytest.skip("a program without a procedure linkage table")
    known = UnwindTable.from_elf(elf, "code")
    assert known.rule_at(stubs.address) is not None
    none = UnwindTable.from_elf(elf, "code", limits=DEFAULT._replace(code_function_bytes=stubs.size - 1))
    assert none.rule_at(stubs.address) is None


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("__asan_report_load8", True),
        ("__asan_report_store_n", True),
        ("__asan_report_load8_noabort", False),
        ("__ubsan_handle_add_overflow_abort", True),
        ("__ubsan_handle_add_overflow", False),
        ("__ubsan_handle_builtin_unreachable", True),
        ("__asan_report_present", False),
    ],
)
def test_sanitizers_reports_end_the_program_unless_they_are_asked_not_to(name: str, ends: bool) -> None:
    assert is_noreturn(name) is ends
