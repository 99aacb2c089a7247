# constants of kernels: the build writes the .pxd beside this file
"""Numbers and encoded pointers of call frame information, in Python: for headers, which are read once.

Sources: DWARF 5, 7.6 (LEB128); LSB Core generic, 10.5.1 (pointer encodings).
"""

OMITTED = 0xFF
INDIRECT = 0x80
PC_RELATIVE = 0x10
DATA_RELATIVE = 0x30
ALIGNED = 0x50

LONGEST_LEB = 20
"""Bytes of a LEB128 number that are read; ten hold 64 bits, some producers pad."""

_SIZES = {2: 2, 3: 4, 4: 8, 10: 2, 11: 4, 12: 8}


class Malformed(ValueError):
    """A number or pointer that is cut short or has an unknown form; not raised out of this package."""


def read_number(data: memoryview, at: int, end: int, size: int) -> tuple[int, int]:
    """An unsigned little-endian number of ``size`` bytes, and where it ends."""
    if size > end - at:
        raise Malformed("a number is cut short")
    return int.from_bytes(data[at : at + size], "little"), at + size


def read_leb(data: memoryview, at: int, end: int, *, signed: bool = False) -> tuple[int, int]:
    """A LEB128 number and where it ends; unsigned ones are cut to 64 bits."""
    value = shift = 0
    for i in range(at, min(end, at + LONGEST_LEB)):
        byte = data[i]
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            if signed and byte & 0x40:
                value -= 1 << shift
            return (value if signed else value & 0xFFFFFFFFFFFFFFFF), i + 1
    raise Malformed("a LEB128 number does not end")


def leb(value: int, *, signed: bool = False) -> bytes:
    """A number as LEB128, in as few bytes as hold it; unsigned ones are cut to 64 bits."""
    encoded = bytearray()
    value = value if signed else value & 0xFFFFFFFFFFFFFFFF
    while True:
        byte = value & 0x7F
        value >>= 7
        if value == (-1 if signed and byte & 0x40 else 0):
            return bytes((*encoded, byte))
        encoded.append(byte | 0x80)


def read_pointer(
    data: memoryview, at: int, end: int, encoding: int, *, address: int, word: int, data_base: int | None = None
) -> tuple[int, int]:
    """An encoded pointer as an address, and where it ends.

    ``address`` is the ELF virtual address of ``data[0]``, ``word`` the target's address size in bytes, ``data_base``
    the base of data-relative pointers. A stored 0 stays 0. Pointers relative to text, to a function or to an unknown
    base, indirect and omitted ones are :class:`Malformed`.
    """
    if encoding & INDIRECT:
        raise Malformed("an indirect or omitted pointer")
    mask = (1 << 8 * word) - 1
    form = encoding & 15
    relative = encoding & 0x70
    if relative == ALIGNED:
        at += -(address + at) % word
        return read_number(data, at, end, word)
    field = address + at
    if form in (1, 9):
        value, at = read_leb(data, at, end, signed=form == 9)
    else:
        size = word if form in (0, 8) else _SIZES.get(form, 0)
        if not size:
            raise Malformed("an unknown pointer format")
        value, at = read_number(data, at, end, size)
        if form & 8 and value >> (8 * size - 1):
            value -= 1 << 8 * size
    if value == 0:
        return 0, at
    if relative == PC_RELATIVE:
        value += field
    elif relative == DATA_RELATIVE and data_base is not None:
        value += data_base
    elif relative:
        raise Malformed("a pointer relative to an unknown base")
    return value & mask, at
