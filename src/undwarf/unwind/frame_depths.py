# cython: language_level=3, annotation_typing=False
"""How far the stack pointer is below the call frame address at an instruction, by what its function has pushed.

A rule that finds the call frame address by a frame pointer says nothing of the stack pointer. Where code shows what was
pushed and subtracted since the function's entry, the two must be that far apart: a state is of no other instruction.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from undwarf.disasm import Action, Flow, Instruction

if TYPE_CHECKING:
    from undwarf.unwind.instruction_flows import InstructionFlows

RETURN_ADDRESS = 8
RBP, RSP = 6, 7
MAX_STEPS = 4096
"""Instructions of one function that are looked at."""
UNKNOWN = -1


class FrameDepths:
    """Answers by the number of an image, as :class:`undwarf.unwind.path_values.PathValues`."""

    def __init__(
        self,
        flows_of: "Callable[[int], InstructionFlows]",
        instruction_at: Callable[[int, int], Instruction | None],
    ) -> None:
        self._flows_of = flows_of
        self._instruction_at = instruction_at
        self._functions: dict[tuple[int, int], dict[int, int]] = {}

    def depth(self, image: int, start: int, end: int, address: int) -> int:
        """The bytes from the stack pointer to the call frame address before the instruction at ``address`` of the
        function from ``start`` to ``end``; UNKNOWN where code does not say."""
        key = image, start
        if key not in self._functions:
            self._functions[key] = self._find(image, start, end)
        return self._functions[key].get(address, UNKNOWN)

    def _find(self, image: int, start: int, end: int) -> dict[int, int]:
        """Depths by address."""
        found: dict[int, tuple[int, int]] = {}
        work = [(start, RETURN_ADDRESS, UNKNOWN)]
        steps = 0
        while work:
            at, depth, pointer = work.pop()
            while start <= at < end:
                if at in found:
                    # Unknown is what differs between paths.
                    known = found[at]
                    depth = depth if depth == known[0] else UNKNOWN
                    pointer = pointer if pointer == known[1] else UNKNOWN
                    if (depth, pointer) == known:
                        break
                found[at] = depth, pointer
                steps += 1
                flow = self._flows_of(image).flow(at)
                one = self._instruction_at(image, at)
                if steps > MAX_STEPS:
                    return {}
                if flow is None or one is None:
                    break
                kind, target, after = flow
                if kind == Flow.NEXT:
                    depth, pointer = _after(one, depth, pointer)
                    at = after
                elif kind in (Flow.CALL, Flow.INDIRECT_CALL):
                    at = after
                elif kind == Flow.BRANCH:
                    work.append((target, depth, pointer))
                    at = after
                elif kind == Flow.JUMP:
                    at = target
                elif kind == Flow.INDIRECT_JUMP and depth != RETURN_ADDRESS:
                    # A switch: what its cases allocate is not seen. A tail call has nothing on the stack.
                    return {}
                else:
                    break
        return {at: depth for at, (depth, _pointer) in found.items()}


def _after(one: Instruction, depth: int, pointer: int) -> tuple[int, int]:
    """The depths of the stack pointer and of the frame pointer after an instruction; UNKNOWN: not at a known place."""
    if one.action == Action.PUSH:
        return (depth + 8 if depth != UNKNOWN else depth), pointer
    if one.action == Action.POP:
        return (depth - 8 if depth != UNKNOWN else depth), UNKNOWN if one.destination == RBP else pointer
    if one.action == Action.LEAVE:
        return (pointer - 8 if pointer != UNKNOWN else UNKNOWN), UNKNOWN
    if one.action == Action.COPY and one.left == RSP and one.destination == RBP and one.width == 8:
        return depth, depth
    if RSP not in one.writes:
        return depth, UNKNOWN if RBP in one.writes else pointer
    base = {RSP: depth, RBP: pointer}
    if one.action == Action.COPY:
        return base.get(one.left, UNKNOWN), pointer
    if one.action in (Action.ADD, Action.SUBTRACT) and one.right < 0 and one.left == RSP and depth != UNKNOWN:
        return depth + (one.immediate if one.action == Action.SUBTRACT else -one.immediate), pointer
    if one.action == Action.ADDRESS and one.memory and one.memory[0].index < 0:
        known = base.get(one.memory[0].base, UNKNOWN)
        return (known - one.memory[0].displacement if known != UNKNOWN else UNKNOWN), pointer
    return UNKNOWN, pointer
