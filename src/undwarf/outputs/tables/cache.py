"""The contents of the caches of unwind tables and data types, as text or JSON."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from undwarf.disk_cache import DiskCache
from undwarf.outputs.json_lines import dump
from undwarf.outputs.json_values import known
from undwarf.outputs.terminal.escape import printable
from undwarf.tables.disk.cache import Entry

if TYPE_CHECKING:
    from undwarf.outputs.schemas.tables import TablesCache


class CacheOptions(NamedTuple):
    """``directory`` and ``limit`` (bytes) of the cache of tables; ``answers``: the cache of data types."""

    directory: str
    limit: int
    answers: DiskCache


def write_json(entries: Sequence[Entry], sink: TextIO, options: CacheOptions) -> None:
    """Write one JSON object."""
    answers = options.answers
    files, size = answers.usage()
    document: TablesCache = {
        "schema": "undwarf/tables-cache",
        "version": 1,
        "directory": options.directory,
        "limit_bytes": options.limit,
        "size_bytes": sum(entry.size for entry in entries),
        "tables": [
            {
                "entry": entry.name,
                "binary": known(entry.path) if entry.rows else None,
                "build_id": known(entry.build_id),
                "rows": entry.rows,
                "rules": entry.rules,
                "size_bytes": entry.size,
                "used_s": entry.used,
            }
            for entry in entries
        ],
        "types": {
            "directory": str(answers.directory),
            "limit_bytes": answers.limit,
            "size_bytes": size,
            "entries": files,
        },
    }
    dump(document, sink)


def write(entries: Sequence[Entry], sink: TextIO, options: CacheOptions) -> None:
    """Write a line for each table, then the totals."""
    answers = options.answers
    files, size = answers.usage()
    if entries:
        sink.write(f"{'bytes':>10} {'rows':>9} {'rules':>6}  {'used':<10}  binary\n")
    for entry in entries:
        day = time.strftime("%Y-%m-%d", time.localtime(max(0.0, min(entry.used, 4e10))))
        name = printable(entry.path) if entry.rows else f"{entry.name} (damaged, or of another version)"
        sink.write(f"{entry.size:>10,} {entry.rows:>9,} {entry.rules:>6,}  {day}  {name}\n")
    total = sum(entry.size for entry in entries)
    plural = "" if len(entries) == 1 else "s"
    sink.write(f"{len(entries)} table{plural}, {total:,} of {options.limit:,} bytes, in {options.directory}\n")
    plural = "" if files == 1 else "s"
    sink.write(f"data types of {files} file{plural}, {size:,} of {answers.limit:,} bytes, in {answers.directory}\n")
