# cython: language_level=3, annotation_typing=False
"""Values that registers must have after the instructions between a precise sample and its late registers.

A state of the registers that is some instructions later than the sampled address must agree with what those have done:
a constant that was loaded is in its register, two copies of one value are equal, what was stored is on the stack, and a
branch that was taken had its condition. A path is followed with symbols for what is not known before it, and each place
where it may end states facts about the registers there. A state that contradicts them is not of that place.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from undwarf.disasm import Flow, Instruction
from undwarf.unwind.exact_positions import ALL_PATHS, Position
from undwarf.unwind.symbolic_state import OPPOSITES, Facts, SymbolicState, condition_of

if TYPE_CHECKING:
    from undwarf.unwind.instruction_flows import InstructionFlows

MAX_ENDS = 256
"""Places that are looked at for one series of calls."""
MAX_STEPS = 1024
"""Instructions that are followed for one, on all paths together."""


class End(NamedTuple):
    """A place where a path may have ended: its Position, address, the return address of the outermost call that has not
    returned, the number of those, the share of paths to it, and what it states of registers; None: nothing."""

    position: Position
    address: int
    return_address: int
    levels: int
    weight: int
    facts: Facts | None


class PathValues:
    """Follows paths: ``flows_of`` and ``instruction_at`` answer by the number of an image."""

    def __init__(
        self,
        flows_of: "Callable[[int], InstructionFlows]",
        instruction_at: Callable[[int, int], Instruction | None],
    ) -> None:
        self._flows_of = flows_of
        self._instruction_at = instruction_at
        self._left = 0

    def ends(self, image: int, address: int, sites: tuple[tuple[int, int], ...], reach: int) -> list[End]:
        """The places where a path of at most ``reach`` instructions from an address may have ended, after it has
        returned to these call sites: (image, return address), from the sampled function outwards. The last of them, or
        the address, is what positions are counted from."""
        found: list[End] = []
        self._left = MAX_STEPS
        self._follow(image, address, SymbolicState(), 0, ALL_PATHS, (), sites, reach, 0 if sites else 1, found)
        return found

    def _follow(
        self, image: int, at: int, state: SymbolicState, steps: int, weight: int, returns: tuple[int, ...],
        sites: tuple[tuple[int, int], ...], reach: int, least: int, found: list[End],
    ) -> None:  # fmt: skip
        while True:
            if len(found) == MAX_ENDS:
                return
            if not sites and steps >= least:
                position = Position.IN_CALLEE if returns else Position.IN_FRAME
                back = returns[0] if returns else 0
                found.append(End(position, at, back, len(returns), weight, state.facts()))
            if steps >= reach or self._left == 0:
                return
            self._left -= 1
            flow = self._flows_of(image).flow(at)
            one = self._instruction_at(image, at)
            if flow is None or one is None:
                return
            kind, target, after = flow
            steps += 1
            if kind == Flow.NEXT:
                state.execute(one, image)
                if one.flow != Flow.NEXT:
                    # A system call.
                    state.system_call()
                at = after
            elif kind == Flow.JUMP:
                at = target
            elif kind == Flow.BRANCH:
                weight = max(1, weight // 2)
                condition = condition_of(one)
                taken = SymbolicState(state)
                if condition:
                    taken.branch(condition)
                    state.branch(OPPOSITES[condition])
                self._follow(image, target, taken, steps, weight, returns, sites, reach, least, found)
                at = after
            elif kind == Flow.CALL:
                state.push_return(image, after)
                returns = (*returns, after)
                at = target
            elif kind == Flow.INDIRECT_CALL or (kind == Flow.INDIRECT_JUMP and returns):
                if not sites and len(found) < MAX_ENDS:
                    back = (*returns, after)[0]
                    found.append(End(Position.IN_UNKNOWN_CALLEE, at, back, 1, weight, None))
                if kind == Flow.INDIRECT_JUMP:
                    after, returns = returns[-1], returns[:-1]
                    state.pop_return()
                state.forget_callee()
                weight, steps, at = max(1, weight // 2), steps + 1, after
            elif kind == Flow.RETURN and returns:
                state.pop_return()
                at, returns = returns[-1], returns[:-1]
            elif kind == Flow.RETURN and sites:
                state.pop_return()
                image, at = sites[0]
                sites = sites[1:]
            else:
                return
