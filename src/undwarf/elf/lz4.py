# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Decompresses LZ4, as in kernel images.

Source: the LZ4 block format (doc/lz4_Block_format.md of LZ4); the legacy frame that ``lz4 -l`` writes.
"""

import struct
from typing import Any

import cython

__all__ = ["LEGACY_MAGIC", "unpack_block", "unpack_legacy"]

LEGACY_MAGIC = b"\x02\x21\x4c\x18"
LEGACY_BLOCK = 8 << 20
"""Maximum uncompressed size of a block of a legacy frame."""


@cython.locals(
    source="const unsigned char[::1]",
    target="unsigned char[::1]",
    at=cython.Py_ssize_t,
    end=cython.Py_ssize_t,
    to=cython.Py_ssize_t,
    room=cython.Py_ssize_t,
    length=cython.Py_ssize_t,
    back=cython.Py_ssize_t,
    token=cython.int,
    byte=cython.int,
    good=cython.bint,
)
def unpack_block(source: Any, target: Any) -> int:
    """Decompress a block into ``target``; its size, -1 if it is damaged or does not fit."""
    at = to = 0
    end = source.shape[0]
    room = target.shape[0]
    good = False
    with cython.nogil:
        while at < end:
            token = source[at]
            at += 1
            length = token >> 4
            if length == 15:
                byte = 255
                while byte == 255 and at < end:
                    byte = source[at]
                    at += 1
                    length += byte
                if byte == 255:
                    break
            if length > end - at or length > room - to:
                break
            target[to : to + length] = source[at : at + length]
            at += length
            to += length
            if at == end:
                # The last sequence has literals only.
                good = True
                break
            if end - at < 2:
                break
            back = source[at] | source[at + 1] << 8
            at += 2
            length = token & 15
            if length == 15:
                byte = 255
                while byte == 255 and at < end:
                    byte = source[at]
                    at += 1
                    length += byte
                if byte == 255:
                    break
            length += 4
            if back == 0 or back > to or length > room - to:
                break
            # Source and target of a match may overlap: then its bytes repeat.
            length += to
            while to < length:
                target[to] = target[to - back]
                to += 1
    return to if good else -1


def unpack_legacy(packed: memoryview, bound: int) -> bytes | None:
    """A legacy frame: a magic number, then blocks with their packed sizes. None if it is damaged or unpacks to more
    than ``bound`` bytes."""
    at, size = 4, len(packed)
    if bytes(packed[:4]) != LEGACY_MAGIC:
        return None
    parts: list[bytes] = []
    total = 0
    room = bytearray(min(LEGACY_BLOCK, bound))
    while size - at >= 4:
        (length,) = struct.unpack_from("<I", packed, at)
        at += 4
        if length == 0x184C2102:
            # Frames may follow each other.
            continue
        if length == 0 or length > size - at:
            return None
        made = unpack_block(packed[at : at + length], room)
        at += length
        if made < 0 or total + made > bound:
            return None
        total += made
        parts.append(bytes(room[:made]))
    return b"".join(parts) if at == size else None
