# cython: language_level=3, annotation_typing=False
"""Copies of a pointer, and what else is done with it where these are: with whatever has its value on all ways."""

from collections.abc import Mapping

from undwarf.types.inference.value_node import Node
from undwarf.types.layouts.type_graph import VOID, TypeGraph

__all__ = ["Copies"]


_MOST = 256
"""Nodes that are looked at for where a value comes from."""


def _same_before(node: Node) -> set[Node]:
    """A node and those whose value it must have: all that it comes from, if that has one source, whichever way it
    takes; else up to where several meet."""
    whole = {node}
    queue = [node]
    sources = 0
    for one in queue:
        # The list grows while it is walked.
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


class Copies:
    """The nodes that have one node's value and no other, which must be copies, and those that it goes into, which may
    be. ``further``: into which nodes others go, and what is added; ``somewhere``: the pointer was made of an object's
    by adding any number, so that nothing but where it goes says what is there."""

    def __init__(self, node: Node, further: Mapping[Node, list[tuple[Node, int]]], *, somewhere: bool = False) -> None:
        before = _same_before(node)
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
        self._somewhere = somewhere
        self._going = dict.fromkeys((*self._nodes, *queue), 0)
        """These, and all that the node goes into: that may have other values as well, but of the same type. Where
        nothing else says what is there, also with something added."""
        far = list(self._going) if somewhere else []
        for one in far:
            for to, more in further.get(one, ()):
                if to not in self._going:
                    self._going[to] = self._going[one] + more
                    far.append(to)

    def touched(self) -> set[tuple[int, int]]:
        """(offset, size) of all that is accessed there."""
        return {one for node in self._nodes for one in node.touched}

    def passed_as(self, graph: TypeGraph) -> list[tuple[int, int]]:
        """(type, offset) of what they are said to lead into by where they go; void where they must lead into something,
        as addresses are stored there, and nothing says what."""
        going = self._going.items()
        told = [(t, -apart) for node, apart in going for t in node.wholes]
        told += [(t, -at - apart) for node, apart in going for at, types in node.leads.items() for t in types]
        if self._somewhere:
            told += [(t, -at - apart) for node, apart in going for at, t in node.goes]
        found = {(graph.canonical(t), at): (t, at) for t, at in told if graph.is_aggregate(t)}
        if self._somewhere and not found and any(node.put for node in self._nodes):
            return [(VOID, 0)]
        return list(found.values())
