# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Index of a BTF type section: start, kind and name offset of each record, in one pass over its words.

Source: Documentation/bpf/btf.rst of Linux, "Type Encoding".
"""

from typing import Any

import cython

from undwarf.column import zeros

WHOLE = 0
CUT = 1
UNKNOWN_KIND = 2
TOO_MANY = 3
"""Why the index ends: all was read, the section is truncated, a kind is unknown, or the limit was reached."""

KINDS = cython.declare(cython.int, 20)
FIXED = cython.declare("int[20]")
EACH = cython.declare("int[20]")

FIXED[:] = [0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0]
EACH[:] = [0, 0, 0, 0, 3, 3, 2, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 3]


@cython.locals(
    view="const unsigned int[::1]",
    first="unsigned int[::1]",
    text="unsigned int[::1]",
    what="unsigned char[::1]",
    total=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    following=cython.Py_ssize_t,
    count=cython.Py_ssize_t,
    most=cython.Py_ssize_t,
    info=cython.uint,
    kind=cython.uint,
    end=cython.int,
)
def index_types(words: Any, limit: int) -> tuple[memoryview, memoryview, memoryview, int, int]:
    """(starts I, name offsets I, kinds B, reason of the end, last kind read) of the types in a section's words (I).

    Reads at most ``limit`` types.
    """
    view = words
    total = view.shape[0]
    # A type takes at least three words.
    most = min(limit, total // 3)
    starts, names, kinds = zeros("I", most), zeros("I", most), zeros("B", most)
    first, text, what = starts, names, kinds
    at = count = 0
    kind = 0
    end = WHOLE
    while at + 3 <= total:
        info = view[at + 1]
        kind = info >> 24 & 0x1F
        if not 0 < kind < KINDS:
            end = UNKNOWN_KIND
            break
        following = at + 3 + FIXED[kind] + cython.cast(cython.Py_ssize_t, EACH[kind]) * (info & 0xFFFF)
        if following > total:
            end = CUT
            break
        if count >= most:
            end = TOO_MANY
            break
        first[count] = cython.cast(cython.uint, at)
        text[count] = view[at]
        what[count] = cython.cast(cython.uchar, kind)
        count += 1
        at = following
    return memoryview(starts)[:count], memoryview(names)[:count], memoryview(kinds)[:count], end, int(kind)


@cython.locals(
    text="const unsigned int[::1]",
    what="const unsigned char[::1]",
    i=cython.Py_ssize_t,
    wanted=cython.uint,
    of=cython.uint,
)
def find_named(names: Any, kinds: Any, place: int, kind: int) -> int:
    """Index of the first type with a kind and a name offset; -1 if there is none."""
    text, what = names, kinds
    wanted, of = place, kind
    for i in range(text.shape[0]):
        if text[i] == wanted and what[i] == of:
            return i
    return -1
