"""The header of a perf.data file: offsets of attributes, records and feature sections.

Source: ``tools/perf/util/header.h`` (struct perf_file_header, struct perf_pipe_file_header).
"""

import struct
from typing import Literal, NamedTuple

from undwarf.defects import Defects
from undwarf.errors import UnreadableInput

ByteOrder = Literal["little", "big"]

MAGIC = b"PERFILE2"
OLD_MAGIC = b"PERFFILE"
PIPE_SIZE = 16
SIZE_WITHOUT_FEATURES = 72
SIZE = 104
FEATURE_BITS = 256
HINT = "undwarf reads what 'perf record' writes (perf.data)"


class Section(NamedTuple):
    """A part of the file, in bytes."""

    offset: int
    size: int


class FileHeader(NamedTuple):
    """The file header. In pipe form everything but the byte order is in records instead."""

    pipe: bool
    byte_order: ByteOrder
    size: int
    attr_size: int
    attrs: Section
    data: Section
    features: tuple[int, ...]
    """Numbers of the feature sections, ascending."""


def order_mark(byte_order: ByteOrder) -> str:
    """The struct module's mark of a byte order."""
    return "<" if byte_order == "little" else ">"


def byte_order_of(head: bytes, name: str) -> ByteOrder:
    """The byte order of a recording, from its first bytes (at least 16).

    Raises UnreadableInput, with a guess at the file type, if they are no perf.data.
    """
    what = f"cannot read {name}"
    if len(head) < PIPE_SIZE:
        why = "the file is empty" if not head else f"it has only {len(head)} bytes"
        raise UnreadableInput(what, why, HINT)
    magic = head[:8]
    if magic == MAGIC:
        return "little"
    if magic == MAGIC[::-1]:
        return "big"
    if magic in (OLD_MAGIC, OLD_MAGIC[::-1]):
        why = "it is a perf.data of version 1 (PERFFILE), which perf wrote before Linux 3.6"
        raise UnreadableInput(what, why, "convert it with a perf of that time, or record again")
    raise UnreadableInput(what, f"it is not a perf.data file{known_kind(head)}", HINT)


def parse_header(head: bytes, name: str, defects: Defects) -> FileHeader:
    """Read the header from the first bytes of a file (104 are enough).

    Raises UnreadableInput if it is no perf.data, or the header is invalid.
    """
    what = f"cannot read {name}"
    byte_order = byte_order_of(head, name)
    mark = order_mark(byte_order)
    (size,) = struct.unpack_from(mark + "Q", head, 8)
    nothing = Section(0, 0)
    if size == PIPE_SIZE:
        return FileHeader(True, byte_order, PIPE_SIZE, 0, nothing, nothing, ())
    if size not in (SIZE_WITHOUT_FEATURES, SIZE):
        if size < SIZE or size > 4096:
            raise UnreadableInput(what, f"its header claims a size of {size} bytes, not 104, 72 or 16", HINT)
        defects.add("unknown header size", name, detail=f"{size} bytes in place of {SIZE}")
    if len(head) < min(size, SIZE):
        raise UnreadableInput(what, f"it ends inside its header ({len(head)} of {size} bytes)", HINT)
    attr_size, *places = struct.unpack_from(mark + "7Q", head, 16)
    bits = _feature_bits(head[SIZE_WITHOUT_FEATURES:SIZE], mark) if size >= SIZE else 0
    return FileHeader(
        pipe=False,
        byte_order=byte_order,
        size=size,
        attr_size=attr_size,
        attrs=Section(places[0], places[1]),
        data=Section(places[2], places[3]),
        features=tuple(bit for bit in range(FEATURE_BITS) if bits >> bit & 1),
    )


def _feature_bits(raw: bytes, mark: str) -> int:
    """The bitmap, an array of the writer's ``unsigned long``.

    A foreign 32-bit writer is recognised by HOSTNAME (bit 3), which every perf writes: it must be set.
    """
    as_long = _join(struct.unpack(mark + "4Q", raw), 64)
    if mark == "<" or as_long & 8:
        return as_long
    as_int = _join(struct.unpack(mark + "8I", raw), 32)
    return as_int if as_int & 8 else as_long


def _join(words: tuple[int, ...], width: int) -> int:
    return sum(word << width * number for number, word in enumerate(words))


def is_recording(head: bytes) -> bool:
    """Whether a file with these first bytes is a perf.data, of any version."""
    return head[:8] in (MAGIC, MAGIC[::-1], OLD_MAGIC, OLD_MAGIC[::-1])


def known_kind(head: bytes) -> str:
    """What else a file is, as the end of a sentence: `` but an ELF file``; empty if that is not known."""
    known = {
        b"\x7fELF": "an ELF file",
        b"\x1f\x8b": "gzip-compressed",
        b"\x28\xb5\x2f\xfd": "zstd-compressed",
        b"\xfd7zXZ": "xz-compressed",
        b"SIMPLEPE": "a simpleperf report",
        b"PK\x03\x04": "a zip archive",
    }
    return next((f" but {what}" for start, what in known.items() if head.startswith(start)), "")
