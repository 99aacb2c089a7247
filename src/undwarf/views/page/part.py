"""A part of a page's data: values for JSON, and columns (docs/reference/page-data.md)."""

from typing import Any, NamedTuple


class Part(NamedTuple):
    """``values`` are what JSON can hold, ``columns`` memoryviews of typecode B, H, I or Q."""

    name: str
    values: dict[str, Any]
    columns: dict[str, memoryview]
