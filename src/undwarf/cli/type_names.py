"""What a shell completes after ``types --type``."""

import click

from undwarf.errors import UndwarfError

_MOST_BYTES = 256 << 20
"""Of a recording: a larger one takes longer to read than anybody waits for a completion."""


def complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Types that samples of the recording touch, by weight, without keywords.

    Only what earlier runs found out is asked, so that nothing is followed while somebody waits; who has seen the list
    of types has made such a run. Names with blanks are left out, which would be several words.
    """
    given = context.params
    if given.get("binary") or given.get("btf"):
        return []
    # An option without its value ends what click reads of a line: the file is among what it left.
    path = given.get("also_file") or next(iter(context.args), None) or given.get("file") or "perf.data"
    try:
        names = _touched(path, skid=bool(given.get("skid")))
    except (UndwarfError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def _touched(path: str, *, skid: bool) -> list[str]:
    from pathlib import Path

    from undwarf.api import open_recording
    from undwarf.outputs.types.drawing import plain_name
    from undwarf.profile.access_resolution import resolve_accesses
    from undwarf.views.data.types import data_types

    if Path(path).stat().st_size > _MOST_BYTES:
        return []
    with open_recording(path) as recording:
        profile = recording.profile(callers=False, names=False, inline=False)
        touched = resolve_accesses(
            profile,
            lambda _image, _address: "not asked",
            skid=skid,
            stops=recording.event_stops,
            answers_of=recording.types.answers,
        )
        # Numbers of samples of several events have a sum.
        rows = data_types(touched.profile, touched, "samples", instructions=False).types
    return list(dict.fromkeys(name for row in rows if " " not in (name := plain_name(row.name))))
