"""Data types and their members as the tables that :mod:`undwarf.profile.table_descriptions` describes."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from undwarf.arrow.stream import Array
from undwarf.arrow.table import Table
from undwarf.profile.table_descriptions import FIELDS, TYPES
from undwarf.profile.tables import optional, table_of, texts_of, truths

if TYPE_CHECKING:
    from undwarf.views.data.types import Counts, FieldRow, TypeRow


Group = tuple[str, "Iterable[TypeRow]"]
"""The types that samples of an event access; an empty name stands for all events."""


def types_table(groups: Sequence[Group]) -> Table:
    """The table of types, group by group."""
    rows = [(event, one) for event, types in groups for one in types]
    return table_of(
        TYPES,
        lambda: {
            "id": optional("I", range(len(rows))),
            "event": texts_of([event for event, _one in rows]),
            "name": texts_of([one.name for _event, one in rows]),
            "size": optional("Q", [one.size for _event, one in rows]),
            "global": truths([one.shared for _event, one in rows]),
            **_sums([one.counts for _event, one in rows]),
        },
    )


def fields_table(groups: Sequence[Group]) -> Table:
    """The table of the members of these types, which have the same numbers as in their table."""

    def arrays() -> dict[str, Array]:
        types = [(event, one) for event, types in groups for one in types]
        rows = [(number, event, field) for number, (event, one) in enumerate(types) for field in one.fields.values()]
        fields: list[FieldRow] = [field for _number, _event, field in rows]
        return {
            "type": optional("I", [number for number, _event, _field in rows]),
            "event": texts_of([event for _number, event, _field in rows]),
            "offset": optional("q", [field.offset for field in fields]),
            "name": texts_of([field.field for field in fields]),
            "size": optional("Q", [field.size for field in fields]),
            **_sums([field.counts for field in fields]),
            "readers": optional("I", [len(field.readers) for field in fields]),
            "writers": optional("I", [len(field.writers) for field in fields]),
        }

    return table_of(FIELDS, arrays)


def _sums(counts: "Sequence[Counts]") -> dict[str, Array]:
    names = ("weight", "samples", "loads", "stores", "inferred", "latency", "timed")
    return {name: optional("Q", [getattr(one, name) for one in counts]) for name in names}
