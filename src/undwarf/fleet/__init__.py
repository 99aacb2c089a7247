"""Profiles of many hosts in one store: a data set of Parquet files, how it grows, and what is asked of it."""
