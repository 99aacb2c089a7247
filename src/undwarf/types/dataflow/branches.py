# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""What a branch says of a register: that it is 0 on one of the two ways."""

from typing import Any

import cython

from undwarf.buffers import zeros

# undwarf.disasm.model.Flow and Action
BRANCH = cython.declare(cython.int, 2)
COPY = cython.declare(cython.int, 1)
LOAD = cython.declare(cython.int, 3)
STORE = cython.declare(cython.int, 4)
LEA = cython.declare(cython.int, 5)
TEST = cython.declare(cython.int, 25)
IF_ZERO = cython.declare(cython.int, 26)
IF_NOT_ZERO = cython.declare(cython.int, 27)

# Words of templates, as in undwarf.disasm.listing.
ROW_WORDS = cython.declare(cython.Py_ssize_t, 16)
ROW_ACTION = cython.declare(cython.Py_ssize_t, 1)
ROW_LEFT = cython.declare(cython.Py_ssize_t, 3)
ROW_WIDTH = cython.declare(cython.Py_ssize_t, 5)
ROW_WRITES = cython.declare(cython.Py_ssize_t, 8)

NEAR = cython.declare(cython.Py_ssize_t, 6)
"""Instructions before a branch in which the test is looked for that it depends on."""


@cython.locals(
    flows="const unsigned char[::1]", templates="const unsigned int[::1]", rows="const long long[::1]",
    ints="const int[::1]", found="int[::1]", number=cython.Py_ssize_t, blocks=cython.Py_ssize_t, k=cython.Py_ssize_t,
    row=cython.Py_ssize_t, first=cython.Py_ssize_t, action=cython.longlong, way=cython.int, left=cython.longlong,
    written=cython.ulonglong,
)  # fmt: skip
def zero_behind(listing: Any, column: Any, count: int) -> memoryview:
    """By block, twice the register that is 0 on one of the two ways behind it, and which way that is; -1 for none.

    ``column``: of so many blocks where they begin, where they end, a number each and where their successors begin.
    """
    flows, templates, rows, ints, blocks = listing.flows, listing.templates, listing.table.rows, column, count
    made = found = zeros("i", blocks)
    for number in range(blocks):
        found[number] = -1
        k = ints[blocks + number] - 1
        ways: cython.int = ints[3 * blocks + number + 1] - ints[3 * blocks + number]
        if ways != 2 or flows[k] & 15 != BRANCH:
            continue
        action = rows[templates[k] * ROW_WORDS + ROW_ACTION]
        if action != IF_ZERO and action != IF_NOT_ZERO:
            continue
        # Where it branches to is first.
        way = 0 if action == IF_ZERO else 1
        written = 0
        first = max(cython.cast(cython.Py_ssize_t, ints[number]), k - NEAR)
        while k > first:
            k -= 1
            row = templates[k] * ROW_WORDS
            action = rows[row + ROW_ACTION]
            if action == TEST:
                left = rows[row + ROW_LEFT]
                if rows[row + ROW_WIDTH] == 8 and 0 <= left < 64 and not written >> left & 1:
                    found[number] = 2 * left + way
                break
            if action != COPY and action != LOAD and action != STORE and action != LEA:
                # It may be what the flags are of.
                break
            written |= cython.cast(cython.ulonglong, rows[row + ROW_WRITES])
    return made
