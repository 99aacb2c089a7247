"""The layout of a store: its tables, their columns, where their files are. docs/reference/fleet-layout.md describes it.

Ids are hashes of 16 bytes. As a logical type they have none: DuckDB, polars and Spark read them as bytes, and join and
group by them; of UUIDs, which would be as fast, Spark reads no columns, and DuckDB hands them to Arrow as texts.
Integers are signed, since Spark reads unsigned ones of 64 bits as decimal numbers. Times are UTC without saying so:
DuckDB computes with times that name their zone only if it can load an extension.
"""

import re
from datetime import date
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from undwarf.errors import UnreadableInput, UsageError

if TYPE_CHECKING:
    import pyarrow

VERSION = 1
FORMAT = "undwarf-fleet"
ID_BYTES = 16
PARTITIONED = ("samples", "stacks", "frames", "images", "recordings")
"""Tables with a folder for each day, and in it for each service."""
TABLES = (*PARTITIONED, "symbols", "types")
_PATH = re.compile(
    r"(?P<table>[a-z]+)(?:/day=(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})/service=(?P<service>[^/=]{1,765}))?/(?P<name>[0-9a-f]{32})\.parquet"
)
COMMIT = re.compile(r"[0-9a-f]{32}\.json")
"""Names of files in ``commits``."""
MOST_TEXT = 255
"""Characters of a label."""


class Partition(NamedTuple):
    """A table, and of those with partitions the day, as in 2026-11-28, and the service; else these are empty."""

    table: str
    day: str = ""
    service: str = ""

    def path(self, name: str) -> str:
        """The path in the store of a file of this partition. ``name`` is a hash as 32 hexadecimal digits."""
        if self.table not in PARTITIONED:
            return f"{self.table}/{name}.parquet"
        return f"{self.table}/day={self.day}/service={encoded(self.service)}/{name}.parquet"


def encoded(service: str) -> str:
    """A service's name as part of a path: what is neither a letter, a digit nor one of ``-._~`` is percent-encoded, as
    Hive does, of a name of dots alone the first one too."""
    text = quote(service, safe="")
    return "%2E" + text[1:] if not text.strip(".") else text


@lru_cache(1 << 16)
def partition_of(path: str) -> Partition:
    """The partition of a file by its path in the store. Raises UnreadableInput for a path that no file of a store has,
    such as one that leaves it."""
    found = _PATH.fullmatch(path)
    if found is not None:
        table, day, service = found["table"], found["day"] or "", unquote(found["service"] or "")
        partition = Partition(table, day, service)
        of_layout = table in TABLES and (table in PARTITIONED) == bool(day)
        if of_layout and path.isascii() and partition.path(found["name"]) == path:
            return partition
    raise UnreadableInput("the store is damaged", f"{path[:200]!r} is no name of a file of a store")


def checked_label(name: str, value: str) -> str:
    """A label's value. Raises UsageError if it is no text of 1 to 255 printable characters."""
    if not 0 < len(value) <= MOST_TEXT or not value.isprintable():
        raise UsageError(f"{value[:80]!r} is no value of the label {name}", "it has 1 to 255 printable characters")
    return value


def checked_day(text: str) -> str:
    """A day as in 2026-11-28. Raises UsageError for anything else."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError(f"{text!r} is no day", "", "give a day of UTC, as in 2026-11-28") from None


@cache
def schema(table: str) -> "pyarrow.Schema":
    """The columns of a table; ``day`` and ``service`` are in the paths of its files."""
    import pyarrow

    return _columns(table, pyarrow)


@cache
def sql_types(table: str) -> dict[str, str]:
    """The columns of a table with their types in SQL. Importing pyarrow takes as long as a short report."""
    types: dict[str, str] = _columns(table, _SqlTypes)
    return types


class _SqlTypes:
    """DuckDB's names of the types of :func:`_columns`."""

    schema = dict
    string = staticmethod(lambda: "VARCHAR")
    bool_ = staticmethod(lambda: "BOOLEAN")
    int32 = staticmethod(lambda: "INTEGER")
    int64 = staticmethod(lambda: "BIGINT")
    binary = staticmethod(lambda _size: "BLOB")
    timestamp = staticmethod(lambda _unit: "TIMESTAMP")
    dictionary = staticmethod(lambda _indices, values: values)
    field = staticmethod(lambda _name, kind: kind)
    list_ = staticmethod(lambda kind: f"{kind}[]")
    map_ = staticmethod(lambda key, value: f"MAP({key}, {value})")
    struct = staticmethod(lambda fields: "STRUCT(" + ", ".join(f'"{name}" {kind}' for name, kind in fields) + ")")


def _columns(table: str, pa: Any) -> Any:
    """The columns of a table in the types of pyarrow, or of what has functions of the same names."""
    id_, text, name = pa.binary(ID_BYTES), pa.string(), pa.dictionary(pa.int32(), pa.string())
    when = pa.timestamp("us")
    event = pa.struct(
        {
            "name": text,
            "packed": pa.bool_(),
            "chains": pa.bool_(),
            "unit": text,
            "group": pa.int32(),
            "precision": text,
        }.items()
    )
    inlined = pa.struct({"name": text, "file": text, "line": pa.int32()}.items())
    columns: dict[str, dict[str, Any]] = {
        "samples": {
            "recording": id_, "host": name, "release": name, "container": name, "pod": name, "time": when,
            "pid": pa.int32(), "tid": pa.int32(), "cpu": pa.int32(), "comm": name, "event": name,
            "period": pa.int64(), "stack": id_, "stop": name, "stop_image": id_, "data_source": pa.int64(),
            "latency": pa.int64(), "data_page_size": pa.int64(),
        },
        "stacks": {"id": id_, "frames": pa.list_(pa.field("element", id_))},
        "frames": {
            "id": id_, "image": id_, "code_offset": pa.int64(), "name": text, "is_return": pa.bool_(),
            "provenance": name, "sampled": pa.int32(),
        },
        "images": {"id": id_, "name": text, "path": text, "build_id": text, "kind": name, "problem": text},
        "recordings": {
            "id": id_, "host": text, "release": text, "started": when, "ended": when, "samples": pa.int64(),
            "lost": pa.int64(), "bytes": pa.int64(), "osrelease": text, "arch": text, "stack_dump": pa.int32(),
            "stitched": pa.bool_(), "recorder": text, "unwind_order": pa.list_(pa.field("element", text)),
            "events": pa.list_(pa.field("element", event)), "labels": pa.map_(text, text),
            "damage": pa.map_(text, pa.int64()),
        },
        "symbols": {
            "frame": id_, "name": text, "start": pa.int64(), "unnamed": pa.bool_(),
            "inlined": pa.list_(pa.field("element", inlined)),
        },
        "types": {
            "frame": id_, "precision": name, "type": name, "member": name, "member_offset": pa.int64(), "access": name,
            "access_size": pa.int64(), "type_size": pa.int64(), "layout": pa.int64(),
            "candidates": pa.list_(pa.field("element", text)), "evidence": name, "reason": name,
            "described": pa.bool_(), "inferred": pa.bool_(), "consumed": pa.bool_(), "address": pa.int64(),
            "instruction": name,
        },
    }  # fmt: skip  # a table
    return pa.schema(columns[table].items())
