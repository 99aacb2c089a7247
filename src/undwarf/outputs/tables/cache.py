"""The contents of the caches of unwind tables and data types, as text or JSON."""

import time
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from undwarf.disk_cache import DiskCache
from undwarf.outputs.json_lines import dump
from undwarf.outputs.terminal.escape import printable
from undwarf.tables.disk.cache import Entry


class CacheOptions(NamedTuple):
    """``directory`` and ``limit`` (bytes) of the cache of tables; ``answers``: the cache of data types."""

    directory: str
    limit: int
    json: bool = False
    answers: DiskCache | None = None


def write(entries: Sequence[Entry], sink: TextIO, options: CacheOptions) -> None:
    """Write a line for each table, then the totals."""
    answers = options.answers
    files, size = answers.usage() if answers is not None else (0, 0)
    if options.json:
        tables = [
            {"path": entry.path, "build_id": entry.build_id, "rows": entry.rows, "rules": entry.rules,
             "bytes": entry.size, "used": entry.used, "file": entry.name}
            for entry in entries
        ]  # fmt: skip
        report: dict[str, object] = {"directory": options.directory, "limit": options.limit, "tables": tables}
        if answers is not None:
            report["types"] = {
                "directory": str(answers.directory),
                "limit": answers.limit,
                "files": files,
                "bytes": size,
            }
        dump(report, sink, 2)
        return
    if entries:
        sink.write(f"{'bytes':>10} {'rows':>9} {'rules':>6}  {'used':<10}  binary\n")
    for entry in entries:
        day = time.strftime("%Y-%m-%d", time.localtime(max(0.0, min(entry.used, 4e10))))
        name = printable(entry.path) if entry.rows else f"{entry.name} (damaged, or of another version)"
        sink.write(f"{entry.size:>10,} {entry.rows:>9,} {entry.rules:>6,}  {day}  {name}\n")
    total = sum(entry.size for entry in entries)
    plural = "" if len(entries) == 1 else "s"
    sink.write(f"{len(entries)} table{plural}, {total:,} of {options.limit:,} bytes, in {options.directory}\n")
    if answers is not None:
        plural = "" if files == 1 else "s"
        sink.write(f"data types of {files} file{plural}, {size:,} of {answers.limit:,} bytes, in {answers.directory}\n")
