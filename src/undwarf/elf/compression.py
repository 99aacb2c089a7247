"""Unpacking compressed sections, bounded: the output is never larger than the header says, nor than the limits."""

import struct
from typing import Any

from undwarf.limits import Limits

ELFCOMPRESS_ZLIB = 1
ELFCOMPRESS_ZSTD = 2

OLD_STYLE_HEADER = 12
"""Bytes before the stream of a ``.zdebug_*`` section."""
MINI_DEBUG_BYTES = 256 << 20
"""Most that .gnu_debugdata may unpack to; the largest met in the wild are some megabytes."""


class CompressionError(ValueError):
    """The bytes cannot be unpacked; the text says why."""


class TooLarge(CompressionError):
    """All that is compressed in a file would unpack to more than the limit."""


def most_of_file(size: int, limits: Limits) -> int:
    """Bytes that all that is compressed in a file of this size may unpack to."""
    return size * limits.file_ratio + limits.file_unpacked_bytes


def check_size(size: int, packed: int, limits: Limits) -> None:
    """Raises CompressionError where so many packed bytes cannot, or may not, unpack to ``size``."""
    if size > limits.section_bytes:
        raise CompressionError(f"{size} bytes are more than the limit of {limits.section_bytes}")
    if size > packed * limits.compression_ratio + 64:
        raise CompressionError(f"{size} bytes from {packed} are more than {limits.compression_ratio} to one")


def unpack(kind: int, packed: memoryview, size: int, limits: Limits) -> bytes:
    """The ``size`` bytes that a section packs; ``kind`` is a ELFCOMPRESS number (gABI, "Section Compression").

    Raises :class:`CompressionError`, also where the stream does not hold exactly ``size`` bytes.
    """
    check_size(size, len(packed), limits)
    if kind == ELFCOMPRESS_ZLIB:
        data = _unpack_zlib(packed, size)
    elif kind == ELFCOMPRESS_ZSTD:
        data = _unpack_zstd(packed, size)
    else:
        raise CompressionError(f"unknown compression type {kind}")
    if len(data) != size:
        raise CompressionError(f"unpacks to {len(data)} bytes, should be {size}")
    return data


def _unpack_zlib(packed: memoryview, size: int) -> bytes:
    """As much as ``size + 1`` bytes, so that the caller sees a stream that is too long."""
    # Twice as quick as the standard library's: to unpack was a tenth of a first run where debug files are compressed.
    from isal import isal_zlib

    wrong: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # an instance, in its stubs
    try:
        # Its room doubles where it is, by the system's tables of pages: nothing is copied.
        return isal_zlib.decompressobj().decompress(packed, size + 1)
    except (wrong, MemoryError) as error:
        raise CompressionError(str(error)) from error


def _unpack_zstd(packed: memoryview, size: int) -> bytes:
    import zstandard

    # Not ZstdDecompressor.decompress: it allocates what the frame header claims.
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
            packed, read_across_frames=True
        ) as reader:
            return reader.read(size + 1)
    except (zstandard.ZstdError, MemoryError) as error:
        raise CompressionError(str(error)) from error


def old_style_size(packed: memoryview) -> int:
    """Bytes that come out of a ``.zdebug_*`` section: "ZLIB", the size as big-endian u64, a zlib stream."""
    if len(packed) < OLD_STYLE_HEADER or bytes(packed[:4]) != b"ZLIB":
        raise CompressionError("no ZLIB header")
    size: int = struct.unpack(">Q", packed[4:OLD_STYLE_HEADER])[0]
    return size


def unpack_xz(packed: memoryview, limits: Limits, most: int) -> bytes:
    """The ELF file inside ``.gnu_debugdata`` (xz, whose size is not stated before its end), of ``most`` bytes."""
    import lzma  # not at the top: few files need it

    bound = min(MINI_DEBUG_BYTES, limits.section_bytes, most)
    try:
        decoder = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=128 << 20)
        data = decoder.decompress(packed, bound)
    except (lzma.LZMAError, MemoryError) as error:
        raise CompressionError(str(error)) from error
    if not decoder.eof:
        raise CompressionError("cut short, or unpacks to more than the limit")
    return data


def packed_kind(head: bytes) -> str:
    """How a file is packed, by its first bytes: one of the names below, else nothing."""
    for magic, kind in _MAGICS:
        if head.startswith(magic):
            return kind
    return ""


_MAGICS = (
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"\x02\x21\x4c\x18", "lz4"),
    (b"BZh", "bzip2"),
    (b"\x5d\0\0", "lzma"),
)


def unpack_file(packed: memoryview, limits: Limits) -> bytes:
    """What a packed file holds (kernel modules are stored so, and kernels); its size is not known before its end.

    Raises :class:`CompressionError`.
    """
    bound = min(limits.module_bytes, len(packed) * limits.compression_ratio + 64, most_of_file(len(packed), limits))
    kind = packed_kind(bytes(packed[:6]))
    if kind == "zstd":
        data = _unpack_zstd(packed, bound)
        whole = len(data) <= bound
    elif kind == "lz4":
        from undwarf.elf.lz4 import unpack_legacy

        found = unpack_legacy(packed, bound)
        whole = found is not None
        data = found or b""
    elif kind:
        import lzma  # not at the top: few files need them
        import zlib

        decoder: Any
        if kind == "gzip":
            decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
        elif kind == "bzip2":
            import bz2

            decoder = bz2.BZ2Decompressor()
        else:
            form = lzma.FORMAT_XZ if kind == "xz" else lzma.FORMAT_ALONE
            decoder = lzma.LZMADecompressor(format=form, memlimit=256 << 20)
        try:
            data = decoder.decompress(packed, bound)
        except (lzma.LZMAError, zlib.error, OSError, MemoryError) as error:
            raise CompressionError(str(error)) from error
        whole = bool(decoder.eof)
    else:
        raise CompressionError("unknown compression")
    if not whole:
        raise CompressionError("damaged, cut short, or unpacks to more than the limit")
    return data
