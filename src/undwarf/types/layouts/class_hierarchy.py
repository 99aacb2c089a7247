# cython: language_level=3, annotation_typing=False
"""Classes by what they derive from, among those that one function speaks of.

A pointer to a base class may be used for what the object really is: library containers keep pointers to the common
part of their nodes and cast them. Which class is meant can be told where the function speaks of one only that fits.
"""

from collections.abc import Callable, Iterable

from undwarf.types.layouts.resolved_member import Located
from undwarf.types.layouts.type_graph import TypeGraph

__all__ = ["Kin"]

_Derived = dict[int, list[tuple[int, int]]]
"""By class, the classes derived from it, directly or not, and where it is in them."""
_MOST = 512
"""Classes of one function that are looked at."""


class Kin:
    """The classes of one function by their bases.

    ``mentioned`` gives the types it speaks of, asked once if at all, in groups of which the first that has what fits
    counts: those its variables are of or lead to, what these name, and what those contain.
    """

    def __init__(self, graph: TypeGraph, mentioned: Callable[[], Iterable[Iterable[int]]]) -> None:
        self._graph = graph
        self._asked = mentioned
        self._known: list[list[int]] | None = None
        self._derived: list[_Derived] | None = None
        self._located: dict[tuple[int, int, int], Located | None] = {}
        self._first_in: dict[int, list[int]] | None = None

    def _mentioned(self) -> list[list[int]]:
        if self._known is None:
            self._known = [list(group) for group in self._asked()]
        return self._known

    def beginning_with(self, t: int) -> list[int]:
        """The aggregates without bases that begin with a member of an aggregate's type, and go on behind it."""
        graph = self._graph
        if self._first_in is None:
            self._first_in = {}
            seen: set[int] = set()
            for group in self._mentioned():
                for whole in group:
                    canonical = graph.canonical(whole)
                    if canonical in seen or len(seen) >= _MOST:
                        continue
                    seen.add(canonical)
                    for member in graph.members(whole):
                        inside = graph.is_aggregate(member.type) and graph.size(whole) > graph.size(member.type) > 0
                        if inside and not member.offset and not member.base:
                            self._first_in.setdefault(graph.canonical(member.type), []).append(whole)
        return self._first_in.get(graph.canonical(t), []) if graph.is_aggregate(t) else []

    def continued(self, t: int, offset: int, size: int) -> "tuple[Located | None, bool]":
        """What lies behind an object that may be the first part of something larger, as inner nodes of a tree are
        leaves first; and whether that is so at all.

        It is told where a pointer to another object of the type lies there: they are what such nodes are made of.
        """
        graph = self._graph
        whole = graph.size(t)
        larger = [one for one in self.beginning_with(t) if offset + size <= graph.size(one)]
        # Another one of the type would be there in an array as well.
        larger = [one for one in larger if not whole or not graph.object_at(one, offset - offset % whole, t)]
        found: list[Located] = []
        for one in larger:
            field = graph.member_at(one, offset, size)
            pointer = graph.value_at(one, offset, size)
            leads = graph.canonical(graph.target(pointer)) if pointer and graph.is_pointer(pointer) else 0
            if field is not None and leads == graph.canonical(t):
                found.append(Located(one, offset, field, "container"))
        return (found[0] if len(found) == 1 else None), bool(larger)

    def _index(self, types: Iterable[int]) -> "_Derived":
        graph = self._graph
        found: _Derived = {}
        seen: set[int] = set()
        for t in types:
            canonical = graph.canonical(t)
            if canonical in seen or len(seen) >= _MOST:
                continue
            seen.add(canonical)
            queue = [(t, 0)]
            for _step in range(64):
                if not queue:
                    break
                inner, begin = queue.pop()
                for member in graph.members(inner):
                    if member.base:
                        found.setdefault(graph.canonical(member.type), []).append((t, begin + member.offset))
                        queue.append((member.type, begin + member.offset))
        return found

    def _groups(self) -> "list[_Derived]":
        if self._derived is None:
            self._derived = [self._index(types) for types in self._mentioned()]
        return self._derived

    def locate(self, t: int, offset: int, size: int) -> Located | None:
        """An access outside of a class, in the only class derived from it where it fits; None for none or several."""
        key = (t, offset, size)
        if key not in self._located:
            self._located[key] = self._find(t, offset, size) if self._graph.is_aggregate(t) else None
        return self._located[key]

    def _find(self, t: int, offset: int, size: int) -> Located | None:
        canonical = self._graph.canonical(t)
        several: list[Located] = []
        for derived in self._groups():
            fitting, wider = self._fitting(derived.get(canonical, []), offset, size)
            if fitting:
                return self._only(fitting)
            several = several or wider
        return self._only(several) if several else None

    def is_part(self, t: int, offset: int, part: int) -> bool:
        """Whether an object of another type lies at an offset outside of a class, in what is derived from it."""
        canonical = self._graph.canonical(t)
        return any(
            self._graph.object_at(whole, begin + offset, part)
            for derived in self._groups()
            for whole, begin in derived.get(canonical, ())
        )

    def _fitting(self, classes: list[tuple[int, int]], offset: int, size: int) -> "tuple[list[Located], list[Located]]":
        """The classes that have a member there for an access of a size, and those that have several."""
        graph = self._graph
        fitting: list[Located] = []
        wider: list[Located] = []
        for derived, begin in classes:
            place = offset + begin
            found = graph.member_at(derived, place, size) if place >= 0 else None
            if found is None:
                continue
            if 0 < size < graph.size(found.type) and graph.is_pointer(found.type):
                # Nobody reads a part of a pointer.
                continue
            if not found.offset % (size or 1) and (not size or size <= graph.size(found.type)):
                fitting.append(Located(derived, place, found, "container"))
            elif not found.offset and place + size <= graph.size(derived):
                # Several members at once, from the begin of the first.
                wider.append(Located(derived, place, found, "container"))
        whole = [one for one in fitting if graph.size(one.field.type) == size]
        return whole or fitting, wider

    def _only(self, fitting: list[Located]) -> Located | None:
        """The least derived of a line of classes, which says enough; None where they are not of one line."""
        graph = self._graph
        first = min(fitting, key=lambda one: graph.size(one.type))
        canonical = graph.canonical(first.type)
        for one in fitting:
            if graph.canonical(one.type) == canonical:
                continue
            if all(graph.canonical(t) != canonical for t, _begin in one.field.containers):
                return None
        return first
