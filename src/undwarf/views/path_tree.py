"""Call trees whose nodes are computed when they are unfolded: callees below callers, or callers below callees.

The numbers are those of :mod:`undwarf.views.call_tree` without a limit, which would create all nodes at once.
"""

from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import accumulate

from undwarf.column import zeros
from undwarf.profile.grouping import look_up, order, rows_from, rows_set, sums, without_none
from undwarf.profile.model import NONE, Profile
from undwarf.views.call_tree import KEYS
from undwarf.views.flat_profile import EntityTree, entity_tree
from undwarf.views.kernels.stack_tree import subtree_sums
from undwarf.views.sample_selection import Events, Selection, Weight


class PathNode:
    """A function on paths of the merged stacks: its ``places`` are nodes of these, each with the weight counted there.

    ``weight`` and ``self_weight`` are as in :class:`undwarf.views.call_tree.TreeNode`.
    """

    __slots__ = ("dso", "entity", "kernel", "name", "places", "self_weight", "weight")

    def __init__(
        self, entity: int, texts: tuple[str, str, bool], places: dict[int, int], weight: int, self_weight: int
    ) -> None:
        self.entity = entity
        self.name, self.dso, self.kernel = texts
        self.places = places
        self.weight = weight
        self.self_weight = self_weight

    def __repr__(self) -> str:
        return f"<PathNode {self.name!r}: weight {self.weight:,}>"


class PathTree:
    """The stacks of one event (None: all) with their weights. ``total`` is the weight of all samples.

    ``tree``: :func:`entity_tree` of ``KEYS``, if it is there already.
    """

    def __init__(
        self, profile: Profile, event: Events = None, weight: Weight = "period", tree: EntityTree | None = None
    ) -> None:
        tree = tree if tree is not None else entity_tree(profile, KEYS)
        self._parent, self._entity, self._entities = tree.parent, tree.entity, tree.entities
        self._name, self._file = map(tree.keys.index, KEYS)
        selection = Selection(profile, event, weight)
        self.total = selection.total
        self._own = sums(look_up(selection.stacks, tree.node_of), selection.weights, len(tree.parent))
        self._below = subtree_sums(tree.parent, self._own)

    @cached_property
    def _children(self) -> tuple[memoryview, list[int]]:
        """The nodes by parent, roots last, and where those of each parent start."""
        count = len(self._parent)
        parent = without_none(self._parent, count)
        nodes = order(parent, count + 1, self._entity, max(1, len(self._entities)))
        return nodes, list(accumulate(sums(parent, None, count + 1), initial=0))

    @cached_property
    def _of_entity(self) -> tuple[memoryview, list[int]]:
        """The nodes by entity, and where those of each entity start."""
        count = max(1, len(self._entities))
        nodes = order(self._entity, count, zeros("I", len(self._entity)), 1)
        return nodes, list(accumulate(sums(self._entity, None, count), initial=0))

    def _node(self, entity: int, places: dict[int, int], weight: int, self_weight: int) -> PathNode:
        texts = self._entities[entity].texts
        described = texts[self._name], texts[self._file], self._entities[entity].kernel
        return PathNode(entity, described, places, weight, self_weight)

    def roots(self) -> list[PathNode]:
        """The outermost callers, heaviest first."""
        nodes, starts = self._children
        count = len(self._parent)
        return self._merged(nodes[starts[count] : starts[count + 1]])

    def callees(self, node: PathNode) -> list[PathNode]:
        """What a node of a tree of callees calls, heaviest first."""
        nodes, starts = self._children
        return self._merged(below for place in node.places for below in nodes[starts[place] : starts[place + 1]])

    def _merged(self, places: Iterable[int]) -> list[PathNode]:
        """Nodes of the merged stacks, by function."""
        below, own, entity = self._below, self._own, self._entity
        by_entity: dict[int, dict[int, int]] = {}
        for place in places:
            if below[place]:
                by_entity.setdefault(entity[place], {})[place] = below[place]
        return _sorted(
            self._node(number, found, sum(found.values()), sum(own[place] for place in found))
            for number, found in by_entity.items()
        )

    def hot(self) -> list[PathNode]:
        """The functions in which samples were taken, heaviest first, as roots of a tree of callers."""
        of_entity = sums(self._entity, self._own, len(self._entities))
        return _sorted(
            self._node(number, {}, of_entity[number], of_entity[number]) for number in rows_from(of_entity, 1)
        )

    def callers(self, node: PathNode) -> list[PathNode]:
        """What calls a node of a tree of callers, heaviest first."""
        parent, entity = self._parent, self._entity
        by_entity: dict[int, dict[int, int]] = {}
        for place, weight in (node.places or self._own_places(node.entity)).items():
            up = parent[place]
            if up != NONE:
                places = by_entity.setdefault(entity[up], {})
                places[up] = places.get(up, 0) + weight
        return _sorted(self._node(number, found, sum(found.values()), 0) for number, found in by_entity.items())

    def has_callers(self, node: PathNode) -> bool:
        """Whether anything calls a node of a tree of callers."""
        return any(self._parent[place] != NONE for place in node.places or self._own_places(node.entity))

    def _own_places(self, entity: int) -> dict[int, int]:
        nodes, starts = self._of_entity
        places = nodes[starts[entity] : starts[entity + 1]]
        return {place: self._own[place] for place in places if self._own[place]}

    def function(self, name: str, dso: str) -> PathNode | None:
        """A function wherever it is on a stack, as the root of a tree of callees and of one of callers; None if no
        sample has it. Of recursive calls the outermost one counts."""
        wanted = {
            number
            for number, entity in enumerate(self._entities)
            if entity.texts[self._name] == name and entity.texts[self._file] == dso
        }
        parent, entity, below = self._parent, self._entity, self._below
        inside = bytearray(len(parent))
        places: dict[int, int] = {}
        for place, up in enumerate(parent):
            if up != NONE and inside[up]:
                inside[place] = 1
            elif entity[place] in wanted:
                inside[place] = 1
                if below[place]:
                    places[place] = below[place]
        if not places:
            return None
        nodes, starts = self._of_entity
        own = sum(self._own[place] for number in wanted for place in nodes[starts[number] : starts[number + 1]])
        return self._node(min(wanted), places, sum(places.values()), own)

    def matching(self, names: Collection[str]) -> memoryview:
        """By node of the merged stacks, how many functions with these names and a weight are in its subtree (Q)."""
        flags = zeros("I", max(1, len(self._entities)))
        for number, entity in enumerate(self._entities):
            flags[number] = entity.texts[self._name] in names
        wanted = look_up(self._entity, flags)
        counted = zeros("Q", len(wanted))
        for place in rows_set(wanted):
            if self._below[place]:
                counted[place] = 1
        counts: memoryview = subtree_sums(self._parent, counted)
        return counts

    @property
    def names(self) -> list[str]:
        """The names of all functions."""
        return [entity.texts[self._name] for entity in self._entities]


def _sorted(nodes: Iterable[PathNode]) -> list[PathNode]:
    return sorted(nodes, key=lambda node: (-node.weight, node.name, node.dso))
