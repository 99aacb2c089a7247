"""What registers and stack slots hold at every instruction of a function: forward data flow to a fixed point.

Every way through the function counts: where two ways meet, what they do not agree on is not known. What an instruction
writes without our understanding how is not known after it (the decoder's list of written registers says so); nothing
stale survives. Variables of the debugging information are put into the registers they are in, instruction by
instruction; without them the function's parameters and what its callees return are where types come from.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from undwarf.types.effects import Effects, State
from undwarf.types.flow import FunctionFlow
from undwarf.types.program import Program
from undwarf.types.values import FRAME, NOWHERE

__all__ = ["State", "Tracker"]

_VISITS = 24
"""Times a block is looked at, on average, before the function is given up as too tangled."""


class Tracker(Effects):
    """The data flow of one function."""

    def __init__(self, program: Program, flow: FunctionFlow, low: int, high: int) -> None:
        super().__init__(program, flow, low, high)
        self._low = low
        self._entries: list[State | None] = [None] * len(flow.blocks)
        self.converged = True
        self._solve()

    def _solve(self) -> None:
        for _again in range(3):
            before = len(self._escaped)
            self._entries = [None] * len(self.flow.blocks)
            self._iterate()
            if len(self._escaped) == before:
                break

    def _iterate(self) -> None:
        flow = self.flow
        if not flow.blocks:
            return
        rank = {number: k for k, number in enumerate(flow.order)}
        entries = self._entries
        roots = [number for number in flow.order if number == 0 or flow.open or not flow.blocks[number].predecessors]
        for number in roots:
            entries[number] = self._at_entry() if number == 0 and not flow.open else {}
        if flow.open:
            entries[0] = self._at_entry() if not flow.blocks[0].predecessors else {}
        queue = [rank[number] for number in roots]
        queued = set(queue)
        queue.sort()
        budget = _VISITS * len(flow.blocks) + 64
        while queue:
            at = heappop(queue)
            queued.discard(at)
            number = flow.order[at]
            budget -= 1
            if budget < 0:
                # Give up: nothing is known at the begin of any block but what variables say.
                self.converged = False
                self._entries = [{} for _block in flow.blocks]
                return
            state = self._through(number)
            for following in flow.blocks[number].successors:
                if self._merge(following, state, rank[number] < rank.get(following, -1)):
                    position = rank.get(following)
                    if position is not None and position not in queued:
                        queued.add(position)
                        heappush(queue, position)

    def _through(self, number: int) -> State:
        state = dict(self._entries[number] or {})
        block = self.flow.blocks[number]
        self._know_frame(state, block.first)
        for k in range(block.first, block.end):
            self.seed(state, k)
            self.apply(state, k)
        return state

    def _merge(self, number: int, state: State, forward: bool) -> bool:
        """Join a state into a block's entry; whether that changed it."""
        entry = self._entries[number]
        if entry is None:
            self._entries[number] = dict(state)
            return True
        if self.flow.open:
            return False
        changed = False
        for key, known in list(entry.items()):
            other = state.get(key)
            if other == known:
                continue
            met = self._join(known, other)
            if met is None:
                del entry[key]
                changed = True
            elif met != known:
                entry[key] = met
                changed = True
        return changed

    def _at_entry(self) -> State:
        machine = self._machine
        state: State = {machine.stack_pointer: (FRAME, 0, 0, 0, machine.entry_offset)}
        if not self.has_variables:
            prototype = self.program.source.prototype_at(self._low)
            if prototype is not None and prototype.trusted:
                for register, t, piece in prototype.arguments:
                    value = self._value_of_type(t, piece, 8)
                    if value is not None:
                        state[register] = value
        return state

    def _know_frame(self, state: State, first: int) -> None:
        rule = self.program.frame_rule(self.flow.instructions[first].address)
        if rule is not None:
            register, offset = rule
            if state.get(register, NOWHERE)[0] != FRAME:
                state[register] = (FRAME, 0, 0, 0, -offset)

    def states(self, number: int) -> Iterator[tuple[int, State]]:
        """(instruction, what holds before it) through a block; the state changes under way, take what you need."""
        entry = self._entries[number]
        state = dict(entry or {})
        block = self.flow.blocks[number]
        self._know_frame(state, block.first)
        for k in range(block.first, block.end):
            self.seed(state, k)
            yield k, state
            self.apply(state, k)
