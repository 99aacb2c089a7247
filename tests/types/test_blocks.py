"""Blocks of functions as columns: what leads where, against the same said instruction by instruction."""

import hashlib

import pytest

from undwarf.disasm import Flow
from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.blocks import Blocks
from undwarf.types.flow import FunctionFlow

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


def test_nothing_has_no_blocks() -> None:
    flow = FunctionFlow(MACHINE.listing(b"", BASE), MACHINE)
    assert len(flow.blocks) == 0 and not list(flow.order)
