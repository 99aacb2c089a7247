"""All tables of a profile as files of one format, in a directory."""

from pathlib import Path
from typing import TYPE_CHECKING

from undwarf.outputs.atomic_file import whole_file
from undwarf.outputs.export.formats import FORMATS, writer
from undwarf.profile.table_descriptions import PROFILE_TABLES

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables

NAMES = tuple(description.name for description in PROFILE_TABLES)
"""The tables that a file may have."""


def write(tables: "ExportTables", directory: Path, origin: "Origin", form: str) -> list[str]:
    """Write a file for each table, named after it, to a directory, which is made. Returns what the format cannot hold.
    Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    lost: dict[str, None] = {}
    for name in NAMES:
        with whole_file(directory / (name + FORMATS[form].extension)) as sink:
            lost |= dict.fromkeys(writer(form, name)(tables, sink, origin))
    return list(lost)
