"""What the variables on a function's stack are, where nothing says so: told from what goes into them and comes out.

Without DWARF the frame has no names, but in unoptimised code every variable has a place of its own: parameters are
stored there, pointers come from where types are known, what is returned is of the function's type. Objects whose
address is passed on are what the callee's prototype says. A place of which two things are told stays unknown.
"""

from collections import defaultdict

from undwarf.disasm import NONE, Action, Flow, Instruction, Memory
from undwarf.disasm.x86_64 import MACHINE, XMM0, compares_signed
from undwarf.types.model import VOID, Kind, TypeGraph
from undwarf.types.places import Prototype
from undwarf.types.tracking import Tracker
from undwarf.types.values import ADDRESS, FRAME, OBJECT, Value

__all__ = ["SlotTypes"]

_NAMES = {1: ("char", "signed char"), 2: ("short int", "short"), 4: ("int",), 8: ("long int", "long")}
"""Names of signed integers by size, as compilers for this machine give them."""
_FLOATS = {4: "float", 8: "double"}
_BEHIND = 8
"""Instructions before a return among which what is returned is looked for."""

Place = tuple[int, int]
"""Offset from the call frame address, and bytes."""

_Told = defaultdict[Place, list[tuple[int, ...]]]
"""By place, the types that each instruction which uses it allows, the largest whole first."""


class SlotTypes:
    """The types of one function's frame. Only for x86-64, and functions without variables of their own."""

    def __init__(self, tracker: Tracker, prototype: Prototype | None) -> None:
        self._tracker = tracker
        self._graph: TypeGraph = tracker.graph
        self._prototype = prototype
        self._sure: _Told = defaultdict(list)
        self._likely: _Told = defaultdict(list)
        self._objects: dict[int, int] = {}
        self._copies: list[tuple[Place, Place]] = []
        self._built = False

    def at(self, offset: int, size: int, base: int) -> tuple[int, int] | None:
        """(type, offset in it) of what lies at an offset from the call frame address, accessed through a register."""
        if self._tracker.program.machine is not MACHINE:
            return None
        if not self._built:
            self._built = True
            self._build()
        for begin, t in self._objects.items():
            if begin <= offset < begin + self._graph.size(t):
                return t, offset - begin
        if base != MACHINE.frame_pointer:
            return None
        t = self._one((offset, size))
        return (t, 0) if t else None

    def _one(self, place: Place) -> int:
        """What all that was told of a place allows, the largest whole of it; void for nothing."""
        for told in (self._sure.get(place), self._likely.get(place)):
            if told:
                graph = self._graph
                common = set.intersection(*({graph.canonical(t) for t in each} for each in told))
                return next((t for t in told[0] if graph.canonical(t) in common), VOID)
        return VOID

    def _add(self, into: "_Told", place: Place, *types: int) -> None:
        graph = self._graph
        fitting = tuple(t for t in types if t and graph.is_scalar(t) and graph.size(t) == place[1])
        if fitting:
            into[place].append(fitting)

    # Gathering ---------------------------------------------------------------------------------------------

    def _build(self) -> None:
        flow = self._tracker.flow
        if not flow.blocks:
            return
        self._parameters()
        conflicting: set[int] = set()
        for number in range(len(flow.blocks)):
            loaded: dict[int, Place] = {}
            for k in self._tracker.states(number):
                made = flow.instructions[k]
                if made.flow == Flow.CALL:
                    self._passed(made, conflicting)
                    loaded.clear()
                elif made.flow == Flow.RETURN:
                    self._returned(k)
                self._operands(k, made, loaded)
        for begin in conflicting:
            self._objects.pop(begin, None)
        for _round in range(2):
            for source, target in self._copies:
                if not self._sure.get(target) and self._sure.get(source):
                    t = self._one(source)
                    if t:
                        self._add(self._sure, target, t)

    def _parameters(self) -> None:
        """The first block stores what came in registers, before these are used for something else."""
        prototype = self._prototype
        if prototype is None or not prototype.trusted:
            return
        graph = self._graph
        arguments = {register: t for register, t, piece in prototype.arguments if not piece}
        floats = [t for _name, t in prototype.parameters if graph.kind(graph.strip(t)) == Kind.FLOAT]
        arguments.update({XMM0 + k: t for k, t in enumerate(floats[:8])})
        for k in self._tracker.states(0):
            made = self._tracker.flow.instructions[k]
            for number, operand in enumerate(made.memory):
                place = self._place(k, number, operand) if operand.access == "w" else None
                register = next((one for one in made.reads if one in arguments), NONE)
                if place is not None and register != NONE:
                    t = arguments[register]
                    if graph.kind(graph.strip(t)) != Kind.ARRAY:
                        self._add(self._sure, place, t)
            for register in made.writes:
                arguments.pop(register, None)

    def _place(self, k: int, number: int, operand: Memory) -> Place | None:
        if operand.implicit or not operand.size:
            return None
        where = self._tracker.address_of(k, number)
        return (where[4], operand.size) if where is not None and where[0] == FRAME and not where[2] else None

    def _operands(self, k: int, made: Instruction, loaded: dict[int, Place]) -> None:
        places = (self._place(k, number, each) for number, each in enumerate(made.memory))
        place = next((one for one in places if one is not None), None)
        instructions = self._tracker.flow.instructions
        if place is not None:
            operand = made.memory[0]
            if operand.floating:
                self._add(self._likely, place, self._number(_FLOATS.get(place[1], ""), Kind.FLOAT))
            if made.action == Action.LOAD and made.signed:
                self._add(self._likely, place, self._integer(place[1]))
            if made.action == Action.STORE and made.left != NONE:
                self._stored(self._tracker.register(made.left), place)
                if made.left in loaded and loaded[made.left][1] == place[1]:
                    self._copies.append((loaded[made.left], place))
        if k + 1 < len(instructions) and compares_signed(made, instructions[k + 1]):
            compared = [loaded[register] for register in made.reads if register in loaded]
            for one in (*compared, *((place,) if place is not None else ())):
                self._add(self._likely, one, self._integer(one[1]))
        if made.action == Action.EXTEND and made.signed and made.left in loaded:
            one = loaded[made.left]
            if one[1] == made.width:
                self._add(self._likely, one, self._integer(one[1]))
        for register in made.writes:
            loaded.pop(register, None)
        if made.action == Action.LOAD and place is not None and made.destination != NONE:
            loaded[made.destination] = place

    def _stored(self, value: Value | None, place: Place) -> None:
        """A pointer of which is known what it leads to."""
        if value is None or place[1] != 8 or value[0] not in (OBJECT, ADDRESS):
            return
        graph = self._graph
        t, offset = value[1], value[4]
        if value[0] == ADDRESS:
            found = self._tracker.questions.global_at(offset)
            if found is None:
                return
            t, offset = found[0], found[1]
        located = self._tracker.questions.locate(value, 0) if value[2] or offset else None
        if isinstance(located, str):
            return
        if located is not None and located.how == "container":
            if not located.offset:
                self._add(self._sure, place, graph.pointer_to(located.type))
            return
        if located is None or located.how == "array":
            begin = graph.target(t) if graph.is_array(t) else t
            inner = graph.member_at(begin, 0)
            parts = [one for one, left in inner.containers[1:] if not left] if inner is not None else []
            wholes = [begin, *parts]
        else:
            wholes = [one for one, left in located.field.containers[1:] if not left or graph.is_array(one)]
        # The address of a whole is that of its first part as well.
        elements = [graph.target(one) if graph.is_array(one) else one for one in wholes]
        self._add(self._sure, place, *(graph.pointer_to(one) for one in elements))

    def _passed(self, made: Instruction, conflicting: set[int]) -> None:
        """An address in the frame that is passed for a parameter that leads to an object."""
        prototype = self._tracker.program.callee(made.target) if made.target is not None else None
        if prototype is None or not prototype.trusted:
            return
        graph = self._graph
        for register, t, piece in prototype.arguments:
            value = self._tracker.register(register)
            if value is None or value[0] != FRAME or value[2] or piece or not graph.is_pointer(t):
                continue
            target = graph.target(t)
            if not graph.is_aggregate(target) or graph.size(target) <= 0:
                continue
            known = self._objects.setdefault(value[4], target)
            if graph.canonical(known) != graph.canonical(target):
                conflicting.add(value[4])

    def _returned(self, k: int) -> None:
        """What is loaded last before a return is of the type the function returns."""
        if self._prototype is None or not self._prototype.returns:
            return
        instructions = self._tracker.flow.instructions
        first = self._tracker.flow.blocks[self._tracker.flow.block_of(k)].first
        for at in range(k - 1, max(first - 1, k - _BEHIND), -1):
            made = instructions[at]
            if MACHINE.result in made.writes:
                if made.action == Action.LOAD:
                    self._add(self._sure, (self._frame_offset(at), made.memory[0].size), self._prototype.returns)
                return

    def _frame_offset(self, at: int) -> int:
        flow = self._tracker.flow
        for k in self._tracker.states(flow.block_of(at)):
            if k == at:
                where = self._tracker.address_of(k, 0)
                if where is not None and where[0] == FRAME and not where[2]:
                    return where[4]
                break
        return 1 << 40

    # Names -------------------------------------------------------------------------------------------------

    def _integer(self, size: int) -> int:
        return next((t for t in (self._number(name, Kind.INT) for name in _NAMES.get(size, ())) if t), VOID)

    def _number(self, name: str, kind: Kind) -> int:
        known = _Numbers.of(self._graph)
        return known.get((name, kind), VOID) or (known.get((name, Kind.CHAR), VOID) if kind == Kind.INT else VOID)


class _Numbers:
    """The numbers a program's types begin with, by name."""

    _last: "tuple[TypeGraph, dict[tuple[str, Kind], int]] | None" = None

    @classmethod
    def of(cls, graph: TypeGraph) -> dict[tuple[str, Kind], int]:
        """By name and kind; those of the last graph are remembered."""
        if cls._last is None or cls._last[0] is not graph:
            found: dict[tuple[str, Kind], int] = {}
            for t in range(1, len(graph)):
                kind = graph.kind(t)
                if kind in (Kind.INT, Kind.FLOAT, Kind.CHAR):
                    found.setdefault((graph.name(t), kind), t)
            cls._last = graph, found
        return cls._last[1]
