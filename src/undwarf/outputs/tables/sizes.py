"""Sizes of unwind tables as text or JSON."""

from typing import TYPE_CHECKING, TextIO

from undwarf.outputs.json_lines import dump

if TYPE_CHECKING:
    from undwarf.views.tables.sizes import Sizes


def write(sizes: "Sizes", sink: TextIO, *, as_json: bool) -> None:
    """Write the counts of the table and a line for each format, or one JSON object."""
    if as_json:
        dump(sizes.as_json(), sink, 2)
        return
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
