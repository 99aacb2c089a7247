"""A store as tables of DuckDB: those files that count, of the days and services that are asked for.

A recording that two commits hold, since two processes took it at once, counts in the first one by name.

DuckDB's settings are locked before a query of the user runs: it reads the files of the tables, and nothing else.
"""

import contextlib
import threading
from collections.abc import Callable, Collection
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from undwarf.arrow.columns_of_stream import Column, StreamError, columns_of_stream
from undwarf.errors import NothingUsable, UnreadableInput, UsageError
from undwarf.fleet.layout import PARTITIONED, TABLES, sql_types
from undwarf.fleet.span import Span
from undwarf.fleet.store import INSTALL, Contents, DataFile, Store
from undwarf.fleet.type_order import IN_ORDER, RANK
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
    # What undwarf.profile.inline_expansion and undwarf.profile.labels.dso do in reports.
    r"""functions() AS TABLE
WITH named AS (
    FROM symbols QUALIFY row_number() OVER (PARTITION BY frame ORDER BY unnamed, -len(inlined), name, start) = 1),
code AS (SELECT id, any_value(image) AS image, any_value(name) AS name FROM frames GROUP BY id),
files AS (
    SELECT id, CASE any_value(kind)
        WHEN 'kernel' THEN '[kernel.kallsyms]'
        WHEN 'module' THEN regexp_replace(any_value(name), '^([^[].*/|)([^[/][^/]*?)([.]ko)?([.](xz|gz|zst))?$', '[\2]')
        ELSE any_value(name) END AS name, any_value(kind) = 'module' AS module
    FROM images GROUP BY id)
SELECT frame, name, dso, CASE WHEN len(inlined) > 0 THEN list_transform(inlined, lambda one, place:
    CASE WHEN place = len(inlined) AND NOT unnamed THEN name ELSE coalesce(one.name, name) END) ELSE [name] END AS names
FROM (SELECT c.id AS frame, coalesce(s.name, c.name, '[unknown]') AS name, coalesce(s.unnamed, true) AS unnamed,
             s.inlined, coalesce(nullif(CASE WHEN i.module THEN replace(i.name, '-', '_') ELSE i.name END, ''),
                                 '[unknown]') AS dso
      FROM code AS c LEFT JOIN named AS s ON s.frame = c.id LEFT JOIN files AS i ON i.id = c.image)""",
    # Numbers take the place of texts and hashes: joins by those took 2.4 times as long.
    """top() AS TABLE
WITH named AS MATERIALIZED (SELECT frame::UUID AS frame, names, dso FROM functions()),
names AS MATERIALIZED (
    SELECT frame, dense_rank() OVER (ORDER BY name, dso)::INTEGER AS number, place = 1 AS innermost, name, dso
    FROM (SELECT frame, unnest(names) AS name, generate_subscripts(names, 1) AS place, dso FROM named)),
numbered AS MATERIALIZED (
    SELECT id, any_value(frames) AS frames, row_number() OVER ()::INTEGER AS stack FROM stacks GROUP BY id),
weights AS MATERIALIZED (
    SELECT n.stack, w.event, w.weight FROM stack_weights() AS w JOIN numbered AS n ON n.id = w.stack),
passing AS (
    SELECT DISTINCT e.stack, n.number
    FROM (SELECT stack, unnest(frames)::UUID AS frame FROM numbered) AS e JOIN names AS n USING (frame)),
leaves AS (
    SELECT n.stack, names.number FROM numbered AS n JOIN names ON names.frame = n.frames[-1]::UUID WHERE innermost),
totals AS (
    SELECT event, number, sum(weight)::BIGINT AS total FROM weights JOIN passing USING (stack) GROUP BY event, number),
selves AS (
    SELECT event, number, sum(weight)::BIGINT AS self FROM weights JOIN leaves USING (stack) GROUP BY event, number),
events AS (SELECT event, sum(period)::BIGINT AS weight FROM samples GROUP BY event),
texts AS (SELECT number, any_value(name) AS name, any_value(dso) AS dso FROM names GROUP BY number)
SELECT event, name, dso, coalesce(self, 0) AS self, total, round(100 * total / nullif(weight, 0), 2) AS percent
FROM totals LEFT JOIN selves USING (event, number) JOIN events USING (event) JOIN texts USING (number)
ORDER BY total DESC, name, dso""",
    f"""accesses(stop := 'at') AS TABLE
SELECT frame, type, member, member_offset, access, access_size, type_size, evidence, reason, inferred, instruction
FROM types WHERE precision IN ('at', stop)
QUALIFY row_number() OVER (PARTITION BY frame ORDER BY {RANK}, precision <> stop, {IN_ORDER}) = 1""",
)
"""Table functions for queries: their definitions in SQL."""


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
        self._running: list[tuple[threading.Thread, duckdb.DuckDBPyConnection]] = []
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
        files = self._files(name)
        columns = sql_types(name)
        extra = ["day", "service"] if name in PARTITIONED else []
        if not files:
            kinds = [f'NULL::{kind} AS "{column}"' for column, kind in columns.items()]
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
        elif name == "recordings" and self.span.start is not None:
            where.append(f"coalesce(ended >= TIMESTAMP '{self.span.start.replace(tzinfo=None).isoformat()}', true)")
        return f"SELECT {chosen} FROM {source}" + (f" WHERE {' AND '.join(where)}" if where else "")

    def _files(self, name: str) -> list[DataFile]:
        """The files of a table that the span needs. Recordings are in the day on which they began: those of the day
        before have samples too."""
        days = self.span.days
        if name == "recordings" and days is not None and days[0] > "0001-01-01":
            days = ((date.fromisoformat(days[0]) - timedelta(days=1)).isoformat(), days[1])
        return self.contents.files(name, days, self.span.services or None)

    def _repeated(self) -> list[tuple[str, bytes]]:
        if not hasattr(self, "_found_repeated"):
            self._found_repeated = repeated_recordings(self.store, self.contents, self.connection)
        return self._found_repeated

    def check_values(self, *names: str) -> None:
        """Raise UnreadableInput if the files of some tables have more values than may be read at once: a few bytes may
        stand for any number of equal values."""
        paths = [self.store.url(file.path) for name in names for file in self._files(name)]
        if not paths:
            return
        ((values,),) = self.rows(f"SELECT sum(num_values)::BIGINT FROM parquet_metadata({_texts(paths)})")
        most = self.store.limits.store_values
        if (values or 0) > most:
            why = f"its {' and '.join(names)} have more than {most:,} values"
            raise UnreadableInput(f"cannot read {self.store.address}", why, "choose fewer days with --span")

    def lock(self, writable: str = "") -> None:
        """Let queries read the files of the tables and nothing else, and write the file ``writable``."""
        self.connection.execute(f"SET allowed_paths = {_texts([*self._paths, *filter(None, [writable])])}")
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query, of which there are few. Raises UnreadableInput if files cannot be read."""
        try:
            return self.connection.execute(query).fetchall()
        except _duckdb().Error as error:
            raise _damaged(self.store, error) from None

    def columns(self, query: str) -> dict[str, Column]:
        """The columns of a query, which are of the types that :mod:`undwarf.arrow.columns_of_stream` reads; hashes come
        as ``UUID``. Raises UnreadableInput if files cannot be read."""
        return self._columns(self.connection, query)

    def started(self, query: str) -> Callable[[], dict[str, Column]]:
        """Start a query beside others, of tables and views that are there for all of the database; what this gives
        waits for its columns, and raises as :meth:`columns`."""
        connection = self.connection.cursor()
        found: list[dict[str, Column]] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                found.append(self._columns(connection, query))
            except BaseException as error:  # noqa: BLE001 - raised where the columns are taken
                errors.append(error)
            finally:
                connection.close()

        thread = threading.Thread(target=run, daemon=True)
        self._running.append((thread, connection))
        thread.start()

        def columns() -> dict[str, Column]:
            thread.join()
            if errors:
                raise errors[0]
            return found[0]

        return columns

    def _columns(self, connection: "duckdb.DuckDBPyConnection", query: str) -> dict[str, Column]:
        engine = _duckdb()
        try:
            # Hashes of 16 bytes without offsets; as BLOB they have some, as UUID they else are texts.
            connection.execute("SET arrow_lossless_conversion = true")
            return columns_of_stream(connection.sql(query).__arrow_c_stream__())
        except (engine.Error, StreamError, ValueError) as error:
            raise _damaged(self.store, error) from None

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
        """End the connection, and what was started."""
        for thread, connection in self._running:
            # It may have ended meanwhile.
            with contextlib.suppress(_duckdb().Error):
                connection.interrupt()
            thread.join()
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


def _text(value: str) -> str:
    """A text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def _texts(values: "Collection[str] | Any") -> str:
    return "[" + ", ".join(map(_text, values)) + "]"


def _blob(value: bytes) -> str:
    """A hash as a literal of SQL."""
    return f"from_hex('{value.hex()}')"
