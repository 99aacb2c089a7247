"""Blocks of functions as columns: what leads where, against the same said instruction by instruction."""

import hashlib
from pathlib import Path

import pytest
from fakes import assemble

from undwarf.disasm import Flow
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.blocks import Blocks
from undwarf.types.dataflow.flow import FunctionFlow

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
def test_blocks_say_what_instructions_say(seed: int) -> None:
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
        assert blocks.predecessors(n) == [one for one in range(count) if n in blocks.successors(one)]
        assert blocks.entered(n) == bool(blocks.predecessors(n))
        assert blocks.is_padding(n) == all(listing.is_padding(k) for k in inside)


@pytest.mark.parametrize("seed", range(8))
def test_a_block_comes_after_one_that_leads_to_it(seed: int) -> None:
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


def reachable(blocks: Blocks, roots: list[int]) -> set[int]:
    """What may be come to from these."""
    found, left = set(roots), list(roots)
    while left:
        for one in blocks.successors(left.pop()):
            if one not in found:
                found.add(one)
                left.append(one)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_what_leads_to_an_instruction_is_what_it_can_be_reached_from(seed: int) -> None:
    flow = FunctionFlow(MACHINE.listing(code_of(seed), BASE), MACHINE, None, lambda target: target % 3 == 0)
    blocks = flow.blocks
    for wanted in ((0,), (len(flow.instructions) // 2,), (len(flow.instructions) - 1, 7), ()):
        inside = {n for n in range(len(blocks)) if reachable(blocks, [n]) & {flow.block_of(k) for k in wanted}}
        leading, order, size = blocks.leading_to(wanted)
        assert {n for n, one in enumerate(leading) if one} == inside
        assert list(order) == [n for n in flow.order if n in inside]
        assert size == sum(blocks.end(n) - blocks.first(n) for n in inside)


def test_nothing_has_no_blocks() -> None:
    flow = FunctionFlow(MACHINE.listing(b"", BASE), MACHINE)
    assert len(flow.blocks) == 0 and not list(flow.order)


def test_a_switch_goes_on_where_the_table_that_comes_to_it_says_and_where_that_ends(tmp_path: Path) -> None:
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


def test_a_tail_call_right_behind_a_switch_does_not_go_on_where_that_does(tmp_path: Path) -> None:
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
