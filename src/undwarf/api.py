"""An opened recording with all that is computed of it, and its profile: what commands use.

Programs use :mod:`undwarf.library`, which offers a part of it.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, overload

from undwarf.defects import CUT_SHORT, Defects
from undwarf.errors import UsageError
from undwarf.images import Finder, Image, ImageKind, ImageStore
from undwarf.images.container_files import Containers
from undwarf.images.image_kind import kind_of_name
from undwarf.images.mapped_file_check import Recorded, written_at
from undwarf.limits import DEFAULT, Limits
from undwarf.mapped_files import cut_files
from undwarf.perfdata import EventAttr, Features, PerfData, Records, open_perf_data
from undwarf.perfdata.header import is_recording
from undwarf.profile import model
from undwarf.profile.build import Built, Naming, Progress, build_profile, comms_of, name_frames, replay_spaces
from undwarf.profile.filters import Filters, select
from undwarf.spaces.sample_spaces import Spaces
from undwarf.symbols.resolver import Resolver, ResolverOptions
from undwarf.unwind.arch import AARCH64, Machine, machine_of
from undwarf.unwind.image_table import ImageTable
from undwarf.unwind.unwinder import Walking, walk_samples

if TYPE_CHECKING:
    from undwarf.images.debuginfod import Debuginfod
    from undwarf.images.finder import Mapped
    from undwarf.images.mapped_file_check import Extents
    from undwarf.imports.profile_file import OpenedProfile
    from undwarf.perfdata.event_precision import EventStops
    from undwarf.profile.access_resolution import ResolvedAccesses
    from undwarf.profile.addresses import Addresses
    from undwarf.profile.call_proof import CodeProof
    from undwarf.symbols.inlines import ImageLines
    from undwarf.tables.sframe.jit_ranges import TextRanges
    from undwarf.types.resolvers_by_image import ImageResolvers
    from undwarf.unwind.chain_rewriter import Stitched
    from undwarf.unwind.unwind_tables import UnwindTables
    from undwarf.views.call_tree import CallTree
    from undwarf.views.data.addresses import DataAddresses
    from undwarf.views.data.types import DataTypes
    from undwarf.views.sample_selection import EventName, Weight
    from undwarf.views.verified_calls import VerifiedCalls


DEFAULT_DUMP = 8192
"""The default size of perf record's stack dumps, in bytes."""


class Profile(model.Profile):
    """All of a recording's samples, unwound and named.

    ``samples`` is a sequence of :class:`undwarf.Sample`, created on access; ``samples.time`` etc. are their columns,
    which numpy uses without a copy. ``stacks``, ``frames`` and ``functions`` are columns as well; ``images``,
    ``events`` and ``comms`` are sequences, into which these have indices.

    As tables, these (but ``comms``), ``processes``, ``stack_frames`` and ``stack_weights`` go to other libraries
    without a copy of their columns: ``pyarrow.table(profile.samples)``, ``polars.DataFrame(profile.samples)``,
    ``pandas.DataFrame.from_arrow(profile.samples)``, or by the name of a variable in DuckDB.
    docs/reference/tables.md describes the columns.
    """

    def call_tree(
        self, *, weight: "Weight" = "period", event: "EventName | None" = None, min_share: float = 0.0
    ) -> "CallTree":
        """Functions below their callers, heaviest first.

        Weights are sums of periods, or counts of ``"samples"``, of the event with this name or number (default: all).
        Nodes below ``min_share`` (0 to 1) of the total are left out. Raises UsageError for an unknown event.

        >>> tree = profile.call_tree(event="task-clock", weight="samples", min_share=0.5)
        >>> [(node.name, node.weight) for node in tree.roots]
        [('_start', 1127)]
        """
        from undwarf.views.call_tree import call_tree
        from undwarf.views.sample_selection import events_named

        return call_tree(self, weight=weight, event=events_named(self, event), min_share=min_share)

    def callers(
        self, *, weight: "Weight" = "period", event: "EventName | None" = None, min_share: float = 0.0
    ) -> "CallTree":
        """The inverted tree: functions in which samples were taken, heaviest first, with their callers below them.
        Arguments, nodes and errors as in :meth:`call_tree`.

        >>> tree = profile.callers(weight="samples")
        >>> tree.roots[0].name, tree.roots[0].self_weight
        ('compare', 297)
        """
        from undwarf.views.call_tree import callers
        from undwarf.views.sample_selection import events_named

        return callers(self, weight=weight, event=events_named(self, event), min_share=min_share)

    def __repr__(self) -> str:
        samples, events = len(self.samples), [event.name for event in self.events]
        shown = f"{len(events)} events" if len(events) > 3 else ", ".join(events) or "no events"
        return f"<undwarf.Profile: {samples:,} samples, {len(self.stacks):,} stack nodes, {shown}>"

    def _repr_html_(self) -> str:
        """A small flame graph and the heaviest functions, for notebooks."""
        from undwarf.outputs.notebook import html
        from undwarf.views.notebook import summary

        return html(summary(self))


class OpenedRecording:
    """An opened perf.data; nothing is unwound until :meth:`profile`. Use as a context manager, or ``close``."""

    def __init__(
        self,
        data: PerfData,
        finder: Finder,
        options: ResolverOptions,
        limits: Limits,
        unwind: "str | Sequence[str]" = "auto",
        cache: bool = False,
    ) -> None:
        if unwind != "auto":
            from undwarf.tables.sources import UNWIND_ORDER, parse_order

            parse_order(unwind, UNWIND_ORDER)
        self.data = data
        self._unwind = unwind
        self._added_text: dict[int, TextRanges] = {}
        self._finder = finder
        self._options = options
        self._limits = limits
        self._cache = cache
        self.code_memory: Callable[[int, int], bytes] | None = None
        """Reads code of a running process that was recorded alone: (start, end) to bytes from start on."""
        self.with_switches = False
        """Whether the side band of :attr:`records` has context switches, of which there may be many; to be set before
        anything is read."""
        self.memory: Callable[[int, int, int], bytes | None] | None = None
        """Reads memory as it was at a sample, outside of its stack dump: (number of the sample, start, end) to bytes
        from start on, or None."""

    @property
    def path(self) -> str:
        """The file's path as given; ``-`` for standard input."""
        return self.data.path

    @property
    def header(self) -> Features:
        """The header: host, kernel, perf's version and command line, and so on; None for what is absent."""
        return self.data.features

    @property
    def events(self) -> list[EventAttr]:
        """The sampled events; those described by records are added when the records are read."""
        return self.data.events

    @property
    def defects(self) -> Defects:
        """The damage found so far."""
        for path in cut_files():
            self.data.defects.add(CUT_SHORT, path)
        return self.data.defects

    @property
    def has_records(self) -> bool:
        """Whether the records are decoded already."""
        return "records" in self.__dict__

    @cached_property
    def records(self) -> Records:
        """All records, decoded into columns, with the code added by :meth:`add_text`."""
        return self._with_added_text(self.data.records(switches=self.with_switches))

    def _with_added_text(self, records: Records) -> Records:
        if not self._added_text:
            return records
        from undwarf.profile.jit_text import with_given_text

        return with_given_text(records, self._added_text, self.data.defects)

    def add_text(self, pid: int, start: int, end: int, section: "bytes | memoryview", address: int) -> None:
        """Add code of a process that is in no file, with the SFrame section that describes it.

        The code ran at ``start`` to ``end`` in anonymous memory, and its section was at ``address``; all are addresses
        in that process. Must be called before anything is unwound. Raises UsageError afterwards, and for a range that
        overlaps another one.
        """
        if self.has_records:
            raise UsageError("the recording is read already", "", "add code before asking for the profile")
        from undwarf.tables.sframe.jit_ranges import TextRanges

        ranges = self._added_text.setdefault(pid, TextRanges(limits=self._limits, defects=self.data.defects))
        ranges.add(start, end, section, address)

    @cached_property
    def spaces(self) -> Spaces:
        """The address spaces of all processes over time."""
        records = self.records
        if ImageKind.JITDUMP in map(kind_of_name, records.names):
            from undwarf.profile.jit import with_jit_code

            records = with_jit_code(self.data, records, self.images)
        spaces = replay_spaces(records)
        if spaces.replay.images_over_files():
            from undwarf.profile.moved_code import reject_unproven

            reject_unproven(self.data, records, spaces, self.images, self._machine, self._limits)
        return spaces

    @cached_property
    def images(self) -> ImageStore:
        """The images that are mapped in the recording: files, the kernel, JIT-compiled code and so on."""
        host = self.header.hostname
        if not host or host == os.uname().nodename:
            self._finder.containers = Containers(lambda: sorted({pid for pid in self.records.sideband.pid if pid > 0}))
        self._finder.recorded = Recorded(written_at(self.path), host == os.uname().nodename, self._code_extents)
        return ImageStore(self.records.names, self.records.identities, self.data.features, self._finder)

    def _code_extents(self) -> "Extents":
        from undwarf.profile.code_extents import code_extents

        return code_extents(self.records)

    @cached_property
    def addresses(self) -> "Addresses":
        """Resolves single addresses in the recording's address spaces."""
        from undwarf.profile.addresses import Addresses

        resolver = Resolver(self.images, self._options, records=self.records)
        return Addresses(self.spaces, self.images, self.records, resolver)

    @cached_property
    def lines(self) -> "ImageLines":
        """Debugging information by image."""
        from undwarf.symbols.inlines import ImageLines

        return ImageLines(self.images, self._limits, self.data.defects)

    @cached_property
    def types(self) -> "ImageResolvers":
        """Data types by image: what instructions access."""
        # Few commands need types, and importing them takes a third of the time for all modules.
        from undwarf.types.resolvers_by_image import ImageResolvers

        cache = None
        if self._cache:
            from undwarf.types.answer_cache import answer_files

            cache = answer_files(self._limits)
        return ImageResolvers(self.images, self._limits, self.data.defects, lambda: self.records, cache)

    @cached_property
    def event_stops(self) -> "EventStops":
        """Where the samples of each event stop: at the access, right after it, or later."""
        from undwarf.perfdata.event_precision import event_stops

        samples = self.records.samples
        aarch64 = self._machine is AARCH64
        return event_stops(self.events, samples.event, samples.misc, aarch64=aarch64)

    @cached_property
    def _machine(self) -> Machine:
        """The machine of the recording; one whose stacks cannot be unwound is counted as a defect."""
        machine = machine_of(self.header.arch)
        if not machine.is_walked and any(event.sample_regs_user for event in self.events):
            what = f"recorded on {self.header.arch}, and only x86-64 and aarch64 are supported so far"
            self.data.defects.add("stacks cannot be unwound", self.path, detail=what)
        return machine

    @cached_property
    def sources(self) -> "UnwindTables":
        """Unwind tables by image."""
        # Without callers no tables are needed, and their modules are a tenth of all.
        from undwarf.profile.jit_text import image_name
        from undwarf.tables.disk.cache import Store
        from undwarf.unwind.unwind_tables import UnwindTables

        added = {image_name(pid): ranges for pid, ranges in self._added_text.items()}
        keys = self.spaces.replay.keys()
        cache = Store.from_environment(self._limits, self.data.defects) if self._cache else None
        from undwarf.profile.copied_code import CopiedCode

        pids = self.spaces.replay.key_pids
        copied = CopiedCode(self.records, self.images, pids, self._limits, self.data.defects, self.code_memory)
        return UnwindTables(
            self.images,
            keys,
            self._unwind,
            cache,
            self._limits,
            added,
            self._machine,
            copies=copied.table,
            proof=lambda: self._code_proof,
        )

    def _unwound_with(self) -> tuple[str, ...]:
        """The kinds of unwind information that are used, or were used while recording; empty: all."""
        order = self._unwind
        if self.data.stitched:
            words = self.header.cmdline or []
            order = next((words[i + 1] for i, word in enumerate(words[:-1]) if word == "--unwind"), "auto")
            order = next((word.partition("=")[2] for word in words if word.startswith("--unwind=")), order)
            order = "auto" if order in ("live", "dump") else order
        if order == "auto":
            return ()
        from undwarf.tables.sources import UNWIND_ORDER, parse_order

        try:
            return parse_order(order, UNWIND_ORDER)
        except UsageError:
            # Names of another version.
            return ()

    @property
    def stack_dump(self) -> int:
        """The largest stack dump of the samples, in bytes; 0 if none."""
        requested = max((event.sample_stack_user for event in self.events), default=0)
        if not self.data.stitched:
            return requested
        if ", of perf" in (self.header.version or ""):
            # It was shrunk, and had dumps.
            return requested or DEFAULT_DUMP
        # The size of dumps is known only from the command line.
        words = self.header.cmdline or []
        size = next((words[i + 1] for i, word in enumerate(words[:-1]) if word == "--stack-size"), "")
        size = next((word.partition("=")[2] for word in words if word.startswith("--stack-size=")), size)
        return int(size) if size.isascii() and size.isdecimal() and len(size) < 8 else 0

    def _by_undwarf(self) -> bool:
        """Whether the recording is of `undwarf record`."""
        command = self.header.cmdline or [""]
        return command[0].rpartition("/")[2] == "undwarf" and ", of perf" not in (self.header.version or "")

    @cached_property
    def _code_proof(self) -> "CodeProof":
        """Checks calls against the code of the images."""
        from undwarf.profile.call_proof import CodeProof

        return CodeProof(self.images, self._machine.calls, Resolver(self.images, self._options, records=self.records))

    def _places(self) -> ImageTable:
        """The images without unwind tables."""
        return ImageTable(self.images, self.spaces.replay.keys(), self._machine)

    def profile(
        self,
        *,
        filters: Filters | None = None,
        jobs: int | None = None,
        by_time: bool = False,
        runtime: bool = False,
        returns: bool = False,
        max_stack: int | None = None,
        names: "bool | Callable[[Image], bool]" = True,
        starts: bool = True,
        inline: bool = True,
        lines: bool | None = None,
        callers: bool = True,
        branch_history: bool = False,
        versions: bool = False,
        other_dumps: bool = True,
        progress: Progress | None = None,
    ) -> Profile:
        """Unwind and name all samples, or those that pass ``filters``.

        ``jobs``: unwinding threads (default: one per CPU, at most 8). ``by_time``: samples in time order.
        ``runtime``: keep the absolute address of each frame; with ``returns``, that of a caller is its return address,
        as in debuggers, else the address that is looked up, one less. ``max_stack``: the most user frames of a stack.
        ``names``: without, all functions are unknown (see :meth:`named`), or those of the images for which it gives
        False. ``starts``: functions without a symbol are
        named after where they start, as in ``gzip+0x4330``; without, ``[unknown]``. ``inline``: inlined functions are
        frames of their own. ``lines``: frames have source lines (default: as ``inline``; inlined functions alone are
        faster). ``callers``: without, user stacks have one frame, and no unwind tables are read. ``branch_history``:
        the branches before each sample, target and source alternating, are between its innermost frame and its
        callers. ``versions``: symbols keep their version (`malloc@@GLIBC_2.2.5`), as in perf. ``other_dumps``: stacks
        larger than their dump are continued from other dumps of their thread that match; such frames have
        ``Provenance.OTHER_DUMP``, such samples ``StopReason.INFERRED_ROOT``. If a precise sample's function has
        returned before its stack was copied, or a return probe has replaced the return address, the caller has
        ``Provenance.INFERRED_CALLER``.
        """
        if not callers:
            max_stack = 1
        limits = self._limits if max_stack is None else self._limits._replace(max_frames=max(1, max_stack))
        if progress is not None and not self.has_records:
            show = progress
            records = self.data.records(
                lambda done, total: show("reading records", done, total), switches=self.with_switches
            )
            self.__dict__["records"] = self._with_added_text(records)
        profile = build_profile(
            self.data,
            self.records,
            self.spaces,
            self.images,
            self.sources if callers else self._places(),
            Walking(limits, jobs, runtime, returns, callers, branch_history, self.memory, other_dumps),
            Naming(
                self._options._replace(starts=starts, versions=versions),
                names=bool(names),
                of=names if callable(names) else None,
                lines_of=self.lines if inline or lines else None,
                inline=inline,
                lines=inline if lines is None else lines,
            ),
            filters=filters,
            by_time=by_time,
            progress=progress,
            kind=Profile,
        )
        profile.unwind_order, profile.stitched = self._unwound_with(), self.data.stitched
        profile.recorder = "undwarf" if self._by_undwarf() else "perf"
        if filters is not None and filters.of_frames:
            from undwarf.views.frame_filters import passing

            return profile.derived(samples=passing(profile, filters))
        return profile

    def named(self, profile: Built, frames: Iterable[int]) -> Built:
        """A profile that was built without names, with the functions of some frames (by number) named. JIT-compiled
        code stays unnamed."""
        return name_frames(profile, frames, Resolver(self.images, self._options, records=self.records))

    def verify_calls(self, profile: model.Profile) -> "VerifiedCalls":
        """Check the callers in a profile's stacks against the code: ``calls.proven``, ``consistent``, ``contradicted``
        and ``unchecked`` count them, ``contradictions`` name the pairs that the code rules out.

        ``profile`` must be one without inlined functions (``profile(inline=False)``).
        """
        from undwarf.profile.call_proof import check_calls
        from undwarf.views.verified_calls import verified_calls

        return verified_calls(profile, check_calls(profile, self._code_proof))

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

        ``types`` are rows by falling weight: ``name``, ``size`` in bytes, ``counts`` (``weight``, ``samples``,
        ``loads``, ``stores``...) and ``fields``; ``typed`` is their weight in ``total``. ``unknown`` has the weights of
        untyped accesses by reason, ``outside`` those of instructions that access no data of the program, ``sharing``
        the members whose cache lines move between CPUs. ``skid``: samples at instructions without a memory access are
        attributed to the load that they wait for, as inferred.
        """
        from undwarf.views.data.false_sharing import sharing
        from undwarf.views.data.types import data_types
        from undwarf.views.sample_selection import events_named

        leaves = self.profile(filters=filters, callers=False, inline=False, progress=progress)
        touched = self.touch(leaves, skid=skid, progress=progress)
        profile = touched.profile
        events = events_named(profile, event)
        clashes = sharing(profile, touched, lambda: self.data_addresses(profile, touched), weight, event=events)
        return data_types(profile, touched, weight, event=events, sharing=clashes.found)

    def touch(
        self,
        profile: model.Profile,
        *,
        skid: bool = False,
        processes: int = 1,
        progress: Progress | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> "ResolvedAccesses":
        """What the innermost frames of a profile access. With two ``processes`` a second one is forked if there is
        enough to do, and ``meanwhile`` is called once it works."""
        from undwarf.profile.access_resolution import resolve_accesses

        return resolve_accesses(
            profile,
            self.types,
            skid=skid,
            stops=self.event_stops,
            progress=progress,
            fork=lambda: self.defects if processes > 1 else None,
            answers_of=self.types.answers,
            read_ahead=self.types.read_ahead,
            meanwhile=meanwhile,
            contained=self.types.contained,
        )

    def data_addresses(self, profile: model.Profile, touched: "ResolvedAccesses") -> "DataAddresses":
        """The address of the data that each sample accesses."""
        from undwarf.profile.late_registers import LateRegisters
        from undwarf.views.data.addresses import data_addresses

        late = LateRegisters(self.images)
        executed = self.event_stops.executed
        return data_addresses(profile, touched, self.data, self.header.arch or "", executed, late)

    def know_files(self, files: "Mapped | None") -> None:
        """Use mapped files of a running process, or its memory. Must be called before anything is unwound."""
        self._finder.mapped = files

    def know_perf_maps(self, maps: dict[int, bytes]) -> None:
        """Use these perf maps, by process, as its recorder saw them. Must be called before anything is named."""
        self._finder.perf_maps = maps

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
    ) -> "Stitched":
        """Write this recording to ``sink`` with whole call chains instead of registers and stack dumps.

        ``form="file"`` needs a seekable ``sink``. ``zstd_level`` 0 does not compress. Raises UsageError for filters by
        function or file, which are not resolved here.
        """
        if filters is not None and filters.of_frames:
            raise UsageError("a smaller recording cannot be made by function or file", "", "filter what is made of it")
        limits = self._limits if max_stack is None else self._limits._replace(max_frames=max(1, max_stack))
        comms, comm_of = comms_of(self.records, self.spaces.comm_of)
        selected, _order = select(filters, self.records.samples, None, self.events, comms, comm_of)
        from undwarf import __version__
        from undwarf.unwind.chain_rewriter import at_their_calls, names_of_the_late, write_stitched

        def step(what: str) -> Callable[[int, int], None] | None:
            return (lambda done, total: progress(what, done, total)) if progress is not None else None

        walked = walk_samples(
            self.data,
            self.records,
            self.spaces,
            self.sources,
            selected,
            Walking(limits, jobs, runtime=True),
            step("walking stacks"),
        )
        kernel = Resolver(self.images, self._options, records=self.records).kernel()
        if kernel is not None:
            at_their_calls(walked.columns, kernel.begins)
        late, named = self.spaces.replay.late(), self.spaces.comm_of
        names = [self.records.names[named[sample]] for sample in late]
        return write_stitched(
            self.data,
            self.records,
            walked,
            selected,
            sink,
            version=__version__,
            form=form,
            zstd_level=zstd_level,
            names=names_of_the_late(self.events, self.records.samples, late, names),
            progress=step("writing"),
        )

    def close(self) -> None:
        """Close the file and connections to debuginfod servers, after caching the unwind tables that were used."""
        try:
            if "sources" in self.__dict__:
                self.sources.keep_tables()
        finally:
            if self._finder.debuginfod is not None:
                self._finder.debuginfod.close()
            self.data.close()

    def __enter__(self) -> "OpenedRecording":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


InputFormat = Literal["auto", "perf.data", "folded", "pprof", "perf-script", "speedscope"]
"""What a file is; ``auto``: recognised by its contents."""


@overload
def open_recording(
    source: "str | os.PathLike[str] | BinaryIO",
    *,
    format: Literal["perf.data"],
    symfs: "str | os.PathLike[str] | None" = None,
    kallsyms: "str | os.PathLike[str] | None" = None,
    vmlinux: "str | os.PathLike[str] | None" = None,
    debug_dirs: "Sequence[str | os.PathLike[str]]" = (),
    debuginfod: "bool | Debuginfod" = False,
    unwind: "str | Sequence[str]" = "auto",
    cache: bool = True,
    limits: Limits = DEFAULT,
) -> OpenedRecording: ...
@overload
def open_recording(
    source: "str | os.PathLike[str] | BinaryIO",
    *,
    format: InputFormat = "auto",
    symfs: "str | os.PathLike[str] | None" = None,
    kallsyms: "str | os.PathLike[str] | None" = None,
    vmlinux: "str | os.PathLike[str] | None" = None,
    debug_dirs: "Sequence[str | os.PathLike[str]]" = (),
    debuginfod: "bool | Debuginfod" = False,
    unwind: "str | Sequence[str]" = "auto",
    cache: bool = True,
    limits: Limits = DEFAULT,
) -> "OpenedRecording | OpenedProfile[Profile]": ...
def open_recording(
    source: "str | os.PathLike[str] | BinaryIO",
    *,
    format: InputFormat = "auto",
    symfs: "str | os.PathLike[str] | None" = None,
    kallsyms: "str | os.PathLike[str] | None" = None,
    vmlinux: "str | os.PathLike[str] | None" = None,
    debug_dirs: "Sequence[str | os.PathLike[str]]" = (),
    debuginfod: "bool | Debuginfod" = False,
    unwind: "str | Sequence[str]" = "auto",
    cache: bool = True,
    limits: Limits = DEFAULT,
) -> "OpenedRecording | OpenedProfile[Profile]":
    """Open a perf.data file, directory, stream, or ``"-"`` for standard input; or a profile of another tool.

    Those are folded stacks, pprof, text of ``perf script`` and speedscope's JSON, recognised by their contents, or as
    ``format`` says; they have ``profile()``, ``events``, ``defects``, ``path`` and ``close()`` as recordings have, and
    the other options have no effect on them. With ``format="perf.data"``, nothing else is opened.

    ``symfs`` is a directory with the recorded machine's files, ``debug_dirs`` are further directories with separate
    debug files. ``debuginfod``: fetch missing files from the servers in ``$DEBUGINFOD_URLS``, or with the given client;
    nothing else uses the network. ``unwind``: the kinds of unwind information in order of preference, as in
    ``"sframe"`` or ``"sframe,cfi,fp"`` (fp: frame pointers). Rows of unwind tables and types of instructions are cached
    below ``$UNDWARF_CACHE_DIR`` (default: ``~/.cache/undwarf``), unless ``cache`` is False or that variable is ``off``.
    Raises UsageError for an unknown kind, UnreadableInput if the source cannot be read or is no recording.
    """
    if format == "perf.data":
        data = open_perf_data(source, limits=limits)
    else:
        from undwarf.imports.contents import begun

        with begun(source) as (start, whole):
            if start and (format != "auto" or not is_recording(start)):
                from undwarf.imports.profile_file import open_profile

                return open_profile(whole, None if format == "auto" else format, limits, Profile)
            data = open_perf_data(whole, limits=limits)
    if debuginfod is True:
        from undwarf.images.debuginfod import Debuginfod, Settings

        debuginfod = Debuginfod(Settings.from_environment(limits=limits), limits=limits)
    if debuginfod:
        debuginfod.defects = data.defects
    finder = Finder(
        symfs=os.fspath(symfs) if symfs is not None else "",
        debug_dirs=(*(os.fspath(directory) for directory in debug_dirs), "/usr/lib/debug"),
        kallsyms=os.fspath(kallsyms) if kallsyms is not None else "",
        vmlinux=os.fspath(vmlinux) if vmlinux is not None else "",
        debuginfod=debuginfod or None,
        limits=limits,
        defects=data.defects,
    )
    return OpenedRecording(data, finder, ResolverOptions(), limits, unwind, cache)
