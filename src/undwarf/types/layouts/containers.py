# cython: language_level=3, annotation_typing=False
"""The containment relation: which aggregates have a type as a member or base class, and at which offsets."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Protocol

from undwarf.types.layouts.resolved_member import ResolvedMember
from undwarf.types.layouts.type_graph import Kind, TypeGraph

__all__ = ["Containers", "Parts"]

_AGGREGATES = (Kind.STRUCT, Kind.UNION, Kind.CLASS, Kind.VARIANT)
_MANY = 64
"""If a type has more containers, only those of the function's variables count."""


class Parts(Protocol):
    """Containment among the aggregates of a unit, without loading them all."""

    def wholes(self, t: int, *, bases_only: bool) -> dict[int, list[int]] | None:
        """{container: offsets} of the aggregates that contain a type; None if unknown."""

    def named(self, name: str) -> list[int]:
        """The aggregates with an unqualified name, their own or that of a typedef; anonymous ones under
        the empty name."""


class Containers:
    """Which aggregates contain a type by value, outside of arrays; built at first use.

    ``types`` returns all types to index, None if they are too many. ``wanted``: types of the function's own variables,
    which are preferred. Policies: ``bases_only``: a pointer to a part becomes a pointer to its container only from a
    base to a derived class, as in C++. ``wanted_only``: only containers that the function's variables have.
    ``isolated``: past an object that is part of nothing anything may follow, as after the headers of network messages
    in a kernel.
    """

    def __init__(
        self,
        graph: TypeGraph,
        types: Callable[[], Iterable[int] | None] | None,
        *,
        bases_only: bool = False,
        wanted_only: bool = False,
        isolated: bool = False,
        parts: Parts | None = None,
    ) -> None:
        self._graph = graph
        self._parts = parts
        self._bases_only = bases_only
        self._wanted_only = wanted_only
        self.isolated = isolated
        self._types = types
        self._direct: dict[int, list[tuple[int, int]]] | None = None
        self._shared = self
        self._headers: dict[int, list[tuple[int, int]]] | None = None
        self._wanted: Callable[[], frozenset[int]] | None = None
        self._known_wanted: frozenset[int] | None = None
        self._known_names: set[str] | None = None
        self._around: dict[int, dict[int, list[int]]] = {}
        """{type: {container: offsets}}."""
        self._near: dict[int, list[tuple[int, int]]] = {}
        """{type: [(container, offset)]}; preferred ones only if there are many."""
        self._narrowed: dict[int, dict[int, list[int]]] = {}

        self.located: dict[tuple[int, int, int], ResolvedMember | str] = {}
        """Cache of results for accesses outside of types, of one function."""

    def preferring(self, wanted: Callable[[], frozenset[int]]) -> "Containers":
        """The same relation for one function and its preferred types."""
        made = Containers(self._graph, self._types, bases_only=self._bases_only, wanted_only=self._wanted_only)
        made.isolated = self.isolated
        made._shared, made._parts = self._shared, self._parts
        made._wanted = wanted
        return made

    @property
    def complete(self) -> bool:
        """Whether the types are known; if not, nothing can be concluded."""
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
        """Whether only base classes count as parts."""
        return self._bases_only

    @property
    def knows_mentioned(self) -> bool:
        """Whether the types that the function mentions are known."""
        return self._wanted is not None

    @property
    def whole(self) -> bool:
        """Whether containment covers all members; C++ containers store values as plain bytes."""
        return not self._wanted_only and not self._bases_only

    def wanted(self) -> frozenset[int]:
        """Canonical types that are preferred."""
        if self._known_wanted is None:
            self._known_wanted = self._wanted() if self._wanted is not None else frozenset()
        return self._known_wanted

    def of(self, t: int) -> list[tuple[int, int]]:
        """(container, offset of the part in it), through any level of nesting."""
        return _places(self.wholes(t))

    def wholes(self, t: int) -> dict[int, list[int]]:
        """As :meth:`of`, the offsets by container."""
        return self._narrow(t) if self._wanted_only else self._wholes_of(t)

    def all_wholes(self, t: int) -> dict[int, list[int]]:
        """As :meth:`wholes`, also for containers that the function does not mention if they start with the type: only a
        pointer to the first part can be cast to these."""
        found = self._wholes_of(t)
        return {whole: [0] for whole, offsets in found.items() if 0 in offsets} if self._wanted_only else found

    def _narrow(self, t: int) -> dict[int, list[int]]:
        """The preferred containers of a type."""
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
        """Keep the preferred containers."""
        wanted, parts = self.wanted(), self._shared._parts
        if parts is not None and found:
            # The names alone exclude most.
            named = {whole for name in self._names_of_wanted() for whole in parts.named(name)}
            found = {whole: offsets for whole, offsets in found.items() if whole in named}
        return {whole: offsets for whole, offsets in found.items() if self._graph.canonical(whole) in wanted}

    def _names_of_wanted(self) -> set[str]:
        """Names of the preferred types with all, some and none of their enclosing scopes."""
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
        """As :meth:`of`; if there are many, the preferred ones only: then the type may be part of anything."""
        canonical = self._graph.canonical(t)
        near = self._near.get(canonical)
        if near is None:
            found = self._wholes_of(t)
            narrow = self._wanted_only or sum(map(len, found.values())) > _MANY
            near = self._near[canonical] = _places(self._narrow(t) if narrow else found)
        return near

    def headers(self, t: int) -> list[tuple[int, int]]:
        """(aggregate, offset of the elements) of structures with a trailing flexible array of a type."""
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
    """[(container, offset)] of {container: offsets}."""
    return [(whole, offset) for whole, offsets in wholes.items() for offset in offsets]
