# cython: language_level=3, annotation_typing=False
"""Dispatch (ops) tables: the type behind a `void *` parameter, from all functions of the same table.

The functions of a table operate on one kind of object, under one parameter name. Their accesses together identify its
type, where a single function, such as close, may access one member only.
"""

from collections.abc import Callable

from undwarf.types.inference.address_references import AddressReferences
from undwarf.types.inference.function_inference import Inference
from undwarf.types.inference.structure_matching import only_one
from undwarf.types.layouts.access_pattern_fit import fits, no_accesses
from undwarf.types.layouts.type_graph import VOID, TypeGraph
from undwarf.types.sources.type_source import TypeSource

__all__ = ["OpsTableTypes"]

_MOST = 16
"""Limit of other functions in the same tables."""


class OpsTableTypes:
    """Finds the functions beside one in tables, and their parameters. ``inferred_at`` infers the function at an
    address, or gives None."""

    def __init__(
        self, source: TypeSource, mentions: AddressReferences, inferred_at: Callable[[int], Inference | None]
    ) -> None:
        self._graph: TypeGraph = source.graph
        self._source = source
        self._mentions = mentions
        self._inferred_at = inferred_at

    def given(self, low: int, register: int, made: Inference) -> int:
        """The pointee of a function's void pointer parameter; void if unknown."""
        name = self._anything(low).get(register, "")
        beside = self.beside(low) if name else []
        done, told = no_accesses(), dict[int, int]()
        done.add(made.done_at_entry(register))
        for other in beside:
            for parameter, its in self._anything(other).items():
                inferred = self._inferred_at(other) if its == name else None
                if inferred is not None:
                    done.add(inferred.done_at_entry(parameter))
                    t = inferred.facts.entry.get(parameter, VOID)
                    told.update({self._graph.canonical(t): t} if t else {})
        if len(told) == 1:
            t = next(iter(told.values()))
            return t if fits(self._graph, t, made.done_at_entry(register), merged=True) else VOID
        return only_one(self._graph, done) if beside and not told else VOID

    def beside(self, low: int) -> list[int]:
        """The other functions whose addresses are stored in the same objects; empty if they are too many."""
        graph = self._graph
        found: dict[int, None] = {}
        for place in self._mentions.stored.get(low, ()):
            variable = self._source.global_at(place)
            inside = graph.member_at(variable[0].type, variable[1], graph.pointer_size) if variable else None
            wholes = [one for one in inside.containers if graph.is_aggregate(one[0])] if inside is not None else []
            if not wholes:
                continue
            t, left = wholes[-1]
            begin = place - left
            for at, function in self._mentions.placed(begin, begin + graph.size(t)):
                if function != low and not (at - begin) % graph.pointer_size:
                    found[function] = None
        return list(found) if len(found) <= _MOST else []

    def _anything(self, low: int) -> dict[int, str]:
        """{register: name} of a function's void pointer parameters."""
        prototype = self._source.prototype_at(low)
        if prototype is None or not prototype.trusted:
            return {}
        names = [name for name, t in prototype.parameters if self._graph.is_void_pointer(t)]
        registers = [one for one, t, piece in prototype.arguments if not piece and self._graph.is_void_pointer(t)]
        return dict(zip(registers, names, strict=True)) if len(names) == len(registers) else {}
