"""What Arrow consumers take as a table. Modules that build arrays are imported when one asks."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from undwarf.arrow.table import Table


class AsTable:
    """What has a table: ``pyarrow.table(it)``, ``polars.DataFrame(it)``, ``pandas.DataFrame.from_arrow(it)``, or by its
    variable's name in DuckDB."""

    __slots__ = ()

    def as_table(self) -> "Table":
        """The table."""
        raise NotImplementedError

    def __arrow_c_schema__(self) -> Any:
        from undwarf.arrow.stream import schema

        return schema(self.as_table().fields())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The columns as they are: another schema is not converted to, which the interface allows."""
        from undwarf.arrow.stream import stream

        table = self.as_table()
        return stream(table.fields(), table.batches())
