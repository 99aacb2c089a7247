"""A recording as programs see it: what was recorded, and what undwarf computes of it."""

import os
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, Unpack, overload

from undwarf.api import OpenedRecording, Profile, open_recording
from undwarf.column import zeros
from undwarf.defects import Defects
from undwarf.images.image_kind import bits_of_name
from undwarf.library.mapping import Mapping
from undwarf.library.options import (
    FileKeywords,
    OptionKeywords,
    Options,
    ProfileKeywords,
    ProfileOptions,
    Progress,
    changed,
    changed_profile,
)
from undwarf.library.profile_file import ProfileFile
from undwarf.library.records import (
    Event,
    Header,
    Record,
    event_of,
    header_of,
    iter_records,
)
from undwarf.outputs.terminal.escape import printable
from undwarf.perfdata.records import Sideband
from undwarf.profile.build import image_info, store_numbers
from undwarf.profile.filters import Filters
from undwarf.profile.model import ImageInfo
from undwarf.profile.processes import Process, processes_of
from undwarf.spaces.mapping_flags import EXECUTABLE, OVER_FILE
from undwarf.spaces.replay import Replay

if TYPE_CHECKING:
    # Few programs need data types, whose modules are a third of all.
    from undwarf.views.data.types import DataTypes
    from undwarf.views.sample_selection import EventName, Weight
    from undwarf.views.verified_calls import VerifiedCalls


class Shrunk(NamedTuple):
    """Samples of a smaller recording: with a chain that was ``shortened`` to fit a record, and ``dropped`` since their
    other fields exceed it."""

    shortened: int
    dropped: int


class Recording:
    """An opened recording; :func:`undwarf.open` makes it. Nothing is unwound before :meth:`profile`.

    Use it as a context manager, or call :meth:`close`.

    >>> with undwarf.open("words.data", symfs=".") as recording:
    ...     profile = recording.profile()
    >>> len(profile.samples)
    1127
    """

    def __init__(self, opened: OpenedRecording) -> None:
        self._opened = opened
        self._closed = False

    @property
    def path(self) -> str:
        """The file's path as given; ``-`` for standard input."""
        return self._opened.path

    @cached_property
    def header(self) -> Header:
        """The machine and the command that was recorded."""
        return header_of(self._opened.header)

    @property
    def events(self) -> list[Event]:
        """The sampled events; those of a pipe that records describe are added when the records are read."""
        return [event_of(attr) for attr in self._opened.events]

    @property
    def defects(self) -> Defects:
        """The damage found so far: what was skipped or worked around."""
        return self._opened.defects

    @property
    def time_range(self) -> tuple[int, int]:
        """The times of the first and the last sample, in ns of the recording's clock; (0, 0) without samples or times.

        >>> start, end = recording.time_range
        >>> round((end - start) / 1e9, 1)
        1.8
        """
        records = self._opened.records
        return records.first_time, records.last_time

    @cached_property
    def processes(self) -> dict[int, Process]:
        """The processes that are sampled or described by records, by number; also in ``profile.processes``."""
        return {process.pid: process for process in processes_of(self._opened.records)}

    @property
    def images(self) -> list[ImageInfo]:
        """Files, the kernel and code without a file, as far as they are mapped: their ``problem`` is filled in where
        :meth:`profile` has used them."""
        store = self._opened.images
        store_numbers(self._opened.spaces.replay, store)
        return [image_info(image, "elf" in image.__dict__) for image in store.images]

    def mappings(self, pid: int, time: int | None = None) -> list[Mapping]:
        """The mappings of a process at a time (in ns of the recording's clock; default: at the end), by address: of
        code and of read-only data, which are those that matter here. ``pid`` -1 is the kernel.

        >>> [(hex(one.start), one.path) for one in recording.mappings(10473) if one.path.startswith("/")]
        [('0x400000', '/demo/words')]
        """
        records = self._opened.records
        side = records.sideband
        rows = len(side) if time is None else bisect_right(side.time, time)
        columns = {name: getattr(side, name)[:rows] for name in Sideband.__slots__ if name != "count"}
        replay = Replay()
        bits = memoryview(bytes(map(bits_of_name, records.names)))
        replay.run(Sideband(rows, **columns), records.samples, zeros("I", 0), bits)
        keys = replay.keys()
        found = []
        for start, end, offset, image, flags in replay.mappings_of(pid):
            if flags == OVER_FILE:
                continue
            name, number = keys[image]
            file = records.identities[number]
            found.append(
                Mapping(
                    start,
                    end,
                    offset,
                    records.names[name].decode("utf-8", "surrogateescape"),
                    "r-xp" if flags & EXECUTABLE else "r--p",
                    file.build_id.hex(),
                    (file.major, file.minor),
                    file.inode,
                )
            )
        return found

    def iter_records(self) -> Iterator[Record]:
        """All records in order of time, each as an object of its kind (:class:`SampleRecord`, :class:`MmapRecord`,
        ...). For programs that look at few of them: :meth:`profile` has columns.

        >>> next(one.path for one in recording.iter_records() if isinstance(one, undwarf.MmapRecord) and one.executable)
        '/demo/words'
        """
        return iter_records(self._opened.records)

    def profile(self, options: ProfileOptions | None = None, **keywords: Unpack[ProfileKeywords]) -> Profile:
        """Unwind and name the samples. Keywords are fields of :class:`ProfileOptions`.

        Raises UsageError for filters that nothing can pass.

        >>> profile = recording.profile(inline=False)
        >>> profile.samples[0].stop, [frame.name for frame in profile.samples[0].stack][-2:]
        (<StopReason.ROOT: 1>, ['main', '_start'])
        """
        chosen = changed_profile(options, keywords)
        return self._opened.profile(
            filters=chosen.filters,
            jobs=chosen.jobs,
            by_time=chosen.by_time,
            runtime=chosen.runtime,
            returns=True,
            max_stack=chosen.max_stack,
            names=chosen.names,
            starts=chosen.starts,
            inline=chosen.inline,
            lines=chosen.lines,
            callers=chosen.callers,
            branch_history=chosen.branch_history,
            versions=chosen.versions,
            other_dumps=chosen.other_dumps,
            progress=chosen.progress,
        )

    def data_types(
        self,
        *,
        skid: bool = False,
        weight: "Weight" = "period",
        event: "EventName | None" = None,
        filters: Filters | None = None,
        progress: Progress | None = None,
    ) -> "DataTypes":
        """The types and members that the samples access, of the event with this name or number (default: all).

        ``skid``: samples at instructions without a memory access are attributed to the load that they wait for, as
        inferred. Raises UsageError for an unknown event.
        """
        return self._opened.data_types(skid=skid, weight=weight, event=event, filters=filters, progress=progress)

    def verify_calls(self, profile: Profile) -> "VerifiedCalls":
        """Check the callers in the stacks of a profile of this recording against the code. The profile must have been
        made without inlined functions.

        >>> calls = recording.verify_calls(recording.profile(inline=False)).calls
        >>> calls.contradicted, calls.proven > 1000
        (0, True)
        """
        return self._opened.verify_calls(profile)

    def add_text(self, pid: int, start: int, end: int, section: bytes | memoryview, address: int) -> None:
        """Add code of a process that is in no file, with the SFrame section that describes it.

        The code ran at ``start`` to ``end`` in anonymous memory, and its section was at ``address``; all are addresses
        in that process. Raises UsageError after records were read, and for a range that overlaps another one.
        """
        self._opened.add_text(pid, start, end, section, address)

    def shrink(
        self,
        sink: BinaryIO,
        *,
        form: Literal["file", "pipe"] = "file",
        zstd_level: int = 0,
        filters: Filters | None = None,
        jobs: int | None = None,
        max_stack: int | None = None,
        progress: Progress | None = None,
    ) -> Shrunk:
        """Write this recording to ``sink`` with whole call chains instead of registers and stack dumps.

        ``form="file"`` needs a seekable ``sink``. ``zstd_level`` 0 does not compress. Raises UsageError for filters by
        function or file, which are not resolved here.

        >>> import io
        >>> recording.shrink(io.BytesIO())
        Shrunk(shortened=0, dropped=0)
        """
        done = self._opened.shrink(
            sink,
            form=form,
            zstd_level=zstd_level,
            filters=filters,
            jobs=jobs,
            max_stack=max_stack,
            progress=progress,
        )
        return Shrunk(done.shortened, done.dropped)

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    def close(self) -> None:
        """Close the file, after caching the unwind tables that were used. Profiles stay usable."""
        if not self._closed:
            self._closed = True
            self._opened.close()

    def __enter__(self) -> "Recording":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<undwarf.Recording {printable(self.path)}: {', '.join(self._facts())}>"

    def _facts(self) -> list[str]:
        """What it holds, as far as that is known without reading it all."""
        events = [printable(event.name) for event in self.events]
        facts = [f"{len(events)} events"] if len(events) > 3 else events
        if self._opened.has_records:
            facts.insert(0, f"{len(self._opened.records.samples):,} samples")
        return [*facts, "closed"] if self._closed else facts

    def _repr_html_(self) -> str:
        """A table of the header, for notebooks."""
        from html import escape

        header = self.header
        rows = {
            "recording": f"{self.path} ({', '.join(self._facts())})",
            "command": " ".join(header.cmdline),
            "machine": " ".join(filter(None, (header.hostname, header.arch, header.cpudesc))),
            "kernel": header.osrelease,
        }
        cells = [
            f"<tr><th style='text-align:left'>{name}</th>"
            f"<td style='text-align:left'>{escape(printable(text))}</td></tr>"
            for name, text in rows.items()
            if text
        ]
        return f"<table>{''.join(cells)}</table>"


@overload
def open_for_programs(
    source: "str | os.PathLike[str] | BinaryIO",
    options: Options | None = None,
    *,
    format: Literal["perf.data"],
    **keywords: Unpack[FileKeywords],
) -> Recording: ...
@overload
def open_for_programs(
    source: "str | os.PathLike[str] | BinaryIO", options: Options | None = None, **keywords: Unpack[OptionKeywords]
) -> Recording | ProfileFile: ...
def open_for_programs(
    source: "str | os.PathLike[str] | BinaryIO", options: Options | None = None, **keywords: Unpack[OptionKeywords]
) -> Recording | ProfileFile:
    """Open a perf.data file, directory, stream, or ``"-"`` for standard input; or a profile of another tool: folded
    stacks, pprof, text of ``perf script``, speedscope's JSON. Keywords are fields of :class:`Options`.

    With ``format="perf.data"``, nothing but recordings is opened, as type checkers know. Raises UnreadableInput if the
    source cannot be read or is none of these, UsageError for unwind information of an unknown kind.

    >>> recording = undwarf.open("words.data", symfs=".")
    >>> recording
    <undwarf.Recording words.data: task-clock:u>
    >>> recording.close()
    """
    chosen = changed(options, keywords)
    opened = open_recording(
        source,
        format=chosen.format,
        symfs=chosen.symfs,
        kallsyms=chosen.kallsyms,
        vmlinux=chosen.vmlinux,
        debug_dirs=chosen.debug_dirs,
        debuginfod=chosen.debuginfod,
        unwind=chosen.unwind,
        cache=chosen.cache,
        limits=chosen.limits,
    )
    return Recording(opened) if isinstance(opened, OpenedRecording) else ProfileFile(opened)
