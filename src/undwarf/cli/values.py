"""Values that shells complete after options: keys and fields, and the recording's events, threads, processes, CPUs and
files."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from undwarf.errors import UndwarfError

if TYPE_CHECKING:
    from undwarf.api import OpenedRecording


def _of_recording(
    context: click.Context, values: "Callable[[OpenedRecording], Iterable[str]]", *, records: bool
) -> list[str]:
    """Values of the recording on the command line; none if it cannot be read, or is too large and its ``records`` are
    needed."""
    from pathlib import Path

    from undwarf.api import open_recording
    from undwarf.limits import DEFAULT

    options = context.params
    # click stops parsing at the option without a value: the file is among the remaining arguments.
    path = options.get("also_file") or next(iter(context.args), None) or options.get("file") or "perf.data"
    try:
        if path == "-" or (records and Path(path).stat().st_size > DEFAULT.completion_bytes):
            return []
        with open_recording(path, format="perf.data", cache=False) as recording:
            return list(dict.fromkeys(values(recording)))
    except (UndwarfError, OSError):
        return []


def _by_count(values: Iterable[int]) -> list[int]:
    from collections import Counter

    return [value for value, _count in Counter(values).most_common()]


def _events(context: click.Context) -> list[str]:
    return _of_recording(context, lambda recording: [event.name for event in recording.events], records=False)


def _comms(context: click.Context) -> list[str]:
    def names(recording: "OpenedRecording") -> list[str]:
        from undwarf.profile.build import comms_of
        from undwarf.profile.model import NONE

        comms, comm_of = comms_of(recording.records, recording.spaces.comm_of)
        return [comms[comm] for comm in _by_count(comm_of) if comm != NONE]

    return _of_recording(context, names, records=True)


def _numbers(column: str) -> Callable[[click.Context], list[str]]:
    return lambda context: _of_recording(
        context,
        lambda recording: map(str, _by_count(getattr(recording.records.samples, column))),
        records=True,
    )


def _dsos(context: click.Context) -> list[str]:
    def files(recording: "OpenedRecording") -> Iterable[str]:
        from undwarf.images.image_kind import without_reference
        from undwarf.perfdata.sideband_kinds import SidebandKind

        records = recording.records
        for kind, name in zip(records.sideband.kind, records.sideband.name, strict=True):
            if kind == SidebandKind.MMAP:
                text = without_reference(records.names[name]).decode("utf-8", "replace")
                yield text if text.startswith(("[", "//")) else text.rpartition("/")[2]

    return _of_recording(context, files, records=True)


def _keys(_context: click.Context) -> list[str]:
    from undwarf.views.flat_profile import KEYS

    return list(KEYS)


def _fields(_context: click.Context) -> list[str]:
    from undwarf.outputs.script import NAMES

    return list(NAMES)


def _kinds(_context: click.Context) -> list[str]:
    from undwarf.tables.sources import UNWIND_NAMES

    return list(UNWIND_NAMES)


_VALUES: dict[str, Callable[[click.Context], list[str]]] = {
    "comms": _comms,
    "cpus": _numbers("cpu"),
    "dsos": _dsos,
    "events": _events,
    "fields": _fields,
    "pids": _numbers("pid"),
    "sort": _keys,
    "tids": _numbers("tid"),
    "unwind_order": _kinds,
}
"""By parameter: the values for commands that read a recording."""


def complete_values(command: click.Command) -> None:
    """Complete the values of a command that reads a recording."""
    for parameter in command.params:
        values = _VALUES.get(parameter.name or "")
        if values is not None:
            parameter.shell_complete = _completing(values)  # type: ignore[assignment,method-assign]  # of this one only


def _completing(
    values: Callable[[click.Context], list[str]],
) -> "Callable[[click.Context, str], list[click.shell_completion.CompletionItem]]":
    def complete(context: click.Context, incomplete: str) -> "list[click.shell_completion.CompletionItem]":
        from click.shell_completion import CompletionItem

        # Lists are completed after the last comma; + and - change the default fields.
        before, comma, last = incomplete.rpartition(",")
        sign = last[:1] if last[:1] in ("+", "-") else ""
        matching = [value for value in values(context) if value.startswith(last[len(sign) :]) and " " not in value]
        return [CompletionItem(f"{before}{comma}{sign}{value}") for value in matching]

    return complete
