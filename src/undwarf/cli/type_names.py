"""Types by name: those of a recording that ``types --type`` means, and what a shell completes after it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from undwarf.errors import UndwarfError, UsageError
from undwarf.outputs.terminal.short_names import shorten

if TYPE_CHECKING:
    from undwarf.views.data.types import DataTypes, TypeRow

_MOST_BYTES = 256 << 20
"""Larger recordings take longer to read than anybody waits for a completion."""
_COMPARED, _MOST_NAMED, _NAME_WIDTH = 2000, 5, 60


def plain_name(name: str) -> str:
    """A type's name without its keyword."""
    for keyword in ("struct ", "class ", "union ", "enum "):
        name = name.removeprefix(keyword)
    return name.strip()


def known_types(data: "DataTypes", name: str, typedef_of: Callable[[], frozenset[str]] = frozenset) -> "list[TypeRow]":
    """The hottest type of a name, given in full, without its keyword, as a typedef or in part; and other types that
    have the same name, by weight. ``typedef_of``: the names of the types that ``name`` is a typedef of."""
    full_name = _full_name(data, name, typedef_of)
    return [row for row in data.types if row.name == full_name]


def find_types(data: "DataTypes", name: str, typedef_of: Callable[[], frozenset[str]] = frozenset) -> "list[TypeRow]":
    """As :func:`known_types`. Raises UsageError if no sample touches such a type."""
    rows = known_types(data, name, typedef_of)
    if rows:
        return rows
    raise UsageError(
        f"no sample touches a type named {name!r}", _similar(data, name),
        "undwarf types lists what is touched; --binary ELF --type NAME draws what is not",
    )  # fmt: skip


def _full_name(data: "DataTypes", name: str, typedef_of: Callable[[], frozenset[str]]) -> str | None:
    wanted = plain_name(name)
    for row in data.types:
        if row.name == name or plain_name(row.name) == wanted:
            return row.name
    aliased = typedef_of()
    if aliased:
        return next((row.name for row in data.types if row.name in aliased), None)
    return next((row.name for row in data.types if wanted in row.name), None)


def _similar(data: "DataTypes", name: str) -> str:
    """A sentence with the types whose names are most similar, else with the hottest."""
    from difflib import get_close_matches

    by_base = {_base(row.name): row.name for row in reversed(data.types[:_COMPARED])}
    similar = get_close_matches(_base(name), by_base, _MOST_NAMED)
    names = [by_base[base] for base in similar] or [row.name for row in data.types[:_MOST_NAMED]]
    if not names:
        return "nothing that samples touch has a known type"
    return f"there is {', '.join(shorten(full_name, _NAME_WIDTH) for full_name in names)}"


def _base(name: str) -> str:
    """A name without keyword, namespaces, template arguments and capitals."""
    return plain_name(name).partition("<")[0].rpartition("::")[2][:_NAME_WIDTH].lower()


def complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Types that samples of the recording touch, by weight, without keywords.

    Only cached results are used, so that nothing is analysed while somebody waits; ``undwarf types`` caches them. Names
    with blanks are left out: a shell would take them for several words.
    """
    options = context.params
    if options.get("binary") or options.get("btf"):
        return []
    # click stops parsing at the option without a value: the file is among the remaining arguments.
    path = options.get("also_file") or next(iter(context.args), None) or options.get("file") or "perf.data"
    try:
        names = _cached_types(path, skid=bool(options.get("skid")))
    except (UndwarfError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def _cached_types(path: str, *, skid: bool) -> list[str]:
    from pathlib import Path

    from undwarf.api import open_recording
    from undwarf.profile.access_resolution import resolve_accesses
    from undwarf.views.data.types import data_types

    if Path(path).stat().st_size > _MOST_BYTES:
        return []
    with open_recording(path, format="perf.data") as recording:
        profile = recording.profile(callers=False, names=False, inline=False)
        touched = resolve_accesses(
            profile,
            lambda _image, _address: "not asked",
            skid=skid,
            stops=recording.event_stops,
            answers_of=recording.types.answers,
        )  # fmt: skip
        # Sample counts of several events can be added.
        rows = data_types(touched.profile, touched, "samples", instructions=False).types
    return list(dict.fromkeys(name for row in rows if " " not in (name := plain_name(row.name))))
