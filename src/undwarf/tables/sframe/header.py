# constants of kernels: the build writes the .pxd beside this file
"""The header of an SFrame section, and the constants of its format.

Source: the SFrame specification, versions 1 to 3 (binutils, libsframe/doc and include/sframe.h).
"""

import struct
from typing import NamedTuple

MAGIC = 0xDEE2
SIZE = 28
"""Bytes of a header without auxiliary data."""

FDE_SORTED = 1
FRAME_POINTER = 2
FUNC_START_PCREL = 4

AARCH64_BIG = 1
AARCH64_LITTLE = 2
AMD64 = 3
S390X = 4

S390X_BIAS = 160
"""On s390x the call frame address is this far above the caller's stack pointer."""
ABIS = {(183, "big"): AARCH64_BIG, (183, "little"): AARCH64_LITTLE, (62, "little"): AMD64, (22, "big"): S390X}
"""The ABI's number by ELF machine and byte order."""

MACHINES = {AARCH64_BIG: 183, AARCH64_LITTLE: 183, AMD64: 62, S390X: 22}

FDE_SIZES = {1: 17, 2: 20, 3: 16}
"""Bytes of a function's entry, by version of the format."""
ATTRIBUTE_SIZE = 5
"""Bytes before the rows of a function in version 3."""

SHT_GNU_SFRAME = 0x6FFFFFF4
PT_GNU_SFRAME = 0x6474E554

MASK = 1 << 4
"""In a function's info: rows repeat in blocks."""
KEY_B = 1 << 5
SIGNAL = 1 << 7
FLEXIBLE = 1
"""In a function's second info byte: rows name the register of each rule."""


class Header(NamedTuple):
    """``fde_at`` and ``row_at`` are offsets from the section's start."""

    version: int
    flags: int
    abi: int
    fixed_fp: int
    fixed_ra: int
    functions: int
    rows: int
    row_bytes: int
    fde_at: int
    row_at: int
    big: bool


def read_header(data: memoryview) -> Header | str:
    """A section's header, or what is wrong with it. Functions and rows are inside of the section."""
    if len(data) < SIZE:
        return "shorter than a header"
    big = bytes(data[:2]) == b"\xde\xe2"
    if not big and bytes(data[:2]) != b"\xe2\xde":
        return "no magic number"
    words = struct.unpack_from((">" if big else "<") + "HBBBbbBIIIII", data)
    _, version, flags, abi, fixed_fp, fixed_ra, more, functions, rows, row_bytes, fde_at, row_at = words
    if version not in FDE_SIZES:
        return f"version {version}"
    if abi not in MACHINES or big != (abi in (AARCH64_BIG, S390X)):
        return f"ABI {abi} in this byte order"
    fde_at += SIZE + more
    row_at += SIZE + more
    if fde_at + functions * FDE_SIZES[version] > len(data):
        return "functions past its end"
    if row_at + row_bytes > len(data):
        return "rows past its end"
    return Header(version, flags, abi, fixed_fp, fixed_ra, functions, rows, row_bytes, fde_at, row_at, big)


def header_bytes(header: Header) -> bytes:
    """A header without auxiliary data."""
    return struct.pack(
        (">" if header.big else "<") + "HBBBbbBIIIII",
        MAGIC,
        header.version,
        header.flags,
        header.abi,
        header.fixed_fp,
        header.fixed_ra,
        0,
        header.functions,
        header.rows,
        header.row_bytes,
        header.fde_at - SIZE,
        header.row_at - SIZE,
    )
