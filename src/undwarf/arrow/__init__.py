"""Tables as Arrow data, for pandas, polars, pyarrow, DuckDB and others, without a copy of their columns."""
