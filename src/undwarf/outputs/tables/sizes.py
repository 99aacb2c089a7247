"""Sizes of unwind tables as text or JSON."""

from typing import TYPE_CHECKING, TextIO

from undwarf.outputs.json_lines import dump

if TYPE_CHECKING:
    from undwarf.outputs.schemas.tables import TablesSizes
    from undwarf.views.tables.sizes import Sizes


def write_json(path: str, sizes: "Sizes", sink: TextIO) -> None:
    """Write one JSON object."""
    document: TablesSizes = {
        "schema": "undwarf/tables-sizes",
        "version": 1,
        "binary": path,
        "functions": sizes.functions,
        "rows": sizes.rows,
        "rules": sizes.rules,
        "in_file": [{"name": one.name, "size_bytes": one.bytes, "entries": one.entries} for one in sizes.in_file],
        "written": [
            {"name": one.name, "size_bytes": one.bytes, "rows_left_out": one.rows_left_out} for one in sizes.written
        ],
    }
    dump(document, sink)


def write(sizes: "Sizes", sink: TextIO) -> None:
    """Write the counts of the table and a line for each format."""
    sink.write(f"{sizes.functions:,} functions, {sizes.rows:,} rows, {sizes.rules:,} distinct rules\n\n")
    sink.write(f"{'in the file':<22} {'bytes':>14}\n")
    for section in sizes.in_file:
        entries = f"  {section.entries:,} entries" if section.entries is not None else ""
        sink.write(f"  {section.name:<20} {section.bytes:>14,}{entries}\n")
    base = sum(section.bytes for section in sizes.in_file if section.name.startswith(".eh_frame"))
    if base:
        sink.write(f"  {'.eh_frame and _hdr':<20} {base:>14,}\n")
    if sizes.written:
        sink.write(f"\n{'written by undwarf':<22} {'bytes':>14} {'of eh_frame':>12} {'rows left out':>14}\n")
    for table in sizes.written:
        share = f"{table.bytes / base:.2f}x" if base else ""
        left_out = f"{table.rows_left_out:,}" if table.rows_left_out is not None else ""
        sink.write(f"  {table.name:<20} {table.bytes:>14,} {share:>12} {left_out:>14}".rstrip() + "\n")
