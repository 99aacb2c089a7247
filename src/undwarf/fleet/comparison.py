"""Two spans of a store, as the sides of a comparison.

What differs between hosts is what chance does: each side is put into parts of some hosts each, and the parts are what
a comparison of recordings has as its runs. Spans of one host are put into parts of some recordings each.
"""

from array import array

from undwarf.errors import UsageError
from undwarf.fleet.database import Database
from undwarf.fleet.stored_profile import stored_profile
from undwarf.views.comparison.model import Recorded

PARTS = 16
"""Parts of a side. More tell little better how far they differ, and each costs the time of a recording."""
LEAST = 2


def side(database: Database, name: str, *, lines: bool = False, inline: bool = True) -> list[Recorded]:
    """The parts of a span, each as if it were a recording. Raises UsageError if there is but one."""
    stored = stored_profile(database, inline=inline, lines=lines, ordered=True, parts=PARTS)
    rows: dict[int, array[int]] = {}
    for row, part in enumerate(stored.part):
        rows.setdefault(part, array("I")).append(row)
    if len(rows) < LEAST:
        raise UsageError(
            f"{name} has one host and one recording",
            "how far hosts or recordings differ says what chance does",
            "compare spans with several, or recordings with undwarf diff",
        )
    columns = stored.profile.samples.columns
    return [
        Recorded(
            f"{name}, part {part + 1} of {len(rows)}",
            stored.profile.derived(samples=columns.rows(memoryview(rows[part]))),
        )
        for part in sorted(rows)
    ]
