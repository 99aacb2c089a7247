"""What ``undwarf query --json`` prints."""

from typing import Annotated, Any, Literal, TypedDict


class Column(TypedDict):
    """A column."""

    name: Annotated[str, "Its name."]
    type: Annotated[str, "Its type in SQL, as DuckDB names it."]
    meaning: Annotated[str | None, "What it has, with its unit; null for columns of a query's result."]


class Query(TypedDict):
    """The result of an SQL query."""

    schema: Annotated[Literal["undwarf/query"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    recordings: Annotated[list[str], "Paths of the recordings, as given."]
    query: Annotated[str, "The query."]
    columns: Annotated[list[Column], "The columns of the result."]
    rows: Annotated[
        list[dict[str, Any]],
        "The rows: values by column. Dates and times are texts in ISO 8601, numbers that JSON lacks are null.",
    ]


class QueryTable(TypedDict):
    """A table."""

    name: Annotated[str, "Its name."]
    meaning: Annotated[str, "What a row is."]
    columns: Annotated[list[Column], "Its columns."]


class Macro(TypedDict):
    """A table function."""

    name: Annotated[str, "Its name."]
    parameters: Annotated[str, "Its parameters, as SQL has them."]
    meaning: Annotated[str, "What it gives."]


class Tables(TypedDict):
    """The tables and table functions that queries may use."""

    schema: Annotated[Literal["undwarf/query-tables"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    tables: Annotated[list[QueryTable], "The tables."]
    functions: Annotated[list[Macro], "The table functions."]
