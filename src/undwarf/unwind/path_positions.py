# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=False, initializedcheck=False
"""Positions that control flow reaches from an instruction within some instructions, and the share of paths to each."""

from typing import Any

import cython
from cython.cimports.undwarf.disasm.flow_control import Flow
from cython.cimports.undwarf.unwind.exact_positions import ALL_PATHS, REACH, Position
from cython.cimports.undwarf.unwind.path_positions import MAX_CALLS, MAX_POSITIONS, MAX_STATES, STEPS, StatePointer

from undwarf.unwind.instruction_flows import InstructionFlows


@cython.final
@cython.cclass
class PathPositions:
    """Finds the positions of one address at a time: at most MAX_POSITIONS, those of fewest instructions first."""

    found: Any
    states: Any
    state_counts: Any

    def rows(
        self, flows: InstructionFlows, address: int, reach: int = REACH
    ) -> list[tuple[int, int, int, int, int, int]]:
        """The positions reached from an address, the first of which is its own: (Position, address, return address of
        the outermost call that led there, calls that led there, fewest instructions to it, its weight)."""
        self.find(flows, address, reach)
        return [
            (
                self.found[i].kind, self.found[i].address, self.found[i].return_address,
                self.found[i].levels, self.found[i].distance, self.found[i].weight,
            )
            for i in range(self.count)
        ]  # fmt: skip

    def find(self, flows: InstructionFlows, address: cython.ulonglong, reach: cython.int) -> cython.int:
        """Find the positions reached from an address within ``reach`` instructions, at most REACH."""
        steps: cython.int
        i: cython.int
        state: StatePointer
        self.start = address
        self.reach = min(reach, REACH)
        self.count = 0
        for steps in range(STEPS):
            self.state_counts[steps] = 0
        self.states[0].address, self.states[0].weight, self.states[0].calls = address, ALL_PATHS, 0
        self.state_counts[0] = 1
        for steps in range(self.reach + 1):
            for i in range(self.state_counts[steps]):
                state = cython.address(self.states[steps * MAX_STATES + i])
                self._add(
                    Position.IN_CALLEE if state.calls else Position.IN_FRAME, state.address,
                    state.returns[0] if state.calls else 0, state.calls, steps, state.weight,
                )  # fmt: skip
                if steps < self.reach and self.count < MAX_POSITIONS:
                    self._follow(flows, state, steps)
        return 0

    def _follow(self, flows: InstructionFlows, state: StatePointer, steps: cython.int) -> cython.int:
        """Add what follows the instruction at hand."""
        row: cython.Py_ssize_t = flows.find(state.address)
        flow: cython.int
        end: cython.ulonglong
        back: cython.ulonglong
        half: cython.ulonglong = max(1, state.weight >> 1)
        calls: cython.int = state.calls
        if row < 0:
            return 0
        flow, end = flows.flows[row], flows.ends[row]
        back = state.returns[0] if calls else end
        if flow == Flow.NEXT:
            self._go_on(state, end, calls, 0, state.weight, steps + 1)
        elif flow == Flow.JUMP:
            self._go_on(state, flows.targets[row], calls, 0, state.weight, steps + 1)
        elif flow == Flow.BRANCH:
            self._go_on(state, end, calls, 0, half, steps + 1)
            self._go_on(state, flows.targets[row], calls, 0, half, steps + 1)
        elif flow == Flow.CALL:
            self._go_on(state, flows.targets[row], calls + 1, end, state.weight, steps + 1)
        elif flow == Flow.INDIRECT_CALL:
            self._add(Position.IN_UNKNOWN_CALLEE, self.start, back, 1, steps + 1, self._stay(state.weight, steps))
            self._go_on(state, end, calls, 0, half, steps + 2)
        elif flow == Flow.INDIRECT_JUMP and calls:
            self._add(Position.IN_UNKNOWN_CALLEE, self.start, back, 1, steps + 1, self._stay(state.weight, steps))
            self._go_on(state, state.returns[calls - 1], calls - 1, 0, half, steps + 2)
        elif flow == Flow.RETURN and calls:
            self._go_on(state, state.returns[calls - 1], calls - 1, 0, state.weight, steps + 1)
        elif flow == Flow.RETURN:
            self._add(Position.PAST_RETURN, self.start, 0, 0, steps + 1, state.weight)
        elif flow == Flow.INDIRECT_JUMP:
            self._add(Position.PAST_JUMP, self.start, 0, 0, steps + 1, self._stay(state.weight, steps))
            self._add(Position.PAST_RETURN, self.start, 0, 0, steps + 2, half)
        return 0

    def _stay(self, weight: cython.ulonglong, steps: cython.int) -> cython.ulonglong:
        """The weight of all positions in code that is not followed, entered after so many instructions: half of the
        paths have left it after the first."""
        return weight * cython.cast(cython.ulonglong, self.reach - steps + 1) // 2

    def _go_on(
        self, before: StatePointer, address: cython.ulonglong, calls: cython.int, back: cython.ulonglong,
        weight: cython.ulonglong, steps: cython.int,
    ) -> cython.int:  # fmt: skip
        """Add the state after so many instructions: that ``before`` with ``calls`` calls that have not returned, the
        last of which returns to ``back`` if it is one more."""
        i: cython.int
        k: cython.int
        state: StatePointer
        same: cython.bint
        last: cython.ulonglong
        if calls > MAX_CALLS:
            return 0
        for i in range(self.state_counts[steps]):
            state = cython.address(self.states[steps * MAX_STATES + i])
            same = state.address == address and state.calls == calls
            for k in range(calls if same else 0):
                last = before.returns[k] if k < before.calls else back
                same = same and state.returns[k] == last
            if same:
                state.weight += weight
                return 0
        if self.state_counts[steps] == MAX_STATES:
            return 0
        state = cython.address(self.states[steps * MAX_STATES + self.state_counts[steps]])
        self.state_counts[steps] += 1
        state.address, state.weight, state.calls = address, weight, calls
        for k in range(calls):
            state.returns[k] = before.returns[k] if k < before.calls else back
        return 0

    def _add(
        self, kind: cython.int, address: cython.ulonglong, back: cython.ulonglong, levels: cython.int,
        distance: cython.int, weight: cython.ulonglong,
    ) -> cython.int:  # fmt: skip
        """Add a position, or more paths to it."""
        i: cython.Py_ssize_t
        for i in range(self.count):
            if (
                self.found[i].address == address
                and self.found[i].kind == kind
                and self.found[i].return_address == back
                and self.found[i].levels == levels
            ):
                self.found[i].weight += weight
                return 0
        if self.count == MAX_POSITIONS:
            return 0
        i = self.count
        self.count += 1
        self.found[i].kind, self.found[i].levels, self.found[i].distance = kind, levels, distance
        self.found[i].address, self.found[i].return_address, self.found[i].weight = address, back, weight
        return 0
