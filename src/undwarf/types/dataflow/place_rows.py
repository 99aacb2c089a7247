# cython: language_level=3, annotation_typing=False
"""Where a function's variables are, as rows of words for the data flow."""

import cython

from undwarf.buffers import zeros
from undwarf.types.sources.places import Place

__all__ = ["WORDS", "bounds_of", "registers_of", "rows_of", "strays_of"]

WORDS = 9
"""Of a row that says where a variable is."""
_WORDS = cython.declare(cython.Py_ssize_t, WORDS)
_IN_REGISTER = cython.declare(cython.int, 1)
"""A kind of place, as in `places.py`."""
_HIGHEST = cython.declare(cython.longlong, 1 << 40)


@cython.locals(
    rows="long long[::1]", at=cython.Py_ssize_t, fields=tuple, first=cython.ulonglong, most=cython.ulonglong,
)  # fmt: skip
def rows_of(places: list[Place], low: int, size: int) -> "memoryview[int]":
    """Places as rows of words, as `state.py` names them, of a function that begins at ``low`` and is so many bytes
    long."""
    made = rows = zeros("q", _WORDS * len(places))
    first, most = low, size + 1
    at = 0
    for place in places:
        # A named tuple is one; asking for its members by name takes several times as long.
        fields = cython.cast(tuple, place)
        rows[at] = _distance(fields[5], first, most)
        rows[at + 1] = _distance(fields[6], first, most)
        rows[at + 2] = fields[2]
        rows[at + 3] = _bounded(fields[3], -1, 1 << 30, -1)
        rows[at + 4] = _bounded(fields[4], 1 - _HIGHEST, _HIGHEST, _HIGHEST)
        rows[at + 5] = _bounded(fields[7], 1 - _HIGHEST, _HIGHEST, _HIGHEST)
        rows[at + 6] = _bounded(fields[8], 1 - _HIGHEST, _HIGHEST, _HIGHEST)
        rows[at + 7] = fields[1]
        rows[at + 8] = -1
        at += _WORDS
    return made


@cython.locals(at=cython.Py_ssize_t, strays="unsigned char[::1]", fields=tuple)
def strays_of(places: list[Place]) -> "memoryview[int]":
    """By place, whether it goes on where its scope has ended."""
    made = strays = zeros("B", len(places))
    for at, place in enumerate(places):
        fields = cython.cast(tuple, place)
        strays[at] = fields[2] == _IN_REGISTER and fields[9]
    return made


@cython.locals(
    ends="long long[::1]", at=cython.Py_ssize_t, fields=tuple, first=cython.ulonglong, most=cython.ulonglong,
)  # fmt: skip
def bounds_of(places: list[Place], low: int, size: int) -> "memoryview[int]":
    """How far behind a function's begin each place begins and ends to be valid."""
    made = ends = zeros("q", 2 * len(places))
    first, most = low, size + 1
    at = 0
    for place in places:
        fields = cython.cast(tuple, place)
        ends[at] = _distance(fields[5], first, most)
        ends[at + 1] = _distance(fields[6], first, most)
        at += 2
    return made


@cython.cfunc
@cython.inline
@cython.exceptval(-2, check=True)
@cython.returns(cython.longlong)
@cython.locals(first=cython.ulonglong, most=cython.ulonglong, at=cython.ulonglong)
def _distance(address: int, first: int, most: int) -> int:
    """How far behind the first an address is; -1 for before it, at most ``most``."""
    try:
        at = address
    except OverflowError:
        return -1 if address < 0 else cython.cast(cython.longlong, most)
    if at < first:
        return -1
    return cython.cast(cython.longlong, most if at - first > most else at - first)


@cython.cfunc
@cython.inline
@cython.exceptval(-2, check=True)
@cython.returns(cython.longlong)
@cython.locals(low=cython.longlong, high=cython.longlong, otherwise=cython.longlong, found=cython.longlong)
def _bounded(value: int, low: int, high: int, otherwise: int) -> int:
    """A number, or another one where it is not in [``low``, ``high``)."""
    try:
        found = value
    except OverflowError:
        return otherwise
    return found if low <= found < high else otherwise


@cython.locals(made="int[::1]", at=cython.Py_ssize_t)
def registers_of(places: list[Place]) -> "memoryview[int]":
    """By place, its register, and -1: what that holds is asked for later."""
    found = made = zeros("i", 2 * len(places))
    at = 0
    for place in places:
        made[at] = _bounded(cython.cast(tuple, place)[3], -1, 1 << 30, -1)
        made[at + 1] = -1
        at += 2
    return found
