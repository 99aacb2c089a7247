"""A profile of another tool as programs see it."""

from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from undwarf.api import Profile
from undwarf.defects import Defects
from undwarf.library.options import ProfileKeywords, ProfileOptions, changed_profile
from undwarf.outputs.terminal.escape import printable
from undwarf.profile.model import EventInfo
from undwarf.profile.rows import Rows

if TYPE_CHECKING:
    from undwarf.imports.profile_file import OpenedProfile


class ProfileFile:
    """A profile of another tool; :func:`undwarf.open` makes it, and has read all of it then. It offers what a
    :class:`Recording` does, as far as such files go.

    >>> import io
    >>> with undwarf.open(io.BytesIO(b"main;work 12")) as opened:
    ...     profile = opened.profile()
    >>> opened.format, [frame.name for frame in profile.samples[0].stack], profile.samples[0].period
    ('folded stacks', ['work', 'main'], 12)
    """

    def __init__(self, opened: "OpenedProfile[Profile]") -> None:
        self._opened = opened

    @property
    def path(self) -> str:
        """The file's path as given; ``-`` for standard input."""
        return self._opened.path

    @property
    def format(self) -> str:
        """What it is, in words."""
        return self._opened.origin.format

    @property
    def fields(self) -> frozenset[str]:
        """What it has of ``time``, ``pid``, ``tid``, ``cpu``, ``comm``, ``dso``, ``line`` and ``address``; filters need
        them."""
        return self._opened.origin.fields

    @property
    def events(self) -> Rows[EventInfo]:
        """The events, or what else the weights measure."""
        return self._opened.events

    @property
    def defects(self) -> Defects:
        """The damage found: what was skipped or worked around."""
        return self._opened.defects

    def profile(self, options: ProfileOptions | None = None, **keywords: Unpack[ProfileKeywords]) -> Profile:
        """The samples, of which ``filters`` select some, in order of time with ``by_time``. The other fields of
        :class:`ProfileOptions` have no effect: the stacks are unwound and named already.

        Raises UsageError for a filter by a field that the file has not.
        """
        chosen = changed_profile(options, keywords)
        return self._opened.profile(filters=chosen.filters, by_time=chosen.by_time)

    def close(self) -> None:
        """Nothing is open any more; recordings are closed like this."""
        self._opened.close()

    def __enter__(self) -> "ProfileFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<undwarf.ProfileFile {printable(self.path)}: {self.format}>"
