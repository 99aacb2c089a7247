"""The opened file behind the pages: its profile, and what views compute of the samples that pass the filters.

All of it may take a while, and is called from one thread that works beside the screen.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from undwarf.profile.filters import Filters
from undwarf.profile.model import Profile
from undwarf.views.call_tree import KEYS
from undwarf.views.flat_profile import EntityTree, FlatProfile, entity_tree, flat_profile
from undwarf.views.path_tree import PathTree
from undwarf.views.report import unit_of_weights
from undwarf.views.sample_selection import Events, sections
from undwarf.views.unwind_quality import Missing, UnwindQuality, missing, unwind_quality

if TYPE_CHECKING:
    from undwarf.api import OpenedRecording
    from undwarf.profile.access_resolution import ResolvedAccesses
    from undwarf.views.data.types import DataTypes
    from undwarf.views.function_code import Disassembly
    from undwarf.views.source import Listing


@dataclass
class OpenedFile:
    """A file as a command has opened it.

    ``unwind`` gives all samples that pass the command's filters, with source lines if asked for; ``recording`` is None
    for a profile of another tool, which has the ``fields`` (None: all).
    """

    path: str
    unwind: Callable[[bool], Profile]
    recording: "OpenedRecording | None" = None
    fields: frozenset[str] | None = None
    stack_dump: int = 0
    symfs: str = ""
    disassembly: "Callable[[], Disassembly] | None" = None
    """Disassembles; None for a profile of another tool."""
    progress: tuple[str, int, int] | None = None
    """The long step that is under way: its name, how much is done, and how much there is."""

    def show_progress(self, step: str, done: int, total: int) -> None:
        """Take the progress of a long step; may be called from any thread."""
        self.progress = (step, done, total)

    def start(self) -> ThreadPoolExecutor:
        """Begin to unwind, in the thread that all further work is to be done in."""
        worker = ThreadPoolExecutor(1, "undwarf-views")
        worker.submit(lambda: self.profile)
        return worker

    def has(self, field: str) -> bool:
        """Whether samples have a time, tid, comm, dso or line."""
        return self.fields is None or field in self.fields

    @cached_property
    def profile(self) -> Profile:
        """The profile, without source lines."""
        return self.unwind(False)

    @cached_property
    def lined(self) -> Profile:
        """The profile with source lines, for which debugging information is read."""
        return self.unwind(True) if self.disassembly is not None else self.profile

    @cached_property
    def tree(self) -> EntityTree:
        """The stacks, merged by function and file: the same for all filters."""
        return entity_tree(self.profile, KEYS)

    @cached_property
    def file_tree(self) -> EntityTree:
        """The stacks, merged by file."""
        return entity_tree(self.profile, ("dso",))

    @cached_property
    def line_tree(self) -> EntityTree:
        """The stacks, merged by source line."""
        return entity_tree(self.lined, ("srcline", "sym", "dso"))

    @cached_property
    def sections(self) -> list[tuple[Events, str]]:
        """The events with samples: their number and name."""
        return sections(self.profile, ())

    @cached_property
    def touched(self) -> "ResolvedAccesses":
        """What the samples access. Raises ValueError for a profile of another tool."""
        if self.recording is None:
            raise ValueError("a profile of another tool has no accesses")
        return self.recording.touch(self.profile)

    def operands(self, file: str, addresses: Sequence[int]) -> dict[int, str]:
        """The types and members that instructions of a file access, if known, by address."""
        if self.recording is None:
            return {}
        return operand_types(self.recording, self.profile, file, addresses)


def opened_recording(recording: "OpenedRecording", unwind: Callable[[bool], Profile], symfs: str = "") -> OpenedFile:
    """A recording, with what its code is read with."""

    def disassembly() -> "Disassembly":
        from undwarf.views.function_code import Disassembly

        return Disassembly(recording.images.images.__getitem__, recording.lines)

    return OpenedFile(recording.path, unwind, recording, None, recording.stack_dump, symfs, disassembly)


MOST_OPERANDS = 20_000
"""Instructions of a function whose operands get types."""


def operand_types(
    recording: "OpenedRecording", profile: Profile, file: str, addresses: Sequence[int]
) -> dict[int, str]:
    """The types and members that instructions access, by address."""
    from undwarf.profile.labels import dso
    from undwarf.types.no_debuginfo import CodeWithoutTypes

    found: dict[int, str] = {}
    number = next((i for i, image in enumerate(profile.images) if dso(image) == file), None)
    if number is None or not addresses:
        return found
    wanted = list(addresses)[:MOST_OPERANDS]
    opened = recording.types(number, wanted[0])
    if isinstance(opened, str) or isinstance(opened[0], CodeWithoutTypes):
        return found
    resolver, shift = opened[0], opened[1] - wanted[0]
    with recording.types.contained(number):
        resolver.expect([address + shift for address in wanted])
        for address in wanted:
            labels = [f"{one.type}.{one.field}" if one.field else one.type for one in resolver.at(address + shift)
                      if one.type is not None and one.countable]  # fmt: skip  # one list
            if labels:
                found[address] = ", ".join(dict.fromkeys(labels))
    return found


class Analysis:
    """What views compute of one event's samples that pass ``filters``; each view once."""

    def __init__(self, opened: OpenedFile, filters: Filters, section: int) -> None:
        from undwarf.views.frame_filters import filtered

        self.opened = opened
        self.filters = filters
        self.event, self.name = opened.sections[section % len(opened.sections)]
        self.profile = filtered(opened.profile, filters) if filters else opened.profile

    @cached_property
    def unit(self) -> str:
        """The unit of weights; empty if it is not known."""
        return unit_of_weights(self.profile, self.event)

    @cached_property
    def lined(self) -> Profile:
        """The same samples with source lines."""
        from undwarf.views.frame_filters import filtered

        return filtered(self.opened.lined, self.filters) if self.filters else self.opened.lined

    @cached_property
    def paths(self) -> PathTree:
        """The call tree."""
        return PathTree(self.profile, self.event, tree=self.opened.tree)

    @cached_property
    def functions(self) -> FlatProfile:
        """Functions by file and name."""
        return flat_profile(self.profile, KEYS, event=self.event, tree=self.opened.tree)

    @cached_property
    def files(self) -> FlatProfile:
        """Mapped files."""
        return flat_profile(self.profile, ("dso",), event=self.event, tree=self.opened.file_tree)

    @cached_property
    def threads(self) -> FlatProfile:
        """Threads by name and ids."""
        keys = tuple(key for key in ("comm", "pid", "tid") if self.opened.has(key))
        return flat_profile(self.profile, keys, event=self.event)

    @cached_property
    def lines(self) -> FlatProfile:
        """Source lines."""
        keys = ("srcline", "sym", "dso")
        return flat_profile(self.lined, keys, event=self.event, tree=self.opened.line_tree)

    @cached_property
    def types(self) -> "DataTypes":
        """Types and members that samples access."""
        from dataclasses import replace

        from undwarf.views.data.types import data_types

        touched = self.opened.touched
        if self.filters:
            from undwarf.views.frame_filters import filtered

            touched = replace(touched, profile=filtered(touched.profile, self.filters))
        return data_types(touched.profile, touched, event=self.event)

    @cached_property
    def quality(self) -> tuple[UnwindQuality, list[Missing]]:
        """How many stacks are whole, and files that are missing."""
        return unwind_quality(self.profile, self.opened.stack_dump), missing(self.profile)

    def listings(self, name: str, dso: str) -> "list[Listing]":
        """The source of a function with its instructions, heaviest file first."""
        from undwarf.limits import DEFAULT
        from undwarf.views.source import listings

        disassembly = self.opened.disassembly
        found = listings(
            self.lined,
            name,
            event=self.event,
            disassemble=disassembly() if disassembly is not None else None,
            source_bytes=DEFAULT.source_bytes,
            symfs=self.opened.symfs,
        )
        return [one for one in found if one.dso == dso] or found
