"""Inserts mappings into the side band that no record describes."""

from dataclasses import replace
from typing import Any

from undwarf.column import zeros
from undwarf.ordering import sort_order, take
from undwarf.perfdata.sideband_kinds import SidebandKind

USER = 2
"""PERF_RECORD_MISC_USER."""
READ, WRITE, EXEC = 1, 2, 4
_COLUMNS = ("kind", "misc", "time", "position", "pid", "tid", "first", "second", "third", "fourth", "name", "identity")


class AddedRows:
    """Rows to add to the side band."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int, int, int, int, int]] = []
        """Time, pid, start, length, offset, protection, name, identity."""

    def merged(self, side: Any, lengths: "memoryview[int]") -> Any:
        """The side band with these rows, in order of time, added ones last among equal times; ``lengths`` (Q) are new
        lengths for the mappings it already has."""
        old, new = len(side), len(self.rows)
        columns: dict[str, Any] = {}
        for key in _COLUMNS:
            source: Any = lengths if key == "second" else getattr(side, key)
            columns[key] = zeros(source.format, old + new)
            columns[key][:old] = source
        for i, (time, pid, start, length, offset, protection, name, identity) in enumerate(self.rows, old):
            columns["kind"][i], columns["misc"][i], columns["time"][i] = SidebandKind.MMAP, USER, time
            columns["pid"][i] = columns["tid"][i] = pid
            columns["first"][i], columns["second"][i], columns["third"][i] = start, length, offset
            columns["fourth"][i], columns["name"][i], columns["identity"][i] = protection, name, identity
        order = sort_order(columns["time"])
        return replace(side, count=old + new, **{key: take(column, order) for key, column in columns.items()})
