"""What a comparison gives: tables of rows, each with both sides, the difference, and what chance says about it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from undwarf.profile.model import Profile
from undwarf.views.comparison.matching import How
from undwarf.views.data.access_labels import SampleLabels

By = Literal["function", "path", "line", "image", "type", "field", "thread"]
"""What makes a row."""
Unit = Literal["run", "samples", "time", "event", "number"]
"""A unit of work: one recording, all samples (for shares), a second, one of another event, or as stated."""
LEVEL = 0.05
"""Of comparisons without any difference, this part has a row that is called significant."""
LEAST_SHARE = 0.01


class Recorded(NamedTuple):
    """One recording of a side. ``labels``: the data types that its samples access, if they are compared; ``work``: how
    many units of work were done, with the unit ``number``; ``lost``: samples that were lost."""

    path: str
    profile: Profile
    labels: SampleLabels = {}  # noqa: RUF012 - of a named tuple, nobody writes to it
    work: float = 1.0
    lost: int = 0


class Normalization(NamedTuple):
    """What weights are divided by; ``event``: the name of the event that counts work."""

    unit: Unit = "run"
    event: str = ""


class Change(NamedTuple):
    """A quantity on both sides, each the mean of its recordings.

    ``difference`` and ``ratio`` (after / before) are confidence intervals of 95 %, None where nothing says how far the
    quantity varies; the ratio's upper end is None where there may be nothing before. ``p`` is the probability of a
    difference as large without any.
    """

    before: float
    after: float
    difference: tuple[float, float] | None = None
    ratio: tuple[float, float | None] | None = None
    p: float | None = None


class Note(NamedTuple):
    """What else to know of a row: a kind for programs, and words."""

    kind: Literal[
        "signature",
        "renamed",
        "clones",
        "inlined",
        "outlined",
        "possibly-inlined",
        "possibly-outlined",
        "caller-of-inlined",
        "only-before",
        "only-after",
        "lines-moved",
    ]
    text: str


class Row(NamedTuple):
    """A row of a table.

    ``name`` is that of the side after, of the side before where only that has it; ``name_before`` where it differs.
    ``path``: of call paths, the functions from the root on. ``weight`` is per unit of work, ``share`` the part of all
    weight, 0 to 1. ``adjusted`` is the p-value after correction for all rows of the comparison, None where the row is
    not tested; ``significant`` if it is below :data:`LEVEL`. ``number``: the common number of a function, ``test`` that
    of its test.
    """

    name: str
    image: str
    kernel: bool
    weight: Change
    share: Change
    samples: tuple[int, int]
    adjusted: float | None = None
    significant: bool = False
    notes: tuple[Note, ...] = ()
    name_before: str = ""
    path: tuple[str, ...] = ()
    number: int = -1
    test: int | None = None


class Table(NamedTuple):
    """Rows: the significant ones first, each part by falling difference. ``below``: how many rows are lighter than the
    least share, whose sum is the row ``others``."""

    by: By
    rows: list[Row]
    others: Row | None
    below: int


class EventComparison(NamedTuple):
    """One event. ``alike``: the factor by which all functions changed, where one recording a side cannot tell a change
    of the code from one of the machine's speed."""

    name: str
    name_after: str
    unit: str
    total: Row
    tables: list[Table]
    alike: float | None = None


class FunctionPair(NamedTuple):
    """A function by its common number: its names on both sides, None where one lacks it, and how it was matched."""

    before: str | None
    after: str | None
    image_before: str | None
    image_after: str | None
    how: How | None


class FunctionNumbers(NamedTuple):
    """The functions of both sides with common numbers: ``pairs`` by number, and for each recording of a side the number
    (I) of each function of its profile. Two call trees whose frames have these numbers can be merged into one."""

    pairs: list[FunctionPair]
    before: list[memoryview]
    after: list[memoryview]


class Comparison(NamedTuple):
    """Both sides by path, and what changed. ``whole``: the share of user stacks that are whole, 0 to 1; None without
    any. ``functions``: evidence for renamed ones is from the first event. ``files``: (before, after) of files that were
    matched by the functions they have, or as versions of one library."""

    before: Sequence[Recorded]
    after: Sequence[Recorded]
    normalization: Normalization
    whole: Row | None
    events: list[EventComparison]
    functions: FunctionNumbers
    files: list[tuple[str, str]]
    tests: int

    @property
    def significant(self) -> bool:
        """Whether anything is significant."""
        tables = [table for event in self.events for table in event.tables]
        rows = [row for table in tables for row in (*table.rows, table.others)]
        rows += [self.whole, *(event.total for event in self.events)]
        return any(row is not None and row.significant for row in rows)
