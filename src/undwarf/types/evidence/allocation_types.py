# cython: language_level=3, annotation_typing=False
"""Types of allocated objects in functions with declared variables: by the allocated size and the variable the result
goes to.

A variable's location often starts some instructions after the call; stores of inlined constructors before it would have
no type. The type of the variable, member or parameter that the result goes to counts if the allocated size is a
multiple of its size.
"""

import re
from collections.abc import Iterator, Mapping
from math import prod

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory, listing_search
from undwarf.disasm.template_layout import TARGETED
from undwarf.disasm.x86_64 import MACHINE
from undwarf.disasm.x86_operands import RAX, RDI, RSI
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, NUMBER, OBJECT, Value
from undwarf.types.dataflow.function_dataflow import Facts, Tracker
from undwarf.types.evidence.pointer_use_scan import callee_parameters
from undwarf.types.evidence.reaching_definitions import reaching_definitions
from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph
from undwarf.types.sources.parameter_registers import argument_registers
from undwarf.types.sources.type_source import PlaceKind, Prototype

__all__ = ["allocation_types", "with_allocation_types"]

_INDIRECT_CALL, _BRANCH, _JUMP, _INDIRECT_JUMP = Flow.INDIRECT_CALL, Flow.BRANCH, Flow.JUMP, Flow.INDIRECT_JUMP
_RETURN, _STOP, _CALL = Flow.RETURN, Flow.STOP, Flow.CALL
_STORE, _COPY, _ADD, _ADDRESS, _LOAD = Action.STORE, Action.COPY, Action.ADD, Action.ADDRESS, Action.LOAD
_INT = Kind.INT
_MEMORY = PlaceKind.MEMORY

_SIZES = {
    "malloc": (RDI,), "calloc": (RDI, RSI), "aligned_alloc": (RSI,), "realloc": (RSI,),
    "_Znwm": (RDI,), "_Znam": (RDI,), "_ZnwmSt11align_val_t": (RDI,), "_ZnamSt11align_val_t": (RDI,),
    "_ZnwmRKSt9nothrow_t": (RDI,), "_ZnamRKSt9nothrow_t": (RDI,),
}  # fmt: skip  # a table
"""{allocator of C or C++: registers with the size} (C11 7.22.3; C++17 21.6.2)."""
_RUST = re.compile(r"__rust_alloc(_zeroed)?$|exchange_malloc")
_OF_RUST = (RDI,)
_DIRECT_CALL = Flow.CALL | TARGETED
_NUMBER = 4
"""Smallest integer parameter that may be a size, in bytes."""
_WORD = 8
"""Size of a pointer."""
_GENERAL = 16
"""Number of general registers."""
_IN_FRAME = 1 << 40
"""Zero of the keys of stack slots, above register numbers and frame offsets."""
_HEADS = (8, 16)
"""Header sizes: the count before C++ arrays, the reference counts before Rust's Rc and Arc values."""
_INSIDE = 4096
"""Largest offset of a followed pointer into the allocation."""
_AHEAD = 256
"""Number of instructions after a call in which its result is followed."""
_FRAME = 1 << MACHINE.stack_pointer | 1 << MACHINE.frame_pointer
_LOST = sum(1 << register for register in MACHINE.caller_saved if register < 64)
"""Bit sets: stack and frame pointer; caller-saved registers."""


def with_allocation_types(
    tracker: Tracker, low: int, high: int, named: Tracker | None = None, entry: dict[int, int] | None = None
) -> Tracker:
    """The data flow of a function with the types of allocations.

    ``tracker`` is the one without; ``named``, if given, the one with known allocators, to which the program's own are
    added; ``entry`` are pointees of parameters.
    """
    found = allocation_types(tracker, own=named is not None)
    if not found and not entry:
        return named or tracker
    made = found if named is None else named.facts.made | found
    return Tracker(tracker.program, tracker.flow, low, high, Facts(entry or {}, made), tracker.wanted)


def allocation_types(tracker: Tracker, *, own: bool = False) -> dict[int, tuple[int, int, int]]:
    """{call: (result register, pointee, offset of the pointee)} of allocations that are accessed before a variable
    types them.

    An allocation of several aggregates is an array, so that accesses past the first are of the next one, not of a
    container. ``own``: of the program's own functions that return void pointers, instead of known allocators.
    """
    program = tracker.program
    known = program.own_allocators if own else program.allocators
    found: dict[int, tuple[int, int, int]] = {}
    for k, target in _calls(tracker, known):
        sizes = known.get(target)
        if sizes is None:
            sizes = known[target] = _sizes(tracker, target, own=own)
        if sizes:
            call = _Call(tracker, k, sizes)
            t, begin = call.leads()
            if t:
                found[k] = RAX, call.array_of(t) if not begin else t, begin
    return found


def _calls(tracker: Tracker, known: Mapping[int, tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """(instruction, target) of calls, also through registers with a known function; without known non-allocators."""
    instructions = tracker.flow.instructions
    targets = instructions.targets
    for k in listing_search.with_flow(instructions.flows, _DIRECT_CALL):
        target = targets[k]
        if known.get(target, True) and tracker.is_followed(k):
            yield k, target
    for k in listing_search.with_flow(instructions.flows, _INDIRECT_CALL):
        made = instructions[k]
        if tracker.is_followed(k) and all(one.implicit for one in made.memory) and made.reads:
            tracker.before(k)
            held = tracker.register(made.left if made.left != NONE else made.reads[0])
            if held is not None and held[0] == ADDRESS and not held[2]:
                yield k, held[4]


def _sizes(tracker: Tracker, target: int, *, own: bool) -> tuple[int, ...]:
    """The registers that may have the allocated size; none for other functions."""
    prototype = tracker.program.callee(target & 0xFFFFFFFFFFFFFFFF)
    if prototype is None:
        return ()
    name = prototype.name.partition("@")[0]
    named = _SIZES.get(name) or (_OF_RUST if _RUST.search(name) else ())
    if own:
        return () if named else _of_program(tracker.graph, prototype)
    return named


def _of_program(graph: TypeGraph, prototype: Prototype) -> tuple[int, ...]:
    """The same for a function that takes integers and returns a void pointer."""
    returns = prototype.returns
    if not prototype.trusted or not graph.is_void_pointer(returns):
        return ()
    given = argument_registers(graph, prototype.parameters, returns)
    return tuple(
        register
        for register, t, piece in given
        if not piece and graph.kind(graph.strip(t)) == _INT and graph.size(t) >= _NUMBER
    )


class _Call:
    """One call of an allocator, and the registers and slots that hold its result in straight-line code."""

    def __init__(self, tracker: Tracker, k: int, sizes: tuple[int, ...]) -> None:
        self._tracker = tracker
        self._graph = tracker.graph
        self._call = k
        tracker.before(k)
        self._sizes = [tracker.register(register) for register in sizes]
        self._holding = {RAX: 0}
        """{register, or stack slot (its offset plus ``_IN_FRAME``): offset from the result that it holds}."""
        self._used = False
        self._stored: set[int] = set()
        """Pointees of the pointers stored in the allocation."""
        self._indexed = self._otherwise = False
        """Whether words are accessed by an index from the first on; whether other accesses occur."""

    def leads(self) -> tuple[int, int]:
        """(pointee, offset of it) of the result; void if unknown, or not needed."""
        if not self._may_be_used():
            return VOID, 0
        flow = self._tracker.flow
        instructions = flow.instructions
        arriving: dict[int, dict[int, int]] = {}
        inside = VOID, 0
        whole = VOID
        for k in range(self._call + 1, min(self._call + 1 + _AHEAD, len(instructions))):
            self._holding.update(arriving.pop(k, {}))
            made = instructions[k]
            to = made.target if made.flow in (_BRANCH, _JUMP) else None
            target = flow.index_of(to) if to is not None else None
            if target is not None and target > k:
                # A skipped block is the error path, which ends the program.
                arriving.setdefault(target, {}).update(self._holding)
            for t, begin in self._told(k, made) if whole == VOID else ():
                if begin and inside[0] == VOID and begin in _HEADS and self._fits(t, begin):
                    inside = t, begin
                if not begin and whole == VOID and self._fits(t, 0):
                    # A variable may be in one of the registers that hold the pointer.
                    whole = t
            self._go_on(k, made)
            if whole != VOID and self._used:
                return whole, 0
            if made.flow in (_JUMP, _INDIRECT_JUMP, _RETURN, _STOP):
                self._holding = {}
            if not self._holding and not arriving:
                break
        if whole != VOID:
            return VOID, 0
        if inside[0] == VOID:
            inside = self._made() or self._pointers(), 0
        return inside if self._used else (VOID, 0)

    def array_of(self, t: int) -> int:
        """An array of the aggregate if more than one was allocated; else the type itself."""
        whole, room = self._graph.size(t), self._room()
        several = room > whole and not room % whole and self._graph.is_aggregate(t)
        return self._graph.array_of(t, room // whole) if several else t

    def _room(self) -> int:
        """The allocated size in bytes; 0 if unknown."""
        return prod(value[4] if value is not None and value[:3] == (NUMBER, 0, 0) else 0 for value in self._sizes)

    def _may_be_used(self) -> bool:
        """Whether anything unknown is accessed through the result; mostly its variable is known in time."""
        tracker = self._tracker
        for k, number in tracker.flow.instructions.accessed_through(self._call, _AHEAD, _FRAME, _LOST):
            tracker.before(k)
            if self._is_unknown(tracker.address_of(k, number)):
                return True
        return False

    def _made(self) -> int:
        """The pointee of the innermost inlined function that returns a pointer, if its size is allocated (Rust's
        Box::new); else void."""
        graph, tracker = self._graph, self._tracker
        for t in tracker.program.source.returned_at(tracker.flow.instructions.address_of(self._call)):
            target = graph.target(t) if graph.is_pointer(t) else VOID
            whole = graph.size(target)
            if whole > 1 and graph.is_aggregate(target):
                return target if self._room() == whole else VOID
        return VOID

    def _pointers(self) -> int:
        """A pointer type, if all that is stored are pointers to one aggregate, by an index: scalar replacement leaves
        arrays of a split structure without a variable."""
        graph = self._graph
        stored = {graph.canonical(t): t for t in self._stored}
        if len(stored) != 1 or not self._indexed or self._otherwise:
            return VOID
        pointer = graph.pointer_to(next(iter(stored.values())))
        return pointer if self._fits(pointer, 0) else VOID

    def _note_row(self, k: int, made: Instruction, operand: Memory, apart: int) -> None:
        """Note an access, if it is of one in an array of words."""
        at = apart + operand.displacement
        word = operand.size == _WORD and not at % _WORD and not operand.floating
        if not word or (operand.index != NONE and operand.scale != _WORD):
            self._otherwise = True
            return
        self._indexed = self._indexed or (operand.index != NONE and not at)
        if made.action == _STORE and made.left != NONE:
            # In a loop only the first iteration's value may be known.
            put = (one + 1 for one in reaching_definitions(self._tracker, k, made.left) if one >= 0)
            there = (t for at in (k, *put) for t in self._objects(at, made.left))
            self._stored.update(t for t in there if self._graph.is_aggregate(t))

    def _objects(self, k: int, register: int) -> Iterator[int]:
        """Pointees of variables in a register before an instruction."""
        instructions = self._tracker.flow.instructions
        said = (
            self._tracker.oracle.declared_values(register, instructions.address_of(k)) if k < len(instructions) else []
        )
        return (value[1] for value in said if value[0] == OBJECT and not value[2] and not value[4])

    def _told(self, k: int, made: Instruction) -> list[tuple[int, int]]:
        """(pointee, offset) for which variables, members, callees or the caller take the pointer."""
        tracker, graph, holding = self._tracker, self._graph, self._holding
        oracle = tracker.oracle
        found = [
            (t, apart) for register, apart in holding.items() if register < _GENERAL for t in self._objects(k, register)
        ]
        found += self._kept(k)
        pointer, apart = VOID, 0
        if made.action == _STORE and made.left in holding and made.memory[0].size == 8:
            apart = holding[made.left]
            tracker.before(k)
            where = tracker.address_of(k, 0)
            if where is not None and where[0] == FRAME and not where[2]:
                place = tracker.stack_variable(k, where[4])
                pointer = graph.value_at(place[0].type, place[1], 8) if place is not None else VOID
            elif where is not None:
                located = oracle.locate(where, 8)
                pointer = VOID if isinstance(located, str) else graph.value_at(located.type, located.offset, 8)
        elif made.flow in (_CALL, _JUMP) and made.target is not None and self._leaves(made.target):
            given = callee_parameters(tracker, made.target)
            found += [(graph.target(t), holding[one]) for one, t, piece in given if one in holding and not piece]
            found += self._passed_inside(k, made.target, given)
        return [*found, (graph.target(pointer), apart)] if graph.is_pointer(pointer) else found

    def _kept(self, k: int) -> list[tuple[int, int]]:
        """(pointee, offset) of variables in the slots that hold the pointer."""
        tracker, graph, found = self._tracker, self._graph, []
        kept = [(one - _IN_FRAME, apart) for one, apart in self._holding.items() if one >= _GENERAL]
        if kept:
            tracker.before(k)
        for offset, apart in kept:
            place = tracker.stack_variable(k, offset)
            pointer = graph.value_at(place[0].type, place[1], 8) if place is not None else VOID
            if graph.is_pointer(pointer):
                found.append((graph.target(pointer), apart))
        return found

    def _leaves(self, target: int) -> bool:
        """Whether a call or tail call goes to another function."""
        flow = self._tracker.flow
        return not flow.index_of(target)

    def _passed_inside(self, k: int, target: int, given: tuple[tuple[int, int, int], ...]) -> list[tuple[int, int]]:
        """(pointee, offset) of pointer members of stack objects whose address is passed, if the pointer
        is held there."""
        tracker, graph = self._tracker, self._graph
        kept = [(one - _IN_FRAME, apart) for one, apart in self._holding.items() if one >= _GENERAL]
        if not kept:
            return []
        taken = [(register, graph.target(t)) for register, t, piece in given if not piece and graph.is_pointer(t)]
        # Large objects are passed by reference.
        places = [place for scope in tracker.program.source.places(target) for place in scope]
        by_address = [place for place in places if place.kind == _MEMORY and not place.offset]
        taken += [(place.register, place.type) for place in by_address if place.low <= target < place.high]
        tracker.before(k)
        found = []
        for register, t in taken:
            value = tracker.register(register) if graph.is_aggregate(t) else None
            if value is None or value[0] != FRAME or value[2]:
                continue
            inside = [(at - value[4], apart) for at, apart in kept if 0 <= at - value[4] < graph.size(t)]
            pointers = [(graph.value_at(t, offset, 8), apart) for offset, apart in inside]
            found += [(graph.target(pointer), apart) for pointer, apart in pointers if graph.is_pointer(pointer)]
        return found

    def _fits(self, t: int, begin: int) -> bool:
        """Whether the allocated size is that of one or several objects of a type after ``begin`` bytes."""
        graph = self._graph
        whole = graph.size(t)
        if whole <= 1 or not (graph.is_aggregate(t) or (graph.is_scalar(t) and not begin)):
            return False
        # A class with virtual functions may be a base of the allocated one.
        single = any(one.name.startswith("_vptr") for one in graph.members(t))
        return any(_is_multiple(value, begin, whole, single=single) for value in self._sizes)

    def _go_on(self, k: int, made: Instruction) -> None:
        tracker, holding = self._tracker, self._holding
        for number, operand in enumerate(made.memory):
            if operand.access and operand.base in holding:
                tracker.before(k)
                self._used = self._used or self._is_unknown(tracker.address_of(k, number))
                self._note_row(k, made, operand, holding[operand.base])
        if made.flow in (_CALL, _INDIRECT_CALL):
            for register in {*MACHINE.caller_saved, RAX}:
                holding.pop(register, None)
            return
        goes: int | None = None
        to = made.destination
        if made.action == _COPY and made.width == 8:
            goes = holding.get(made.left)
        elif made.action == _ADD and made.width == 8 and made.right == NONE and made.left == to:
            goes = holding[to] + made.immediate if to in holding and abs(made.immediate) < _INSIDE else None
        elif made.action == _ADDRESS and made.width == 8 and made.memory[0].index == NONE:
            one = made.memory[0]
            near = one.base in holding and abs(one.displacement) < _INSIDE
            goes = holding[one.base] + one.displacement if near else None
        elif made.action == _LOAD and made.width == 8:
            goes = holding.get(self._frame_offset(k, made, 0))
        elif made.action == _STORE and made.left in holding and made.memory[0].size == 8:
            goes, to = holding[made.left], self._frame_offset(k, made, 0)
        written = [self._frame_offset(k, made, number) for number, one in enumerate(made.memory) if "w" in one.access]
        for gone in (*made.writes, *written):
            holding.pop(gone, None)
        if goes is not None and to != NONE:
            holding[to] = goes

    def _frame_offset(self, k: int, made: Instruction, number: int) -> int:
        """The key of an operand's stack slot; NONE for other memory."""
        if made.memory[number].base not in (MACHINE.stack_pointer, MACHINE.frame_pointer):
            return NONE
        self._tracker.before(k)
        where = self._tracker.address_of(k, number)
        return where[4] + _IN_FRAME if where is not None and where[0] == FRAME and not where[2] else NONE

    def _is_unknown(self, where: Value | None) -> bool:
        """Whether nothing but bytes is known at an address; allocators declare bytes."""
        if where is None or where[0] == NUMBER:
            return True
        return where[0] == OBJECT and self._graph.is_scalar(where[1]) and self._graph.size(where[1]) == 1


def _is_multiple(value: Value | None, begin: int, whole: int, *, single: bool) -> bool:
    if value is None or value[0] != NUMBER:
        return False
    left = value[4] - begin
    if not value[2]:
        return left == whole if single else left > 0 and not left % whole
    return not single and not value[2] % whole and not left % whole
