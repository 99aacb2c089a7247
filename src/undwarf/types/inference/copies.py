# cython: language_level=3, annotation_typing=False
"""Copies of a pointer, and what else is done with it where these are: with whatever has its value on all ways."""

from collections.abc import Mapping

from undwarf.types.inference.nodes import Node
from undwarf.types.layouts.model import TypeGraph

__all__ = ["Copies"]


class Copies:
    """The nodes that have one node's value and no other, which must be copies, and those that it goes into, which may
    be. ``further``: into which nodes others go, and what is added."""

    def __init__(self, node: Node, further: Mapping[Node, list[tuple[Node, int]]]) -> None:
        before = {node}
        one = node
        while len(origins := {origin for origin in one.origins if origin is not one}) == 1:
            only = next(iter(origins))
            if only is None or only in before:
                break
            before.add(only)
            one = only
        queue = [node]
        behind: set[Node] = set()
        for one in queue:
            # The list grows while it is walked.
            for to, more in further.get(one, ()):
                if not more and to not in before and to not in behind:
                    behind.add(to)
                    queue.append(to)
        # Nothing, as a pointer that leads nowhere yet, is no other value.
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
            # This list grows as well: with one of them goes what has its value.
            for to, more in further.get(one, ()):
                if not more and to in behind and one in to.origins:
                    behind.discard(to)
                    other.append(to)
        self._nodes = before | behind
        self._going = {*self._nodes, *queue}
        """These, and all that the node goes into: that may have other values as well, but of the same type."""

    def touched(self) -> set[tuple[int, int]]:
        """(offset, size) of all that is accessed there."""
        return {one for node in self._nodes for one in node.touched}

    def passed_as(self, graph: TypeGraph) -> list[tuple[int, int]]:
        """(type, offset) of what they are said to lead into by where they go."""
        told = [(t, 0) for node in self._going for t in node.wholes]
        told += [(t, -at) for node in self._going for at, types in node.leads.items() for t in types]
        return list({(graph.canonical(t), at): (t, at) for t, at in told if graph.is_aggregate(t)}.values())
