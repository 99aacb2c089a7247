"""Which tables of a profile go into which file."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from undwarf.arrow.table import Table
from undwarf.errors import UsageError
from undwarf.outputs.atomic_file import whole_file
from undwarf.profile.table_descriptions import PROFILE_TABLES, SAMPLES
from undwarf.profile.tables import named

if TYPE_CHECKING:
    from undwarf.profile.model import Profile

Target = Path | BinaryIO
"""A file or directory to write, or an open file."""


def write_tables(
    profile: "Profile", target: Target, table: str | None, ending: str, write: Callable[[Table, BinaryIO], None]
) -> None:
    """Write one table to a file, or all of them (None) to files ``TABLE.ending`` in a directory, which is made; into an
    open file goes one table, by default that of the samples. Raises UsageError for a table that is not there."""
    names = [description.name for description in PROFILE_TABLES]
    if table is not None and table not in names:
        raise UsageError(f"there is no table {table}", "", f"choose one of {', '.join(names)}")
    if not isinstance(target, Path):
        write(named(profile, table or SAMPLES.name), target)
        return
    if table is not None:
        with whole_file(target) as sink:
            write(named(profile, table), sink)
        return
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        with whole_file(target / f"{name}.{ending}") as sink:
            write(named(profile, name), sink)
