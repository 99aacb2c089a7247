"""The samples of a profile whose stacks pass filters: by the function or file they were taken in, or by a caller."""

import contextlib
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from undwarf.column import zeros
from undwarf.errors import NothingUsable
from undwarf.perfdata.ordering import take
from undwarf.profile.filters import Filters, near
from undwarf.profile.grouping import look_up, rows_set, sums, without_none
from undwarf.profile.labels import dso, short_dso
from undwarf.profile.model import NONE, Profile, SampleColumns
from undwarf.symbols.resolver import UNKNOWN
from undwarf.views.source import plain_name, without_parameters

OFFERED = 8
"""Names that are offered where a filter finds nothing."""


def split_names(text: str) -> list[str]:
    """Names between commas; those within brackets, as of ``f<int, char>(int, char)``, part nothing."""
    depth, start = 0, 0
    found = []
    for i, char in enumerate(text):
        if char in "(<[{":
            depth += 1
        elif char in ")>]}":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            found.append(text[start:i].strip())
            start = i + 1
    found.append(text[start:].strip())
    return [name for name in found if name]


def _names_function(pattern: str) -> Callable[[str], bool]:
    """Whether a function's name is meant: just so, without parameters or template arguments, or by wildcards."""

    def means(name: str) -> bool:
        if fnmatchcase(name, pattern) or name == pattern:
            return True
        if name.partition("@")[0] == pattern:
            # A versioned symbol, as in memcpy@@GLIBC_2.14.
            return True
        if "(" not in name and "<" not in name:
            return False
        return any(fnmatchcase(short, pattern) for short in (without_parameters(name), plain_name(name)))

    return means


def _matching(patterns: Collection[str], names: Sequence[str], *, regular: bool = False) -> list[int]:
    """The numbers of the names that patterns mean; ``regular``: a pattern that is no name may be a regular expression,
    as perf's --parent is."""
    distinct: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        distinct.setdefault(name, []).append(number)
    found: list[int] = []
    for pattern in patterns:
        chosen = list(filter(_names_function(pattern), distinct))
        if not chosen and regular:
            with contextlib.suppress(re.error):
                chosen = list(filter(re.compile(pattern).search, distinct))
        found += [number for name in chosen for number in distinct[name]]
    return found


def passing(profile: Profile, filters: Filters) -> SampleColumns:
    """The samples that pass ``symbols``, ``dsos`` and ``callers``. Raises NothingUsable for a name of which there are
    none, and says which there are."""
    chosen = memoryview(bytearray(b"\1" * len(profile.samples)))
    if filters.symbols:
        _keep(chosen, profile, _by_symbol(profile, filters.symbols))
    if filters.dsos:
        _keep(chosen, profile, _by_dso(profile, filters.dsos))
    if filters.callers:
        _keep(chosen, profile, _by_caller(profile, filters.callers))
    kept = zeros("I", len(chosen))
    for i, one in enumerate(chosen):
        kept[i] = one
    rows = rows_set(kept)
    columns = profile.samples.columns
    taken: dict[str, Any] = {one.name: getattr(columns, one.name) for one in fields(SampleColumns)}
    taken = {name: take(column, rows) if column is not None else None for name, column in taken.items()}
    return SampleColumns(**taken)


def _keep(chosen: memoryview, profile: Profile, nodes: memoryview) -> None:
    """Leave out samples whose innermost node has no flag."""
    for i, node in enumerate(profile.samples.columns.stack):
        if node == NONE or not nodes[node]:
            chosen[i] = 0


def _flags(profile: Profile, functions: Collection[int]) -> memoryview:
    """1 for each node of a frame of these functions."""
    flags = zeros("I", max(1, len(profile.functions)))
    for number in functions:
        flags[number] = 1
    made: memoryview = look_up(look_up(profile.stacks.frame, profile.frames.function), flags)
    return made


def _by_symbol(profile: Profile, patterns: Collection[str]) -> memoryview:
    """Nodes of the named functions, and of what is inlined there: a sample there was taken in both."""
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
    """Names, those first that most samples have; ``leaf`` has the number of each sample's."""
    total: dict[str, int] = {}
    for name, count in zip(names, sums(leaf, None, len(names)), strict=True):
        if count:
            total[name] = total.get(name, 0) + count
    return sorted(total, key=lambda name: (-total[name], name))


def _nothing(what: str, patterns: Collection[str], names: Sequence[str]) -> NoReturn:
    """Raise NothingUsable, with the names there are, those first that are most like what was asked for."""
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
    _nothing("no sample was taken in a function named", patterns, names)


def _by_dso(profile: Profile, patterns: Collection[str]) -> memoryview:
    """Nodes in the named files: by path, by its last part, or by wildcards."""
    full = [*map(dso, profile.images), UNKNOWN]
    short = [*map(short_dso, profile.images), UNKNOWN]
    wanted = zeros("I", len(full))
    for number, texts in enumerate(zip(full, short, strict=True)):
        wanted[number] = any(text == name or fnmatchcase(text, name) for text in texts for name in patterns)
    # Functions have no file where nobody asked for names.
    image_of_node = look_up(profile.stacks.frame, without_none(profile.frames.image, len(profile.images)))
    flags: memoryview = look_up(image_of_node, wanted)
    if not _samples_in(profile, flags):
        leaf = look_up(profile.samples.columns.stack, image_of_node)
        _nothing("no sample was taken in a file named", patterns, _by_samples(leaf, short))
    return flags


def _below(profile: Profile, flags: memoryview) -> memoryview:
    """Flags of nodes, passed on to all that is called from there."""
    parent = profile.stacks.parent
    for node in range(len(flags)):
        if not flags[node] and parent[node] != NONE:
            flags[node] = flags[parent[node]]
    return flags


def _by_caller(profile: Profile, patterns: Collection[str]) -> memoryview:
    """Nodes of stacks that hold one of the named functions."""
    names = profile.functions.name
    flags = _below(profile, _flags(profile, _matching(patterns, names, regular=True)))
    if not _samples_in(profile, flags):
        _nothing("no stack has a function named", patterns, [name for name in names if name != UNKNOWN])
    return flags
