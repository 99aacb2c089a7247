"""Escapes control characters, line breaks and invisible characters in names from recordings."""

import re
from array import array
from collections.abc import Sequence
from itertools import accumulate

_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    r"""``text`` with every control, format, unassigned or undecodable character written as ``\xNN`` or ``\uNNNN``.

    These are the characters that :meth:`str.isprintable` rejects: escape sequences, line breaks, bidirectional
    overrides, surrogates. Backslashes stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in text)


def without_surrogates(text: str) -> str:
    r"""``text`` with undecodable bytes and other surrogates escaped; control characters stay as they are."""
    if not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub(lambda found: _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8, as surrogateescape keeps it
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def pack(names: Sequence[str]) -> "tuple[bytes, memoryview[int]]":
    """All names as printable UTF-8 in one buffer, and their n + 1 offsets (typecode I): name i is
    ``buffer[offsets[i]:offsets[i + 1]]``."""
    joined = "".join(names)
    if joined.isascii() and joined.isprintable():
        packed, lengths = joined.encode("ascii"), map(len, names)
    else:
        encoded = [printable(name).encode("utf-8") for name in names]
        packed, lengths = b"".join(encoded), map(len, encoded)
    return packed, memoryview(array("I", accumulate(lengths, initial=0)))
