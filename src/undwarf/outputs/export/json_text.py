"""Pieces of JSON as bytes."""

from collections.abc import Iterable, Sequence
from json import dumps

from undwarf.outputs.json_lines import quoted
from undwarf.outputs.kernels.number_text import numbers

SAFE = 1 << 53
"""From here on JavaScript, which most viewers use, rounds numbers."""


def text(value: object) -> bytes:
    """A small value."""
    return dumps(value, separators=(",", ":")).encode("ascii")


def strings(values: Iterable[str]) -> list[bytes]:
    """Each string in quotes, escaped to ASCII."""
    return [quoted(value).encode("ascii") for value in values]


def array(column: memoryview, decimals: int = 0) -> bytes:
    """A column as an array (see undwarf.outputs.kernels.number_text.numbers)."""
    return b"[" + numbers(column, decimals).tobytes() + b"]"


def joined(parts: Iterable[bytes]) -> bytes:
    """An array of entries that are JSON already."""
    return b"[%b]" % b",".join(parts)


def repeated(value: bytes, count: int) -> bytes:
    """An array with the same entry ``count`` times."""
    return joined([value] * count)


def table(columns: Sequence[tuple[str, bytes]], length: int) -> bytes:
    """An object with the columns of a table, which are JSON already, and its length."""
    return b'{"length":%d%b}' % (length, b"".join(b',"%b":%b' % (name.encode(), column) for name, column in columns))
