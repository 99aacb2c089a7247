"""Data types and their members as the tables that :mod:`undwarf.profile.table_descriptions` describes."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from undwarf.arrow.stream import Array
from undwarf.arrow.table import Table
from undwarf.profile.table_descriptions import FIELDS, TYPES
from undwarf.profile.tables import optional, table_of, texts_of, truths

if TYPE_CHECKING:
    from undwarf.views.data.types import Counts, FieldRow, TypeRow


def types_table(found: "Iterable[TypeRow]") -> Table:
    """The table of types."""
    types = list(found)
    return table_of(
        TYPES,
        lambda: {
            "id": optional("I", range(len(types))),
            "name": texts_of([one.name for one in types]),
            "size": optional("Q", [one.size for one in types]),
            "global": truths([one.shared for one in types]),
            **_sums([one.counts for one in types]),
        },
    )


def fields_table(types: "Iterable[TypeRow]") -> Table:
    """The table of the members of these types."""

    def arrays() -> dict[str, Array]:
        numbered = [(number, field) for number, one in enumerate(types) for field in one.fields.values()]
        fields: list[FieldRow] = [field for _number, field in numbered]
        return {
            "type": optional("I", [number for number, _field in numbered]),
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
