"""The tables of several recordings as one, in which a number is that of one row only."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from undwarf.arrow.stream import Array
from undwarf.arrow.table import ColumnDescription, Table, TableDescription, dictionary
from undwarf.column import zeros
from undwarf.errors import UsageError
from undwarf.profile.grouping import shifted
from undwarf.profile.model import NONE

RECORDING = ColumnDescription("recording", "name", "the recording, as it was named on the command line")


class Part(NamedTuple):
    """One recording's table; ``offsets``: by table, how many rows of it the recordings before have."""

    recording: str
    table: Callable[[], Table]
    offsets: Mapping[str, int]


def with_recording(description: TableDescription) -> TableDescription:
    """The description with a last column that names the recording."""
    return description._replace(columns=(*description.columns, RECORDING))


def combined(description: TableDescription, parts: Sequence[Part]) -> Table:
    """The rows of all parts, one after the other. Raises UsageError if there are too many to number."""
    for part in parts:
        if any(offset >= NONE for offset in part.offsets.values()):
            raise UsageError("these recordings are too large together", "numbers have 32 bits", "query fewer of them")

    def batches() -> Iterator[Sequence[Array]]:
        for part in parts:
            for batch in part.table().batches():
                moved = [
                    _moved(array, part.offsets.get(column.numbers, 0))
                    for column, array in zip(description.columns, batch, strict=True)
                ]
                yield [*moved, dictionary(zeros("I", moved[0].length), [part.recording])]

    return Table(with_recording(description), batches)


def _moved(array: Array, by: int) -> Array:
    if not by:
        return array
    valid, values = array.buffers
    return array._replace(buffers=(valid, shifted(values, by)))


def kept(table: Table) -> Table:
    """The table with its batches in memory, for consumers that read it more than once."""
    batches = list(table.batches())
    return Table(table.description, lambda: iter(batches))
