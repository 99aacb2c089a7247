"""Instructions as columns and shared templates say what the decoder says of each by itself."""

import hashlib
import sys
from pathlib import Path

import pytest

from undwarf.disasm import Flow, Instruction
from undwarf.disasm import listing as parts
from undwarf.disasm.listing import MEMORY_WORDS, ROW_WORDS, TARGETED, Listing
from undwarf.disasm.x86_64 import MACHINE, decode
from undwarf.elf import ElfFile


def wrapped(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


def told(listing: Listing, k: int) -> tuple[object, ...]:
    """What columns and template say of an instruction."""
    at = listing.templates[k] * ROW_WORDS
    row = listing.table.rows[at : at + ROW_WORDS].tolist()
    operands = []
    for number in range(row[parts.FIRST_MEMORY], row[parts.FIRST_MEMORY] + row[parts.MEMORIES]):
        words = listing.table.operands[number * MEMORY_WORDS : (number + 1) * MEMORY_WORDS].tolist()
        displacement = words[parts.DISPLACEMENT] + (listing.displacements[k] if words[parts.DISPLACED] else 0)
        operands.append((*words[:3], wrapped(displacement), *words[parts.SEGMENT : parts.IMPLICIT + 1]))
    flow = listing.flows[k]
    return (
        listing.address_of(k), listing.lengths[k], flow & 15, listing.targets[k] if flow & TARGETED else 0,
        row[1:6], wrapped(listing.immediate(k)), row[parts.WRITES], row[parts.WRITES_HIGH], operands,
    )  # fmt: skip


def expected(made: Instruction) -> tuple[object, ...]:
    """The same of an instruction that was decoded by itself."""
    low = sum(1 << register for register in set(made.writes) if register < 64)
    high = sum(1 << (register - 64) for register in set(made.writes) if register >= 64)
    operands = [
        (
            one.base, one.index, one.scale, wrapped(one.displacement), ("", "fs", "gs").index(one.segment), one.size,
            ("r" in one.access) + 2 * ("w" in one.access), int(one.implicit),
        )
        for one in made.memory
    ]  # fmt: skip
    return (
        made.address, made.size, int(made.flow), wrapped(made.target or 0),
        [int(made.action), made.destination, made.left, made.right, made.width], wrapped(made.immediate),
        wrapped(low), wrapped(high), operands,
    )  # fmt: skip


def compare(code: bytes, address: int) -> None:
    listing = MACHINE.listing(code, address)
    alone = decode(code, address)
    assert len(listing) == len(alone)
    for k, made in enumerate(alone):
        assert told(listing, k) == expected(made), made


def noise(name: str, size: int) -> bytes:
    return hashlib.shake_256(name.encode()).digest(size)


def test_any_bytes() -> None:
    compare(noise("code", 30_000), 0x7FFF_0000)


def test_prefixes_and_maps_of_opcodes() -> None:
    begins = ("66", "f248", "f3", "648b", "f048", "c5", "c4e2", "c4e3", "0f", "0f38", "66480f3a")
    data = noise("prefixes", 33_000)
    pieces = (bytes.fromhex(begins[k % len(begins)]) + data[10 * k : 10 * k + 9] for k in range(3_300))
    compare(b"".join(pieces), 0xFFFFFFFF81000000)


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
