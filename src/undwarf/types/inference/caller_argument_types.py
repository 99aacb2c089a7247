# cython: language_level=3, annotation_typing=False
"""Arguments of local functions, from all calls in the program's own code.

Optimizers change the parameters of local functions (-fipa-sra, -fipa-cp): a member is passed instead of its object,
constants are dropped. DWARF then has no location for the register, but all calls are known. Nor does it have the
pointee of a `void *` that a C library function passes to a callback.
"""

from collections.abc import Callable

from undwarf.disasm.x86_encoding import CALLED
from undwarf.types.dataflow.abstract_values import ADDRESS, FRAME, NUMBER, OBJECT, Value
from undwarf.types.dataflow.control_flow import FunctionFlow
from undwarf.types.dataflow.function_dataflow import Tracker
from undwarf.types.dataflow.program_context import ProgramContext
from undwarf.types.inference.address_references import MOST_SITES, AddressReferences
from undwarf.types.layouts.array_offsets import element_at
from undwarf.types.layouts.type_graph import VOID
from undwarf.types.sources.c_library import CALLED_BACK, ELEMENT_SIZES, ONE_ELEMENT

__all__ = ["CallerArgumentTypes"]

FlowOf = Callable[[int], "tuple[FunctionFlow, int, int] | None"]


class CallerArgumentTypes:
    """Argument types by calls. ``flow_of`` gives the control flow and bounds of the function that
    contains an address."""

    def __init__(self, program: ProgramContext, mentions: AddressReferences, flow_of: FlowOf) -> None:
        self._program = program
        self._mentions = mentions
        self._flow_of = flow_of

    def of(self, low: int, tracker: Tracker) -> dict[int, int]:
        """{register: pointee} of a function's parameters that are not known otherwise; ``tracker`` is its data flow
        without these."""
        prototype = self._program.source.prototype_at(low)
        registers = self._unknown(tracker) if prototype is not None else []
        sites = self._mentions.sites_of(low) if registers else []
        if prototype is None or not sites or len(sites) > MOST_SITES:
            return {}
        if prototype.external and any(kind == CALLED for kind, _site in sites):
            return {}
        given: dict[int, list[int | None]] = {register: [] for register in registers}
        for kind, site in sites:
            add = self._add if kind == CALLED else self._add_called_back
            if not add(low, site, given):
                return {}
        return {register: t for register, told in given.items() if (t := self._of_all(told))}

    def _unknown(self, tracker: Tracker) -> list[int]:
        """Parameter registers that are used, and unknown at entry."""
        tracker.before(0)
        parameters = tracker.program.machine.parameters
        unknown = [one for one in parameters if (held := tracker.register(one)) is None or held[0] == NUMBER]
        read: set[int] = set()
        for made in tracker.flow.instructions:
            read.update(made.reads)
            if read.issuperset(unknown):
                break
        return [one for one in unknown if one in read]

    def _add(self, low: int, site: int, given: dict[int, list[int | None]]) -> bool:
        """Add the arguments of one call; False if the site cannot be analysed."""
        found = self._flow_of(site)
        if found is None:
            return False
        flow, begin, end = found
        k = flow.index_of(site)
        if k is None:
            # Not an instruction's start.
            return True
        if (
            flow.instructions[k].target != low
            or len(flow.instructions) > self._program.graph.limits.inferred_instructions
        ):
            return False
        tracker = Tracker(self._program, flow, begin, end, None, [k])
        tracker.before(k)
        for register, told in given.items():
            value = tracker.register(register)
            if begin == low and (value is None or value[0] == NUMBER):
                # Recursion: passes its argument on, or its successor.
                continue
            told.append(self._leads(tracker, k, value))
        return True

    def _add_called_back(self, low: int, site: int, given: dict[int, list[int | None]]) -> bool:
        """Add what a C library function passes to a callback; False if the address is taken for anything else."""
        found = self._flow_of(site)
        if found is None:
            return False
        flow, begin, end = found
        k = flow.index_of(site)
        if k is None:
            return True
        if len(flow.instructions) > self._program.graph.limits.inferred_instructions:
            return False
        block = flow.block_of(k)
        called, target = next(
            ((at, to) for at in range(k, flow.blocks.end(block)) if (to := flow.instructions[at].target) is not None),
            (k, None),
        )
        callee = self._program.callee(target) if target is not None else None
        name = callee.name.partition("@")[0] if callee is not None else ""
        if name not in CALLED_BACK:
            return False
        which, passed = CALLED_BACK[name]
        parameters = self._program.machine.parameters
        tracker = Tracker(self._program, flow, begin, end, None, [called])
        tracker.before(called)
        taken = tracker.register(parameters[which])
        if taken is None or taken[0] != ADDRESS or taken[2] or taken[4] != low:
            return False
        size = tracker.register(parameters[ELEMENT_SIZES[name]]) if name in ELEMENT_SIZES else None
        for n, source in enumerate(passed):
            if parameters[n] not in given:
                continue
            value = tracker.register(parameters[source])
            of_array = name in ELEMENT_SIZES and n < 2 and not (name in ONE_ELEMENT and not n)
            given[parameters[n]].append(
                self._element(tracker, called, value, size) if of_array else self._leads(tracker, called, value)
            )
        return True

    def _element(self, tracker: Tracker, k: int, value: Value | None, size: Value | None) -> int:
        """The element type of an array that a value points to."""
        if value is None or size is None or size[:3] != (NUMBER, 0, 0) or value[2] not in (0, size[4]):
            return VOID
        t, offset = value[1], value[4]
        if value[0] != OBJECT:
            t, offset = self._variable(tracker, k, value)
        return element_at(self._program.graph, t, offset, size[4])

    def _leads(self, tracker: Tracker, k: int, value: Value | None) -> int | None:
        """The pointee of a value that points to an object's start; None for null."""
        if value is None:
            return VOID
        if value[:3] == (NUMBER, 0, 0) and not value[4]:
            return None
        if value[0] == OBJECT and not value[2] and not value[4]:
            return value[1]
        t, offset = self._variable(tracker, k, value) if not value[2] else (VOID, 0)
        return t if not offset else VOID

    def _variable(self, tracker: Tracker, k: int, value: Value) -> tuple[int, int]:
        """(type, offset in it) of the variable at an address; void if there is none."""
        if value[0] == FRAME:
            place = tracker.stack_variable(k, value[4])
            return (place[0].type, place[1]) if place is not None else (VOID, 0)
        found = tracker.oracle.variable_of(value) if value[0] == ADDRESS else None
        return found if found is not None else (VOID, 0)

    def _of_all(self, told: list[int | None]) -> int:
        """The type that all calls agree on; void if they do not, or for bytes."""
        graph = self._program.graph
        types = [t for t in told if t is not None]
        if not types or any(t == VOID or not graph.same(t, types[0]) for t in types):
            return VOID
        return VOID if graph.is_scalar(types[0]) and graph.size(types[0]) == 1 else types[0]
