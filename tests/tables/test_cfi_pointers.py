"""LEB128 numbers and encoded pointers."""

import pytest

from undwarf.tables.cfi.pointers import Malformed, leb, read_leb, read_number, read_pointer


@pytest.mark.parametrize(
    ("data", "signed", "value"),
    [
        (b"\x02", False, 2),
        (b"\x80\x01", False, 128),
        (b"\x7f", False, 127),
        (b"\x7f", True, -1),
        (b"\x80\x7f", True, -128),
        (b"\xff\x00", True, 127),
        (b"\xff" * 9 + b"\x01", False, (1 << 64) - 1),
        (b"\xff" * 9 + b"\x7f", False, (1 << 64) - 1),
        (b"\x81\x80\x80\x00", False, 1),
    ],
)
def test_leb128(data: bytes, signed: bool, value: int) -> None:
    assert read_leb(memoryview(data), 0, len(data), signed=signed) == (value, len(data))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("value", [0, 1, 63, 64, 127, 128, 8191, 8192, (1 << 63) - 1, -1, -64, -65, -128, -(1 << 63)])
def test_what_is_written_is_read_and_no_longer_than_need_be(value: int, signed: bool) -> None:
    data = leb(value, signed=signed)
    assert read_leb(memoryview(data), 0, len(data), signed=signed) == (
        value if signed else value % (1 << 64),
        len(data),
    )
    shorter = 7 * (len(data) - 1)
    low, high = (-(1 << shorter) >> 1, 1 << shorter >> 1) if signed else (0, 1 << shorter)
    assert len(data) == 1 or not low <= (value if signed else value % (1 << 64)) < high


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80" * 40, b"\xff" * 19])
def test_leb128_without_an_end_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_leb(memoryview(data), 0, len(data))


def test_a_number_past_the_end_is_malformed() -> None:
    with pytest.raises(Malformed):
        read_number(memoryview(b"abc"), 0, 3, 4)


@pytest.mark.parametrize(
    ("encoding", "data", "value"),
    [
        (0x00, bytes((1, 0, 0, 0, 0, 0, 0, 0)), 1),
        (0x01, b"\x80\x01", 128),
        (0x02, b"\x34\x12", 0x1234),
        (0x03, b"\xff\xff\xff\xff", 0xFFFFFFFF),
        (0x0B, b"\xff\xff\xff\xff", (1 << 64) - 1),
        (0x04, b"\x01" + bytes(7), 1),
        (0x09, b"\x7f", (1 << 64) - 1),
        (0x0A, b"\xfe\xff", (1 << 64) - 2),
        (0x1B, b"\x10\x00\x00\x00", 0x1010),
        (0x1B, b"\xf0\xff\xff\xff", 0xFF0),
        (0x1C, b"\x10" + bytes(7), 0x1010),
        (0x3B, b"\x10\x00\x00\x00", 0x5010),
    ],
)
def test_encodings(encoding: int, data: bytes, value: int) -> None:
    found, _ = read_pointer(memoryview(data), 0, len(data), encoding, address=0x1000, word=8, data_base=0x5000)
    assert found == value


def test_a_stored_zero_stays_null_even_relative() -> None:
    assert read_pointer(memoryview(bytes(4)), 0, 4, 0x1B, address=0x1000, word=8) == (0, 4)


def test_an_aligned_pointer_stands_at_the_next_multiple_of_its_size() -> None:
    data = bytes(5) + b"\x07" + bytes(7)
    assert read_pointer(memoryview(data), 1, len(data), 0x50, address=0x1003, word=8) == (7, 13)


def test_addresses_wrap_at_the_target_word() -> None:
    data = b"\xf0\xff\xff\xff"
    assert read_pointer(memoryview(data), 0, 4, 0x1B, address=0x10, word=4) == (0, 4)


@pytest.mark.parametrize("encoding", [0xFF, 0x9B, 0x2B, 0x3B, 0x4B, 0x05, 0x0D])
def test_what_cannot_be_known_is_malformed(encoding: int) -> None:
    with pytest.raises(Malformed):
        read_pointer(memoryview(b"\x01" * 16), 0, 16, encoding, address=0x1000, word=8)
