"""Costs of functions by line and of the calls between them, for export formats of call graphs."""

from typing import TYPE_CHECKING, NamedTuple

from undwarf.column import zeros
from undwarf.ordering import take
from undwarf.profile.grouping import Pairs, look_up, sums
from undwarf.profile.model import NONE, Column
from undwarf.views.kernels.call_edges import call_edges, inverse, outermost
from undwarf.views.kernels.stack_tree import collapse, preorder, subtree_sums

if TYPE_CHECKING:
    from undwarf.views.export_tables import ExportTables


class Calls(NamedTuple):
    """Distinct calls: by call the caller and the called function (I), the number of samples that pass through it, and
    its weights (Q) by event.

    A stack's weight is at the first call of a function on its path, as in Callgrind: weights of calls of a function add
    up to its weight with callees. Calls that are recursive only have weight 0.
    """

    caller: Column
    function: Column
    samples: Column
    weights: list[Column]


class CallCosts(NamedTuple):
    """Weights by place, which is a function and a line: ``own`` (Q) by event and place; ``calls``, from places; and
    ``roots``, the calls of outermost functions, from threads, whose ``rootless`` (Q) by event is the weight of their
    samples without a stack."""

    own: list[Column]
    calls: Calls
    roots: Calls
    rootless: list[Column]


def call_costs(tables: "ExportTables", place: Column, function: Column) -> CallCosts:
    """The costs of places: ``place`` (I) is that of each frame, ``function`` (I) the function of each place."""
    profile = tables.profile
    node_of, parent, node_place = collapse(profile.stacks.parent, profile.stacks.frame, place)
    position = preorder(parent, node_place, len(function))
    order = inverse(position)
    parent = look_up(take(parent, order), position)
    node_place = take(node_place, order)
    leaf = look_up(look_up(profile.samples.columns.stack, node_of), position)
    root = look_up(outermost(parent), look_up(node_place, function))
    by_root = Pairs()
    call_of_sample = by_root.column(tables.thread, look_up(leaf, root))

    own, weights, of_roots, rootless = [], [], [], []
    for event in tables.events:
        rows = tables.rows(event) if len(tables.events) > 1 else None
        at, weight, call = (
            take(one, rows) if rows is not None else one for one in (leaf, tables.weights, call_of_sample)
        )
        of_node = sums(at, weight, len(parent))
        own.append(sums(node_place, of_node, len(function)))
        weights.append(
            call_edges(parent, node_place, function, subtree_sums(parent, of_node), len(tables.functions))[2]
        )
        of_roots.append(sums(call, weight, len(by_root)))
        without = zeros("Q", len(tables.threads))
        for number, (thread, called) in enumerate(zip(by_root.high(), by_root.low(), strict=True)):
            if called == NONE:
                without[thread] += of_roots[-1][number]
        rootless.append(without)
    samples = subtree_sums(parent, sums(leaf, None, len(parent)))
    caller, called, passing = call_edges(parent, node_place, function, samples, len(tables.functions))
    return CallCosts(
        own,
        Calls(caller, called, passing, weights),
        Calls(by_root.high(), by_root.low(), sums(call_of_sample, None, len(by_root)), of_roots),
        rootless,
    )
