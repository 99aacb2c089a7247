"""Whether Spark reads a store as DuckDB does: every column of every table, and joins by hashes.

``bench/fleet_spark.py STORE``, of a store right after ``undwarf fleet compact --grace 0``. It needs a Java runtime and
pyspark, 720 MB together, which is why it is no test.
"""

import sys
from typing import Any

TABLES = ("samples", "stacks", "frames", "images", "recordings", "symbols")
QUERIES = (
    "SELECT service, day, host, count(*) AS samples, sum(period), min(time), max(time) FROM samples "
    "GROUP BY service, day, host",
    "SELECT y.name, sum(w.weight) FROM (SELECT stack, sum(period) AS weight FROM samples GROUP BY stack) AS w "
    "JOIN (SELECT id, {unnest}(frames) AS frame FROM stacks) AS s ON s.id = w.stack "
    "JOIN symbols AS y ON y.frame = s.frame GROUP BY y.name",
    "SELECT hex(id), labels['team'], started FROM recordings",
)


def plain(value: Any) -> Any:
    """A value as both engines can print it."""
    if isinstance(value, dict):
        return sorted((plain(key), plain(one)) for key, one in value.items())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return bytes(value).hex() if isinstance(value, bytes | bytearray) else str(value)


def rows(found: Any) -> list[Any]:
    """The rows in an order that depends on nothing else."""
    return sorted(([plain(one) for one in row] for row in found), key=str)


def main() -> None:
    import duckdb
    import pyspark
    from pyspark.sql import SparkSession

    root = sys.argv[1]
    settings = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for table in TABLES:
        spark.read.parquet(f"{root}/{table}").createOrReplaceTempView(table)
        hive = table != "symbols"
        duckdb.sql(
            f"CREATE VIEW {table} AS FROM read_parquet('{root}/{table}/**/*.parquet', hive_partitioning = {hive})"
        )
    print(f"DuckDB {duckdb.__version__}, Spark {pyspark.__version__}")
    for query in (*(f"SELECT * FROM {table}" for table in TABLES), *QUERIES):
        ours = rows(duckdb.sql(query.format(unnest="unnest")).fetchall())
        theirs = rows(
            [row.asDict(recursive=True).values() for row in spark.sql(query.format(unnest="explode")).collect()]
        )
        print("equal" if ours == theirs else "DIFFERENT", len(ours), query[:70])


if __name__ == "__main__":
    main()
