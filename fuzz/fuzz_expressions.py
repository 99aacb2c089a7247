"""Expressions and lists of locations from any bytes: locations that are possible, or none."""

from typing import Literal

from mutate import main

from undwarf.types.sources.location_lists import LocationLists
from undwarf.types.sources.locations import spots

ADDRESSES = {0: 0x1000, 1: 0x2000}


def one_input(data: bytes) -> None:
    """The first byte chooses the byte order, the address size and which kind of list is read beside."""
    shape = data[0] if data else 0
    size = 4 if shape & 2 else 8
    rest = memoryview(data[1:])
    order: Literal["little", "big"] = "big" if shape & 1 else "little"
    check(rest, size, order)
    version = 4 if shape & 4 else 0 if shape & 8 else 5
    # The list's own bytes stand for the table of lists as well, and for what follows the addresses.
    addresses = b"".join(address.to_bytes(size, order) for address in ADDRESSES.values()) + data[:3]
    lists = LocationLists(
        rest,
        version=version,
        base=0x1000,
        address_size=size,
        order=order,
        addresses=addresses,
        table=shape >> 5,
        width=4,
    )
    for offset in (shape >> 5, lists.offset_of(0), lists.offset_of(shape)):
        for _start, _end, expression in lists.at_offset(offset)[:50]:
            check(expression, size, order)


def check(expression: "memoryview | bytes", size: int, order: Literal["little", "big"]) -> None:
    """The location that an expression gives has bounded numbers."""
    for spot in spots(expression, address_size=size, order=order, frame_base=None, indexed=ADDRESSES.get):
        assert -(1 << 64) <= spot.offset < 1 << 65, "offsets are of 64 bits"


def seeds() -> list[bytes]:
    """Expressions that compilers write, alone and in lists."""
    found = [
        bytes((0x91, 0x68)),
        bytes((0x03,)) + (0x404040).to_bytes(8, "little"),
        bytes((0x50, 0x93, 8, 0x51, 0x93, 8)),
        bytes((0x75, 0, 0x23, 8, 0x06, 0x9F)),
        bytes((0x31, 0x9F)),
        bytes((0xA3, 1, 0x55, 0x9F)),
        bytes((0x0E,)) + bytes(8) + bytes((0xE0,)),
        bytes((0xA1, 1)),
        bytes((0x12, 0x13, 0x20, 0x28, 0xFD, 0xFF, 0x2F, 0xF8, 0xFF)),
    ]
    pairs = b"\4\x10\x20\2\x91\x68\4\x20\x30\1\x50\7" + (0x2000).to_bytes(8, "little") + b"\x20\2\x31\x9f\0"
    old = b"".join(
        a.to_bytes(8, "little") + b.to_bytes(8, "little") + len(e).to_bytes(2, "little") + e
        for a, b, e in ((0, 16, b"\x50"), (16, 32, b"\x91\x68"))
    )
    split = b"\3\0\x20\0\0\0\1\0\x50\3\1\x10\0\0\0\2\0\x91\x68\0"
    return [b"\0" + one for one in [*found, pairs]] + [b"\4" + old + bytes(16), b"\x08" + split]


if __name__ == "__main__":
    main(one_input, seeds())
