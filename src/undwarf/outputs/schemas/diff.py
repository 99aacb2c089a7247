"""What ``undwarf diff --json`` prints."""

from typing import Annotated, Literal, TypedDict

from undwarf.outputs.schemas.vocabulary import DSO, EVENT, LOST, RECORDING, UNIT, Count

_P = "Probability of a difference as large if there is none"
_VARIES = "null where nothing says how far it varies."


class Change(TypedDict):
    """A quantity on both sides, each the mean of its recordings."""

    before: Annotated[float, "Mean of the recordings before."]
    after: Annotated[float, "Mean of the recordings after."]
    difference: Annotated[float, "after - before."]
    difference_low: Annotated[float | None, "Lower end of the 95 % confidence interval of the difference; " + _VARIES]
    difference_high: Annotated[float | None, "Upper end of that interval; " + _VARIES]
    ratio: Annotated[float | None, "after / before; null if there is nothing before."]
    ratio_low: Annotated[float | None, "Lower end of the 95 % confidence interval of the ratio; " + _VARIES]
    ratio_high: Annotated[float | None, "Upper end of that interval; null where there may be nothing before, too."]
    p: Annotated[float | None, _P + ", of this row alone; " + _VARIES]


class Note(TypedDict):
    """What else to know of a row."""

    kind: Annotated[
        str,
        '"renamed", "signature" and "lines-moved": how the row was matched; "clones": copies that one side'
        ' has; "inlined", "outlined", "possibly-inlined", "possibly-outlined", "caller-of-inlined": inlining that'
        ' changed; "only-before", "only-after": the other side has no sample of it.',
    ]
    text: Annotated[str, "The same in words."]


class DiffRow(TypedDict):
    """A row of a table, or the total."""

    name: Annotated[str, "Name: that after, or that before where only that side has the row."]
    name_before: Annotated[str | None, "Name before, where it differs; null if it does not."]
    dso: Annotated[str | None, DSO]
    path: Annotated[list[str] | None, "Of call paths, the functions from the root on; null in other tables."]
    kernel: Annotated[bool, "Whether it is code of the kernel."]
    weight: Annotated[Change, 'Weight in the unit of the event, per unit of work ("normalized_by").']
    share: Annotated[Change, "Part of the weight of all samples, 0 to 1."]
    samples_before: Annotated[Count, "Samples of all recordings before."]
    samples_after: Annotated[Count, "Samples of all recordings after."]
    p_corrected: Annotated[float | None, _P + ", corrected for all tests of the document; null if it is not tested."]
    significant: Annotated[bool, 'Whether "p_corrected" is below 0.05.']
    notes: Annotated[list[Note], "What else to know."]


class Table(TypedDict):
    """The rows of one kind."""

    by: Annotated[Literal["function", "path", "line", "image", "type", "field", "thread"], "What makes a row."]
    rows: Annotated[list[DiffRow], 'Rows of at least "row_limit_percent"; significant ones first.']
    others: Annotated[DiffRow | None, "All lighter rows together; null if there are none, and where weights overlap."]
    others_count: Annotated[Count, "Number of the lighter rows."]


class Event(TypedDict):
    """The tables of one event that all recordings have."""

    event: Annotated[str, EVENT]
    event_after: Annotated[str, "Its name in the recordings after."]
    unit: Annotated[str | None, UNIT]
    total: Annotated[DiffRow, "Weight of all samples; tested with several recordings a side."]
    alike: Annotated[
        float | None,
        "Factor by which everything changed alike, where one recording a side cannot tell a change of the code from one"
        " of the machine's speed; null if there is no sign of one.",
    ]
    tables: Annotated[list[Table], 'One for each kind in "by".']


class Recording(TypedDict):
    """A recording."""

    recording: Annotated[str, RECORDING]
    samples: Annotated[Count, "Number of samples, or of entries of a profile of another tool."]
    lost: Annotated[Count, LOST]


class Side(TypedDict):
    """One side of the comparison."""

    recordings: Annotated[list[Recording], "Its recordings."]


class File(TypedDict):
    """A file of another name or version on the other side, by the functions that both have."""

    before: Annotated[str, "Last part of its path before."]
    after: Annotated[str, "Last part of its path after."]


class Condition(TypedDict):
    """A condition of --fail-if."""

    condition: Annotated[str, "As given."]
    state: Annotated[
        Literal["holds", "does not hold", "undecided"],
        '"holds": a row is significant, and all of its interval is beyond the threshold. "undecided": there is no row,'
        " or nothing says how far it varies.",
    ]
    why: Annotated[str | None, "Why it is undecided; null if it is decided."]
    rows: Annotated[list[str], "Names of the rows for which it holds."]


class Diff(TypedDict):
    """What changed between two sides, and whether chance explains it."""

    schema: Annotated[Literal["undwarf/diff"], "Name of this schema."]
    version: Annotated[Literal[1], "Version of this schema."]
    before: Annotated[Side, "The side before."]
    after: Annotated[Side, "The side after."]
    normalized_by: Annotated[
        Literal["run", "samples", "time", "event", "number"],
        'Unit of work: a recording, all samples (weights are shares), a second, one of "normalizing_event", or what was'
        " given.",
    ]
    normalizing_event: Annotated[str | None, "The event that counts work; null with another unit of work."]
    row_limit_percent: Annotated[float, "Rows below this share of the weight are not tested, in percent."]
    tests: Annotated[Count, 'Tests for which "p_corrected" is corrected.']
    any_significant: Annotated[bool, "Whether any row is significant."]
    whole: Annotated[DiffRow | None, "The share of user stacks that are whole; null if none was unwound."]
    files: Annotated[list[File], "Files of another name or version."]
    events: Annotated[list[Event], "One for each common event."]
    conditions: Annotated[list[Condition], "The conditions of --fail-if."]
