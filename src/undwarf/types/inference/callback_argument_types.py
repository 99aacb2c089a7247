# cython: language_level=3, annotation_typing=False
"""Contexts of callbacks: which void pointer is passed to which function pointer when it is called.

A function that takes another one's address and a void pointer, or an aggregate with a member for each, will call the
one with the other. If there are several, the calls through these pointers show which belong together.
"""

from collections.abc import Callable

from undwarf.types.dataflow.abstract_values import Value
from undwarf.types.inference.function_inference import Inference
from undwarf.types.inference.value_node import Node
from undwarf.types.layouts.type_graph import Kind, TypeGraph
from undwarf.types.sources.parameter_registers import argument_registers
from undwarf.types.sources.type_source import Prototype

__all__ = ["CallbackArgumentTypes"]


class CallbackArgumentTypes:
    """Pairs callbacks with their contexts. ``inferred_at`` infers the function at an address, or gives None.
    ``calls_through`` gives the calls through an aggregate's members: (function type, {register: distance from that
    member to the one passed})."""

    def __init__(
        self,
        graph: TypeGraph,
        prototype_at: Callable[[int], Prototype | None],
        inferred_at: Callable[[int], Inference | None],
        calls_through: Callable[[int], list[tuple[int, dict[int, int]]]],
    ) -> None:
        self._graph = graph
        self._prototype_at = prototype_at
        self._inferred_at = inferred_at
        self._calls_through = calls_through

    def kept_by(self, target: int) -> dict[int, list[tuple[int, int]]]:
        """{register with a callback's address: [(callback's void pointer argument, register with its context)]} of a
        function."""
        prototype = self._prototype_at(target)
        if prototype is None or not prototype.trusted:
            return {}
        graph = self._graph
        types = {register: t for register, t, piece in prototype.arguments if not piece}
        pointed_to = {register: graph.strip(graph.target(t)) for register, t in types.items() if graph.is_pointer(t)}
        functions = [register for register, t in pointed_to.items() if graph.kind(t) == Kind.FUNCTION]
        kept = [register for register, t in types.items() if graph.is_void_pointer(t)]
        order = [*types]
        found: dict[int, list[tuple[int, int]]] = {}
        for function in functions if kept else ():
            leads = pointed_to[function]
            taken = self._anything(graph.parameters(leads), graph.returns(leads))
            if len(taken) != 1:
                found[function] = self._stored_beside(target, function, kept) if taken else []
                continue
            after = order[order.index(function) + 1 :][:1]
            # With several callbacks a context is ambiguous, unless it directly follows one.
            alone = len(kept) == len(functions) == 1
            register = kept[0] if alone else next((one for one in after if one in kept), -1)
            if register >= 0:
                found[function] = [(taken[0], register)]
        return found

    def _stored_beside(self, target: int, function: int, kept: list[int]) -> list[tuple[int, int]]:
        """The same for callbacks with several void pointer parameters: by where both are stored, and how they are
        called from there."""
        made = self._inferred_at(target)
        found: list[tuple[int, int]] = []
        if made is None:
            return found
        stored: dict[Value, list[Node]] = {}
        for one in made.webs.stores:
            if one.where is not None and one.source is not None and not one.source[1]:
                stored.setdefault(one.where, []).append(one.source[0])
        entry_of = made.webs.entry_of
        for where, sources in stored.items():
            if not any(entry_of(source) == function for source in sources):
                continue
            located = made.tracker.oracle.locate(where, 8)
            for to, apart in () if isinstance(located, str) else self.members_beside(located.type, located.offset):
                registers = map(entry_of, stored.get((*where[:4], where[4] + apart), ()))
                found += [(to, register) for register in registers if register in kept]
        return found

    def _anything(self, parameters: "tuple[tuple[str, int], ...]", returns: int) -> list[int]:
        """Registers of the void pointer parameters."""
        arguments = argument_registers(self._graph, parameters, returns)
        return [register for register, t, piece in arguments if not piece and self._graph.is_void_pointer(t)]

    def members_beside(self, t: int, offset: int) -> list[tuple[int, int]]:
        """[(callback's void pointer argument, distance to its context member)] for the function pointer at an offset of
        an aggregate.

        The context is the only void pointer of the innermost aggregate, or the one after it; else what calls through it
        pass.
        """
        graph = self._graph
        found = graph.member_at(t, offset, 8)
        pointer = graph.value_at(t, offset, 8)
        taken = self._anything(graph.parameters(pointer), graph.returns(pointer)) if pointer else []
        inside = [one for one in found.containers if graph.is_aggregate(one[0])] if found is not None else []
        if not taken or not inside:
            return []
        if len(taken) > 1:
            return self._called_with(t, offset, pointer, taken)
        whole, begin = inside[-1]
        kept = [one.offset for one in graph.members(whole) if graph.is_void_pointer(one.type)]
        after = [at for at in kept if at == begin + 8]
        if len(kept) != 1 and not after:
            return []
        return [(taken[0], (after or kept)[0] - begin)]

    def _called_with(self, t: int, offset: int, pointer: int, taken: list[int]) -> list[tuple[int, int]]:
        """(register, distance from member to member) that all calls through a member agree on, for its void pointer
        parameters."""
        graph = self._graph
        function = graph.target(pointer)
        calls = [given for one, given in self._calls_through(t) if graph.same(one, function)]
        common = set.intersection(*(set(given.items()) for given in calls)) if calls else set()
        common = {one for one in common if one[0] in taken}
        return sorted(one for one in common if graph.is_void_pointer(graph.value_at(t, offset + one[1], 8)))
