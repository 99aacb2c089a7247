"""A database of recordings, in which a query of the user runs: it reads their tables, and nothing else.

DuckDB is imported here, when a query is run. Its settings are locked before: no files, no network, no extensions, no
variables of Python (duckdb.org/docs/stable/operations_manual/securing_duckdb).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from undwarf.arrow.table import Table, TableDescription
from undwarf.errors import UsageError
from undwarf.profile import tables
from undwarf.profile.table_descriptions import FIELDS, PROFILE_TABLES, STACK_FRAMES, TABLES, TYPES
from undwarf.views.data.type_tables import fields_table, types_table
from undwarf.views.sql.combined_tables import Part, combined, kept, with_recording
from undwarf.views.sql.macros import MACROS

if TYPE_CHECKING:
    from undwarf.profile.model import Profile
    from undwarf.views.data.types import DataTypes

_SETTINGS = (
    "SET enable_progress_bar = false",
    "SET temp_directory = ''",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_OLDEST = (1, 5)
_ROWS = 10_000
"""Rows that are fetched at once."""


class Source(Protocol):
    """A recording; profile and data types are computed when a query needs them."""

    @property
    def name(self) -> str: ...
    @property
    def profile(self) -> "Profile": ...
    @property
    def data_types(self) -> "Sequence[DataTypes]":
        """Of each event, since weights of different events may have different units."""


class Result(NamedTuple):
    """What a query returns. ``kinds``: the columns' types in SQL. ``rows``: each as a tuple; they raise UsageError for
    what SQL finds wrong only while it computes them."""

    names: list[str]
    kinds: list[str]
    rows: Iterator[tuple[Any, ...]]


class Database:
    """The tables of some recordings, of which those that a query names have rows; and the query, one or several
    statements with ``;`` between, of which the last one has the result. It is run by one of the two methods.

    ``writable``: the one file that may be written, for the result. Raises UsageError if DuckDB is not installed, and
    for what is wrong with the query.
    """

    def __init__(self, query: str, sources: Sequence[Source], writable: str = "") -> None:
        duckdb = _duckdb()
        used = words(query)
        needed = used.union(*(macro.tables for macro in MACROS if macro.name in used))
        self._query = query
        self._connection = duckdb.connect(":memory:")
        with explained():
            if not self._connection.extract_statements(query):
                raise UsageError("there is no query", "it is empty", 'undwarf query perf.data "FROM top() LIMIT 20"')
        for description in TABLES:
            table = _table(description, sources if description.name in needed else ())
            self._connection.register(description.name, table)
        for macro in MACROS:
            self._connection.execute(f"CREATE MACRO {macro.name}({macro.parameters}) AS TABLE {macro.query}")
        if writable:
            self._connection.execute("SET allowed_paths = [$1]", [writable])
        for setting in _SETTINGS:
            self._connection.execute(setting)

    def result(self) -> Result:
        """The result as Python objects."""
        with explained():
            cursor = self._connection.execute(self._query)
            columns = cursor.description or []
        return Result(
            distinct_names([column[0] for column in columns]), [str(column[1]) for column in columns], rows_of(cursor)
        )

    def relation(self) -> Any:
        """The result as DuckDB's relation, computed when it is read: within :func:`explained`."""
        with explained():
            return self._connection.sql(self._query)


def distinct_names(names: Iterable[str]) -> list[str]:
    """The names; equal ones are numbered, as in ``recording``, ``recording_2``."""
    found: dict[str, None] = {}
    for name in names:
        number, candidate = 1, name
        while candidate in found:
            number += 1
            candidate = f"{name}_{number}"
        found[candidate] = None
    return list(found)


def rows_of(cursor: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of a cursor, as they are read."""
    with explained():
        while batch := cursor.fetchmany(_ROWS):
            yield from batch


def words(query: str) -> set[str]:
    """The words of a query in lower case: among them are the names of all tables and functions that it uses."""
    return {word.lower() for word in re.findall(r"\w+", query)}


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of SQL into UsageError: the first line of DuckDB's message, with its suggestion as the hint."""
    try:
        yield
    except (_duckdb().Error, RuntimeError) as error:
        # RuntimeError: a message of DuckDB's with what is no text, as of a damaged file.
        first, _newline, rest = str(error).partition("\n")
        what = re.sub(r"^(\w+ )+Error: ", "", first).rstrip("!")
        advice = next((line for line in rest.split("\n") if line.startswith(("Did you mean", "Candidate"))), "")
        hint = advice or "undwarf query --tables lists tables and columns"
        raise UsageError(f"the query cannot be run: {what}", "", hint) from error


def _table(description: TableDescription, sources: Sequence[Source]) -> Table:
    """The table of all recordings; of none it has no rows."""
    if not sources:
        return Table(with_recording(description), lambda: iter(()))
    parts: list[Part] = []
    offsets: dict[str, int] = {}
    for name, source in zip(distinct_names(source.name for source in sources), sources, strict=True):
        parts.append(Part(name, lambda source=source: _of(source, description), dict(offsets)))  # type: ignore[misc]
        for numbered, count in _counts(source, description).items():
            offsets[numbered] = offsets.get(numbered, 0) + count
    table = combined(description, parts)
    # The frames of all stacks may be more than fit into memory.
    return table if description is STACK_FRAMES else kept(table)


def _of(source: Source, description: TableDescription) -> Table:
    if description is TYPES:
        return types_table([(found.event, found.types) for found in source.data_types])
    if description is FIELDS:
        return fields_table([(found.event, found.types) for found in source.data_types])
    return tables.named(source.profile, description.name)


def _counts(source: Source, description: TableDescription) -> dict[str, int]:
    """By table, how many rows there are to number."""
    if description in (TYPES, FIELDS):
        return {"types": sum(len(found.types) for found in source.data_types)}
    profile = source.profile
    numbered = ("samples", "stacks", "frames", "functions", "images", "events")
    return {one.name: len(getattr(profile, one.name)) for one in PROFILE_TABLES if one.name in numbered}


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise UsageError("SQL needs DuckDB", "it is not installed", "pip install 'undwarf[sql]'") from None
    # Before, DuckDB read Arrow streams with the help of pyarrow.
    if tuple(map(int, re.findall(r"\d+", duckdb.__version__)[:2])) < _OLDEST:
        why = f"version {duckdb.__version__} is installed"
        raise UsageError("SQL needs DuckDB 1.5 or newer", why, "pip install --upgrade 'undwarf[sql]'")
    return duckdb
