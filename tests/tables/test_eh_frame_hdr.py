"""The search table of `.eh_frame` by address."""

import struct

import pytest

from undwarf.tables.cfi.eh_frame_hdr import EhFrameHeader

ADDRESS = 0x2000
STARTS = (0x1000, 0x1010, 0x2100)


def header(encoding: int = 0x3B, count: int = len(STARTS)) -> EhFrameHeader:
    pairs = b"".join(struct.pack("<ii", start - ADDRESS, 0x800) for start in STARTS)
    return EhFrameHeader(0x2800, count, memoryview(bytes(12) + pairs), ADDRESS, 8, encoding, 12)


@pytest.mark.parametrize(
    ("address", "expected"), [(0xFFF, None), (0x1000, 0x1000), (0x100F, 0x1000), (0x1010, 0x1010), (0x9000, 0x2100)]
)
def test_function_that_starts_at_an_address_or_before(address: int, expected: int | None) -> None:
    assert header().start_of(address) == expected


def test_a_table_written_in_another_way_is_not_searched() -> None:
    assert header(encoding=0x1B).start_of(0x1000) is None


def test_a_count_beyond_the_section_is_cut() -> None:
    assert header(count=1 << 30).start_of(0x9000) == 0x2100
