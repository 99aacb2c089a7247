# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Worklist solver of a function's data flow: joins states over edges until a fixed point, then answers queries."""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.instruction_semantics import COPY_PAIR, LOAD_PAIR, SET_UPPER
from cython.cimports.undwarf.disasm.template_layout import (
    OPERAND_ACCESS,
    OPERAND_BASE,
    OPERAND_INDEX,
    OPERAND_SIZE,
    OPERAND_WORDS,
    ROW_ACTION,
    ROW_DESTINATION,
    ROW_OPERAND,
    ROW_OPERANDS,
    ROW_RIGHT,
    ROW_WORDS,
)
from cython.cimports.undwarf.types.dataflow.constants import (
    ANYWHERE,
    FRAME,
    LOWER_HALF,
    NOTHING,
    NULL,
    NUMBER,
    OBJECT,
    REGISTERS,
)

from undwarf.column import copied, longer, zeros
from undwarf.types.dataflow.branch_conditions import branch_facts
from undwarf.types.dataflow.liveness import Liveness
from undwarf.types.dataflow.non_escaping_addresses import NonEscapingAddresses
from undwarf.types.dataflow.transfer import Transfer
from undwarf.types.dataflow.value_interner import ValueInterner

WORD = cython.declare(cython.longlong, 0xFFFFFFFF)
"""Mask of the lower half of a register."""
RECOVERIES = cython.declare(cython.int, 2)
"""How many times values that the join with a loop's first iteration lost may be recovered."""


@cython.final
@cython.cclass
class Solver(Transfer):
    """The data flow of one function: the state at the start of each block, and from there at each instruction.

    Blocks are visited in reverse postorder. The join is not commutative (see `abstract_values.py`), so what the first
    iteration of a loop loses is looked for again once the other paths are known (:meth:`_recover_lost_cells`).
    """

    pool = cython.declare("int[::1]")
    """Stored states of block starts: registers below `top`, then slots."""
    pool_used: cython.Py_ssize_t
    entries = cython.declare("int[::1]")
    """By block: start of its state in ``pool``, and its number of slots (-1: not reached)."""
    ways = cython.declare("unsigned char[::1]")
    """By block, its number of incoming edges, up to two."""
    block_first = cython.declare("const int[::1]")
    block_end = cython.declare("const int[::1]")
    rule_register = cython.declare("const int[::1]")
    rule_offset = cython.declare("const long long[::1]")
    following_first = cython.declare("const int[::1]")
    following = cython.declare("const int[::1]")
    numbers = cython.declare("int[::1]")
    """By block, register facts on its edges (:mod:`undwarf.types.dataflow.branch_conditions`)."""
    open: cython.bint
    is_back_edge: cython.bint
    """Whether the current edge is a back edge."""
    lost_now: list[int]
    missed: dict[tuple[int, int], dict[int, int]]
    """{(source, target) of a back edge: {lost register or slot: value at the source}}."""
    known_again: dict[int, set[int]]
    """{loop header: lost registers or slots with another value in a later iteration}."""
    listing: Any
    on_stack: Any
    visits: cython.longlong
    most_words: cython.Py_ssize_t

    def __init__(self, listing: Any, values: ValueInterner, oracle: Any, machine: Any, limits: Any) -> None:
        super().__init__(listing, values, oracle, machine, limits)
        self.visits = max(0, min(limits.flow_visits, 1 << 20))
        self.most_words = limits.flow_words
        self.open = self.is_back_edge = False
        self.lost_now, self.missed, self.known_again = [], {}, {}
        self.listing = listing
        self.on_stack: Any = ()

    def given_on_stack(self, values: Any) -> None:
        """Set the frame's values at entry: (offset from the call frame address, value id)."""
        self.on_stack = values

    def solve(self, blocks: Any, order: Any) -> bool:
        """Solve for the blocks of ``order``, which must contain the predecessors of its blocks; False if it did not
        converge.

        ``blocks``: a column (i) of block starts, ends, the register of the call frame address at each start (-1:
        unknown), starts of successors (one more than blocks), successors; the numbers of blocks and successors; offsets
        of the call frame address (q); roots (B, 1: entered with an unknown state, 2: function entry); whether any block
        may be entered; (register, value) at entry.
        """
        column, count, total, self.rule_offset, roots, self.open, begin = blocks
        self.block_first, self.block_end = column[:count], column[count : 2 * count]
        self.rule_register, self.following_first = column[2 * count : 3 * count], column[3 * count : 4 * count + 1]
        self.following = column[4 * count + 1 : 4 * count + 1 + total]
        self.living = Liveness(self.listing, column, count, self.open, self.oracle, self.values.taken).behind
        self.local = NonEscapingAddresses(self.listing, column, count, self.oracle.calls, self.values.rooms)
        self.numbers = branch_facts(self.listing, column, count, self.lost_low)
        self._set_top(begin)
        self.pool = self.values.lend_pool()
        try:
            return self._settle(order, roots, begin)
        finally:
            # Copy the result and reuse the buffer: fresh pages cost more.
            self.values.take_pool(self.pool)
            self.pool = copied(self.pool, self.pool_used)
            self.stop_noting()

    def _settle(self, order: Any, roots: Any, begin: Any) -> bool:
        before: cython.Py_ssize_t
        for _again in range(3):
            before = len(self.escaped)
            self.grown = False
            self.stayed_used = 0
            self.forgotten.clear()
            if not self._iterate(order, roots, begin):
                return False
            if any(self.escaped_as.get(offset) for offset in self.forgotten):
                # Pointers to escaped pointers were found too late: repeat.
                continue
            if not self.grown and (len(self.escaped) == before or not self.kept_slots_have_escaped()):
                break
        return True

    @cython.locals(
        k=cython.Py_ssize_t, at=cython.Py_ssize_t, m=cython.Py_ssize_t, row=cython.Py_ssize_t, top=cython.longlong,
        register=cython.longlong,
    )  # fmt: skip  # rows of C types
    def _set_top(self, begin: Any) -> None:
        """Set the number of registers that may hold anything: those that an instruction or variable names."""
        top = max(self.stack_pointer, self.frame_pointer, self.oracle.calls.highest, *self.parameters)
        for register, _value in begin:
            top = max(top, register)
        for each in self.taught_begin.values():
            for register, _value in each:
                top = max(top, register)
        for k in range(self.seeds.count):
            top = max(top, cython.cast(cython.longlong, self.seeded[2 * k]))
        for k in range(len(self.block_first)):
            top = max(top, cython.cast(cython.longlong, self.rule_register[k]))
        for k in range(self.count):
            row = self.templates[k] * ROW_WORDS
            for at in range(ROW_DESTINATION, ROW_RIGHT + 1):
                top = max(top, self.rows[row + at])
            if self.upper and self.rows[row + ROW_ACTION] in (LOAD_PAIR, COPY_PAIR, SET_UPPER):
                top = max(top, self.rows[row + ROW_DESTINATION] + self.upper)
            m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
            for _operand in range(self.rows[row + ROW_OPERANDS]):
                top = max(top, self.operands[m + OPERAND_BASE], self.operands[m + OPERAND_INDEX])
                m += OPERAND_WORDS
            if self.teaching and self.taught[k]:
                top = max(top, cython.cast(cython.longlong, self.taught_register[k]))
        self.top = min(top + 1, REGISTERS)

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        register=cython.Py_ssize_t, value=cython.int, changed=cython.bint, i=cython.Py_ssize_t, copies=list,
    )  # fmt: skip  # rows of C types
    def _merge_zero(self, number: cython.Py_ssize_t, register: cython.Py_ssize_t) -> cython.bint:
        """Join the state into a block's start on an edge where a register, and its copies, are 0."""
        copies = []
        value = self.state[register]
        if not value or self.base_of(value) in (NUMBER, OBJECT):
            self.state[register] = NULL
            if value and self.symbol_of(value) > 0:
                for i in range(self.top):
                    if self.state[i] == value:
                        self.state[i] = NULL
                        copies.append(i)
        changed = self._merge(number)
        for i in copies:
            self.state[i] = value
        self.state[register] = value
        return changed

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(value=cython.int, wanted=cython.longlong, changed=cython.bint)
    def _merge_number(
        self, number: cython.Py_ssize_t, register: cython.Py_ssize_t, k: cython.Py_ssize_t, half: cython.bint
    ) -> cython.bint:
        """The same where a register (or its lower half) equals the constant it is compared with. If it is known to
        differ, as in a loop's first iteration, the edge is infeasible."""
        value = self.state[register]
        wanted = self.immediate(k, self.templates[k] * ROW_WORDS)
        if self.base_of(value) == NUMBER and not self.type_of(value):
            if not self.step_of(value) and (self.offset_of(value) - wanted) & (WORD if half else -1):
                return False
            if self.step_of(value) > 1:
                self.state[register] = self.constant(wanted)
        changed = self._merge(number)
        self.state[register] = value
        return changed

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        order="const int[::1]",
        roots="const unsigned char[::1]",
        rank="int[::1]",
        queued="unsigned char[::1]",
        last=cython.bint,
        at=cython.Py_ssize_t,
        i=cython.Py_ssize_t,
        number=cython.Py_ssize_t,
        following=cython.Py_ssize_t,
        lowest=cython.Py_ssize_t,
        zero=cython.int,
        compared=cython.int,
        half=cython.bint,
        changed=cython.bint,
        budget=cython.longlong,
    )
    def _iterate(self, order_of: Any, roots_of: Any, begin: Any) -> cython.bint:
        order, roots = order_of, roots_of
        count: cython.Py_ssize_t = len(self.block_first)
        self.pool_used = 0
        self.entries = zeros("i", 2 * count)
        rank = zeros("i", count)
        # Queued blocks by rank; then, by number, blocks whose state is final.
        queued = zeros("B", len(order) + count + 1)
        settled: cython.Py_ssize_t = len(order) + 1
        last = False
        for number in range(count):
            rank[number] = -1
            self.entries[2 * number + 1] = -1
        for i in range(len(order)):
            rank[order[i]] = i
        self._count_ways(order, roots)
        lowest = len(order)
        for i in range(len(order)):
            number = order[i]
            if roots[number] == 2 or (roots[number] and self.open):
                self._clear()
                if roots[number] == 2:
                    for register, value in begin:
                        self.state[register] = self.values.number(value)
                    for offset, value in self.on_stack:
                        self.put(offset, 8, value)
                self._keep(number)
                queued[i] = 1
                lowest = min(lowest, i)
        budget = self.visits * count + (64 if self.visits else 0)
        self.missed.clear()
        self.known_again.clear()
        again: cython.int = RECOVERIES
        at = lowest
        while True:
            if at >= len(order) and self.known_again and again:
                again -= 1
                for following in self._recover_lost_cells(roots):
                    queued[rank[following]] = 1
                    at = min(at, cython.cast(cython.Py_ssize_t, rank[following]))
            if at >= len(order):
                # Unreached blocks start with an unknown state, which must not weaken blocks already reached.
                for number in range(count):
                    if self.entries[2 * number + 1] >= 0:
                        queued[settled + number] = 1
                for i in range(len(order)):
                    number = order[i]
                    if self.entries[2 * number + 1] < 0 and (roots[number] or last):
                        self._clear()
                        self._keep(number)
                        # An unreachable loop: its first iteration is unknown.
                        self.ways[number] = 2
                        queued[i] = 1
                        at = min(at, i)
                if at >= len(order):
                    if last:
                        break
                    last = True
                continue
            if not queued[at]:
                at += 1
                continue
            queued[at] = 0
            number = order[at]
            budget -= 1
            if budget < 0 or self.pool_used > self.most_words:
                # Give up: block starts have only what variables declare.
                for number in range(count):
                    self.entries[2 * number + 1] = -1
                return False
            self.go_through(number)
            lowest = at + 1
            for i in range(self.following_first[number], self.following_first[number + 1]):
                following = self.following[i]
                if rank[following] < 0 or queued[settled + following]:
                    continue
                zero = self.numbers[2 * number]
                half = zero >= LOWER_HALF
                if half:
                    zero -= LOWER_HALF
                compared = self.numbers[2 * number + 1]
                self.is_back_edge = rank[following] <= at
                if zero >= 0 and zero & 1 == i - self.following_first[number]:
                    if compared >= 0:
                        changed = self._merge_number(following, zero >> 1, compared, half)
                    else:
                        changed = self._merge(following) if half else self._merge_zero(following, zero >> 1)
                elif zero >= 0 and compared < 0 and self.state[zero >> 1] == NULL:
                    # Known to be null, as at a loop's start: the edge is infeasible.
                    continue
                else:
                    changed = self._merge(following)
                if self.is_back_edge and (self.lost_now or self.missed):
                    self._record_lost_cells(number, following)
                if changed:
                    queued[rank[following]] = 1
                    lowest = min(lowest, cython.cast(cython.Py_ssize_t, rank[following]))
            at = lowest
        return True

    @cython.cfunc
    @cython.inline
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def _clear(self) -> cython.int:
        i: cython.Py_ssize_t
        for i in range(self.top):
            self.state[i] = NOTHING
        for i in range(REGISTERS, REGISTERS + self.slots):
            self.state[i] = NOTHING
        return 0

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(-1)
    def _keep(self, number: cython.Py_ssize_t) -> cython.int:
        """Store the state as that of a block's start."""
        first: cython.Py_ssize_t = self.pool_used
        behind: cython.Py_ssize_t = first + self.top
        i: cython.Py_ssize_t
        if behind + self.slots > len(self.pool):
            self.pool = longer(self.pool, first, 2 * len(self.pool) + self.top + self.slots)
        self.entries[2 * number] = first
        self.entries[2 * number + 1] = self.slots
        for i in range(self.top):
            self.pool[first + i] = self.state[i]
        for i in range(self.slots):
            self.pool[behind + i] = self.state[REGISTERS + i]
        self.pool_used = behind + self.slots
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _merge(self, number: cython.Py_ssize_t) -> cython.bint:
        """Join the state into that of a block's start; True if that changed it."""
        slots: cython.Py_ssize_t = self.entries[2 * number + 1]
        if slots < 0:
            self._keep(number)
            return True
        if self.open:
            return False
        if self.ways[number] < 2:
            return self._replace_begin(number, slots)
        first: cython.Py_ssize_t = self.entries[2 * number]
        changed: cython.bint = self._meet(first, 0, self.top)
        return self._meet(first + self.top, REGISTERS, slots) or changed

    def _record_lost_cells(self, number: int, following: int) -> None:
        """Record what a back edge lost of a loop header's state, and what it knows of that by now."""
        turn = number, following
        if self.lost_now:
            self.missed.setdefault(turn, {}).update({cell: self.state[cell] for cell in self.lost_now})
            self.lost_now = []
        missed = self.missed.get(turn, {})
        known = [cell for cell in missed if self.state[cell] and self.state[cell] != missed[cell]]
        if known:
            self.known_again.setdefault(following, set()).update(known)

    @cython.locals(
        roots="const unsigned char[::1]", number=cython.Py_ssize_t, i=cython.Py_ssize_t, cell=cython.Py_ssize_t,
        at=cython.Py_ssize_t, following=cython.Py_ssize_t, cells=set,
    )  # fmt: skip  # rows of C types
    def _recover_lost_cells(self, roots_of: Any) -> list[int]:
        """Recover values that a back edge lost: join what all predecessors know by now. Returns the headers that
        changed.

        The first iteration may depend on what only later ones know, such as the type before an array's first element.
        """
        roots = roots_of
        found = []
        for following, cells in self.known_again.items():
            met: dict[int, int] = {}
            for number in range(len(self.block_first) if not roots[following] and self.ways[following] > 1 else 0):
                for i in range(self.following_first[number], self.following_first[number + 1]):
                    if self.following[i] != following or self.entries[2 * number + 1] < 0:
                        continue
                    self.go_through(number)
                    for cell in cells:
                        met[cell] = self.join(met[cell], self.state[cell]) if cell in met else self.state[cell]
                    break
            for cell in met:
                at = self.entries[2 * following] + (cell if cell < REGISTERS else self.top + cell - REGISTERS)
                if met[cell] and not self.pool[at]:
                    self.pool[at] = met[cell]
                    found.append(following)
        self.known_again = {}
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def go_through(self, number: cython.Py_ssize_t) -> cython.int:
        """Set the state to that at a block's end."""
        i: cython.Py_ssize_t
        self.enter(number)
        for i in range(self.block_first[number], self.block_end[number]):
            self.seed(i)
            self.apply(i)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(
        order="const int[::1]",
        roots="const unsigned char[::1]",
        i=cython.Py_ssize_t,
        k=cython.Py_ssize_t,
        number=cython.Py_ssize_t,
    )
    def _count_ways(self, order_of: Any, roots_of: Any) -> cython.int:
        """Count incoming edges of blocks, up to two."""
        order, roots = order_of, roots_of
        self.ways = zeros("B", len(self.block_first))
        for i in range(len(order)):
            number = order[i]
            if roots[number]:
                self.ways[number] = 2
            for k in range(self.following_first[number], self.following_first[number + 1]):
                if self.ways[self.following[k]] < 2:
                    self.ways[self.following[k]] += 1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    @cython.locals(changed=cython.bint, first=cython.Py_ssize_t, i=cython.Py_ssize_t)
    def _replace_begin(self, number: cython.Py_ssize_t, slots: cython.Py_ssize_t) -> cython.bint:
        """Store the state as that of a block with one predecessor, replacing the old one; True if it changed.

        An index's pointee may only be known once it is seen to change, so the new state may be better.
        """
        changed = False
        first = self.entries[2 * number]
        for i in range(self.top):
            if self.pool[first + i] != self.state[i]:
                self.pool[first + i] = self.state[i]
                changed = True
        first += self.top
        for i in range(slots):
            if self.pool[first + i] != self.state[REGISTERS + i]:
                self.pool[first + i] = self.state[REGISTERS + i]
                changed = True
        return changed

    @cython.cfunc
    @cython.boundscheck(False)
    @cython.exceptval(-1)
    def _meet(self, first: cython.Py_ssize_t, begin: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.bint:
        """Join ``count`` entries of the state into the pool; True if that changed it."""
        changed: cython.bint = False
        known: cython.int
        met: cython.int
        i: cython.Py_ssize_t
        for i in range(count):
            known = self.pool[first + i]
            if not known or self.state[begin + i] == known:
                continue
            met = self.join(known, self.state[begin + i])
            if not met and self.state[begin + i]:
                met = self.join_frame_pointer(known, self.state[begin + i])
            if not met and self.is_back_edge and self.base_of(known) == OBJECT:
                self.lost_now.append(begin + i)
            if met != known:
                self.pool[first + i] = met
                changed = True
        return changed

    @cython.ccall
    @cython.exceptval(-1)
    def enter(self, number: cython.Py_ssize_t) -> cython.int:
        """Set the state to that at a block's start."""
        self.derived_before = -1
        if self.entries[2 * number + 1] < 0:
            self._clear()
        else:
            self._fill(self.entries[2 * number], self.entries[2 * number + 1])
        register: cython.int = self.rule_register[number]
        if register >= 0 and register < self.top and self.base_of(self.state[register]) != FRAME:
            self.state[register] = self.values.intern(FRAME, 0, 0, 0, -self.rule_offset[number])
        if self.teaching:
            for known, value in self.taught_begin.get(number, ()):
                self.put_taught(known, value)
        return 0

    def go_on(self, number: cython.Py_ssize_t, following: cython.Py_ssize_t) -> None:
        """Store the state at the end of one block as that at the start of another."""
        self.go_through(number)
        self._keep(following)

    @cython.cfunc
    @cython.inline
    @cython.boundscheck(False)
    @cython.exceptval(check=False)
    def _fill(self, first: cython.Py_ssize_t, slots: cython.Py_ssize_t) -> cython.int:
        """Load the state from the pool."""
        i: cython.Py_ssize_t
        for i in range(self.top):
            self.state[i] = self.pool[first + i]
        first += self.top
        for i in range(slots):
            self.state[REGISTERS + i] = self.pool[first + i]
        for i in range(REGISTERS + slots, REGISTERS + self.slots):
            self.state[i] = NOTHING
        return 0

    def has_escaped(self) -> cython.bint:
        """Whether any stack address escapes."""
        return len(self.escaped) > 0

    def register(self, register: cython.Py_ssize_t) -> Any:
        """The value of a register as a tuple; None if unknown."""
        known: cython.int = self.state[register] if 0 <= register < REGISTERS else NOTHING
        return self.values.of(known) if known != ANYWHERE else None

    def address(self, k: cython.Py_ssize_t, operand: cython.Py_ssize_t) -> Any:
        """The address of an operand as a tuple; None if unknown."""
        row: cython.Py_ssize_t = self.templates[k] * ROW_WORDS
        return self.values.of(self.address_of(k, (self.rows[row + ROW_OPERAND] + operand) * OPERAND_WORDS, 0))

    def variable(self, k: cython.Py_ssize_t, offset: cython.longlong) -> "tuple[int, int] | None":
        """(location number, offset in the variable) of the innermost variable at an offset from the call frame address;
        None if none."""
        return (self.found, self.within) if self.stack_variable(k, offset) else None

    def variable_by_register(self, k: cython.Py_ssize_t, operand: cython.Py_ssize_t) -> "tuple[int, int] | None":
        """The same for a variable whose location is relative to an operand's base register, whatever that holds."""
        row: cython.Py_ssize_t = self.templates[k] * ROW_WORDS
        at: cython.Py_ssize_t = (self.rows[row + ROW_OPERAND] + operand) * OPERAND_WORDS
        return (self.found, self.within) if self.memory_variable(k, at, 0) else None

    @cython.locals(
        found=list, number=cython.Py_ssize_t, k=cython.Py_ssize_t, m=cython.Py_ssize_t, row=cython.Py_ssize_t,
        base=cython.longlong, value=cython.int, at=cython.Py_ssize_t,
    )  # fmt: skip  # rows of C types
    def through_unions(self) -> Any:
        """(symbol, choice type, instruction, operand, offset) of all accesses through pointers loaded from unions."""
        found = []
        for number in range(len(self.block_first)):
            if self.entries[2 * number + 1] < 0:
                continue
            self.enter(number)
            for k in range(self.block_first[number], self.block_end[number]):
                self.seed(k)
                row = self.templates[k] * ROW_WORDS
                m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
                for at in range(self.rows[row + ROW_OPERANDS]):
                    base = self.operands[m + OPERAND_BASE]
                    if base >= 0 and self.operands[m + OPERAND_ACCESS] and self.operands[m + OPERAND_INDEX] < 0:
                        value = self.state[base]
                        if self.base_of(value) == OBJECT and self.symbol_of(value) and not self.step_of(value):
                            found.append(
                                (
                                    self.symbol_of(value),
                                    self.type_of(value),
                                    k,
                                    at,
                                    self.offset_of(value) + self.displacement(k, m),
                                )
                            )
                    m += OPERAND_WORDS
                self.apply(k)
        return found

    @cython.locals(
        number=cython.Py_ssize_t, k=cython.Py_ssize_t, m=cython.Py_ssize_t, row=cython.Py_ssize_t, value=cython.int,
        size=cython.longlong, whole=cython.longlong,
    )  # fmt: skip  # rows of C types
    def crossing(self, most: cython.longlong) -> set[int]:
        """Types whose array elements some access of at most ``most`` bytes would straddle."""
        found: set[int] = set()
        graph: Any = self.oracle.graph
        for number in range(len(self.block_first)):
            if self.entries[2 * number + 1] < 0:
                continue
            self.enter(number)
            for k in range(self.block_first[number], self.block_end[number]):
                self.seed(k)
                row = self.templates[k] * ROW_WORDS
                m = self.rows[row + ROW_OPERAND] * OPERAND_WORDS
                for _operand in range(self.rows[row + ROW_OPERANDS]):
                    size = self.operands[m + OPERAND_SIZE]
                    value = self.address_of(k, m, 0) if 0 < size <= most else NOTHING
                    if self.base_of(value) == OBJECT and not self.step_of(value) and self.offset_of(value) > 0:
                        whole = graph.size(self.type_of(value))
                        if 0 < whole <= self.offset_of(value) and self.offset_of(value) % whole + size > whole:
                            found.add(self.type_of(value))
                    m += OPERAND_WORDS
                self.apply(k)
        return found
