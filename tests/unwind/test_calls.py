"""Call instructions before a return address. The bytes are what gas makes of the instruction in the comment."""

import pytest

from undwarf.unwind.x86_64.calls import ends_with_call, is_return
from undwarf.unwind.x86_64.registers import slots


@pytest.mark.parametrize(
    "code",
    [
        "e800000000",  # call rel32
        "ffd0",  # call *%rax
        "41ffd4",  # call *%r12
        "ff5008",  # call *8(%rax)
        "ff542408",  # call *8(%rsp)
        "ff1500100000",  # call *0x1000(%rip)
        "ff9080000000",  # call *0x80(%rax)
        "ff14c500000000",  # call *0(,%rax,8)
        "ff94c880000000",  # call *0x80(%rax,%rcx,8)
    ],
)
def test_call_is_seen(code: str) -> None:
    assert ends_with_call(bytes(7) + bytes.fromhex(code))


@pytest.mark.parametrize("code", ["c3", "4889e5", "ffe0", "ff2500100000", "90909090909090", ""])
def test_other_code_is_not_a_call(code: str) -> None:
    assert not ends_with_call(b"\x90" * 7 + bytes.fromhex(code))


def test_registers_of_a_dwarf_recording_stand_where_perf_puts_them() -> None:
    # The mask that `perf record --call-graph dwarf` asks for: ax bx cx dx si di bp sp ip flags cs ss r8-r15.
    where = slots(0xFF0FFF)
    assert (where[0], where[3], where[6], where[7], where[16], where[15]) == (0, 1, 6, 7, 8, 19)


def test_register_that_was_not_sampled_is_absent() -> None:
    assert slots(1 << 8)[7] == 255


@pytest.mark.parametrize("code", [b"\xc3\x90", b"\xc2\x08", b"\xf3\xc3", b"\xf2\xc3"])
def test_returns(code: bytes) -> None:
    assert is_return(code)


@pytest.mark.parametrize("code", [b"", b"\xf3", b"\xcb\xc3", b"\x90\xc3", b"\xff\xe1"])
def test_what_is_no_return(code: bytes) -> None:
    assert not is_return(code)
