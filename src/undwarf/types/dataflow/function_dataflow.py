# cython: language_level=3, annotation_typing=False
"""Forward data flow of one function: what registers and stack slots hold before every instruction.

Input: the control-flow graph, variable locations, prototypes, and facts from inference; output: abstract values,
queried instruction by instruction. All paths count: where predecessors disagree, the value is unknown. Effects of
instructions are in `transfer.py`, the worklist in `solver.py`, queries on types in `type_oracle.py`. Variables are put
into their registers where their locations start; without debugging information types come from parameters and callees'
results.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import cython

from undwarf.column import zeros
from undwarf.types.dataflow.abstract_values import FRAME, OBJECT, Value
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.dataflow.solver import Solver
from undwarf.types.dataflow.type_oracle import TypeOracle
from undwarf.types.dataflow.value_interner import ValueInterner
from undwarf.types.sources.type_source import GlobalVariable, Place

__all__ = ["Facts", "Named", "Tracker"]

_MOST_VALUES = 1 << 20
"""Limit of values that are shared between functions."""
_WORTH = 8
"""Partial data flow must skip at least one instruction in this many, or the whole function is processed."""
_NUMBER = 4
"""Largest access in bytes that is certainly of one object: wider ones may cover two."""


@dataclass(slots=True, eq=False)
class Facts:
    """Inferred types of a function's values: pointees, and variables in its frame. They count where nothing else is
    known.

    ``entry``: {register: pointee at entry}. ``made``: {instruction: (register it writes, pointee, bytes from the
    pointee's start)}. ``begin``: {(block, register): pointee at the block's start}. ``places``: variables in the frame.
    """

    entry: dict[int, int] = field(default_factory=dict)
    made: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    begin: dict[tuple[int, int], int] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    wholes: dict[int, int] = field(default_factory=dict)
    """{register: larger pointee at entry that starts with the known one and is meant}."""
    bases: dict[int, int] = field(default_factory=dict)
    """{such a pointee, if only some uses show it: the type it starts with, as which it is reported}."""
    rows: set[int] = field(default_factory=set)
    """The instructions of `made` that give an array element."""
    variables: dict[int, GlobalVariable] = field(default_factory=dict)
    """{address: undescribed variable}, typed by how this very function passes their addresses. Other functions must not
    matter: they may be analysed earlier, later, or by another process."""
    begun: frozenset[int] = frozenset()
    """Pointees of parameters that are used past their end as several types that start with them."""

    def adds_to(self, other: "Facts") -> bool:
        """Whether this has facts that ``other`` has not."""
        mine = {(place.offset, place.type, place.low) for place in self.places}
        theirs = {(place.offset, place.type, place.low) for place in other.places}
        more = self.entry != other.entry or self.made != other.made or self.begin != other.begin
        return more or mine != theirs or self.variables != other.variables


class Named(NamedTuple):
    """From instruction ``at`` on, a variable that points to ``type`` is ``offset`` bytes from a register's value, or is
    that value (``whole``)."""

    at: int
    register: int
    offset: int
    type: int
    whole: bool


@cython.cclass
class Tracker:
    """The data flow of one function, as a cursor: queries refer to the instruction of :meth:`before` or :meth:`states`.

    ``wanted`` are the instructions that will be queried. If variables have locations, or in a kernel, only blocks on
    paths to them are processed, until others are queried.
    """

    def __init__(
        self,
        program: ProgramContext,
        flow: FunctionFlow,
        low: int,
        high: int,
        facts: Facts | None = None,
        wanted: Sequence[int] | None = None,
    ) -> None:
        self.program = program
        self.flow = flow
        self._low = low
        self.graph = program.graph
        if program.values is None or program.values.count > _MOST_VALUES:
            program.values = ValueInterner()
        self.others: Callable[[int, int], tuple[tuple[int, int], ...]] = lambda _k, _operand: ()
        """(offset, size) of all accesses through the base pointer of an operand, if known."""
        self.passed_as: Callable[[int, int], list[tuple[int, int]]] = lambda _k, _operand: []
        """(type, offset in it) of an operand, by the parameters that its base pointer is passed as, if known."""
        self.facts = facts = facts or Facts()
        # Values loaded from this function's own variables must not be shared.
        values = program.values if not facts.variables else ValueInterner()
        self.oracle = TypeOracle(program, values, low, high, flow.instructions, facts.places, facts.variables)
        self.has_variables = self.oracle.has_variables
        self.wanted = wanted
        self._block = -1
        self._next = 0
        self._crossed: set[int] | None = None
        self._through_unions: dict[int, list[tuple[int, int, int, int]]] | None = None
        self._numbers_read: frozenset[int] | None = None
        self.reaching_definitions: dict[tuple[int, int], frozenset[int]] = {}
        """{(block, register): reaching definitions at the block's start}."""
        self.lost: Mapping[int, Container[int]] | None = None
        """{call: registers it clobbers}; None if not computed yet."""
        self.named: list[Named] | None = None
        """Where pointer variables start to be in registers; None if not computed yet."""
        self.said: dict[Named, Value | None] = {}
        """The tracked values of their registers before."""
        self.origins: dict[Named, list[tuple[tuple[int, frozenset[int]], int]]] = {}
        """How their addresses were computed (:mod:`undwarf.types.evidence.variable_address_matches`)."""
        self.given: list[tuple[int, Value]] | None = None
        """(type, address) of indexed addresses that are passed as arguments; None if not computed yet."""
        self._followed: memoryview[int] | None = None
        """By block, whether it was processed; None if all were."""
        order = flow.order
        if wanted is not None and (self.has_variables or program.kernel):
            followed, part, size = flow.blocks.blocks_leading_to(wanted)
            if _WORTH * size < len(flow.instructions) * (_WORTH - 1):
                self._followed, order = followed, part
        self.converged = self._follow(order)

    def _follow(self, order: "memoryview[int]") -> bool:
        """Process some blocks, in this order."""
        flow, facts, values = self.flow, self.facts, self.oracle.values
        self._states = Solver(flow.instructions, values, self.oracle, self.program.machine, self.graph.limits)
        number = values.number
        for k, (register, t, begin) in facts.made.items():
            step = self.graph.size(t) if k in facts.rows else 0
            self._states.teach(k, register, number((OBJECT, t, step, 0, -begin)))
        for (block, register), t in facts.begin.items():
            self._states.teach_begin(block, register, number((OBJECT, t, 0, 0, 0)))
        self._block = -1
        converged = self._solve(self._low, order)
        if not converged:
            self.graph.defects.add("data flow did not converge", self.graph.subject, detail=f"{self._low:#x}")
        return converged

    def _follow_all(self) -> None:
        """Process the whole function if only a part was."""
        if self._followed is not None:
            self._followed = None
            self.converged = self._follow(self.flow.order)

    def _reach(self, number: int) -> None:
        """Make sure that a block is processed."""
        if self._followed is None or self._followed[number]:
            return
        blocks = self.flow.blocks
        chain = [number]
        while not self._followed[chain[-1]]:
            ways = blocks.predecessors(chain[-1])
            if len(ways) != 1 or blocks.roots[chain[-1]] or ways[0] in chain or not self.converged:
                self._follow_all()
                return
            chain.append(ways[0])
        # A block with one predecessor starts with that one's final state.
        self._block = -1
        for k in range(len(chain) - 1, 0, -1):
            self._states.go_on(chain[k], chain[k - 1])
            self._followed[chain[k - 1]] = 1

    def is_followed(self, k: int) -> bool:
        """Whether an instruction was processed; if not, no wanted one is reachable from it."""
        return self._followed is None or bool(self._followed[self.flow.block_of(k)])

    @cython.locals(
        number=cython.Py_ssize_t,
        count=cython.Py_ssize_t,
        ints="int[::1]",
        offsets="long long[::1]",
        positions="const unsigned int[::1]",
    )
    def _solve(self, low: int, order: "memoryview[int]") -> bool:
        flow, program = self.flow, self.program
        blocks = flow.blocks
        count, column = len(blocks), blocks.column
        ruled = zeros("q", count)
        ints, offsets = column, ruled
        positions = flow.instructions.offsets
        address = flow.instructions.address
        rules = program.frame_rules([address + positions[ints[number]] for number in range(count)])
        for number in range(count):
            rule = rules[number]
            if rule is not None:
                ints[2 * count + number], offsets[number] = rule
        begin = self._at_entry(low)
        self._states.given_on_stack(self.oracle.given_on_stack(program.source.prototype_at(low)))
        return self._states.solve((column, count, blocks.total, ruled, blocks.roots, flow.open, begin), order)

    def _at_entry(self, low: int) -> list[tuple[int, Value | None]]:
        machine = self.program.machine
        rule = self.program.frame_rules([low])[0]
        # A function's cold part is not entered by a call.
        counted = rule is None or rule[0] == machine.stack_pointer
        offset = machine.entry_offset if rule is None else -rule[1]
        found: list[tuple[int, Value | None]] = [(machine.stack_pointer, (FRAME, 0, 0, 0, offset) if counted else None)]
        prototype = self.program.source.prototype_at(low)
        if prototype is not None and (not self.has_variables or prototype.inside is not None):
            values = self.oracle.values
            found += [(register, values.of(value)) for register, value in self.oracle.calls.passed(prototype)]
        elif prototype is not None:
            found += self.oracle.parameters_without_location(prototype)
            if len(found) == 1 and self.oracle.calls.returns_in_memory(prototype):
                # The hidden argument with the result's address.
                found.append((machine.parameters[0], (OBJECT, prototype.returns, 0, 0, 0)))
        if self.facts.wholes:
            found = [one for one in found if one[0] not in self.facts.wholes]
            found += [(register, (OBJECT, t, 0, 0, 0)) for register, t in self.facts.wholes.items()]
        known = {register for register, _value in found}
        found += [(register, (OBJECT, t, 0, 0, 0)) for register, t in self.facts.entry.items() if register not in known]
        known |= self.facts.entry.keys()
        return found + [one for one in self.oracle.anything() if one[0] not in known]

    def known_at_entry(self, register: int) -> bool:
        """Whether a register's pointee at entry is known from the prototype."""
        prototype = self.program.source.prototype_at(self._low)
        return prototype is not None and any(one == register for one, _value in self.oracle.calls.passed(prototype))

    @property
    def has_escaped(self) -> bool:
        """Whether the address of a stack slot escapes."""
        self._follow_all()
        return bool(self._states.has_escaped())

    # Before an instruction ---------------------------------------------------------------------------------

    def states(self, number: int) -> Iterator[int]:
        """The instructions of a block in order; queries refer to the state before the one just yielded."""
        blocks = self.flow.blocks
        self._reach(number)
        self._block = -1
        self._states.enter(number)
        for k in range(blocks.first(number), blocks.end(number)):
            self._states.seed(k)
            yield k
            self._states.apply(k)

    @property
    def through_unions(self) -> dict[int, list[tuple[int, int, int, int]]]:
        """{symbol of a pointer loaded from a union: [(choice type, instruction, operand, offset from the pointer)]} of
        all accesses through it."""
        if self._through_unions is None:
            self._follow_all()
            found: dict[int, list[tuple[int, int, int, int]]] = {}
            for symbol, *one in self._states.through_unions():
                found.setdefault(symbol, []).append(tuple(one))
            self._block = -1
            self._through_unions = found
        return self._through_unions

    @property
    def numbers_read(self) -> frozenset[int]:
        """Canonical types of the objects from which integers are loaded anywhere in the function."""
        if self._numbers_read is None:
            self._numbers_read = self._find_numbers_read()
        return self._numbers_read

    def _find_numbers_read(self) -> frozenset[int]:
        graph = self.oracle.graph
        instructions = self.flow.instructions
        found = set()
        self._follow_all()
        for number in range(self.flow.blocks.count):
            for k in self.states(number):
                for n, operand in enumerate(instructions[k].memory):
                    where = self.address_of(k, n) if "r" in operand.access else None
                    if where is None or where[0] != OBJECT or where[2] or graph.choices(where[1]):
                        continue
                    member = graph.member_at(where[1], where[4], operand.size)
                    if member is not None and graph.is_scalar(member.type) and not graph.is_pointer(member.type):
                        found.add(graph.canonical(where[1]))
        return frozenset(found)

    @cython.locals(k=cython.Py_ssize_t, number=cython.Py_ssize_t, at=cython.Py_ssize_t)
    def before(self, k: int) -> None:
        """Move the cursor to before an instruction; fast for ascending instructions of a block."""
        number = self.flow.blocks.of(k)
        if number != self._block:
            self._reach(number)
        states = self._states
        if number != self._block or k < self._next - 1:
            self._block, self._next = number, self.flow.blocks.first(number)
            states.enter(number)
            states.seed(self._next)
            self._next += 1
        for at in range(self._next, k + 1):
            states.apply(at - 1)
            states.seed(at)
        self._next = max(self._next, k + 1)

    def crosses_ends(self, t: int) -> bool:
        """Whether the function accesses bytes on both sides of the end of an array element of type ``t``: then it is no
        array, and something else follows. Moves the cursor."""
        if self._crossed is None:
            self._follow_all()
            self._crossed = {self.graph.canonical(one) for one in self._states.crossing(_NUMBER)}
            self._block = -1
        return self.graph.canonical(t) in self._crossed

    def register(self, register: int) -> Value | None:
        """The value of a register."""
        found: Value | None = self._states.register(register)
        return found

    def address_of(self, k: int, operand: int) -> Value | None:
        """The address of an instruction's operand, by its number."""
        found: Value | None = self._states.address(k, operand)
        return found

    def stack_variable(self, k: int, offset: int) -> tuple[Place, int] | None:
        """(innermost variable, offset in it) at an offset from the call frame address; None if there is none."""
        found = self._states.variable(k, offset)
        return (self.oracle.frame_place(found[0]), found[1]) if found is not None else None

    def memory_variable(self, k: int, operand: int) -> tuple[Place, int] | None:
        """(variable, offset in it) whose location is relative to an operand's base register, whatever that holds; None
        if there is none."""
        found = self._states.variable_by_register(k, operand)
        return (self.oracle.frame_place(found[0]), found[1]) if found is not None else None
