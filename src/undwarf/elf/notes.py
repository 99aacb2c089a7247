"""ELF notes (gABI chapter 5, "Note Section"), of which one has the build-id."""

from collections.abc import Iterator
from struct import Struct

NT_GNU_BUILD_ID = 3

MAX_NOTES = 4096
"""Maximum notes read from a segment or section; a core file has notes for each thread."""


def notes(data: memoryview, byte_order: str, align: int = 4) -> Iterator[tuple[bytes, int, memoryview]]:
    """Yields (owner without NUL, type, descriptor) until the end of the data or an invalid note.

    ``align`` is that of the segment or section: 8 pads to 8 (GNU properties), anything else to 4.
    """
    head = Struct("<3I" if byte_order == "little" else ">3I")
    pad = 7 if align == 8 else 3
    at = 0
    for _ in range(MAX_NOTES):
        if len(data) - at < 12:
            return
        name_size, size, kind = head.unpack_from(data, at)
        start = at + ((12 + name_size + pad) & ~pad)
        if name_size > len(data) - at - 12 or start > len(data) or size > len(data) - start:
            return
        yield bytes(data[at + 12 : at + 12 + name_size]).rstrip(b"\0"), kind, data[start : start + size]
        at = (start + size + pad) & ~pad


def build_id(data: memoryview, byte_order: str, align: int = 4) -> bytes:
    """The GNU build-id among these notes; empty if there is none."""
    for owner, kind, descriptor in notes(data, byte_order, align):
        if owner == b"GNU" and kind == NT_GNU_BUILD_ID and 0 < len(descriptor) <= 64:
            return bytes(descriptor)
    return b""
