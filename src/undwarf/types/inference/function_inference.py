# cython: language_level=3, annotation_typing=False
"""Infers the types of one function's values that no declaration names, from their uses.

Without DWARF the data flow knows parameters, globals, members and results. A pointer from elsewhere (an allocator, a
function without prototype) is typed by its uses: passed to a parameter, stored to a member (`pointer_types.py`).
Objects in the frame (`stack_object_types.py`) and scalars (`stack_scalar_types.py`) are typed by accesses. The results
are facts for the next run of the data flow, until nothing new is found. Contradicting evidence leaves a value unknown.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

from undwarf.disasm.x86_operands import RAX
from undwarf.types.dataflow.abstract_values import FRAME, OBJECT, Value
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Facts, Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.inference.pointer_types import PointerTypes
from undwarf.types.inference.stack_slot_uses import Claim
from undwarf.types.inference.value_graph import ValueGraph
from undwarf.types.inference.value_node import Decided, Node
from undwarf.types.inference.value_uses import ValueUses
from undwarf.types.layouts.access_pattern_fit import PointerAccesses, no_accesses
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.sources.type_source import GlobalVariable, Prototype

__all__ = ["Callees", "FromOutside", "FunctionBody", "Inference"]

_RETURNED = -1
"""Stands for a function's result in place of a register."""
_ROUNDS = 8
"""Limit of data flow runs for one function."""


class Callees(Protocol):
    """Interprocedural queries on functions without a prototype."""

    def returned(self, target: int) -> int:
        """The pointee of a function's result; void if unknown."""

    def taken(self, target: int, register: int, values: Mapping[int, Value | None]) -> int:
        """The pointee that a function assumes for an argument register; void if unknown. ``values``: registers at the
        call."""


class FunctionBody(NamedTuple):
    """A function: control flow, range [low, high), prototype, and undescribed variables by address, typed by accesses
    at their definition."""

    flow: FunctionFlow
    low: int
    high: int
    prototype: Prototype | None
    variables: Mapping[int, GlobalVariable] = {}


class FromOutside(NamedTuple):
    """What other functions contribute to a function's inference.

    ``arguments``: {register: pointee that callers pass}. ``wholes``: {register: larger pointee that starts with the
    parameter's}; ``bases`` and ``begun`` as in `Facts`. ``loaded``: {instruction: (register, type, 0)} of values it
    loads.
    """

    arguments: Mapping[int, int] = {}
    wholes: Mapping[int, int] = {}
    bases: Mapping[int, int] = {}
    loaded: Mapping[int, tuple[int, int, int]] = {}
    begun: frozenset[int] = frozenset()


FROM_NOBODY = FromOutside()


class Inference:
    """The fixed point of data flow and inference for one function; ``tracker`` is the final data flow.

    ``callees`` answers queries on called functions, if given. ``tracker``: an existing data flow with no more than the
    facts from outside.
    """

    def __init__(
        self,
        program: ProgramContext,
        body: FunctionBody,
        known: FromOutside = FROM_NOBODY,
        callees: Callees | None = None,
        tracker: Tracker | None = None,
    ) -> None:
        flow, low, high, prototype, _variables = self.body = body
        self.known = known
        self.callees = callees
        self._told: list[tuple[int, int, Mapping[int, Value | None], int]] = []
        """Answers of ``callees``: (function, register or _RETURNED, registers at the call, type)."""
        self._program = program
        self._graph: TypeGraph = program.graph
        self._low, self._high = low, high
        self._lent: set[Claim] = set()
        self.given = known.arguments
        self.loaded = known.loaded
        facts = self.facts = Facts(
            entry=dict(known.arguments),
            made=dict(known.loaded),
            wholes=dict(known.wholes),
            bases=dict(known.bases),
            begun=known.begun,
        )
        self.tracker = tracker if tracker is not None else Tracker(program, flow, low, high, facts)
        self.webs = ValueGraph(self.tracker, prototype)
        self._flow = ValueUses(self.webs)
        self.entered = {
            register
            for register, _t, _piece in (prototype.arguments if prototype is not None and prototype.trusted else ())
            if self.tracker.known_at_entry(register)
        }
        """Registers of parameters whose pointee the prototype gives."""
        settled = False
        for _round in range(_ROUNDS):
            decided = self._decided()
            found = self._facts(decided, facts)
            if not found.adds_to(facts):
                settled = not self.webs.cells
                break
            facts = found
            self.facts = facts
            self.release()
            self.tracker = Tracker(program, flow, low, high, facts)
            self.webs = ValueGraph(self.tracker, prototype)
            self._flow = ValueUses(self.webs)
        # Arrays in the frame are known better by now.
        self.decided = decided if settled else self._decided()
        self.tracker.others, self.tracker.passed_as = self._around()

    def _around(
        self,
    ) -> tuple[Callable[[int, int], tuple[tuple[int, int], ...]], Callable[[int, int], list[tuple[int, int]]]]:
        """Functions that give, for an operand, the other accesses through its pointer, and what the pointer is passed
        as."""
        near = self.webs.others
        accessed: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        passed: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for at in self.webs.beyond:
            copies, apart = self.webs.copies(*at, self._flow.further())
            accessed[at] = tuple((offset - apart, size) for offset, size in copies.touched())
            passed[at] = [(t, place + apart) for t, place in copies.passed_as(self._graph)]
        return (
            lambda k, number: accessed[k, number] if (k, number) in accessed else near(k, number),
            lambda k, number: passed.get((k, number), []),
        )

    def _decided(self) -> Decided:
        return PointerTypes(self._program, self.webs, self._flow).decided()

    def _undescribed(self) -> dict[int, GlobalVariable]:
        """{address: undescribed variable}, by the parameters its address is passed as, else by accesses."""
        found: dict[int, GlobalVariable] = {}
        for address, t in self.webs.addresses:
            target = self._graph.target(t)
            known = self._program.undescribed(address, target) if self._graph.is_aggregate(target) else None
            if known is not None:
                found.setdefault(address, known)
        return {**self.body.variables, **found}

    def rest(self) -> None:
        """Drop caches that can be recomputed."""
        self._flow.release()

    def release(self) -> None:
        """Drop all that only further queries need; `tracker` stays."""
        self._flow.release()
        self.webs.release()

    def entry_fits(self, register: int, t: int) -> bool:
        """Whether all accesses through an argument register are within a type."""
        for offset, width in self.done_at_entry(register).touched:
            located = self.tracker.oracle.locate((OBJECT, t, 0, 0, offset), width)
            if isinstance(located, str) or located.how == "container" or (located.how and offset < 0):
                return False
        return True

    def beyond(self) -> "Iterator[tuple[int, int, PointerAccesses]]":
        """(register, aggregate, accesses) of parameters that are accessed past the end of their pointee."""
        graph = self._graph
        prototype = self.webs.prototype
        known = dict(self.given)
        for register, t, piece in prototype.arguments if prototype is not None and prototype.trusted else ():
            if not piece and graph.is_pointer(t) and register not in known:
                known[register] = graph.target(t)
        for register, t in known.items():
            if not graph.is_aggregate(t) or not graph.size(t):
                continue
            done = self.done_at_entry(register)
            if any(offset >= graph.size(t) for offset, _size in done.touched):
                yield register, t, done

    def done(self, node: Node) -> PointerAccesses:
        """All accesses through a value."""
        return self._flow.done(node)

    def done_at_entry(self, register: int) -> PointerAccesses:
        """All accesses through an argument register."""
        node = self.webs.nodes.get(("entry", register, 0))
        return self._flow.done(node) if node is not None else no_accesses()

    def place_at(self, offset: int) -> tuple[int, int]:
        """(type, offset in it) of the object at a frame offset, if it is valid throughout; void if unknown."""
        for place in reversed(self.facts.places):
            if 0 <= offset - place.offset < self._graph.size(place.type):
                always = place.low == self._low and place.high == self._high
                return (place.type, offset - place.offset) if always else (VOID, 0)
        return VOID, 0

    def _facts(self, decided: Decided, before: Facts) -> Facts:
        webs = self.webs
        facts = Facts(
            dict(before.entry),
            dict(before.made),
            dict(before.begin),
            (),
            before.wholes,
            before.bases,
            set(before.rows),
            self._undescribed() | before.variables,
            before.begun,
        )
        if self.callees is not None:
            for k, target in self._open_calls(decided, facts):
                t = self._asked(self.callees, target, _RETURNED, {})
                if t:
                    facts.made[k] = (RAX, t, 0)
        for node, t in decided.leads.items():
            kind, at, more = node.key
            if not 0 <= (at if kind == "entry" else more) < 16:
                continue
            if kind == "entry":
                facts.entry.setdefault(at, t)
            elif kind == "made":
                facts.made.setdefault(at, (more, t, 0))
                size = self._graph.size(t)
                if node.several and node.allocated == size and self._goes_beyond(node, size):
                    facts.rows.add(at)
            elif kind == "in" and node.leads.get(0):
                facts.begin.setdefault((at, more), t)
        self._lend()
        if self._lent or webs.unoptimised or webs.cells or webs.frame.is_used:
            from undwarf.types.inference.stack_object_types import StackObjectTypes

            objects = StackObjectTypes(
                self._program,
                self._low,
                self._high,
                webs,
                decided,
                self._lent,
                self._flow,
                before.wholes.values(),
            )
            facts.places = tuple(objects.places())
        return facts

    def _goes_beyond(self, node: Node, size: int) -> bool:
        """Whether there are accesses at constant offsets past ``size`` bytes."""
        return any(offset + width > size for offset, width in self._flow.done(node).touched)

    def _open_calls(self, decided: Decided, facts: Facts) -> "Iterator[tuple[int, int]]":
        """(instruction, target) of calls whose unknown result is used as a pointer."""
        webs = self.webs
        for k, target, _values, _sources in webs.calls:
            node = webs.nodes.get(("made", k, RAX))
            if node is None or node.copied or k in facts.made or not webs.is_open(target):
                continue
            if (node.followed or node.flows) and node not in decided.leads and node not in decided.conflicting:
                yield k, target

    def _lent_by_calls(self) -> "Iterator[tuple[int, int, int, Mapping[int, Value | None], int]]":
        """(instruction, target, register, registers, offset) of frame objects passed to functions without a prototype
        for them."""
        webs, frame = self.webs, self.webs.frame
        here = {(claim.k, claim.offset) for claim in frame.claims}
        for k, target, values, _sources in webs.calls:
            prototype = self._program.callee(target)
            known = prototype.arguments if prototype is not None and prototype.trusted else ()
            told = {register for register, t, _piece in known if self._graph.size(self._graph.target(t))}
            for register, value in values.items():
                if value is None or value[0] != FRAME or value[2] or register in told or (k, value[4]) in here:
                    continue
                if not webs.unoptimised or value[4] not in frame.objects:
                    yield k, target, register, values, value[4]

    def _lend(self) -> None:
        """Note what such functions take frame objects for."""
        for k, target, register, values, offset in self._lent_by_calls() if self.callees is not None else ():
            t = self._asked(self.callees, target, register, values) if self.callees is not None else VOID
            if t:
                self._lent.add(Claim(k, offset, t, fills=False))

    # What others tell --------------------------------------------------------------------------------------

    def _asked(self, callees: Callees, target: int, register: int, values: Mapping[int, Value | None]) -> int:
        """Query a callee, and remember the answer."""
        t = _tells(callees, target, register, values)
        self._told.append((target, register, values, t))
        return t

    def can_learn_from(self, callees: Callees) -> bool:
        """Whether callees now know anything that is unknown here."""
        calls = (
            (target, _RETURNED, dict[int, Value | None]()) for _k, target in self._open_calls(self.decided, self.facts)
        )
        lent = ((target, register, values) for _k, target, register, values, _offset in self._lent_by_calls())
        return any(_tells(callees, *one) for one in (*calls, *lent))

    def has_same_answers(self) -> bool:
        """Whether callees still give the answers that this inference was based on."""
        callees = self.callees
        return callees is not None and all(
            _tells(callees, target, register, values) == t for target, register, values, t in self._told
        )


def _tells(callees: Callees, target: int, register: int, values: Mapping[int, Value | None]) -> int:
    return callees.returned(target) if register == _RETURNED else callees.taken(target, register, values)
