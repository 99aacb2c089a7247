"""Integer arguments of printf formats, as evidence for their size and signedness (C11 7.21.6.1)."""

import re

__all__ = ["FORMATS", "general_arguments", "unsigned_size"]

FORMATS = {
    "printf": 0, "fprintf": 1, "dprintf": 1, "sprintf": 1, "snprintf": 2,
    "__printf_chk": 1, "__fprintf_chk": 2, "__dprintf_chk": 2, "__sprintf_chk": 3, "__snprintf_chk": 4,
}  # fmt: skip  # a table
"""{function: parameter that is the format}; the printed values follow it."""
_CONVERSION = re.compile(rb"%[-+ #0']*(\*|[0-9]*)(?:\.(\*|[0-9]*))?(hh|h|ll|l|q|L|j|z|t)?(.)", re.DOTALL)
_LARGE = frozenset((b"l", b"ll", b"q", b"j", b"z", b"t"))
_SIGNED, _UNSIGNED, _OTHER = b"dic", b"u", b"spn"
_IN_HEXADECIMAL = b"xXo"
_FLOATING = b"aAeEfFgG"


def general_arguments(text: bytes) -> list[tuple[bytes, int]]:
    """(conversion, bytes) of the arguments in general registers, in order, up to the first unknown conversion."""
    found: list[tuple[bytes, int]] = []
    at = 0
    while (at := text.find(b"%", at)) >= 0:
        made = _CONVERSION.match(text, at)
        if made is None:
            break
        at = made.end()
        width, precision, length, conversion = made.groups()
        if conversion == b"%":
            continue
        found += [(b"d", 4) for one in (width, precision) if one == b"*"]
        if conversion in _FLOATING:
            if length == b"L":
                # Passed on the stack.
                break
            continue
        if conversion not in _SIGNED + _UNSIGNED + _OTHER + _IN_HEXADECIMAL:
            break
        found.append((conversion, 8 if length in _LARGE or conversion in _OTHER else 4))
    return found


def unsigned_size(conversion: bytes, size: int) -> int:
    """Bytes of an unsigned argument; 0 for others. Small signed integers are also printed in hexadecimal."""
    return size if conversion == _UNSIGNED or (conversion in _IN_HEXADECIMAL and size == 8) else 0
