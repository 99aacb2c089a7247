"""Filters samples by the function or file that they were taken in, and by their callers."""

import contextlib
import re
from array import array
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from typing import NoReturn

from undwarf.column import zeros
from undwarf.errors import NothingUsable
from undwarf.profile.filters import Filters, near, select
from undwarf.profile.grouping import look_up, rows_set, sums, without_none
from undwarf.profile.labels import dso, short_dso
from undwarf.profile.model import NONE, Profile, SampleColumns
from undwarf.symbols.resolver import UNKNOWN
from undwarf.views.source import plain_name, without_parameters

OFFERED = 8
"""Names that are suggested if a filter finds nothing."""


def split_names(text: str) -> list[str]:
    """Split at commas outside of brackets: ``f<int, char>(int, char)`` is one name."""
    depth, start = 0, 0
    names = []
    for i, char in enumerate(text):
        if char in "(<[{":
            depth += 1
        elif char in ")>]}":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            names.append(text[start:i].strip())
            start = i + 1
    names.append(text[start:].strip())
    return [name for name in names if name]


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Matches a function's name, in full or without parameters and template arguments, with wildcards."""

    def matches(name: str) -> bool:
        if fnmatchcase(name, pattern) or name == pattern:
            return True
        if name.partition("@")[0] == pattern:
            # A versioned symbol, as in memcpy@@GLIBC_2.14.
            return True
        if "(" not in name and "<" not in name:
            return False
        return any(fnmatchcase(short, pattern) for short in (without_parameters(name), plain_name(name)))

    return matches


def _matching(patterns: Collection[str], names: Sequence[str], *, regular: bool = False) -> list[int]:
    """The indices of the names that match; ``regular``: a pattern that matches none may be a regular expression, as in
    perf's --parent."""
    distinct: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        distinct.setdefault(name, []).append(number)
    matching: list[int] = []
    for pattern in patterns:
        chosen = list(filter(_matcher(pattern), distinct))
        if not chosen and regular:
            with contextlib.suppress(re.error):
                chosen = list(filter(re.compile(pattern).search, distinct))
        matching += [number for name in chosen for number in distinct[name]]
    return matching


def passing(profile: Profile, filters: Filters) -> SampleColumns:
    """The samples that pass ``symbols``, ``dsos`` and ``callers``. Raises NothingUsable, with suggestions, if a filter
    matches none."""
    chosen = memoryview(bytearray(b"\1" * len(profile.samples)))
    if filters.symbols:
        _keep(chosen, profile, _by_symbol(profile, filters.symbols))
    if filters.dsos:
        _keep(chosen, profile, _by_dso(profile, filters.dsos))
    if filters.callers:
        _keep(chosen, profile, _by_caller(profile, filters.callers))
    return profile.samples.columns.rows(rows_set(memoryview(array("I", chosen))))


def filtered(profile: Profile, filters: Filters) -> Profile:
    """The profile with the samples that pass all filters. Raises NothingUsable, with suggestions, if a function or file
    matches none, UsageError for an event that is not there."""
    columns = profile.samples.columns
    _chosen, rows = select(filters, columns, None, list(profile.events), profile.comms, columns.comm)
    narrow = profile.derived(samples=columns.rows(rows)) if rows is not None else profile
    return narrow.derived(samples=passing(narrow, filters)) if filters.of_frames else narrow


def _keep(chosen: memoryview, profile: Profile, nodes: memoryview) -> None:
    """Drop samples whose innermost node has no flag."""
    for i, node in enumerate(profile.samples.columns.stack):
        if node == NONE or not nodes[node]:
            chosen[i] = 0


def _flags(profile: Profile, functions: Collection[int]) -> memoryview:
    """1 for each node of a frame of these functions."""
    flags = zeros("I", max(1, len(profile.functions)))
    for number in functions:
        flags[number] = 1
    of_node: memoryview = look_up(look_up(profile.stacks.frame, profile.frames.function), flags)
    return of_node


def _by_symbol(profile: Profile, patterns: Collection[str]) -> memoryview:
    """Nodes of the named functions, and of functions inlined there: a sample there was taken in both."""
    numbers = _matching(patterns, profile.functions.name)
    flags = _flags(profile, numbers)
    parent, frame, depth = profile.stacks.parent, profile.stacks.frame, profile.frames.inline_depth
    for node in range(len(flags)):
        if not flags[node] and depth[frame[node]] and parent[node] != NONE:
            flags[node] = flags[parent[node]]
    if not _samples_in(profile, flags):
        _no_symbol(profile, patterns, numbers)
    return flags


def _samples_in(profile: Profile, flags: memoryview) -> int:
    return sum(1 for node in profile.samples.columns.stack if node != NONE and flags[node])


def _by_samples(leaf: memoryview, names: Sequence[str]) -> list[str]:
    """Names by falling number of samples; ``leaf`` has the index of each sample's name (I)."""
    total: dict[str, int] = {}
    for name, count in zip(names, sums(leaf, None, len(names)), strict=True):
        if count:
            total[name] = total.get(name, 0) + count
    return sorted(total, key=lambda name: (-total[name], name))


def _no_match(what: str, patterns: Collection[str], names: Sequence[str]) -> NoReturn:
    """Raise NothingUsable with the names that exist, the most similar ones first."""
    ordered = near(patterns, names)
    more = f"; and {len(ordered) - OFFERED:,} more" if len(ordered) > OFFERED else ""
    why = "there are: " + "; ".join(ordered[:OFFERED]) + more if ordered else "none has a name"
    raise NothingUsable(f"{what} {', '.join(patterns)}", why, "name one of these; * and ? work" if ordered else "")


def _no_symbol(profile: Profile, patterns: Collection[str], numbers: Collection[int]) -> NoReturn:
    text = ", ".join(patterns)
    count = _samples_in(profile, _below(profile, _flags(profile, numbers)))
    if count:
        why = f"it is on the stacks of {count:,}, which were taken in what it calls"
        raise NothingUsable(f"no sample was taken in {text} itself", why, f"--caller '{text}' chooses these")
    leaf = look_up(look_up(profile.samples.columns.stack, profile.stacks.frame), profile.frames.function)
    names = [name for name in _by_samples(leaf, profile.functions.name) if name != UNKNOWN]
    _no_match("no sample was taken in a function named", patterns, names)


def _by_dso(profile: Profile, patterns: Collection[str]) -> memoryview:
    """Nodes in the named files: by path, by its last part, or by wildcards."""
    full = [*map(dso, profile.images), UNKNOWN]
    short = [*map(short_dso, profile.images), UNKNOWN]
    wanted = zeros("I", len(full))
    for number, texts in enumerate(zip(full, short, strict=True)):
        wanted[number] = any(text == name or fnmatchcase(text, name) for text in texts for name in patterns)
    # Not the functions' images: there are none without names.
    image_of_node = look_up(profile.stacks.frame, without_none(profile.frames.image, len(profile.images)))
    flags: memoryview = look_up(image_of_node, wanted)
    if not _samples_in(profile, flags):
        leaf = look_up(profile.samples.columns.stack, image_of_node)
        _no_match("no sample was taken in a file named", patterns, _by_samples(leaf, short))
    return flags


def _below(profile: Profile, flags: memoryview) -> memoryview:
    """Flags of nodes, extended to their callees."""
    parent = profile.stacks.parent
    for node in range(len(flags)):
        if not flags[node] and parent[node] != NONE:
            flags[node] = flags[parent[node]]
    return flags


def _by_caller(profile: Profile, patterns: Collection[str]) -> memoryview:
    """Nodes below one of the named functions."""
    names = profile.functions.name
    flags = _below(profile, _flags(profile, _matching(patterns, names, regular=True)))
    if not _samples_in(profile, flags):
        _no_match("no stack has a function named", patterns, [name for name in names if name != UNKNOWN])
    return flags
