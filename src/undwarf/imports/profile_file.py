"""A profile of another tool, opened: what it shares with a recording."""

import os
from types import TracebackType
from typing import BinaryIO, Generic

from undwarf.defects import Defects
from undwarf.errors import UnreadableInput, UsageError
from undwarf.imports.contents import GZIP, name_of, opened, read_up_to, unpacked, whole
from undwarf.imports.formats import HEAD, READERS, Format, recognised
from undwarf.imports.profile_builder import Built, ProfileBuilder
from undwarf.limits import Limits
from undwarf.ordering import sort_order
from undwarf.profile.filters import Filters, select
from undwarf.profile.model import FIELDS, EventInfo, Origin
from undwarf.profile.rows import Rows

_OF_FILTER = {"pids": "pid", "tids": "tid", "cpus": "cpu", "comms": "comm", "spans": "time", "dsos": "dso"}
"""The field that a filter needs."""


class OpenedProfile(Generic[Built]):
    """A profile of another tool. Use as a context manager, or ``close``; all of it is read when it is opened."""

    def __init__(self, path: str, profile: Built, origin: Origin, defects: Defects) -> None:
        self.path = path
        """The file's path as given; ``-`` for standard input."""
        self.origin = origin
        """Its format, and which fields it has."""
        self.defects = defects
        """The damage found."""
        self._profile = profile

    @property
    def events(self) -> Rows[EventInfo]:
        """The events, or what else the weights measure."""
        return self._profile.events

    def profile(self, *, filters: Filters | None = None, by_time: bool = False) -> Built:
        """All samples, or those that pass ``filters``; ``by_time``: in time order.

        Raises UsageError for a filter by a field that the file has not.
        """
        whole = self._profile
        if not filters and not by_time:
            return whole
        filters = filters or Filters()
        self._check(filters)
        columns = whole.samples.columns
        order = sort_order(columns.time) if by_time else None
        _chosen, rows = select(filters, columns, order, list(whole.events), whole.comms, columns.comm)
        profile = whole.derived(samples=columns.rows(rows)) if rows is not None else whole
        if filters.of_frames:
            from undwarf.views.frame_filters import passing

            profile = profile.derived(samples=passing(profile, filters))
        return profile

    def _check(self, filters: Filters) -> None:
        needed = {field for name, field in _OF_FILTER.items() if getattr(filters, name)}
        if filters.start is not None or filters.end is not None:
            needed.add("time")
        for field in sorted(needed - self.origin.fields):
            raise UsageError(
                f"{self.path} cannot be filtered by {FIELDS[field]}", f"it has none: it is {self.origin.format}"
            )

    def close(self) -> None:
        """Nothing is open any more; recordings are closed like this."""

    def __enter__(self) -> "OpenedProfile[Built]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_profile(
    source: "str | os.PathLike[str] | BinaryIO", format: Format | None, limits: Limits, kind: type[Built]
) -> "OpenedProfile[Built]":
    """Read a profile of another tool; ``format`` None: recognised by its contents (:mod:`undwarf.imports.formats`).

    Raises UnreadableInput if it cannot be read, or is in no format that is known.
    """
    path, defects = name_of(source), Defects()
    try:
        with opened(source) as stream:
            head = read_up_to(stream, HEAD)
            packed = head.startswith(GZIP)
            # Before the rest is read: it may be endless.
            found = format if format is not None or packed else recognised(head, path)
            data = whole(stream, head, path, limits)
    except OSError as error:
        raise UnreadableInput(f"cannot read {path}", error.strerror or str(error)) from error
    if packed:
        data, after = unpacked(data, path, limits)
        if after:
            defects.add("bytes after the end of gzip data", path, after)
    reader = READERS[found if found is not None else recognised(data[:HEAD], path)]
    builder = ProfileBuilder(path, defects, limits)
    profile: Built = reader(data, builder, kind)
    if profile.origin is None:
        raise ValueError("a reader that does not say what it has read")
    return OpenedProfile(path, profile, profile.origin, defects)
