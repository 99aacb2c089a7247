"""Tables as Arrow IPC files ("Feather"), written by pyarrow."""

from typing import TYPE_CHECKING, Any, BinaryIO

from undwarf.errors import UsageError
from undwarf.profile.table_descriptions import SAMPLES
from undwarf.profile.tables import named

if TYPE_CHECKING:
    from undwarf.outputs.export.origin import Origin
    from undwarf.views.export_tables import ExportTables


def write(tables: "ExportTables", sink: BinaryIO, _origin: "Origin", *, table: str = SAMPLES.name) -> list[str]:
    """Write a table of the samples' profile. Raises UsageError without pyarrow."""
    write_table(named(tables.profile, table), sink)
    return []


def write_table(table: Any, sink: BinaryIO) -> None:
    """Write anything that has ``__arrow_c_stream__`` to an open file."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise UsageError("Arrow files need pyarrow", "it is not installed", "pip install 'undwarf[arrow]'") from None
    # All batches of a file have the same dictionaries.
    held = pyarrow.table(table).unify_dictionaries()
    with pyarrow.ipc.new_file(sink, held.schema) as writer:
        writer.write_table(held)
