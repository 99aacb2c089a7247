# cython: language_level=3, annotation_typing=False
"""Who calls the functions of a program, and what these are given: for functions of which nothing says what they take.

BTF leaves functions out whose parameters are not where their prototype says - one number with a point among them is
enough for pahole - and says nothing of what is behind a `void *`. All calls of a function are in its program's code,
where its address is taken tells who else calls it: a member or parameter that leads to functions says what these take,
and some functions of the C library call what they are given with what they are given.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from undwarf.buffers import zeros
from undwarf.disasm.references import References
from undwarf.disasm.x86_64 import MACHINE
from undwarf.elf import ElfFile
from undwarf.elf.headers import SHF_EXECINSTR
from undwarf.types.calling import argument_registers
from undwarf.types.flow import FunctionFlow
from undwarf.types.inference import Inference
from undwarf.types.model import VOID, Kind
from undwarf.types.places import Prototype
from undwarf.types.pointed import pointed
from undwarf.types.program import Program
from undwarf.types.tracking import Tracker
from undwarf.types.values import ADDRESS, FRAME, Value

__all__ = ["Callers"]

_MOST_SITES = 16
"""Functions that call one, which are looked into."""
_DEEP = 4
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
_EXECUTABLE = 2

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
        self._flow_of = flow_of
        self._kept: OrderedDict[int, Inference] = OrderedDict()
        self._partial: set[int] = set()
        self._asking: list[int] = []
        self._cut = False
        self._left = elf.limits.callers_followed

    def infer(self, flow: FunctionFlow, low: int, high: int) -> Inference:
        """What a function's values are."""
        known = self._kept.get(low)
        if known is not None and (low not in self._partial or self._asking):
            self._kept.move_to_end(low)
            return known
        if not self._asking:
            self._left = self._elf.limits.callers_followed
        prototype = self._program.source.prototype_at(low)
        made = Inference(self._program, flow, low, high, prototype, {}, self._returned)
        wanted = self._wanted(made, prototype)
        cut = False
        if wanted:
            self._asking.append(low)
            outer, self._cut = self._cut, False
            given = self._arguments(low, wanted, prototype)
            cut = self._cut
            self._cut = outer or cut
            self._asking.pop()
            given = {register: t for register, t in given.items() if made.entry_fits(register, t)}
            if given:
                made = Inference(self._program, flow, low, high, prototype, given, self._returned)
        (self._partial.add if cut and self._asking else self._partial.discard)(low)
        self._kept[low] = made
        if len(self._kept) > _KEPT:
            self._partial.discard(self._kept.popitem(last=False)[0])
        return made

    def _other(self, low: int) -> Inference | None:
        """Another function, as long as not too many were looked into for the one that is asked for."""
        known = self._kept.get(low)
        if known is not None:
            return known
        found = self._flow_of(low)
        if found is None or len(found[0].instructions) > self._graph.limits.inferred_instructions:
            return None
        if not self._left:
            self._cut = True
            return None
        self._left -= 1
        return self.infer(*found)

    # What is wanted ----------------------------------------------------------------------------------------

    def _wanted(self, made: Inference, prototype: Prototype | None) -> list[int]:
        """Registers of parameters that are used, and of which is not known what they lead to."""
        read = [at for kind, at, _more in made.webs.nodes if kind == "entry" and at in MACHINE.parameters]
        if prototype is not None and prototype.trusted:
            graph = self._graph
            nothing = {
                register
                for register, t, piece in prototype.arguments
                if not piece and graph.is_pointer(t) and graph.kind(graph.strip(graph.target(t))) == Kind.VOID
            }
            read = [register for register in read if register in nothing]
        return [one for one in MACHINE.parameters if one in read and one not in made.entered]

    def _arguments(self, low: int, wanted: list[int], prototype: Prototype | None) -> dict[int, int]:
        """By register, what callers of a function pass there leads to."""
        told: dict[int, Told] = {register: [] for register in wanted}
        declared: dict[int, int] = {}
        sites = self._callers_of(low)
        if len(sites) > _MOST_SITES or len(self._asking) > _DEEP:
            self._cut = True
            return {}
        for place in self._stored.get(low, ()):
            self._as_declared(self._member_at(place), declared)
        for site in sites:
            self._at_site(low, site, told, declared)
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
            t = self._common(known)
            if t:
                found[register] = t
        return found

    def _at_site(self, low: int, function: int, told: dict[int, Told], declared: dict[int, int]) -> None:
        """What one function that calls another, or takes its address, gives it."""
        if function in self._asking:
            if function != low:
                self._cut = True
            return
        made = self._other(function)
        if made is None:
            return
        for address, t in made.webs.addresses:
            if address == low:
                self._as_declared(t, declared)
        for _k, target, values, sources in made.webs.calls:
            if target == low:
                for register, each in told.items():
                    each.append(self._given(made, values.get(register), sources.get(register)))
                continue
            self._called_back(low, target, values, told)
            callee = self._program.callee(target)
            back = _CALLED_BACK.get(callee.name.partition("@")[0]) if callee is not None else None
            if back is None:
                continue
            function_value = values.get(MACHINE.parameters[back[0]])
            if function_value is None or function_value[0] != ADDRESS or function_value[4] != low:
                continue
            for n, source in enumerate(back[1]):
                register = MACHINE.parameters[n]
                if register in told:
                    source_register = MACHINE.parameters[source]
                    given = self._given(made, values.get(source_register), sources.get(source_register))
                    told[register].append(given)

    def _called_back(self, low: int, target: int, values: dict[int, Value | None], told: dict[int, Told]) -> None:
        """What a function of the program that is given another one's address gives that when it calls it."""
        passed = [
            register
            for register in MACHINE.parameters
            if (value := values.get(register)) is not None and value[0] == ADDRESS and value[4] == low
        ]
        if not passed or target not in self._functions or target == low:
            return
        if target in self._asking or len(self._asking) > _DEEP:
            self._cut = True
            return
        made = self._other(target)
        if made is None:
            return
        for node, known, sources in made.webs.through:
            if made.webs.entry_of(node) in passed:
                for register, each in told.items():
                    each.append(self._given(made, known.get(register), sources.get(register)))

    def _given(self, made: Inference, value: Value | None, source: "tuple[object, int, int] | None") -> tuple[int, ...]:
        """Types of which one begins where an argument leads to; empty for unknown."""
        known = pointed(made.tracker, value)
        if known:
            return known
        if value is not None and value[0] == FRAME and not value[2]:
            place = made.place_at(value[4])
            return (place,) if place else ()
        if source is not None and not source[1]:
            t = made.decided.leads.get(source[0], VOID)  # type: ignore[call-overload]
            return (t,) if t else ()
        return ()

    def _as_declared(self, t: int, declared: dict[int, int]) -> None:
        """The parameters of a pointer to a function; of one that several such say, what all say."""
        graph = self._graph
        returns = graph.returns(t)
        for register, parameter, piece in argument_registers(graph, graph.parameters(t), returns):
            if piece or not graph.is_pointer(parameter):
                continue
            target = graph.target(parameter)
            if graph.kind(graph.strip(target)) == Kind.VOID:
                continue
            known = declared.setdefault(register, target)
            if known and graph.canonical(known) != graph.canonical(target):
                declared[register] = VOID

    def _returned(self, target: int) -> int:
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
            told.append(self._given(made, value, source))
        return self._common(told) if told and all(told) else VOID

    def _common(self, told: list[tuple[int, ...]]) -> int:
        """The largest whole that all lead to; not what different aggregates happen to begin with."""
        graph = self._graph
        common = set.intersection(*({graph.canonical(t) for t in one} for one in told))
        t = next((t for t in told[0] if graph.canonical(t) in common), VOID)
        if t and not graph.is_aggregate(t) and any(graph.is_aggregate(one[0]) for one in told):
            return VOID
        return t

    # Where calls are ---------------------------------------------------------------------------------------

    @cached_property
    def _starts(self) -> "memoryview[int]":
        """Where functions begin, in rising order."""
        column = zeros("Q", len(self._functions))
        for number, start in enumerate(sorted(self._functions)):
            column[number] = start
        return column

    @cached_property
    def _references(self) -> list[References]:
        """By section, what its code says of functions."""
        found: list[References] = []
        left = self._elf.limits.call_scan_bytes
        for section in self._elf.sections:
            if not section.flags & SHF_EXECINSTR or not section.size:
                continue
            data = self._elf.section_data(section)
            if data is None or len(data) > left:
                continue
            left -= len(data)
            fixed = self._elf.kind == _EXECUTABLE
            found.append(References(data, section.address, self._starts, constants=fixed))
        return found

    def _callers_of(self, low: int) -> list[int]:
        """The functions that call one, then those that take its address; of very many only some."""
        number = bisect_left(self._starts, low)
        if number == len(self._starts) or self._starts[number] != low:
            return []
        found: dict[int, None] = {}
        for _kind, site in sorted(one for section in self._references for one in section.of(number)):
            bounds = self._program.source.function_range(site)
            if bounds is not None:
                found[bounds[0]] = None
                if len(found) > _MOST_SITES:
                    break
        return list(found)

    @cached_property
    def _stored(self) -> dict[int, list[int]]:
        """By function, the places in data that hold its address."""
        found: dict[int, list[int]] = {}
        for place, value in self._words():
            if value in self._functions:
                found.setdefault(value, []).append(place)
        return found

    def _words(self) -> Iterable[tuple[int, int]]:
        if self._elf.kind != _EXECUTABLE:
            yield from self._moved.items()
            return
        left = self._elf.limits.call_scan_bytes
        for section in self._elf.sections:
            if section.name not in (".data", ".rodata", ".data.rel.ro"):
                continue
            data = self._elf.section_data(section)
            if data is None or len(data) > left or section.address % 8:
                continue
            left -= len(data)
            for k, value in enumerate(memoryview(bytes(data[: len(data) // 8 * 8])).cast("Q")):
                yield section.address + 8 * k, value

    def _member_at(self, place: int) -> int:
        found = self._program.source.global_at(place)
        return self._graph.value_at(found[0].type, found[1], 8) if found is not None else VOID


def follow(callers: Callers | None, program: Program, flow: FunctionFlow, low: int, high: int) -> Tracker:
    """The data flow of a function; with what can be inferred where nothing names its variables."""
    tracker = Tracker(program, flow, low, high)
    if callers is None or tracker.has_variables or len(flow.instructions) > program.graph.limits.inferred_instructions:
        return tracker
    return callers.infer(flow, low, high).tracker
