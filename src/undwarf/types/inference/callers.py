# cython: language_level=3, annotation_typing=False
"""Who calls the functions of a program, and what these are given: for functions of which nothing says what they take.

BTF leaves functions out whose parameters are not where their prototype says - one number with a point among them is
enough for pahole - and says nothing of what is behind a `void *`. All calls of a function are in its program's code,
where its address is taken tells who else calls it: a member or parameter that leads to functions says what these take,
and some functions of the C library call what they are given with what they are given.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

from undwarf.disasm.x86_64 import MACHINE
from undwarf.elf import ElfFile
from undwarf.types.dataflow.flow import FunctionFlow
from undwarf.types.dataflow.program import Program
from undwarf.types.dataflow.tracking import Facts, Tracker
from undwarf.types.dataflow.values import ADDRESS, FRAME, NUMBER, Value
from undwarf.types.inference.callback_contexts import CallbackContexts
from undwarf.types.inference.derived_structures import DerivedStructures
from undwarf.types.inference.dispatch_tables import DispatchTables
from undwarf.types.inference.function_inference import FromOutside, FunctionBody, Inference
from undwarf.types.inference.given_types import as_declared, begins, given_types, in_common
from undwarf.types.inference.mentions import MOST_SITES, Mentions
from undwarf.types.inference.nodes import Held
from undwarf.types.inference.private_members import PrivateMembers
from undwarf.types.inference.structure_matching import of_size
from undwarf.types.layouts.fitting import nothing_done
from undwarf.types.layouts.model import VOID
from undwarf.types.sources.c_library import ELEMENT_SIZES
from undwarf.types.sources.places import Prototype
from undwarf.types.uses.allocations import allocated

__all__ = ["Callers"]

_FEW_FUNCTIONS = 4096
"""Functions of a program beyond which those that take a pointer to something are not looked for."""
_DEEP = 8
"""Callers of callers that are looked into."""
_KEPT = 256
_CALLED_BACK = {
    "qsort": (3, (0, 0)),
    "qsort_r": (3, (0, 0, 4)),
    "bsearch": (4, (0, 1)),
    "lfind": (4, (0, 1)),
    "lsearch": (4, (0, 1)),
    "pthread_create": (2, (3,)),
    "thrd_create": (1, (2,)),
}
"""By function, the parameter that is called and which of the function's parameters it is given (C11 7.22.5, 7.26.5;
POSIX)."""
_ONE_ELEMENT = frozenset(("bsearch", "lfind", "lsearch"))
"""Functions that give what they call a key first, and then an element."""
Told = list[tuple[int, ...] | None]
"""What each call gives: types that begin where a pointer leads to, None where that is not known."""


class Callers:
    """Infers the functions of one program; each with what its callers tell, as far as their code is looked into.

    ``functions`` are names by address; ``moved`` addresses in data by place; ``flow_of`` gives a function's control
    flow and bounds.
    """

    def __init__(
        self,
        elf: ElfFile,
        program: Program,
        functions: Mapping[int, str],
        moved: Mapping[int, int],
        flow_of: Callable[[int], tuple[FunctionFlow, int, int] | None],
    ) -> None:
        self._elf = elf
        self._program = program
        self._graph = program.graph
        self._functions = functions
        self._moved = moved
        self._mentions = Mentions(elf, program, functions, moved)
        self._flow_of = flow_of
        self._kept: OrderedDict[int, Inference] = OrderedDict()
        self._partial: set[int] = set()
        """Those of which less was told than others may be told, as who asked, or was told less itself, was left out."""
        self._asking: list[int] = []
        self._through: dict[int, list[tuple[int, dict[int, int]]]] = {}
        """By aggregate, calls of members in functions that take a pointer to it."""
        self._contexts = CallbackContexts(
            self._graph, program.source.prototype_at, self._looked_into, self._calls_through
        )
        self._tables = DispatchTables(program.source, self._mentions, self._looked_into)
        self._private = PrivateMembers(self._graph, self._tables.beside, self._looked_into)
        self._derived = DerivedStructures(self._graph, program.source.global_at, self._mentions, self._inferred)
        self._cut = False
        self._left = elf.limits.callers_followed

    def infer(self, flow: FunctionFlow, low: int, high: int, tracker: Tracker | None = None) -> Inference:
        """What a function's values are; ``tracker`` is its data flow without any facts, where that is at hand."""
        known = self._kept.get(low)
        if known is not None and (low not in self._partial or self._asking):
            self._cut = self._cut or low in self._partial
            self._kept.move_to_end(low)
            return known
        if not self._asking:
            self._left = self._elf.limits.callers_followed
            self._forget()
        prototype = self._program.source.prototype_at(low)
        outer, self._cut = self._cut, False
        body = FunctionBody(flow, low, high, prototype)
        made = Inference(self._program, body, callees=self, tracker=tracker)
        wanted = self._wanted(made, prototype)
        if wanted:
            self._asking.append(low)
            given = self._arguments(low, wanted, prototype, made)
            for register in wanted:
                if register not in given and register not in made.facts.entry:
                    t = self._tables.given(low, register, made)
                    given |= {register: t} if t else {}
            self._asking.pop()
            given = {register: t for register, t in given.items() if self._derived.fits_entry(made, register, t)}
            if given:
                made.release()
                made = Inference(self._program, body, FromOutside(given), self)
        self._asking.append(low)
        loaded = self._private.loaded(low, made) if len(self._asking) <= _DEEP else {}
        self._asking.pop()
        wholes, bases = self._derived.meant(low, made)
        if wholes or loaded:
            made.release()
            made = Inference(self._program, body, FromOutside(made.given, wholes, bases, loaded), self)
        cut, self._cut = self._cut, outer or self._cut
        (self._partial.add if cut else self._partial.discard)(low)
        self._kept[low] = made
        if len(self._kept) > _KEPT:
            gone, dropped = self._kept.popitem(last=False)
            self._partial.discard(gone)
            dropped.release()
        return made

    def _forget(self) -> None:
        """What was told of functions while others were asked for may be more for who asks now."""
        for low in self._partial:
            dropped = self._kept.pop(low, None)
            if dropped is not None:
                dropped.release()
        self._partial.clear()

    def _other(self, low: int) -> Inference | None:
        """Another function, as long as not too many were looked into for the one that is asked for."""
        known = self._kept.get(low)
        if known is not None:
            self._cut = self._cut or low in self._partial
            return known
        found = self._flow_of(low)
        if found is None or len(found[0].instructions) > self._graph.limits.inferred_instructions:
            return None
        if not self._left:
            self._cut = True
            return None
        self._left -= 1
        return self.infer(*found)

    def _inferred(self, low: int, sites: list[int]) -> Iterator[Inference]:
        """What is inferred of functions, for one that asks; of each only until the next is taken."""
        if len(sites) > MOST_SITES or len(self._asking) > _DEEP:
            self._cut = True
            return
        self._asking.append(low)
        for site in sites:
            made = self._other(site) if site not in self._asking else None
            self._cut = self._cut or (site in self._asking and site != low)
            if made is not None:
                yield made
        self._asking.pop()

    def _looked_into(self, low: int) -> Inference | None:
        """The same, unless it waits for an answer itself, or too many do."""
        if low in self._asking or len(self._asking) > _DEEP:
            self._cut = True
            return None
        return self._other(low)

    # What is wanted ----------------------------------------------------------------------------------------

    def _wanted(self, made: Inference, prototype: Prototype | None) -> list[int]:
        """Registers of parameters that are used, and of which is not known what they lead to."""
        read = [at for kind, at, _more in made.webs.nodes if kind == "entry" and at in MACHINE.parameters]
        if prototype is not None and prototype.trusted:
            graph = self._graph
            nothing = {register for register, t, piece in prototype.arguments if not piece and graph.is_void_pointer(t)}
            read = [register for register in read if register in nothing]
        return [one for one in MACHINE.parameters if one in read and one not in made.entered]

    def _arguments(self, low: int, wanted: list[int], prototype: Prototype | None, made: Inference) -> dict[int, int]:
        """By register, what callers of a function pass there leads to."""
        told: dict[int, Told] = {register: [] for register in wanted}
        declared: dict[int, int] = {}
        sizes: dict[int, set[int]] = {}
        sites = self._mentions.callers_of(low)
        if len(sites) > MOST_SITES or len(self._asking) > _DEEP:
            self._cut = True
            return {}
        for place in self._mentions.stored.get(low, ()):
            as_declared(self._graph, self._member_at(place), declared)
        self._placed_with(low, told)
        for site in sites:
            self._at_site(low, site, told, declared, sizes)
        self._called_in_tables(low, {register: each for register, each in told.items() if not any(each)})
        found: dict[int, int] = {}
        for register in wanted:
            if register in declared:
                if declared[register]:
                    found[register] = declared[register]
                continue
            each = told[register]
            known = [one for one in each if one]
            # What takes any pointer may get another one where it is not known.
            if not known or (prototype is not None and prototype.trusted and len(known) < len(each)):
                continue
            t = in_common(self._graph, known)
            if t:
                found[register] = t
        if sizes and not any(known for register in sizes for known in told[register]):
            t = self._of_size(sizes, made)
            if t:
                found.update(dict.fromkeys(sizes, t))
        return found

    def _of_size(self, sizes: dict[int, set[int]], made: Inference) -> int:
        """The only structure of the size of what some registers lead to that has all that is accessed there."""
        done = nothing_done()
        for register in sizes:
            done.add(made.done_at_entry(register))
        all_sizes = set().union(*sizes.values())
        return of_size(self._graph, all_sizes.pop(), done) if len(all_sizes) == 1 else VOID

    def _at_site(
        self,
        low: int,
        function: int,
        told: dict[int, Told],
        declared: dict[int, int],
        sizes: dict[int, set[int]],
    ) -> None:
        """What one function that calls another, or takes its address, gives it; and of how many bytes, if only that is
        known."""
        if function in self._asking:
            if function != low:
                self._cut = True
            return
        made = self._other(function)
        if made is None:
            return
        for address, t in made.webs.addresses:
            if address == low:
                as_declared(self._graph, t, declared)
        self._stored_with(low, made, told)
        for _k, target, values, sources in made.webs.calls:
            if target == low:
                for register, each in told.items():
                    each.append(given_types(made, values.get(register), sources.get(register)))
                continue
            self._called_back(low, target, made, values, sources, told)
            callee = self._program.callee(target)
            back = _CALLED_BACK.get(callee.name.partition("@")[0]) if callee is not None else None
            if back is None:
                continue
            function_value = values.get(MACHINE.parameters[back[0]])
            if function_value is None or function_value[0] != ADDRESS or function_value[4] != low:
                continue
            size = self._element_size(callee.name if callee is not None else "", values)
            for n, source in enumerate(back[1]):
                register = MACHINE.parameters[n]
                if register in told:
                    source_register = MACHINE.parameters[source]
                    given = given_types(made, values.get(source_register), sources.get(source_register))
                    if n in size[1]:
                        # Of what begins there, one element.
                        given = tuple(t for t in given if self._graph.size(t) == size[0])
                        sizes.setdefault(register, set()).add(size[0])
                    told[register].append(given)

    def _element_size(self, name: str, values: "dict[int, Value | None]") -> tuple[int, tuple[int, ...]]:
        """(bytes of an element, which parameters of what is called lead to one) of a call that says so."""
        plain = name.partition("@")[0]
        value = values.get(MACHINE.parameters[ELEMENT_SIZES[plain]]) if plain in ELEMENT_SIZES else None
        if value is None or value[0] != NUMBER or value[2]:
            return 0, ()
        elements: tuple[int, ...] = (0, 1)
        if plain in _ONE_ELEMENT:
            elements = (1,)
        return value[4], elements

    def _called_back(
        self,
        low: int,
        target: int,
        site: Inference,
        values: dict[int, Value | None],
        sources: "dict[int, Held]",
        told: dict[int, Told],
    ) -> None:
        """What a function of the program that is given another one's address gives that when it calls it."""
        passed = [
            register
            for register in MACHINE.parameters
            if (value := values.get(register)) is not None and value[0] == ADDRESS and value[4] == low
        ]
        if not passed or target not in self._functions or target == low:
            return
        made = self._looked_into(target)
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
                found = given_types(made, known.get(register), source)
                if not found and outer >= 0:
                    # It goes on with what it was given itself.
                    found = given_types(site, values.get(outer), sources.get(outer))
                each.append(found)
        if not called:
            self._kept_with(passed[0], target, site, values, sources, told)

    def _kept_with(
        self,
        function: int,
        target: int,
        site: Inference,
        values: dict[int, Value | None],
        sources: "dict[int, Held]",
        told: dict[int, Told],
    ) -> None:
        """What is given together with a function's address to somebody who keeps both: what any pointer may be goes to
        the function when that is called."""
        for to, kept in self._contexts.kept_by(target).get(function, ()):
            if to in told:
                told[to].append(given_types(site, values.get(kept), sources.get(kept)))

    def _stored_with(self, low: int, made: Inference, told: dict[int, Told]) -> None:
        """What a function stores in the member beside that in which it stores another one's address."""
        stores = made.webs.stores
        places: dict[object, list[int]] = {}
        for one in stores:
            if one.value is None or one.value[0] != ADDRESS or one.value[4] != low or one.where is None:
                continue
            located = made.tracker.questions.locate(one.where, 8)
            if isinstance(located, str):
                continue
            for number, other in enumerate(stores) if not places else ():
                places.setdefault(other.where, []).append(number)
                places.setdefault((other.base, other.offset), []).append(number)
            for to, apart in self._contexts.members_beside(located.type, located.offset):
                there = places.get((*one.where[:4], one.where[4] + apart), ())
                same = places.get((one.base, one.offset + apart), ()) if one.base is not None else ()
                for number in sorted({*there, *same}) if to in told else ():
                    told[to].append(given_types(made, stores[number].value, stores[number].source))

    def _calls_through(self, t: int) -> list[tuple[int, dict[int, int]]]:
        """All calls of members in functions that take a pointer to an aggregate; none where these are many."""
        if t not in self._through:
            found: list[tuple[int, dict[int, int]]] = []
            taking = self._taking(t) if len(self._functions) <= _FEW_FUNCTIONS else []
            outer, self._cut = self._cut, False
            for low in taking if len(taking) <= MOST_SITES else ():
                made = self._other(low) if low not in self._asking else None
                self._cut = self._cut or low in self._asking
                found += made.webs.with_members() if made is not None else ()
            cut, self._cut = self._cut, outer or self._cut
            if cut:
                return found
            self._through[t] = found
        return self._through[t]

    def _taking(self, t: int) -> list[int]:
        """Functions that take a pointer to a type."""
        found = []
        for low in self._functions:
            prototype = self._program.source.prototype_at(low)
            arguments = prototype.arguments if prototype is not None and prototype.trusted else ()
            if any(self._graph.same(self._graph.target(one), t) for _register, one, piece in arguments if not piece):
                found.append(low)
        return found

    def _placed_with(self, low: int, told: dict[int, Told]) -> None:
        """What data has in the member beside that which has a function's address."""
        for place in self._mentions.stored.get(low, ()):
            found = self._program.source.global_at(place)
            for to, apart in self._contexts.members_beside(found[0].type, found[1]) if found is not None else ():
                value = self._moved.get(place + apart, 0)
                if to in told and value:
                    told[to].append(self._global_at(value))

    def _called_in_tables(self, low: int, told: dict[int, Told]) -> None:
        """What those give that call what members of one type lead to, and speak of the variable that has a function's
        address in such a member."""
        source, graph = self._program.source, self._graph
        for place in self._mentions.stored.get(low, ()) if told else ():
            found, member = source.global_at(place), self._member_at(place)
            sites = self._mentions.speaking_of(found[0].address) if found is not None and member else []
            inferred = map(self._looked_into, sites if len(sites) <= MOST_SITES else ())
            for made in [one for one in inferred if one is not None]:
                for called, values, sources in made.webs.called:
                    if graph.same(called, graph.target(member)):
                        for register, each in told.items():
                            each.append(given_types(made, values.get(register), sources.get(register)))

    def _global_at(self, address: int) -> tuple[int, ...]:
        """Types of which one begins at an address of data."""
        found = self._program.source.global_at(address)
        return begins(self._graph, found[0].type, found[1]) if found is not None else ()

    def returned(self, target: int) -> int:
        """What a function without a prototype returns a pointer to; void where that is not known."""
        if target not in self._functions:
            return VOID
        if target in self._asking or len(self._asking) > _DEEP:
            self._cut = True
            return VOID
        self._asking.append(target)
        made = self._other(target)
        self._asking.pop()
        if made is None:
            return VOID
        told: list[tuple[int, ...]] = []
        for source, value in made.webs.returned:
            if value is not None and value[0] == 0 and not value[2] and not value[4]:
                continue
            if value is not None and (value[2] or (value[0] == FRAME)):
                return VOID
            told.append(given_types(made, value, source))
        return in_common(self._graph, told) if told and all(told) else VOID

    def taken(self, target: int, register: int, values: "Mapping[int, Value | None]") -> int:
        """What a function takes one of its parameters for, itself or one that it is given and calls with it; void where
        that is not known."""
        if target not in self._functions:
            return VOID
        if self._asking:
            # Those that ask may be who is called, and are told less then.
            self._cut = True
            return VOID
        self._forget()
        self._asking.append(target)
        made = self._other(target)
        self._asking.pop()
        if made is None:
            return VOID
        t = made.facts.entry.get(register, VOID)
        if t:
            return t if self._graph.is_aggregate(t) else VOID
        # What asks for others lets go of what was only told in part, of this function as well.
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

    def _member_at(self, place: int) -> int:
        found = self._program.source.global_at(place)
        return self._graph.value_at(found[0].type, found[1], 8) if found is not None else VOID


def follow(
    callers: Callers | None,
    program: Program,
    flow: FunctionFlow,
    low: int,
    high: int,
    tracker: Tracker,
    named: Tracker | None = None,
) -> Tracker:
    """The data flow of a function with what can be inferred where nothing names its variables; ``tracker`` is the one
    without that. Where they have names, what allocators return, the program's own as well if ``named`` is given: the
    one with what all programs' do."""
    if callers is None:
        return tracker
    if tracker.has_variables:
        found = allocated(tracker) if named is None else allocated(tracker, own=True)
        if not found:
            return named or tracker
        made = found if named is None else named.facts.made | found
        return Tracker(program, flow, low, high, Facts(made=made), tracker.wanted)
    if len(flow.instructions) > program.graph.limits.inferred_instructions:
        return tracker
    return callers.infer(flow, low, high, tracker).tracker
