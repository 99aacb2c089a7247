# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Liveness of caller-saved registers after calls.

Compilers that know which registers a callee preserves (-fipa-ra) keep values in caller-saved ones across calls, but
rarely. Only where such a register is live after a call must the callee's code be examined.
"""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import CALL, INDIRECT_CALL
from cython.cimports.undwarf.disasm.template_layout import ROW_READS as READS
from cython.cimports.undwarf.disasm.template_layout import ROW_WORDS, TARGETED
from cython.cimports.undwarf.disasm.template_layout import ROW_WRITES as WRITES
from cython.cimports.undwarf.types.sources.row_words import PLACE_HIGH, PLACE_LOW, PLACE_REGISTER, PLACE_WORDS

from undwarf.column import zeros

ALL = cython.declare(cython.ulonglong, 0xFFFFFFFFFFFFFFFF)


@cython.final
@cython.cclass
class Liveness:
    """The live general registers after direct calls: bit sets in `behind` (Q) by instruction, 0 for others, all bits if
    unknown.

    ``column`` and ``count`` as in :class:`undwarf.types.dataflow.block_table.BlockTable`; ``oracle`` has the
    registers that calls clobber, read and return, and variables in registers. ``taken`` caches the registers that calls
    read, by callee.
    """

    behind: Any = cython.declare(object, visibility="readonly")
    rows = cython.declare("const long long[::1]")
    templates = cython.declare("const unsigned int[::1]")
    targets = cython.declare("const long long[::1]")
    flows = cython.declare("const unsigned char[::1]")
    found = cython.declare("unsigned long long[::1]")
    begins = cython.declare("unsigned long long[::1]")
    """By block, the registers live at its start."""
    ints = cython.declare("const int[::1]")
    count: cython.Py_ssize_t
    taken = cython.declare(dict)
    oracle: Any
    lost: cython.ulonglong
    reads: cython.ulonglong
    writes: cython.ulonglong

    def __init__(
        self, listing: Any, column: Any, count: cython.Py_ssize_t, open_: cython.bint, oracle: Any, taken: Any
    ) -> None:
        size: cython.Py_ssize_t = len(listing)
        k: cython.Py_ssize_t
        self.behind = zeros("Q", size)
        self.found = self.behind
        self.rows = listing.table.rows
        self.templates = listing.templates
        self.targets = listing.targets
        self.flows = listing.flows
        self.ints = column
        self.count = count
        self.taken = taken
        self.oracle = oracle
        self.lost = oracle.calls.lost_bits[0] & oracle.calls.general_bits
        self.reads = self.writes = 0
        if open_ or not oracle.has_variables:
            # Without variables, values of registers are needed anyway.
            for k in range(size):
                if self.flows[k] == CALL | TARGETED:
                    self.found[k] = ALL
            return
        self._look()
        self._add_said(listing.offsets, oracle.in_registers)

    @cython.cfunc
    @cython.exceptval(-1)
    def _done(self, k: cython.Py_ssize_t) -> cython.int:
        """Set `reads` and `writes` to the registers that an instruction reads and kills."""
        row: cython.Py_ssize_t = self.templates[k] * ROW_WORDS
        flow: cython.int = self.flows[k]
        self.reads = cython.cast(cython.ulonglong, self.rows[row + READS])
        self.writes = cython.cast(cython.ulonglong, self.rows[row + WRITES])
        if flow == CALL | TARGETED:
            target: Any = self.targets[k]
            known: Any = self.taken.get(target)
            if known is None:
                known = self.taken[target] = self.oracle.calls.taken(target)
            self.reads, self.writes = known
        elif flow & 15 in (CALL, INDIRECT_CALL):
            self.writes = self.lost
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        n=cython.Py_ssize_t, k=cython.Py_ssize_t, count=cython.Py_ssize_t, ints="const int[::1]",
        used="unsigned long long[::1]", kept="unsigned long long[::1]",
        calls="unsigned char[::1]", live=cython.ulonglong, gone=cython.ulonglong, again=cython.bint,
    )  # fmt: skip  # rows of C types
    def _look(self) -> cython.int:
        count = self.count
        ints = self.ints
        used, kept, self.begins = zeros("Q", count), zeros("Q", count), zeros("Q", count)
        calls = zeros("B", count)
        for n in range(count):
            live = 0
            gone = 0
            for k in range(ints[count + n] - 1, ints[n] - 1, -1):
                self._done(k)
                live = live & ~self.writes | self.reads
                gone |= self.writes
                if self.flows[k] == CALL | TARGETED:
                    calls[n] = 1
            self.begins[n] = used[n] = live
            kept[n] = ~gone
        again = True
        while again:
            again = False
            for n in range(count - 1, -1, -1):
                live = used[n] | self._behind_block(n) & kept[n]
                if live != self.begins[n]:
                    self.begins[n] = live
                    again = True
        for n in range(count):
            if not calls[n]:
                continue
            live = self._behind_block(n)
            for k in range(ints[count + n] - 1, ints[n] - 1, -1):
                self._done(k)
                if self.flows[k] == CALL | TARGETED:
                    self.found[k] = live & self.lost & ~self.writes
                live = live & ~self.writes | self.reads
        return 0

    @cython.cfunc
    @cython.exceptval(0, check=True)
    def _behind_block(self, n: cython.Py_ssize_t) -> cython.ulonglong:
        """The registers live at the end of a block."""
        count: cython.Py_ssize_t = self.count
        first: cython.Py_ssize_t = self.ints[3 * count + n]
        end: cython.Py_ssize_t = self.ints[3 * count + n + 1]
        live: cython.ulonglong = 0
        at: cython.Py_ssize_t
        for at in range(first, end):
            live |= self.begins[self.ints[4 * count + 1 + at]]
        return live

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        offsets="const unsigned int[::1]", rows="const long long[::1]", calls="int[::1]",
        returned="unsigned long long[::1]", used=cython.Py_ssize_t, k=cython.Py_ssize_t, at=cython.Py_ssize_t,
        low=cython.Py_ssize_t, high=cython.Py_ssize_t, middle=cython.Py_ssize_t, register=cython.longlong,
    )  # fmt: skip  # rows of C types
    def _add_said(self, offsets_of: Any, rows_of: Any) -> cython.int:
        """Add registers with a variable's location after a call, except results."""
        offsets, rows = offsets_of, rows_of
        calls, returned = zeros("i", len(self.flows)), zeros("Q", len(self.flows))
        used = 0
        for k in range(len(self.flows) - 1):
            if self.flows[k] == CALL | TARGETED:
                self._done(k)
                calls[used] = k
                returned[used] = self.writes
                used += 1
        for k in range(len(rows) // PLACE_WORDS):
            at = k * PLACE_WORDS
            register = rows[at + PLACE_REGISTER]
            if not 0 <= register < 64 or not self.lost >> register & 1:
                continue
            low, high = 0, used
            while low < high:
                middle = (low + high) // 2
                if offsets[calls[middle] + 1] < rows[at + PLACE_LOW]:
                    low = middle + 1
                else:
                    high = middle
            while low < used and offsets[calls[low] + 1] < rows[at + PLACE_HIGH]:
                self.found[calls[low]] |= (cython.cast(cython.ulonglong, 1) << register) & ~returned[low]
                low += 1
        return 0
