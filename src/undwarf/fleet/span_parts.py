"""The parts of the page of a span of a store, and of the page that compares two spans."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from undwarf.fleet.comparison import side
from undwarf.fleet.computations import Computation
from undwarf.fleet.database import Database
from undwarf.fleet.span import Span, text_of
from undwarf.fleet.store import Contents, Store
from undwarf.fleet.stored_profile import stored_profile
from undwarf.serve.comparison_parts import Side, comparison_parts
from undwarf.serve.page_parts import Described, PageParts
from undwarf.views.comparison.compare import compare
from undwarf.views.comparison.model import By, Normalization, Recorded

COMPARED: tuple[By, ...] = ("function", "path", "image", "line", "thread")
"""What the tables of a comparison have as rows."""
ALL = "all"
"""What all of a store is called."""
PARTS = ("profile", "code", "types")


def span_parts(store: Store, contents: Contents, span: Span, name: str, task: Computation) -> Mapping[str, bytes]:
    """The parts of the page of a span. ``name``: what the page calls it."""
    database = Database(store, span, contents)
    try:
        task.step("adding up samples", database.connection.interrupt)
        stored = stored_profile(database, lines=True, ordered=True)
    finally:
        database.close()
    task.step("making the page")
    source = Described(store.address, stored.stack_dump)
    parts = PageParts(source, stored.profile, store.address if name == ALL else f"{store.address}, {name}", served=True)
    return {one: part for one in PARTS if (part := parts.part(one)) is not None}


def compared_parts(
    store: Store, contents: Contents, spans: tuple[Span, Span], names: tuple[str, str], task: Computation
) -> Mapping[str, bytes]:
    """The parts of the page that compares spans, ``spans`` and ``names`` being those before and after."""
    sides: list[list[Recorded]] = []
    for span, name, which in zip(spans, names, ("before", "after"), strict=True):
        database = Database(store, span, contents)
        try:
            task.step(f"adding up samples {which}", database.connection.interrupt)
            sides.append(side(database, name, lines=True))
        finally:
            database.close()
    task.step("comparing")
    found = compare(sides[0], sides[1], COMPARED, Normalization("samples"))
    task.step("making the page")
    source = Side(Described(store.address, 0))
    return comparison_parts(found, source, source, " → ".join(names), served=True)


def name_of(span: Span) -> str:
    """A span in words for people."""
    labels = text_of(Span(labels=span.labels)) if span.labels else ""
    return ", ".join(filter(None, (_time(span.start, span.end), labels))) or ALL


def _time(start: datetime | None, end: datetime | None) -> str:
    """A range of time, as short as it can be said."""
    day = timedelta(days=1)
    if (
        start is not None
        and end is not None
        and start.time() == end.time() == datetime.min.time()
        and end - start == day
    ):
        return start.date().isoformat()
    first, last = (_moment(one) if one is not None else "" for one in (start, end))
    if start is not None and end is not None and start.date() == end.date():
        last = last.partition(" ")[2]
    if first and last:
        return f"{first} \N{EN DASH} {last}"
    return f"from {first}" if first else f"until {last}" if last else ""


def _moment(when: datetime) -> str:
    return when.replace(tzinfo=None).isoformat(" ").removesuffix(":00")
