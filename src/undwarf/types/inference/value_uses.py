# cython: language_level=3, annotation_typing=False
"""Forward slices of values: where a value flows, and all accesses through it."""

from typing import cast

import cython
from cython.cimports.undwarf.types.inference.value_node import Node

from undwarf.types.inference.value_graph import ValueGraph
from undwarf.types.layouts.access_pattern_fit import PointerAccesses, no_accesses
from undwarf.types.layouts.type_graph import TypeGraph

__all__ = ["ValueUses"]


class ValueUses:
    """Follows flows from node to node."""

    def __init__(self, webs: ValueGraph) -> None:
        self._webs = webs
        self._graph: TypeGraph = webs.graph
        self._further: dict[Node, list[tuple[Node, int]]] | None = None

    def release(self) -> None:
        """Drop the cached edges."""
        self._further = None

    @cython.locals(node=Node, row=Node)
    def done(self, first: Node) -> PointerAccesses:
        """All accesses through a value, also after constants were added."""
        found = no_accesses()
        for node, apart in self.reached(first):
            if node.followed or node.loads or node.numbers or node.put or node.grown or node.stored:
                found.add(self.done_here(node), apart)
            for size, row in node.elements.items():
                for inner, more in self.reached(row):
                    found.rows.update((size, apart + more + offset, width) for offset, width in inner.touched)
        return found

    def reached(self, first: Node) -> list[tuple[Node, int]]:
        """(node, constant added) of all nodes that a value flows into."""
        further = self.further()
        found = [(first, 0)]
        seen = {first}
        for node, apart in found:
            # The list grows during the iteration.
            for to, more in further.get(node, ()):
                if to not in seen:
                    seen.add(to)
                    found.append((to, apart + more))
        return found

    @cython.locals(node=Node, source=Node)
    def further(self) -> dict[Node, list[tuple[Node, int]]]:
        """{node: [(successor, constant added)]}."""
        if self._further is None:
            further: dict[Node, list[tuple[Node, int]]] = {}
            for node in self._webs.nodes.values():
                for source, more in node.sources:
                    further.setdefault(source, []).append((node, more))
                for origin in node.origins:
                    if origin is not None and origin is not node and (origin, 0) not in node.sources:
                        further.setdefault(origin, []).append((node, 0))
            self._further = further
        return self._further

    @cython.locals(node=Node, loaded=Node)
    def done_here(self, node: Node) -> PointerAccesses:
        """The accesses through one node."""
        numbers = {*node.numbers}
        pointers = set()
        for offset, size, loaded in node.loads:
            leads = loaded.followed or (loaded.elements and not loaded.numeric)
            if leads and size == self._graph.pointer_size:
                pointers.add(offset)
            elif loaded.numeric or loaded.signs or loaded.reckoned:
                numbers.add((offset, size))
        # The result is not modified.
        return PointerAccesses(
            cast("set[tuple[int, int]]", node.touched),
            cast("set[tuple[int, int]]", node.floating),
            numbers,
            cast("set[tuple[int, tuple[int, ...]]]", node.put),
            pointers,
            set(),
            cast("set[tuple[int, int, int]]", node.grown),
            cast("set[tuple[int, int]]", node.stored),
        )

    def in_rows(self, first: Node) -> dict[int, PointerAccesses]:
        """{stride: accesses to an array element} through a value."""
        found: dict[int, PointerAccesses] = {}
        for node, apart in self.reached(first):
            for size, row in node.elements.items():
                if not apart % size:
                    found.setdefault(size, no_accesses()).add(self.done(row))
        return found
