"""Common information entries (CIE): what the functions of one object file share.

Sources: DWARF 5, 6.4.1; LSB Core generic, 10.6.1.1 (`.eh_frame`, augmentations); AArch64 ABI for ``B`` and ``G``.
"""

from typing import NamedTuple

from undwarf.tables.cfi.entry_kinds import RESERVED_LENGTH, WIDE_LENGTH
from undwarf.tables.cfi.pointers import (
    ALIGNED,
    INDIRECT,
    OMITTED,
    PC_RELATIVE,
    Malformed,
    read_leb,
    read_number,
    read_pointer,
)

LONGEST_AUGMENTATION = 64
MAX_COLUMN = 1000


class Cie(NamedTuple):
    """A usable entry. ``begin`` and ``end`` are the offsets of its initial instructions in the section, ``column`` is
    the return address's register, ``encoding`` that of the functions' addresses and ``table_encoding`` that of pointers
    to exception tables; ``augmented``: entries have a length of augmentation data; ``wide_id``: entries with a 64-bit
    length have an 8-byte id too."""

    code_align: int
    data_align: int
    column: int
    encoding: int
    table_encoding: int
    signal: bool
    augmented: bool
    wide_id: bool
    begin: int
    end: int


def read_cie(data: memoryview, offset: int, *, address: int, debug: bool, word: int) -> Cie | None:
    """The entry at ``offset`` of a section at ``address``; None if it is no CIE or cannot be used."""
    try:
        return _read(data, offset, address, debug, word)
    except Malformed:
        return None


def _read(data: memoryview, offset: int, address: int, debug: bool, word: int) -> Cie | None:
    length, at = read_number(data, offset, len(data), 4)
    wide = length == WIDE_LENGTH
    if wide:
        length, at = read_number(data, at, len(data), 8)
    elif length >= RESERVED_LENGTH:
        return None
    if length > len(data) - at:
        return None
    end = at + length
    id_size = 8 if wide and debug else 4
    mark, body = read_number(data, at, end, id_size)
    if mark != ((1 << 8 * id_size) - 1 if debug else 0):
        return None
    if wide and not debug and end - body > 4 and not any(data[body : body + 4]):
        # The LSB has a 4-byte id here, binutils writes and reads 8 bytes. No version is 0.
        id_size, body = 8, body + 4
    version, at = read_number(data, body, end, 1)
    if version not in (1, 3, 4):
        return None
    text = bytes(data[at : min(end, at + LONGEST_AUGMENTATION)])
    if b"\0" not in text:
        return None
    text = text[: text.index(0)]
    at += len(text) + 1
    if text.startswith(b"eh"):
        # gcc 2: a pointer to its exception table follows
        text = text[2:]
        _, at = read_number(data, at, end, word)
    if version == 4:
        address_size, at = read_number(data, at, end, 1)
        segment_size, at = read_number(data, at, end, 1)
        if address_size != word or segment_size:
            return None
    code_align, at = read_leb(data, at, end)
    data_align, at = read_leb(data, at, end, signed=True)
    column, at = read_number(data, at, end, 1) if version == 1 else read_leb(data, at, end)
    if column > MAX_COLUMN or not -(1 << 31) <= data_align < 1 << 31 or code_align >= 1 << 32:
        return None
    encoding, table_encoding = 0, OMITTED
    signal = False
    augmented = text.startswith(b"z")
    if augmented:
        size, at = read_leb(data, at, end)
        if size > end - at:
            return None
        begin = at + size
        for letter in text[1:]:
            if letter == ord("R"):
                encoding, at = read_number(data, at, begin, 1)
            elif letter == ord("L"):
                table_encoding, at = read_number(data, at, begin, 1)
            elif letter == ord("P"):
                form, at = read_number(data, at, begin, 1)
                if form != OMITTED:
                    # Only its size matters here.
                    alignment = form & 0x70 if form & 0x70 == ALIGNED else 0
                    _, at = read_pointer(data, at, begin, form & 15 | alignment, address=address, word=word)
            elif letter == ord("S"):
                signal = True
            elif letter not in b"BG":
                # Unknown, but the length gives where the instructions start.
                break
    else:
        begin = at
        if text == b"S":
            signal = True
        elif text:
            return None
    if (
        encoding & INDIRECT
        or encoding & 0x70 not in (0, PC_RELATIVE, ALIGNED)
        or encoding & 7 > 4
        or encoding & 15 > 12
    ):
        # The functions' addresses cannot be known: they are omitted, indirect, or relative to an unknown base.
        return None
    return Cie(
        code_align,
        data_align,
        column,
        encoding,
        table_encoding,
        signal,
        augmented,
        id_size == 8 and not debug,
        begin,
        end,
    )
