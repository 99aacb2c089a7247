"""References in code, found by its structure alone, beside what the decoder says of each instruction."""

import pytest
from iced_x86 import Code, Decoder, FlowControl, Register

from undwarf.disasm.x86_encoding import CALLED, JUMPED, RETURNED, TAKEN
from undwarf.disasm.x86_linear_sweep import sweep

JUMPS = (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH)

CODE = bytes.fromhex(
    "e811223344"  # call
    "67e800000000"  # call with a prefix that does nothing
    "eb10" "7510" "e310" "0f8500010000" "e9fbffffff"  # jumps
    "488d0510000000" "4c8d3d00ffffff" "8d0510000000" "488d4010"  # lea: two of addresses
    "b800104000" "48c7c000104000" "48c7c0ffffffff" "66b81234" "48b81122334455667788"  # constants
    "c7f810000000"  # xbegin, which looks like a constant
    "62f17c48287000" "c5fc28c1" "c4e27d18c0"  # AVX-512, AVX
    "ff2500000000" "ff1500000000" "c3" "1e00"  # by memory; not an instruction
    "f00fc70f" "f390" "e8"  # the last one is cut off
)  # fmt: skip  # a table


def described(code: bytes, address: int) -> list[tuple[int, int, int]]:
    """The same by the decoder."""
    found = []
    for one in Decoder(64, code, ip=address):
        if one.flow_control == FlowControl.CALL:
            found.append((CALLED, one.ip, one.near_branch_target))
        elif one.flow_control in JUMPS:
            found.append((JUMPED, one.ip, one.near_branch_target))
        elif one.code in (Code.RETNQ, Code.RETNQ_IMM16):
            found.append((RETURNED, one.ip, one.next_ip))
        elif one.code == Code.LEA_R64_M and one.memory_base == Register.RIP:
            found.append((TAKEN, one.ip, one.memory_displacement))
        elif one.code in (Code.MOV_R32_IMM32, Code.MOV_RM64_IMM32):
            found.append((TAKEN, one.ip, one.immediate(1)))
    return [one for one in found if one[2] < (1 << 64) - 1]


def swept(code: bytes, address: int) -> list[tuple[int, int, int]]:
    kinds, sources, targets = sweep(code, address)
    return list(zip(kinds, sources, targets, strict=True))


def test_references_are_those_of_the_decoder() -> None:
    found = swept(CODE, 0x400000)
    assert [one[0] for one in found] == [CALLED] * 2 + [JUMPED] * 5 + [TAKEN] * 4 + [RETURNED]
    assert found == described(CODE, 0x400000)


@pytest.mark.parametrize("cut", range(1, 16))
def test_code_may_end_anywhere(cut: int) -> None:
    assert swept(CODE[:-cut], 0x1000) == described(CODE[:-cut], 0x1000) != []


def test_targets_elsewhere_are_left_out() -> None:
    assert len(sweep(CODE, 0x400000)[0]) > len(sweep(CODE, 0x400000, 0x400000, 0x400100)[0]) > 0
    assert all(0x400000 <= target < 0x400100 for target in sweep(CODE, 0x400000, 0x400000, 0x400100)[2])


def test_many_references_have_room() -> None:
    assert len(sweep(b"\xeb\x00" * 20_000, 0)[0]) == 20_000


@pytest.mark.parametrize("byte", range(256))
def test_any_bytes_are_swept_to_their_end(byte: int) -> None:
    call = b"\x90" * 15 + b"\xe8\0\0\0\0"
    assert CALLED in sweep(bytes([byte, 0x84]) * 40 + call, 0)[0]
