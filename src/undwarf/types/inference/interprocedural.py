# cython: language_level=3, annotation_typing=False
"""Interprocedural inference: argument types from callers, result types from callees.

BTF has no functions whose parameters are not where the prototype says (pahole drops those with a floating-point
parameter), and nothing on pointees of `void *`. All calls of a function are in its program's code. Where its address is
taken, the member or parameter it goes to gives a function type, and some C library functions call it with arguments
they were given (`call_site_arguments.py`). Depth of the recursion: `inference_depth.py`.
"""

from collections.abc import Callable, Iterator, Mapping

from undwarf.disasm.listing import Listing
from undwarf.disasm.x86_64 import MACHINE
from undwarf.elf import ElfFile
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, NUMBER, Value
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.inference.address_references import MOST_SITES, AddressReferences
from undwarf.types.inference.argument_types import argument_pointees, common_pointee
from undwarf.types.inference.call_site_arguments import CallSiteArguments
from undwarf.types.inference.callback_argument_types import CallbackArgumentTypes
from undwarf.types.inference.function_inference import FROM_NOBODY, FromOutside, FunctionBody, Inference
from undwarf.types.inference.inference_depth import DEEPEST, InferenceDepths
from undwarf.types.inference.ops_table_types import OpsTableTypes
from undwarf.types.inference.static_local_types import static_locals
from undwarf.types.inference.struct_prefix_matching import StructPrefixMatching
from undwarf.types.inference.void_member_types import VoidMemberTypes
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.type_source import Prototype

__all__ = ["Interprocedural"]

_FEW_FUNCTIONS = 4096
"""With more functions, those that take a pointer to a type are not searched."""
_WORD = 8
"""Size of a pointer."""


class Interprocedural:
    """Infers the functions of one program with what their callers and callees contribute.

    ``functions``: {address: name}; ``moved``: {place: address} of relocated data; ``flow_of`` gives a function's
    control flow and bounds.
    """

    def __init__(
        self,
        elf: ElfFile,
        program: ProgramContext,
        functions: Mapping[int, str],
        moved: Mapping[int, int],
        flow_of: Callable[[int], tuple[FunctionFlow, int, int] | None],
    ) -> None:
        self._program = program
        self._graph = program.graph
        self._functions = functions
        self._flow_of = flow_of
        self._mentions = AddressReferences(elf, program, functions, moved)
        self._depths = InferenceDepths(self._made, elf.limits.callers_followed)
        self._asked_for: tuple[FunctionBody, Tracker | None] | None = None
        self._through: dict[tuple[int, int], tuple[list[tuple[int, dict[int, int]]], frozenset[int]]] = {}
        """{(aggregate, depth): (calls through its members by functions that take a pointer to it, functions that
        depends on)}."""
        deepest, source = self._depths.deepest, program.source
        self._contexts = CallbackArgumentTypes(self._graph, source.prototype_at, deepest, self._calls_through)
        self._passed = CallSiteArguments(program, functions, moved, self._mentions, self._contexts, self._depths)
        self._tables = OpsTableTypes(source, self._mentions, deepest)
        self._private = VoidMemberTypes(self._graph, self._tables.beside, deepest)
        self._derived = StructPrefixMatching(self._graph, source.global_at, self._mentions, self._inferred)

    def infer(self, flow: FunctionFlow, low: int, high: int, tracker: Tracker | None = None) -> Inference:
        """The inference of a function; ``tracker`` is its data flow without facts, if available."""
        self._asked_for = self._body(flow, low, high), tracker
        found = self._depths.at(low, DEEPEST)
        self._asked_for = None
        assert found is not None
        return found

    def _made(self, low: int, depth: int) -> Inference | None:
        """The inference of a function at a depth; None if it is too large to be analysed for others."""
        if not depth:
            return self._alone(low)
        own = self._depths.at(low, 0)
        if own is None:
            return None
        made = self._with(own, FROM_NOBODY) if own.can_learn_from(self) else own
        prototype = own.body.prototype
        wanted = self._wanted(made, prototype)
        if wanted:
            given = self._passed.found(low, wanted, prototype, made)
            for register in wanted:
                if register not in given and register not in made.facts.entry:
                    t = self._tables.given(low, register, made)
                    given |= {register: t} if t else {}
            given = {register: t for register, t in given.items() if self._derived.fits_entry(made, register, t)}
            if given:
                made = self._with(own, FromOutside(given))
        loaded = self._private.loaded(low, made)
        wholes, bases, several = self._derived.meant(low, made)
        if wholes or loaded or several:
            made = self._with(own, FromOutside(made.given, wholes, bases, loaded, several))
        return made

    def _alone(self, low: int) -> Inference | None:
        """The inference of a function from its own code."""
        body, tracker = self._asked_for or (None, None)
        if body is None or body.low != low:
            tracker = None
            found = self._flow_of(low)
            if found is None or len(found[0].instructions) > self._graph.limits.inferred_instructions:
                return None
            body = self._body(*found)
        made = Inference(self._program, body, tracker=tracker)
        self._depths.others(low).append(made)
        return made

    def _body(self, flow: FunctionFlow, low: int, high: int) -> FunctionBody:
        variables = static_locals(self._program, flow.instructions, lambda: self._code_of_callers(low))
        return FunctionBody(flow, low, high, self._program.source.prototype_at(low), variables)

    def _code_of_callers(self, low: int) -> Iterator[Listing]:
        """Instructions of a function's callers; none if they are too many."""
        sites = self._mentions.callers_of(low)
        for site in sites if len(sites) <= MOST_SITES else ():
            found = self._flow_of(site) if site != low else None
            if found is not None and len(found[0].instructions) <= self._graph.limits.inferred_instructions:
                yield found[0].instructions

    def _with(self, own: Inference, known: FromOutside) -> Inference:
        """The inference of a function with facts from outside; reuses one with equal facts."""
        several = self._depths.others(own.body.low)
        for one in several:
            if one.callees is not None and one.known == known and one.has_same_answers():
                return one
        made = Inference(self._program, own.body, known, self)
        several.append(made)
        return made

    def _inferred(self, low: int, sites: list[int]) -> Iterator[Inference]:
        """Inferences of functions, for another one; none if they are too many."""
        for site in sites if len(sites) <= MOST_SITES else ():
            made = self._depths.deepest(site) if site != low else None
            if made is not None:
                yield made

    def _wanted(self, made: Inference, prototype: Prototype | None) -> list[int]:
        """Argument registers that are used but whose pointee is unknown."""
        read = [at for kind, at, _more in made.webs.nodes if kind == "entry" and at in MACHINE.parameters]
        if prototype is not None and prototype.trusted:
            graph = self._graph
            nothing = {register for register, t, piece in prototype.arguments if not piece and graph.is_void_pointer(t)}
            read = [register for register in read if register in nothing]
        return [one for one in MACHINE.parameters if one in read and one not in made.entered]

    def _calls_through(self, t: int) -> list[tuple[int, dict[int, int]]]:
        """All calls through members by functions that take a pointer to an aggregate; none if these are too many."""
        key = t, self._depths.depth
        if key not in self._through:
            found: list[tuple[int, dict[int, int]]] = []

            def ask() -> None:
                taking = self._taking(t) if len(self._functions) <= _FEW_FUNCTIONS else []
                for low in taking if len(taking) <= MOST_SITES else ():
                    made = self._depths.deepest(low)
                    found.extend(made.webs.with_members() if made is not None else ())

            self._through[key] = found, self._depths.apart(ask)
        found, rests_on = self._through[key]
        self._depths.rests_on(rests_on)
        return found

    def _taking(self, t: int) -> list[int]:
        """Functions that take a pointer to a type."""
        found = []
        for low in self._functions:
            prototype = self._program.source.prototype_at(low)
            arguments = prototype.arguments if prototype is not None and prototype.trusted else ()
            if any(self._graph.same(self._graph.target(one), t) for _register, one, piece in arguments if not piece):
                found.append(low)
        return found

    def returned(self, target: int) -> int:
        """The pointee of the result of a function without a prototype; void if unknown."""
        before: Inference | None = None
        for depth in range(self._depths.depth) if target in self._functions else ():
            made = self._depths.inferred_at(target, depth)
            if made is None:
                break
            t = self._told_by_returns(target, made, depth) if made is not before else None
            if t is not None:
                # Bytes returned as void pointer are untyped memory.
                return VOID if t and self._graph.size(t) == 1 and self._gives_anything(target) else t
            before = made
        return VOID

    def _gives_anything(self, target: int) -> bool:
        prototype = self._program.source.prototype_at(target)
        return prototype is not None and bool(prototype.returns) and self._graph.is_void_pointer(prototype.returns)

    def _told_by_returns(self, target: int, made: Inference, depth: int) -> int | None:
        """The same from one inference and those of the functions it tail calls; None if a greater depth
        may give more."""
        told: list[tuple[int, ...]] = []
        several, seen = [made], {target}
        for one in several:
            # The list grows during the iteration.
            for source, value in one.webs.returned:
                if value is not None and value[0] == NUMBER and not value[2] and not value[4]:
                    continue
                if value is not None and (value[2] or value[0] == FRAME or (value[0] == NUMBER and not value[1])):
                    return VOID
                if source is not None and source[2] < _WORD:
                    return VOID
                told.append(argument_pointees(one, value, source))
            for further in one.webs.ends_in:
                if further in seen:
                    continue
                seen.add(further)
                other = self._depths.inferred_at(further, depth) if further in self._functions else None
                if other is None:
                    return None
                several.append(other)
        if not all(told):
            return None
        return common_pointee(self._graph, told) if told else VOID

    def taken(self, target: int, register: int, values: "Mapping[int, Value | None]") -> int:
        """The pointee that a function assumes for an argument, itself or a callback that it is given;
        void if unknown."""
        if target not in self._functions:
            return VOID
        # Only needed for the frame of the queried function.
        made = self._depths.deepest(target) if self._depths.depth == DEEPEST else None
        if made is None:
            return VOID
        t = made.facts.entry.get(register, VOID)
        if t:
            return t if self._graph.is_aggregate(t) else VOID
        given_on = [
            (value[4], to)
            for node, _known, given in made.webs.through
            if (value := values.get(made.webs.entry_of(node))) is not None and value[0] == ADDRESS and not value[2]
            for to, source in given.items()
            if not source[1] and made.webs.entry_of(source[0]) == register
        ]
        given_on += [
            (value[4], to)
            for function, pairs in self._contexts.kept_by(target).items()
            if (value := values.get(function)) is not None and value[0] == ADDRESS and not value[2]
            for to, kept in pairs
            if kept == register
        ]
        found = {self.taken(function, to, {}) for function, to in given_on if self._takes(function, to)}
        return found.pop() if len(found) == 1 else VOID

    def _takes(self, function: int, register: int) -> bool:
        """Whether a function may have a parameter in a register."""
        prototype = self._program.source.prototype_at(function)
        known = prototype.arguments if prototype is not None and prototype.trusted else ((register, VOID, 0),)
        return any(register == one for one, _t, _piece in known)


def with_inferred_types(callers: Interprocedural, flow: FunctionFlow, low: int, high: int, tracker: Tracker) -> Tracker:
    """The data flow of a function with inferred facts; ``tracker`` is the one without."""
    if len(flow.instructions) > tracker.graph.limits.inferred_instructions:
        return tracker
    made = callers.infer(flow, low, high, tracker).tracker
    # Overlapping functions: it may have been analysed as a caller with another end.
    return made if len(made.flow.instructions) == len(flow.instructions) else tracker
