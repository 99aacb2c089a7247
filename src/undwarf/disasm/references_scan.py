# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The search for references to functions in x86-64 code; see :mod:`undwarf.disasm.references`."""

from typing import Any

import cython

from undwarf.column import longer, zeros

__all__ = ["find_references"]

_END = cython.declare(cython.uint, 0xFFFFFFFF)


@cython.locals(
    code="const unsigned char[::1]", targets="const unsigned long long[::1]", first="unsigned int[::1]",
    before="unsigned int[::1]", sites="unsigned long long[::1]", kinds="unsigned char[::1]",
    at=cython.Py_ssize_t, size=cython.Py_ssize_t, value_at=cython.Py_ssize_t, count=cython.Py_ssize_t,
    room=cython.Py_ssize_t, low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t,
    total=cython.Py_ssize_t, relative=cython.bint, also=cython.bint, kind=cython.uchar, one=cython.uchar,
    base=cython.ulonglong, value=cython.uint, wanted=cython.ulonglong,
)  # fmt: skip  # rows of C types
def find_references(code: Any, start: int, targets: Any, first: Any, constants: bool) -> Any:
    """(before, sites, kinds) of all references; fills ``first``."""
    total = targets.shape[0]
    size = code.shape[0]
    base = start & 0xFFFFFFFFFFFFFFFF
    also = constants
    for at in range(total):
        first[at] = _END
    count, room = 0, 256
    before, sites, kinds = zeros("I", room), zeros("Q", room), zeros("B", room)
    if total == 0:
        return before, sites, kinds
    for at in range(size - 4):
        one = code[at]
        kind = 1
        relative = False
        if one == 0xE8 or one == 0xE9:
            kind, relative, value_at = 0, True, at + 1
        elif (one == 0x48 or one == 0x4C) and code[at + 1] == 0x8D and code[at + 2] & 0xC7 == 5:
            relative, value_at = True, at + 3
        elif also and 0xB8 <= one <= 0xBF:
            value_at = at + 1
        elif also and one == 0xC7:
            value_at = at + 2
        else:
            continue
        # Inside: `size` bytes are there, and `value_at` + 4 is compared with it.
        if value_at + 4 > size:
            continue
        value = (
            code[value_at]
            | (cython.cast(cython.uint, code[value_at + 1]) << 8)
            | (cython.cast(cython.uint, code[value_at + 2]) << 16)
            | (cython.cast(cython.uint, code[value_at + 3]) << 24)
        )
        wanted = value
        if relative:
            wanted = base + cython.cast(cython.ulonglong, value_at + 4) + value
            if value & cython.cast(cython.uint, 0x80000000):
                wanted -= cython.cast(cython.ulonglong, 1) << 32
        low, high = 0, total
        while low < high:
            middle = (low + high) >> 1
            if targets[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        if low == total or targets[low] != wanted:
            continue
        if count == room:
            room *= 2
            before, sites, kinds = longer(before, count, room), longer(sites, count, room), longer(kinds, count, room)
        before[count], sites[count], kinds[count] = first[low], base + cython.cast(cython.ulonglong, at), kind
        first[low] = count
        count += 1
    return before, sites, kinds
