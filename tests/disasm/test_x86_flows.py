"""Flows of single instructions: those of a listing of the same code."""

from undwarf.disasm import Flow, machine_of, x86_length_decoder
from undwarf.disasm.x86_flows import FlowDecoder
from undwarf.elf import ElfFile
from undwarf.elf.headers import EM_X86_64

LONGEST = 15
SIZE = 1 << 16


def split(found: int) -> tuple[int, int, int]:
    """Flow, bytes of the distance to the target, length."""
    return found & 15, found >> 4 & 15, found >> 8


def test_flows_lengths_and_targets_are_those_of_a_listing() -> None:
    elf = ElfFile.open(x86_length_decoder.__file__)
    machine = machine_of(EM_X86_64)
    assert machine is not None
    text = elf.section_data(".text")
    assert text is not None
    code = bytes(text[:SIZE])
    decode = FlowDecoder()
    listing = machine.listing(code, 0)
    compared = 0
    for offset, length, flow, target in zip(
        listing.offsets, listing.lengths, listing.flows, listing.targets, strict=True
    ):
        if offset + LONGEST > len(code):
            continue
        found, size, end = split(decode(code, offset))
        after = offset + length
        distance = int.from_bytes(code[after - size : after], "little", signed=True)
        assert (found, end, after + distance if size else 0) == (flow & 15, length, target), hex(offset)
        compared += 1
    assert compared > 100


def test_a_prefix_that_the_processor_ignores_keeps_the_target() -> None:
    # addr32 call, as linkers write it in place of a call through memory.
    assert split(FlowDecoder()(b"\x67\xe8\x10\0\0\0" + b"\x90" * LONGEST, 0)) == (Flow.CALL, 4, 6)


def test_an_invalid_byte_stops() -> None:
    assert split(FlowDecoder()(b"\x06" + b"\x90" * LONGEST, 0)) == (Flow.STOP, 0, 1)


def test_code_that_ends_inside_of_an_instruction_stops() -> None:
    assert split(FlowDecoder()(b"\xe8\0\0", 0))[0] == Flow.STOP
