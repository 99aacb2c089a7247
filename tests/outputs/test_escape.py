"""What is not printable becomes an escape."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undwarf.outputs.terminal.escape import pack, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("größe 日本", "größe 日本"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc\0", "a\\x0ab\\x09c\\x00"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\U000e0041", "\\U000e0041"),
        (b"\xff\xfe".decode("utf-8", "surrogateescape"), "\\xff\\xfe"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_the_result_is_printable(text: str) -> None:
    assert printable(text).isprintable()


@given(st.lists(st.text(max_size=5)))
def test_packed_names_come_back(names: list[str]) -> None:
    packed, offsets = pack(names)
    parts = [packed[start:end].decode() for start, end in pairwise(offsets)]
    assert parts == [printable(name) for name in names]
