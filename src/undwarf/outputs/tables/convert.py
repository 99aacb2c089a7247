"""A table that was written in another format, as JSON."""

from typing import TYPE_CHECKING, NamedTuple, TextIO

from undwarf.outputs.json_lines import dump

if TYPE_CHECKING:
    from undwarf.outputs.schemas.tables import TablesConvert
    from undwarf.tables.writers import Written


class ConvertOptions(NamedTuple):
    """The ``binary`` and the format ``to`` which its table was converted; paths that were written, None for none."""

    binary: str
    to: str
    output: str | None
    into: str | None


def write_json(written: "Written", sink: TextIO, options: ConvertOptions) -> None:
    """Write one JSON object."""
    document: TablesConvert = {
        "schema": "undwarf/tables-convert",
        "version": 1,
        "binary": options.binary,
        "to": options.to,
        "output": options.output,
        "into": options.into,
        "functions": written.functions,
        "rows": written.rows,
        "size_bytes": sum(section.size for section in written.sections),
        "left_out": dict(sorted(written.left_out.items(), key=lambda pair: -pair[1])),
    }
    dump(document, sink)
