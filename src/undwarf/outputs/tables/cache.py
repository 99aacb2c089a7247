"""The contents of the caches of unwind tables and data types, as text or JSON."""

import time
from collections.abc import Sequence
from typing import NamedTuple, TextIO

from undwarf.disk_cache import DiskCache
from undwarf.outputs.json_lines import dump
from undwarf.outputs.terminal.escape import printable
from undwarf.tables.disk.cache import Entry


class CacheOptions(NamedTuple):
    """``directory`` and ``limit`` (bytes) are those of the tables. ``json``: one object. ``answers``: where data types
    are."""

    directory: str
    limit: int
    json: bool = False
    answers: DiskCache | None = None


def write(entries: Sequence[Entry], sink: TextIO, options: CacheOptions) -> None:
    """A line for each table, then the sums."""
    answers = options.answers
    files, size = answers.usage() if answers is not None else (0, 0)
    if options.json:
        tables = [
            {"path": one.path, "build_id": one.build_id, "rows": one.rows, "rules": one.rules, "bytes": one.size,
             "used": one.used, "file": one.name}
            for one in entries
        ]  # fmt: skip  # rows of fields
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
    for one in entries:
        day = time.strftime("%Y-%m-%d", time.localtime(max(0.0, min(one.used, 4e10))))
        name = printable(one.path) if one.rows else f"{one.name} (damaged, or of another version)"
        sink.write(f"{one.size:>10,} {one.rows:>9,} {one.rules:>6,}  {day}  {name}\n")
    total = sum(one.size for one in entries)
    plural = "" if len(entries) == 1 else "s"
    sink.write(f"{len(entries)} table{plural}, {total:,} of {options.limit:,} bytes, in {options.directory}\n")
    if answers is not None:
        plural = "" if files == 1 else "s"
        sink.write(f"data types of {files} file{plural}, {size:,} of {answers.limit:,} bytes, in {answers.directory}\n")
