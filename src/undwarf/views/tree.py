"""The call tree: functions under their callers, or callers under their callees."""

from dataclasses import dataclass, field

from undwarf.profile.model import NONE, Profile
from undwarf.views.grouping import collapse, look_up, subtree_sums, sums
from undwarf.views.hot import entities, weights_of


@dataclass(slots=True)
class TreeNode:
    """A function on a path; ``weight`` with everything below it, ``self_weight`` what ended here."""

    name: str
    dso: str
    weight: int
    self_weight: int
    children: "list[TreeNode]" = field(default_factory=list)


@dataclass(slots=True)
class CallTree:
    """Root functions by falling weight, of ``total``."""

    total: int
    roots: list[TreeNode]


def call_tree(profile: Profile, *, weight: str = "period", min_share: float = 0.0) -> CallTree:
    """The tree from the outermost callers down, without nodes below ``min_share`` (0 to 1) of the whole."""
    texts, entity_of_frame = entities(profile, ("sym", "dso"))
    node_of, parent, entity = collapse(profile.stacks.parent, profile.stacks.frame, entity_of_frame)
    weights = weights_of(profile, weight)
    own = sums(look_up(profile.samples.stack, node_of), weights, len(parent))
    below = subtree_sums(parent, own)
    total = sum(weights)
    limit = min_share * total
    nodes: dict[int, TreeNode] = {}
    roots: list[TreeNode] = []
    for i, up in enumerate(parent):
        if below[i] < limit or not below[i] or (up != NONE and up not in nodes):
            continue
        name, dso = texts[entity[i]]
        node = nodes[i] = TreeNode(name, dso, below[i], own[i])
        (roots if up == NONE else nodes[up].children).append(node)
    for node in nodes.values():
        node.children.sort(key=lambda child: (-child.weight, child.name))
    roots.sort(key=lambda child: (-child.weight, child.name))
    return CallTree(total, roots)


def callers_of(profile: Profile, names: list[tuple[str, str]], *, weight: str = "period") -> list[TreeNode]:
    """For each (function, file): the tree of its callers, weighted by the samples that ended in it."""
    texts, entity_of_frame = entities(profile, ("sym", "dso"))
    node_of, parent, entity = collapse(profile.stacks.parent, profile.stacks.frame, entity_of_frame)
    own = sums(look_up(profile.samples.stack, node_of), weights_of(profile, weight), len(parent))
    wanted = {texts.index((name, dso)): TreeNode(name, dso, 0, 0) for name, dso in names if (name, dso) in texts}
    known: dict[tuple[int, int], TreeNode] = {}
    for i, value in enumerate(own):
        if not value or entity[i] not in wanted:
            continue
        node = wanted[entity[i]]
        node.weight += value
        node.self_weight += value
        up = parent[i]
        while up != NONE:
            key = (id(node), entity[up])
            child = known.get(key)
            if child is None:
                child = known[key] = TreeNode(*texts[entity[up]], 0, 0)
                node.children.append(child)
            child.weight += value
            node = child
            up = parent[up]
    for node in [*wanted.values(), *known.values()]:
        node.children.sort(key=lambda child: (-child.weight, child.name))
    return list(wanted.values())
