"""The parts of the page of one recording, or of a profile of another tool, computed once when they are asked for."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from undwarf import __version__
from undwarf.api import OpenedRecording
from undwarf.images.mapped_file_check import written_at
from undwarf.outputs.json_values import wholeness
from undwarf.outputs.page.parts import encode
from undwarf.profile.grouping import look_up
from undwarf.profile.model import Profile
from undwarf.profile.stack_order import distinct
from undwarf.views.page.code_part import CodeBounds, CodeSources, code_part, function_weights, heaviest, without_code
from undwarf.views.page.profile_part import Bounds, PageProfile, profile_part

if TYPE_CHECKING:
    from undwarf.api import Profile as ApiProfile
    from undwarf.imports.profile_file import OpenedProfile
    from undwarf.profile.access_resolution import ResolvedAccesses
    from undwarf.types.access import Access
    from undwarf.views.page.part import Part
    from undwarf.views.page.types_part import PageTypes

MOST_BYTES = 5_000_000
"""The largest page that is written."""
SERVED_BOUNDS = Bounds(rows=4_000_000, nodes=4_000_000)
"""A browser on the same machine takes more than a ticket: 4,000,000 rows and nodes have 180 MB there."""
_FEW_INSTRUCTIONS = 1500
"""Sampled instructions whose types, and those of operands, take 0.1 to 1.4 s in five recordings of compilers,
interpreters and encoders without a cache."""
_BASE64 = 4 / 3
OUTSIDE_PARTS = 600_000
"""Bytes of a page without its parts, at most."""


class Described(NamedTuple):
    """What a profile is of that was put together from many recordings: where they are, and the largest stack dump that
    they had, in bytes, for advice."""

    path: str
    stack_dump: int


NO_CODE = "a store has the stacks of recordings, and not their programs"
NO_ACCESSES = "the page of a store does not show data types"


class PageParts:
    """The parts of a page. ``profile``: samples in order of time, with source lines. ``title`` of the page. ``symfs``:
    the root of the recorded machine's files, or empty. ``skid``: attribute samples after an access to it. ``touch``:
    resolves what the samples access (default: in this process)."""

    def __init__(
        self,
        source: "OpenedRecording | OpenedProfile[ApiProfile] | Described",
        profile: Profile,
        title: str,
        *,
        served: bool = False,
        symfs: str = "",
        skid: bool = False,
        touch: "Callable[[Profile], ResolvedAccesses] | None" = None,
    ) -> None:
        self._source, self._profile, self._title = source, profile, title
        self._recording = source if isinstance(source, OpenedRecording) else None
        self._served, self._symfs, self._skid = served, symfs, skid
        self._touch = touch
        # Recordings are read by one thread at a time.
        self._lock = RLock()
        self._known: dict[str, bytes | None] = {}

    @cached_property
    def page(self) -> PageProfile:
        """What the page is made of."""
        return self._page(SERVED_BOUNDS if self._served else Bounds())

    def _page(self, bounds: Bounds) -> PageProfile:
        recording = self._recording
        page = profile_part(
            self._profile,
            self._title,
            described(self._source),
            served=self._served,
            dump=getattr(self._source, "stack_dump", 0),
            bounds=bounds,
            source=recording,
        )
        page.part.values["quality"] = wholeness(page.quality)
        return page

    @property
    def wants_types(self) -> bool:
        """Whether a file has data types unless asked for: if its events stop at memory accesses, or few instructions
        were sampled."""
        if self._recording is None:
            return False
        stops = self._recording.event_stops
        if stops.at or stops.after:
            return True
        leaves = look_up(self._profile.samples.columns.stack, self._profile.stacks.frame)
        return len(distinct(leaves, len(self._profile.frames))) <= _FEW_INSTRUCTIONS

    def part(self, name: str, query: Mapping[str, str] | None = None) -> bytes | None:
        """A part by name; None if there is none. ``query``: ``function``, for the code of one function."""
        with self._lock:
            if name == "code" and query and "function" in query:
                return self._code_of(query["function"])
            if name not in self._known:
                self._known[name] = self._computed(name)
            return self._known[name]

    def _computed(self, name: str) -> bytes | None:
        if name == "profile":
            self.page.part.values["start"] = self.start
            return encode(self.page.part)
        if name == "code" and isinstance(self._source, Described):
            return encode(without_code(NO_CODE))
        if name == "code":
            code = self._code(self._heaviest, CodeBounds())
            if code.values["left_out"] and not self._served:
                shown, all_ = len(code.values["functions"]), len(self._heaviest)
                note = f"source and assembly are there for the {shown:,} heaviest of {all_:,} functions"
                self.page.part.values["notes"].append(note)
            return encode(code)
        if name == "types":
            return self._types()
        return None

    @cached_property
    def _heaviest(self) -> list[int]:
        return heaviest(self.page, function_weights(self.page))

    def _code_of(self, text: str) -> bytes | None:
        if not text.isascii() or not text.isdecimal() or len(text) > 9 or int(text) >= len(self.page.functions):
            return None
        bounds = CodeBounds(1, 400_000, 400_000, 1 << 20)
        return encode(self._code([int(text)], bounds, types=True))

    def _code(self, functions: Sequence[int], bounds: CodeBounds, *, types: bool = False) -> "Part":
        disassembly = None
        if self._recording is not None:
            from undwarf.views.function_code import Disassembly

            disassembly = Disassembly(self._recording.images.images.__getitem__, self._recording.lines)
        accesses = self._accesses_at if (types or self.with_types) and self._recording is not None else None
        return code_part(self.page, functions, CodeSources(disassembly, accesses, self._symfs), bounds)

    with_types = False
    """Whether the code has the types of operands."""
    start = ""
    """What is shown first: the part of an address behind "#", empty for the page's own choice."""

    def _accesses_at(self, image: int, address: int) -> "Sequence[Access]":
        """What the instruction at an address of an image accesses."""
        from undwarf.types.no_debuginfo import CodeWithoutTypes

        assert self._recording is not None
        types = self._recording.types
        with types.contained(image):
            found = types(image, address)
            if not isinstance(found, str) and not isinstance(found[0], CodeWithoutTypes):
                return found[0].at(found[1])
        return ()

    def _types(self) -> bytes:
        from undwarf.outputs.page.type_texts import with_texts
        from undwarf.views.page.types_part import without_types

        if isinstance(self._source, Described):
            return encode(without_types(NO_ACCESSES))
        if self._recording is None:
            return encode(without_types("it is a profile of another tool, without memory accesses"))
        return encode(with_texts(self.types))

    @cached_property
    def accesses(self) -> "ResolvedAccesses":
        """What the samples of a recording access."""
        assert self._recording is not None
        if self._touch is not None:
            return self._touch(self._profile)
        return self._recording.touch(self._profile, skid=self._skid)

    @cached_property
    def types(self) -> "PageTypes":
        """The data types of a recording."""
        from undwarf.views.page.types_part import types_part

        recording, touched = self._recording, self.accesses
        assert recording is not None
        return types_part(
            self.page,
            touched,
            lambda: recording.data_addresses(touched.profile, touched),
            precise=recording.event_stops.at | recording.event_stops.after,
            skid=self._skid,
        )

    def for_file(self, *, types: bool) -> dict[str, bytes]:
        """The parts of a page of at most MOST_BYTES bytes, by name; ``types``: with data types.

        Where they are larger, rows and stack nodes are bounded more tightly, which the page's notes say.
        """
        most = (MOST_BYTES - OUTSIDE_PARTS) / _BASE64
        self.with_types = types
        bounds = Bounds()
        parts: dict[str, bytes] = {}
        for _again in range(8):
            # The profile comes last: it has the notes.
            names = ("code", *(("types",) if types else ()), "profile")
            parts = {name: part for name in names if (part := self.part(name)) is not None}
            size = sum(map(len, parts.values()))
            if size <= most:
                break
            share = 0.9 * max(0.1, (most - size + len(parts["profile"])) / len(parts["profile"]))
            bounds = Bounds(max(1000, int(bounds.rows * share)), max(1000, int(bounds.nodes * share)))
            bounds = Bounds(
                min(bounds.rows, int(len(self.page.samples) * share) or 1),
                min(bounds.nodes, int(len(self.page.part.columns["node_parent"]) * share) or 1),
            )
            self.__dict__["page"] = self._page(bounds)
            for computed in ("_heaviest", "types"):
                self.__dict__.pop(computed, None)
            self._known.clear()
        return parts


def described(source: "OpenedRecording | OpenedProfile[ApiProfile] | Described") -> dict[str, str | None]:
    """What the page says of a recording."""
    described: dict[str, str | None] = dict.fromkeys(("host", "kernel", "cpu", "command", "recorded"))
    if isinstance(source, OpenedRecording):
        header = source.header
        described.update(
            host=header.hostname,
            kernel=header.osrelease,
            cpu=header.cpudesc,
            command=" ".join(header.cmdline or ()) or None,
            recorded=_recorded(source),
        )
    return {"path": source.path, **described, "undwarf": __version__}


def _recorded(recording: OpenedRecording) -> str | None:
    """When a recording was made, in UTC; by its clock, else when its file was written."""
    clock = recording.header.clock_data
    moment = clock.wall / 1e9 if clock is not None else written_at(recording.path)
    if not moment or not 0 < moment < 1 << 33:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
