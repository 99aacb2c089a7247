"""Addresses as people write them."""

import pytest

from undwarf.outputs.kernels.addr2line_text import parse_addresses


def test_numbers_in_all_spellings() -> None:
    text = b"  1f\t0xABCdef\r\n0X10\n0 00000000000000000000000ff ffffffffffffffff\n"
    assert list(parse_addresses(text)) == [0x1F, 0xABCDEF, 0x10, 0, 0xFF, (1 << 64) - 1]
    assert list(parse_addresses(b"")) == list(parse_addresses(b" \n ")) == []
    assert list(parse_addresses(b"7")) == [7]


@pytest.mark.parametrize(
    "word", [b"g", b"0x", b"0x0x1", b"-1", b"1:", b"1/", b"`", b"10000000000000000", b"\xff", b"\0", b"1\0"]
)
def test_what_is_no_address(word: bytes) -> None:
    assert parse_addresses(b"12 " + word + b" 34") == word
    assert parse_addresses(word) == word
