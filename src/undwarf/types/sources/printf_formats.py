"""What a format says of the numbers that are printed with it (C11 7.21.6.1)."""

import re

__all__ = ["FORMATS", "general_arguments", "unsigned_size"]

FORMATS = {
    "printf": 0, "fprintf": 1, "dprintf": 1, "sprintf": 1, "snprintf": 2,
    "__printf_chk": 1, "__fprintf_chk": 2, "__dprintf_chk": 2, "__sprintf_chk": 3, "__snprintf_chk": 4,
}  # fmt: skip  # a table
"""By function, which parameter is the format; what is printed follows."""
_CONVERSION = re.compile(rb"%[-+ #0']*(\*|[0-9]*)(?:\.(\*|[0-9]*))?(hh|h|ll|l|q|L|j|z|t)?(.)", re.DOTALL)
_LARGE = frozenset((b"l", b"ll", b"q", b"j", b"z", b"t"))
_SIGNED, _UNSIGNED, _OTHER = b"dic", b"u", b"spn"
_IN_HEXADECIMAL = b"xXo"
_FLOATING = b"aAeEfFgG"


def general_arguments(text: bytes) -> list[tuple[bytes, int]]:
    """(conversion, bytes) of what is printed from general registers, in order; as far as it is understood."""
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
                # Those are on the stack.
                break
            continue
        if conversion not in _SIGNED + _UNSIGNED + _OTHER + _IN_HEXADECIMAL:
            break
        found.append((conversion, 8 if length in _LARGE or conversion in _OTHER else 4))
    return found


def unsigned_size(conversion: bytes, size: int) -> int:
    """The bytes of the number without sign that is printed; 0 for others. In hexadecimal small ones with a sign are
    printed as well."""
    return size if conversion == _UNSIGNED or (conversion in _IN_HEXADECIMAL and size == 8) else 0
