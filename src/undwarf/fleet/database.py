"""A store as tables of DuckDB: those files that count, of the days and services that are asked for.

A recording that two commits hold, since two processes took it at once, counts in the first one by name.

DuckDB's settings are locked before a query of the user runs: it reads the files of the tables, and nothing else.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from undwarf.errors import NothingUsable, UnreadableInput, UsageError
from undwarf.fleet.layout import PARTITIONED, TABLES, schema
from undwarf.fleet.span import Span
from undwarf.fleet.store import INSTALL, Contents, Store
from undwarf.limits import DEFAULT
from undwarf.views.sql.database import Result, distinct_names, explained, rows_of

if TYPE_CHECKING:
    import duckdb

_LOCKED = (
    "SET enable_progress_bar = false",
    "SET temp_directory = ''",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
)
MACROS = (
    """stack_weights() AS TABLE
SELECT stack, event, count(*) AS samples, sum(period)::BIGINT AS weight
FROM samples WHERE stack IS NOT NULL GROUP BY ALL""",
    """functions() AS TABLE
SELECT f.id AS frame, any_value(coalesce(s.name, f.name)) AS name, any_value(i.name) AS dso
FROM frames AS f LEFT JOIN symbols AS s ON s.frame = f.id LEFT JOIN images AS i ON i.id = f.image GROUP BY f.id""",
    # Numbers take the place of texts and hashes: joins by those took 2.4 times as long.
    """top() AS TABLE
WITH names AS MATERIALIZED (
    SELECT frame, name, dso, dense_rank() OVER (ORDER BY name, dso)::INTEGER AS number FROM functions()),
numbered AS MATERIALIZED (
    SELECT id, any_value(frames) AS frames, row_number() OVER ()::INTEGER AS stack FROM stacks GROUP BY id),
weights AS MATERIALIZED (
    SELECT n.stack, w.event, w.weight FROM stack_weights() AS w JOIN numbered AS n ON n.id = w.stack),
passing AS (
    SELECT DISTINCT e.stack, n.number
    FROM (SELECT stack, unnest(frames) AS frame FROM numbered) AS e JOIN names AS n USING (frame)),
leaves AS (SELECT n.stack, names.number FROM numbered AS n JOIN names ON names.frame = n.frames[-1]),
totals AS (
    SELECT event, number, sum(weight)::BIGINT AS total FROM weights JOIN passing USING (stack) GROUP BY event, number),
selves AS (
    SELECT event, number, sum(weight)::BIGINT AS self FROM weights JOIN leaves USING (stack) GROUP BY event, number),
events AS (SELECT event, sum(weight)::BIGINT AS weight FROM weights GROUP BY event),
texts AS (SELECT number, any_value(name) AS name, any_value(dso) AS dso FROM names GROUP BY number)
SELECT event, name, dso, coalesce(self, 0) AS self, total, round(100 * total / weight, 2) AS percent
FROM totals LEFT JOIN selves USING (event, number) JOIN events USING (event) JOIN texts USING (number)
ORDER BY total DESC, name""",
)
"""Table functions for queries: their definitions in SQL."""
_IN_COLUMNS = {
    "binary": "BLOB", "int32": "INTEGER", "int64": "BIGINT", "bool": "BOOLEAN", "string": "VARCHAR",
    "timestamp": "TIMESTAMP", "dictionary": "VARCHAR",
}  # fmt: skip  # a table


class Database:
    """The tables of a store. Those of ``span``'s days and services have rows; ``read_all``: also of other ones.

    Raises UsageError without DuckDB, UnreadableInput for a damaged store, NothingUsable for one without recordings.
    """

    def __init__(
        self,
        store: Store,
        span: Span | None = None,
        contents: Contents | None = None,
        *,
        tables: Collection[str] = TABLES,
        macros: bool = False,
    ) -> None:
        self.store = store
        self.span = span if span is not None else Span()
        self.contents = store.contents() if contents is None else contents
        if not self.contents.partitions:
            raise NothingUsable(
                f"{store.address} has no recordings", "", f"undwarf fleet ingest {store.address} perf.data"
            )
        self.connection = connect(store)
        self._paths: list[str] = []
        # Conditions on labels are about recordings.
        for name in sorted({*tables, "recordings"}, key=lambda one: one != "recordings"):
            self._execute(f"CREATE VIEW {name} AS {self._scan(name)}")
        for macro in MACROS if macros else ():
            self.connection.execute(f"CREATE MACRO {macro}")

    def _execute(self, statement: str) -> None:
        try:
            self.connection.execute(statement)
        except (_duckdb().Error, RuntimeError) as error:
            raise _damaged(self.store, error) from None

    def _scan(self, name: str) -> str:
        """The query of a table's rows."""
        files = self.contents.files(name, self.span.days, self.span.services or None)
        columns = schema(name).names
        extra = ["day", "service"] if name in PARTITIONED else []
        if not files:
            kinds = [f'NULL::{_kind(field.type)} AS "{field.name}"' for field in schema(name)]
            kinds += [f"NULL::{'DATE' if one == 'day' else 'VARCHAR'} AS {one}" for one in extra]
            return f"SELECT {', '.join(kinds)} WHERE false"
        paths = [self.store.url(file.path) for file in files]
        self._paths += paths
        hive = ", hive_partitioning=true, hive_types={'day': DATE, 'service': VARCHAR}" if extra else ""
        source = f"read_parquet({_texts(paths)}, filename=true{hive})"
        chosen = ", ".join(f'"{one}"' for one in [*extra, *columns])
        where = []
        if name in ("samples", "recordings"):
            repeated = self._repeated()
            of_table = [(path, recording) for path, recording in repeated if path in {file.path for file in files}]
            if of_table:
                key = "recording" if name == "samples" else "id"
                pairs = ", ".join(
                    f"({_text(self.store.url(path))}, {_blob(recording)})" for path, recording in of_table
                )
                where.append(f"(filename, {key}) NOT IN ({pairs})")
        if name == "samples":
            where += self.span.conditions()
        return f"SELECT {chosen} FROM {source}" + (f" WHERE {' AND '.join(where)}" if where else "")

    def _repeated(self) -> list[tuple[str, bytes]]:
        if not hasattr(self, "_found_repeated"):
            self._found_repeated = repeated_recordings(self.store, self.contents, self.connection)
        return self._found_repeated

    def check_values(self, name: str) -> None:
        """Raise UnreadableInput if the files of a table have more values than may be read at once."""
        files = self.contents.files(name, self.span.days, self.span.services or None)
        paths = [self.store.url(file.path) for file in files]
        if not paths:
            return
        (values,) = self.arrow(f"SELECT sum(num_values)::BIGINT AS n FROM parquet_metadata({_texts(paths)})")[
            "n"
        ].to_pylist()
        most = self.store.limits.store_values
        if (values or 0) > most:
            why = f"its {name} have more than {most:,} values"
            raise UnreadableInput(f"cannot read {self.store.address}", why, "choose fewer days with --span")

    def lock(self, writable: str = "") -> None:
        """Let queries read the files of the tables and nothing else, and write the file ``writable``."""
        self.connection.execute(f"SET allowed_paths = {_texts([*self._paths, *filter(None, [writable])])}")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def arrow(self, query: str) -> Any:
        """The result of a query as a table of Arrow, None of a statement without one. Raises UnreadableInput if files
        cannot be read."""
        engine = _duckdb()
        try:
            relation = self.connection.sql(query)
            return relation.to_arrow_table() if relation is not None else None
        except (engine.Error, RuntimeError) as error:
            # RuntimeError: a message of DuckDB's with what is no text.
            raise _damaged(self.store, error) from None

    def result(self, query: str) -> Result:
        """The result of a query of the user. Raises UsageError for what is wrong with it."""
        with explained():
            cursor = self.connection.execute(query)
            columns = cursor.description or []
        return Result(
            distinct_names([column[0] for column in columns]), [str(column[1]) for column in columns], rows_of(cursor)
        )

    def relation(self, query: str) -> Any:
        """The result of a query of the user as DuckDB's relation."""
        with explained():
            return self.connection.sql(query)

    def close(self) -> None:
        """End the connection."""
        self.connection.close()


def connect(store: Store) -> "duckdb.DuckDBPyConnection":
    """A connection that can read a store's files."""
    engine = _duckdb()
    limit = {"memory_limit": f"{DEFAULT.store_memory}B"}
    connection: duckdb.DuckDBPyConnection = engine.connect(":memory:", config=limit)
    if not store.is_local:
        connection.register_filesystem(store.files)
    for setting in _LOCKED:
        connection.execute(setting)
    return connection


def repeated_recordings(
    store: Store, contents: Contents, connection: "duckdb.DuckDBPyConnection | None" = None
) -> list[tuple[str, bytes]]:
    """(path, recording) of samples and recordings that count elsewhere, since two commits hold the recording."""
    files = contents.files("recordings")
    if len(files) < 2:
        return []
    own = connect(store) if connection is None else connection
    path_of = {store.url(file.path): file.path for file in files}
    source = f"read_parquet({_texts(path_of)}, filename=true, hive_partitioning=false)"
    query = f"SELECT id, list(filename) FROM {source} GROUP BY id HAVING count(*) > 1 ORDER BY id"
    try:
        rows = own.execute(query).fetchall()
    except (_duckdb().Error, RuntimeError) as error:
        raise _damaged(store, error) from None
    finally:
        if connection is None:
            own.close()
    if not rows:
        return []
    by_commit: dict[str, list[str]] = {}
    for file in (*contents.files("samples"), *files):
        by_commit.setdefault(contents.commit_of[file.path], []).append(file.path)
    found = []
    for recording, names in rows:
        commits = sorted({contents.commit_of[path_of[name]] for name in names})
        kept = set(by_commit[commits[0]])
        for commit in commits[1:]:
            found += [(path, recording) for path in by_commit[commit] if path not in kept]
    return found


def _damaged(store: Store, error: Exception) -> UnreadableInput:
    return UnreadableInput(f"cannot read {store.address}", str(error).partition("\n")[0])


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise UsageError("a store is read with DuckDB", "it is not installed", INSTALL) from None
    return duckdb


def _kind(kind: Any) -> str:
    """The type in SQL of a column of the layout."""
    text = str(kind)
    if text.startswith("list<"):
        return _kind(kind.value_type) + "[]"
    if text.startswith("struct<"):
        fields = ", ".join(f'"{kind.field(i).name}" {_kind(kind.field(i).type)}' for i in range(kind.num_fields))
        return f"STRUCT({fields})"
    if text.startswith("map<"):
        return f"MAP({_kind(kind.key_type)}, {_kind(kind.item_type)})"
    if text.startswith("fixed_size_binary"):
        return "BLOB"
    return next(sql for start, sql in _IN_COLUMNS.items() if text.startswith(start))


def _text(value: str) -> str:
    """A text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def _texts(values: "Collection[str] | Any") -> str:
    return "[" + ", ".join(map(_text, values)) + "]"


def _blob(value: bytes) -> str:
    """A hash as a literal of SQL."""
    return f"from_hex('{value.hex()}')"
