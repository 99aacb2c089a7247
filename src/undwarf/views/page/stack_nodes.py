"""The stack nodes of a page: those with samples, depth first, heaviest siblings first."""

from collections.abc import Sequence
from typing import NamedTuple

from undwarf.column import zeros
from undwarf.ordering import sort_order, take
from undwarf.profile.grouping import look_up, rows_from, subtree_sums, sums
from undwarf.profile.model import Profile
from undwarf.views.event_units import Measure, rows_of_events
from undwarf.views.kernels.page_columns import falling, inverse, kept_tree, raise_to_shares
from undwarf.views.kernels.stack_tree import preorder
from undwarf.views.kernels.weights import total


class StackNodes(NamedTuple):
    """``parent`` and ``frame`` (I) of each node, depth first; ``node_of`` (I), the node of each of the profile's nodes.

    ``cut``: the number of nodes that became nodes of the frame ``len(profile.frames)``, since their share is below
    ``least`` (0 to 1).
    """

    parent: memoryview
    frame: memoryview
    node_of: memoryview
    cut: int
    least: float


def stack_nodes(profile: Profile, weights: memoryview, measures: Sequence[Measure], most: int) -> StackNodes:
    """The nodes with samples, at most about ``most``: others are cut by their share of the samples or the weight of the
    measure that has most of them. ``weights`` (Q): of the samples."""
    parents = profile.stacks.parent
    count = len(parents)
    stack = profile.samples.columns.stack
    shares = zeros("Q", count)
    passing = subtree_sums(parents, sums(stack, None, count))
    raise_to_shares(shares, passing, len(stack))
    own: memoryview = zeros("Q", count)
    for number, measure in enumerate(measures):
        rows = rows_of_events(profile, measure.events) if len(profile.events) > 1 else None
        weighed = take(weights, rows) if rows is not None else weights
        of_node = sums(take(stack, rows) if rows is not None else stack, weighed, count)
        if not number:
            own = of_node
        raise_to_shares(shares, subtree_sums(parents, of_node), total(weighed))
    used = len(rows_from(shares, 1))
    least = 1
    if used > most:
        heaviest = sort_order(falling(shares))
        # Equal shares are kept or cut together.
        least = shares[heaviest[most]] + 1
    parent, frame, node_of = kept_tree(parents, profile.stacks.frame, shares, least, len(profile.frames))
    weight = subtree_sums(parent, sums(node_of, own, len(parent)))
    rank = inverse(sort_order(falling(weight)))
    place = preorder(parent, rank, len(parent))
    order = inverse(place)
    cut = used - len(rows_from(shares, least)) if least > 1 else 0
    return StackNodes(
        look_up(take(parent, order), place), take(frame, order), look_up(node_of, place), cut, least / 2**32
    )
