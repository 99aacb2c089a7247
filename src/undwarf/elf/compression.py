"""Decompresses sections and files; output is bounded by the size in the header and by the limits."""

import struct
from typing import Any

from undwarf.limits import Limits

ELFCOMPRESS_ZLIB = 1
ELFCOMPRESS_ZSTD = 2

ZDEBUG_HEADER = 12
"""Bytes before the stream of a ``.zdebug_*`` section."""
MINI_DEBUG_BYTES = 256 << 20
"""Maximum size of unpacked .gnu_debugdata; the largest known ones have a few megabytes."""


class CompressionError(ValueError):
    """The bytes cannot be unpacked; the message is the reason."""


class TooLarge(CompressionError):
    """The compressed parts of a file would unpack to more than the limit."""


def max_unpacked_size(size: int, limits: Limits) -> int:
    """Maximum bytes that the compressed parts of a file of this size may unpack to."""
    return size * limits.file_ratio + limits.file_unpacked_bytes


def check_size(size: int, packed: int, limits: Limits) -> None:
    """Raises CompressionError if so many packed bytes cannot, or may not, unpack to ``size``."""
    if size > limits.section_bytes:
        raise CompressionError(f"{size} bytes are more than the limit of {limits.section_bytes}")
    if size > packed * limits.compression_ratio + 64:
        raise CompressionError(f"{size} bytes from {packed} are more than {limits.compression_ratio} to one")


def unpack(kind: int, packed: memoryview, size: int, limits: Limits) -> bytes:
    """The ``size`` unpacked bytes of a section; ``kind`` is an ELFCOMPRESS number (gABI, "Section Compression").

    Raises :class:`CompressionError`, also if the stream does not have exactly ``size`` bytes.
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
    """Up to ``size + 1`` bytes, so that the caller can detect a stream that is too long."""
    # Twice as fast as zlib, which took a tenth of a first run with compressed debug files.
    from isal import isal_zlib

    wrong: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # an instance, in its stubs
    try:
        # An anonymous mapping grows by mremap, without copying.
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


def zdebug_size(packed: memoryview) -> int:
    """Bytes that come out of a ``.zdebug_*`` section: "ZLIB", the size as big-endian u64, a zlib stream."""
    if len(packed) < ZDEBUG_HEADER or bytes(packed[:4]) != b"ZLIB":
        raise CompressionError("no ZLIB header")
    size: int = struct.unpack(">Q", packed[4:ZDEBUG_HEADER])[0]
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
    """The compression of a file, by its first bytes: one of the names below, else empty."""
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
    """The contents of a compressed file (kernel modules, kernels), whose unpacked size is not known in advance.

    Raises :class:`CompressionError`.
    """
    bound = min(
        limits.module_bytes, len(packed) * limits.compression_ratio + 64, max_unpacked_size(len(packed), limits)
    )
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
