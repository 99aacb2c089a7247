"""Call instructions before a return address. The bytes are what gas makes of the instruction in the comment."""

import pytest

from undwarf.unwind.aarch64.calls import call_target as aarch64_target
from undwarf.unwind.x86_64.calls import call_target, ends_with_call, is_return, is_stack_change
from undwarf.unwind.x86_64.registers import slots


@pytest.mark.parametrize(
    "code",
    [
        "e801000000",  # call rel32
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


@pytest.mark.parametrize("code", ["c3", "4889e5", "ffe0", "e800000000", "ff2500100000", "90909090909090", ""])
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


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("49 8b 65 58", True),  # mov 0x58(%r13),%rsp
        ("48 8b a3 00 01 00 00", True),  # mov 0x100(%rbx),%rsp
        ("48 8b 64 24 08", False),  # mov 0x8(%rsp),%rsp
        ("48 8b 65 f8", False),  # mov -0x8(%rbp),%rsp
        ("49 8b 6d 60", False),  # mov 0x60(%r13),%rbp
        ("48 89 ec", False),  # mov %rbp,%rsp
        ("49 8b", False),
    ],
)
def test_loads_of_the_stack_pointer_change_the_stack(code: str, expected: bool) -> None:
    assert is_stack_change(bytes.fromhex(code)) == expected


def test_direct_calls_have_their_targets() -> None:
    assert call_target(bytes.fromhex("0000e8fbffffff"), 0x1000) == 0xFFB
    assert call_target(bytes.fromhex("0000000000ffd0"), 0x1000) is None
    assert aarch64_target((0b100101 << 26 | 0x3FFFFFF).to_bytes(4, "little"), 0x1000) == 0xFF8
    assert aarch64_target(bytes(4), 0x1000) is None
