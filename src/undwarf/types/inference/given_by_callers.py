# cython: language_level=3, annotation_typing=False
"""What a function that only its own program calls is given by all who call it.

Compilers change what such functions take: they pass a member in place of what it is loaded from, and leave out what is
always the same. Debugging information then says nothing of the register, but all calls are in the program's code.
"""

from collections.abc import Callable

from undwarf.disasm.references import CALL
from undwarf.types.dataflow.flow import FunctionFlow
from undwarf.types.dataflow.program import Program
from undwarf.types.dataflow.tracking import Tracker
from undwarf.types.dataflow.values import ADDRESS, NUMBER, OBJECT, Value
from undwarf.types.inference.mentions import MOST_SITES, Mentions
from undwarf.types.layouts.model import VOID

__all__ = ["GivenByCallers"]

FlowOf = Callable[[int], "tuple[FunctionFlow, int, int] | None"]


class GivenByCallers:
    """``flow_of`` gives the control flow and bounds of the function that holds an address."""

    def __init__(self, program: Program, mentions: Mentions, flow_of: FlowOf) -> None:
        self._program = program
        self._mentions = mentions
        self._flow_of = flow_of

    def of(self, low: int, tracker: Tracker) -> dict[int, int]:
        """By register, what the parameters of a function lead to of which nothing else says what they are; ``tracker``
        is its data flow without that."""
        prototype = self._program.source.prototype_at(low)
        if prototype is None or prototype.external:
            return {}
        registers = self._unknown(tracker)
        sites = self._mentions.sites_of(low) if registers else []
        if not sites or len(sites) > MOST_SITES or any(kind != CALL for kind, _site in sites):
            return {}
        given: dict[int, list[int | None]] = {register: [] for register in registers}
        for _kind, site in sites:
            if not self._add(low, site, given):
                return {}
        return {register: t for register, told in given.items() if (t := self._of_all(told))}

    def _unknown(self, tracker: Tracker) -> list[int]:
        """The registers of parameters that are used, and of which nothing is known when the function begins."""
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
        """Adds what one call gives; whether what seems to be one is."""
        found = self._flow_of(site)
        if found is None:
            return False
        flow, begin, end = found
        k = flow.index_of(site)
        if k is None:
            # In the middle of an instruction.
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
                # It hands on what it was given, or goes on to the next.
                continue
            told.append(self._leads(tracker, value))
        return True

    def _leads(self, tracker: Tracker, value: Value | None) -> int | None:
        """What a value leads to the begin of; None for a null pointer."""
        if value is None:
            return VOID
        if value[:3] == (NUMBER, 0, 0) and not value[4]:
            return None
        if value[0] == OBJECT and not value[2] and not value[4] and not self._program.graph.choices(value[1]):
            return value[1]
        if value[0] == ADDRESS and not value[2]:
            found = tracker.questions.variable_of(value)
            return found[0] if found is not None and not found[1] else VOID
        return VOID

    def _of_all(self, told: list[int | None]) -> int:
        """What all of them lead to; void where they do not agree, or it is bytes."""
        graph = self._program.graph
        types = [t for t in told if t is not None]
        if not types or any(t == VOID or not graph.same(t, types[0]) for t in types):
            return VOID
        return VOID if graph.is_scalar(types[0]) and graph.size(types[0]) == 1 else types[0]
