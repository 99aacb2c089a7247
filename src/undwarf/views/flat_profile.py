"""Flat profiles: self and children weight of each thread, file, function or other sort key."""

from typing import NamedTuple

from undwarf.column import zeros
from undwarf.errors import UsageError
from undwarf.ordering import group as grouped
from undwarf.profile.filters import near
from undwarf.profile.grouping import Pairs, look_up, sums, without_none
from undwarf.profile.labels import UNKNOWN, dso, is_kernel
from undwarf.profile.model import NONE, Profile
from undwarf.profile.stack_order import depth_first
from undwarf.views.data.access_labels import MEMORY_KEYS, SUMMED, SampleLabels
from undwarf.views.kernels.stack_tree import collapse, inclusive, inclusive_by_group
from undwarf.views.sample_selection import Events, Selection, Weight, signed

SAMPLE_KEYS = ("comm", "pid", "tid", "cpu", "event")
FRAME_KEYS = ("dso", "sym", "srcline", "srcfile")
LABEL_KEYS = ("type", "typeoff", "typecln")
"""Keys of the accessed data type, whose labels are computed beforehand."""
KEYS = SAMPLE_KEYS + FRAME_KEYS + LABEL_KEYS + MEMORY_KEYS
NO_FRAME = "[no frame]"

SOURCE_KEYS = frozenset({"srcline", "srcfile"})
"""Keys that need source lines."""
UNKNOWN_LINE = "??:0"
"""An unknown source line, as addr2line prints it."""

_ALIASES = {
    "symbol": "sym",
    "symbol_iaddr": "sym",
    "command": "comm",
    "local_p_stage_cyc": "local_retire_lat",
    "p_stage_cyc": "retire_lat",
}


class Row(NamedTuple):
    """One row of a report: the texts of its sort keys in their order, and its weights (in ``FlatProfile.total``).

    ``samples`` were taken in the row itself; ``kernel``: whether its function is kernel code.
    """

    key: tuple[str, ...]
    self_weight: int
    children_weight: int
    samples: int
    kernel: bool = False


class FlatProfile(NamedTuple):
    """Rows by falling weight."""

    keys: tuple[str, ...]
    total: int
    samples: int
    rows: list[Row]


def parse_keys(text: str) -> tuple[str, ...]:
    """Parse sort keys, named as in perf. Raises UsageError for an unknown one."""
    keys: list[str] = []
    for part in text.split(","):
        name = _ALIASES.get(part.strip(), part.strip())
        if not name:
            continue
        if name not in KEYS:
            raise UsageError(f"unknown sort key {name!r}", "", f"sort keys are {', '.join(near([name], KEYS))}")
        if name not in keys:
            keys.append(name)
    if not keys:
        raise UsageError("no sort key", "", "for example --sort comm,dso,sym")
    return tuple(keys)


class Entity(NamedTuple):
    """What frames are counted as: the texts of the frame keys, and whether they are kernel code."""

    texts: tuple[str, ...]
    kernel: bool


class EntityTree(NamedTuple):
    """The stacks of a profile, merged by entity: the frame keys, the entities, the new node of each of the profile's
    nodes, and parent and entity of each new node (I)."""

    keys: tuple[str, ...]
    entities: list[Entity]
    node_of: memoryview
    parent: memoryview
    entity: memoryview


def entity_tree(profile: Profile, keys: tuple[str, ...]) -> EntityTree:
    """Merge the stacks of a profile by those of ``keys`` that describe frames."""
    frame_keys = tuple(key for key in keys if key in FRAME_KEYS)
    entities, of_frame = _entities(profile, frame_keys)
    return EntityTree(frame_keys, entities, *collapse(profile.stacks.parent, profile.stacks.frame, of_frame))


def _entities(profile: Profile, wanted: tuple[str, ...]) -> tuple[list[Entity], memoryview]:
    """(entities, the entity of each frame (I)); functions with the same texts are one entity."""
    if SOURCE_KEYS.intersection(wanted) and profile.frames.file is not None and profile.frames.line is not None:
        return _entities_with_lines(profile, wanted)
    functions = profile.functions
    files = [dso(image) for image in profile.images]
    kernel = [is_kernel(image) for image in profile.images]
    numbers: dict[tuple[bool, tuple[str, ...]], int] = {}
    of_function = zeros("I", len(functions.name))
    for i, (name, image) in enumerate(zip(functions.name, functions.image, strict=True)):
        file = files[image] if image != NONE else UNKNOWN
        texts = tuple([name if key == "sym" else file if key == "dso" else UNKNOWN_LINE for key in wanted])
        entry = (image != NONE and kernel[image], texts)
        of_function[i] = numbers.setdefault(entry, len(numbers))
    return [Entity(texts, in_kernel) for in_kernel, texts in numbers], look_up(profile.frames.function, of_function)


def _entities_with_lines(profile: Profile, wanted: tuple[str, ...]) -> tuple[list[Entity], memoryview]:
    """As :func:`_entities`, with source files or lines among the keys."""
    frames = profile.frames
    if frames.file is None or frames.line is None:
        raise ValueError("a profile without source lines")
    plain, of_frame = _entities(profile, tuple(key for key in wanted if key not in SOURCE_KEYS))
    by_file = Pairs(1024)
    group = by_file.column(of_frame, without_none(frames.file, len(profile.files)))
    by_line = Pairs(1024)
    line = frames.line if "srcline" in wanted else zeros("I", len(frames.line))
    group = by_line.column(group, line)
    names = [*profile.files, ""]
    numbers: dict[Entity, int] = {}
    number_of = zeros("I", len(by_line))
    first, files = by_file.high(), by_file.low()
    for i, (pair, number) in enumerate(zip(by_line.high(), by_line.low(), strict=True)):
        entity, file = plain[first[pair]], names[files[pair]]
        texts = iter(entity.texts)
        source = {"srcline": f"{file.rpartition('/')[2]}:{number}" if file else UNKNOWN_LINE, "srcfile": file or "??"}
        row = tuple(source[key] if key in SOURCE_KEYS else next(texts) for key in wanted)
        number_of[i] = numbers.setdefault(Entity(row, entity.kernel), len(numbers))
    return list(numbers), look_up(group, number_of)


def _sample_groups(
    profile: Profile, selection: Selection, keys: tuple[str, ...], labels: SampleLabels
) -> tuple[list[tuple[str, ...]], memoryview]:
    """(texts of the sample keys by group, the group of each sample (I))."""
    group: memoryview = zeros("I", len(selection))
    texts: list[tuple[str, ...]] = [()]
    for key in keys:
        if key in LABEL_KEYS or key in MEMORY_KEYS:
            pairs = Pairs()
            of_sample, of_label = labels[key]
            group = pairs.column(group, selection.chosen(of_sample))
            texts = [
                (*texts[before], of_label[value] if value != NONE else NO_FRAME)
                for before, value in zip(pairs.high(), pairs.low(), strict=True)
            ]
        elif key in SAMPLE_KEYS:
            pairs = Pairs()
            group = pairs.column(group, selection.column(key))
            texts = [
                (*texts[before], _text(profile, key, value))
                for before, value in zip(pairs.high(), pairs.low(), strict=True)
            ]
    return texts, group


def _text(profile: Profile, key: str, value: int) -> str:
    if key == "comm":
        return profile.comms[value] if value != NONE else UNKNOWN
    if key == "event":
        return profile.events[value].name
    return str(signed(value))


def flat_profile(
    profile: Profile,
    keys: tuple[str, ...],
    weight: Weight = "period",
    *,
    event: Events = None,
    children: bool = True,
    labels: SampleLabels | None = None,
    tree: EntityTree | None = None,
) -> FlatProfile:
    """The flat profile for these sort keys, of one event or all; without ``children`` all weights are self weights.

    ``labels`` has those of ``keys`` that are of memory accesses and data types, ``tree`` is :func:`entity_tree` of
    these keys if it is there already.
    """
    selection = Selection(profile, event, weight)
    weights = selection.weights
    group_texts, group = _sample_groups(profile, selection, keys, labels or {})
    if not any(key in FRAME_KEYS for key in keys):
        own = sums(group, weights, len(group_texts))
        count = sums(group, selection.counts, len(group_texts))
        rows = [Row(texts, own[i], own[i], count[i]) for i, texts in enumerate(group_texts)]
    else:
        tree = tree if tree is not None else entity_tree(profile, keys)
        rows = _by_frame(tree, selection, keys, group_texts, group, children)
    if SUMMED.intersection(keys):
        rows = [_summed(row, keys) for row in rows]
    rows.sort(key=lambda row: (-row.children_weight, -row.self_weight, row.key, row.kernel))
    return FlatProfile(keys, selection.total, selection.samples, rows)


def _summed(row: Row, keys: tuple[str, ...]) -> Row:
    """The row with the sums of its samples' latencies instead of one sample's."""
    texts = tuple(
        str(int(text) * row.samples) if key in SUMMED else text for key, text in zip(keys, row.key, strict=True)
    )
    return row._replace(key=texts)


def _by_frame(
    tree: EntityTree,
    selection: Selection,
    keys: tuple[str, ...],
    group_texts: list[tuple[str, ...]],
    group: memoryview,
    children: bool,
) -> list[Row]:
    """Rows with frame keys, for each group of samples."""
    pairs = Pairs(1024)
    path = pairs.column(group, look_up(selection.stacks, tree.node_of))
    path_weight = sums(path, selection.weights, len(pairs))
    path_count = sums(path, selection.counts, len(pairs))
    groups, nodes = pairs.high(), pairs.low()
    # A row is a (group, entity); that of samples without a stack, or without a frame, has no entity.
    numbers = Pairs(1024)
    leaf = numbers.column(groups, look_up(nodes, tree.entity))
    if children:
        *passing, passing_weight = _inclusive(tree, groups, len(group_texts), nodes, path_weight)
        passing_row = numbers.column(*passing)
    own = sums(leaf, path_weight, len(numbers))
    count = sums(leaf, path_count, len(numbers))
    whole = sums(passing_row, passing_weight, len(numbers)) if children else own
    no_frame = Entity((NO_FRAME,) * len(tree.keys), False)
    # The texts of sample keys come first, then those of frame keys.
    by_kind = sorted(range(len(keys)), key=lambda number: keys[number] in FRAME_KEYS)
    order = [by_kind.index(number) for number in range(len(keys))]
    in_order = order == sorted(order)
    rows = []
    entities = tree.entities
    columns = (numbers.high(), numbers.low(), own, whole, count)
    for g, e, self_weight, children_weight, samples in zip(*columns, strict=True):
        row_entity = entities[e] if e != NONE else no_frame
        texts = group_texts[g] + row_entity.texts
        key = texts if in_order else tuple([texts[place] for place in order])
        weight = children_weight if e != NONE else self_weight
        rows.append(Row(key, self_weight, weight, samples, row_entity.kernel))
    return rows


def _inclusive(
    tree: EntityTree, groups: memoryview, count: int, nodes: memoryview, weights: memoryview
) -> tuple[memoryview, memoryview, memoryview]:
    """(group, entity, weight) of every entity of the stacks of every group; see
    :func:`undwarf.views.kernels.stack_tree.inclusive`."""
    among, size = len(tree.entities), len(tree.parent)
    if len(nodes) > 2 * count:
        depth, _position, _last, repeated = depth_first(tree.parent, tree.entity, among)
        # Steps of going up each stack, if they are as deep as the tree's nodes, or through the tree for each group.
        if len(nodes) * (sum(depth) / size + 1) > 2 * count * size:
            rows, starts = grouped(groups, count)
            return inclusive_by_group(
                starts[: count + 1], rows, nodes, weights, tree.parent, tree.entity, among, repeated
            )
    return inclusive(groups, nodes, weights, tree.parent, tree.entity, among)
