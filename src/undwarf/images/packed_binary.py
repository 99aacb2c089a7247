"""Unpacks ELF files: compressed kernel modules, and kernels in boot images."""

import os
import struct

from undwarf.defects import Defects
from undwarf.elf import ElfFile
from undwarf.elf.compression import CompressionError, packed_kind, unpack_file
from undwarf.elf.safe_open import map_regular_file
from undwarf.errors import ElfError
from undwarf.limits import DEFAULT, Limits

SECTOR = 512
PAYLOAD_VERSION = 0x208
"""The first boot protocol with the payload's offset (Linux 2.6.26)."""


def open_binary(path: "str | os.PathLike[str]", *, limits: Limits = DEFAULT, defects: Defects | None = None) -> ElfFile:
    """The ELF file at a path, also where it is packed (.ko.xz, .ko.zst, .ko.gz) or inside of a bzImage.

    Raises ElfError.
    """
    name = os.fspath(path)
    data = map_regular_file(name)
    packed = memoryview(data)
    if not packed_kind(data[:6]):
        payload = boot_payload(packed)
        if payload is None:
            return ElfFile(data, name, limits=limits, defects=defects)
        packed = payload
    try:
        unpacked = unpack_file(packed, limits)
    except CompressionError as error:
        raise ElfError(f"cannot unpack {name}", str(error)) from error
    return ElfFile(unpacked, name, limits=limits, defects=defects)


def boot_payload(data: memoryview) -> memoryview | None:
    """The compressed kernel in an x86 boot image; None for other files.

    Source: Documentation/arch/x86/boot.rst, fields setup_sects, payload_offset and payload_length; the size that the
    kernel's build appends to what is not gzip (scripts/Makefile.lib, size_append) is left out.
    """
    if len(data) < 0x250 or bytes(data[0x202:0x206]) != b"HdrS":
        return None
    (version,) = struct.unpack_from("<H", data, 0x206)
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = ((data[0x1F1] or 4) + 1) * SECTOR + offset
    if version < PAYLOAD_VERSION or length < 8 or start > len(data) or length > len(data) - start:
        return None
    payload = data[start : start + length]
    return payload if packed_kind(bytes(payload[:6])) == "gzip" else payload[:-4]
