"""Folded stacks: each distinct stack as a line, with the text of its root and its weight."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from undwarf.column import zeros
from undwarf.ordering import take
from undwarf.profile import grouping, labels
from undwarf.profile.model import Column, Profile
from undwarf.views.event_units import rows_of_events
from undwarf.views.kernels import stack_tree
from undwarf.views.sample_selection import refuse_sums, signed

Root = Literal["comm", "pid", "tid", "none"]
"""The text before a stack: comm, comm-pid, comm-pid/tid, or nothing."""


class FoldedRoot(NamedTuple):
    """What a stack is of: the text of its root, and its parts, None where they are unknown or not part of it."""

    text: str
    comm: str | None
    pid: int | None
    tid: int | None


class FoldedStacks(NamedTuple):
    """Lines in the order of their texts.

    ``parent`` and ``name`` (I) are a tree of functions, parents first, with their ``names``.
    ``line_root``, ``line_node`` (I) and ``line_weight`` (Q) have an entry for each line: its root, its innermost node
    (NONE: no stack) and the sum of its weights.
    """

    parent: Column
    name: Column
    names: list[str]
    roots: list[FoldedRoot]
    line_root: Column
    line_node: Column
    line_weight: Column


def fold(
    profile: Profile,
    weight: Literal["samples", "period"] = "samples",
    *,
    root: Root = "comm",
    annotate_kernel: bool = False,
    events: Sequence[int] | None = None,
) -> FoldedStacks:
    """The folded stacks of a profile, sorted by root and function names.

    ``weight``: number of samples, or the sum of their periods. With ``annotate_kernel``, names of kernel functions end
    in ``_[k]``. ``events``: indices of the events whose samples count; None: all. A function without a name is
    ``[file]``.
    """
    if weight == "samples":
        refuse_sums(profile)
    samples = profile.samples
    count = len(samples.stack)
    rows = rows_of_events(profile, events) if events is not None and len(profile.events) > 1 else None

    entity, names = _entities(profile, annotate_kernel)
    node_of, parent, node_entity = stack_tree.collapse(profile.stacks.parent, profile.stacks.frame, entity)

    roots, root_names = _roots(profile, root, count)
    weights = samples.period if weight == "period" else None
    stack = samples.stack
    if rows is not None:
        stack, roots = take(stack, rows), take(roots, rows)
        weights = take(weights, rows) if weights is not None else None
    pairs = grouping.Pairs()
    lines = pairs.column(roots, grouping.look_up(stack, node_of))
    line_root, line_node = pairs.high(), pairs.low()
    line_weight = grouping.sums(lines, weights, len(pairs))

    place = stack_tree.preorder(parent, node_entity, len(names))
    # Lines without a stack come first, with place 0; places of nodes start at 1.
    ordered = grouping.order(line_root, len(root_names), stack_tree.places(line_node, place), len(place) + 1)
    return FoldedStacks(
        parent,
        node_entity,
        names,
        root_names,
        take(line_root, ordered),
        take(line_node, ordered),
        take(line_weight, ordered),
    )


def _entities(profile: Profile, annotate_kernel: bool) -> "tuple[memoryview[int], list[str]]":
    """(index of each frame's name (I), the distinct names, sorted)."""
    functions = profile.functions
    images = profile.images
    kernel = [annotate_kernel and labels.is_kernel(image) for image in images]
    known = len(images)
    texts = []
    for name, image in zip(functions.name, functions.image, strict=True):
        if not name or name == labels.UNKNOWN:
            name = labels.function_label(name, images[image] if image < known else None)
        if annotate_kernel and image < known and kernel[image]:
            name += "_[k]"
        texts.append(name)
    names = sorted(set(texts))
    number = {name: index for index, name in enumerate(names)}
    of_function = zeros("I", len(texts))
    for index, text in enumerate(texts):
        of_function[index] = number[text]
    entity = grouping.look_up(profile.frames.function, of_function)
    return entity, names


def _roots(profile: Profile, root: Root, count: int) -> "tuple[memoryview[int], list[FoldedRoot]]":
    """(index of each sample's root (I), the distinct roots, sorted by text)."""
    samples = profile.samples
    if root == "none":
        return zeros("I", count), [FoldedRoot("", None, None, None)]
    # The last is of threads whose name was never recorded.
    comms = [*profile.comms, None]
    column = grouping.without_none(samples.comm, len(comms) - 1)
    roots = [FoldedRoot((comm or ":") if comm is not None else labels.UNKNOWN, comm, None, None) for comm in comms]
    if root in ("pid", "tid"):
        by_pid = grouping.Pairs()
        column = by_pid.column(column, grouping.widen(samples.pid))
        roots = [_of_process(roots[comm], signed(pid)) for comm, pid in zip(by_pid.high(), by_pid.low(), strict=True)]
        if root == "tid":
            by_tid = grouping.Pairs()
            column = by_tid.column(column, grouping.widen(samples.tid))
            roots = [
                _of_thread(roots[pair], signed(tid)) for pair, tid in zip(by_tid.high(), by_tid.low(), strict=True)
            ]
    distinct = sorted(set(roots), key=lambda one: (one.text, one.comm or "", one.comm is None))
    number = {one: index for index, one in enumerate(distinct)}
    ranks = zeros("I", len(roots))
    for index, one in enumerate(roots):
        ranks[index] = number[one]
    return grouping.look_up(column, ranks), distinct


def _of_process(root: FoldedRoot, pid: int) -> FoldedRoot:
    return root._replace(text=f"{root.text}-{pid}", pid=pid if pid >= 0 else None)


def _of_thread(root: FoldedRoot, tid: int) -> FoldedRoot:
    return root._replace(text=f"{root.text}/{tid}", tid=tid if tid >= 0 else None)
