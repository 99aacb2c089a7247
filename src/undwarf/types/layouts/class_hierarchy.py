# cython: language_level=3, annotation_typing=False
"""Downcasts: which derived class an access outside of a base class belongs to.

Library containers keep pointers to the common part of their nodes and cast them to the node type. Input are the classes
that one function mentions; an access past the base class is explained if exactly one class derived from it (or starting
with it) has a member there. Code can only cast to types that it mentions, hence the restriction.
"""

from collections.abc import Callable, Iterable

from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import TypeGraph

__all__ = ["ClassHierarchy"]

_Derived = dict[int, list[tuple[int, int]]]
"""{class: [(derived class, offset of the base in it)]}, direct or not."""
_MOST = 512
"""Limit of classes of one function."""


class ClassHierarchy:
    """The classes mentioned by one function, by their bases.

    ``mentioned`` returns them in groups, nearest first, and is called at most once. The first group with a class that
    fits decides: types of variables and their pointees, types that these name, types that these contain.
    """

    def __init__(self, graph: TypeGraph, mentioned: Callable[[], Iterable[Iterable[int]]]) -> None:
        self._graph = graph
        self._asked = mentioned
        self._known: list[list[int]] | None = None
        self._derived: list[_Derived] | None = None
        self._located: dict[tuple[int, int, int], ResolvedMember | None] = {}
        self._first_in: dict[int, list[int]] | None = None

    def _mentioned(self) -> list[list[int]]:
        if self._known is None:
            self._known = [list(group) for group in self._asked()]
        return self._known

    def beginning_with(self, t: int) -> list[int]:
        """Aggregates that start with a member of a type (C inheritance by first member) and are larger."""
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

    def continued(self, t: int, offset: int, size: int) -> "tuple[ResolvedMember | None, bool]":
        """(member of the larger object that starts with ``t``, whether there is such a type), for an access past ``t``:
        inner nodes of a tree start as leaves.

        The member is given only if it is a pointer to ``t``: that is what inner nodes have.
        """
        graph = self._graph
        whole = graph.size(t)
        larger = [one for one in self.beginning_with(t) if offset + size <= graph.size(one)]
        # In an array there would be another object of the type, too.
        larger = [one for one in larger if not whole or not graph.object_at(one, offset - offset % whole, t)]
        found: list[ResolvedMember] = []
        for one in larger:
            field = graph.member_at(one, offset, size)
            pointer = graph.value_at(one, offset, size)
            leads = graph.canonical(graph.target(pointer)) if pointer and graph.is_pointer(pointer) else 0
            if field is not None and leads == graph.canonical(t):
                found.append(ResolvedMember(one, offset, field, "container"))
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

    def locate(self, t: int, offset: int, size: int) -> ResolvedMember | None:
        """An access outside of a class, in the only derived class where it fits; None if none or several do."""
        key = (t, offset, size)
        if key not in self._located:
            self._located[key] = self._find(t, offset, size) if self._graph.is_aggregate(t) else None
        return self._located[key]

    def _find(self, t: int, offset: int, size: int) -> ResolvedMember | None:
        canonical = self._graph.canonical(t)
        several: list[ResolvedMember] = []
        for derived in self._groups():
            fitting, wider = self._fitting(derived.get(canonical, []), offset, size)
            if fitting:
                return self._only(fitting)
            several = several or wider
        return self._only(several) if several else None

    def is_part(self, t: int, offset: int, part: int) -> bool:
        """Whether a derived class has an object of type ``part`` at an offset outside of the class."""
        canonical = self._graph.canonical(t)
        return any(
            self._graph.object_at(whole, begin + offset, part)
            for derived in self._groups()
            for whole, begin in derived.get(canonical, ())
        )

    def _fitting(
        self, classes: list[tuple[int, int]], offset: int, size: int
    ) -> "tuple[list[ResolvedMember], list[ResolvedMember]]":
        """(classes with a member for an access of this size, classes with several members there)."""
        graph = self._graph
        fitting: list[ResolvedMember] = []
        wider: list[ResolvedMember] = []
        for derived, begin in classes:
            place = offset + begin
            found = graph.member_at(derived, place, size) if place >= 0 else None
            if found is None:
                continue
            if 0 < size < graph.size(found.type) and graph.is_pointer(found.type):
                # Compilers never read a part of a pointer.
                continue
            if not found.offset % (size or 1) and (not size or size <= graph.size(found.type)):
                fitting.append(ResolvedMember(derived, place, found, "container"))
            elif not found.offset and place + size <= graph.size(derived):
                # Several members at once, from the start of the first.
                wider.append(ResolvedMember(derived, place, found, "container"))
        whole = [one for one in fitting if graph.size(one.field.type) == size]
        return whole or fitting, wider

    def _only(self, fitting: list[ResolvedMember]) -> ResolvedMember | None:
        """The least derived of the classes if they are on one line of inheritance; None if not."""
        graph = self._graph
        first = min(fitting, key=lambda one: graph.size(one.type))
        canonical = graph.canonical(first.type)
        for one in fitting:
            if graph.canonical(one.type) == canonical:
                continue
            if all(graph.canonical(t) != canonical for t, _begin in one.field.containers):
                return None
        return first
