"""What export formats say about the recording that samples come from."""

from typing import TYPE_CHECKING, NamedTuple

from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.outputs.script import Event


class Origin(NamedTuple):
    """The recording: its file ``name``, the recorder's ``command``, ``host``, ``os`` (its kernel), ``arch``, all
    empty if unknown, and ``cpus`` (0: unknown).

    ``start`` is the wall-clock time of the first sample in ns since 1970, 0 if unknown. ``intervals`` has, by event
    of the profile, the requested time between two samples in ns, 0 if unknown;
    ``attributes`` has the events as recorded.
    """

    name: str
    command: str = ""
    host: str = ""
    os: str = ""
    arch: str = ""
    cpus: int = 0
    start: int = 0
    intervals: tuple[int, ...] = ()
    attributes: "tuple[Event, ...]" = ()

    def comments(self) -> list[str]:
        """The recording, the recorder's command and the machine, each with its title, escaped."""
        machine = " ".join(part for part in (self.host, self.os, self.arch) if part)
        titled = (("recording", self.name), ("command", self.command), ("machine", machine))
        return [printable(f"{title}: {text}") for title, text in titled if text]
