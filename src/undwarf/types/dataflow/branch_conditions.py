# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Facts on branch edges: a register (or its lower half) equals a constant, mostly 0, on one edge of a conditional
branch.

Used as in conditional constant propagation: on that edge the register is known, on the other one it is not null.
"""

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
def branch_facts(listing: Any, column: Any, count: int, lost: cython.ulonglong) -> memoryview:
    """Two numbers (i) for each block: twice the register, plus the number of the edge on which it is known, plus
    LOWER_HALF if only its lower half is (-1 if there is no such fact); and the instruction with the constant it is
    compared with (-1: it is 0).

    ``column``: of :class:`~undwarf.types.dataflow.block_table.BlockTable`, of ``count`` blocks; ``lost``: bit set of
    the registers that calls clobber.
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
        # The taken edge comes first.
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
                    # A setcc of the same flags: it is 0 or 1.
                    found[2 * number] = 2 * left + (way if action == SET_IF_NOT_ZERO else 1 - way)
            elif action != COPY and action != LOAD and action != STORE and action != LEA:
                # May set the flags.
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
    """The template of the last instruction between two of a block that sets a register; -1 if none does or a call may
    have."""
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
    """Whether an instruction writes the lower half of a register and clears the upper one."""
    return row >= 0 and rows[row + ROW_WIDTH] == 4 and rows[row + ROW_ACTION] in (COPY, LOAD, AND, ADD, SUBTRACT)
