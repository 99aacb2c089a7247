# cython: language_level=3, annotation_typing=False
"""ValueCopies of one pointer value: the nodes that certainly hold it, and their accesses and uses."""

from collections.abc import Mapping

from undwarf.types.inference.value_node import Node
from undwarf.types.layouts.type_graph import VOID, TypeGraph

__all__ = ["ValueCopies"]


_MOST = 256
"""Limit of nodes on the way to a value's origin."""


def _same_before(node: Node) -> set[Node]:
    """A node and the nodes whose value it certainly has: all up to a single origin, else up to the first join."""
    whole = {node}
    queue = [node]
    sources = 0
    for one in queue:
        # The list grows during the iteration.
        origins = {origin for origin in one.origins if origin is not one}
        sources += not origins or None in origins
        if sources > 1 or len(queue) > _MOST:
            break
        further = [origin for origin in origins if origin is not None and origin not in whole]
        whole.update(further)
        queue += further
    else:
        if sources == 1:
            return whole
    found = {node}
    one = node
    while len(origins := {origin for origin in one.origins if origin is not one}) == 1:
        only = next(iter(origins))
        if only is None or only in found:
            break
        found.add(only)
        one = only
    return found


class ValueCopies:
    """Nodes with exactly one node's value, and nodes that it flows into.

    ``further``: {node: (successor, constant added)}; ``somewhere``: the pointer has an unknown offset in its object, so
    that only its uses show what is there.
    """

    def __init__(self, node: Node, further: Mapping[Node, list[tuple[Node, int]]], *, somewhere: bool = False) -> None:
        before = _same_before(node)
        queue = [node]
        behind: set[Node] = set()
        for one in queue:
            # The list grows during the iteration.
            for to, more in further.get(one, ()):
                if not more and to not in before and to not in behind:
                    behind.add(to)
                    queue.append(to)
        # Null is no other value.
        other = [
            one
            for one in behind
            if any(
                origin not in behind and origin not in before if origin is not None else not one.begun
                for origin in one.origins
            )
        ]
        behind.difference_update(other)
        for one in other:
            # Also removes nodes that have its value.
            for to, more in further.get(one, ()):
                if not more and to in behind and one in to.origins:
                    behind.discard(to)
                    other.append(to)
        self._nodes = before | behind
        self._somewhere = somewhere
        self._going = dict.fromkeys((*self._nodes, *queue), 0)
        """{node: constant added} of these and of nodes it flows into, which may have other values, but of the same
        type."""
        far = list(self._going) if somewhere else []
        for one in far:
            for to, more in further.get(one, ()):
                if to not in self._going:
                    self._going[to] = self._going[one] + more
                    far.append(to)

    def touched(self) -> set[tuple[int, int]]:
        """(offset, size) of all accesses through the copies."""
        return {one for node in self._nodes for one in node.touched}

    def passed_as(self, graph: TypeGraph) -> list[tuple[int, int]]:
        """(type, offset in it) by the parameters they are passed as; void if pointers are stored there without further
        evidence."""
        going = self._going.items()
        told = [(t, -apart) for node, apart in going for t in node.wholes]
        told += [(t, -at - apart) for node, apart in going for at, types in node.leads.items() for t in types]
        if self._somewhere:
            told += [(t, -at - apart) for node, apart in going for at, t in node.goes]
        found = {(graph.canonical(t), at): (t, at) for t, at in told if graph.is_aggregate(t)}
        if self._somewhere and not found and any(node.put for node in self._nodes):
            return [(VOID, 0)]
        return list(found.values())
