"""The summary of a profile that notebooks show: the call tree as boxes, and the heaviest functions."""

from typing import NamedTuple

from undwarf.profile.model import Profile
from undwarf.views.call_tree import KEYS, TreeNode, call_tree
from undwarf.views.flat_profile import Row, entity_tree, flat_profile
from undwarf.views.sample_selection import samples_by_event, sections

MIN_SHARE = 0.005
"""Smaller boxes are less than half a character wide."""
MAX_DEPTH = 40
MAX_BOXES = 600
ROWS = 10


class Box(NamedTuple):
    """A function on a path: its place from 0 to 1 of the width, and its depth from 0 on."""

    left: float
    width: float
    depth: int
    name: str
    dso: str
    weight: int


class Summary(NamedTuple):
    """One event of a profile: boxes of the call tree, outermost functions first, and rows (function, file) by falling
    self weight; ``total`` is the weight of all samples, ``hidden_events`` is the number of the other events."""

    event: str
    samples: int
    total: int
    boxes: list[Box]
    rows: list[Row]
    hidden_events: int


def summary(profile: Profile) -> Summary:
    """The summary of the event with the most samples."""
    parts = sections(profile, ())
    counts = samples_by_event(profile)
    event, name = max(parts, key=lambda part: counts[part[0]] if isinstance(part[0], int) else 0)
    merged = entity_tree(profile, KEYS)
    flat = flat_profile(profile, KEYS, event=event, tree=merged)
    tree = call_tree(profile, event=event, min_share=MIN_SHARE, tree=merged)
    boxes: list[Box] = []
    level: list[tuple[TreeNode, float]] = _beside(tree.roots, 0.0, tree.total)
    for depth in range(MAX_DEPTH):
        below: list[tuple[TreeNode, float]] = []
        for node, left in level[: MAX_BOXES - len(boxes)]:
            boxes.append(Box(left, node.weight / tree.total, depth, node.name, node.dso, node.weight))
            below += _beside(node.children, left, tree.total)
        level = below
    rows = sorted(flat.rows, key=lambda row: -row.self_weight)[:ROWS]
    return Summary(name, flat.samples, flat.total, boxes, [row for row in rows if row.self_weight], len(parts) - 1)


def _beside(nodes: list[TreeNode], left: float, total: int) -> list[tuple[TreeNode, float]]:
    """Nodes with the place of their left edge, each beside the one before."""
    found = []
    for node in nodes:
        found.append((node, left))
        left += node.weight / max(1, total)
    return found
