"""Tables as Arrow IPC files ("Feather"), written by pyarrow."""

from typing import TYPE_CHECKING, Any, BinaryIO

from undwarf.errors import UsageError
from undwarf.outputs.export.tables import Target, write_tables

if TYPE_CHECKING:
    from undwarf.profile.model import Profile


def write(profile: "Profile", target: Target, *, table: str | None = None) -> None:
    """Write one table to a file, or all of them to a directory (:func:`write_tables`). Raises OSError, and UsageError
    without pyarrow."""
    write_tables(profile, target, table, "arrow", write_table)


def write_table(table: Any, sink: BinaryIO) -> None:
    """Write anything that has ``__arrow_c_stream__`` to an open file."""
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.ipc  # type: ignore[import-untyped]
    except ImportError:
        raise UsageError("Arrow files need pyarrow", "it is not installed", "pip install 'undwarf[arrow]'") from None
    # All batches of a file have the same dictionaries.
    held = pyarrow.table(table).unify_dictionaries()
    with pyarrow.ipc.new_file(sink, held.schema) as writer:
        writer.write_table(held)
