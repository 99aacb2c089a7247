"""What allocators return in functions whose variables are named: told by its size, and what a pointer to it is kept as.

A variable often begins to be told some instructions behind the call. What constructors that are inlined store until
then would be of nothing.
"""

import re

from undwarf.disasm import NONE, Action, Flow, Instruction
from undwarf.disasm.listing import TARGETED
from undwarf.disasm.x86_64 import MACHINE, RAX, RDI, RSI
from undwarf.types.calling import argument_registers
from undwarf.types.model import VOID, Kind, TypeGraph
from undwarf.types.places import Prototype
from undwarf.types.tracking import Tracker
from undwarf.types.values import FRAME, NUMBER, OBJECT, Value

__all__ = ["allocated"]

_SIZES = {"malloc": (RDI,), "calloc": (RDI, RSI), "_Znwm": (RDI,), "_Znam": (RDI,), "aligned_alloc": (RSI,)}
"""Allocators of C and C++, and the registers that say how much (C11 7.22.3; C++17 21.6.2)."""
_RUST = re.compile(r"__rust_alloc(_zeroed)?$|exchange_malloc")
_OF_RUST = (RDI,)
_DIRECT_CALL = Flow.CALL | TARGETED
_NUMBER = 4
"""Bytes of the smallest numbers that say how much."""
_AHEAD = 256
"""Instructions behind a call in which what it returns is looked for."""


def allocated(tracker: Tracker, *, own: bool = False) -> dict[int, tuple[int, int]]:
    """By call, (register, type that what is there leads to), where something is accessed before a variable says so.

    ``own``: of functions of the program that return a pointer to anything, not of those that all programs have.
    """
    program = tracker.program
    instructions, known = tracker.flow.instructions, program.own_allocators if own else program.allocators
    found: dict[int, tuple[int, int]] = {}
    targets = instructions.targets
    for k, flow in enumerate(instructions.flows.tolist()):
        if flow != _DIRECT_CALL:
            continue
        sizes = known.get(targets[k])
        if sizes is None:
            sizes = known[targets[k]] = _sizes(tracker, targets[k], own=own)
        if sizes and tracker.is_followed(k):
            t = _Call(tracker, k, sizes).leads()
            if t:
                found[k] = RAX, t
    return found


def _sizes(tracker: Tracker, target: int, *, own: bool) -> tuple[int, ...]:
    """The registers that may say how much is allocated by what is called; none for what is no allocator."""
    prototype = tracker.program.callee(target & 0xFFFFFFFFFFFFFFFF)
    if prototype is None:
        return ()
    name = prototype.name.partition("@")[0]
    named = _SIZES.get(name) or (_OF_RUST if _RUST.search(name) else ())
    if own:
        return () if named else _of_program(tracker.graph, prototype)
    return named


def _of_program(graph: TypeGraph, prototype: Prototype) -> tuple[int, ...]:
    """The same of a function that returns a pointer to anything, and is given numbers."""
    returns = prototype.returns
    if not prototype.trusted or not graph.is_pointer(returns):
        return ()
    if graph.kind(graph.strip(graph.target(returns))) != Kind.VOID:
        return ()
    given = argument_registers(graph, prototype.parameters, returns)
    return tuple(
        register
        for register, t, piece in given
        if not piece and graph.kind(graph.strip(t)) == Kind.INT and graph.size(t) >= _NUMBER
    )


class _Call:
    """One call of an allocator, and the registers that hold what it returned, as far as the code goes straight on."""

    def __init__(self, tracker: Tracker, k: int, sizes: tuple[int, ...]) -> None:
        self._tracker = tracker
        self._graph = tracker.graph
        self._call = k
        tracker.before(k)
        self._sizes = [tracker.register(register) for register in sizes]
        self._holding = {RAX}
        self._used = False

    def leads(self) -> int:
        """What the call returns a pointer to; void where that is not told, or known anyway."""
        flow = self._tracker.flow
        instructions = flow.instructions
        arriving: dict[int, set[int]] = {}
        for k in range(self._call + 1, min(self._call + 1 + _AHEAD, len(instructions))):
            self._holding |= arriving.pop(k, set())
            made = instructions[k]
            target = flow.index_of(made.target) if made.flow == Flow.BRANCH and made.target is not None else None
            if target is not None and target > k:
                # What is jumped over ends the program, as where nothing is left to allocate.
                arriving.setdefault(target, set()).update(self._holding)
            for t in self._told(k, made):
                if self._fits(t):
                    return t if self._used else VOID
            self._go_on(k, made)
            if made.flow in (Flow.JUMP, Flow.INDIRECT_JUMP, Flow.RETURN, Flow.STOP):
                self._holding = set()
            if not self._holding and not arriving:
                break
        return VOID

    def _told(self, k: int, made: Instruction) -> list[int]:
        """What variables, members, callees and the caller take a pointer to it for."""
        tracker, graph = self._tracker, self._graph
        questions = tracker.questions
        pc = tracker.flow.instructions.address_of(k)
        found = [
            value[1]
            for register in self._holding
            for value in questions.said_of(register, pc)
            if value[0] == OBJECT and not value[2] and not value[4]
        ]
        pointer = VOID
        if made.action == Action.STORE and made.left in self._holding and made.memory[0].size == 8:
            tracker.before(k)
            where = tracker.address_of(k, 0)
            if where is not None and where[0] == FRAME and not where[2]:
                place = tracker.stack_variable(k, where[4])
                pointer = graph.value_at(place[0].type, place[1], 8) if place is not None else VOID
            elif where is not None:
                located = questions.locate(where, 8)
                pointer = VOID if isinstance(located, str) else graph.value_at(located.type, located.offset, 8)
        elif made.flow == Flow.CALL and made.target is not None:
            prototype = tracker.program.callee(made.target)
            given = prototype.arguments if prototype is not None and prototype.trusted else ()
            found += [graph.target(t) for register, t, piece in given if register in self._holding and not piece]
        return [*found, graph.target(pointer)] if graph.is_pointer(pointer) else found

    def _fits(self, t: int) -> bool:
        """Whether so much is allocated as one of a type takes, or several do."""
        graph = self._graph
        whole = graph.size(t)
        if whole <= 1 or not (graph.is_aggregate(t) or graph.is_scalar(t)):
            return False
        # What has virtual functions may be meant for something that is derived from it.
        single = any(one.name.startswith("_vptr") for one in graph.members(t))
        return any(_is_multiple(value, whole, single=single) for value in self._sizes)

    def _go_on(self, k: int, made: Instruction) -> None:
        tracker = self._tracker
        for number, operand in enumerate(made.memory):
            if operand.access and operand.base in self._holding:
                tracker.before(k)
                where = tracker.address_of(k, number)
                self._used = self._used or where is None or where[0] == NUMBER or self._is_room(where)
        if made.flow in (Flow.CALL, Flow.INDIRECT_CALL):
            self._holding -= {*MACHINE.lost_in_calls, RAX}
            return
        copied = made.action == Action.COPY and made.width == 8 and made.left in self._holding
        self._holding -= set(made.writes)
        if copied and made.destination != NONE:
            self._holding.add(made.destination)

    def _is_room(self, where: Value) -> bool:
        """Whether nothing but bytes is known to be at an address, as variables inside of allocators say."""
        return where[0] == OBJECT and self._graph.is_scalar(where[1]) and self._graph.size(where[1]) == 1


def _is_multiple(value: Value | None, whole: int, *, single: bool) -> bool:
    if value is None or value[0] != NUMBER:
        return False
    if not value[2]:
        return value[4] == whole if single else value[4] > 0 and not value[4] % whole
    return not single and not value[2] % whole and not value[4] % whole
