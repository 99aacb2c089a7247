"""The flow of control through one function, and the stack's state along it.

Blocks are run from their first instruction with what holds on all ways to it, until nothing changes any more. A block
that is reached with two depths of the stack has no known depth, unless one of the ways comes out of a call: compilers
let stacks differ only where they know that the call does not return.
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
from undwarf.tables.code.transfer import CLOBBERED, Effects, table_entry
from undwarf.tables.rule_kinds import CFA_REGISTER

__all__ = ["Flow"]

_PADDING = (b"\x90", b"\x66", b"\x0f", b"\xcc", b"\x2e", b"\x67")
"""How instructions begin that do nothing."""


class Flow:
    """One function with all pieces of code that it reaches with a frame of its own.

    ``rows`` are (address, rule) ascending; None where nothing is known. ``unknown`` has the addresses of jumps that
    lead nobody knows where, ``defect`` the limit that was hit.
    """

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
        """Where it is entered, and how far below the call frame address the stack pointer then is."""
        self.stubs = stubs
        """Whether these are the linker's, each padded."""
        self.operations: list[do.Operation] = []
        self.pieces: list[tuple[int, int]] = []
        self.states: dict[int, State] = {}
        self.blocks: dict[int, tuple[list[tuple[int, RuleWords | None]], int]] = {}
        self.via: dict[int, int] = {}
        self.dead_calls: set[int] = set()
        self.leaders: set[int] = {address for address, _ in self.entries}
        self.unknown: set[int] = set()
        self.left: dict[tuple[int, int], State] = {}
        """Other functions it goes on with when it has taken down its frame."""
        self.framed: set[tuple[int, int]] = set()
        """Pieces of code elsewhere that it enters with a frame on the stack."""
        self._effects = Effects()
        self.returns = False
        self.keeps_stack = False
        """No instruction changes the stack pointer."""
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
        """Find the state at every instruction that can be reached."""
        self._most = operations
        self._take(self.start, self.end)
        self.keeps_stack = self._is_kept(self.start, self.end)
        self._limit = pieces
        for _ in range(rounds):
            self._again = False
            if self._new:
                self.operations = sorted({*self.operations, *self._new})
                self._new = []
            self.states.clear()
            self.blocks.clear()
            self.via.clear()
            self.unknown.clear()
            self.left.clear()
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
        """A way leads to a block; ``call`` is where it comes out of a call without doing anything else, else 0."""
        known = self.states.get(target)
        if known is None:
            if target not in self.leaders:
                # Blocks that run over this place are to end here.
                self.leaders.add(target)
                self._new.append((target, do.LEADER, 0, 0, 0, target))
            self.states[target] = (list(state[0]), dict(state[1]))
            self.via[target] = call
            heappush(self._queue, target)
            return
        mine = known[0][7]
        other = state[0][7]
        if mine != other and mine and other:
            if call:
                self.dead_calls.add(call)
                return
            if self.via.get(target):
                self.dead_calls.add(self.via[target])
                self._again = True
                return
        if not call:
            self.via[target] = 0
        changed = False
        theirs = state[0]
        for r in (6, 7):
            # Where two ways to a block have different stack or frame pointers these get a value of their own, so that
            # what is stored there from then on is known.
            mine, other = known[0][r], theirs[r]
            if mine != other and HALF <= mine < ANCHORS and HALF <= other < ANCHORS:
                value = self._effects.anchor(-2 * target - (r & 1))
                changed = changed or mine != value
                theirs = [*theirs[:r], value, *theirs[r + 1 :]]
                known[0][r] = value
        if merge(known, (theirs, state[1])) or changed:
            heappush(self._queue, target)

    def _go(self, target: int, state: State, call: int = 0) -> None:
        """A jump to another place."""
        if self.start <= target < self.end:
            self._reach(target, state, call)
            return
        registers = state[0]
        if self._inside(target):
            if registers[7] != CFA - 8:
                self.framed.add(next(one for one in self.pieces if one[0] <= target < one[1]))
            self._reach(target, state, call)
            return
        found = self.program.range_at(target)
        if found is None:
            return
        start, end = found
        if registers[7] == CFA - 8 and target == start:
            # Most likely a call of another function in place of a return; else its rules are known when others show
            # that it is a piece of this one.
            self.left.setdefault((start, end), (list(registers), dict(state[1])))
            return
        if len(self.pieces) >= self._limit:
            self.defect = "too many pieces"
            return
        if registers[7] != CFA - 8:
            self.framed.add(found)
        self.leaders.add(target)
        self._take(start, end)
        left = self.left.get(found)
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
        """What holds before the instruction at an address; None where it is not reached."""
        for block, (_, behind) in self.blocks.items():
            if block <= address < behind:
                self._found: State | None = None
                self._block(block, address)
                return self._found
        return None

    def _block(self, start: int, until: int = 1 << 70) -> int:
        """Run one block and pass its last state on; how many operations it has. ``until`` stops it, to look at its
        state there."""
        known = self.states[start]
        registers = list(known[0])
        words = dict(known[1])
        state = (registers, words)
        operations = self.operations
        effects = self._effects.of
        first = at = bisect_right(operations, (start, do.LEADER, 1 << 70))
        if not self._inside(start):
            # Damaged code leads to its own end.
            self.blocks[start] = [], start
            return 1
        rule = self._rule(state)
        rows: list[tuple[int, RuleWords | None]] = [(start, rule)]
        called = 0
        last = False
        compared: tuple[int, int] | None = None
        while True:
            address, kind, a, b, _, behind = operation = operations[at]
            if address >= until:
                self._found = state
                return 0
            at += 1
            effect = effects[kind]
            if effect is not None:
                changed = effect(registers, words, operation)
            elif kind == do.CALL:
                changed = False
                if a == behind:
                    # Only to learn where it is.
                    registers[7] -= 8
                    words.pop(registers[7], None)
                    changed = True
                else:
                    if self._pads:
                        self._throw(address, state)
                    if self._never_returns(address, a, b, behind):
                        self.blocks[start] = rows, behind
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
                    changed = self._made_equal(registers, compared)
                else:
                    self._go(a, state)
                    changed = False
            elif kind == do.LIMIT:
                continue
            elif kind == do.COMPARE:
                compared = (a, b)
                continue
            else:
                upto = self._leave(operation, operations[at - 2], state, called, last)
                self.blocks[start] = rows, upto
                return at - first
            if changed and not last:
                now = self._rule(state)
                realigned = kind == do.ADDRESS and operations[at][1:3] == (do.ALIGN, 7)
                if realigned and registers[a] == CFA and now is not None:
                    # Compilers name the call frame by this register from here on.
                    now = (CFA_REGISTER, a, 0, 0), now[1]
                if now != rule:
                    rule = now
                    rows.append((behind, rule))

    def _leave(self, operation: do.Operation, before: do.Operation, state: State, called: int, last: bool) -> int:
        """Pass a block's state on by the operation that ends it; where the block ends. ``called`` is where its last
        call is, ``last`` whether nothing but the program's end comes behind that."""
        address, kind, a, b, c, behind = operation
        if kind == do.LEADER or kind == do.END:
            call = called if called and self._leads_on(before, called, address) else 0
            if kind == do.LEADER:
                self._reach(address, state, call)
            elif self._inside(address) or (state[0][7] != CFA - 8 and not call):
                self._go(address, state, call)
            return address
        if kind == do.JUMP:
            self._go(a, state)
        elif kind == do.HALT:
            padding = only_padding(self.program.code(behind, behind + 2), behind)
            if not last and self._inside(behind) and not padding:
                self._reach(behind, state, 0)
        elif kind == do.RETURN:
            self.returns = True
        elif kind == do.INDIRECT:
            self._indirect(address, a, b, c, state)
        return behind

    @staticmethod
    def _made_equal(registers: list[int], compared: tuple[int, int]) -> bool:
        """The loop that touches a large frame's pages ends when the two registers are equal; one is the stack pointer.
        Whether that says where it is."""
        other = compared[1] if compared[0] == 7 else compared[0]
        if HALF <= registers[other] < ANCHORS and registers[7] != registers[other]:
            registers[7] = registers[other]
            return True
        return False

    def _never_returns(self, address: int, target: int, pointer: int, behind: int) -> bool:
        """Whether a call does not come back, as far as that is known."""
        return (
            address in self.dead_calls
            or self.program.never_returns(target, pointer)
            or (self.program.searched and self._ends_function(behind))
        )

    def _clobbered(self, address: int, registers: list[int]) -> Iterable[int]:
        """The registers that a call may change. Functions written by hand that call each other keep to no convention,
        so look where it matters."""
        if address and any(HALF <= registers[r] < CFA + HALF for r in CLOBBERED):
            if HALF <= registers[7] < CFA + HALF:
                return CLOBBERED
            changed = self.program.changed_by(address)
            if changed is not None:
                return [r for r in CLOBBERED if r in changed]
        return CLOBBERED

    def _ends_function(self, behind: int) -> bool:
        """Whether another function seems to begin behind a call, which then does not return: behind padding, at a round
        address that nothing here jumps to. Compilers pad in front of what is jumped to, or in front of functions."""
        aligned = (behind + 15) & -16
        if aligned == behind or aligned in self.leaders:
            return False
        padding = self.program.code(behind, aligned)
        return padding[:1] in _PADDING and only_padding(padding, behind)

    def _is_last(self, at: int) -> bool:
        """Whether nothing but the way to the end of the thread or program, behind which a `hlt` stands, is from an
        operation on: together with a frame pointer of zero that is how whoever was not called calls (System V ABI,
        3.4.1)."""
        for one in self.operations[at : at + 16]:
            if one[1] == do.HALT:
                return True
            if one[1] in (do.LEADER, do.BRANCH, do.JUMP, do.RETURN, do.INDIRECT, do.STOP, do.END):
                return False
        return False

    def _leads_on(self, previous: do.Operation, call: int, address: int) -> bool:
        """Whether there is nothing but padding between a call and an address."""
        behind = previous[5]
        if previous[0] != call:
            return False
        return behind == address or only_padding(self.program.code(behind, address), behind)

    # -- jumps --------------------------------------------------------------------------------------------------

    def _indirect(self, address: int, a: int, b: int, c: int, state: State) -> None:
        """A jump through a register or memory: by a table, to another function, or nobody knows where."""
        registers = state[0]
        value = 0
        if a >= 0:
            value = registers[a]
        elif a == -2:
            value = table_entry(WORD, registers, b, c)
        if TARGET <= value < KINDS:
            if value < WORD:
                table, base = list(self._effects.tables)[value - TARGET]
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
        if registers[7] != CFA - 8:
            self.unknown.add(address)

    def _bound(self, address: int) -> int:
        """How many entries a jump's table has by the comparison before it; 0 if there is none."""
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

    def _throw(self, address: int, state: State) -> None:
        """Exceptions thrown by a call arrive at its landing pad with the frame as it is."""
        for first, behind, target in self._pads:
            if first <= address < behind:
                self._go(target, state)

    def _is_kept(self, start: int, end: int) -> bool:
        """Whether no instruction of a range changes the stack pointer."""
        return all(one[1] not in do.STACK and one[2] != do.RSP for one in self.operations if start <= one[0] < end)

    def _ends(self, address: int, end: int, kept: bool) -> bool:
        """Whether the code from the last block that is reached to the end of the range has no rule."""
        padding = only_padding(self.program.code(address, end), address)
        if self.stubs:
            return not padding
        return padding or not kept

    # -- result -------------------------------------------------------------------------------------------------

    def rows(self, start: int, end: int) -> list[tuple[int, RuleWords | None]]:
        """(address, rule) of a range, ascending; None where nothing is known."""
        if self.defect:
            return [(start, None)]
        found: list[tuple[int, RuleWords | None]] = []
        # What it goes on with elsewhere may well set up a frame.
        kept = self.keeps_stack and ((start, end) == (self.start, self.end) or self._is_kept(start, end))
        if kept:
            # So all of it has the rule of the entry, also what is reached nobody knows how.
            found.append((start, self._rule(entry_state())))
        upto = start
        for block in sorted(self.blocks):
            if not start <= block < end:
                continue
            rows, behind = self.blocks[block]
            # Nobody runs padding; compilers give it the rule of what is before it.
            known = kept or (found and only_padding(self.program.code(upto, block), upto))
            if block > upto and not known:
                found.append((upto, None))
            found += rows
            upto = behind
        if upto < end and self._ends(upto, end, kept):
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
