# cython: language_level=3, annotation_typing=False
"""Argument types of a function from all its call sites: direct calls, callbacks, and tables that store its address.

A parameter's pointee is what all callers agree on. Callers are inferred themselves, to a limited depth.
"""

from collections.abc import Mapping
from typing import NamedTuple

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.abstract_values import ADDRESS, NUMBER, Value
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.inference.address_references import MOST_SITES, AddressReferences
from undwarf.types.inference.argument_types import (
    add_declared_parameters,
    argument_pointees,
    common_pointee,
    objects_starting_at,
)
from undwarf.types.inference.callback_argument_types import CallbackArgumentTypes
from undwarf.types.inference.function_inference import Inference
from undwarf.types.inference.inference_depth import InferenceDepths
from undwarf.types.inference.structure_matching import of_size
from undwarf.types.inference.value_node import Held
from undwarf.types.layouts.access_pattern_fit import no_accesses
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.sources.c_library import CALLED_BACK, ELEMENT_SIZES, ONE_ELEMENT
from undwarf.types.sources.type_source import Prototype

__all__ = ["CallSiteArguments"]

ArgumentTypes = list[tuple[int, ...]]
"""Per call: types of the objects that start where the argument points to, empty if unknown."""
_UNKNOWN: tuple[int, ...] = ()


class _Call(NamedTuple):
    """A call made by the function ``by``: values and nodes of argument registers."""

    by: Inference
    values: "Mapping[int, Value | None]"
    sources: "Mapping[int, Held]"

    def given(self, register: int) -> tuple[int, ...]:
        """Types of the objects that start where a register points to."""
        return argument_pointees(self.by, self.values.get(register), self.sources.get(register))


class _Asked:
    """A query of a function's callers for some argument registers; ``depth``: to which depth callers are inferred."""

    def __init__(self, low: int, registers: list[int], depth: int) -> None:
        self.low = low
        self.registers = registers
        self.depth = depth
        self.declared: dict[int, int] = {}
        """{register: pointee declared by function pointer types}; void if these disagree."""
        self.sizes: dict[int, set[int]] = {}
        """{register: possible sizes of the pointee in bytes} from calls that pass an element size."""
        self.followed = {(low, register) for register in registers}
        """(function, register) pairs already visited as passed through."""


class CallSiteArguments:
    """Queries of the callers of one program's functions."""

    def __init__(
        self,
        program: ProgramContext,
        functions: Mapping[int, str],
        moved: Mapping[int, int],
        mentions: AddressReferences,
        contexts: CallbackArgumentTypes,
        depths: InferenceDepths,
    ) -> None:
        self._program = program
        self._graph: TypeGraph = program.graph
        self._functions = functions
        self._moved = moved
        self._mentions = mentions
        self._contexts = contexts
        self._depths = depths

    def found(self, low: int, wanted: list[int], prototype: Prototype | None, made: Inference) -> dict[int, int]:
        """{register: pointee of that argument} of a function, as far as its callers agree. Callers are inferred no
        deeper than necessary."""
        sites = self._sites(low)
        if sites is None:
            return {}
        # A void pointer parameter may get another type from callers that are unknown.
        every = prototype is not None and prototype.trusted
        asked = _Asked(low, wanted, 0)
        for place in self._mentions.stored.get(low, ()):
            add_declared_parameters(self._graph, self._member_at(place), asked.declared)
        placed: dict[int, ArgumentTypes] = {register: [] for register in wanted}
        self._placed_with(low, placed)
        told = placed
        by_site: dict[int, dict[int, ArgumentTypes]] = {}
        waiting = sites
        for depth in range(self._depths.depth):
            asked.depth = depth
            asked.followed = {(low, register) for register in wanted}
            for site in waiting:
                there = self._depths.inferred_at(site, depth)
                if there is not None:
                    by_site[site] = self._by_one(asked, site, there)
            told = {
                register: [
                    *placed[register],
                    *(one for site in sites if site in by_site for one in by_site[site][register]),
                ]
                for register in wanted
            }
            unknown = [one for one in wanted if not (all(told[one]) if every else any(told[one]))]
            waiting = [
                site
                for site in waiting
                if site in by_site and any(not each for one in unknown for each in by_site[site][one])
            ]
            if not waiting:
                break
        self._called_in_tables(low, {register: each for register, each in told.items() if not any(each)})
        found: dict[int, int] = {}
        for register in wanted:
            if register in asked.declared:
                if asked.declared[register]:
                    found[register] = asked.declared[register]
                continue
            each = told[register]
            known = [one for one in each if one]
            if not known or (every and len(known) < len(each)):
                continue
            t = common_pointee(self._graph, known)
            if t:
                found[register] = t
        if asked.sizes and not any(any(told[register]) for register in asked.sizes):
            t = self._of_size(asked.sizes, made)
            if t:
                found.update(dict.fromkeys(asked.sizes, t))
        return found

    def _sites(self, low: int) -> list[int] | None:
        """The other functions that call one or take its address; None if they are too many."""
        sites = self._mentions.callers_of(low)
        return [site for site in sites if site != low] if len(sites) <= MOST_SITES else None

    def _of_size(self, sizes: dict[int, set[int]], made: Inference) -> int:
        """The only structure of the passed element size that fits all accesses through the registers."""
        done = no_accesses()
        for register in sizes:
            done.add(made.done_at_entry(register))
        all_sizes = set().union(*sizes.values())
        return of_size(self._graph, all_sizes.pop(), done) if len(all_sizes) == 1 else VOID

    def _by_one(self, asked: _Asked, function: int, made: Inference) -> dict[int, ArgumentTypes]:
        """What one caller, or function that takes the address, passes."""
        low = asked.low
        told: dict[int, ArgumentTypes] = {register: [] for register in asked.registers}
        for address, t in made.webs.addresses:
            if address == low:
                add_declared_parameters(self._graph, t, asked.declared)
        self._stored_with(low, made, told)
        for _k, target, values, sources in made.webs.calls:
            call = _Call(made, values, sources)
            if target == low:
                for register, each in told.items():
                    each += self._given(asked, function, call, register)
                continue
            self._called_back(asked, target, call, told)
            callee = self._program.callee(target)
            name = callee.name.partition("@")[0] if callee is not None else ""
            back = CALLED_BACK.get(name)
            if back is None:
                continue
            function_value = values.get(MACHINE.parameters[back[0]])
            if function_value is None or function_value[0] != ADDRESS or function_value[4] != low:
                continue
            size, elements = self._element_size(name, values)
            for n, source in enumerate(back[1]):
                register = MACHINE.parameters[n]
                if register in told:
                    given = call.given(MACHINE.parameters[source])
                    if n in elements:
                        # Of the objects that start there, one of the element's size.
                        given = tuple(t for t in given if self._graph.size(t) == size)
                        asked.sizes.setdefault(register, set()).add(size)
                    told[register].append(given)
        return told

    def _given(self, asked: _Asked, function: int, call: _Call, register: int) -> ArgumentTypes:
        """An argument's pointee; if the caller only passes its own argument on, what its callers pass."""
        known, source = call.given(register), call.sources.get(register)
        outer = call.by.webs.entry_of(source[0]) if not known and source is not None and not source[1] else -1
        if outer < 0:
            return [known]
        if (function, outer) in asked.followed:
            # Recursion.
            return []
        asked.followed.add((function, outer))
        return self._passed_on(asked, function, outer)

    def _passed_on(self, asked: _Asked, function: int, register: int) -> ArgumentTypes:
        """What a function is given that it passes on."""
        sites = self._sites(function)
        if not sites:
            return [_UNKNOWN]
        inner = _Asked(function, [register], asked.depth)
        inner.followed = asked.followed
        told: dict[int, ArgumentTypes] = {register: []}
        for place in self._mentions.stored.get(function, ()):
            add_declared_parameters(self._graph, self._member_at(place), inner.declared)
        self._placed_with(function, told)
        for site in sites:
            there = self._depths.inferred_at(site, asked.depth)
            told[register] += self._by_one(inner, site, there)[register] if there is not None else [_UNKNOWN]
        t = inner.declared.get(register, VOID)
        return [(t,)] if t else told[register]

    def _element_size(self, name: str, values: "Mapping[int, Value | None]") -> tuple[int, tuple[int, ...]]:
        """(element size in bytes, callback parameters that point to an element) of a call; (0, ()) if it
        passes none."""
        value = values.get(MACHINE.parameters[ELEMENT_SIZES[name]]) if name in ELEMENT_SIZES else None
        if value is None or value[0] != NUMBER or value[2]:
            return 0, ()
        elements: tuple[int, ...] = (0, 1)
        if name in ONE_ELEMENT:
            elements = (1,)
        return value[4], elements

    def _called_back(self, asked: _Asked, target: int, call: _Call, told: dict[int, ArgumentTypes]) -> None:
        """What a function of the program passes to a callback that it is given."""
        passed = [
            register
            for register in MACHINE.parameters
            if (value := call.values.get(register)) is not None and value[0] == ADDRESS and value[4] == asked.low
        ]
        if not passed or target not in self._functions or target == asked.low:
            return
        made = self._depths.inferred_at(target, asked.depth)
        if made is None:
            return
        called = False
        for node, known, given in made.webs.through:
            if made.webs.entry_of(node) not in passed:
                continue
            called = True
            for register, each in told.items():
                source = given.get(register)
                outer = made.webs.entry_of(source[0]) if source is not None and not source[1] else -1
                found = argument_pointees(made, known.get(register), source)
                if not found and outer >= 0:
                    # Passes on its own argument.
                    found = call.given(outer)
                each.append(found)
        if not called:
            self._kept_with(passed[0], target, call, told)

    def _kept_with(self, function: int, target: int, call: _Call, told: dict[int, ArgumentTypes]) -> None:
        """The context passed together with a callback to a function that stores both: it becomes the callback's void
        pointer argument."""
        for to, kept in self._contexts.kept_by(target).get(function, ()):
            if to in told:
                told[to].append(call.given(kept))

    def _stored_with(self, low: int, made: Inference, told: dict[int, ArgumentTypes]) -> None:
        """What a function stores in the context member beside the member in which it stores the callback's address."""
        stores = made.webs.stores
        places: dict[object, list[int]] = {}
        for one in stores:
            if one.value is None or one.value[0] != ADDRESS or one.value[4] != low or one.where is None:
                continue
            located = made.tracker.oracle.locate(one.where, 8)
            if isinstance(located, str):
                continue
            for number, other in enumerate(stores) if not places else ():
                places.setdefault(other.where, []).append(number)
                places.setdefault((other.base, other.offset), []).append(number)
            for to, apart in self._contexts.members_beside(located.type, located.offset):
                there = places.get((*one.where[:4], one.where[4] + apart), ())
                same = places.get((one.base, one.offset + apart), ()) if one.base is not None else ()
                for number in sorted({*there, *same}) if to in told else ():
                    told[to].append(argument_pointees(made, stores[number].value, stores[number].source))

    def _placed_with(self, low: int, told: dict[int, ArgumentTypes]) -> None:
        """What static data has in the context member beside the callback's address."""
        for place in self._mentions.stored.get(low, ()):
            found = self._program.source.global_at(place)
            for to, apart in self._contexts.members_beside(found[0].type, found[1]) if found is not None else ():
                value = self._moved.get(place + apart, 0)
                if to in told and value:
                    told[to].append(self._global_at(value))

    def _called_in_tables(self, low: int, told: dict[int, ArgumentTypes]) -> None:
        """Arguments of calls through members of the type in which the address is stored, by functions that reference
        that variable."""
        source, graph = self._program.source, self._graph
        for place in self._mentions.stored.get(low, ()) if told else ():
            found, member = source.global_at(place), self._member_at(place)
            sites = self._mentions.mentioning(found[0].address) if found is not None and member else []
            inferred = map(self._depths.deepest, sites if len(sites) <= MOST_SITES else ())
            for made in [one for one in inferred if one is not None]:
                for called, values, sources in made.webs.called:
                    if graph.same(called, graph.target(member)):
                        call = _Call(made, values, sources)
                        for register, each in told.items():
                            each.append(call.given(register))

    def _global_at(self, address: int) -> tuple[int, ...]:
        """Types of the objects that start at an address of data."""
        found = self._program.source.global_at(address)
        return objects_starting_at(self._graph, found[0].type, found[1]) if found is not None else ()

    def _member_at(self, place: int) -> int:
        found = self._program.source.global_at(place)
        return self._graph.value_at(found[0].type, found[1], 8) if found is not None else VOID
