# cython: language_level=3, annotation_typing=False
"""Derived structures in C: which larger structure, starting with the parameter's type, a function works on.

Evidence: the function is in an ops table that only objects of one type have, or only one structure fits all accesses.
"""

from collections.abc import Callable, Iterator

from undwarf.disasm.x86_64 import MACHINE
from undwarf.types.dataflow.abstract_values import ADDRESS, OBJECT
from undwarf.types.inference.address_references import AddressReferences
from undwarf.types.inference.argument_types import argument_pointees
from undwarf.types.inference.function_inference import Inference
from undwarf.types.layouts.access_pattern_fit import PointerAccesses, fits
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.sources.named_types import structures
from undwarf.types.sources.type_source import GlobalVariable

__all__ = ["StructPrefixMatching"]


class StructPrefixMatching:
    """``inferred`` yields the inferences of other functions for one function."""

    def __init__(
        self,
        graph: TypeGraph,
        global_at: "Callable[[int], tuple[GlobalVariable, int] | None]",
        mentions: AddressReferences,
        inferred: Callable[[int, list[int]], Iterator[Inference]],
    ) -> None:
        self._graph = graph
        self._global_at = global_at
        self._mentions = mentions
        self._inferred = inferred

    def meant(self, low: int, made: Inference) -> tuple[dict[int, int], dict[int, int], frozenset[int]]:
        """Three results for parameters accessed past their pointee's end: {register: larger structure}; {that
        structure: the declared one}, as which it is reported while accesses stay within it; declared types with several
        larger ones that fit.

        The larger structure has the ops table that stores the function's address, or is the only one that fits all
        accesses.
        """
        graph = self._graph
        found: dict[int, int] = {}
        bases: dict[int, int] = {}
        several: set[int] = set()
        for register, base, done in made.beyond():
            fitting = self._beginning_with(base, done)
            if len(fitting) > 1:
                having = {graph.canonical(t) for t in self._having_table_of(low, base)}
                fitting = {canonical: t for canonical, t in fitting.items() if canonical in having} or fitting
            if len(fitting) == 1:
                found[register] = t = next(iter(fitting.values()))
                if not self._mentions.stored.get(low):
                    bases[t] = base
            elif fitting:
                several.add(base)
        return found, bases, frozenset(several)

    def fits_entry(self, made: Inference, register: int, t: int) -> bool:
        """Whether all accesses through a parameter fit a type, or a structure that starts with it."""
        if made.entry_fits(register, t):
            return True
        done = made.done_at_entry(register)
        return self._graph.is_aggregate(t) and bool(self._beginning_with(t, done))

    def _beginning_with(self, t: int, done: PointerAccesses) -> dict[int, int]:
        """{canonical type: structure} of larger structures that start with a type and fit all accesses."""
        graph = self._graph
        return {
            graph.canonical(one): one
            for one in structures(graph)
            if graph.size(one) > graph.size(t) and self._begins_with(one, t) and fits(graph, one, done, merged=True)
        }

    def _begins_with(self, whole: int, t: int) -> bool:
        """Whether a structure starts with another one, or with that one's only member, a pointer to an ops table."""
        graph = self._graph
        if graph.object_at(whole, 0, t):
            return True
        word = graph.pointer_size
        first = graph.value_at(t, 0, word) if graph.size(t) == word else VOID
        table = graph.target(first) if first else VOID
        if not table or not graph.is_aggregate(table):
            return False
        other = graph.value_at(whole, 0, word)
        return bool(other) and graph.same(graph.target(other), table)

    def _having_table_of(self, low: int, base: int) -> list[int]:
        """Structures that start with a type and get the address of an ops table with a function's address."""
        found: dict[int, None] = {}
        for place in self._mentions.stored.get(low, ()):
            table = self._global_at(place)
            if table is not None:
                start = table[0].address
                for made in self._inferred(low, self._mentions.mentioning(start)):
                    found.update(dict.fromkeys(self._given_table(made, start, base)))
        return list(found)

    def _given_table(self, made: Inference, table: int, base: int) -> list[int]:
        """The same in one function or its calls."""
        graph = self._graph
        found: list[int] = []
        for one in made.webs.stores:
            if one.value is None or one.value[0] != ADDRESS or one.value[4] != table:
                continue
            if one.base is not None and one.base in made.decided.leads:
                found.append(made.decided.leads[one.base])
            elif one.where is not None and one.where[0] == OBJECT:
                found.append(one.where[1])
        for _k, _target, values, sources in made.webs.calls:
            if any(value is not None and value[0] == ADDRESS and value[4] == table for value in values.values()):
                for register in MACHINE.parameters:
                    found += argument_pointees(made, values.get(register), sources.get(register))[:1]
        return [t for t in found if graph.size(t) > graph.size(base) and self._begins_with(t, base)]
