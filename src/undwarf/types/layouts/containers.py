# cython: language_level=3, annotation_typing=False
"""What has a type as its part: the aggregates around it, and where in them it lies."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Protocol

from undwarf.types.layouts.resolved_member import Located
from undwarf.types.layouts.type_graph import Kind, TypeGraph

__all__ = ["Embedders", "Parts"]

_AGGREGATES = (Kind.STRUCT, Kind.UNION, Kind.CLASS, Kind.VARIANT)
_MANY = 64
"""Aggregates that have a type as a part, above which not all of them are looked at."""


class Parts(Protocol):
    """What lies in the aggregates of a unit, told without making records of them all."""

    def wholes(self, t: int, *, bases_only: bool) -> dict[int, list[int]] | None:
        """By aggregate the offsets of the members in it of what has a type as a part; None where that is not known."""

    def named(self, name: str) -> list[int]:
        """The aggregates of a name, or to which a typedef gives it, without what they are declared in; those without
        any by the empty one."""


class Embedders:
    """Which aggregates have a member of a type, by value and not in an array; made when it is first asked for.

    `types` gives all types that are to be looked at, or None where they are too many. `wanted` are those that go before
    others: what the function's own variables are of. `bases_only`: a pointer to a part becomes one to the whole only
    from a base class to what is derived from it, as in C++; `wanted_only`: only to what its variables are of. `lonely`:
    behind an object that is a part of nothing may be anything, as behind the headers of a kernel's messages.
    """

    def __init__(
        self,
        graph: TypeGraph,
        types: Callable[[], Iterable[int] | None] | None,
        *,
        bases_only: bool = False,
        wanted_only: bool = False,
        lonely: bool = False,
        parts: Parts | None = None,
    ) -> None:
        self._graph = graph
        self._parts = parts
        self._bases_only = bases_only
        self._wanted_only = wanted_only
        self.lonely = lonely
        self._types = types
        self._direct: dict[int, list[tuple[int, int]]] | None = None
        self._shared = self
        self._headers: dict[int, list[tuple[int, int]]] | None = None
        self._wanted: Callable[[], frozenset[int]] | None = None
        self._known_wanted: frozenset[int] | None = None
        self._known_names: set[str] | None = None
        self._around: dict[int, dict[int, list[int]]] = {}
        """By type, the aggregates around it and where in them it is."""
        self._near: dict[int, list[tuple[int, int]]] = {}
        """What is around a type, of many what goes before others."""
        self._narrowed: dict[int, dict[int, list[int]]] = {}
        """What goes before others of what is around a type."""
        self.located: dict[tuple[int, int, int], Located | str] = {}
        """Answers of this function for accesses outside of types."""

    def preferring(self, wanted: Callable[[], frozenset[int]]) -> "Embedders":
        """The same, for one function."""
        made = Embedders(self._graph, self._types, bases_only=self._bases_only, wanted_only=self._wanted_only)
        made.lonely = self.lonely
        made._shared, made._parts = self._shared, self._parts
        made._wanted = wanted
        return made

    @property
    def complete(self) -> bool:
        """Whether the types are known; else nothing can be said."""
        shared = self._shared
        if shared._types is None:
            return False
        if shared._parts is not None:
            return True
        if shared._direct is None:
            shared._direct = shared._index(shared._types())
        return shared._types is not None

    @property
    def bases_only(self) -> bool:
        """Whether only classes that derive from others are told."""
        return self._bases_only

    @property
    def speaks(self) -> bool:
        """Whether it is known which types the function speaks of."""
        return self._wanted is not None

    @property
    def whole(self) -> bool:
        """Whether it is told of everything what it is a part of; nodes of C++ containers hold values in plain bytes."""
        return not self._wanted_only and not self._bases_only

    def wanted(self) -> frozenset[int]:
        """Canonical types that go before others."""
        if self._known_wanted is None:
            self._known_wanted = self._wanted() if self._wanted is not None else frozenset()
        return self._known_wanted

    def of(self, t: int) -> list[tuple[int, int]]:
        """(aggregate, offset of the member in it), also through aggregates in between."""
        return _places(self.wholes(t))

    def wholes(self, t: int) -> dict[int, list[int]]:
        """As :meth:`of`, the offsets by aggregate."""
        return self._narrow(t) if self._wanted_only else self._wholes_of(t)

    def all_wholes(self, t: int) -> dict[int, list[int]]:
        """As :meth:`wholes`, also those that the function does not speak of, if they begin with the type: nobody goes
        from another part to these."""
        found = self._wholes_of(t)
        return {whole: [0] for whole, offsets in found.items() if 0 in offsets} if self._wanted_only else found

    def _narrow(self, t: int) -> dict[int, list[int]]:
        """What goes before others of what is around a type."""
        canonical = self._graph.canonical(t)
        known = self._narrowed.get(canonical)
        if known is None:
            known = self._narrowed[canonical] = self._only_wanted(self._wholes_of(t))
        return known

    def _wholes_of(self, t: int) -> dict[int, list[int]]:
        if not self.complete:
            return {}
        shared = self._shared
        canonical = self._graph.canonical(t)
        found = shared._around.get(canonical)
        if found is None:
            found = shared._around[canonical] = shared._found(t, canonical)
        return found

    def _found(self, t: int, canonical: int) -> dict[int, list[int]]:
        if self._parts is not None:
            found = self._parts.wholes(t, bases_only=self._bases_only)
            if found is not None:
                return found
            self._parts = None
            if not self.complete:
                return {}
        found = {}
        for whole, offset in self._wholes(canonical):
            found.setdefault(whole, []).append(offset)
        return found

    def _only_wanted(self, found: dict[int, list[int]]) -> dict[int, list[int]]:
        """Those around a type that go before others."""
        wanted, parts = self.wanted(), self._shared._parts
        if parts is not None and found:
            # Most are told by their names alone.
            named = {whole for name in self._names_of_wanted() for whole in parts.named(name)}
            found = {whole: offsets for whole, offsets in found.items() if whole in named}
        return {whole: offsets for whole, offsets in found.items() if self._graph.canonical(whole) in wanted}

    def _names_of_wanted(self) -> set[str]:
        """The names of those that go before others, with all, some and none of what they are declared in."""
        if self._known_names is None:
            self._known_names = set()
            for t in self.wanted():
                name = self._graph.name(t)
                self._known_names.add(name)
                at = name.find("::")
                while at >= 0:
                    self._known_names.add(name[at + 2 :])
                    at = name.find("::", at + 2)
        return self._known_names

    def around(self, t: int) -> list[tuple[int, int]]:
        """As :meth:`of`; of many only what the function's own variables are of: it may be a part of anything."""
        canonical = self._graph.canonical(t)
        near = self._near.get(canonical)
        if near is None:
            found = self._wholes_of(t)
            narrow = self._wanted_only or sum(map(len, found.values())) > _MANY
            near = self._near[canonical] = _places(self._narrow(t) if narrow else found)
        return near

    def headers(self, t: int) -> list[tuple[int, int]]:
        """(aggregate, where they begin in it) of those whose last member is a row of elements of a type, as many as
        there is room for."""
        shared = self._shared
        if shared._headers is None:
            shared._headers = {}
            seen: set[int] = set()
            for whole in (shared._types() if shared._types is not None else None) or ():
                canonical = self._graph.canonical(whole)
                if canonical not in seen and self._graph.kind(whole) == Kind.STRUCT:
                    seen.add(canonical)
                    shared._note_header(whole)
        return shared._headers.get(self._graph.canonical(self._graph.strip(t)), [])

    def _note_header(self, whole: int) -> None:
        graph = self._graph
        last = max(graph.members(whole), key=lambda member: member.offset, default=None)
        if last is not None and last.offset and graph.is_array(last.type) and not graph.size(last.type):
            assert self._headers is not None
            elements = graph.canonical(graph.strip(graph.target(last.type)))
            self._headers.setdefault(elements, []).append((whole, last.offset))

    def _wholes(self, t: int) -> dict[tuple[int, int], None]:
        direct = self._direct or {}
        found: dict[tuple[int, int], None] = {}
        queue = [(t, 0)]
        while queue and len(found) < 4096:
            inner, below = queue.pop()
            for outer, offset in direct.get(inner, ()):
                key = (outer, offset + below)
                if key not in found:
                    found[key] = None
                    queue.append((self._graph.canonical(outer), offset + below))
        return found

    def _index(self, types: Iterable[int] | None) -> dict[int, list[tuple[int, int]]]:
        graph = self._graph
        direct: dict[int, list[tuple[int, int]]] = defaultdict(list)
        seen: set[int] = set()
        if types is None:
            self._types = None
            return direct
        for t in types:
            if graph.kind(t) not in _AGGREGATES:
                continue
            canonical = graph.canonical(t)
            if canonical in seen:
                continue
            seen.add(canonical)
            for member in graph.members(t):
                if graph.is_aggregate(member.type) and (member.base or not self._bases_only):
                    direct[graph.canonical(member.type)].append((t, member.offset))
        return direct


def _places(wholes: dict[int, list[int]]) -> list[tuple[int, int]]:
    """(aggregate, offset) of each place in some."""
    return [(whole, offset) for whole, offsets in wholes.items() for offset in offsets]
