"""Data flow of one function: the state of the stack at each instruction.

A worklist of basic blocks is run to a fixed point; a block starts with the join of the states of its predecessors. A
block that is reached with two depths of the stack has no known depth, unless one edge falls through from a call:
compilers let depths differ only where they know that a call does not return.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from heapq import heappop, heappush

from undwarf.tables.code import operations as do
from undwarf.tables.code.decoding import only_padding
from undwarf.tables.code.program import Program
from undwarf.tables.code.stack_state import (
    ANCHORS,
    CFA,
    CONSTANT,
    HALF,
    KINDS,
    OFFSET,
    OUTERMOST,
    TARGET,
    WORD,
    RuleWords,
    State,
    entry_state,
    merge,
    rule_of,
)
from undwarf.tables.code.transfer import CLOBBERED, Transfer, table_entry
from undwarf.tables.rule_kinds import CFA_REGISTER

__all__ = ["Flow"]

_PADDING = (b"\x90", b"\x66", b"\x0f", b"\xcc", b"\x2e", b"\x67")
"""First bytes of instructions that do nothing."""


class Flow:
    """One function with all pieces of code that it reaches with its frame on the stack; ``defect`` names the limit that
    was hit."""

    def __init__(
        self,
        program: Program,
        start: int,
        end: int,
        *,
        entries: "list[tuple[int, int]] | None" = None,
        stubs: bool = False,
    ) -> None:
        self.program = program
        self.start = start
        self.end = end
        self.entries = entries if entries is not None else [(start, 8)]
        """Where it is entered, and by how much the stack pointer is then below the call frame address."""
        self.stubs = stubs
        """Whether these are a linker's stubs, each padded."""
        self.operations: list[do.Operation] = []
        self.pieces: list[tuple[int, int]] = []
        self.states: dict[int, State] = {}
        self.blocks: dict[int, tuple[list[tuple[int, RuleWords | None]], int]] = {}
        self.call_before: dict[int, int] = {}
        self.noreturn_calls: set[int] = set()
        self.leaders: set[int] = {address for address, _ in self.entries}
        self.tail_calls: dict[tuple[int, int], State] = {}
        """Functions that it jumps to without a frame, with the state there."""
        self.entered_with_frame: set[tuple[int, int]] = set()
        """Pieces of code elsewhere that it jumps to with its frame on the stack."""
        self._transfer = Transfer()
        self.keeps_stack = False
        """Whether no instruction changes the stack pointer."""
        self.defect = ""
        self._queue: list[int] = []
        self._again = False
        self._new: list[do.Operation] = []
        self._pads: list[tuple[int, int, int]] = []
        self._rules: dict[object, RuleWords | None] = {}

    # -- code ---------------------------------------------------------------------------------------------------

    def _take(self, start: int, end: int) -> None:
        """Add the operations of a piece of code."""
        self.pieces.append((start, end))
        found = self.program.operations(start, end)
        if found is None or len(self.operations) + len(found) > self._most:
            self.defect = "too much code"
            found = [(start, do.STOP, 0, 0, 0, end)]
        targets = {one[2] for one in found if one[1] in (do.BRANCH, do.JUMP) and start <= one[2] < end}
        self._pads += self.program.landing_pads(start)
        self.leaders |= targets
        merged = [*self.operations, *found, (end, do.END, 0, 0, 0, end)]
        merged += [(at, do.LEADER, 0, 0, 0, at) for at in targets]
        merged += [(at, do.LEADER, 0, 0, 0, at) for at in self.leaders - targets if start <= at < end]
        merged.sort()
        self.operations = merged

    def _inside(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.pieces)

    # -- running ------------------------------------------------------------------------------------------------

    def run(self, *, rounds: int = 40, steps: int = 2_000_000, pieces: int = 64, operations: int = 100_000) -> None:
        """Find the state at every reachable instruction."""
        self._most = operations
        self._take(self.start, self.end)
        self.keeps_stack = self._keeps_stack(self.start, self.end)
        self._limit = pieces
        for _ in range(rounds):
            self._again = False
            if self._new:
                self.operations = sorted({*self.operations, *self._new})
                self._new = []
            self.states.clear()
            self.blocks.clear()
            self.call_before.clear()
            self.tail_calls.clear()
            self._queue = []
            for entry, depth in self.entries:
                self._reach(entry, entry_state(depth), 0)
            while self._queue:
                block = heappop(self._queue)
                steps -= self._block(block)
                if steps < 0:
                    self.defect = "too many steps"
                    self.states.clear()
                    self.blocks.clear()
                    return
            if not self._again and not self._new:
                return
        self.defect = "no end"
        self.states.clear()
        self.blocks.clear()

    def _reach(self, target: int, state: State, call: int) -> None:
        """Join an edge's state into a block. ``call`` is the address of a call that the edge directly follows, else
        0."""
        known = self.states.get(target)
        if known is None:
            if target not in self.leaders:
                # Blocks that run past this address are to end here.
                self.leaders.add(target)
                self._new.append((target, do.LEADER, 0, 0, 0, target))
            self.states[target] = (list(state[0]), dict(state[1]))
            self.call_before[target] = call
            heappush(self._queue, target)
            return
        mine = known[0][7]
        other = state[0][7]
        if mine != other and mine and other:
            if call:
                self.noreturn_calls.add(call)
                return
            if self.call_before.get(target):
                self.noreturn_calls.add(self.call_before[target])
                self._again = True
                return
        if not call:
            self.call_before[target] = 0
        changed = False
        theirs = state[0]
        for r in (6, 7):
            # Where edges have different stack or frame pointers, the join gives them a value of their own, so that what
            # is stored relative to it from here on is known.
            mine, other = known[0][r], theirs[r]
            if mine != other and HALF <= mine < ANCHORS and HALF <= other < ANCHORS:
                value = self._transfer.anchor(-2 * target - (r & 1))
                changed = changed or mine != value
                theirs = [*theirs[:r], value, *theirs[r + 1 :]]
                known[0][r] = value
        if merge(known, (theirs, state[1])) or changed:
            heappush(self._queue, target)

    def _go(self, target: int, state: State, call: int = 0) -> None:
        """Follow a jump."""
        if self.start <= target < self.end:
            self._reach(target, state, call)
            return
        registers = state[0]
        if self._inside(target):
            if registers[7] != CFA - 8:
                self.entered_with_frame.add(next(one for one in self.pieces if one[0] <= target < one[1]))
            self._reach(target, state, call)
            return
        found = self.program.range_at(target)
        if found is None:
            return
        start, end = found
        if registers[7] == CFA - 8 and target == start:
            # Most likely a tail call. Else the jumps of other functions show that it is a piece of this one.
            self.tail_calls.setdefault((start, end), (list(registers), dict(state[1])))
            return
        if len(self.pieces) >= self._limit:
            self.defect = "too many pieces"
            return
        if registers[7] != CFA - 8:
            self.entered_with_frame.add(found)
        self.leaders.add(target)
        self._take(start, end)
        left = self.tail_calls.get(found)
        if left is not None:
            self.leaders.add(start)
            self._new.append((start, do.LEADER, 0, 0, 0, start))
            self._reach(start, left, 0)
        self._reach(target, state, call)

    def _rule(self, state: State) -> RuleWords | None:
        registers, words = state
        key = (tuple(registers), tuple(words.items()))
        try:
            return self._rules[key]
        except KeyError:
            rule = self._rules[key] = rule_of(state)
            return rule

    def state_at(self, address: int) -> State | None:
        """The state before the instruction at an address; None if it is not reached."""
        for block, (_, after) in self.blocks.items():
            if block <= address < after:
                self._found: State | None = None
                self._block(block, address)
                return self._found
        return None

    def _block(self, start: int, until: int = 1 << 70) -> int:
        """Run one block and pass its last state to its successors; how many operations it has. It stops at ``until``,
        with the state there in ``_found``."""
        known = self.states[start]
        registers = list(known[0])
        words = dict(known[1])
        state = (registers, words)
        operations = self.operations
        functions = self._transfer.of
        first = at = bisect_right(operations, (start, do.LEADER, 1 << 70))
        if not self._inside(start):
            # In damaged code a block may start at the end of the code.
            self.blocks[start] = [], start
            return 1
        rule = self._rule(state)
        rows: list[tuple[int, RuleWords | None]] = [(start, rule)]
        called = 0
        last = False
        compared: tuple[int, int] | None = None
        while True:
            address, kind, a, b, _, after = operation = operations[at]
            if address >= until:
                self._found = state
                return 0
            at += 1
            function = functions[kind]
            if function is not None:
                changed = function(registers, words, operation)
            elif kind == do.CALL:
                changed = False
                if a == after:
                    # A call of the next instruction, which pushes its address.
                    registers[7] -= 8
                    words.pop(registers[7], None)
                    changed = True
                else:
                    if self._pads:
                        self._reach_landing_pads(address, state)
                    if self._never_returns(address, a, b, after):
                        self.blocks[start] = rows, after
                        return at - first
                    if registers[6] == CONSTANT and self._is_last(at):
                        rows.append((address, OUTERMOST))
                        rule = OUTERMOST
                        last = True
                    for r in self._clobbered(a, registers):
                        if HALF <= registers[r] < ANCHORS:
                            changed = True
                        registers[r] = 0
                    called = address
            elif kind == do.BRANCH:
                if compared is not None and at >= 2 and operations[at - 2][1] == do.COMPARE:
                    self._go(a, (list(registers), dict(words)))
                    changed = self._equated(registers, compared)
                else:
                    self._go(a, state)
                    changed = False
            elif kind == do.LIMIT:
                continue
            elif kind == do.COMPARE:
                compared = (a, b)
                continue
            else:
                upto = self._end_block(operation, operations[at - 2], state, called, last)
                self.blocks[start] = rows, upto
                return at - first
            if changed and not last:
                now = self._rule(state)
                realigned = kind == do.ADDRESS and operations[at][1:3] == (do.ALIGN, 7)
                if realigned and registers[a] == CFA and now is not None:
                    # Compilers' rules use this register from here on.
                    now = (CFA_REGISTER, a, 0, 0), now[1]
                if now != rule:
                    rule = now
                    rows.append((after, rule))

    def _end_block(self, operation: do.Operation, before: do.Operation, state: State, called: int, last: bool) -> int:
        """Pass a block's state along the edges of the operation that ends it; where the block ends. ``called`` is the
        address of its last call, ``last`` whether that one ends the thread or program."""
        address, kind, a, b, c, after = operation
        if kind == do.LEADER or kind == do.END:
            call = called if called and self._falls_through(before, called, address) else 0
            if kind == do.LEADER:
                self._reach(address, state, call)
            elif self._inside(address) or (state[0][7] != CFA - 8 and not call):
                self._go(address, state, call)
            return address
        if kind == do.JUMP:
            self._go(a, state)
        elif kind == do.HALT:
            padding = only_padding(self.program.code(after, after + 2), after)
            if not last and self._inside(after) and not padding:
                self._reach(after, state, 0)
        elif kind == do.INDIRECT:
            self._indirect(address, a, b, c, state)
        return after

    @staticmethod
    def _equated(registers: list[int], compared: tuple[int, int]) -> bool:
        """After the loop that touches the pages of a large frame two registers are equal, one of them the stack
        pointer. Returns whether the stack pointer's value changed."""
        other = compared[1] if compared[0] == 7 else compared[0]
        if HALF <= registers[other] < ANCHORS and registers[7] != registers[other]:
            registers[7] = registers[other]
            return True
        return False

    def _never_returns(self, address: int, target: int, pointer: int, after: int) -> bool:
        """Whether a call is known not to return."""
        return (
            address in self.noreturn_calls
            or self.program.never_returns(target, pointer)
            or (self.program.searched and self._ends_function(after))
        )

    def _clobbered(self, address: int, registers: list[int]) -> Iterable[int]:
        """The registers that a call may change. Functions in assembly that call each other keep to no convention, so
        that their code is looked at where the stack's address is in such a register."""
        if address and any(HALF <= registers[r] < CFA + HALF for r in CLOBBERED):
            if HALF <= registers[7] < CFA + HALF:
                return CLOBBERED
            changed = self.program.changed_by(address)
            if changed is not None:
                return [r for r in CLOBBERED if r in changed]
        return CLOBBERED

    def _ends_function(self, after: int) -> bool:
        """Whether a function seems to begin after a call, which then does not return: after padding, at an aligned
        address that nothing here jumps to. Compilers pad before jump targets and before functions."""
        aligned = (after + 15) & -16
        if aligned == after or aligned in self.leaders:
            return False
        padding = self.program.code(after, aligned)
        return padding[:1] in _PADDING and only_padding(padding, after)

    def _is_last(self, at: int) -> bool:
        """Whether straight-line code up to a `hlt` follows an operation: with a frame pointer of zero, that is how code
        calls which was not called itself (System V ABI, 3.4.1)."""
        for one in self.operations[at : at + 16]:
            if one[1] == do.HALT:
                return True
            if one[1] in (do.LEADER, do.BRANCH, do.JUMP, do.RETURN, do.INDIRECT, do.STOP, do.END):
                return False
        return False

    def _falls_through(self, previous: do.Operation, call: int, address: int) -> bool:
        """Whether only padding is between a call and an address."""
        after = previous[5]
        if previous[0] != call:
            return False
        return after == address or only_padding(self.program.code(after, address), after)

    # -- jumps --------------------------------------------------------------------------------------------------

    def _indirect(self, address: int, a: int, b: int, c: int, state: State) -> None:
        """Follow a jump through a register or memory: by a jump table, or to a constant address; else it has no
        edges."""
        registers = state[0]
        value = 0
        if a >= 0:
            value = registers[a]
        elif a == -2:
            value = table_entry(WORD, registers, b, c)
        if TARGET <= value < KINDS:
            if value < WORD:
                table, base = list(self._transfer.tables)[value - TARGET]
                kind = do.OFFSETS
            else:
                table, base, kind = value - WORD, 0, do.WORDS
            start, end = next(((s, e) for s, e in self.pieces if s <= address < e), (self.start, self.end))
            targets = self.program.table(kind, table, base, self._bound(address), start, end)
            if targets:
                for target in sorted(set(targets)):
                    self._go(target, state)
                return
        if CONSTANT <= value < OFFSET:
            self._go(value - CONSTANT, state)
            return

    def _bound(self, address: int) -> int:
        """The number of entries of a jump's table by the comparison before it; 0 if there is none."""
        operations = self.operations
        at = bisect_left(operations, (address, do.LEADER, 0))
        branch = False
        for i in range(at - 1, max(at - 24, -1), -1):
            kind = operations[i][1]
            if kind == do.BRANCH:
                branch = bool(operations[i][3])
            elif kind == do.LIMIT and branch:
                count = operations[i][4]
                return count + 1 if count < 1 << 16 else 0
            elif kind in (do.CALL, do.JUMP, do.RETURN, do.INDIRECT, do.STOP):
                return 0
        return 0

    def _reach_landing_pads(self, address: int, state: State) -> None:
        """Follow the exceptions of a call to its landing pad, which has the same frame."""
        for first, after, target in self._pads:
            if first <= address < after:
                self._go(target, state)

    def _keeps_stack(self, start: int, end: int) -> bool:
        """Whether no instruction of a range changes the stack pointer."""
        return all(one[1] not in do.STACK and one[2] != do.RSP for one in self.operations if start <= one[0] < end)

    def _ends(self, address: int, end: int, unmoved: bool) -> bool:
        """Whether the code from the last block that is reached to the end of the range has no rule."""
        padding = only_padding(self.program.code(address, end), address)
        if self.stubs:
            return not padding
        return padding or not unmoved

    # -- result -------------------------------------------------------------------------------------------------

    def rows(self, start: int, end: int) -> list[tuple[int, RuleWords | None]]:
        """(address, rule) of a range, ascending; None where the rule is unknown."""
        if self.defect:
            return [(start, None)]
        found: list[tuple[int, RuleWords | None]] = []
        # A piece elsewhere may set up a frame of its own.
        unmoved = self.keeps_stack and ((start, end) == (self.start, self.end) or self._keeps_stack(start, end))
        if unmoved:
            # All of it has the rule of the entry, unreached code too.
            found.append((start, self._rule(entry_state())))
        upto = start
        for block in sorted(self.blocks):
            if not start <= block < end:
                continue
            rows, after = self.blocks[block]
            # Padding is never run; compilers give it the rule of the code before it.
            known = unmoved or (found and only_padding(self.program.code(upto, block), upto))
            if block > upto and not known:
                found.append((upto, None))
            found += rows
            upto = after
        if upto < end and self._ends(upto, end, unmoved):
            found.append((upto, None))
        merged: list[tuple[int, RuleWords | None]] = []
        for row in found:
            if row[0] >= end:
                break
            if merged and merged[-1][0] == row[0]:
                merged[-1] = row
            elif not merged or merged[-1][1] != row[1]:
                merged.append(row)
        return merged
