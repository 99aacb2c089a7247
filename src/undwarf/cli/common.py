"""What commands that read a recording share: options, opening, progress, warnings.

Modules that read and unwind are imported when a command runs: help and completion need none of them.
"""

import functools
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import click

from undwarf.errors import NothingUsable, UsageError
from undwarf.outputs.terminal.escape import printable

if TYPE_CHECKING:
    from undwarf.api import OpenedRecording
    from undwarf.api import Profile as ApiProfile
    from undwarf.images.debuginfod import Debuginfod
    from undwarf.imports.profile_file import OpenedProfile
    from undwarf.perfdata.records import Samples
    from undwarf.profile.access_resolution import ResolvedAccesses
    from undwarf.profile.filters import Filters
    from undwarf.profile.model import Profile, SampleColumns
    from undwarf.profile.time_spans import Part, Span
    from undwarf.views.data.access_labels import SampleLabels


SHOWN_DEFECTS = 8
MOST_FRAMES = 100_000
"""The largest --max-stack: each thread allocates that many frames."""


def notify(kind: str, text: str) -> None:
    """Print a ``note`` or a ``warning`` on standard error."""
    from undwarf.outputs.terminal.style import Paint, wants_colour

    label = Paint(wants_colour(sys.stderr)).warn(f"{kind}:")
    click.echo(f"{label} {printable(text)}", err=True, color=True)


def _numbers(what: str) -> Callable[[click.Context, click.Parameter, str | None], tuple[int, ...]]:
    def parse(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
        numbers: list[int] = []
        for part in (value or "").split(","):
            if not part.strip():
                continue
            first, dash, last = part.strip().partition("-")
            try:
                if dash and first:
                    if int(last) - int(first) > 100_000:
                        raise ValueError
                    numbers.extend(range(int(first), int(last) + 1))
                else:
                    numbers.append(int(part))
            except ValueError:
                raise click.BadParameter(f"{part!r} is not a {what}; give numbers as in 1,4-7") from None
        return tuple(numbers)

    return parse


def _spans(_context: click.Context, _parameter: click.Parameter, value: str | None) -> "tuple[Span | Part, ...]":
    if not value:
        return ()
    from undwarf.profile.time_spans import parse_spans

    try:
        return parse_spans(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not a time span; give START,END in seconds (either may be empty), 10%-20%, or 10%/2"
        ) from None


def _function_names(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        return ()
    from undwarf.views.frame_filters import split_names

    return tuple(name for text in value for name in split_names(text))


OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("file", default="perf.data", metavar="[FILE]"),
    click.option("-i", "--input", "also_file", metavar="FILE", default=None, help="The recording; same as FILE."),
    click.option("--symfs", metavar="DIR", default=None, help="Find the recorded machine's files under DIR."),
    click.option("--debug-dir", "debug_dirs", metavar="DIR", multiple=True, help="Another directory with debug files."),
    click.option(
        "--debuginfod",
        is_flag=True,
        envvar="UNDWARF_DEBUGINFOD",
        help="Download missing files from the servers in $DEBUGINFOD_URLS.",
    ),
    click.option("--kallsyms", metavar="FILE", default=None, help="The recorded kernel's symbols."),
    click.option("-k", "--vmlinux", metavar="FILE", default=None, help="The recorded kernel's ELF file."),
    click.option(
        "--time",
        "spans",
        metavar="START,END",
        callback=_spans,
        help="Only samples between two times: seconds of the recording's clock or from its start (0,0.5), or a part "
        "of the recording (10%-20%, 10%/2).",
    ),
    click.option("--pid", "pids", metavar="PIDS", callback=_numbers("process id"), help="Only these processes."),
    click.option("--tid", "tids", metavar="TIDS", callback=_numbers("thread id"), help="Only these threads."),
    click.option(
        "-C", "--cpu", "cpus", metavar="CPUS", callback=_numbers("CPU number"), help="Only these CPUs, as in 0,2-3."
    ),
    click.option(
        "-c",
        "--comm",
        "--comms",
        "comms",
        metavar="NAMES",
        default="",
        help="Only threads with these names; * and ? are wildcards.",
    ),
    click.option("--event", "events", metavar="NAMES", default="", help="Only these events."),
    click.option(
        "--max-stack",
        metavar="N",
        type=click.IntRange(1, MOST_FRAMES, clamp=True),
        default=None,
        help="Maximum number of user frames per stack.",
    ),
    click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of unwind tables and types."),
    click.option("--stats", is_flag=True, help="Print statistics of unwind tables to stderr."),
    click.option(
        "--no-other-dumps",
        is_flag=True,
        help="Do not continue stacks larger than their dump with callers inferred from other samples.",
    ),
    click.option("--no-inline", is_flag=True, help="Do not show inlined functions as frames of their own."),
    click.option(
        "--unwind",
        "unwind_order",
        metavar="KINDS",
        default="auto",
        show_default=True,
        help="Sources of unwind rules in order of preference, as in sframe,cfi,fp.",
    ),
    click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(1, 64),
        default=None,
        help="Number of unwinding threads; 1 also disables the second process for data types.",
    ),
    # Options of perf for what is always done.
    click.option("--stdio", is_flag=True, hidden=True, expose_value=False),
    click.option("-f", "--force", is_flag=True, hidden=True, expose_value=False),
)


def input_format_option(name: str) -> Callable[[Any], Any]:
    """The option of commands that also take profiles of other tools."""
    return click.option(
        name,
        "format",
        type=click.Choice(["auto", "perf.data", "folded", "pprof", "perf-script", "speedscope"]),
        default="auto",
        show_default=True,
        help="What FILE is: a recording, or a profile of another tool.",
    )


FRAME_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "-S",
        "--symbols",
        "--symbol",
        metavar="NAMES",
        multiple=True,
        callback=_function_names,
        help="Only samples taken in these functions; * and ? are wildcards.",
    ),
    click.option(
        "-d",
        "--dsos",
        "--dso",
        metavar="FILES",
        multiple=True,
        callback=_function_names,
        help="Only samples taken in these files, by path or name: libc.so.6, '[kernel*'.",
    ),
    click.option(
        "--caller",
        "--parent",
        "callers",
        metavar="NAMES",
        multiple=True,
        callback=_function_names,
        help="Only samples with one of these functions in their stack.",
    ),
)
"""Filters of commands that name functions."""
FRAME_FILTERS = ("symbols", "dsos", "callers")


ROWS = click.option(
    "--rows",
    metavar="N",
    type=click.IntRange(0),
    default=None,
    help="Maximum number of rows; 0: all. Default: 40 on a terminal, else all.",
)
BY = click.option(
    "--by",
    type=click.Choice(["stack", "type"]),
    default="stack",
    show_default=True,
    help="type: put the data type and member that the innermost instruction accesses at the root of each stack.",
)
"""The option of commands that draw stacks."""
ZSTD = (
    "Compress records, as perf record -z does. Viewers built without zstd, such as Debian 12's hotspot, need "
    "--no-zstd, which makes files several times larger."
)
"""Help of the option of commands that write recordings."""
SKID = click.option(
    "--skid",
    is_flag=True,
    help="For data types: attribute samples at instructions without a memory access to the load they wait for; marked "
    "as inferred.",
)
"""The option of commands that can show data types."""

SHARED = (
    "file", "also_file", "symfs", "debug_dirs", "debuginfod", "kallsyms", "vmlinux", "spans", "pids", "tids", "cpus",
    "comms", "events", "max_stack", "no_cache", "stats", "no_other_dumps", "no_inline", "unwind_order", "jobs",
)  # fmt: skip  # a table


def take_shared(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of :class:`Job` out of a command's options."""
    shared = {key: options.pop(key) for key in SHARED}
    shared.update({key: options.pop(key, ()) for key in FRAME_FILTERS})
    shared["format"] = options.pop("format", "auto")
    shared["file"] = shared["also_file"] or shared["file"]
    return shared


def recording_command(
    name: str, *, by_frame: bool = False, profiles: bool = False, format_option: str = "--format", **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that reads a recording: its function gets ``job``, a :class:`Job`, and its own options. ``by_frame``:
    with filters by function and file. ``profiles``: it also takes profiles of other tools, whose format the
    ``format_option`` names."""

    def wrap(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def run(**options: Any) -> Any:
            with Job(take_shared(options), profiles=profiles) as job:
                return function(job, **options)

        decorated: Any = run
        options = (
            *OPTIONS,
            *(FRAME_OPTIONS if by_frame else ()),
            *((input_format_option(format_option),) if profiles else ()),
        )
        for option in reversed(options):
            decorated = option(decorated)
        as_command: Any = click.command(name, **settings)
        command: click.Command = as_command(decorated)
        # The command's own options come first in its help.
        command.params.sort(key=lambda parameter: parameter.name in (*SHARED, *FRAME_FILTERS, "format"))
        return command

    return wrap


def debuginfod_client(progress: "Progress") -> "Debuginfod | None":
    """The client for ``--debuginfod``, whose downloads are shown. Raises UsageError without any server; None if only
    ``$UNDWARF_DEBUGINFOD`` asks for it."""
    from undwarf.images.debuginfod import Debuginfod, Settings

    settings = Settings.from_environment()
    if not settings.urls:
        source = click.get_current_context().get_parameter_source("debuginfod")
        if source is not click.core.ParameterSource.COMMANDLINE:
            return None
        raise UsageError(
            "--debuginfod has no server to ask",
            "DEBUGINFOD_URLS is not set, and /etc/debuginfod names none",
            "export DEBUGINFOD_URLS=https://debuginfod.elfutils.org/, or your distribution's server",
        )
    return Debuginfod(settings, report=progress.downloading)


def _must_exist(option: str, path: str | None) -> None:
    """Raise UsageError for a path that does not exist: results would silently be worse."""
    if path is not None and not os.path.exists(path):
        raise UsageError(f"--{option} {path} does not exist", "", "name an existing file or directory")


class Number(click.FloatRange):
    """A number in a range, without "nan"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        number: float = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


COMPARED_CHILDREN = click.option(
    "--children/--no-children", default=False, help="Compare functions with the weight of their callees."
)
TESTED_LIMIT = click.option(
    "--percent-limit",
    type=Number(0, 100),
    default=1.0,
    show_default=True,
    help="Rows below this percentage of the weight are added up, and not tested one by one.",
)


def terminal_width() -> int | None:
    """The columns of the terminal on standard output; None for files and pipes."""
    if not sys.stdout.isatty():
        return None
    # A large import, with all archive formats.
    import shutil

    return shutil.get_terminal_size((120, 40)).columns


_OF_RECORDINGS = {
    "symfs": "--symfs",
    "debug_dirs": "--debug-dir",
    "kallsyms": "--kallsyms",
    "vmlinux": "--vmlinux",
    "max_stack": "--max-stack",
    "no_other_dumps": "--no-other-dumps",
    "no_inline": "--no-inline",
    "stats": "--stats",
}
"""Options that have no effect on profiles of other tools, whose stacks are unwound and named."""


def is_given(parameter: str) -> bool:
    """Whether the command line or the environment gives an option, and not only the configuration file."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source in (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)


class Job:
    """One run of a command on a recording, or with ``profiles`` on a profile of another tool."""

    def __init__(self, options: dict[str, Any], *, profiles: bool = False) -> None:
        from undwarf.api import open_recording

        self._options = options
        for name in ("symfs", "kallsyms", "vmlinux"):
            _must_exist(name, options[name])
        for directory in options["debug_dirs"]:
            _must_exist("debug-dir", directory)
        self._progress = Progress()
        self._at_end: Callable[[], None] = lambda: None
        self._debuginfod = debuginfod_client(self._progress) if options["debuginfod"] else None
        self.source: OpenedRecording | OpenedProfile[ApiProfile] = open_recording(
            options["file"],
            format=options["format"],
            symfs=options["symfs"],
            kallsyms=options["kallsyms"],
            vmlinux=options["vmlinux"],
            debug_dirs=options["debug_dirs"],
            debuginfod=self._debuginfod or False,
            unwind=options["unwind_order"],
            cache=not options["no_cache"],
        )
        if not self.is_recording:
            self._check_profile(profiles)

    @property
    def is_recording(self) -> bool:
        """Whether it is a recording, and no profile of another tool."""
        from undwarf.api import OpenedRecording

        return isinstance(self.source, OpenedRecording)

    @property
    def recording(self) -> "OpenedRecording":
        """The recording. Raises UsageError for a profile of another tool."""
        self.need_recording("this")
        return cast("OpenedRecording", self.source)

    def need_recording(self, what: str) -> None:
        """Raise UsageError for a profile of another tool: ``what`` needs a recording."""
        if not self.is_recording:
            raise self._no_recording(what)

    def _no_recording(self, what: str) -> UsageError:
        origin = cast("OpenedProfile[ApiProfile]", self.source).origin
        return UsageError(
            f"{what} needs a recording (perf.data), and {printable(self.source.path)} is {origin.format}",
            "it has neither registers nor memory, nor which files were mapped",
            "undwarf report, flamegraph, fold, export and query take it",
        )

    def _check_profile(self, profiles: bool) -> None:
        """Reject commands and options that need a recording."""
        if not profiles:
            self.need_recording(click.get_current_context().command_path)
        options = self._options
        given = [option for name, option in _OF_RECORDINGS.items() if options[name] and is_given(name)]
        if options["unwind_order"] != "auto" and is_given("unwind_order"):
            given.append("--unwind")
        if given:
            self.need_recording(given[0])

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_details: object) -> None:
        self._progress.close()
        self.source.close()
        self._at_end()
        if self._options["stats"] and "sources" in self.source.__dict__:
            counts = self.recording.sources.counts()
            notify("note", "unwind tables: " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))

    @property
    def symfs(self) -> str:
        """The root of the recorded machine's files, if it is another than this one's; else empty."""
        return self._options["symfs"] or ""

    @property
    def filters(self) -> "Filters":
        """The filters that the options set."""
        from undwarf.profile.filters import Filters

        options = self._options
        return Filters(
            spans=self._spans(),
            pids=options["pids"],
            tids=options["tids"],
            cpus=options["cpus"],
            comms=tuple(name for name in options["comms"].split(",") if name),
            events=tuple(name for name in options["events"].split(",") if name),
            **{key: options[key] for key in FRAME_FILTERS},
        )

    def _spans(self) -> tuple[tuple[int, int], ...]:
        """The times of ``--time``, in ns of the recording's clock."""
        if not self._options["spans"]:
            return ()
        from undwarf.profile.time_spans import resolve
        from undwarf.views.unmatched_filters import seconds, span_of

        samples = self.recording.records.samples if self.is_recording else self.source.profile().samples.columns
        first, last = span_of(samples.time)
        spans = resolve(self._options["spans"], first, last)
        for start, end in spans:
            if start > end:
                why = f"it would be from {seconds(start)} to {seconds(end)} s of the recording's clock"
                raise UsageError("--time ends before it starts", why, "give START,END in seconds")
        return tuple(spans)

    def _samples(self) -> "tuple[Samples | SampleColumns, list[str], memoryview]":
        """(columns of all samples, names of threads, the number of each sample's name)."""
        if not self.is_recording:
            profile = self.source.profile()
            return profile.samples.columns, profile.comms, profile.samples.columns.comm
        from undwarf.profile.build import comms_of

        recording = self.recording
        return recording.records.samples, *comms_of(recording.records, recording.spaces.comm_of)

    def unwind(self, *, inline: bool = True, lines: bool = False, **options: bool) -> "Profile":
        """The profile, which may have no samples; shows progress. ``options`` are those of OpenedRecording.profile."""
        if not self.is_recording:
            in_order = bool(options.get("by_time")) and "time" in (self.fields or ())
            return self.source.profile(filters=self.filters, by_time=in_order)
        profile = self.recording.profile(
            filters=self.filters,
            jobs=self._options["jobs"],
            max_stack=self._options["max_stack"],
            inline=inline and not self._options["no_inline"],
            lines=lines,
            other_dumps=not self._options["no_other_dumps"],
            progress=self._progress,
            **options,
        )
        self._progress.close()
        return profile

    def profile(self, *, lines: bool = False, **options: bool) -> "Profile":
        """The profile; warns of damage. Raises NothingUsable if it has no samples."""
        return self._checked(self.unwind(lines=lines, **options))

    def _checked(self, profile: "Profile") -> "Profile":
        """The profile, if it has samples; warns of damage."""
        self._progress.close()
        self.warn()
        if not len(profile.samples):
            name = printable(self.source.path)
            if filters := self.filters:
                from undwarf.views.unmatched_filters import nothing_passes

                why, hint = nothing_passes(filters, *self._samples())
                raise NothingUsable(f"no sample of {name} passes the filters", why, hint)
            if self.source.defects:
                raise NothingUsable(
                    f"{name} contains no samples", "it is damaged", "get a complete copy, or record again"
                )
            from undwarf.views.unread_samples import notes

            for note in notes(self.recording):
                if note.kind != "late":
                    raise NothingUsable(
                        f"{name} contains no samples", ": ".join(filter(None, (note.event, note.text))), note.advice
                    )
            raise NothingUsable(f"{name} contains no samples", "", "record for longer, or with a higher -F")
        return profile

    def leaves(self, *, names: bool = True) -> "Profile":
        """The profile with innermost frames only: nothing is unwound, no inlined functions."""
        filters = self.filters
        profile = self.recording.profile(
            filters=filters,
            jobs=self._options["jobs"],
            callers=bool(filters.callers),
            names=names or bool(filters.symbols or filters.callers),
            inline=False,
            other_dumps=not self._options["no_other_dumps"],
            progress=self._progress,
        )
        return self._checked(profile)

    def note_inferred(self, profile: "Profile") -> None:
        """Print how many stacks have inferred callers, for outputs that do not show it."""
        from undwarf.unwind.stop_reason import StopReason

        count = profile.samples.columns.stop.tolist().count(StopReason.INFERRED_ROOT)
        if count:
            many = f"{count:,} stacks larger than their dump have" if count > 1 else "1 stack larger than its dump has"
            notify("note", f"{many} callers inferred from other dumps of the thread (--no-other-dumps: without)")

    @property
    def fields(self) -> frozenset[str] | None:
        """What a profile of another tool has of time, pid, tid, cpu, comm, dso, line; None for a recording."""
        return None if self.is_recording else cast("OpenedProfile[ApiProfile]", self.source).origin.fields

    def grouped(self, by: str, skid: bool, **options: bool) -> "Profile":
        """The profile with the groups of ``--by`` at the root of its stacks. ``options``: as of :meth:`profile`."""
        if by == "type":
            self.need_recording("--by type")
        profile = self.profile(**options)
        if by == "type":
            from undwarf.views.data.type_labels import by_type

            profile = by_type(self.touch(profile, skid=skid))
        elif skid:
            raise UsageError("--skid needs --by type", "it attributes samples to data", "add --by type")
        return profile

    def touch(
        self, profile: "Profile", *, skid: bool = False, meanwhile: Callable[[], object] = lambda: None
    ) -> "ResolvedAccesses":
        """What the innermost frames of a profile access. ``meanwhile`` is called once a second process works."""
        from undwarf.fork_pool import reap_workers

        self._at_end = reap_workers
        # Two processes would download the same files.
        single = self._options["jobs"] == 1 or self._options["debuginfod"]
        accesses = self.recording.touch(
            profile, skid=skid, processes=1 if single else 2, progress=self._progress, meanwhile=meanwhile
        )
        self._progress.close()
        return accesses

    def access_labels(self, profile: "Profile", keys: tuple[str, ...]) -> "SampleLabels":
        """Labels of samples for those of ``keys`` that describe their memory accesses."""
        from undwarf.profile.data_address_lookup import DataPlaces
        from undwarf.views.data.access_labels import access_labels

        return access_labels(profile, keys, DataPlaces(self.recording.spaces, self.recording.images))

    @property
    def max_stack(self) -> int | None:
        """The most frames of a stack, if limited."""
        return cast("int | None", self._options["max_stack"])

    @property
    def jobs(self) -> int | None:
        """The number of unwinding threads, if limited."""
        return cast("int | None", self._options["jobs"])

    @property
    def progress(self) -> "Progress":
        """Shows the progress of long steps."""
        return self._progress

    @property
    def stack_dump(self) -> int:
        """The largest stack dump that was requested for the recording, in bytes; 0 if none."""
        return self.recording.stack_dump if self.is_recording else 0

    @property
    def fetches(self) -> bool:
        """Whether files are fetched from debuginfod."""
        return self._debuginfod is not None

    def note_downloads(self) -> None:
        """Print what was fetched."""
        self._progress.close()
        if self._debuginfod is not None and self._debuginfod.downloads:
            loads = self._debuginfod.downloads
            size = sum(load.size for load in loads) / 1e6
            notify(
                "note",
                f"{len(loads)} files ({size:,.1f} MB) from debuginfod, kept in {self._debuginfod.settings.cache}",
            )

    def warn(self, known: int = 0) -> None:
        """Print what was fetched, and the defects but for the first ``known`` ones."""
        self.note_downloads()
        defects = list(self.source.defects)[known:]
        for defect in defects[:SHOWN_DEFECTS]:
            notify("warning", str(defect))
        if len(defects) > SHOWN_DEFECTS:
            notify("warning", f"{len(defects) - SHOWN_DEFECTS} more kinds of damage: undwarf info lists them")


class Progress:
    """A progress bar on the terminal for work of more than a second; silent elsewhere."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._on_terminal = sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None
        self._step = ""
        self._elsewhere: Callable[[str, int, int], None] | None = None

    def redirect(self, show: Callable[[str, int, int], None] | None) -> None:
        """Show the progress with this function, which may be called from any thread; None: as a bar again."""
        self._elsewhere = show

    def downloading(self, what: str, done: int, total: int) -> None:
        """Show a download: a bar on a terminal, else a line at its start."""
        if self._on_terminal or self._elsewhere is not None:
            self(what, done, total)
        elif what != self._step:
            self._step = what
            notify("note", what + (f" ({total / 1e6:,.1f} MB)" if total else ""))

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._elsewhere is not None:
            self._elsewhere(step, done, total)
            return
        if not self._on_terminal or time.monotonic() - self._start < 1:
            return
        if self._bar is None:
            # Most runs are over before a bar is shown.
            from rich.console import Console
            from rich.progress import Progress as Bar

            from undwarf.outputs.terminal.style import wants_colour

            self._bar = Bar(console=Console(stderr=True, no_color=not wants_colour(sys.stderr)), transient=True)
            self._bar.start()
        if step != self._step:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._step = step
            self._task = self._bar.add_task(step, total=total or None)
        self._bar.update(self._task, completed=done, total=total or None)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None
            self._step = ""
