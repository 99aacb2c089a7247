# cython: language_level=3, annotation_typing=False
"""Pointees of `void *` members, within the functions of one ops table.

The function that opens an object stores private data of its kind there, and others of the table use it: stored values
and all accesses together give the type.
"""

from collections.abc import Callable

from undwarf.types.evidence.pointees import known_pointees
from undwarf.types.inference.function_inference import Inference
from undwarf.types.inference.structure_matching import of_size, only_one
from undwarf.types.inference.value_node import Node
from undwarf.types.layouts.access_pattern_fit import fits, no_accesses
from undwarf.types.layouts.type_graph import VOID, TypeGraph

__all__ = ["VoidMemberTypes"]

_Member = tuple[int, int]
"""(aggregate, offset of the member)."""


class VoidMemberTypes:
    """``beside`` gives the other functions of a function's tables, ``inferred_at`` infers the function at an address,
    or gives None."""

    def __init__(
        self,
        graph: TypeGraph,
        beside: Callable[[int], list[int]],
        inferred_at: Callable[[int], Inference | None],
    ) -> None:
        self._graph = graph
        self._beside = beside
        self._inferred_at = inferred_at

    def loaded(self, low: int, made: Inference) -> dict[int, tuple[int, int, int]]:
        """{instruction: (register, type, 0)} of loads from void pointer members of a function's parameters."""
        unknown = {
            at: nodes
            for at, nodes in self._members(made).items()
            if any(node not in made.decided.leads for node in nodes)
        }
        beside = self._beside(low) if unknown else []
        others = [one for one in map(self._inferred_at, beside) if one is not None]
        found: dict[int, tuple[int, int, int]] = {}
        for at, nodes in unknown.items() if others else ():
            t = self._kept_at(at, [made, *others])
            for node in nodes if t else ():
                kind, k, register = node.key
                if kind == "made" and node not in made.decided.leads:
                    found[k] = (register, t, 0)
        return found

    def _kept_at(self, at: _Member, functions: list[Inference]) -> int:
        """The pointee of a member in some functions; void if unknown."""
        graph = self._graph
        done, told, sizes = no_accesses(), dict[int, int](), set[int]()
        for one in functions:
            for node in self._members(one).get(at, ()):
                done.add(one.done(node))
                t = one.decided.leads.get(node, VOID) if node.key[1] not in one.loaded else VOID
                told.update({graph.canonical(t): t} if t else {})
            self._stored(at, one, told, sizes)
        if len(told) > 1 or len(sizes) > 1:
            return VOID
        if told:
            [t] = told.values()
            return t if fits(graph, t, done, merged=True) else VOID
        return of_size(graph, sizes.pop(), done) if sizes else only_one(graph, done)

    def _stored(self, at: _Member, one: Inference, told: dict[int, int], sizes: set[int]) -> None:
        """Add the pointees, or allocated sizes, of values that a function stores to a member."""
        for store in one.webs.stores:
            if store.base is None or self._member_at(one, store.base, store.offset) != at:
                continue
            source = store.source[0] if store.source is not None and not store.source[1] else None
            known = known_pointees(one.tracker, store.value)
            t = known[0] if known else one.decided.leads.get(source, VOID) if source is not None else VOID
            told.update({self._graph.canonical(t): t} if t else {})
            sizes.update({source.allocated} if not t and source is not None and source.allocated else ())

    def _members(self, one: Inference) -> dict[_Member, list[Node]]:
        """{member: nodes loaded from it} of a function's void pointer members of parameters."""
        found: dict[_Member, list[Node]] = {}
        for node, (base, offset) in one.webs.members.items():
            at = self._member_at(one, base, offset)
            if at is not None:
                found.setdefault(at, []).append(node)
        return found

    def _member_at(self, one: Inference, base: Node, offset: int) -> "_Member | None":
        """The void pointer member at an offset of a parameter's pointee; None for others."""
        graph, prototype = self._graph, one.webs.prototype
        if prototype is None or not prototype.trusted:
            return None
        register = one.webs.entry_of(base)
        for parameter, t, piece in prototype.arguments:
            if parameter == register and not piece and graph.is_pointer(t):
                whole = graph.target(t)
                word = graph.pointer_size
                is_any = graph.is_aggregate(whole) and graph.is_void_pointer(graph.value_at(whole, offset, word))
                return (graph.canonical(whole), offset) if is_any else None
        return None
