# cython: language_level=3, annotation_typing=False
"""Scans the uses of a pointer value around an instruction: backwards along single predecessors, forwards until paths
join.

Output is a :class:`PointerUses` record: accesses, loads, strides, parameters it is passed as, union members it is
stored to.
"""

from collections.abc import Iterator
from typing import NamedTuple

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
from undwarf.types.dataflow.abstract_values import NUMBER, OBJECT, Value
from undwarf.types.dataflow.block_table import BlockTable
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.evidence.pointees import scalar_at
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.sources.parameter_registers import argument_registers
from undwarf.types.sources.type_source import PlaceKind

__all__ = [
    "PointerAccess",
    "PointerLoad",
    "PointerUses",
    "callee_parameters",
    "is_copied",
    "single_predecessors",
    "uses_after",
    "uses_around",
]

_ADD_MEMORY, _LOAD, _COPY, _STORE = Action.ADD_MEMORY, Action.LOAD, Action.COPY, Action.STORE
_ADDRESS = Action.ADDRESS
_REGISTER = PlaceKind.REGISTER

_NEAR = 48
"""How many instructions before and after are scanned."""
_NEXT = 12
"""The same after a value was loaded through the pointer."""
_CALLS = (Flow.CALL, Flow.INDIRECT_CALL)
_INDIRECT = (Flow.INDIRECT_CALL, Flow.INDIRECT_JUMP)
_POINTER = 8
"""Size of a pointer."""

_Holder = int | tuple[int, int]
"""A register, or a stack slot (base register, displacement)."""


class PointerAccess(NamedTuple):
    """An access through a pointer; ``copied``: a plain load or store."""

    offset: int
    size: int
    copied: bool


class PointerLoad(NamedTuple):
    """A pointer-sized load into a register; ``indexed``: a value is added to it."""

    k: int
    offset: int
    register: int
    indexed: bool


class PointerUses:
    """The uses of one value.

    ``leads``: declared pointees; ``passed``: passed as a pointer argument; ``indexed``: (offset, size) of indexed
    element accesses; ``several``: alternative pointees of a union member it is stored to; ``rows``: loads of
    pointer-sized elements; ``strides``: element sizes; ``called``: it is called or jumped to.
    """

    def __init__(self) -> None:
        self.touched: set[PointerAccess] = set()
        self.indexed: set[tuple[int, int]] = set()
        self.loaded: list[PointerLoad] = []
        self.rows: list[PointerLoad] = []
        self.strides: set[int] = set()
        self.leads: list[int] = []
        self.several: tuple[int, ...] = ()
        self.passed = False
        self.called = False

    def up_to(self, offset: int) -> "PointerUses":
        """The uses before an offset."""
        made = PointerUses()
        made.touched = {one for one in self.touched if one.offset < offset}
        made.loaded = [one for one in self.loaded if one.offset < offset]
        made.rows = [one for one in self.rows if one.offset < offset]
        return made


def uses_around(tracker: Tracker, k: int, register: int) -> PointerUses:
    """The uses of a register's value around an instruction."""
    path, origin = _origin(tracker, k, register)
    uses = PointerUses()
    held: set[_Holder] = {origin}
    for at in reversed(path):
        _done(tracker, at, held, uses, told=True)
    held.add(register)
    return _behind(tracker, k, held, uses, _NEAR, told=True)


def uses_after(tracker: Tracker, loaded: PointerLoad) -> PointerUses:
    """The uses of a loaded value, and variables that declare it."""
    uses = PointerUses()
    k = loaded.k + 1
    if k < len(tracker.flow.instructions):
        pc = tracker.flow.instructions.address_of(k)
        for value in tracker.oracle.declared_values(loaded.register, pc):
            _lead(tracker.graph, value, uses)
    return _behind(tracker, k, {loaded.register}, uses, _NEXT, told=False)


def _origin(tracker: Tracker, k: int, register: int) -> tuple[list[int], _Holder]:
    """(instructions from ``k`` back to the definition of a register's value, its holder there)."""
    held: _Holder = register
    path: list[int] = []
    for at in single_predecessors(tracker, k):
        made = tracker.flow.instructions[at]
        if isinstance(held, int):
            if made.flow in _CALLS:
                if held in tracker.oracle.calls.lost:
                    break
            elif held in made.writes:
                place = _place(tracker, made) if made.action == _LOAD and made.width == _POINTER else None
                if made.action == _COPY and made.width == _POINTER:
                    held = made.left
                elif place is not None:
                    held = place
                else:
                    break
        elif made.flow not in _CALLS and held[0] in made.writes:
            break
        elif _place(tracker, made) == held and made.action == _STORE and made.left != NONE:
            held = made.left
        elif _writes_over(made, held):
            break
        path.append(at)
    return path, held


def single_predecessors(tracker: Tracker, k: int) -> Iterator[int]:
    """Instructions before one, backwards along single predecessors."""
    blocks = tracker.flow.blocks
    number = blocks.of(k)
    at = k
    for _step in range(_NEAR):
        if at == blocks.first(number):
            ways = blocks.predecessors(number)
            if len(ways) != 1 or blocks.roots[number] or ways[0] == number:
                return
            number = ways[0]
            at = blocks.end(number)
        at -= 1
        yield at


def _behind(tracker: Tracker, k: int, held: set[_Holder], uses: PointerUses, most: int, *, told: bool) -> PointerUses:
    """Add the uses from an instruction on, until paths join."""
    blocks = tracker.flow.blocks
    if k >= len(tracker.flow.instructions):
        return uses
    queue = [(k, set(held))]
    left = most
    while queue and left > 0:
        at, here = queue.pop(0)
        number = blocks.of(at)
        end = blocks.end(number)
        while at < end and here and left > 0:
            left -= 1
            _done(tracker, at, here, uses, told=told)
            at += 1
        if at == end and here:
            only = [one for one in blocks.successors(number) if _comes_first(blocks, number, one)]
            queue += [(blocks.first(one), set(here)) for one in only if not blocks.roots[one]]
    return uses


def _comes_first(blocks: BlockTable, number: int, behind: int) -> bool:
    """Whether a block's only predecessor, apart from its own back edges, is another one."""
    return number < behind and all(one == number or one >= behind for one in blocks.predecessors(behind))


def _done(tracker: Tracker, at: int, held: set[_Holder], uses: PointerUses, *, told: bool) -> None:
    """Add an instruction's uses of the value, and update its holders."""
    graph = tracker.graph
    made = tracker.flow.instructions[at]
    tracker.before(at)
    if told:
        for register in held:
            if isinstance(register, int):
                _lead(graph, tracker.register(register), uses)
    for operand in made.memory:
        if not operand.access or operand.implicit:
            continue
        if operand.index != NONE:
            # With bytes either register may be the index.
            leads = operand.base in held or (operand.scale == 1 and operand.index in held)
            rows = operand.size == _POINTER and _is_multiple(tracker.register(operand.index))
            if leads and operand.size == operand.scale and not rows:
                uses.indexed.add((operand.displacement, operand.size))
                if made.action == _LOAD and made.width == operand.size == _POINTER and made.destination != NONE:
                    uses.rows.append(PointerLoad(at, operand.displacement, made.destination, False))
            continue
        if operand.base not in held:
            continue
        adds = made.action == _ADD_MEMORY
        size = operand.size or operand.element
        uses.touched.add(PointerAccess(operand.displacement, size, is_copied(made, operand)))
        if (made.action == _LOAD or adds) and made.width == size == _POINTER and made.destination != NONE:
            uses.loaded.append(PointerLoad(at, operand.displacement, made.destination, adds))
    if made.flow in _INDIRECT and all(operand.implicit for operand in made.memory):
        uses.called = uses.called or any(register in held for register in made.reads)
    if made.flow in _CALLS:
        _passed(tracker, made, held, uses)
        # Stack slots keep their values.
        held.difference_update(tracker.oracle.calls.lost)
        return
    goes: _Holder | None = None
    if made.action == _ADDRESS and made.memory[0].base in held and made.memory[0].index != NONE:
        counted = tracker.register(made.memory[0].index)
        if counted is not None and counted[0] == NUMBER and counted[2]:
            uses.strides.add(abs(counted[2]) * made.memory[0].scale)
    place = _place(tracker, made)
    from_place = made.action == _LOAD and place in held
    if (from_place or (made.action == _COPY and made.left in held)) and made.width == _POINTER:
        goes = made.destination
    elif made.action == _STORE and made.left in held and made.memory[0].size == _POINTER:
        goes = place
        t = scalar_at(tracker, at, 0, _POINTER) if place is None else VOID
        if graph.is_pointer(t):
            _add(graph, graph.target(t), uses)
        if place is None and not uses.several:
            uses.several = _of_union(tracker, at)
    lost = [
        one
        for one in held
        if (one in made.writes if isinstance(one, int) else one[0] in made.writes or _writes_over(made, one))
    ]
    held.difference_update(lost)
    if goes is not None:
        held.add(goes)


def _is_multiple(value: Value | None) -> bool:
    """Whether an integer is a multiple of a stride."""
    return value is not None and value[0] == NUMBER and abs(value[2]) > 1


def _of_union(tracker: Tracker, k: int) -> tuple[int, ...]:
    """The alternative pointees of the union member that an instruction stores to."""
    where = tracker.address_of(k, 0)
    located = tracker.oracle.locate(where, _POINTER) if where is not None else ""
    if isinstance(located, str):
        return ()
    return tracker.graph.choices(tracker.graph.pointers_at(located.type, located.offset, _POINTER))


def _passed(tracker: Tracker, made: Instruction, held: set[_Holder], uses: PointerUses) -> None:
    """Add the types of parameters that the value is passed as."""
    graph = tracker.graph
    for register, t, piece in callee_parameters(tracker, made.target) if made.target is not None else ():
        if register in held and not piece and graph.is_pointer(t):
            uses.passed = True
            # Anything may be passed as bytes.
            if graph.size(graph.target(t)) > 1:
                _add(graph, graph.target(t), uses)


def callee_parameters(tracker: Tracker, target: int) -> tuple[tuple[int, int, int], ...]:
    """(register, type, piece) of a callee's register parameters."""
    program = tracker.program
    prototype = program.callee(target & 0xFFFFFFFFFFFFFFFF)
    if prototype is None or not tracker.has_variables:
        return prototype.arguments if prototype is not None and prototype.trusted else ()
    # Optimizers drop parameters, so the callee's variable locations at entry are preferred to its prototype.
    places = [place for scope in program.source.places(target) for place in scope]
    found = tuple(
        (place.register, place.type, place.piece_offset or place.piece_size)
        for place in places
        if place.kind == _REGISTER and place.low <= target < place.high
    )
    if found or not prototype.external or program.machine.name != "x86_64":
        return found
    return argument_registers(program.graph, prototype.parameters, prototype.returns)


def _lead(graph: TypeGraph, value: Value | None, uses: PointerUses) -> None:
    if value is not None and value[0] == OBJECT and not value[2] and not value[4] and not graph.choices(value[1]):
        _add(graph, value[1], uses)


def _add(graph: TypeGraph, t: int, uses: PointerUses) -> None:
    if graph.size(t) and t not in uses.leads:
        uses.leads.append(t)


def _place(tracker: Tracker, made: Instruction) -> tuple[int, int] | None:
    """The stack slot of a pointer-sized load or store; None for other instructions."""
    operand = made.memory[0] if made.memory else None
    if operand is None or operand.index != NONE or operand.size != _POINTER or not operand.access:
        return None
    return (operand.base, operand.displacement) if operand.base == tracker.program.machine.stack_pointer else None


def _writes_over(made: Instruction, place: tuple[int, int]) -> bool:
    return any(
        "w" in operand.access
        and operand.base == place[0]
        and (operand.index != NONE or place[1] - operand.size < operand.displacement < place[1] + _POINTER)
        for operand in made.memory
    )


def is_copied(made: Instruction, operand: Memory) -> bool:
    """Whether an operand is only loaded or stored."""
    read = operand.access == "r" and bool(made.writes) and made.action != _ADD_MEMORY
    return operand.access == "w" or read
