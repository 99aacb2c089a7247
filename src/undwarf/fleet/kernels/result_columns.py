# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Turns columns of query results into numbers: of distinct texts and functions, and of rows with a given key.

Columns are of typecode I where not said otherwise; NOTHING stands for none.
"""

from typing import Any

import cython
from cython.cimports.undwarf.integer_constants import GOLDEN_RATIO, NOTHING

from undwarf.column import zeros
from undwarf.errors import UnreadableInput

_MOST_STEPS = 10_000
"""Slots that are looked at for one entry. Only texts or keys that somebody made for it need as many."""


def _made_alike() -> UnreadableInput:
    return UnreadableInput("the store is damaged", "its texts or hashes are made to be searched for long")


@cython.cfunc
@cython.inline
def _slots(count: cython.Py_ssize_t) -> cython.int:
    """How many bits number the slots of a table for ``count`` entries."""
    bits: cython.int = 8
    while bits < 31 and (cython.cast(cython.Py_ssize_t, 1) << bits) < 2 * count:
        bits += 1
    return bits


@cython.locals(
    data="const unsigned char[::1]",
    begins="const long long[::1]",
    nothing="const unsigned char[::1]",
    slots="unsigned int[::1]",
    out="unsigned int[::1]",
    rows="unsigned int[::1]",
    kept="unsigned int[::1]",
    code="unsigned long long",
    found="unsigned int",
    i=cython.Py_ssize_t,
    k=cython.Py_ssize_t,
    at=cython.Py_ssize_t,
    other=cython.Py_ssize_t,
    size=cython.Py_ssize_t,
    slot=cython.Py_ssize_t,
    steps=cython.Py_ssize_t,
    known="unsigned int",
    bits=cython.int,
    has_nulls=cython.bint,
)
def numbered_texts(values: Any, starts: Any, nulls: Any) -> tuple[memoryview, memoryview]:
    """(the number of each text, NOTHING for null; the row of each number): distinct texts are numbered from 0 in the
    order of occurrence. ``values`` (B), ``starts`` (q) and ``nulls`` (B) as of
    :class:`undwarf.arrow.columns_of_stream.Column`."""
    data, begins = values, starts
    has_nulls = nulls is not None
    if has_nulls:
        nothing = nulls
    count: cython.Py_ssize_t = begins.shape[0] - 1
    bits = _slots(count)
    mask: cython.Py_ssize_t = (cython.cast(cython.Py_ssize_t, 1) << bits) - 1
    table, codes, numbers, first = zeros("I", mask + 1), zeros("I", mask + 1), zeros("I", count), zeros("I", count)
    slots, kept, out, rows = table, codes, numbers, first
    known = 0
    for i in range(count):
        if has_nulls and nothing[i]:
            out[i] = NOTHING
            continue
        at, size = begins[i], begins[i + 1] - begins[i]
        code = size
        for k in range(at, at + size):
            code = (code ^ data[k]) * GOLDEN_RATIO
            code ^= code >> 29
        slot = cython.cast("Py_ssize_t", (code * GOLDEN_RATIO) >> (64 - bits))
        steps = 0
        while True:
            found = slots[slot]
            if found == 0:
                slots[slot] = known + 1
                kept[slot] = cython.cast("unsigned int", code)
                rows[known] = cython.cast("unsigned int", i)
                out[i] = known
                known += 1
                break
            if kept[slot] == cython.cast("unsigned int", code):
                other = begins[rows[found - 1]]
                if begins[rows[found - 1] + 1] - other == size:
                    k = 0
                    while k < size and data[at + k] == data[other + k]:
                        k += 1
                    if k == size:
                        out[i] = found - 1
                        break
            slot = (slot + 1) & mask
            steps += 1
            if steps > _MOST_STEPS:
                raise _made_alike()
    return numbers, first[:known]


@cython.locals(
    wanted="const unsigned long long[::1]",
    known="const unsigned long long[::1]",
    slots="unsigned int[::1]",
    out="unsigned int[::1]",
    i=cython.Py_ssize_t,
    row=cython.Py_ssize_t,
    slot=cython.Py_ssize_t,
    steps=cython.Py_ssize_t,
    last=cython.Py_ssize_t,
    missing=cython.Py_ssize_t,
    distinct=cython.bint,
    has_nulls=cython.bint,
    nothing="const unsigned char[::1]",
)
def places(keys: Any, table: Any, words: cython.Py_ssize_t = 1, nulls: Any = None) -> tuple[memoryview, bool, int]:
    """(the row in ``table`` of each of ``keys``, NOTHING if it is not there or ``nulls`` (B) has 1 for it; whether the
    rows of the table are distinct; how many keys are not there). Both are of typecode Q, with one or two ``words`` an
    entry; of equal rows the first one counts."""
    has_nulls = nulls is not None
    if has_nulls:
        nothing = nulls
    wanted, known = keys, table
    last = words - 1
    count: cython.Py_ssize_t = known.shape[0] // words
    bits: cython.int = _slots(count)
    mask: cython.Py_ssize_t = (cython.cast(cython.Py_ssize_t, 1) << bits) - 1
    size: cython.Py_ssize_t = wanted.shape[0] // words
    index, result = zeros("I", mask + 1), zeros("I", size)
    slots, out = index, result
    distinct = True
    missing = 0
    for i in range(count):
        slot = cython.cast(
            "Py_ssize_t", ((known[words * i] ^ known[words * i + last] >> 1) * GOLDEN_RATIO) >> (64 - bits)
        )
        steps = 0
        while slots[slot] != 0:
            row = slots[slot] - 1
            if known[words * row] == known[words * i] and known[words * row + last] == known[words * i + last]:
                distinct = False
                break
            slot = (slot + 1) & mask
            steps += 1
            if steps > _MOST_STEPS:
                raise _made_alike()
        if slots[slot] == 0:
            slots[slot] = cython.cast("unsigned int", i + 1)
    for i in range(size):
        slot = cython.cast(
            "Py_ssize_t", ((wanted[words * i] ^ wanted[words * i + last] >> 1) * GOLDEN_RATIO) >> (64 - bits)
        )
        out[i] = NOTHING
        if has_nulls and nothing[i]:
            continue
        steps = 0
        while slots[slot] != 0:
            row = slots[slot] - 1
            if known[words * row] == wanted[words * i] and known[words * row + last] == wanted[words * i + last]:
                out[i] = cython.cast("unsigned int", row)
                break
            slot = (slot + 1) & mask
            steps += 1
            if steps > _MOST_STEPS:
                raise _made_alike()
        if out[i] == NOTHING:
            missing += 1
    return result, distinct, missing


@cython.locals(
    names="const unsigned int[::1]",
    images="const unsigned int[::1]",
    starts="const unsigned long long[::1]",
    flags="const unsigned char[::1]",
    slots="unsigned int[::1]",
    out="unsigned int[::1]",
    rows="unsigned int[::1]",
    code="unsigned long long",
    found="unsigned int",
    known="unsigned int",
    i=cython.Py_ssize_t,
    row=cython.Py_ssize_t,
    slot=cython.Py_ssize_t,
    steps=cython.Py_ssize_t,
    bits=cython.int,
)
def numbered_functions(name: Any, image: Any, start: Any, unnamed: Any) -> tuple[memoryview, memoryview]:
    """(the number of each function, the row of each number), numbered from 0 in the order of occurrence: functions are
    the same if all four columns are, the last two of which are of typecode Q and B."""
    names, images, starts, flags = name, image, start, unnamed
    count: cython.Py_ssize_t = names.shape[0]
    bits = _slots(count)
    mask: cython.Py_ssize_t = (cython.cast(cython.Py_ssize_t, 1) << bits) - 1
    table, numbers, first = zeros("I", mask + 1), zeros("I", count), zeros("I", count)
    slots, out, rows = table, numbers, first
    known = 0
    for i in range(count):
        code = ((cython.cast("unsigned long long", names[i]) << 32) | images[i]) * GOLDEN_RATIO
        code = (code ^ code >> 29 ^ starts[i] ^ flags[i]) * GOLDEN_RATIO
        slot = cython.cast("Py_ssize_t", code >> (64 - bits))
        steps = 0
        while True:
            found = slots[slot]
            if found == 0:
                slots[slot] = known + 1
                rows[known] = cython.cast("unsigned int", i)
                out[i] = known
                known += 1
                break
            row = rows[found - 1]
            if (
                names[row] == names[i]
                and images[row] == images[i]
                and starts[row] == starts[i]
                and flags[row] == flags[i]
            ):
                out[i] = found - 1
                break
            slot = (slot + 1) & mask
            steps += 1
            if steps > _MOST_STEPS:
                raise _made_alike()
    return numbers, first[:known]


@cython.locals(
    begins="const long long[::1]",
    first="unsigned int[::1]",
    many="unsigned int[::1]",
    i=cython.Py_ssize_t,
    size="long long",
    least="long long",
    most="long long",
)
def starts_and_counts(starts: Any) -> tuple[memoryview, memoryview, int, int]:
    """(where each list begins, how many entries it has, the least and the most of these, of no lists 1), of where they
    begin (q) as of :class:`undwarf.arrow.columns_of_stream.Column`."""
    begins = starts
    count: cython.Py_ssize_t = begins.shape[0] - 1
    begin, length = zeros("I", count), zeros("I", count)
    first, many = begin, length
    least = most = 1 if count == 0 else begins[1] - begins[0]
    for i in range(count):
        size = begins[i + 1] - begins[i]
        first[i] = cython.cast("unsigned int", begins[i])
        many[i] = cython.cast("unsigned int", size)
        least = min(least, size)
        most = max(most, size)
    return begin, length, least, most


@cython.locals(
    values="const int[::1]", nothing="const unsigned char[::1]", out="unsigned int[::1]", i=cython.Py_ssize_t
)
def whole_numbers(column: Any, nulls: Any) -> memoryview:
    """Numbers (i) as unsigned ones: 0 where they are null or below 0."""
    values = column
    result = zeros("I", values.shape[0])
    out = result
    for i in range(values.shape[0]):
        out[i] = values[i] if values[i] > 0 else 0
    if nulls is not None:
        nothing = nulls
        for i in range(values.shape[0]):
            if nothing[i]:
                out[i] = 0
    return result
