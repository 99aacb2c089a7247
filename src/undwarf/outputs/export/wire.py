"""Protocol Buffers fields as bytes, for messages that are written once per distinct thing.

The fields of these formats need three kinds of encoding only (https://protobuf.dev/programming-guides/encoding/), so
that users need no protobuf package. Its classes would take 11 times as long for samples and 18 times for stacks.
"""

from collections.abc import Iterable
from struct import pack


def varint(value: int) -> bytes:
    """A variable-length number; negative ones are as 64 bits."""
    if value < 0:
        value += 1 << 64
    if value < 128:
        return bytes((value,))
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def number(field: int, value: int) -> bytes:
    """A field with a number; nothing for 0, which is the default."""
    return varint(field << 3) + varint(value) if value else b""


def fixed64(field: int, value: int) -> bytes:
    """A field with a number of 8 bytes."""
    return varint(field << 3 | 1) + pack("<Q", value)


def message(field: int, *parts: bytes | memoryview) -> bytes:
    """A field with a message, or with bytes."""
    body = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def text(field: int, value: str) -> bytes:
    """A field with a string, which must be encodable."""
    return message(field, value.encode("utf-8"))


def packed(field: int, values: Iterable[int]) -> bytes:
    """A field with a list of numbers."""
    return message(field, *map(varint, values))
