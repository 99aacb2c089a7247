"""Small functions that return an argument, or an argument plus a constant.

C++ accessors and reference casts do that (`std::move`, `std::get`), which unoptimized code calls. Only straight-line
code is evaluated.
"""

from collections.abc import Callable

from undwarf.disasm import NONE, Action, Flow, Instruction, Machine, Memory
from undwarf.disasm.listing import Listing

__all__ = ["returned_argument"]

_RETURN, _NEXT, _CALL = Flow.RETURN, Flow.NEXT, Flow.CALL
_COPY, _ADD, _SUBTRACT, _ADDRESS, _LOAD = Action.COPY, Action.ADD, Action.SUBTRACT, Action.ADDRESS, Action.LOAD
_PUSH, _POP, _LEAVE, _STORE = Action.PUSH, Action.POP, Action.LEAVE, Action.STORE

_POINTER = 8
_ON_STACK = -1
"""Base of values relative to the stack pointer at entry."""

_Where = tuple[int, int]
"""(argument register or ``_ON_STACK``, offset)."""


def returned_argument(
    listing: Listing, machine: Machine, callee: Callable[[int], tuple[int, int] | None]
) -> tuple[int, int] | None:
    """(register, offset) if a function returns that argument plus an offset; None if that is not certain. ``callee``
    gives the same for its callees."""
    followed = _SymbolicState(machine, callee)
    for made in listing:
        if made.flow == _RETURN:
            back = followed.held.get(machine.result)
            return back if back is not None and back[0] != _ON_STACK else None
        if made.flow not in (_NEXT, _CALL) or not followed.execute(made):
            return None
    return None


class _SymbolicState:
    """Symbolic values of registers and stack words."""

    def __init__(self, machine: Machine, callee: Callable[[int], tuple[int, int] | None]) -> None:
        self._machine = machine
        self._callee = callee
        self.held: dict[int, _Where] = {one: (one, 0) for one in machine.parameters}
        self.held[machine.stack_pointer] = (_ON_STACK, 0)
        self._kept: dict[int, _Where | None] = {}
        """{offset from the initial stack pointer: value}."""

    def execute(self, made: Instruction) -> bool:
        """Execute an instruction; False if the stack pointer is no longer known."""
        if made.flow == _CALL:
            return self._calls(made)
        action, goes = made.action, None
        if action == _COPY and made.width == _POINTER:
            goes = self.held.get(made.left)
        elif action in (_ADD, _SUBTRACT) and made.width == _POINTER and made.right == NONE:
            goes = _moved(self.held.get(made.left), made.immediate if action == _ADD else -made.immediate)
        elif action == _ADDRESS and made.width == _POINTER:
            goes = self._address(made.memory[0])
        elif action == _LOAD and made.width == _POINTER:
            place = self._place(made.memory[0])
            goes = self._kept.get(place) if place is not None else None
        elif action == _PUSH:
            self._push(self.held.get(made.left) if made.left != NONE else None)
            return True
        elif action in (_POP, _LEAVE):
            pointer = self._machine.frame_pointer if action == _LEAVE else made.destination
            if action == _LEAVE:
                self.held[self._machine.stack_pointer] = self.held.get(pointer, (NONE, 0))
            goes = self._pop()
            self._set(pointer, goes)
            return self.held[self._machine.stack_pointer][0] == _ON_STACK
        self._stores(made)
        for one in made.writes:
            self.held.pop(one, None)
        self._set(made.destination, goes)
        return self.held.get(self._machine.stack_pointer, (NONE, 0))[0] == _ON_STACK

    def _calls(self, made: Instruction) -> bool:
        back = self._callee(made.target) if made.target is not None else None
        goes = _moved(self.held.get(back[0]), back[1]) if back is not None else None
        if any(self.held.get(one, (NONE, 0))[0] == _ON_STACK for one in self._machine.parameters):
            # The callee gets a stack address and may write there.
            self._kept.clear()
        for one in self._machine.caller_saved:
            self.held.pop(one, None)
        self._set(self._machine.result, goes)
        return made.target is not None

    def _set(self, register: int, where: _Where | None) -> None:
        if register != NONE and where is not None:
            self.held[register] = where
        else:
            self.held.pop(register, None)

    def _push(self, where: _Where | None) -> None:
        pointer = self._machine.stack_pointer
        at = self.held[pointer][1] - _POINTER
        self.held[pointer] = (_ON_STACK, at)
        self._put(at, _POINTER, where)

    def _pop(self) -> _Where | None:
        pointer = self._machine.stack_pointer
        at = self.held[pointer][1]
        self.held[pointer] = (self.held[pointer][0], at + _POINTER)
        return self._kept.get(at)

    def _stores(self, made: Instruction) -> None:
        """Apply an instruction's stores to the stack; memory that arguments point to is elsewhere."""
        for operand in made.memory:
            if "w" in operand.access:
                place = self._place(operand)
                if place is not None:
                    whole = made.action == _STORE and operand.size == _POINTER and made.left != NONE
                    self._put(place, operand.size or operand.element, self.held.get(made.left) if whole else None)

    def _put(self, at: int, size: int, where: _Where | None) -> None:
        for place in range(at - _POINTER + 1, at + size):
            self._kept.pop(place, None)
        if where is not None:
            self._kept[at] = where

    def _address(self, operand: Memory) -> _Where | None:
        if operand.index != NONE or operand.segment:
            return None
        return _moved(self.held.get(operand.base), operand.displacement)

    def _place(self, operand: Memory) -> int | None:
        where = self._address(operand)
        return where[1] if where is not None and where[0] == _ON_STACK else None


def _moved(where: _Where | None, by: int) -> _Where | None:
    return (where[0], where[1] + by) if where is not None else None
