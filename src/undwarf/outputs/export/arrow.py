"""Tables as Arrow IPC files ("Feather"), written by pyarrow."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from undwarf.errors import UsageError
from undwarf.outputs.atomic_file import whole_file
from undwarf.outputs.export.tables import write_tables

if TYPE_CHECKING:
    from undwarf.profile.model import Profile


def write(profile: "Profile", target: Path, *, table: str | None = None) -> list[Path]:
    """Write one table to a file, or all of them to a directory; the files. Raises OSError, and UsageError without
    pyarrow."""
    return write_tables(profile, target, table, "arrow", write_table)


def write_table(table: Any, target: Path) -> None:
    """Write anything that has ``__arrow_c_stream__`` to a file."""
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.ipc  # type: ignore[import-untyped]
    except ImportError:
        raise UsageError("Arrow files need pyarrow", "it is not installed", "pip install 'undwarf[arrow]'") from None
    # All batches of a file have the same dictionaries.
    held = pyarrow.table(table).unify_dictionaries()
    with whole_file(target) as sink, pyarrow.ipc.new_file(sink, held.schema) as writer:
        writer.write_table(held)
