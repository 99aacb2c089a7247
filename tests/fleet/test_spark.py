"""Spark reads every value of a store that DuckDB reads.

Skipped without pyspark and a Java runtime, which have 720 MB: ``pip install pyspark`` and any Java from 17 on.
"""

import shutil
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from tests.support.fleets import RECORDINGS, take, write_host

from undwarf.fleet.compaction import compact
from undwarf.fleet.engine import LocalWorkers
from undwarf.fleet.layout import TABLES
from undwarf.fleet.store import Store

pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="needs a Java runtime"),
    # Its Python side leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
QUERIES = (
    "SELECT service, day, host, count(*) AS samples, sum(period), min(time), max(time) FROM samples "
    "GROUP BY service, day, host",
    "SELECT y.name, sum(w.weight) FROM (SELECT stack, sum(period) AS weight FROM samples GROUP BY stack) AS w "
    "JOIN (SELECT id, {unnest}(frames) AS frame FROM stacks) AS s ON s.id = w.stack "
    "JOIN symbols AS y ON y.frame = s.frame GROUP BY y.name",
    "SELECT t.type, t.member, count(*) FROM frames AS f JOIN types AS t ON t.frame = f.id GROUP BY t.type, t.member",
    "SELECT hex(id), labels['team'], started FROM recordings",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("spark")
    made = Store(str(folder / "store"))
    hosts = [write_host(folder / f"{number}.data", f"host-{number}") for number in range(2)]
    take(made, [*hosts, *RECORDINGS], service="web", team="red")
    compact(made, LocalWorkers(0), grace=0)
    return made.root


@pytest.fixture(scope="module")
def spark(store: str) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    for name, value in {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    for table in TABLES:
        session.read.parquet(f"{store}/{table}").createOrReplaceTempView(table)
    yield session
    session.stop()


@pytest.mark.parametrize("query", [*(f"SELECT * FROM {table}" for table in TABLES), *QUERIES])
def test_spark_finds_what_duckdb_finds(query: str, store: str, spark: Any) -> None:
    with duckdb.connect() as database:
        for table in TABLES:
            files = f"read_parquet('{store}/{table}/**/*.parquet', hive_partitioning = true)"
            database.sql(f"CREATE VIEW {table} AS FROM {files}")
        expected = in_order(database.sql(query.format(unnest="unnest")).fetchall())
    found = in_order(row.asDict(recursive=True).values() for row in spark.sql(query.format(unnest="explode")).collect())
    assert found == expected
    assert expected


def in_order(found: Any) -> list[Any]:
    """Rows as both engines can give them, in an order that depends on nothing else."""
    return sorted(([plain(one) for one in row] for row in found), key=str)


def plain(value: Any) -> Any:
    """A value as both engines can give it: bytes and numbers have different classes."""
    if isinstance(value, dict):
        return sorted((plain(key), plain(one)) for key, one in value.items())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return bytes(value).hex() if isinstance(value, bytes | bytearray) else str(value)
