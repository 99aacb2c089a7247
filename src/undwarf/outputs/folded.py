"""Folded stacks: one line ``comm;outer;...;inner WEIGHT`` for each distinct stack, for flame-graph tools."""

from collections.abc import Sequence
from typing import BinaryIO, Literal

from undwarf.column import zeros
from undwarf.lazy_dataclasses import dataclass
from undwarf.outputs.kernels.folded_text import FoldedText
from undwarf.outputs.terminal.escape import pack
from undwarf.perfdata.ordering import take
from undwarf.profile import grouping
from undwarf.profile.model import Profile
from undwarf.views import labels
from undwarf.views.event_units import rows_of_events
from undwarf.views.kernels import stack_tree


@dataclass(frozen=True, slots=True)
class FoldedOptions:
    """What a line's weight and root are.

    ``weight``: number of samples, or the sum of their periods. ``root``: what stands before the stack. With
    ``annotate_kernel`` functions of the kernel end in ``_[k]``. ``events``: numbers of the events whose samples
    count; None: all.
    """

    weight: Literal["samples", "period"] = "samples"
    root: Literal["comm", "pid", "tid", "none"] = "comm"
    annotate_kernel: bool = False
    events: Sequence[int] | None = None


def write(profile: Profile, sink: BinaryIO, options: FoldedOptions | None = None) -> None:
    """Write the folded stacks, sorted by root and function names whatever order the samples came in.

    A ``;`` inside a name becomes ``:``, as other tools write it; what is not printable is escaped. A function without a
    name is ``[file]``.
    """
    options = options or FoldedOptions()
    samples = profile.samples
    count = len(samples.stack)
    rows = rows_of_events(profile, options.events) if options.events is not None and len(profile.events) > 1 else None

    entity, names = _entities(profile, options.annotate_kernel)
    node_of, parent, node_entity = stack_tree.collapse(profile.stacks.parent, profile.stacks.frame, entity)

    roots, root_names = _roots(profile, options.root, count)
    weights = samples.period if options.weight == "period" else None
    stack = samples.stack
    if rows is not None:
        stack, roots = take(stack, rows), take(roots, rows)
        weights = take(weights, rows) if weights is not None else None
    pairs = grouping.Pairs()
    lines = pairs.column(roots, grouping.look_up(stack, node_of))
    line_root, line_node = pairs.high(), pairs.low()
    line_weight = grouping.sums(lines, weights, len(pairs))

    place = stack_tree.preorder(parent, node_entity, len(names))
    # Lines without a stack come first: place 0; the others one later than in the walk.
    ordered = grouping.order(line_root, len(root_names), stack_tree.places(line_node, place), len(place) + 1)
    name_bytes, name_offsets = pack(names)
    root_bytes, root_offsets = pack(root_names)
    text = FoldedText(
        parent,
        node_entity,
        name_bytes,
        name_offsets,
        root_bytes,
        root_offsets,
        take(line_root, ordered),
        take(line_node, ordered),
        take(line_weight, ordered),
    )
    while used := text.fill():
        sink.write(text.buffer()[:used])


def _entities(profile: Profile, annotate_kernel: bool) -> "tuple[memoryview[int], list[str]]":
    """The number of each frame's name, and the names, sorted: functions of one name are one."""
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
    return entity, [name.replace(";", ":") for name in names]


def _roots(profile: Profile, root: str, count: int) -> "tuple[memoryview[int], list[str]]":
    """The number of each sample's root, and the roots' texts, sorted."""
    samples = profile.samples
    if root == "none":
        return zeros("I", count), [""]
    # Threads whose name was never recorded share the last one.
    comms = [*(comm.replace(";", ":") or ":" for comm in profile.comms), labels.UNKNOWN]
    column = grouping.without_none(samples.comm, len(comms) - 1)
    texts = comms
    if root in ("pid", "tid"):
        by_pid = grouping.Pairs()
        column = by_pid.column(column, grouping.widen(samples.pid))
        keys = [(comms[comm], _signed(pid)) for comm, pid in zip(by_pid.high(), by_pid.low(), strict=True)]
        texts = [f"{comm}-{pid}" for comm, pid in keys]
        if root == "tid":
            by_tid = grouping.Pairs()
            column = by_tid.column(column, grouping.widen(samples.tid))
            texts = [f"{texts[pair]}/{_signed(tid)}" for pair, tid in zip(by_tid.high(), by_tid.low(), strict=True)]
    names = sorted(set(texts))
    number = {name: index for index, name in enumerate(names)}
    ranks = zeros("I", len(texts))
    for index, text in enumerate(texts):
        ranks[index] = number[text]
    return grouping.look_up(column, ranks), names


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >> 31 else bits
