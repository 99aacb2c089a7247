"""Call trees: functions below their callers, or callers below their callees."""

from collections.abc import Collection
from typing import NamedTuple

from undwarf.profile.grouping import look_up, rows_from, sums
from undwarf.profile.model import NONE, Profile
from undwarf.views.flat_profile import EntityTree, entity_tree
from undwarf.views.kernels.stack_tree import subtree_sums
from undwarf.views.sample_selection import Events, Selection, Weight


class TreeNode(NamedTuple):
    """A function on a path; ``weight`` with its callees (in trees of callers: its callers), ``self_weight`` without.
    ``kernel``: whether it is kernel code."""

    name: str
    dso: str
    kernel: bool
    weight: int
    self_weight: int
    children: "list[TreeNode]"

    def __repr__(self) -> str:
        return f"<undwarf.TreeNode {self.name!r}: weight {self.weight:,}, {len(self.children)} children>"


class CallTree(NamedTuple):
    """Trees by falling weight; ``total`` is the weight of all samples."""

    total: int
    roots: list[TreeNode]

    def __repr__(self) -> str:
        return f"<undwarf.CallTree: total {self.total:,}, {len(self.roots)} roots>"


KEYS = ("sym", "dso")
"""The keys of nodes."""


class _Nodes:
    """Creates nodes of entities."""

    def __init__(self, tree: EntityTree) -> None:
        self._entities = tree.entities
        self._name, self._file = map(tree.keys.index, KEYS)

    def __call__(self, number: int, weight: int, self_weight: int = 0) -> TreeNode:
        entity = self._entities[number]
        name, file = entity.texts[self._name], entity.texts[self._file]
        return TreeNode(name, file, entity.kernel, weight, self_weight, [])


def _sort(nodes: list[TreeNode]) -> None:
    nodes.sort(key=lambda node: (-node.weight, node.name, node.dso))


def call_tree(
    profile: Profile,
    *,
    weight: Weight = "period",
    event: Events = None,
    min_share: float = 0.0,
    tree: EntityTree | None = None,
) -> CallTree:
    """The tree from the outermost callers down, without nodes below ``min_share`` (0 to 1) of the total weight.

    ``tree``: :func:`entity_tree` of ``KEYS``, in any order, if it is there already.
    """
    tree = tree if tree is not None else entity_tree(profile, KEYS)
    node_of_entity = _Nodes(tree)
    parent, entity = tree.parent, tree.entity
    selection = Selection(profile, event, weight)
    own = sums(look_up(selection.stacks, tree.node_of), selection.weights, len(parent))
    below = subtree_sums(parent, own)
    nodes: dict[int, TreeNode] = {}
    roots: list[TreeNode] = []
    # Weights grow towards the root: the parent of a node that is heavy enough is so as well.
    for i in rows_from(below, max(1, int(min_share * selection.total))):
        up = parent[i]
        node = nodes[i] = node_of_entity(entity[i], below[i], own[i])
        (roots if up == NONE else nodes[up].children).append(node)
    for node in nodes.values():
        _sort(node.children)
    _sort(roots)
    return CallTree(selection.total, roots)


def callers(
    profile: Profile,
    *,
    weight: Weight = "period",
    event: Events = None,
    min_share: float = 0.0,
    only: Collection[str] | None = None,
    tree: EntityTree | None = None,
) -> CallTree:
    """The functions in which samples were taken (only those named in ``only``, if given), with the trees of their
    callers; without functions and callers below ``min_share`` (0 to 1) of the total weight. ``tree`` as in
    :func:`call_tree`."""
    tree = tree if tree is not None else entity_tree(profile, KEYS)
    node_of_entity = _Nodes(tree)
    parent, entity = tree.parent, tree.entity
    selection = Selection(profile, event, weight)
    own = sums(look_up(selection.stacks, tree.node_of), selection.weights, len(parent))
    least = max(1, int(min_share * selection.total))
    of_entity = sums(entity, own, len(tree.entities))
    starts = {
        e: node
        for e, node in ((e, node_of_entity(e, of_entity[e], of_entity[e])) for e in rows_from(of_entity, least))
        if only is None or node.name in only
    }
    # By level, so that the callers of a node that is too light are never looked at.
    level: list[tuple[TreeNode, list[tuple[int, int]]]] = [(node, []) for node in starts.values()]
    at_start = dict(zip(starts, level, strict=True))
    for i in rows_from(own, 1):
        if entity[i] in starts:
            at_start[entity[i]][1].append((i, own[i]))
    while level:
        deeper: list[tuple[TreeNode, list[tuple[int, int]]]] = []
        for node, paths in level:
            by_caller: dict[int, list[tuple[int, int]]] = {}
            for at, value in paths:
                up = parent[at]
                if up != NONE:
                    by_caller.setdefault(entity[up], []).append((up, value))
            for caller, above in by_caller.items():
                passed = sum(value for _at, value in above)
                if passed >= least:
                    child = node_of_entity(caller, passed)
                    node.children.append(child)
                    deeper.append((child, above))
            _sort(node.children)
        level = deeper
    roots = list(starts.values())
    _sort(roots)
    return CallTree(selection.total, roots)
