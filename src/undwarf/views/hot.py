"""Weights by what a report sorts by: threads, files, functions; once for what ends there, once for all that passes."""

from dataclasses import dataclass

from undwarf.buffers import zeros
from undwarf.errors import UsageError
from undwarf.profile.model import NONE, Profile
from undwarf.views.grouping import Pairs, collapse, inclusive, look_up, sums, widen

SAMPLE_KEYS = ("comm", "pid", "tid", "cpu", "event")
FRAME_KEYS = ("dso", "sym")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a report: the key's texts in the order asked for, and weights (of the whole: see Hot.total)."""

    key: tuple[str, ...]
    self_weight: int
    children_weight: int


@dataclass(frozen=True, slots=True)
class Hot:
    """A flat report: rows by falling weight."""

    keys: tuple[str, ...]
    total: int
    rows: list[Row]


def parse_keys(text: str) -> tuple[str, ...]:
    """Sort keys as perf names them. Raises UsageError for one that is not known."""
    names = {"symbol": "sym", "command": "comm", "dso": "dso"}
    keys = []
    for part in text.split(","):
        name = names.get(part.strip(), part.strip())
        if not name:
            continue
        if name not in SAMPLE_KEYS + FRAME_KEYS:
            known = ", ".join(SAMPLE_KEYS + FRAME_KEYS)
            raise UsageError(f"unknown sort key {name!r}", "", f"sort keys are {known}")
        if name not in keys:
            keys.append(name)
    if not keys:
        raise UsageError("no sort key", "", "for example --sort comm,dso,sym")
    return tuple(keys)


def entities(profile: Profile, keys: tuple[str, ...]) -> tuple[list[tuple[str, ...]], memoryview]:
    """(texts of the frame keys, number of its texts for each frame); functions that print alike count as one."""
    wanted = [key for key in keys if key in FRAME_KEYS]
    functions = profile.functions
    numbers: dict[tuple[str, ...], int] = {}
    of_function = zeros("I", len(functions.name))
    paths = [image.path for image in profile.images]
    for i, name in enumerate(functions.name):
        image = functions.image[i]
        path = paths[image] if image != NONE else "[unknown]"
        text = tuple(name if key == "sym" else path for key in wanted)
        of_function[i] = numbers.setdefault(text, len(numbers))
    return list(numbers), look_up(profile.frames.function, of_function)


def weights_of(profile: Profile, weight: str) -> memoryview:
    """The weight of each sample: its period, or 1."""
    if weight == "period" and any(profile.samples.period):
        return profile.samples.period
    ones = zeros("Q", len(profile.samples))
    for i in range(len(ones)):
        ones[i] = 1
    return ones


def _sample_groups(profile: Profile, keys: tuple[str, ...]) -> tuple[list[tuple[str, ...]], memoryview]:
    """(texts of the sample keys, group of each sample)."""
    samples = profile.samples
    group = zeros("I", len(samples))
    texts: list[tuple[str, ...]] = [()]
    for key in keys:
        if key not in SAMPLE_KEYS:
            continue
        pairs = Pairs(1024)
        group = pairs.column(group, widen(getattr(samples, key)))
        outer, values = pairs.high(), pairs.low()
        texts = [(*texts[before], _text(profile, key, value)) for before, value in zip(outer, values, strict=True)]
    return texts, group


def _text(profile: Profile, key: str, value: int) -> str:
    if key == "comm":
        return profile.comms[value] if value != NONE else "[unknown]"
    if key == "event":
        return profile.events[value].name
    return str(value if value < 1 << 31 else value - (1 << 32))


def hot(profile: Profile, keys: tuple[str, ...], weight: str = "period") -> Hot:
    """The flat report for these sort keys."""
    samples = profile.samples
    weights = weights_of(profile, weight)
    group_texts, group = _sample_groups(profile, keys)
    total = sum(weights)
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = {}
    if not any(key in FRAME_KEYS for key in keys):
        own = sums(group, weights, len(group_texts))
        rows = [Row(texts, own[i], own[i]) for i, texts in enumerate(group_texts)]
    else:
        frame_texts, entity_of_frame = entities(profile, keys)
        node_of, parent, entity = collapse(profile.stacks.parent, profile.stacks.frame, entity_of_frame)
        pairs = Pairs(len(samples))
        path = pairs.column(group, look_up(samples.stack, node_of))
        path_weight = sums(path, weights, len(pairs))
        groups, nodes = pairs.high(), pairs.low()
        for i, g in enumerate(groups):
            text = frame_texts[entity[nodes[i]]] if nodes[i] != NONE else ("[no frame]",) * len(frame_texts[0])
            found.setdefault((group_texts[g], text), [0, 0])[0] += path_weight[i]
            if nodes[i] == NONE:
                found[group_texts[g], text][1] += path_weight[i]
        of_group, of_entity, passing = inclusive(groups, nodes, path_weight, parent, entity, len(frame_texts))
        for g, e, w in zip(of_group, of_entity, passing, strict=True):
            found.setdefault((group_texts[g], frame_texts[e]), [0, 0])[1] += w
        rows = [
            Row(_in_order(keys, outer, inner), own_weight, passed)
            for (outer, inner), (own_weight, passed) in found.items()
        ]
    rows.sort(key=lambda row: (-row.children_weight, -row.self_weight, row.key))
    return Hot(keys, total, rows)


def _in_order(keys: tuple[str, ...], outer: tuple[str, ...], inner: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of sample and frame keys in the order in which the keys were given."""
    of_samples, of_frames = iter(outer), iter(inner)
    return tuple(next(of_samples if key in SAMPLE_KEYS else of_frames) for key in keys)
