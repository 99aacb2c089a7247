# cython: language_level=3, annotation_typing=False
"""Values that registers and the stack must have at a call, by the code of the function that made it and of its caller.

A function that is thought to have made a call has left a frame as its code does: registers hold copies of its
arguments, its caller's registers are where it has pushed them, and its caller has put the arguments where they were.
The instructions between a function's start and the call are followed with symbols for what is not known before; what
holds on all ways that lead there is kept. A frame that contradicts it is another function's.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from undwarf.disasm import Flow, Instruction
from undwarf.unwind.symbolic_state import Facts, SymbolicState

if TYPE_CHECKING:
    from undwarf.unwind.instruction_flows import InstructionFlows

MAX_INSTRUCTIONS = 4096
"""Instructions of a function that are followed; of larger ones nothing is known."""
MAX_VISITS = 4 * MAX_INSTRUCTIONS
"""Instructions that are followed in one function, some of them several times."""
MAX_KEPT = 8192
"""Calls whose facts are kept."""
MAX_ENTRIES = 8
"""Functions through which a call may have entered another one."""

Way = Callable[[int, int, int], bool]
"""Whether the values before an instruction are wanted: by its flow, its target, and the address after it."""


class CallValues:
    """Answers by the numbers of images.

    ``flows_of`` and ``instruction_at`` give their code, ``function_start`` the start of the function at an address,
    and ``block_before`` where the instructions begin that lead to the call before a return address. ``entries``: the
    functions of a callee's image that such a call may enter, of those that are a function or jump to it (None: others
    as well). ``leads_to``: whether a jump to an address, or to a linkage stub there, enters a function."""

    def __init__(
        self,
        flows_of: "Callable[[int], InstructionFlows]",
        instruction_at: Callable[[int, int], Instruction | None],
        function_start: Callable[[int, int], int],
        block_before: Callable[[int, int], int | None],
        entries: Callable[[int, int, int, int], list[int] | None],
        leads_to: Callable[[int, int, int], bool],
    ) -> None:
        self._flows_of = flows_of
        self._instruction_at = instruction_at
        self._function_start = function_start
        self._block_before = block_before
        self._entries = entries
        self._leads_to = leads_to
        self._facts: dict[tuple[int, int, int, int], list[Facts] | None] = {}

    def facts(self, image: int, function: int, back: int, caller: int, caller_back: int) -> list[Facts] | None:
        """What the registers that a callee preserves, and the stack, hold after the call that returns to ``back``, in
        the function that starts at ``function``, if that was called by the call that returns to ``caller_back`` in the
        image ``caller`` (-1: not known): one for each way in which it may have been entered. None if its code does not
        tell."""
        key = image, back, caller, caller_back
        if key not in self._facts:
            if len(self._facts) == MAX_KEPT:
                self._facts.clear()
            self._facts[key] = self._find(image, function, back, caller, caller_back)
        return self._facts[key]

    def _find(self, image: int, function: int, back: int, caller: int, caller_back: int) -> list[Facts] | None:
        found = []
        for entered in self._entered(image, function, caller, caller_back):
            state = self._follow(image, function, entered, lambda _flow, _target, after: after == back)
            if state is None:
                return None
            state.forget_callee()
            found.append(state.facts() or Facts((), (), ()))
        return found

    def _entered(self, image: int, function: int, caller: int, caller_back: int) -> list[SymbolicState]:
        """The values at the start of a function, by the way in which its caller has entered it."""
        first = SymbolicState(keeps_frame=True)
        if caller < 0:
            return [first]
        start = self._function_start(caller, caller_back - 1)
        state = self._follow(caller, start, first, lambda _flow, _target, after: after == caller_back)
        if state is None:
            state = self._follow_block(caller, caller_back)
        state.push_return(caller, caller_back)
        entries = self._entries(caller, caller_back - 1, image, function)
        if entries is None or len(entries) > MAX_ENTRIES:
            state.forget_callee()
            return [state]
        return [state if one == function else self._jumped(image, one, function, state) for one in entries]

    def _follow_block(self, image: int, back: int) -> SymbolicState:
        """What holds before a call whatever was before the instructions that lead to it."""
        state = SymbolicState(keeps_frame=True)
        at = self._block_before(image, back)
        flows = self._flows_of(image)
        while at is not None and at < back:
            flow, one = flows.flow(at), self._instruction_at(image, at)
            if flow is None or one is None:
                break
            kind, _target, at = flow
            if kind == Flow.NEXT:
                state.execute(one, image)
                if one.flow != Flow.NEXT:
                    state.system_call()
        return state

    def _jumped(self, image: int, jumper: int, function: int, entered: SymbolicState) -> SymbolicState:
        """The values at the start of a function, after another one that was entered has jumped there."""
        state = self._follow(
            image,
            jumper,
            entered,
            lambda flow, target, _after: flow in (Flow.JUMP, Flow.BRANCH) and self._leads_to(image, target, function),
        )
        if state is None:
            state = SymbolicState(entered)
            state.forget_callee()
        return state

    def _follow(self, image: int, start: int, entered: SymbolicState, way: Way) -> SymbolicState | None:
        """The values before an instruction that are the same on all paths from the function's start; None if no path
        leads there, or the function is too large, or jumps to addresses that its code does not name."""
        joints = self._joints(image, start)
        if joints is None:
            return None
        flows = self._flows_of(image)
        states = {start: SymbolicState(entered)}
        waiting, visits = [start], 0
        found: SymbolicState | None = None
        while waiting:
            at: int = waiting.pop()
            state = SymbolicState(states[at])
            going = True
            while going:
                visits += 1
                flow = flows.flow(at)
                one = self._instruction_at(image, at)
                if visits > MAX_VISITS:
                    return None
                if flow is None or one is None:
                    break
                kind, target, after = flow
                if way(kind, target, after):
                    if found is None:
                        found = SymbolicState(state)
                    else:
                        found.join(state)
                if kind in (Flow.JUMP, Flow.BRANCH):
                    _reach(states, waiting, target, state)
                going = kind in (Flow.NEXT, Flow.BRANCH, Flow.CALL, Flow.INDIRECT_CALL)
                if kind == Flow.NEXT:
                    state.execute(one, image)
                    if one.flow != Flow.NEXT:
                        state.system_call()
                elif kind != Flow.BRANCH:
                    state.forget_callee()
                at = after
                if going and at in joints:
                    _reach(states, waiting, at, state)
                    going = False
        return found

    def _joints(self, image: int, start: int) -> set[int] | None:
        """Where jumps and branches go, in the code that is reached from a function's start; None where they go to what
        the code does not name, or the function is too large."""
        flows = self._flows_of(image)
        joints, seen, waiting = {start}, set[int](), [start]
        while waiting:
            at = waiting.pop()
            while at not in seen:
                flow = flows.flow(at)
                if len(seen) == MAX_INSTRUCTIONS:
                    return None
                seen.add(at)
                if flow is None:
                    break
                kind, target, after = flow
                if kind == Flow.INDIRECT_JUMP:
                    return None
                if kind in (Flow.JUMP, Flow.BRANCH):
                    joints.add(target)
                    waiting.append(target)
                if kind not in (Flow.NEXT, Flow.BRANCH, Flow.CALL, Flow.INDIRECT_CALL):
                    break
                at = after
        return joints


def _reach(states: dict[int, SymbolicState], waiting: list[int], at: int, state: SymbolicState) -> None:
    """Note that an instruction is reached with some values; it waits if that is news."""
    if at not in states:
        states[at] = SymbolicState(state)
        waiting.append(at)
    elif states[at].join(state):
        waiting.append(at)
