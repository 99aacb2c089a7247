"""Call and return instructions of x86-64: to tell a return address from a number that looks like one.

Source: Intel SDM volume 2, CALL: ``E8 rel32`` and ``FF /2`` with its addressing forms; RET: ``C3`` and ``C2 iw``.
"""

LONGEST = 7
"""Bytes of the longest call instruction without needless prefixes."""

RETURN_LONGEST = 2
"""Bytes that tell a return instruction."""


def ends_with_call(code: bytes) -> bool:
    """Whether the bytes before a return address can be a call instruction that ends there."""
    if len(code) >= 5 and code[-5] == 0xE8:
        return True
    for length in (2, 3, 4, 6, 7):
        if len(code) < length or code[-length] != 0xFF:
            continue
        form = code[-length + 1]
        if form >> 3 & 7 != 2:
            continue
        mode, base = form >> 6, form & 7
        scaled = mode != 3 and base == 4
        size = 2 + scaled + (0, 1, 4, 0)[mode]
        if mode == 0 and (base == 5 or (scaled and length > 3 and code[-length + 2] & 7 == 5)):
            size += 4
        if size == length:
            return True
    return False


def is_return(code: bytes) -> bool:
    """Whether code starts with a near return, bare or behind the prefixes that compilers pad it with."""
    return code[:1] in (b"\xc3", b"\xc2") or code[:2] in (b"\xf3\xc3", b"\xf2\xc3")
