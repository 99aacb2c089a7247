# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Escape analysis of one address: stack addresses that only the function itself uses.

An address that is only dereferenced, compared and incremented never reaches other code, so calls leave what it points
to unchanged. It is followed from register to register along all paths; if it is stored, passed, returned or used in
other arithmetic, it escapes.
"""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import BRANCH, CALL, INDIRECT_CALL, INDIRECT_JUMP, JUMP, RETURN
from cython.cimports.undwarf.disasm.instruction_semantics import (
    ADD,
    ADD_MEMORY,
    COMPARE,
    COPY,
    LOAD,
    LOAD_PAIR,
    OR,
    OTHER,
    SELECT,
    STORE,
    STORE_PAIR,
    SUBTRACT,
    TEST,
    UPDATE,
)
from cython.cimports.undwarf.disasm.instruction_semantics import ADDRESS as LEA
from cython.cimports.undwarf.disasm.template_layout import (
    OPERAND_BASE,
    OPERAND_IMPLICIT,
    OPERAND_INDEX,
    OPERAND_WORDS,
    OPERAND_WRITEBACK,
    ROW_ACTION,
    ROW_DESTINATION,
    ROW_LEFT,
    ROW_OPERAND,
    ROW_OPERANDS,
    ROW_READS,
    ROW_RIGHT,
    ROW_WIDTH,
    ROW_WORDS,
    ROW_WRITES,
    TARGETED,
)
from cython.cimports.undwarf.types.dataflow.constants import UNTOUCHED

MOST = cython.declare(cython.Py_ssize_t, 256)
"""Instructions that are looked at for one address."""


@cython.final
@cython.cclass
class NonEscapingAddresses:
    """Escape queries of one function. ``column`` and ``count`` as in
    :class:`undwarf.types.dataflow.block_table.BlockTable`.

    ``calls`` know what functions do with pointer arguments (:class:`undwarf.types.dataflow.call_effects.CallEffects`);
    ``rooms`` caches that by function.
    """

    rows = cython.declare("const long long[::1]")
    operands = cython.declare("const long long[::1]")
    templates = cython.declare("const unsigned int[::1]")
    targets = cython.declare("const long long[::1]")
    flows = cython.declare("const unsigned char[::1]")
    ints = cython.declare("const int[::1]")
    count: cython.Py_ssize_t
    lost: cython.ulonglong
    passed: cython.ulonglong
    result: cython.longlong
    calls: Any
    rooms = cython.declare(dict)
    known = cython.declare(dict)
    queue = cython.declare(list)
    seen = cython.declare(set)
    left: cython.Py_ssize_t

    def __init__(self, listing: Any, column: Any, count: cython.Py_ssize_t, calls: Any, rooms: Any) -> None:
        self.rows, self.operands = listing.table.rows, listing.table.operands
        self.templates, self.targets, self.flows = listing.templates, listing.targets, listing.flows
        self.ints = column
        self.count = count
        self.lost = calls.lost_bits[0]
        self.passed, self.result = calls.passed_bits, calls.result
        self.calls, self.rooms = calls, rooms
        self.known = {}

    def stays(self, k: cython.Py_ssize_t, register: cython.longlong) -> bool:
        """Whether the address that instruction ``k`` puts into a register does not escape."""
        if not 0 <= register < 64:
            return False
        found: Any = self.known.get(k)
        if found is None:
            found = self.known[k] = self._followed(k, register)
        return bool(found)

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(at=cython.Py_ssize_t, number=cython.Py_ssize_t, low=cython.Py_ssize_t, high=cython.Py_ssize_t)
    def _followed(self, k: cython.Py_ssize_t, register: cython.longlong) -> cython.bint:
        self.queue = []
        self.seen = set()
        self.left = MOST
        self._go_on(k + 1, register)
        while self.queue:
            at, register = self.queue.pop()
            # The block that holds an instruction.
            low, high = 0, self.count
            while high - low > 1:
                number = (low + high) // 2
                if self.ints[number] <= at:
                    low = number
                else:
                    high = number
            if at < self.ints[self.count + low] and not self._stays_in(low, at, register):
                return False
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _go_on(self, at: cython.Py_ssize_t, register: cython.longlong) -> cython.int:
        """Queue a register for examination from an instruction on."""
        one: Any = (at, register)
        if one not in self.seen:
            self.seen.add(one)
            self.queue.append(one)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.Py_ssize_t, row=cython.Py_ssize_t, flow=cython.int, bit=cython.ulonglong)
    def _stays_in(self, number: cython.Py_ssize_t, at: cython.Py_ssize_t, register: cython.longlong) -> cython.bint:
        """Whether the address does not escape from an instruction to the end of its block."""
        bit = cython.cast(cython.ulonglong, 1) << register
        for i in range(at, self.ints[self.count + number]):
            self.left -= 1
            if self.left < 0:
                return False
            flow = self.flows[i] & 15
            row = self.templates[i] * ROW_WORDS
            reads: cython.bint = (cython.cast(cython.ulonglong, self.rows[row + ROW_READS]) & bit) != 0
            if flow in (CALL, INDIRECT_CALL):
                if reads or (self.passed & bit and not self._is_untouched(i, register)):
                    return False
                if self.lost & bit:
                    return True
                continue
            if flow == RETURN:
                return register != self.result
            if reads and not self._only_goes_through(i, row, register):
                return False
            if cython.cast(cython.ulonglong, self.rows[row + ROW_WRITES]) & bit and not (
                reads and self._counts_on(row, register)
            ):
                return True
        return self._goes_on_in(number, i, register)

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(i=cython.Py_ssize_t, first=cython.Py_ssize_t, end=cython.Py_ssize_t, flow=cython.int)
    def _goes_on_in(self, number: cython.Py_ssize_t, k: cython.Py_ssize_t, register: cython.longlong) -> cython.bint:
        """Queue the successors of a block; False if control leaves to unknown code."""
        first, end = self.ints[3 * self.count + number], self.ints[3 * self.count + number + 1]
        flow = self.flows[k] & 15
        if (first == end and flow in (JUMP, INDIRECT_JUMP)) or (flow == BRANCH and end - first < 2):
            # Jumps into another function, such as this one's cold part, or to an unknown target.
            return False
        for i in range(first, end):
            self._go_on(self.ints[self.ints[4 * self.count + 1 + i]], register)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _is_untouched(self, k: cython.Py_ssize_t, register: cython.longlong) -> cython.bint:
        """Whether a callee does not receive, or only reads, what a register points to."""
        if self.flows[k] != CALL | TARGETED:
            return False
        target: Any = self.targets[k]
        rooms: Any = self.rooms.get(target)
        if rooms is None:
            rooms = self.rooms[target] = self.calls.rooms(target)
        return bool(rooms.get(register, 0) == UNTOUCHED)

    @cython.cfunc
    @cython.exceptval(-1)
    def _counts_on(self, row: cython.Py_ssize_t, register: cython.longlong) -> cython.bint:
        """Whether an instruction only advances the address in a register."""
        action: cython.longlong = self.rows[row + ROW_ACTION]
        return self.rows[row + ROW_DESTINATION] == register and action in (ADD, SUBTRACT, LEA, SELECT)

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(m=cython.Py_ssize_t, action=cython.longlong, to=cython.longlong, is_value=cython.bint)
    def _only_goes_through(
        self, k: cython.Py_ssize_t, row: cython.Py_ssize_t, register: cython.longlong
    ) -> cython.bint:
        """Whether an instruction only dereferences or compares the address in a register, or copies or advances it into
        a register (which is then queued)."""
        action, to = self.rows[row + ROW_ACTION], self.rows[row + ROW_DESTINATION]
        is_value = self.rows[row + ROW_LEFT] == register or self.rows[row + ROW_RIGHT] == register
        if action in (COPY, ADD, SUBTRACT, LEA, SELECT):
            if action != SELECT and self.rows[row + ROW_WIDTH] != 8:
                return False
            if to != register:
                self._go_on(k + 1, to)
            return bool(0 <= to < 64)
        if action in (TEST, COMPARE):
            return True
        if action == OTHER and not self.rows[row + ROW_OPERANDS]:
            # Compares two registers.
            return not (self.rows[row + ROW_WRITES] or self.rows[row + ROW_WRITES + 1])
        if is_value or action not in (LOAD, STORE, LOAD_PAIR, STORE_PAIR, ADD_MEMORY, UPDATE, OR, OTHER):
            return False
        m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
        through: cython.bint = False
        for _operand in range(self.rows[row + ROW_OPERANDS]):
            if self.operands[m + OPERAND_WRITEBACK] or self.operands[m + OPERAND_IMPLICIT]:
                return False
            through = through or register in (self.operands[m + OPERAND_BASE], self.operands[m + OPERAND_INDEX])
            m += OPERAND_WORDS
        return through
