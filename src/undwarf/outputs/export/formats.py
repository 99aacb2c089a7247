"""The formats of ``undwarf export``, found by name; a format's module is imported when it is written."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables

Writer = Callable[["ExportTables", BinaryIO, "Origin"], list[str]]
"""A format's ``write``: writes the samples, and returns what the format cannot hold, as sentences for the user."""


class Format(NamedTuple):
    """The usual end of a file's ``name``, and what its writer needs.

    ``every_event``: it holds events with different units side by side; the others hold one event, or several that can
    be added. ``lines``: it has source lines or files. ``runtime``: it has addresses in the process. ``versions``:
    symbols keep their version, as in perf. ``by_table``: a file has one of the profile's tables, by its name.
    ``needs``: fields without which there is nothing to show, which a profile of another tool may lack
    (:class:`undwarf.profile.model.Origin`).
    """

    extension: str
    every_event: bool = False
    lines: bool = True
    runtime: bool = False
    versions: bool = False
    by_table: bool = False
    needs: tuple[str, ...] = ()


FORMATS = {
    "pprof": Format(".pb.gz", every_event=True),
    "firefox": Format(".json.gz", every_event=True, needs=("time", "tid")),
    "speedscope": Format(".speedscope.json", every_event=True),
    "perfetto": Format(".perfetto-trace.gz", needs=("time", "tid")),
    "otlp": Format(".otlp.pb", every_event=True),
    "callgrind": Format(".callgrind", every_event=True),
    "chrome": Format(".trace.json.gz", lines=False, needs=("time", "tid")),
    "folded": Format(".folded", lines=False),
    "perf-script": Format(
        ".script.txt",
        every_event=True,
        lines=False,
        runtime=True,
        versions=True,
        needs=("comm", "tid", "time", "address"),
    ),
    "csv": Format(".csv", every_event=True, by_table=True),
    "parquet": Format(".parquet", every_event=True, by_table=True),
    "arrow": Format(".arrow", every_event=True, by_table=True),
}
"""By name. The module is ``undwarf.outputs.export.NAME``, with ``_`` for ``-``."""


def writer(name: str, table: str | None = None) -> Writer:
    """The function that writes a format; of a format by table, this table (default: the samples)."""
    write: Callable[..., list[str]] = import_module(f"undwarf.outputs.export.{name.replace('-', '_')}").write
    return write if table is None else partial(write, table=table)
