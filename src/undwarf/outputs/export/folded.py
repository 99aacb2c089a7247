"""Folded stacks with their weights, for flame-graph tools: ``comm;outer;...;inner WEIGHT``."""

from typing import TYPE_CHECKING, BinaryIO

from undwarf.outputs import folded

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables


def write(tables: "ExportTables", sink: BinaryIO, _origin: "Origin") -> list[str]:
    """Write a line for each distinct thread name and stack."""
    folded.write(tables.folded, sink)
    lost = ["when samples were taken, on which CPU, process and thread ids, files and lines"]
    if renamed := sum(";" in function.name for function in tables.functions):
        lost.append(f"semicolons in names, which are colons ({renamed:,})")
    return lost
