"""BlockTable of functions as columns: what leads where, against the same said instruction by instruction."""

import hashlib
from pathlib import Path

import pytest
from tests.support.types.fakes import assemble, compiled

from undwarf.column import zeros
from undwarf.disasm import Flow, listing_search
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_64 import MACHINE
from undwarf.elf import ElfFile
from undwarf.types.dataflow.block_table import BlockTable
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.noreturn import ends_in_noreturn_call
from undwarf.types.open_resolver import open_resolver
from undwarf.types.resolver import Resolver

BASE = 0x1000


def code_of(seed: int) -> bytes:
    """Short jumps and branches forth and back, calls, returns and what does nothing, as they come."""
    data = hashlib.shake_256(bytes((seed,))).digest(400)
    kinds = ("74{}", "eb{}", "7f{}", "e8000000{}", "c3", "90", "31c0", "4889c3", "0f0b", "ffe0", "ffd0", "48ffc1")
    return b"".join(
        bytes.fromhex(kinds[kind % len(kinds)].format(f"{distance % 48 - 24 & 0xFF:02x}"))
        for kind, distance in zip(data[::2], data[1::2], strict=True)
    )


def following(listing: Listing, k: int) -> list[int]:
    """The instructions that may follow one."""
    made = listing[k]
    on = [k + 1] if k + 1 < len(listing) else []
    target = listing.index_of(made.target) if made.target is not None else None
    if made.flow == Flow.CALL:
        return [] if made.target is not None and made.target % 3 == 0 else on
    if made.flow == Flow.BRANCH:
        return list(dict.fromkeys(([target] if target is not None else []) + on))
    if made.flow == Flow.JUMP:
        return [target] if target is not None else []
    return on if made.flow in (Flow.NEXT, Flow.INDIRECT_CALL) else []


@pytest.mark.parametrize("seed", range(8))
def test_blocks_agree_with_a_walk_instruction_by_instruction(seed: int) -> None:
    listing = MACHINE.listing(code_of(seed), BASE)
    flow = FunctionFlow(listing, MACHINE, None, lambda target: target % 3 == 0)
    blocks = flow.blocks
    count = len(blocks)
    assert [blocks.first(n) for n in range(count)][1:] == [blocks.end(n) for n in range(count)][:-1]
    for n in range(count):
        inside = range(blocks.first(n), blocks.end(n))
        assert {flow.block_of(k) for k in inside} == {n}
        assert all(following(listing, k) == [k + 1] for k in inside[:-1])
        # Only first instructions are led to from elsewhere.
        assert [blocks.first(one) for one in blocks.successors(n)] == following(listing, inside[-1])
        ways = [one for one in range(count) if n in blocks.successors(one)]
        # What fills space where something leads to is run.
        assert blocks.is_padding(n) == (n > 0 and not ways and all(listing.is_padding(k) for k in inside))
        assert blocks.predecessors(n) == [one for one in ways if not blocks.is_padding(one)]
        assert blocks.entered(n) == bool(blocks.predecessors(n))


@pytest.mark.parametrize("seed", range(8))
def test_a_block_comes_after_a_predecessor(seed: int) -> None:
    flow = FunctionFlow(MACHINE.listing(code_of(seed), BASE), MACHINE)
    order, blocks = list(flow.order), flow.blocks
    assert len(set(order)) == len(order)
    assert {n for n in range(len(blocks)) if not blocks.is_padding(n)} <= set(order)
    roots = [n for n in range(len(blocks)) if n == 0 or not blocks.entered(n)]
    inside = reachable(blocks, roots)
    seen: set[int] = set()
    for n in order:
        reached = any(one in seen for one in blocks.predecessors(n))
        # A loop that nothing enters begins somewhere.
        assert reached or n in roots or n not in inside
        seen.add(n)


def reachable(blocks: BlockTable, roots: list[int]) -> set[int]:
    """What may be come to from these."""
    found, left = set(roots), list(roots)
    while left:
        for one in blocks.successors(left.pop()):
            if one not in found:
                found.add(one)
                left.append(one)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_predecessors_are_the_blocks_that_reach_an_instruction(seed: int) -> None:
    flow = FunctionFlow(MACHINE.listing(code_of(seed), BASE), MACHINE, None, lambda target: target % 3 == 0)
    blocks = flow.blocks
    for wanted in ((0,), (len(flow.instructions) // 2,), (len(flow.instructions) - 1, 7), ()):
        inside = {n for n in range(len(blocks)) if reachable(blocks, [n]) & {flow.block_of(k) for k in wanted}}
        leading, order, size = blocks.blocks_leading_to(wanted)
        assert {n for n, one in enumerate(leading) if one} == inside
        assert list(order) == [n for n in flow.order if n in inside]
        assert size == sum(blocks.end(n) - blocks.first(n) for n in inside)


def test_empty_code_has_no_blocks() -> None:
    flow = FunctionFlow(MACHINE.listing(b"", BASE), MACHINE)
    assert len(flow.blocks) == 0 and not list(flow.order)
    assert len(FunctionFlow(MACHINE.listing(b"\xc3", BASE), MACHINE).blocks) == 1


def test_a_switch_has_the_targets_of_its_jump_table_and_no_more(tmp_path: Path) -> None:
    text = """
    lea t1(%rip), %rcx; mov %edi, %edi; movslq (%rcx,%rdi,4), %rax; add %rcx, %rax; jmp *%rax
    a: mov %esi, %esi; lea t2(%rip), %rdx; mov %rdx, %rcx
    b: dec %rsi; jz d; movslq (%rcx,%rsi,4), %rax; add %rcx, %rax; jmp *%rax
    c: jmp b
    d: ret
    .balign 4
    t1: .long a - t1, d - t1
    t2: .long c - t2, d - t2
    """
    code = assemble(text, tmp_path)
    size = code.index(b"\xc3") + 1
    flow = FunctionFlow(MACHINE.listing(code[:size], 0), MACHINE, lambda address, size: code[address : address + size])
    blocks = flow.blocks
    jumps = [n for n in range(len(blocks)) if flow.instructions.flows[blocks.end(n) - 1] & 15 == Flow.INDIRECT_JUMP]
    follow = [{str(flow.instructions[blocks.first(one)].text) for one in blocks.successors(n)} for n in jumps]
    assert follow == [{"mov %esi,%esi", "ret"}, {"jmp 0x1e", "ret"}]


def test_a_tail_call_after_a_switch_has_not_its_targets(tmp_path: Path) -> None:
    text = """
    lea t(%rip), %rdx; mov (%rsi), %eax; movslq (%rdx,%rax,4), %rax; add %rdx, %rax; jmp *%rax
    a: mov 8(%rdi), %rax; add $16, %rsp; lea 16(%rsi), %rsi; jmp *%rax
    b: ret
    t: .long a-t, b-t
    """
    code = assemble(text, tmp_path)
    size = code.index(b"\xc3") + 1
    flow = FunctionFlow(MACHINE.listing(code[:size], 0), MACHINE, lambda address, size: code[address : address + size])
    ways = [flow.blocks.successors(number) for number in range(len(flow.blocks))]
    assert ways == [[1, 2], [], []]


@pytest.mark.parametrize(("elsewhere", "led_to"), [("cold", 2), ("cold + 1", 0)])
def test_a_switch_may_jump_past_the_end_of_the_function(tmp_path: Path, elsewhere: str, led_to: int) -> None:
    text = f"""
    test %esi, %esi; jz b
    lea t(%rip), %rdx; cmp $3, %edi; ja cold; mov %edi, %eax; movslq (%rdx,%rax,4), %rax; add %rdx, %rax; jmp *%rax
    a: inc %eax; ret
    b: ret
    t: .long {elsewhere}-t, a-t, cold-t, b-t
    cold: ud2
    """
    code = assemble(text, tmp_path)
    size = code.index(b"\xff\xc0\xc3\xc3") + 4
    flow = FunctionFlow(MACHINE.listing(code[:size], 0), MACHINE, lambda address, size: code[address : address + size])
    jump = next(k for k, made in enumerate(flow.instructions) if made.flow == Flow.INDIRECT_JUMP)
    assert len(flow.blocks.successors(flow.block_of(jump))) == led_to
    assert flow.open == (not led_to)


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        # A callback that is there, or given, and one of two.
        ("mov 8(%rdi),%rax; test %rax,%rax; je 1f; jmp *%rax; 1: ret", False),
        ("mov 8(%rdi),%rax; mov %rax,%rdx; test %rax,%rax; je 1f; jmp *%rdx; 1: ret", False),
        ("test %rdx,%rdx; je 1f; jmp *%rdx; 1: ret", False),
        ("mov 8(%rdi),%rax; dec %esi; je 1f; mov 16(%rdi),%rax; 1: dec %edx; je 2f; jmp *%rax; 2: ret", False),
        # What is calculated, of a table, or put aside on the stack, on one of the ways at least.
        ("mov (%rdi,%rsi,8),%rax; test %rsi,%rsi; je 1f; jmp *%rax; 1: ret", True),
        ("mov (%rdi),%rax; dec %esi; je 2f; add %rdx,%rax; 2: dec %edx; je 1f; jmp *%rax; 1: ret", True),
        ("mov 8(%rsp),%rax; test %rax,%rax; je 1f; jmp *%rax; 1: ret", True),
        ("test %r11,%r11; je 1f; jmp *%r11; 1: ret", True),
        # One of a table, where the registers of who called are put back before.
        ("push %rbx; mov %esi,%ebx; pop %rbx; mov (%rdi,%rsi,8),%rax; jmp *%rax", False),
        ("push %rbx; mov %esi,%ebx; nop; mov (%rdi,%rsi,8),%rax; jmp *%rax", True),
    ],
)
def test_a_jump_to_a_loaded_address_leaves_the_function(tmp_path: Path, text: str, opened: bool) -> None:
    assert FunctionFlow(MACHINE.listing(assemble(text, tmp_path), 0), MACHINE).open == opened


FAILS = "call f; nopl 8(%rax,%rax,1)"
"""A call, and what fills space behind it: eight bytes in all, a jump over it leads to the end."""


@pytest.mark.parametrize(
    ("text", "led_to"),
    [
        # Something else leads behind the call.
        (f"test %rdi,%rdi; jne 1f; {FAILS}; 1: mov (%rdi),%rax; ret; f: ret", 1),
        # Nothing else does: there it returns, and so it may everywhere.
        (f"test %rdi,%rdi; jne 1f; {FAILS}; mov $1,%esi; 1: mov (%rdi),%rax; ret; f: ret", 2),
        (f"test %rdi,%rdi; jne 1f; call f; mov $1,%esi; ret; 2: {FAILS}; 1: mov (%rdi),%rax; jl 2b; ret; f: ret", 2),
    ],
)
def test_a_noreturn_call_ends_a_block_if_more_code_is_reached(tmp_path: Path, text: str, led_to: int) -> None:
    listing = MACHINE.listing(assemble(text, tmp_path), 0)
    last = listing.address_of(len(listing) - 1)
    asked = []

    def may_not_return(address: int) -> bool:
        asked.append(address)
        return address == last

    flow = FunctionFlow(listing, MACHINE, may_not_return=may_not_return)
    load = next(k for k in range(len(listing)) if listing[k].memory and listing[k].memory[0].base == 5)
    assert len(flow.blocks.predecessors(flow.block_of(load))) == led_to and asked == [last]


def test_noreturn_calls_are_found_at_the_ends_of_functions(tmp_path: Path) -> None:
    code = assemble("f: ret; g: push %rbx; call f; h: mov $1,%eax; call g+1; i: call i; ret", tmp_path)
    ends = [1, 7, 17, len(code)]
    starts, until = _column([0, 1, 7, 17]), _column(ends)
    # What is called in the middle of a function, or does not begin one, ends none.
    assert listing_search.last_calls(code, 0, starts, until, False) == {0}
    words = bytes.fromhex("c0035fd6 fd7bbfa9 feffff97 fbffff17")
    assert listing_search.last_calls(words, 0, _column([0, 4, 12]), _column([4, 12, 16]), True) == {0}
    assert listing_search.last_calls(words[:8], 0, _column([0, 4, 12]), _column([4, 12, 16]), True) == set()


def _column(numbers: list[int]) -> memoryview:
    column = zeros("Q", len(numbers))
    for k, number in enumerate(numbers):
        column[k] = number
    return column


CHECKS = """
#include <stdio.h>
__attribute__((noinline)) void complain(const char *what) { puts(what); }
__attribute__((noinline)) void say(const char *what) { puts(what); }
#define CHECK(c) ((c) ? (void)0 : (complain(#c), __builtin_unreachable()))
struct list { struct list *next; int n; };
__attribute__((noinline)) int sum(struct list *l) { int s = 0; CHECK(l->n > 0);
  for (; l; l = l->next) { s += l->n; say("on"); } CHECK(s < 99); return s; }
int main(int argc, char **argv) { struct list one = { 0, argc }, two = { &one, argc }; return sum(&two); }
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_function_declared_noreturn_does_not_return(tmp_path: Path, compiler: str) -> None:
    resolver = open_resolver(ElfFile.open(compiled(CHECKS, compiler, "-O2", tmp_path)))
    assert isinstance(resolver, Resolver)
    named = resolver.binary.symbols.address_of_name
    assert resolver.binary.may_not_return(named(b"complain")) and not resolver.binary.may_not_return(named(b"say"))


@pytest.mark.parametrize(
    ("text", "endless"),
    [
        ("push %rbx; mov %edi,%ebx; call 9f+4; mov %ebx,%edi; call 9f; 9: ret", True),
        ("test %edi,%edi; je 1f; call 9f+4; 1: call *%rax; call 9f; 9: ret", True),
        ("jmp 1f; 1: je 9f; call 9f; 9: ret", True),
        # It returns on one way, goes on elsewhere, and what it calls last may come back.
        ("test %edi,%edi; je 1f; ret; 1: call 9f; 9: ret", False),
        ("test %edi,%edi; je 9f+4; call 9f; 9: ret", False),
        ("test %edi,%edi; je 1f; jmp *%rax; 1: call 9f; 9: ret", False),
        ("test %edi,%edi; je 1f; ud2; 1: call 9f; 9: ret", False),
        ("call 9f; call 9f+4; 9: ret", False),
        ("call 9f; mov %ebx,%edi; 9: ret", False),
        ("call 9f; call *%rax; 9: ret", False),
    ],
)
def test_a_function_that_can_only_end_in_noreturn_is_noreturn(tmp_path: Path, text: str, endless: bool) -> None:
    code = assemble(text, tmp_path)[:-1]
    assert ends_in_noreturn_call(MACHINE.listing(code, BASE), lambda target: target == BASE + len(code)) is endless


STOPS = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static void usage(const char *name, int code) { fprintf(stderr, "%s\\n", name); exit(code); }
__attribute__((noinline)) static void wrong(const char *name) { puts("wrong"); usage(name, 3); }
__attribute__((noinline)) static void asked(const char *name) { puts("asked"); if (name) exit(0); }
int main(int argc, char **argv) {
  int all = 0, quiet = 0;
  for (int i = 1; i < argc; i++)
    switch (argv[i][0]) {
      case 'a': all++; break;
      case 'h': asked(argv[0]); break;
      case 'q': quiet = all; break;
      case 'v': all += 2; break;
      case 'x': wrong(argv[0]);
      default: usage(argv[0], 2);
    }
  return all + quiet;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_usage_function_that_exits_is_noreturn(tmp_path: Path, compiler: str) -> None:
    resolver = open_resolver(ElfFile.open(compiled(STOPS, compiler, "-O2", tmp_path)))
    assert isinstance(resolver, Resolver)
    named = resolver.binary.symbols.address_of_name
    found = {name: resolver.binary.never_returns(named(name)) for name in (b"usage", b"wrong", b"asked", b"main")}
    assert found == {b"usage": True, b"wrong": True, b"asked": False, b"main": False}


def test_padding_before_a_loop_is_no_predecessor_of_it(tmp_path: Path) -> None:
    code = assemble("mov %rdi,%rbx; jmp 1f; nop; 1: mov (%rbx),%rax; dec %rcx; jnz 1b; ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, BASE), MACHINE)
    loop = flow.index_of(flow.instructions[1].target or 0)
    assert loop is not None and flow.blocks.is_padding(flow.blocks.of(loop - 1))
    assert flow.blocks.reaching_definitions(loop, 3, 100, None) == [0]
    assert flow.blocks.predecessors(flow.blocks.of(loop)) == [0, flow.blocks.of(loop)]


def test_nops_that_are_run_before_a_loop_are_a_predecessor(tmp_path: Path) -> None:
    code = assemble("mov %rdi,%rbx; test %rdi,%rdi; je 2f; nop; 1: mov (%rbx),%rax; dec %rcx; jnz 1b; 2: ret", tmp_path)
    flow = FunctionFlow(MACHINE.listing(code, BASE), MACHINE)
    loop = flow.index_of(flow.instructions[6].target or 0)
    assert loop is not None and not flow.blocks.is_padding(flow.blocks.of(loop - 1))
    assert flow.blocks.reaching_definitions(loop, 3, 100, None) == [0]
