"""Which tables of a profile go into which file."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from undwarf.arrow.table import Table
from undwarf.errors import UsageError
from undwarf.profile.table_descriptions import PROFILE_TABLES
from undwarf.profile.tables import named

if TYPE_CHECKING:
    from undwarf.profile.model import Profile


def write_tables(
    profile: "Profile", target: Path, table: str | None, ending: str, write: Callable[[Table, Path], None]
) -> list[Path]:
    """Write one table to a file, or all of them (None) to files ``TABLE.ending`` in a directory, which is made; the
    files. Raises UsageError for a table that is not there."""
    names = [description.name for description in PROFILE_TABLES]
    if table is not None:
        if table not in names:
            raise UsageError(f"there is no table {table}", "", f"choose one of {', '.join(names)}")
        write(named(profile, table), target)
        return [target]
    target.mkdir(parents=True, exist_ok=True)
    files = [target / f"{name}.{ending}" for name in names]
    for name, file in zip(names, files, strict=True):
        write(named(profile, name), file)
    return files
