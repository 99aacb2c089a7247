"""Flame graphs: a tree of distinct (function, file, kind), and the samples that were taken in each node."""

from array import array
from typing import NamedTuple

from undwarf.column import zeros
from undwarf.profile.grouping import Pairs, look_up, sums
from undwarf.profile.labels import UNKNOWN, function_label, is_kernel, kind_of, short_dso
from undwarf.profile.model import NONE, Column, ImageInfo, Origin, Profile
from undwarf.views.event_units import Measure, measures_of
from undwarf.views.kernels.stack_tree import collapse
from undwarf.views.unwind_quality import UnwindQuality, unwind_quality

_KINDS = ("program", "library", "kernel", "compiled at run time", "without a symbol", "data type")
_DATA_TYPE = _KINDS.index("data type")


class FlameGraph(NamedTuple):
    """A flame graph as columns.

    ``entities`` are (name, file, index in ``kinds``); ``parent`` and ``entity`` (I) are the tree, parents first.
    ``groups`` are (thread name or None, event). ``count_group``, ``count_node``, ``samples`` (I) and ``weight``
    (double) have an entry for each group and node: the number of samples taken there, and the sum of their periods.
    ``graphs`` are the events that are drawn together, each with its unit, the default first.
    """

    entities: list[tuple[str, str, int]]
    parent: Column
    entity: Column
    groups: list[tuple[str | None, int]]
    count_group: Column
    count_node: Column
    samples: Column
    weight: memoryview
    graphs: list[Measure]
    quality: UnwindQuality
    kinds: tuple[str, ...] = _KINDS
    """Kinds of frames, each drawn with a colour and pattern of its own."""
    origin: Origin | None = None
    """What a profile of another tool was read from."""


def flame_graph(profile: Profile, dump: int = 8192) -> FlameGraph:
    """The flame graph of a profile; ``dump`` is the largest recorded stack dump, in bytes, for advice."""
    functions = profile.functions
    numbers: dict[tuple[str, str, int], int] = {}
    of_function = zeros("I", len(functions.name))
    for i, name in enumerate(functions.name):
        number = functions.image[i]
        image = profile.images[number] if number != NONE else None
        kind = _kind(name, image, bool(functions.unnamed[i]), profile.origin is not None)
        file = short_dso(image) if image is not None else "" if name != UNKNOWN else UNKNOWN
        key = (name if kind == _DATA_TYPE else function_label(name, image), file, kind)
        of_function[i] = numbers.setdefault(key, len(numbers))
    node_of, parent, entity = collapse(
        profile.stacks.parent, profile.stacks.frame, look_up(profile.frames.function, of_function)
    )
    samples = profile.samples
    by_name: dict[tuple[int, int], int] = {}
    group = zeros("I", len(samples))
    for i, pair in enumerate(zip(samples.comm, samples.event, strict=True)):
        group[i] = by_name.setdefault(pair, len(by_name))
    pairs = Pairs(len(samples))
    place = pairs.column(group, look_up(samples.stack, node_of))
    return FlameGraph(
        list(numbers),
        parent,
        entity,
        [(profile.comms[comm] if comm != NONE else None, event) for comm, event in by_name],
        pairs.high(),
        pairs.low(),
        memoryview(array("I", sums(place, samples.columns.count, len(pairs)))),
        memoryview(array("d", sums(place, samples.period, len(pairs)))),
        _graphs(profile),
        unwind_quality(profile, dump),
        origin=profile.origin,
    )


def _kind(name: str, image: ImageInfo | None, unnamed: bool, of_other_tool: bool) -> int:
    if image is None:
        # With --by type, data types are frames without a file. Profiles of other tools may not say the file.
        return 4 if name == UNKNOWN else 0 if of_other_tool else _DATA_TYPE
    if is_kernel(image):
        return 2
    if kind_of(image) in ("ANON", "JIT"):
        return 3
    if unnamed:
        return 4
    base = image.path.rsplit("/", 1)[-1]
    return 1 if ".so" in base or kind_of(image) == "VDSO" else 0


def _graphs(profile: Profile) -> list[Measure]:
    """The events that can be drawn together, and each of these alone."""
    graphs: list[Measure] = []
    for measure in measures_of(profile):
        graphs.append(measure)
        if len(measure.events) > 1:
            graphs += [Measure(profile.events[event].name, measure.unit, (event,)) for event in measure.events]
    return graphs
