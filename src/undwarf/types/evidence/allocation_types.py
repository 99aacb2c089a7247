# cython: language_level=3, annotation_typing=False
"""What allocators return in functions whose variables are named: told by its size, and what a pointer to it is kept as.

A variable often begins to be told some instructions behind the call. What constructors that are inlined store until
then would be of nothing.
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
from undwarf.types.evidence.pointer_use_scan import expected
from undwarf.types.evidence.reaching_definitions import makers
from undwarf.types.layouts.type_graph import VOID, Kind, TypeGraph
from undwarf.types.sources.parameter_registers import argument_registers
from undwarf.types.sources.type_source import PlaceKind, Prototype

__all__ = ["allocated", "with_allocated"]

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
"""Allocators of C and C++, and the registers that say how much (C11 7.22.3; C++17 21.6.2)."""
_RUST = re.compile(r"__rust_alloc(_zeroed)?$|exchange_malloc")
_OF_RUST = (RDI,)
_DIRECT_CALL = Flow.CALL | TARGETED
_NUMBER = 4
"""Bytes of the smallest numbers that say how much."""
_WORD = 8
"""Bytes of a pointer."""
_GENERAL = 16
"""Registers that hold addresses."""
_IN_FRAME = 1 << 40
"""Above the numbers of registers, and larger than any frame."""
_HEADS = (8, 16)
"""Bytes before what is meant: how many there are, of C++'s arrays; how many share it, of Rust's counted pointers."""
_INSIDE = 4096
"""How far inside of what is allocated an address of it may lead that is followed."""
_AHEAD = 256
"""Instructions behind a call in which what it returns is looked for."""
_FRAME = 1 << MACHINE.stack_pointer | 1 << MACHINE.frame_pointer
_LOST = sum(1 << register for register in MACHINE.caller_saved if register < 64)
"""The registers that the frame is counted from, and those that calls change, as bits."""


def with_allocated(
    tracker: Tracker, low: int, high: int, named: Tracker | None = None, entry: dict[int, int] | None = None
) -> Tracker:
    """The data flow of a function with what allocators return, the program's own as well if ``named`` is given: the one
    with what all programs' do. ``tracker`` is the one without that; ``entry`` what its parameters lead to."""
    found = allocated(tracker, own=named is not None)
    if not found and not entry:
        return named or tracker
    made = found if named is None else named.facts.made | found
    return Tracker(tracker.program, tracker.flow, low, high, Facts(entry or {}, made), tracker.wanted)


def allocated(tracker: Tracker, *, own: bool = False) -> dict[int, tuple[int, int, int]]:
    """By call, (register, type that what is there leads to, how far before that), where something is accessed before a
    variable says so. Several aggregates one behind the other are an array of them: what lies behind the first one is
    the next, and nothing that has one as its part.

    ``own``: of functions of the program that return a pointer to anything, not of those that all programs have.
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
    """Calls and what they lead to, those of a known function whose address is in a register among them; not all of
    those that are known to be of no allocator."""
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
    if not prototype.trusted or not graph.is_void_pointer(returns):
        return ()
    given = argument_registers(graph, prototype.parameters, returns)
    return tuple(
        register
        for register, t, piece in given
        if not piece and graph.kind(graph.strip(t)) == _INT and graph.size(t) >= _NUMBER
    )


class _Call:
    """One call of an allocator, and what holds the address that it returned, as far as the code goes straight on."""

    def __init__(self, tracker: Tracker, k: int, sizes: tuple[int, ...]) -> None:
        self._tracker = tracker
        self._graph = tracker.graph
        self._call = k
        tracker.before(k)
        self._sizes = [tracker.register(register) for register in sizes]
        self._holding = {RAX: 0}
        """How far behind it is what is held, by register, or place in the frame: its offset plus ``_IN_FRAME``."""
        self._used = False
        self._stored: set[int] = set()
        """What pointers lead to that are stored there."""
        self._indexed = self._otherwise = False
        """Whether words there are gone over by an index, from the first one on; whether else is there."""

    def leads(self) -> tuple[int, int]:
        """What lies where the returned pointer leads, or so many bytes behind that; void where that is not told, or
        known anyway."""
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
                # What is jumped over ends the program, as where nothing is left to allocate.
                arriving.setdefault(target, {}).update(self._holding)
            for t, begin in self._told(k, made) if whole == VOID else ():
                if begin and inside[0] == VOID and begin in _HEADS and self._fits(t, begin):
                    inside = t, begin
                if not begin and whole == VOID and self._fits(t, 0):
                    # A variable may say so of one register, and not of another that holds it as well.
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
        """An array of aggregates where it is known that there is room for more than one; else the type itself."""
        whole, room = self._graph.size(t), self._room()
        several = room > whole and not room % whole and self._graph.is_aggregate(t)
        return self._graph.array_of(t, room // whole) if several else t

    def _room(self) -> int:
        """How many bytes are allocated; 0 where that is not known."""
        return prod(value[4] if value is not None and value[:3] == (NUMBER, 0, 0) else 0 for value in self._sizes)

    def _may_be_used(self) -> bool:
        """Whether anything is accessed of which nothing is known, through what may be the returned pointer: mostly a
        variable says what that leads to, and no more need be asked."""
        tracker = self._tracker
        for k, number in tracker.flow.instructions.accessed_through(self._call, _AHEAD, _FRAME, _LOST):
            tracker.before(k)
            if self._is_unknown(tracker.address_of(k, number)):
                return True
        return False

    def _made(self) -> int:
        """What a function makes, and returns a pointer to, that is there to allocate just that, as Rust's boxes: void
        where the innermost one that returns a pointer to something does not fit."""
        graph, tracker = self._graph, self._tracker
        for t in tracker.program.source.returned_at(tracker.flow.instructions.address_of(self._call)):
            target = graph.target(t) if graph.is_pointer(t) else VOID
            whole = graph.size(target)
            if whole > 1 and graph.is_aggregate(target):
                return target if self._room() == whole else VOID
        return VOID

    def _pointers(self) -> int:
        """A pointer, where all that is known to be there are pointers to one aggregate, gone over by an index: of a
        structure that optimizers took apart no variable leads to its rows."""
        graph = self._graph
        stored = {graph.canonical(t): t for t in self._stored}
        if len(stored) != 1 or not self._indexed or self._otherwise:
            return VOID
        pointer = graph.pointer_to(next(iter(stored.values())))
        return pointer if self._fits(pointer, 0) else VOID

    def _note_row(self, k: int, made: Instruction, operand: Memory, apart: int) -> None:
        """Note what is done with a word of it, if it is one of a row of words."""
        at = apart + operand.displacement
        word = operand.size == _WORD and not at % _WORD and not operand.floating
        if not word or (operand.index != NONE and operand.scale != _WORD):
            self._otherwise = True
            return
        self._indexed = self._indexed or (operand.index != NONE and not at)
        if made.action == _STORE and made.left != NONE:
            # In a loop only what comes in its first turn may be known.
            put = (one + 1 for one in makers(self._tracker, k, made.left) if one >= 0)
            there = (t for at in (k, *put) for t in self._objects(at, made.left))
            self._stored.update(t for t in there if self._graph.is_aggregate(t))

    def _objects(self, k: int, register: int) -> Iterator[int]:
        """What variables say that a register leads to before an instruction."""
        instructions = self._tracker.flow.instructions
        said = self._tracker.questions.said_of(register, instructions.address_of(k)) if k < len(instructions) else []
        return (value[1] for value in said if value[0] == OBJECT and not value[2] and not value[4])

    def _told(self, k: int, made: Instruction) -> list[tuple[int, int]]:
        """What variables, members, callees and the caller take a pointer to it, or to some bytes behind it, for."""
        tracker, graph, holding = self._tracker, self._graph, self._holding
        questions = tracker.questions
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
                located = questions.locate(where, 8)
                pointer = VOID if isinstance(located, str) else graph.value_at(located.type, located.offset, 8)
        elif made.flow in (_CALL, _JUMP) and made.target is not None and self._leaves(made.target):
            given = expected(tracker, made.target)
            found += [(graph.target(t), holding[one]) for one, t, piece in given if one in holding and not piece]
            found += self._passed_inside(k, made.target, given)
        return [*found, (graph.target(pointer), apart)] if graph.is_pointer(pointer) else found

    def _kept(self, k: int) -> list[tuple[int, int]]:
        """What variables whose places in the frame hold it, or pieces of such variables, lead to."""
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
        """Whether what is called, or jumped to as the last thing, is another function."""
        flow = self._tracker.flow
        return not flow.index_of(target)

    def _passed_inside(self, k: int, target: int, given: tuple[tuple[int, int, int], ...]) -> list[tuple[int, int]]:
        """What pointers lead to that are members, where the address is held, of objects in the frame whose addresses
        are passed."""
        tracker, graph = self._tracker, self._graph
        kept = [(one - _IN_FRAME, apart) for one, apart in self._holding.items() if one >= _GENERAL]
        if not kept:
            return []
        taken = [(register, graph.target(t)) for register, t, piece in given if not piece and graph.is_pointer(t)]
        # Large objects are passed by their address.
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
        """Whether so much is allocated as one of a type takes, or several do, behind so many bytes."""
        graph = self._graph
        whole = graph.size(t)
        if whole <= 1 or not (graph.is_aggregate(t) or (graph.is_scalar(t) and not begin)):
            return False
        # What has virtual functions may be meant for something that is derived from it.
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
        """What stands for the place in the frame where an operand is; none for what is elsewhere."""
        if made.memory[number].base not in (MACHINE.stack_pointer, MACHINE.frame_pointer):
            return NONE
        self._tracker.before(k)
        where = self._tracker.address_of(k, number)
        return where[4] + _IN_FRAME if where is not None and where[0] == FRAME and not where[2] else NONE

    def _is_unknown(self, where: Value | None) -> bool:
        """Whether nothing is known to be at an address, or nothing but bytes, as variables inside of allocators say."""
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
