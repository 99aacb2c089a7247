# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""What a branch says of a register: that it, or its lower half, is a number on one of the two ways, most often 0."""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import BRANCH, CALL, INDIRECT_CALL
from cython.cimports.undwarf.disasm.instruction_semantics import (
    ADD,
    AND,
    COMPARE,
    CONSTANT,
    COPY,
    IF_NOT_ZERO,
    IF_ZERO,
    LOAD,
    SET_IF_NOT_ZERO,
    SET_IF_ZERO,
    STORE,
    SUBTRACT,
    TEST,
)
from cython.cimports.undwarf.disasm.instruction_semantics import ADDRESS as LEA
from cython.cimports.undwarf.disasm.template_layout import (
    ROW_ACTION,
    ROW_DESTINATION,
    ROW_IMMEDIATE,
    ROW_LEFT,
    ROW_RULE,
    ROW_WIDTH,
    ROW_WORDS,
    ROW_WRITES,
)
from cython.cimports.undwarf.types.dataflow.constants import LOWER_HALF

from undwarf.column import zeros

NEAR = cython.declare(cython.Py_ssize_t, 6)
"""Instructions before a branch in which the test is looked for that it depends on."""


@cython.locals(
    flows="const unsigned char[::1]", templates="const unsigned int[::1]", rows="const long long[::1]",
    ints="const int[::1]", found="int[::1]", number=cython.Py_ssize_t, blocks=cython.Py_ssize_t, k=cython.Py_ssize_t,
    row=cython.Py_ssize_t, first=cython.Py_ssize_t, action=cython.longlong, way=cython.int, left=cython.longlong,
    written=cython.ulonglong, whole=cython.bint,
)  # fmt: skip  # rows of C types
def number_behind(listing: Any, column: Any, count: int, lost: cython.ulonglong) -> memoryview:
    """By block, twice the register that is a number on one of the two ways behind it, and which way that is, and
    LOWER_HALF where only its lower half is; -1 for none. Then the instruction that compares it with that; -1 where it
    is 0.

    ``column``: of so many blocks where they begin, where they end, a number each and where their successors begin;
    ``lost``: the registers that calls change, as bits.
    """
    flows, templates, rows, ints, blocks = listing.flows, listing.templates, listing.table.rows, column, count
    made = found = zeros("i", 2 * blocks)
    for number in range(blocks):
        found[2 * number] = found[2 * number + 1] = -1
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
            if action in (TEST, COMPARE):
                left = rows[row + ROW_LEFT]
                if rows[row + ROW_WIDTH] >= 4 and 0 <= left < 64 and not written >> left & 1:
                    whole = rows[row + ROW_WIDTH] == 8
                    if not whole and action == TEST:
                        whole = _is_half(rows, _set_at(flows, templates, rows, left, lost, ints[number], k))
                    found[2 * number] = 2 * left + way + (0 if whole else LOWER_HALF)
                    if action == COMPARE:
                        found[2 * number + 1] = k
                break
            if action in (SET_IF_ZERO, SET_IF_NOT_ZERO):
                left = rows[row + ROW_LEFT]
                row = _set_at(flows, templates, rows, left, lost, ints[number], k)
                if not written >> left & 1 and _is_zero(rows, row):
                    # Of the flags that the branch depends on it is made as well: it is 0 or 1.
                    found[2 * number] = 2 * left + (way if action == SET_IF_NOT_ZERO else 1 - way)
            elif action != COPY and action != LOAD and action != STORE and action != LEA:
                # It may be what the flags are of.
                break
            written |= cython.cast(cython.ulonglong, rows[row + ROW_WRITES])
    return made


@cython.cfunc
@cython.exceptval(-2)
@cython.locals(
    flows="const unsigned char[::1]",
    templates="const unsigned int[::1]",
    rows="const long long[::1]",
)
def _set_at(
    flows: Any,
    templates: Any,
    rows: Any,
    register: cython.longlong,
    lost: cython.ulonglong,
    first: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Where the template begins of the last instruction, between two of a block, that sets a register; -1 where a call
    may have, or none does."""
    row: cython.Py_ssize_t
    while k > first:
        k -= 1
        row = templates[k] * ROW_WORDS
        if flows[k] & 15 in (CALL, INDIRECT_CALL) and lost >> register & 1:
            return -1
        if rows[row + ROW_WRITES] >> register & 1:
            return row if rows[row + ROW_DESTINATION] == register else -1
    return -1


@cython.cfunc
@cython.exceptval(-1)
@cython.locals(rows="const long long[::1]")
def _is_zero(rows: Any, row: cython.Py_ssize_t) -> cython.bint:
    """Whether an instruction sets a register to 0."""
    return (
        row >= 0 and rows[row + ROW_ACTION] == CONSTANT and not rows[row + ROW_IMMEDIATE] and not rows[row + ROW_RULE]
    )


@cython.cfunc
@cython.exceptval(-1)
@cython.locals(rows="const long long[::1]")
def _is_half(rows: Any, row: cython.Py_ssize_t) -> cython.bint:
    """Whether an instruction sets the lower half of a register, and the upper one to 0."""
    return row >= 0 and rows[row + ROW_WIDTH] == 4 and rows[row + ROW_ACTION] in (COPY, LOAD, AND, ADD, SUBTRACT)
